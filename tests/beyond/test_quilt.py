"""Quilts against the definition: every sequence of short chains is enumerated."""

import time
from fractions import Fraction
from itertools import pairwise, product

import mpmath
import numpy as np
import pytest

from pandas_blowfish.beyond import quilt
from pandas_blowfish.beyond.markov import Markov
from pandas_blowfish.beyond.quilt import Active, find_quilt
from pandas_blowfish.errors import BlowfishError

BINARY = {
    "slow": [["0.9", "0.1"], ["0.2", "0.8"]],
    "even": [["0.7", "0.3"], ["0.3", "0.7"]],
    "lively": [["0.5", "0.5"], ["0.6", "0.4"]],
    "turning": [["0.2", "0.8"], ["0.7", "0.3"]],
}
TERNARY = {
    "ring": [["0.6", "0.3", "0.1"], ["0.1", "0.6", "0.3"], ["0.3", "0.1", "0.6"]],
    "quick": [["0.3", "0.4", "0.3"], ["0.35", "0.35", "0.3"], ["0.3", "0.3", "0.4"]],
    "zeros": [["0.5", "0.5", "0"], ["0.2", "0.5", "0.3"], ["0", "0.4", "0.6"]],
    "leaving": [["0.4", "0.3", "0.3"], ["0", "0.5", "0.5"], ["0", "0.4", "0.6"]],
}


def sequences(chain, length):
    """Return every sequence of values that can occur, with its probability."""
    found = []
    for values in product(range(chain.cells), repeat=length):
        chance = chain.start[values[0]]
        for x, y in pairwise(values):
            chance *= chain.transition[x][y]
        if chance:
            found.append((values, chance))
    return found


def tables(chain, length):
    """Return, for each row and each of its possible values, the law of the counts of all values."""
    found = {}
    for values, chance in sequences(chain, length):
        counts = tuple(values.count(x) for x in range(chain.cells))
        for place, x in enumerate(values):
            law = found.setdefault((place, x), {})
            law[counts] = law.get(counts, 0) + chance
    return found


def answers(counts, rates, top):
    """Return exp(-sum rate |w - count|) over all answers w from -1 to top, one axis a rate."""
    total = np.array(1.0)
    for count, rate in zip(counts, rates, strict=True):
        total = np.multiply.outer(total, np.exp(-rate * np.abs(np.arange(-1, top + 2) - count)))
    return total


def exact_loss(chain, length, of):
    """Return the largest log ratio of answers between two values of one row, `of` counts to answers."""
    laws = {}
    for (place, _), law in tables(chain, length).items():
        weight = float(sum(law.values()))
        laws.setdefault(place, []).append(sum(float(p) / weight * of(counts) for counts, p in law.items()))
    return max(
        float(np.max(np.abs(np.log(one / two)))) for place in laws.values() for one in place for two in place
    )


def histogram_loss(chain, length, rate):
    """Return the loss of a histogram that loses `rate` when one row changes: half of it a cell."""
    return exact_loss(chain, length, lambda counts: answers(counts, [rate / 2] * chain.cells, length))


def count_loss(chain, length, rate):
    """Return the loss of a count of the first value that loses `rate` when one row changes."""
    return exact_loss(chain, length, lambda counts: answers(counts[:1], [rate], length))


CASES = [
    (name, rows, initial)
    for name, rows in (BINARY | TERNARY).items()
    for initial in (None, "first", "spread")
]


def chain_of(rows, initial):
    """Return a chain that starts as it stays, at its first value, or anywhere."""
    size = len(rows)
    first = {None: None, "first": [1] + [0] * (size - 1), "spread": [Fraction(1, size)] * size}[initial]
    return Markov("x", rows, initial=first)


