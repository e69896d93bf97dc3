"""Codes that an engine computes on its own rows are those that pandas gives the same values, row by row."""

import datetime as dt
import itertools
import random
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from pandas_blowfish.count.encode import encoder
from pandas_blowfish.count.fingerprint import numbers_of
from pandas_blowfish.count.place import MISSING, OUTSIDE
from pandas_blowfish.count.readers.dialect import fetched
from pandas_blowfish.count.readers.engine import ROWS, grouped
from pandas_blowfish.count.readers.expressions import EXACT, fractions_of, quotient, sure
from pandas_blowfish.count.readers.keys import cell_key
from pandas_blowfish.errors import FrameError
from pandas_blowfish.policy.attribute import Unbounded, Values
from pandas_blowfish.policy.domain import from_dict, integers

pa = pytest.importorskip("pyarrow")
nw = pytest.importorskip("narwhals")

INTEGERS = [
    {"min": 0, "max": 9},
    {"min": -7, "max": 100, "step": 7},
    {"min": -(2**61), "max": 2**61, "step": 3**25},
    {"min": -(2**40), "max": 2**62 - 2 * 10**9, "step": 10**9 + 7},
    {"values": [7, 3, 12, 0]},
    {"values": [-3, 0, 3, 12]},
    {"values": [2**53, 2**53 + 1, 2**62]},
    {},
    {"step": 3},
]
FLOATS = [
    {"min": 0, "max": 1, "step": "0.01"},
    {"min": "-1.7", "max": "2.95", "step": "0.3", "exclusive_min": True, "exclusive_max": True},
    {"min": -100, "max": 1000, "step": "2.5"},
    {"min": 0, "max": 1, "step": "0.1", "exclusive_min": True},
    {"min": 0, "max": 1, "step": "0.1", "exclusive_max": True},
    {"min": -(10**6), "max": 10**6, "step": "0.001"},
    {"values": [7, "0.1", 12, 0]},
    {"values": [0, "0.29", 7, "1e300"]},
    {"step": "0.01"},
    {"step": 3},
]
INSTANTS = [
    {"min": "2020-01-01", "max": "2020-12-31", "step": "1D"},
    {"min": "1969-12-30T12:00", "max": "2020-02-03", "step": "7h"},
    {"min": "2020-01-01T00:00:00.000001", "max": "2020-01-02", "step": "1500us"},
    {"min": "2020-01-01T00:00:00.000000007", "max": "2020-03-02", "step": "333ns"},
    {"min": "2020-01-01", "max": "2020-01-05", "step": "1h", "exclusive_min": True, "exclusive_max": True},
    {"values": ["2020-01-01", "2020-01-02", "2020-02-01T00:00:00.5"]},
    {"values": ["2020-02-01", "1970-01-01"]},
    {"min": "1700-01-01", "max": "2250-01-01", "step": "1D"},
    {},
]
STAMPS = ("min", "max", "values")
OTHERS = [
    {"type": "bool"},
    {"type": "bool", "values": [True]},
    {"type": "category", "values": ["b", "a", "", "ä b'\"`"]},
    {"type": "string", "values": ["a", "1", "True"]},
    {"type": "category", "values": [3, "a", 0]},
    {"type": "category", "values": [True, "a", 7]},
    {"type": "category", "values": [1.5, 7, 0]},
]


def _zoned(spec):
    """Return bounds or values in a time zone."""
    text = {key: [own] if isinstance(own, str) else own for key, own in spec.items() if key in STAMPS}
    ends = {
        key: [f"{each}{'' if 'T' in each else 'T00:00'}+00:00" for each in own] for key, own in text.items()
    }
    return {**spec, **{key: own if key == "values" else own[0] for key, own in ends.items()}}


SPECS = [{"type": "integer", **each} for each in INTEGERS]
SPECS += [{"type": "float", **each} for each in FLOATS]
SPECS += [{"type": "datetime", **each} for each in INSTANTS]
SPECS += [{"type": "datetime", "tz": "Europe/Berlin", **_zoned(each)} for each in INSTANTS if each]
SPECS += OTHERS

