"""The audit of totals that draw their noise together: every way that is offered loses at most epsilon."""

import random
from collections import OrderedDict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.errors import UnsoundPlanError
from pandas_blowfish.plan import choose
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.plan.totals import products, scaled_totals
from pandas_blowfish.plan.totals.sensitivity import Shifts
from pandas_blowfish.plan.totals.sum_boxes import SumBox, draw_together, offer_boxes
from pandas_blowfish.policy.domain import Domain, integers

CHUNKS, EACH = 4, 90
VERBS = ("sum", "mean", "var", "cov")


def instance(draw, make_full_policy, make_filter):
    """Return a random policy, and what a random question on it measures; None where nothing is numbers."""
    columns = draw.randint(1, 3)
    policy = make_full_policy(draw, columns, 4 if columns < 3 else 3)
    numbers = [a.name for a in policy.domain if a.kind in ("integer", "float", "bool")]
    if not numbers:
        return None
    asked = draw.sample(numbers, draw.randint(1, len(numbers)))
    rest = [column for column in policy.domain.columns if column not in asked]
    scope = policy.plan
    if draw.random() < 0.5:
        scope = scope.where(make_filter(draw, policy.domain))
    if rest and draw.random() < 0.7:
        scope = scope.groupby(draw.sample(rest, draw.randint(1, len(rest))))
    epsilon = Fraction(draw.randint(1, 60), draw.randint(1, 12))
    return policy, getattr(scope, draw.choice(VERBS))(asked, epsilon=epsilon).measurement


def ways(policy, measured):
    """Return the same totals with every choice of boxes that is offered."""
    kinds = [number % 2 for number in range(len(measured.totals))]
    groups = int(measured.occupied.sum())
    offered = offer_boxes(policy, measured.moved, groups, kinds)
    return [replace(measured, boxes=boxes).cut_finely() for boxes, _ in offered]


def loss_by_hand(policy, measured):
    """Return the largest loss over the edges by definition: per draw the largest change, in reaches."""
    matrix, edges = measured.matrix().toarray(), definition_edges(policy, measured.domain.columns)
    matrix = np.column_stack([matrix, np.zeros(len(matrix), dtype=matrix.dtype)])  # "absent"
    scales, worst = measured.scales, Fraction(0)
    for start, end in edges:
        change, lost = abs(matrix[:, end] - matrix[:, start]), Fraction(0)
        for code in np.unique(scales.codes[change > 0]).tolist():
            if code not in scales.joint:
                lost += Fraction(int(change[scales.codes == code].sum())) / scales.values[code]
                continue
            (block,) = scales.joint[code].blocks
            steps = max(
                -(-int(change[row]) // far) for row, far in zip(block.rows, block.reaches, strict=True)
            )
            lost += Fraction(steps) / scales.values[code]
        worst = max(worst, lost)
    return worst


@pytest.mark.parametrize("tried", ["tried", "bounded"])
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_loss_of_random_instances(chunk, tried, make_full_policy, make_filter, monkeypatch):
    """Of hundreds of instances, with all boxes that are offered, none loses more; most all of epsilon."""
    monkeypatch.setattr(choose, "_plans", OrderedDict())
    if tried == "bounded":
        monkeypatch.setattr(products, "TRIED_CELLS", 0)
    drawn = wide = tight = fine = 0

    for number in range(EACH):
        found = instance(random.Random(3_000_000 + chunk * EACH + number), make_full_policy, make_filter)
        if found is None:
            continue
        policy, measured = found
        for each in ways(policy, measured):
            loss = loss_by_hand(policy, each)
            edges = definition_edges(policy, each.domain.columns)

            assert loss <= each.epsilon
            assert loss == edge_loss(each.matrix(), each.scales, edges).value
            drawn, wide = drawn + 1, wide + any(box.wide for box in each.boxes)
            tight, fine = tight + (loss == each.epsilon), fine + any(box.steps > 1 for box in each.boxes)

    assert drawn > EACH / 3
    assert wide
    assert fine
    assert tight / drawn > (0.7 if tried == "tried" else 0.5)


def forget_groups(moved, boxes):
    """Return what edges do as if each changed one group."""
    return draw_together(replace(moved, groups=(1,) * len(moved.groups)), boxes)


@pytest.mark.parametrize("broken", ["half the reaches", "one group", "one step"])
def test_the_audit_finds_boxes_that_lie(broken, make_full_policy, make_filter, monkeypatch):
    """Reaches that forget an edge, or draws that are not counted, are found: the audit can fail."""
    monkeypatch.setattr(choose, "_plans", OrderedDict())
    rows = Shifts.rows.func
    caught = 0
    for number in range(120):
        found = instance(random.Random(number), make_full_policy, make_filter)
        if found is None:
            continue
        policy, measured = found
        with monkeypatch.context() as patch:
            if broken == "half the reaches":
                patch.setattr(Shifts, "rows", property(lambda self: tuple(-(-n // 2) for n in rows(self))))
            if broken == "one group":
                patch.setattr(scaled_totals, "draw_together", forget_groups)
            if broken == "one step":
                patch.setattr(SumBox, "longest", lambda self, rows: 1)
            caught += any(loss_by_hand(policy, each) > each.epsilon for each in ways(policy, measured))

    assert caught > 0


FRAME = pd.DataFrame({"a": [3, 5, 9], "b": [1, 0, 1], "c": [99, 3, 50]})
POLICY = bf.Policy(Domain((integers("a", 0, 9), integers("b", 0, 1), integers("c", 0, 99))))


@pytest.mark.parametrize("verb", ["sum", "mean", "var"])
def test_the_kernel_finds_reaches_that_lie(verb, monkeypatch):
    """What an edge changes by more than its reach is found before anything is charged; the truth passes."""
    monkeypatch.setattr(choose, "_plans", OrderedDict())
    protected = FRAME.blowfish.protect(POLICY, epsilon=10)
    assert getattr(POLICY.plan, verb)(["a", "b", "c"]).measurement.boxes
    getattr(protected.blowfish, verb)(["a", "b", "c"], epsilon=1)
    monkeypatch.setattr(choose, "_plans", OrderedDict())
    rows = Shifts.rows.func
    monkeypatch.setattr(Shifts, "rows", property(lambda self: tuple(n - (n > 1) for n in rows(self))))
    spent = protected.blowfish.budget.spent

    with pytest.raises(UnsoundPlanError, match="loses"):
        getattr(protected.blowfish, verb)(["a", "b", "c"], epsilon=1)

    assert protected.blowfish.budget.spent == spent == 1
