"""A column's cells as expressions that another engine evaluates on its own rows.

Sees rows only through expressions. A code is the cell's number, OUTSIDE for a value that is not declared,
MISSING for a null that is not allowed, exactly as `place` gives it. Every value is guarded before it is cast
or divided, so that no row makes an engine raise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pandas_blowfish.count.place import MISSING, OUTSIDE, WHOLE, farthest
from pandas_blowfish.count.readers.storage import Expr, Steps, Storage, absent
from pandas_blowfish.count.weigh import lattice_numbers
from pandas_blowfish.errors import FrameError
from pandas_blowfish.exact.instant import NS_PER_UNIT
from pandas_blowfish.policy.attribute import Attribute, Grid, Unbounded

SHIFT = 2**54  # the number of the step at 0 in a column without bounds: none is negative
EXACT = 2**51  # quotients below are off by one at most


def guard(column: Expr, kept: Storage, attribute: Attribute) -> Expr | None:
    """Return which rows of an axis have a cell: inside the bounds, and not missing; None where none can.

    Written so that NaN fails it, whether an engine takes it for the largest number or compares it with none.
    """
    import narwhals as nw

    if attribute.kind == "datetime":
        return _instants_inside(column, kept, attribute)
    if kept.kind not in ("integer", "float"):
        return None
    low, high = _ends(kept, attribute)
    number = column.cast(nw.Float64) if kept.kind == "float" else column
    cut = attribute if isinstance(attribute, Grid) and attribute.kind == "float" else None
    least = number > low if cut and cut.open_low else number >= low
    most = number < high if cut and cut.open_high else number <= high
    if attribute.kind == "integer" and kept.kind == "float":
        return least & most & (number == number.floor())
    return least & most


def cell(steps: Steps, column: Expr, kept: Storage, attribute: Attribute, *, clip: bool) -> Expr:
    """Return the code of each row of an axis: of a grid, or of numbers without bounds those of their steps.

    Where rows without a cell are already filtered out (`sure`) it is never negative.

    Args:
        steps: Where columns on the way are added.
        column: The stored values; of instants the number of units since 1970.
        kept: How they are stored.
        attribute: The declared cells.
        clip: Put what lies beyond the bounds into the nearest cell.

    Proof note:
        Requires: the engine computes with 64-bit whole numbers and IEEE floats.
        Ensures:  the code that pandas gives the same value, or a negative number where it gives one; of every
                  row, whatever it is.
        Because:  what is not inside the bounds is left out, or replaced, before it is cast or divided; a
                  quotient is one too large at most, and set right against an edge that one division of exact
                  floats rounds.
        Checked:  tests/count/readers/test_expressions.py::test_codes_are_those_of_pandas
    """
    import narwhals as nw

    inside = guard(column, kept, attribute)
    missing = _last(attribute) if attribute.nullable else MISSING
    if inside is None:  # what is stored so is no declared value
        return steps.let(nw.when(absent(kept)).then(_whole(missing)).otherwise(_whole(OUTSIDE)))
    number = column.cast(nw.Float64) if attribute.kind == "float" or kept.kind == "float" else column
    held = number
    if kept.wide or not sure(attribute, clip=clip):  # polars may cast whole numbers before it filters rows
        inside = inside & ~absent(kept)
        held = steps.let(nw.when(inside).then(number).otherwise(_inner(kept, attribute)))
    find = {"integer": _integers, "float": _floats, "datetime": _stamps}[attribute.kind]
    found = find(steps, held, kept, attribute)
    if sure(attribute, clip=clip):
        return steps.let(found)
    there = nw.when(inside).then(found).otherwise(_whole(OUTSIDE))
    if clip:
        there = _clipped(there, number, kept, attribute)
    return steps.let(nw.when(absent(kept)).then(_whole(missing)).otherwise(there))


def sure(attribute: Attribute, *, clip: bool) -> bool:
    """Tell whether rows that `guard` refuses are left out before codes are computed: they count nowhere."""
    return not (clip or attribute.nullable)


def quotient(column: Expr, step: int, largest: int) -> Expr:
    """Return whole numbers from 0 to `largest` divided by a step, rounded down.

    Some engines divide as floats: what is divisible, plus half a step, is then rounded to no other number.
    """
    if step == 1:
        return column
    if largest < EXACT:
        return column // step
    return (column - column % step + step // 2) // step


def fractions_of(grid: Grid) -> tuple[int, int, int]:
    """Return whole numbers (a, b, c) such that cell i begins at (a + i b) / c, all exact as floats.

    Raises:
        FrameError: Engines compute with floats, which do not hold the bounds of this column exactly.
    """
    scale = math.lcm(grid.low.denominator, grid.step.denominator)
    first, each = int(grid.low * scale), int(grid.step * scale)
    widest = max(abs(float(grid.low)), abs(float(grid.high)))
    fine = max(scale, abs(first) + each * (grid.cells + 2)) < 2**53
    if not fine or float(grid.step) <= 8 * np.spacing(widest) or widest > float(np.finfo(np.float32).max):
        raise FrameError(
            f"the cells of column {grid.name!r} are too fine for other engines than pandas",
            columns=[grid.name],
            fix="declare a step and bounds with fewer digits, or protect a pandas frame.",
        )
    return first, each, scale


def _whole(value: int) -> Expr:
    import narwhals as nw

    return nw.lit(value, nw.Int64)


def _last(attribute: Attribute) -> int:
    """Return the number of a missing value: one beyond all others."""
    return 2 * SHIFT if isinstance(attribute, Unbounded) else attribute.cells


def _ends(kept: Storage, attribute: Attribute) -> tuple[Any, Any]:
    """Return the least and the greatest number of an axis, as they are compared with what is stored."""
    if isinstance(attribute, Unbounded):
        top = _farthest(kept, attribute)
        return 0 if kept.unsigned else -top, top
    assert isinstance(attribute, Grid)
    if attribute.kind == "integer":
        ends = int(attribute.low), int(attribute.high)
        if kept.unsigned:  # no negative number is compared with one that has no sign
            return max(ends[0], 0), max(ends[1], 0)
        return ends if kept.kind == "integer" else (float(ends[0]), float(ends[1]))
    low, high = float(attribute.low), float(attribute.high)
    return (float(np.float32(low)), float(np.float32(high))) if kept.narrow else (low, high)


def _farthest(kept: Storage, attribute: Unbounded) -> int | float:
    """Return how far from 0 numbers without bounds are taken; pandas takes some a little farther."""
    up, down = attribute.step.numerator, attribute.step.denominator
    if (kept.narrow and attribute.kind == "float") or max(up, down) >= EXACT:
        raise FrameError(
            f"column {attribute.name!r} has no bounds, and 32-bit floats or a step of many digits",
            columns=[attribute.name],
            fix="cast it to 64 bits in the engine, declare bounds, or protect a pandas frame.",
        )
    if attribute.kind == "integer":
        return WHOLE if kept.kind == "integer" else float(WHOLE)
    return min(float(farthest(attribute, whole=kept.kind == "integer")), float(EXACT // down))


def _inner(kept: Storage, attribute: Attribute) -> Expr:
    """Return a number inside the bounds, for rows whose own is not."""
    import narwhals as nw

    if attribute.kind == "datetime":
        return _whole(0 if isinstance(attribute, Unbounded) else _units(kept, attribute)[0])
    if isinstance(attribute, Unbounded):
        real = attribute.kind == "float" or kept.kind == "float"
        return nw.lit(0.0) if real else nw.lit(0, nw.UInt64) if kept.unsigned else _whole(0)
    assert isinstance(attribute, Grid)
    if attribute.kind == "float" or kept.kind == "float":
        return nw.lit(float(attribute.low))
    low = int(attribute.low)
    return nw.lit(max(low, 0), nw.UInt64) if kept.unsigned else _whole(low)


def _clipped(there: Expr, number: Expr, kept: Storage, attribute: Attribute) -> Expr:
    """Return codes in which what lies beyond the bounds has the first or the last one."""
    import narwhals as nw

    first, last = 0, _last(attribute) - 1
    if attribute.kind == "datetime":
        if isinstance(attribute, Unbounded):
            return there
        low, high = _units(kept, attribute)
        below, above = number < low, number > high
    else:
        low, high = _ends(kept, attribute)
        below, above = number < low, number > high
        if isinstance(attribute, Grid) and attribute.kind == "float":
            below = number <= low if attribute.open_low else below
            above = number >= high if attribute.open_high else above
    if isinstance(attribute, Unbounded):  # what is infinite is beyond no number
        ends = lattice_numbers(np.array([low, high], dtype=np.float64), attribute) + SHIFT
        first, last = (int(end) for end in ends)
        if kept.kind == "float":
            below, above = below & number.is_finite(), above & number.is_finite()
    raised = nw.when(below).then(_whole(first)).otherwise(there)
    return nw.when(above).then(_whole(last)).otherwise(raised)


def _integers(steps: Steps, held: Expr, kept: Storage, attribute: Attribute) -> Expr:  # noqa: ARG001
    """Code whole numbers."""
    import narwhals as nw

    number = held.cast(nw.Int64)
    if isinstance(attribute, Grid):
        low, high, step = int(attribute.low), int(attribute.high), int(attribute.step)
        return _steps_from(number, low, high, step)
    assert isinstance(attribute, Unbounded)
    step = attribute.step.numerator
    shift = -(-SHIFT // step)
    return quotient(number + shift * step, step, 2 * SHIFT) + (SHIFT - shift)


def _steps_from(number: Expr, low: int, high: int, step: int) -> Expr:
    """Return how many whole steps numbers from `low` to `high` lie beyond the first."""
    import narwhals as nw

    if high - low < 2**62:
        return quotient(number - low if low else number, step, high - low)
    half = (high - low) // (2 * step)  # differences of the farther half from its own start fit into 64 bits
    middle = low + half * step
    near = quotient(nw.when(number < middle).then(number - low).otherwise(_whole(0)), step, high - low)
    far = quotient(nw.when(number < middle).then(_whole(0)).otherwise(number - middle), step, high - low)
    return nw.when(number < middle).then(near).otherwise(far + half)


def _floats(steps: Steps, held: Expr, kept: Storage, attribute: Attribute) -> Expr:
    """Code floats: a guess that is one too large at most, set right against the edge there, rounded once.

    Narrow floats mean the decimals they print as, so edges are rounded as they are.
    """
    import narwhals as nw

    if isinstance(attribute, Unbounded):
        first, each, scale = 0, attribute.step.numerator, attribute.step.denominator
        low, last, shift, past = 0.0, None, SHIFT, False
    else:
        assert isinstance(attribute, Grid)
        first, each, scale = fractions_of(attribute)
        low, last, shift = float(attribute.low), attribute.cells - 1, 0
        past = kept.narrow or (first + attribute.cells * each) / scale <= float(attribute.high)
    over = None if scale == 1 else steps.divisor(float(scale), held)

    def edge(cells: Expr, more: int) -> Expr:
        start = float(first + more * each)
        top = cells * float(each) + start if start else cells * float(each)
        return top if over is None else top / over

    guess = steps.let((((held - low) if low else held) / float(attribute.step) + 0.25).floor())
    below = held < edge(guess, 0)
    near = guess - below.cast(nw.Float64)  # whole, and cast once: whole numbers are cheaper in polars alone
    whole = guess.cast(nw.Int64) - below.cast(nw.Int64)
    found = whole if steps.engine == "polars" else near.cast(nw.Int64)
    if kept.narrow:
        near = steps.let(near)
        at, after = (steps.let(edge(near, more).cast(nw.Float32).cast(nw.Float64)) for more in (0, 1))
        found = near.cast(nw.Int64) + ((after == held) & (at != held)).cast(nw.Int64)
    if last is not None and past:
        found = steps.let(found)  # the edge beyond the last cell is, rounded, not beyond the bounds
        found = nw.when(found > last).then(_whole(last)).otherwise(found)
        found = nw.when(found < 0).then(_whole(0)).otherwise(found)
    return found + shift if shift else found


def _units(kept: Storage, grid: Attribute) -> tuple[int, int]:
    """Return the least and the greatest instant of a grid in the units that are stored."""
    assert isinstance(grid, Grid)
    factor, low, high = NS_PER_UNIT[kept.unit], int(grid.low), int(grid.high)
    least = -((-low) // factor) + (grid.open_low and low % factor == 0)
    return least, high // factor - (grid.open_high and high % factor == 0)


def _instants_inside(column: Expr, kept: Storage, attribute: Attribute) -> Expr | None:
    """Return which instants have a cell: naive ones are not comparable with those in a time zone."""
    if kept.kind != "instant":
        return None
    if isinstance(attribute, Unbounded):
        return ~absent(kept)
    if kept.zone != (getattr(attribute, "tz", None) is not None):
        return None
    least, most = _units(kept, attribute)
    return (column >= least) & (column <= most) & ~absent(kept)


def _stamps(steps: Steps, held: Expr, kept: Storage, attribute: Attribute) -> Expr:  # noqa: ARG001
    """Code instants."""
    import narwhals as nw

    if isinstance(attribute, Unbounded):
        return held.cast(nw.Int64) * 0 + SHIFT  # nothing adds them up
    assert isinstance(attribute, Grid)
    factor = NS_PER_UNIT[kept.unit]
    low, high, step = int(attribute.low), int(attribute.high), int(attribute.step)
    number = held.cast(nw.Int64)
    if low % factor == 0 and step % factor == 0:
        return _steps_from(number, low // factor, high // factor, step // factor)
    return _steps_from(number * factor, low, high, step)  # of what is inside, which surely fits
