"""Counts whose noise sums to 0 over connected bins: their errors, answers and intervals."""

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.kernel.noise import replay
from pandas_blowfish.plan.joint_noise import clique, clique_reach, joint_variances
from pandas_blowfish.plan.shape.covariance import (
    keep_columns,
    range_variances,
    sum_variances,
    table_variances,
)
from pandas_blowfish.policy.domain import Domain, from_dict, integers


def line(secret, cells=4, **more):
    """Return a policy of one column."""
    return bf.Policy(Domain((integers("x", 0, cells - 1),)), secrets={"x": secret}, **more)


def grouped():
    """Return a planner of counts in groups of unequal cliques, some bins exact."""
    g = from_dict("g", {"type": "category", "values": ["a", "b"]})
    domain = Domain((g, integers("x", 0, 5)))
    groups = bf.partition([[0, 1], [2, 3, 4], [5]])
    return bf.Policy(domain, secrets={"g": bf.public(), "x": groups}).plan.groupby("g")


def dense(plan):
    """Return the covariance of all errors, cell by cell."""
    found = np.zeros([len(plan.index)] * 2)
    for code, joint in plan.scales.joint.items():
        rows, k = joint.rows, len(joint.rows)
        own = joint_variances(joint, plan.scales.values[code])[0]
        found[np.ix_(rows, rows)] = own * (np.eye(k) * k / (k - 1) - 1 / (k - 1))
    return found


@pytest.mark.parametrize(("cells", "error"), [(3, 3.163), (4, 4.029), (8, 5.663), (10, 6.048)])
def test_counts_of_few_cells_have_half_the_error(cells, error):
    """The best law there is for a histogram of a full graph, chosen by itself; totals are exact."""
    plan = line(bf.full(), cells).plan.hist("x", epsilon=1)

    assert plan.strategy == "cliques"
    assert plan.mse == pytest.approx(error, abs=1e-3)
    assert plan.mse < line(bf.full(), cells).plan.hist("x", epsilon=1, strategy="identity").mse


def test_other_strategies_are_taken_where_they_are_as_good():
    """Many cells, secret presence, thresholds on a line, and what is exact anyway."""
    assert line(bf.full(), 65).plan.hist("x").strategy == "identity"
    assert line(bf.full(), 4, presence=True).plan.hist("x").strategy != "cliques"
    assert line(bf.threshold(1), 40).plan.hist("x").strategy != "cliques"
    assert line(bf.public(), 4).plan.hist("x").strategy == "exact"


def test_all_spellings_of_counts_use_it():
    """value_counts, crosstab, hist of several columns, in groups: wherever each total is exact."""
    domain = Domain((integers("x", 0, 2), integers("y", 0, 1), integers("z", 0, 2)))
    plan = bf.Policy(domain, secrets={"x": bf.full(), "y": bf.full(), "z": bf.public()}).plan

    asked = [
        plan.hist("x"),
        plan.value_counts("x"),
        plan.groupby("z").hist("x"),
        plan.crosstab("x", "z"),
        plan.hist(["x", "y"]),
        plan.marginal(["x"]),
    ]

    assert {each.strategy for each in asked} == {"cliques"}
    assert asked[2].scales.clique_sizes == [3]


def test_noise_is_told_in_words():
    """Plans and receipts name the law."""
    plan = line(bf.full()).plan.hist("x")
    df = pd.DataFrame({"x": [0, 1, 3]}).blowfish.protect(line(bf.full()), epsilon=1)
    receipt = df.blowfish.hist("x", epsilon=1).blowfish.receipt

    assert "sums to 0, scale 1" in str(plan)
    assert receipt["noise"] == "discrete Laplace of twice the scale that sums to 0"
    assert receipt["technical"]["clique_sizes"] == [4]
    assert df.blowfish.ledger.verify(receipt)


