"""From measured values to answers: unbiased, or of the right shape, for every strategy."""

import random
from fractions import Fraction

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.kernel.buckets import draw_buckets
from pandas_blowfish.kernel.noise import discrete_laplace
from pandas_blowfish.plan.given import Given
from pandas_blowfish.plan.line.dawa import Dawa
from pandas_blowfish.plan.line.question import STRATEGIES as LINE_STRATEGIES
from pandas_blowfish.policy.domain import Domain, integers


def _noisy(measured, bins):
    exact = measured.apply(bins)
    if isinstance(measured, Dawa):
        return draw_buckets(measured, exact)
    for code, scale in enumerate(measured.scales.values):
        rows = np.flatnonzero(measured.scales.codes == code)
        if scale and len(rows):
            exact[rows] += discrete_laplace(scale, len(rows))
    return exact


def _policies():
    grouped = Domain((integers("g", 0, 2), integers("x", 0, 11)))
    parts = {"a": [0, 1, 2, 3], "b": [4, 5, 6, 7, 8], "c": [9, 10, 11]}
    mixed = {"a": [0, 3, 6, 9], "b": [1, 2, 4, 5, 7, 8, 10, 11]}
    for secret in (bf.threshold(2), bf.full(), bf.partition(parts), bf.partition(mixed)):
        yield bf.Policy(grouped, secrets={"g": bf.full(), "x": secret})
        yield bf.Policy(grouped, secrets={"g": bf.public(), "x": secret}, presence=True)


def _asks(planner):
    return (planner, planner.where("x >= 3"), planner.groupby("g"), planner.where("x < 8 or g == 1"))


def _counts(plan, most, seed):
    """Return random counts of whole lines, and which atoms a filter leaves rows in."""
    tally = plan.asked[plan.way].tally
    occupied = tally.occupied
    counts = np.where(occupied, np.random.default_rng(seed).integers(0, most, tally.size), 0)
    return counts.reshape(-1, 12), occupied.reshape(-1, 12).any(axis=0)


def _planned(ask, strategy):
    """Return the plan; None where a strategy refuses lines that rows leave, or groups that are no runs."""
    if strategy == "dawa":
        line = ask.cumhist("x", strategy="tree").measurement.line
        if len(line.away) or len(line.across):
            with pytest.raises(ArgumentError, match="dawa"):
                ask.cumhist("x", strategy="dawa")
            return None
    if strategy == "optimised":
        line = ask.cumhist("x", strategy="tree").measurement.line
        if int(line.pieces.max()) >= len(line.starts):
            with pytest.raises(ArgumentError, match="optimised"):
                ask.cumhist("x", strategy="optimised")
            return None
    try:
        return ask.cumhist("x", epsilon="1/7", strategy=strategy)
    except ArgumentError:
        if strategy != "transport":
            raise
        return None


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("strategy", [each.name for each in LINE_STRATEGIES])
def test_without_noise_answers_are_true(strategy):
    """The measured rows of a table lead back to its counts, shaped or not."""
    for policy in _policies():
        for ask in _asks(policy.plan):
            if (plan := _planned(ask, strategy)) is None:
                continue
            counts, held = _counts(plan, 9, seed=1)
            values = plan.measurement.apply(counts[:, held].ravel())

            truth = np.cumsum(counts, axis=1).ravel()

            for post in (True, False):
                assert plan.measurement.solve(values, post=post).answers == pytest.approx(truth, abs=1e-6)


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("strategy", [each.name for each in LINE_STRATEGIES])
def test_shaped_answers_rise_and_keep_what_is_exact(strategy):
    """Counts are never negative, totals that the policy leaves exact are exact."""
    for policy in _policies():
        for ask in _asks(policy.plan):
            if (plan := _planned(ask, strategy)) is None:
                continue
            measured = plan.measurement
            counts, held = _counts(plan, 4, seed=2)
            with bf.testing.replay(3):
                values = _noisy(measured, counts[:, held].ravel())

            solved = measured.solve(values, post=True)
            raw = measured.solve(values, post=False)

            steps = np.diff(solved.answers.reshape(-1, 12), axis=1, prepend=0)
            line = measured.line
            segments = np.add.reduceat(steps[:, held], line.starts, axis=1).ravel()
            truth = np.add.reduceat(counts[:, held], line.starts, axis=1).ravel()
            assert (steps >= -1e-6).all()
            assert steps[:, ~held] == pytest.approx(0, abs=1e-6)
            assert segments[line.exact.alone] == pytest.approx(truth[line.exact.alone], abs=1e-6)
            for total in range(line.exact.totals):
                inside = line.exact.total_of == total
                assert segments[inside].sum() == pytest.approx(truth[inside].sum(), abs=1e-6)
            assert solved.unshaped.tolist() == raw.unshaped.tolist() == raw.answers.tolist()


