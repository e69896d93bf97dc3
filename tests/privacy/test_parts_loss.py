"""Charges in parts of a policy: no pair of neighbours loses more in all than is spent, by enumeration."""

import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from oracle.people import Moves
from oracle.policies import random_filter

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, BlowfishError, UnsoundPlanError
from pandas_blowfish.policy.domain import Domain, from_dict, integers

SEQUENCES = 60
SECRETS = {
    "place": [bf.public(), bf.partition({"a": ["n", "e"], "b": ["s"], "c": ["w"]}), bf.full()],
    "age": [bf.threshold(1), bf.full(), bf.partition({"young": [0, 1], "old": [2, 3]})],
    "kind": [bf.public(), bf.full(), bf.edges([("x", "y")])],
}


def random_policy(draw):
    """Return a policy whose columns fall into parts, or not."""
    place = from_dict("place", {"type": "category", "values": ["n", "e", "s", "w"]})
    domain = Domain(
        (place, integers("age", 0, 3), from_dict("kind", {"type": "category", "values": ["x", "y", "z"]}))
    )
    secrets = {name: draw.choice(choices) for name, choices in SECRETS.items()}
    facts = [bf.Marginal("place")] if draw.random() < 0.3 else []
    kind = draw.choice(["record", "attribute"])
    return bf.Policy(domain, secrets=secrets, neighbors=kind, presence=draw.random() < 0.3, constraints=facts)


def random_release(draw, frame):
    """Make a random release of a protected frame; return its plan."""
    names = ["place", "age", "kind"]
    some, epsilon = draw.sample(names, draw.randint(1, 2)), Fraction(1, draw.randint(2, 9))
    scope = text = None
    if draw.random() < 0.8:
        text = random_filter(draw, frame.blowfish.policy.domain)
    group = draw.choice(names) if draw.random() < 0.3 else None
    verb = draw.choice(["hist", "cumhist", "marginal", "count", "mean", "people", "var", "describe", "top"])
    asked = {"hist": [some], "marginal": [names[:2]], "top": [1, some], "count": [], "people": []}
    asked = asked.get(verb, ["age"])
    named = {"people": {"units": True}, "top": {"strategy": "counts"}}.get(verb, {})
    found = []
    for source in (frame.blowfish.plan, frame.blowfish):
        scope = source if text is None else source.where(text)
        scope = scope if group is None else scope.groupby(group)
        ask = getattr(scope, "count" if verb == "people" else verb)
        found.append(ask(*asked, epsilon=epsilon, **named))
    return found[0]


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_no_neighbours_lose_more_than_is_spent(rows):
    """Over random sequences of charges with filters, groups, presence and facts that no edge touches.

    A person has up to three rows, anywhere. Some sequences lose all that is spent.
    """
    tight = tried = 0
    for seed in range(SEQUENCES):
        draw, chance = random.Random(seed), np.random.default_rng(seed)
        policy = random_policy(draw).with_max_rows(rows)
        codes = [[draw.randrange(size) for size in policy.domain.shape] for _ in range(20)]
        labels = [attribute.index() for attribute in policy.domain]
        table = [[own[code] for own, code in zip(labels, row, strict=True)] for row in codes]
        frame = pd.DataFrame(table, columns=list(policy.domain.columns)).assign(who=range(20))
        frame = protected(frame, policy)
        if frame is None:
            continue
        moves = Moves(policy.with_facts([]), policy.domain.columns)
        measured = []
        for _ in range(draw.randint(1, 8)):
            try:
                plan = random_release(draw, frame)
            except UnsoundPlanError:
                raise
            except BlowfishError:  # no such question
                continue
            if policy.constraints and plan.price.touched:  # its neighbours are others
                break
            measured.append(moves.measure(plan, chance))
        else:
            most, spent = moves.worst(measured, rows, chance), frame.blowfish.budget.spent

            assert most <= spent, f"seed {seed}"
            assert frame.blowfish.ledger.verify()
            tried += 1
            tight += most == spent > 0

    assert tried > 0.5 * SEQUENCES
    assert tight > 5


def protected(frame, policy):
    """Return a frame of people, protected; None where the policy's facts are refused for several rows."""
    try:
        return frame.blowfish.protect(policy, epsilon=100, unit="who", ledger=bf.Ledger())
    except ArgumentError:
        return None


def test_regions_in_parallel_cost_once():
    """Every region of a public column may spend the whole budget, and everyone together no more."""
    frame = bf.datasets.patients().blowfish.protect(bf.datasets.patients_policy(), epsilon=1)

    for region in ("north", "east", "south", "west"):
        frame.blowfish.where(f"region == '{region}'").hist("age", epsilon="3/4")
    frame.blowfish.where("age < 50").hist("sex", epsilon="1/4")

    assert frame.blowfish.budget.spent == 1
    assert frame.blowfish.budget.parts["remaining"].tolist() == [0] * 4


def test_a_touched_fact_makes_all_charges_add_up():
    """What people in different parts have lost is theirs together once a fact ties them."""
    frame = bf.datasets.patients().blowfish.protect(bf.datasets.patients_policy(), epsilon=10)
    for region in ("north", "east"):
        frame.blowfish.where(f"region == '{region}'").hist("age", epsilon="1/2")
    before = frame.blowfish.budget

    frame.blowfish.ledger.record_exact(frame.attrs["blowfish"]["dataset"], bf.Count("age < 18"))
    after = frame.blowfish.budget
    frame.blowfish.where("region == 'north'").hist("age", epsilon="1/2")

    assert (before.spent, after.spent) == (Fraction(1, 2), 2)
    assert frame.blowfish.budget.spent == Fraction(5, 2)
    assert list(frame.blowfish.budget.parts.index) == ["everyone"]
    assert frame.blowfish.ledger.verify()
