"""Known answers that cannot all be true are refused."""

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.facts.consistent import find_contradiction
from pandas_blowfish.facts.fact import read_facts
from pandas_blowfish.policy.domain import Domain, integers

DOMAIN = Domain((integers("a", 0, 2), integers("b", 0, 3)))


def _said(*facts, rows=None):
    return find_contradiction(read_facts(facts, DOMAIN), DOMAIN, rows)


@pytest.mark.parametrize(
    "facts",
    [
        [bf.Count("a < 1", answer=3), bf.Count("a<1", answer=4)],
        [bf.Count("a < 0", answer=5)],
        [bf.Box(a=(0, 0), answer=5), bf.Box(a=(0, 1), answer=4)],
        [bf.Marginal("a", answer=[1, 2, 3]), bf.Marginal("b", answer=[1, 1, 1, 1])],
        [bf.Marginal("a", answer=[1, 2, 3]), bf.Count("a == 1 and b == 0", answer=3)],
    ],
    ids=str,
)
def test_answers_that_exclude_each_other(facts):
    """Spelt otherwise, nested, of empty cells, of other totals: no policy takes them."""
    assert "no table" in _said(*facts)
    with pytest.raises(ArgumentError, match="no table"):
        bf.Policy(DOMAIN, constraints=facts)


def test_answers_of_a_table_are_possible():
    """Random tables never contradict their own answers; one row more or less does."""
    rng = np.random.default_rng(12)
    for _ in range(40):
        table = rng.integers(0, 10**6, (3, 4))
        facts = [
            bf.Marginal("a", answer=table.sum(axis=1)),
            bf.Box(b=(1, 2), answer=int(table[:, 1:3].sum())),
            bf.Count("a == 0 or b == 3", answer=int(table[0].sum() + table[1:, 3].sum())),
        ]

        assert _said(*facts, rows=int(table.sum())) == ""
        assert _said(*facts, rows=int(table.sum()) + 1) != ""
        assert bf.Policy(DOMAIN, constraints=facts).facts[0].answer.tolist() == table.sum(axis=1).tolist()


def test_row_counts_bound_answers():
    """More than there are rows, or a complement that is negative."""
    assert _said(bf.Count("a < 1", answer=5), rows=5) == ""
    assert "4 rows" in _said(bf.Count("a < 1", answer=5), rows=4)
    assert _said(bf.Count("a < 1"), rows=4) == ""


def test_large_tables_do_not_contradict_themselves():
    """What floats round away is no contradiction."""
    rng = np.random.default_rng(5)
    for _ in range(30):
        table = np.rint(10.0 ** rng.uniform(0, 9, (3, 4))).astype(np.int64)
        facts = [bf.Marginal("a", "b", answer=table), bf.Marginal("b", answer=table.sum(axis=0))]

        assert _said(*facts, rows=int(table.sum())) == ""
