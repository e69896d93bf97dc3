"""The audit of several questions in one charge: all rows together lose at most epsilon over every edge."""

import itertools
import random
from collections import OrderedDict
from fractions import Fraction

import numpy as np
import pytest
from oracle.audit import run_audit
from oracle.cases import frame_of
from oracle.definition import definition_edges
from oracle.places_law import BASE, LONG, common_scale, counts_of, largest_ratio
from scipy.sparse import csc_array

import pandas_blowfish as bf
from pandas_blowfish.count.tally import count_cells
from pandas_blowfish.kernel.check import Check
from pandas_blowfish.plan import choose
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.plan.protocol import PLACES
from pandas_blowfish.plan.quantiles import question as quantiles
from pandas_blowfish.plan.quantiles import select
from pandas_blowfish.plan.together import question
from pandas_blowfish.plan.together.question import SeveralQuestions

CHUNKS, EACH = 4, 40
NUMBERS = ("integer", "float", "bool")
OF_NUMBERS = ["count", "size", "sum", "mean", "var", "std"]


def instance(draw, make_full_policy, make_filter):
    """Return a random policy and a plan of several statistics under it; None where nothing is numbers."""
    columns = draw.randint(1, 3)
    policy = make_full_policy(draw, columns, 4 if columns < 3 else 3)
    numbers = [a for a in policy.domain if a.kind in NUMBERS and a.ordered]
    if not numbers:
        return None
    asked = draw.sample(numbers, draw.randint(1, len(numbers)))
    rest = [name for name in policy.domain.columns if name not in [a.name for a in asked]]
    scope = policy.plan
    if draw.random() < 0.4:
        scope = scope.where(make_filter(draw, policy.domain))
    if rest and draw.random() < 0.5:
        scope = scope.groupby(draw.sample(rest, 1))
    epsilon = Fraction(draw.randint(1, 9), draw.randint(1, 20))
    if draw.random() < 0.4:
        return policy, scope.describe([a.name for a in asked], epsilon=epsilon), epsilon
    names = [*OF_NUMBERS, "median"]
    functions = {a.name: draw.sample(names, draw.randint(1, len(names))) for a in asked}
    return policy, scope.agg(functions, epsilon=epsilon), epsilon


def exact_loss(policy, plan):
    """Return the loss of a plan over the edges that the words of the policy draw."""
    return edge_loss(plan.matrix(), plan.scales, definition_edges(policy, plan.domain.columns)).value


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("tried", ["tried", "not tried"])
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_loss_of_random_instances(chunk, tried, make_full_policy, make_filter, monkeypatch):
    """None of 320 instances loses more than epsilon; lifted shares lose nearly all of it."""
    monkeypatch.setattr(choose, "_plans", OrderedDict())
    if tried == "not tried":
        monkeypatch.setattr(question, "TRIED_ENTRIES", 0)
    noisy = tight = 0

    for number in range(EACH):
        found = instance(random.Random(5_000_000 + chunk * EACH + number), make_full_policy, make_filter)
        if found is None:
            continue
        policy, plan, epsilon = found
        loss = exact_loss(policy, plan)

        assert loss <= epsilon
        assert loss <= plan.cost
        assert loss == plan.privacy_loss()
        assert (plan.cost == 0) == (plan.sensitivity == 0)
        noisy += plan.cost > 0
        tight += plan.cost > 0 and loss > epsilon * Fraction(9, 10)

    assert noisy > EACH / 5
    assert tried == "not tried" or tight > noisy / 2


@pytest.mark.parametrize("broken", ["shares", "groups"])
def test_the_audit_finds_shares_that_lie(broken, make_full_policy, make_filter, monkeypatch):
    """Shares that add up to more, or groups that an edge does change at once, are found."""
    monkeypatch.setattr(choose, "_plans", OrderedDict())
    if broken == "shares":
        lift = SeveralQuestions._lift
        monkeypatch.setattr(
            SeveralQuestions, "_lift", lambda *given: {n: 2 * share for n, share in lift(*given).items()}
        )
    else:
        alone = staticmethod(lambda policy, numbers: [frozenset({n}) for n in numbers])
        monkeypatch.setattr(SeveralQuestions, "_limits", alone)
    caught = 0
    for number in range(80):
        found = instance(random.Random(number), make_full_policy, make_filter)
        if found is not None:
            policy, plan, epsilon = found
            caught += exact_loss(policy, plan) > epsilon

    assert caught > 0


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("chunk", range(2))
def test_no_random_release_loses_more_than_it_is_charged(chunk, monkeypatch):
    """Through the kernel, with facts, presence, joint secrets, filters and groups."""
    monkeypatch.setattr(
        "oracle.cases.VERBS", ["var", "std", "cov", "corr", "agg", "agg", "agg", "describe", "describe"]
    )
    found = run_audit(range(20_000 + chunk * 25, 20_000 + (chunk + 1) * 25))

    assert not found.failed, "\n".join(found.failed)
    assert found.noisy > 5
    assert {"where", "groupby", "facts"} <= set(found.seen)


