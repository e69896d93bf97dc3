"""Picked quantiles of neighbouring tables, by their exact law: the odds change by at most the charge.

Neighbours come from the definition (edges, people with several rows, public facts); rows are protected,
planned, charged and counted for real, and the scales are those that the kernel asks of the sampler. The
second round of every first one is gone through, with the odds of both together.
"""

import itertools
import math
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from oracle import cases
from oracle.cases import frame_of, in_words
from oracle.definition import definition_edges
from oracle.places_law import BASE, LONG, choices_of, common_scale, counts_of, largest_ratio
from oracle.tap import ask, tables

import pandas_blowfish as bf
from pandas_blowfish.errors import BlowfishError, UnsoundPlanError
from pandas_blowfish.kernel.check import Check
from pandas_blowfish.plan.quantiles import select
from pandas_blowfish.plan.worst_case import closure, closure_graph
from pandas_blowfish.policy.domain import Domain, integers

MOST = 48  # sequences of picks that are gone through
SHARES = ([0.5], [0.25], 0.9, [0.2, 0.5], [0.25, 0.5, 0.75], [0.3, 0.4, 0.9], [0, 0.5, 1])


@pytest.fixture(autouse=True)
def _few_parts(monkeypatch):
    """Let cells be cut into few parts, so that all picks can be listed."""
    monkeypatch.setattr(select, "MOST_PARTS", 2)
    monkeypatch.setattr(select, "ENOUGH", 1)


def random_question(draw, *, small):
    """Return a policy, a question by "select" and its plan; None where what was drawn cannot be asked."""
    policy = cases._policy(draw, "quantile", small)
    try:
        steps, plan = cases._question(draw, policy, "quantile") if policy is not None else (None, None)
        if plan is None or steps[-1][0] != "quantile":
            return None
        name, given, named = steps[-1]
        named = {**named, "strategy": "select", "epsilon": Fraction(2, 3)}
        steps = (*steps[:-1], (name, (given[0], draw.choice(SHARES)), named))
        plan = ask(policy.plan, steps)
    except UnsoundPlanError:
        raise
    except BlowfishError:
        return None
    measured = plan.measurement
    before = [len(level) * len(measured.lines.live) for level in measured.levels[:-1]]
    listed = (int(measured.lines.sizes.max()) * measured._parts(0)) ** sum(before)
    fits = listed <= MOST and int(measured.lines.sizes.max()) * measured._parts(0) <= 8
    return (policy, steps, plan) if fits else None


def compare(plan, frames, pairs, releases):
    """Return how many pairs lose something, how many much of the charge; fail where one loses more."""
    run = releases[0](())
    counts = [counts_of(plan, frame) for frame in frames]
    assert run.charged == plan.cost
    if not plan.cost:
        assert not run.draws
        step = plan.measurement.next_round([])
        for one, two in pairs:
            assert choices_of(step, counts[one]) == choices_of(step, counts[two]) or plan.price.settled
        return 0, 0
    assert len(run.draws) == len(plan.measurement.levels)
    scales = [scale for scale, *_ in run.draws]
    longest = common_scale(scales)
    power = run.charged * longest  # exp(charge) = (1 / BASE) ** power
    lossy = tight = 0
    if longest > LONG * min(scales):  # fractions of too many digits
        return 0, 0
    for one, two in pairs:
        if (counts[one] == counts[two]).all():
            continue
        ratio = largest_ratio(plan, counts[one], counts[two], longest)
        assert ratio**power.denominator <= (1 / BASE) ** power.numerator, f"{plan!r}\n{plan.policy.to_yaml()}"
        lossy += ratio > 1
        tight += math.log(ratio) >= 0.4 * float(power) * math.log(1 / BASE)
    return lossy, tight


@pytest.mark.parametrize("chunk", range(4))
def test_no_neighbours_lose_more_than_is_charged(chunk):
    """Every kind of secret, filters, groups, presence, missing values, public facts, by halves or apart."""
    lossy = tight = touched = grouped = halved = 0
    for seed in range(chunk, 240, 4):
        draw = random.Random(f"quantile {seed}")
        asked = random_question(draw, small=draw.random() < 0.5)
        if asked is None:
            continue
        policy, steps, plan = asked
        found = cases._by_facts(draw, policy) if policy.constraints else cases._by_edges(draw, policy)
        if found is None:
            continue
        listed, pairs = found
        pairs = draw.sample(pairs, min(len(pairs), 4))
        if not policy.constraints and draw.random() < 0.5:  # far from some ranks, where most is lost
            records = list(itertools.product(*(range(size) for size in policy.domain.shape)))
            more = [draw.choice(records)] * 7 + [draw.choice(records)] * 7
            listed = [table + more for table in listed]
        frames = [frame_of(policy.domain, table) for table in listed]
        releases = tables(frames, policy, steps)

        some, all_of_it = compare(plan.with_rows(None), frames, pairs + [p[::-1] for p in pairs], releases)

        lossy, tight = lossy + some, tight + all_of_it
        touched += plan.price.touched and not plan.price.settled
        grouped += plan.measurement.outer is not None
        halved += plan.measurement.in_rounds
    assert lossy > 20
    assert tight > 0
    assert touched + grouped > 3
    assert halved > 1


