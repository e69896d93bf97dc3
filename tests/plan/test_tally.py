"""Bins mean what numpy.histogram and pandas users expect, on cell edges only."""

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import (
    ArgumentError,
    ArgumentTypeError,
    DeclaredValueError,
    DomainTooLargeError,
    UnboundedColumnError,
    UndeclaredColumnError,
)
from pandas_blowfish.plan.call_text import call_text
from pandas_blowfish.plan.tally import describe_bins, listed_bins, tally
from pandas_blowfish.policy.attribute import Unbounded, Values
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.queries.call.call_reader import parse_call

AGE = integers("age", 0, 99)
PRICE = from_dict("price", {"type": "float", "min": 0, "max": 1, "step": 0.1})
SEX = from_dict("sex", {"type": "category", "values": ["F", "M", "X"]})
DAY = from_dict("day", {"type": "datetime", "min": "2020-01-01", "max": "2020-01-31", "step": "1D"})
BOUND = Domain((AGE, PRICE, SEX, DAY, integers("rank", 0, 9, nullable=True)))


@pytest.mark.parametrize("last", [99, 100, 250])
def test_integer_edges_are_those_of_numpy(last):
    """[low, next low), the last bin closed; ends beyond the domain are clipped."""
    values = np.arange(100)

    asked = tally(BOUND, ["age"], [0, 18, 65, last])

    assert [str(label) for label in asked.index] == ["[0, 17]", "[18, 64]", "[65, 99]"]
    assert np.bincount(asked.labels()).tolist() == np.histogram(values, [0, 18, 65, last])[0].tolist()


def test_float_edges_lie_on_cells():
    """Float bins are [low, high); an edge inside a cell is refused, the declared end is included."""
    asked = tally(BOUND, ["price"], [0, 0.3, 1])

    assert asked.labels().tolist() == [0] * 3 + [1] * 8
    with pytest.raises(DeclaredValueError, match="edge of a cell"):
        tally(BOUND, ["price"], [0, 0.25, 1])


def test_cells_outside_the_edges_are_not_counted():
    """Edges that do not cover the domain leave cells out."""
    asked = tally(BOUND, ["age"], [20, 30, 40])

    assert (asked.labels() >= 0).sum() == 21  # the last edge, 40, belongs to the last bin
    assert asked.labels()[19] == -1


def test_a_number_of_bins_cuts_evenly():
    """bins=4 gives four runs of cells whose lengths differ by one at most."""
    asked = tally(BOUND, ["age"], 7)

    sizes = np.bincount(asked.labels())
    assert sizes.sum() == 100
    assert sizes.max() - sizes.min() <= 1


def test_groups_name_their_bins():
    """A dict gathers values under its keys, in its order."""
    asked = tally(BOUND, ["sex"], {"known": ["F", "M"], "other": ["X"]})

    assert asked.index.tolist() == ["known", "other"]
    assert asked.labels().tolist() == [0, 0, 1]


def test_missing_has_its_own_last_bin():
    """A nullable column keeps its missing cell apart whatever the bins."""
    asked = tally(BOUND, ["rank"], 2)

    assert asked.labels().tolist() == [0] * 5 + [1] * 5 + [2]
    assert pd.isna(asked.index[-1])


def test_several_columns_are_in_c_order():
    """The last column varies fastest, and bins are given by column."""
    asked = tally(BOUND, ["sex", "rank"], {"rank": 2})

    assert asked.shape == (3, 3)
    assert asked.index.names == ["sex", "rank"]
    assert asked.labels()[:11].tolist() == [0] * 5 + [1] * 5 + [2]
    assert asked.labels()[11] == 3


def test_days_are_binned_on_instants():
    """Datetime edges may be text or Timestamps."""
    asked = tally(BOUND, ["day"], ["2020-01-01", pd.Timestamp("2020-01-08"), "2020-01-31"])

    assert np.bincount(asked.labels()).tolist() == [7, 24]


@pytest.mark.parametrize(
    ("columns", "bins", "error"),
    [
        (["age"], 0, ArgumentError),
        (["age"], 101, ArgumentError),
        (["age"], True, ArgumentError),
        (["age"], "5", ArgumentError),
        (["age"], [5], ArgumentError),
        (["age"], [9, 5], ArgumentError),
        (["age"], [5, 5], ArgumentError),
        (["age"], [0.5, 3], DeclaredValueError),
        (["age"], [3, None, 9], ArgumentError),
        (["age"], ["a", "b"], ArgumentError),
        (["sex"], 2, ArgumentError),
        (["sex"], {}, ArgumentError),
        (["sex"], {"a": ["F"], "b": ["F"]}, ArgumentError),
        (["sex"], {"a": "F"}, ArgumentError),
        (["sex"], {"a": ["Q"]}, DeclaredValueError),
        (["sex"], {"a": []}, ArgumentError),
        (["age", "sex"], 3, ArgumentError),
        (["age", "sex"], {"price": 3}, ArgumentError),
        (["nobody"], None, UndeclaredColumnError),
    ],
)
def test_bins_that_make_no_sense_are_refused(columns, bins, error):
    """Every wrong shape of `bins` has a typed error."""
    with pytest.raises(error):
        tally(BOUND, columns, bins)


def test_unbounded_columns_have_no_cells():
    """A column without bounds cannot be counted in cells."""
    with pytest.raises(UnboundedColumnError):
        tally(Domain((Unbounded("x", "float", False),)), ["x"], None)


