"""The best estimates on a nest and how they vary: the exact variance of any range, in linear time.

Never sees rows. All query rows are used (generalised least squares); levels pass their variances up,
the error of a range is then a multiple of the error of the node that holds it and an independent rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.line.nest import Level, Nest


class Chain:
    """The ends of blocks of all segments, and how their best estimates vary together.

    Each segment with K blocks has K + 1 places: its start, which is 0, the ends of its blocks, and the
    last of these is its total. An end is measured as a prefix (or total) with some variance, and two
    neighbouring ones differ by a block's total, which the levels below estimate with another.

    Args:
        nest: The runs.
        prefix: The variance of a measured prefix; of a measured total where the nest has no prefixes.
        block: The variance of each block's total as its own levels estimate it; infinite for none.
    """

    def __init__(self, nest: Nest, prefix: float, block: Floats) -> None:
        self.nest, self.block = nest, block
        blocks = nest.blocks
        self.fixed = not nest.line.open  # the last place of a segment is exact
        known = np.ones(blocks.size, dtype=bool)
        if self.fixed:
            known[blocks.first[1:] - 1] = False
        self.unknown: Ints = np.flatnonzero(known)
        self.prefix = prefix
        weight = 1 / block
        follows = np.append(weight[1:], 0.0) * (blocks.parent == np.append(blocks.parent[1:], -1))
        self.diagonal: Floats = (1 / prefix + weight + follows)[self.unknown]
        gap = np.diff(self.unknown) == 1
        same = blocks.parent[self.unknown[1:]] == blocks.parent[self.unknown[:-1]]
        self.off: Floats = np.where(gap & same, -weight[self.unknown[1:]], 0.0)

    @cached_property
    def _pivots(self) -> Floats:
        return _pivots(self.diagonal, self.off)

    @cached_property
    def variance(self) -> Floats:
        """Return the variance of the estimate at each place (place of block b's end: b + segment + 1)."""
        back = _pivots(self.diagonal[::-1], self.off[::-1])[::-1]
        spread = np.zeros(self.nest.blocks.size + self.nest.segments.size)
        spread[self.places(self.unknown)] = 1 / (self._pivots + back - self.diagonal)
        return spread

    @cached_property
    def _falls(self) -> Floats:
        """Return the running sum of logs by which a covariance falls from one place to the next."""
        ratio = np.full(self.nest.blocks.size + self.nest.segments.size, 1e-300)
        ratio[self.places(self.unknown[:-1])] = np.maximum(-self.off / self._pivots[:-1], 1e-300)
        return np.append(0.0, np.cumsum(np.log(ratio))[:-1])

    def places(self, blocks: Ints) -> Ints:
        """Return the place of the end of each block."""
        return blocks + self.nest.blocks.parent[blocks] + 1

    @cached_property
    def last(self) -> Ints:
        """Return the place of the end of each segment."""
        return self.places(self.nest.blocks.first[1:] - 1)

    def covariance(self, low: Ints, high: Ints) -> Floats:
        """Return the covariance of the estimates at two places of a segment, low <= high."""
        if not self.off.any():  # prefixes alone, or totals: ends are measured by themselves
            return np.where(low == high, self.variance[high], 0.0)
        fall = np.minimum(self._falls[high] - self._falls[low], 0.0)
        return np.asarray(self.variance[high] * np.exp(fall))

    @cached_property
    def share(self) -> Floats:
        """Return by how much each place follows when its segment's total is corrected by one."""
        segment = np.repeat(np.arange(self.nest.segments.size), np.diff(self.nest.blocks.first) + 1)
        share = np.exp(np.minimum(self._falls[self.last[segment]] - self._falls, 0.0))
        share[self.last - np.diff(self.nest.blocks.first)] = 0.0
        return np.asarray(share)

    def solve(self, right: Floats) -> Floats:
        """Return the solution of the normal equations, one column per right-hand side."""
        from scipy.linalg import solveh_banded

        if not len(self.unknown):
            return right
        if not self.off.any():
            return np.asarray(right / self.diagonal[:, None])
        bands = np.vstack([np.append(0.0, self.off), self.diagonal])
        return np.asarray(solveh_banded(bands, right))

    def ends(self, measured: Floats, blocks: Floats, totals: Floats) -> Floats:
        """Return the best estimate at every place: lines x places.

        Args:
            measured: The noisy prefixes (or totals) of the unknown places, lines x unknown.
            blocks: The block totals as their levels estimate them, lines x blocks.
            totals: The exact totals of segments, where all are exact; lines x segments.
        """
        nest, unknown = self.nest, self.unknown
        found = np.zeros((len(blocks), nest.blocks.size + nest.segments.size))
        if self.fixed:
            found[:, self.last] = totals
        if not np.isfinite(self.block).any():  # nothing but the prefixes themselves: whole numbers stay whole
            found[:, self.places(unknown)] = measured
            return found
        weight = 1 / self.block
        pull = np.where(weight > 0, blocks, 0.0) * weight
        after = np.zeros_like(pull)
        inner = np.flatnonzero(nest.blocks.parent[1:] == nest.blocks.parent[:-1])
        after[:, inner] = pull[:, inner + 1]
        right = measured / self.prefix + (pull - after)[:, unknown]
        if self.fixed:
            before = nest.blocks.first[1:] - 2  # the last unknown place pulls towards the exact total
            some = np.diff(nest.blocks.first) > 1
            at = np.searchsorted(unknown, before[some])
            right[:, at] += totals[:, some] * weight[before[some] + 1]
        found[:, self.places(unknown)] = self.solve(right.T).T
        return found


def _pivots(diagonal: Floats, off: Floats) -> Floats:
    """Return the pivots of a symmetric positive tridiagonal matrix."""
    from scipy.linalg.lapack import dpttrf

    if not off.any():
        return diagonal
    return np.asarray(dpttrf(diagonal, off)[0])


@dataclass(frozen=True, eq=False)
class RangeVariances:
    """The variances of ranges on a line, and how they follow their segments' totals.

    Attributes:
        base: The variance when no total is known but those that are exact on every line.
        first: The segment where the range begins; `last` where it ends.
        low: By how much the part in the first segment follows its total; `high` in the last one (0 when
            the range lies in one segment).
    """

    base: Floats
    first: Ints
    last: Ints
    low: Floats
    high: Floats


class Spread:
    """Variances of the estimates on one line of a nest.

    Args:
        nest: The runs.
        variances: The variance of a query row of each family.
    """

    def __init__(self, nest: Nest, variances: Sequence[float]) -> None:
        self.nest = nest
        families = dict(zip(nest.families, variances, strict=True))
        head = families.get("prefix", families.get("total", np.inf))
        self.up: list[Floats] = []  # of each level's nodes, as estimated from within
        self.below: list[Floats] = []  # for each node of the level above, the sum over its children
        total: Floats | None = None
        for number in reversed(range(len(nest.levels))):
            level, own = nest.levels[number], families[f"level {number + 1}"]
            if nest.layout.wavelet:
                up = np.full(level.size, own / 2)
            elif total is None:
                up = np.full(level.size, own)
            else:
                up = 1 / (1 / own + 1 / total)
            total = np.add.reduceat(up, level.first[:-1])
            self.up.insert(0, up)
            self.below.insert(0, total)
        self.head = float(head)
        self.total = None if nest.layout.wavelet else total  # halves less halves do not determine the whole

    @cached_property
    def chain(self) -> Chain:
        """Return how the ends of blocks vary together."""
        block = np.full(self.nest.blocks.size, np.inf) if self.total is None else self.total
        return Chain(self.nest, self.head, block)

    def atoms(self) -> Floats:
        """Return the variance of each atom's count when segment totals are exact or free."""
        if self.nest.layout.spacing == 1 and not self.nest.line.open:  # less one prefix sum from the next
            each = np.full(self.nest.size, 2 * self.head)
            for ends in (self.nest.segments.begin, self.nest.segments.end - 1):
                each[ends] -= self.head
            return each[::-1] if self.nest.layout.mirrored else each
        ends = self.chain.places(np.arange(self.nest.blocks.size))
        chain = self.chain
        held = chain.variance[ends] + chain.variance[ends - 1] - 2 * chain.covariance(ends - 1, ends)
        for level, up, below in zip(self.nest.levels, self.up, self.below, strict=True):
            part = up / below[level.parent]
            held = part**2 * held[level.parent] + up - up * part
        alone = np.flatnonzero(self.nest.segments.end - self.nest.segments.begin == 1)
        held[self.nest.segments.begin[alone]] *= not self.chain.fixed
        return held[::-1] if self.nest.layout.mirrored else held

    def prefixes(self) -> Floats:
        """Return the variance of each segment's sum up to each atom, where totals are exact."""
        if self.nest.layout.spacing == 1:  # the last of each segment is set to 0 where it is used
            return np.full(self.nest.size, self.head)
        nest, chain = self.nest, self.chain
        node = np.arange(nest.size)
        part, rest = np.ones(nest.size), np.zeros(nest.size)
        for level, up, below in zip(nest.levels[::-1], self.up[::-1], self.below[::-1], strict=True):
            before = np.append(0.0, np.cumsum(up))[:-1]
            before -= before[level.first[:-1]][level.parent]  # of the nodes before, under the same parent
            own, less, whole = up[node], before[node], below[level.parent][node]
            square = part * part * own
            part *= own
            part += less
            rest += square
            rest += less
            rest -= part * part / whole
            part /= whole
            node = level.parent[node]
        ends = chain.places(np.arange(nest.blocks.size))
        low, high = chain.variance[ends - 1], chain.variance[ends]
        both = chain.covariance(ends - 1, ends)
        # (1 - part)^2 low + part^2 high + 2 part (1 - part) both
        bend, slope = low + high - 2 * both, 2 * (both - low)
        return np.asarray(rest + (bend[node] * part + slope[node]) * part + low[node])

    def cuts(self) -> Floats:
        """Return by how much a segment's variance falls through what is exact of it: lines x segments."""
        nest, exact = self.nest, self.nest.line.exact
        own = np.broadcast_to(self.chain.variance[self.chain.last], (nest.line.groups, nest.segments.size))
        if not nest.line.open:
            return np.zeros(own.shape)
        own = own[:, ::-1] if nest.layout.mirrored else own  # in the line's own order
        alone, total_of = exact.alone.reshape(own.shape), exact.total_of.reshape(own.shape)
        inside = total_of >= 0
        cut = np.where(alone, own, 0.0)
        if inside.any():
            together = np.bincount(total_of[inside], own[inside], exact.totals)
            cut[inside] = (own**2 / together[total_of])[inside]
        return cut[:, ::-1] if nest.layout.mirrored else cut

    def ranges(self, starts: Ints, stops: Ints) -> RangeVariances:
        """Return the variances of the sums of atoms start..stop-1 (stop > start)."""
        nest = self.nest
        if nest.layout.mirrored:
            starts, stops = nest.size - stops, nest.size - starts
        i, j = starts.copy(), stops - 1
        low, high = np.ones(len(i)), np.ones(len(i))
        rest = np.zeros(len(i))
        for level, up, below in zip(nest.levels[::-1], self.up[::-1], self.below[::-1], strict=True):
            i, j, low, high, rest = _ascend(level, up, below, (i, j, low, high, rest))
        return self._along(i, j, low, high, rest)

    def by_line(self, starts: Ints, stops: Ints) -> Floats:
        """Return the variances of ranges on each line, 0 of empty ones; one row where all lines are alike.

        Args:
            starts: The first atom of each range.
            stops: One past its last.
        """
        if (stops == starts).any():
            some = stops > starts
            inner = self.by_line(starts[some], stops[some])
            found = np.zeros((len(inner), len(starts)))
            found[:, some] = inner
            return found
        ranged, cuts, line = self.ranges(starts, stops), self.cuts(), self.nest.line
        if not line.open:  # from one segment's edge to another's everything is exact
            known = np.append(line.starts, line.size)
            exact = np.isin(starts, known) & np.isin(stops, known)
            return np.where(exact, 0.0, np.maximum(ranged.base, 0.0))[None]
        if (cuts == cuts[:1]).all():
            cuts = cuts[:1]
        before = np.concatenate([np.zeros((len(cuts), 1)), np.cumsum(cuts, axis=1)], axis=1)
        last, after = ranged.last, np.minimum(ranged.first + 1, ranged.last)
        less = ranged.low**2 * cuts[:, ranged.first] + ranged.high**2 * cuts[:, last]
        less += np.where(ranged.first == last, 0.0, before[:, last] - before[:, after])
        left = ranged.base - less
        return np.where(left > 1e-12 * ranged.base, left, 0.0)

    def _along(self, i: Ints, j: Ints, low: Floats, high: Floats, rest: Floats) -> RangeVariances:
        """Combine the parts of ranges in blocks i and j with the chain of prefixes."""
        chain, parent = self.chain, self.nest.blocks.parent
        start, end, one = parent[i], parent[j], i == j
        inside = start == end
        a, b = chain.places(i), chain.places(j)
        first = [
            (a - 1, -low),
            (a, np.where(one, low, low - 1)),
            (np.where(inside, a, chain.last[start]), np.where(inside, 0.0, 1.0)),
        ]
        second = [(b - 1, np.where(one, 0.0, 1 - high)), (b, np.where(one, 0.0, high))]
        base = rest + self._square(first) + self._square(second)
        for p, c in first:
            for q, d in second:
                both = chain.covariance(np.minimum(p, q), np.maximum(p, q))
                base += np.where(inside, 2 * c * d * both, 0.0)
        totals = np.append(0.0, np.cumsum(chain.variance[chain.last]))
        base += np.where(inside, 0.0, totals[end] - totals[np.minimum(start + 1, end)])
        if chain.fixed:
            return RangeVariances(base, start, end, np.zeros(len(i)), np.zeros(len(i)))
        follows = [sum((c * chain.share[p] for p, c in part), np.zeros(len(i))) for part in (first, second)]
        return RangeVariances(
            base,
            start,
            end,
            np.where(inside, follows[0] + follows[1], follows[0]),
            np.where(inside, 0.0, follows[1]),
        )

    def _square(self, part: list[tuple[Ints, Floats]]) -> Floats:
        """Return the variance of a weighted sum of places of one segment, in rising order."""
        found = np.zeros(len(part[0][0]))
        for number, (p, c) in enumerate(part):
            found += c**2 * self.chain.variance[p]
            for q, d in part[number + 1 :]:
                found += 2 * c * d * self.chain.covariance(p, q)
        return found

    def weigh(self, weights: Floats) -> tuple[float, Floats]:
        """Return the variance of a weighted sum of atoms, and how it follows each segment's total."""
        nest, chain = self.nest, self.chain
        each = weights[::-1].copy() if nest.layout.mirrored else weights.astype(float)
        rest = 0.0
        for level, up, below in zip(nest.levels[::-1], self.up[::-1], self.below[::-1], strict=True):
            pull = np.add.reduceat(each * up, level.first[:-1])
            rest += float((each**2 * up).sum() - (pull**2 / below).sum())
            each = pull / below
        after = np.append(each[1:], 0.0) * (nest.blocks.parent == np.append(nest.blocks.parent[1:], -1))
        pull = (each - after)[chain.unknown]
        found = chain.solve(pull[:, None])[:, 0]
        if chain.fixed:
            return rest + float(pull @ found), np.zeros(nest.segments.size)
        follow = pull * chain.share[chain.places(chain.unknown)]
        return rest + float(pull @ found), np.add.reduceat(follow, nest.blocks.first[:-1])

    def weigh_lines(self, weights: Floats) -> Floats:
        """Return the variances of weighted sums of atoms on each line, lines x sums.

        Args:
            weights: Sums x atoms, the same for every line.

        Proof note:
            Requires: as `estimate`; no two segments of one line share an exact total.
            Ensures:  the variance of each weighted sum of the best estimates.
            Because:  `weigh` has it for totals as measured, and how the sum follows each of them; a total
                      that is conditioned on what is exact varies by `cuts` less, and segments of one line
                      are independent.
            Checked:  tests/plan/shape/test_covariance.py::test_weighted_sums_equal_dense_covariances
        """
        cuts, found = self.cuts(), []
        for each in weights:
            base, follows = self.weigh(each)
            found.append(np.maximum(base - cuts @ follows**2, 0.0))
        return np.column_stack(found)


State = tuple[Ints, Ints, Floats, Floats, Floats]


def _ascend(level: Level, up: Floats, below: Floats, state: State) -> State:
    """Express the ends of ranges by the nodes above them.

    A range that covers the fraction `low` of node i's error, all of the nodes between, and `high` of
    node j's, covers fractions of the errors of their parents, and an independent rest. Where i == j the
    whole range lies in one node and only `low` counts.
    """
    i, j, low, high, rest = state
    running = np.append(0.0, np.cumsum(up))
    p, q = level.parent[i], level.parent[j]
    same, met = p == q, i == j
    stop = np.where(same, j, level.first[p + 1])  # nodes wholly covered after i, under i's parent
    between = np.where(met, 0.0, running[np.maximum(stop, i + 1)] - running[i + 1])
    joins, before = same & ~met, running[np.minimum(level.first[q], j)]
    left = low * up[i] + between + np.where(joins, high * up[j], 0.0)
    left_square = low**2 * up[i] + between + np.where(joins, high**2 * up[j], 0.0)
    right = high * up[j] + running[j] - before
    right_square = high**2 * up[j] + running[j] - before
    rest = rest + left_square - left**2 / below[p]
    rest = rest + np.where(same, 0.0, right_square - right**2 / below[q])
    return p, q, left / below[p], np.where(same, 0.0, right / below[q]), rest


def estimate(nest: Nest, variances: Sequence[float], noisy: Floats, totals: Floats, shared: Floats) -> Floats:
    """Return the best linear unbiased estimate of the cumulative counts of each line.

    Args:
        nest: What was measured.
        variances: The variance of a query row of each family.
        noisy: The noisy query rows, lines x rows.
        totals: The exact totals of segments, lines x segments; NaN where they are not exact.
        shared: The exact totals that segments of several lines share.

    Returns:
        lines x (size + 1): position p is the number of rows in atoms before p.

    Proof note:
        Requires: independent rows with the variances given.
        Ensures:  the estimate of least variance among all linear unbiased ones, for every range.
        Because:  estimates from below and the own measurement of a node are combined with weights of
                  inverse variance, prefixes by the normal equations of the chain, exact totals by
                  conditioning; each correction is distributed to the parts in proportion to variance.
        Checked:  tests/plan/line/test_variance_estimate.py::test_equals_dense_least_squares
    """
    spread = Spread(nest, variances)
    lines = len(noisy)
    cuts = np.cumsum([0, *nest.sizes])
    pieces = dict(zip(nest.families, (noisy[:, a:b] for a, b in pairwise(cuts)), strict=True))
    guesses, sums = _upwards(nest, spread, variances, pieces, lines)
    blocks = sums[0] if sums else np.zeros((lines, nest.blocks.size))
    head = pieces.get("prefix", pieces.get("total", np.zeros((lines, len(spread.chain.unknown)))))
    ends = spread.chain.ends(head, blocks, totals)
    if nest.line.open:
        _correct(nest, spread, ends, totals, shared)
    held = np.diff(ends, axis=1)
    keep = np.ones(held.shape[1], dtype=bool)
    keep[spread.chain.last[:-1]] = False  # from one segment's end to the next one's start
    held = held[:, keep]
    for level, up, below, guess, total in zip(
        nest.levels, spread.up, spread.below, guesses, sums, strict=True
    ):
        held = guess + (up / below[level.parent]) * (held - total)[:, level.parent]
    if nest.layout.mirrored:
        held = held[:, ::-1]
    return np.concatenate([np.zeros((lines, 1)), np.cumsum(held, axis=1)], axis=1)


def _upwards(
    nest: Nest, spread: Spread, variances: Sequence[float], pieces: dict[str, Floats], lines: int
) -> tuple[list[Floats], list[Floats]]:
    """Return each level's nodes as estimated from within, and the sums of these over the level above."""
    own = dict(zip(nest.families, variances, strict=True))
    guesses: list[Floats] = []
    sums: list[Floats] = []
    for number in reversed(range(len(nest.levels))):
        level, name = nest.levels[number], f"level {number + 1}"
        if nest.layout.wavelet:
            guess = np.zeros((lines, level.size))
            left = level.first[nest.halves[number].parent]
            guess[:, left], guess[:, left + 1] = pieces[name] / 2, -pieces[name] / 2
        elif not sums:
            guess = pieces[name]
        else:
            weight = spread.up[number] / own[name]
            guess = weight * pieces[name] + (1 - weight) * sums[0]
        guesses.insert(0, guess)
        sums.insert(0, np.add.reduceat(guess, level.first[:-1], axis=1))
    return guesses, sums


def find_corrections(found: Floats, variance: Floats, total_of: Ints, totals: Floats) -> Floats:
    """Return by how much to move sums, in proportion to their variances, so that they add up to totals.

    Args:
        found: The sums.
        variance: Their variances.
        total_of: The number of the total that each belongs to, -1 for none.
        totals: At least one.
    """
    inside = total_of >= 0
    sums, weights = (np.bincount(total_of[inside], each[inside], len(totals)) for each in (found, variance))
    return np.where(inside, variance * ((totals - sums) / weights)[total_of], 0.0)


def _correct(nest: Nest, spread: Spread, ends: Floats, totals: Floats, shared: Floats) -> None:
    """Move open totals to what is exact: alone, or in sum with those of other lines."""
    chain, exact = spread.chain, nest.line.exact
    found = ends[:, chain.last]
    change = np.where(np.isnan(totals), 0.0, totals - found)
    if len(shared):
        total_of = exact.total_of.reshape(found.shape)
        if nest.layout.mirrored:
            total_of = total_of[:, ::-1]
        variance = np.broadcast_to(chain.variance[chain.last], found.shape)
        change += find_corrections(found, variance, total_of, shared)
    segment = np.searchsorted(chain.last, np.arange(ends.shape[1]))
    ends += change[:, segment] * chain.share
