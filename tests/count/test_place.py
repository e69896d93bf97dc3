"""Arrays are placed exactly where fractions put their numbers, on every kind of grid."""

import random
from fractions import Fraction

import numpy as np
import pytest

from pandas_blowfish.count.place import (
    MISSING,
    OUTSIDE,
    bounds,
    exact_limit,
    missing_code,
    place_instants,
    place_numbers,
)
from pandas_blowfish.errors import DeclaredValueError
from pandas_blowfish.policy.attribute import Unbounded
from pandas_blowfish.policy.domain import from_dict, integers, numeric_attribute


def _twin(value, attribute):
    try:
        return attribute.code(value)
    except DeclaredValueError:
        return OUTSIDE


@pytest.mark.parametrize("seed", range(40))
def test_floats_on_random_grids(seed):
    """Small and very large grids, wide and narrow floats: edges and their decimals agree with fractions."""
    draw = random.Random(seed)
    digits = draw.choice([0, 1, 2, 3])
    step = Fraction(draw.randint(1, 40), 10**digits)
    low = Fraction(draw.randint(-5_000, 5_000), 10**digits)
    cells = draw.choice([3, 50, 5_000, 10**6])
    grid = numeric_attribute("x", "float", str(float(low)), str(float(low + step * cells)), str(float(step)))
    places = [draw.randrange(grid.cells) for _ in range(200)]
    values = np.array([float(grid.low + place * grid.step) for place in places])

    assert place_numbers(values, grid, False).tolist() == places
    narrow = values.astype(np.float32)
    fine = [place for place in range(200) if np.spacing(abs(narrow[place])) < float(step) / 4]
    assert place_numbers(narrow, grid, False)[fine].tolist() == [places[place] for place in fine]


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_floats_belong_to_the_last_edge_they_reach(seed, clip):
    """By definition: edges and bounds are rounded from fractions, to the floats that are stored."""
    draw = random.Random(seed)
    digits = draw.choice([0, 1, 3, 9])
    step = Fraction(draw.randint(1, 40), 10**digits)
    low = Fraction(draw.randint(-5_000, 5_000), 10**digits) * draw.choice([1, 1000])
    flags = {"exclusive_min": draw.random() < 0.4, "exclusive_max": draw.random() < 0.4}
    ends = {"min": str(float(low)), "max": str(float(low + step * draw.choice([1, 7, 3_000])))}
    grid = from_dict("x", {"type": "float", **ends, "step": str(float(step)), **flags})
    exact = [grid.low + cell * grid.step for cell in range(grid.cells)]
    picked = np.array([float(draw.choice(exact)) for _ in range(100)])
    values = np.concatenate([picked, np.nextafter(picked, -np.inf), np.nextafter(picked, np.inf)])
    values = np.append(values, [float(grid.low), float(grid.high), np.inf, -np.inf, 1e308, -1e308])

    for kind in (np.float64, np.float32):
        with np.errstate(over="ignore"):
            data, edges = values.astype(kind), np.array([float(edge) for edge in exact]).astype(kind)
        least, most = kind(float(grid.low)), kind(float(grid.high))
        if len(np.unique(edges)) < len(edges):
            continue  # narrow floats do not distinguish these cells
        want = np.searchsorted(edges, data, side="right") - 1
        below = (data <= least if grid.open_low else data < least) | (data == -np.inf)
        above = (data >= most if grid.open_high else data > most) | (data == np.inf)
        want[below], want[above] = (0, grid.cells - 1) if clip else (OUTSIDE, OUTSIDE)
        assert place_numbers(data, grid, clip).tolist() == want.tolist(), kind


@pytest.mark.parametrize("seed", range(20))
def test_whole_numbers_on_random_grids(seed):
    """Integers of every width, and whole floats, match the declared reading of each."""
    draw = random.Random(seed)
    low, step = draw.randint(-100, 20), draw.randint(1, 9)
    grid = integers("x", low, low + draw.randint(0, 90), step)
    values = np.array([draw.randint(-128, 127) for _ in range(300)])
    expected = [_twin(int(value), grid) for value in values]

    for kind in ("int8", "int16", "int64", "float16", "float32", "float64"):
        assert place_numbers(values.astype(kind), grid, False).tolist() == expected
    clipped = [_twin(min(max(int(value), low), int(grid.high)), grid) for value in values]
    assert place_numbers(values, grid, True).tolist() == clipped


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_instants_on_random_grids(unit):
    """Instants of each unit match the declared reading of the same instant."""
    draw = random.Random(unit)
    for _ in range(20):
        day = np.datetime64("2020-01-01") + np.timedelta64(draw.randint(-30_000, 30_000), "D")
        step = draw.choice(["1h", "90min", "1D", "7s"])
        grid = from_dict(
            "x", {"type": "datetime", "min": str(day), "max": str(day + np.timedelta64(3, "D")), "step": step}
        )
        offsets = [draw.randint(-100_000, 400_000) for _ in range(50)]
        stamps = (day.astype("datetime64[s]") + np.array(offsets, dtype="timedelta64[s]")).astype(
            f"datetime64[{unit}]"
        )

        found = place_instants(stamps.view(np.int64), unit, False, grid, False)

        assert found.tolist() == [_twin(str(stamp), grid) for stamp in stamps]


