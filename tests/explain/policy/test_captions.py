"""Captions say what the policy keeps, and no more."""

import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import UndeclaredColumnError
from pandas_blowfish.explain.policy.captions import (
    both,
    briefly,
    describe_promise,
    note_of,
    secret_of,
    theta_of,
)
from pandas_blowfish.explain.policy.reach import reach_of
from pandas_blowfish.policy.domain import Domain, integers, numeric_attribute, values_attribute

A, B = integers("a", 0, 99, nullable=True), integers("b", 0, 9)
W = values_attribute("w", "category", list("abc"), nullable=False)
PAY = numeric_attribute("pay", "float", 0, 50_000, 100)


def _policy(secrets=None, **given):
    return bf.Policy(Domain((A, B, W, PAY)), secrets=secrets, **given)


@pytest.mark.parametrize(
    ("column", "secret", "said", "short"),
    [
        ("a", bf.threshold(5), "values up to 5 apart stay indistinguishable", "up to 5 apart"),
        ("pay", bf.threshold(10_000), "values up to 10000 apart, in whole cells stay", "up to 10,000 apart"),
        ("w", bf.full(), "every two values stay indistinguishable", "every value"),
        ("w", bf.public(), "no pair is protected, everyone knows the value", "public"),
        ("w", bf.edges([("a", "b")]), "the 1 listed pair stays indistinguishable", "listed pairs"),
        ("w", bf.partition([["a"], ["b", "c"]]), "values of the same group (2 groups) stay", "same group"),
    ],
)
def test_what_is_kept(column, secret, said, short):
    """A sentence for a title, a few words for a lane; whether a value is missing is said elsewhere."""
    policy = _policy({column: secret})

    assert describe_promise(policy, (column,)).startswith(said)
    assert "missing" not in describe_promise(policy, (column,))
    assert briefly(policy, (column,)) == short


def test_brackets_hold_together():
    """What stands in brackets belongs to the distance."""
    policy = _policy({("a", "b"): bf.threshold(5, metric="l2", scale={"a": 2})})

    assert describe_promise(policy, ("a", "b")).endswith(
        "(straight-line distance; a times 2) stay indistinguishable"
    )


def test_thresholds_as_written():
    """Numbers have thousands apart, spans their units."""
    assert theta_of({"theta": 10_000}) == "10,000"
    assert theta_of({"theta": "0.5"}) == "0.5"
    assert theta_of({"theta": "14D"}) == "14D"
    assert theta_of({"theta": "1/3"}) == "1/3"


def test_two_columns():
    """One secret, or two that move together, or one at a time."""
    joint = {("a", "b"): bf.threshold(5)}

    assert both(_policy(joint), ["a", "b"]).startswith("a, b: combinations of values up to 5 apart")
    assert both(_policy(), ["a", "w"]) == "a and w may both change in one step"
    assert both(_policy(neighbors="attribute"), ["a", "w"]) == "a or w may change in one step, not both"


def test_notes():
    """Facts, presence, where steps begin, and that not all is shown."""
    policy = bf.Policy(
        Domain((integers("x", 0, 9_999), W)),
        secrets={"x": bf.threshold(1)},
        presence=True,
        constraints=[bf.Marginal("w")],
    )

    note = note_of(policy, reach_of(policy, ["x"], {"x": 7}), "more")

    assert note == (
        "between tables that agree with all public facts; 'absent' is one step from every value; "
        "steps from x 7; a part of the domain; more"
    )
    assert note_of(_policy()) == ""


def test_secrets_are_found():
    """By any of their columns."""
    policy = _policy({("a", "b"): bf.full()})

    assert secret_of(policy, "b")[0] == ("a", "b")
    with pytest.raises(UndeclaredColumnError):
        secret_of(policy, "nobody")
