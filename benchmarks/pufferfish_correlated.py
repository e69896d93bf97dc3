"""Tables 5 and 6: records that tell about each other, and rows that follow each other; not run by itself."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import numpy as np
import pandas as pd
from oracle.pufferfish_examples import ordered_exam
from pufferfish_laws import Found, Size, geometric, line, number, percent, root, same, verdict
from ranges import progress, table

import pandas_blowfish as bf
from pandas_blowfish.beyond.quilt import find_quilt
from pandas_blowfish.beyond.wasserstein import noisy, quotient_above
from pandas_blowfish.kernel.noise import discrete_laplace
from pandas_blowfish.policy.domain import integers

KEPT = "Scales keep epsilon, by exact check"
SHORT = 8  # rows of which all tables are listed
Law = dict[int, Fraction]

NOTES = {
    "correlated": """"Loses" is exact: the log of the worst odds under the stated beliefs, at most 1 if the
promise is kept. A record of a household is ill with probability 1/10. Noise that hides all records at once
needs no beliefs: a stronger promise.""",
    "chain": """Plain noise hides a row from those who take rows for independent, but not from those who know
the chain, unless the next row does not depend on it (0.5). Noise that hides all rows at once needs no chain
to be believed: a stronger promise.""",
}


def household(size: int, alike: Fraction, share: Fraction, households: int) -> bf.Scenario:
    """Return how many are ill in households that are all alike with some probability, else independent.

    Its databases are the counts; secret is whether one record, of share `share`, is ill.
    """
    some = _binomial(size - 1, share)
    ill = _mixed({size: alike}, {1 + k: (1 - alike) * p for k, p in some.items()})
    well = _mixed({0: alike}, {k: (1 - alike) * p for k, p in some.items()})
    any_one = _mixed({k: share * p for k, p in ill.items()}, {k: (1 - share) * p for k, p in well.items()})
    for _ in range(households - 1):
        ill, well = _added(ill, any_one), _added(well, any_one)
    return bf.Scenario.conditional(range(size * households + 1), {"all": {"ill or not": (ill, well)}})


def _binomial(n: int, share: Fraction) -> Law:
    return {k: math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n + 1)}


def _mixed(one: Law, two: Law) -> Law:
    return {k: p for k in {*one, *two} if (p := one.get(k, Fraction(0)) + two.get(k, Fraction(0)))}


def _added(one: Law, two: Law) -> Law:
    found: Law = {}
    for (j, p), (k, q) in itertools.product(one.items(), two.items()):
        found[j + k] = found.get(j + k, Fraction(0)) + p * q
    return found


def loss(
    scenario: bf.Scenario, answer: Callable[[Any], int], scale: Fraction, most: int
) -> tuple[float, bool]:
    """Return the log of the worst odds under noise on an answer from 0 to `most`, and whether 1 is kept."""
    quotient = quotient_above(1 / scale)
    found = scenario.check(lambda each: noisy(answer(each), quotient, 0, most), epsilon=1)
    return math.log(found.ratio), bool(found.holds)


def counted_by_accessor(scenario: bf.Scenario, scale: Fraction, n: int, seed: int) -> tuple[Any, Any]:
    """Return the error of one count through the accessor, and the noise that it must be."""
    frame = pd.DataFrame({"x": (np.arange(n) < n // 2).astype(int)})
    ask = frame.blowfish.protect(bf.Policy(bf.Domain((integers("x", 0, 1),))), epsilon=1).blowfish.where(
        "x == 1"
    )
    with bf.testing.replay(seed):
        found = ask.count(epsilon=1, strategy="wasserstein", scenario=scenario, post=False)
    with bf.testing.replay(seed):
        return found["count"].to_numpy() - n // 2, discrete_laplace(scale)


def correlated(size: Size) -> list[Found]:
    """Print table 5: counts of records that tell about each other."""
    share = Fraction(1, 10)
    cases: list[tuple[str, int, bf.Scenario, Callable[[Any], int]]] = []
    for n in size.some((5, 10, 15, 20), (5, 10)):
        cases.append((f"exam in a known order, {n} students", n, ordered_exam(n)[0], sum))
    for many, alike in itertools.product((2, 3, 4), size.some(("0", "1/10", "1/2", "1"), ("0", "1/2"))):
        text = f"{24 // many} households of {many}, alike with probability {alike}"
        cases.append((text, 24, household(many, Fraction(alike), share, 24 // many), int))
    rows, every, kept, pairs, plain = [], [], [], [], geometric(Fraction(1)).second
    for text, n, scenario, answer in progress(cases, "correlated"):
        told, group = scenario.wasserstein(answer, epsilon=1), geometric(Fraction(n)).second
        found = Found.of(discrete_laplace(told.scale, size.runs), geometric(told.scale))
        every.append(found)
        own, less = (loss(scenario, answer, scale, n) for scale in (told.scale, Fraction(1)))
        kept.append(own[1])
        if answer is sum:
            pairs.append(counted_by_accessor(scenario, told.scale, n, len(every)))
        row = [text, str(told.distance), str(found), root(found.expected), number(own[0]), root(group)]
        rows.append([*row, root(found.expected / group), root(plain), number(less[0])])
    print(f"\n### 5. Records that tell about each other: one count at epsilon 1, {size.runs:,} draws\n")
    heads = ["records", "distance", "wasserstein", "expected", "loses", "all hidden, expected", "/ that"]
    table([*heads, "plain, expected", "plain loses"], rows)
    print(NOTES["correlated"])
    print(f"{line(KEPT, kept)}\n{verdict(every)}\n{same(pairs)}", flush=True)
    return every


def chain_of(stay: str, length: int) -> bf.Markov:
    """Return rows of two states that are kept from row to row with some probability."""
    p = Fraction(stay)
    return bf.Markov("x", [[p, 1 - p], [1 - p, p]], length=length)


def known(chain: bf.Markov) -> bf.Policy:
    """Return the policy under which everybody knows how rows follow each other."""
    return bf.Policy(bf.Domain((integers("x", 0, 1),)), chain=chain)


def sequences(chain: bf.Markov) -> bf.Scenario:
    """Return all tables of a short chain, each record's value being secret."""
    listed = list(itertools.product((0, 1), repeat=chain.length))
    weights = [
        chain.start[each[0]] * math.prod(chain.transition[x][y] for x, y in itertools.pairwise(each))
        for each in listed
    ]
    secrets = [
        ([each for each in listed if each[place] == 0], [each for each in listed if each[place] == 1])
        for place in range(chain.length)
    ]
    return bf.Scenario(listed, [weights], secrets)


