"""The audit of clipped sums and means: both rounds together lose at most epsilon on every edge."""

import itertools
import random
from collections import OrderedDict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pandera.pandas as pa
import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.count import weigh
from pandas_blowfish.errors import ArgumentError, UnsoundPlanError
from pandas_blowfish.plan import choose
from pandas_blowfish.plan.lattice import representative
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.plan.protocol import rounds
from pandas_blowfish.plan.totals import clipped
from pandas_blowfish.plan.totals.clipped import ClippedTotals
from pandas_blowfish.plan.totals.scaled_totals import WeighedTotals
from pandas_blowfish.plan.worst_case import closure_graph
from pandas_blowfish.policy.cells import Cells

CHUNKS, EACH = 4, 150
HUGE = 2**61


def random_clip(draw, policy, asked):
    """Return bounds that someone may state, by column."""
    clips = {}
    for name in draw.sample(asked, draw.randint(1, len(asked))):
        attribute = policy.domain[name]
        ends = [representative(attribute, cell) for cell in (0, attribute.cells - 1)]
        some = sorted(ends[0] + (ends[1] - ends[0]) * Fraction(draw.randint(0, 12), 12) for _ in range(2))
        clips[name] = (draw.choice([None, some[0]]), draw.choice([None, some[1]]))
    return clips


def instance(draw, make_full_policy, make_filter, *, stated=False):
    """Return a random policy and the plan of a clipped sum or mean on it; None where nothing is to clip."""
    columns = draw.randint(1, 3)
    policy = make_full_policy(draw, columns, 7 if columns == 1 else 4 if columns == 2 else 3)
    numbers = [a.name for a in policy.domain if a.kind in ("integer", "float")]
    if not numbers:
        return None
    asked = draw.sample(numbers, draw.randint(1, len(numbers)))
    rest = [column for column in policy.domain.columns if column not in asked]
    scope = policy.plan
    if draw.random() < 0.4:
        scope = scope.where(make_filter(draw, policy.domain))
    if rest and draw.random() < 0.5:
        scope = scope.groupby(draw.sample(rest, draw.randint(1, len(rest))))
    epsilon = Fraction(draw.randint(1, 9), draw.randint(1, 20))
    verb = draw.choice(["sum", "mean"])
    clip = random_clip(draw, policy, asked) if stated else "auto"
    try:
        return policy, getattr(scope, verb)(asked, epsilon=epsilon, clip=clip), epsilon
    except ArgumentError:  # exact, or as noisy whatever the bounds are
        return None


def values_for(draw, step):
    """Return values that a round might hand out, extreme ones too."""
    many = len(step.scales)
    kind = draw.choice(["zeros", "full", "empty", "spikes", "spikes", "counts", "counts"])
    drawn = {
        "zeros": lambda: 0,
        "full": lambda: HUGE,
        "empty": lambda: -HUGE,
        "spikes": lambda: draw.choice([0, 0, 10**9, -(10**9)]),
        "counts": lambda: draw.choice([0, 1, 30, 400, 5_000]),
    }[kind]
    return np.array([drawn() for _ in range(many)], dtype=np.int64)


def run(plan, edges, draw, *, largest=True):
    """Return the largest loss over edges of one run through both rounds, and the second round."""
    measured, domain = plan.measurement, plan.domain
    cells = Cells.every(domain.columns, domain.shape)
    seen, by_scale = [], {}
    while (step := measured.next_round(seen)) is not None:
        rows = np.pad(step.columns(cells).toarray(), ((0, 0), (0, 1)))  # "absent" is a column of zeros
        for code, scale in enumerate(step.scales.values):
            own = rows[step.scales.codes == code]
            moved = abs(own[:, edges[:, 0]] - own[:, edges[:, 1]]).sum(axis=0)
            by_scale[scale] = by_scale.get(scale, 0) + moved
        assert not largest or max(step.scales.values) <= measured.largest
        seen.append(values_for(draw, step))
        last = step
    assert rounds(measured, np.concatenate(seen))[1][0].scales == last.scales
    if np.any(by_scale.pop(Fraction(0), 0)) or not by_scale:
        return Fraction(10**9) if by_scale else Fraction(0), last
    patterns = np.unique(np.stack([*by_scale.values()], axis=1), axis=0).tolist()
    losses = [
        sum((Fraction(int(n)) / b for n, b in zip(each, by_scale, strict=True)), Fraction(0))
        for each in patterns
    ]
    return max(losses, default=Fraction(0)), last


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_rounds_lose_epsilon_whatever_was_counted(chunk, make_full_policy, make_filter):
    """Whatever the counts said, both rounds lose at most epsilon on every edge; often exactly that."""
    clipping = tight = found = 0

    for number in range(EACH):
        draw = random.Random(9_000_000 + chunk * EACH + number)
        case = instance(draw, make_full_policy, make_filter)
        if case is None:
            continue
        policy, plan, epsilon = case
        edges = definition_edges(policy, plan.domain.columns)
        for _ in range(3):
            loss, sums = run(plan, edges, draw)

            assert loss <= epsilon == plan.cost
            tight += loss == epsilon
            bounds = [
                (a.bounds, b.bounds) for a, b in zip(sums.summed, plan.measurement.widest.summed, strict=True)
            ]
            clipping += any(one != two for one, two in bounds)
            found += 1

    assert found > EACH / 4
    assert clipping > found / 3
    assert tight > found / 10


