"""The plain form of a policy: what its JSON and YAML hold, column by column. Never sees rows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pandas_blowfish.errors import SchemaError
from pandas_blowfish.policy.constraint import Constraint, constraint_from_dict
from pandas_blowfish.policy.domain import Domain, from_dict, to_dict
from pandas_blowfish.policy.stated import Columns, thaw

VERSION = 1


def to_form(
    domain: Domain,
    secrets: Mapping[Columns, Mapping[str, Any]],
    neighbors: str | int,
    presence: bool,
    constraints: Sequence[Constraint],
) -> dict[str, Any]:
    """Return the parts of a policy as plain JSON-able data."""
    columns = {attribute.name: to_dict(attribute) for attribute in domain}
    for keys, secret in secrets.items():
        if len(keys) == 1:
            columns[keys[0]]["secret"] = thaw(secret)
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
    return out


def load_yaml(source: Any) -> Any:
    """Return what a YAML text holds, or the file at a path (a Path, or text ending in .yaml or .yml)."""
    import yaml

    is_path = isinstance(source, os.PathLike) or (
        isinstance(source, str) and "\n" not in source and source.endswith((".yaml", ".yml"))
    )
    if not is_path and not isinstance(source, str):
        raise SchemaError(None, f"a {type(source).__name__} is not YAML", fix="give text or a path.")
    try:
        return yaml.safe_load(Path(source).read_text(encoding="utf-8") if is_path else source)
    except OSError as error:
        raise SchemaError(
            None, f"the file cannot be read ({error.strerror})", fix="check the path."
        ) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        fix = "mend the YAML."
        raise SchemaError(None, f"the YAML cannot be read ({type(error).__name__}{line})", fix=fix) from None


def read_form(spec: Any) -> dict[str, Any]:
    """Return the arguments of the `Policy` that plain data, or a person's YAML, describes."""
    if not isinstance(spec, Mapping) or spec.get("blowfish") != VERSION:
        raise SchemaError(None, "not a policy of this version", fix="begin with `blowfish: 1`.")
    unknown = set(spec) - {"blowfish", "columns", "joint", "neighbors", "presence", "constraints"}
    if unknown:
        raise SchemaError(None, f"unknown keys {', '.join(sorted(map(str, unknown)))}", fix="remove them.")
    for key in ("joint", "constraints"):
        if not isinstance(spec.get(key, []), (list, tuple)):
            raise SchemaError(None, f"`{key}:` is not a list", fix="list them, or leave it out.")
    attributes, secrets = [], {}
    columns = spec.get("columns")
    for name, column in columns.items() if isinstance(columns, Mapping) else [(None, None)]:
        if not isinstance(name, str) or not isinstance(column, Mapping):
            fix = "give `columns:` and for each its type, min, max, ..."
            raise SchemaError(None, f"column {name!r} is not described by a dict", fix=fix)
        attributes.append(from_dict(name, {k: v for k, v in column.items() if k != "secret"}))
        if "secret" in column:
            stated = column["secret"]
            secrets[(name,)] = {"secret": stated} if isinstance(stated, str) else stated
    for block in spec.get("joint", ()):
        named = isinstance(block, Mapping) and isinstance(block.get("columns"), (list, tuple))
        if not named or set(block) != {"columns", "secret"}:
            raise SchemaError(None, "a joint secret is not understood", fix="give its columns and secret.")
        secrets[tuple(block["columns"])] = block["secret"]
    return {
        "schema": Domain(tuple(attributes)),
        "secrets": secrets,
        "neighbors": spec.get("neighbors", "record"),
        "presence": spec.get("presence", False),
        "constraints": [constraint_from_dict(fact) for fact in spec.get("constraints", ())],
    }
