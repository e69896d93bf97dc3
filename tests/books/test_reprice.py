"""Once a fact is public every earlier release costs at least what it has lost, or the dataset is closed."""

import itertools
import json
import random
from fractions import Fraction

import numpy as np
import pytest
from oracle.neighbours import true_loss

import pandas_blowfish as bf
from pandas_blowfish.books.balance import Dataset
from pandas_blowfish.books.log import Entry
from pandas_blowfish.books.reprice import facts_since, policy_of, price_with, reprice_charges
from pandas_blowfish.errors import ArgumentError, BlowfishError
from pandas_blowfish.facts.fact import answer_of, cells_of, read_facts
from pandas_blowfish.facts.later import read_fact
from pandas_blowfish.plan.tally import tally
from pandas_blowfish.plan.worst_case import closure
from pandas_blowfish.policy.domain import Domain, integers

GRID = Domain((integers("x", 0, 2), integers("y", 0, 1)))


def bound(policy, *facts, total=10**9, rows=None, closed=None):
    """Return a dataset under a policy, with facts recorded since."""
    binding = {"policy": json.dumps(policy.to_dict()), "rows": rows}
    recorded = tuple(fact.to_dict() for fact in facts)
    return Dataset("a", binding, Fraction(total), Fraction(0), closed, recorded)


def charged(plan, number=1):
    """Return the entry of a release, as `measure` writes it, and its cost."""
    found = closure(plan)
    text = None if found.loss is None else str(found.loss)
    body = {"closure": text, "unknown": found.why, "columns": list(plan.domain.columns)}
    return Entry(number, "a", "charge", "", body, ""), plan.cost


def random_plans(draw, policy, make_filter, make_bins):
    """Return a few plans of different strategies, as far as they can be had."""
    planner = policy.plan
    if draw.random() < 0.3:
        planner = planner.where(make_filter(draw, policy.domain))
    column = draw.choice(policy.domain.columns)
    half = Fraction(1, 2)
    calls = [
        lambda: planner.hist(list(policy.domain.columns), epsilon=half),
        lambda: planner.hist(column, epsilon=half, bins=make_bins(draw, policy.domain[column])),
        lambda: planner.cumhist(column, epsilon=half),
        lambda: planner.range(column, "all", epsilon=half, strategy=draw.choice(["haar", "hierarchical"])),
        lambda: planner.sum(column, epsilon=half),
    ]
    for call in draw.sample(calls, 3):
        try:
            yield call()
        except BlowfishError:  # no order, or no number
            continue


def random_case(draw, make_full_policy, make_facts):
    """Return a small policy and two facts that some table of three rows satisfies, answers told or not."""
    while True:
        policy = make_full_policy(draw, draw.randint(1, 2), most=3)
        if policy.domain.size <= 8:
            break
    table = np.bincount([draw.randrange(policy.domain.size) for _ in range(3)], minlength=policy.domain.size)
    facts = make_facts(draw, policy.domain, table, 2)
    told = [fact.to_dict() for fact in facts]
    return policy, [read_fact({**each, "answer": None} if draw.random() < 0.6 else each) for each in told]


@pytest.mark.parametrize("seed", range(40))
def test_costs_at_least_the_true_loss(seed, make_full_policy, make_facts, make_filter, make_bins):
    """By the definition, between all neighbouring tables of up to three rows under all facts known then."""
    draw = random.Random(seed)
    policy, facts = random_case(draw, make_full_policy, make_facts)
    begin = draw.choice([0, 0, 1])  # facts known when the release was planned

    for plan in random_plans(draw, policy_of(bound(policy, *facts[:begin])), make_filter, make_bins):
        entry, cost = charged(plan)
        for known in range(begin + 1, len(facts) + 1):
            try:
                found = reprice_charges(bound(policy, *facts[: known - 1]), [(entry, cost)], facts[known - 1])
            except ArgumentError:  # it contradicts the fact before
                break
            assert found.more == found.costs.get("1", cost) - cost >= 0
            cost = found.costs.get("1", cost)
            public = policy.with_facts(facts[:known])
            lost = max(
                true_loss(public, plan.matrix(), plan.scales, rows, plan.domain.columns) for rows in (1, 2, 3)
            )
            assert found.closed or lost <= cost, (plan, public)


def test_the_example_of_the_paper():
    """A full histogram charged 1/2 has lost 1 once one marginal of two cells is known, and no more."""
    policy = bf.Policy(GRID)
    plan = policy.plan.hist(["x", "y"], epsilon="1/2")

    found = reprice_charges(bound(policy), [charged(plan)], bf.Marginal("y"))

    assert found.costs == {"1": Fraction(1)}
    assert (found.more, found.closed) == (Fraction(1, 2), None)
    known = policy.with_facts([bf.Marginal("y")])
    assert true_loss(known, plan.matrix(), plan.scales, 2) == 1


