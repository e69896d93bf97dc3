"""The plain form of a policy: what its JSON and YAML hold, column by column. Never sees rows."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, SchemaError, SecretError
from pandas_blowfish.policy.attribute import Unbounded
from pandas_blowfish.policy.blocks import Columns, thaw
from pandas_blowfish.policy.domain import KEYS, Domain, from_dict, to_dict
from pandas_blowfish.policy.margin import RELATIVE
from pandas_blowfish.policy.schema import kind_of_dtype
from pandas_blowfish.policy.secret import KINDS_OF_SECRET, keys_of

if TYPE_CHECKING:
    from pandas_blowfish.beyond.aggregate import Aggregate
    from pandas_blowfish.beyond.markov import Markov
    from pandas_blowfish.facts.declared import Constraint

MAX_TEXT = 1_000_000  # characters
MAX_DEPTH = 24  # of lists and mappings in each other; a policy needs 7
MAX_NUMBER = 400  # characters of a scalar that is read as anything but text
BREAKS = ("\x85", "\u2028", "\u2029")  # line breaks to YAML, which folds them unless they are escaped


def parse_yaml(text: str) -> Any:
    """Return what a YAML text holds.

    Examples:
        >>> parse_yaml("secret: full")
        {'secret': 'full'}
    """
    import yaml

    if len(text) > MAX_TEXT:
        what = f"the YAML has {len(text):,} characters; the limit is {MAX_TEXT:,}"
        raise SchemaError(None, what, fix="build large policies in Python, with bf.Policy.")
    try:
        return yaml.load(text, _loader())
    except (yaml.YAMLError, RecursionError, ValueError, LookupError, TypeError, AttributeError) as error:
        if isinstance(error, SchemaError):
            raise
        mark = getattr(error, "problem_mark", None)
        last = len(text.splitlines()) or 1  # the end of a text is on its last line, whoever counts
        line = f", line {min(mark.line + 1, last)}" if mark is not None else ""
        fix = "correct the YAML."
        raise SchemaError(None, f"the YAML cannot be read ({type(error).__name__}{line})", fix=fix) from None


def dump_yaml(data: Any, **options: Any) -> str:
    """Return plain data as YAML that `parse_yaml` reads back exactly.

    Examples:
        >>> parse_yaml(dump_yaml({"secret": "full"}))
        {'secret': 'full'}
    """
    import yaml

    return str(yaml.dump(data, Dumper=_dumper(), sort_keys=False, allow_unicode=True, **options))


@cache
def _loader() -> Any:
    """Return the class of safe loaders that keeps the limits; where libyaml is, it reads the characters."""
    import yaml
    from yaml.composer import Composer
    from yaml.constructor import SafeConstructor
    from yaml.resolver import Resolver

    try:
        from yaml.cyaml import CParser  # type: ignore[attr-defined]
    except ImportError:
        return type("Loader", (_limits(), yaml.SafeLoader), {})
    events: Any = CParser

    def begin(self: Any, stream: str) -> None:
        events.__init__(self, stream)
        for part in (Composer, SafeConstructor, Resolver):
            part.__init__(self)

    return type("Loader", (_limits(), Composer, events, SafeConstructor, Resolver), {"__init__": begin})


@cache
def _limits() -> Any:
    """Return the part of a loader that enforces the limits above."""
    import yaml

    class Limits:
        """Composes nodes within limits."""

        depth = 0

        def compose_node(self: Any, parent: Any, index: Any) -> Any:
            event = self.peek_event()
            line = event.start_mark.line + 1
            if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
                what = f"an alias or anchor (`&` or `*`) on line {line}"
                raise SchemaError(
                    None, what, fix="write it out where it is needed; quote text that begins so."
                )
            if self.depth >= MAX_DEPTH:
                what = f"more than {MAX_DEPTH} lists or mappings in each other, on line {line}"
                raise SchemaError(None, what, fix="see docs for the form of a policy: it is not that deep.")
            self.depth += 1
            node = super().compose_node(parent, index)  # type: ignore[misc]
            self.depth -= 1
            return node

        def compose_scalar_node(self: Any, anchor: Any) -> Any:
            node = super().compose_scalar_node(anchor)  # type: ignore[misc]
            kind = node.tag.rpartition(":")[2]
            if kind != "str" and len(node.value) > MAX_NUMBER:
                line = node.start_mark.line + 1
                what = f"a number of {len(node.value):,} characters on line {line}"
                raise SchemaError(None, what, fix="write a shorter one, or quote it as text.")
            return node

        def compose_mapping_node(self: Any, anchor: Any) -> Any:
            node = super().compose_mapping_node(anchor)  # type: ignore[misc]
            lines: dict[Any, int] = {}
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    continue  # refused by the constructor, or compared by it
                line = key.start_mark.line + 1
                kind = key.tag.rpartition(":")[2]
                if kind == "merge":
                    what = f"a merge (`<<:`) on line {line}"
                    raise SchemaError(None, what, fix="write out what it would add.")
                value = (key.value,) if kind == "value" else self.construct_object(key)
                if value in lines:
                    what = f"the key `{key.value}` is there twice, on lines {lines[value]} and {line}"
                    raise SchemaError(None, what, fix="keep one of them.")
                lines[value] = line
            return node

    return Limits


@cache
def _dumper() -> Any:
    """Return the class of safe dumpers whose text has no aliases and whose line breaks survive."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes each value where it stands."""

        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
            return True

    def text(dumper: Any, data: str) -> Any:
        style = '"' if any(each in data for each in BREAKS) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=style)

    Dumper.add_representer(str, text)
    return Dumper


