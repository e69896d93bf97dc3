"""Pandera schemas read into domains and secrets; nothing is ever inferred from rows.

Never sees rows. Pandera itself is not imported here: whoever hands us a schema has done so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
from pandas.api import types

from pandas_blowfish.errors import SchemaError
from pandas_blowfish.policy.attribute import Attribute
from pandas_blowfish.policy.domain import (
    Domain,
    keys_attribute,
    numeric_attribute,
    values_attribute,
    with_keys_refused,
    with_other,
)
from pandas_blowfish.policy.margin import RELATIVE

_NEEDS = {
    "string": "add Check.isin([...]) to its schema column.",
    "category": "add Check.isin([...]), or a categorical dtype with its categories, to its schema column.",
    "integer": "add Check.in_range(low, high) to its schema column.",
    "float": "add Check.in_range(low, high) to its schema column, and metadata=bf.full(step=...).",
    "datetime": "add Check.in_range(low, high) to its schema column, and metadata=bf.full(step=...).",
    "": "give its schema column a dtype, and Check.isin([...]) or Check.in_range(low, high).",
    "other": "it has no cells: use int, float, datetime, bool, category or str.",
}


def is_schema(schema: Any) -> bool:
    """Tell whether an object looks like a pandera DataFrameSchema or DataFrameModel."""
    return hasattr(schema, "to_schema") or (hasattr(schema, "columns") and hasattr(schema, "checks"))


def read(
    schema: Any,
    steps: Mapping[str, Any],
    others: Mapping[str, Any] | None = None,
    keys: Mapping[str, Any] | None = None,
) -> tuple[Domain, dict[str, dict[str, Any]]]:
    """Return the domain of a pandera schema and the secret each column's metadata states.

    Args:
        schema: A `DataFrameSchema` or a `DataFrameModel`.
        steps: Cell widths stated outside the schema, for columns that state none themselves.
        others: Names of the cell of unlisted values, stated outside the schema likewise.
        keys: Columns whose keys are read from rows, stated outside the schema likewise.
    """
    schema = _plain_schema(schema)
    attributes: list[Attribute] = []
    secrets: dict[str, dict[str, Any]] = {}
    pending: dict[str, str] = {}
    for name, column in schema.columns.items():
        _refuse_features(name, column)
        stated = (column.metadata or {}).get("blowfish")
        if stated is not None and not isinstance(stated, Mapping):
            raise SchemaError(
                name, "its blowfish metadata is not a dict", fix="write bf.full(), bf.threshold(...), ..."
            )
        secret = dict(stated or {"secret": "full"})
        kind = _kind(column.dtype)
        logs = secret.get("secret") == RELATIVE and not (_has_bounds(column) or _has_values(column))
        step = steps.get(name) if logs else secret.pop("step", steps.get(name))
        if "keys" in secret or name in (keys or {}):
            if _has_bounds(column) or _attribute(name, column, kind.replace("integer", ""), step) is not None:
                raise with_keys_refused(name, "its values are declared")
            attributes.append(keys_attribute(name, kind, nullable=bool(column.nullable)))
            secrets[name] = secret
            continue
        attribute = None if kind == "other" else _attribute(name, column, kind, step)
        if attribute is not None and not attribute.bounded and stated is not None and _has_bounds(column):
            raise SchemaError(name, "its bounds have no step to cut them into cells", fix=_step(kind, stated))
        if attribute is None or (not attribute.bounded and stated is None):
            if stated is not None:
                raise SchemaError(name, "a secret is stated but no domain", fix=_NEEDS[kind])
            bounds = attribute is not None and _has_bounds(column)
            pending[name] = _step(kind, secret) if bounds else _NEEDS.get(kind, _NEEDS["string"])
            continue
        if (other := secret.pop("other", (others or {}).get(name))) is not None:
            attribute = with_other(attribute, other)
        attributes.append(attribute)
        secrets[name] = secret
    if not attributes:
        raise SchemaError(
            None, "no column declares a domain", fix="add Check.in_range or Check.isin to a column."
        )
    return Domain(tuple(attributes), pending, tuple(_notes(schema))), secrets


def _notes(schema: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what a schema claims beyond its columns' own values."""
    for name, column in schema.columns.items():
        if getattr(column, "unique", False):
            yield (name,), "its values are declared unique"
    together = getattr(schema, "unique", None)
    if together:
        yield (
            tuple([together] if isinstance(together, str) else together),
            "they are declared unique together",
        )
    for check in getattr(schema, "checks", None) or ():
        yield (), f"the schema checks {getattr(check, 'name', None) or 'several columns'!r} across columns"