WHOLE = [0, 1, 3, 6, 7, 9, 10, 12, 93, 99, 100, 101, 127, -1, -3, -7, -8, -128]
LARGE = [2**31, 2**53, 2**53 + 1, 2**53 - 1, 2**61, 2**61 + 1, 2**62, 2**62 - 10**9, 2**63 - 1, 3**25]
LARGE += [3**38, 3**38 - 1, 10**9 + 7, (10**9 + 7) * 4 * 10**9]
LARGE += [-each for each in LARGE] + [-(2**63)]
REALS = [*map(float, WHOLE), 0.29, 0.1, 0.3, 0.7, 0.57, 1.0, -0.0, 1 / 3, 2.95, -1.7, -1.4, 0.4, 12.5]
REALS += [np.inf, -np.inf, np.nan, 1e300, -1e300, 1e-310, 5e-324, 2.0**53, 2.0**61, 2.0**63, -(2.0**63)]
REALS += [1e6, -1e6, 999999.999, 2.0**62, 2.0**64, 2.0**51, 2.0**51 / 100, 2.0**50 * 3, 3.5, 123456.789]
REALS += [float(np.nextafter(each, way)) for each in (0.29, 0.3, 1.0, 0.0, 2.95) for way in (-9, 9)]
INSTANT = [
    dt.datetime(2020, 1, 1),
    dt.datetime(2020, 1, 2),
    dt.datetime(2020, 12, 31),
    dt.datetime(1970, 1, 1),
]
INSTANT += [dt.datetime(2019, 12, 31, 23, 59, 59), dt.datetime(2020, 1, 1, 0, 0, 1), dt.datetime(2021, 1, 1)]
INSTANT += [dt.datetime(1969, 12, 31, 23, 59, 59), dt.datetime(1969, 12, 30, 12), dt.datetime(2020, 1, 5)]
INSTANT += [
    dt.datetime(1700, 1, 1),
    dt.datetime(2250, 1, 1),
    dt.datetime(1690, 3, 4),
    dt.datetime(2020, 2, 1),
]


def _random(seed, made, many=40):
    draw = random.Random(seed)
    return [made(draw) for _ in range(many)]


def _instants(unit, zone):
    """Return instants with all the digits that a unit has, and those of a list."""
    per = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    epoch = dt.datetime(1970, 1, 1)
    whole = [int((each - epoch).total_seconds()) * per for each in INSTANT]
    whole += _random(unit, lambda draw: draw.randint(1577836800 * per, 1577836800 * per + 40 * 86400 * per))
    whole += _random(unit, lambda draw: draw.randint(-9 * 10**4 * per, 1580000000 * per))
    whole += [1577836800 * per + more for more in range(-3, 9)] + [1580515200 * per + per // 2]
    whole = pa.array([*whole, None], pa.int64())
    return whole.cast(pa.timestamp(unit, tz=zone))


def _storages():
    """Return nasty values in every storage."""
    found = {}
    for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64()):
        signed, bits = pa.types.is_signed_integer(kind), kind.bit_width
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        values = [*WHOLE, *LARGE, 2**63, 2**64 - 1, *_random(bits, lambda draw: draw.randint(-150, 150))]
        values += _random(bits, lambda draw: draw.randint(-(2**62), 2**62))
        inside = [each for each in values if low <= each <= high]
        found[str(kind)] = pa.array(inside, kind)
        found[f"{kind} null"] = pa.array([*inside, None], kind)
    for name in ("int8", "int16 null", "int32", "uint8", "uint32 null"):  # enough of each
        del found[name]
    reals = [*REALS, *_random(1, lambda draw: draw.randint(-300, 300) / draw.choice([1, 10, 100]), 120)]
    reals += _random(2, lambda draw: draw.uniform(-2, 3), 60) + _random(
        3, lambda draw: draw.uniform(-2e6, 2e6)
    )
    reals += _random(4, lambda draw: draw.randint(-(10**9), 10**9) / 1000, 60)
    found["double"] = pa.array(np.array(reals))
    found["double null"] = pa.array([*(None if each != each else each for each in reals), None], pa.float64())
    with np.errstate(over="ignore"):
        found["float"] = pa.array(np.array(reals).astype(np.float32))
    decimals = [Decimal(draw) / 1000 for draw in (0, 100, 290, 570, 7000, 3000, -1700, 1, 999, 12500, 100000)]
    found["decimal"] = pa.array([*decimals, None], pa.decimal128(12, 3))
    found["bool"] = pa.array([True, False, None])
    texts = ["a", "b", "", "ä b'\"`", "1", "True", "A", "a ", "0.29", "2020-01-01", None, "a", "7"]
    found["string"] = pa.array(texts)
    found["category"] = pa.array(texts).dictionary_encode()
    found["date"] = pa.array([each.date() for each in INSTANT] + [None], pa.date32())
    for unit, zone in itertools.product(("s", "ms", "us", "ns"), (None, "Europe/Berlin")):
        found[f"{unit} {zone}"] = _instants(unit, zone)
    return found


STORAGES = _storages()
NUMBER = integers("row", 0, 10**6, nullable=True)
COLUMNS = ("polars", "duckdb")
LISTED = ("int64 null", "double", "float", "decimal", "bool", "string", "category", "date", "us None")
LISTED += ("ms Europe/Berlin",)


def _expected(series, attribute, clip):
    """Return the codes of pandas, in the numbers that other engines give."""
    return numbers_of(encoder(series, attribute, clip=clip)(0, len(series)), attribute)


