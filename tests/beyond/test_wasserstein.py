"""The Wasserstein mechanism: its distance by all couplings, its promise by the exact checker."""

import itertools
import math
import random
from dataclasses import replace
from fractions import Fraction

import pytest

from pandas_blowfish.beyond.scenario import Scenario
from pandas_blowfish.beyond.wasserstein import farthest_quantiles, noisy, quotient_above
from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, DomainTooLargeError, EpsilonError

EXAM = Scenario(
    [(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1)], [[1, 1, 1, 1]], [(lambda d: not d[0], lambda d: d[0])]
)


def coupled(one, two, d):
    """Tell whether two laws have a coupling of distance at most d, by Strassen's condition on all subsets."""
    for size in range(1, len(one) + 1):
        for some in itertools.combinations(one, size):
            near = sum(two[y] for y in two if any(abs(x - y) <= d for x in some))
            if sum(one[x] for x in some) > near:
                return False
    return True


def law(rng, values=8):
    """Return a random law of few whole numbers."""
    found = {rng.randrange(values): Fraction(rng.randint(1, 6)) for _ in range(rng.randint(1, 5))}
    total = sum(found.values())
    return {value: weight / total for value, weight in found.items()}


def drawn(seed):
    """Return a random scenario of few databases with tied records, and an answer."""
    rng = random.Random(seed)
    databases = list(itertools.product((0, 1, 2), repeat=2))
    priors = [[rng.choice([0, 0, 1, 2, 9]) for _ in databases[1:]] + [1] for _ in range(3)] + [[1] * 9]
    secrets = [
        (lambda d, i=i, a=a: d[i] == a, lambda d, i=i, b=b: d[i] == b)
        for i in range(2)
        for a, b in itertools.combinations(range(3), 2)
    ]
    return Scenario(databases, priors, secrets), {each: rng.randint(-4, 4) for each in databases}


def distance_between(one, two):
    """Return how far apart the farthest quantiles of two laws are."""
    x, y = farthest_quantiles(sorted(one.items()), sorted(two.items()))
    return abs(x - y)


@pytest.mark.parametrize("seed", range(150))
def test_distance_equals_the_least_coupling(seed):
    """The largest gap of quantiles is the least distance at which a coupling exists."""
    rng = random.Random(seed)
    one, two = law(rng), law(rng)

    found = distance_between(one, two)

    assert found == next(d for d in range(10) if coupled(one, two, d))
    assert distance_between(two, one) == found
    assert distance_between({value: 7 * weight for value, weight in one.items()}, two) == found


@pytest.mark.parametrize("seed", range(25))
def test_scenario_takes_the_worst_case(seed):
    """The distance of a scenario is the largest over its priors and pairs, and the witness attains it."""
    scenario, answer = drawn(seed)

    found = scenario.wasserstein(answer, "1/2")

    each = []
    for case in scenario.cases:
        pair = []
        for law in (scenario.laws[case.first], scenario.laws[case.second]):
            by_answer = {}
            for place, weight in zip(law.places, law.weights, strict=True):
                value = answer[scenario.databases[place]]
                by_answer[value] = by_answer.get(value, 0) + Fraction(weight, law.total)
            pair.append(by_answer)
        each.append(next(d for d in range(20) if coupled(*pair, d)))
    assert found.distance == max(each)
    assert found.scale == 2 * found.distance
    assert abs(found.witness.answers[0] - found.witness.answers[1]) == found.distance


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize("seed", range(12))
def test_mechanism_passes_the_check(seed, epsilon):
    """The exact checker finds no odds ratio above exp(epsilon)."""
    scenario, answer = drawn(seed)

    verdict = scenario.check(scenario.wasserstein(answer, epsilon).law, epsilon)

    assert verdict.holds


def test_less_noise_fails_where_it_is_tight():
    """Where one record decides the answer, nine tenths of the noise are not enough."""
    one = Scenario.records([0, 1], 1, [[1, 1]])
    mechanism = one.wasserstein(lambda d: 5 * d[0], "1/2")

    assert mechanism.distance == 5
    assert one.check(mechanism.law, "1/2").holds
    assert one.check(mechanism.law, "0.499999").holds is False
    assert one.check(replace(mechanism, scale=mechanism.scale * 9 / 10).law, "1/2").holds is False


def test_ordered_exam_needs_all_students():
    """Records that are tied in a line need noise for all of them, though each changes the count by 1."""
    mechanism = EXAM.wasserstein(sum, 1)

    assert (mechanism.distance, mechanism.scale, mechanism.epsilon) == (3, 3, 1)
    assert mechanism.witness.answers == (0, 3)
    assert EXAM.check(mechanism.law, 1).holds
    assert not EXAM.check(replace(mechanism, scale=Fraction(1)).law, 1).holds