def _has_bounds(column: Any) -> bool:
    """Tell whether the checks of a column state both bounds."""
    stated = {key for check in column.checks or () for key in check.statistics or {}}
    return {"min_value", "max_value"} <= stated


def _has_values(column: Any) -> bool:
    """Tell whether the checks of a column list its values."""
    return any({"allowed_values", "value"} & set(check.statistics or {}) for check in column.checks or ())


def _step(kind: str, stated: Mapping[str, Any]) -> str:
    """Return how a stated secret is written with the width of a cell, which is all that is missing."""
    verb = stated.get("secret", "full")
    first = next((stated[key] for key in ("theta", "k", "c") if key in stated), None)
    width = "'1D'" if kind == "datetime" else "..."
    inside = "" if verb in ("full", "public") else "..., " if first is None else f"{first!r}, "
    return f"give the width of its cells: metadata=bf.{verb}({inside}step={width})."


def stored_policy(schema: Any) -> Mapping[str, Any] | None:
    """Return the policy that `bf.attach` wrote into a schema's metadata, if any."""
    stored = (_plain_schema(schema).metadata or {}).get("blowfish")
    if stored is not None and not isinstance(stored, Mapping):
        fix = "attach a policy again with bf.attach, or take schema.metadata['blowfish'] away."
        raise SchemaError(None, "its blowfish metadata is not a policy", fix=fix)
    return stored


def stated_columns(schema: Any) -> set[str]:
    """Return the columns whose metadata states a secret."""
    columns = _plain_schema(schema).columns
    return {name for name, column in columns.items() if (column.metadata or {}).get("blowfish") is not None}


def lists_values(schema: Any) -> set[str]:
    """Return the columns that list their values, so that they have no step."""
    return {name for name, column in _plain_schema(schema).columns.items() if _has_values(column)}


def draft(dtypes: Mapping[str, Any]) -> str:
    """Return schema code for columns of given dtypes, with blanks where a person states the bounds.

    Only names and dtypes are looked at: bounds and categories found in rows would be a leak.
    """
    lines = [
        "import pandera.pandas as pa",
        "import pandas_blowfish as bf",
        "",
        "# State each ... as what a person may have, never as what these rows happen to hold.",
        "# Delete columns that no query needs, such as ids. Add nullable=True where values may be missing.",
        '# A value that is not listed is refused; metadata=bf.full(other="other") takes them in one cell.',
        "schema = pa.DataFrameSchema({",
    ]
    if not any(kind_of_dtype(dtype) in ("category", "string") for dtype in dtypes.values()):
        del lines[-2]
    for name, dtype in dtypes.items():
        kind, first = kind_of_dtype(dtype), ""
        if isinstance(dtype, pd.PeriodDtype):
            kind, dtype, first = "datetime", "datetime64[ns]", f"df[{name!r}].dt.to_timestamp() first: "
        elif getattr(dtype, "kind", "") == "m":
            kind, first = "float", f"df[{name!r}].dt.total_seconds() first: "
        code, check, note = _DRAFTS.get(kind, ("object", "pa.Check.isin([...])", "every value it may hold"))
        note = note.removesuffix(_WHOLE) if first else note
        inside = ", ".join(part for part in (code, check, "metadata=bf.full()") if part)
        if kind == "datetime":
            inside = inside.replace('"datetime64[ns]"', repr(str(dtype)))
        if kind in ("float", "datetime"):
            inside = inside.replace("bf.full()", "bf.full(step=...)")
        lines.append(f"    {str(name)!r}: pa.Column({inside}),  # {first}{note}")
    return "\n".join([*lines, "})", "policy = bf.Policy(schema)", ""])


