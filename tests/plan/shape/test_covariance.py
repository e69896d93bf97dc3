"""What a receipt states of errors that go together gives the exact error of any range."""

import json

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import BlowfishError
from pandas_blowfish.plan.shape import line_records
from pandas_blowfish.plan.shape.covariance import (
    keep_columns,
    range_variances,
    regroup,
    sum_variances,
    table_variances,
)
from pandas_blowfish.policy.domain import Domain, from_dict, integers

SIZE = 13
RUNS = ["identity", "ordered", "ordered_hierarchical", "hierarchical", "haar"]
STRATEGIES = ["auto", *RUNS, "tree", "optimised"]
PROMISES = {
    "full": {"secrets": {"x": bf.full()}},
    "near": {"secrets": {"x": bf.threshold(2), "g": bf.public()}},
    "groups": {"secrets": {"x": bf.partition(5), "g": bf.full()}},
    "pairs": {"secrets": {"x": bf.edges([(0, 4), (4, 9), (1, 2), (2, 7), (7, 12)]), "g": bf.public()}},
    "anyone": {"secrets": {"x": bf.threshold(3)}, "presence": True},
}


def _asked(promise, nullable, scope):
    """Return a planner of lines, and which cells of the domain each line's atoms are."""
    g = from_dict("g", {"type": "category", "values": ["a", "b", "c"]})
    x = integers("x", 0, SIZE - 1, nullable=nullable)
    policy = bf.Policy(Domain((g, x)), **PROMISES[promise])
    planner = policy.plan.where("x != 3 and x < 11") if "where" in scope else policy.plan
    return planner.groupby("g") if "groupby" in scope else planner


def _ranges(plan, starts, stops, scope):
    """Return ranges of every line x cells of the plan's domain."""
    codes = np.array(np.unravel_index(np.arange(plan.domain.size), plan.domain.shape))
    x = codes[plan.domain.columns.index("x")]
    passes = (x != 3) & (x < 11) if "where" in scope else np.ones(len(x), dtype=bool)
    if "groupby" not in scope:
        lines = [passes]
    else:
        lines = [passes & (codes[plan.domain.columns.index("g")] == group) for group in range(3)]
    return np.array([[own & (a <= x) & (x < b) for a, b in zip(starts, stops, strict=True)] for own in lines])


@pytest.mark.parametrize("scope", ["", "where", "groupby", "where groupby"])
@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("promise", PROMISES)
def test_equals_dense_covariances(promise, nullable, scope, by_dense_algebra):
    """For every strategy, and after the cells were put together into coarser bins."""
    starts, stops = np.triu_indices(SIZE)
    stops = stops + 1
    tried = set()
    for verb in ("hist", "cumhist"):
        for strategy in STRATEGIES:
            try:
                plan = getattr(_asked(promise, nullable, scope), verb)("x", epsilon="1/2", strategy=strategy)
            except BlowfishError:
                continue
            if plan.strategy == "transport":  # whose errors go together by themselves: tests/plan/transport
                continue
            record = json.loads(json.dumps(plan.measurement.covariance))
            wanted = _ranges(plan, starts, stops, scope)
            rows = wanted.reshape(-1, plan.domain.size).astype(float)
            dense = by_dense_algebra(plan.matrix().toarray(), plan.scales, rows)
            slow = np.square(dense.estimator) @ dense.noise

            found = range_variances(record, len(wanted), SIZE, starts, stops)

            assert found.ravel() == pytest.approx(slow, rel=1e-6, abs=1e-7)
            ends = np.array([1, 4, 5, 9, 13])
            coarse = regroup(record, ends, SIZE)
            low, high = np.triu_indices(4)
            fine = range_variances(record, len(wanted), SIZE, ends[low], ends[high + 1])
            assert range_variances(coarse, len(wanted), 4, low, high + 1) == pytest.approx(fine)
            tried.add(record["of"])

    assert len(tried) > 1


@pytest.mark.parametrize("scope", ["", "groupby", "where groupby"])
@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("promise", PROMISES)
def test_weighted_sums_equal_dense_covariances(promise, nullable, scope, by_dense_algebra):
    """For every strategy, of weights of both signs, and after cells were put together."""
    weights = np.concatenate([np.random.default_rng(5).integers(-3, 4, (6, SIZE)), [np.arange(SIZE)]])
    tried = set()
    for verb in ("hist", "cumhist"):
        for strategy in STRATEGIES:
            try:
                plan = getattr(_asked(promise, nullable, scope), verb)("x", epsilon="1/2", strategy=strategy)
            except BlowfishError:
                continue
            if plan.strategy == "transport":  # whose errors go together by themselves: tests/plan/transport
                continue
            record = json.loads(json.dumps(plan.measurement.covariance))
            cells = _ranges(plan, np.arange(SIZE), np.arange(SIZE) + 1, scope).astype(float)
            rows = np.einsum("sc,lcd->lsd", weights, cells).reshape(-1, plan.domain.size)
            dense = by_dense_algebra(plan.matrix().toarray(), plan.scales, rows)
            slow = np.square(dense.estimator) @ dense.noise

            found = sum_variances(record, len(cells), SIZE, weights)

            assert found.ravel() == pytest.approx(slow, rel=1e-6, abs=1e-6)
            ends = np.array([1, 4, 5, 9, 13])
            coarse = sum_variances(regroup(record, ends, SIZE), len(cells), 4, weights[:, :4])
            fine = np.repeat(weights[:, :4], np.diff(ends), axis=1)
            fine = np.concatenate([np.zeros((len(fine), 1)), fine], axis=1)
            assert coarse == pytest.approx(sum_variances(record, len(cells), SIZE, fine))
            tried.add(record["of"])

    assert len(tried) > 1


