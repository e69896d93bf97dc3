"""The law of the noise of a total, against its probabilities one by one."""

from fractions import Fraction

import numpy as np
import pytest
from oracle.box_draws import radius_law

from pandas_blowfish.plan.joint_noise import joint_variances
from pandas_blowfish.plan.scales import reach, variance
from pandas_blowfish.plan.totals.law import BoxLaw, read_law, state_laws

BOXES = [((1, 2),), ((3, 1), (7, 2)), ((99, 5),), ((1, 1), (50, 1), (2500, 3)), ((2, 12),)]


def enumerate_row(law):
    """Return P(z) for z = 0, 1, ... of one row: uniform within the reach times the radius."""
    reaches = [far for far, many in law.counted for _ in range(many)]
    chances = radius_law(reaches, law.scale)
    found = np.zeros(law.reach * len(chances) + 1)
    for radius, chance in enumerate(chances):
        found[: law.reach * radius + 1] += chance / (2 * law.reach * radius + 1)
    return found


@pytest.mark.parametrize("counted", BOXES)
@pytest.mark.parametrize("scale", ["1/20", "1/2", "1", "7/3", "10"])
def test_moments_are_those_of_the_law(counted, scale):
    """Variance, fourth power, and products of squares, to the precision of floats; as `joint_variances`."""
    for own, _ in counted:
        law = BoxLaw(Fraction(scale), own, counted)
        chance, z = enumerate_row(law), None
        z = np.arange(len(chance), dtype=float)
        radii = radius_law([far for far, many in counted for _ in range(many)], law.scale)
        r = np.arange(len(radii), dtype=float)
        (other, _), *_ = counted
        both = (own * r * (own * r + 1) / 3 * other * r * (other * r + 1) / 3 * radii).sum()
        row = [far for far, many in counted for _ in range(many)].index(own)

        assert law.variance == pytest.approx(2 * (chance * z**2).sum(), rel=1e-9, abs=1e-12)
        assert law.fourth == pytest.approx(2 * (chance * z**4).sum(), rel=1e-9, abs=1e-12)
        assert law.squares(BoxLaw(law.scale, other, counted)) == pytest.approx(both, rel=1e-9, abs=1e-12)
        assert law.variance == pytest.approx(joint_variances(law.joint, law.scale)[row], rel=1e-9)


@pytest.mark.parametrize("counted", BOXES)
@pytest.mark.parametrize("scale", ["1/3", "2", "40"])
def test_reaches_cover(counted, scale):
    """P(|z| <= t) is at least the level, and hardly more is stated than is needed."""
    law = BoxLaw(Fraction(scale), counted[-1][0], counted)
    chance = enumerate_row(law)
    inside = chance[0] + 2 * np.append(0, np.cumsum(chance[1:]))
    for level in ("0.1", "0.8", "0.95", "0.999999"):
        far = law.within(level)

        assert inside[far] >= float(level) - 1e-12
        assert far <= 1.01 * np.searchsorted(inside, float(level)) + 2


def test_noise_of_its_own_is_as_ever():
    """Discrete Laplace: its variance and reach; of a product of two that of both."""
    law = BoxLaw(Fraction(20))

    assert law.variance == variance(Fraction(20))
    assert law.within("0.95") == reach(Fraction(20), "0.95")
    assert law.squares(BoxLaw(Fraction(3))) == law.variance * variance(Fraction(3))
    assert law.limit == 1280
    assert law.size == 20
    assert BoxLaw(Fraction(0)).sure == 0
    assert law.is_drawable


def test_receipts_state_boxes_once():
    """And what they state is read as it was; without boxes it is independent noise."""
    counted = ((5, 2), (9, 1))
    laws = [BoxLaw(Fraction(3), 9, counted), BoxLaw(Fraction(1, 2)), BoxLaw(Fraction(3), 5, counted)]

    boxes, own = state_laws(laws)

    assert boxes == ["5*2 9*1"]
    assert own == ["0 9", None, "0 5"]
    assert [read_law(str(e.scale), text, boxes) for e, text in zip(laws, own, strict=True)] == laws


def test_the_limit_is_hardly_ever_passed():
    """Below what is taken for cut off; noise too large for the kernel is none that is offered."""
    law = BoxLaw(Fraction(7), 50, ((50, 3), (80, 2)))

    assert enumerate_row(law)[int(law.limit) :].sum() == 0  # less than floats hold
    assert law.is_drawable
    assert not BoxLaw(Fraction(2**40), 2**12, ((2**12, 2),)).is_drawable
