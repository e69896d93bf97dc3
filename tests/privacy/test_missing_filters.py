"""Filters and facts about missing values: no neighbouring tables lose more than is charged."""

import random

import numpy as np
import pytest
from oracle.neighbours import true_loss

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.policy.domain import Domain, integers
from pandas_blowfish.policy.expression import parse

PARTS = ("a is missing", "a is not missing", "a == 1", "b is missing", "b.notna()", "not b == 0")


def some_text(draw):
    """Return one or two parts about two columns."""
    one, two = draw.sample(PARTS, 2)
    return draw.choice([one, f"not ({one})", f"{one} and {two}", f"({one}) or {two}"])


def instance(draw):
    """Return a policy on two columns that may be missing, with facts or without, and some plans."""
    domain = Domain((integers("a", 0, 2, nullable=True), integers("b", 0, 1, nullable=True)))
    secrets = [bf.full(), bf.threshold(1), bf.partition([[0], [1, 2]]), bf.full() | {}, bf.public()]
    policy = bf.Policy(
        domain,
        secrets={"a": draw.choice(secrets), "b": draw.choice([bf.full(), bf.public()])},
        presence=draw.random() < 0.2,
        constraints=[bf.Count(some_text(draw)) for _ in range(draw.choice([0, 1, 1, 2]))],
    )
    scope = policy.plan.where(some_text(draw)) if draw.random() < 0.7 else policy.plan
    if draw.random() < 0.4:
        scope = scope.groupby("b", bins=draw.choice([1, 2, {"x": [1]}, {"x": [0, None]}]))
    for ask in (
        lambda: scope.hist("a"),
        lambda: scope.count(),
        lambda: scope.mean("a"),
        lambda: scope.cumhist("a"),
    ):
        try:
            yield policy, ask()
        except ArgumentError:
            continue


@pytest.mark.parametrize("chunk", range(3))
def test_no_tables_lose_more_than_the_cost(chunk):
    """Every two neighbouring tables of one or two people, as the definition has it."""
    touched = noisy = 0

    for number in range(14):
        for policy, plan in instance(random.Random(100 * chunk + number)):
            assert isinstance(plan, Plan)
            worst = max(
                true_loss(policy, plan.matrix(), plan.scales, rows, plan.domain.columns) for rows in (1, 2)
            )

            assert worst <= plan.cost
            touched += plan.price.touched
            noisy += plan.cost > 0

    assert touched
    assert noisy


def test_missing_cells_match_what_asks_for_them():
    """Every spelling by its cells, the missing one last."""
    domain = Domain((integers("a", 0, 2, nullable=True),))
    wanted = {
        "a is missing": [0, 0, 0, 1],
        "a.isna()": [0, 0, 0, 1],
        "a is None": [0, 0, 0, 1],
        "not a is missing": [1, 1, 1, 0],
        "a is not missing": [1, 1, 1, 0],
        "a not missing": [1, 1, 1, 0],
        "~a.isnull()": [1, 1, 1, 0],
        "a.notna()": [1, 1, 1, 0],
        "not a.notnull()": [0, 0, 0, 1],
        "a between 1 and 2": [0, 1, 1, 0],
        "not a.between(1, 2)": [1, 0, 0, 0],
        "a.between(0, 2, inclusive='neither')": [0, 1, 0, 0],
        "not a.isin([0])": [0, 1, 1, 0],
    }

    for text, cells in wanted.items():
        found = bf.Policy(domain).plan.where(text).hist("a")
        passes = found.measurement.tallies[0].sieve.cells()
        assert np.array_equal(np.asarray(passes), np.array(cells, dtype=bool)), text
        parse(text, domain, {})
