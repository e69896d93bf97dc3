"""Output laws and plans of certified counts, against the definition of the promise."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from oracle.certified_law import law
from scipy.stats import binom

from pandas_blowfish.beyond.certified import (
    Split,
    _exact_error,
    best_split,
    certify,
    chance_of_exact,
    expected_error,
    exponent,
)
from pandas_blowfish.beyond.interval import hedging, histogram, single_prior
from pandas_blowfish.errors import ArgumentError, BlowfishError
from pandas_blowfish.plan.scales import variance

RATIOS = [Fraction(1, 20), Fraction(1, 4), Fraction(1, 2), Fraction(2, 3), Fraction(19, 20)]


def below(a: Fraction) -> Fraction:
    """Return a rational epsilon just under -ln a, so that exp(-epsilon) may stand for a."""
    return Fraction(math.floor(-math.log(a) * 10**9) - 1, 10**9)


def binomial(n, q):
    """Return the exact probabilities of 0..n."""
    return [math.comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(n + 1)]


def mixed(weights, laws):
    """Return a mixture of output laws."""
    total = {}
    for weight, one in zip(weights, laws, strict=True):
        for output, p in one.items():
            total[output] = total.get(output, 0) + weight * p
    return total


def ratio(first, second):
    """Return the largest ratio of two laws either way; infinite where one cannot happen."""
    worst = 1
    for output in first.keys() | second.keys():
        p, q = first.get(output, 0), second.get(output, 0)
        if (p == 0) != (q == 0):
            return math.inf
        if p:
            worst = max(worst, p / q, q / p)
    return worst


def worlds(n, low, high, a, priors):
    """Return the answers' laws when a row is in the cell, is not, and is drawn, under a mixture of shares."""
    laws = [law(k, low, high, a, min(-1, low), max(n + 1, high)) for k in range(n + 1)]
    others = [sum(w * binomial(n - 1, q)[k] for w, q in priors) for k in range(n)]
    drawn = [sum(w * binomial(n, q)[k] for w, q in priors) for k in range(n + 1)]
    return mixed(others, laws[1:]), mixed(others, laws[:-1]), mixed(drawn, laws)


def worst(three):
    """Return the largest ratio between any two of three worlds."""
    one, two, three = three
    return max(ratio(one, two), ratio(one, three), ratio(two, three))


@pytest.mark.parametrize("a", RATIOS)
def test_law_adds_up_to_one(a):
    """Exactly, for every place of the count about its interval; the true count's share is the leftover."""
    for k, low, high in product(range(7), range(1, 7), range(1, 7)):
        told = law(k, low, high, a, -2, 9)

        assert sum(told.values()) == 1
        assert all(p > 0 for p in told.values())
        assert (("true", k) in told) == (low <= k <= high)


def test_law_needs_tails_beyond_the_interval():
    """Tails are plain noise: one that would cut the interval is refused."""
    with pytest.raises(ArgumentError, match="tails"):
        law(5, 3, 8, Fraction(1, 2), 4, 10)
    with pytest.raises(ArgumentError, match="tails"):
        law(5, 3, 8, Fraction(1, 2), 0, 7)


@pytest.mark.parametrize("a", RATIOS)
def test_drawing_and_keeping_gives_the_law(a):
    """A geometric draw, kept with a^exponent, has exactly the law, written as the paper writes it."""
    for k, low, high in product(range(6), range(1, 6), range(0, 6)):
        told = law(k, low, high, a, -3, 9)
        true = Fraction(0)
        for r in range(-3, 10):
            drawn = (1 - a) / (1 + a) * a ** abs(r - k)
            power = exponent(r, k, low, high)
            kept = drawn if power is None else drawn * a**power
            true += drawn - kept

            inside = low <= k <= high and low <= r <= high
            m = min(abs(r - low) + abs(low - k), abs(r - high) + abs(high - k))
            assert kept == told["noisy", r] == (1 - a) / (1 + a) * a ** (2 + m if inside else abs(r - k))
            assert power is None or power >= 2
        assert true == told.get(("true", k), 0)