@pytest.mark.parametrize("rows", [2, 3])
def test_no_person_loses_more_than_is_charged(rows):
    """All rows of one person move, each along an edge, or come or go."""
    lossy = 0
    for seed in range(30):
        draw = random.Random(f"person {rows} {seed}")
        asked = random_question(draw, small=False)
        if asked is None or asked[0].constraints:
            continue
        policy = asked[0].with_max_rows(rows)
        plan = ask(policy.plan, asked[1])
        records = list(itertools.product(*(range(size) for size in policy.domain.shape)))
        edges = definition_edges(in_words(policy), policy.domain.columns).tolist()
        if not edges:
            continue
        others = [draw.choice(records) for _ in range(draw.choice([0, 3, 9]))]
        frames = []
        for _ in range(4):
            moves = [draw.choice(edges) for _ in range(rows)]
            for end in range(2):
                own = [records[move[end]] for move in moves if move[end] != len(records)]
                who = [*range(len(others)), *["the person"] * len(own)]
                frames.append(frame_of(policy.domain, others + own).assign(who=who))
        releases = tables(frames, policy, asked[1], unit="who")

        lossy += compare(plan, frames, [(n, n + 1) for n in range(0, 8, 2)], releases)[0]
    assert lossy > 10


def test_a_record_loses_nearly_all_that_is_charged():
    """Far below the median to far above it: one place gains what another loses."""
    policy = bf.Policy(Domain((integers("x", 0, 3),)))
    steps = (("quantile", ("x", 0.5), {"epsilon": Fraction(1, 2), "strategy": "select"}),)
    base = [(1,)] * 60 + [(2,)] * 60 + [(0,)] * 30 + [(3,)] * 30
    frames = [frame_of(policy.domain, [*base, (cell,)]) for cell in (0, 3)]

    plan = ask(policy.plan, steps)
    ratio = largest_ratio(plan, *(counts_of(plan, each) for each in frames), Fraction(8))

    assert plan.scale == 8  # in halves of a row
    assert ratio <= (1 / BASE) ** 4
    assert ratio > (1 / BASE) ** 2


@pytest.mark.parametrize("q", [0.5, [0.25, 0.5, 0.75], [0.1, 0.5, 0.9]])
@pytest.mark.parametrize("scoped", [False, True])
def test_the_kernel_finds_a_scale_that_is_too_small(q, scoped):
    """A thousandth less noise, and nothing is charged or counted; in a later round too."""
    policy = bf.Policy(Domain((integers("x", 0, 8), integers("y", 0, 2))))
    asked = policy.plan.groupby("y") if scoped else policy.plan
    plan = asked.quantile("x", q, strategy="select", epsilon=1)
    honest = plan.measurement
    liar = replace(honest, change=honest.change * Fraction(999, 1000))
    check, left = Check.of(policy, plan), plan.cost
    values = []

    while (step := honest.next_round(values)) is not None:
        lost = check.require(step, left)
        assert lost <= left
        with pytest.raises(UnsoundPlanError, match="loses"):
            check.require(liar.next_round(values), lost)
        left -= lost
        middle = [
            int(np.median(np.flatnonzero(step.choices == own))) for own in range(len(step.targets.shares))
        ]
        values.append(np.array(middle) * step.targets.parts)
    assert left == 0


def test_the_kernel_finds_places_that_are_not_free():
    """Without noise the nearest place is released only where no edge changes a rank."""
    policy = bf.Policy(Domain((integers("x", 0, 5),)))
    plan = policy.plan.quantile("x", 0.5, strategy="select", epsilon=1)
    free = replace(plan, measurement=replace(plan.measurement, change=Fraction(0)))

    with pytest.raises(UnsoundPlanError, match="an unlimited amount"):
        Check.of(policy, free).require(free.measurement, plan.cost)


def test_public_values_are_placed_exactly():
    """Nothing is charged where no edge leads anywhere."""
    policy = bf.Policy(Domain((integers("x", 0, 9),)), secrets={"x": bf.public()})
    rows = frame_of(policy.domain, [(each,) for each in range(10)] * 3)

    found = rows.blowfish.protect(policy, epsilon=1).blowfish.quantile(
        "x", [0.25, 0.7], epsilon=1, strategy="select"
    )

    assert found["value"].tolist() == [2, 6]
    assert found.attrs["blowfish"]["epsilon"] == "0"


def test_the_closure_is_at_least_every_pair():
    """For facts learnt later: what is lost when one record may move anywhere."""
    for seed in range(30):
        draw = random.Random(f"closure {seed}")
        asked = random_question(draw, small=draw.random() < 0.5)
        if asked is None or asked[0].constraints:
            continue
        policy, _, plan = asked
        measured = plan.measurement
        wider = measured._change(closure_graph(policy, plan.domain))

        found = closure(plan).loss

        assert (
            found is None
            if wider and not plan.cost
            else found >= wider * plan.epsilon / max(measured.change, 1)
        )