def _found(table, rows, attributes, clip):
    """Yield the codes of each attribute row by row, from one query; what does not come back is outside."""
    steps = table.steps([*attributes, NUMBER], clip=clip)
    keys = [cell_key(table, steps, each, clip=clip) for each in attributes]
    made = [key.expression.alias(f"key {at}") for at, key in enumerate(keys)]
    chosen = steps.frame.select("row", *made)
    guards = [key.guard(nw.col(f"key {at}")).alias(f"guard {at}") for at, key in enumerate(keys) if key.guard]
    values = fetched(table.engine, chosen.with_columns(*guards) if guards else chosen)
    order = np.asarray(values["row"])
    for at, key in enumerate(keys):
        codes = np.full(rows, OUTSIDE)
        codes[order] = key.cells(values[f"key {at}"])
        if key.guard:
            passed = np.zeros(rows, dtype=bool)
            passed[order] = [each is not None and bool(each) for each in values[f"guard {at}"]]
            codes = np.where(passed, codes, OUTSIDE)
        yield codes


def _attributes(storage, *, nullable, near):
    """Return what a column may be declared as, but for what engines refuse (tested apart).

    Args:
        storage: How its values are stored.
        nullable: Whether they may be missing.
        near: Leave out most declarations of another kind than what is stored.
    """
    kind = str(STORAGES[storage].type)
    own = ("integer", "float") if "int" in kind or kind in ("double", "float") or "decimal" in kind else ()
    own = ("datetime",) if "timestamp" in kind or "date32" in kind else own or ("bool", "category", "string")
    found = [from_dict("x", {**spec, "nullable": nullable}) for spec in SPECS]
    found = [each for at, each in enumerate(found) if not near or each.kind in own or at % 7 == 3]
    return [each for each in found if each.bounded or each.kind != "float" or storage != "float"]


def _same(attribute, series, codes, want, *, clip):
    """Tell which rows have the codes of pandas; without bounds engines go less far than pandas."""
    same = codes == want
    if not isinstance(attribute, Unbounded) or attribute.kind != "float":
        return same
    if pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_bool_dtype(series.dtype):
        values = series.astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan)
        beyond = np.abs(values) > EXACT // attribute.step.denominator
        same |= beyond & (codes >= 0 if clip else codes == OUTSIDE)
    return same


def _asked(engine, storage):
    """Return what is asked in one query each: where rows outside are left out first, one attribute."""
    start, near = list(STORAGES).index(storage), engine != "polars"
    sure = _attributes(storage, nullable=False, near=True)
    more = [(each, clip) for each in (True, False) for clip in (True, False) if each or clip]
    own = [(_attributes(storage, nullable=nullable, near=near), clip) for nullable, clip in more]
    part = slice(start % 3, None, 3) if engine == "duckdb" else slice(None)
    return [*(([each], False) for each in sure[part]), *((each[part], clip) for each, clip in own)]


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("engine", COLUMNS)
def test_codes_are_those_of_pandas(engine, storage, scan, in_pandas):
    """Every storage x declaration x clip, row by row: a mismatch of kinds is outside on both sides."""
    if (engine, storage) == ("duckdb", "ns Europe/Berlin"):
        pytest.skip("DuckDB has no nanoseconds in a time zone that narwhals knows")
    array = STORAGES[storage]
    table = pa.table({"row": np.arange(len(array)), "x": array})
    series, scanned = in_pandas(table)["x"], scan(engine, table)
    for attributes, clip in _asked(engine, storage):
        for attribute, codes in zip(attributes, _found(scanned, len(array), attributes, clip), strict=True):
            want = _expected(series, attribute, clip)
            if sure(attribute, clip=clip):  # what is missing may be left out, too
                codes, want = np.maximum(codes, OUTSIDE), np.maximum(want, OUTSIDE)
            wrong = np.flatnonzero(~_same(attribute, series, codes, want, clip=clip))
            shown = [(str(table["x"][int(at)]), int(codes[at]), int(want[at])) for at in wrong[:5]]
            assert not len(wrong), (attribute.kind, attribute.describe(), attribute.nullable, clip, shown)


