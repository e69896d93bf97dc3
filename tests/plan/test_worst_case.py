"""What a release loses when one record may move anywhere is never less than any pair of cells says."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import BlowfishError
from pandas_blowfish.plan import loss as losses
from pandas_blowfish.plan import worst_case as module
from pandas_blowfish.plan.line.dawa import ADAPTIVE
from pandas_blowfish.plan.loss import MANY, WorstCase, edge_loss
from pandas_blowfish.plan.tables.mesh import SPREAD
from pandas_blowfish.plan.worst_case import closure
from pandas_blowfish.policy.domain import Domain, from_dict, integers

LINE = Domain((integers("x", 0, 5),))


def every_pair(policy, domain):
    """Return all pairs of cells that agree on the public columns; with presence absent is one more."""
    public = [n for n, column in enumerate(domain.columns) if column in policy.public_columns]
    cells = list(itertools.product(*(range(size) for size in domain.shape)))
    pairs = [
        (a, b)
        for a, b in itertools.combinations(range(len(cells)), 2)
        if all(cells[a][n] == cells[b][n] for n in public)
    ]
    pairs += [(cell, len(cells)) for cell in range(len(cells)) if policy.presence]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def slow(plan):
    """Return the loss over every such pair, from the matrix and the scales alone."""
    return edge_loss(plan.matrix(), plan.scales, every_pair(plan.policy, plan.domain)).value


def plans(draw, policy, make_filter, make_bins, make_boxes):
    """Yield plans of every verb and strategy that can be had under a policy."""
    planner = policy.plan
    if draw.random() < 0.4:
        planner = planner.where(make_filter(draw, policy.domain))
    columns = draw.sample(policy.domain.columns, len(policy.domain.columns))
    if len(columns) > 1 and draw.random() < 0.4:
        planner, columns = planner.groupby(columns[0]), columns[1:]
    first = policy.domain[columns[0]]
    half = Fraction(1, 2)
    calls = [lambda: planner.hist(columns[0], epsilon=half, bins=make_bins(draw, first))]
    calls += [lambda: planner.count(epsilon=half), lambda: planner.marginal(columns, epsilon=half)]
    calls.append(lambda: planner.marginal([[column] for column in columns], epsilon=half))
    if first.ordered:
        names = ["auto", "identity", "ordered", "ordered_hierarchical", "hierarchical", "haar", "tree"]
        calls.append(lambda: planner.hist(columns[0], epsilon=half, strategy=draw.choice(names[:-1])))
        calls.append(lambda: planner.cumhist(columns[0], epsilon=half, strategy=draw.choice(names)))
        calls.append(lambda: planner.range(columns[0], "all", epsilon=half, strategy=draw.choice(names)))
    if first.kind in ("integer", "float"):
        calls.append(lambda: planner.sum(columns[0], epsilon=half))
        calls.append(lambda: planner.mean(columns[0], epsilon=half, rows=9))
    if len(columns) > 1 and all(policy.domain[column].ordered for column in columns[:2]):
        boxes = make_boxes(draw, [policy.domain[column] for column in columns[:2]], 4)
        calls.append(lambda: planner.range(columns[:2], boxes, epsilon=half))
    weights = [[draw.randint(-2, 2) for _ in range(first.size)] for _ in range(3)]
    calls.append(lambda: planner.workload(weights, columns[0], epsilon=half))
    for call in calls:
        try:
            plan = call()
        except BlowfishError:  # a strategy that does not fit the question
            continue
        if plan.strategy not in ("dawa", "mesh"):
            yield plan


@pytest.mark.parametrize("seed", range(24))
def test_at_least_every_pair(seed, make_full_policy, make_filter, make_bins, make_boxes, monkeypatch):
    """No pair of cells that agree on the public columns loses more, and what is infinite is never told."""
    draw = random.Random(seed)
    policy = make_full_policy(draw, draw.randint(1, 3), most=3)

    for plan in plans(draw, policy, make_filter, make_bins, make_boxes):
        loss = slow(plan)
        for few in (10**9, 0):  # cells are tried pair by pair, or bounded together
            monkeypatch.setattr(losses, "FEW", few)
            module._kept.clear()
            found = closure(plan)

            if found.loss is None:
                assert math.isinf(loss), plan
                assert found.why
            else:
                assert loss <= found.loss <= (loss if few else 2 * loss) * (1 + 1e-6), plan


@pytest.mark.parametrize(
    ("secret", "verb", "loss"),
    [
        (bf.full(), "hist", 1),
        (bf.threshold(1), "cumhist", 5),  # a record may now pass five prefixes, not one
        (bf.threshold(1), "count", 0),
        (bf.partition([range(3), range(3, 6)]), "hist", None),  # the groups' totals are told exactly
        (bf.public(), "hist", 0),
    ],
)
def test_known_losses(secret, verb, loss):
    """Full and public columns lose what they did, lines more, exact totals of groups without bound."""
    planner = bf.Policy(LINE, secrets={"x": secret}).plan
    plan = planner.count(epsilon=1) if verb == "count" else getattr(planner, verb)("x", epsilon=1)

    assert closure(plan).loss == loss


@pytest.mark.parametrize("strategy", ["ordered", "hierarchical", "haar"])
@pytest.mark.parametrize(
    "secret", [bf.partition([[0, 1], [2]]), bf.threshold(1), bf.edges([(0, 1)]), bf.public()], ids=repr
)
def test_lines_of_groups(secret, strategy):
    """Totals that lines share are not told once records may move between all of them."""
    domain = Domain((integers("g", 0, 2), integers("x", 0, 5)))
    policy = bf.Policy(domain, secrets={"g": secret, "x": bf.threshold(1)})
    plan = policy.plan.groupby("g").cumhist("x", strategy=strategy)

    loss, found = slow(plan), closure(plan).loss

    assert found is None if math.isinf(loss) else found == loss


def test_what_has_no_matrix_has_no_loss():
    """Measuring as the rows suggest, noise on a mesh and sums without bounds say why they are unknown."""
    grid = Domain((integers("x", 0, 5), integers("y", 0, 5)))
    nearby = bf.Policy(grid, secrets={("x", "y"): bf.threshold(1)})
    line = bf.Policy(LINE, secrets={"x": bf.threshold(1)})
    free = bf.Policy(
        Domain((from_dict("x", {"type": "float"}), integers("y", 0, 5))), secrets={"x": bf.threshold(1)}
    )
    boxes = [((0, 2), (1, 3)), ((0, 5), (0, 4))]

    found = {
        ADAPTIVE: closure(line.plan.hist("x", strategy="dawa")),
        SPREAD: closure(nearby.plan.range(["x", "y"], boxes, strategy="mesh")),
        module.UNBOUNDED: closure(free.plan.sum("x")),
    }

    assert all(each == WorstCase(None, why) for why, each in found.items())


def test_long_lines_and_tables_are_bounded_or_refused():
    """A line is read off its runs whatever its length; rows over too many cells are not listed."""
    policy = bf.Policy(Domain((integers("x", 0, 99_999),)), secrets={"x": bf.threshold(1)})
    wide = bf.Policy(Domain(tuple(integers(name, 0, 1_999) for name in "ab")), secrets={"a": bf.threshold(1)})

    assert closure(policy.plan.cumhist("x")).loss == 99_999
    assert closure(wide.plan.marginal([["a", "b"], ["a"]])) == WorstCase(None, MANY)


def test_long_fractions_are_rounded_up():
    """A loss is written with a few digits, never fewer than it has."""
    long = Fraction(10**40 + 1, 3 * 10**40)

    short = module._rounded_up(long)

    assert long <= short <= long * (1 + Fraction(1, 10**10))
    assert short.denominator <= 10**13
    assert module._rounded_up(Fraction(1, 3)) == Fraction(1, 3)


def test_it_is_worked_out_once(monkeypatch):
    """A plan that is asked again keeps its loss."""
    plan = bf.Policy(LINE, secrets={"x": bf.threshold(1)}).plan.cumhist("x", epsilon="1/7")
    first = closure(plan)

    monkeypatch.setattr(module, "_closure", lambda _: pytest.fail("worked out twice"))

    assert closure(plan) is first


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("strategy", ["grid", "soft", "adaptive", "whole", "auto"])
def test_synopses_lose_at_least_every_pair(strategy, seed, make_clusters):
    """Of a clustering the loss may be unknown, never below that of a pair of cells, nor what is infinite."""
    draw = random.Random(seed)
    found = make_clusters(draw)
    scope = found.policy.plan.groupby("g") if "g" in found.policy.domain.columns else found.policy.plan
    try:
        plan = scope.kmeans(found.columns, 1, epsilon="1/2", strategy=strategy, rows=draw.choice([None, 99]))
    except BlowfishError:  # too few cells, or pieces
        return

    stated = closure(plan).loss

    assert stated is None or slow(plan) <= stated
    assert stated is not None or closure(plan).why
