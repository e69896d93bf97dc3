"""From measured values to answers of the right shape: one way for every strategy. Never sees rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.exact.arrays import Floats, Ints, frozen
from pandas_blowfish.plan.clusters.adaptive import Adaptive
from pandas_blowfish.plan.clusters.counted import Counted
from pandas_blowfish.plan.clusters.grid import Grid
from pandas_blowfish.plan.clusters.soft import Soft
from pandas_blowfish.plan.clusters.solve import solve_clusters
from pandas_blowfish.plan.clusters.whole import Whole
from pandas_blowfish.plan.given import Family, Given
from pandas_blowfish.plan.line.axis import Line
from pandas_blowfish.plan.line.dawa import Dawa
from pandas_blowfish.plan.line.least_squares import estimate
from pandas_blowfish.plan.line.question import Spans
from pandas_blowfish.plan.line.runs import Nested
from pandas_blowfish.plan.line.solve import conditioned, from_buckets, from_tree
from pandas_blowfish.plan.line.tree import Tree
from pandas_blowfish.plan.linear.atom_rows import Linear
from pandas_blowfish.plan.linear.solve import from_rows
from pandas_blowfish.plan.linear.woven import Woven
from pandas_blowfish.plan.protocol import Measurement
from pandas_blowfish.plan.shape.agree import agree, settled
from pandas_blowfish.plan.shape.monotone import monotone
from pandas_blowfish.plan.shape.simplex import shape
from pandas_blowfish.plan.shape.solved import Solved, moved_from, without_dust
from pandas_blowfish.plan.shape.system import System
from pandas_blowfish.plan.tables.identity import Identity
from pandas_blowfish.plan.tables.levels import Levels
from pandas_blowfish.plan.tables.mesh import Mesh
from pandas_blowfish.plan.tables.residual import Residual
from pandas_blowfish.plan.tables.solve import solve_counts, solve_marginals
from pandas_blowfish.plan.tables.solve_boxes import solve_levels, solve_mesh
from pandas_blowfish.plan.tally import Binning, Tally
from pandas_blowfish.plan.totals.solve import solve_totals
from pandas_blowfish.plan.totals.sums import Sums
from pandas_blowfish.policy.attribute import Attribute

LONG = 1 << 16  # positions beyond which the monotone fit treats all alike


def solve(measurement: Measurement, values: Ints, *, post: bool | str, given: Given | None = None) -> Solved:
    """Return the answers of a measurement: the unbiased ones, or the nearest of the right shape.

    Args:
        measurement: What was measured.
        values: The noisy value of every measured row.
        post: False for unbiased answers; else counts are of the right shape.
        given: Public facts with known answers, which the result agrees with.
    """
    return SOLVERS[type(measurement)](measurement, values, post, given or None)


def _lines(measurement: Nested | Tree | Dawa, values: Ints, post: bool | str, given: Given | None) -> Solved:
    asked = measurement.asked
    noisy = _pinned(measurement.line, _positions(measurement, values))
    most = None if measurement.line.open else float(noisy[:, -1].max())
    families = given.over(measurement.tally) if given else []
    if not post and not families:
        return Solved(asked.answers(noisy), (0.0, 0.0), most)
    if families:
        answers = without_dust(asked.answers(_agreed(measurement, noisy, families, positive=bool(post))))
    else:
        answers = asked.answers(_shaped(measurement, noisy))
    answers[np.abs(answers) < 1e-9] = 0.0  # what cumulative sums leave of nothing
    return moved_from(asked.answers(noisy), answers, most)


def _agreed(
    measurement: Nested | Tree | Dawa, noisy: Floats, families: list[Family], *, positive: bool
) -> Floats:
    """Return cumulative counts that agree with known sums of atoms, and perhaps never fall."""
    known = [*families, _exact(measurement, noisy)]
    found = conditioned(measurement, noisy, System.made(known, noisy[:, 1:].size))
    positions, left = (noisy, None) if found is None else found
    spread: Floats | None = None
    listed = isinstance(measurement, (Tree, Dawa)) and measurement.line.listed is not None
    if positive and not listed:
        positions = _shaped(measurement, _pinned(measurement.line, positions), left)
        spread = np.diff(positions, axis=1).ravel()
        spread += max(1.0, float(spread.mean()))  # large counts move more, and small ones too
    counts = agree(np.diff(positions, axis=1).ravel(), known, positive=positive, spread=spread)
    return np.pad(np.cumsum(counts.reshape(len(noisy), -1), axis=1), ((0, 0), (1, 0)))


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


def _exact(measurement: Nested | Tree | Dawa, positions: Floats) -> Family:
    """Return the exact totals of segments, or of pieces where edges are listed, as positions have them."""
    line, counts = measurement.line, np.diff(positions, axis=1).ravel()
    listed = isinstance(measurement, (Tree, Dawa)) and line.listed is not None
    parts, exact = (line.pieces, line.piece_exact) if listed else (line.segments, line.exact)
    many = int(parts.max(initial=-1)) + 1
    part = (parts + np.arange(line.groups)[:, None] * many).ravel()
    shared = np.where(exact.total_of >= 0, len(exact.alone) + exact.total_of, -1)[part]
    key = np.where(exact.alone[part], part, shared)
    _, total_of = np.unique(key, return_inverse=True)
    total_of = total_of.reshape(-1) - int((key < 0).any())
    totals = np.bincount(total_of[total_of >= 0], counts[total_of >= 0])
    return Family(total_of, np.maximum(np.rint(totals), 0.0))


def _shaped(measurement: Nested | Tree | Dawa, positions: Floats, left: Floats | None = None) -> Floats:
    """Return cumulative counts that never fall and agree with exact totals of segments, or of pieces.

    `left` is how much each position varies, where known sums have changed that.
    """
    line = measurement.line
    if isinstance(measurement, (Tree, Dawa)) and line.listed is not None:
        exact, counts = _exact(measurement, positions), np.diff(positions, axis=1).ravel()
        fit = shape(counts, exact.labels, exact.totals).counts.reshape(line.groups, -1)
        return np.concatenate([np.zeros((line.groups, 1)), np.cumsum(fit, axis=1)], axis=1)
    weights: Floats | None = None
    if left is not None:
        weights = _inverted(left)
    elif isinstance(measurement, Nested) and measurement.layout.spacing != 1 and line.size <= LONG:
        every = Spans(measurement.tally, "prefixes", (line.starts, line.starts), measurement.asked.labels)
        weights = np.append(1.0, _inverted(every.variances(measurement.spread)[: line.size]))
    alone = line.exact.alone.reshape(line.groups, -1)
    return _agreeing(
        line.exact.total_of, monotone(positions, line.starts, alone, weights), positions, line.starts
    )


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
    extra = np.where(found > 0, 0.0, total / sizes)  # what had shrunk to nothing is dealt out evenly
    parts = np.repeat(np.arange(len(found)), sizes)
    steps = (np.diff(shaped, axis=1).ravel() * factor[parts] + extra[parts]).reshape(len(shaped), -1)
    return np.concatenate([np.zeros((len(shaped), 1)), np.cumsum(steps, axis=1)], axis=1)


def _woven(measurement: Woven, values: Ints, post: bool | str, given: Given | None) -> Solved:
    """Return weighted sums along lines; those of exact totals are whole."""
    found = _lines(measurement, values, post, given)
    answers = np.where(measurement.variances > 0, found.answers, np.rint(found.answers))
    return Solved(answers, found.shift)


def _totals(measurement: Sums, values: Ints, post: bool | str, given: Given | None) -> Solved:
    """Return sums and means: means over known numbers of rows, sums within what these allow."""
    found = solve_totals(measurement, values, post)
    if not given:
        return found
    size, sums = measurement.tally.size, len(measurement.summed)
    by_total, answers = values.reshape(-1, size).copy(), found.answers.reshape(size, sums).copy()
    for place, column in enumerate(measurement.summed):
        rows = _rows(measurement.tally, column.attribute, given)
        known = ~np.isnan(rows)
        if column.exact or not known.any():
            continue
        if column.count is not None:
            by_total[sums + column.count, known] = rows[known]
        elif post and column.bounds is not None:
            low, high = (float(bound) for bound in column.bounds)
            answers[known, place] = np.clip(answers[known, place], low * rows[known], high * rows[known])
    if measurement.verb == "mean":
        return solve_totals(measurement, by_total.ravel(), post)
    return replace(found, answers=answers.ravel(), offsets=answers.ravel())


def _rows(tally: Tally, attribute: Attribute, given: Given) -> Floats:
    """Return in how many rows of each group a column is not missing, NaN where the facts do not tell."""
    if attribute.nullable and not attribute.bounded:
        return np.full(tally.size, np.nan)
    if attribute.nullable:
        seen = list(tally.binnings)
        place = next((n for n, each in enumerate(seen) if each.attribute.name == attribute.name), len(seen))
        one = Binning(attribute, np.zeros(attribute.size, dtype=np.int64), pd.RangeIndex(1))
        own = seen[place] if place < len(seen) else one
        labels = np.arange(attribute.size) if own.labels is None else own.labels.copy()
        labels[attribute.cells :] = -1
        seen[place : place + 1] = [Binning(attribute, frozen(labels), own.index)]
        tally = Tally(tuple(seen), tally.shown, tally.condition)
    return settled(given.over(tally), tally.size)


# how each kind of measurement is turned into answers
SOLVERS: dict[type, Callable[[Any, Ints, bool | str, Given | None], Solved]] = {
    Identity: solve_counts,
    Nested: _lines,
    Tree: _lines,
    Dawa: _lines,
    Linear: from_rows,
    Woven: _woven,
    Sums: _totals,
    Residual: solve_marginals,
    Levels: solve_levels,
    Mesh: solve_mesh,
    Grid: solve_clusters,
    Soft: solve_clusters,
    Adaptive: solve_clusters,
    Whole: solve_clusters,
    Counted: solve_clusters,
}