BLANK = "..."
HEAD = """\
# A policy, drafted from the columns' names and types: state each `...`, then delete this comment.
# Bounds and values are what a person may have, never what these rows happen to hold.
# secret: full (every pair of values), public (everyone knows it already), or
#   {secret: threshold, theta: 5} (values up to 5 apart), {secret: partition, groups: {name: [values]}}
# Delete columns that no query needs. `nullable: true` for columns with missing values.
# Whole numbers with gaps, which pandas reads as floats, are `type: integer` without a step.
blowfish: 1
columns:
"""
_LOW, _HIGH, _STEP = "the least value it may have", "the greatest", "the width of a cell"
_LINES: dict[str, list[tuple[str, str, str]]] = {
    "integer": [("min", BLANK, _LOW), ("max", BLANK, _HIGH)],
    "float": [("min", BLANK, _LOW), ("max", BLANK, _HIGH), ("step", BLANK, _STEP)],
    "datetime": [
        ("min", BLANK, "the first instant, such as 2026-01-01"),
        ("max", BLANK, "the last"),
        ("step", BLANK, "the width of a cell, such as 1D"),
    ],
    "bool": [],
    "category": [("values", f"[{BLANK}]", "every value it may have, in order; `other: other` for the rest")],
    "string": [("values", f"[{BLANK}]", "every value; dates: type: datetime with min, max, step")],
}


def skeleton(dtypes: Mapping[str, Any]) -> str:
    """Return a YAML policy for columns of given dtypes, with blanks for a person to fill in.

    Examples:
        >>> print(skeleton({"age": "int64"}).partition("columns:")[2].strip())
        age:
            type: integer
            min: ...  # the least value it may have
            max: ...  # the greatest
            secret: full
    """
    parts = [HEAD]
    for name, dtype in dtypes.items():
        kind = kind_of_dtype(dtype) or "string"
        parts.append(f"  {_key(str(name))}:\n    type: {kind}\n")
        zone = getattr(dtype, "tz", None)
        parts += [f"    tz: {_key(str(zone))}\n"] if zone is not None else []
        lines = "".join(f"    {key}: {value}  # {note}\n" for key, value, note in _LINES[kind])
        parts.append(lines if zone is None else lines.replace("2026-01-01", "2026-01-01 00:00+00:00"))
        parts.append("    secret: full\n")
    return "".join(parts)


def blanks(spec: Any) -> list[str]:
    """Return where a policy's plain form is still blank, as `age: min`, ... .

    Examples:
        >>> blanks({"columns": {"age": {"min": 0, "max": "..."}, "sex": {"values": ["..."]}}})
        ['age: max', 'sex: values']
    """
    columns = spec.get("columns") if isinstance(spec, Mapping) else None
    found = []
    for name, column in columns.items() if isinstance(columns, Mapping) else ():
        stated = dict(column) if isinstance(column, Mapping) else {"values": column}
        secret = stated.pop("secret", None)
        stated |= dict(secret) if isinstance(secret, Mapping) else {"secret": secret}
        found += [f"{name}: {key}" for key, value in stated.items() if value in (BLANK, [BLANK])]
    return found


def _key(name: str) -> str:
    """Return a column's name as YAML writes it."""
    import yaml

    if re.fullmatch(r"[^\W\d][\w /-]*\w|\w", name) and yaml.safe_load(name) == name:
        return name
    return str(yaml.safe_dump(name, default_style='"', width=10**9)).strip()