@pytest.mark.parametrize("a", RATIOS)
def test_noisy_answers_change_by_one_rate(a):
    """Between k and k + 1 no noisy answer changes by more than 1 / a, inside, outside and across an end."""
    for k, low, high in product(range(7), range(1, 7), range(0, 7)):
        one, two = (law(j, low, high, a, -2, 9) for j in (k, k + 1))
        for output in one.keys() & two.keys():
            assert a <= one[output] / two[output] <= 1 / a


@pytest.mark.parametrize("a", RATIOS)
@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_single_prior_holds_exactly(n, a):
    """All answers, all pairs of worlds, in fractions: at most 1 / a; one count more and it is exceeded."""
    told, exceeded = 0, 0
    for q in {Fraction(i, 12) for i in range(1, 12)} | {Fraction(1, n), Fraction(1, 1000)}:
        low, high = single_prior(q, n, below(a))
        told += low <= high
        assert worst(worlds(n, low, high, a, [(1, q)])) <= 1 / a
        if low <= high < n - 1:
            more = worst(worlds(n, low, high + 1, a, [(1, q)]))
            exceeded += more > 1 / a
            assert more >= 1 / a
    assert told
    assert exceeded or n < 8 or a < Fraction(1, 10)


def many_shares(q, epsilon):
    """Return shares an attacker may believe in: all over (0, 1), its ends, and close to the critical ones."""
    logits = np.concatenate([np.linspace(-30, 30, 301), [math.log(q / (1 - q)) + s for s in
        np.linspace(-1.2, 1.2, 201) * float(epsilon)]])  # fmt: skip
    return np.concatenate([[1e-300, 1 - 1e-15], 1 / (1 + np.exp(-logits))])


def hedged_losses(q, n, alpha, ks, shares):
    """Return the largest log ratio between the three worlds of "the count is k", over k and shares."""
    k, f = ks[:, None], shares[None, :]
    rest = np.log1p(-f)
    binomials = [
        (np.log(k) - math.log(n), (k - 1) * np.log(f) + (n - k) * rest, (k - 1, n - k)),
        (np.log(n - k) - math.log(n), k * np.log(f) + (n - 1 - k) * rest, (k, n - 1 - k)),
        (0 * np.log(k), k * np.log(f) + (n - k) * rest, (k, n - k)),
    ]  # each with C(n, k) taken out
    logs = [
        choose
        + np.logaddexp(math.log1p(-alpha) + other, math.log(alpha) + i * math.log(q) + j * math.log1p(-q))
        for choose, other, (i, j) in binomials
    ]
    return max(np.max(np.abs(logs[x] - logs[y])) for x, y in ((0, 1), (0, 2), (1, 2)))


@pytest.mark.parametrize(
    ("q", "n", "epsilon", "alpha"),
    [
        ("1/10", 10**4, "1/2", "1/1000"),
        ("1/10", 10**5, "1/2", "1/1000"),
        ("1/2", 1000, "1", "1/100"),
        ("1/2", 2000, "1/2", "1/10"),
        ("3/100", 3000, "2", "1/1000"),
        ("9/10", 300, "3", "1/4"),
        ("1/2", 40, "3", "1/3"),
        ("1/5", 30, "6", "9/10"),
        ("1/2", 12, "6", "1/50"),
    ],
)
def test_hedging_holds_for_every_other_mind(q, n, epsilon, alpha):
    """Told counts lose at most epsilon whatever else is believed; if all were told they would lose more."""
    q, epsilon, alpha = Fraction(q), Fraction(epsilon), Fraction(alpha)
    low, high = hedging(q, n, epsilon, alpha)
    assert low <= high
    shares = many_shares(float(q), epsilon)
    ks = np.unique(np.linspace(low, high, 200).astype(int)).astype(float)

    loss = hedged_losses(float(q), n, float(alpha), ks, shares)

    assert loss <= float(epsilon) * (1 + 1e-9)
    wider = np.array([1.0, n - 1.0])
    print(float(q), n, float(epsilon), float(alpha), (low, high), "loss / epsilon:", loss / float(epsilon))
    assert hedged_losses(float(q), n, float(alpha), wider, shares) > float(epsilon)


