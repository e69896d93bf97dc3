"""Weights are exact: origin + unit * weight is the representative of every cell."""

import random
from fractions import Fraction

import numpy as np
import pytest

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.plan.lattice import (
    LIMIT,
    common,
    extremes,
    lattice,
    lightest,
    nearest,
    ones,
    representative,
    rounding,
)
from pandas_blowfish.policy.domain import from_dict, integers


def _worth(found):
    return [
        found.origin + found.unit * weight for weight in found.weights()[: found.attribute.cells].tolist()
    ]


def test_weights_are_the_representatives(make_policy):
    """For random columns, from 0, from a middle and from the cell nearest 0."""
    checked = 0
    for number in range(300):
        draw = random.Random(number)
        (attribute,) = make_policy(draw, 1, 5).domain
        if attribute.kind == "category":
            continue
        wanted = [representative(attribute, cell) for cell in range(attribute.cells)]

        ends = extremes(attribute)
        for centre in (None, ends, (nearest(attribute),) * 2):
            found = lattice(attribute, centre)
            # a day in nanoseconds cut by its last instant would be too fine
            near = max(abs(a - b) for a, b in zip(_worth(found), wanted, strict=True))
            assert near == 0 or (attribute.kind == "datetime" and near <= found.unit)
            assert found.ends == (
                found.weights()[: attribute.cells].min(),
                found.weights()[: attribute.cells].max(),
            )
            assert len(found.weights()) == attribute.size
            assert not attribute.nullable or found.weights()[-1] == 0
        assert lattice(attribute, ends).largest <= lattice(attribute, ends).span // 2 + 1
        checked += 1

    assert checked > 150


@pytest.mark.parametrize(
    ("attribute", "wanted"),
    [
        (integers("x", 0, 3), [0, 1, 2, 3]),
        (integers("x", 5, 25, 10), ["9.5", "19.5", 25]),
        (
            from_dict("x", {"type": "float", "min": 0, "max": "0.25", "step": "0.1"}),
            ["0.05", "0.15", "0.225"],
        ),
        (from_dict("x", {"type": "float", "min": 0, "max": 2, "step": 1}), ["0.5", "1.5", 2]),
        (from_dict("x", {"type": "integer", "values": [7, 3, 9]}), [7, 3, 9]),
        (from_dict("x", {"type": "bool"}), [0, 1]),
    ],
)
def test_representatives(attribute, wanted):
    """Values themselves, or the middle of what the bounds leave of a bin."""
    found = [representative(attribute, cell) for cell in range(attribute.cells)]

    assert found == [Fraction(value) for value in wanted]


def test_the_unit_is_the_coarsest():
    """Listed tens are counted in tens, bins in halves."""
    assert lattice(from_dict("x", {"type": "integer", "values": [10, 30, 20]})).unit == 10
    assert lattice(integers("x", 0, 29, 10)).unit == Fraction(1, 2)
    assert lattice(integers("x", 0, 29, 10), (0, 2)).unit == 10
    assert common([Fraction(0)]) == 1
    assert lattice(integers("x", 4, 4), (0, 0)).weights().tolist() == [0]


def test_huge_and_fine_domains_need_no_arrays():
    """Bounds of 62 bits, or a bound written to the nanosecond, fit into 61 bits a step at a time."""
    wide = lattice(integers("x", -(2**62), 2**62 - 1), (0, 2**63 - 1))
    fine = from_dict(
        "d", {"type": "datetime", "min": "2020-01-01", "max": "2020-12-31 23:59:59.999999999", "step": "1D"}
    )
    days = lattice(fine, extremes(fine))

    assert (wide.unit, wide.each, wide.span) == (1, 1, 2**63 - 1)
    assert days.each == 2**10
    assert (
        abs(days.origin + days.unit * days.weights()[-1] - representative(fine, fine.cells - 1)) < days.unit
    )
    assert nearest(integers("x", 10**12, 10**13)) == 0
    assert nearest(integers("x", -(10**12), 10**13, 1000)) == 10**9


