"""Releases about rows that follow each other: exact losses by enumeration, and what is refused."""

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.beyond.scenario import Scenario
from pandas_blowfish.errors import ArgumentError, BlowfishError, FrameError, SecretError, StaleFrameError
from pandas_blowfish.policy.domain import Domain, from_dict, integers

DOMAIN = Domain((from_dict("state", {"type": "category", "values": ["a", "b"]}), integers("hour", 0, 3)))
MIXING = [["0.6", "0.4"], ["0.3", "0.7"]]
STICKY = [["0.95", "0.05"], ["0.1", "0.9"]]


def _policy(transition, length, **more):
    return bf.Policy(DOMAIN, chain=bf.Markov("state", transition, length=length, **more))


def _scenario(chain, length):
    """Return all tables of a chain with their exact weights; the value of each row is secret."""
    tables = list(itertools.product(range(2), repeat=length))
    weights = []
    for table in tables:
        weight = chain.start[table[0]]
        for before, after in itertools.pairwise(table):
            weight *= chain.transition[before][after]
        weights.append(weight)
    pairs = {
        f"row {row}": (lambda t, at=row: t[at] == 0, lambda t, at=row: t[at] == 1) for row in range(length)
    }
    return Scenario(tables, {"chain": weights}, pairs)


def _noisy(scale, epsilon):
    """Return the law of a count with discrete Laplace noise, its quotient rounded up."""
    from pandas_blowfish.beyond.wasserstein import noisy, quotient_above

    quotient = quotient_above(1 / Fraction(scale))
    return lambda table: noisy(sum(table), quotient, 0, len(table)), epsilon


@pytest.mark.parametrize("transition", [MIXING, STICKY])
@pytest.mark.parametrize("length", [2, 5, 8])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3)])
def test_noise_is_enough_by_enumeration(transition, length, epsilon):
    """All tables of a chain, all rows, exact odds: a count with the planned noise loses at most epsilon."""
    policy = _policy(transition, length)
    plan = policy.plan.where("state == 'b'").count(epsilon=epsilon)
    scenario = _scenario(policy.chain, length)

    mechanism, _ = _noisy(plan.scale, epsilon)

    assert scenario.check(mechanism, epsilon=epsilon).holds
    assert plan.privacy_loss() <= epsilon


def test_plain_noise_is_not_enough():
    """The same check finds what noise of scale 1 / epsilon tells about a row of a sticky chain."""
    scenario = _scenario(_policy(STICKY, 8).chain, 8)
    mechanism, epsilon = _noisy(1, 1)

    verdict = scenario.check(mechanism, epsilon=epsilon)

    assert not verdict.holds
    assert verdict.loss > 2


def test_every_verb_is_planned_at_the_rate():
    """Counts, ranges, tables and any linear queries of the column, filters included."""
    policy = _policy(MIXING, 1000)
    rate = policy.plan.hist("state").quilt.rate
    independent = bf.Policy(DOMAIN)

    for ask in (
        lambda plan, epsilon: plan.hist("state", epsilon=epsilon),
        lambda plan, epsilon: plan.where("state == 'a'").count(epsilon=epsilon),
        lambda plan, epsilon: plan.groupby("state").count(epsilon=epsilon),
        lambda plan, epsilon: plan.marginal(["state"], epsilon=epsilon),
        lambda plan, epsilon: plan.workload(np.eye(2, dtype=int), "state", epsilon=epsilon),
    ):
        chained, plain = ask(policy.plan, 1), ask(independent.plan, rate)
        assert chained.scale == plain.scale
        assert (chained.epsilon, chained.cost) == (1, 1)
        assert chained.privacy_loss() <= 1
        assert "follow each other" in chained.proof
        assert "chain" in chained.facts()
        assert chained.at(2).scale < chained.scale
    assert policy.plan.count().cost == 0  # the number of rows is public


def test_releases_add_up_in_the_ledger():
    """Two releases, each at its own epsilon, cost their sum; a named one comes back."""
    frame = pd.DataFrame({"state": ["a", "b"] * 50, "hour": [0] * 100})
    rows = bf.protect(frame, _policy(MIXING, 100), epsilon=2)

    first = rows.hist("state", epsilon=1, name="states")
    rows.where("state == 'a'").count(epsilon="1/2")

    assert rows.budget.spent == Fraction(3, 2)
    pd.testing.assert_frame_equal(rows.hist("state", epsilon=1, name="states"), first)


