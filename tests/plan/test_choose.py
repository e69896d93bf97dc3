"""The chosen plan is the candidate of least expected error, and every candidate is shown."""

import pandas_blowfish as bf
from pandas_blowfish.plan.choose import STRATEGIES
from pandas_blowfish.policy.domain import Domain, integers


def test_the_least_error_is_chosen_and_all_are_listed():
    """auto lists every strategy, sorted by error, and takes the first."""
    policy = bf.Policy(Domain((integers("x", 0, 9),)))

    plan = policy.plan.hist("x", epsilon=1)

    assert set(plan.candidates["strategy"]) == set(STRATEGIES)
    assert plan.candidates["mse"].is_monotonic_increasing
    assert plan.strategy == plan.candidates["strategy"].iloc[0]
    assert plan.mse == plan.candidates["mse"].iloc[0]


def test_a_named_strategy_is_taken():
    """Naming a strategy gives that one."""
    policy = bf.Policy(Domain((integers("x", 0, 9),)))

    assert policy.plan.hist("x", strategy="identity").strategy == "identity"
