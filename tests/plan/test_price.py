"""What public facts cost every verb."""

from fractions import Fraction

import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.price import closure, price_facts, price_of
from pandas_blowfish.policy.domain import Domain, from_dict, integers

DOMAIN = Domain((integers("a", 0, 2), integers("b", 0, 7), integers("p", 0, 1)))
SECRETS = {"b": bf.threshold(1), "p": bf.public()}


def _policy(*facts, **more):
    return bf.Policy(DOMAIN, **{"secrets": SECRETS, **more}, constraints=facts)


def _verbs(plan):
    return {
        "hist": plan.hist(["a", "b"]),
        "cumhist": plan.cumhist("b"),
        "quantile": plan.quantile("b", 0.5),
        "range": plan.range("b", [(0, 2), (1, 5)]),
        "boxes": plan.range(["a", "b"], [((0, 1), (2, 5))]),
        "marginal": plan.marginal([["a", "p"], ["b"]]),
        "workload": plan.workload([[1, 2, 0, 0, 0, 0, 0, 1]], ["b"]),
        "sum": plan.sum("b"),
        "mean": plan.mean(["b"]),
        "where": plan.where("b >= 3").hist("a"),
        "groupby": plan.groupby("a").cumhist("b"),
        "count": plan.where("b >= 3").count(),
    }


def test_untouched_facts_cost_nothing():
    """Facts on public columns: every verb is planned as without them."""
    plain, known = _verbs(_policy().plan), _verbs(_policy(bf.Marginal("p", answer=[3, 4])).plan)

    for verb, plan in known.items():
        assert plan.sensitivity == plain[verb].sensitivity
        assert plan.scales == plain[verb].scales or list(plan.scales) == list(plain[verb].scales)
        assert plan.privacy_loss() <= 1
        assert "cost nothing" in plan.proof


def test_every_verb_pays_for_touched_facts():
    """Planned under the closure at epsilon / moved: the loss over its edges, times moved, is epsilon."""
    policy = _policy(bf.Box(b=(0, 3)), bf.Count("b in [4, 5]"))
    base = _verbs(closure(policy).plan)

    for verb, plan in _verbs(policy.plan).items():
        assert plan.price.moved == 3
        assert plan.sensitivity == 3 * base[verb].sensitivity or verb in ("cumhist", "quantile", "range")
        assert 0 < plan.privacy_loss() <= plan.epsilon
        assert max(plan.scales) >= max(base[verb].scales) / 2
        assert plan.epsilon == 1
        assert "at most 3 moved records" in plan.proof
        assert "3 moved records" in str(plan)


def test_a_marginal_multiplies_the_noise():
    """Theorem 8.4: one marginal C under full gives 2 size(C)."""
    policy = bf.Policy(DOMAIN, constraints=[bf.Marginal("a", "p")])

    assert policy.plan.hist(["a", "b", "p"], strategy="identity").sensitivity == 2 * 6
    assert price_facts(policy).moved == 6


def test_what_a_marginal_tells_is_exact():
    """Columns of one known marginal, filters and groups among them, are public; others are not."""
    policy = _policy(bf.Marginal("a", "b"))
    exact = [
        policy.plan.hist("a"),
        policy.plan.cumhist("b"),
        policy.plan.where("a == 1").count(),
        policy.plan.groupby("a").sum("b"),
        policy.plan.mean("b"),
        policy.plan.range(["a", "b"], [((0, 1), (2, 5))]),
    ]
    noisy = [
        policy.plan.where("p == 1").hist("a"),
        policy.plan.groupby("p").sum("b"),
        policy.plan.hist(["a", "p"]),
        policy.plan.groupby("p").mean("b"),
    ]

    assert [plan.sensitivity for plan in exact] == [0] * 6
    assert all(plan.cost == 0 and plan.privacy_loss() == 0 and "public" in plan.proof for plan in exact)
    assert all(plan.sensitivity > 0 and plan.cost == 1 for plan in noisy)
    assert price_of(policy, ["a", "b"]).policy.public_columns == {"a", "b", "p"}


