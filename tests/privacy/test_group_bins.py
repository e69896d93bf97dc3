"""Answers by bins of a column: no edge of any policy loses more than is charged, whatever the verb."""

import random
from fractions import Fraction

import pytest
from oracle.audit import run_audit
from oracle.cases import group_by_bins
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, DomainTooLargeError
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.policy.domain import Domain, integers

EACH = 80
VERBS = (
    "hist",
    "marginal",
    "tables",
    "cumhist",
    "range",
    "boxes",
    "sum",
    "mean",
    "count",
    "kmeans",
    "workload",
)


def ask(draw, scope, verb, rest):
    """Return the plan of a verb about some of the columns that are left."""
    epsilon = Fraction(draw.randint(1, 9), draw.randint(1, 20))
    names = [each.name for each in draw.sample(rest, draw.randint(1, len(rest)))]
    ordered = [each for each in rest if each.ordered]
    numbers = [each.name for each in rest if each.kind in ("integer", "float") and each.ordered]
    if verb in ("hist", "marginal"):
        return getattr(scope, verb)(names, epsilon=epsilon)
    if verb == "tables":
        nested = [[each.name] for each in rest] + ([[each.name for each in rest]] if len(rest) > 1 else [])
        return scope.marginal(nested, epsilon=epsilon, strategy=draw.choice(["auto", "even", "residual"]))
    if verb == "cumhist" and ordered:
        return scope.cumhist(ordered[0].name, epsilon=epsilon)
    if verb == "range" and ordered:
        return scope.range(ordered[0].name, "all", epsilon=epsilon)
    if verb == "boxes" and len(ordered) > 1:
        return scope.range(
            [each.name for each in ordered[:2]], [((None, None), (None, None))], epsilon=epsilon
        )
    if verb in ("sum", "mean") and numbers:
        return getattr(scope, verb)(numbers, epsilon=epsilon)
    if verb == "kmeans" and numbers:
        return scope.kmeans(numbers, 1, epsilon=epsilon, strategy="grid")
    if verb == "workload":
        return scope.workload([[1] * rest[0].size], [rest[0].name], epsilon=epsilon)
    return scope.count(epsilon=epsilon)


def instance(draw, verb, make_full_policy, make_filter):
    """Return a random policy and the plan of a verb by bins, perhaps filtered; None where there is none."""
    policy = make_full_policy(draw, draw.randint(2, 3), 3)
    columns = draw.sample(list(policy.domain), len(policy.domain.columns))
    many = draw.randint(1, len(columns) - 1)
    groups, rest = columns[:many], columns[many:]
    scope = policy.plan
    if draw.random() < 0.4:
        scope = scope.where(make_filter(draw, policy.domain))
    own = [each.name for each in groups if each.kind in ("integer", "float") and each.ordered]
    step, given, named = group_by_bins(draw, groups)
    scope = getattr(scope, step)(*given, **named)
    if verb in ("sum", "mean") and own and own[0] in named.get("bins", {}) and draw.random() < 0.5:
        return policy, getattr(scope, verb)(own[0], epsilon="1/3")
    return policy, ask(draw, scope, verb, rest)


@pytest.mark.parametrize("verb", VERBS)
def test_loss_of_every_verb(verb, make_full_policy, make_filter):
    """Over every edge by definition the exact loss is at most the cost, and mostly all of it."""
    noisy = tight = 0

    for number in range(EACH):
        draw = random.Random(f"{verb} {number}")
        try:
            policy, plan = instance(draw, verb, make_full_policy, make_filter)
        except (ArgumentError, DomainTooLargeError):  # kmeans of too many clusters, ...
            continue
        edges = definition_edges(policy, plan.domain.columns)
        if plan.noise_map is not None:
            assert plan.privacy_loss() <= plan.cost
            continue
        loss = edge_loss(plan.matrix(), plan.scales, edges).value

        assert loss <= plan.cost
        noisy += plan.cost > 0
        tight += plan.cost > 0 and loss == plan.cost

    assert noisy > EACH / 4
    assert tight / noisy > 0.5


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("chunk", range(2))
def test_releases_by_bins_lose_at_most_the_charge(chunk, monkeypatch):
    """Rows released for real: neighbours of policies with facts and presence too."""
    monkeypatch.setattr("oracle.cases.group_step", group_by_bins)
    found = run_audit(range(900 + 20 * chunk, 920 + 20 * chunk))

    assert not found.failed, "\n".join(found.failed)
    assert "groupby" in found.seen


EDGES = ([((0, 0), (1, 1)), ((1, 0), (2, 1))], [((0, 0), (1, 1)), ((1, 0), (2, 1)), ((2, 0), (3, 1))])


@pytest.mark.parametrize("pairs", EDGES)
@pytest.mark.parametrize("tables", ["s", [["s"], ["s", "t"]], [["s"], ["t"]]])
def test_an_edge_may_change_a_value_and_not_its_bin(pairs, tables):
    """Two columns that change together do not where one stays in its bin: differences notice."""
    domain = Domain((integers("a", 0, 3), integers("s", 0, 1), integers("t", 0, 1)))
    policy = bf.Policy(domain, secrets={("a", "s"): bf.edges(pairs), "t": bf.public()})
    plan = policy.plan.groupby("a", bins=2).marginal(tables, strategy="residual")

    edges = definition_edges(policy, plan.domain.columns)
    assert edge_loss(plan.matrix(), plan.scales, edges).value == plan.cost == 1
