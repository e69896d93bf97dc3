"""Standard errors that hold sums of noises drawn together, whatever their shape."""

from fractions import Fraction

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.kernel.joint_noise import draw_joint
from pandas_blowfish.plan.joint_noise import BOX, CLIQUE, Block, Joint
from pandas_blowfish.plan.joint_noise.joint_law import joint_variances
from pandas_blowfish.plan.joint_noise.log_concave import TOGETHER_WIDENING, widest_together
from pandas_blowfish.plan.scales import variance, widest

LEVELS = (0.1, 0.5, 0.68, 0.8, 0.9, 0.95, 0.99, 0.999)


@pytest.mark.parametrize("level", LEVELS)
def test_covers_whatever_the_shape(level):
    """Flat near 0, then falling faster and faster: no such law has more outside; some have nearly."""
    x = np.linspace(0, 40, 400_001)
    flat, bend, cut = (np.array(each) for each in ([0, 0.5, 2, 8], [0, 0.02, 0.3], [1, 2, 4, 8, 40]))
    worst = 0.0
    for start in flat:
        for curve in bend:
            for end in cut:
                past = np.maximum(x - start, 0)
                density = np.where(x < end, np.exp(-past - curve * past**2), 0)
                density /= density.sum()
                far = widest_together(level) * np.sqrt((density * x**2).sum())
                worst = max(worst, density[x > far].sum())

    assert worst <= 1 - level
    assert worst >= 0.97 * (1 - level) or level > 0.8 or level < 0.2


def test_is_no_less_than_for_one_noise():
    """Of Laplace noise alone, and of a number that is uniform."""
    for level in LEVELS:
        assert widest_together(level) <= TOGETHER_WIDENING * widest(level)
        assert widest_together(level) >= max(-np.log(1 - level) / np.sqrt(2), np.sqrt(3) * level)
    with pytest.raises(ArgumentError):
        widest_together(1)


@pytest.mark.parametrize("scale", [Fraction(1, 4), Fraction(1), Fraction(6)])
@pytest.mark.parametrize(
    "sizes", [[2], [7], [2] * 12, [3, 5, 9], [0] * 6, [0, 0, 4]], ids=lambda sizes: "-".join(map(str, sizes))
)
def test_drawn_noise_lies_within(sizes, scale):
    """Rows, and sums of some rows, of drawn noise: with the step of rounding and a margin for chance."""
    blocks, first = [], 0
    for size in sizes:
        rows = np.arange(first, first + max(size, 1))
        blocks.append(Block(CLIQUE, rows) if size else Block(BOX, rows, (2,)))
        first = int(rows[-1]) + 1
    joint = Joint(tuple(blocks))
    spread = joint_variances(joint, scale)
    wider = np.sqrt(float(2 * scale**2) / variance(scale))
    with bf.testing.replay(3):
        drawn = np.array([draw_joint(joint, scale) for _ in range(2_000)])

    first_of_each = [int(np.flatnonzero(joint.rows == block.rows[0])[0]) for block in blocks]
    sums = drawn[:, first_of_each].sum(axis=1)
    error = np.sqrt(spread[first_of_each].sum())

    for level in (0.5, 0.8, 0.95):
        far = widest_together(level) * wider
        chance = 3 * np.sqrt(level * (1 - level) / len(drawn))
        assert (np.abs(drawn) <= far * np.sqrt(spread) + 1).mean(axis=0).min() >= level - chance
        assert (np.abs(sums) <= far * error + 1).mean() >= level - chance
