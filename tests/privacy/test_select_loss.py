"""Picks of neighbouring tables, by their exact law: the odds of every answer change by at most the charge.

Neighbours come from the definition (edges, people with several rows, public facts); rows are protected,
planned, charged and counted for real, and the scale is the one that the kernel asks of the sampler.
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
from oracle.losses import in_one_round
from oracle.selection_law import sequence_law
from oracle.tap import ask, tables

import pandas_blowfish as bf
from pandas_blowfish.count.tally import count_cells
from pandas_blowfish.errors import BlowfishError, UnsoundPlanError
from pandas_blowfish.kernel.check import Check
from pandas_blowfish.plan.worst_case import closure, closure_graph
from pandas_blowfish.policy.domain import Domain, integers

BASES = [Fraction(1, 2), Fraction(7, 8)]  # exp(-1 / scale), which the argument takes to be anything
MOST = 9  # candidates of a group whose sequences are all listed


def scores_of(plan, frame):
    """Return the exact count of each candidate, by group."""
    measured = plan.measurement
    counts = measured.apply(count_cells(frame, measured.tallies, clip=False))
    groups = measured.candidates.group_of
    return [counts[groups == group].tolist() for group in range(int(groups.max()) + 1)]


def largest_ratio(plan, one, two, a):
    """Return the largest ratio of the probabilities of any answer, over all groups together."""
    ratio = Fraction(1)
    for mine, theirs in zip(scores_of(plan, one), scores_of(plan, two), strict=True):
        if mine == theirs:
            continue
        picks = min(plan.measurement.rounds, len(mine))
        laws = [sequence_law(each, a, picks) for each in (mine, theirs)]
        ratio *= max(laws[0][each] / laws[1][each] for each in laws[0])
    return ratio


def random_question(draw, *, small):
    """Return a policy, a question by "select" and its plan; None where what was drawn cannot be asked."""
    policy = cases._policy(draw, "hist", small)
    try:
        steps, plan = cases._question(draw, policy, "top") if policy is not None else (None, None)
        if plan is None:
            return None
        name, given, named = steps[-1]
        steps = (*steps[:-1], (name, given, {**named, "strategy": "select", "epsilon": Fraction(2, 3)}))
        plan = ask(policy.plan, steps)
    except UnsoundPlanError:
        raise
    except BlowfishError:
        return None
    among = plan.measurement.candidates
    return None if among.most**plan.measurement.rounds > MOST**2 else (policy, steps, plan)


def compare(plan, frames, pairs, releases):
    """Return how many pairs lose something, how many nearly the charge; fail where one loses more."""
    run = releases[0](())
    assert len({run.charged, plan.cost}) == 1
    if not plan.cost:
        assert not run.draws
        for one, two in pairs:
            assert largest_ratio(plan, frames[one], frames[two], BASES[0]) == 1 or plan.price.settled
        return 0, 0
    (scale,) = {scale for scale, *_ in run.draws}
    assert len(run.draws) == plan.measurement.rounds
    power = run.charged * scale  # exp(charge) = (1 / a) ** power
    assert power.denominator == 1
    lossy = tight = 0
    for (one, two), a in itertools.product(pairs, BASES):
        ratio = largest_ratio(plan, frames[one], frames[two], a)
        assert ratio <= (1 / a) ** int(power), f"{plan!r}\n{plan.policy.to_yaml()}"
        lossy += ratio > 1
        tight += ratio >= (1 / a) ** int(power) * Fraction(99, 100)
    return lossy, tight


@pytest.mark.parametrize("chunk", range(4))
def test_no_neighbours_lose_more_than_is_charged(chunk):
    """Every kind of secret, filters, groups, presence, missing values, public facts; some lose all of it."""
    lossy = tight = touched = grouped = 0
    for seed in range(chunk * 120, chunk * 120 + 120):
        draw = random.Random(f"select {seed}")
        asked = random_question(draw, small=draw.random() < 0.6)
        if asked is None:
            continue
        policy, steps, plan = asked
        found = cases._by_facts(draw, policy) if policy.constraints else cases._by_edges(draw, policy)
        if found is None:
            continue
        listed, pairs = found
        pairs = draw.sample(pairs, min(len(pairs), 6))
        frames = [frame_of(policy.domain, table) for table in listed]
        releases = tables(frames, policy, steps)

        more, all_of_it = compare(plan.with_rows(None), frames, pairs + [p[::-1] for p in pairs], releases)

        lossy, tight = lossy + more, tight + all_of_it
        touched += plan.price.touched and not plan.price.settled
        grouped += plan.measurement.candidates.groups > 0
    assert lossy > 40
    assert tight > 5
    assert touched > 1
    assert grouped > 5


@pytest.mark.parametrize("rows", [2, 3])
def test_no_person_loses_more_than_is_charged(rows):
    """All rows of one person move, each along an edge, or come or go."""
    lossy = tight = 0
    for seed in range(50):
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
        same, frames = draw.choice(edges), []
        others += [records[same[1]]] * 20 if same[1] < len(records) else []  # who leaves, leaves the loser
        for number in range(6):
            moves = [same if number % 2 else draw.choice(edges) for _ in range(rows)]
            for end in range(2):
                own = [records[move[end]] for move in moves if move[end] != len(records)]
                who = [*range(len(others)), *["the person"] * len(own)]
                frames.append(frame_of(policy.domain, others + own).assign(who=who))
        releases = tables(frames, policy, asked[1], unit="who")

        more, all_of_it = compare(plan, frames, [(n, n + 1) for n in range(0, 12, 2)], releases)

        lossy, tight = lossy + more, tight + all_of_it
    assert lossy > 20
    assert tight > 2


def test_a_record_loses_all_that_is_charged():
    """From one value to another: the odds of a value far behind change by exactly exp(epsilon)."""
    policy = bf.Policy(Domain((integers("x", 0, 1),)))
    steps = (("mode", ("x",), {"epsilon": Fraction(1, 2)}),)
    frames = [frame_of(policy.domain, [(0,)] * 9 + [(cell,)]) for cell in (1, 0)]

    plan = ask(policy.plan, steps)

    assert plan.strategy == "select"
    assert plan.scale == 4
    for a in BASES:
        assert largest_ratio(plan, *frames, a) == (1 / a) ** 2


@pytest.mark.parametrize("presence", [False, True])
def test_who_comes_or_goes_changes_one_count(presence):
    """Where values are public and presence is secret, half the noise is enough; where nothing is, none."""
    policy = bf.Policy(Domain((integers("x", 0, 3),)), secrets={"x": bf.public()}, presence=presence)

    plan = policy.plan.mode("x", epsilon=1, strategy="select")

    assert plan.scale == plan.sensitivity == plan.cost == int(presence)


def test_counts_lose_epsilon():
    """The other strategy is noisy counts: its values lose exactly what is charged."""
    tight = 0
    for seed in range(60):
        draw = random.Random(f"counts {seed}")
        asked = random_question(draw, small=False)
        if asked is None or asked[0].constraints:
            continue
        policy, steps, _ = asked
        steps = (*steps[:-1], (*steps[-1][:2], {**steps[-1][2], "strategy": "counts"}))
        listed, pairs = cases._by_edges(draw, policy)
        releases = tables([frame_of(policy.domain, table) for table in listed], policy, steps)

        loss, found = in_one_round(releases, pairs)

        assert loss <= found.charged
        tight += found.charged > 0 and loss == found.charged
    assert tight > 5


@pytest.mark.parametrize("verb", ["mode", "top"])
def test_the_kernel_finds_a_scale_that_is_too_small(verb):
    """A thousandth less noise, and nothing is charged or counted; in a later round too."""
    policy = bf.Policy(Domain((integers("x", 0, 5), integers("y", 0, 2))))
    asked = policy.plan.groupby("y")
    plan = asked.mode("x") if verb == "mode" else asked.top(2, "x", strategy="select")
    honest = plan.measurement
    liar = replace(honest, scale=honest.scale * Fraction(999, 1000))
    check = Check.of(policy, plan)
    later = [np.array([0, 6, 12])]

    assert check.require(honest, plan.cost) == plan.cost / honest.rounds
    with pytest.raises(UnsoundPlanError, match="loses"):
        check.require(liar, plan.cost / honest.rounds)
    if verb == "top":
        second = honest.next_round(later)
        assert check.require(second, plan.cost / 2) == plan.cost / 2
        with pytest.raises(UnsoundPlanError, match="loses"):
            check.require(liar.next_round(later), plan.cost / 2)


def test_the_kernel_finds_picks_that_are_not_free():
    """Without noise the largest count is released only where no edge changes a difference."""
    policy = bf.Policy(Domain((integers("x", 0, 5),)))
    plan = policy.plan.mode("x")
    free = replace(plan, measurement=replace(plan.measurement, scale=Fraction(0)))

    with pytest.raises(UnsoundPlanError, match="an unlimited amount"):
        Check.of(policy, free).require(free.measurement, plan.cost)


def test_the_check_agrees_with_enumeration(make_full_policy, make_filter):
    """What the kernel finds is the largest sum over groups of ranges, over the edges by definition."""
    seen = 0
    for seed in range(150):
        draw = random.Random(seed)
        policy = make_full_policy(draw, draw.randint(1, 3), 4)
        scope = policy.plan.where(make_filter(draw, policy.domain)) if draw.random() < 0.5 else policy.plan
        names = draw.sample(policy.domain.columns, len(policy.domain.columns))
        if len(names) > 1 and draw.random() < 0.5:
            scope, names = scope.groupby(names[0]), names[1:]
        try:
            plan = scope.mode(names, epsilon=Fraction(1, 3), strategy="select")
        except BlowfishError:
            continue
        measured = plan.measurement
        edges = definition_edges(policy, plan.domain.columns)
        full = np.concatenate([measured.matrix().toarray().T, np.zeros((1, len(measured.bins)), dtype=int)])
        change = full[edges[:, 0]] - full[edges[:, 1]]
        ranges = [
            np.ptp(change[:, measured.choices == own], axis=1) for own in range(measured.choices[-1] + 1)
        ]
        worst = max(sum(ranges).tolist(), default=0)

        lost = Check.of(policy, plan).require(measured, plan.cost)

        assert lost == (worst / measured.scale if measured.scale else 0)
        assert lost == plan.privacy_loss()
        assert worst <= measured.sensitivity
        assert lost == plan.cost or (measured.candidates.sizes == 1).any()
        seen += 1
    assert seen > 60


def test_the_closure_is_at_least_every_pair(make_full_policy):
    """For facts learnt later: what is lost when one record may move anywhere."""
    for seed in range(40):
        draw = random.Random(seed)
        policy = make_full_policy(draw, draw.randint(1, 2), 4)
        names = list(policy.domain.columns)
        for strategy in ("select", "counts"):
            many = min(1 + seed % 2, policy.plan.mode(names).measurement.candidates.most)
            plan = policy.plan.top(many, names, epsilon=1, strategy=strategy)
            measured = plan.measurement
            edges = closure_graph(policy, plan.domain).edges()
            loss = measured.loss_over(lambda own=edges: own)
            if not plan.cost and len(edges):  # exact: nothing that changes may be told
                loss = math.inf if np.ptp(measured.matrix().toarray(), axis=0).any() else 0

            found = closure(plan).loss

            assert found is None if loss == math.inf else found >= loss
