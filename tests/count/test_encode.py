"""Every storage of a value gets the code of that value, and no value whatever makes it raise."""

import random
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pandas_blowfish as bf
from pandas_blowfish.count.encode import encoder
from pandas_blowfish.count.place import MISSING, OUTSIDE, missing_code
from pandas_blowfish.errors import BlowfishError, DeclaredValueError, OutsideDomainError
from pandas_blowfish.policy.attribute import Unbounded
from pandas_blowfish.policy.domain import Domain, from_dict, integers, numeric_attribute
from pandas_blowfish.policy.policy import Policy

AGE = integers("x", 0, 9)
AGE_OR_NONE = integers("x", 0, 9, nullable=True)
CENT = from_dict("x", {"type": "float", "min": 0, "max": 1, "step": "0.01"})
DAY = from_dict("x", {"type": "datetime", "min": "2020-01-01", "max": "2020-01-10", "step": "1D"})
ZONED = from_dict(
    "x",
    {"type": "datetime", "min": "2020-01-01T00:00+01:00", "max": "2020-01-09T00:00+01:00", "step": "1D"}
    | {"tz": "Europe/Berlin"},
)
FLAG = from_dict("x", {"type": "bool"})
FRUIT = from_dict("x", {"type": "category", "values": ["pear", "fig", "plum"]})


def _codes(values, attribute, clip=False):
    series = values if isinstance(values, pd.Series) else pd.Series(values)
    codes = encoder(series, attribute, clip=clip)(0, len(series))
    assert codes.dtype == np.int64
    return codes.tolist()


def _arrow(values, kind):
    return pd.Series(pa.array(values, type=kind).to_pandas(types_mapper=pd.ArrowDtype))


def _twin(value, attribute):
    try:
        return attribute.code(value)
    except DeclaredValueError:
        return OUTSIDE


INT_STORAGES = [
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
]
INT_STORAGES += ["float64", "longdouble", "Int8", "Int64", "UInt8", "UInt64", "Float32", "Float64", "object"]
INT_STORAGES += ["int64[pyarrow]", "uint8[pyarrow]", "double[pyarrow]", "float[pyarrow]", "category"]
INT_STORAGES += [pd.SparseDtype("int64", 0), pd.SparseDtype("float64")]


@pytest.mark.parametrize("dtype", INT_STORAGES, ids=str)
@pytest.mark.parametrize(
    "attribute",
    [
        AGE,
        AGE_OR_NONE,
        integers("x", 3, 100, 7),
        from_dict("x", {"type": "integer", "values": [7, 3, 12, 0]}),
        from_dict("x", {"type": "integer", "values": [0, 3, 12]}),
        from_dict("x", {"type": "float", "min": 0, "max": "99.5", "step": "2.5"}),
        from_dict("x", {"type": "float", "values": [7, 3.5, 12]}),
    ],
    ids=lambda attribute: attribute.describe(),
)
def test_whole_numbers_in_any_storage(attribute, dtype):
    """Integers are the same numbers in every dtype that can hold them."""
    values = [7, 0, 3, 120, 12, 9, 10, 100, 99, 3]
    expected = [_twin(value, attribute) for value in values]

    stored = pd.Series(values).astype(dtype)

    assert _codes(stored, attribute) == expected


@pytest.mark.parametrize(
    "dtype", ["Int64", "Float64", "float64", "int64[pyarrow]", "double[pyarrow]", "object"]
)
def test_missing_numbers(dtype):
    """A null is the last cell where the schema allows it, and MISSING where not."""
    stored = pd.Series([3, None, 11], dtype=object).astype(dtype)

    assert _codes(stored, AGE_OR_NONE) == [3, 10, OUTSIDE]
    assert _codes(stored, AGE) == [3, MISSING, OUTSIDE]
    assert missing_code(AGE_OR_NONE) == 10


@pytest.mark.parametrize("null", [None, np.nan, pd.NA, pd.NaT, Decimal("NaN"), np.float32("nan")], ids=repr)
@pytest.mark.parametrize("attribute", [AGE, CENT, DAY, FLAG, FRUIT], ids=lambda attribute: attribute.kind)
def test_every_null_is_missing(null, attribute):
    """All ways to write a null mean the same, alone and among other objects."""
    alone = pd.Series([null], dtype=object)
    mixed = pd.Series([null, object(), 1.5, "text"], dtype=object)

    assert _codes(alone, attribute) == [MISSING]
    assert _codes(mixed, attribute)[0] == MISSING


def test_true_is_not_one():
    """A bool is not a number, whatever pandas and Python make of it."""
    listed = from_dict("x", {"type": "category", "values": [1, 0]})

    assert _codes(pd.Series([True, False]), AGE) == [OUTSIDE, OUTSIDE]
    assert _codes(pd.Series([True, False], dtype="boolean"), AGE) == [OUTSIDE, OUTSIDE]
    assert _codes(pd.Series([True, 1, 1.0, 0], dtype=object), AGE) == [OUTSIDE, 1, 1, 0]
    assert _codes(pd.Series([1, True, 1.0, 0], dtype=object), CENT) == [100, OUTSIDE, 100, 0]
    assert _codes(pd.Series([1, True], dtype=object), listed) == [0, OUTSIDE]
    assert _codes(pd.Series(pd.Categorical([True, False])), AGE) == [OUTSIDE, OUTSIDE]
    assert _codes(_arrow([True, False], pa.bool_()), AGE) == [OUTSIDE, OUTSIDE]


