"""Boxes of totals: what an edge does to draws, which are offered, how finely they are cut."""

import random
from fractions import Fraction

import numpy as np
import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.beyond.aggregate import Aggregate
from pandas_blowfish.beyond.markov import Markov
from pandas_blowfish.plan.totals.sensitivity import Shifts
from pandas_blowfish.plan.totals.sum_boxes import (
    MAX_DRAWS,
    MAX_ROWS,
    MAX_WIDE,
    SumBox,
    box_laws,
    cut_finely,
    draw_together,
    offer_boxes,
    read_boxes,
)
from pandas_blowfish.policy.domain import Domain, integers


def changes_of(policy, measured):
    """Return for each edge by definition the change of every query row, edges x totals x groups."""
    matrix = measured.matrix().toarray()
    matrix = np.column_stack([matrix, np.zeros(len(matrix), dtype=matrix.dtype)])  # "absent"
    edges = definition_edges(policy, measured.domain.columns)
    found = abs(matrix[:, edges[:, 1]] - matrix[:, edges[:, 0]]).T
    return found.reshape(len(edges), len(measured.totals), measured.tally.size)


def test_no_edge_changes_more_draws(make_full_policy, make_filter):
    """Draws that an edge changes, and other totals, never lose more than is stated; often just that."""
    cases = tight = 0
    for number in range(200):
        draw = random.Random(number)
        policy = make_full_policy(draw, draw.randint(1, 3), 3)
        names = [a.name for a in policy.domain if a.kind in ("integer", "float", "bool")]
        if not names:
            continue
        rest = [name for name in policy.domain.columns if name not in names]
        scope = policy.plan.where(make_filter(draw, policy.domain)) if draw.random() < 0.4 else policy.plan
        scope = scope.groupby(rest) if rest and draw.random() < 0.6 else scope
        measured = getattr(scope, draw.choice(["sum", "mean", "var"]))(names).measurement
        noisy = [n for n, most in enumerate(measured.moved.rows) if most]
        if not noisy:
            continue
        boxed = draw.sample(noisy, draw.randint(1, len(noisy)))
        box = SumBox(tuple(sorted(boxed)), draw.random() < 0.5)
        rates = [Fraction(draw.randint(0, 9), draw.randint(1, 9)) for _ in measured.totals]
        changes = changes_of(policy, measured)

        drawn = (changes[:, list(box.totals)] > 0).any(axis=1)  # edges x groups
        counted = drawn.any(axis=1) if box.wide else drawn.sum(axis=1)
        own = [n for n in range(len(measured.totals)) if n not in box.totals]
        losses = [
            int(many) * rates[box.first] + sum(int(edge[n].sum()) * rates[n] for n in own)
            for many, edge in zip(counted, changes, strict=True)
        ]
        bound = draw_together(measured.moved, (box,)).loss(rates)

        assert (changes.max(axis=(0, 2), initial=0) <= measured.moved.rows).all()
        assert max(losses, default=0) <= bound
        cases, tight = cases + 1, tight + (max(losses, default=0) == bound)

    assert cases > 80
    assert tight / cases > 0.6


def test_what_several_columns_change_is_one_draw():
    """However many of them move; of columns by themselves the changes add up, as far as they may."""
    blocks = (((5, 0, 0),), ((0, 3, 0),), ((0, 0, 2),))
    moved = Shifts(blocks, ((10, 6, 4),), 3, (), (2,), (5, 3, 2))
    alone = Shifts(blocks, (), 1, (), (), (0, 0, 0))
    two = SumBox((0, 1))

    assert draw_together(moved, (two,)).loss([Fraction(1), Fraction(0), Fraction(1)]) == 6  # crossing: 2 + 4
    assert draw_together(moved, (SumBox((0, 1), True),)).loss([Fraction(9), Fraction(0), Fraction(1)]) == 13
    assert draw_together(alone, (two,)).loss([Fraction(9), Fraction(0), Fraction(11)]) == 22
    assert draw_together(moved, ()) is moved
    assert draw_together(moved, (two,)) is draw_together(moved, (SumBox((0, 1), steps=3),))


