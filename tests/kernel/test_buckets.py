"""Buckets chosen with noise: the exact law of the choice, on neighbouring sums."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ScaleError
from pandas_blowfish.kernel import buckets as module
from pandas_blowfish.kernel.buckets import check_buckets, draw_buckets, partition
from pandas_blowfish.plan.line.dawa import CONTINUES, Dawa, median_distances
from pandas_blowfish.policy.domain import Domain, integers


def _noise(scale, most):
    """Return the discrete Laplace law on -most..most."""
    weights = np.exp(-np.abs(np.arange(-most, most + 1)) / scale)
    return (1 - math.exp(-1 / scale)) / (1 + math.exp(-1 / scale)) * weights


def _cost(sums):
    return sum(abs(each - sorted(sums)[len(sums) // 2]) for each in sums)


def _law(sums, noise, each, width=None, start=0):
    """Return for every partition the law of its noisy cost, as {begins: (least cost, probabilities)}.

    Buckets are runs of powers of two; of a run and its halves the cheaper is kept, the run if equal.
    """
    size, most = len(sums), len(noise) // 2
    width = width or 1 << (size - 1).bit_length()
    part = sums[start : start + width]
    if width == 1:
        return {(start,): (each - most, noise)}
    if len(part) <= width // 2:
        return _law(sums, noise, each, width // 2, start)
    left = _law(sums, noise, each, width // 2, start)
    right = _law(sums, noise, each, width // 2, start + width // 2)
    low = each + _cost(part) - most  # of the run as one bucket
    found, whole = {}, np.zeros(len(noise))
    for one, two in itertools.product(left, right):
        begin, both = left[one][0] + right[two][0], np.convolve(left[one][1], right[two][1])
        place = begin + np.arange(len(both))
        dearer = np.append(np.cumsum(noise[::-1])[::-1], 0.0)  # the run costs more than the halves
        found[one + two] = (begin, both * dearer[np.clip(place - low + 1, 0, len(noise))])
        kept = np.append(np.cumsum(both[::-1])[::-1], 0.0)  # the halves cost as much as the run, or more
        whole += noise * kept[np.clip(low + np.arange(len(noise)) - begin, 0, len(both))]
    found[(start,)] = (low, whole)
    return found


def _odds(sums, noise, each):
    return {begins: float(law.sum()) for begins, (_, law) in _law(sums, noise, each).items()}


def _drawn(sums, noise, each, monkeypatch):
    """Return the odds of each partition by running `partition` on every combination of noise."""
    most = len(noise) // 2
    draws, widths, width = len(sums), [], 2
    while width // 2 < len(sums):
        widths.append(-(-len(sums) // width))
        width *= 2
    found = {}
    for values in itertools.product(range(-most, most + 1), repeat=draws + sum(widths)):
        rest = iter(values)
        monkeypatch.setattr(
            module,
            "discrete_laplace",
            lambda _, size, rest=rest: np.array(list(itertools.islice(rest, size)), dtype=np.int64),
        )
        begins = tuple(partition(np.array(sums), Fraction(1), each).tolist())
        odds = math.prod(float(noise[value + most]) for value in values)
        found[begins] = found.get(begins, 0.0) + odds
    return found


@pytest.mark.parametrize("sums", [(3, 1), (0, 2, 2), (5, 4, 0)])
def test_the_law_is_that_of_the_code(sums, monkeypatch):
    """Convolutions give the odds that running the code on every noise gives, ties and short runs too."""
    noise = _noise(1.0, 1)

    slow = _drawn(sums, noise, 1, monkeypatch)
    # a last run of one half alone draws noise that nothing uses
    unused = float(noise.sum()) if len(sums) == 3 else 1.0

    fast = _odds(sums, noise, 1)
    assert set(slow) <= set(fast)
    for begins, odds in fast.items():
        assert slow.get(begins, 0.0) == pytest.approx(odds * unused)


def test_partition_loss_by_enumeration():
    """Over all neighbouring sums the odds of every partition change by at most exp(2 D / scale).

    Noise is cut at 80 scales; what lies beyond is below 10^-30.
    """
    scale = 2.0
    noise = _noise(scale, 160)
    closest = 0.0
    starts = [(0, 0, 0), (4, 1, 1), (5, 5, 2, 2), (0, 3, 0, 3), (9, 0, 0, 0), (2, 2, 2, 2)]
    for sums in starts:
        odds = _odds(sums, noise, 3)
        assert sum(odds.values()) == pytest.approx(1)
        for change in itertools.product((-2, -1, 0, 1, 2), repeat=len(sums)):
            moved = sum(map(abs, change))
            if not 0 < moved <= 3:
                continue
            others = _odds(tuple(a + b for a, b in zip(sums, change, strict=True)), noise, 3)
            for begins, one in odds.items():
                loss = abs(math.log(one / others[begins]))
                assert loss <= 2 * moved / scale + 1e-9
                closest = max(closest, loss * scale / (2 * moved))

    assert closest > 0.3


@pytest.mark.parametrize("size", range(1, 12))
def test_spread_is_the_distance_from_the_median(size):
    """Of every run, a shorter last one too."""
    sums = np.random.default_rng(size).integers(0, 20, size)

    for width in (2, 4, 8):
        runs = [sums[start : start + width] for start in range(0, size, width)]
        assert median_distances(sums, width).tolist() == [int(_cost(run.tolist())) for run in runs]


def test_without_noise_the_cheapest_partition_is_found(monkeypatch):
    """Level runs are merged, steps are kept; no sums, no buckets."""
    monkeypatch.setattr(module, "discrete_laplace", lambda _, size: np.zeros(size, dtype=np.int64))

    assert partition(np.array([5, 5, 5, 5, 90, 90, 0, 0]), Fraction(1), 1).tolist() == [0, 4, 6]
    assert partition(np.array([7] * 13), Fraction(1), 1).tolist() == [0]
    assert partition(np.array([0, 9, 0]), Fraction(1), 1).tolist() == [0, 1, 2]
    assert partition(np.array([], dtype=np.int64), Fraction(1), 1).tolist() == []


def test_values_are_totals_of_buckets(line_of, monkeypatch):
    """A bucket's total stands at its beginning, the rest continues, exact totals follow."""
    lined = line_of(9, 1)
    dawa = Dawa(lined.asked, lined.line, Fraction(1))
    exact = dawa.apply(np.array([3, 0, 0, 0, 0, 0, 0, 40, 1]))
    monkeypatch.setattr(module, "discrete_laplace", lambda _, size: np.zeros(size, dtype=np.int64))

    values = draw_buckets(dawa, exact)

    begins = np.flatnonzero(values[:-1] != CONTINUES)
    assert values[begins].tolist() == np.add.reduceat(exact[:-1], begins).tolist()
    assert values[-1] == exact[-1] == 44
    assert 1 < len(begins) < 8


