"""Weighted sums along a line: the same as one at a time, and as by dense algebra."""

import random

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from pandas_blowfish.plan.line.nest import Layout, Nest
from pandas_blowfish.plan.line.variance import Spread
from pandas_blowfish.plan.linear import line_sums as module
from pandas_blowfish.plan.linear.line_sums import LineSums, number_answers, weighted_rows
from pandas_blowfish.plan.linear.woven import Woven


def asked_of(found, weights):
    """Return weighted sums on the lines of another question."""
    mark = np.empty(0, dtype=np.int64)
    return LineSums(
        found.asked.tally,
        "ranges",
        (mark, mark),
        lambda: pd.RangeIndex(len(weights)),
        None,
        csr_array(weights),
    )


@pytest.mark.parametrize("seed", range(40))
def test_rows_are_single_ones(seed, make_lined, make_layout):
    """All rows at once are what `Spread.weigh` says of each."""
    draw = random.Random(seed)
    found = make_lined(draw, 6)
    nest = Nest(found.line, make_layout(draw, found.line))
    spread = Spread(nest, [draw.uniform(1, 5) for _ in nest.families])
    weights = np.array([[draw.randint(-3, 3) for _ in range(found.line.size)] for _ in range(4)], dtype=float)

    base, follow = weighted_rows(spread, weights)

    for number, each in enumerate(weights):
        one, ways = spread.weigh(each)
        assert base[number] == pytest.approx(one, rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(follow[number], ways, atol=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_variances_match_dense_algebra(seed, make_lined, make_layout, by_dense_algebra, monkeypatch):
    """The variance of every weighted sum, on every line, is that of the best estimate."""
    monkeypatch.setattr(module, "CHUNK", 8)
    draw = random.Random(1_000 + seed)
    found = make_lined(draw, 5)
    size, groups = found.line.size, found.line.groups
    weights = np.array([[draw.randint(-3, 3) for _ in range(size)] for _ in range(3)])
    layout = make_layout(draw, found.line)
    nest = Nest(found.line, layout)
    woven = Woven("test", asked_of(found, weights), found.line, layout, (2,) * len(nest.families), 1)

    bins = np.column_stack([woven.apply(one) for one in np.eye(size * groups, dtype=np.int64)])
    slow = by_dense_algebra(bins, list(woven.scales), np.kron(np.eye(groups), weights))

    np.testing.assert_allclose(woven.variances, slow.variances, rtol=1e-6, atol=1e-6)


def test_few_rows_stand_for_many(line_of):
    """A search looks at a factor of the queries, with the same mean up to the number of rows."""
    found = line_of(12, 2)
    low, high = np.triu_indices(12)
    weights = ((low[:, None] <= np.arange(12)) & (np.arange(12) <= high[:, None])).astype(np.int64)
    asked = asked_of(found, np.tile(weights, (40, 1)))
    spread = Spread(Nest(found.line, Layout(1)), [2.0])

    few = asked.sample()

    assert few.per_line == 12
    together = few.mean_variance(spread) * 12
    assert together == pytest.approx(asked.mean_variance(spread) * asked.per_line, rel=1e-9)


def test_numbers_of_groups(line_of):
    """Without groups answers are numbered; positions of lines come first."""
    assert number_answers([], 3).tolist() == [0, 1, 2]
    tally = line_of(2, 1).asked.tally
    assert number_answers(tally.binnings, 2).tolist() == [(0, 0), (0, 1), (1, 0), (1, 1)]
