"""Tables 1 and 2: counts that may be told exactly to those who believe a prior; not run by itself."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from pufferfish_laws import (
    Found,
    Moments,
    Size,
    geometric,
    line,
    moments,
    odds_times,
    percent,
    root,
    same,
    verdict,
)
from ranges import progress, table

import pandas_blowfish as bf
from pandas_blowfish.beyond.certified import Certified, certify
from pandas_blowfish.kernel.noise import discrete_laplace
from pandas_blowfish.kernel.weaker_release import draw_certified
from pandas_blowfish.policy.domain import integers

ALPHA = "0.001"
WRONG = Fraction(3, 2)  # odds of the data over those of a wrong prior

NOTES = {
    "count": f"""The promises differ and are weaker, so this is not like for like: plain noise hides a row
from all who know the others, single_prior from those who believe exactly the stated shares, hedging from
those who give them a weight of {ALPHA} or more. Where the prior is wrong, the odds of the data are its own
times {float(WRONG):g}. Ratios are of expected errors.""",
    "hist": """Uneven: half of the cells have three times the share of the others. "For telling" is the part
of epsilon that the plan sets aside to tell counts exactly; noise gets the rest, so it is wider than plain
noise where a count is not told, as may be all if the prior is wrong. The promise of single_prior is weaker,
as above; data are drawn from the prior.""",
}


def draws(told: Certified, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return errors of tables (one row each, of the measured cells), and which are told exactly."""
    flat = counts.ravel()
    ends = tuple(np.tile(end, len(flat) // len(end)) for end in told.intervals)
    values, exact = draw_certified(flat, replace(told, intervals=ends))
    return (values - flat).reshape(counts.shape), exact.reshape(counts.shape)


def told_by_accessor(told: Certified, counts: np.ndarray, seed: int) -> tuple[Any, Any]:
    """Return one release through the accessor, and through the kernel, of the same noise."""
    frame = pd.DataFrame({"x": np.repeat(np.arange(len(counts)), counts)})
    rows = frame.blowfish.protect(bf.Policy(bf.Domain((integers("x", 0, len(counts) - 1),))), epsilon=1)
    asked = {"epsilon": told.epsilon, "strategy": told.kind, "prior": list(told.prior), "alpha": told.alpha}
    with bf.testing.replay(seed):
        released = rows.blowfish.hist("x", **asked, post=False)
    with bf.testing.replay(seed):
        values, exact = draw_certified(counts, told)
    return released[["count", "exact"]].to_numpy(dtype=float), np.column_stack([values, exact])


def one_count(size: Size) -> list[Found]:
    """Print table 1: one of two complementary counts."""
    settings = list(
        itertools.product(
            size.some((10**3, 10**4, 10**5), (10**3, 10**4)),
            size.some(("0.1", "0.5", "1"), ("0.1", "1")),
            (Fraction(1, 10), Fraction(1, 2)),
        )
    )
    rng, rows, every, pairs, apart = np.random.default_rng(1), [], [], [], 0.0
    for n, epsilon, q in progress(settings, "one count"):
        plans = {
            "single_prior": certify("single_prior", [q, 1 - q], n, epsilon),
            "hedging": certify("hedging", [q, 1 - q], n, epsilon, ALPHA),
        }
        first = np.array([int(n * q), n - int(n * q)])
        pairs += [told_by_accessor(told, first, len(pairs)) for told in plans.values()]
        for data, share in (("right", q), ("wrong", odds_times(q, WRONG))):
            counts = rng.binomial(n, float(share), (size.runs, 1))
            scale = 1 / Fraction(epsilon)
            plain = Found.of(discrete_laplace(scale, size.runs), geometric(scale))
            every.append(plain)
            row = [f"{n:,}", epsilon, f"{float(q):g}", data, str(plain), root(plain.expected)]
            for told in plans.values():
                low, high = (int(end[0]) for end in told.intervals)
                law = moments(share, n, low, high, told.rate)
                errors, exact = draws(told, counts)
                found = Found.of(errors, law)
                every.append(found)
                if data == "right":
                    apart = max(apart, abs(law.second - float(told.variances[0])) / plain.expected)
                row += [str(found), root(law.second), f"{exact.mean():.1%}"]
                row.append(root(law.second / plain.expected))
            rows.append(row)
    print(f"\n### 1. One count: two complementary cells, {size.runs:,} releases\n")
    heads = ["rows", "epsilon", "q", "prior", "plain", "expected"]
    for name in ("single_prior", "hedging"):
        heads += [name, "expected", "told exactly", "/ plain"]
    table(heads, rows)
    print(NOTES["count"])
    print(f"Squared errors expected by plans: within {percent(apart)} of plain noise's of the exact sums.")
    print(f"{verdict(every)}\n{same(pairs)}", flush=True)
    return every


def histograms(size: Size) -> list[Found]:
    """Print table 2: cells of a histogram."""
    settings = list(
        itertools.product(
            (3, 10, 100),
            ("even", "uneven"),
            size.some((10**4, 10**6), (10**4,)),
            size.some(("0.1", "1"), ("1",)),
        )
    )
    rng, rows, every, pairs, noise = np.random.default_rng(2), [], [], [], []
    for cells, shape, n, epsilon in progress(settings, "histograms"):
        weights = [3 if shape == "uneven" and 2 * cell < cells else 1 for cell in range(cells)]
        prior = [Fraction(weight, sum(weights)) for weight in weights]
        told = certify("single_prior", prior, n, epsilon)
        hedged = certify("hedging", prior, n, epsilon, ALPHA)
        runs = max(2, size.runs // cells)
        counts = rng.multinomial(n, [float(q) for q in prior], runs)
        if n <= 10**4:
            pairs.append(told_by_accessor(told, counts[0], len(pairs)))
        laws = _each_once(told, prior, n)
        law = Moments(*(float(np.mean([getattr(each, name) for each in laws])) for name in vars(laws[0])))
        scale = 2 / Fraction(epsilon)
        with bf.testing.replay(len(noise)):
            plain = discrete_laplace(scale, runs * cells).reshape(counts.shape)
        with bf.testing.replay(len(noise)):
            same_noise, any_exact = draws(hedged, counts)
        noise.append(1 / hedged.rate == scale and np.array_equal(plain, same_noise) and not any_exact.any())
        errors, exact = draws(told, counts)
        found = [Found.of(plain, geometric(scale), cells), Found.of(errors, law, cells)]
        every += [*found, Found.of(same_noise, geometric(scale), cells)]
        share = float((told.epsilon - 2 * told.rate) / told.epsilon)
        untold = geometric(1 / told.rate).second
        row = [str(cells), shape, f"{n:,}", epsilon, str(found[0]), root(found[0].expected), percent(share)]
        row += [str(found[1]), root(law.second), f"{exact.mean():.1%}", root(law.second / found[0].expected)]
        rows.append([*row, root(untold / found[0].expected), str(every[-1])])
    print(f"\n### 2. Histograms: error of a cell, {size.runs:,} draws\n")
    heads = ["cells", "shares", "rows", "epsilon", "plain, epsilon / 2 a cell", "expected", "for telling"]
    heads += ["single_prior", "expected", "told exactly", "/ plain", "/ plain where not told", "hedging"]
    table(heads, rows)
    print(NOTES["hist"])
    print(line("Hedging of 3 or more cells is plain noise, draw by draw", noise))
    print(f"{verdict(every)}\n{same(pairs)}", flush=True)
    return every


def _each_once(told: Certified, prior: Sequence[Fraction], n: int) -> list[Moments]:
    """Return the law of each cell's error, equal cells summed up once."""
    keys = [(q, int(low), int(high)) for q, low, high in zip(prior, *told.intervals, strict=True)]
    known = {key: moments(key[0], n, *key[1:], told.rate) for key in set(keys)}
    return [known[key] for key in keys]
