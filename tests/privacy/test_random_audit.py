"""The audit of releases: rows protected, planned, charged and counted for real, the noise in our hands.

For random policies and questions every neighbouring table is released with the noise that makes it hand out
the same values; the exact loss that follows is at most what the ledger was charged. Nothing asks a plan for
its matrix or scales. `benchmarks/audit.py --minutes N` runs more of the same.
"""

import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from oracle.audit import Tally, audit, loss_in_rounds, loss_of, run_audit
from oracle.cases import frame_of, random_case
from oracle.losses import BrokenReleaseError, in_one_round
from oracle.tap import ask, release, tables

import pandas_blowfish as bf
from pandas_blowfish.errors import BlowfishError
from pandas_blowfish.kernel import measure
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.plan.tables.identity import Identity
from pandas_blowfish.policy.attribute import Unbounded
from pandas_blowfish.policy.domain import Domain, from_dict, integers

CHUNKS, EACH = 4, 20
ALIGNED = (1, 4, 8, 14, 15)


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_random_release_loses_more_than_it_is_charged(chunk):
    """Whatever is asked of whatever policy: neighbours lose at most the charge, and mostly all of it."""
    found = run_audit(range(chunk * EACH, (chunk + 1) * EACH))

    assert not found.failed, "\n".join(found.failed)
    assert found.cases > EACH / 2
    assert found.noisy > EACH / 4
    assert found.tight >= found.noisy / 4
    assert len({"hist", "marginal", "kmeans", "range", "sum", "count"} & set(found.seen)) > 3
    assert {"presence", "missing public", "where", "groupby", "facts", "joint"} <= set(found.seen)


@pytest.mark.parametrize("seed", ALIGNED)
def test_clusters_of_even_groups_are_never_free_and_noisy(seed, monkeypatch):
    """How many rows there are decides what is measured: what is charged holds for whatever that is."""
    monkeypatch.setattr("oracle.cases.VERBS", ["aligned"])
    found = run_audit([seed])

    assert not found.failed, "\n".join(found.failed)


def wide_policy(missing=None):
    """Return two columns of a million values in groups of ten, and a public region."""
    axis = {"type": "integer", "min": 0, "max": 999_999, "nullable": missing is not None}
    region = {"type": "category", "values": ["n", "s"]}
    domain = Domain((from_dict("x", axis), from_dict("y", axis), from_dict("region", region)))
    groups = bf.partition(10, missing=missing)
    return bf.Policy(domain, secrets={"x": groups, "y": groups, "region": bf.public()})


def wide_frame(missing=False):
    """Return 10,000 rows, half of them in one region, or half of them without x."""
    draw = np.random.default_rng(5)
    frame = pd.DataFrame({name: draw.integers(0, 10**6, 10_000) for name in "xy"}).astype("Int64")
    frame["region"] = np.repeat(["n", "s"], 5_000)
    if missing:
        frame.loc[5_000:, "x"] = pd.NA
    return frame


@pytest.mark.parametrize("case", ["filter on a public column", "missing is public"])
def test_clusters_among_a_public_part_of_the_rows(case):
    """A plan that is exact for all rows says nothing about the rows that are left."""
    missing = case == "missing is public"
    policy, frame = wide_policy("public" if missing else None), wide_frame(missing)
    scope = () if missing else (("where", ("region == 'n'",), {}),)
    steps = (*scope, ("kmeans", (["x", "y"], 3), {"epsilon": 1}))
    moved = [frame.copy() for _ in range(4)]
    for number, other in enumerate(moved[1:]):
        old = int(frame.loc[number, "x"])
        other.loc[number, "x"] = old - old % 10 + (old + 5) % 10  # within its group

    releases = tables(moved, policy, steps)
    loss, charged, noisy = loss_in_rounds(releases, [(0, 1), (0, 2), (0, 3)], random.Random(1))

    assert loss <= charged
    assert not noisy or charged > 0


SUMS = {
    "threshold": ("0.25", bf.threshold(10), lambda v, s: v + 10 * s, "sum"),
    "mean under a threshold": ("0.25", bf.threshold(10), lambda v, s: v + 10 * s, "mean"),
    "wide cells": ("3", bf.threshold(1), lambda v, s: v + s, "sum"),
    "absolute error": ("0.5", bf.absolute_error("2.5"), lambda v, s: v + 10 * s, "sum"),
    "relative error": ("0.01", bf.relative_error("0.9"), lambda v, s: v * 0.9 ** (-4 * s), "logsum"),
    "geometric mean": ("0.1", bf.relative_error("0.5"), lambda v, s: v * 0.5 ** (-4 * s), "geomean"),
}


