"""The declared cells of a table: a product of attributes, in C order.

Never sees rows.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from pandas_blowfish.errors import (
    ArgumentError,
    DomainTooLargeError,
    SchemaError,
    UndeclaredColumnError,
    UnlistedColumnError,
)
from pandas_blowfish.exact.instant import check_zone, from_ns, span_ns, span_text, to_ns, zone_of
from pandas_blowfish.exact.number import canonical_value, exact, plain
from pandas_blowfish.policy.attribute import (
    MAX_CELLS,
    Attribute,
    Grid,
    Unbounded,
    Uncounted,
    Values,
    integer_dtype,
    is_missing,
    suggest,
)

_BOUNDS = ("min", "max", "step", "exclusive_min", "exclusive_max")
KEYS = ("type", *_BOUNDS, "values", "other", "ordered", "nullable", "tz")
MAX_EDGES = 10**8  # of float cells that are listed
KINDS = ("integer", "float", "datetime", "bool", "category", "string")


@dataclass(frozen=True)
class Unlisted(Uncounted):
    """A public column whose values are those that rows will have: it has cells once they are protected."""

    def refuse_cells(self) -> UnlistedColumnError:
        """Return the error that names the keys."""
        return UnlistedColumnError(self.name)

    def describe(self) -> str:
        """Return where the values come from."""
        return "the values that occur in the rows"


@dataclass(frozen=True)
class Domain:
    """The declared columns and their cells.

    Attributes:
        attributes: The columns, in schema order.
        pending: What a column without a domain still needs, by name.
        notes: What else a schema claims, as columns and words.
    """

    attributes: tuple[Attribute, ...]
    pending: Mapping[str, str] = field(default_factory=dict, compare=False, hash=False)
    notes: tuple[tuple[tuple[str, ...], str], ...] = field(default=(), compare=False, hash=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the declared columns."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return how many cells each column has."""
        return tuple(attribute.size for attribute in self.attributes)

    @property
    def size(self) -> int:
        """Return how many cells the product has (1 for no columns)."""
        return math.prod(self.shape)

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def __getitem__(self, column: str) -> Attribute:
        for attribute in self.attributes:
            if attribute.name == column:
                return attribute
        fix = self.pending.get(column, "") or suggest(column, self.columns)
        raise UndeclaredColumnError(column, self.columns, fix)

    def select(self, columns: Sequence[str]) -> Domain:
        """Return the domain of some columns, in the order given, all of them with cells."""
        chosen = tuple(self[column] for column in columns)
        for attribute in chosen:
            if isinstance(attribute, Uncounted):
                raise attribute.refuse_cells()
            if attribute.size > MAX_CELLS:
                raise DomainTooLargeError(
                    f"column {attribute.name!r}", attribute.size, MAX_CELLS, fix="declare a wider step."
                )
        return Domain(chosen)


def integers(name: str, low: int, high: int, step: int = 1, *, nullable: bool = False) -> Grid:
    """Return the whole numbers low..high, in bins of `step`.

    Examples:
        >>> integers("age", 0, 99, 10).labels()[:2].tolist()
        [Interval(0, 9, closed='both'), Interval(10, 19, closed='both')]
    """
    grid = numeric_attribute(name, "integer", low, high, step, nullable=nullable)
    assert isinstance(grid, Grid)
    return grid


def to_dict(attribute: Attribute) -> dict[str, Any]:
    """Return an attribute as plain values; `from_dict` reads it back exactly."""
    out: dict[str, Any] = {"type": attribute.kind}
    if isinstance(attribute, Values):
        out["values"] = [canonical_value(value) for value in attribute.listed]
        if attribute.other:
            out["other"] = attribute.values[-1]
        if attribute.ranked:
            out["ordered"] = True
        if attribute.kind == "datetime" and attribute.tz is not None:
            out["tz"] = attribute.tz
    elif isinstance(attribute, Grid):
        if attribute.kind == "datetime":
            out["min"], out["max"] = (
                from_ns(int(place), attribute.tz).isoformat() for place in (attribute.low, attribute.high)
            )
            out["step"] = span_text(attribute.step)
            if attribute.tz is not None:
                out["tz"] = attribute.tz
        else:
            out["min"], out["max"] = plain(attribute.low), plain(attribute.high)
            if not attribute.single:
                out["step"] = plain(attribute.step)
        if attribute.open_low:
            out["exclusive_min"] = True
        if attribute.open_high:
            out["exclusive_max"] = True
    elif isinstance(attribute, Unbounded) and attribute.step != 1:
        out["step"] = span_text(attribute.step) if attribute.kind == "datetime" else plain(attribute.step)
    if attribute.nullable:
        out["nullable"] = True
    return out


