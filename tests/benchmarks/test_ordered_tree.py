"""The paper's ordered hierarchical mechanism: what it measures, how much it loses, how wrong it is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from papers.ordered_tree import OrderedTree

SHAPES = [(23, 5, 2), (20, 4, 2), (37, 37, 3), (30, 1, 2), (31, 10, 4)]


def ranges(cells: int, many: int = 500) -> np.ndarray:
    """Return random ranges, first and last cell."""
    return np.sort(np.random.default_rng(0).integers(0, cells, (many, 2)), axis=1)


@pytest.mark.parametrize(("cells", "theta", "fan_out"), SHAPES)
def test_prefixes_are_sums_of_nodes(cells, theta, fan_out):
    """Every cumulative count is put together from nodes without any cell left out or counted twice."""
    tree = OrderedTree(cells, theta, fan_out)

    prefixes = tree.prefixes @ tree.matrix()

    assert (prefixes == np.vstack([np.zeros(cells), np.tril(np.ones((cells, cells)))])).all()


@pytest.mark.parametrize(("cells", "theta", "fan_out"), SHAPES)
def test_loss_matches_enumeration(cells, theta, fan_out):
    """The fast loss equals the largest over all pairs within theta, for random scales."""
    tree = OrderedTree(cells, theta, fan_out)
    scales = np.random.default_rng(1).random(tree.nodes) + 0.1
    matrix = tree.matrix()

    pairs = [(x, y) for x in range(cells) for y in range(x + 1, min(cells, x + theta + 1))]
    slow = max((np.abs(matrix[:, x] - matrix[:, y]) / scales).sum() for x, y in pairs)

    assert tree.loss(scales) == pytest.approx(slow)


@pytest.mark.parametrize(("cells", "theta", "fan_out"), SHAPES)
def test_sound_budgets_lose_one(cells, theta, fan_out):
    """The sound budget spends exactly epsilon; the printed one more, but for full."""
    tree = OrderedTree(cells, theta, fan_out)

    assert tree.loss(tree.sound(ranges(cells))) == pytest.approx(1)
    assert tree.loss(tree.printed()) > 1 or theta == cells


def test_printed_budget_of_a_line_has_no_noise():
    """For theta 1 the first count is released as it is."""
    tree = OrderedTree(30, 1)

    assert tree.printed()[0] == 0
    assert math.isinf(tree.loss(tree.printed()))


@pytest.mark.parametrize(("theta", "target"), [(1, 3.97), (4, 89.4), (16, 260), (64, 796), (256, 632)])
def test_errors_are_those_of_the_notes(theta, target):
    """Expected and measured errors of 256 cells agree with each other and with the known ones."""
    tree, asked = OrderedTree(256, theta), ranges(256, 20_000)
    scales, draw = tree.sound(asked), np.random.default_rng(2)
    counts = np.ones(256, dtype=int)

    expected = tree.expected(asked, scales)
    found = np.mean([tree.errors(counts, asked, scales, 2.0, draw) for _ in range(300)], axis=0)

    assert expected == pytest.approx(target, rel=0.06)
    assert 4 * found[0] == pytest.approx(expected, rel=0.1)
    assert found[1] < found[0]