_WHOLE = "; whole numbers with gaps: int, nullable=True, no step"
_DRAFTS = {
    "integer": ("int", "pa.Check.in_range(..., ...)", "smallest and largest value it may hold"),
    "float": ("float", "pa.Check.in_range(..., ...)", "its bounds, and the width of a cell" + _WHOLE),
    "datetime": (
        '"datetime64[ns]"',
        "pa.Check.in_range(..., ...)",
        "its first and last instant, and the width of a cell",
    ),
    "bool": ("bool", "", "False, True"),
    "category": ('"category"', "pa.Check.isin([...])", "every value it may hold, in order"),
    "string": (
        "str",
        "pa.Check.isin([...])",
        "every value it may hold, in order; dates: pd.to_datetime first",
    ),
}


def _plain_schema(schema: Any) -> Any:
    """Return a DataFrameSchema, refusing features that change or hide rows."""
    if hasattr(schema, "to_schema"):
        schema = schema.to_schema()
    if not is_schema(schema):
        raise SchemaError(
            None,
            f"a {type(schema).__name__} is not a schema",
            fix="give a pandera DataFrameSchema or DataFrameModel.",
        )
    if getattr(schema, "parsers", None):
        raise SchemaError(None, "parsers change rows", fix="parse before protect() and leave parsers out.")
    if getattr(schema, "drop_invalid_rows", False):
        raise SchemaError(None, "drop_invalid_rows hides rows", fix="set drop_invalid_rows=False.")
    names = list(schema.columns)
    for name in names:
        if not isinstance(name, str):
            raise SchemaError(None, f"the column name {name!r} is not text", fix="name columns with str.")
    return schema


def _refuse_features(name: str, column: Any) -> None:
    if getattr(column, "regex", False):
        raise SchemaError(name, "regex columns have no fixed names", fix="declare each column by its name.")
    if getattr(column, "parsers", None):
        raise SchemaError(name, "parsers change rows", fix="parse before protect() and leave parsers out.")
    if getattr(column, "default", None) is not None:
        raise SchemaError(name, "default fills in rows", fix="fill before protect(), or say nullable=True.")
    if getattr(column, "drop_invalid_rows", False):
        raise SchemaError(name, "drop_invalid_rows hides rows", fix="set drop_invalid_rows=False.")


def _attribute(name: str, column: Any, kind: str, step: Any) -> Attribute | None:
    """Return the attribute of a schema column, or None when it declares no domain."""
    bounds = _Bounds(name)
    for check in column.checks or ():
        bounds.take(check)
    dtype: Any = getattr(column.dtype, "type", None)
    nullable, values, ranked = bool(column.nullable), bounds.values, False
    if isinstance(dtype, pd.CategoricalDtype):
        ranked = bool(dtype.ordered)
        values = _listed(dtype.categories, values)
    elif kind == "category" and str(dtype).startswith("Enum"):
        values = _listed(pd.Index(list(dtype.categories)), values)
    if kind == "bool":
        values = [False, True] if values is None else values
    if values is not None:
        if step is not None:
            raise SchemaError(name, "listed values cannot have a step", fix="drop step=, or declare bounds.")
        kind = kind or _kind_of_values(values)
        if kind in ("integer", "float", "datetime"):
            values = bounds.within(values)
        return values_attribute(name, kind, values, nullable=nullable, ranked=ranked)
    if kind in ("", "string", "category"):
        return None
    tz = getattr(dtype, "tz", None) or getattr(dtype, "time_zone", None)
    return numeric_attribute(
        name,
        kind,
        bounds.low,
        bounds.high,
        step,
        open_low=bounds.open_low,
        open_high=bounds.open_high,
        tz=None if tz is None else str(tz),
        nullable=nullable,
    )


def _listed(categories: pd.Index[Any] | None, values: list[Any] | None) -> list[Any] | None:
    """Return the categories of a dtype, those that checks allow."""
    if categories is None or not len(categories):
        return values
    listed = categories.tolist()
    return listed if values is None else [value for value in listed if value in set(values)]


