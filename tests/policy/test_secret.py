"""Secrets: plain dicts a person writes, and the graphs they become."""

import datetime as dt
import itertools
import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, DomainTooLargeError, SecretError
from pandas_blowfish.policy.attribute import Unbounded
from pandas_blowfish.policy.domain import from_dict, integers
from pandas_blowfish.policy.secret import build, fit

DAYS = {"type": "datetime", "min": "2020-01-01", "max": "2020-01-31", "step": "1D"}
LETTERS = {"type": "category", "values": ["a", "b", "c"]}


def graph(secret, column):
    """Return the graph of a secret on a column."""
    return build(secret["blowfish"], column)


@pytest.mark.parametrize(
    ("secret", "expected"),
    [
        (bf.full(), {"secret": "full"}),
        (bf.full(0.5), {"secret": "full", "step": 0.5}),
        (bf.full(step=pd.Timedelta("1D")), {"secret": "full", "step": "1D"}),
        (bf.full(missing="public"), {"secret": "full", "missing": "public"}),
        (bf.threshold(5), {"secret": "threshold", "theta": 5}),
        (bf.threshold(np.int64(5), 10), {"secret": "threshold", "theta": 5, "step": 10}),
        (bf.threshold(Decimal("0.5")), {"secret": "threshold", "theta": "0.5"}),
        (bf.threshold(Fraction(1, 3)), {"secret": "threshold", "theta": "1/3"}),
        (bf.threshold("12h"), {"secret": "threshold", "theta": "12h"}),
        (bf.threshold(dt.timedelta(days=1)), {"secret": "threshold", "theta": "1D"}),
        (bf.threshold(np.timedelta64(1, "D")), {"secret": "threshold", "theta": "1D"}),
        (bf.threshold(pd.offsets.Hour(1)), {"secret": "threshold", "theta": "1h"}),
        (
            bf.threshold(50, metric="l2", scale={"lat": 111.2, "lon": 71}),
            {"secret": "threshold", "theta": 50, "metric": "l2", "scale": {"lat": "111.2", "lon": 71}},
        ),
        (bf.partition([["a"], ("b", "c")]), {"secret": "partition", "groups": [["a"], ["b", "c"]]}),
        (bf.public(), {"secret": "public"}),
        (bf.public(step=2), {"secret": "public", "step": 2}),
        (bf.edges([("a", "b"), [1, 2.5]]), {"secret": "edges", "pairs": [["a", "b"], [1, 2.5]]}),
        (
            bf.edges([(pd.Timestamp("2020-01-01"), "x")]),
            {"secret": "edges", "pairs": [["2020-01-01T00:00:00", "x"]]},
        ),
    ],
)
def test_secrets_are_plain_dicts(secret, expected):
    """Every constructor returns JSON-able metadata under one key."""
    assert secret == {"blowfish": expected}
    assert json.loads(json.dumps(secret)) == secret


@pytest.mark.parametrize(
    "make",
    [
        lambda: bf.threshold(0),
        lambda: bf.threshold(-1),
        lambda: bf.threshold(True),
        lambda: bf.threshold(float("nan")),
        lambda: bf.threshold(None),
        lambda: bf.threshold(pd.Timedelta(0)),
        lambda: bf.threshold(5, metric="l3"),
        lambda: bf.threshold(5, scale={"lat": 0}),
        lambda: bf.threshold(5, scale={"lat": "north"}),
        lambda: bf.threshold(5, scale=5),
        lambda: bf.full(step=True),
        lambda: bf.full(step=[1]),
        lambda: bf.full(missing=["secret"]),
        lambda: bf.edges([("a", "b", "c")]),
        lambda: bf.edges(["ab"]),
        lambda: bf.edges([1]),
        lambda: bf.edges(5),
    ],
)
def test_senseless_arguments_are_refused_at_once(make):
    """A slip in a constructor is an ArgumentError where it is written."""
    with pytest.raises(ArgumentError):
        make()


@pytest.mark.parametrize(
    ("theta", "step", "reach"), [(5, 1, 5), (3, 10, 1), (10, 10, 1), (11, 10, 2), (0.5, 1, 1), ("1/3", 1, 1)]
)
def test_theta_reaches_ceil_theta_over_step_bins(theta, step, reach):
    """Cells are joined when some of their values are within theta, so a small theta joins neighbours."""
    column = integers("x", 0, 99, step)

    result = graph(bf.threshold(theta), column)

    assert result.adjacent(0, reach)
    assert not result.adjacent(0, reach + 1)


def test_gaps_are_not_jumped():
    """Distances are taken on the declared cells: not every value in between exists."""
    even = from_dict("x", {"type": "integer", "values": [0, 2, 4, 6]})
    far = from_dict("x", {"type": "integer", "values": [0, 1, 5]})

    assert graph(bf.threshold(3), even).distance(0, 3) == 3
    assert graph(bf.threshold(1), far).distance(0, 2) == math.inf
    assert graph(bf.threshold(1), far).distance(0, 1) == 1


@pytest.mark.parametrize("theta", ["0.1", "0.25", 1, "2.5"])
def test_listed_numbers_are_joined_by_distance(theta):
    """Unsorted, uneven numbers are joined exactly when they are within theta."""
    values = [2.5, 0.1, 0.35, 0.2, 9, 0.6]
    column = from_dict("x", {"type": "float", "values": values})

    result = graph(bf.threshold(theta), column)

    for a, b in itertools.combinations(range(len(values)), 2):
        near = abs(Fraction(str(values[a])) - Fraction(str(values[b]))) <= Fraction(theta)
        assert result.adjacent(a, b) == near


