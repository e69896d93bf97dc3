"""Scenarios are read as they are written, and what makes no sense is refused."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from pandas_blowfish.beyond import scenario as module
from pandas_blowfish.beyond.scenario import Scenario, scenario
from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, DomainTooLargeError

DATABASES = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1)]
FIRST = (lambda d: d[0] == 0, lambda d: d[0] == 1)


def told(database):
    """Return a mechanism that tells how many ones there are, half of the time."""
    return {sum(database): "1/2", "none": "1/2"}


def noisy(database):
    """Return a mechanism whose output speaks for the number of ones."""
    return {"yes": Fraction(1 + sum(database), 5), "no": Fraction(4 - sum(database), 5)}


def laws(made):
    """Return the cases of a scenario in full: prior, secret, and two dicts of probabilities."""
    full = [
        {made.databases[p]: Fraction(w, law.total) for p, w in zip(law.places, law.weights, strict=True)}
        for law in made.laws
    ]
    return [(case.prior, case.secret, full[case.first], full[case.second]) for case in made.cases]


def test_ten_lines():
    """What a user writes first."""
    exam = scenario(databases=DATABASES, priors={"even": [1, 1, 1, 1]}, secrets=[FIRST])

    verdict = exam.check(told, epsilon=1)

    assert not verdict.holds
    assert verdict.ratio == math.inf
    assert (verdict.witness.prior, verdict.witness.secret, verdict.witness.output) == ("even", 0, 0)
    assert exam.check(noisy).ratio == 3  # (2 + 3 + 4) / 15 of yes, against 1 / 5
    assert "4" in repr(exam)
    assert "even" in exam._repr_html_()


@pytest.mark.parametrize(
    "prior",
    [
        [1, 2, 3, 4],
        ("1/10", "1/5", "3/10", "2/5"),
        [0.1, 0.2, 0.3, 0.4],
        np.array([1, 2, 3, 4]),
        dict(zip(DATABASES, [5, 10, 15, 20], strict=True)),
        pd.Series([1.0, 2.0, 3.0, 4.0], index=pd.Index(DATABASES, tupleize_cols=False)),
    ],
)
def test_priors_are_read_in_every_form(prior):
    """Weights in order or by database mean the same law, exactly."""
    made = Scenario(DATABASES, {"p": prior}, {"first": FIRST})

    ((name, secret, one, two),) = laws(made)

    assert (name, secret) == ("p", "first")
    assert one == {DATABASES[0]: 1}
    assert two == {DATABASES[k]: Fraction(k + 1, 9) for k in (1, 2, 3)}


def test_statements_are_functions_or_collections():
    """Both say of which databases they are true."""
    one = Scenario(DATABASES, [[1, 1, 1, 1]], {"first": FIRST})
    two = Scenario(DATABASES, [[1, 1, 1, 1]], {"first": ({DATABASES[0]}, DATABASES[1:])})

    assert laws(one) == laws(two)


def test_impossible_statements_are_skipped():
    """A pair is not compared under a prior that rules one statement out; if nothing is left that is said."""
    made = Scenario(DATABASES, [[0, 1, 1, 1], [1, 1, 0, 0]], [FIRST])

    assert made.skipped == 1
    assert [case[:2] for case in made.cases] == [(1, 0)]
    assert made.check(lambda d: {d: 1} if d == DATABASES[0] else {DATABASES[1]: 1}).skipped == 1
    with pytest.raises(ArgumentError, match="no pair to check"):
        Scenario(DATABASES, [[0, 1, 1, 1]], [FIRST])


def test_rows_nobody_believes_in_are_not_asked_for():
    """A database of weight 0 everywhere needs no row."""
    made = Scenario(DATABASES, [[1, 1, 0, 0]], [FIRST])

    assert made.check({each: told(each) for each in DATABASES[:2]}).ratio == math.inf


def test_records_are_all_tables_of_independent_records():
    """Every table, the product of the laws, and every pair of values of every record."""
    made = Scenario.records(["u", "v", "w"], 2, {"same": [1, 2, 3], "own": [[1, 1, 1], {"u": 1, "w": 3}]})

    assert made.databases == tuple(itertools.product("uvw", repeat=2))
    found = {(prior, secret): (one, two) for prior, secret, one, two in laws(made)}
    assert len(found) == 6 + 4
    assert made.skipped == 2  # the second record is never "v"
    one, two = found["same", "record 0: u or w"]
    assert one == {("u", x): Fraction(k, 6) for x, k in zip("uvw", (1, 2, 3), strict=True)}
    assert two == {("w", x): Fraction(k, 6) for x, k in zip("uvw", (1, 2, 3), strict=True)}
    one, two = found["own", "record 1: u or w"]
    assert one == {(x, "u"): Fraction(1, 3) for x in "uvw"}


def test_records_take_other_secrets():
    """Pairs of one's own are over tuples."""
    made = Scenario.records(
        [0, 1], 3, {"fair": [0.5, 0.5]}, {"all": (lambda d: sum(d) == 3, lambda d: not sum(d))}
    )

    assert made.check({each: {sum(each) > 1: 1} for each in made.databases}).ratio == math.inf
    assert len(made.cases) == 1


