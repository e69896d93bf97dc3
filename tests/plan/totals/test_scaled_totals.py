"""What strategies that add up weights share: scales by factors, exact where nothing changes."""

from fractions import Fraction

import pandas_blowfish as bf
from pandas_blowfish.plan.totals.scaled_totals import WeighedTotals
from pandas_blowfish.policy.domain import Domain, integers

POLICY = bf.Policy(Domain((integers("x", 0, 8), integers("g", 0, 1))), secrets={"g": bf.public()})


def test_scales_follow_factors():
    """Each total's scale is its factor times one number; groups that no row can be in have none."""
    for verb in ("mean", "var"):
        measured = getattr(POLICY.plan.where("g == 0").groupby("g"), verb)("x", epsilon="1/2").measurement
        ratios = {s / f for s, f in zip(measured.total_scales, measured.factors, strict=True) if f}

        assert isinstance(measured, WeighedTotals)
        assert len(ratios) == 1
        assert measured.lose([1 / s if s else Fraction(0) for s in measured.total_scales]) == Fraction(1, 2)
        assert measured.scales[1] == 0  # group 1 is left out


def test_domains_hold_groups_weighed_columns_and_filters():
    """Each column once, groups first."""
    measured = POLICY.plan.where("x > 2").groupby("g").var("x").measurement

    assert measured.domain.columns == ("g", "x")
