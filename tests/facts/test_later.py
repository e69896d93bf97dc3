"""A policy with facts that became public after it was made."""

import json

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, ArgumentTypeError
from pandas_blowfish.facts.later import add_facts, find_clash, policy_from, read_fact
from pandas_blowfish.policy.domain import Domain, integers

GRID = Domain((integers("x", 0, 2), integers("y", 0, 1)))


def test_stated():
    """A fact is taken as it is, or from its plain form; nothing else is."""
    fact = bf.Box(x=(0, 1), answer=3)

    assert read_fact(fact) is fact
    assert read_fact(fact.to_dict()) == fact
    with pytest.raises(ArgumentTypeError):
        read_fact([fact])
    with pytest.raises(ArgumentError, match="fact"):
        read_fact({"fact": "sum", "columns": ["x"]})


def test_joined_facts_are_those_that_say_something_new():
    """What follows is left out, an answer takes the place of none, another answer is refused."""
    table = np.array([[1, 2], [3, 4], [5, 6]])
    policy = bf.Policy(GRID, constraints=[bf.Marginal("x"), bf.Count("x == 0 and y == 0")])

    assert add_facts(policy, [bf.Count("x < 1"), bf.Box(x=(0, 0), y=(0, 0))]) is policy
    more = add_facts(policy, [bf.Marginal("x", answer=table.sum(axis=1)), bf.Marginal("y")])
    assert [fact.text for fact in more.facts] == [*(fact.text for fact in policy.facts), "Marginal('y')"]
    assert more.facts[0].answer.tolist() == [3, 7, 11]
    for wrong in (bf.Count("x == 2", answer=10), bf.Marginal("x", answer=[3, 7, 12])):
        with pytest.raises(ArgumentError, match="another answer"):
            add_facts(more, [wrong])


def test_texts_are_policies_and_their_clashes():
    """As the ledger keeps them: a policy's JSON, and each fact's."""
    text = json.dumps(bf.Policy(GRID, constraints=[bf.Count("x == 0", answer=2)]).to_dict())
    more, wrong = (json.dumps(bf.Box(x=(0, 1), answer=n).to_dict()) for n in (3, 1))

    assert len(policy_from(text, (more,)).facts) == 2
    assert find_clash(text, (more,), 3) == ""
    assert "no table of 2 rows" in find_clash(text, (more,), 2)
    assert "no table" in find_clash(text, (wrong,), None)
