"""Attacks releases with what is public: averaging with known sums, and telling two neighbours apart.

Run: python benchmarks/attack.py [--quick]. "plain" ignores the facts (noise for one moved row), "ours" has
them in the policy. The first table is the papers' example: x1+x2, x2+x3, ... are known, so that every noisy
count is one more estimate of x1, and the attacker averages them; "least" is the variance below which no
unbiased estimate can fall if the promise holds (Chapman-Robbins: 1 / (e^eps + e^-eps - 2), neighbours that
differ by 1 in x1). The second has the attacker say which of two neighbouring tables a release came from; no
attack on a release that keeps the promise is right more often than e^eps / (1 + e^eps).
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from ranges import progress, table

import pandas_blowfish as bf
from pandas_blowfish.policy.domain import Domain, integers

EPSILON = 1
LEAST = 1 / (np.exp(EPSILON) + np.exp(-EPSILON) - 2)
MOST = np.exp(EPSILON) / (1 + np.exp(EPSILON))


def chain(cells: int, known: bool) -> bf.Policy:
    """Return one column whose neighbouring cells have public sums, stated or not."""
    facts = [bf.Count(f"x in [{n}, {n + 1}]") for n in range(cells - 1)]
    return bf.Policy(Domain((integers("x", 0, cells - 1),)), constraints=facts if known else ())


def crossed(cells: int, known: bool) -> bf.Policy:
    """Return two columns of which one has a public marginal, stated or not."""
    domain = Domain((integers("x", 0, cells - 1), integers("y", 0, 1)))
    return bf.Policy(domain, constraints=[bf.Marginal("x")] if known else ())


def counts(policy: bf.Policy, columns: list[str], tables: list[np.ndarray], runs: int) -> list[np.ndarray]:
    """Return noisy counts of some tables, so many releases each, the row count alone made to fit."""
    found = []
    sizes = [policy.domain[column].size for column in columns]
    for cells in tables:
        codes = np.unravel_index(np.repeat(np.arange(cells.size), cells.ravel()), sizes)
        frame = pd.DataFrame(dict(zip(columns, codes, strict=True))).blowfish.protect(policy, epsilon=runs)
        release = frame.blowfish.hist
        asked = {"epsilon": EPSILON, "post": False, "strategy": "identity"}
        found.append(np.stack([release(columns, **asked)["count"].to_numpy() for _ in range(runs)]))
    return found


def averaged(noisy: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the attacker's estimates of x1: each count and the known sums give one, all are averaged."""
    sums = truth[:-1] + truth[1:]
    sign = (-1.0) ** np.arange(len(truth))
    offset = np.concatenate([[0.0], np.cumsum(sign[:-1] * sums)])  # x1 = offset + sign x_j
    return np.asarray((offset + sign * noisy).mean(axis=1))


def told_apart(noisy: list[np.ndarray], tables: list[np.ndarray], scale: float) -> float:
    """Return how often the likelier of two tables is the one that was released."""
    one, two = (each.ravel() for each in tables)
    right = 0.0
    for truth, seen in enumerate(noisy):
        score = (np.abs(seen - one) - np.abs(seen - two)).sum(axis=1) / scale
        guess = np.where(score == 0, 0.5, score > 0)
        right += float((guess if truth else 1 - guess).mean()) / 2
    return right


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few runs of small tables")
    quick = parser.parse_args().quick
    runs, sizes = (40, [4, 16]) if quick else (400, [4, 16, 64, 256])
    rng = np.random.default_rng(6)
    rows, pairs = [], []
    for cells in progress(sizes, "chain"):
        truth = rng.integers(20, 60, cells)
        other = truth + (-1) ** np.arange(cells)
        shown = [str(cells)]
        for known in (False, True):
            policy = chain(cells, known)
            noisy = counts(policy, ["x"], [truth, other], runs)
            variance = float(np.var(averaged(noisy[0], truth)))
            plan = policy.plan.hist("x", epsilon=EPSILON, strategy="identity")
            shown += [str(plan.sensitivity), f"{variance:.3g}"]
            share = told_apart(noisy, [truth, other], float(plan.scale))
            pairs.append(
                (f"chain of {cells}", "ours" if known else "plain", str(plan.sensitivity), f"{share:.1%}")
            )
        rows.append((*shown, f"{LEAST:.3g}"))
    for cells in progress(sizes, "marginal"):
        truth = rng.integers(20, 60, (cells, 2))
        other = truth.copy()
        other[:, 0] -= 1
        other[:, 1] += 1
        other = np.where(np.arange(cells)[:, None] % 2, 2 * truth - other, other)
        for known in (False, True):
            policy = crossed(cells, known)
            noisy = counts(policy, ["x", "y"], [truth, other], runs)
            plan = policy.plan.hist(["x", "y"], epsilon=EPSILON, strategy="identity")
            share = told_apart(noisy, [truth, other], float(plan.scale))
            named = f"marginal of {cells}"
            pairs.append((named, "ours" if known else "plain", str(plan.sensitivity), f"{share:.1%}"))
    print(f"\nVariance of the averaged estimate of x1, epsilon {EPSILON}, {runs} releases\n")
    heads = ("cells", "plain: sensitivity", "plain: variance", "ours: sensitivity", "ours: variance", "least")
    table(heads, rows)
    print(f"\nHow often two neighbours are told apart, epsilon {EPSILON}, {2 * runs} releases")
    print(f"A release that keeps its promise: at most {MOST:.1%}\n")
    table(("what is known", "noise", "sensitivity", "right"), pairs)


if __name__ == "__main__":
    main()
