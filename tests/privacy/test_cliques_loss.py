"""The audit of counts whose noise sums to 0: loss by definition, and the odds of all that may come out."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, BlowfishError
from pandas_blowfish.kernel.check import EVERY, Check
from pandas_blowfish.plan.joint_noise import APART
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.policy.domain import Domain, integers


@pytest.mark.parametrize("chunk", range(2))
def test_loss_is_epsilon(chunk, make_full_policy, make_filter, make_bins):
    """Over edges by definition a plan loses epsilon, or nothing; the kernel and later facts find the same."""
    asked = 0
    for seed in range(chunk * 120, chunk * 120 + 120):
        draw = random.Random(40_000 + seed)
        policy = make_full_policy(draw, draw.randint(1, 2), 4)
        columns = draw.sample(policy.domain.columns, draw.randint(1, len(policy.domain.columns)))
        planner = policy.plan.where(make_filter(draw, policy.domain)) if draw.random() < 0.3 else policy.plan
        made = [(column, make_bins(draw, policy.domain[column])) for column in columns]
        bins = {column: each for column, each in made if each is not None and draw.random() < 0.5}
        epsilon = Fraction(draw.randint(1, 9), draw.randint(1, 50))
        try:
            plan = planner.hist(columns, epsilon=epsilon, bins=bins or None, strategy="cliques")
        except BlowfishError:  # some row may come or leave
            continue
        asked += 1
        edges = definition_edges(policy, plan.domain.columns)

        loss = edge_loss(plan.matrix(), plan.scales, edges).value

        assert loss == plan.cost == plan.privacy_loss() == (epsilon if plan.sensitivity else 0)
        check = Check.of(policy, plan)
        assert check.require(plan.measurement, plan.cost) == loss
        assert check.text == EVERY
    assert asked > 25


def odds(tables, joint, scale):
    """Return the largest ratio of the chances of any noisy counts under two tables, exactly in logarithms."""
    far = 4
    worst = Fraction(0)
    for first, second in tables:
        change = np.array(second) - np.array(first)
        cells = np.array(list(itertools.product(range(-far, far + 1), repeat=len(change))))
        before, after = joint.measure(cells), joint.measure(cells - change)
        possible = before != APART
        assert (possible == (after != APART)).all()
        worst = max(worst, Fraction(int((after - before)[possible].max())) / scale)
    return worst


def tables_of(rows, cells):
    """Yield all tables of so many rows."""
    for values in itertools.combinations_with_replacement(range(cells), rows):
        yield np.bincount(values, minlength=cells)


def test_odds_of_noisy_counts_stay_within_epsilon():
    """Of all neighbours of a few rows: one row each, a person's two rows, two rows that a fact ties."""
    domain = Domain((integers("x", 0, 3),))
    one = bf.Policy(domain, secrets={"x": bf.full()})
    two = bf.Policy(domain, secrets={"x": bf.full()}, max_rows=2)
    told = bf.Policy(domain, secrets={"x": bf.full()}, constraints=[bf.Count("x < 2")])
    all_tables = list(tables_of(3, 4))
    for policy, moved, tied in ((one, 1, False), (two, 2, False), (told, 2, True)):
        plan = policy.plan.hist("x", epsilon=Fraction(1, 3), strategy="cliques")
        (joint,), scale = plan.scales.joint.values(), plan.scale
        near = [
            (first, second)
            for first in all_tables
            for second in all_tables
            if np.abs(first - second).sum() <= 2 * moved and (not tied or first[:2].sum() == second[:2].sum())
        ]

        worst = odds(near, joint, scale)

        assert worst <= plan.cost
        assert tied or worst == plan.cost
        assert scale == moved * 3


def test_facts_learnt_later_cost_no_less_than_they_reveal():
    """A count of part of the cells lets two records move: the release is charged twice what it was."""
    policy = bf.Policy(Domain((integers("x", 0, 3),)), secrets={"x": bf.full()})
    df = pd.DataFrame({"x": [0, 1, 1, 3]}).blowfish.protect(policy, epsilon=3, dataset="rows")
    found = df.blowfish.hist("x", epsilon="0.5")
    assert found.blowfish.receipt["strategy"] == "cliques"

    df.blowfish.ledger.record_exact("rows", bf.Count("x < 2", answer=3))

    assert df.blowfish.budget.spent == 1
    again = df.blowfish.hist("x", epsilon=1)
    assert again.blowfish.receipt["scale"] == "2"


def test_parts_and_later_facts_of_groups():
    """Components are parts of their own; a fact that joins what is known exactly closes the budget."""
    domain = Domain((integers("x", 0, 5),))
    policy = bf.Policy(domain, secrets={"x": bf.partition(3)})
    plan = policy.plan.hist("x", epsilon=1, strategy="cliques")

    assert plan.strategy == "cliques"
    assert plan.scales.clique_sizes == [3]
    assert len(plan.scales.joint) == 2
    assert policy.plan.where("x < 3").hist("x", strategy="cliques").part.form == {"x": [0]}


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda d: bf.Policy(d, secrets={"x": bf.full()}, presence=True).plan, "presence"),
        (lambda d: bf.Policy(d, secrets={"x": bf.full()}).plan.where("x > 1"), "a filter"),
    ],
    ids=["presence", "filter"],
)
def test_bins_that_rows_may_leave_have_noise_of_their_own(make, why):
    """Noise that sums to 0 would reveal how many rows there are, where that is no public number."""
    planner = make(Domain((integers("x", 0, 5),)))

    assert planner.hist("x").strategy != "cliques", why
    with pytest.raises(ArgumentError, match="whose total no edge changes"):
        planner.hist("x", strategy="cliques")


def test_stored_answers_are_read_again(tmp_path):
    """Under its name the same answer comes back, from a ledger in a file, without a charge."""
    policy = bf.Policy(Domain((integers("x", 0, 4),)), secrets={"x": bf.full()})
    rows = pd.DataFrame({"x": [0, 1, 1, 3]})

    def protect():
        return rows.blowfish.protect(policy, epsilon=1, ledger=tmp_path / "a.db", dataset="a")

    first = protect().blowfish.hist("x", epsilon=1, name="n")
    again = protect().blowfish.hist("x", epsilon=1, name="n")

    assert first.blowfish.receipt["strategy"] == "cliques"
    pd.testing.assert_frame_equal(first, again)
    assert protect().blowfish.budget.spent == 1


def test_statistics_asked_together_hold_cliques():
    """In one release with others their noise stays together, and the kernel finds the loss."""
    policy = bf.Policy(Domain((integers("x", 0, 4), integers("y", 0, 3))), secrets={"x": bf.full()})
    plan = policy.plan.groupby("y", bins={"y": [0, 2, 4]}).agg({"x": ["mean", "median"]})
    check = Check.of(policy, plan)

    assert check.require(plan.measurement, plan.cost) <= plan.cost