@pytest.mark.parametrize(("name", "rows", "initial"), CASES)
def test_exact_loss_is_at_most_epsilon(name, rows, initial):
    """Every row, pair of values and answer, histograms and counts, enumerated."""
    chain = chain_of(rows, initial)
    for length in (1, 2, 5, 8) if chain.cells == 2 else (2, 5, 6):
        for epsilon in (Fraction(1, 2), Fraction(2), Fraction(6)):
            plan = find_quilt(chain, length, epsilon)

            assert plan.rate <= 1 / plan.largest
            assert plan.rate >= 1 / plan.largest * Fraction(99999, 100000)
            assert plan.loss(plan.rate) <= epsilon
            assert count_loss(chain, length, float(plan.rate)) <= float(epsilon) * (1 + 1e-9)
            if chain.cells == 2 or length <= 5:
                assert histogram_loss(chain, length, float(plan.rate)) <= float(epsilon) * (1 + 1e-9)


def test_plain_noise_leaks_and_quilts_do_not():
    """Four binary chains of eight rows: what noise for independent rows loses, and what a quilt's does."""
    plain, kept = [], []
    for rows in BINARY.values():
        chain = Markov("x", rows)
        for epsilon in (0.5, 1.0, 3.0):
            plain.append(count_loss(chain, 8, epsilon) / epsilon)
            kept.append(count_loss(chain, 8, float(find_quilt(chain, 8, epsilon).rate)) / epsilon)
    print("plain", np.round(plain, 2), "quilt", np.round(kept, 2))

    assert max(plain) > 2
    assert max(kept) <= 1


def test_a_quilt_without_influence_fails(monkeypatch):
    """If what the quilt's rows tell were left out, the noise would be too small."""
    monkeypatch.setattr(quilt._Sides, "influence", lambda *given: Fraction(0))
    monkeypatch.setattr(quilt, "_chosen", lambda *given: [(1, 1)])
    chain = Markov("x", BINARY["slow"])

    plan = find_quilt(chain, 8, 1)

    assert plan.rate == 1
    assert count_loss(chain, 8, float(plan.rate)) > 1.3


@pytest.mark.parametrize(("name", "rows", "initial"), CASES)
def test_influence_is_the_largest_ratio(name, rows, initial):
    """Against the joint law of the two rows given the one between; where rows' laws differ, at least that."""
    chain, length = chain_of(rows, initial), 5
    sides, known = quilt._Sides(chain), sequences(chain, length)
    for place in range(length):
        for before, after in product(range(1, place + 1), range(1, length - place)):
            laws = {}
            for values, chance in known:
                seen = values[place - before], values[place + after]
                law = laws.setdefault(values[place], {})
                law[seen] = law.get(seen, 0) + chance
            worst = ratio_of(list(laws.values()))

            found = sides.influence(before, after)

            if worst is None:
                assert found is None
            elif found is not None:
                with mpmath.workprec(200):
                    more = real(found) - mpmath.log(real(worst))
                    assert more >= 0
                    assert more < 1e-18 or not chain.stationary
            else:
                assert not chain.stationary


def real(number):
    """Return a fraction at the current precision."""
    return mpmath.mpf(number.numerator) / number.denominator


def ratio_of(laws):
    """Return the largest ratio of two conditional laws, exactly; None if it has no bound."""
    worst = Fraction(1)
    for one, two in product(laws, laws):
        for seen, p in one.items():
            if not two.get(seen):
                return None
            worst = max(worst, Fraction(p) / sum(one.values()) * sum(two.values()) / two[seen])
    return worst


@pytest.mark.parametrize("rows", BINARY.values(), ids=BINARY)
def test_releases_add_up(rows):
    """Two counts, of like or unlike epsilon, lose at most the sum: all pairs of answers, enumerated."""
    chain = Markov("x", rows)
    for first, second in ((1, 1), (Fraction(1, 2), 3), (6, 6), (Fraction(1, 10), 8)):
        plans = [find_quilt(chain, 7, epsilon) for epsilon in (first, second)]
        rates = [float(plan.rate) for plan in plans]

        loss = exact_loss(chain, 7, lambda counts, r=rates: answers((counts[0],) * 2, r, 7))

        assert loss <= float(first + second) * (1 + 1e-9)
        assert loss <= min(float(plan.loss(sum(p.rate for p in plans))) for plan in plans) * (1 + 1e-9)
        if plans[0].quilts == plans[1].quilts:
            assert plans[0].loss(2 * plans[0].rate) <= first + second


