"""Rows are given the nearest centre, whatever their storage, and no message shows what is in them."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from pandas_blowfish.count import assign as module
from pandas_blowfish.count.assign import Centres, assign_rows
from pandas_blowfish.errors import FrameError
from pandas_blowfish.policy.domain import from_dict

DRAW = np.random.default_rng(5)
PLACES = np.array([[10.0, 1.0], [40.0, 9.0], [90.0, 2.0]])
UNITS = np.array([0.01, 0.1])
ONE = Centres(("x", "y"), UNITS, (), {0: (np.arange(3), PLACES)})


def _slowly(frame, centres=ONE):
    """Return the nearest centre of each row by the sum of squares itself."""
    points = frame[list(centres.coordinates)].to_numpy(dtype=float)
    numbers, places = centres.lots[0]
    far = (((points[:, None] - places[None]) * centres.units) ** 2).sum(axis=2)
    return numbers[far.argmin(axis=1)].tolist()


def _frame(n=500):
    return pd.DataFrame({"x": DRAW.integers(0, 100, n), "y": DRAW.random(n) * 10}, index=np.arange(n) * 3 + 7)


def test_the_nearest_centre(monkeypatch):
    """As by the sum of squares in the units given, over several chunks, with the frame's own index."""
    monkeypatch.setattr(module, "CHUNK", 64)
    frame = _frame()
    frame.attrs["blowfish"] = {"kind": "protected"}

    found = assign_rows(frame, ONE)

    assert found.tolist() == _slowly(frame)
    assert found.dtype == "Int64"
    assert found.name == "cluster"
    assert found.index.equals(frame.index)
    assert found.attrs == {}


def test_far_from_zero():
    """Coordinates that differ little beside their size are told apart all the same."""
    places = np.array([[1e9], [1e9 + 1]])
    frame = pd.DataFrame({"x": [1e9 - 3, 1e9 + 0.4, 1e9 + 0.6, 1e9 + 7]})

    found = assign_rows(frame, Centres(("x",), np.ones(1), (), {0: (np.array([4, 6]), places)}))

    assert found.tolist() == [4, 4, 6, 6]


def test_ties_are_the_first_centre():
    """A row as near to one centre as to another belongs to the one listed first."""
    centres = Centres(("x",), np.ones(1), (), {0: (np.array([0, 1]), np.array([[0.0], [4.0]]))})

    assert assign_rows(pd.DataFrame({"x": [2, 1, 3]}), centres).tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    "dtype",
    [
        *("int8", "uint16", "float32", "float64", "Int64", "UInt8", "Float32", "int16[pyarrow]"),
        *("double[pyarrow]", "object", "category", "Sparse[int64]", "decimal"),
    ],
)
def test_storage(dtype):
    """The same numbers have the same centres in any dtype of numbers."""
    frame = pd.DataFrame({"x": [0, 12, 27, 60, 99], "y": [1.5, 2, 9, 9, 1]})
    if dtype == "decimal":
        dtype = pd.ArrowDtype(pytest.importorskip("pyarrow").decimal128(21, 1))

    found = assign_rows(frame.astype({"x": dtype}), ONE)

    assert found.tolist() == _slowly(frame)


def test_objects():
    """Numbers of several types, and what is missing, may share a column."""
    values = [10, 10.0, Decimal(10), Fraction(10), np.int8(10), np.float32(10), None, pd.NA, np.nan, pd.NaT]
    values += [10**400, -np.float64(np.inf), Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity")]
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object), "y": 1.0})

    found = assign_rows(frame, ONE)

    assert found.iloc[:6].tolist() == [0] * 6
    assert found.iloc[6:].isna().all()


@pytest.mark.parametrize("dtype", ["float64", "Float64", "double[pyarrow]"])
def test_missing_and_infinite_rows_have_no_centre(dtype):
    """Nor do those whose distance overflows."""
    values = [10.0, np.nan, np.inf, -np.inf, 80.0, 1e308]
    frame = pd.DataFrame({"x": pd.Series(values).astype(dtype), "y": 1.0})
    wide = Centres(("x", "y"), np.array([100.0, 1.0]), (), {0: (np.arange(3), PLACES)})

    assert assign_rows(frame, ONE).isna().tolist() == [False, True, True, True, False, False]
    assert assign_rows(frame, wide).isna().tolist() == [False, True, True, True, False, True]