def test_other_columns_are_refused():
    """Alone, beside, in filters and in groups: nobody knows what they tell of the order."""
    plan = _policy(MIXING, 100).plan
    for ask in (
        lambda: plan.hist("hour"),
        lambda: plan.hist(["state", "hour"]),
        lambda: plan.where("hour < 2").hist("state"),
        lambda: plan.groupby("hour").hist("state"),
        lambda: plan.cumhist("hour"),
        lambda: plan.quantile("hour"),
        lambda: plan.range("hour", [(0, 1)]),
        lambda: plan.marginal([["state"], ["hour"]]),
        lambda: plan.sum("hour"),
        lambda: plan.mean("hour"),
        lambda: plan.kmeans("hour", 2),
        lambda: plan.workload(np.eye(4, dtype=int), "hour"),
        lambda: plan.where("hour < 2").count(),
    ):
        with pytest.raises(SecretError, match="follow each other"):
            ask()


def test_a_chain_is_part_of_the_policy():
    """In its words, its YAML and its fingerprint; equal ones are one policy; others are as they were."""
    import pickle

    policy, plain = _policy(MIXING, 100), bf.Policy(DOMAIN)

    assert bf.Policy.from_yaml(policy.to_yaml()) == policy
    assert pickle.loads(pickle.dumps(policy)) == policy
    assert policy != plain
    assert not policy.implies(plain)
    assert "100 rows in order" in repr(policy)
    assert "100 rows in order" in policy._repr_html_()
    assert "chain" not in plain.to_dict()
    assert policy == bf.Policy(
        DOMAIN,
        chain=bf.Markov("state", {"b": {"b": "0.7", "a": "0.3"}, "a": {"a": "0.6", "b": "0.4"}}, length=100),
    )
    assert "chain" in {finding.kind for finding in policy.lint()}


@pytest.mark.parametrize(
    "wrong",
    [
        {"chain": "state"},
        {"chain": bf.Markov("state", MIXING)},
        {"chain": bf.Markov("state", MIXING, length=9), "presence": True},
        {"chain": bf.Markov("state", MIXING, length=9), "constraints": [bf.Count("hour < 2")]},
        {"chain": bf.Markov("state", MIXING, length=9), "secrets": {"state": bf.public()}},
        {"chain": bf.Markov("hour", MIXING, length=9)},
        {"chain": bf.Markov("state", {"a": {"a": 1}, "c": {"c": 1}}, initial=[1, 0], length=9)},
        {"chain": bf.Markov("nobody", MIXING, length=9)},
    ],
)
def test_a_chain_that_does_not_fit_is_refused(wrong):
    """With a typed error, when the policy is made."""
    with pytest.raises(BlowfishError):
        bf.Policy(DOMAIN, **wrong)


def test_rows_must_be_as_many_as_the_chain_says():
    """Else nothing is bound; and a weaker promise is not made about rows that follow each other."""
    frame = pd.DataFrame({"state": ["a", "b"], "hour": [0, 1]})
    with pytest.raises(FrameError, match="of 3 rows"):
        bf.protect(frame, _policy(MIXING, 3), epsilon=1)
    rows = bf.protect(frame, _policy(MIXING, 2), epsilon=1)
    with pytest.raises(ArgumentError):
        rows.hist("state", epsilon=1, strategy="single_prior", prior=[1, 1])


def test_rows_of_a_chain_stay_in_their_order():
    """Rows that follow each other are refused in another order, and the error says that is all there is."""
    frame = pd.DataFrame({"state": list("abbab"), "hour": [0, 1, 2, 3, 0]})
    df = frame.blowfish.protect(_policy(MIXING, 5), epsilon=1)

    with pytest.raises(StaleFrameError, match="same rows in another order"):
        df[::-1].blowfish.hist("state", epsilon="1/4")
    assert df.blowfish.budget.spent == 0
    assert len(df.blowfish.hist("state", epsilon="1/4")) == 2
