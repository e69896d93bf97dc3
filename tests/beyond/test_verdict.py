"""The checker against plain loops over everything, and its verdict against high precision."""

import itertools
import math
import random
from fractions import Fraction

import mpmath
import numpy as np
import pandas as pd
import pytest

from pandas_blowfish.beyond import verdict as module
from pandas_blowfish.beyond.scenario import Scenario
from pandas_blowfish.beyond.verdict import BACKWARD, FORWARD, is_within, loss_above
from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, DomainTooLargeError, EpsilonError

TWO = Scenario(["a", "b"], {"even": [1, 1]}, {"which": (["a"], ["b"])})


def drawn(seed: int):
    """Return a small random scenario as its parts: databases, priors, pairs of statements, a table."""
    rng = random.Random(seed)
    databases = list(itertools.product(range(rng.choice([2, 3])), repeat=2))
    outputs = list("uvwxyz")[: rng.randint(1, 6)]
    priors = {
        f"p{number}": {each: rng.choice([0, 1, 2, 5, 0.25]) for each in databases} | {databases[0]: 1}
        for number in range(rng.randint(1, 4))
    }
    pairs = {}
    for place in range(2):
        for one, two in itertools.combinations(range(2), 2):
            pairs[place, one, two] = tuple(
                [each for each in databases if each[place] == value] for value in (one, two)
            )
    pairs["some"] = (rng.sample(databases[:2], 1), rng.sample(databases[2:], rng.randint(1, 2)))
    table = {}
    for each in databases:
        weights = [rng.choice([0, 1, 1, 2, 3, 7, 40]) for _ in outputs]
        weights[rng.randrange(len(outputs))] += 1
        table[each] = {o: Fraction(w, sum(weights)) for o, w in zip(outputs, weights, strict=True)}
    if seed % 2:  # nothing is ruled out
        table = {
            each: {o: (table[each].get(o, 0) + Fraction(1, len(outputs))) / 2 for o in outputs}
            for each in databases
        }
    return databases, priors, pairs, table


def chance(prior, statement, table, output):
    """Return P(output | statement) under a prior, as floats; None where the statement is impossible."""
    whole = sum(float(prior[each]) for each in statement)
    if whole == 0:
        return None
    return sum(float(prior[each]) * float(table[each].get(output, 0)) for each in statement) / whole


def slow(priors, pairs, table):
    """Return the worst ratio by loops over everything."""
    worst = 0.0
    outputs = {output for row in table.values() for output in row}
    for prior, pair, output in itertools.product(priors.values(), pairs.values(), outputs):
        for one, two in (pair, pair[::-1]):
            p, q = (chance(prior, statement, table, output) for statement in (one, two))
            if p is not None and q is not None and p > 0:
                worst = max(worst, p / q if q else math.inf)
    return worst


@pytest.mark.parametrize("seed", range(60))
def test_ratio_equals_a_plain_loop(seed):
    """Exact sums find the ratio that loops over priors, pairs, outputs and both orders find."""
    databases, priors, pairs, table = drawn(seed)

    verdict = Scenario(databases, priors, pairs).check(table)

    assert float(verdict.ratio) == pytest.approx(slow(priors, pairs, table), rel=1e-9)
    assert isinstance(verdict.ratio, Fraction) or verdict.ratio == math.inf


@pytest.mark.parametrize("seed", range(60))
def test_witness_attains_the_ratio(seed):
    """What the witness says is so when it is computed again, and its quotient is the ratio."""
    databases, priors, pairs, table = drawn(seed)

    verdict = Scenario(databases, priors, pairs).check(table)
    witness = verdict.witness
    pair = pairs[witness.secret][:: 1 if witness.against == FORWARD else -1]
    p, q = witness.probabilities

    assert witness.against in (FORWARD, BACKWARD)
    assert (math.inf if not q else p / q) == verdict.ratio
    for found, statement in zip((p, q), pair, strict=True):
        assert float(found) == pytest.approx(chance(priors[witness.prior], statement, table, witness.output))