@pytest.mark.parametrize("attribute", [AGE, CENT, DAY, FLAG], ids=lambda attribute: attribute.kind)
@pytest.mark.parametrize("dtype", ["str", "object", "category", "string[python]", "string[pyarrow]"])
def test_text_is_never_a_number(attribute, dtype):
    """Text that a person could read as a declared value is outside all the same."""
    stored = pd.Series(["1", "0.5", "2020-01-02", "True", ""], dtype=dtype)

    assert _codes(stored, attribute) == [OUTSIDE] * 5


def test_time_spans_are_not_numbers():
    """numpy counts a timedelta64 among its integers; a column of numbers does not."""
    spans = [np.timedelta64(5, "ns"), np.timedelta64(1, "D")]

    assert _codes(pd.Series(spans, dtype=object), AGE) == [OUTSIDE, OUTSIDE]
    assert _codes(pd.Series(spans), AGE) == [OUTSIDE, OUTSIDE]
    assert _codes(pd.Series([np.timedelta64(1, "ns")], dtype=object), FLAG) == [OUTSIDE]


@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "Float64", "Float32", "double[pyarrow]", "float[pyarrow]"]
)
def test_exact_edges_open_their_cell(dtype):
    """0.29 lies in the cell that begins at 0.29, though 0.29 / 0.01 is 28.999... in floats."""
    stored = pd.Series([hundredths / 100 for hundredths in range(101)]).astype(dtype)

    assert _codes(stored, CENT) == list(range(101))
    assert _codes(stored.astype("category"), CENT) == list(range(101))


@pytest.mark.parametrize("step", ["0.01", "0.1", "0.05", "0.3", "1.7", "0.001", "2.5"])
def test_floats_match_exact_fractions(step):
    """Random values, and every edge with its two neighbouring floats, lie where fractions put them."""
    draw, exact_step = random.Random(step), Fraction(step)
    low = Fraction(draw.randint(-500, 500), 100)
    cells = draw.randint(5, 400)
    high = low + exact_step * cells + exact_step / draw.choice([1, 3, 4]) if draw.random() < 0.5 else low + 7
    grid = numeric_attribute("x", "float", str(Decimal(int(low * 100)) / 100), float(high), step)
    edges = [float(grid.low + i * exact_step) for i in range(grid.cells)]
    values = [draw.uniform(float(low) - 1, float(high) + 1) for _ in range(2_000)]
    values += edges + np.nextafter(edges, -np.inf).tolist() + np.nextafter(edges, np.inf).tolist()

    found = _codes(values, grid)

    for value, code in zip(values, found, strict=True):
        inside = grid.low <= Fraction(repr(value)) <= grid.high
        expected = ((Fraction(repr(value)) - grid.low) / exact_step).__floor__() if inside else OUTSIDE
        assert code == expected, (value, grid.describe())


@pytest.mark.parametrize("dtype", ["float64", "float32", "Float64", "double[pyarrow]", "object"])
def test_bounds_of_floats(dtype):
    """The maximum is inside unless excluded; -0.0 is 0; infinities are outside; subnormals are small."""
    closed = from_dict("x", {"type": "float", "min": 0, "max": "0.3", "step": "0.1"})
    half_open = from_dict(
        "x", {"type": "float", "min": 0, "max": "0.3", "step": "0.1", "exclusive_max": True}
    )
    opened = from_dict("x", {"type": "float", "min": 0, "max": "0.3", "step": "0.1", "exclusive_min": True})
    stored = pd.Series([0.0, -0.0, 0.3, 0.25, np.inf, -np.inf, 1e-40, -1e-40]).astype(dtype)

    assert _codes(stored, closed) == [0, 0, 3, 2, OUTSIDE, OUTSIDE, 0, OUTSIDE]
    assert _codes(stored, half_open) == [0, 0, OUTSIDE, 2, OUTSIDE, OUTSIDE, 0, OUTSIDE]
    assert _codes(stored, opened) == [OUTSIDE, OUTSIDE, 3, 2, OUTSIDE, OUTSIDE, 0, OUTSIDE]
    assert _codes(stored, closed, clip=True) == [0, 0, 3, 2, 3, 0, 0, 0]
    assert _codes(stored, half_open, clip=True) == [0, 0, 2, 2, 2, 0, 0, 0]
    assert _codes(stored, opened, clip=True) == [0, 0, 3, 2, 3, 0, 0, 0]


def test_narrow_floats_with_wide_bounds():
    """A bound or an edge that a narrow float cannot hold neither warns nor misplaces."""
    wide = from_dict("x", {"type": "float", "min": -(10**300), "max": 10**300, "step": 10**299})
    fine = from_dict("x", {"type": "float", "min": 16_777_216, "max": 16_777_220, "step": "0.1"})
    listed = from_dict("x", {"type": "float", "values": [0.1, 1e300]})

    assert _codes(np.array([0, 1, np.inf], dtype="float32"), wide) == [10, 10, OUTSIDE]
    assert _codes(np.array([0, 1, -np.inf], dtype="float16"), wide) == [10, 10, OUTSIDE]
    assert _codes(np.array([16_777_216, 16_777_218], dtype="float32"), fine) == [0, 20]
    assert _codes(np.array([0.1, np.inf, 0.2], dtype="float32"), listed) == [0, OUTSIDE, OUTSIDE]
    assert _codes(np.array([1e300, -1e300, 9.5e299]), wide) == [20, 0, 19]


def test_many_cells_need_no_table():
    """A thousand million cells are coded without listing their edges, in wide and narrow floats."""
    prices = from_dict("x", {"type": "float", "min": "0.07", "max": 10_000_000, "step": "0.01"})
    values = [0.07, 0.29, 0.58, 1.13, 4.35, 123456.78, 9_999_999.99, 10_000_000.0, 0.06, 2.675]

    assert prices.cells == 10**9 - 6
    assert _codes(values, prices) == [_twin(value, prices) for value in values]
    narrow = np.array([0.07, 0.29, 0.58, 1.13, 4.35, 512.25, 10_000_000, 0.06], dtype="float32")
    assert _codes(narrow, prices) == [_twin(value, prices) for value in narrow]


