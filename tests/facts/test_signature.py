"""The distinct signatures of cells."""

import itertools

import numpy as np

import pandas_blowfish as bf
from pandas_blowfish.facts import signature
from pandas_blowfish.facts.signature import is_disjoint, signatures_of
from pandas_blowfish.policy.domain import Domain, integers

DOMAIN = Domain((integers("a", 0, 2), integers("b", 0, 3)))
FACTS = [bf.Marginal("a"), bf.Count("b < 2"), bf.Box(a=(0, 1), b=(1, 2)), bf.Count("b == 3 or a == 0")]


def _by_cell(policy):
    """Return the labels of every cell, one by one, with its public values."""
    found = set()
    for a, b in itertools.product(range(3), range(4)):
        tests = [b < 2, a <= 1 and 1 <= b <= 2, b == 3 or a == 0]
        labels = [a] + [3 + n for n, holds in enumerate(tests) if holds]
        found.add((a if "a" in policy.public_columns else 0, tuple(labels)))
    return found


def test_signatures_are_those_of_the_cells():
    """Each kind of cell once, by combination of public values."""
    for secrets in ({}, {"a": bf.public()}):
        policy = bf.Policy(DOMAIN, secrets=secrets, constraints=FACTS)
        found = signatures_of(policy.facts, DOMAIN, policy.public_columns, False)

        labels, table = found.table(np.arange(found.size))
        rows = zip(found.group.tolist(), table > 0, strict=True)
        assert {(group, tuple(labels[row].tolist())) for group, row in rows} == _by_cell(policy)
        assert found.fact_of(np.array([0, 2, 3, 5])).tolist() == [0, 0, 1, 3]


def test_too_many_combinations_are_left_alone(monkeypatch):
    """There is no table; counts that some column keeps apart are still known to be apart."""
    monkeypatch.setattr(signature, "MAX_COMBINATIONS", 3)
    disjoint = bf.Policy(DOMAIN, constraints=[bf.Box(a=(0, 0), b=(0, 1)), bf.Count("a == 1 and b < 3")])
    crossing = bf.Policy(DOMAIN, constraints=[bf.Box(a=(0, 1)), bf.Box(b=(0, 1))])
    either = bf.Policy(DOMAIN, constraints=[bf.Count("a == 0 or b == 1"), bf.Count("a == 1 and b == 0")])

    assert signatures_of(disjoint.facts, DOMAIN, frozenset(), False) is None
    assert [is_disjoint(policy.facts, DOMAIN) for policy in (disjoint, crossing, either)] == [
        True,
        False,
        False,
    ]
