"""A lower bound for the error of any private answers, from the policy's edges alone. Never sees rows.

A row that moves along an edge e changes the answers by a vector w_e, and noise that hides the step spreads
along w_e at least as widely as discrete Laplace noise of scale 1 / epsilon does. Steps in several directions
share the answers' space: that decides how much they force on all answers together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from pandas_blowfish.errors import BlowfishError
from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.linear.sensitivity import joined_in_column
from pandas_blowfish.plan.shape.one_thread import one_thread
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.graph.records import RecordGraph, block_moves
from pandas_blowfish.policy.policy import Policy

MAX_BINS = 1_024  # counts that a bound is computed for
QUICK = 128  # counts for which that takes no time to speak of
EACH = 4_000  # edges per count that are gone through one by one
CELLS = 20_000  # cells per count that are looked at
STEPS = 16  # by which weights of edges are improved
ENOUGH = 1e-3  # share of the bound that a step must gain
POWER = 4  # weights times the change of an edge to this power are better ones; 2 is sure and slower
SMALL = 1e-10  # share of the largest eigenvalue below which floats know nothing
ROUNDING = 1e-6  # share by which floats may be wrong, and more


def forced_by_edges(policy: Policy, tally: Tally, gram: Callable[[], Floats], most: int) -> float:
    """Return what edges force on answers that are weighted sums of the counts of a tally.

    Args:
        policy: The promise; what single edges of its graph do.
        tally: The counts.
        gram: For each two of them the sum, over the answers, of the product of their weights.
        most: How many counts are looked at; of more, or of too many edges, NaN is returned.

    Returns:
        The expected squared errors of all answers, in units of the variance of noise at scale 1 / epsilon.
    """
    if tally.size > most:
        return math.nan
    try:
        pairs = _joined(policy.graph.project(tally.domain.columns), tally, most)
    except BlowfishError:  # a column of its secret has no cells, or they are too many
        return math.nan
    if pairs is None:
        return math.nan
    with one_thread():
        return least_error(gram(), pairs)


def _joined(graph: RecordGraph, tally: Tally, most: int) -> Ints | None:
    """Return the counts that edges join, once each, the number after the last for none; None: too many."""
    many, sizes = tally.size, graph.shape
    if len(sizes) == 1 and sizes[0] <= CELLS * most:
        bins = np.where((labels := tally.labels()) < 0, many, labels)
        found = joined_in_column(graph.blocks[0].graph, bins, many)
        if found is not None:
            away = np.column_stack([bins, np.full(len(bins), many)])[: len(bins) * graph.presence]
            return _distinct(np.concatenate([found, away]), many)
    if max(graph.edge_count, tally.domain.size) <= EACH * most:
        bins = np.append(tally.labels(), -1)  # the last is "absent"
        ends = bins[graph.edges()]
        return _distinct(np.where(ends < 0, many, ends), many)
    marks = zip(tally.marks, tally.sieve.classes, strict=True)
    pairs = [np.unique(np.column_stack(each), axis=0, return_inverse=True) for each in marks]
    combined = math.prod(len(found) for found, _ in pairs)
    if combined > 2 * most or combined * max(sizes, default=1) > CELLS * most:
        return None
    classes = dict(zip(tally.domain.columns, (number.reshape(-1) for _, number in pairs), strict=True))
    moves = block_moves(graph.blocks, classes, classes)
    bins = _bins(tally, moves.columns, [found for found, _ in pairs])
    ends = bins[np.argwhere(moves.within(graph.limit))]
    away = np.column_stack([bins, np.full(len(bins), -1)])[: len(bins) * graph.presence]
    ends = np.concatenate([ends, away])
    return _distinct(np.where(ends < 0, many, ends), many)


def _bins(tally: Tally, order: Sequence[str], found: Sequence[Ints]) -> Ints:
    """Return the bin of each combination of pairs of a bin and a class of the filter, column by column."""
    by_column = dict(zip(tally.domain.columns, found, strict=True))
    sizes = [len(by_column[column]) for column in order]
    codes = dict(zip(order, np.unravel_index(np.arange(math.prod(sizes)), sizes), strict=True))
    own = [pairs[codes[column]] for column, pairs in by_column.items()]
    flat = np.zeros(math.prod(sizes), dtype=np.int64)
    for each, size in zip(own, tally.shape, strict=True):
        flat = flat * size + np.maximum(each[:, 0], 0)
    counted = tally.sieve.passes[tuple(each[:, 1] for each in own)]
    return np.where(counted, flat, -1)


def _distinct(pairs: Ints, count: int) -> Ints:
    """Return pairs of two different numbers up to `count`, each once."""
    ends = np.sort(pairs, axis=1)
    keys = np.unique(ends[:, 0] * (count + 1) + ends[:, 1])
    ends = np.column_stack(np.divmod(keys, count + 1))
    return ends[ends[:, 0] < ends[:, 1]]


def count_both(starts: Sequence[Ints], stops: Sequence[Ints], shape: Sequence[int]) -> Floats:
    """Return for each two cells, in C order, how many boxes hold both.

    Args:
        starts: For each column the first cell of each box.
        stops: One past its last.
        shape: The cells of each column.

    Examples:
        >>> count_both([np.array([0, 1])], [np.array([2, 2])], [2]).tolist()
        [[1.0, 1.0], [1.0, 2.0]]
    """
    sides = [size + 1 for size in shape for _ in range(2)]
    found = np.zeros(sides)  # first how many boxes start and stop where, then start before and stop after
    np.add.at(found, tuple(each for pair in zip(starts, stops, strict=True) for each in pair), 1)
    for axis in range(0, len(sides), 2):
        found = np.cumsum(found, axis=axis)
        found = np.flip(np.cumsum(np.flip(found, axis + 1), axis=axis + 1), axis + 1)
    codes = np.unravel_index(np.arange(math.prod(shape)), tuple(shape))
    ends = [(np.minimum.outer(each, each), np.maximum.outer(each, each) + 1) for each in codes]
    return np.asarray(found[tuple(side for pair in ends for side in pair)])


def least_error(gram: Floats, pairs: Ints) -> float:
    """Return the least sum of expected squared errors, in variances of noise at scale 1 / epsilon.

    Args:
        gram: W'W of the answers x counts matrix W.
        pairs: Counts that an edge joins; their number stands for what is not counted.

    Examples:
        >>> round(least_error(np.eye(2), np.array([[0, 1]])), 3)  # two cells, of which one follows
        2.0

    Proof note:
        Requires: each pair is an edge between single cells; tables have as many rows as it takes.
        Ensures:  whatever private method answers, there are tables on which the expected squared errors of
                  its answers add up to the result times `variance(1 / epsilon)`, or as nearly as one likes.
        Because:  (1) The errors of a method, averaged over all tables that up to T steps along each edge lead
                  to, have a law mu with mu(S + w_e) <= exp(epsilon) (mu(S) + 1/T), w_e = W(x - y) for an
                  edge e = (x, y); as T grows some limit is the law of noise z that does not depend on the
                  table, and its mean square is no larger than the method's worst. (2) On a line r + t w_e, t
                  whole, the odds of t and t + 1 differ by exp(epsilon) at most. So outside of j + 2 numbers
                  in a row lies at least a = exp(-epsilon) times what is outside of the inner j, outside of
                  two at least a, outside of one, which has p, at least a (1 + p): never less than discrete
                  Laplace noise about their middle has there. Then |t - u| is in law at least what it is for
                  that noise about the whole number next to u, and E(v.z)^2 >= (v.w_e)^2 variance(1 / epsilon)
                  for every vector v. (3) If the sum of v_e v_e' over edges is at most the identity, E|z|^2 >=
                  sum E(v_e.z)^2 >= sum (v_e.w_e)^2 variance(1 / epsilon). For any weights l_e >= 0 and
                  M = sum l_e w_e w_e' that holds for v_e = sqrt(l_e) M^(-1/2) w_e. Weights decide how close
                  the bound is, not whether it is one.
        Checked:  tests/plan/linear/test_bound.py::test_no_noise_on_a_lattice_is_better,
                  tests/plan/linear/test_bound.py::test_no_candidate_is_better
    """
    _, first, of_bin = np.unique(gram, axis=0, return_index=True, return_inverse=True)
    gram = gram[np.ix_(first, first)]  # counts that all answers weigh alike are one
    nothing = np.flatnonzero(np.diagonal(gram) == 0)
    classes = np.append(of_bin.reshape(-1), nothing[0] if len(nothing) else len(gram))
    if not len(nothing):
        gram = np.pad(gram, (0, 1))
    ends = _distinct(classes[pairs], len(gram))
    if not len(ends):
        return 0.0
    values, vectors = np.linalg.eigh(gram)
    kept = values > SMALL * values[-1]
    root = (vectors[:, kept] * np.sqrt(values[kept])).T
    weights, best = np.full(len(ends), 1 / len(ends)), 0.0
    for _ in range(STEPS):
        change = _changes(root, ends, weights)
        found = float(weights @ change**2)
        gained, best = found - best, max(best, found)
        if gained < ENOUGH * best:
            break
        weights = weights * change**POWER
        weights /= weights.sum()
    return best * (1 - ROUNDING)


def _changes(root: Floats, ends: Ints, weights: Floats) -> Floats:
    """Return w_e' M^(-1/2) w_e for each edge e, with M = sum of weights_e w_e w_e'.

    Args:
        root: R with R'R = W'W, so that R(x - y) stands for w_e: lengths and angles are the same.
        ends: The counts that each edge joins.
        weights: One per edge.
    """
    size = root.shape[1]
    table = np.zeros((size, size))
    table[ends[:, 0], ends[:, 1]] = weights  # each pair is listed once
    table += table.T
    spread = root @ (np.diag(table.sum(axis=0)) - table) @ root.T
    values, vectors = np.linalg.eigh(spread)
    kept = values > SMALL * values[-1]
    half = (vectors[:, kept] * values[kept] ** -0.25).T @ root
    product = half.T @ half
    own = np.diagonal(product)
    return np.asarray(own[ends[:, 0]] + own[ends[:, 1]] - 2 * product[ends[:, 0], ends[:, 1]])
