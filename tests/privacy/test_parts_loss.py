"""Charges in parts of a policy: no pair of neighbours loses more in all than is spent, by enumeration."""

import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from oracle.definition import definition_edges
from oracle.policies import random_filter

import pandas_blowfish as bf
from pandas_blowfish.errors import BlowfishError, UnsoundPlanError
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.domain import Domain, from_dict, integers

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
    verb = draw.choice(["hist", "cumhist", "marginal", "count", "mean"])
    found = []
    for source in (frame.blowfish.plan, frame.blowfish):
        scope = source if text is None else source.where(text)
        scope = scope if group is None else scope.groupby(group)
        asked = {"hist": [some], "cumhist": ["age"], "marginal": [names[:2]], "count": [], "mean": ["age"]}[
            verb
        ]
        found.append(getattr(scope, verb)(*asked, epsilon=epsilon))
    return found[0]


def edge_losses(plan, policy, edges):
    """Return what each edge of the whole domain loses by a plan, from its query rows and scales."""
    domain = policy.domain
    every = Cells.every(domain.columns, domain.shape)
    both = Cells(
        {name: np.append(codes, 0) for name, codes in every.codes.items()},
        np.arange(len(every) + 1) == len(every),
    )
    columns = plan.measurement.columns(both).toarray()
    scales = [plan.scales.values[code] for code in plan.scales.codes]
    lost = []
    for start, end in edges.tolist():
        change = np.abs(columns[:, start] - columns[:, end]).tolist()
        lost.append(
            sum((Fraction(by) / scale for by, scale in zip(change, scales, strict=True) if by), Fraction(0))
        )
    return lost


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("seed", range(40))
def test_no_neighbours_lose_more_than_is_spent(seed):
    """Over random sequences of charges with filters, groups, presence and facts that no edge touches."""
    draw = random.Random(seed)
    policy = random_policy(draw)
    codes = [[draw.randrange(size) for size in policy.domain.shape] for _ in range(20)]
    labels = [attribute.index() for attribute in policy.domain]
    rows = [[own[code] for own, code in zip(labels, row, strict=True)] for row in codes]
    frame = pd.DataFrame(rows, columns=list(policy.domain.columns)).blowfish.protect(policy, epsilon=100)
    edges = definition_edges(policy.with_facts([]), policy.domain.columns)
    lost = [Fraction(0)] * len(edges)
    for _ in range(8):
        try:
            plan = random_release(draw, frame)
        except UnsoundPlanError:
            raise
        except BlowfishError:  # no such question
            continue
        if policy.constraints and plan.price.touched:  # its neighbours are others
            return
        lost = [before + more for before, more in zip(lost, edge_losses(plan, policy, edges), strict=True)]

    assert max(lost, default=Fraction(0)) <= frame.blowfish.budget.spent
    assert frame.blowfish.ledger.verify()


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
