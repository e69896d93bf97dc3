"""The audit of stand-ins for missing values: no verb loses more than epsilon over the edges by definition."""

import random
from fractions import Fraction

import pytest
from oracle.definition import definition_edges
from oracle.policies import random_attribute, random_secret, value_of

import pandas_blowfish as bf
from pandas_blowfish.errors import BlowfishError
from pandas_blowfish.kernel.check import Check
from pandas_blowfish.plan import choose
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.policy.domain import Domain, from_dict

EACH = 60


def instance(draw):
    """Return a random policy with stand-ins in all columns that can have one, or None where none can."""
    attributes = [random_attribute(draw, name, 4) for name in "uvw"[: draw.randint(1, 3)]]
    secrets = {}
    for attribute in attributes:
        secret = random_secret(draw, attribute)
        if attribute.nullable and secret["blowfish"]["secret"] != "public":
            secret["blowfish"]["missing"] = value_of(attribute, draw.randrange(attribute.cells))
        secrets[attribute.name] = secret
    if not any(secret["blowfish"].get("missing") not in (None, "public") for secret in secrets.values()):
        return None
    domain, neighbors = Domain(tuple(attributes)), draw.choice(["record", "attribute"])
    policy = bf.Policy(domain, secrets=secrets, neighbors=neighbors, presence=draw.random() < 0.2)
    if draw.random() < 0.15:
        policy = policy.with_facts([bf.Marginal(draw.choice(domain.columns))])
    return policy


def plans(draw, policy, make_filter):
    """Yield plans of every verb, filtered and grouped at random, as far as they can be had."""
    names = list(policy.domain.columns)
    scope, epsilon = policy.plan, Fraction(draw.randint(1, 9), draw.randint(1, 20))
    if draw.random() < 0.5:
        scope = scope.where(make_filter(draw, policy.domain))
    column = draw.choice(names)
    rest = [name for name in names if name != column]
    if rest and draw.random() < 0.4:
        scope = scope.groupby(draw.choice(rest))
    for verb in ("sum", "mean", "cumhist", "hist", "marginal", "quantile"):
        try:
            yield getattr(scope, verb)(column, epsilon=epsilon), epsilon
        except BlowfishError:  # no order, no number, or a fact that a column without order touches
            continue


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("chunk", range(5))
def test_loss_of_random_instances(chunk, make_filter, monkeypatch):
    """Neither by the twin's edges nor by those of the kernel's check; most lose all that they may."""
    monkeypatch.setattr(choose, "MAX_PLANS", 1)
    tried = tight = 0

    for number in range(EACH):
        draw = random.Random(91_000 + chunk * EACH + number)
        policy = instance(draw)
        for plan, epsilon in plans(draw, policy, make_filter) if policy else ():
            check = Check.of(policy, plan)
            assert check.require(plan.measurement, plan.cost) <= epsilon
            if plan.price.touched:  # the closure: whatever is missing
                continue
            loss = edge_loss(plan.matrix(), plan.scales, definition_edges(policy, plan.domain.columns)).value
            assert loss <= epsilon, (plan.call, policy.to_yaml())
            tried += loss > 0
            tight += loss == epsilon

    assert tried > EACH / 2
    assert tight / tried > 0.8


def test_the_audit_finds_a_stand_in_that_is_ignored():
    """A plan for public missing values, measured under a stand-in, is refused."""
    spec = {"type": "integer", "min": 0, "max": 9, "nullable": True}
    like, public = (
        bf.Policy(Domain((from_dict("x", spec),)), secrets={"x": bf.threshold(2, missing=missing)})
        for missing in (5, "public")
    )
    for verb in ("sum", "cumhist"):
        plan = getattr(public.plan, verb)("x", epsilon=1)
        edges = definition_edges(like, ("x",))

        assert edge_loss(plan.matrix(), plan.scales, edges).value > 1
        with pytest.raises(bf.errors.UnsoundPlanError):
            Check.of(like, plan).require(plan.measurement, plan.cost)


def test_stand_ins_keep_sums_and_means_cheap():
    """A sum changes by theta plus the stand-in at most; a mean as without missing values, but for a count."""
    spec = {"type": "integer", "min": 0, "max": 500, "nullable": True}
    found = {}
    for missing in ("protected", 0, 100, "public"):
        policy = bf.Policy(Domain((from_dict("x", spec),)), secrets={"x": bf.threshold(10, missing=missing)})
        found[missing] = (policy.plan.sum("x").sensitivity, policy.plan.mean("x").sensitivity)

    assert found == {"protected": (500, 251), 0: (10, 10), 100: (110, 11), "public": (10, 10)}


def test_columns_without_bounds_add_up_with_a_stand_in():
    """Whoever goes missing was near a stated value, so that a sum needs no bounds."""
    spec = {"type": "float", "nullable": True}
    secrets = [bf.threshold(5, missing=missing) for missing in (20, "protected")]
    like, every = (bf.Policy(Domain((from_dict("x", spec),)), secrets={"x": each}) for each in secrets)

    plan = like.plan.sum("x", epsilon=1)

    assert plan.sensitivity == 25
    assert Check.of(like, plan).require(plan.measurement, plan.cost) <= 1
    with pytest.raises(bf.errors.UnboundedColumnError):
        every.plan.sum("x")
