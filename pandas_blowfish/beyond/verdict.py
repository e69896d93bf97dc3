"""The worst odds ratio of a mechanism's output table, found and judged exactly; never sees rows.

A table holds the probability of each output, for each database. All sums are of integers over a common
denominator, so the ratio is the true one of the table as it was read (a float means its shortest decimal).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, DomainTooLargeError
from pandas_blowfish.exact.enclosure import exp_negative, log
from pandas_blowfish.exact.number import exact
from pandas_blowfish.markup import amount, card, facts_table, one_line, text_facts

ENTRIES = 4_000_000  # of a table, equal rows taken once
STEPS = 300_000_000  # multiplications of one check: about 20 s where the numbers are short
TOLERANCE = Fraction(1, 10**9)  # how far the sum of a row of rounded numbers may be from 1
ROWS = "a DataFrame, a dict of database -> {output: probability}, or a function to such a dict"
FORWARD, BACKWARD = "first against second", "second against first"


class Law(NamedTuple):
    """Probabilities of some databases: weights / total, at these places of the scenario's list."""

    places: tuple[int, ...]
    weights: tuple[int, ...]
    total: int


class Case(NamedTuple):
    """Two laws that must stay indistinguishable: a prior given either statement of a pair, by number."""

    prior: Any
    secret: Any
    first: int
    second: int


class Witness(NamedTuple):
    """Where the ratio is: the output, its probabilities given the statement it speaks for and the other."""

    prior: Any
    secret: Any
    against: str
    output: Any
    probabilities: tuple[Fraction, Fraction]


@dataclass(frozen=True, repr=False)
class Verdict:
    """What a check found.

    Attributes:
        holds: Whether the ratio is at most exp(epsilon); None where no epsilon was given.
        ratio: The largest factor by which an output changes someone's odds between the two statements of a
            pair, over all priors; infinity where an output rules one of the two out.
        loss: Its natural logarithm, rounded up.
        epsilon: What it was compared with.
        witness: Where the ratio is attained.
        cases: How many of a prior and a pair were compared.
        skipped: How many were not: a statement has probability 0 under the prior.
        unchecked: The most that a row leaves out of 1: outputs that were not looked at.
    """

    holds: bool | None
    ratio: Fraction | float
    loss: float
    epsilon: Fraction | None
    witness: Witness
    cases: int
    skipped: int
    unchecked: Fraction

    def __repr__(self) -> str:
        return text_facts(self._facts(), "Pufferfish check")

    def _repr_html_(self) -> str:
        return card("Pufferfish check", facts_table(self._facts()))

    def _facts(self) -> dict[str, object]:
        found, facts = self.witness, dict[str, object]()
        if self.epsilon is not None:
            facts["holds"] = f"{'yes' if self.holds else 'NO'}, at epsilon {amount(self.epsilon)}"
        if self.unchecked > TOLERANCE:
            facts["not checked"] = f"outputs left out of the table, up to {amount(self.unchecked)} of a row"
        one, two = (amount(each) for each in found.probabilities)
        ratio = f"a factor {amount(self.ratio)}" if isinstance(self.ratio, Fraction) else "any factor"
        skipped = f" ({self.skipped:,} have probability 0)" if self.skipped else ""
        return facts | {
            "odds change by up to": ratio,
            "loss": self.loss,
            "under prior": found.prior,
            "between": f"{one_line(found.secret)}: {found.against}",
            "at output": f"{one_line(found.output)}, of probability {one} against {two}",
            "compared": f"{self.cases:,} of a prior and a pair{skipped}",
        }