class _Bounds:
    """The bounds and values that a column's checks leave together."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.low: Any = None
        self.high: Any = None
        self.open_low = self.open_high = False
        self.values: list[Any] | None = None

    def take(self, check: Any) -> None:
        """Narrow the bounds by one pandera check; checks of other kinds declare no domain."""
        facts, name = check.statistics or {}, check.name
        try:
            if name in ("in_range", "greater_than_or_equal_to", "greater_than") and "min_value" in facts:
                self._raise(facts["min_value"], name == "greater_than" or not facts.get("include_min", True))
            if name in ("in_range", "less_than_or_equal_to", "less_than") and "max_value" in facts:
                self._lower(facts["max_value"], name == "less_than" or not facts.get("include_max", True))
        except TypeError:
            raise self._mixed() from None
        if name == "equal_to" and "value" in facts:
            self._list([facts["value"]])
        if name == "isin" and "allowed_values" in facts:
            self._list(facts["allowed_values"])

    def within(self, values: list[Any]) -> list[Any]:
        """Return the listed values that lie within the bounds."""
        try:
            return [value for value in values if self._holds(value)]
        except TypeError:
            raise self._mixed() from None

    def _holds(self, value: Any) -> bool:
        above = self.low is None or value > self.low or (value == self.low and not self.open_low)
        below = self.high is None or value < self.high or (value == self.high and not self.open_high)
        return bool(above and below)

    def _mixed(self) -> SchemaError:
        return SchemaError(
            self.name, "its checks compare values of different types", fix="write all bounds in one type."
        )

    def _list(self, values: Any) -> None:
        if isinstance(values, (set, frozenset)):
            fix = "write isin([...]) with a list."
            raise SchemaError(self.name, "a set in isin has no order", fix=fix)
        listed = list(values)
        self.values = listed if self.values is None else [value for value in self.values if value in listed]

    def _raise(self, low: Any, strict: bool) -> None:
        if self.low is None or low > self.low or (low == self.low and strict):
            self.low, self.open_low = low, strict

    def _lower(self, high: Any, strict: bool) -> None:
        if self.high is None or high < self.high or (high == self.high and strict):
            self.high, self.open_high = high, strict


def _kind(dtype: Any) -> str:
    """Return the kind of a pandera dtype: "" when the schema states none, "other" when it has no cells."""
    if dtype is None:
        return ""
    own = getattr(dtype, "type", dtype)
    if type(dtype).__module__.startswith("pandera.engines.") and not _is_pandas(dtype):
        word = re.match("[a-z]*", str(own).lower().removeprefix("large_"))
        return next((kind for kind, words in _ENGINES.items() if word and word[0] in words), "other")
    return kind_of_dtype(own) or "other"


def _is_pandas(dtype: Any) -> bool:
    """Return whether a pandera dtype is one of the pandas, or numpy, backend."""
    return type(dtype).__module__.rpartition(".")[2] in ("pandas_engine", "numpy_engine")


# the first word of the names that polars, PyArrow and Spark have for types
_WORDS = {
    "integer": "int uint longtype integertype shorttype bytetype",
    "float": "float double halffloat decimal floattype doubletype decimaltype",
    "datetime": "datetime date timestamp timestamptype timestampntztype datetype",
    "bool": "boolean bool booleantype",
    "category": "categorical enum dictionary",
    "string": "string utf stringtype",
}
_ENGINES = {kind: set(words.split()) for kind, words in _WORDS.items()}


def kind_of_dtype(dtype: Any) -> str:
    """Return the kind of column that a pandas dtype suggests; "" for none."""
    try:
        dtype = pd.api.types.pandas_dtype(dtype)
    except TypeError:
        return ""
    if isinstance(dtype, pd.CategoricalDtype):
        return "category"
    tests = (
        ("bool", types.is_bool_dtype),
        ("integer", types.is_integer_dtype),
        ("float", types.is_float_dtype),
        ("datetime", types.is_datetime64_any_dtype),
        ("string", types.is_string_dtype),
        ("string", types.is_object_dtype),
    )
    return next((kind for kind, test in tests if test(dtype)), "")


def _kind_of_values(values: list[Any]) -> str:
    kinds = {kind_of_dtype(pd.Index([value]).dtype) for value in values}
    if kinds == {"integer", "float"}:
        return "float"
    return kinds.pop() if len(kinds) == 1 else "category"
