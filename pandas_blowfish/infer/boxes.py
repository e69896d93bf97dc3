"""Boxes put together from noisy nodes or cells: free post-processing, never sees rows."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.infer.solved import Solved, without_dust
from pandas_blowfish.plan.strategy.levels import Levels, summed
from pandas_blowfish.plan.strategy.mesh import Mesh
from pandas_blowfish.policy.graph import Ints

if TYPE_CHECKING:
    from pandas_blowfish.plan.boxes import Boxes

Floats = NDArray[np.float64]
Tuple = tuple[int, ...]


def solve_levels(measurement: Levels, values: Ints, post: bool | str) -> Solved:
    """Return the answers of tables of nodes.

    Proof note:
        Requires: a release already paid for.
        Ensures:  the estimate of least variance among linear unbiased ones that do not use that filled-up
                  leaves hold nothing.
        Because:  effects of one level a column are orthogonal, and noise of one variance in all nodes of a
                  table is independent and as large in each; they are averaged one by one with weights of
                  inverse variance, and what is exact replaces its part.
        Checked:  tests/infer/test_boxes.py::test_equals_dense_least_squares
    """
    ladders, leaves = measurement.leveled.ladders, None
    if not measurement.question.empty:
        leaves = _leaves(measurement, values)
        for axis, each in enumerate(ladders):
            leaves = np.take(leaves, each.leaf_of, axis=axis)
    most = None
    if measurement.still is not None:
        rows = math.prod(measurement.shape(measurement.still))
        most = float(values[len(values) - rows :].sum())
    return _answers(measurement.question, leaves, most, post)


def solve_mesh(measurement: Mesh, values: Ints, post: bool | str) -> Solved:
    """Return the answers of noisy cells: sums, in which flows inside a box cancel."""
    atoms = [int(each.max(initial=-1)) + 1 for each in measurement.question.atoms]
    cells = values.astype(np.float64).reshape(atoms) / measurement.whole
    return _answers(measurement.question, cells, float(np.rint(cells.sum())), post)


def _leaves(measurement: Levels, values: Ints) -> Floats:
    """Return the best estimate of every leaf's count."""
    leveled, at = measurement.leveled, 0
    sums: dict[Tuple, Floats] = {}
    weights: dict[Tuple, float] = {}
    for (levels, _), spread in zip(measurement.tables, measurement.variances_of_tables, strict=True):
        shape = measurement.shape(levels)
        table = values[at : at + math.prod(shape)].astype(np.float64).reshape(shape)
        at += math.prod(shape)
        for effect in itertools.product(*(range(level + 1) for level in levels)):
            weight = 1 / (spread * leveled.ratio(levels, effect))
            told = weight * summed(table, measurement.shape(effect))
            sums[effect] = sums[effect] + told if effect in sums else told
            weights[effect] = weights.get(effect, 0.0) + weight
    finest = tuple(each.levels - 1 for each in leveled.ladders)
    total = np.zeros(measurement.shape(finest))
    for effect, told in sums.items():
        centred = told / weights[effect]
        for axis, level in enumerate(effect):
            if level:
                centred = centred - _mean(centred, axis, leveled.ladders[axis].counts[level - 1])
        total += _spread(centred, total.shape) / leveled.ratio(finest, effect)
    if measurement.still is not None:
        shape = measurement.shape(measurement.still)
        exact = values[at:].astype(np.float64).reshape(shape)
        gap = exact - summed(total, shape)
        total += _spread(gap, total.shape) / leveled.ratio(finest, measurement.still)
    return total


def _spread(table: Floats, shape: Tuple) -> Floats:
    """Return a table with each node's value on all finer nodes in it."""
    for axis, count in enumerate(shape):
        if table.shape[axis] not in (count, 1):
            table = np.repeat(table, count // table.shape[axis], axis=axis)
    return np.broadcast_to(table, shape)


def _mean(table: Floats, axis: int, count: int) -> Floats:
    """Return the mean over each of `count` nodes above, along one axis."""
    many = table.shape[axis] // count
    cut = (*table.shape[:axis], count, many, *table.shape[axis + 1 :])
    return np.repeat(table.reshape(cut).mean(axis=axis + 1), many, axis=axis)


def _answers(question: Boxes, cells: Floats | None, most: float | None, post: bool | str) -> Solved:
    """Return the sums of boxes of atoms for every group, cut to what counts can be if wanted."""
    groups = [int(size) for size in question.domain.shape[: question.groups]]
    answers = np.zeros((*groups, len(question.some)))
    boxes = np.flatnonzero(question.some)
    if cells is not None and len(boxes):
        for axis in range(question.groups, cells.ndim):  # cumulative counts, from 0
            start = np.zeros((*cells.shape[:axis], 1, *cells.shape[axis + 1 :]))
            cells = np.concatenate([start, np.cumsum(cells, axis=axis)], axis=axis)
        inner = np.zeros((*cells.shape[: question.groups], len(boxes)))
        for corner in itertools.product((0, 1), repeat=len(question.spans)):
            places = tuple(span[end][boxes] for span, end in zip(question.spans, corner, strict=True))
            sign = (-1.0) ** (len(corner) - sum(corner))
            at: Any = (*[slice(None)] * question.groups, *places)
            inner = inner + sign * cells[at]
        kept = [np.flatnonzero(question.atoms[place] >= 0) for place in range(question.groups)]
        answers[np.ix_(*kept, boxes)] = inner
    found = answers.ravel()
    if post:
        found = np.clip(found, 0.0, np.inf if most is None else most)
    return Solved(without_dust(found), (0.0, 0.0), most)
