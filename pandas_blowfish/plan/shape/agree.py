"""Counts moved as little as possible until their sums are the known ones. Free, never sees rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.plan.given import Family
from pandas_blowfish.plan.shape.simplex import shape
from pandas_blowfish.plan.shape.system import RIDGE, System, solve_equations

STEPS = 200  # of the search for counts that are not negative
HALVINGS = 60
POLISHES = 10
MAX_MOVED = 20_000  # groups of counts up to which a linear programme is asked
EASE = 1e-3  # by how much steps are shortened at first, where few counts are positive
MAX_COMPARED = 8  # families that are looked at in pairs


def agree(
    counts: Floats, families: Sequence[Family], *, positive: bool, spread: Floats | None = None
) -> Floats:
    """Return the nearest counts whose sums are the known ones, perhaps none of them negative.

    Args:
        counts: Estimates, one per bin.
        families: Known sums: answers of public facts, totals that are exact.
        positive: Whether counts may not be negative.
        spread: How far each may move, as a variance; 0 for one that is exact. None for the same for all.

    Examples:
        >>> known = Family(np.array([0, 0, -1]), np.array([7]))
        >>> agree(np.array([5.0, 4.0, -2.0]), [known], positive=False).tolist()
        [4.0, 3.0, -2.0]
        >>> agree(np.array([9.0, -4.0, -2.0]), [known], positive=True).tolist()
        [7.0, 0.0, 0.0]

    Proof note:
        Requires: a release already paid for, and answers that the policy states as public.
        Ensures:  sums equal the known ones (where some non-negative counts have these at all), and the
                  result costs no privacy. Without `positive` what was unbiased stays so.
        Because:  it is a function of the release and of public numbers: post-processing. The projection on
                  the sums is max(0, count + spread * prices of its sums), prices found by Newton's
                  method on the dual, which is concave and piecewise quadratic; without `positive` it is
                  linear, and true counts stay where they are.
        Checked:  tests/plan/shape/test_agree.py::test_matches_a_quadratic_programme
    """
    found = counts.astype(np.float64)
    weight = np.ones(len(found)) if spread is None else spread.astype(np.float64)
    families = _settled(found, weight, families, positive=positive)
    system = System.build(families, len(found))
    free = weight > 0
    if positive:
        found[~free | (system.of < 0)] = np.maximum(found[~free | (system.of < 0)], 0.0)
    if not system.many:
        return found
    if positive and len(families) == 1 and families[0].rows is None and not np.ptp(weight[free]):
        return shape(found, families[0].labels, np.maximum(families[0].totals, 0.0).astype(float)).counts
    linear = _linear(found, system, weight)
    if not positive:
        return linear
    return _positive(found, system, weight) if (linear < 0).any() else linear


def settle_counts(families: Sequence[Family], size: int) -> Floats:
    """Return the counts that known sums settle one by one, NaN for the others.

    Examples:
        >>> one, two = np.array([0, 0, 1]), np.array([-1, 0, 0])
        >>> settle_counts([Family(one, np.array([7, 3])), Family(two, np.array([8]))], 3).tolist()
        [2.0, 5.0, 3.0]
    """
    found, weight = np.full(size, np.nan), np.ones(size)
    _settled(found, weight, families, positive=False)
    return found


def _linear(counts: Floats, system: System, weight: Floats) -> Floats:
    """Return the nearest counts with the known sums; twice, so that rounding leaves no gap."""
    gram, found = system.gram(weight), counts
    for _ in range(3):
        gap = system.totals - system.sums(found)
        if float(np.abs(gap).max()) <= system.enough(found):
            break
        found = found + weight * system.lift(solve_equations(gram, gap))
    return found


def _positive(counts: Floats, system: System, weight: Floats) -> Floats:
    """Return the nearest counts that are not negative with the known sums."""
    inside = (system.of >= 0) & (weight > 0)
    start, heavy = counts[inside], weight[inside]
    own = System(system.of[inside], system.matrix, system.totals)
    full = own.gram(heavy)
    prices = solve_equations(full, own.totals - own.sums(start))
    enough, first = own.enough(np.maximum(start, 0.0)), 0.0

    def at(trial: Floats) -> tuple[Floats, float]:
        each = np.maximum(start + heavy * own.lift(trial), 0.0)
        return each, float((each**2 / heavy).sum() / 2 - own.totals @ trial)

    each, value = at(prices)
    best, least = each, np.inf
    for _ in range(STEPS):
        gap = own.totals - own.sums(each)
        worst = float(np.abs(gap).max())
        if worst < least:
            best, least = each, worst
        if worst <= enough:
            break
        first = first or worst
        gram = own.gram(heavy * (each > 0))
        size, ease = gram.diagonal(), max(EASE * worst / first, RIDGE)
        step = solve_equations(gram, gap, ease * np.where(size > 0, size, full.diagonal()))
        slope, length = float(gap @ step), 1.0
        for _ in range(HALVINGS):
            trial, height = at(prices + length * step)
            lower = height <= value - 1e-4 * length * slope
            if lower or float(np.abs(own.totals - own.sums(trial)).max()) <= worst / 2:
                break
            length /= 2
        else:
            break
        prices, each, value = prices + length * step, trial, height
    found = counts.copy()
    found[inside] = _feasible(best, own)
    return found


def _feasible(counts: Floats, system: System) -> Floats:
    """Return counts near those given that are not negative and have the known sums, if there are any.

    What Newton's method leaves by rounding is distributed in proportion. Where it has stopped before its end,
    groups of counts are moved by a linear programme, and counts with their groups.
    """
    from scipy.optimize import linprog
    from scipy.sparse import hstack

    size = system.matrix.shape[1]
    close, gap = _polished(counts, system)
    if gap <= system.enough(close) or size > MAX_MOVED:
        return close
    held = np.bincount(system.of, counts, size)
    unit = max(1.0, float(held.max(initial=0.0)))
    moved = linprog(
        np.ones(2 * size),
        A_eq=hstack([system.matrix, -system.matrix], format="csr"),
        b_eq=(system.totals - system.sums(counts)) / unit,
        bounds=np.concatenate([[(0.0, np.inf)] * size, np.column_stack([np.zeros(size), held / unit])]),
        method="highs",
    )
    if moved.x is None:
        return close
    total = np.maximum(held + unit * (moved.x[:size] - moved.x[size:]), 0.0)
    factor = np.divide(total, held, out=np.zeros(size), where=held > 0)
    even = np.where(held > 0, 0.0, total / np.bincount(system.of, minlength=size))
    found, left = _polished(counts * factor[system.of] + even[system.of], system)
    return found if left < gap else close


def _polished(counts: Floats, system: System) -> tuple[Floats, float]:
    """Return counts that are not negative, a little nearer to the known sums, and how near."""
    best, least = counts, float(np.abs(system.totals - system.sums(counts)).max())
    for _ in range(POLISHES):
        if least <= system.enough(best):
            break
        found = np.maximum(_linear(best, system, best), 0.0)
        gap = float(np.abs(system.totals - system.sums(found)).max())
        if gap >= least:
            break
        best, least = found, gap
    return best, least


def _settled(found: Floats, weight: Floats, families: Sequence[Family], *, positive: bool) -> list[Family]:
    """Set counts that one known sum alone settles, in place; return what is known of the others."""
    left = _without(found, [_plain(family) for family in families], weight <= 0)
    while True:
        settled = np.zeros(len(found), dtype=bool)
        for family in left:
            if family.rows is not None or not len(family.totals):
                continue
            many = np.bincount(family.labels[family.labels >= 0], minlength=len(family.totals))
            alone = (many == 1) | (positive & (family.totals <= 0))
            new = (family.labels >= 0) & np.append(alone, False)[family.labels] & ~settled
            value = family.totals[family.labels[new]].astype(np.float64)
            found[new] = np.maximum(value, 0.0) if positive else value
            settled |= new
        if not settled.any():
            return _needed(left)
        weight[settled] = 0.0
        left = _without(found, left, settled)


def _plain(family: Family) -> Family:
    """Return a family with a label for each known sum, where no group is in two."""
    if not isinstance(family.rows, np.ndarray):
        return family
    plain = ((family.rows != 0).sum(axis=0) <= 1) & (family.rows.sum(axis=0) == family.rows.any(axis=0))
    if not plain.all():
        return family
    row = np.where(family.rows.any(axis=0), np.argmax(family.rows != 0, axis=0), -1)
    return Family(np.append(row, -1)[family.labels], family.totals)


def _without(found: Floats, families: Sequence[Family], gone: NDArray[np.bool_]) -> list[Family]:
    """Return what is known of counts less those that are settled."""
    if not gone.any():
        return list(families)
    left = []
    for family in families:
        inside = gone & (family.labels >= 0)
        groups = len(family.totals) if family.rows is None else family.rows.shape[1]
        held = np.bincount(family.labels[inside], found[inside], groups)
        held = held if family.rows is None else family.rows @ held
        left.append(Family(np.where(gone, -1, family.labels), family.totals - held, family.rows))
    return left


def _needed(families: Sequence[Family]) -> list[Family]:
    """Return families without sums that those of a finer one add up to, and without empty ones."""
    left = [_numbered(family) for family in families if (family.labels >= 0).any()]
    if len(left) > MAX_COMPARED:
        return left
    for place, coarse in enumerate(left):
        for other, fine in enumerate(left):
            if place == other or coarse.rows is not None or fine.rows is not None:
                continue
            inside = fine.labels >= 0
            own = np.zeros(len(fine.totals) + 1, dtype=np.int64)
            own[fine.labels[inside]] = coarse.labels[inside]
            split = np.zeros(len(fine.totals) + 1, dtype=bool)  # groups that the coarser family separates
            split[fine.labels[own[fine.labels] != coarse.labels]] = True
            split[-1] = True  # what the finer family does not count
            wrong = np.zeros(len(coarse.totals) + 1, dtype=bool)
            wrong[coarse.labels[split[fine.labels]]] = True
            labels = np.where(np.append(wrong[:-1], False)[coarse.labels], coarse.labels, -1)
            coarse = left[place] = _numbered(Family(labels, coarse.totals))
    return [family for family in left if len(family.totals)]


def _numbered(family: Family) -> Family:
    """Return a family without the sums of no counts."""
    if family.rows is not None:
        return family
    kept = np.bincount(family.labels[family.labels >= 0], minlength=len(family.totals)) > 0
    number = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
    return Family(number[family.labels], family.totals[kept])