def test_a_release_planned_under_the_fact_costs_what_it_did():
    """Of what was planned under all facts nothing becomes dearer when they are stated again."""
    policy, fact = bf.Policy(GRID), bf.Marginal("y")
    plan = policy.with_facts([fact]).plan.hist(["x", "y"], epsilon="1/2")

    assert reprice_charges(bound(policy, fact), [charged(plan)], bf.Count("x == 0")).costs["1"] > Fraction(
        1, 2
    )
    assert reprice_charges(bound(policy, fact), [charged(plan)], bf.Marginal("y", answer=[1, 2])).costs == {}


def test_what_a_fact_tells_anyway_loses_nothing_more():
    """A release about columns whose marginal becomes public is no dearer, even if it told totals exactly."""
    policy = bf.Policy(GRID, secrets={"x": bf.partition([[0, 1], [2]])})
    charges = [charged(policy.plan.hist(column, epsilon=1), number) for number, column in enumerate("xy")]
    assert charges[0][0].body["closure"] is None

    told = reprice_charges(bound(policy), charges, bf.Marginal("x"))
    other = reprice_charges(bound(policy), charges[:1], bf.Marginal("y"))

    assert (list(told.costs), told.closed) == (["1"], None)
    assert "entry 0" in other.closed


def tables(policy, rows=3):
    """Return all tables of some rows that satisfy the facts, as histograms."""
    found = set()
    for cells in itertools.combinations_with_replacement(range(policy.domain.size), rows):
        table = np.bincount(cells, minlength=policy.domain.size).reshape(policy.domain.shape)
        answers = [_answer(policy, fact, table) for fact in policy.facts]
        told = zip(policy.facts, answers, strict=True)
        if all(fact.answer is None or np.array_equal(fact.answer, answer) for fact, answer in told):
            found.add(tuple(table.ravel().tolist()))
    return found


def _answer(policy, fact, table):
    if fact.condition is None:
        lost = tuple(n for n, column in enumerate(policy.domain.columns) if column not in fact.columns)
        left = [column for column in policy.domain.columns if column in fact.columns]
        return table.sum(axis=lost).transpose([left.index(column) for column in fact.columns])
    cells = [part.cells for part in fact.condition.parts] if hasattr(fact.condition, "parts") else None
    assert cells is None or len(cells) == 1
    held = fact.condition.parts[0] if cells else fact.condition
    axis = policy.domain.columns.index(held.column)
    return np.moveaxis(table, axis, 0)[held.cells].sum()


@pytest.mark.parametrize(
    "fact",
    [
        bf.Count("x == 0", answer=1),
        bf.Box(x=(1, 2), answer=2),
        bf.Marginal("x", answer=[1, 2, 0]),
        bf.Marginal("y", "x", answer=[[1, 0, 0], [0, 2, 0]]),
    ],
    ids=repr,
)
def test_facts_that_follow_change_nothing(fact):
    """A count of cells that a known marginal tells apart leaves the possible tables as they were."""
    known = bf.Policy(GRID, constraints=[bf.Marginal("x", "y", answer=[[1, 0], [0, 2], [0, 0]])])

    after = policy_of(bound(known, fact))

    assert after == known
    assert tables(after) == tables(known.with_facts([*known.constraints, fact])) == {(1, 0, 0, 2, 0, 0)}
    assert price_with(bound(known), fact) is None


def test_an_answer_comes_later():
    """A fact that was left open is answered in its place; facts of the past are found again."""
    first = bf.Policy(GRID, constraints=[bf.Marginal("y")])
    dataset = bound(first, bf.Count("x == 0"), bf.Marginal("y", answer=[1, 2]))

    now = policy_of(dataset)

    assert now.constraints == (bf.Marginal("y", answer=[1, 2]), bf.Count("x == 0"))
    assert [len(policy_of(dataset, known).constraints) for known in (0, 1, 2)] == [1, 2, 2]
    assert policy_of(dataset, 0) == first
    assert tables(now) < tables(policy_of(dataset, 1))


@pytest.mark.parametrize("fact", [bf.Marginal("y", answer=[1, 3]), bf.Count("y == 0", answer=4)])
def test_answers_that_the_rows_cannot_have(fact):
    """A public number of rows is the sum of a marginal, and the most of any count; presence hides it."""
    with pytest.raises(ArgumentError, match="3 rows"):
        price_with(bound(bf.Policy(GRID), rows=3), fact)

    assert price_with(bound(bf.Policy(GRID, presence=True), rows=3), fact).touched


