"""Typical pairs: each is at the distance it is shown with, and every kind of secret has some."""

import math
import random
from fractions import Fraction

import pandera.pandas as pa
import pytest

import pandas_blowfish as bf
from pandas_blowfish.explain.report import promise
from pandas_blowfish.explain.report.promise import examples, left_out
from pandas_blowfish.policy.domain import Domain, integers

ONE, TENTH = Fraction(1), Fraction(1, 10)


def _told(policy):
    return {
        (each.column, each.pair): (each.whole.against, each.whole.distance)
        for each in examples(policy, ONE, TENTH)
    }


def test_each_secret_has_its_pairs():
    """A threshold: as far as one step leads, half way, the ends; a partition: within, and across."""
    told = _told(bf.datasets.patients_policy())

    assert told["age", "protected"] == ("50 against 55", 1)
    assert told["age", "half way"] == ("0 against 50", 10)
    assert told["age", "the two ends"] == ("0 against 99", 20)
    assert told["disease", "protected"] == ("copd against flu", 1)
    assert told["disease", "another group"][1] == float("inf")
    assert told["sex", "protected"] == ("F against M", 1)
    assert not any(column == "region" for column, _ in told)


def test_what_is_spent_so_far_is_told_beside_the_whole():
    """With nothing spent there is nothing to tell."""
    policy = bf.datasets.patients_policy()

    for each in examples(policy, ONE, TENTH):
        assert each.whole.epsilon == 1
        assert each.now.epsilon == TENTH
        assert each.now.distance == each.whole.distance
    for each in examples(policy, ONE, Fraction(0)):  # exact and free answers may have told open pairs
        assert (each.now is None) == math.isfinite(each.whole.distance)


def test_missing_absent_and_joint_values_have_pairs():
    """Also of columns that share a secret, and of rows that may not be there."""
    schema = pa.DataFrameSchema({"x": pa.Column(float, pa.Check.isin([1.0, 2.0, 3.0]), nullable=True)})
    domain = Domain((integers("a", 0, 9), integers("b", 0, 9)))
    joint = bf.Policy(domain, secrets={("a", "b"): bf.threshold(2)}, presence=True)

    public = bf.Policy(schema, secrets={"x": bf.full(missing="public")})
    assert _told(public)["x", "missing or not"][1] == float("inf")
    told = _told(joint)
    assert told["a, b", "protected"][1] == 1
    assert told["the row itself", "there or not"][1] == 1
    assert max(distance for _, distance in told.values()) == 2


@pytest.mark.parametrize("seed", range(12))
def test_pairs_of_any_policy_are_told(make_full_policy, seed):
    """No policy makes it fail, and nothing is told twice at one distance."""
    draw = random.Random(seed)
    policy = make_full_policy(draw, 2)
    found = examples(policy, ONE, TENTH)

    for each in found:
        assert each.whole.distance > 0
    keys = [(each.column, each.whole.distance, each.whole.tied) for each in found]
    assert len(set(keys)) == len(keys)


def test_facts_that_tie_rows_are_told():
    """Then the caveat says what the factor holds for."""
    policy = bf.Policy(Domain((integers("a", 0, 9),)), constraints=[bf.Count("a < 5")])

    caveats = {each.whole.caveat for each in examples(policy, ONE, TENTH)}

    assert any("tie this row to others" in caveat for caveat in caveats)


def test_large_and_uncounted_columns_are_no_trouble(monkeypatch):
    """Millions of cells are not searched; columns without cells are named as left out."""
    schema = pa.DataFrameSchema(
        {
            "wide": pa.Column(int, pa.Check.in_range(0, 1_000_000), metadata=bf.threshold(5)),
            "bare": pa.Column(float, metadata=bf.threshold(5)),
        }
    )
    policy = bf.Policy(schema)

    assert _told(policy)["wide", "neighbours"][1] == 1
    assert left_out(policy) == "Of bare no pairs are listed: they have no cells."
    monkeypatch.setattr(promise, "COLUMNS", 2)
    assert "3 more secrets" in left_out(bf.datasets.patients_policy())
