"""Thousands of plans for people with several rows: whatever one of them changes, no more than is charged.

Every verb, with filters, groups, presence and public facts that no edge changes; from the definition of
neighbours, and from query rows and scales as the kernel measures them, which it compares with what it counts.
"""

import random
from collections import Counter

import numpy as np
import pytest
from oracle import cases
from oracle.people import CLOSE, Moves
from oracle.policies import random_filter
from oracle.tap import ask, said

import pandas_blowfish as bf
from pandas_blowfish.errors import BlowfishError, UnsoundPlanError

POLICIES, QUESTIONS = 40, 8  # of a chunk; questions to each policy
ASKED = ["hist", "cumhist", "quantile", "range", "marginal", "marginals", "order", "kmeans", "sum", "mean"]
ASKED += ["count", "people", "workload"]
VERBS = [*(each for each in cases.VERBS if each != "aligned"), "people", "people"]


def random_policy(draw, verb, rows):
    """Return a policy for people with several rows, perhaps with facts about its public columns."""
    policy = cases._policy(draw, verb, False)
    if policy is None:
        return None
    open_columns = [name for name in policy.domain.columns if name in policy.public_columns]
    if open_columns and not policy.presence and draw.random() < 0.7:
        policy = policy.with_facts([bf.Marginal(*open_columns)])
    return policy.with_max_rows(rows)


def random_question(draw, policy, verb):
    """Return a question and its plan; people also by groups. None where what was drawn cannot be asked."""
    try:
        if verb != "people":
            return cases._question(draw, policy, verb)
        steps = [("where", (random_filter(draw, policy.domain),), {})] if draw.random() < 0.6 else []
        if draw.random() < 0.7:
            names = draw.sample(policy.domain.columns, draw.randint(1, len(policy.domain.columns)))
            steps.append(("groupby", (names,), {}))
        steps.append(("count", (), {"units": True, "epsilon": draw.choice(cases.EPSILONS)}))
        return tuple(steps), ask(policy.plan, steps)
    except UnsoundPlanError:
        raise
    except BlowfishError:  # bins, bounds or strategies that do not fit what was drawn
        return None


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("chunk", range(4))
def test_no_person_loses_more_than_is_charged(rows, chunk):
    """All ways to move the rows of one person, or thousands of them: never more, mostly as much."""
    seen, tight, noisy = Counter(), 0, 0
    for seed in range(chunk * POLICIES, (chunk + 1) * POLICIES):
        draw, chance = random.Random(f"{rows} {seed}"), np.random.default_rng(seed)
        verbs = [draw.choice(VERBS) for _ in range(QUESTIONS)]
        policy = random_policy(draw, "sum" if seed % 2 else "hist", rows)
        if policy is None:
            continue
        moves = {}
        for verb in verbs:
            found = random_question(draw, policy, verb)
            if found is None or found[1].strategy == "dawa":
                continue
            steps, plan = found
            own = moves.setdefault(plan.domain.columns, Moves(policy, plan.domain.columns))
            people = own.people(rows, chance)

            lost = own.measure(plan, chance).change(people)

            told = f"seed {seed}: {said(steps)} by {plan.strategy}\n{policy.to_yaml()}"
            assert lost.most <= plan.cost, f"loses {lost.most}, charged {plan.cost}: {told}"
            assert lost.losses.max(initial=0) <= float(plan.cost) * (1 + CLOSE), told
            seen.update([verb, steps[-1][0], *(name for name, _, _ in steps[:-1])])
            seen.update(["presence"] * policy.presence + ["facts"] * bool(policy.constraints))
            noisy += plan.cost > 0
            tight += plan.cost > 0 and lost.most == plan.cost

    assert tight > noisy * 0.8
    assert noisy > 150
    assert min(seen[each] for each in (*ASKED, "where", "groupby", "presence", "facts")) > 5, seen


@pytest.mark.parametrize("rows", [2, 3])
def test_groups_of_people_change_by_no_more(rows):
    """Over all ways to move the rows of one person: the sensitivity, or less; exact groups do not change."""
    same = exact = tried = 0
    for seed in range(250):
        draw, chance = random.Random(f"groups {rows} {seed}"), np.random.default_rng(seed)
        policy = random_policy(draw, "hist", rows)
        found = None if policy is None else random_question(draw, policy, "people")
        if found is None:
            continue
        plan = found[1]
        moves = Moves(policy, plan.domain.columns)
        people = moves.people(rows, chance)

        table = np.abs(moves.measure(plan, chance).change(people).table)
        free = [not plan.scales.values[code] for code in plan.scales.codes]

        assert table.sum(axis=1).max(initial=0) <= plan.sensitivity, f"seed {seed}"
        assert not table[:, free].any(), f"seed {seed}"
        tried += 1
        same += int(table.sum(axis=1).max(initial=0)) == plan.sensitivity
        exact += plan.sensitivity == 0

    assert tried > 200
    assert same > 0.85 * tried
    assert exact > 10
