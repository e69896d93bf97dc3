"""The plain form of a policy: what its JSON and YAML hold, column by column. Never sees rows."""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from pandas_blowfish.errors import SchemaError, SecretError
from pandas_blowfish.policy.aggregate import Aggregate
from pandas_blowfish.policy.attribute import Unbounded
from pandas_blowfish.policy.constraint import Constraint, constraint_from_dict
from pandas_blowfish.policy.domain import KEYS, Domain, from_dict, to_dict
from pandas_blowfish.policy.margin import RELATIVE
from pandas_blowfish.policy.markov import Markov
from pandas_blowfish.policy.secret import KINDS_OF_SECRET, keys_of
from pandas_blowfish.policy.skeleton import blanks
from pandas_blowfish.policy.stated import Columns, thaw
from pandas_blowfish.policy.yaml import MAX_TEXT, parse_yaml

VERSION = 1
PARTS = ("blowfish", "columns", "joint", "neighbors", "presence", "constraints", "aggregates", "chain")
SECRET = ("secret", "theta", "metric", "scale", "groups", "pairs", "k", "c", "missing")
MAX_SHOWN = 12  # blanks that an error names


def to_form(
    domain: Domain,
    secrets: Mapping[Columns, Mapping[str, Any]],
    neighbors: str | int,
    presence: bool,
    constraints: Sequence[Constraint],
    aggregates: Sequence[Aggregate] = (),
    chain: Markov | None = None,
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
    except OSError as error:
        raise SchemaError(
            None, f"the file cannot be read ({error.strerror})", fix="check the path."
        ) from None
    except UnicodeDecodeError:
        raise SchemaError(None, "the YAML cannot be read (it is not UTF-8)", fix="convert it.") from None
    found = parse_yaml(text)
    if left := blanks(found):
        shown = ", ".join(left[:MAX_SHOWN]) + (", ..." if len(left) > MAX_SHOWN else "")
        fix = "state each `...`, or delete the column; bounds and values are never read from rows."
        raise SchemaError(None, f"still blank: {shown}", fix=fix)
    return found


def _read(path: Path) -> str:
    """Return the text of a file, no more of it than is needed to see that it is too long."""
    with path.open(encoding="utf-8-sig") as file:
        return file.read(MAX_TEXT + 1)


def read_form(spec: Any) -> dict[str, Any]:
    """Return the arguments of the `Policy` that plain data, or a person's YAML, describes."""
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
        apart = ("secret", "step") if _logs(given, column) else ("secret",)
        attributes.append(from_dict(name, {k: v for k, v in column.items() if k not in apart}))
        if "secret" in column:
            moved = {"step": column["step"]} if "step" in apart and "step" in column else {}
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
        "constraints": [constraint_from_dict(fact) for fact in spec.get("constraints", ())],
        "aggregates": [Aggregate.from_dict(each) for each in spec.get("aggregates", ())],
        "chain": None if spec.get("chain") is None else Markov.from_dict(spec["chain"]),
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
    if unknown := _unknown(secret, [*known, "step"]):
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