def test_the_whole_range_of_floats():
    """Bounds whose difference overflows still cut where they say."""
    huge = from_dict("x", {"type": "float", "min": "-1.5e308", "max": "1.5e308", "step": "1e307"})
    values = [-1.5e308, -1.45e308, 0.0, 1.45e308, 1.5e308]

    assert _codes(values, huge) == [_twin(value, huge) for value in values]


def test_numbers_near_the_ends_of_64_bits():
    """Nothing wraps around: neither int64, nor uint64, nor Python's own integers."""
    top = integers("x", 2**62 - 11, 2**62 - 1)
    wide = integers("x", -(2**62), 2**61, 2**60)
    odd = integers("x", 0, 2**62 - 2**55 - 1, 2**55)
    values = [2**62 - 1, 2**62 - 11, 2**62 - 12, 2**62, -(2**62), 2**63 - 1, -(2**63), 0]

    assert _codes(values, top) == [_twin(value, top) for value in values]
    assert _codes(values, wide) == [_twin(value, wide) for value in values]
    assert _codes(pd.Series(values, dtype="Int64"), wide) == [_twin(value, wide) for value in values]
    assert _codes(np.array([2**63, 2**64 - 1, 2**61], dtype="uint64"), wide) == [OUTSIDE, OUTSIDE, 6]
    assert _codes(np.array([2**63, 5], dtype="uint64"), wide, clip=True) == [6, 4]
    assert _codes([2.0**62 - 2.0**55, 2.0**61, 1e300], odd) == [OUTSIDE, 64, OUTSIDE]
    assert _codes(pd.Series([2**70, -(2**70), 10**400, 7], dtype=object), AGE) == [
        OUTSIDE,
        OUTSIDE,
        OUTSIDE,
        7,
    ]
    assert _codes(pd.Series([2**70, -(2**70), 10**400, 7], dtype=object), AGE, clip=True) == [9, 0, 9, 7]
    assert _codes(pd.Series([10**400, 0.5], dtype=object), CENT) == [OUTSIDE, 50]


def test_listed_numbers_beyond_int64():
    """Identifiers above 2^63 can be declared, and are told apart to the last digit."""
    listed = from_dict("x", {"type": "integer", "values": [2**63 + 1, 2**63 + 2, 5]})
    last = from_dict("x", {"type": "integer", "values": [2**63 - 1, 5]})
    odd = from_dict("x", {"type": "integer", "values": [2**53 + 1, 5]})

    assert _codes(np.array([2**63 + 2, 2**63 + 1, 2**63, 5], dtype="uint64"), listed) == [1, 0, OUTSIDE, 2]
    assert _codes(pd.Series([2**63 + 2, 5, None], dtype="UInt64"), listed) == [1, 2, MISSING]
    assert _codes(np.array([2**63, 2**63 - 1], dtype="uint64"), last) == [OUTSIDE, 0]
    assert _codes([2.0**53, 5.0], odd) == [OUTSIDE, 1]


def test_large_unsigned_numbers_in_a_float_column():
    """uint64 is not cut off at 2^63 where the declared floats go further."""
    grid = from_dict("x", {"type": "float", "min": 0, "max": "2e19", "step": "1e18"})

    assert _codes(np.array([95 * 10**17, 18 * 10**18], dtype="uint64"), grid) == [9, 18]


def test_decimals_and_fractions():
    """Exact numbers are placed exactly, and clipped like any other."""
    values = pd.Series(
        [Decimal("0.29"), Decimal("1.01"), Decimal("-1"), Decimal("Infinity"), Decimal("1e-30")]
    )
    mixed = pd.Series([Fraction(29, 100), Decimal("0.29"), 0.29, np.float32(0.29), 1], dtype=object)

    assert _codes(values, CENT) == [29, OUTSIDE, OUTSIDE, OUTSIDE, 0]
    assert _codes(values, CENT, clip=True) == [29, 100, 0, 100, 0]
    assert _codes(mixed, CENT) == [29, 29, 29, 29, 100]
    assert _codes(pd.Series([Decimal("3"), Decimal("3.5"), Decimal("30")]), AGE) == [3, OUTSIDE, OUTSIDE]
    assert _codes(pd.Series([Decimal("3"), Decimal("3.5"), Decimal("30")]), AGE, clip=True) == [3, OUTSIDE, 9]
    assert _codes(_arrow([Decimal("0.29"), None], pa.decimal128(5, 2)), CENT) == [29, MISSING]


def test_clip_puts_numbers_into_the_nearest_cell():
    """Beyond a bound means the last cell; what is no declared number inside stays outside."""
    binned = integers("x", 10, 28, 5)
    rising = from_dict("x", {"type": "integer", "values": [2, 5, 9]})
    falling = from_dict("x", {"type": "integer", "values": [9, 5, 2]})

    assert _codes([9, 10, 28, 29, -(2**63)], binned, clip=True) == [0, 0, 3, 3, 0]
    assert _codes([9.5, 10.5, 28.5, np.inf, -np.inf, np.nan], binned, clip=True) == [
        0,
        OUTSIDE,
        3,
        3,
        0,
        MISSING,
    ]
    assert _codes([1, 2, 3, 10], rising, clip=True) == [0, 0, OUTSIDE, 2]
    assert _codes([1.5, 2.0, np.inf], rising, clip=True) == [0, 0, 2]
    assert _codes([1, 2, 10], falling, clip=True) == [OUTSIDE, 2, OUTSIDE]
    assert _codes(["apple", "fig"], FRUIT, clip=True) == [OUTSIDE, 1]
    assert _codes(pd.Series([11, None], dtype="Int64"), AGE_OR_NONE, clip=True) == [9, 10]