@pytest.mark.parametrize(
    ("q", "n", "a", "alpha"),
    [("1/2", 9, "1/400", "1/5"), ("1/2", 12, "1/50", "1/2"), ("1/4", 12, "1/60", "4/5")],
)
def test_hedging_holds_exactly(q, n, a, alpha):
    """The same for all answers, noisy ones too, in fractions."""
    q, a, alpha = Fraction(q), Fraction(a), Fraction(alpha)
    low, high = hedging(q, n, below(a), alpha)
    assert low <= high
    for other in [Fraction(i, 14) for i in range(15)] + [Fraction(1, 10**9), 1 - Fraction(1, 10**9)]:
        assert worst(worlds(n, low, high, a, [(alpha, q), (1 - alpha, other)])) <= 1 / a


def tables(n, cells):
    """Yield every histogram of n rows."""
    if cells == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in tables(n - first, cells - 1):
            yield (first, *rest)


def histogram_worlds(n, prior, intervals, a):
    """Return the joint answers' laws for every value of a row and for one drawn, as arrays over answers."""
    first, last = -1, n + 1
    arrays = []
    for low, high in intervals:
        low, high = (low, high) if low <= high else (1, 0)
        laws = [law(k, low, high, a, first, last) for k in range(n + 1)]
        outputs = sorted(set().union(*laws))
        arrays.append(np.array([[one.get(output, a * 0) for output in outputs] for one in laws]))
    chances = {}
    for table in tables(n, len(prior)):
        chance = math.factorial(n) * math.prod(q**k for q, k in zip(prior, table, strict=True))
        chances[table] = chance / math.prod(math.factorial(k) for k in table)
    found = []
    for known in [*range(len(prior)), None]:
        total = 0
        for table, chance in chances.items():
            weight = chance if known is None else chance * table[known] / (n * prior[known])
            if weight:
                one = weight
                for array, k in zip(arrays, table, strict=True):
                    one = np.multiply.outer(one, array[k])
                total = total + one
        found.append(total)
    return found


def largest(found):
    """Return the largest ratio between any two of several laws; infinite where one cannot happen."""
    worst = 0
    for one in found:
        for two in found:
            if np.any((one > 0) & (two == 0)):
                return math.inf
            both = two > 0
            worst = max(worst, np.max(one[both] / two[both]))
    return worst


PRIORS = ["1/3 1/3 1/3", "1/4 1/4 1/2", "1/5 2/5 2/5", "1/10 3/10 3/5", "1/20 1/20 9/10"]


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("told", ["1/2", "2", "6"])
def test_histograms_hold_for_the_prior(prior, told):
    """All joint answers about three cells, between any two values of a row: at most 2 cell + told."""
    prior, told = [Fraction(q) for q in prior.split()], Fraction(told)
    some = 0
    for n in (3, 4, 6, 8):
        intervals = histogram(prior, n, told)
        some += any(low <= high for low, high in intervals)
        for cell in (0.05, 0.5, 2.0):
            found = histogram_worlds(n, [float(q) for q in prior], intervals, math.exp(-cell))

            assert largest(found) <= math.exp(2 * cell + float(told)) * (1 + 1e-9)
    assert some or told == Fraction(1, 2) or min(prior) < Fraction(1, 5)


def test_histograms_hold_exactly():
    """The same in fractions."""
    prior = [Fraction(1, 3)] * 3
    for n, a, told in ((3, Fraction(3, 4), Fraction(1, 8)), (4, Fraction(1, 2), Fraction(1, 50))):
        intervals = histogram(prior, n, below(told))
        assert all(low <= high for low, high in intervals)

        assert largest(histogram_worlds(n, prior, intervals, a)) <= 1 / (a * a * told)


def test_histograms_as_printed_fail():
    """With every cell's own interval, counts that add up to n give the rest away: an infinite loss."""
    prior, epsilon = [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)], Fraction(2)

    printed = [single_prior(q, 4, epsilon) for q in prior]

    assert largest(histogram_worlds(4, [float(q) for q in prior], printed, math.exp(-2))) == math.inf
    fixed = histogram(prior, 4, epsilon)
    assert all(low <= high for low, high in fixed)
    assert largest(histogram_worlds(4, [float(q) for q in prior], fixed, math.exp(-2))) <= math.exp(6)


