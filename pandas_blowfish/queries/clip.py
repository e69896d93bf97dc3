"""clip=: bounds beyond which values count as the nearest one, as they are written and as they are stated.

Touches no row itself.

>>> from pandas_blowfish.policy.domain import integers
>>> read_clips([integers("pay", 0, 99_999)], (None, 5_000))
{'pay': (Fraction(0, 1), Fraction(5000, 1))}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        raise ArgumentError("clip", f"this policy is about more than single rows ({what})", fix="leave it out.")
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
    if not (low < high and low < ends[1] and high > ends[0]):
        within = f"low before high, within {plain(ends[0])} to {plain(ends[1])}"
        raise ArgumentError("clip", f"bounds of {attribute.name!r} that leave one value", allowed=within)
    return max(low, ends[0]), min(high, ends[1])


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
    """Return the columns of a frame that state the bounds that were found, and what share of rows is beyond."""
    if not outside:
        return {}
    ends = np.array([[float(end) for end in _ends(column)] for column in measured.summed])
    shares = np.array([share for share, _ in outside])
    groups = measured.tally.size
    parts = {"clip_low": ends[:, 0], "clip_high": ends[:, 1], "outside": shares}
    return {name: np.tile(part, groups) for name, part in parts.items()}


def clip_facts(measured: NoisySums, outside: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Return what a receipt states of clipped values: bounds, and in words what this does to the answer."""
    clipped = [column for column in measured.summed if column.lattice.clip is not None]
    if not clipped:
        return {}
    names = [column.attribute.name for column in measured.summed]
    shares = dict(zip(names, outside, strict=True)) if outside else {}
    said = [_words(column, shares.get(column.attribute.name), named=len(names) > 1) for column in clipped]
    found: dict[str, Any] = {
        "clip": "; ".join(said),
        "clip_low": [str(_ends(column)[0]) for column in measured.summed],
        "clip_high": [str(_ends(column)[1]) for column in measured.summed],
    }
    if outside:
        found["outside_share"] = [share for share, _ in outside]
        found["outside_std"] = [std for _, std in outside]
    return found


def _ends(column: SummedColumn) -> Clip:
    """Return what values of a column count as at least and at most."""
    assert column.bounds is not None
    return column.bounds


def _words(column: SummedColumn, share: tuple[float, float] | None, *, named: bool) -> str:
    """Return what clipping does to the answer, in a sentence."""
    low, high = (decimal(end) for end in _ends(column))
    name = f"{column.attribute.name}: " * named
    said = f"{name}values beyond {low} and {high} count as these, which may move the answer towards them"
    if share is None:
        return f"{said}; std leaves that out"
    part, error = (digits(100 * each, 2) for each in share)
    return f"{said}; about {part}% (+-{error}%) of rows lie outside; std leaves that out"
