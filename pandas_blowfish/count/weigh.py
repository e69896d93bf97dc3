"""Rows to sums of whole weights, exactly and a chunk at a time: this module sees rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.count.codes import Columns
from pandas_blowfish.count.place import APART, WHOLE
from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.exact.logarithm import log_cell
from pandas_blowfish.plan.lattice import LIMIT, Lattice, Total
from pandas_blowfish.policy.attribute import Unbounded

CHUNK, LARGE = 1 << 15, 1 << 20  # rows added up at once: 2^20 halves of 31 bits are exact as floats
HALF = 31
LOOSE = 2.0**-49  # of a quotient of logarithms, which floats are surely nearer to
Bins = Callable[[int, int], Ints]


def total(columns: Columns, asked: Total, bins: Bins | None) -> Ints:
    """Return the sum of the rows' weights in each group, in two halves: the high ones, then the low ones.

    A row outside every group, or whose value is missing or (against the seal) outside the domain, weighs
    nothing: no error depends on rows.

    Args:
        columns: The rows.
        asked: What they weigh, and the groups.
        bins: The group of the rows start..stop-1, -1 for none; None where all rows are one group.

    Proof note:
        Requires: fewer than 2^32 rows; no product of weights beyond +-2^61 (`require_small`).
        Ensures:  the exact sum of weights that are clamped one by one to +-2^61; halves of several parts of
                  the rows may be added up. `clamp` makes the sum of them, clamped itself.
        Because:  weights are split into halves of 31 bits, whose sums over a chunk are whole numbers below
                  2^53 that floats hold exactly; what exceeds the lower half is carried after each chunk.
        Checked:  tests/count/test_weigh.py::test_matches_python_integers
    """
    size = asked.tally.size
    readers = {each.name: columns.reader(each) for each in asked.attributes}
    low, high = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    step = int(np.clip(size, CHUNK, LARGE))
    for start in range(0, len(columns), step):
        stop = min(start + step, len(columns))
        weights, kept = weigh_product(asked, {name: read(start, stop) for name, read in readers.items()})
        groups = None
        if bins is not None:
            groups = bins(start, stop)
            kept = kept & (groups >= 0)
        if not kept.all():
            weights = weights[kept]
            groups = None if groups is None else groups[kept]
        low += _summed(weights & ((1 << HALF) - 1), groups, size)
        high += _summed(weights >> HALF, groups, size) + (low >> HALF)
        low &= (1 << HALF) - 1
    return np.stack([high, low])


def total_groups(asked: Total, codes: Mapping[str, Ints], bins: Ints, rows: Ints) -> Ints:
    """Return the halves that `total` gives, from groups of rows that share the code of their value.

    Args:
        asked: What rows weigh, and the groups of the answer.
        codes: For each column that is weighed the code of each group's value.
        bins: The group of the answer that it is in, -1 for none.
        rows: How many rows it has.
    """
    weights, kept = weigh_product(asked, codes)
    sums = np.zeros(asked.tally.size, dtype=object)  # of whole numbers of any size
    for place, weight, many, own in zip(bins, weights.tolist(), rows.tolist(), kept, strict=True):
        if own and place >= 0:
            sums[place] += weight * many
    return np.array(
        [[each >> HALF for each in sums], [each & ((1 << HALF) - 1) for each in sums]], dtype=np.int64
    )


def clamp(halves: Ints) -> Ints:
    """Return sums from their halves, clamped to +-2^61.

    Examples:
        >>> clamp(np.array([[1, 2**40], [5, 0]])).tolist() == [2**31 + 5, 2**61]
        True
    """
    low: Ints = halves[1] & ((1 << HALF) - 1)
    high: Ints = halves[0] + (halves[1] >> HALF)
    inside = np.clip(high, -(LIMIT >> HALF), LIMIT >> HALF)
    found: Ints = np.clip((inside << HALF) + np.where(inside == high, low, 0), -LIMIT, LIMIT)
    return found


def weigh_product(asked: Total, codes: Mapping[str, Ints]) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the product of each row's weights, and which rows have all of them."""
    weights, kept = weigh(asked.lattice, codes[asked.lattice.attribute.name])
    for each in asked.times:
        more, own = weigh(each, codes[each.attribute.name])
        weights, kept = weights * more, kept & own
    return weights, kept


