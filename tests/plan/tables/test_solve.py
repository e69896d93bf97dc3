"""Marginals from measured tables: least squares, agreement, exact totals, no negative counts."""

import itertools
import random
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.tally import tally
from pandas_blowfish.policy.domain import Domain, integers


def cell_tables(plan):
    """Return the asked answers as a matrix over the cells of the plan's domain."""
    asked = plan.asked[0]
    rows = []
    for places in asked.asked:
        counted = tally(asked.domain, [asked.domain.columns[p] for p in places], None, asked.condition)
        own = [asked.domain.columns.index(name) for name in counted.domain.columns]
        codes = np.unravel_index(np.arange(asked.domain.size), asked.domain.shape)
        flat = np.zeros(asked.domain.size, dtype=np.int64)
        for each in own:
            flat = flat * asked.domain.shape[each] + codes[each]
        bins = counted.labels()[flat]
        rows.append(bins[None, :] == np.arange(counted.size)[:, None])
    return np.vstack(rows).astype(float)


def _odd(plan):
    """Tell whether the filter is not a product of one condition a column."""
    passes = plan.asked[0]._filter.sieve.passes
    each = [passes.any(axis=tuple(o for o in range(passes.ndim) if o != axis)) for axis in range(passes.ndim)]
    return not (passes == reduce(np.logical_and.outer, each, np.ones((), dtype=bool))).all()


@pytest.mark.parametrize("seed", range(60))
def test_equals_dense_least_squares(seed, make_full_policy, make_filter, by_dense_algebra):
    """Estimates and variances are those of generalised least squares on the whole joint table."""
    draw = random.Random(seed)
    columns = draw.randint(2, 3)
    policy = make_full_policy(draw, columns, 3)
    scope = policy.plan.where(make_filter(draw, policy.domain)) if seed % 3 == 0 else policy.plan
    sets = [list(c) for n in range(1, columns + 1) for c in itertools.combinations(policy.domain.columns, n)]
    tables = draw.sample(sets, draw.randint(2, len(sets)))
    plan = scope.marginal(tables, epsilon=Fraction(draw.randint(1, 30), 10), strategy="residual")
    made, wanted = plan.measurement, cell_tables(plan)
    matrix = plan.matrix().toarray()
    values = np.array([draw.randint(-20, 60) for _ in range(matrix.shape[0])])
    exact = np.array([scale == 0 for scale in plan.scales])
    counts = np.array([draw.randint(0, 9) for _ in range(matrix.shape[1])])
    values[exact] = (matrix @ counts)[exact]

    dense = by_dense_algebra(matrix, list(plan.scales), wanted)
    found = made.solve(values, post=False).answers

    # where a filter is no product of columns, tables do not use all zeros that the whole joint table knows
    if all(held is None for held in map(plan.asked[0].occupied_cells, plan.asked[0].sets)) and not _odd(plan):
        assert np.allclose(found, dense.estimator @ values, atol=1e-6)
        assert np.allclose(plan.std**2, dense.variances, rtol=1e-7, atol=1e-9)
        assert np.isclose(plan.mse, dense.variances.mean())


def _survey(secrets=None, rows=3_000, **options):
    domain = Domain((integers("a", 0, 3), integers("b", 0, 1), integers("c", 0, 4), integers("d", 0, 2)))
    policy = bf.Policy(domain, secrets=secrets, **options)
    random_numbers = np.random.default_rng(5)
    frame = {name: random_numbers.integers(0, domain[name].size, rows) for name in domain.columns}
    frame["c"] = np.minimum(frame["c"], frame["a"])  # with cells that hold nothing
    import pandas as pd

    return pd.DataFrame(frame).blowfish.protect(policy, epsilon=100)


@pytest.mark.parametrize("post", [True, False, "signed"])
@pytest.mark.parametrize(
    ("secrets", "options"),
    [
        ({}, {}),
        ({"a": bf.public(), "c": bf.partition([[0, 1], [2, 3, 4]])}, {}),
        ({}, {"neighbors": "attribute"}),
        ({}, {"presence": True}),
    ],
)
def test_tables_agree(secrets, options, post):
    """Shared sub-marginals, exact totals and the row count agree to 1e-6 of the rows."""
    df = _survey(secrets, **options)

    tables = df.blowfish.marginal(list("abcd"), order=2, epsilon="0.5", post=post)

    for one, two in itertools.combinations(tables, 2):
        for name in set(one) & set(two):
            sums = [tables[each]["count"].groupby(level=name).sum() for each in (one, two)]
            assert np.allclose(*sums, atol=1e-6 * 3_000)
    for table in tables.values():
        if not options.get("presence"):
            assert abs(table["count"].sum() - 3_000) <= 1e-6 * 3_000
        if post is True:
            assert table["count"].min() >= 0
    if secrets:
        groups = tables["a", "c"]["count"].unstack("c")
        truth = df.groupby(["a", "c"]).size().unstack("c").reindex(columns=range(5)).fillna(0)
        for part in ([0, 1], [2, 3, 4]):
            assert np.allclose(groups[part].sum(axis=1), truth[part].sum(axis=1), atol=1e-6 * 3_000)


def test_post_has_four_words():
    """Signed tables are the unbiased ones; the others are not negative, and closer to sparse truth."""
    df = _survey(rows=200)
    truth = df.groupby(["a", "c"]).size().unstack("c").reindex(columns=range(5)).fillna(0).stack().to_numpy()
    found, errors = {}, {}
    for post in (True, False, "signed", "nonnegative"):
        with bf.testing.replay(3):
            tables = df.blowfish.marginal(list("abcd"), order=2, epsilon="0.2", post=post)
        found[post] = tables["a", "c"]["count"].to_numpy()
        errors[post] = float(((found[post] - truth) ** 2).mean())

    assert np.array_equal(found[True], found["nonnegative"])
    assert np.array_equal(found[False], found["signed"])
    assert errors[True] < errors["signed"]
    assert found[True].min() >= 0 > found["signed"].min()


@pytest.mark.parametrize("options", [{}, {"neighbors": "attribute"}, {"presence": True}], ids=str)
def test_nonnegative_tables_agree_however_few_the_rows(options):
    """Noise far beyond the counts leaves tables that agree to rounding."""
    import pandas as pd

    domain = Domain(tuple(integers(name, 0, 2) for name in "abcdef"))
    rows = pd.DataFrame({name: np.random.default_rng(1).integers(0, 3, 30) for name in domain.columns})
    df = rows.blowfish.protect(bf.Policy(domain, **options), epsilon=100)

    with bf.testing.replay(5):
        tables = df.blowfish.marginal(list("abcdef"), order=2, epsilon="0.05")

    for name in domain.columns:
        sums = [table["count"].groupby(level=name).sum() for key, table in tables.items() if name in key]
        assert np.ptp(sums, axis=0).max() <= 1e-6 * 30
    for table in tables.values():
        assert table["count"].min() >= 0
        if not options.get("presence"):
            assert abs(table["count"].sum() - 30) <= 1e-6 * 30
