"""clip=: bounds beyond which values count as the nearest one, as they are written and as they are stated.

Touches no row itself.

>>> from pandas_blowfish.policy.domain import integers
>>> read_clips([integers("pay", 0, 99_999)], (None, 5_000))
{'pay': (Fraction(0, 1), Fraction(5000, 1))}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, UnboundedColumnError
from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.exact.number import exact, plain
from pandas_blowfish.markup import decimal, digits
from pandas_blowfish.plan.totals.sums import NoisySums, SummedColumn
from pandas_blowfish.plan.totals.tail_counts import Clip
from pandas_blowfish.policy.attribute import Attribute, Unbounded
from pandas_blowfish.policy.policy import Policy

AUTO = "auto"
ALLOWED = '"auto", a pair (low, high), or {column: (low, high)}; None for a declared bound'
KINDS = ("integer", "float")


def require_clippable(policy: Policy, attributes: Sequence[Attribute]) -> None:
    """Refuse to clip where a promise is about more than rows, or values have no bounds or no distances."""
    if policy.chain is not None or policy.aggregates:
        what = "a total, or rows that follow each other, are secret" if policy.chain is None else "chains"
        raise ArgumentError(
            "clip", f"this policy is about more than single rows ({what})", fix="leave it out."
        )
    for attribute in attributes:
        if isinstance(attribute, Unbounded):
            raise UnboundedColumnError(attribute.name, "so there are no bounds to clip its values to")
        if attribute.kind not in KINDS:
            raise ArgumentError("clip", f"{attribute.name!r} does not hold numbers", fix="leave clip= out.")


def read_clips(attributes: Sequence[Attribute], clip: Any) -> dict[str, Clip]:
    """Return what lower and higher values count as, by column."""
    names = [attribute.name for attribute in attributes]
    pairs = dict(clip) if isinstance(clip, Mapping) else dict.fromkeys(names, clip)
    if not pairs or not set(pairs) <= set(names):
        raise ArgumentError("clip", "not about the columns that are asked for", allowed=", ".join(names))
    return {each.name: _read(each, pairs[each.name]) for each in attributes if each.name in pairs}


def _read(attribute: Attribute, pair: Any) -> Clip:
    if isinstance(pair, (str, bytes)) or not isinstance(pair, (Sequence, np.ndarray)) or len(pair) != 2:
        raise ArgumentTypeError("clip", "not bounds", allowed=ALLOWED)
    ends = _declared(attribute)
    low, high = (end if each is None else exact(each, "clip") for each, end in zip(pair, ends, strict=True))
    if not ends[0] <= low < high <= ends[1]:
        within = f"low before high, within {plain(ends[0])} to {plain(ends[1])}; None for a declared bound"
        what = (
            "reversed" if low > high else "that leave one value" if low == high else "beyond those declared"
        )
        raise ArgumentError("clip", f"bounds of {attribute.name!r} {what}", allowed=within)
    return low, high


def _declared(attribute: Attribute) -> Clip:
    """Return the bounds of a column."""
    found: Any = attribute
    if hasattr(found, "low"):
        return Fraction(found.low), Fraction(found.high)
    return min(found.positions), max(found.positions)


def describe_clips(clips: Mapping[str, Clip], names: Sequence[str]) -> Any:
    """Return bounds as plain data that reads back as them: a pair where all columns have one."""
    stated = {name: [plain(end) for end in clips[name]] for name in names if name in clips}
    return stated[names[0]] if len(names) == 1 else stated


def clip_columns(measured: NoisySums, outside: Sequence[tuple[float, float]]) -> dict[str, Floats]:
    """Return the columns of a frame that state the bounds that were found, and the share of rows outside."""
    if not outside:
        return {}
    ends = np.array([[float(end) for end in _ends(column)] for column in measured.summed])
    shares = np.array([share for share, _ in outside])
    parts = {"clip_low": ends[:, 0], "clip_high": ends[:, 1], "outside": shares}
    return {name: np.tile(part, measured.tally.size) for name, part in parts.items()}


def clip_facts(measured: NoisySums, outside: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Return what a receipt states of clipped values: bounds, and in words what this does to the answer."""
    columns = measured.summed
    if all(column.lattice.clip is None for column in columns):
        return {}
    names = [column.attribute.name for column in columns]
    shares = dict(zip(names, outside, strict=True)) if outside else {}
    said = [_words(column, shares.get(column.attribute.name)) for column in columns]
    named = [f"{name}: {text}" for name, text in zip(names, said, strict=True)]
    sides = [_sides(column) for column in columns]
    found: dict[str, Any] = {
        "clip": "; ".join(named) if len(names) > 1 else said[0],
        "clip_low": [None if low is None else str(low) for low, _ in sides],
        "clip_high": [None if high is None else str(high) for _, high in sides],
    }
    if outside:
        found |= {
            "outside_share": [share for share, _ in outside],
            "outside_std": [std for _, std in outside],
        }
    return found


def _ends(column: SummedColumn) -> Clip:
    """Return what values of a column count as at least and at most."""
    assert column.bounds is not None
    return column.bounds


def _sides(column: SummedColumn) -> tuple[Fraction | None, Fraction | None]:
    """Return what lower and what higher values count as; None where none are lower, or higher."""
    lattice = column.lattice
    all_values = replace(lattice, clip=None).ends
    if lattice.clip is None or all_values is None:
        return None, None
    low, high = (lattice.origin + lattice.unit * end for end in lattice.clip)
    return low if lattice.clip[0] > all_values[0] else None, high if lattice.clip[1] < all_values[1] else None


def _words(column: SummedColumn, share: tuple[float, float] | None) -> str:
    """Return what clipping does to the answer."""
    low, high = (None if end is None else decimal(end) for end in _sides(column))
    if low is None and high is None:
        return "no value is clipped"
    below, above = f"values below {low} count as {low}", f"values above {high} count as {high}"
    parts = [*([below] if low is not None else []), *([above] if high is not None else [])]
    way = "too large" if high is None else "too small" if low is None else "too large or too small"
    said = f"{' and '.join(parts)}: the answer may be {way}, which std leaves out"
    if share is None:
        return said
    part, error = (digits(100 * each, 2) for each in share)
    return f"{said}; about {part}% (+-{error}%) of rows are outside"