def weigh(lattice: Lattice, codes: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the weight of each row, and which rows have one."""
    attribute = lattice.attribute
    if isinstance(attribute, Unbounded):
        values = codes.view(np.float64)
        kept = np.isfinite(values)
        number = lattice_numbers(np.where(kept, values, 0.0), attribute)
        return np.clip(lattice.first + lattice.each * number, -LIMIT, LIMIT), kept
    kept = (codes >= 0) & (codes < attribute.cells)
    cells = codes if kept.all() else np.where(kept, codes, 0)
    if lattice.table is not None:
        table = np.array(lattice.table, dtype=np.int64)
        return (table if lattice.clip is None else np.clip(table, *lattice.clip))[cells], kept
    weights = lattice.each * cells + lattice.first
    if lattice.last is not None and lattice.last != lattice.first + lattice.each * (attribute.cells - 1):
        weights[cells == attribute.cells - 1] = lattice.last
    if lattice.clip is not None:
        return np.clip(weights, *lattice.clip), kept
    return np.clip(weights, -LIMIT, LIMIT) if lattice.largest > LIMIT else weights, kept


def lattice_numbers(values: Floats, attribute: Unbounded) -> Ints:
    """Return the cell [i step, (i + 1) step) of each number, i clamped to +-2^61.

    As in bounded columns a float belongs to the last cell whose edge, correctly rounded, it has reached;
    2^50 steps and more from 0, which floats hardly distinguish, to the cell of its exact value; codes of
    a protected frame are of no such numbers (`place.exact_limit`), so that clamping changes none of them. Of
    a column of logarithms it is the cell of the number's logarithm (`log_numbers`).

    Proof note:
        Requires: finite numbers, those of a whole-number column whole.
        Ensures:  i depends on the number alone and never falls as it grows; numbers within theta are at most
                  ceil(theta / step) cells apart, where a number that is the float of an edge is that edge.
        Because:  |floor(a / step) - floor(b / step)| <= ceil(|a - b| / step). Small quotients are off by one
                  at most and set right against edges that one division of exact floats rounds; large ones
                  are divided as fractions. Whole numbers are clamped to +-2^53: below, floats are exact.
        Checked:  tests/count/test_weigh.py::test_lattice_numbers_match_fractions
    """
    if attribute.log:
        return log_numbers(values, attribute.step)
    up, down = attribute.step.numerator, attribute.step.denominator
    if attribute.kind == "integer" and up < WHOLE:
        return np.asarray(np.clip(values, -WHOLE, WHOLE).astype(np.int64) // up)
    width = float(attribute.step) if 1e-300 < attribute.step < 1e300 else np.nan
    with np.errstate(all="ignore"):
        guess = np.floor(values / width)
        near = (np.abs(guess) < APART) & (np.abs(guess) * float(min(up, WHOLE)) < 2.0**51)
    near &= max(up, down) < 2**51
    number = np.where(near, guess, 0.0).astype(np.int64)
    if near.any():
        number -= near & (values < number * up / np.float64(down))
        number += near & (values >= (number + 1) * up / np.float64(down))
    if not near.all():
        found, place = np.unique(values[~near], return_inverse=True)
        number[~near] = np.array([_exactly(each, attribute.step) for each in found.tolist()])[place]
    return number


def log_numbers(values: Floats, step: Fraction) -> Ints:
    """Return the cell [i step, (i + 1) step) of each number's natural logarithm; 0 where there is none.

    Proof note:
        Requires: finite numbers, step >= 10^-9; numpy's logarithm is off by 4 units in its last place at most
                  (or by 2^-50, near 0).
        Ensures:  exactly floor(ln(value) / step) for every positive float, subnormal ones included.
        Because:  the quotient by a rounded step is then off by less than 2^-49 of itself, and of 1 / step;
                  where a whole number is as near as that the cell is decided by enclosures (`log_cell`).
        Checked:  tests/count/test_weigh.py::test_log_numbers_match_decimals_at_edges,
                  tests/count/test_weigh.py::test_log_numbers_reach
    """
    known = values > 0
    quotient = np.log(np.where(known, values, 1.0)) / float(step)
    number = np.floor(quotient).astype(np.int64)
    near = known & (np.abs(quotient - np.rint(quotient)) <= LOOSE * (np.abs(quotient) + float(1 / step)))
    if near.any():
        found, place = np.unique(values[near], return_inverse=True)
        number[near] = np.array([log_cell(Fraction(each), step) for each in found.tolist()])[place]
    return np.asarray(np.where(known, number, 0))


def _exactly(value: float, step: Fraction) -> int:
    """Return the cell of one number by fractions."""
    cell = (Fraction(value) / step).__floor__()
    if abs(cell) >= LIMIT:
        return LIMIT if cell > 0 else -LIMIT
    edge = (cell + 1) * step
    if abs(cell) >= APART:
        return cell
    with suppress(OverflowError):  # an edge beyond all floats is not reached
        cell += edge.numerator / edge.denominator <= value
    return cell


def _summed(part: Ints, groups: Ints | None, size: int) -> Ints:
    """Return the sums of weights below 2^31 by group."""
    if groups is None:
        return np.array([part.sum()], dtype=np.int64)
    return np.bincount(groups, part.astype(np.float64), size).astype(np.int64)