@pytest.mark.parametrize(
    "values",
    [
        [True, False],
        ["SECRETVALUE", "b"],
        pd.array([True, None], dtype="boolean"),
        pd.to_datetime(["2020-01-01", "2020-01-02"]),
        pd.to_timedelta([1, 2], unit="D"),
        [1 + 2j, 3],
        pd.Series([1, True], dtype=object),
        pd.Series([1, "SECRETVALUE"], dtype=object),
        pd.Series([1, [2]], dtype=object),
        pd.Categorical(["a", "b"]),
    ],
    ids=lambda values: str(getattr(values, "dtype", type(values[0]).__name__)),
)
def test_what_are_no_numbers(values):
    """Are refused by the column's name alone."""
    frame = pd.DataFrame({"x": values, "y": [1.0, 2.0]})

    with pytest.raises(FrameError, match="'x' does not hold numbers") as caught:
        assign_rows(frame, ONE)

    assert caught.value.columns == ["x"]
    assert "SECRETVALUE" not in str(caught.value)


def test_wrong_frames():
    """No DataFrame, a column missing or there twice."""
    for wrong in (None, 5, pd.Series([1], name="x"), {"x": [1], "y": [1]}, np.zeros((2, 2))):
        with pytest.raises(FrameError, match="not a pandas DataFrame"):
            assign_rows(wrong, ONE)
    with pytest.raises(FrameError, match="y"):
        assign_rows(pd.DataFrame({"x": [1]}), ONE)
    with pytest.raises(FrameError, match="twice"):
        assign_rows(pd.DataFrame([[1, 2, 3]], columns=["x", "y", "x"]), ONE)


def test_no_rows():
    """An empty frame has an empty answer, whatever its dtypes."""
    found = assign_rows(pd.DataFrame({"x": [], "y": []}), ONE)

    assert len(found) == 0
    assert found.dtype == "Int64"


GROUPED = {
    "sex": {"type": "category", "values": ["F", "M"]},
    "age": {"type": "integer", "min": 0, "max": 19, "step": 10, "nullable": True},
}
LOTS = {0: [5.0, 50.0], 1: [10.0, 60.0], 2: [30.0], 3: [70.0, 20.0], 5: [1.0]}  # all but M old


def _grouped(clip):
    groups = tuple(from_dict(name, spec) for name, spec in GROUPED.items())
    lots = {lot: (np.arange(len(at)) + 10 * lot, np.array(at)[:, None]) for lot, at in LOTS.items()}
    return Centres(("x",), np.ones(1), groups, lots, clip)


@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_groups_pick_their_centres(chunk, monkeypatch):
    """By the cells of their columns; rows of unknown values, or of groups without centres, have none."""
    monkeypatch.setattr(module, "CHUNK", chunk)
    rows = [
        ("F", 3, 49, 1),
        ("F", 12, 49, 11),
        ("M", 9.0, 49, 30),
        ("M", None, 49, 50),
        ("F", None, 49, 20),
        ("M", 25, 49, None),
    ]
    rows += [("M", 15, 49, None), ("?", 3, 49, None), (None, 3, 49, None), ("F", 25, 49, None)]
    rows += [("F", 3, None, None), ("F", 19, 20, 10)]
    frame = pd.DataFrame(rows, columns=["sex", "age", "x", "wanted"])

    found = assign_rows(frame, _grouped(clip=False))
    clipped = assign_rows(frame, _grouped(clip=True))

    wanted = frame["wanted"].astype("Int64")
    assert found.equals(wanted.rename("cluster"))
    beyond = frame["age"] == 25
    assert clipped[beyond & (frame["sex"] == "F")].tolist() == [11]
    assert clipped[~beyond].equals(found[~beyond])
    for dtype in ("category", "string", "object"):
        assert assign_rows(frame.astype({"sex": dtype}), _grouped(clip=False)).equals(found)