STAMPS = [
    "2020-01-01",
    "2020-01-03 23:59:59",
    "2020-01-10",
    "2020-01-11",
    "2019-12-31",
    "1500-01-01",
    "3000-01-01",
]


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_instants_in_any_unit(unit):
    """Seconds to microseconds are the same instants, however far they reach."""
    stored = pd.Series(np.array(STAMPS, dtype=f"datetime64[{unit}]"))
    expected = [0, 2, 9, OUTSIDE, OUTSIDE, OUTSIDE, OUTSIDE]

    assert _codes(stored, DAY) == expected
    assert _codes(stored, DAY, clip=True) == [0, 2, 9, 9, 0, 0, 9]
    assert _codes(stored.astype("category"), DAY) == expected
    assert _codes(stored.astype(object), DAY) == expected
    assert _codes(stored.astype(object), DAY, clip=True) == [0, 2, 9, 9, 0, 0, 9]
    assert _codes(_arrow(stored.to_numpy(), pa.timestamp(unit)), DAY) == expected
    assert _codes(pd.Series(list(stored.to_numpy()), dtype=object), DAY) == expected


def test_nanoseconds_and_nulls():
    """Nanosecond storage, NaT, and Arrow's own nulls."""
    stored = pd.Series(pd.to_datetime([*STAMPS[:5], None], format="ISO8601")).astype("datetime64[ns]")

    assert _codes(stored, DAY) == [0, 2, 9, OUTSIDE, OUTSIDE, MISSING]
    copied = stored.copy()  # pandas 3.0.0 writes into what it casts to Arrow
    assert _codes(copied.astype("timestamp[ns][pyarrow]"), DAY) == [0, 2, 9, OUTSIDE, OUTSIDE, MISSING]
    assert _codes(stored.astype(object), DAY) == [0, 2, 9, OUTSIDE, OUTSIDE, MISSING]
    assert _codes(pd.Series([np.datetime64("2020-01-03", "ns"), None], dtype=object), DAY) == [2, MISSING]


def test_days_as_dates():
    """datetime.date, datetime.datetime and Arrow's dates are instants at midnight."""
    days = [date(2020, 1, 1), date(2020, 1, 4), date(1, 1, 1), date(9999, 12, 31)]

    assert _codes(pd.Series(days, dtype=object), DAY) == [0, 3, OUTSIDE, OUTSIDE]
    assert _codes(_arrow(days, pa.date32()), DAY) == [0, 3, OUTSIDE, OUTSIDE]
    assert _codes(pd.Series([datetime(2020, 1, 2, 12), date(2020, 1, 2)], dtype=object), DAY) == [1, 1]


def test_arrow_instants_that_python_cannot_hold():
    """A year Python has no datetime for is outside, not an error."""
    far = pa.array([2**45, 1_577_836_800, None], type=pa.int64())

    assert _codes(pd.Series(far.cast(pa.timestamp("s")).to_pandas(types_mapper=pd.ArrowDtype)), DAY) == [
        OUTSIDE,
        0,
        MISSING,
    ]
    days = pa.array([2**30, 18_262, None], type=pa.int32()).cast(pa.date32())
    assert _codes(pd.Series(days.to_pandas(types_mapper=pd.ArrowDtype)), DAY) == [OUTSIDE, 0, MISSING]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC", "Asia/Tokyo", "America/New_York"])
def test_instants_in_another_zone(zone):
    """An aware instant is the same in every zone; a naive one is never the same as an aware one."""
    stamps = pd.Series(
        pd.to_datetime(["2020-01-01T00:00+01:00", "2020-01-02T23:59+01:00", "2019-12-31T23:59+01:00"])
    )
    stored = stamps.dt.tz_convert(zone)

    assert _codes(stored, ZONED) == [0, 1, OUTSIDE]
    assert _codes(stored.astype(object), ZONED) == [0, 1, OUTSIDE]
    assert _codes(stored.astype(pd.ArrowDtype(pa.timestamp("us", zone))), ZONED) == [0, 1, OUTSIDE]
    assert _codes(stored.dt.tz_localize(None), ZONED) == [OUTSIDE] * 3
    assert _codes(stored, DAY) == [OUTSIDE] * 3
    assert _codes(stored.astype(object), DAY) == [OUTSIDE] * 3


def test_nulls_of_the_wrong_zone_are_still_nulls():
    """A column of nothing but NaT holds no instant that could be of the wrong kind."""
    nullable = from_dict(
        "x", {"type": "datetime", "min": "2020-01-01", "max": "2020-01-02", "step": "1D", "nullable": True}
    )
    aware = pd.Series([pd.NaT, pd.NaT]).dt.tz_localize("UTC")

    assert _codes(aware, nullable) == [2, 2]
    assert _codes(pd.Series([None, np.nan], dtype=object), nullable) == [2, 2]
    assert _codes(pd.Series([np.nan, np.nan]), nullable) == [2, 2]


