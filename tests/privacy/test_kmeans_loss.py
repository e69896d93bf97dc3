"""The audit of kmeans: what every synopsis measures, round by round, loses at most epsilon on every edge."""

import math
import random
from collections import OrderedDict
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from oracle.definition import definition_edges
from oracle.neighbours import true_loss, true_sensitivity

import pandas_blowfish as bf
from pandas_blowfish.count.tally import count_cells
from pandas_blowfish.errors import ArgumentError, BlowfishError
from pandas_blowfish.kernel.measure import _measure_rounds
from pandas_blowfish.plan import choose
from pandas_blowfish.plan.clusters import sensitivity as hats
from pandas_blowfish.plan.clusters import soft, whole
from pandas_blowfish.plan.clusters.adaptive import Adaptive
from pandas_blowfish.plan.clusters.counted import SHARE
from pandas_blowfish.plan.clusters.grid import GridCounts, find_runs
from pandas_blowfish.plan.clusters.question import STRATEGIES, Clustering
from pandas_blowfish.plan.clusters.soft import Soft
from pandas_blowfish.plan.clusters.synopsis import Setting
from pandas_blowfish.plan.clusters.whole import Whole
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.plan.protocol import rounds
from pandas_blowfish.plan.scales import variance
from pandas_blowfish.plan.sensitivity import EdgeReach, ExactParts
from pandas_blowfish.policy.domain import Domain, integers

CHUNKS, EACH = 4, 8
HUGE = 2**61
NAMES = [each.name for each in STRATEGIES]

UNCHECKED = SimpleNamespace(require=lambda step, left: Fraction(0))  # what is drawn is looked at here


def halvings(draw, cells):
    """Return how often columns are halved before each of a few rounds, each round some more."""
    room = [int(math.log2(many)) for many in cells]
    done = [draw.randint(0, min(each, 1)) for each in room]
    found = [tuple(done)]
    for _ in range(draw.randint(0, 3)):
        more = [draw.randint(often, most) for often, most in zip(done, room, strict=True)]
        if more != done:
            found.append(tuple(done := more))
    return tuple(found)


def synopses(draw, found):
    """Yield synopses of every kind with random sizes, whatever would suit the number of rows."""
    space, epsilon = found.space, found.epsilon
    setting = Setting(found.moves, space, epsilon)
    question = Clustering(space, None, draw.choice([1, 100, 10**6]))
    bins = tuple(draw.randint(1, cells) for cells in space.cells)
    for classes in (None, find_runs(setting)):
        yield GridCounts.build(found.graph, space, bins, epsilon, 0.0, classes)
    for _ in range(2):
        nodes = tuple(draw.randint(1, min(cells, 5)) for cells in space.cells)
        parts = draw.choice([1, 2, 3, 4, 7])
        yield Soft.build(found.moves, space, setting.known, nodes, parts, epsilon)
    yield Adaptive.build(found.graph, space, halvings(draw, space.cells), epsilon, 0.0)
    whole = Whole.build(Setting(found.moves, space, epsilon), 0.0)
    yield from [] if whole is None else [whole]
    for strategy in ("auto", draw.choice(NAMES)):
        followed = question._counted(found.moves, epsilon, strategy)
        yield from [] if followed is None else [followed]


def check_loss(found, measured):
    """Fail if rows and scales lose more than epsilon, or the matrix is not what is measured."""
    matrix, loss = measured.matrix(), found.loss(measured)

    assert loss <= found.epsilon, measured
    assert found.change(measured) <= measured.sensitivity, measured
    if measured.name != "counted":  # what follows a count may need noise though the usual synopsis needs none
        assert (measured.sensitivity == 0) == (not any(measured.scales)), measured
    assert measured.sensitivity or not any(measured.scales), measured
    assert len(measured.scales) == matrix.shape[0]
    assert (matrix.toarray() == found.rows(measured)).all(), measured
    return loss


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_loss_of_random_policies(chunk, make_clusters):
    """None of 250 synopses loses more than epsilon, by enumeration of the edges; most lose all of it."""
    noisy = tight = kinds = 0

    for number in range(EACH):
        draw = random.Random(70_000 + chunk * EACH + number)
        found = make_clusters(draw, facts=draw.choice([0, 0, 0, 1, 2]))
        for measured in [found.plan.measurement, *synopses(draw, found)]:
            loss = check_loss(found, measured)
            noisy += measured.sensitivity > 0
            tight += measured.sensitivity > 0 and loss == found.epsilon
        for strategy in NAMES:
            try:
                plan = found.policy.plan.kmeans(
                    found.columns, 1, epsilon=found.plan.epsilon, strategy=strategy
                )
            except BlowfishError:  # too few cells, or pieces
                continue
            edges = definition_edges(plan.price.policy, plan.domain.columns)
            loss = edge_loss(plan.matrix(), plan.scales, edges).value * plan.price.moved

            assert loss <= plan.privacy_loss() <= plan.cost <= plan.epsilon
            assert loss == plan.privacy_loss() or plan.measurement.name == "counted"
            kinds += plan.measurement.name == strategy

    assert noisy > 2 * EACH
    assert tight / noisy > 0.6
    assert kinds > EACH