VERSION = 1
PARTS = (
    "blowfish",
    "columns",
    "joint",
    "neighbors",
    "presence",
    "constraints",
    "aggregates",
    "chain",
    "max_rows",
)
SECRET = ("secret", "theta", "metric", "scale", "groups", "pairs", "k", "c", "missing", "keys")
MAX_SHOWN = 12  # blanks that an error names


def to_form(
    domain: Domain,
    secrets: Mapping[Columns, Mapping[str, Any]],
    neighbors: str | int,
    presence: bool,
    constraints: Sequence[Constraint],
    aggregates: Sequence[Aggregate] = (),
    chain: Markov | None = None,
    max_rows: int = 1,
) -> dict[str, Any]:
    """Return the parts of a policy as plain JSON-able data."""
    columns = {attribute.name: to_dict(attribute) for attribute in domain}
    for keys, secret in secrets.items():
        if len(keys) == 1:
            columns[keys[0]]["secret"] = thaw(secret)
    for attribute in domain:
        own = secrets.get((attribute.name,), {}).get("secret")
        if isinstance(attribute, Unbounded) and attribute.log and own != RELATIVE:
            columns[attribute.name]["log"] = True  # no other policy has this form, and it is never read back
    out: dict[str, Any] = {"blowfish": VERSION, "columns": columns}
    blocks = [(list(keys), thaw(secret)) for keys, secret in secrets.items() if len(keys) > 1]
    joint = [{"columns": keys, "secret": secret} for keys, secret in blocks]
    if joint:
        out["joint"] = joint
    if neighbors != "record":
        out["neighbors"] = neighbors
    if presence:
        out["presence"] = True
    if constraints:
        out["constraints"] = [fact.to_dict() for fact in constraints]
    if aggregates:
        out["aggregates"] = [each.to_dict() for each in aggregates]
    if chain is not None:
        out["chain"] = chain.to_dict()
    if max_rows > 1:
        out["max_rows"] = max_rows
    return out


def load_yaml(source: Any) -> Any:
    """Return what a YAML text holds, or the file at a path (a Path, or text ending in .yaml or .yml)."""
    is_path = isinstance(source, os.PathLike) or (
        isinstance(source, str) and "\n" not in source and source.endswith((".yaml", ".yml"))
    )
    if not is_path and not isinstance(source, str):
        raise SchemaError(None, f"a {type(source).__name__} is not YAML", fix="give text or a path.")
    try:
        text = _read(Path(source)) if is_path else str(source)
    except UnicodeDecodeError:
        raise SchemaError(None, "the YAML cannot be read (it is not UTF-8)", fix="convert it.") from None
    except (OSError, ValueError) as error:  # the second for a path that no file can have
        problem = f"the file cannot be read ({getattr(error, 'strerror', None) or 'no path'})"
        raise SchemaError(None, problem, fix="check the path.") from None
    found = parse_yaml(text)
    if left := blanks(found):
        shown = ", ".join(left[:MAX_SHOWN]) + (", ..." if len(left) > MAX_SHOWN else "")
        fix = "state each `...`, or delete the column; bounds and values are never read from rows."
        raise SchemaError(None, f"still blank: {shown}", fix=fix)
    return found


def write_yaml(text: str, path: Any) -> None:
    """Write a policy to a file, or raise ArgumentError."""
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentTypeError("path", "not a path", allowed="a str or a Path")
    try:
        Path(path).write_text(text, encoding="utf-8")
    except (OSError, TypeError, ValueError) as error:
        fix = "give a file in a directory that exists and can be written."
        raise ArgumentError("path", f"cannot be written ({type(error).__name__})", fix=fix) from None


def _read(path: Path) -> str:
    """Return the text of a file, no more of it than is needed to see that it is too long."""
    with path.open(encoding="utf-8-sig") as file:
        return file.read(MAX_TEXT + 1)