def from_dict(name: str, spec: Mapping[str, Any]) -> Attribute:
    """Return the attribute a dict (or a person's YAML) describes.

    Examples:
        >>> from_dict("age", {"type": "integer", "min": 0, "max": 9}).cells
        10
    """
    spec = dict(spec)
    kind = spec.pop("type", None)
    if kind not in KINDS:
        raise SchemaError(name, f"unknown type {kind!r}", fix=f"one of {', '.join(KINDS)}.")
    nullable, ranked, open_low, open_high = (
        _flag(name, spec, key) for key in ("nullable", "ordered", "exclusive_min", "exclusive_max")
    )
    if kind == "bool":
        spec.setdefault("values", [False, True])
    tz = spec.pop("tz", None)
    if spec.pop("keys", None) is not None:
        if beside := [key for key in KEYS if key in spec] + ["ordered"] * ranked:
            raise with_keys_refused(name, f"it has `{beside[0]}:`")
        _nothing_left(name, spec)
        return keys_attribute(name, kind, nullable=nullable)
    if "values" in spec:
        values, other = spec.pop("values"), spec.pop("other", None)
        _nothing_left(name, spec)
        listed = values_attribute(name, kind, values, nullable=nullable, ranked=ranked, tz=tz)
        return listed if other is None else with_other(listed, other)
    if "other" in spec:
        raise with_other_refused(name, "its values are not listed")
    low, high, step = (spec.pop(key, None) for key in ("min", "max", "step"))
    _nothing_left(name, spec)
    attribute = numeric_attribute(
        name, kind, low, high, step, open_low=open_low, open_high=open_high, tz=tz, nullable=nullable
    )
    if not attribute.bounded and low is not None and high is not None:
        raise SchemaError(name, "its bounds have no step to cut them into cells", fix="give a step.")
    return attribute


def values_attribute(
    name: str, kind: str, values: Any, *, nullable: bool, ranked: bool = False, tz: str | None = None
) -> Values:
    """Return an attribute of explicit values, refusing repeats, missing values and unordered sets."""
    if isinstance(values, (set, frozenset)):
        raise SchemaError(name, "a set of allowed values has no order", fix="write isin([...]) with a list.")
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise SchemaError(name, "allowed values are not a list", fix="write isin([...]) with a list.")
    listed = list(values)
    if any(map(is_missing, listed)):
        raise SchemaError(name, "missing is not a value", fix="leave it out and say nullable=True.")
    if not listed:
        raise SchemaError(name, "there are no allowed values", fix="list at least one.")
    if kind == "datetime" and tz is None:
        tz = next((zone for zone in map(_zone, listed) if zone is not None), None)
    try:
        check_zone(tz)
        attribute = Values(name, kind, nullable, tuple(_value(value, kind, tz) for value in listed), ranked)
    except ArgumentError as error:
        fix = "list text, numbers or booleans." if kind == "category" else "list values of that type."
        raise SchemaError(
            name, f"an allowed value is not of type {kind} ({error.problem})", fix=fix
        ) from None
    if kind == "integer" and integer_dtype(attribute.values) is None:
        fix = "list whole numbers that int64, or uint64, holds; or declare a category, and text."
        raise SchemaError(name, "the allowed values fit no integer type", fix=fix)
    if min(len(attribute.codes), len(set(attribute.values))) != len(listed):  # to pandas True is 1
        raise SchemaError(name, "a value is listed twice", fix="list each value once.")
    return attribute


