"""Arrays of numbers and instants to the codes of their cells: this module sees rows.

A code is the cell's number, OUTSIDE for a value that is not declared, MISSING for a null that is not
allowed. Nothing here raises because of a value.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.exact.instant import NS_PER_UNIT
from pandas_blowfish.policy.attribute import Attribute, Grid, Unbounded, Values

OUTSIDE, MISSING = -1, -2  # as bits of a float both are NaN, so they name no number of a column without cells
_NAT = np.iinfo(np.int64).min
_NAN = int(np.array(np.nan).view(np.int64))
APART = 2**50  # steps from 0 up to which floats distinguish edges
WHOLE = 2**53  # whole numbers without bounds are read as floats, and are exact up to here
_DIGITS = {2: range(3, 6), 4: range(6, 10)}  # how many a narrow float of so many bytes may print with
_POWERS = np.array([float(10**power) for power in range(23)])  # those that are exact as floats


def missing_code(attribute: Attribute) -> int:
    """Return the code of a null: the missing cell if there is one."""
    if not attribute.nullable:
        return MISSING
    return attribute.cells if attribute.bounded else _NAN


def bounds(attribute: Any) -> tuple[Fraction, Fraction]:
    """Return the least and the greatest declared number of an ordered column."""
    places = (attribute.low, attribute.high) if isinstance(attribute, Grid) else attribute.positions
    return places[0], places[-1]


def place_numbers(data: NDArray[Any], attribute: Attribute, clip: bool) -> Ints:
    """Code plain numbers."""
    if isinstance(attribute, Unbounded):
        return _bits(data, attribute, clip)
    if data.dtype.kind == "f" and (data.dtype.itemsize > 8 or attribute.kind == "integer"):
        data = data.astype(np.float64, copy=False)
    if attribute.kind == "integer":
        return _integers(data, attribute, clip)
    if data.dtype.kind != "f":
        data = data.astype(np.float64)
    if isinstance(attribute, Grid):
        return _floats(data, attribute, clip)
    assert isinstance(attribute, Values)
    codes = _match(data, attribute, clip)
    codes[np.isnan(data)] = missing_code(attribute)
    return codes


def place_instants(stamps: Ints, unit: str, zone: bool, attribute: Attribute, clip: bool) -> Ints:
    """Code instants stored in any unit; naive ones are not comparable with instants in a time zone."""
    null, factor = stamps == _NAT, NS_PER_UNIT[unit]
    if isinstance(attribute, Unbounded):
        codes = _bits(stamps * np.float64(factor), attribute, clip)
    elif zone != (getattr(attribute, "tz", None) is not None):
        codes = np.full(len(stamps), OUTSIDE, dtype=np.int64)
    elif isinstance(attribute, Values):
        codes = _match(stamps, attribute, clip, factor)
    else:
        assert isinstance(attribute, Grid)
        low, high, step = int(attribute.low), int(attribute.high), int(attribute.step)
        below = stamps < -((-low) // factor) + (attribute.open_low and low % factor == 0)
        above = stamps > high // factor - (attribute.open_high and high % factor == 0)
        inside = np.where(below | above, low, stamps * factor)  # only what is inside surely fits
        # two instants may lie further apart than int64 reaches, but not further than uint64
        codes = ((inside.view(np.uint64) - np.uint64(low % 2**64)) // np.uint64(step)).view(np.int64)
        codes[below] = 0 if clip else OUTSIDE
        codes[above] = attribute.cells - 1 if clip else OUTSIDE
    codes[null] = missing_code(attribute)
    return codes


def _integers(data: NDArray[Any], attribute: Attribute, clip: bool) -> Ints:
    """Code numbers of a column of whole ones; what int64 cannot hold is compared as it is."""
    place: Callable[..., Ints] = _whole if isinstance(attribute, Grid) else _match
    if data.dtype.kind == "i" or data.dtype.itemsize < 8:
        return place(data.astype(np.int64, copy=False), attribute, clip)
    fits = data < 2**63 if data.dtype.kind == "u" else (np.abs(data) < 2.0**63) & (data == np.floor(data))
    codes = np.where(fits, place(np.where(fits, data, 0).astype(np.int64), attribute, clip), OUTSIDE)
    if clip and attribute.ordered and not fits.all():
        low, high = bounds(attribute)
        codes[~fits & (data < float(low))] = 0
        codes[~fits & (data > float(high))] = attribute.cells - 1
    return np.where(data != data, missing_code(attribute), codes)


def _whole(data: Ints, grid: Grid, clip: bool) -> Ints:
    """Code whole numbers: shift, check the range in one unsigned comparison, divide by the step."""
    low, high, step = int(grid.low), int(grid.high), int(grid.step)
    if clip:
        data = np.clip(data, low, high)
    # differences wrap modulo 2^64, so an unsigned comparison finds everything outside [0, high - low]
    shifted = (data - low if low else data).view(np.uint64)
    outside = shifted > np.uint64(high - low)
    codes: Ints = (shifted // np.uint64(step) if step > 1 else shifted).view(np.int64)
    return np.where(outside, OUTSIDE, codes) if outside.any() else codes


def _match(data: NDArray[Any], attribute: Values, clip: bool, unit: int = 1) -> Ints:
    """Code what must equal a declared number: in whole units, or in the precision of the floats given."""
    units = [place / unit for place in attribute.positions]
    if data.dtype.kind == "f":
        with np.errstate(over="ignore"):
            kept, line = list(range(len(units))), np.array([float(u) for u in units]).astype(data.dtype)
    else:
        kept = [code for code, u in enumerate(units) if u.denominator == 1 and abs(u) < 2**63]
        line = np.array([int(units[code]) for code in kept], dtype=np.int64)
    order = np.argsort(line, kind="stable")
    place = np.searchsorted(line, data, sorter=order)
    near = np.append(order, 0)[place] if len(order) else np.zeros(len(data), dtype=np.int64)
    equal = (np.append(line, 0)[near] == data) & (place < len(line)) & np.isfinite(data)
    codes = np.where(equal, np.array([*kept, OUTSIDE], dtype=np.int64)[near], OUTSIDE)
    if clip and attribute.ordered:
        real = data.dtype.kind == "f"
        codes[data < (line[0] if real else math.ceil(units[0]))] = 0
        codes[data > (line[-1] if real else math.floor(units[-1]))] = attribute.cells - 1
    return codes


def _floats(data: NDArray[Any], grid: Grid, clip: bool) -> Ints:
    """Code floats; narrow ones mean the decimals they print as, so bounds and edges are rounded alike."""
    narrow = data.dtype != np.float64
    with np.errstate(over="ignore"):  # a narrow float takes a bound that it cannot hold for infinite
        low, high = data.dtype.type(float(grid.low)), data.dtype.type(float(grid.high))
    if not narrow and _is_inside(data, grid):
        return _cells(data, grid)
    known = data > low if grid.open_low else data >= low
    known &= data < high if grid.open_high else data <= high
    if narrow:
        known &= np.isfinite(data)
    all_known = bool(known.all())
    held = data.astype(np.float64, copy=False)
    held = held if all_known else np.where(known, held, float(grid.low))
    codes = _cells(np.maximum(held, float(grid.low)) if narrow else held, grid)
    if narrow:
        with np.errstate(over="ignore"):
            here, after = (_edge(grid, codes + more).astype(data.dtype) for more in (0, 1))
        codes = np.minimum(codes + ((after == data) & (here != data)), grid.cells - 1)
    if all_known:
        return codes
    above = data >= high if grid.open_high else (data > high) | (data == np.inf)
    beyond = np.where(above, grid.cells - 1, 0) if clip else OUTSIDE
    return np.where(known, codes, np.where(np.isnan(data), missing_code(grid), beyond))


def _is_inside(data: Floats, grid: Grid) -> bool:
    """Return whether all floats lie inside the bounds: of the least and the greatest that is soon seen."""
    if not len(data):
        return True
    with np.errstate(invalid="ignore"):
        least, greatest = data.min(), data.max()  # of NaN both are NaN, which is nowhere inside
    low, high = float(grid.low), float(grid.high)
    inside = least > low if grid.open_low else least >= low
    return bool(inside and (greatest < high if grid.open_high else greatest <= high))


def _cells(data: Floats, grid: Grid) -> Ints:
    """Return the cells of floats inside the bounds: a guess by division, set right against the edges.

    Below 2^48 cells a quotient is off by less than a quarter, so that a quarter more is never too small.
    """
    low, high, step = float(grid.low), float(grid.high), float(grid.step)
    if step <= 8 * np.spacing(max(abs(low), abs(high))) or high - low == np.inf:
        return np.clip(np.searchsorted(_edges(grid), data, side="right") - 1, 0, grid.cells - 1)
    many = grid.cells >= 2**48
    quotient = data - low
    quotient /= step
    quotient += 0.0 if many else 0.25
    codes: NDArray[Any] = quotient.astype(np.int32 if grid.cells < 2**31 - 1 else np.int64)
    if len(codes) and int(codes.max()) >= grid.cells:
        np.minimum(codes, grid.cells - 1, out=codes)  # the edge beyond the last may be, rounded, not beyond
    codes -= data < _edge(grid, codes)
    if many:
        codes = np.minimum(codes + (data >= _edge(grid, codes + 1)), grid.cells - 1)
    return codes.astype(np.int64, copy=False)


def _edge(grid: Grid, cells: NDArray[Any]) -> Floats:
    """Return where cells begin, as the nearest float."""
    scale = math.lcm(grid.low.denominator, grid.step.denominator)
    first, each = int(grid.low * scale), int(grid.step * scale)
    if max(scale, abs(first) + each * (grid.cells + 2)) >= 2**53:
        return np.asarray(_edges(grid)[cells])
    edges: Floats = cells.astype(np.float64)
    edges *= each
    edges += first
    return np.asarray(edges / scale) if scale > 1 else edges  # a quotient of exact floats, rounded once


@lru_cache(maxsize=4)
def _edges(grid: Grid) -> Floats:
    return grid.lows(grid.cells + 1).astype(np.float64)


def exact_limit(attribute: Unbounded, *, whole: bool) -> int | float:
    """Return how far from 0 floats distinguish the numbers of a column without bounds.

    Whole numbers are up to 2^53, and floats up to 2^50 steps; instants have no limit: nothing adds them up.
    Logarithms of floats have no limit either.
    """
    if attribute.kind == "datetime":
        return math.inf
    if attribute.kind == "integer":
        return WHOLE
    if attribute.log:
        return WHOLE if whole else sys.float_info.max
    limit = APART * attribute.step
    top = float(limit) if limit < sys.float_info.max else sys.float_info.max
    top = top if Fraction(top) <= limit else math.nextafter(top, 0)
    return min(int(top), WHOLE) if whole else top


def _bits(data: NDArray[Any], attribute: Unbounded, clip: bool) -> Ints:
    """Code numbers without cells as the bits of a float, for the seal; what is not finite is OUTSIDE.

    So is what floats do not distinguish, unless it is clipped: no two numbers are rounded to one here.
    """
    whole = data.dtype.kind in "iu"
    top = exact_limit(attribute, whole=whole)
    if whole:
        data = data.astype(f"{data.dtype.kind}8", copy=False)
    elif data.dtype.itemsize < 8:
        data = _decimals(data) if attribute.kind == "float" else data.astype(np.float64)
    beyond = (data > top) | ((data < -top) & (data.dtype.kind != "u"))  # before any of them is rounded
    real = np.asarray(data.astype(np.float64) + 0.0)  # -0.0 is 0.0
    odd = ~np.isfinite(real) | ((data != np.floor(data)) & (attribute.kind == "integer"))
    odd |= (real <= 0) & attribute.log
    if clip:
        real = np.where(beyond, np.copysign(float(top), real), real)
    else:
        odd |= beyond
    codes: Ints = np.where(odd, OUTSIDE, real.view(np.int64))
    codes[np.isnan(real)] = missing_code(attribute)
    return codes


def _decimals(data: NDArray[Any]) -> Floats:
    """Return narrow floats as the decimals they print as: the fewest digits that round back to them."""
    exactly = data.astype(np.float64)
    size = np.abs(exactly)
    usual = (size > max(1e-13, float(np.finfo(data.dtype).tiny))) & (size < 1e22)
    usual &= np.frexp(size)[0] != 0.5  # below a power of two floats are closer than above
    found = exactly.copy()
    left = np.flatnonzero(usual)
    for digits in _DIGITS[data.dtype.itemsize]:
        near = exactly[left]
        power = digits - 1 - np.floor(np.log10(np.abs(near))).astype(np.int64)
        times, over = _POWERS[np.clip(power, 0, 22)], _POWERS[np.clip(-power, 0, 22)]
        near = np.rint(near * times / over) * over / times  # one of the two is 1, so this rounds once
        with np.errstate(over="ignore"):
            back = near.astype(data.dtype) == data[left]
        found[left[back]] = near[back]
        left = left[~back]
    rest = np.append(left, np.flatnonzero(~usual & np.isfinite(exactly) & (exactly != 0)))
    distinct, place = np.unique(data[rest], return_inverse=True)
    found[rest] = distinct.astype(str).astype(np.float64)[place]
    return found
