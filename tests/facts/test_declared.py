"""Public facts are stated, compared and written down, not yet priced."""

import copy
import json
import pickle

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.facts.declared import Constraint, constraint_from_dict, facts_of

FACTS = [
    bf.Count("sex == 'F'"),
    bf.Count("age < 18", answer=12),
    bf.Count("age < 18", answer=np.int64(12)),
    bf.Marginal("region"),
    bf.Marginal("region", "sex"),
    bf.Marginal("region", answer=[3, 4]),
    bf.Marginal("a", "b", answer=np.array([[1, 2], [3, 4]])),
    bf.Marginal("region", answer={"north": 3, "south": 4}),
    bf.Marginal("level", answer={0.5: 3, True: 1, 7: 2}),
    bf.Marginal("region", "sex", answer={("north", "F"): 3}),
    bf.Marginal("region", answer=pd.Series(["n", "s", "n"]).value_counts()),
    bf.Marginal("region", answer=[]),
    bf.Box(lat=(30, 35.5), lon=(-125, -120)),
    bf.Box(day=(pd.Timestamp("2020-01-01"), "2020-02-01"), answer=0),
]


@pytest.mark.parametrize("fact", FACTS, ids=str)
def test_facts_round_trip(fact):
    """A fact is hashable, pickles, and reads back from JSON as itself."""
    written = fact.to_dict()

    again = constraint_from_dict(json.loads(json.dumps(written)))

    assert again == fact
    assert hash(again) == hash(fact)
    assert again.to_dict() == written
    assert pickle.loads(pickle.dumps(fact)) == copy.deepcopy(fact) == fact


def test_facts_are_immutable_values():
    """Equal facts are equal, other kinds and answers are not, and none can be changed."""
    fact = bf.Marginal("region")

    assert fact != bf.Marginal("region", answer=[1])
    assert fact != bf.Count("region")
    assert fact.columns == ("region",)
    assert bf.Count("age < 3").columns == ()
    with pytest.raises(AttributeError):
        fact.kind = "count"


@pytest.mark.parametrize(
    "make",
    [
        lambda: bf.Count(""),
        lambda: bf.Count(5),
        lambda: bf.Count("x", answer=0.5),
        lambda: bf.Count("x", answer=True),
        lambda: bf.Count("x", answer=-1),
        lambda: bf.Marginal(),
        lambda: bf.Marginal("a", "a"),
        lambda: bf.Marginal(["a", 5]),
        lambda: bf.Box(answer=(0, 3)),
        lambda: bf.Box([("a", (0, 3))]),
        lambda: bf.Count("x", answer=2**70),
        lambda: bf.Marginal(5),
        lambda: bf.Marginal("a", answer="many"),
        lambda: bf.Marginal("a", answer={"x": 0.5}),
        lambda: bf.Marginal("a", answer={"x": -1}),
        lambda: bf.Box(),
        lambda: bf.Box(a=5),
        lambda: bf.Box(a=(1, 2, 3)),
        lambda: constraint_from_dict({}),
        lambda: constraint_from_dict(5),
        lambda: constraint_from_dict({"fact": "count"}),
        lambda: constraint_from_dict({"fact": "sum", "columns": ["a"]}),
        lambda: constraint_from_dict({"fact": "marginal", "columns": "a"}),
        lambda: constraint_from_dict({"fact": "box", "bounds": [1]}),
        lambda: constraint_from_dict({"fact": "marginal", "columns": ["a"], "extra": 1}),
        lambda: facts_of(bf.Marginal("a")),
        lambda: facts_of(["a"]),
        lambda: facts_of(5),
    ],
)
def test_what_is_no_fact_is_refused(make):
    """Every slip is an ArgumentError, also in hand-written data."""
    with pytest.raises(ArgumentError):
        make()


def test_facts_may_come_from_any_iterable():
    """A generator of facts is a tuple of facts."""
    facts = facts_of(fact for fact in FACTS[:2])

    assert facts == tuple(FACTS[:2])
    assert all(isinstance(fact, Constraint) for fact in facts)


def test_facts_are_shown_as_they_are_written():
    """With their answer, and as a dict where a column's name is no Python name."""
    assert repr(bf.Count("age < 18", answer=3)) == "bf.Count('age < 18', answer=3)"
    assert repr(bf.Marginal(["a", "b"])) == "bf.Marginal('a', 'b')"
    assert repr(bf.Box({"blood type": (0, 1)})) == "bf.Box({'blood type': (0, 1)})"
    assert bf.Box({"a": (0, 1)}, b=(1, 2)) == bf.Box(a=(0, 1), b=(1, 2))
    named = bf.Box({"answer": (0, 1)}, answer=4)
    assert constraint_from_dict(named.to_dict()) == named


def test_labelled_answers_follow_their_names():
    """A crosstab the other way round, or a Series of two levels, is read by the names of its axes."""
    frame = pd.DataFrame({"s": [1, 0, 1, 1], "c": [0, 0, 1, 0]})
    plain = bf.Marginal("s", "c", answer=pd.crosstab(frame.s, frame.c))
    wanted = {(each.cell, each.rows) for each in plain.answer}
    pairs = pd.MultiIndex.from_product([[0, 1], [0, 1]], names=["c", "s"])
    levels = frame.value_counts(["c", "s"]).reindex(pairs)

    for answer in (pd.crosstab(frame.c, frame.s), levels.fillna(0)):
        found = bf.Marginal("s", "c", answer=answer)
        assert {(each.cell, each.rows) for each in found.answer} == wanted
    assert bf.Marginal("s", answer=frame.s.value_counts().astype(float)) == bf.Marginal(
        "s", answer=frame.s.value_counts()
    )