def test_what_facts_tell_is_exact():
    """A known count, its complement by the public row count, sums and differences; not with presence."""
    policy = _policy(bf.Count("b < 3"), bf.Box(b=(3, 5)))
    exact = [
        policy.plan.where("b < 3").count(),
        policy.plan.where("b >= 3").count(),
        policy.plan.where("b >= 6").count(),
        policy.plan.range("b", [(0, 5), (6, 7)]),
        policy.plan.hist("b", bins=[0, 3, 7]),
    ]
    noisy = [
        policy.plan.where("b < 2").count(),
        policy.plan.hist("b"),
        policy.plan.groupby("a").count(),
        policy.plan.where("b < 3").sum("b"),
        policy.plan.where("b < 3").hist("p"),
    ]
    secret = _policy(bf.Count("b < 3"), bf.Box(b=(3, 5)), presence=True)

    assert [plan.sensitivity for plan in exact] == [0] * 5
    assert all("follows from the facts" in plan.proof for plan in exact)
    assert all(plan.sensitivity > 0 for plan in noisy)
    assert secret.plan.where("b < 3").count().sensitivity == 0
    told = secret.plan.range("b", [(0, 2)])  # what lies in no range is not told, and then not looked at
    assert (told.sensitivity, told.matrix().shape[0], told.privacy_loss()) == (0, 1, 0)
    assert secret.plan.range("b", [(0, 1)]).sensitivity > 0
    assert secret.plan.where("b >= 3").count().sensitivity > 0


def test_a_table_that_is_known_already_is_exact():
    """With x1+x2, x2+x3 known of three cells nothing is left; of four the noise is that of two records."""
    for size, wanted in ((3, 0), (4, 4), (5, 0)):
        facts = [bf.Count(f"x in [{n}, {n + 1}]") for n in range(size - 1)]
        policy = bf.Policy(Domain((integers("x", 0, size - 1),)), constraints=facts)

        assert policy.plan.hist("x", strategy="identity").sensitivity == wanted


def test_columns_without_bounds_are_refused_with_touched_facts():
    """A record may then go anywhere, so that a sum has no bound; other columns are answered."""
    domain = Domain((integers("a", 0, 2), from_dict("x", {"type": "float"})))
    policy = bf.Policy(domain, secrets={"x": bf.threshold(2)}, constraints=[bf.Count("a == 1")])
    free = bf.Policy(
        domain, secrets={"x": bf.threshold(2), "a": bf.public()}, constraints=[bf.Count("a == 1")]
    )

    with pytest.raises(bf.errors.BlowfishError):
        policy.plan.sum("x")
    assert policy.plan.hist("a", strategy="identity").sensitivity == 4
    assert free.plan.sum("x").sensitivity > 0


def test_costs_name_each_fact():
    """What it interacts with, and how many records would move without it."""
    policy = _policy(bf.Box(b=(0, 3)), bf.Box(b=(4, 5)), bf.Marginal("p"))
    costs = price_facts(policy).costs

    assert list(costs["moved"]) == [3, 3, 3]
    assert list(costs["moved without it"]) == [2, 2, 3]
    assert costs.loc["Box(b=(0, 3))", "interacts with"] == "Box(b=(4, 5))"
    assert not costs["then free"].any()
    assert price_facts(policy).graph is not None


def test_plans_of_huge_bounds_are_finite():
    """Steinitz' bound is cut at more rows than any table has; the plan says what it is."""
    facts = [bf.Count(f"b in {list(range(n, 8, n + 2))}") for n in range(1, 5)]
    facts += [bf.Marginal("a", "p"), bf.Marginal("b", "p"), bf.Count("a == 1 and b == 2")]
    plan = bf.Policy(DOMAIN, constraints=facts).plan.hist(["a", "b"])

    assert plan.price.moved <= 2**64
    assert plan.price.moved > 1000
    assert plan.mse > 1
    assert "Steinitz" in str(plan)
    assert plan.privacy_loss() == 1


def test_candidates_and_epsilon_are_those_asked_for():
    """What a plan shows is about the whole release, not one moved record."""
    plan = _policy(bf.Box(b=(0, 3))).plan.hist("b", epsilon="1/10", strategy="identity")

    assert plan.epsilon == Fraction(1, 10)
    assert plan.candidates.iloc[0]["sensitivity"] == plan.sensitivity
    assert plan.scale == plan.sensitivity / plan.epsilon
