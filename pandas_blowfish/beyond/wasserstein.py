"""The Wasserstein mechanism: noise for a whole number when records are tied to each other; never sees rows.

Under each prior the answer has a law given either statement of a pair. The noise is as wide as the farthest
that mass must move to turn the one law into the other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from pandas_blowfish.beyond.verdict import Case, Law
from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, DomainTooLargeError
from pandas_blowfish.exact.enclosure import exp_negative
from pandas_blowfish.exact.number import exact
from pandas_blowfish.markup import amount, card, facts_table, one_line, text_facts
from pandas_blowfish.plan.scales import variance

OUTPUTS = 300  # of a law in fractions, whose digits grow with the distance
_BITS = 32  # of the noise's quotient in a law in fractions


class Farthest(NamedTuple):
    """Where mass moves farthest: a prior, a pair of statements, and an answer given either of the two."""

    prior: Any
    secret: Any
    answers: tuple[int, int]


@dataclass(frozen=True, repr=False)
class Wasserstein:
    """How much noise an answer needs under a scenario.

    Attributes:
        distance: The farthest that mass moves between the two laws of the answer, over all priors and pairs.
        scale: That of discrete Laplace noise, P(z) proportional to exp(-|z| / scale): distance / epsilon.
        epsilon: What the release costs.
        witness: Where the distance is attained.
        answers: The answer of every database.
    """

    distance: Fraction
    scale: Fraction
    epsilon: Fraction
    witness: Farthest
    answers: Mapping[Any, int]
    kind: ClassVar[str] = "wasserstein"
    proof_id: ClassVar[str] = "wasserstein"
    proviso: ClassVar[str] = ""  # of the expected error: it is known

    @property
    def mse(self) -> float:
        """Return the expected squared error of a released answer."""
        return variance(self.scale)

    @property
    def std(self) -> float:
        """Return the standard error of a released answer."""
        return math.sqrt(self.mse)

    @property
    def guarantee(self) -> tuple[str, str]:
        """Return what is promised, and what is not, in one sentence each."""
        return (
            f"The answer changes the odds between the two statements of each stated pair by at most "
            f"exp({self.epsilon}), for anyone who believes one of the stated priors.",
            "This is weaker than a Blowfish policy where a prior is left out: nothing is promised against "
            "it, nor where the table is none of those that are listed.",
        )

    def notes(self, index: object) -> dict[str, str]:
        """Return what an analyst reads about the noise; the answers' labels do not matter."""
        del index
        return {"distance": f"{self.distance}: how far answers lie apart between two statements"}

    def law(self, database: Any, low: int | None = None, high: int | None = None) -> Mapping[Any, Fraction]:
        """Return the output probabilities of a database in fractions, for `Scenario.check`.

        What falls to `low` or below is one output, "<= low", and to `high` or above another; by default these
        are the least and the largest answer of all databases. The quotient of the noise is exp(-1 / scale)
        rounded up to 32 bits, so the noise is a trifle wider than that of the mechanism.

        Proof note:
            Requires: scale > 0; else the answer is the only output.
            Ensures:  the probabilities of discrete Laplace noise of quotient a >= exp(-1 / scale) around the
                      answer, which sum to 1; with default ends the worst ratio is that of all outputs.
            Because:  P(z <= t) = a^-t / (1 + a) for t <= 0, and noise is symmetric. Below all answers an
                      output r has probability proportional to a^-r under every law, so the ratios of all
                      such outputs, and of their sum, are the same; above all answers likewise.
            Checked:  tests/beyond/test_wasserstein.py::test_law_is_that_of_the_noise,
                      tests/beyond/test_wasserstein.py::test_ends_lose_nothing
        """
        if database not in self.answers:
            raise ArgumentError("database", f"{one_line(repr(database), 80)} is not of the scenario")
        centre = self.answers[database]
        if not self.scale:
            return {centre: Fraction(1)}
        low, high = (self._ends[0] if low is None else low), (self._ends[1] if high is None else high)
        if low >= high:
            raise ArgumentError("low", f"{low} is not below {high}")
        if high - low >= OUTPUTS:
            fix = "give low and high closer together; what lies beyond is folded into two outputs."
            raise DomainTooLargeError("the law in fractions", high - low + 1, OUTPUTS, fix=fix)
        return noisy(centre, quotient_above(1 / self.scale), low, high)

    @cached_property
    def _ends(self) -> tuple[int, int]:
        return min(self.answers.values()), max(self.answers.values())

    def __repr__(self) -> str:
        return text_facts(self._facts(), "Wasserstein mechanism")

    def _repr_html_(self) -> str:
        return card("Wasserstein mechanism", facts_table(self._facts()))

    def _facts(self) -> dict[str, object]:
        one, two = self.witness.answers
        facts: dict[str, object] = {
            "distance": amount(self.distance),
            "under prior": self.witness.prior,
            "between": f"{one_line(self.witness.secret)}: answer {one} against {two}",
            "epsilon": amount(self.epsilon),
            "noise": f"discrete Laplace of scale {amount(self.scale)}, standard error {self.std:.4g}",
        }
        if not self.scale:
            facts["noise"] = "none: under every prior the answer has the same law given either statement"
        return facts


