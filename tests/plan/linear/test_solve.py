"""Answers of workloads: unbiased with the planned error, or of non-negative counts with exact totals."""

import random

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.kernel.measure import add_noise
from pandas_blowfish.plan.given import Given
from pandas_blowfish.plan.linear import atom_rows as strategy_module
from pandas_blowfish.plan.linear import optimise
from pandas_blowfish.plan.linear import solve as infer
from pandas_blowfish.plan.shape.solved import without_dust
from pandas_blowfish.policy.domain import Domain, integers


def policy_of(cells, secret, **options):
    """Return a policy on whole numbers from 0."""
    return bf.Policy(Domain((integers("x", 0, cells - 1),)), secrets={"x": secret}, **options)


@pytest.mark.parametrize("seed", range(60))
def test_without_noise_answers_are_the_truth(seed, make_full_policy, make_filter, monkeypatch):
    """Every strategy's answers are unbiased: exact rows lead to exact answers, shaped or not."""
    monkeypatch.setattr(optimise, "MOST", 3)
    monkeypatch.setattr(optimise, "LEAST", 1)
    draw = random.Random(seed)
    policy = make_full_policy(draw, draw.randint(1, 2), 5)
    names = list(policy.domain.columns)
    scope = policy.plan.where(make_filter(draw, policy.domain)) if draw.random() < 0.4 else policy.plan
    if len(names) > 1 and draw.random() < 0.5:
        scope = scope.groupby(names.pop())
    cells = int(np.prod([policy.domain[name].size for name in names]))
    matrix = np.array([[draw.randint(-9, 9) * (draw.random() < 0.6) for _ in range(cells)] for _ in range(3)])

    for strategy in scope.workload(matrix, names).asked[0].strategies:
        plan = scope.workload(matrix, names, strategy=strategy)
        counts = np.array([draw.randint(0, 50) for _ in range(plan.domain.size)])
        bins = plan.asked[0].tally.labels()
        by_bin = np.bincount(bins[bins >= 0], counts[bins >= 0], plan.asked[0].tally.size)
        truth = (by_bin.reshape(-1, cells) @ matrix.T).ravel()
        values = np.asarray(plan.matrix() @ counts, dtype=np.int64)

        for post in (False, True):
            answers = plan.measurement.solve(values, post=post).answers
            np.testing.assert_allclose(answers, truth, atol=1e-4)


@pytest.mark.parametrize(
    ("cells", "secret", "strategy"),
    [
        (12, bf.threshold(2), "optimised"),
        (6, bf.full(), "direct"),
        (10, bf.partition({"width": 5}), "identity"),
    ],
)
def test_answers_are_unbiased_with_the_variance_planned(cells, secret, strategy):
    """The mean squared error of 3,000 releases is the plan's within 5%, and their mean is the truth."""
    draw = np.random.default_rng(5)
    matrix, counts = draw.integers(-2, 4, (8, cells)), draw.integers(0, 40, cells)
    plan = policy_of(cells, secret).plan.workload(matrix, "x", epsilon="1/2", strategy=strategy)
    truth, exact = matrix @ counts, np.asarray(plan.matrix() @ counts)

    with bf.testing.replay(7):
        found = np.array(
            [
                plan.measurement.solve(add_noise(plan.measurement, exact, plan.cost), post=False).answers
                for _ in range(3_000)
            ]
        )

    assert ((found - truth) ** 2).mean() == pytest.approx(plan.mse, rel=0.05)
    assert np.abs(found.mean(axis=0) - truth).max() <= 5 * plan.std.max() / np.sqrt(3_000)


@pytest.mark.parametrize("strategy", ["identity", "direct", "optimised", "ordered", "hierarchical"])
def test_shaped_answers_are_possible(strategy):
    """With `post` answers are those of counts that are not negative and add up to the exact totals."""
    policy = policy_of(8, bf.partition({"width": 4}))
    matrix = np.concatenate([np.eye(8, dtype=int), np.kron(np.eye(2, dtype=int), np.ones(4, dtype=int))])
    counts = np.array([0, 3, 0, 0, 20, 0, 0, 1])
    plan = policy.plan.workload(matrix, "x", epsilon="1/10", strategy=strategy)

    for seed in range(20):
        with bf.testing.replay(seed):
            values = add_noise(plan.measurement, np.asarray(plan.matrix() @ counts), plan.cost)
        answers = plan.measurement.solve(values, post=True).answers

        assert answers.min() >= -1e-6
        assert answers[8:].tolist() == [3, 21]
        np.testing.assert_allclose([answers[:4].sum(), answers[4:8].sum()], [3, 21], atol=1e-6)