def test_conditional_laws_are_compared_as_they_are():
    """Laws may be given for each statement; they need not come from one prior."""
    made = Scenario.conditional(
        ["a", "b", "c"], {"p": {"s": ([1, 1, 0], {"b": 1, "c": 3})}, "q": {"t": ([0, 0, 2], [0, 0, 1])}}
    )
    table = {"a": {0: "1/2", 1: "1/2"}, "b": {0: "1/4", 1: "3/4"}, "c": {0: "1/8", 1: "7/8"}}

    verdict = made.check(table, 1)

    assert verdict.ratio == Fraction(3, 8) / Fraction(5, 32)
    assert verdict.holds
    assert verdict.witness[:4] == ("p", "s", "first against second", 0)


def test_equal_laws_are_kept_once():
    """Many priors that say the same of a pair cost no more than one."""
    made = Scenario(DATABASES, [[1, 1, 1, 1]] * 50, [FIRST])

    assert len(made.cases) == 50
    assert len(made.laws) == 2


@pytest.mark.parametrize(
    ("databases", "priors", "secrets", "error", "said"),
    [
        ([], [[1]], [FIRST], ArgumentError, "there are none"),
        ([[0]], [[1]], [FIRST], ArgumentTypeError, "cannot be a key"),
        ([([0],)], [[1]], [FIRST], ArgumentTypeError, "cannot be a key"),
        ([0, 0], [[1, 1]], [([0], [0])], ArgumentError, "listed twice"),
        (DATABASES, [1, 1, 1, 1], [FIRST], ArgumentTypeError, "priors"),
        (DATABASES, {DATABASES[0]: 1}, [FIRST], ArgumentTypeError, "priors"),
        (DATABASES, [], [FIRST], ArgumentTypeError, "priors"),
        (DATABASES, {"p": [1, 1]}, [FIRST], ArgumentError, "prior 'p': not one weight"),
        (DATABASES, {"p": [1, 1, 1, -1]}, [FIRST], ArgumentError, "below 0"),
        (DATABASES, {"p": [0, 0, 0, 0]}, [FIRST], ArgumentError, "all 0"),
        (DATABASES, {"p": {(9,): 1}}, [FIRST], ArgumentError, "is not listed"),
        (DATABASES, [[1, 1, 1, "x"]], [FIRST], ArgumentError, "not a number"),
        (DATABASES, [[1, 1, 1, 1]], [FIRST[0]], ArgumentTypeError, "not a pair"),
        (DATABASES, [[1, 1, 1, 1]], [(3, 4)], ArgumentTypeError, "no statement"),
        (DATABASES, [[1, 1, 1, 1]], [([(7, 7)], [])], ArgumentError, "is not listed"),
        (DATABASES, [[1, 1, 1, 1]], {"mine": (FIRST[0], lambda d: True)}, ArgumentError, "both .* 'mine'"),
    ],
)
def test_bad_scenarios_are_refused(databases, priors, secrets, error, said):
    """Each with a typed error that says what is wrong."""
    with pytest.raises(error, match=said):
        Scenario(databases, priors, secrets)


@pytest.mark.parametrize(
    ("values", "n", "priors", "error"),
    [
        ([0, 1], 0, [[1, 1]], ArgumentError),
        ([0, 1], 1.5, [[1, 1]], ArgumentError),
        ([0, 1], 10**9, [[1, 1]], ArgumentError),
        ([0, 1], 40, [[1, 1]], DomainTooLargeError),
        ([0, 1], 3, [[[1, 1], [1, 1]]], ArgumentError),
        ([0, 1], 2, [[1, 1, 1]], ArgumentError),
    ],
)
def test_bad_records_are_refused(values, n, priors, error):
    """Sizes and laws that do not fit."""
    with pytest.raises(error):
        Scenario.records(values, n, priors)


def test_limits_are_said(monkeypatch):
    """Too many databases or cases are refused."""
    with pytest.raises(DomainTooLargeError, match="databases"):
        Scenario(itertools.count(), [[1]], [FIRST])
    monkeypatch.setattr(module, "CASES", 3)
    with pytest.raises(DomainTooLargeError, match="cases"):
        Scenario(DATABASES, [[1, 1, 1, 1]] * 4, [FIRST])


def test_scenarios_do_not_change():
    """A scenario is a value."""
    made = Scenario(DATABASES, [[1, 1, 1, 1]], [FIRST])

    with pytest.raises(AttributeError):
        made.cases = ()