def test_storage_coarser_or_finer_than_the_step():
    """Whole seconds fall into 250 ms cells, and nanoseconds into hours, by integer arithmetic."""
    quarter = from_dict(
        "x",
        {"type": "datetime", "min": "2020-01-01T00:00:00.250", "max": "2020-01-01T00:00:03", "step": "250ms"},
    )
    opened = from_dict(
        "x",
        {"type": "datetime", "min": "2020-01-01", "max": "2020-01-01T06:00", "step": "1h"}
        | {"exclusive_min": True, "exclusive_max": True},
    )
    seconds = pd.Series(pd.date_range("2020-01-01", periods=5, freq="1s", unit="s"))
    times = ["2020-01-01", "2020-01-01T00:00:00.000000001", "2020-01-01T05:59:59.999999999"]
    fine = pd.Series(np.array(times, dtype="datetime64[ns]"))
    rough = pd.Series(np.array(["2020-01-01T00", "2020-01-01T01", "2020-01-01T06"], dtype="datetime64[s]"))

    assert _codes(seconds, quarter) == [OUTSIDE, 3, 7, 11, OUTSIDE]
    assert _codes(seconds, quarter, clip=True) == [0, 3, 7, 11, 11]
    assert _codes(fine, opened) == [OUTSIDE, 0, 5]
    assert _codes(rough, opened) == [OUTSIDE, 1, OUTSIDE]


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_bounds_further_apart_than_int64_nanoseconds(unit):
    """300 years and more between the bounds do not wrap around."""
    centuries = from_dict("x", {"type": "datetime", "min": "1700-01-01", "max": "2200-01-01", "step": "1D"})
    values = ["1700-01-01", "1969-12-31", "2024-02-29", "2199-12-31"]
    stored = pd.Series(np.array(values, dtype=f"datetime64[{unit}]"))

    assert _codes(stored, centuries) == [_twin(value, centuries) for value in values]


def test_listed_instants():
    """Declared instants match in any unit, also beyond nanoseconds, and clip when they rise."""
    listed = from_dict(
        "x", {"type": "datetime", "values": ["2020-01-01", "2020-01-02T00:00:00.5", "3000-01-01"]}
    )
    stored = pd.Series(
        np.array(["2020-01-01", "2020-01-02T00:00:00.500", "3000-01-01"], dtype="datetime64[ms]")
    )

    assert _codes(stored, listed) == [0, 1, 2]
    assert _codes(stored.astype(object), listed) == [0, 1, 2]
    assert _codes(stored.astype("datetime64[s]"), listed) == [0, OUTSIDE, 2]
    assert _codes(stored[:2].astype("datetime64[ns]"), listed) == [0, 1]
    assert _codes(np.array(["1999-01-01", "4000-01-01"], dtype="datetime64[s]"), listed, clip=True) == [0, 2]


def test_numbers_are_not_instants():
    """An integer in a datetime column is outside, and an instant in a column of numbers too."""
    assert _codes([0, 1_577_836_800], DAY) == [OUTSIDE, OUTSIDE]
    assert _codes(pd.Series([datetime(2020, 1, 1), 5], dtype=object), AGE) == [OUTSIDE, 5]
    assert _codes(pd.Series(pd.to_datetime(["2020-01-01"])), AGE) == [OUTSIDE]
    assert _codes(pd.Series(pd.period_range("2020-01-01", periods=2)), DAY) == [OUTSIDE, OUTSIDE]


BOOL_STORAGES = [
    "bool",
    "boolean",
    "object",
    "bool[pyarrow]",
    "category",
    "int64",
    "float32",
    "Int8",
    "uint8[pyarrow]",
]


@pytest.mark.parametrize("dtype", BOOL_STORAGES)
def test_bools_in_any_storage(dtype):
    """False and True, also as 0 and 1."""
    stored = pd.Series([True, False, True]).astype(dtype)

    assert _codes(stored, FLAG) == [1, 0, 1]


def test_bools_with_nulls_and_strangers():
    """Nulls have their cell; 2 and 0.5 are no bools; declared order counts."""
    nullable = from_dict("x", {"type": "bool", "nullable": True})
    swapped = from_dict("x", {"type": "bool", "values": [True, False]})

    assert _codes(pd.Series([True, None, False], dtype="boolean"), nullable) == [1, 2, 0]
    assert _codes(pd.Series([True, None, False], dtype=object), nullable) == [1, 2, 0]
    assert _codes(pd.Series([True, None, False], dtype="bool[pyarrow]"), FLAG) == [1, MISSING, 0]
    assert _codes([0, 1, 2], FLAG) == [0, 1, OUTSIDE]
    assert _codes([0.0, 0.5, np.nan], nullable) == [0, OUTSIDE, 2]
    assert _codes([True, False], swapped) == [0, 1]


TEXT_STORAGES = ["str", "object", "string[pyarrow]", "string[python]", "category", pd.ArrowDtype(pa.string())]
TEXT_STORAGES += [
    pd.ArrowDtype(pa.large_string()),
    pd.CategoricalDtype(["plum", "unused", "kiwi", "pear", "fig"]),
]


@pytest.mark.parametrize("dtype", TEXT_STORAGES, ids=str)
@pytest.mark.parametrize("kind", ["category", "string"])
def test_text_in_any_storage(dtype, kind):
    """Strings are coded in schema order, whatever order or dtype stores them."""
    attribute = from_dict("x", {"type": kind, "values": ["pear", "fig", "plum"], "nullable": True})
    stored = pd.Series(["plum", "kiwi", None, "pear", "fig"], dtype=dtype)  # astype("str") may write "None"

    assert _codes(stored, attribute) == [2, OUTSIDE, 3, 0, 1]
    assert _codes(stored, FRUIT) == [2, OUTSIDE, MISSING, 0, 1]


def test_categories_unused_and_foreign():
    """Only categories that rows use can be outside; permuted ones are mapped by value."""
    stored = pd.Series(pd.Categorical(["fig", "fig"], categories=["alien", "fig", "pear"]))
    numbers = pd.Series(pd.Categorical([3, 1, 2], categories=[2, 3, 1, 99], ordered=True))
    intervals = pd.Series(pd.cut([0.5], [0, 1]))
    narrow = pd.Series(np.array([0.29], dtype="float32")).astype("category")

    assert _codes(stored, FRUIT) == [1, 1]
    assert _codes(numbers, AGE) == [3, 1, 2]
    assert _codes(intervals, CENT) == [OUTSIDE]
    assert _codes(narrow, CENT) == [29]


