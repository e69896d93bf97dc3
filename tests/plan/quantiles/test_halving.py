"""Which quantiles are picked at once, and between which others."""

import random
from fractions import Fraction

import pytest

from pandas_blowfish.plan.quantiles.halving import pick_apart, pick_by_halves, rank_variances, whole_share


def test_every_quantile_is_picked_once_between_those_before():
    """Its share of the rows of its run leads to its share of all rows."""
    for seed in range(100):
        draw = random.Random(seed)
        shares = sorted({Fraction(draw.randint(0, 40), 40) for _ in range(draw.randint(1, 12))})
        levels = pick_by_halves(shares)
        reached = {-1: None}

        for level in levels:
            for step in level:
                low = shares[step.low] if step.low >= 0 else Fraction(0)
                high = shares[step.high] if step.high >= 0 else Fraction(1)
                assert step.low in reached
                assert step.high in reached
                assert low + step.share * (high - low) == shares[step.at]
                assert low <= shares[step.at] <= high
            reached |= {step.at: None for step in level}
        assert sorted(reached) == list(range(-1, len(shares)))
        assert len(levels) == len(shares).bit_length()


def test_apart_every_quantile_has_all_rows():
    """One round."""
    (level,) = pick_apart([Fraction(1, 5), Fraction(1, 2)])

    assert [(step.at, step.low, step.high, step.share) for step in level] == [
        (0, -1, -1, Fraction(1, 5)),
        (1, -1, -1, Fraction(1, 2)),
    ]
    assert level[0].leaves == Fraction(8, 5)


@pytest.mark.parametrize(
    ("share", "whole"),
    [
        ("0.5", "1/2"),
        ("0.6666666666666666", "2/3"),
        ("0.1234", "617/5000"),
        ("0.123456", "129453/1048576"),
        ("0", "0"),
        ("1", "1"),
    ],
)
def test_shares_have_few_parts(share, whole):
    """As they are where they can be, within a millionth elsewhere."""
    found = whole_share(Fraction(share))

    assert found == Fraction(whole)
    assert abs(found - Fraction(share)) < Fraction(1, 2**20)


def test_errors_go_on_to_what_is_picked_between():
    """Quartiles are off by a half of what the median is, besides."""
    levels = pick_by_halves([Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)])

    assert list(rank_variances(levels, Fraction(1))) == [Fraction(5, 2), 2, Fraction(5, 2)]
