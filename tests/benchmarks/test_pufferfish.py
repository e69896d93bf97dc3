"""The comparison of Pufferfish promises: every table on few draws, verdicts that follow what was measured."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pufferfish
import pufferfish_correlated
import pufferfish_counts
import pufferfish_sums
import pytest
from oracle.certified_law import law
from pufferfish_correlated import chain_of, household, known, loss, walk
from pufferfish_laws import (
    Found,
    Moments,
    Size,
    geometric,
    line,
    moments,
    number,
    odds_times,
    same,
    verdict,
)
from pufferfish_sums import off_by

from pandas_blowfish.beyond.certified import certify
from pandas_blowfish.beyond.quilt import find_quilt
from pandas_blowfish.kernel.noise import discrete_laplace
from pandas_blowfish.plan.scales import variance

TINY = Size(runs=200, quick=True)
CLAIMS = {  # lines of checks under each table
    "count": 2,
    "hist": 3,
    "sum": 1,
    "total": 2,
    "correlated": 3,
    "chain": 3,
}


def _checks(text: str) -> list[str]:
    return [
        each for each in text.splitlines() if each.endswith(").") and (": yes (" in each or ": no (" in each)
    ]


@pytest.mark.parametrize("name", list(pufferfish.TABLES))
def test_every_table(name, capsys):
    """Rows are Markdown of one width, all checks pass, and the same run prints the same."""
    found = pufferfish.run(name, TINY)
    text = capsys.readouterr().out
    lines = text.splitlines()
    tables = [[each for each in part.splitlines() if each[:1] == "|"] for part in text.split("\n\n")]

    assert all(len({each.count("|") for each in rows}) == 1 for rows in tables if rows)
    assert found
    assert len(_checks(text)) == CLAIMS[name]
    assert all(": yes (" in each for each in _checks(text))
    assert any(f"({len(found)} of {len(found)})" in each for each in lines)
    if name == "correlated":
        pufferfish.run(name, TINY)
        assert capsys.readouterr().out == text


@pytest.mark.parametrize("name", list(pufferfish.TABLES))
def test_another_law_turns_the_verdict(name, capsys, monkeypatch):
    """Noise that is half as wide as it is said to be is seen in every table."""
    half = lambda scale, size=1: discrete_laplace(Fraction(scale) / 2, size)  # noqa: E731
    for module in (pufferfish_correlated, pufferfish_counts, pufferfish_sums):
        monkeypatch.setattr(module, "discrete_laplace", half)
    monkeypatch.setattr(pufferfish_counts, "draw_certified", _half)
    if name == "sum":
        monkeypatch.setattr(pufferfish_sums, "geometric", lambda scale: geometric(2 * scale))

    found = pufferfish.run(name, replace(TINY, runs=2_000))

    assert not all(each.agrees for each in found)
    assert verdict(found) in capsys.readouterr().out
    assert ": no (" in verdict(found)


def _half(counts, told):
    from pandas_blowfish.kernel.weaker_release import draw_certified

    return draw_certified(counts, replace(told, rate=2 * told.rate))


def test_a_verdict_is_computed():
    """Four standard errors decide; nothing measured is nothing shown."""
    right, wrong = Found(1.0, 0.1, 1.39), Found(1.0, 0.1, 1.41)

    assert verdict([right, right]).endswith("exact: yes (2 of 2).")
    assert verdict([right, wrong]).endswith("exact: no (1 of 2).")
    assert verdict([]).endswith("no (0 of 0).")
    assert line("x", [True, False]) == "x: no (1 of 2)."
    assert same([(np.array([1, 2]), np.array([1, 3]))]).endswith("no (0 of 1).")


def test_standard_errors():
    """That of the sample; that of the law where a sample shows no error; cells of a release together."""
    none = Found.of(np.zeros(100), Moments(0.99, 0.01, 0.01))
    some = Found.of(np.array([1.0, 3.0, 1.0, 3.0]), Moments(0.0, 5.0, 25.0))
    two = Found.of(np.array([[1.0, 3.0], [3.0, 1.0]]), Moments(0.0, 5.0, 25.0), cells=2)

    assert none.error == pytest.approx(math.sqrt((0.01 - 0.0001) / 100))
    assert none.agrees
    assert str(none) == "0 (none is off)"
    assert (some.mean, some.error) == (5.0, pytest.approx(np.std([1, 9, 1, 9], ddof=1) / 2))
    assert str(some) == f"2.24 ({some.error / (2 * math.sqrt(5)):.2g})"
    assert (two.mean, two.error) == (5.0, 0.0)


def test_moments_are_those_of_the_law():
    """Plain noise against its variance, certified counts against the law in fractions, and a bias."""
    z = np.arange(-4_000, 4_001)
    for scale in (Fraction(1, 2), Fraction(3), Fraction(40)):
        chance = math.tanh(0.5 / scale) * np.exp(-np.abs(z) / float(scale))
        assert geometric(scale).second == pytest.approx(variance(scale))
        assert geometric(scale).fourth == pytest.approx(chance @ z.astype(float) ** 4)
    shifted = off_by(geometric(Fraction(3)), 0.5, 2.0)
    chance = math.tanh(1 / 6) * np.exp(-np.abs(z) / 3)
    assert shifted.second == pytest.approx(chance @ (z / 2 + 2) ** 2)
    assert shifted.fourth == pytest.approx(chance @ (z / 2 + 2) ** 4)

    a, n, low, high = Fraction(1, 2), 12, 3, 7
    told = second = fourth = 0.0
    for k in range(n + 1):
        weight = math.comb(n, k) * 0.4**k * 0.6 ** (n - k)
        for (kind, value), p in law(k, low, high, a, -60, 80).items():
            told += weight * float(p) * (kind == "true")
            second += weight * float(p) * (value - k) ** 2
            fourth += weight * float(p) * (value - k) ** 4
    found = moments(Fraction(2, 5), n, low, high, Fraction(math.log(2)))
    assert (found.told, found.second, found.fourth) == pytest.approx((told, second, fourth))
    assert moments(Fraction(2, 5), n, 1, 0, Fraction(1)).second == pytest.approx(variance(Fraction(1)))


def test_a_wrong_prior_tells_nothing_at_small_epsilons():
    """Odds 1.5 times those of the prior are outside what exp(0.1) allows, and inside what exp(1) does."""
    for epsilon, told in (("0.1", 0.0), ("1", 1.0)):
        plan = certify("single_prior", ["1/2", "1/2"], 10**5, epsilon)
        ends = [int(end[0]) for end in plan.intervals]
        share = odds_times(Fraction(1, 2), Fraction(3, 2))
        assert share == Fraction(3, 5)
        assert moments(share, 10**5, *ends, plan.rate).told == pytest.approx(told, abs=1e-9)


def test_households():
    """Independent records need noise for one, records that are all alike for a household."""
    apart, alike = (household(3, each, Fraction(1, 10), 2) for each in (Fraction(0), Fraction(1)))

    assert [each.wasserstein(int, 1).distance for each in (apart, alike)] == [1, 3]
    assert loss(apart, int, Fraction(1), 6) == (pytest.approx(1, abs=1e-6), True)
    assert loss(alike, int, Fraction(1), 6) == (pytest.approx(3, abs=1e-6), False)
    assert loss(alike, int, Fraction(3), 6)[1]


def test_plans_under_a_chain_are_at_the_rate_of_its_quilt(capsys, monkeypatch):
    """The library's scale is that of the quilt, at any length; another one is seen under the table."""
    for stay, length in itertools.product(("0.5", "0.9", "0.99"), (8, 100, 10**4, 10**6)):
        chain = chain_of(stay, length)
        for epsilon in (Fraction(1, 10), Fraction(1)):
            rate = find_quilt(chain, length, epsilon).rate
            assert known(chain).plan.hist("x", epsilon=epsilon).scale == 1 / rate

    monkeypatch.setattr(
        pufferfish_correlated,
        "find_quilt",
        lambda *asked: replace(find_quilt(*asked), rate=find_quilt(*asked).rate * Fraction(10**6 - 1, 10**6)),
    )
    pufferfish.run("chain", TINY)
    assert "Releases through the accessor are these draws: no (0 of 4)." in capsys.readouterr().out


def test_walks_follow_their_chain():
    """Rows stay as often as the chain says; the first is either."""
    rows = walk(chain_of("0.9", 100_000), np.random.default_rng(0))

    assert np.mean(rows[1:] == rows[:-1]) == pytest.approx(0.9, abs=0.005)
    assert set(rows) == {0, 1}


def test_numbers_have_three_digits():
    """Large ones are whole, tiny ones are said to be so."""
    assert [number(each) for each in (0, 1e-9, 0.12345, 12.345, 1234.5)] == [
        *("0", "< 1e-6", "0.123", "12.3", "1,234"),
    ]


def test_command():
    """A quick run of all tables in a process of its own; too few runs are refused."""
    command = [sys.executable, pufferfish.__file__, "--quick", "--runs"]
    done = subprocess.run([*command, "300"], capture_output=True, text=True, timeout=60)
    refused = subprocess.run([*command, "1"], capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stderr
    assert [each[:6] for each in done.stdout.splitlines() if each[:3] == "###"] == [
        f"### {n}." for n in range(1, 7)
    ]
    assert len(_checks(done.stdout)) == sum(CLAIMS.values())
    assert not [each for each in _checks(done.stdout) if ": no (" in each]
    assert refused.returncode == 2