@pytest.mark.parametrize("attribute", [AGE, CENT, DAY, FLAG, FRUIT], ids=lambda attribute: attribute.kind)
@pytest.mark.parametrize(
    "dtype", ["int64", "float64", "object", "str", "datetime64[ns]", "bool", "category", "Int64"]
)
def test_empty_columns(attribute, dtype):
    """No rows have no codes, whatever the dtype."""
    assert _codes(pd.Series([], dtype=dtype), attribute) == []


def test_sliced_and_strided_columns():
    """Views with steps, columns of a shared block and reversed ones are read in their own order."""
    block = pd.DataFrame(np.arange(40).reshape(10, 4) % 10)
    values = pd.Series(np.arange(20) % 10)
    expected = [_twin(value, AGE) for value in values[::3]]

    assert _codes(values[::3], AGE) == expected
    assert _codes(values[::3].astype("int64[pyarrow]")[1:], AGE) == expected[1:]
    assert _codes(values[::-1], AGE) == values[::-1].tolist()
    assert _codes(block[2], AGE) == block[2].tolist()
    assert _codes(block[2].astype(float)[::2], CENT, clip=True) == [min(v, 1) * 100 for v in block[2][::2]]
    assert encoder(values, AGE, clip=False)(5, 8).tolist() == [5, 6, 7]


def test_coding_leaves_the_rows_alone():
    """Codes may share memory with the column, so nobody may write into them by accident."""
    values = pd.Series(np.array([1, 2, 300, 4]))

    _codes(values, AGE)
    _codes(values, AGE, clip=True)

    assert values.tolist() == [1, 2, 300, 4]


def test_numbers_without_cells():
    """A column without bounds is coded by value for the seal: equal values, equal codes."""
    free = from_dict("x", {"type": "float"})
    whole = Unbounded("x", "integer", True)
    moment = from_dict("x", {"type": "datetime", "nullable": True})
    values = pd.Series([1, 5, -3])
    stamps = pd.Series(pd.to_datetime(["2020-01-01", None]))

    same = [
        _codes(values.astype(kind), free)
        for kind in ("int64", "float64", "Int64", "object", "category", "float32")
    ]

    assert all(codes == same[0] for codes in same)
    assert len(set(same[0])) == 3
    assert _codes([-0.0], free) == _codes([0.0], free)
    narrow = [pd.Series([0.7, -0.8], dtype=kind) for kind in ("float32", "float16", "Float32")]
    narrow += [each.astype(object).map(each.dtype.type, na_action=None) for each in narrow[:2]]
    assert all(_codes(each, free) == _codes([0.7, -0.8], free) for each in narrow)
    assert _codes(pd.Series(["SECRET", None, 1.0, 10**400], dtype=object), free)[:2] == [OUTSIDE, MISSING]
    assert _codes(pd.Series(["SECRET", "2"]), free) == [OUTSIDE, OUTSIDE]
    assert _codes([np.inf, np.nan], free) == [OUTSIDE, MISSING]
    assert _codes([1.5, np.nan], whole) == [OUTSIDE, missing_code(whole)]
    assert _codes(pd.Series(pd.Categorical([1, None])), whole)[1] == missing_code(whole)
    assert (
        len({tuple(_codes(stamps.astype(f"datetime64[{unit}]"), moment)) for unit in ("s", "ms", "us", "ns")})
        == 1
    )
    assert _codes(stamps.astype(object), moment) == _codes(stamps, moment)


class _Hostile:
    """An object that raises whatever is asked of it."""

    def __hash__(self):
        raise RuntimeError("hash")

    def __eq__(self, other):
        raise RuntimeError("eq")

    def __repr__(self):
        raise RuntimeError("repr")

    def __bool__(self):
        raise RuntimeError("bool")


ODD = [
    [1],
    {},
    {1},
    (1, 2),
    b"1",
    1j,
    object(),
    _Hostile(),
    Decimal("sNaN"),
    Decimal("1e999999"),
]
ODD += [
    np.array([1, 2]),
    pd.Series([1]),
    pd.Interval(0, 1),
    pd.Period("2020"),
    pd.Timedelta("1D"),
    timedelta(1),
]
ODD += [
    np.datetime64("NaT", "ns"),
    np.timedelta64("NaT", "ns"),
    10**5000,
    -(10**5000),
    float("inf"),
    np.longdouble(1) / 3,
]
ODD += [datetime.max, datetime.min, date.min, datetime.max.replace(tzinfo=UTC), "\ud800", "", int, range(3)]
ODD += [
    datetime(2020, 1, 1, tzinfo=timezone(timedelta(hours=3))),
    Ellipsis,
    np.void(b"x"),
    np.str_("fig"),
    lambda: 1,
]
EVERY = [AGE, AGE_OR_NONE, CENT, DAY, ZONED, FLAG, FRUIT, from_dict("x", {"type": "float"})]
EVERY += [
    from_dict("x", {"type": "integer", "values": [1, 2]}),
    from_dict("x", {"type": "datetime", "nullable": True}),
]