def test_columns_that_move_one_at_a_time_share_nothing(line_of):
    """Where a neighbour changes one column, each column's questions may lose all of epsilon."""
    domain = bf.Policy(line_of(6, 1).policy.domain).domain
    other = bf.policy.domain.integers("y", 0, 5)
    both = bf.policy.domain.Domain((*domain, other))
    asked = {"x": "median", "y": "median"}

    together = bf.Policy(both).plan.agg(asked, epsilon=1)
    apart = bf.Policy(both, neighbors="attribute").plan.agg(asked, epsilon=1)

    assert apart.measurement.shares == (1, 1)
    assert together.measurement.shares == (Fraction(1, 2), Fraction(1, 2))
    assert apart.privacy_loss() == together.privacy_loss() == 1


def test_people_with_several_rows(line_of):
    """Each of three rows of a person may move: a third of epsilon is planned for each."""
    policy = line_of(6, 1).policy.with_max_rows(3)
    plan = policy.plan.describe("x", epsilon=1)

    assert plan.price.moved == 3
    assert plan.privacy_loss() <= 1


def pick_first(tried):
    """Return picks of places wherever they can be had, however near they are expected to be."""
    places = [number for number, each in enumerate(tried) if each.mechanism == PLACES]
    return places[0] if places else choose.pick_best(tried)


@pytest.mark.parametrize("chunk", range(2))
def test_picks_in_turn_lose_what_they_are_charged(chunk, make_full_policy, make_filter, monkeypatch):
    """Sums at once, then picks of places: the exact odds of all rounds, and the kernel's own check."""
    monkeypatch.setattr(choose, "_plans", OrderedDict())
    monkeypatch.setattr(question, "pick_best", pick_first)
    monkeypatch.setattr(quantiles, "WORTH", 0)
    monkeypatch.setattr(select, "MOST_PARTS", 2)
    monkeypatch.setattr(select, "ENOUGH", 1)
    found, lossy, both, most = 0, 0, 0, 0.0
    for number in range(chunk, 300, 2):
        draw = random.Random(6_000_000 + number)
        case = instance(draw, make_full_policy, make_filter)
        if case is None or not case[1].measurement.in_rounds or case[0].presence or case[0].constraints:
            continue
        policy, plan, epsilon = case
        picked = [each for each in plan.members if each.measurement.mechanism == PLACES and each.sensitivity]
        scales = [scale for each in picked for scale in each.measurement.drawn_scales]
        large = any(len(each.measurement.lines.bins) * each.measurement.parts > 8 for each in picked)
        if large or not scales or common_scale(scales) > LONG * min(scales):
            continue
        found += 1
        check, left, values = Check.of(policy, plan), plan.cost, []
        while (step := plan.measurement.next_round(values)) is not None:
            left -= check.require(step, left)
            many = len(step.targets.shares) or len(step.scales)
            begins = np.searchsorted(step.choices, np.arange(many)) * step.targets.parts
            values.append(begins if step.mechanism == PLACES else np.zeros(many, dtype=np.int64))
        assert left >= 0
        power = common_scale(scales) * epsilon  # exp(epsilon) = (1 / BASE) ** power

        records = list(itertools.product(*(range(size) for size in policy.domain.shape)))
        edges = definition_edges(policy, policy.domain.columns).tolist()
        at_once = plan.measurement.at_once
        for start, end in draw.sample(edges, min(len(edges), 6)):
            rest = [draw.choice(records) for _ in range(draw.choice([1, 4, 9]))]
            tables = [frame_of(policy.domain, [*rest, records[each]]) for each in (start, end)]
            if at_once is None:
                lost = 0.0
            else:
                counted = [at_once.apply(count_cells(own, at_once.tallies, clip=False)) for own in tables]
                columns = csc_array(np.column_stack(counted))
                lost = float(edge_loss(columns, at_once.scales, np.array([[0, 1]])).value)
            odds = 1.0
            for each in picked:
                counts = [counts_of(each, own) for own in tables]
                odds *= float(largest_ratio(each, *counts, common_scale(scales)))
            share = lost / float(epsilon) + np.log(odds) / (float(power) * np.log(float(1 / BASE)))
            assert share <= 1 + 1e-9, plan
            lossy, both, most = lossy + (share > 0), both + (lost > 0 and odds > 1), max(most, share)
    assert found > 5
    assert lossy > 20
    assert both > 5
    assert most > 0.5
