"""Rows over atoms with one noise: scales, forms, and what they say about themselves."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

import pandas_blowfish as bf
from pandas_blowfish import errors
from pandas_blowfish.plan.choose import reread
from pandas_blowfish.plan.linear import atom_rows as module
from pandas_blowfish.plan.linear.atom_rows import distinct, multiples, multiply_rows, pack_rows, unpack_rows
from pandas_blowfish.policy.domain import Domain, integers


def policy_of(cells, secret, **options):
    """Return a policy on whole numbers from 0."""
    return bf.Policy(Domain((integers("x", 0, cells - 1),)), secrets={"x": secret}, **options)


def test_multiples_are_measured_once():
    """Of a query, its double, its negative and zeros one row is left."""
    queries = csr_array(np.array([[2, 0, 4], [0, 0, 0], [-1, 0, -2], [0, 3, 0], [1, 0, 2]]))

    rows = distinct(queries)

    assert rows.toarray().tolist() == [[1, 0, 2], [0, 1, 0]]
    row, multiple = multiples(queries, rows)
    assert (multiple[:, None] * rows.toarray()[row]).tolist() == queries.toarray().tolist()


@pytest.mark.parametrize("seed", range(5))
def test_packed_rows_are_read_back(seed):
    """The plain form of a matrix holds all of it."""
    draw = np.random.default_rng(seed)
    rows = draw.integers(-(2**40), 2**40, (6, 9)) * (draw.random((6, 9)) < 0.4)

    kept = pack_rows(csr_array(rows))

    assert unpack_rows(kept).toarray().tolist() == rows.tolist()
    assert all(isinstance(each, (str, list)) for each in kept.values())


def test_scales_and_proof():
    """Noisy rows have the sensitivity over epsilon, totals none; the proof says so in numbers."""
    plan = policy_of(4, bf.full()).plan.workload([[1, 2, 0, 0]], "x", epsilon="1/2", strategy="direct")

    assert plan.sensitivity == 2
    assert list(plan.scales) == [Fraction(4), Fraction(0)]
    assert "sensitivity 2" in plan.proof
    assert "scale 4" in plan.proof
    assert plan.matrix().toarray().tolist() == [[1, 2, 0, 0], [1, 1, 1, 1]]


def test_exact_rows_are_proved_otherwise():
    """Where no edge changes an answer nothing is lost."""
    plan = policy_of(4, bf.partition([[0, 1], [2, 3]])).plan.workload([[3, 3, -1, -1]], "x")

    assert plan.cost == 0
    assert plan.strategy == "exact"
    assert "exactly" in plan.proof
    assert plan.std.tolist() == [0.0]


def test_too_large_a_matrix_is_refused():
    """A matrix with more than 10^6 non-zeros is not made."""
    row = np.ones((1, 1_100_000), dtype=np.int64)
    row[0, 0] = 2
    plan = policy_of(1_100_000, bf.threshold(1)).plan.workload(csr_array(row), "x", strategy="direct")

    with pytest.raises(errors.DomainTooLargeError, match="1,000,000"):
        plan.matrix()


def test_many_rows_are_answered_by_themselves(monkeypatch):
    """Beyond what dense algebra takes, a query's error is that of its own row."""
    monkeypatch.setattr(module, "MAX_DENSE", 2)
    policy = policy_of(6, bf.full())

    plan = policy.plan.workload(
        [[1, 0, 0, 0, 0, 0], [0, 2, 2, 0, 0, 0], [0, -1, -1, 0, 0, 0], [1, 1, 1, 1, 1, 1]],
        "x",
        strategy="direct",
    )

    noise = plan.measurement.noise
    np.testing.assert_allclose(plan.std**2, [noise, 4 * noise, noise, 0])


def exactly(rows, counts):
    """Return rows times counts in Python integers."""
    return [sum(a * b for a, b in zip(row, counts.tolist(), strict=True)) for row in rows.toarray().tolist()]


def test_large_numbers_do_not_wrap():
    """Products beyond 64 bits are those of whole numbers without bounds, clamped to 2^61."""
    rows = csr_array(
        np.array(
            [[2**40, 0, 0], [2**42, -(2**42), 1], [-(2**40), 0, 5], [3, -4, 0], [0, 0, 0], [2**31, 1, 0]]
        )
    )

    for counts in ([2**31, 2**31 - 3, 7], [0, 1, 0], [2**30 + 1, 2**32, 2**30], [3_000_000, 0, 2]):
        found = multiply_rows(rows, np.array(counts))

        assert found.tolist() == [max(-(2**61), min(2**61, each)) for each in exactly(rows, np.array(counts))]


def test_millions_of_rows_at_the_far_end():
    """What is searched for has small enough numbers, and millions of rows are measured without wrapping."""
    draw, cells = np.random.default_rng(0), 200
    matrix = np.array([np.arange(cells) * 5_000 + draw.integers(0, 40, cells) for _ in range(3)])
    counts = np.zeros(cells, dtype=np.int64)
    counts[-1], counts[:3] = 3_000_000, 1
    policy = policy_of(cells, bf.threshold(1))

    for strategy in ("auto", "optimised", "direct"):
        plan = policy.plan.workload(matrix, "x", strategy=strategy)

        assert abs(plan.matrix()).max() <= 2**31
        assert plan.measurement.apply(counts).tolist() == exactly(plan.matrix(), counts)


@pytest.mark.parametrize("strategy", ["auto", "direct", "identity", "optimised"])
def test_rows_of_very_different_size_are_all_used(strategy):
    """A query of small numbers beside one of huge numbers is unbiased, with an honest error."""
    matrix = np.array([np.arange(20) * 100_000_007 + 1, [1] * 10 + [0] * 10])
    policy = policy_of(20, bf.full(), presence=True)
    counts = np.arange(20) * 3 + 1

    plan = policy.plan.workload(matrix, "x", epsilon=1, strategy=strategy)

    assert plan.measurement.enough
    assert (plan.std >= 1).all()
    answers = plan.measurement.solve(plan.measurement.apply(counts), post=False).answers
    np.testing.assert_allclose(answers, matrix @ counts, rtol=1e-9, atol=1e-3)
    if strategy == "direct":
        np.testing.assert_allclose(plan.std**2, plan.measurement.noise, rtol=1e-6)


def test_what_dense_algebra_cannot_tell_is_answered_alone(monkeypatch):
    """Where no estimator leads to the queries, each is answered by its own row, with its error."""
    monkeypatch.setattr(module, "CLOSE", -1.0)
    matrix = [[1, 2, 0, 0], [0, 1, 1, 3], [2, 4, 0, 0], [1, 1, 1, 1]]

    plan = policy_of(4, bf.full()).plan.workload(matrix, "x", strategy="direct")

    assert plan.measurement.form == {"rows": "queries alone"}
    np.testing.assert_allclose(plan.std**2, plan.measurement.noise * np.array([1, 1, 4, 0]))
    again = reread(plan, "direct", plan.way, plan.measurement.form)
    assert (again.matrix() != plan.matrix()).nnz == 0


def test_a_query_without_a_row_is_an_error(monkeypatch):
    """A query that edges change and no row answers never has variance 0."""
    plan = policy_of(6, bf.full()).plan.workload(np.eye(2, 6), "x", strategy="direct")
    monkeypatch.setattr(module, "MAX_DENSE", 1)
    short = replace(plan.measurement, rows=plan.measurement.rows[:1])

    assert not short.enough
    with pytest.raises(errors.ArgumentError, match="answer"):
        short.variances  # noqa: B018