def test_independent_rows_cost_nothing_more():
    """When no value says anything about the next, the rate is epsilon, exactly."""
    for start in (None, ["1/7", "6/7"]):
        chain = Markov("x", [["0.3", "0.7"], ["0.3", "0.7"]], initial=start)
        for length in (1, 2, 20, 10**6):
            plan = find_quilt(chain, length, "0.3")
            assert plan.rate == Fraction(3, 10)
    assert find_quilt(Markov("x", [["0.3", "0.7"]] * 2), 100, 1).quilts == (Active(1, 1, 1, Fraction(0)),)


def test_what_is_certain_to_follow_costs_every_row():
    """With transitions that never happen, only all rows together are a quilt."""
    chain = Markov("x", [[0, 1], [1, 0]])

    for length in (1, 8, 100, 10**6):
        assert find_quilt(chain, length, 1).rate == Fraction(1, length)


@pytest.mark.parametrize("initial", [None, [1, 0]])
@pytest.mark.parametrize("stay", ["0.6", "0.9", "0.999"])
def test_long_tables_are_planned_quickly(stay, initial):
    """A million rows cost no more than it takes for the past to be forgotten, in less than two seconds."""
    other = 1 - Fraction(stay)
    chain = Markov("x", [[stay, other], [other, stay]], initial=initial)
    begun = time.perf_counter()

    plans = [find_quilt(chain, length, "0.5") for length in (1000, 10**6)]

    assert time.perf_counter() - begun < 2
    assert plans[0].largest <= 2000
    assert plans[1].largest < 20 / other
    assert all(plan.loss(plan.rate) <= Fraction(1, 2) for plan in plans)


@pytest.mark.parametrize("rows", BINARY.values(), ids=BINARY)
def test_no_other_quilts_are_better(rows):
    """Against the best quilt of every row, of one side or two, tried one by one: the worst row decides."""
    chain = Markov("x", rows)
    sides = quilt._Sides(chain)
    one_sided = {}
    for width in range(1, 40):
        right, back = sides.ratios(width, back=False), sides.ratios(width, back=True)
        scale = chain.start[1] / chain.start[0]
        one_sided[width] = [
            float(mpmath.log(max(float(right[0, 1]), float(right[1, 0])))),
            float(mpmath.log(max(float(back[0, 1] * scale), float(back[1, 0] / scale)))),
        ]
    influences = {(a, b): float(sides.influence(a, b)) for a in range(1, 20) for b in range(1, 20)}
    for length, epsilon in ((8, 1.0), (20, 1.0), (20, 4.0), (40, 0.5), (40, 3.0)):
        worst = 0.0
        for i in range(1, length + 1):
            tried = [(length, 0.0)]
            tried += [(length - i + a, one_sided[a][1]) for a in range(1, min(i, 39))]
            tried += [(i + b - 1, one_sided[b][0]) for b in range(1, min(length - i, 39) + 1)]
            tried += [(a + b - 1, e) for (a, b), e in influences.items() if a < i and b <= length - i]
            worst = max(worst, min(card / (epsilon - e) for card, e in tried if e < epsilon))

        assert float(find_quilt(chain, length, epsilon).largest) <= worst * (1 + 1e-6)


@pytest.mark.parametrize(
    ("length", "epsilon"), [(0, 1), (-1, 1), (2.5, 1), (True, 1), (5, 0), (5, "x"), (5, None)]
)
def test_wrong_arguments_are_refused(length, epsilon):
    """Typed errors."""
    with pytest.raises(BlowfishError):
        find_quilt(Markov("x", BINARY["even"]), length, epsilon)