def judge(
    databases: Sequence[Any],
    laws: Sequence[Law],
    cases: Sequence[Case],
    table: Any,
    *,
    epsilon: Fraction | None = None,
    partial: bool = False,
    skipped: int = 0,
) -> Verdict:
    """Return the worst odds ratio of a table over all cases, compared with exp(epsilon).

    Proof note:
        Requires: rows of the table are the output probabilities of the databases, complete up to TOLERANCE
                  (else `unchecked` is what is left out).
        Ensures:  ratio = max over cases, outputs and both orders of P(output | first) / P(output | second),
                  exactly (an output of probability 0 under both is none); `holds` is ratio <= exp(epsilon).
        Because:  P(output | law) = sum over databases of weight * row / total; all rows are put over one
                  denominator, so all sums are of integers, and `is_within` is exact.
        Checked:  tests/beyond/test_verdict.py::test_ratio_equals_a_plain_loop,
                  tests/beyond/test_verdict.py::test_verdict_turns_at_the_ratio
    """
    used = sorted({place for law in laws for place in law.places})
    numbers, rows, outputs = _read(databases, used, table)
    rest = max(_left(row, partial) for row in rows)
    if not outputs:
        raise ArgumentError("table", "it has no outputs")
    whole = math.lcm(*(row.whole for row in rows))
    weighed = [_weighed(law, numbers, rows, whole) for law in laws]
    steps = len(outputs) * (sum(map(len, weighed)) + 4 * len(cases))
    if steps > STEPS:
        raise DomainTooLargeError("this check", steps, STEPS, fix="give fewer priors, pairs or outputs.")
    matrix = np.zeros((len(rows), len(outputs)), dtype=object)
    for place, row in enumerate(rows):
        matrix[place, list(row.parts)] = list(row.parts.values())
    sums = [np.array(list(each.values()), dtype=object) @ matrix[list(each)] for each in weighed]
    best, where = (0, 1, 1), (cases[0], FORWARD, 0)
    for case in cases:
        ahead, behind = laws[case.first].total, laws[case.second].total
        for output, (one, two) in enumerate(zip(sums[case.first], sums[case.second], strict=True)):
            p, q = one * behind, two * ahead
            side, high, low = (FORWARD, p, q) if p >= q else (BACKWARD, q, p)
            if high and _beyond(found := (high, low, ahead * behind), best):
                best, where = found, (case, side, output)
    case, side, output = where
    pair = (case.first, case.second) if side == FORWARD else (case.second, case.first)
    chance, other = (Fraction(int(sums[law][output]), laws[law].total * whole) for law in pair)
    witness = Witness(case.prior, case.secret, side, outputs[output], (chance, other))
    ratio = chance / other if other else math.inf
    holds = None if epsilon is None else is_within(ratio, epsilon)
    return Verdict(holds, ratio, loss_above(ratio), epsilon, witness, len(cases), skipped, rest)