@pytest.mark.parametrize("case", SUMS)
@pytest.mark.parametrize("scope", ["all", "part", "groups"])
def test_sums_without_bounds(case, scope):
    """Values as far apart as the secret says lose at most the charge, wherever they lie."""
    step, secret, move, verb = SUMS[case]
    domain = Domain((Unbounded("x", "float", False, Fraction(step)), from_dict("r", {"type": "bool"})))
    policy = bf.Policy(domain, secrets={"x": secret, "r": bf.public()})
    draw, values = random.Random(case), []
    for _ in range(8):
        start = draw.choice([0.5, 1.0, 7.25, 1e3, 12.3456, 1e6]) * draw.choice([1, 1, draw.random() + 0.5])
        values += [start, move(start, draw.choice([1, 1, -1, draw.uniform(-1, 1)]) * (1 - 1e-12))]
    frames = [pd.DataFrame({"x": [3.0, value, 50.0], "r": [False, True, True]}) for value in values]
    scopes = {"all": (), "part": (("where", ("r == True",), {}),), "groups": (("groupby", (["r"],), {}),)}
    steps = (*scopes[scope], (verb, ("x",), {"epsilon": draw.choice([Fraction(1, 7), 1, 5])}))

    releases = tables(frames, policy, steps)
    loss, found = in_one_round(releases, [(n, n + 1) for n in range(0, len(frames), 2)])

    assert found.noisy
    assert loss <= found.charged
    assert loss > found.charged / 2


def some_cases(first, many):
    """Return cases of different verbs, each with its draw."""
    found, seed = [], first
    while len(found) < many:
        draw = random.Random(seed)
        case = random_case(draw)
        if case is not None and len(case.tables[0]) > 1:
            found.append((case, draw))
        seed += 1
    return found


@pytest.mark.usefixtures("short_search")
def test_a_stored_answer_is_free_and_the_same():
    """Under its name the same values come again: nothing is charged, and no noise is drawn."""
    for case, draw in some_cases(5_000, 12):
        frame = case.frames()[0].blowfish.protect(case.policy, epsilon=1_000, ledger=bf.Ledger(), dataset="d")
        *scope, (verb, given, named) = case.steps
        steps = (*scope, (verb, given, {**named, "name": "kept"}))

        noises = [
            np.array([draw.randint(-9, 9) for _ in range(size)])
            for _, size, _ in release(frame, case.steps).draws
        ]
        first, second = release(frame, steps, noises), release(frame, steps)

        assert first.charged == case.plan.cost or first.charged <= named["epsilon"]
        assert second.charged == 0
        assert second.draws == ()
        assert np.array_equal(first.values, second.values)


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("engine", ["pyarrow", "polars"])
def test_engines_release_the_same(engine):
    """With the same noise a table of another engine gives the answer of pandas, number for number."""
    arrow = pytest.importorskip("pyarrow")
    for case, _ in some_cases(6_000, 8):
        frame = case.frames()[0]
        table = arrow.Table.from_pandas(frame, preserve_index=False)
        if engine == "polars":
            table = pytest.importorskip("polars").from_arrow(table)

        with bf.testing.replay(3):
            wanted = ask(bf.protect(frame, case.policy, epsilon=1_000), case.steps)
        with bf.testing.replay(3):
            found = ask(bf.protect(table, case.policy, epsilon=1_000), case.steps)

        for one, other in zip(parts_of(wanted), parts_of(found), strict=True):
            pd.testing.assert_frame_equal(one, other, check_exact=True)


def parts_of(answer):
    """Return the frames of a release, one or several."""
    return list(answer.values()) if isinstance(answer, dict) else [answer]


LINE = bf.Policy(Domain((integers("x", 0, 5),)), secrets={"x": bf.threshold(2)})


def caught(steps, pairs=((0, 1), (1, 2), (0, 2)), policy=LINE):
    """Tell whether the audit, or the kernel itself, refuses a release of one row in each of three cells."""
    releases = tables([frame_of(policy.domain, [(3,), (cell,)]) for cell in range(3)], policy, steps)
    try:
        loss, found = in_one_round(releases, list(pairs))
    except (BrokenReleaseError, BlowfishError):
        return True
    return loss > found.charged


@pytest.mark.parametrize("fault", ["none", "half the noise", "counts twice", "no noise"])
def test_the_audit_finds_a_release_that_lies(fault, monkeypatch):
    """Less noise than was planned, or rows counted twice, are seen: the audit can fail."""
    steps = (("hist", ("x",), {"epsilon": "1/9", "strategy": "identity"}),)
    times = {"half the noise": Fraction(1, 2), "no noise": Fraction(0)}.get(fault)
    true_scales, true_counts = Identity.scales, measure.count_cells
    if times is not None:
        less = property(lambda self: scaled(true_scales.__get__(self), times))
        monkeypatch.setattr(Identity, "scales", less)
    if fault == "counts twice":
        monkeypatch.setattr(measure, "count_cells", lambda *given, **named: 2 * true_counts(*given, **named))

    assert caught(steps) == (fault != "none")


def scaled(scales, times):
    """Return scales times a number."""
    return Scales([scale * times for scale in scales.values], scales.codes)


def test_a_case_is_told_so_that_it_can_be_seen_again():
    """A failure names its question, its policy and its loss."""
    draw = random.Random(3)
    case = next(
        found for found in iter(lambda: random_case(draw), 0) if found is not None and found.plan.cost
    )
    tally = Tally()

    audit(case, random.Random(1), tally)

    assert not tally.failed
    assert tally.cases == 1
    assert case.steps[-1][0] in str(case)
    assert "columns:" in str(case)
    assert loss_of(case, random.Random(1))[1] == case.plan.cost
