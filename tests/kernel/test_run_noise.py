"""Noise of least runs: its law, ties, cuts, and that it repeats under replay."""

from fractions import Fraction

import numpy as np
import pytest
from oracle.run_law import by_distance
from scipy.stats import chi2

from pandas_blowfish.errors import ArgumentError, ScaleError
from pandas_blowfish.exact.least_runs import least_runs
from pandas_blowfish.exact.run_chain import FLIP, NONE, OPEN, Step
from pandas_blowfish.kernel import run_noise
from pandas_blowfish.kernel.noise import MAX_SCALE, replay
from pandas_blowfish.kernel.run_noise import BITS, _choose, _geometric, _line, draw_runs


@pytest.mark.parametrize(
    ("reach", "places", "scale"), [(2, 3, Fraction(1, 2)), (3, 4, Fraction(2, 5)), (4, 4, 1)]
)
def test_drawn_law_is_the_law_of_least_runs(reach, places, scale):
    """Every point that is expected often enough is drawn as often as its number of runs says."""
    many = 6_000
    distances = by_distance(places, reach, 3, 5)
    with replay(reach):
        drawn = draw_runs(Fraction(scale), reach, [places] * many).reshape(many, places)

    found, often = np.unique(drawn, axis=0, return_counts=True)
    counted = {tuple(y): n for y, n in zip(found.tolist(), often.tolist(), strict=True)}
    weight = {y: np.exp(-n / float(scale)) for y, n in distances.items()}
    likely = sorted(weight, key=weight.__getitem__, reverse=True)[:40]
    near = sum(counted.get(y, 0) for y in likely)
    expected = np.array([weight[y] for y in likely]) * near / sum(weight[y] for y in likely)
    observed = np.array([counted.get(y, 0) for y in likely])

    statistic = ((observed - expected) ** 2 / expected).sum()
    assert expected.min() > 5
    assert chi2.sf(statistic, len(likely) - 1) > 1e-4


def test_far_from_the_ends_the_odds_are_those_of_all_points():
    """Numbers of runs of long noise are distributed as one more or less run of each point says: E[a**-1 ...].

    Adding a run at the middle is a change of coordinates: P(y + run) / P(y) = a**(N(y + run) - N(y)), so the
    mean of that ratio over draws is 1.
    """
    scale, size, many = Fraction(1), 60, 1_000
    with replay(11):
        drawn = draw_runs(scale, 3, [size] * many).reshape(many, size)

    begins = np.arange(size) == 0
    for run in (slice(30, 31), slice(28, 31), slice(0, 2)):
        moved = drawn.copy()
        moved[:, run] += 1
        ratio = np.exp(-(least_runs(moved, begins, 3) - least_runs(drawn, begins, 3)).astype(float))
        assert abs(ratio.mean() - 1) < 5 * ratio.std() / np.sqrt(many)


class Bits:
    """Hands out prepared bits of a uniform real."""

    def __init__(self, *words):
        self.words = list(words)

    def __call__(self, bounds):
        """Return the next ones."""
        assert bounds.tolist() == [1 << BITS]
        return np.array([self.words.pop(0)])


def test_ties_are_decided_as_the_real_number_would(monkeypatch):
    """On either side of a limit, as near as 10^-110, the step is that of the real number."""
    chain = run_noise.chain_of(3, Fraction(7, 3))
    fine = chain.limits(0, 5, 6 * BITS)
    for number, limit in enumerate(fine.lower):
        for shift, expected in ((-8, number), (12, number + 1)):
            real = limit + shift
            words = [real >> (BITS * place) & ((1 << BITS) - 1) for place in reversed(range(6))]
            bits = Bits(*words[1:], *[0] * 6)
            monkeypatch.setattr(run_noise, "uniform_below", bits)

            step = _choose(chain, 0, 5, words[0])

            assert step == chain.steps.leaving[0][expected]
            assert len(bits.words) < 9  # more bits were asked for


def test_same_seed_same_noise():
    """Under replay draws repeat; without it they do not."""

    def draw():
        return draw_runs(Fraction(9), 4, [40, 0, 7]).tolist()

    with replay(5):
        first = draw()
    with replay(5):
        assert draw() == first

    assert len(first) == 47
    assert draw() != draw()


def test_lines_are_made_of_runs_that_end_in_time():
    """Opened runs go on for their reach, end with a flip, and with nothing."""
    steps = [Step(OPEN, 0, 0), Step(OPEN, 0, 0), Step(OPEN, 0, 0), Step(FLIP, 0, 0), Step(NONE, 0, 0)]
    many = np.array([4, 0, 1, 0, 2, 0, 6, 0, 0, 0])

    assert _line(steps, many, 2).tolist() == [5, 7, 5, -7, 0]


def test_largest_scale_is_summed_without_bounds_and_cut(monkeypatch):
    """Numbers beyond 64 bits are Python's; what is cut at 2**62 of single ones is drawn on."""
    with replay(2):
        noise = draw_runs(Fraction(MAX_SCALE), 3, [50])
    assert 2**50 < np.abs(noise).max() < 2**60
    cut = iter([np.array([2**62, 3, -(2**62)]), np.array([8]), np.array([-2])])
    monkeypatch.setattr(run_noise, "discrete_laplace", lambda scale, size: next(cut))

    found = _geometric(Fraction(1), 3)

    assert found.tolist() == [2**62 + 8, 3, 2**62 - 1 + 1]
    many = np.array([2**62] * 16, dtype=object)
    assert _line([Step(OPEN, 0, 0), Step(OPEN, 0, 0)], many, 8).tolist() == [2**62, 2**62]


def test_what_cannot_be_drawn_is_refused():
    """Too far, too near, too large."""
    for reach in (1, 9):
        with pytest.raises(ArgumentError):
            draw_runs(Fraction(1), reach, [3])
    with pytest.raises(ScaleError):
        draw_runs(Fraction(MAX_SCALE) + 1, 2, [3])
    assert draw_runs(Fraction(0), 2, [3]).tolist() == [0, 0, 0]
    assert draw_runs(Fraction(1), 2, []).tolist() == []
