"""Candidates are the bins that can hold a row, by group; their values have the dtypes of a histogram."""

import numpy as np
import pandas as pd

import pandas_blowfish as bf
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.domain import Domain, from_dict, integers

DOMAIN = Domain(
    (
        integers("x", 0, 3),
        from_dict("s", {"type": "category", "values": ["b", "a"]}),
        from_dict("pay", {"type": "float", "min": 0, "max": 30, "step": 10}),
    )
)
PLAN = bf.Policy(DOMAIN).plan


def test_a_filter_leaves_candidates_and_groups_out():
    """Bins without a cell that passes are no candidates; groups without candidates are not listed."""
    among = PLAN.where("x >= 2 and s == 'a'").groupby("s").mode("x").measurement.candidates

    assert among.values(np.arange(len(among.bins)))["x"].tolist() == [2, 3]
    assert among.sizes.tolist() == [2]
    assert among.index.tolist() == [("a", 1)]


def test_values_have_the_dtypes_of_the_schema():
    """Whole numbers, categories in schema order, intervals; combinations in C order."""
    among = PLAN.mode(["s", "pay", "x"]).measurement.candidates

    found = among.values(np.array([0, 17]))

    assert found["s"].tolist() == ["b", "a"]
    assert found["s"].categories.tolist() == ["b", "a"]
    assert found["x"].dtype == "int64"
    assert isinstance(found["pay"], pd.IntervalIndex)
    whole = PLAN.hist(["s", "pay", "x"]).index
    assert tuple(found[name][1] for name in ("s", "pay", "x")) == whole[17]


def test_ranks_are_the_innermost_level():
    """Groups outermost, in schema order."""
    plan = PLAN.groupby(["s", "x"]).top(2, "pay")

    assert plan.index.names == ["s", "x", "rank"]
    assert plan.index[:3].tolist() == [("b", 0, 1), ("b", 0, 2), ("b", 1, 1)]
    assert len(plan.index) == 16


def test_columns_of_later_rounds_are_those_of_who_is_left():
    """A cell whose candidate was picked is in no query row any more; absent never was."""
    measured = PLAN.top(2, "x", strategy="select").measurement
    cells = Cells({"x": np.array([0, 1, 2, 0])}, np.array([False, False, False, True]))

    later = measured.next_round([np.array([1])])

    assert measured.columns(cells).toarray().T.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0] * 4]
    assert later.columns(cells).toarray().T.tolist() == [[1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert later.apply(np.array([5, 6, 7, 8])).tolist() == [5, 7, 8]