def test_wider_histograms_fail():
    """With eta = c (1 - a), enough when a row is drawn or known, two known values differ by too much."""
    n, cell, told, prior = 12, 0.01, 0.7, [1 / 3] * 3
    eta = (1 - math.exp(-told)) / 2
    wide = [(math.ceil(4 * (1 - eta)), math.floor(4 * (1 + eta)))] * 3

    found = histogram_worlds(n, prior, wide, math.exp(-cell))

    assert largest(found) > math.exp(2 * cell + told) * 1.2
    assert all(largest([one, found[-1]]) < math.exp(2 * cell + told) for one in found)
    sound = histogram([Fraction(1, 3)] * 3, n, Fraction(7, 10))
    assert largest(histogram_worlds(n, prior, sound, math.exp(-cell))) <= math.exp(2 * cell + told)


@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(1), Fraction(5)])
def test_expected_error_is_exact_on_short_intervals(rate):
    """Against the law, summed over all answers and counts."""
    n, a = 30, math.exp(-rate)
    for q, low, high in ((0.3, 6, 12), (0.5, 14, 14), (0.1, 1, 29), (0.9, 3, 2)):
        slow = 0.0
        for k in range(n + 1):
            told = law(k, low, high, a, -400, 400)
            noise = sum(p * (r - k) ** 2 for (what, r), p in told.items() if what == "noisy")
            slow += binom.pmf(k, n, q) * noise

        fast = expected_error(np.array([q]), n, np.array([low]), np.array([high]), rate)

        assert fast == pytest.approx(slow, rel=1e-9)


@pytest.mark.parametrize(
    ("q", "n", "low", "high"),
    [(0.1, 10**5, 9_900, 10_050), (0.2, 20_000, 3900, 10_000), (0.4, 10**6, 1, 400_100)],
)
def test_expected_error_is_close_on_long_intervals(q, n, low, high):
    """Blocks against a sum over every count."""
    rate = Fraction(1, 4)
    k = np.arange(n + 1)
    inside = (low <= k) & (k <= high)
    each = np.where(inside, _exact_error(abs(k - low), abs(high - k), 0.25), variance(1 / rate))
    slow = float(np.sum(binom.pmf(k, n, q) * each))

    fast = expected_error(np.array([q]), n, np.array([low]), np.array([high]), rate)

    assert fast == pytest.approx(slow, rel=0.02)


def test_certain_matches_the_law():
    """The probability of a true count, inside and outside."""
    rate = Fraction(2, 3)
    a = Fraction(math.exp(-rate))
    for k in range(12):
        assert chance_of_exact(k, 3, 8, rate) == pytest.approx(
            float(law(k, 3, 8, a, -1, 12).get(("true", k), 0))
        )


@pytest.mark.parametrize("kind", ["single_prior", "hedging"])
@pytest.mark.parametrize("prior", ["1/3 2/3", "1/2 1/2", *PRIORS])
@pytest.mark.parametrize("epsilon", ["1", "8"])
def test_plans_lose_at_most_epsilon(kind, prior, epsilon):
    """What `certify` plans, measured cell by cell, for the prior itself."""
    prior = prior.split()
    for n in (2, 5, 8):
        plan = certify(kind, prior, n, epsilon, None if kind == "single_prior" else "1/3")
        shares, rate = [float(q) for q in plan.prior], math.exp(-plan.rate)
        pairs = list(zip(*(end.tolist() for end in plan.intervals), strict=True))
        if len(shares) == 2:
            found = worlds(n, *pairs[0], rate, [(1, shares[0])])
            assert worst(found) <= math.exp(plan.epsilon) * (1 + 1e-9)
        else:
            found = histogram_worlds(n, shares, pairs, rate)
            assert largest(found) <= math.exp(plan.epsilon) * (1 + 1e-9)


def test_two_cells_measure_one():
    """The other is n less it, so both have its error; arrays are read only."""
    plan = certify("hedging", ["0.1", "0.9"], 10**5, "0.5", "0.001")

    assert plan.measured == 1
    assert plan.rate == Fraction(1, 2)
    assert [end.tolist() for end in plan.intervals] == [[8981], [11169]]
    assert plan.variances.tolist() == pytest.approx([0, 0], abs=1e-9)
    assert not plan.intervals[0].flags.writeable
    assert plan == certify("hedging", ["1/10", "9/10"], 10**5, 0.5, 0.001)
    assert hash(plan) == hash(certify("hedging", ["1/10", "9/10"], 10**5, 0.5, 0.001))