@pytest.mark.parametrize("chunk", range(2))
def test_stated_bounds_lose_epsilon(chunk, make_full_policy, make_filter):
    """Whatever bounds are stated, no edge loses more; the loss is what the plan states, and often epsilon."""
    found = tight = 0

    for number in range(EACH):
        draw = random.Random(9_500_000 + chunk * EACH + number)
        case = instance(draw, make_full_policy, make_filter, stated=True)
        if case is None:
            continue
        policy, plan, epsilon = case
        edges = definition_edges(policy, plan.domain.columns)
        loss = edge_loss(plan.matrix(), plan.scales, edges).value

        assert loss == plan.privacy_loss() <= plan.cost <= epsilon
        found += plan.cost > 0
        tight += plan.cost > 0 and loss == epsilon

    assert found > EACH / 4
    assert tight > found / 2


def test_public_facts_are_paid_for(make_full_policy):
    """Where a known count moves several records, both rounds lose that many times less for each."""
    ages = pa.Column(int, pa.Check.in_range(0, 7), metadata=bf.full())
    smokes = pa.Column(int, pa.Check.isin([0, 1]), metadata=bf.full())
    schema = pa.DataFrameSchema({"x": ages, "s": smokes})
    policy = bf.Policy(schema, constraints=[bf.Count("s == 1")])
    plan = policy.plan.mean("x", epsilon=1, clip="auto")
    edges = definition_edges(plan.price.policy, plan.domain.columns)

    losses = [run(plan, edges, random.Random(number))[0] * plan.price.moved for number in range(20)]

    assert plan.price.moved > 1
    assert max(losses) <= plan.cost == 1


def pairs_of(plan):
    """Return all pairs of cells that agree on the public columns, and with presence each with "absent"."""
    domain, public = plan.domain, plan.policy.public_columns
    cells = list(np.ndindex(*domain.shape))
    seen = [i for i, name in enumerate(domain.columns) if name in public]
    same = [
        (a, b)
        for a, b in itertools.combinations(range(len(cells)), 2)
        if all(cells[a][i] == cells[b][i] for i in seen)
    ]
    gone = [(a, len(cells)) for a in range(len(cells))] if plan.policy.presence else []
    return np.array([*same, *gone], dtype=np.int64).reshape(-1, 2)


def test_later_facts_are_paid_for(make_full_policy, make_filter):
    """What a charge states for facts recorded later is at least what any pair loses, whatever was counted."""
    known = tight = 0

    for number in range(250):
        draw = random.Random(9_000_000 + number)
        case = instance(draw, make_full_policy, make_filter)
        if case is None:
            continue
        policy, plan, _ = case
        later = plan.measurement.worst_case(closure_graph(policy, plan.domain)).loss
        if later is None:
            continue
        for _ in range(3):
            loss, _ = run(plan, pairs_of(plan), draw)

            assert loss <= later
            tight += loss > later / 2
        known += 1

    assert known > 30
    assert tight > known


def wide():
    """Return protected rows with a far too wide range."""
    column = pa.Column(int, pa.Check.in_range(0, 4_095), metadata=bf.full())
    rows = pd.DataFrame({"x": np.arange(4_000) % 8})
    return rows.blowfish.protect(bf.Policy(pa.DataFrameSchema({"x": column})), epsilon=100)


def halve(true):
    """Return scales that are too small where values are clipped."""

    def scales(sums):
        clips = [column.lattice.clip for column in getattr(sums, "summed", ())]
        return tuple(b / 2 for b in true.func(sums)) if any(clips) else true.func(sums)

    return property(scales)


LIES = {
    "what an edge does to counts": (clipped, "tally_sensitivity", lambda true: lambda *of: true(*of) / 2),
    "the noise of clipped sums": (WeighedTotals, "total_scales", halve),
    "the first round": (
        ClippedTotals,
        "clip_totals",
        lambda true: (
            lambda self, values: true(
                replace(self, widest=replace(self.widest, epsilon=self.epsilon)), values
            )
        ),
    ),
}
MISCOUNTS = {
    "values beyond the bounds": (
        weigh,
        "weigh",
        lambda true: lambda found, codes: true(replace(found, clip=None), codes),
    )
}


@pytest.mark.parametrize("forgotten", LIES)
def test_the_audit_finds_rounds_that_lie(forgotten, make_full_policy, make_filter, monkeypatch):
    """Rounds that forget something are found: the audit can fail."""
    owner, name, broken = LIES[forgotten]
    monkeypatch.setattr(choose, "_plans", OrderedDict())
    monkeypatch.setattr(owner, name, broken(vars(owner)[name]))
    caught = 0

    for number in range(60):
        draw = random.Random(9_000_000 + number)
        case = instance(draw, make_full_policy, make_filter)
        if case is None:
            continue
        policy, plan, epsilon = case
        edges = definition_edges(policy, plan.domain.columns)
        caught += run(plan, edges, draw, largest=False)[0] > epsilon

    assert caught


@pytest.mark.parametrize("forgotten", [*LIES, *MISCOUNTS])
def test_the_kernel_finds_lies_in_either_round(forgotten, monkeypatch):
    """What a round loses, and what it adds up, is found out before its noise is drawn."""
    df = wide()
    df.blowfish.mean("x", epsilon=1, clip="auto")
    owner, name, broken = {**LIES, **MISCOUNTS}[forgotten]
    monkeypatch.setattr(choose, "_plans", OrderedDict())
    monkeypatch.setattr(owner, name, broken(vars(owner)[name]))

    with pytest.raises(UnsoundPlanError):
        df.blowfish.mean("x", epsilon=1, clip="auto")
