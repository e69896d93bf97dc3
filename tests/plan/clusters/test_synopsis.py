"""What every synopsis says about itself."""

from fractions import Fraction

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.plan.clusters.synopsis import Synopsis, share_variance
from pandas_blowfish.plan.query_rows import every_column
from pandas_blowfish.plan.scales import variance
from pandas_blowfish.policy.domain import Domain, from_dict, integers

POLICY = bf.Policy(
    Domain((integers("x", 0, 63), from_dict("sex", {"type": "category", "values": ["F", "M"]}))),
    secrets={"x": bf.partition({"width": 8}), "sex": bf.public()},
)


def test_a_share_of_a_known_total():
    """The variance of one of k equal parts of bins whose noisy counts were made to add up."""
    bins, k = 12, 3
    pinned = np.eye(bins) - np.ones((bins, bins)) / bins  # what is too much is taken from all alike
    part = np.repeat(np.eye(k), bins // k, axis=1)

    found = np.diag(part @ (2.5 * pinned @ pinned.T) @ part.T)

    assert found == pytest.approx([share_variance(2.5, bins, k)] * k)
    assert share_variance(2.5, bins, 1) == 0


@pytest.mark.parametrize("strategy", ["grid", "soft", "adaptive", "whole"])
def test_every_synopsis_says_the_same_things(strategy):
    """Domain, index and one variance a cluster, alike in all strategies."""
    plan = POLICY.plan.groupby("sex").kmeans("x", 2, strategy=strategy, epsilon="1/2")
    synopsis = plan.measurement

    assert isinstance(synopsis, Synopsis)
    assert synopsis.name == strategy
    assert synopsis.domain.columns == plan.domain.columns == ("sex", "x")
    assert len(synopsis.index) == len(synopsis.variances) == len(plan.std) == 4
    assert set(synopsis.variances) == {synopsis.size_variance}
    assert plan.mse == synopsis.mse == synopsis.size_variance
    assert plan.grid == synopsis.grid
    assert plan.distortion == synopsis.distortion >= 0
    assert synopsis.proof_id == strategy
    assert "epsilon" in synopsis.proof


def test_candidates_are_listed_by_what_they_add():
    """Every strategy once, the one that was chosen first."""
    plan = POLICY.plan.kmeans("x", 3, epsilon="1/10", rows=1_000)

    assert plan.candidates.columns.tolist() == ["strategy", "sensitivity", "mse", "distortion"]
    assert plan.candidates["strategy"].tolist()[0] == plan.measurement.name
    assert plan.candidates["distortion"].is_monotonic_increasing
    assert {"grid", "whole"} <= set(plan.candidates["strategy"])


def test_other_questions_have_no_distortion():
    """A histogram is no synopsis."""
    plan = POLICY.plan.hist("x")

    assert plan.distortion is None
    assert plan.grid is None
    assert "distortion" not in plan.candidates


def test_a_grid_of_one_policy_in_numbers():
    """64 integers, full, 4 bins, epsilon 1: scale 2, four counts, a quarter of them each."""
    plan = bf.Policy(Domain((integers("x", 0, 63),))).plan.kmeans("x", 4, strategy="grid", rows=1)

    assert plan.scale == Fraction(2)
    assert plan.mse == pytest.approx(share_variance(variance(Fraction(2)), int(plan.grid.split()[0]), 4))


@pytest.mark.parametrize("strategy", ["adaptive", "whole"])
def test_rounds_are_stacked(strategy):
    """All rows that rounds may measure, as one: matrix, columns, values and scales have the same order."""
    synopsis = POLICY.plan.groupby("sex").kmeans("x", 2, strategy=strategy, epsilon="1/2").measurement
    stack = synopsis.queries
    many = sum(getattr(table, "tally", table).size for table in stack.tallies)
    counts = np.arange(many)

    assert synopsis.tallies == stack.tallies
    assert synopsis.matrix().shape == (len(stack.scales), synopsis.domain.size)
    assert len(synopsis.apply(counts)) == len(stack.scales) == sum(len(s.scales) for s in stack.steps)
    assert list(stack.scales) == [scale for step in stack.steps for scale in step.scales]


def test_a_matrix_of_many_cells_is_refused():
    """Beyond 10^6 non-zeros."""
    with pytest.raises(DomainTooLargeError):
        every_column(None, POLICY.domain, 10**6 + 1)