def test_without_bounds():
    """Cells are counted from 0, and stand for their middles."""
    income = lattice(from_dict("x", {"type": "float", "step": "0.5"}))
    whole = lattice(from_dict("x", {"type": "integer"}))

    assert (income.unit, income.origin, income.ends) == (Fraction(1, 2), Fraction(1, 4), None)
    assert (whole.unit, whole.origin) == (1, 0)
    assert ones(income.attribute).ends is None
    assert ones(integers("x", 0, 3, nullable=True)).weights().tolist() == [1, 1, 1, 1, 0]


def test_listed_values_too_fine_for_their_span_are_refused():
    """A table of weights must fit into 61 bits."""
    apart = from_dict("x", {"type": "float", "values": [0.001, 1e30]})

    with pytest.raises(ArgumentError, match="too far apart"):
        lattice(apart)
    assert LIMIT == 2**61
    assert np.dtype(lattice(integers("x", 0, 3)).weights().dtype) == np.int64


def test_odd_bounds_leave_room_for_noise():
    """A bound with all the digits of a float does not make weights finer than 2^-10 of a step."""
    odd = from_dict("x", {"type": "float", "min": 0, "max": 100 / 3, "step": "0.1"})

    for centre in (None, extremes(odd), (0, 0)):
        found = lattice(odd, centre)
        wanted = [representative(odd, cell) for cell in range(odd.cells)]
        assert found.each == 2**10
        assert all(abs(a - b) <= found.unit for a, b in zip(_worth(found), wanted, strict=True))


def test_one_cell_much_narrower_than_its_step_keeps_its_middle():
    """How fine weights are is measured by the numbers where no step is needed."""
    assert _worth(lattice(integers("x", 5, 5, 10**6))) == [5]
    assert _worth(lattice(integers("x", 5, 5, 10**6), (0, 0))) == [5]


def test_rounding_is_the_farthest_a_value_is_from_what_it_weighs():
    """By looking at the ends of every cell of random columns; nothing for single and listed values."""
    for number in range(300):
        draw = random.Random(number)
        high, step = (Fraction(draw.randint(1, 500), draw.choice([1, 7, 10, 999])) for _ in range(2))
        kind = draw.choice(["integer", "float"])
        step = Fraction(draw.randint(1, 9)) if kind == "integer" else max(step, high / 50)
        attribute = from_dict("x", {"type": kind, "min": -3, "max": str(high), "step": str(step)})
        found = lattice(attribute, draw.choice([None, extremes(attribute), (nearest(attribute),) * 2]))
        lows = [attribute.low + cell * attribute.step for cell in range(attribute.cells)]
        highs = [min(low + attribute.step - (kind == "integer"), attribute.high) for low in lows]
        far = [
            max(abs(low - worth), abs(high - worth))
            for low, high, worth in zip(lows, highs, _worth(found), strict=True)
        ]

        assert rounding(found) == max(far)
    assert rounding(lattice(integers("x", 0, 9))) == 0
    assert rounding(lattice(from_dict("x", {"type": "integer", "values": [7, 3, 9]}))) == 0
    assert rounding(lattice(from_dict("x", {"type": "float", "step": "0.5"}))) == Fraction(1, 4)
    assert rounding(lattice(from_dict("x", {"type": "integer"}))) == 0


def test_the_lightest_row(make_policy):
    """No cell that can be counted is added up as less; 0 where cells lie on both sides of it."""
    for number in range(300):
        draw = random.Random(number)
        (attribute,) = make_policy(draw, 1, 5).domain
        if attribute.kind == "category":
            continue
        for centre in (None, extremes(attribute)):
            found = lattice(attribute, centre)
            bounds = tuple(representative(attribute, cell) for cell in extremes(attribute))
            worth, least = _worth(found), lightest(found, bounds)

            assert 0 <= least <= min(abs(each) for each in worth)
            if min(worth) * max(worth) <= 0:
                assert least == 0
            elif not rounding(found):
                assert least == min(abs(each) for each in worth)
