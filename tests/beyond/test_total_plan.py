"""Under a secret total: the total with noise for both, and nothing else."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.beyond.aggregate import Aggregate
from pandas_blowfish.beyond.total_plan import TotalPlan
from pandas_blowfish.errors import SecretError, UnboundedColumnError
from pandas_blowfish.policy.attribute import Unbounded
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.policy.secret import relative_error

DOMAIN = Domain((integers("sales", 0, 9), integers("age", 0, 99), Unbounded("income", "float", False)))
SECRETS = {"sales": bf.threshold(2), "income": bf.threshold(10)}


def _policy(delta=5, column="sales", **more):
    secret = Aggregate(f"{column}.sum()", delta)
    return bf.Policy(DOMAIN, **{"secrets": SECRETS, "aggregates": [secret], **more})


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 3)])
@pytest.mark.parametrize(
    ("delta", "column", "sensitivity"),
    [(5, "sales", 15), ("1/5", "sales", 2), (1, "income", 10), (100, "income", 300), ("1e-9", "sales", 2)],
)
def test_the_larger_of_both(delta, column, sensitivity, epsilon):
    """max(individual sensitivity, 3 delta) / epsilon; all that a plan says of itself agrees."""
    policy = _policy(delta, column)
    for plan in (policy.plan.sum(column, epsilon=epsilon), policy.plan.mean(column, epsilon=epsilon, rows=9)):
        assert isinstance(plan, TotalPlan)
        assert plan.sensitivity == sensitivity
        assert plan.scale == sensitivity / epsilon
        assert plan.privacy_loss() == epsilon == plan.cost
        assert f"{policy.aggregates[0].distance(Fraction(1))} units apart" in plan.proof
        assert "Only one release" in plan.proof
        assert "secret total" in plan.facts()
        assert plan.at(2 * epsilon).scale == plan.scale / 2
    bare = bf.Policy(DOMAIN, secrets=SECRETS).plan.sum(column, epsilon=epsilon)
    assert plan.std[0] >= bare.std[0] / 9


def test_losses_are_each_of_their_own():
    """Neither alone decides: the loss is that of totals where delta is large, that of edges where not."""
    for delta, lost in ((5, Fraction(2, 15)), (Fraction(1, 3), Fraction(1))):
        plan = _policy(delta).plan.sum("sales")
        edges = super(TotalPlan, plan).privacy_loss()

        assert edges == lost
        assert plan.privacy_loss() == 1
        assert plan.measurement.hidden / plan.scale == (1 if delta == 5 else Fraction(1, 2))


def test_epsilons_are_found_for_goals():
    """The same question at another epsilon is planned under the same secret."""
    plan = _policy(5).plan.sum("sales")
    found = plan.epsilon_for(rmse=10)

    assert plan.at(found).mse ** 0.5 <= 10
    assert found > bf.Policy(DOMAIN, secrets=SECRETS).plan.sum("sales").epsilon_for(rmse=10)


ELSE = {
    "hist": lambda plan: plan.hist("sales"),
    "hist of another": lambda plan: plan.hist("age"),
    "cumhist": lambda plan: plan.cumhist("sales"),
    "quantile": lambda plan: plan.quantile("sales"),
    "range": lambda plan: plan.range("sales", [(0, 3)]),
    "boxes": lambda plan: plan.range(["sales", "age"], [((0, 3), (0, 9))]),
    "marginal": lambda plan: plan.marginal([["sales"], ["sales", "age"]]),
    "workload": lambda plan: plan.workload(np.ones((1, 10), dtype=int), "sales"),
    "count": lambda plan: plan.count(),
    "kmeans": lambda plan: plan.kmeans(["sales"], 2),
    "sum of another": lambda plan: plan.sum("income"),
    "sums": lambda plan: plan.sum(["sales", "income"]),
    "mean of another": lambda plan: plan.mean("age"),
    "filtered": lambda plan: plan.where("age > 3").sum("sales"),
    "grouped": lambda plan: plan.groupby("age").mean("sales"),
    "filtered by all": lambda plan: plan.where("age >= 0").sum("sales"),
}


@pytest.mark.parametrize("case", ELSE)
def test_all_but_the_total_is_refused(case):
    """Every verb, filter, group and other column, also where it would be exact; nothing is charged."""
    policy = _policy(secrets={**SECRETS, "age": bf.public()})
    with pytest.raises(SecretError, match="may reveal it"):
        ELSE[case](policy.plan)

    frame = pd.DataFrame({"sales": [1, 2, 3], "age": [4, 5, 6], "income": [1.0, 2.0, 3.0]})
    df = frame.blowfish.protect(policy, epsilon=1)
    if case == "count":
        with pytest.raises(SecretError):
            df.blowfish.count(epsilon=1)
    if case == "filtered":
        with pytest.raises(SecretError):
            df.blowfish.where("age > 3").sum("sales", epsilon=1)
    assert df.blowfish.budget.spent == 0


def test_the_total_is_released():
    """With the noise that was planned, and an interval."""
    frame = pd.DataFrame({"sales": [9] * 50 + [0] * 50, "age": 1, "income": 1.0})
    df = frame.blowfish.protect(_policy(), epsilon=1_000)

    total = df.blowfish.sum("sales", epsilon=500)

    assert abs(total["value"].iloc[0] - 450) <= 2
    assert total.blowfish.receipt["sensitivity"] == "15"
    bounds = total.blowfish.interval()
    assert bounds["low"].iloc[0] <= 450 <= bounds["high"].iloc[0]


def test_endless_totals_need_a_distance():
    """A full secret without bounds has no noise that would do, whatever delta says."""
    policy = _policy(5, "income", secrets={})
    with pytest.raises(UnboundedColumnError):
        policy.plan.sum("income")


def test_a_total_is_hidden_where_no_record_is():
    """No pair of values is joined, so that edges alone would let the sum be exact and free."""
    open_ = {"sales": bf.edges([]), "income": bf.threshold(10)}
    bare, plan = bf.Policy(DOMAIN, secrets=open_).plan.sum("sales"), _policy(secrets=open_).plan.sum("sales")

    assert bare.cost == bare.scale == 0
    assert plan.cost == 1
    assert plan.scale == plan.sensitivity == 15
    assert plan.privacy_loss() == 1


def test_bounded_factors_go_with_it():
    """Any secret of the records, any lattice: units are those of the column."""
    column = from_dict("x", {"type": "float", "min": 1, "max": 9, "step": "0.5"})
    policy = bf.Policy(
        Domain((column,)), secrets={"x": relative_error("0.9")}, aggregates=[Aggregate("x.sum()", "1.3")]
    )
    plan = policy.plan.sum("x")

    unit = plan.measurement.summed[0].lattice.unit
    assert plan.measurement.hidden * unit - Fraction("3.9") < unit
    assert plan.privacy_loss() == 1