def test_noise_is_drawn_for_each_line(line_of):
    """Two groups choose their buckets apart, with exactly replayable noise."""
    from pandas_blowfish.policy.domain import Domain, integers

    policy = bf.Policy(Domain((integers("g", 0, 1), integers("x", 0, 7))), secrets={"g": bf.public()})
    plan = policy.plan.groupby("g").cumhist("x", epsilon=5, strategy="dawa")
    exact = plan.measurement.apply(np.array([0] * 8 + [0, 90, 0, 80, 0, 70, 0, 60]))

    with bf.testing.replay(1):
        first = draw_buckets(plan.measurement, exact)
    with bf.testing.replay(1):
        again = draw_buckets(plan.measurement, exact)

    rows = len(plan.measurement.rows)
    assert first.tolist() == again.tolist()
    assert (first[:rows] != CONTINUES).sum() < (first[rows : 2 * rows] != CONTINUES).sum()


def test_scales_whose_costs_leave_64_bits_are_refused():
    """The cheapest partition must be found in whole numbers that do not wrap."""
    policy = bf.Policy(Domain((integers("x", 0, 9_999),)), secrets={"x": bf.threshold(1)})

    check_buckets(policy.plan.cumhist("x", epsilon="1e-6", strategy="dawa").measurement)
    with pytest.raises(ScaleError):
        check_buckets(policy.plan.cumhist("x", epsilon="1e-12", strategy="dawa").measurement)
