"""Boxes: atoms, spans and segments, against cells one by one; what is refused; what is never made."""

import random

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.policy.domain import Domain, integers


def random_question(draw, make_full_policy, make_filter, make_boxes):
    """Return boxes over two or three columns of a random policy, or None where too few are ordered."""
    policy = make_full_policy(draw, 3, 4)
    names = [a.name for a in policy.domain if a.ordered]
    if len(names) < 2:
        return None
    names = draw.sample(names, draw.randint(2, len(names)))
    bounds = make_boxes(draw, [policy.domain[name] for name in names], draw.randint(1, 5))
    scope = policy.plan.where(make_filter(draw, policy.domain)) if draw.random() < 0.5 else policy.plan
    others = [name for name in policy.domain.columns if name not in names]
    if others and draw.random() < 0.6:
        scope = scope.groupby(others)
    return policy, scope, names, bounds


@pytest.mark.parametrize("chunk", range(5))
def test_atoms_and_spans_match_cells(chunk, make_full_policy, make_filter, make_boxes, boxes_by_cells):
    """A box's cells are those of its atoms that the filter keeps; cells that boxes tell apart differ."""
    tried = 0
    for number in range(30):
        draw = random.Random(chunk * 30 + number)
        made = random_question(draw, make_full_policy, make_filter, make_boxes)
        if made is None:
            continue
        _, scope, names, bounds = made
        question = scope.range(names, bounds).asked[0]
        tried += 1
        if question.empty:
            assert not boxes_by_cells(question).any()
            continue
        codes = np.array(np.unravel_index(np.arange(question.domain.size), question.domain.shape))
        counted = question.whole.labels() >= 0
        groups, rows = question.groups, []
        for key in np.ndindex(*question.domain.shape[:groups]):
            own = counted & np.logical_and.reduce([codes[n] == k for n, k in enumerate(key)] or [counted])
            for box in range(len(question.nonempty)):
                hit = own.copy()
                for n, (low, high) in enumerate(question.spans):
                    atom = question.atoms[groups + n][codes[groups + n]]
                    hit &= (atom >= low[box]) & (atom < high[box])
                rows.append(hit)

        assert (np.array(rows) == boxes_by_cells(question)).all()
        for atom, kept in zip(question.atoms, question.kept_cells, strict=False):
            assert ((atom >= 0) == kept).all()
    assert tried > 10


@pytest.mark.parametrize("chunk", range(5))
def test_no_edge_leads_from_one_segment_to_another(chunk, make_full_policy, make_filter, make_boxes):
    """By definition of the policy, for every column by itself."""
    from oracle.definition import definition_edges

    for number in range(20):
        draw = random.Random(700 + chunk * 20 + number)
        made = random_question(draw, make_full_policy, make_filter, make_boxes)
        if made is None:
            continue
        policy, scope, names, bounds = made
        question = scope.range(names, bounds).asked[0]
        segments = question.segments(policy)
        for place in range(question.shown_columns):
            name, atom = question.domain.columns[place], question.atoms[place]
            for start, end in definition_edges(policy, [name]).tolist():
                if max(start, end) < len(atom) and atom[start] >= 0 and atom[end] >= 0:
                    assert segments[place][atom[start]] == segments[place][atom[end]]


def test_ways_over_cells_that_the_filter_drops():
    """0 - 1 - 2 with 1 dropped: 0 and 2 are one segment, as rows could go on; totals are not exact."""
    domain = Domain((integers("a", 0, 2), integers("b", 0, 2)))
    policy = bf.Policy(domain, secrets={"a": bf.threshold(1)})

    plan = policy.plan.where("a != 1").range(["a", "b"], [((0, 0), (0, 0)), ((0, 2), (0, 1))])

    assert plan.asked[0].segments(policy)[0].tolist() == [0, 0]
    assert plan.measurement.still is None
    assert plan.privacy_loss() == 1


def test_uneven_segments_are_not_filled_up_without_end():
    """One long group and hundreds of single values: a table of a few times the atoms, not of their square."""
    groups = [list(range(200)), *([n] for n in range(200, 400))]
    domain = Domain((integers("a", 0, 399), integers("b", 0, 399)))
    policy = bf.Policy(domain, secrets={name: bf.partition(groups) for name in "ab"})

    plan = policy.plan.range(["a", "b"], [((n, n), (n, n)) for n in range(400)], strategy="identity")

    assert len(plan.scales) <= 4 * 400**2
    assert plan.sensitivity == 2


def test_too_many_cells_are_refused():
    """Before anything is made, saying what would fit."""
    domain = Domain((integers("a", 0, 99_999), integers("b", 0, 99_999)))
    rising = np.arange(20_000)
    boxes = np.stack([np.column_stack([rising, rising])] * 2, axis=1)

    with pytest.raises(DomainTooLargeError):
        bf.Policy(domain).plan.range(["a", "b"], boxes)


def test_few_boxes_over_endless_columns():
    """Cells that no box tells apart are one: 10^12 cells are three atoms a column."""
    domain = Domain((integers("a", 0, 10**6), integers("b", 0, 10**6)))

    plan = bf.Policy(domain).plan.range(["a", "b"], [((5, 10), (7, 10**5))], epsilon=1)

    assert [int(atom.max()) + 1 for atom in plan.asked[0].atoms] == [3, 3]
    with pytest.raises(bf.BlowfishError):
        plan.matrix()


@pytest.mark.parametrize("strategy", ["auto", "identity", "hierarchical", "mesh"])
def test_nothing_to_hide(strategy):
    """Public columns, columns of one cell and empty filters are exact and free, whatever is asked for."""
    numbers = Domain((integers("a", 0, 3), integers("b", 0, 3)))
    public = bf.Policy(numbers, secrets={"a": bf.public(), "b": bf.public()})
    single = bf.Policy(Domain((integers("a", 0, 0), integers("b", 0, 0))))
    plans = [
        public.plan.range(["a", "b"], [((1, 2), (0, 3))], strategy=strategy),
        single.plan.range(["a", "b"], [((0, 0), (0, 0))], strategy=strategy),
        bf.Policy(numbers)
        .plan.where("a < 1 and a > 2")
        .range(["a", "b"], [((1, 2), (0, 3))], strategy=strategy),
    ]

    for plan in plans:
        assert plan.cost == 0
        assert plan.strategy == "exact"
        assert (plan.std == 0).all()