@pytest.mark.parametrize("engine", COLUMNS)
def test_counts_of_listed_values_are_those_of_pandas(engine, scan, in_pandas):
    """Listed values are grouped as they are stored: nulls, NaN and -0.0 come back as pandas has them."""
    attributes = [from_dict("x", {**spec, "nullable": at % 2 == 0}) for at, spec in enumerate(SPECS)]
    attributes = [each for each in attributes if isinstance(each, Values)]
    for storage in LISTED:
        table = pa.table({"x": STORAGES[storage]})
        series, scanned = in_pandas(table)["x"], scan(engine, table)
        for attribute in attributes:
            (codes,), found = grouped(
                scanned,
                [attribute],
                lambda steps, own=attribute, at=scanned: [cell_key(at, steps, own, clip=False)],
                clip=False,
            )
            counts = Counter()
            for code, rows in zip(codes.tolist(), found[ROWS].tolist(), strict=True):
                counts[code] += rows
            want = Counter(_expected(series, attribute, False).tolist())
            counts.pop(OUTSIDE, None), want.pop(OUTSIDE, None)
            assert counts == want, (storage, attribute.kind, attribute.describe())


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_floats_of_random_grids_are_those_of_pandas(engine, scan, in_pandas):
    """Random bounds and steps; random floats, and every edge with its two neighbours."""
    for seed in range(25):
        draw = random.Random(seed)
        step = Fraction(draw.choice(["0.01", "0.1", "0.05", "0.3", "1.7", "0.001", "2.5", "7", "0.007"]))
        low = Fraction(draw.randint(-5000, 5000), draw.choice([1, 10, 100, 8]))
        high = low + step * draw.randint(1, 3000) + draw.choice([0, step / 2, step / 4])
        bounds = {"exclusive_min": draw.random() < 0.3, "exclusive_max": draw.random() < 0.3}
        spec = {"type": "float", "min": str(Decimal(int(low * 1000)) / 1000), "max": float(high), **bounds}
        grid = from_dict("x", {**spec, "step": str(Decimal(int(step * 1000)) / 1000)})
        edges = np.array([float(grid.low + at * grid.step) for at in range(min(grid.cells, 400))])
        values = [draw.uniform(float(low) - 1, float(high) + 1) for _ in range(400)]
        values = np.concatenate([values, edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])
        for kind in (np.float64, np.float32):
            table = pa.table({"row": np.arange(len(values)), "x": values.astype(kind)})
            (codes,) = _found(scan(engine, table), len(values), [grid], False)
            assert (codes == _expected(in_pandas(table)["x"], grid, False)).all(), (seed, kind)


@pytest.mark.parametrize("engine", COLUMNS)
def test_quotients_are_exact(engine, scan):
    """Whole numbers up to 2^55 divided by any step, also where engines divide as floats."""
    draw = random.Random(1)
    for largest in (1000, EXACT - 1, EXACT, 2**55, 2**62):
        steps = [2, 3, 7, 1000, 2**20, 2**40, 3**20]
        values = [draw.randint(0, largest) for _ in range(200)]
        values += [max(0, min(largest, step * draw.randint(0, largest // step) - 1)) for step in steps * 20]
        table = scan(engine, pa.table({"row": np.arange(len(values)), "x": pa.array(values, pa.int64())}))
        made = [quotient(nw.col("x"), step, largest).cast(nw.Int64).alias(str(step)) for step in steps]
        read = [NUMBER, from_dict("x", {"type": "integer", "nullable": True})]
        found = fetched(engine, table.steps(read, clip=False).frame.select("row", *made))
        order = np.argsort(np.asarray(found["row"]))
        for step in steps:
            assert np.asarray(found[str(step)])[order].tolist() == [each // step for each in values]


def test_what_other_engines_cannot_place_is_refused():
    """Too many digits for floats: before any row is looked at."""
    spec = {"type": "float", "min": "0.12345678901234567", "max": "0.13", "step": "0.0001"}
    with pytest.raises(FrameError, match="too fine for other engines"):
        fractions_of(from_dict("x", spec))
    assert fractions_of(from_dict("x", {"type": "float", "min": "0.5", "max": 1, "step": "0.1"})) == (
        5,
        1,
        10,
    )


def test_refusals_name_the_column_alone(scan):
    """A 32-bit column without bounds, and what holds no declared value."""
    narrow = scan("polars", pa.table({"x": pa.array([123.25], pa.float32())}))
    free = from_dict("x", {"type": "float"})
    with pytest.raises(FrameError, match="32-bit") as caught:
        grouped(narrow, [free], lambda steps: [cell_key(narrow, steps, free, clip=False)], clip=False)
    assert "123" not in str(caught.value)
    for array in (pa.array([[1]]), pa.array([dt.time(1)]), pa.array([b"x"]), pa.array([dt.timedelta(1)])):
        table = scan("polars", pa.table({"x": array}))
        with pytest.raises(FrameError, match="'x' is stored as"):
            table.storage("x")


def test_missing_is_not_outside(scan):
    """A null that is not allowed has a code of its own."""
    table = scan("polars", pa.table({"row": [0, 1, 2], "x": [1.0, None, np.nan]}))

    (codes,) = _found(table, 3, [from_dict("x", {"type": "integer", "min": 0, "max": 3})], True)

    assert codes.tolist() == [1, MISSING, MISSING]
