"""What the literature says of small examples, and where it is wrong, by the exact checker."""

import itertools
import math
import random
from fractions import Fraction

import pytest

from oracle.pufferfish_examples import (
    _count,
    _hedged,
    _single_prior,
    algorithm_1,
    algorithm_2,
    algorithm_4,
    no_free_lunch,
    ordered_exam,
)
from pandas_blowfish.beyond.scenario import Scenario
from pandas_blowfish.beyond.wasserstein import quotient_above
from pandas_blowfish.errors import ArgumentError, DomainTooLargeError

CELLS = ["9/20", "9/20", "1/10"]
DENSE = ["1/1000000000", "1/10", "1/2", "9/10", "999999999/1000000000"]


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_ordered_exam_leaks_as_the_paper_says(n):
    """Example 10.5: under even chances the ratio at the last output is the mean of e^j, j = 1 .. n."""
    scenario, law = ordered_exam(n, 1)
    a = quotient_above(Fraction(1))

    verdict = scenario.check(law, 1)

    assert not verdict.holds
    assert verdict.ratio == sum(a**-j for j in range(1, n + 1)) / n
    assert verdict.witness.secret in ("student 1", f"student {n}")


def test_ordered_exam_leaks_more_for_more_students():
    """The loss grows with the number of students, and reaches n epsilon for those who are nearly sure."""
    losses = [ordered_exam(n, "1/2")[0].check(ordered_exam(n, "1/2")[1]).loss for n in range(1, 8)]

    assert losses == sorted(losses)
    for n in range(2, 5):
        scenario, law = ordered_exam(n, "1/2", chances=[DENSE[0], DENSE[-1]])
        assert 0.9999 * n / 2 < scenario.check(law).loss <= n / 2


@pytest.mark.parametrize("n", [2, 3, 4])
def test_ordered_exam_passes_with_noise_for_all(n):
    """Scale n / epsilon passes for a dense family of priors, scale 0.99 n / epsilon does not."""
    scenario, law = ordered_exam(n, "1/2", scale=2 * n, chances=DENSE)

    assert len({case.prior for case in scenario.cases}) == 5**n
    assert scenario.check(law, "1/2").holds
    assert not scenario.check(ordered_exam(n, scale=Fraction(198, 100) * n)[1], "1/2").holds
    assert scenario.wasserstein(sum, "1/2").scale == 2 * n


@pytest.mark.parametrize("seed", range(8))
def test_no_free_lunch(seed):
    """Theorem 3.1: over all priors on two tables the worst ratio is that of any two tables' rows."""
    rng = random.Random(seed)
    scenario, _ = no_free_lunch(2)
    table = {}
    for each in scenario.databases:
        weights = [rng.randint(1, 30) for _ in range(3)]
        table[each] = {output: Fraction(w, sum(weights)) for output, w in enumerate(weights)}

    ratio = scenario.check(table).ratio

    assert ratio == max(
        table[one][output] / table[two][output]
        for one, two in itertools.permutations(scenario.databases, 2)
        for output in range(3)
    )


def test_noise_for_one_record_fails_when_nothing_is_assumed():
    """It passes for independent records, and leaks n epsilon where records may be tied."""
    scenario, law = no_free_lunch(3, 1)
    alone = Scenario.records([None, 0, 1], 3, [[1, 1, 1], ["1/100", "98/100", "1/100"]])

    assert alone.check(law, 1).holds
    assert scenario.check(law, 1).holds is False
    assert scenario.check(law).loss == pytest.approx(3, rel=1e-8)
    assert scenario.check(law, 3).holds
    assert scenario.check(no_free_lunch(3, 1, scale=3)[1], 1).holds


@pytest.mark.parametrize(
    ("q", "n", "epsilon"), [("1/2", 4, 1), ("3/10", 7, "1/2"), ("1/10", 6, 2), (0.5, 9, 1)]
)
def test_algorithm_1_keeps_its_promise(q, n, epsilon):
    """One count: sometimes the true one, within epsilon."""
    scenario, law = algorithm_1(q, n, epsilon)

    assert scenario.check(law, epsilon).holds
    assert any("true" in str(output) for table in scenario.databases for output in law(table))