def test_codes_of_nulls_and_bounds():
    """MISSING without a missing cell, the last cell with one; bounds as declared."""
    plain, nullable = integers("x", 2, 9), integers("x", 2, 9, nullable=True)

    assert missing_code(plain) == MISSING
    assert missing_code(nullable) == 8
    assert bounds(plain) == (2, 9)
    assert place_numbers(np.array([np.nan, 2.0]), nullable, False).tolist() == [8, 0]


def test_narrow_floats_without_bounds_are_the_decimals_they_print_as():
    """Of every magnitude, and powers of two, whose neighbours are not equally far."""
    free = from_dict("x", {"type": "float", "step": 10**30})
    draw = np.random.default_rng(4)
    for kind, powers in (("float32", (-45, 37)), ("float16", (-7, 4))):
        sizes = 10.0 ** np.append(draw.uniform(*powers, 3_000), draw.uniform(-3, 4, 3_000))
        short = np.round(draw.uniform(-60, 60, 2_000), 2)
        twos = 2.0 ** np.arange(-24 if kind == "float16" else -149, 16)
        values = np.concatenate([sizes, -sizes[:50], short, twos, [0.0, -0.0]]).astype(kind)

        found = place_numbers(values, free, False).view(np.float64)

        assert found.tolist() == [float(str(value)) + 0.0 for value in values]
    assert np.isnan(place_numbers(np.array([np.nan, np.inf], np.float32), free, False).view(np.float64)).all()


@pytest.mark.parametrize("kind", ["int64", "uint64", "float64", "longdouble"])
def test_whole_numbers_beyond_2_53_are_outside_or_clipped(kind):
    """No two of them are rounded to one float."""
    top = 2**53
    values = np.array([top - 1, top, top + 1, top + 2, 2**62], dtype=kind)
    fits = np.array([int(value) <= top for value in values])
    for column in (from_dict("x", {"type": "integer"}), from_dict("x", {"type": "float", "step": 100})):
        if column.kind == "float" and kind in ("float64", "longdouble"):
            continue

        codes = place_numbers(values, column, False)
        clipped = place_numbers(values, column, True).view(np.float64)

        assert ((codes != OUTSIDE) == fits).all()
        assert codes[fits].view(np.float64).tolist() == values[fits].tolist()
        assert clipped.tolist() == [min(int(value), top) for value in values]


def test_floats_beyond_2_50_steps_are_outside_or_clipped():
    """Where floats hardly tell edges apart; instants, which are not added up, have no such limit."""
    column = from_dict("x", {"type": "float", "step": "0.1"})
    top = float(2**50 / Fraction(10))
    values = np.array([top * 0.999, -top * 0.999, top * 1.001, -1e300])

    assert (place_numbers(values, column, False) == OUTSIDE).tolist() == [False, False, True, True]
    assert place_numbers(values, column, True).view(np.float64) == pytest.approx(
        [top * 0.999, -top * 0.999, top, -top], rel=1e-15
    )
    assert (place_numbers(np.array([2**48]), column, False) == OUTSIDE).all()
    moments = place_instants(np.array([2**60]), "ns", False, from_dict("x", {"type": "datetime"}), False)
    assert moments.view(np.float64).tolist() == [2.0**60]


@pytest.mark.parametrize("clip", [False, True])
def test_only_positive_numbers_have_logarithms(clip):
    """Zero, negative numbers and infinities are outside, whatever is clipped; positive floats are inside."""
    column = Unbounded("x", "float", True, Fraction(1, 1000), log=True)
    data = np.array([5e-324, 1.0, 1.7976931348623157e308, 0.0, -0.0, -1.0, np.inf, -np.inf, np.nan])

    codes = place_numbers(data, column, clip)

    assert codes[:3].view(np.float64).tolist() == data[:3].tolist()
    assert (codes[3:8] == OUTSIDE).all()
    assert codes[8] == missing_code(column)
    assert exact_limit(column, whole=False) == data[2]
