"""Layouts of releases: wide and back, schema order, whatever labels and dtypes there are."""

import numpy as np
import pandas as pd
import pytest

from pandas_blowfish.arrangement import lengthen, schema_order, widen
from pandas_blowfish.errors import FrameError

LABELS = {
    "numbers": pd.Index([3, 1, 2], name="n"),
    "categories": pd.CategoricalIndex(["b", "a", "c"], categories=["b", "a", "c"], name="c"),
    "missing": pd.Index([1.0, 2.0, np.nan], name="m"),
    "missing category": pd.CategoricalIndex(["b", "a", None], categories=["b", "a"], name="c"),
    "bins": pd.IntervalIndex.from_breaks([0, 1, 5, 9], closed="left", name="i"),
    "instants": pd.date_range("2026-01-01", periods=3, tz="UTC", name="t"),
    "flags": pd.Index([False, True, np.nan], dtype=object, name="f"),
}


def _long(inner, outer):
    index = pd.MultiIndex.from_product([*outer, inner])
    frame = pd.DataFrame({"count": np.arange(len(index), dtype=float), "std": 1.0}, index=index)
    frame["value"] = pd.date_range("2026-01-01", periods=len(index))
    frame.attrs["blowfish"] = {"kind": "release"}
    return frame


@pytest.mark.parametrize("inner", LABELS)
@pytest.mark.parametrize("outer", [["categories"], ["bins", "missing"]], ids=str)
def test_a_wide_frame_is_long_again(inner, outer):
    """The same labels, values, dtypes and receipt."""
    frame = _long(LABELS[inner], [LABELS[name].rename(f"outer {name}") for name in outer])

    table = widen(frame)

    pd.testing.assert_frame_equal(lengthen(table), frame, check_index_type=False)
    assert lengthen(table).attrs == frame.attrs == table.attrs
    assert table["count"].shape == (len(frame) // 3, 3)
    assert lengthen(frame) is frame
    assert widen(frame.droplevel([*range(len(outer))]).iloc[:3]).columns.nlevels == 1
    with pytest.raises(FrameError, match="columns are not"):
        lengthen(table.iloc[:, 1:])
    with pytest.raises(FrameError, match="columns are not"):
        lengthen(
            table.iloc[:, ::-1]
            .sort_index(axis=1, level=0, sort_remaining=False)
            .iloc[:, [1, 0, *range(2, 9)]]
        )


@pytest.mark.parametrize("inner", [name for name in LABELS if name != "numbers"])
def test_schema_order_is_restored(inner):
    """However rows were exchanged: categories as declared, numbers rising, missing values last."""
    frame = _long(LABELS[inner], [LABELS["categories"].rename("outer")])

    mixed = frame.sample(frac=1, random_state=1)

    pd.testing.assert_frame_equal(schema_order(mixed), frame)
    alone = frame.iloc[:3].droplevel(0)
    pd.testing.assert_frame_equal(schema_order(alone[::-1]), alone)