@pytest.mark.parametrize("promise", PROMISES)
def test_tables_equal_dense_covariances(promise, by_dense_algebra):
    """Of one column of a table: at least the true variances, exactly these of single counts; and again."""
    shape, tried = (3, SIZE), set()
    starts, stops = np.triu_indices(SIZE)
    for strategy in STRATEGIES:
        try:
            plan = _asked(promise, False, "").hist(["g", "x"], epsilon="1/2", strategy=strategy)
        except BlowfishError:
            continue
        if plan.strategy == "transport":
            continue
        record = json.loads(json.dumps(plan.measurement.covariance))
        if record is None:
            continue
        for kept, axis in (((0,), 1), ((1,), 0)):
            cells = np.eye(plan.domain.size).reshape(*shape, -1).sum(axis=axis)
            if kept == (1,):
                cells = np.stack([cells[a:b].sum(axis=0) for a, b in zip(starts, stops + 1, strict=True)])
            dense = by_dense_algebra(plan.matrix().toarray(), plan.scales, cells)
            slow = np.square(dense.estimator) @ dense.noise
            single = slow if kept == (0,) else slow[starts == stops]

            found = table_variances(record, shape, kept)
            again = keep_columns(record, shape, kept)

            assert (found >= single * (1 - 1e-9) - 1e-9).all()
            shared = "exact" not in record or any(code >= 0 for code, _ in record["exact"])
            if record["of"] == "cells" or not shared:
                assert found == pytest.approx(single, rel=1e-6, abs=1e-6)
            if again is not None and kept == (1,):
                ranges = range_variances(again, 1, SIZE, starts, stops + 1)
                assert ranges.ravel() == pytest.approx(slow, rel=1e-6, abs=1e-6)
                tried.add(record["of"])
            elif again is not None:
                assert sum_variances(again, 1, 3, np.eye(3)).ravel() == pytest.approx(slow, abs=1e-6)

    assert tried


@pytest.mark.parametrize("strategy", ["residual", "even"])
@pytest.mark.parametrize("promise", PROMISES)
def test_effects_equal_dense_covariances(promise, strategy, by_dense_algebra):
    """Tables that share columns: ranges, weighted sums, fewer columns, and these described again."""
    plan = _asked(promise, False, "").marginal([["g", "x"], ["x"]], epsilon="1/2", strategy=strategy)
    places = plan.asked[plan.way].asked[0]
    record = json.loads(json.dumps(plan.measurement.table_covariance(places)))
    cells = np.eye(plan.domain.size).reshape(3, SIZE, -1)
    starts, stops = np.triu_indices(SIZE)
    weights = np.random.default_rng(7).integers(-3, 4, (5, SIZE)).astype(float)
    ranges = ((starts[:, None] <= np.arange(SIZE)) & (np.arange(SIZE) <= stops[:, None])).astype(float)

    def slow(rows):
        dense = by_dense_algebra(
            plan.matrix().toarray(), list(plan.scales), rows.reshape(-1, plan.domain.size)
        )
        return np.square(dense.estimator) @ dense.noise

    def near(wanted):
        return pytest.approx(wanted, rel=1e-6, abs=1e-6)

    assert range_variances(record, 3, SIZE, starts, stops + 1).ravel() == near(
        slow(np.einsum("sx,gxd->gsd", ranges, cells))
    )
    assert sum_variances(record, 3, SIZE, weights).ravel() == near(
        slow(np.einsum("sx,gxd->gsd", weights, cells))
    )
    assert table_variances(record, (3, SIZE), (0,)) == near(slow(cells.sum(axis=1)))
    assert table_variances(record, (3, SIZE), (1,)) == near(slow(cells.sum(axis=0)))
    again = keep_columns(record, (3, SIZE), (1,))
    assert sum_variances(again, 1, SIZE, weights).ravel() == near(slow(weights @ cells.sum(axis=0)))


def test_what_takes_too_many_runs_is_left_out(monkeypatch):
    """A receipt stays small: errors of sums are bounds then."""
    monkeypatch.setattr(line_records, "MAX_RUNS", 3)
    plan = _asked("groups", False, "groupby").hist("x", strategy="identity")

    assert plan.measurement.covariance is None