@pytest.mark.parametrize("seed", range(1, 40, 2))
def test_verdict_turns_at_the_ratio(seed):
    """A check holds just above the logarithm of the ratio and fails just below."""
    databases, priors, pairs, table = drawn(seed)
    scenario = Scenario(databases, priors, pairs)
    ratio = scenario.check(table).ratio
    with mpmath.workdps(60):
        logarithm = mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)
        above, below = (mpmath.nstr(logarithm + mpmath.mpf(10) ** -30 * sign, 45) for sign in (1, -1))

    if ratio > 1:
        assert scenario.check(table, above).holds is True
        assert scenario.check(table, below).holds is False
    assert scenario.check(table).holds is None


@pytest.mark.parametrize("epsilon", ["1/1000", "0.1", "1", "2.5", "40", "700"])
def test_comparison_with_an_exponential_is_exact(epsilon):
    """Fractions a hair above and below exp(epsilon) are told apart."""
    rate = Fraction(epsilon)
    with mpmath.workdps(900):
        power = mpmath.exp(mpmath.mpf(rate.numerator) / rate.denominator)
        near = int(mpmath.floor(power * mpmath.mpf(10) ** 400))

    assert is_within(Fraction(near, 10**400), rate)
    assert not is_within(Fraction(near + 1, 10**400), rate)
    assert not is_within(math.inf, rate)
    assert is_within(Fraction(1), Fraction(1, 10**900))
    assert not is_within(1 + Fraction(1, 10**50), Fraction(1, 10**60))
    assert is_within(Fraction(10**50), Fraction(10**12))


@pytest.mark.parametrize(
    "ratio",
    [Fraction(3), Fraction(10**400), 1 + Fraction(1, 10**40), Fraction(7, 5), Fraction(2**53 + 1, 2**53)],
)
def test_loss_is_rounded_up(ratio):
    """The float is at least the logarithm, and the one before it is not far enough."""
    loss = loss_above(ratio)

    with mpmath.workdps(120):
        true = mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)
        assert math.nextafter(loss, 0) < true <= loss
    assert loss_above(Fraction(1)) == 0.0
    assert loss_above(math.inf) == math.inf


def test_loss_just_above_a_float_is_the_next_one():
    """A ratio a hair above the exponential of a float has a loss above that float."""
    with mpmath.workdps(120):
        near = Fraction(int(mpmath.ceil(mpmath.exp(0.5) * mpmath.mpf(10) ** 60)), 10**60)

    assert loss_above(near) == math.nextafter(0.5, 1)


def test_rows_made_anew_are_not_confused():
    """A function may return a row at the place in memory of an earlier one that is gone."""
    scenario = Scenario.records([0, 1], 9, [[1, 1]], [(lambda d: d[0], lambda d: not d[0])])
    names = {database: number for number, database in enumerate(scenario.databases)}

    def law(database):
        chance = Fraction(1 + names[database], 1000)
        return {"x": chance, "y": 1 - chance}

    assert scenario.check(law).ratio == scenario.check({each: law(each) for each in names}).ratio


def test_tables_are_read_in_every_form():
    """A frame, a dict, a function and rows of Series are the same table; floats mean their decimals."""
    rows = {"a": {"x": 0.3, "y": 0.7}, "b": {"x": 0.1, "y": 0.9}}
    frame = pd.DataFrame(rows).T

    found = [
        TWO.check(table) for table in (rows, frame, rows.get, {k: pd.Series(v) for k, v in rows.items()})
    ]

    assert {each.ratio for each in found} == {Fraction(3)}
    assert {each.witness.output for each in found} == {"x"}
    assert TWO.check(frame.astype(np.float32)).ratio == 3
    text = {"a": {"x": "1/3", "y": "2/3"}, "b": {"x": Fraction(1, 3), "y": Fraction(2, 3)}}
    assert TWO.check(text, 1).ratio == 1


def test_tuples_index_a_frame():
    """Databases that are tuples make a MultiIndex, which is read as the tuples."""
    scenario = Scenario.records([0, 1], 2, [[1, 1]])
    table = pd.DataFrame({"yes": [1.0, 0.5, 0.5, 0.5], "no": [0, 0.5, 0.5, 0.5]}, index=scenario.databases)

    assert scenario.check(table).ratio == Fraction(1, 2) / Fraction(1, 4)