def wasserstein(
    databases: Sequence[Any], laws: Sequence[Law], cases: Sequence[Case], answer: Any, epsilon: Fraction
) -> Wasserstein:
    """Return the noise with which an answer keeps a scenario's promise.

    Proof note:
        Requires: whole answers, so that answer + noise is a whole number; noise that is drawn exactly.
        Ensures:  releasing answer + discrete Laplace(distance / epsilon) changes no odds between the two
                  statements of a pair, under any prior of the scenario, by more than exp(epsilon).
        Because:  the two laws of the answer have a coupling of pairs (x, y) with |x - y| <= distance, and for
                  each such pair P(noise = r - x) <= exp(|x - y| / scale) P(noise = r - y); sum over the
                  coupling. If the distance is 0 the two laws are the same, and so are the outputs'.
        Checked:  tests/beyond/test_wasserstein.py::test_mechanism_passes_the_check,
                  tests/beyond/test_wasserstein.py::test_less_noise_fails_where_it_is_tight
    """
    found = {database: _whole(answer, database) for database in databases}
    listed = list(found.values())
    shown = [_answers(law, listed) for law in laws]
    distance, witness = -1, Farthest(None, None, (0, 0))
    seen: set[tuple[int, int]] = set()
    for case in cases:
        if (case.first, case.second) not in seen:
            seen.add((case.first, case.second))
            one, two = farthest_quantiles(shown[case.first], shown[case.second])
            if abs(one - two) > distance:
                distance, witness = abs(one - two), Farthest(case.prior, case.secret, (one, two))
    width = Fraction(distance)
    return Wasserstein(width, width / epsilon, epsilon, witness, MappingProxyType(found))


@lru_cache(maxsize=64)
def quotient_above(rate: Fraction) -> Fraction:
    """Return exp(-rate) rounded up to a fraction below 1 of about 32 bits, for any rate > 0.

    Examples:
        >>> round(float(quotient_above(Fraction(1))), 9)
        0.367879441
    """
    bits = _BITS
    while True:
        _, upper = exp_negative(rate, bits)
        if min(upper, (1 << bits) - upper) >> (_BITS - 2):
            return Fraction(upper, 1 << bits)
        bits += _BITS


@lru_cache(maxsize=1_024)
def noisy(centre: int, quotient: Fraction, low: int, high: int) -> Mapping[Any, Fraction]:
    """Return the law of centre + noise, P(z) proportional to quotient**|z|, its ends folded into one each.

    Examples:
        >>> dict(noisy(0, Fraction(1, 2), -1, 1))
        {'<= -1': Fraction(1, 3), 0: Fraction(1, 3), '>= 1': Fraction(1, 3)}
    """
    middle = (1 - quotient) / (1 + quotient)
    found: dict[Any, Fraction] = {f"<= {low}": _tail(low - centre, quotient)}
    found.update({output: middle * quotient ** abs(output - centre) for output in range(low + 1, high)})
    found[f">= {high}"] = _tail(centre - high, quotient)
    return MappingProxyType(found)


def _tail(end: int, quotient: Fraction) -> Fraction:
    """Return the probability of noise at most `end`."""
    if end > 0:
        return 1 - quotient ** (end + 1) / (1 + quotient)
    return quotient**-end / (1 + quotient)


def farthest_quantiles(one: Sequence[tuple[int, Any]], two: Sequence[tuple[int, Any]]) -> tuple[int, int]:
    """Return the pair of equal quantiles that are farthest apart, of two sorted laws of any sums.

    Examples:
        >>> farthest_quantiles([(0, 1), (10, 1)], [(1, 1), (12, 1)])
        (10, 12)

    Proof note:
        Requires: positive weights.
        Ensures:  the distance of the two is the least d for which the laws have a coupling with |x - y| <= d.
        Because:  on a line the coupling by quantiles moves no mass farther than any other must: if the u-th
                  quantiles are x < y, the first law has u or more at x and below, the second less than u
                  below y, so some mass moves from x or below to y or above.
        Checked:  tests/beyond/test_wasserstein.py::test_distance_equals_the_least_coupling
    """
    ahead, behind = sum(weight for _, weight in one), sum(weight for _, weight in two)
    left, right = one[0][1] * behind, two[0][1] * ahead
    i = j = 0
    worst = (one[0][0], two[0][0])
    while True:
        if abs(one[i][0] - two[j][0]) > abs(worst[0] - worst[1]):
            worst = (one[i][0], two[j][0])
        step = min(left, right)
        left, right = left - step, right - step
        i, j = i + (not left), j + (not right)
        if i == len(one) or j == len(two):
            return worst
        left, right = left or one[i][1] * behind, right or two[j][1] * ahead


def _answers(law: Law, answers: Sequence[int]) -> list[tuple[int, int]]:
    """Return the law of the answer, in whole numbers, sorted."""
    found: dict[int, int] = {}
    for place, weight in zip(law.places, law.weights, strict=True):
        found[answers[place]] = found.get(answers[place], 0) + weight
    return sorted(found.items())


def _whole(answer: Any, database: Any) -> int:
    """Return the answer of a database, a whole number."""
    if isinstance(answer, Mapping):
        if database not in answer:
            raise ArgumentError("answer", f"none for the database {one_line(repr(database), 80)}")
        value = answer[database]
    elif callable(answer):
        value = answer(database)
    else:
        allowed = "a function of a database, or a dict of database -> whole number"
        raise ArgumentTypeError("answer", f"a {type(answer).__name__} is no answer", allowed=allowed)
    number = exact(value, "answer")
    if number.denominator != 1:
        fix = "multiply the answer by what makes it whole, and divide the released number."
        raise ArgumentError("answer", "not a whole number", fix=fix)
    return int(number)
