"""Plans of releases that are kept apart say what they cost, how wrong they are, and what they promise."""

from fractions import Fraction

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.beyond.scenario import Scenario
from pandas_blowfish.plan.scales import variance
from pandas_blowfish.policy.domain import Domain, from_dict, integers

POLICY = bf.Policy(Domain((from_dict("ill", {"type": "bool"}), integers("age", 0, 3))))
ROWS = Scenario.records([False, True], 3, {"fair": ["1/2", "1/2"], "one in ten": ["9/10", "1/10"]})


def _told(**more):
    asked = {"epsilon": "1/2", "strategy": "single_prior", "prior": ["0.9", "0.1"], "rows": 10_000, **more}
    return POLICY.plan.hist("ill", **asked)


def test_a_certified_histogram_says_what_it_is():
    """Cost, noise, expected error, the chance of an exact answer, and the promise in sentences."""
    plan = _told()

    assert (plan.strategy, plan.cost, plan.scale) == ("single_prior", Fraction(1, 2), 2)
    assert plan.domain.columns == ("ill",) or list(plan.domain.columns) == ["ill"]
    assert plan.index.tolist() == [False, True]
    assert plan.mse < variance(Fraction(2))
    assert np.allclose(plan.std**2, variance(Fraction(2)))
    text = repr(plan)
    assert "reported separately" in text
    assert "weaker than a Blowfish policy" in plan.proof
    assert "one per dataset" in plan.proof
    assert "released exactly" in text
    assert "<table" in plan._repr_html_()


def test_hedging_is_wider_of_the_prior():
    """The same count, hedged: it is told exactly less often, and the promise names the weight."""
    hedged, single = _told(strategy="hedging"), _told()

    assert (hedged.mechanism.alpha, hedged.query["alpha"]) == (Fraction(1, 1000), "0.001")
    width = [
        int(plan.mechanism.intervals[1][0] - plan.mechanism.intervals[0][0]) for plan in (hedged, single)
    ]
    assert 0 < width[0] < width[1]
    assert "1/1000" in hedged.proof
    assert _told(strategy="hedging", alpha="0.3").mechanism.alpha == Fraction(3, 10)


def test_a_count_sized_by_a_scenario_says_what_it_is():
    """Independent records: one of them moves the count by one, so that the distance is 1."""
    plan = POLICY.plan.where("ill").count(epsilon=1, strategy="wasserstein", scenario=ROWS, rows=3)

    assert (plan.strategy, plan.sensitivity, plan.scale) == ("wasserstein", 1, 1)
    assert "one of the stated priors" in plan.proof
    assert "distance" in repr(plan)
    assert plan.mse == variance(Fraction(1))
    assert ROWS.check(plan.mechanism.law, epsilon=1).holds


def test_correlated_records_are_farther_apart():
    """Three records that are all alike: the answer moves by three."""
    tables = [(False,) * 3, (True,) * 3]
    alike = bf.scenario(tables, {"even": [1, 1]}, [(lambda t: t[0], lambda t: not t[0])])

    plan = POLICY.plan.where("ill").count(epsilon=1, strategy="wasserstein", scenario=alike, rows=3)

    assert plan.scale == 3


@pytest.mark.parametrize("strategy", ["single_prior", "hedging"])
def test_a_call_can_be_read_back(strategy):
    """The prior is spelt out in the text that the ledger keeps."""
    from pandas_blowfish.queries.call.call_reader import parse_call

    plan = _told(strategy=strategy)

    again = parse_call(plan.call).on(POLICY.plan)

    assert (again.call, again.mechanism) == (plan.call, plan.mechanism)