def test_independent_records_need_noise_for_one():
    """For independent records the distance of a count is 1, as for differential privacy."""
    made = Scenario.records([0, 1], 5, {"fair": [1, 1], "rare": ["1/100", "99/100"]})

    assert made.wasserstein(sum).distance == 1


def test_no_noise_where_the_answer_says_nothing():
    """An answer whose law is the same given either statement is released as it is."""
    made = Scenario.records([0, 1], 2, {"fair": [1, 1]})
    same = made.wasserstein(lambda d: d[0] ^ d[1])  # a fair coin, whichever either record is

    assert (same.distance, same.scale, same.std) == (0, 0, 0.0)
    assert dict(same.law((0, 1))) == {1: 1}
    assert made.check(same.law, "0.001").ratio == 1
    assert "none" in repr(same)


@pytest.mark.parametrize("scale", [Fraction(1, 50), Fraction(1, 3), Fraction(2), Fraction(1000)])
def test_law_is_that_of_the_noise(scale):
    """The rows sum to 1 and are the discrete Laplace's, to the digits that floats have."""
    a = math.exp(-1 / scale)
    mechanism = replace(EXAM.wasserstein(sum), scale=scale)

    for low, high in ((0, 3), (-4, 9), (2, 3)):
        found = mechanism.law((1, 0, 0), low, high)
        assert sum(found.values()) == 1
        assert list(found) == [f"<= {low}", *range(low + 1, high), f">= {high}"]
        for output in range(low + 1, high):
            true = (1 - a) / (1 + a) * a ** abs(output - 1)
            assert float(found[output]) == pytest.approx(true, rel=1e-6)
        below = sum((1 - a) / (1 + a) * a ** abs(r - 1) for r in range(low - 20_000, low + 1))
        assert float(found[f"<= {low}"]) == pytest.approx(below, rel=1e-6)
    assert a * (1 - 1e-15) <= quotient_above(1 / scale) <= a * (1 + 1e-7)


@pytest.mark.parametrize("rate", ["1e-30", "1/7", "1", "60", "5000"])
def test_quotient_is_rounded_up_and_below_one(rate):
    """A quotient of 1 would be no law, and one too small too little noise."""
    from pandas_blowfish.exact.enclosure import exp_negative

    found = quotient_above(Fraction(rate))
    lower, _ = exp_negative(Fraction(rate), 20_000)

    assert Fraction(lower, 2**20_000) < found < 1
    assert found - Fraction(lower, 2**20_000) < found / 2**28
    assert found - Fraction(lower, 2**20_000) < (1 - found) / 2**28


@pytest.mark.parametrize("seed", range(6))
def test_ends_lose_nothing(seed):
    """Outputs beyond all answers, listed one by one, do not change the worst ratio."""
    scenario, answer = drawn(seed)
    mechanism = scenario.wasserstein(answer)
    low, high = min(answer.values()), max(answer.values())

    short = scenario.check(mechanism.law)
    long = scenario.check(lambda database: mechanism.law(database, low - 6, high + 5))

    assert short.ratio == long.ratio


def test_noise_is_wider_for_a_larger_quotient():
    """The quotient decides, and the ends hold the rest."""
    assert dict(noisy(0, Fraction(1, 3), -2, 2)) == {
        "<= -2": Fraction(1, 12),
        -1: Fraction(1, 6),
        0: Fraction(1, 2),
        1: Fraction(1, 6),
        ">= 2": Fraction(1, 12),
    }


def test_std_is_that_of_the_noise():
    """The standard error is that of discrete Laplace noise."""
    mechanism = EXAM.wasserstein(sum, "1/2")
    a = math.exp(-1 / 6)

    assert mechanism.std == pytest.approx(math.sqrt(2 * a) / (1 - a))
    assert "standard error 8.4" in repr(mechanism)
    assert "Wasserstein" in mechanism._repr_html_()


@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        (lambda d: 0.5, ArgumentError, "whole"),
        (lambda d: "x", ArgumentError, "not a number"),
        ({(0, 0, 0): 1}, ArgumentError, "none for the database"),
        (3, ArgumentTypeError, "no answer"),
    ],
)
def test_bad_answers_are_refused(answer, error, said):
    """Answers are whole numbers, one for every database."""
    with pytest.raises(error, match=said):
        EXAM.wasserstein(answer)


def test_bad_laws_are_refused():
    """Ends in order, few enough outputs, a database of the scenario, a positive epsilon."""
    mechanism = EXAM.wasserstein(sum)

    with pytest.raises(ArgumentError, match="not below"):
        mechanism.law((0, 0, 0), 2, 2)
    with pytest.raises(DomainTooLargeError):
        mechanism.law((0, 0, 0), 0, 10_000)
    with pytest.raises(ArgumentError, match="not of the scenario"):
        mechanism.law((9,))
    with pytest.raises(EpsilonError):
        EXAM.wasserstein(sum, -1)