def read_form(spec: Any) -> dict[str, Any]:
    """Return the arguments of the `Policy` that plain data, or a person's YAML, describes.

    Facts, secret totals and the chain stay plain data: `Policy.from_dict` makes them.
    """
    if not isinstance(spec, Mapping) or spec.get("blowfish") != VERSION:
        raise SchemaError(None, "not a policy of this version", fix="begin with `blowfish: 1`.")
    if unknown := _unknown(spec, PARTS):
        raise SchemaError(None, _named(unknown), fix=f"{_meant(unknown, PARTS)}known: {', '.join(PARTS)}.")
    for key in ("joint", "constraints", "aggregates"):
        if not isinstance(spec.get(key, []), (list, tuple)):
            raise SchemaError(None, f"`{key}:` is not a list", fix="list them, or leave it out.")
    attributes, secrets = [], {}
    columns = spec.get("columns")
    for name, column in columns.items() if isinstance(columns, Mapping) else [(None, None)]:
        if not isinstance(name, str) or not isinstance(column, Mapping):
            fix = "give `columns:` and for each its type, min, max, ..."
            raise SchemaError(None, f"column {name!r} is not described by a dict", fix=fix)
        _require_keys(name, column)
        stated = column.get("secret")
        given = {"secret": stated} if isinstance(stated, str) else stated
        beside = ("secret", "step") if _logs(given, column) else ("secret",)
        rows = {"keys": given["keys"]} if isinstance(given, Mapping) and "keys" in given else {}
        attributes.append(from_dict(name, {k: v for k, v in column.items() if k not in beside} | rows))
        if "secret" in column:
            moved = {"step": column["step"]} if "step" in beside and "step" in column else {}
            secrets[(name,)] = {**given, **moved} if isinstance(given, Mapping) else given
            _require_parts(name, stated)
    for block in spec.get("joint", ()):
        named = isinstance(block, Mapping) and isinstance(block.get("columns"), (list, tuple))
        named = named and all(isinstance(column, str) for column in block["columns"])
        if not named or set(block) != {"columns", "secret"}:
            raise SchemaError(None, "a joint secret is not understood", fix="give its columns and secret.")
        secrets[tuple(block["columns"])] = block["secret"]
        _require_parts(", ".join(map(str, block["columns"])), block["secret"])
    return {
        "schema": Domain(tuple(attributes)),
        "secrets": secrets,
        "neighbors": spec.get("neighbors", "record"),
        "presence": spec.get("presence", False),
        "constraints": spec.get("constraints", ()),
        "aggregates": spec.get("aggregates", ()),
        "chain": spec.get("chain"),
        "max_rows": spec.get("max_rows", 1),
    }


def _logs(secret: Any, column: Mapping[Any, Any]) -> bool:
    """Tell whether the step of a column is one of logarithms: of a relative error without bounds."""
    kind = secret.get("secret") if isinstance(secret, Mapping) else None
    return kind == RELATIVE and "values" not in column and not {"min", "max"} <= set(column)


def _require_keys(name: str, column: Mapping[Any, Any]) -> None:
    """Refuse keys that no column has, with what was meant."""
    known = [*KEYS, "secret"]
    if not (unknown := _unknown(column, known)):
        return
    if (first := unknown[0]) in SECRET:
        kind = next(kind for kind in KINDS_OF_SECRET if first in keys_of(kind))
        fix = f"write it inside: `secret: {{secret: {kind}, {first}: ...}}`."
        raise SchemaError(name, f"`{first}:` is a part of its secret", fix=fix)
    fix = f"{_meant(unknown, [*known, *SECRET])}known: {', '.join(known)}; inside `secret: {{...}}`: "
    raise SchemaError(name, _named(unknown), fix=f"{fix}{', '.join(SECRET)}.")


def _require_parts(name: str, secret: Any) -> None:
    """Refuse what a secret of this kind does not state, with what was meant; its kind is looked at later."""
    kind = secret.get("secret") if isinstance(secret, Mapping) else None
    if not isinstance(kind, str) or kind not in KINDS_OF_SECRET:
        return
    known = [key for key in SECRET if key in keys_of(kind)]
    if unknown := _unknown(secret, [*known, "step", "other"]):
        fix = f"{_meant(unknown, known)}known for {kind}: {', '.join(known)}."
        raise SecretError(name, _named(unknown), fix=fix)


def _unknown(spec: Mapping[Any, Any], known: Collection[str]) -> list[str]:
    return [str(key) for key in spec if key not in known]


def _named(unknown: Sequence[str]) -> str:
    return f"unknown key{'s' * (len(unknown) > 1)} {', '.join(map(repr, unknown))}"


def _meant(unknown: Sequence[str], known: Collection[str]) -> str:
    """Return the known keys that look like the unknown ones, as a question."""
    near = dict.fromkeys(close for key in unknown for close in difflib.get_close_matches(key, known, 1))
    return f"did you mean {', '.join(f'`{key}:`' for key in near)}? " if near else ""
