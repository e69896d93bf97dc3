"""Bounds are read by value, on cell edges, and wrong ones are refused."""

import time

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import (
    ArgumentError,
    DeclaredValueError,
    DomainTooLargeError,
    UnboundedColumnError,
)
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.queries.call.ordered_column import (
    cells,
    describe_bounds,
    listed_bounds,
    ordered_attribute,
    prefixes,
    range_labels,
    ranges,
    read_bounds,
)
from pandas_blowfish.queries.call.scope import Scope

AGE = integers("age", 0, 99)
TENS = from_dict("tens", {"type": "integer", "min": 0, "max": 99, "step": 10})
PAY = from_dict("pay", {"type": "float", "min": 0, "max": 50, "step": "0.5"})
DAY = from_dict("day", {"type": "datetime", "min": "2026-01-01", "max": "2026-01-31", "step": "1D"})
SIZE = from_dict("size", {"type": "category", "values": ["s", "m", "l"], "ordered": True})
LISTED = from_dict("listed", {"type": "integer", "values": [0, 1, 5, 9]})
KIND = from_dict("kind", {"type": "category", "values": ["a", "b"], "ordered": False})


@pytest.mark.parametrize(
    ("attribute", "bounds", "cut"),
    [
        (AGE, [(0, 17), (18, 64), (65, None)], [(0, 18), (18, 65), (65, 100)]),
        (AGE, (None, 4), [(0, 5)]),
        (AGE, np.array([[3, 3], [0, 99]]), [(3, 4), (0, 100)]),
        (AGE, pd.IntervalIndex.from_tuples([(1, 2)], closed="both"), [(1, 3)]),
        (AGE, [pd.Interval(1, 2, closed="both")], [(1, 3)]),
        (TENS, [(0, 9), (10, 99)], [(0, 1), (1, 10)]),
        (PAY, [(0, 0.5), ("1.5", 50), (0.5, None), (0, 50.5)], [(0, 1), (3, 100), (1, 101), (0, 101)]),
        (DAY, [("2026-01-01", "2026-01-08"), (pd.Timestamp("2026-01-31"), None)], [(0, 8), (30, 31)]),
        (SIZE, [("s", "m"), ("l", "l")], [(0, 2), (2, 3)]),
        (LISTED, [(1, 9)], [(1, 4)]),
    ],
)
def test_bounds_are_cells(attribute, bounds, cut):
    """Values are inclusive, bins half open, None is an end."""
    starts, stops = read_bounds(attribute, bounds)

    assert list(zip(starts.tolist(), stops.tolist(), strict=True)) == cut


@pytest.mark.parametrize(
    ("attribute", "bounds"),
    [
        (AGE, []),
        (AGE, "some"),
        (AGE, 3),
        (AGE, [(1, 2, 3)]),
        (AGE, [(5, 4)]),
        (AGE, [(0, 100)]),
        (AGE, [(-1, 4)]),
        (AGE, [(0.5, 4)]),
        (AGE, [("x", 4)]),
        (AGE, pd.Interval(1, 2, closed="left")),
        (TENS, [(0, 5)]),
        (TENS, [(5, 19)]),
        (PAY, [(0, 0.3)]),
        (PAY, [(0.3, 1)]),
        (PAY, [(1, 1)]),
        (PAY, [(0, 60)]),
        (PAY, [(0, 50.25)]),
        (DAY, [("2026-01-01", "2026-01-01 12:00")]),
        (SIZE, [("m", "s")]),
        (SIZE, [("s", "xl")]),
        (LISTED, [(2, 5)]),
    ],
)
def test_wrong_bounds_are_typed_errors(attribute, bounds):
    """Empty, reversed, outside, off the edges, of the wrong kind."""
    with pytest.raises((ArgumentError, DeclaredValueError)):
        read_bounds(attribute, bounds)