def _column(values):
    column = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        column[place] = value
    return pd.Series(column, dtype=object)


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("attribute", EVERY, ids=lambda attribute: f"{attribute.kind}-{attribute.nullable}")
@pytest.mark.parametrize("place", range(len(ODD)))
def test_no_object_makes_it_raise(place, attribute, clip):
    """Anything can be in an object column: alone, and among values that are declared."""
    alone = _codes(_column([ODD[place]]), attribute, clip=clip)
    among = _codes(_column([ODD[place], 1, "fig", True, None]), attribute, clip=clip)

    assert alone[0] == among[0]
    assert among[1:] == _codes(_column([1, "fig", True, None]), attribute, clip=clip)


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.floats(width=16),
    st.decimals(),
    st.fractions(),
    st.complex_numbers(),
    st.text(max_size=4),
    st.binary(max_size=3),
    st.datetimes(),
    st.dates(),
    st.timedeltas(),
    st.lists(st.integers(), max_size=2),
    st.sampled_from(
        ["pear", "fig", 1, 0.29, pd.Timestamp("2020-01-05"), np.int8(4), np.float32(0.5), np.bool_(True)]
    ),
)


@settings(max_examples=150, deadline=None)
@given(values=st.lists(ANYTHING, max_size=6), place=st.integers(0, len(EVERY) - 1), clip=st.booleans())
def test_objects_are_coded_one_by_one_as_together(values, place, clip):
    """The code of a value does not depend on the rows around it, and is a cell or a refusal."""
    attribute = EVERY[place]

    together = _codes(_column(values), attribute, clip=clip)

    assert together == [_codes(_column([value]), attribute, clip=clip)[0] for value in values]
    if attribute.bounded:
        assert all(MISSING <= code < attribute.size for code in together)


@settings(max_examples=150, deadline=None)
@given(
    values=st.lists(st.one_of(st.integers(-20, 20), st.integers(), st.decimals(-2, 2, places=3)), min_size=1)
)
def test_numbers_match_the_scalar_twin(values):
    """Where the policy's own reading of a constant gives a cell, the row gets the same one."""
    for attribute in (AGE, CENT, integers("x", -7, 12, 3)):
        expected = [_twin(value, attribute) for value in values]

        assert _codes(_column(values), attribute) == expected


def test_no_value_reaches_a_message(capsys):
    """Encoding refuses by codes, never by words."""
    try:
        codes = _codes(pd.Series(["SECRETVALUE"]), AGE)
    except BlowfishError as error:  # pragma: no cover
        pytest.fail(str(error))

    assert codes == [OUTSIDE]
    assert "SECRETVALUE" not in "".join(capsys.readouterr())


def test_a_rows_cell_does_not_depend_on_other_rows():
    """Equal numbers of different width are coded each by itself, whatever stands around them."""
    grid = from_dict("x", {"type": "float", "min": 0, "max": 1, "step": 0.1})
    narrow = np.float32(0.7)

    alone = [
        int(encoder(pd.Series([v], dtype=object), grid, clip=False)(0, 1)[0]) for v in (float(narrow), narrow)
    ]
    together = encoder(pd.Series([float(narrow), narrow, narrow], dtype=object), grid, clip=False)(0, 3)

    assert alone == [6, 7]
    assert together.tolist() == [6, 7, 7]


@pytest.mark.parametrize("kind", ["integer", "float"])
def test_numbers_that_floats_would_round_are_outside_or_clipped(kind):
    """Without bounds, and whatever holds them; types that a column mixes are clipped alike."""
    column = from_dict("x", {"type": kind, "step": 1000})
    most = _codes([2.0**53], column)
    large = [2**53 + 1, 10**400, np.int64(2**60), Decimal(2**53 + 1), Fraction(10**20), np.uint64(2**63)]

    for value in large:
        assert _codes(pd.Series([value], dtype=object), column) == [OUTSIDE]
        assert _codes(pd.Series([value], dtype=object), column, clip=True) == most
    assert _codes(pd.Series([2**53 + 1, None], dtype="Int64"), column)[0] == OUTSIDE
    assert _codes(pd.Series([2.0**54], dtype=object), column, clip=True) == most
    assert _codes(pd.Series([2**53, np.float16(2)], dtype=object), column) == _codes([2.0**53, 2.0], column)
    assert (_codes(pd.Series([Decimal("1.00000000000000000001")]), column) == [OUTSIDE]) == (
        kind == "integer"
    )


MISSINGS = {
    "None": None,
    "nan": float("nan"),
    "numpy nan": np.float64("nan"),
    "NA": pd.NA,
    "NaT": pd.NaT,
    "datetime64 NaT": np.datetime64("NaT", "ns"),
    "Decimal NaN": Decimal("NaN"),
}
HELD = {
    "string": ({"type": "string", "values": ["a", "b"]}, "a"),
    "category": ({"type": "category", "values": ["a", "b"]}, "a"),
    "numbered": ({"type": "category", "values": [1, 2]}, 1),
    "integer": ({"type": "integer", "min": 0, "max": 9}, 0),
    "float": ({"type": "float", "min": 0, "max": 9, "step": 1}, 0.5),
    "bool": ({"type": "bool"}, False),
    "datetime": ({"type": "datetime", "min": "2020-01-01", "max": "2020-01-09", "step": "1D"}, "2020-01-01"),
}


@pytest.mark.parametrize("missing", MISSINGS.values(), ids=MISSINGS)
@pytest.mark.parametrize(("spec", "value"), HELD.values(), ids=HELD)
def test_every_kind_of_missing_is_missing(spec, value, missing):
    """In object columns, alone or among others; refused, naming the column, where not declared."""
    value = pd.Timestamp(value) if spec["type"] == "datetime" else value
    nullable, plain = (from_dict("x", {**spec, "nullable": each}) for each in (True, False))
    for rows in ([value, missing], [missing], [missing, missing], [missing, value, None, pd.NaT, missing]):
        stored = np.empty(len(rows), dtype=object)
        stored[:] = rows
        series = pd.Series(stored, dtype=object)

        known = [0 if row is value else None for row in rows]
        assert _codes(series, nullable) == [nullable.cells if code is None else code for code in known]
        assert _codes(series, plain) == [MISSING if code is None else code for code in known]
        assert _codes(series.astype("category"), plain) == _codes(series, plain)
        with pytest.raises(OutsideDomainError) as refused:
            pd.DataFrame({"x": series}).blowfish.protect(Policy(Domain((plain,))), epsilon=1)
        assert refused.value.columns == ["x"]


