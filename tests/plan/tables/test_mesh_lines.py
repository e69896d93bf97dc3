"""Lines of noise: a shift of the nodes over a place moves that place alone, and variances are dense ones."""

import random
from fractions import Fraction

import numpy as np
import pytest

from pandas_blowfish.plan.line.layouts import branchings
from pandas_blowfish.plan.scales import variance
from pandas_blowfish.plan.tables.ladder import ladder
from pandas_blowfish.plan.tables.mesh_lines import PARTS, lines_along


def random_lines(seed):
    """Return lines along a random column, and how it was cut."""
    draw = random.Random(seed)
    width = draw.randint(1, 14)
    along = ladder(
        np.arange(width), np.zeros(width, dtype=np.int64), draw.choice(branchings(width)), ordered=True
    )
    worth = np.array([draw.random() ** 3 for _ in range(along.levels)])
    return lines_along(along, worth)[0], width


def dense_map(lines):
    """Return flows as a matrix: places x nodes, in parts of PARTS * leaves."""
    return np.column_stack([lines.flows(one) for one in np.eye(sum(lines.sizes), dtype=np.int64)])


@pytest.mark.parametrize("seed", range(40))
def test_a_shift_moves_one_place(seed):
    """One more in the nodes over a place is PARTS * leaves more there, and nothing anywhere else."""
    lines, width = random_lines(seed)

    for place in range(width):
        shift, at = np.zeros(sum(lines.sizes), dtype=np.int64), 0
        for level, size in zip(lines.measured, lines.sizes, strict=True):
            shift[at + lines.along.leaf_of[place] // lines.along.width(level)] = 1
            at += size
        wanted = np.zeros(width, dtype=np.int64)
        wanted[place] = PARTS * lines.along.leaves

        assert (lines.flows(shift) == wanted).all()


@pytest.mark.parametrize("seed", range(40))
def test_shares_are_whole_and_add_up(seed):
    """What the proof requires: shares of an effect add up to PARTS, from levels at least as fine alone."""
    lines, _ = random_lines(seed)

    assert lines.shares.dtype == np.int64
    assert (lines.shares.sum(axis=0) == PARTS).all()
    assert (lines.shares >= 0).all()
    for level in range(lines.along.levels):
        assert (lines.shares[level, level + 1 :] == 0).all()
        if not lines.weights[level]:
            assert (lines.shares[level] == 0).all()


@pytest.mark.parametrize("seed", range(40))
def test_variances_of_sums_of_places(seed):
    """The variance of the flow over a run of places is that of the dense map."""
    lines, width = random_lines(seed)
    scales = tuple(Fraction(3 + level, 2) for level in range(len(lines.measured)))
    spread = np.repeat([variance(scale) for scale in scales], lines.sizes)
    matrix = dense_map(lines) / (PARTS * lines.along.leaves)
    starts, stops = np.triu_indices(width + 1, 1)

    norms = lines.along.norms(starts, stops)
    found = lines.effect_variances(scales) @ norms

    for start, stop, each in zip(starts, stops, found, strict=True):
        assert each == pytest.approx(matrix[start:stop].sum(axis=0) ** 2 @ spread)


def test_several_lines_at_once():
    """Leading axes are lines by themselves."""
    lines, _ = random_lines(7)
    nodes = np.random.default_rng(0).integers(-50, 50, (2, 3, sum(lines.sizes)))

    together = lines.flows(nodes)

    for group in range(2):
        for line in range(3):
            assert (together[group, line] == lines.flows(nodes[group, line])).all()


def test_scaled_keeps_levels():
    """Other weights of nearly the same proportions: none of them falls to 0 or comes to life."""
    lines, _ = random_lines(11)

    small = lines.rescale(1e-6)

    assert [weight > 0 for weight in small.weights] == [weight > 0 for weight in lines.weights]
    assert (small.shares == lines.shares).all()
