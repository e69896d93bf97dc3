"""Public facts read against a domain."""

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, BlowfishError
from pandas_blowfish.facts.fact import find_needed, read_facts
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.policy.expression import truth

SEX = from_dict("sex", {"type": "category", "values": ["F", "M"]})
GRADE = from_dict("grade", {"type": "category", "values": ["low", "mid", "high"], "ordered": True})
LAT = from_dict("lat", {"type": "float", "min": 30, "max": 32, "step": 0.5})
NULL = from_dict("score", {"type": "integer", "min": 0, "max": 2, "nullable": True})
DOMAIN = Domain((SEX, GRADE, LAT, NULL))


def _cells(fact, domain=DOMAIN):
    chosen = domain.select(fact.columns)
    return truth(fact.condition, fact.columns, [np.arange(each.size) for each in chosen])


def test_a_box_counts_its_cells():
    """Ordered categories are inclusive, float bins half-open, missing is never inside."""
    box, open_end = read_facts(
        [bf.Box(grade=("low", "mid"), lat=(30.5, 31)), bf.Box(score=(1, None))], DOMAIN
    )

    assert box.columns == ("grade", "lat")
    assert np.argwhere(_cells(box)).tolist() == [[0, 1], [1, 1]]
    assert _cells(open_end).tolist() == [False, True, True, False]
    assert (box.counts, box.shape, box.answer) == (1, (), None)


@pytest.mark.parametrize(
    "answer",
    [
        [[1, 2, 3], [4, 5, 6]],
        [1, 2, 3, 4, 5, 6],
        np.array([[1, 2, 3], [4, 5, 6]]),
        {
            ("F", "low"): 1,
            ("F", "mid"): 2,
            ("F", "high"): 3,
            ("M", "low"): 4,
            ("M", "mid"): 5,
            ("M", "high"): 6,
        },
        pd.DataFrame([[6, 4, 5], [3, 1, 2]], index=["M", "F"], columns=["high", "low", "mid"]),
        pd.DataFrame([[6, 4, 5], [3, 1, 2]], index=["M", "F"], columns=["high", "low", "mid"]).stack(),
    ],
)
def test_answers_of_a_marginal_are_read_by_their_labels(answer):
    """Lists are in schema order, anything with labels is read by them; the policy keeps them."""
    policy = bf.Policy(DOMAIN, constraints=[bf.Marginal("sex", "grade", answer=answer)])

    assert policy.facts[0].answer.tolist() == [[1, 2, 3], [4, 5, 6]]
    again = bf.Policy.from_yaml(policy.to_yaml())
    assert again == policy
    assert again.facts[0].answer.tolist() == policy.facts[0].answer.tolist()


def test_missing_and_bins_name_cells():
    """A missing value is its own cell, a bin is named by any value in it or as an interval."""
    score = pd.Series([0, 1, 1, 2, None], dtype="Int64").value_counts(dropna=False)
    bins = {pd.Interval(30.0, 30.5, closed="left"): 1, 30.5: 2, 31.2: 3, 31.5: 0, 32.0: 1}

    known = read_facts([bf.Marginal("score", answer=score), bf.Marginal("lat", answer=bins)], DOMAIN)

    assert [fact.answer.tolist() for fact in known] == [[1, 2, 1, 1], [1, 2, 3, 0, 1]]


@pytest.mark.parametrize(
    "fact",
    [
        bf.Count("nobody == 1"),
        bf.Count("sex == 'X'"),
        bf.Count("lat < 30.2"),
        bf.Count("sex == @who"),
        bf.Count("sex == 'F'", answer=[1, 2]),
        bf.Box(sex=("F", "M")),
        bf.Box(lat=(30.2, 31)),
        bf.Box(grade=("high", "low")),
        bf.Box(nobody=(1, 2)),
        bf.Marginal("nobody"),
        bf.Marginal("sex", answer=3),
        bf.Marginal("sex", answer=[1, 2, 3]),
        bf.Marginal("sex", answer=[]),
        bf.Marginal("sex", answer={"F": 1}),
        bf.Marginal("sex", answer={"F": 1, "X": 2}),
        bf.Marginal("sex", answer={("F", 1): 1, ("M", 1): 2}),
        bf.Marginal("sex", "grade", answer=[[1, 2], [3, 4]]),
        bf.Marginal("sex", "grade", answer=[[1, 2, 3], [4, 5]]),
    ],
    ids=lambda fact: repr(fact)[:60],
)
def test_facts_that_do_not_fit_are_refused_at_once(fact):
    """Unknown columns or values, cells cut in two, answers of another shape."""
    with pytest.raises(BlowfishError):
        bf.Policy(DOMAIN, constraints=[fact])


@pytest.mark.parametrize("answer", [-1, 1.5, True, "many", {"F": -1}, {"F": 1.5}])
def test_answers_are_whole_numbers_of_rows(answer):
    """Refused before there is a policy."""
    with pytest.raises(ArgumentError):
        bf.Marginal("sex", answer=answer)


def test_facts_about_columns_without_cells_are_refused():
    """There is nothing to count."""
    domain = Domain((integers("a", 0, 1), from_dict("x", {"type": "float"})))

    for fact in (bf.Marginal("x"), bf.Box(x=(0, 1)), bf.Count("x > 1")):
        with pytest.raises(BlowfishError):
            bf.Policy(domain, constraints=[fact])


def test_facts_that_follow_are_not_needed():
    """Counts and marginals of a marginal's columns, repeats however spelt; the first of equals is kept."""
    facts = [
        bf.Count("sex == 'F'"),
        bf.Marginal("sex", "grade"),
        bf.Marginal("grade"),
        bf.Box(grade=("low", "mid"), lat=(30, 31)),
        bf.Count("lat < 31 and grade in ['low', 'mid']"),
        bf.Marginal("grade", "sex"),
        bf.Count("lat < 31"),
    ]

    assert find_needed(read_facts(facts, DOMAIN)) == [1, 3, 6]
