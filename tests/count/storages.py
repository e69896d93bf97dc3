"""Nasty values in every storage, and what a column of them may be declared as: shared by tests of readers."""

import datetime as dt
import itertools
import random
from decimal import Decimal

import numpy as np
import pyarrow as pa

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
    {"type": "category", "values": ["b", "a"], "other": "rest"},
    {"type": "category", "values": [7, 0], "other": "a"},
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