def is_within(ratio: Fraction | float, epsilon: Fraction) -> bool:
    """Return whether a ratio (a fraction, or infinity) is at most exp(epsilon), exactly.

    Examples:
        >>> is_within(Fraction(271, 100), Fraction(1)), is_within(Fraction(272, 100), Fraction(1))
        (True, False)

    Proof note:
        Requires: epsilon > 0.
        Ensures:  the answer to ratio <= exp(epsilon).
        Because:  exp(epsilon) > 2**epsilon settles large ones, the enclosure of exp(-epsilon) all others: the
                  exponential of a fraction other than 0 is irrational, so enough precision decides.
        Checked:  tests/beyond/test_verdict.py::test_comparison_with_an_exponential_is_exact
    """
    if not isinstance(ratio, Fraction):
        return False
    p, q = ratio.numerator, ratio.denominator
    if p <= q or epsilon >= (p // q).bit_length():
        return True
    bits = 64
    while True:
        lower, upper = exp_negative(epsilon, bits)
        if upper * p <= q << bits:
            return True
        if lower * p > q << bits:
            return False
        bits *= 2


def loss_above(ratio: Fraction | float) -> float:
    """Return the natural logarithm of a ratio of 1 or more as a float that is not below it.

    Examples:
        >>> loss_above(Fraction(1)), loss_above(Fraction(3)), loss_above(math.inf)
        (0.0, 1.0986122886681098, inf)
    """
    if not isinstance(ratio, Fraction):
        return math.inf
    if ratio <= 1:
        return 0.0
    bits = 64
    while (found := log(ratio, bits))[0] < 1 << 60:
        bits *= 2
    value = Fraction(found[1], 1 << bits)
    loss = float(value)
    return loss if loss >= value else math.nextafter(loss, math.inf)


def number_of(value: Any, argument: str) -> Fraction:
    """Return a number as its writer meant it; a fraction of any length is taken."""
    return value if type(value) is Fraction else exact(value, argument)


class _Row(NamedTuple):
    """The output probabilities of a database: parts / whole, by the number of the output."""

    database: Any
    parts: dict[int, int]
    whole: int


def _beyond(one: tuple[int, int, int], two: tuple[int, int, int]) -> bool:
    """Return whether high / low of one is the larger; where both are infinite, whether high / whole is."""
    if one[1] and two[1]:
        return one[0] * two[1] > two[0] * one[1]
    return not one[1] and (bool(two[1]) or one[0] * two[2] > two[0] * one[2])


def _weighed(law: Law, numbers: Mapping[int, int], rows: Sequence[_Row], whole: int) -> dict[int, int]:
    """Return how much a law weighs each row of integers."""
    found: dict[int, int] = {}
    for place, weight in zip(law.places, law.weights, strict=True):
        found[numbers[place]] = found.get(numbers[place], 0) + weight
    return {number: weight * (whole // rows[number].whole) for number, weight in found.items()}


def _read(
    databases: Sequence[Any], used: Sequence[int], table: Any
) -> tuple[dict[int, int], list[_Row], list[Any]]:
    """Return the number of each database's row, the rows, equal ones once, and the outputs."""
    numbers, rows = dict[int, int](), list[_Row]()
    outputs, same = dict[Any, int](), dict[Any, int]()
    given: dict[int, tuple[Any, int]] = {}  # a row given again as the same object; kept, so no id returns
    look = _lookup(table)
    for place in used:
        shown = look(databases[place])
        if id(shown) in given:
            numbers[place] = given[id(shown)][1]
            continue
        row = _row(databases[place], shown, outputs)
        numbers[place] = same.setdefault((row.whole, frozenset(row.parts.items())), len(rows))
        if numbers[place] == len(rows):
            rows.append(row)
            given[id(shown)] = (shown, numbers[place])
        if len(rows) * len(outputs) > ENTRIES:
            fix = "check fewer databases or outputs; equal rows count once."
            raise DomainTooLargeError("the output table", len(rows) * len(outputs), ENTRIES, fix=fix)
    return numbers, rows, list(outputs)


def _row(database: Any, shown: Any, outputs: dict[Any, int]) -> _Row:
    """Return a row as integers, numbering the outputs that are new."""
    if not hasattr(shown, "items"):
        raise ArgumentTypeError("table", f"a row is a {type(shown).__name__}", allowed=ROWS)
    read = [(output, *_quotient(chance)) for output, chance in shown.items()]
    if any(part < 0 for _, part, _ in read):
        raise ArgumentError("table", f"the row of {one_line(repr(database), 80)} has a probability below 0")
    whole = math.lcm(*(under for _, _, under in read))
    parts = {
        outputs.setdefault(output, len(outputs)): part * (whole // under)
        for output, part, under in read
        if part
    }
    return _Row(database, parts, whole)


def _quotient(chance: Any) -> tuple[int, int]:
    if isinstance(chance, float) and math.isfinite(chance):  # as `exact` reads it, faster
        return Decimal(float.__repr__(chance)).as_integer_ratio()
    return number_of(chance, "table").as_integer_ratio()


def _left(row: _Row, partial: bool) -> Fraction:
    """Return what a row leaves out of 1, or refuse it."""
    total = Fraction(sum(row.parts.values()), row.whole)
    named = f"the row of {one_line(repr(row.database), 80)} sums to {amount(total)}"
    if total > 1 + TOLERANCE:
        raise ArgumentError("table", f"{named}, above 1", fix="give probabilities.")
    if total < 1 - TOLERANCE and not partial:
        fix = "add the outputs that are left out, or say partial=True: then they are not checked."
        raise ArgumentError("table", f"{named}, below 1", fix=fix)
    return max(1 - total, Fraction(0))


def _lookup(table: Any) -> Callable[[Any], Any]:
    """Return a function of databases to their rows."""
    rows: Mapping[Any, Any]
    if hasattr(table, "columns") and hasattr(table, "index"):
        if not (table.columns.is_unique and table.index.is_unique):
            raise ArgumentError("table", "a database or an output is listed twice")
        columns, rows = list(table.columns), dict(zip(table.index, table.to_numpy(), strict=True))
    elif isinstance(table, Mapping):
        columns, rows = None, table
    elif callable(table):
        return table  # type: ignore[no-any-return]
    else:
        raise ArgumentTypeError("table", f"a {type(table).__name__} is no output table", allowed=ROWS)

    def look(database: Any) -> Any:
        if database not in rows:
            raise ArgumentError("table", f"no row for the database {one_line(repr(database), 80)}")
        return dict(zip(columns, rows[database], strict=True)) if columns else rows[database]

    return look
