"""From noisy sums along lines to answers: least squares, known sums, counts that never fall.

Post-processing, which costs nothing: never sees rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.given import Family, Given
from pandas_blowfish.plan.line.axis import LineGraph
from pandas_blowfish.plan.line.question import Spans
from pandas_blowfish.plan.line.strategy import LineStrategy
from pandas_blowfish.plan.shape.agree import agree
from pandas_blowfish.plan.shape.monotone import monotone
from pandas_blowfish.plan.shape.one_thread import one_thread
from pandas_blowfish.plan.shape.simplex import shape
from pandas_blowfish.plan.shape.solved import Solved, without_dust
from pandas_blowfish.plan.shape.system import System

LONG = 1 << 16  # positions beyond which the monotone fit weighs all the same
MAX_PAIRS = 2_000_000  # covariances that are looked at
MAX_KNOWN = 512  # known sums
STEADY = 1e-9  # of the largest variance: what counts as none


def condition_on(
    measurement: LineStrategy, positions: Floats, system: System
) -> tuple[Floats, Floats] | None:
    """Return cumulative counts near the known sums, and the variances they are left with, or None.

    Args:
        measurement: What was measured along the lines.
        positions: The best unbiased cumulative counts, lines x (size + 1).
        system: Known sums of the counts of all lines' atoms.

    Returns:
        None where there are too many of them to look at how they vary together.

    Proof note:
        Requires: a release already paid for.
        Ensures:  linear in the release, so unbiased where the known sums are true; on one line, of all such
                  estimates the one of least variance.
        Because:  with the covariances C of positions and B the known sums it adds C B' (B C B')^+ times
                  the gap, the conditional mean; C follows from the variances of ranges, since that of a
                  difference is the sum of two less twice their covariance. Lines are taken for
                  independent.
        Checked:  tests/plan/line/test_solve.py::test_equals_dense_conditioning
    """
    lines, size = positions.shape[0], positions.shape[1] - 1
    of = np.concatenate([system.of.reshape(lines, size), np.full((lines, 1), -1)], axis=1)
    places = 1 + np.flatnonzero((of[:, 1:] != of[:, :-1]).any(axis=0))
    if lines * len(places) * (size + 1) > MAX_PAIRS or system.many > MAX_KNOWN:
        return None
    covariances = _covariances(measurement, places)
    matrix = np.concatenate([system.matrix.toarray(), np.zeros((system.many, 1))], axis=1)
    whole, pulls = np.zeros((system.many, system.many)), []
    for line in range(lines):
        ends = matrix[:, of[line, places - 1]] - matrix[:, of[line, places]]  # a sum by cumulative counts
        own = np.flatnonzero(ends.any(axis=1))
        pull = covariances[line] @ ends[own].T
        whole[np.ix_(own, own)] += ends[own] @ pull[places]
        pulls.append((own, pull))
    moved, left = positions.copy(), _variances(measurement, np.zeros(1, dtype=np.int64))[:, :, 0]
    inverse = steady_inverse(whole, float(left.max(initial=0.0)))
    prices = inverse @ (system.totals - system.sums(np.diff(positions, axis=1).ravel()))
    for line, (own, pull) in enumerate(pulls):
        moved[line] += pull @ prices[own]
        left[line] -= ((pull @ inverse[np.ix_(own, own)]) * pull).sum(axis=1)
    return moved, np.maximum(left, 0.0)


def steady_inverse(whole: Floats, scale: float) -> Floats:
    """Return the inverse of covariances, in the directions that vary at all beside variances of a scale."""
    with one_thread():
        values, vectors = np.linalg.eigh(whole)
    some = values > STEADY * max(float(values.max(initial=0.0)), scale)
    return np.asarray((vectors[:, some] / values[some]) @ vectors[:, some].T)


def _covariances(measurement: LineStrategy, places: NDArray[np.int64]) -> Floats:
    """Return how each position varies with some, lines x positions x places."""
    every = _variances(measurement, np.append(0, places))
    own = every[:, :, :1]
    return np.asarray((own + own[:, places].transpose(0, 2, 1) - every[:, :, 1:]) / 2)


def _variances(measurement: LineStrategy, places: NDArray[np.int64]) -> Floats:
    """Return the variances of differences of each position and some others, lines x positions x places."""
    positions = np.arange(measurement.line.size + 1)
    starts = np.minimum(positions[:, None], places).ravel()
    stops = np.maximum(positions[:, None], places).ravel()
    found = measurement.range_variances(measurement.asked.only(starts, stops))
    return found.reshape(measurement.line.groups, len(positions), len(places))


def solve_lines(measurement: LineStrategy, values: Ints, post: bool | str, given: Given | None) -> Solved:
    """Return answers along lines: the unbiased ones, or of cumulative counts that never fall."""
    asked = measurement.asked
    noisy = _pinned(measurement.line, measurement.positions(values))
    most = None if measurement.line.open else float(noisy[:, -1].max())
    families = given.over(measurement.tally) if given else []
    best, shown = noisy, noisy
    if families:
        best, shown = _agreed(measurement, noisy, families, positive=bool(post))
    elif post:
        shown = _shaped(measurement, noisy)
    answers = asked.answers(shown)
    if families or post:
        answers = without_dust(answers) if families else answers
        answers[np.abs(answers) < 1e-9] = 0.0  # what cumulative sums leave of nothing
    return Solved(answers, answers if shown is best else asked.answers(best), most)


def _agreed(
    measurement: LineStrategy, noisy: Floats, families: list[Family], *, positive: bool
) -> tuple[Floats, Floats]:
    """Return unbiased cumulative counts, and those that agree with known sums and perhaps never fall.

    The unbiased ones agree with what is known as far as that makes none of them vary more.
    """
    known = [*families, _exact(measurement, noisy)]
    found = condition_on(measurement, noisy, System.build(known, noisy[:, 1:].size))
    positions, left = (noisy, None) if found is None else found
    spread: Floats | None = None
    if positive and measurement.is_in_runs:
        positions = _shaped(measurement, _pinned(measurement.line, positions), left)
        spread = np.diff(positions, axis=1).ravel()
        spread += max(1.0, float(spread.mean()))  # large counts move more, and small ones too
    counts = agree(np.diff(positions, axis=1).ravel(), known, positive=positive, spread=spread)
    shown = np.pad(np.cumsum(counts.reshape(len(noisy), -1), axis=1), ((0, 0), (1, 0)))
    if found is None:
        return noisy, shown
    return (found[0] if positive else shown), shown


def _pinned(line: LineGraph, positions: Floats) -> Floats:
    """Make the ends of segments with exact totals whole again, which sums of floats are not quite."""
    if not line.open:
        ends = np.append(line.starts[1:], line.size)
        positions[:, ends] = np.rint(positions[:, ends])
    return positions


def _exact(measurement: LineStrategy, positions: Floats) -> Family:
    """Return the exact totals of parts of lines, as positions have them."""
    line, counts = measurement.line, np.diff(positions, axis=1).ravel()
    parts, exact = measurement.parts
    many = int(parts.max(initial=-1)) + 1
    part = (parts + np.arange(line.groups)[:, None] * many).ravel()
    shared = np.where(exact.total_of >= 0, len(exact.alone) + exact.total_of, -1)[part]
    key = np.where(exact.alone[part], part, shared)
    _, total_of = np.unique(key, return_inverse=True)
    total_of = total_of.reshape(-1) - int((key < 0).any())
    totals = np.bincount(total_of[total_of >= 0], counts[total_of >= 0])
    return Family(total_of, np.maximum(np.rint(totals), 0.0))


def _shaped(measurement: LineStrategy, positions: Floats, left: Floats | None = None) -> Floats:
    """Return cumulative counts that never fall and agree with exact totals of segments, or of pieces.

    `left` is how much each position varies, where known sums have changed that.
    """
    line = measurement.line
    if not measurement.is_in_runs:
        exact, counts = _exact(measurement, positions), np.diff(positions, axis=1).ravel()
        fit = shape(counts, exact.labels, exact.totals).counts.reshape(line.groups, -1)
        return np.concatenate([np.zeros((line.groups, 1)), np.cumsum(fit, axis=1)], axis=1)
    weights: Floats | None = None
    if left is not None:
        weights = _inverted(left)
    elif not measurement.is_even and line.size <= LONG:
        every = Spans(measurement.tally, "prefixes", (line.starts, line.starts), measurement.asked.labels)
        weights = np.append(1.0, _inverted(measurement.range_variances(every)[: line.size]))
    return _agreeing(line.exact.total_of, _rising(line, positions, weights), positions, line.starts)


def _rising(line: LineGraph, positions: Floats, weights: Floats | None) -> Floats:
    """Return cumulative counts that never fall; segments without an exact total are fitted together.

    Made non-negative one by one, many of them would add up to far more than was measured.
    """
    alone, shared = (each.reshape(line.groups, -1) for each in (line.exact.alone, line.exact.total_of >= 0))
    known = alone | shared
    begins = np.ones(known.shape, dtype=bool)
    begins[:, 1:] = known[:, 1:] | known[:, :-1]
    found = np.zeros_like(positions)
    for pattern in np.unique(begins, axis=0):
        rows = np.flatnonzero((begins == pattern).all(axis=1))
        own = weights[rows] if weights is not None and weights.ndim > 1 else weights
        found[rows] = monotone(positions[rows], line.starts[pattern], alone[rows][:, pattern], own)
    return found


def _inverted(spread: Floats) -> Floats:
    """Return weights of inverse variance."""
    return np.asarray(1 / np.maximum(spread, max(1e-9 * float(spread.max(initial=0)), 1e-200)))


def _agreeing(total_of: Ints, shaped: Floats, positions: Floats, starts: Ints) -> Floats:
    """Move segments that share an exact total with other lines so that they add up to it again."""
    inside = total_of >= 0
    if not inside.any():
        return shaped
    ends = np.append(starts[1:], shaped.shape[1] - 1)
    wanted = (positions[:, ends] - positions[:, starts]).ravel()
    found = (shaped[:, ends] - shaped[:, starts]).ravel()
    goal = np.maximum(np.bincount(total_of[inside], wanted[inside]), 0.0)
    total = np.where(inside, shape(found, total_of, goal).counts, found)
    sizes = np.tile(ends - starts, len(shaped))
    factor = np.divide(total, found, out=np.zeros(len(found)), where=found > 0)
    extra = np.where(found > 0, 0.0, total / sizes)  # what had shrunk to nothing is distributed evenly
    parts = np.repeat(np.arange(len(found)), sizes)
    steps = (np.diff(shaped, axis=1).ravel() * factor[parts] + extra[parts]).reshape(len(shaped), -1)
    return np.concatenate([np.zeros((len(shaped), 1)), np.cumsum(steps, axis=1)], axis=1)
