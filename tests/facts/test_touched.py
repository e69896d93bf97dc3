"""Which known counts an edge changes."""

import numpy as np
import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.facts.touched import touches
from pandas_blowfish.policy.domain import Domain, integers
from pandas_blowfish.policy.expression import truth

DOMAIN = Domain((integers("a", 0, 2), integers("b", 0, 3)))
SECRETS = [
    {},
    {"b": bf.threshold(1)},
    {"b": bf.partition([[0, 1], [2, 3]])},
    {"a": bf.public()},
    {"a": bf.public(), "b": bf.partition([[0, 3], [1, 2]])},
    {("a", "b"): bf.threshold(1, metric="l1")},
    {("a", "b"): bf.edges([((0, 0), (1, 1))])},
    {"a": bf.edges([(0, 2)]), "b": bf.public()},
]
FACTS = [
    bf.Marginal("a"),
    bf.Marginal("b"),
    bf.Marginal("b", "a"),
    bf.Count("b < 2"),
    bf.Count("b in [0, 3]"),
    bf.Count("a == 1 or b == 2"),
    bf.Count("a == 0 and b < 2"),
    bf.Count("a in [0, 2]"),
    bf.Count("a < 0"),
    bf.Box(a=(0, 2), b=(0, 3)),
]


@pytest.mark.parametrize("neighbors", ["record", "attribute"])
@pytest.mark.parametrize("presence", [False, True])
@pytest.mark.parametrize("secrets", SECRETS, ids=str)
def test_touches_matches_enumeration(secrets, presence, neighbors):
    """A fact is touched exactly when some edge, found from the policy's words, changes it."""
    for stated in FACTS:
        policy = bf.Policy(
            DOMAIN, secrets=secrets, presence=presence, neighbors=neighbors, constraints=[stated]
        )
        edges, fact = definition_edges(policy, ["a", "b"]), policy.facts[0]
        if fact.condition is None:
            codes = dict(zip("ab", np.unravel_index(np.arange(12), (3, 4)), strict=True))
            label = sum(codes[column] * 10**n for n, column in enumerate(fact.columns))
        else:
            counted = truth(fact.condition, ["a", "b"], [np.arange(3), np.arange(4)])
            label = np.broadcast_to(counted, (3, 4)).ravel().astype(int)
        label = np.append(label, -1 if fact.condition is None else 0)  # absent
        changed = bool((label[edges[:, 0]] != label[edges[:, 1]]).any()) if len(edges) else False

        assert touches(policy.graph, fact) == changed, stated.describe()