def with_other(attribute: Attribute, other: Any) -> Values:
    """Return a listed column with one more value, last, which every value that is not listed falls into.

    Examples:
        >>> with_other(values_attribute("shop", "string", ["A", "B"], nullable=False), "other").values
        ('A', 'B', 'other')

    Proof note:
        Requires: every engine codes rows by `count.encode.encoder`.
        Ensures:  two rows that differ only in which unlisted value they have are the same record: no release,
                  seal or kept row depends on it.
        Because:  both have the code of the last value, and after encoding there are only codes; the value
                  is one of the domain, so the secret's graph, and its edges by definition, have it as a cell.
        Checked:  tests/count/test_encode.py::test_unlisted_values_are_one_cell
    """
    name = attribute.name
    if not isinstance(attribute, Values):
        raise with_other_refused(name, "its values are not listed")
    if attribute.numeric or attribute.kind == "bool":
        raise with_other_refused(name, f"values of type {attribute.kind} have no place for others")
    if attribute.ranked:
        raise with_other_refused(name, "its values are in an order, in which others have no place")
    if not isinstance(other, str) or not other.isprintable() or not other.strip():
        raise SchemaError(name, "other= is not a name", fix='name the cell of all others, as other="other".')
    if other in attribute.values:
        fix = "give another name, or take it out of the list."
        raise SchemaError(name, f"other={other!r} is a listed value too", fix=fix)
    return replace(attribute, values=(*attribute.values, str.__str__(other)), other=True)


def keys_attribute(name: str, kind: str, *, nullable: bool) -> Unlisted:
    """Return a column whose values are read from rows later."""
    if kind not in ("string", "category", "integer"):
        raise with_keys_refused(name, f"its type is {kind or 'not stated'}")
    return Unlisted(name, kind, nullable)


def with_keys_refused(name: str, problem: str) -> SchemaError:
    """Return the error for a column whose values cannot be read from rows."""
    fix = "declare text or whole numbers, without bounds or a list of values, or leave keys= out."
    return SchemaError(name, f'keys="rows", and {problem}', fix=fix)


def with_other_refused(name: str, problem: str) -> SchemaError:
    """Return the error for a column that can have no cell of all others."""
    fix = 'declare a column of type "category" or str without an order, and list its values, or leave '
    return SchemaError(name, f"other=, and {problem}", fix=f"{fix}other= out.")


def numeric_attribute(
    name: str,
    kind: str,
    low: Any,
    high: Any,
    step: Any,
    *,
    open_low: bool = False,
    open_high: bool = False,
    tz: str | None = None,
    nullable: bool = False,
) -> Attribute:
    """Return the evenly cut attribute of two bounds and a step, or an unbounded one."""
    if kind not in ("integer", "float", "datetime"):
        raise SchemaError(name, "its values are not listed", fix="add Check.isin([...]).")
    try:
        if kind == "datetime":
            check_zone(tz)
            tz = tz or next((zone_of(bound) for bound in (low, high) if bound is not None), None)
        first, last = (None if bound is None else _bound(bound, kind, tz) for bound in (low, high))
        width = read_step(kind, step)
    except ArgumentError as error:
        raise SchemaError(name, str(error).rstrip("."), fix="correct the bounds or the step.") from None
    if first is None or last is None or width is None:
        return Unbounded(name, kind, nullable, width or Fraction(1))
    if kind == "integer":
        first = Fraction(first.__floor__() + 1 if open_low else first.__ceil__())
        last = Fraction(last.__ceil__() - 1 if open_high else last.__floor__())
        open_low = open_high = False
    if first > last or (first == last and (open_low or open_high)):
        raise SchemaError(name, "the bounds leave no value", fix="let the lower bound be below the upper.")
    if kind == "integer" and not -(2**62) <= first <= last <= last + width <= 2**62:
        raise SchemaError(name, "the bounds exceed 62 bits", fix="declare narrower bounds.")
    if kind == "datetime" and not -(2**63) < first <= last + width < 2**63:
        raise SchemaError(name, "the bounds exceed the years 1678 to 2261", fix="declare narrower bounds.")
    if kind == "float" and not _told_apart(max(abs(first), abs(last)) + width, width):
        raise SchemaError(
            name,
            "the step is below what a float can distinguish",
            fix="declare a wider step, or bounds nearer 0.",
        )
    if kind == "float" and not _placed(first, last, width):
        raise SchemaError(
            name,
            "it has more cells than can be listed, so fine that floats cannot be placed in them exactly",
            fix="declare a wider step, or bounds and a step with fewer digits.",
        )
    return Grid(name, kind, nullable, first, last, width, open_low, open_high, tz)