def test_reasons():
    """A dataset closed for its total names what cost it, one closed for good keeps its reason."""
    plan = bf.Policy(GRID).plan.hist("x", epsilon=1)
    many = [charged(plan, number) for number in range(1, 12)]

    over = reprice_charges(bound(bf.Policy(GRID), total=1), many, bf.Marginal("y"))
    kept = reprice_charges(bound(bf.Policy(GRID), total=1, closed="for good"), many, bf.Marginal("y"))
    dark = reprice_charges(
        bound(bf.Policy(GRID)), [(Entry(7, "a", "charge", "", {}, ""), 1)], bf.Marginal("y")
    )

    assert "1, 2, 3, 4, 5, 6, 7, 8 and 3 more" in over.closed
    assert kept.closed == "for good"
    assert kept.costs == over.costs
    assert "entry 7 (made before facts could be priced)" in dark.closed


SAME = [
    [bf.Count("x == 0"), bf.Count("x<1"), bf.Box(x=(0, 0)), bf.Count("not x > 0"), bf.Count("x in [0]")],
    [bf.Count("x == 0 and y == 1"), bf.Count("y > 0 and (x < 1 and x < 2)"), bf.Box(y=(1, 1), x=(None, 0))],
    [bf.Count("x == 0 or y == 1"), bf.Count("y == 1 or (x == 0 or x == 0)")],
    [bf.Count("x == 0 and (x == 0 or y == 1)")],
    [bf.Count("y == 0 and (x == 0 or y == 1)"), bf.Count("(y == 1 or x == 0) and y == 0")],
    [bf.Count("y == 0")],
    [bf.Marginal("x", "y"), bf.Marginal("y", "x")],
    [bf.Marginal("x")],
]


def test_facts_are_told_apart_by_what_they_count():
    """Facts that are taken for the same count the same cells; plain spellings of one are the same."""
    found = [{cells_of(fact) for fact in read_facts(facts, GRID)} for facts in SAME]

    assert [len(cells) for cells in found] == [1] * len(SAME)
    assert len(set.union(*found)) == len(SAME)


@pytest.mark.parametrize("seed", range(60))
def test_the_same_cells_are_the_same_counts(seed, make_filter):
    """By enumeration: filters of equal cells hold of the same cells of the domain."""
    draw = random.Random(seed)
    facts = read_facts([bf.Count(make_filter(draw, GRID)) for _ in range(40)], GRID)
    held = {}

    for fact in facts:
        cells = tally(GRID, list(GRID.columns), None, fact.condition).labels() >= 0
        assert np.array_equal(held.setdefault(cells_of(fact), cells), cells)


def test_another_spelling_is_the_same_fact():
    """It changes nothing but an answer that was left open; in whatever order columns are named."""
    known = bf.Policy(GRID, constraints=[bf.Count("x == 0"), bf.Marginal("x", "y")])
    table = [[1, 0], [0, 2], [0, 0]]
    turned = [list(line) for line in zip(*table, strict=True)]
    one, other = read_facts([bf.Marginal("x", "y", answer=table), bf.Marginal("y", "x", answer=turned)], GRID)

    assert price_with(bound(known), bf.Box(x=(0, 0))) is None
    answered = policy_of(bound(known, bf.Box(x=(0, 0), answer=1), bf.Marginal("y", "x", answer=turned)))
    assert answered.constraints == (bf.Box(x=(0, 0), answer=1), bf.Marginal("y", "x", answer=turned))
    assert answer_of(one) == answer_of(other) == (1, 0, 0, 2, 0, 0)
    with pytest.raises(ArgumentError, match="another answer"):
        price_with(bound(answered), bf.Count("x < 1", answer=2))


def test_what_was_recorded_is_all_there():
    """Also what follows from another fact and is no part of the policy."""
    dataset = bound(bf.Policy(GRID), bf.Marginal("x"), bf.Count("x == 0", answer=2))

    assert [fact.text for fact in facts_since(dataset)] == ["Marginal('x')", "Count('x == 0')"]
    assert len(policy_of(dataset).facts) == 1


def test_no_more_is_lost_than_all_rows_lose():
    """Fifty rows move no more than fifty records, whatever facts become public; without a count they may."""
    wide = Domain((integers("x", 0, 3), integers("y", 0, 4)))
    policy, facts = bf.Policy(wide), [bf.Marginal("x"), bf.Marginal("y")]
    charge = charged(policy.plan.hist(["x", "y"], epsilon=1))

    costs = [
        reprice_charges(bound(each, facts[0], rows=rows), [charge], facts[1]).costs["1"]
        for each, rows in ((policy, 50), (policy, None), (bf.Policy(wide, presence=True), None))
    ]

    assert costs[0] == 50
    assert costs[1] == 148_955
    assert costs[2] > 50