def test_bounds_are_described_as_plain_data():
    """What the ledger keeps is JSON."""
    assert describe_bounds(AGE, [(0, 4), (5, 99)]) == describe_bounds(AGE, [(None, 4), (5, None)])
    assert describe_bounds(AGE, [(1, 4)]) == [[1, 4]]
    assert describe_bounds(AGE, "all") == "all"
    assert describe_bounds(SIZE, [("m", "m")]) == [["m", "m"]]
    assert describe_bounds(PAY, [(0.5, 1)]) == [[0.5, 1]]
    spelt = [("2026-01-02", "2026-01-02"), (pd.Timestamp("2026-01-02"), pd.Timestamp("2026-01-03"))]
    assert describe_bounds(DAY, spelt[:1]) == describe_bounds(DAY, spelt[1:])
    assert listed_bounds((0, 3)) == [(0, 3)]


def test_columns_without_an_order_or_bounds_are_refused():
    """Order must be declared, and cells must exist."""
    policy = bf.Policy(Domain((KIND, from_dict("free", {"type": "float"}))))

    with pytest.raises(ArgumentError, match="no order"):
        ordered_attribute(policy, "kind")
    with pytest.raises(UnboundedColumnError):
        ordered_attribute(policy, "free")


def test_ranges_merge_cells_that_nothing_tells_apart():
    """Atoms are what bounds cut; cells in no range are atoms, or not counted at all."""
    policy = bf.Policy(Domain((AGE,)))

    whole, inner, alone = ranges(policy, Scope(), "age", [(18, 64), (30, 40)])

    assert alone.matrix.toarray().tolist() == [[0, 1, 1, 1, 0], [0, 0, 1, 0, 0]]
    assert whole.size == 5
    assert inner.size == 3
    assert [end.tolist() for end in whole.ends] == [[1, 2], [4, 3]]
    assert [end.tolist() for end in inner.ends] == [[0, 1], [3, 2]]
    assert (inner.tally.marks[0] >= 0).sum() == 47
    assert len(ranges(policy, Scope(), "age", [(None, 4), (5, None)])) == 2


def test_every_range_has_a_limit():
    """All ranges of a long column are too many."""
    policy = bf.Policy(Domain((integers("x", 0, 99_999), AGE)))

    assert ranges(policy, Scope(), "age", "all")[0].per_line == 5050
    with pytest.raises(DomainTooLargeError):
        ranges(policy, Scope(), "x", "all")


def test_missing_rows_are_on_no_line():
    """cumhist, quantile and range are about rows with a value."""
    policy = bf.Policy(Domain((integers("x", 0, 4, nullable=True),)))

    asked = prefixes(policy, Scope(), "x")

    assert asked.tally.marks[0].tolist() == [0, 1, 2, 3, 4, -1]
    assert asked.per_line == 5


def test_a_histogram_runs_along_its_last_column():
    """Of several columns the last is the axis, the others are groups."""
    policy = bf.Policy(Domain((SIZE, AGE)))
    tally = Scope().tally(policy, ["size", "age"], None)

    asked = cells(tally)

    assert (asked.groups, asked.size) == (3, 100)
    assert asked.index.equals(tally.index)


@pytest.mark.parametrize(
    ("attribute", "shown"),
    [
        (AGE, ["[0, 9]", "[5, 5]"]),
        (SIZE, ["s..l", "m"]),
        (PAY, ["[0.0, 5.0)", "[2.5, 3.0)"]),
    ],
)
def test_labels_may_overlap_and_repeat(attribute, shown):
    """Ranges are named by their ends."""
    cut = {"age": ([0, 5], [10, 6]), "size": ([0, 1], [3, 2]), "pay": ([0, 5], [10, 6])}[attribute.name]

    labels = range_labels(attribute, *map(np.array, cut))

    assert [str(label) for label in labels] == shown
    assert len(range_labels(attribute, np.array([0, 0]), np.array([2, 2]))) == 2


@pytest.mark.parametrize("verb", ["hist", "cumhist", "quantile", "range"])
def test_cells_are_counted_before_they_are_listed(verb):
    """A step of 1e-9 is a typed error at once, and no gigabytes of labels."""
    column = {"type": "float", "min": 0, "max": 1, "step": "1e-9"}
    plan = bf.Policy.from_dict({"blowfish": 1, "columns": {"x": column}}).plan
    arguments = {"quantile": ([0.5],), "range": ([(0, 1)],)}.get(verb, ())
    begun = time.process_time()

    with pytest.raises(DomainTooLargeError):
        getattr(plan, verb)("x", *arguments, epsilon=1)

    assert time.process_time() - begun < 0.1
