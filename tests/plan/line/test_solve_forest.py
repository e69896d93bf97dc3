"""Counts from a tree's sums, or from buckets of them."""

import random
from fractions import Fraction

import numpy as np
import pytest

from pandas_blowfish.plan.line.dawa import CONTINUES, Dawa
from pandas_blowfish.plan.line.tree import Tree


@pytest.mark.parametrize("seed", range(80))
def test_equals_dense_least_squares(seed, make_lined, by_dense_bins):
    """Every range, under any policy, filter and groups."""
    draw = random.Random(seed)
    lined = make_lined(draw)
    tree = Tree(lined.asked, lined.line, Fraction(draw.randint(1, 9), 5))
    if not tree.sensitivity:
        return
    _, bins = lined.counts(draw)
    noise = np.array([draw.randint(-5, 5) for _ in tree.scales], dtype=np.int64)
    values = tree.apply(bins) + np.where([scale == 0 for scale in tree.scales], 0, noise)

    fast = lined.asked.answers(tree.positions(values))
    slow = by_dense_bins(tree, lined.asked).estimator @ values

    assert fast == pytest.approx(slow, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", range(30))
def test_buckets_of_one_are_the_tree(seed, make_lined):
    """Where no bucket goes on, both ways agree."""
    draw = random.Random(seed)
    lined = make_lined(draw)
    tree = Tree(lined.asked, lined.line, Fraction(1))
    values = tree.apply(lined.counts(draw)[1])

    assert Dawa(tree.asked, tree.line, tree.epsilon).positions(values) == pytest.approx(
        tree.positions(values)
    )


def test_a_bucket_is_distributed_evenly(line_of):
    """On a line of threshold 1 the sums are prefixes, or suffixes, and a bucket's are equal."""
    lined = line_of(6, 1)
    tree = Tree(lined.asked, lined.line, Fraction(1))
    even = tree.apply(np.array([0, 0, 8, 0, 0, 2]))
    sums = even[: len(tree.rows)]
    values = even.copy()
    values[0], values[1] = sums[0] + sums[1], CONTINUES
    values[2], values[3:5] = sums[2:5].sum(), CONTINUES

    found = Dawa(tree.asked, tree.line, tree.epsilon).positions(values)

    wanted = np.concatenate([[sums[:2].mean()] * 2, [sums[2:5].mean()] * 3])
    dealt = tree.positions(np.concatenate([wanted, even[len(sums) :]]))
    assert found == pytest.approx(dealt)
    assert found[0, -1] == 10