def test_ordered_categories_count_positions():
    """Theta is a number of positions for ordered categories and bools; others have none."""
    ranked = from_dict("c", {**LETTERS, "ordered": True})

    result = graph(bf.threshold(1), ranked)

    assert (result.adjacent(0, 1), result.adjacent(0, 2)) == (True, False)
    assert graph(bf.threshold(1), from_dict("b", {"type": "bool"})).adjacent(0, 1)
    with pytest.raises(SecretError, match="no distances"):
        graph(bf.threshold(1), from_dict("c", LETTERS))
    with pytest.raises(SecretError, match="positions"):
        graph(bf.threshold("1.5"), ranked)


@pytest.mark.parametrize(("theta", "reach"), [("1D", 1), ("36h", 2), ("12h", 1), (dt.timedelta(days=3), 3)])
def test_instants_take_spans(theta, reach):
    """Datetime thetas are anything pandas.Timedelta takes, listed instants included."""
    column = from_dict("t", DAYS)
    stamps = from_dict("t", {"type": "datetime", "values": ["2020-01-01", "2020-01-02", "2020-01-05"]})

    result = graph(bf.threshold(theta), column)

    assert (result.adjacent(0, reach), result.adjacent(0, reach + 1)) == (True, False)
    assert graph(bf.threshold("1D"), stamps).distance(0, 2) == math.inf
    assert graph(bf.threshold("72h"), stamps).distance(0, 2) == 2


def test_scale_converts_theta():
    """A scale divides theta into the column's own units."""
    column = integers("x", 0, 9)

    result = graph(bf.threshold(50, scale={"x": 10}), column)

    assert (result.adjacent(0, 5), result.adjacent(0, 6)) == (True, False)


def test_edges_are_just_the_pairs():
    """Listed pairs are joined, in whatever order, and nothing else."""
    column = from_dict("c", LETTERS)

    result = graph(bf.edges([("b", "a"), ("a", "b")]), column)

    assert result.edge_count == 1
    assert result.adjacent(0, 1)
    assert graph(bf.edges([]), column).edge_count == 0


@pytest.mark.parametrize(
    ("secret", "spec"),
    [
        ({"secret": "secret"}, LETTERS),
        ({"secret": None}, LETTERS),
        ({}, LETTERS),
        ({"secret": ["full"]}, LETTERS),
        ({"secret": "full", "theta": 5}, LETTERS),
        ({"secret": "full", "missing": "no"}, LETTERS),
        ({"secret": "threshold"}, DAYS),
        ({"secret": "threshold", "theta": 5}, DAYS),
        ({"secret": "threshold", "theta": "soon"}, DAYS),
        ({"secret": "threshold", "theta": "-1D"}, DAYS),
        ({"secret": "threshold", "theta": "0"}, {"type": "integer", "min": 0, "max": 9}),
        ({"secret": "threshold", "theta": "1D"}, {"type": "integer", "min": 0, "max": 9}),
        ({"secret": "threshold", "theta": 1, "metric": "l9"}, {"type": "integer", "min": 0, "max": 9}),
        ({"secret": "threshold", "theta": 1, "scale": {"x": 0}}, {"type": "integer", "min": 0, "max": 9}),
        ({"secret": "threshold", "theta": 1, "scale": 5}, {"type": "integer", "min": 0, "max": 9}),
        ({"secret": "edges", "pairs": [["a", "z"]]}, LETTERS),
        ({"secret": "edges", "pairs": [["a", None]]}, LETTERS),
    ],
    ids=str,
)
def test_secrets_that_do_not_fit_are_refused(secret, spec):
    """What cannot be read on its column is a SecretError that names the column."""
    with pytest.raises(SecretError) as caught:
        build(secret, from_dict("x", spec))

    assert caught.value.column == "x"


@pytest.mark.parametrize("thetas", [(5, 5.0, "5", "5.0", Fraction(5), Decimal("5")), (0.5, "0.5", "1/2")])
def test_one_theta_has_one_form(thetas):
    """However a number was written, the fitted secret is the same."""
    column = integers("x", 0, 9)

    forms = {json.dumps(fit(bf.threshold(theta)["blowfish"], column)) for theta in thetas}

    assert len(forms) == 1


def test_one_span_has_one_form():
    """An hour is an hour, however it was written."""
    column = from_dict("t", DAYS)

    forms = {
        json.dumps(fit(bf.threshold(t)["blowfish"], column)) for t in ("1h", "60min", pd.Timedelta("1h"))
    }

    assert len(forms) == 1


def test_columns_without_countable_cells_take_only_distances():
    """Groups and pairs need cells: neither an unbounded nor an endless column has them."""
    endless = integers("x", 0, 10**15)

    assert fit(bf.threshold(5)["blowfish"], Unbounded("x", "float", False)) == {
        "secret": "threshold",
        "theta": 5,
    }
    assert fit(bf.full()["blowfish"], endless) == {"secret": "full"}
    with pytest.raises(SecretError, match="no bounds"):
        fit(bf.partition(10)["blowfish"], Unbounded("x", "float", False))
    with pytest.raises(DomainTooLargeError):
        fit(bf.partition(10)["blowfish"], endless)
