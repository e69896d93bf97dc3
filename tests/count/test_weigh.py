"""Sums of weights are those of Python's integers, whatever the storage, chunks and sizes."""

import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.count import weigh as module
from pandas_blowfish.count.tally import count_cells
from pandas_blowfish.count.weigh import lattice_numbers, log_numbers
from pandas_blowfish.exact.logarithm import log_reach
from pandas_blowfish.plan.lattice import LIMIT, Total, lattice, ones
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.queries.call.scope import Scope


def _added(attribute, values, *, centre=None, groups=None, text=None, clip=False, weights=None):
    columns = [attribute, integers("g", 0, 2)]
    policy = bf.Policy(Domain(tuple(columns)))
    scope = Scope().where(policy, text, {}) if text else Scope()
    scope = scope.groupby(policy, ["g"]) if groups is not None else scope
    frame = pd.DataFrame({attribute.name: values, "g": 0 if groups is None else groups})
    asked = Total(scope.tally(policy, [], None), weights or lattice(attribute, centre))
    return count_cells(frame, [asked], clip=clip).tolist()


@pytest.mark.parametrize("chunk", [4, 1 << 15])
def test_matches_python_integers(chunk, monkeypatch):
    """Random columns of every kind with groups and filters, in chunks of any size."""
    monkeypatch.setattr(module, "CHUNK", chunk)
    monkeypatch.setattr(module, "LARGE", max(chunk, 4))
    for number in range(40):
        draw = random.Random(number)
        low = draw.choice([0, -5, -(2**60), 10**12])
        column = integers("x", low, low + draw.choice([1, 9, 10**6, 2**60]), draw.choice([1, 1, 3]))
        codes = [draw.randrange(column.cells) for _ in range(30)]
        values = [min(int(column.low + column.step * code), int(column.high)) for code in codes]
        groups = [draw.randrange(3) for _ in codes]
        found = lattice(column, draw.choice([None, (0, column.cells - 1)]))
        last = column.cells - 1
        weights = [found.last if code == last else found.first + found.each * code for code in codes]
        weights = [min(max(weight, -LIMIT), LIMIT) for weight in weights]
        pairs = list(zip(weights, groups, strict=True))

        alone = _added(column, values, weights=found)
        grouped = _added(column, values, groups=groups, weights=found)
        kept = _added(column, values, groups=groups, text="g != 1", weights=found)

        assert alone == [min(max(sum(weights), -LIMIT), LIMIT)]
        exact = [sum(weight for weight, group in pairs if group == each) for each in range(3)]
        assert grouped == [min(max(each, -LIMIT), LIMIT) for each in exact]
        assert kept == [grouped[0], 0, grouped[2]]


@pytest.mark.parametrize("dtype", ["int32", "Int64", "float64", "object", "int64[pyarrow]", "category"])
def test_storage_does_not_matter(dtype):
    """The same values in another dtype have the same sum."""
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    values = pd.Series([3, 7, 7, 0, 9]).astype(dtype)

    assert _added(integers("x", 0, 9), values) == [26]


def test_missing_and_outside_weigh_nothing():
    """Nulls, and values that the seal would have refused; clipped ones weigh as the bounds do."""
    column = integers("x", 1, 9, nullable=True)
    values = pd.Series([3, None, 5, 40], dtype="Int64")

    assert _added(column, values) == [8]
    assert _added(column, values, clip=True) == [17]
    assert _added(column, values, weights=ones(column)) == [2]


def test_listed_values_and_truth():
    """Tables of weights, in any order."""
    listed = from_dict("x", {"type": "float", "values": [2.5, 0.5, 10.0]})

    assert _added(listed, [0.5, 0.5, 10.0]) == [22]
    assert _added(from_dict("x", {"type": "bool"}), [True, False, True]) == [2]


def test_overflow_is_clamped_and_not_wrapped():
    """Thousands of rows of 2^61 stay at the limit; opposite ones cancel exactly."""
    column = integers("x", -(2**62), 2**62 - 1)

    assert _added(column, np.full(5_000, 2**62 - 1)) == [LIMIT]
    assert _added(column, np.full(5_000, -(2**62))) == [-LIMIT]
    assert _added(column, np.array([2**61, -(2**61)] * 40_000 + [7])) == [7]


REAL = from_dict("x", {"type": "float", "step": "0.1"})


def test_infinities_count_as_missing():
    """A column without bounds adds up what is finite."""
    assert _added(REAL, [0.35, np.inf, -np.inf, -0.05]) == [3 - 1]
    assert _added(REAL, [0.35, np.inf, 0.1], weights=ones(REAL)) == [2]


def _float(place):
    try:
        return place.numerator / place.denominator
    except OverflowError:
        return np.inf if place > 0 else -np.inf


