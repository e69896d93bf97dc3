"""From measured values to answers of the right shape: one way for every strategy. Never sees rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.infer.boxes import solve_levels, solve_mesh
from pandas_blowfish.infer.forest import from_buckets, from_tree
from pandas_blowfish.infer.least_squares import estimate
from pandas_blowfish.infer.linear import from_rows
from pandas_blowfish.infer.marginals import solve_marginals
from pandas_blowfish.infer.monotone import monotone
from pandas_blowfish.infer.simplex import shape
from pandas_blowfish.infer.solved import Solved
from pandas_blowfish.infer.total import solve_totals
from pandas_blowfish.plan.line import Line
from pandas_blowfish.plan.measurement import Measurement
from pandas_blowfish.plan.spans import Spans
from pandas_blowfish.plan.strategy.dawa import Dawa
from pandas_blowfish.plan.strategy.identity import Identity
from pandas_blowfish.plan.strategy.levels import Levels
from pandas_blowfish.plan.strategy.linear import Linear
from pandas_blowfish.plan.strategy.mesh import Mesh
from pandas_blowfish.plan.strategy.nested import Nested
from pandas_blowfish.plan.strategy.residual import Residual
from pandas_blowfish.plan.strategy.total import Sums
from pandas_blowfish.plan.strategy.tree import Tree
from pandas_blowfish.plan.strategy.woven import Woven
from pandas_blowfish.policy.graph import Ints

Floats = NDArray[np.float64]
LONG = 1 << 16  # positions beyond which the monotone fit treats all alike


def solve(measurement: Measurement, values: Ints, *, post: bool | str) -> Solved:
    """Return the answers of a measurement: the unbiased ones, or the nearest of the right shape."""
    return SOLVERS[type(measurement)](measurement, values, post)


def _lines(measurement: Nested | Tree | Dawa, values: Ints, post: bool | str) -> Solved:
    asked = measurement.asked
    noisy = _pinned(measurement.line, _positions(measurement, values))
    most = None if measurement.line.open else float(noisy[:, -1].max())
    if not post:
        return Solved(asked.answers(noisy), (0.0, 0.0), most)
    shaped = _shaped(measurement, noisy)
    answers = asked.answers(shaped)
    answers[np.abs(answers) < 1e-9] = 0.0  # what cumulative sums leave of nothing
    moved = asked.answers(noisy) - answers
    return Solved(answers, (float(moved.min(initial=0.0)), float(moved.max(initial=0.0))), most)


def _counts(measurement: Identity, values: Ints, post: bool | str) -> Solved:
    size, parts = len(measurement.index), measurement.parts
    noisy, totals = values[:size].astype(np.float64), values[size:].astype(np.float64)
    if post:
        out = shape(noisy, parts.total_of, totals)
        out.counts[parts.alone] = noisy[parts.alone]
        return Solved(out.counts, out.shift)
    inside = parts.total_of >= 0
    if not inside.any():
        return Solved(noisy, (0.0, 0.0))
    sums = np.bincount(parts.total_of[inside], noisy[inside], parts.totals)
    gaps = (sums - totals) / np.bincount(parts.total_of[inside], minlength=parts.totals)
    shifts = np.where(inside, gaps[parts.total_of], 0.0)  # what is too much is taken from all alike
    return Solved(noisy - shifts, (float(shifts[~parts.alone].min()), float(shifts[~parts.alone].max())))


def _positions(measurement: Nested | Tree | Dawa, values: Ints) -> Floats:
    if isinstance(measurement, Dawa):
        return from_buckets(measurement, values)
    if isinstance(measurement, Tree):
        return from_tree(measurement, values)
    noisy, totals, shared = measurement.split(values)
    if measurement.layout.mirrored:
        totals = totals[:, ::-1]
    return estimate(measurement.nest, measurement.family_variances, noisy, totals, shared)


def _pinned(line: Line, positions: Floats) -> Floats:
    """Make the ends of segments with exact totals whole again, which sums of floats are not quite."""
    if not line.open:
        ends = np.append(line.starts[1:], line.size)
        positions[:, ends] = np.rint(positions[:, ends])
    return positions


def _shaped(measurement: Nested | Tree | Dawa, positions: Floats) -> Floats:
    """Return cumulative counts that never fall and agree with exact totals of segments, or of pieces."""
    line = measurement.line
    if isinstance(measurement, (Tree, Dawa)) and line.listed is not None:
        pieces = int(line.pieces.max(initial=-1)) + 1
        part = (line.pieces + np.arange(line.groups)[:, None] * pieces).ravel()
        exact, counts = line.piece_exact, np.diff(positions, axis=1).ravel()
        alone = exact.alone[part]
        key = np.where(
            alone, part, np.where(exact.total_of >= 0, len(exact.alone) + exact.total_of, -1)[part]
        )
        _, total_of = np.unique(key, return_inverse=True)
        total_of = total_of.reshape(-1) - int((key < 0).any())
        totals = np.bincount(total_of[total_of >= 0], counts[total_of >= 0])
        fit = shape(counts, total_of, np.maximum(totals, 0.0)).counts.reshape(line.groups, -1)
        return np.concatenate([np.zeros((line.groups, 1)), np.cumsum(fit, axis=1)], axis=1)
    weights: Floats | None = None
    if isinstance(measurement, Nested) and measurement.layout.spacing != 1 and line.size <= LONG:
        every = Spans(measurement.tally, "prefixes", (line.starts, line.starts), measurement.asked.labels)
        spread = every.variances(measurement.spread)[: line.size]
        weights = np.append(1.0, 1 / np.maximum(spread, max(1e-9 * float(spread.max(initial=0)), 1e-200)))
    alone = line.exact.alone.reshape(line.groups, -1)
    return _agreeing(
        line.exact.total_of, monotone(positions, line.starts, alone, weights), positions, line.starts
    )


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
    extra = np.where(found > 0, 0.0, total / sizes)  # what had shrunk to nothing is dealt out evenly
    parts = np.repeat(np.arange(len(found)), sizes)
    steps = (np.diff(shaped, axis=1).ravel() * factor[parts] + extra[parts]).reshape(len(shaped), -1)
    return np.concatenate([np.zeros((len(shaped), 1)), np.cumsum(steps, axis=1)], axis=1)


def _woven(measurement: Woven, values: Ints, post: bool | str) -> Solved:
    """Return weighted sums along lines; those of exact totals are whole."""
    found = _lines(measurement, values, post)
    answers = np.where(measurement.variances > 0, found.answers, np.rint(found.answers))
    return Solved(answers, found.shift)


# how each kind of measurement is turned into answers
SOLVERS: dict[type, Callable[[Any, Ints, bool | str], Solved]] = {
    Identity: _counts,
    Nested: _lines,
    Tree: _lines,
    Dawa: _lines,
    Linear: from_rows,
    Woven: _woven,
    Sums: solve_totals,
    Residual: solve_marginals,
    Levels: solve_levels,
    Mesh: solve_mesh,
}