def test_answers_carry_no_dust():
    """Answers that are whole numbers but for float algebra are whole; others stay as they are."""
    matrix = np.array([[1, 2, 3, 4, 5], [7, 0, -1, 0, 3], [-5_000, 3, 1, 999, 17]])
    plan = policy_of(5, bf.full(), presence=True).plan.workload(matrix, "x", strategy="direct")
    counts = np.array([3, 1, 4, 1, 5])

    answers = plan.measurement.solve(plan.measurement.apply(counts), post=False).answers

    assert answers.tolist() == (matrix @ counts).tolist()
    given = np.array([-16460.000000006537, 0.5, 2.00001, -1e-9])
    assert str(without_dust(given, infer.DUST).tolist()) == "[-16460.0, 0.5, 2.00001, 0.0]"


@pytest.mark.parametrize("limit", [0, 300])
def test_the_rest_of_a_total_is_not_negative(limit, monkeypatch):
    """Counts of some atoms of a total do not exceed it, however large the noise, fitted or not."""
    monkeypatch.setattr(infer, "MAX_FITTED", limit)
    policy, counts = policy_of(9, bf.full()), np.array([5] + [0] * 8)

    for strategy in ("identity", "direct", "optimised"):
        plan = policy.plan.workload(np.eye(3, 9, dtype=int), "x", epsilon="1/100", strategy=strategy)
        for seed in range(10):
            with bf.testing.replay(seed):
                values = add_noise(plan.measurement, np.asarray(plan.matrix() @ counts), plan.cost)
            answers = plan.measurement.solve(values, post=True).answers

            assert answers.min() >= 0
            assert answers.sum() <= 5 + 1e-6


def test_queries_alone_keep_their_sign(monkeypatch):
    """Where only the queries are known, those without negative numbers are at least 0."""
    monkeypatch.setattr(strategy_module, "MAX_DENSE", 2)
    policy, matrix = (
        policy_of(6, bf.full()),
        np.array([[1, 1, 0, 0, 0, 0], [0, 0, -1, -2, 0, 0], [1, 0, -1, 0, 0, 0]]),
    )
    plan = policy.plan.workload(matrix, "x", epsilon="1/100", strategy="direct")

    for seed in range(10):
        with bf.testing.replay(seed):
            values = add_noise(plan.measurement, np.zeros(len(plan.scales), dtype=np.int64), plan.cost)
        plain, shaped = (plan.measurement.solve(values, post=post) for post in (False, True))

        assert shaped.answers[0] == max(plain.answers[0], 0)
        assert shaped.answers[1] == min(plain.answers[1], 0)
        assert shaped.answers[2] == plain.answers[2]
        assert shaped.unshaped.tolist() == plain.answers.tolist()


@pytest.mark.parametrize("post", [True, False])
def test_queries_alone_that_are_known(post, monkeypatch):
    """Where only queries themselves are measured, those that facts tell are as told, multiples too."""
    monkeypatch.setattr(strategy_module, "MAX_DENSE", 2)
    policy = policy_of(8, bf.full())
    matrix = [[1, 1, 1, 0, 0, 0, 0, 0], [-3, -3, -3, 0, 0, 0, 0, 0], [0, 1, 0, 2, 0, 1, 0, 1]]
    facts = [bf.Count("x < 3", answer=12), bf.Count("x in [1, 6]", answer=5)]
    given = Given.of(bf.Policy(policy.domain, constraints=facts))
    made = policy.plan.workload(matrix, "x", strategy="direct").measurement
    assert made.estimator is None

    found = made.solve(np.array([40, 7, 100]), post=post, known=given)

    assert found.answers.tolist() == [12, -36, 7]
    assert found.unshaped.tolist() == [40, -120, 7]


def test_facts_that_the_rows_do_not_tell_move_nothing():
    """What is known of atoms that no row was measured for biases no answer, but shapes counts."""
    policy = policy_of(6, bf.full(), presence=True)
    given = Given.of(bf.Policy(policy.domain, constraints=[bf.Count("x in [1, 2]", answer=3)]))
    made = policy.plan.workload([[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0]], "x", strategy="direct").measurement
    values = np.array([9, -2])

    assert made.solve(values, post=False, known=given).answers.tolist() == [9, -2]
    assert made.solve(values, post=True, known=given).answers.min() >= 0