@pytest.mark.parametrize(
    ("strategy", "ask"),
    [
        ("ordered", lambda plan: plan),
        ("ordered_hierarchical", lambda plan: plan.where("x >= 3")),
        ("hierarchical", lambda plan: plan.groupby("g")),
        ("haar", lambda plan: plan.where("x < 8")),
        ("tree", lambda plan: plan.groupby("g")),
        ("identity", lambda plan: plan),
    ],
)
def test_mean_squared_error_is_the_planned_one(strategy, ask):
    """Two thousand releases: unbiased, and within 5% of `mse` on the average."""
    policy = bf.Policy(
        Domain((integers("g", 0, 1), integers("x", 0, 11))), secrets={"g": bf.full(), "x": bf.threshold(2)}
    )
    plan = ask(policy.plan).range("x", "all", epsilon="1/2", strategy=strategy)
    bins = np.zeros(plan.measurement.tally.size, dtype=np.int64)

    with bf.testing.replay(11):
        errors = np.array(
            [plan.measurement.solve(_noisy(plan.measurement, bins), post=False).answers for _ in range(2_000)]
        )

    assert (errors**2).mean() == pytest.approx(plan.mse, rel=0.05)
    assert abs(errors.mean(axis=0)).max() < 6 * plan.std.max() / 2_000**0.5


def test_plain_counts_keep_exact_totals():
    """A histogram by single cells is projected on its public row count."""
    policy = bf.Policy(Domain((integers("x", 0, 5),)))
    plan = policy.plan.hist("x", strategy="identity")
    values = plan.measurement.apply(np.array([9, 0, 0, 0, 0, 1])) + np.array([3, -4, 1, 0, 0, 0, 0])

    found = plan.measurement.solve(values, post=True)

    assert found.answers.sum() == pytest.approx(10)
    assert (found.answers >= 0).all()
    assert plan.measurement.solve(values, post=False).answers.tolist() == [12, -4, 1, 0, 0, 1]

    values[5] += 3  # three rows too many: half a row less in each of the six bins

    raw = plan.measurement.solve(values, post=False)

    assert raw.answers.tolist() == [11.5, -4.5, 0.5, -0.5, -0.5, 3.5]
    assert raw.answers.sum() == 10