def values_for(draw, found, step):
    """Return values that a round might hand out, extreme ones too; exact rows are never negative."""
    many, exact = len(step.scales), np.array([scale == 0 for scale in step.scales], dtype=bool)
    kind = draw.choice(["zeros", "full", "full", "empty", "spikes", "noise", "rows"])
    if kind == "full":
        values = np.full(many, HUGE)
    elif kind == "empty":
        values = np.full(many, -HUGE)
    elif kind == "spikes":
        values = np.array([draw.choice([0, 0, 1, 10**9, -(10**9)]) for _ in range(many)])
    elif kind == "rows":
        tables = found.tables(step.tallies)
        counts = np.array([draw.choice([0, 0, 0, 1, 5, 90]) for _ in tables])
        values = step.apply(counts @ tables)
    else:
        far = 4 * int(max(step.scales, default=1)) + 1 if kind == "noise" else 0
        values = np.array([draw.randint(-far, far) for _ in range(many)])
    return np.where(exact, np.maximum(values, 0), values).astype(np.int64).reshape(many)


def run(found, staged, draw):
    """Return the loss of one run through the rounds: for each edge the sum over all of them."""
    cells, edges = found.space.domain.size, found.edges
    seen, by_scale, many = [], {}, 0
    while (step := staged.next_round(seen)) is not None:
        again = staged.next_round([each.copy() for each in seen])
        rows = np.pad(found.rows(step), ((0, 0), (0, 1)))  # "absent" is a column of zeros
        assert (rows[:, :cells] == found.rows(again)).all()
        assert step.scales == again.scales
        assert len(rows) == len(step.scales)
        for code, scale in enumerate(step.scales.values):
            own = rows[step.scales.codes == code]
            moved = abs(own[:, edges[:, 0]] - own[:, edges[:, 1]]).sum(axis=0)
            by_scale[scale] = by_scale.get(scale, 0) + moved
        seen.append(values_for(draw, found, step))
        many += 1
        assert many < 20
    assert math.ceil(max(by_scale)) <= staged.largest
    if np.any(by_scale.pop(Fraction(0), 0)):  # an exact row changes
        return math.inf, many
    if not by_scale or not len(edges):
        return Fraction(0), many
    scales, changes = list(by_scale), np.stack(list(by_scale.values()), axis=1)
    patterns = np.unique(changes, axis=0).tolist()
    return max(sum(n / b for n, b in zip(each, scales, strict=True)) for each in patterns), many


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_rounds_lose_epsilon_whatever_was_measured(chunk, make_clusters):
    """Whatever earlier rounds said, the losses of all rounds add up to at most epsilon on every edge."""
    names, longest = set(), 0

    for number in range(EACH):
        draw = random.Random(90_000 + chunk * EACH + number)
        found = make_clusters(draw, facts=draw.choice([0, 0, 0, 1]))
        staged = [each for each in [found.plan.measurement, *synopses(draw, found)] if each.in_rounds]
        for each in staged:
            for _ in range(2):
                loss, many = run(found, each, draw)

                assert loss <= found.epsilon, each
                longest = max(longest, many)
            names.add(each.name)

    assert names >= {"adaptive", "counted"}
    assert longest >= 3


LIES = {
    "rows that leave the filter": (hats, "soft_change", lambda true: forgets_leaving(true)),
    "one part of a soft row": (
        hats,
        "count_moved",
        lambda true: lambda *ends: np.maximum(true(*ends) - 1, 0),
    ),
    "the other rounds": (Adaptive, "round_scales", lambda true: property(one_round)),
    "edges between pieces": (whole, "exact_parts", lambda true: all_exact),
    "the count": (Clustering, "_best", lambda true: lambda *a: true(a[0], a[1], a[2] / (1 - SHARE), *a[3:])),
}


def forgets_leaving(true):
    """Return a sensitivity of soft bins that knows no way out of the filter."""
    return lambda policy, space, reach, *rest: true(policy, space, EdgeReach(reach.crosses, False), *rest)


def one_round(adaptive):
    """Return scales of rounds as if each could lose all of epsilon."""
    return tuple(change / adaptive.epsilon for change in adaptive.round_changes)


def all_exact(graph, tally):
    """Return that every count is exact."""
    del graph
    return ExactParts(np.ones(tally.size, dtype=bool), np.full(tally.size, -1), 0)


@pytest.mark.parametrize("forgotten", LIES)
def test_the_audit_finds_a_synopsis_that_lies(forgotten, make_clusters, monkeypatch):
    """Scales that forget something are found: the audit can fail."""
    owner, name, broken = LIES[forgotten]
    monkeypatch.setattr(choose, "_plans", OrderedDict())  # neither kept plans here, nor these elsewhere
    monkeypatch.setattr(owner, name, broken(getattr(owner, name)))
    monkeypatch.setattr(soft, "soft_change", hats.soft_change)
    caught = 0

    for number in range(60):
        draw = random.Random(number)
        found = make_clusters(draw)
        for measured in synopses(draw, found):
            caught += found.loss(measured) > found.epsilon
            caught += measured.in_rounds and run(found, measured, draw)[0] > found.epsilon
        if caught:
            break

    assert caught


