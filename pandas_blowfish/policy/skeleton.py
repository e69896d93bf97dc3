"""A policy's YAML with blanks where a person must state the bounds, and what is still blank in one.

Never sees rows: names and types of columns alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pandas_blowfish.policy.schema import kind_of_dtype

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
    "category": [("values", f"[{BLANK}]", "every value it may have, in order")],
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