def test_long_numbers_stay_whole():
    """Integers beyond 64 bits, and rows of unlike denominators, are not rounded."""
    big = Fraction(1, 3**90)
    table = {"a": {"x": big, "y": 1 - big}, "b": {"x": 2 * big, "y": 1 - 2 * big - big / 7, "z": big / 7}}

    assert TWO.check(table).ratio == math.inf
    table["a"] = {"x": big, "y": 1 - big - big / 21, "z": big / 21}
    assert TWO.check(table).ratio == 3
    assert TWO.check(table).witness.probabilities == (big / 7, big / 21)


def test_likeliest_of_the_infinite_is_shown():
    """Of outputs that rule a statement out, the witness is the one seen most often."""
    table = {"a": {"x": "1/10", "y": "2/5", "z": "1/2"}, "b": {"z": 1}}

    verdict = TWO.check(table, 5)

    assert not verdict.holds
    assert verdict.loss == math.inf
    assert verdict.witness.output == "y"
    assert "any factor" in repr(verdict)


def test_partial_rows_say_so():
    """A row that sums to less than 1 is refused unless asked for, and then not passed over in silence."""
    table = {"a": {"x": "1/2"}, "b": {"x": "1/4"}}

    with pytest.raises(ArgumentError, match="below 1"):
        TWO.check(table)
    verdict = TWO.check(table, 1, partial=True)

    assert verdict.holds
    assert verdict.unchecked == Fraction(3, 4)
    assert "not checked" in repr(verdict)
    assert "not checked" not in repr(TWO.check({"a": {0: 1 / 3, 1: 2 / 3}, "b": {0: 0.5, 1: 0.5}}))
    with pytest.raises(ArgumentError, match="no outputs"):
        TWO.check({"a": {}, "b": {}}, partial=True)


@pytest.mark.parametrize(
    ("table", "error", "said"),
    [
        ({"a": {0: 1}}, ArgumentError, "no row for the database 'b'"),
        ({"a": {0: 1}, "b": {0: "3/2", 1: "-1/2"}}, ArgumentError, "below 0"),
        ({"a": {0: 1}, "b": {0: 1.001}}, ArgumentError, "above 1"),
        ({"a": {0: 1}, "b": {0: float("nan")}}, ArgumentError, "not finite"),
        ({"a": {0: 1}, "b": [1]}, ArgumentTypeError, "a row is a list"),
        ({"a": {0: 1}, "b": {0: None}}, ArgumentTypeError, "not a number"),
        (7, ArgumentTypeError, "no output table"),
        (pd.DataFrame([[1.0], [1.0]], index=["a", "a"]), ArgumentError, "twice"),
    ],
)
def test_bad_tables_are_refused(table, error, said):
    """Each with a typed error that says what is wrong."""
    with pytest.raises(error, match=said):
        TWO.check(table, 1)


def test_bad_epsilon_is_refused():
    """An epsilon is positive."""
    with pytest.raises(EpsilonError):
        TWO.check({"a": {0: 1}, "b": {0: 1}}, 0)


def test_limits_are_said(monkeypatch):
    """A table or a check that is too large is refused before it is computed."""
    table = {"a": {0: "1/2", 1: "1/2"}, "b": {0: "1/4", 1: "3/4"}}

    monkeypatch.setattr(module, "STEPS", 10)
    with pytest.raises(DomainTooLargeError, match="this check"):
        TWO.check(table)
    monkeypatch.setattr(module, "ENTRIES", 3)
    with pytest.raises(DomainTooLargeError, match="output table"):
        TWO.check(table)


def test_views_say_what_was_found():
    """The text and the notebook view name the ratio, the witness and what was skipped."""
    scenario = Scenario([0, 1], {"sure <b>": [1, 0], "even": [1, 1]}, {"bit": ([0], [1])})

    verdict = scenario.check({0: {"x": "1/4", "y": "3/4"}, 1: {"x": "3/4", "y": "1/4"}}, 1)

    assert (verdict.holds, verdict.ratio, verdict.cases, verdict.skipped) == (False, 3, 1, 1)
    for said in ("NO, at epsilon 1", "a factor 3", "even", "bit: ", "1 have probability 0"):
        assert said in repr(verdict)
        assert said in verdict._repr_html_()