def test_three_cells_under_hedging_are_never_told():
    """Empty intervals, and half of epsilon a cell."""
    plan = certify("hedging", ["1/3"] * 3, 10**9, 1, "1/3")

    assert plan.measured == 3
    assert (plan.intervals[0] > plan.intervals[1]).all()
    assert plan.rate == Fraction(1, 2)
    assert plan.variances == pytest.approx([variance(Fraction(2))] * 3)


def test_splits_add_up_and_look_at_no_data():
    """2 cell + told = epsilon; few rows tell nothing, many rows nearly everything."""
    for n in (0, 10, 10**4, 10**9):
        split = best_split([Fraction(1, 4)] * 4, n, Fraction(1, 3))
        assert 2 * split.cell + split.exact == Fraction(1, 3)
    assert best_split([Fraction(1, 4)] * 4, 10, Fraction(1)) == Split(Fraction(1, 2), Fraction(0))
    plan = certify("single_prior", ["1/4"] * 4, 10**7, 1)
    assert plan.rate < Fraction(1, 2)
    assert (plan.variances < 0.01).all()


def test_guarantees_say_what_is_not_promised():
    """Two plain sentences; a plan adds that it is one per dataset."""
    one = certify("single_prior", ["1/2", "1/2"], 100, 1).guarantee
    two = certify("hedging", ["1/2", "1/2"], 100, 1, "0.01").guarantee

    for promise, limits in (one, two):
        assert "exp(1)" in promise
        assert "weaker than a Blowfish policy" in limits
    assert "1/100" in two[0]


@pytest.mark.parametrize(
    ("kind", "prior", "n", "epsilon", "alpha"),
    [
        ("other", ["1/2", "1/2"], 10, 1, None),
        ("single_prior", ["1/2", "1/3"], 10, 1, None),
        ("single_prior", ["1"], 10, 1, None),
        ("single_prior", ["0", "1"], 10, 1, None),
        ("single_prior", ["3/2", "-1/2"], 10, 1, None),
        ("single_prior", ["1/2", "1/2"], -1, 1, None),
        ("single_prior", ["1/2", "1/2"], 2.5, 1, None),
        ("single_prior", ["1/2", "1/2"], True, 1, None),
        ("single_prior", ["1/2", "1/2"], 10, 0, None),
        ("single_prior", ["1/2", "1/2"], 10, 1, "1/2"),
        ("hedging", ["1/2", "1/2"], 10, 1, None),
        ("hedging", ["1/2", "1/2"], 10, 1, 0),
        ("hedging", ["1/2", "1/2"], 10, 1, 1),
    ],
)
def test_wrong_arguments_are_refused(kind, prior, n, epsilon, alpha):
    """Typed errors."""
    with pytest.raises(BlowfishError):
        certify(kind, prior, n, epsilon, alpha)


def test_hedging_says_what_was_proved():
    """The other rows are mixed whatever this one is; who learns the shares from this row is not covered.

    The same count, told exactly to somebody for whom the row belongs to the mixture, changes odds far more.
    """
    plan = certify("hedging", ["1/2", "1/2"], 3000, 1, "0.01")
    low, high = (int(end[0]) for end in plan.intervals)
    assert low <= 1500 <= high

    def of(k, n, q):
        return float(binom.logpmf(k, n, q))

    alpha, far = 0.01, 0.01
    fixed = [
        alpha * math.exp(of(1500 - row, 2999, 0.5)) + (1 - alpha) * math.exp(of(1500 - row, 2999, far))
        for row in (1, 0)
    ]
    assert abs(math.log(fixed[0] / fixed[1])) <= 1
    joint = [alpha * 0.5, (1 - alpha) * far], [alpha * 0.5, (1 - alpha) * (1 - far)]
    mixed = [
        sum(w * math.exp(of(1500 - row, 2999, q)) for w, q in zip(weights, (0.5, far), strict=True))
        / sum(weights)
        for row, weights in zip((1, 0), joint, strict=True)
    ]
    assert abs(math.log(mixed[0] / mixed[1])) > 3
    assert "whatever this one is" in plan.guarantee[0]
    assert "makes other shares likelier" in plan.guarantee[1]
