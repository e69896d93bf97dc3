"""Findings about errors to be kept, and secret totals: each with what to write instead."""

import pytest

import pandas_blowfish as bf
from pandas_blowfish.beyond.aggregate import Aggregate
from pandas_blowfish.policy import lint
from pandas_blowfish.policy import lint as hints
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.policy.secret import absolute_error, relative_error

GRID = {"type": "float", "min": 1, "max": 100, "step": 1}
DAYS = {"type": "datetime", "min": "2020-01-01", "max": "2020-03-01", "step": "7D"}


@pytest.mark.parametrize(
    ("column", "secret", "kinds"),
    [
        ({"type": "float"}, relative_error("0.9"), ["independent"]),
        ({"type": "float"}, relative_error("0.1"), ["error-wide", "independent"]),
        ({"type": "float"}, absolute_error(5), ["independent"]),
        (GRID, absolute_error(5), ["independent"]),
        (GRID, absolute_error("0.1"), ["theta-below-step", "independent"]),
        (GRID, absolute_error(25), ["theta-wide", "independent"]),
        (DAYS, absolute_error("1D"), ["theta-below-step", "independent"]),
        ({**GRID, "nullable": True}, absolute_error(5), ["missing-joins", "independent"]),
        (
            {**GRID, "nullable": True},
            relative_error(0.5, missing="public"),
            ["missing-public", "independent"],
        ),
        (GRID, bf.threshold(5), []),
    ],
)
def test_findings_are_those_of_the_secret(column, secret, kinds):
    """Each trap is found, and kinds are those that lint lists."""
    found = bf.Policy(Domain((from_dict("x", column),)), secrets={"x": secret}).lint()

    assert [each.kind for each in found] == kinds
    assert set(kinds) <= set(lint.KINDS)
    assert all(each.fix and each.what for each in found)


def test_a_small_c_is_told_apart_from_a_small_error():
    """Within 10% is 0.9; what the fix writes is a policy without the finding."""
    column = from_dict("x", {"type": "float"})
    found = bf.Policy(Domain((column,)), secrets={"x": relative_error("0.1")}).lint()[0]

    assert "within 10% is c=0.9, not 0.1" in found.what
    assert found.fix.startswith("secrets={'x': bf.relative_error('0.9')}")


def test_missing_values_are_written_as_they_were_stated():
    """The other choice names the same error again."""
    column = from_dict("x", {**GRID, "nullable": True})
    found = bf.Policy(Domain((column,)), secrets={"x": absolute_error(5)}).lint()[0]

    assert "bf.absolute_error(5, missing='public')" in found.fix


def test_a_secret_total_says_what_is_left():
    """One release of one thing, and what is assumed."""
    policy = bf.Policy(Domain((integers("x", 0, 9),)), aggregates=[Aggregate("x.sum()", 3)])
    (found,) = policy.lint()

    assert found.kind == "aggregate"
    assert "one release" in found.what
    assert "independent" in found.what
    assert set(lint.KINDS) >= {each[0] for each in hints.hints(policy)}
