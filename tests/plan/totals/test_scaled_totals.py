"""What strategies that add up weights share: scales by factors, exact where nothing changes."""

from dataclasses import replace
from fractions import Fraction

import pandas_blowfish as bf
from pandas_blowfish.plan.totals.law import BoxLaw
from pandas_blowfish.plan.totals.scaled_totals import WeighedTotals
from pandas_blowfish.plan.totals.sum_boxes import SumBox
from pandas_blowfish.policy.domain import Domain, integers

POLICY = bf.Policy(Domain((integers("x", 0, 8), integers("g", 0, 1))), secrets={"g": bf.public()})


def test_scales_follow_factors():
    """Each total's scale is its factor times one number; groups that no row can be in have none."""
    for verb in ("mean", "var"):
        measured = getattr(POLICY.plan.where("g == 0").groupby("g"), verb)("x", epsilon="1/2").measurement
        measured = replace(measured, boxes=())
        ratios = {s / f for s, f in zip(measured.total_scales, measured.factors, strict=True) if f}

        assert isinstance(measured, WeighedTotals)
        assert len(ratios) == 1
        rates = [1 / s if s else Fraction(0) for s in measured.total_scales]
        assert measured.lose(rates, measured.moved) == Fraction(1, 2)
        assert measured.scales[1] == 0  # group 1 is left out


def test_boxes_have_one_scale_and_a_draw_per_group():
    """A box of all groups is one draw; groups that no row can be in have no noise."""
    policy = bf.Policy(Domain((integers("x", 0, 8), integers("y", 0, 99), integers("g", 0, 2))))
    measured = policy.plan.where("g <= 1").groupby("g").sum(["x", "y"], epsilon="1/2").measurement
    each, whole = (replace(measured, boxes=(SumBox((0, 1), wide),)) for wide in (False, True))

    assert [joint.rows.tolist() for joint in each.scales.joint.values()] == [[0, 3], [1, 4]]
    assert [joint.rows.tolist() for joint in whole.scales.joint.values()] == [[0, 1, 3, 4]]
    assert list(each.scales) == [4, 4, 0, 4, 4, 0]  # a move from one group to the other changes two draws
    assert list(whole.scales) == [2, 2, 0, 2, 2, 0]
    assert whole.laws[1] == BoxLaw(Fraction(2), 99, ((8, 2), (99, 2)))
    assert each.laws[1] == BoxLaw(Fraction(4), 99, ((8, 1), (99, 1)))
    assert each.variances.reshape(3, 2)[2].tolist() == [0, 0]
    assert "draw their noise together" in whole.proof
    assert whole.notes({"verb": "sum"}, rows_public=True) == {"drawn together": "x, y over all groups"}


def test_domains_hold_groups_weighed_columns_and_filters():
    """Each column once, groups first."""
    measured = POLICY.plan.where("x > 2").groupby("g").var("x").measurement

    assert measured.domain.columns == ("g", "x")
