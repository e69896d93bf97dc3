"""Boxes put together from noisy nodes or cells: free post-processing, never sees rows."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.given import Family, Given
from pandas_blowfish.plan.line.solve import steady_inverse
from pandas_blowfish.plan.shape.agree import agree
from pandas_blowfish.plan.shape.solved import Solved, without_dust
from pandas_blowfish.plan.shape.system import System
from pandas_blowfish.plan.tables.levels import BoxLevels, Levels, sum_nodes
from pandas_blowfish.plan.tables.mesh import Mesh

if TYPE_CHECKING:
    from pandas_blowfish.plan.tables.boxes import Boxes

Tuple = tuple[int, ...]
MAX_WORK = 200_000_000  # numbers that are added up for how errors of atoms go together


def solve_levels(measurement: Levels, values: Ints, post: bool | str, given: Given | None) -> Solved:
    """Return the answers of tables of nodes.

    Proof note:
        Requires: a release already paid for.
        Ensures:  the estimate of least variance among linear unbiased ones that do not use that filled-up
                  leaves hold nothing.
        Because:  effects of one level a column are orthogonal, and noise of one variance in all nodes of a
                  table is independent and as large in each; they are averaged one by one with weights of
                  inverse variance, and what is exact replaces its part.
        Checked:  tests/plan/tables/test_solve_boxes.py::test_equals_dense_least_squares
    """
    ladders, leaves = measurement.leveled.ladders, None
    if not measurement.question.empty:
        leaves = _leaves(measurement, values)
        for axis, each in enumerate(ladders):
            leaves = np.take(leaves, each.leaf_of, axis=axis)
    most, exact = None, []
    if measurement.still is not None:
        rows = math.prod(measurement.shape(measurement.still))
        totals = values[len(values) - rows :].astype(np.float64)
        most, exact = float(totals.sum()), [Family(_product(_parts(measurement)), totals)]
    known = leaves
    families = given.over(measurement.question.counted) if given and leaves is not None else []
    if families and leaves is not None:
        whole = [*families, *exact]
        flat = _conditioned(measurement, leaves, System.build(whole, leaves.size))
        known = agree(flat, whole, positive=False).reshape(leaves.shape)
    return _answers(measurement.question, leaves, known, most, post)


def solve_mesh(measurement: Mesh, values: Ints, post: bool | str, given: Given | None) -> Solved:
    """Return the answers of noisy cells: sums, in which flows inside a box cancel."""
    atoms = [int(each.max(initial=-1)) + 1 for each in measurement.question.atoms]
    cells = values.astype(np.float64).reshape(atoms) / measurement.whole
    families, known = given.over(measurement.question.counted) if given else [], cells
    if families:
        label = _product(_closed(measurement))
        exact = Family(label, np.rint(np.bincount(label, cells.ravel())))
        known = agree(cells.ravel(), [*families, exact], positive=False).reshape(cells.shape)
    return _answers(measurement.question, cells, known, float(np.rint(cells.sum())), post)


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
            told = weight * sum_nodes(table, measurement.shape(effect))
            sums[effect] = sums[effect] + told if effect in sums else told
            weights[effect] = weights.get(effect, 0.0) + weight
    finest = tuple(each.levels - 1 for each in leveled.ladders)
    total = np.zeros(measurement.shape(finest))
    for effect, told in sums.items():
        centred = _centred(told / weights[effect], effect, leveled)
        total += _spread(centred, total.shape) / leveled.ratio(finest, effect)
    if measurement.still is not None:
        shape = measurement.shape(measurement.still)
        exact = values[at:].astype(np.float64).reshape(shape)
        gap = exact - sum_nodes(total, shape)
        total += _spread(gap, total.shape) / leveled.ratio(finest, measurement.still)
    return total


def _parts(measurement: Levels) -> list[tuple[Ints, int]]:
    """Return for each column the part of each atom, and how many: totals of products of parts are exact."""
    assert measurement.still is not None
    pairs = zip(measurement.leveled.ladders, measurement.still, strict=True)
    return [(each.leaf_of // each.width(level), each.counts[level]) for each, level in pairs]


def _closed(measurement: Mesh) -> list[tuple[Ints, int]]:
    """Return for each column the part of each atom that no noise flows out of, and how many."""
    groups = measurement.question.atoms[: measurement.question.groups]
    parts = [np.arange(int(each.max(initial=-1)) + 1) for each in groups]
    parts += [np.append(0, np.cumsum(~each)) for each in measurement.crossings.open]
    return [(each, int(each.max(initial=-1)) + 1) for each in parts]


def _product(parts: list[tuple[Ints, int]]) -> Ints:
    """Return the part of each atom of a product of columns, in C order."""
    label = np.zeros(1, dtype=np.int64)
    for each, many in parts:
        label = (label[:, None] * many + each).ravel()
    return label


def _conditioned(measurement: Levels, cells: Floats, system: System) -> Floats:
    """Return counts of atoms nearer to known sums, each moved as far as its error goes along with theirs.

    Errors of different effects are independent, so the covariances of atoms are a sum of projections, one an
    effect. Left as they are where that would take too long.
    """
    leveled, ladders = measurement.leveled, measurement.leveled.ladders
    effects = measurement.effect_variances
    finest = tuple(each.levels - 1 for each in ladders)
    whole = measurement.shape(finest)
    if system.many * math.prod(whole) * max(len(effects), 1) > MAX_WORK or not effects:
        return cells.ravel()
    places = np.ix_(*(each.leaf_of for each in ladders))
    rows = np.append(system.matrix.toarray(), np.zeros((system.many, 1)), axis=1)[:, system.of]
    pulls = np.zeros((system.many, cells.size))
    for number, row in enumerate(rows):
        leaves = np.zeros(whole)
        leaves[places] = row.reshape(cells.shape)
        pull = np.zeros(whole)
        for effect, variance in effects.items():
            centred = _centred(sum_nodes(leaves, measurement.shape(effect)), effect, leveled)
            pull += variance / leveled.ratio(finest, effect) ** 2 * _spread(centred, whole)
        pulls[number] = pull[places].ravel()
    inverse = steady_inverse(rows @ pulls.T, float(measurement.variances.max(initial=0.0)))
    prices = inverse @ (system.totals - system.sums(cells.ravel()))
    return np.asarray(cells.ravel() + prices @ pulls)


def _centred(table: Floats, effect: Tuple, leveled: BoxLevels) -> Floats:
    """Return what of a table of nodes is no mean over nodes above."""
    for axis, level in enumerate(effect):
        if level:
            table = table - _mean(table, axis, leveled.ladders[axis].counts[level - 1])
    return table


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


def _answers(
    question: Boxes, noisy: Floats | None, cells: Floats | None, most: float | None, post: bool | str
) -> Solved:
    """Return the sums of boxes of atoms for every group, cut to what counts can be if wanted.

    `noisy` are the counts of atoms as measured, `cells` those that agree with what is known.
    """
    found = _boxes(question, cells)
    raw = found if cells is noisy else _boxes(question, noisy)
    if post:
        found = np.clip(found, 0.0, np.inf if most is None else most)
    return Solved(without_dust(found), without_dust(raw), most)


def _boxes(question: Boxes, cells: Floats | None) -> Floats:
    """Return the sums of boxes of atoms, groups outermost."""
    groups = [int(size) for size in question.whole.shape[: question.groups]]
    answers = np.zeros((*groups, len(question.nonempty)))
    boxes = np.flatnonzero(question.nonempty)
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
        answers[np.ix_(*question.kept_groups, boxes)] = inner
    return answers.ravel()