def walk(chain: bf.Markov, rng: np.random.Generator) -> np.ndarray:
    """Return the rows of a chain of two states that is as likely to leave the one as the other."""
    moves = rng.random(chain.length) >= float(chain.transition[0][0])
    moves[0] = rng.random() < 0.5
    return np.asarray(np.cumsum(moves) % 2)


def followed_by_accessor(
    chain: bf.Markov, epsilon: Fraction, scale: Fraction, rng: np.random.Generator, seed: int
) -> tuple[Any, Any]:
    """Return the scale and the errors of one histogram through the accessor, and those of its quilt."""
    frame, quilt = pd.DataFrame({"x": walk(chain, rng)}), 1 / find_quilt(chain, chain.length, epsilon).rate
    secret = frame.blowfish.protect(known(chain), epsilon=1)
    with bf.testing.replay(seed):
        noisy = secret.blowfish.hist("x", epsilon=epsilon, strategy="ordered", post=False)
    with bf.testing.replay(seed):
        one = abs(discrete_laplace(quilt)[0])
    apart = noisy["count"].to_numpy() - frame["x"].value_counts().sort_index().to_numpy()
    return [scale, *np.abs(apart)], [quilt, one, one]  # what one count gains the other loses


def chains(size: Size) -> list[Found]:
    """Print table 6: rows that follow each other."""
    stays = ("0.5", "0.7", "0.9", "0.99")
    settings = itertools.product(
        size.some(("0.1", "1"), ("1",)), stays, size.some((100, 10**4, 10**6), (100, 10**4))
    )
    rng, rows, every, pairs = np.random.default_rng(6), [], [], []
    for text, stay, length in progress(settings, "chains"):
        chain, epsilon = chain_of(stay, length), Fraction(text)
        scale = known(chain).plan.hist("x", epsilon=epsilon, strategy="ordered").scale
        found = Found.of(discrete_laplace(scale, size.runs), geometric(scale))
        every.append(found)
        if length == 10**4:
            pairs.append(followed_by_accessor(chain, epsilon, scale, rng, len(every)))
        plain, group = (geometric(each / epsilon).second for each in (Fraction(1), Fraction(length)))
        row = [stay, f"{length:,}", text, number(float(scale)), str(found), root(found.expected)]
        row += [percent(found.rmse / length), root(plain), root(found.expected / plain), root(group)]
        rows.append([*row, root(found.expected / group)])
    print(f"\n### 6. Rows that follow each other: a histogram of two values, {size.runs:,} draws\n")
    heads = ["stays with probability", "rows", "epsilon", "scale", "quilt", "expected", "of the rows"]
    table([*heads, "plain, expected", "/ plain", "all hidden, expected", "/ that"], rows)
    lost, kept = [], []
    for stay in stays:
        chain = chain_of(stay, SHORT)
        scale = known(chain).plan.hist("x", epsilon=1, strategy="ordered").scale
        own, less = (loss(sequences(chain), sum, each, SHORT) for each in (scale, Fraction(1)))
        kept.append(own[1])
        lost.append([stay, number(float(scale)), number(own[0]), number(less[0])])
    print(f"\nWhat is lost about one of {SHORT} rows at epsilon 1, exactly, over all {2**SHORT} tables\n")
    table(["stays with probability", "scale of the quilt", "quilt loses", "plain loses"], lost)
    print(NOTES["chain"])
    print(f"{line(KEPT, kept)}\n{verdict(every)}\n{same(pairs)}", flush=True)
    return every