@pytest.mark.parametrize(("spec", "value"), HELD.values(), ids=HELD)
def test_a_signalling_nan_is_missing(spec, value):
    """Of all nulls it alone has no hash, and raises when it is compared."""
    value = pd.Timestamp(value) if spec["type"] == "datetime" else value
    nullable, plain = (from_dict("x", {**spec, "nullable": each}) for each in (True, False))
    series = _column([Decimal("sNaN"), value, Decimal("-sNaN1"), None])

    found = bf.check(pd.DataFrame({"x": series}), Policy(Domain((nullable,)))).loc["x"]

    assert _codes(series, nullable) == [nullable.cells, 0, nullable.cells, nullable.cells]
    assert _codes(series, plain) == [MISSING, 0, MISSING, MISSING]
    assert _codes(series.iloc[:1], plain) == [MISSING]
    assert (found["missing"], found["outside"], found["status"]) == (3, 0, "ok")


DAYS = [pd.Timestamp("2020-01-02"), None, pd.Timestamp("2020-01-03"), None]
STORED = {
    "string": (["a", None, "b", None], [pa.string(), "str", "object", "category", "string[python]"]),
    "category": (["b", None, "a", None], [pa.large_string(), "str", "category", "string[pyarrow]"]),
    "integer": ([3, None, 0, None], [pa.int8(), pa.float32(), pa.decimal128(5, 1), "Int8", "Float64"]),
    "float": ([3, None, 0, None], [pa.int64(), pa.float64(), "Int64", "Float32", "float64", "category"]),
    "bool": ([True, None, False, None], [pa.bool_(), "boolean", "category", "object"]),
    "datetime": (DAYS, [pa.timestamp("s"), pa.timestamp("ns"), pa.date32(), "datetime64[s]", "category"]),
}


@pytest.mark.parametrize("kind", STORED)
def test_missing_is_never_outside_in_any_storage(kind):
    """Whatever the version of pandas, and the rows are left as they are.

    An audit saw missing text coded as outside with older pandas, and NaT in object columns with 3.0.0. Both
    were lost before: `astype(str)` of pandas 2 writes "None", and 3.0.0 writes 1970 over the NaT of a column
    that it casts to Arrow. So no column here comes from a cast of another that holds a null.
    """
    (rows, storages), spec = STORED[kind], HELD[kind][0]
    nullable, plain = (from_dict("x", {**spec, "nullable": each}) for each in (True, False))
    columns = [
        pd.Series(rows, dtype=each) if isinstance(each, str) else _arrow(rows, each) for each in storages
    ]
    columns += [_column([rows[0], null, rows[2], null]) for null in MISSINGS.values()]
    if kind == "datetime":
        columns += [_column([date(2020, 1, 2), pd.NaT, each, None]) for each in (rows[2], date(2020, 1, 3))]
    for column in columns:
        frame = pd.DataFrame({"x": column})

        found = bf.check(frame, Policy(Domain((nullable,)))).loc["x"]
        frame.blowfish.protect(Policy(Domain((nullable,))), epsilon=1)

        assert (found["missing"], found["outside"], found["status"]) == (2, 0, "ok"), column.dtype
        assert _codes(column, nullable)[1::2] == [nullable.cells] * 2
        assert _codes(column, plain)[1::2] == [MISSING] * 2
        assert min(_codes(column, plain)[::2]) >= 0
        assert column.isna().tolist() == [False, True, False, True]


STRANGE = ["kiwi", "", "PLUM", 3, 3.5, True, Decimal("1.5"), date(2020, 1, 1), b"plum", (1, 2), "nan"]


@pytest.mark.parametrize("kind", ["string", "category"])
@pytest.mark.parametrize("nullable", [False, True])
def test_unlisted_values_are_one_cell(kind, nullable):
    """Whatever is not listed has the code of `other`, in any storage and order; nulls have their own."""
    spec = {"type": kind, "values": ["pear", "fig", "plum"], "other": "rest", "nullable": nullable}
    fruit, null = from_dict("x", spec), 4 if nullable else MISSING
    texts = ["plum", "kiwi", "pear", "rest", "Rest", "fig", None]
    want = [2, 3, 0, 3, 3, 1, null]

    assert _codes(pd.Series(STRANGE, dtype=object), fruit) == [3] * len(STRANGE)
    for dtype in (object, "str", "string", "category", pd.ArrowDtype(pa.string())):
        assert _codes(pd.Series(texts, dtype=dtype), fruit) == want
    assert _codes(pd.Series(texts, dtype="category").cat.set_categories(["zzz", *texts[:6]]), fruit) == want
    for column in ([1, 2, 3], [1.5, np.nan], [True, False], pd.to_datetime(["2020-01-01", None])):
        own = pd.Series(column)
        assert _codes(own, fruit) == [null if missing else 3 for missing in own.isna()]


def test_numbers_as_categories_with_others():
    """Listed numbers keep their codes beside the name of all others."""
    level = from_dict("x", {"type": "category", "values": [1, 2, 5], "other": "more"})

    assert _codes([5, 1, 7, 2], level) == [2, 0, 3, 1]
    assert _codes([5.0, 1.5], level) == [2, 3]
    assert _codes(["1", "more", "x"], level) == [3, 3, 3]