def policy_of(many, **more):
    """Return columns x0, x1, ... of ten values, and g to group by."""
    names = [f"x{number}" for number in range(many)]
    groups = more.pop("groups", 2)
    return bf.Policy(
        Domain((*(integers(name, 0, 9) for name in names), integers("g", 0, groups - 1))), **more
    )


def offered(policy, groups, many, kinds=None):
    """Return the boxes that are offered for sums of the columns, grouped."""
    names = [f"x{number}" for number in range(many)]
    scope = policy.plan.groupby("g") if groups > 1 else policy.plan
    measured = scope.sum(names).measurement
    kinds = kinds or [0] * len(measured.totals)
    return [boxes for boxes, _ in offer_boxes(policy, measured.moved, groups, kinds)]


def test_what_is_offered():
    """One box of all, or one for each kind; per group, or of few groups that rows can leave all together."""
    assert offered(policy_of(2), 1, 2) == [(SumBox((0, 1)),)]
    assert offered(policy_of(3), 1, 3, [0, 0, 1, 1]) == [(SumBox((0, 1, 2)),), (SumBox((0, 1)),)]
    assert offered(policy_of(2), 2, 2) == [(SumBox((0, 1)),), (SumBox((0, 1), True),)]
    assert offered(policy_of(1), 2, 1) == [(SumBox((0,), True),)]
    assert offered(policy_of(2, secrets={"g": bf.public()}), 2, 2) == [(SumBox((0, 1)),)]
    many = policy_of(2, groups=MAX_WIDE + 1)
    assert offered(many, MAX_WIDE + 1, 2) == [(SumBox((0, 1)),)]


def test_what_is_not_offered():
    """A single total; secrets of the whole table, and chains; too many draws, or too large ones."""
    assert offered(policy_of(1), 1, 1) == []
    assert offered(policy_of(2, groups=MAX_DRAWS + 1), MAX_DRAWS + 1, 2) == []
    moved = Shifts((((1,) * (MAX_ROWS + 1),),), (), 1, (), (), (0,) * (MAX_ROWS + 1))
    assert list(offer_boxes(policy_of(1), moved, 1, [0] * (MAX_ROWS + 1))) == []
    two = Shifts((((1, 1),),), (), 1, (), (), (0, 0))
    assert list(offer_boxes(policy_of(1), two, 1, [0, 0]))
    assert not list(offer_boxes(policy_of(1), two, 0, [0, 0]))
    secret = bf.Policy(Domain((integers("x", 0, 9),)), aggregates=[Aggregate("x.sum()", 1)])
    rows = [["0.9", "0.1"], ["0.2", "0.8"]]
    chained = bf.Policy(Domain((integers("x", 0, 1),)), chain=Markov("x", rows, length=9))
    for policy in (secret, chained):
        assert not list(offer_boxes(policy, two, 1, [0, 0]))


@pytest.mark.parametrize("rows", [(99, 99), (99, 10), (7, 1), (2**40, 3)])
@pytest.mark.parametrize("scale", ["1/30", "1/4", "1", "3", "1000"])
def test_cut_as_finely_as_helps(rows, scale):
    """Steps never make noise larger; of large noise one is enough; no change is longer than is paid for."""
    start, scale = SumBox((0, 1)), Fraction(scale)
    box = cut_finely(start, rows, scale, 1)

    def error(each):
        laws = box_laws(each, rows, scale * each.longest(rows), 1)
        return sum(law.variance / most**2 for law, most in zip(laws, rows, strict=True))

    for steps in (1, 2, 4, 8, 16):
        assert error(box) <= error(SumBox((0, 1), steps=steps)) * 1.01
    assert box.steps == 1 or scale < 4
    assert box.steps > 1 or scale != Fraction(1, 4) or min(rows) < 10
    steps = [-(-most // reach) for most, reach in zip(rows, box.reaches(rows), strict=True)]
    assert max(steps) == box.longest(rows) <= box.steps


def test_forms_are_read_as_they_were():
    """Plain data; nothing where there were none."""
    boxes = (SumBox((0, 2), True, 3), SumBox((1,)))

    assert read_boxes({"boxes": [box.form for box in boxes]}) == boxes
    assert read_boxes({"share": "1"}) == ()