@pytest.mark.parametrize(("n", "epsilon"), [(3, 2), (4, 1), (5, 1)])
def test_algorithm_2_rules_a_cell_out(n, epsilon):
    """As printed: true counts that sum to n empty the other cell, whatever the noise."""
    scenario, law = algorithm_2(CELLS, n, epsilon)

    verdict = scenario.check(law, 100)

    assert verdict.holds is False
    assert verdict.ratio == math.inf
    _empties_the_rest(verdict.witness, n)


def test_algorithm_4_rules_a_cell_out():
    """Also with the interval of hedging privacy, under the one prior that is the curator's own."""
    scenario, law = algorithm_4(CELLS, 4, 6, "49/100")

    verdict = scenario.check(law, 100)

    assert verdict.holds is False
    assert verdict.ratio == math.inf
    _empties_the_rest(verdict.witness, 4)


def _empties_the_rest(witness, n):
    """See that the witness says true counts that sum to n, and that a record elsewhere is ruled out."""
    true = [int(cell.removeprefix("true ")) for cell in witness.output if str(cell).startswith("true")]
    rest = [place for place, cell in enumerate(witness.output) if not str(cell).startswith("true")]

    assert sum(true) == n
    assert witness.secret in [f"a record of cell {place}, or none" for place in rest]
    assert witness.against == "second against first"
    assert witness.probabilities[1] == 0 < witness.probabilities[0]


def test_algorithm_4_without_true_counts_is_plain_noise():
    """Where no count is called true, each cell has geometric noise, and 2 epsilon holds."""
    scenario, law = algorithm_4(CELLS, 4, 1, "1/1000")

    assert not any("true" in str(output) for table in scenario.databases for output in law(table))
    assert scenario.check(law, 2).holds


@pytest.mark.parametrize("seed", range(40))
def test_intervals_are_those_of_the_formulas(seed):
    """Exact powers give the ends that logarithms give; as printed, Algorithm 3 calls no count true."""
    rng = random.Random(seed)
    n, epsilon, q, alpha = (
        rng.randint(2, 60),
        rng.uniform(0.2, 6),
        rng.uniform(0.05, 0.95),
        rng.uniform(0.05, 0.49),
    )
    share, root = Fraction(q), quotient_above(Fraction(epsilon) / 3)
    third, a = epsilon / 3, math.exp(-epsilon)
    factor = max(1.0, (1 - alpha) / (alpha * (math.exp(third) - 1)))
    low = (-(n - 1) * math.log(1 - q + q * math.exp(-third)) + math.log(factor)) / third
    high = ((n - 1) * math.log(1 - q + q * math.exp(third)) - math.log(factor)) / third
    odds = q * math.exp(third) / (q * math.exp(third) + 1 - q)
    printed = math.ceil(((n - 1) * math.log((1 - odds) / (1 - q)) - math.log(factor)) / third)

    found = _hedged(share, n, root, Fraction(alpha))
    single = _single_prior(share, n, quotient_above(Fraction(epsilon)))

    assert found[1] == max(min(n - 1, math.floor(high)), -1)
    assert found[0] == min(1 + math.ceil(low), n + 1)
    assert printed <= 0 < 1 + math.ceil(low)
    assert single[0] == max(1, math.ceil(n * a * q / (a * q + 1 - q)))
    assert single[1] == min(n - 1, math.floor(n * q / (q + a * (1 - q))))


@pytest.mark.parametrize("k", range(8))
def test_count_law_is_a_law(k):
    """The true count has exactly the probability that is left over."""
    law = _count(k, 7, Fraction(1, 3), (2, 5))

    assert sum(law.values()) == 1
    assert all(chance > 0 for chance in law.values())
    assert (f"true {k}" in law) == (2 <= k <= 5)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: ordered_exam(0), ArgumentError),
        (lambda: ordered_exam(30, chances=DENSE), DomainTooLargeError),
        (lambda: no_free_lunch(6), DomainTooLargeError),
        (lambda: algorithm_2([0.5, 0.6], 3), ArgumentError),
        (lambda: algorithm_2([1, 0], 3), ArgumentError),
        (lambda: algorithm_4(CELLS, 4, 1, 0.7), ArgumentError),
    ],
)
def test_bad_examples_are_refused(make, error):
    """Sizes and shares that do not fit."""
    with pytest.raises(error):
        make()