@pytest.mark.parametrize("step", ["0.1", "0.01", "1/3", "7", "100", "0.123456789", "1e-9", "1e-320", "1e310"])
def test_lattice_numbers_match_fractions(step):
    """Edges and their neighbours, near and far: the last cell whose rounded edge was reached."""
    column = from_dict("x", {"type": "float", "step": step})
    draw = random.Random(step)
    cells = [draw.randint(-(10**k), 10**k) for k in range(19) for _ in range(8)]
    values = [0.0, -0.0, 5e-324, 1.7e308, -1.7e308]
    for cell in cells:
        edge = cell * column.step
        if abs(edge) < 10**300:
            at = edge.numerator / edge.denominator
            values += [at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf), at * draw.random()]

    found = lattice_numbers(np.array(values), column).tolist()

    for value, number in zip(values, found, strict=True):
        if abs(Fraction(value) / column.step) >= LIMIT - 1:
            assert number == (LIMIT if value > 0 else -LIMIT) or abs(number) >= LIMIT - 1
            continue
        if abs(Fraction(value) / column.step) >= 2**50:
            assert number == Fraction(value) // column.step
            continue
        assert _float(number * column.step) <= value
        assert (
            value < _float((number + 1) * column.step) or step == "1e-320"
        )  # not all edges are floats apart


def test_whole_numbers_without_bounds():
    """They are exact up to 2^53, and outside or clipped beyond, whatever they are stored as."""
    column = from_dict("x", {"type": "integer"})
    tens = from_dict("x", {"type": "integer", "step": 10})

    assert _added(column, [5, -7, 2**53 - 1]) == [2**53 - 3]
    assert _added(column, [2**62, 4]) == [4]
    assert _added(column, [2**62, 0], clip=True) == [2**53]
    assert _added(column, pd.Series([-(10**30), 3], dtype=object)) == [3]
    assert _added(column, pd.Series([-(10**30), 3], dtype=object), clip=True) == [3 - 2**53]
    assert _added(tens, [5, -7, 30]) == [0 - 1 + 3]


def test_neighbours_move_a_sum_by_the_longest_edge_at_most():
    """Any two numbers within theta are at most ceil(theta / step) cells apart, in every magnitude."""
    draw = random.Random(5)
    for _ in range(3_000):
        step, theta = (
            Fraction(draw.choice(["0.1", "0.25", "3", "0.007"])),
            Fraction(draw.choice(["0.3", "1", "2.5"])),
        )
        column = from_dict("x", {"type": "float", "step": str(step)})
        value = draw.uniform(-1, 1) * 10 ** draw.randint(-2, 17)
        other = value + float(theta) * draw.uniform(-1, 1)
        if abs(Fraction(value) - Fraction(other)) > theta:
            continue

        one, two = lattice_numbers(np.array([value, other]), column).tolist()

        assert abs(one - two) <= -(-theta // step)


def _edges(step, many, seed):
    """Return floats at and around the exponentials of random edges, and the ends of floats."""
    draw = random.Random(seed)
    values = [5e-324, 1e-323, 2.2e-308, 1.7976931348623157e308, 1.0, 2.0, 0.5]
    values += [math.nextafter(1.0, 0), math.nextafter(1.0, 2), math.nextafter(math.nextafter(1.0, 0), 0)]
    for _ in range(many):
        span = draw.choice([700, 50, 1, 1e-3])
        cell = math.floor(draw.uniform(-1, 1) * span / step)
        with localcontext() as context:
            context.prec = 40
            edge = float((Decimal(cell) * Decimal(step.numerator) / Decimal(step.denominator)).exp())
        around = [edge]
        for _ in range(2):
            around = [math.nextafter(around[0], 0), *around, math.nextafter(around[-1], math.inf)]
        values += around
    return values


@pytest.mark.parametrize("step", ["1", "0.1", "1/3", "0.0000001", "0.000000001"])
def test_log_numbers_match_decimals_at_edges(step):
    """Subnormal floats, the largest ones, and those next to edges: the cell is the exact one."""
    step = Fraction(step)
    values = _edges(step, 150, str(step))

    found = log_numbers(np.array([*values, 0.0, -1.0]), step).tolist()

    with localcontext() as context:
        context.prec = 60
        for value, number in zip(values, found, strict=False):
            quotient = Decimal(value).ln() * Decimal(step.denominator) / Decimal(step.numerator)
            assert number == int(quotient.to_integral_value(rounding="ROUND_FLOOR")), value
    assert found[-2:] == [0, 0]


@pytest.mark.parametrize("c", ["0.9", "0.5", "0.9999"])
@pytest.mark.parametrize("step", ["0.1", "0.000001", "0.000000001"])
def test_log_numbers_reach(c, step):
    """Floats within the factor are at most the reach apart, at edges, and some are just that."""
    c, step = Fraction(c), Fraction(step)
    low = np.array([x for x in _edges(step, 150, f"{c} {step}") if 1e-300 < x < 1e290])
    high = np.array([float(Fraction(x) * c**-4) for x in low.tolist()])
    reach = log_reach(c, step)

    apart = log_numbers(high, step) - log_numbers(low, step)

    assert apart.max() == reach
    assert apart.min() >= reach - 1


def test_log_numbers_do_not_trust_a_logarithm(monkeypatch):
    """Whatever a library's logarithm is off by, within 4 units in the last place: the same cells."""
    step, values = Fraction(1, 10**9), np.array(_edges(Fraction(1, 10**9), 100, "off"))
    right = log_numbers(values, step)
    exactly = np.log
    draw = np.random.default_rng(2)

    def off(data):
        found = exactly(data)
        return found + draw.integers(-4, 5, len(found)) * np.spacing(np.abs(found))

    monkeypatch.setattr(module.np, "log", off)
    for _ in range(5):
        assert (log_numbers(values, step) == right).all()