def read_step(kind: str, step: Any) -> Fraction | None:
    """Return a positive step: 1 by default for whole numbers, required elsewhere."""
    if step is None:
        return Fraction(1) if kind == "integer" else None
    width = span_ns(step, "step") if kind == "datetime" else exact(step, "step")
    if width <= 0 or (kind == "integer" and width.denominator != 1):
        raise ArgumentError("step", f"not a positive {'whole ' if kind == 'integer' else ''}number")
    return width


def _bound(value: Any, kind: str, tz: str | None) -> Fraction:
    return Fraction(to_ns(value, tz)) if kind == "datetime" else exact(value, "bound")


def _told_apart(largest: Fraction, width: Fraction) -> bool:
    """Tell whether edges a width apart round to different floats all the way to the largest."""
    try:
        return width >= Fraction(math.ulp(float(largest)))
    except OverflowError:
        return False


def _placed(low: Fraction, high: Fraction, width: Fraction) -> bool:
    """Tell whether the edges of all cells can be listed, or each be worked out exactly where it is needed."""
    cells = ((high - low) / width).__floor__() + 1
    if cells <= MAX_EDGES:
        return True
    scale = math.lcm(low.denominator, width.denominator)
    exactly = scale < 2**53 and abs(low * scale) + width * scale * (cells + 2) < 2**53
    return exactly and width > 8 * Fraction(math.ulp(max(abs(float(low)), abs(float(high)))))


def _zone(value: Any) -> str | None:
    try:
        return zone_of(value)
    except ArgumentError:
        return None


def _value(value: Any, kind: str, tz: str | None) -> Hashable:
    """Return a listed value as the plain Python value, or instant, that a policy can write down."""
    if kind == "datetime":
        return from_ns(to_ns(value, tz), tz)
    if kind in ("integer", "float"):
        place = exact(value, "value")
        if kind == "integer" and place.denominator != 1:
            raise ArgumentError("value", "not a whole number")
        try:
            return int(place) if kind == "integer" else float(place)
        except OverflowError:
            raise ArgumentError("value", "a number is beyond floats") from None
    value = canonical_value(value) if isinstance(value, np.generic) else value
    taken: Any = {"bool": bool, "string": str}.get(kind, (bool, str, int, float))
    if not isinstance(value, taken):
        raise ArgumentError("value", f"a {type(value).__name__} is not text, a number or a boolean")
    if isinstance(value, str):
        if value.encode("utf-8", "ignore").decode() != value:
            raise ArgumentError("value", "text that cannot be written")
        return str.__str__(value)  # the text of an enumeration's member too
    return value if isinstance(value, (bool, float)) else int(value)


def _flag(name: str, spec: dict[str, Any], key: str) -> bool:
    value = spec.pop(key, False)
    if not isinstance(value, bool):
        raise SchemaError(name, f"{key} is not true or false", fix=f"write `{key}: true`, or leave it out.")
    return value


def _nothing_left(name: str, spec: Mapping[str, Any]) -> None:
    if beside := [key for key in spec if key in KEYS]:
        named = ", ".join(f"`{key}:`" for key in beside)
        raise SchemaError(name, f"listed values have no {named}", fix="leave it out, or the values.")
    if spec:
        what = f"unknown keys {', '.join(map(repr, spec))}"
        raise SchemaError(name, what, fix=f"known: {', '.join(KEYS)}.")