def test_huge_answers_are_refused_before_memory_is():
    """More than 10^8 bins are refused with the figure."""
    wide = Domain((integers("a", 0, 10**6), integers("b", 0, 10**6)))

    with pytest.raises(DomainTooLargeError) as caught:
        tally(wide, ["a", "b"], None)

    assert caught.value.size == (10**6 + 1) ** 2


def test_bins_are_described_as_plain_data():
    """The ledger keeps bins as JSON."""
    assert describe_bins(listed_bins({"age": np.array([0, 5])})) == [["age", [0, 5]]]
    assert describe_bins({"sex": {"a": ["F"]}}) == [["sex", [["a", ["F"]]]]]
    assert describe_bins(listed_bins(np.int64(3))) == 3
    assert describe_bins([pd.Timestamp("2020-01-01")]) == ["2020-01-01T00:00:00"]


@pytest.mark.parametrize("bins", ["x", 2.5, object()])
def test_what_is_no_bins_is_named_by_its_type(bins):
    """The error names what was given and what is taken, of a frame and of a release."""
    policy = bf.datasets.patients_policy()
    df = bf.datasets.patients(50).blowfish.protect(policy, epsilon=1)
    released = df.blowfish.hist("age", epsilon="1/2")

    for ask in (policy.plan.hist, lambda _, bins: released.blowfish.hist(bins=bins)):
        with pytest.raises(ArgumentTypeError, match=f"a {type(bins).__name__} is neither a number"):
            ask("age", bins=bins)


DAYS = Domain((from_dict("t", {"type": "datetime", "min": "2026-01-15", "max": "2026-04-10", "step": "1D"}),))
TENS = Domain((integers("n", 0, 100, 10), integers("m", 0, 9, nullable=True)))


def _sizes(domain, column, bins):
    """Return how many cells each bin has, then how many are in none."""
    labels = tally(domain, [column], listed_bins(bins)).labels()
    return np.bincount(labels[labels >= 0]).tolist(), int((labels < 0).sum())


@pytest.mark.parametrize(
    ("domain", "column", "bins", "sizes", "none"),
    [
        (DAYS, "t", "MS", [17, 28, 31, 10], 0),
        (DAYS, "t", "ME", [17, 28, 31, 10], 0),
        (DAYS, "t", pd.offsets.QuarterBegin(startingMonth=1), [76, 10], 0),
        (DAYS, "t", pd.Timedelta("30D"), [30, 30, 26], 0),
        (DAYS, "t", [None, "2026-02-01", pd.NaT], [17, 69], 0),
        (DAYS, "t", pd.date_range("2026-02-01", periods=3, freq="MS"), [28, 31], 27),
        (
            DAYS,
            "t",
            pd.interval_range(pd.Timestamp("2026-02-01"), periods=2, freq="7D", closed="left"),
            [7, 7],
            72,
        ),
        (DAYS, "t", ["[-inf, 2026-02-01)"], [17], 69),
        (TENS, "n", pd.IntervalIndex.from_breaks([-1, 49, 99]), [5, 5], 1),
        (TENS, "n", [pd.Interval(100, np.inf, "both")], [1], 10),
        (TENS, "n", [pd.Interval(0, 99, "both")], [10], 1),
        (TENS, "n", [-np.inf, 50, np.inf], [5, 6], 0),
        (TENS, "m", [None, None], [10, 1], 0),
        (TENS, "m", pd.IntervalIndex.from_tuples([(0, 3), (6, 9)], closed="left"), [3, 3, 1], 4),
        (TENS, "m", pd.IntervalIndex.from_tuples([(0, 3), None], closed="neither"), [2, 1], 8),
        (BOUND, "age", pd.Interval(0, 17, closed="both"), [18], 82),
    ],
)
def test_intervals_open_ends_and_frequencies(domain, column, bins, sizes, none):
    """As pandas reads them, on cells; what is missing has a bin of its own, last."""
    assert _sizes(domain, column, bins) == (sizes, none)
    again = parse_call(
        call_text({"verb": "hist", "columns": [column], "bins": describe_bins(listed_bins(bins))}, 1)
    )
    assert _sizes(domain, column, again.arguments["bins"]) == (sizes, none)


def test_listed_instants_are_cut_by_frequencies():
    """Periods without a declared value are left out."""
    values = [pd.Timestamp(each) for each in ("2026-01-03", "2026-01-09", "2026-03-01")]
    domain = Domain((Values("t", "datetime", False, tuple(values)),))

    assert _sizes(domain, "t", "MS") == ([2, 1], 0)


def test_a_frequency_off_the_cells_names_a_step_that_works():
    """Weeks that begin on a Thursday hold no month; days of a zone hold no day once clocks change."""
    spec = {"type": "datetime", "min": "2026-01-01", "max": "2026-04-10", "step": "7D"}
    zoned = {
        **spec,
        "min": "2026-03-01 00:00+01:00",
        "tz": "Europe/Paris",
        "step": "1D",
        "max": "2026-04-10 00:00+02:00",
    }

    with pytest.raises(ArgumentError, match="step='1D'"):
        tally(Domain((from_dict("t", spec),)), ["t"], "MS")
    with pytest.raises(ArgumentError, match="step='1h'"):
        tally(Domain((from_dict("t", zoned),)), ["t"], "D")