@pytest.mark.parametrize("seed", range(12))
def test_true_neighbours_lose_epsilon(seed, make_clusters):
    """With facts, touched or not: over all neighbouring tables of a few rows, as the definition says."""
    draw = random.Random(seed)
    found = make_clusters(draw, (4, 2, 2), facts=draw.randint(1, 2))
    plan, columns = found.plan, list(found.space.domain.columns)

    for rows in (1, 2):
        assert true_loss(found.policy, plan.matrix(), plan.scales, rows, columns) <= plan.cost


@pytest.mark.parametrize("seed", range(8))
def test_the_kernel_counts_what_the_plan_says(seed, make_clusters):
    """A table of one row in each cell has the counts, and sums, that the rows of the matrix are made of."""
    draw = random.Random(seed)
    found = make_clusters(draw, (6, 3, 2))
    domain = found.space.domain
    cells = list(np.ndindex(*domain.shape))
    values = {
        column.name: [column.labels()[code] if code < column.cells else None for code in range(column.size)]
        for column in domain
    }
    frame = pd.DataFrame(
        {
            name: [getattr(listed[cell[place]], "left", listed[cell[place]]) for cell in cells]
            for place, (name, listed) in enumerate(values.items())
        }
    )

    for measured in synopses(draw, found):
        tables = found.tables(measured.tallies)
        for cell in range(len(cells)):
            assert (count_cells(frame.iloc[[cell]], measured.tallies, clip=False) == tables[cell]).all()
        assert (count_cells(frame, measured.tallies, clip=False) == tables.sum(axis=0)).all()


ROUNDS = {
    "adaptive": (bf.full(), None),
    "whole": (bf.partition({"width": 4}), None),
    "grid": (bf.full(), "y < 3"),  # after the count
}


@pytest.mark.parametrize("strategy", ROUNDS)
def test_every_round_has_its_noise(strategy):
    """What the kernel hands out is the exact value of each round's own rows plus noise of its own scales."""
    secret, where = ROUNDS[strategy]
    domain = Domain((integers("x", 0, 63), integers("y", 0, 3)))
    policy = bf.Policy(domain, secrets={"x": secret})
    planner = policy.plan.where(where) if where else policy.plan
    plan = planner.kmeans("x", 2, strategy=strategy, epsilon="1/3")
    staged = plan.measurement
    frame = pd.DataFrame({"x": [5, 6, 40] * 100, "y": [0, 1, 3] * 100})
    squares = {}

    for _ in range(150):
        drawn = _measure_rounds(plan, frame, UNCHECKED, plan.cost, clip=False, unit=None, kept={})
        for number, (step, own) in enumerate(rounds(staged, drawn)):
            noise = own - step.apply(count_cells(frame, step.tallies, clip=False))
            codes = step.scales.codes
            for code, scale in enumerate(step.scales.values):
                squares.setdefault((number, scale), []).extend(noise[codes == code] ** 2)

    assert any(scale and len(seen) >= 300 for (_, scale), seen in squares.items())
    for (_, scale), seen in squares.items():
        assert scale or not any(seen)
        if scale and len(seen) >= 300:
            far = 12 * math.sqrt(5 / len(seen))  # standard errors, at the kurtosis of a Laplace law
            assert np.mean(seen) == pytest.approx(variance(scale), rel=min(far, 0.9))


LEMMA = {
    "threshold": (integers("x", 0, 7), bf.threshold(1), (0, 13), 13, 2 * 1),
    "full": (integers("x", 10, 12), bf.full(), (10, 11), 22, 2 * (12 - 10)),
    "partition": (integers("x", 0, 7), bf.partition([range(4), range(4, 8)]), (0, 11), 12, 2 * (7 - 4)),
}


@pytest.mark.parametrize("case", LEMMA)
@pytest.mark.parametrize("strategy", ["auto", *NAMES])
def test_lemma_6_1_and_what_is_measured_instead(case, strategy):
    """Sums by the nearest centroid change by far more than printed; no synopsis loses more than epsilon."""
    column, secret, centroids, true, printed = LEMMA[case]
    policy = bf.Policy(Domain((column,)), secrets={"x": secret})
    values = np.array(column.labels(), dtype=np.int64)
    near = np.abs(values[:, None] - centroids).argmin(axis=1)
    sums = np.array([values * (near == cluster) for cluster in (0, 1)])

    assert true_sensitivity(policy, sums, 2) == true > printed
    if strategy == "whole" and case != "partition":
        with pytest.raises(ArgumentError, match="pieces"):
            policy.plan.kmeans("x", 2, strategy=strategy)
        return
    if strategy == "soft" and case == "full":  # three cells are too few for soft bins
        return
    plan = policy.plan.kmeans("x", 2, strategy=strategy)
    assert true_loss(policy, plan.matrix(), plan.scales, 2) == plan.privacy_loss() == plan.cost == 1