def test_errors_of_sums_are_exact():
    """Ranges, weighted sums and tables of a release have the errors of the noise's covariance."""
    plan = grouped().hist("x", epsilon=Fraction(1, 2))
    assert plan.strategy == "cliques"
    record, whole = plan.measurement.covariance, dense(plan)
    blocks = [whole[6 * n : 6 * n + 6, 6 * n : 6 * n + 6] for n in range(2)]
    pairs = list(itertools.combinations(range(7), 2))
    starts, stops = np.array(pairs).T
    weights = np.array([[1, 2, 3, 4, 5, 6], [0, 1, 0, -1, 0.5, 2]])

    assert np.allclose(np.diag(whole), plan.std**2)
    ranges = [[block[a:b, a:b].sum() for a, b in pairs] for block in blocks]
    assert np.allclose(range_variances(record, 2, 6, starts, stops), ranges, atol=1e-9)
    sums = [np.diag(weights @ block @ weights.T) for block in blocks]
    assert np.allclose(sum_variances(record, 2, 6, weights), sums)
    assert np.allclose(table_variances(record, (2, 6), (1,)), np.diag(blocks[0] + blocks[1]))
    assert np.allclose(table_variances(record, (2, 6), (0,)), [block.sum() for block in blocks], atol=1e-9)
    kept = keep_columns(record, (2, 6), [1])  # of cliques of several sizes
    both = [(blocks[0] + blocks[1])[a:b, a:b].sum() for a, b in pairs]
    assert np.allclose(range_variances(kept, 1, 6, starts, stops), [both], atol=1e-9)


def test_sums_over_columns_are_told_again():
    """Where all cliques are as large, what is said of sums over a column is of the same kind."""
    plan = (
        bf.Policy(
            Domain((integers("g", 0, 2), integers("x", 0, 3))), secrets={"g": bf.public(), "x": bf.full()}
        )
        .plan.groupby("g")
        .hist("x")
    )
    whole = dense(plan)

    kept = keep_columns(plan.measurement.covariance, (3, 4), [1])

    summed = sum(whole[4 * n : 4 * n + 4, 4 * n : 4 * n + 4] for n in range(3))
    found = range_variances(kept, 1, 4, np.arange(4), np.arange(1, 5))
    assert np.allclose(found, np.diag(summed))
    assert np.allclose(range_variances(kept, 1, 4, np.array([0]), np.array([2])), summed[:2, :2].sum())


def test_intervals_cover():
    """Of released counts, of ranges and of means read off them: the truth is inside as often as stated."""
    policy = line(bf.full(), 5)
    rows = pd.DataFrame({"x": [0] * 30 + [1] * 10 + [3] * 25 + [4] * 40})
    truth = np.bincount(rows["x"], minlength=5)
    inside, ranges, means, tries = 0.0, 0.0, 0.0, 50
    for seed in range(tries):
        df = rows.blowfish.protect(policy, epsilon=1)
        with replay(seed):
            found = df.blowfish.hist("x", epsilon=1)
        ends = found.blowfish.interval(0.8)
        inside += ((ends["low"] <= truth) & (truth <= ends["high"])).mean()
        some = found.blowfish.range([(0, 1), (1, 3)]).blowfish.interval(0.8)
        ranges += ((some["low"] <= [40, 35]) & (some["high"] >= [40, 35])).mean()
        mean = found.blowfish.mean().blowfish.interval(0.8)
        means += float((mean["low"] <= rows["x"].mean()).all() and (rows["x"].mean() <= mean["high"]).all())

    assert found["count"].sum() == 105
    assert min(inside, ranges, means) / tries >= 0.7


def test_intervals_of_single_counts_are_as_narrow_as_the_law_allows():
    """Each count has the least reach of its own clique's noise, not that of an estimate."""
    df = pd.DataFrame({"x": [0, 2, 2, 5] * 50, "g": ["a", "b"] * 100})
    g = from_dict("g", {"type": "category", "values": ["a", "b"]})
    groups = bf.partition([[0, 1], [2, 3, 4], [5]])
    policy = bf.Policy(Domain((integers("x", 0, 5), g)), secrets={"g": bf.public(), "x": groups})
    found = df.blowfish.protect(policy, epsilon=1).blowfish.hist("x", epsilon=1, post=False)

    ends = found.blowfish.interval(0.95)

    two, three = (clique_reach(k, Fraction(1), "0.95") for k in (2, 3))
    far = (ends["high"] - ends["low"]) / 2
    assert far.tolist() == [two, two, three, three, three, 0]


def test_bins_that_are_connected_in_steps_are_one_clique():
    """A graph need not join all pairs: cells that are connected at all have noise that sums to 0."""
    plan = line(bf.edges([(0, 1), (1, 2), (2, 3)]), 4).plan.hist("x", strategy="cliques")

    assert plan.privacy_loss() == 1
    assert plan.scales.joint[0].is_same(clique(range(4)))