def test_counts_of_pieces_are_exact_too(on_line):
    """Interleaved groups keep their totals through a tree."""
    policy = bf.Policy(
        Domain((integers("x", 0, 5),)), secrets={"x": bf.partition({"even": [0, 2, 4], "odd": [1, 3, 5]})}
    )
    plan = policy.plan.cumhist("x", epsilon=Fraction(1, 20), strategy="tree")
    draw = random.Random(0)
    bins = np.array([draw.randint(0, 9) for _ in range(6)])

    with bf.testing.replay(5):
        solved = plan.measurement.solve(_noisy(plan.measurement, bins), post=True)

    counts = np.diff(solved.answers, prepend=0)
    assert (counts >= 0).all()
    assert counts[::2].sum() == pytest.approx(bins[::2].sum())
    assert counts[1::2].sum() == pytest.approx(bins[1::2].sum())


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("strategy", [each.name for each in LINE_STRATEGIES])
def test_known_sums_on_lines_keep_what_is_exact(strategy):
    """Scattered cells, and a run of one group, are as known; totals stay exact, counts are not negative."""
    for policy in _policies():
        for ask in _asks(policy.plan):
            if (plan := _planned(ask, strategy)) is None:
                continue
            counts, held = _counts(plan, 4, seed=5)
            grouped = len(counts) > 1
            cells = np.zeros((3, 12), dtype=np.int64)
            cells[: len(counts)] = counts  # all in the first group where groups are not asked for
            rows = [np.isin(np.arange(12), [1, 4, 7, 10]) & held, (np.arange(12) >= 9) & held]
            facts = [bf.Count("x in [1, 4, 7, 10]", answer=int(cells[:, [1, 4, 7, 10]].sum()))]
            facts += [bf.Count("x >= 9 and g == 0", answer=int(cells[0, 9:].sum()))]
            given = Given.of(bf.Policy(policy.domain, constraints=facts))
            with bf.testing.replay(6):
                values = _noisy(plan.measurement, counts[:, held].ravel())

            for post in (True, False):
                steps = np.diff(
                    plan.measurement.solve(values, post=post, known=given).answers.reshape(-1, 12),
                    axis=1,
                    prepend=0,
                )

                if len(given.over(plan.measurement.tally)) and rows[0].sum() == 4:
                    assert steps[:, rows[0]].sum() == pytest.approx(counts[:, rows[0]].sum(), abs=1e-7)
                if grouped and rows[1].sum() == 3:
                    assert steps[0, rows[1]].sum() == pytest.approx(counts[0, rows[1]].sum(), abs=1e-7)
                line = plan.measurement.line
                segments = np.add.reduceat(steps[:, held], line.starts, axis=1).ravel()
                truth = np.add.reduceat(counts[:, held], line.starts, axis=1).ravel()
                assert segments[line.exact.alone] == pytest.approx(truth[line.exact.alone], abs=1e-7)
                assert not post or steps.min() >= -1e-7


def test_unshaped_counts_agree_with_known_sums():
    """Shaped or not they have the known sums; the unshaped ones are those of post=False."""
    domain = Domain((integers("x", 0, 11),))
    facts = [bf.Count("x < 4", answer=9), bf.Count("x == 7", answer=30), bf.Count("x >= 10", answer=2)]
    given = Given.of(bf.Policy(domain, constraints=facts))
    made = bf.Policy(domain).plan.hist("x", strategy="identity").measurement
    noisy = np.array([9, -4, 1, 2, 5, 0, -3, 5, 9, 2, -6, 1, 41])

    solved = made.solve(noisy, post=True, known=given)
    plain = made.solve(noisy, post=False, known=given)

    for each in (solved.answers, plain.answers):
        assert (each[7], each[:4].sum(), each.sum()) == pytest.approx((30, 9, 41))
    assert solved.answers.min() >= 0
    assert solved.unshaped.tolist() == plain.unshaped.tolist() == plain.answers.tolist()


def test_many_empty_segments_do_not_add_up():
    """Segments whose totals are secret are fitted together: the curve ends where it was measured."""
    domain = Domain((integers("x", 0, 599),))
    policy = bf.Policy(domain, secrets={"x": bf.partition(10)}, presence=True)
    plan = policy.plan.cumhist("x", epsilon="1/10")
    counts, off = np.where(np.arange(600) < 30, 200, 0), []

    for seed in range(15):
        with bf.testing.replay(seed):
            solved = plan.measurement.solve(_noisy(plan.measurement, counts), post=True)
        off.append((solved.answers - np.cumsum(counts)) / plan.std)
        assert (np.diff(solved.answers) >= -1e-9).all()

    assert np.abs(np.mean(off, axis=0)[50:]).max() < 1.2
