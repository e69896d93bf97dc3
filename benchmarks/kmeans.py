"""How good and how fast released clusters are, beside other private k-means.

Run: python benchmarks/kmeans.py [--quick] [--data NAME ...] [--speed] [--calibrate] [--columns].
The score is the sum of squared distances to the nearest centre over the least of 10 non-private runs; each
cell is 20 runs (mean, quartiles, standard error). "lloyd" is a private Lloyd with the sound sensitivity of
the policy, its settings chosen on these very data; "diffprivlib" is at the same epsilon, for which it hides
the presence of a row (it needs epsilon / 2 to hide its value, as all others here do: "at half"). "paper" is
Lemma 6.1's calibration, which does not keep the promise: reported, no competitor. --calibrate compares the
plans' expected distortion with what mixtures of normal clusters show, --columns is about many columns.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import kmeans_peers as peers
import numpy as np
import pandas as pd
from kmeans_data import Dataset, datasets
from ranges import progress, table

import pandas_blowfish as bf
from pandas_blowfish.policy.attribute import Grid
from pandas_blowfish.policy.domain import Domain, integers

K = 4
RUNS = 20
EPSILONS = ("0.1", "0.2", "0.5", "1")
CELLS = 64  # of a column of real values
THETAS, SIDES = (256, 128, 64, 32), (64, 32)


@dataclass(frozen=True)
class Case:
    """A policy in words and as the peers take it; lengths in 256ths of a column."""

    name: str
    kind: str
    length: int = 0


CASES = (
    Case("full", "full"),
    Case("attribute", "attribute"),
    *(Case(f"theta {theta}", "threshold", theta) for theta in THETAS),
    *(Case(f"cubes of {side}", "partition", side) for side in SIDES),
)


def real(name: str) -> Grid:
    """Return a column of real values in (0, 1), in 64 bins."""
    return Grid(name, "float", False, Fraction(0), Fraction(1), Fraction(1, CELLS), open_high=True)


def domain_of(data: Dataset) -> Domain:
    """Return the declared cells: whole numbers, or 64 bins of real ones."""
    names = [f"x{number}" for number in range(data.points.shape[1])]
    if data.step:
        pairs = zip(names, data.low, data.high, strict=True)
        return Domain(tuple(integers(name, int(low), int(high)) for name, low, high in pairs))
    return Domain(tuple(real(name) for name in names))


def policy_of(data: Dataset, case: Case) -> bf.Policy:
    """Return the policy of a case."""
    domain = domain_of(data)
    columns = domain.columns
    length = case.length if data.step else Fraction(case.length, 256)
    if case.kind == "threshold":
        return bf.Policy(domain, secrets={columns: bf.threshold(length)})
    if case.kind == "partition":
        return bf.Policy(domain, secrets={columns: bf.partition(dict.fromkeys(columns, length))})
    return bf.Policy(domain, neighbors="attribute" if case.kind == "attribute" else "record")


def ours(data: Dataset, case: Case, epsilon: str, runs: int) -> tuple[str, list[float]]:
    """Return the strategy that was chosen, and the scores of some releases."""
    policy, columns = policy_of(data, case), list(domain_of(data).columns)
    values = data.points.astype(np.int64) if data.step else data.points
    frame = pd.DataFrame(values, columns=columns).blowfish.protect(policy, epsilon=10**6)
    found = [frame.blowfish.kmeans(columns, K, epsilon=epsilon) for _ in range(runs)]
    scores = [score(data, each[columns].to_numpy()) for each in found]
    return found[0].attrs["blowfish"]["strategy"], scores


@cache
def least(name: str) -> float:
    return peers.best(loaded()[name].points, K)


@cache
def loaded() -> dict[str, Dataset]:
    return datasets()


def score(data: Dataset, centres: np.ndarray) -> float:
    return peers.objective(data.points, centres) / least(data.name)


def lloyd(data: Dataset, case: Case, epsilon: float, runs: int) -> list[float]:
    """Return the scores of the sound Lloyd under a policy."""
    length = case.length * float((data.high - data.low + data.step)[0]) / 256
    given = {"theta": length, "side": length, "step": data.step}
    sums, sizes = peers.sound_sensitivity(case.kind, data.low, data.high, **given)
    found = []
    for seed in range(runs):
        centres = peers.noisy_lloyd(
            data.points,
            data.low,
            data.high,
            K,
            epsilon,
            np.random.default_rng(seed),
            sum_sensitivity=sums,
            size_sensitivity=sizes,
            side=length if case.kind == "partition" else None,
        )
        found.append(score(data, centres))
    return found


def paper(data: Dataset, case: Case, epsilon: float, runs: int) -> list[float]:
    """Return the scores of the paper's calibration."""
    length = case.length * float((data.high - data.low + data.step)[0]) / 256
    sums = peers.paper_sensitivity(case.kind, data.low, data.high, theta=length, side=length)
    bounds = data.points, data.low, data.high, K, epsilon
    return [
        score(data, peers.paper_lloyd(*bounds, np.random.default_rng(seed), sum_sensitivity=sums))
        for seed in range(runs)
    ]


@cache
def diffprivlib(name: str, epsilon: float, runs: int) -> tuple[float, ...]:
    """Return the scores of diffprivlib, which knows no policies."""
    data = loaded()[name]
    bounds = data.points, data.low, data.high, K, epsilon
    return tuple(score(data, peers.diffprivlib_kmeans(*bounds, seed)) for seed in range(runs))


def error(scores: list[float] | tuple[float, ...]) -> float:
    return float(np.std(scores, ddof=1) / np.sqrt(len(scores)))


def said(scores: list[float] | tuple[float, ...]) -> str:
    return f"{np.mean(scores):.3f} ({error(scores):.3f})"


def accuracy(names: list[str], runs: int) -> None:
    """Print a table a data set: every policy and epsilon, ours beside the others."""
    wrong = 0
    for name in names:
        data = loaded()[name]
        rows = []
        for case, text in progress([(case, each) for case in CASES for each in EPSILONS], name):
            epsilon = float(text)
            strategy, mine = ours(data, case, text, runs)
            others = {
                "lloyd": lloyd(data, case, epsilon, runs),
                "diffprivlib": diffprivlib(name, epsilon, runs),
                "at half": diffprivlib(name, epsilon / 2, runs),
            }
            best = min(others.values(), key=np.mean)
            slack = 2 * np.hypot(error(mine), error(best))
            verdict = (
                "yes"
                if np.mean(mine) <= np.mean(best)
                else "tie"
                if np.mean(mine) <= np.mean(best) + slack
                else "NO"
            )
            wrong += verdict == "NO"
            quartiles = "-".join(f"{each:.3f}" for each in np.quantile(mine, [0.25, 0.75]))
            unsound = said(paper(data, case, epsilon, runs))
            rows.append(
                [
                    case.name,
                    text,
                    strategy,
                    said(mine),
                    quartiles,
                    *map(said, others.values()),
                    verdict,
                    unsound,
                ]
            )
        print(f"\n{name}: {len(data.points):,} rows, {data.points.shape[1]} columns, k = {K}, {runs} runs\n")
        heads = [
            "policy",
            "epsilon",
            "strategy",
            "ours",
            "quartiles",
            "lloyd",
            "diffprivlib",
            "at half",
            "lowest",
        ]
        table([*heads, "paper (unsound)"], rows)
    print(f"cells in which another sound method is lower by more than 2 standard errors: {wrong}")


def columns_table(runs: int) -> None:
    """Print what mixtures of many columns show, strategy by strategy, under full."""
    rows = []
    for columns, many in progress([(d, n) for d in (2, 4, 6, 8, 10) for n in (10_000, 100_000)], "columns"):
        for epsilon in ("0.1", "1"):
            scores: dict[str, list[float]] = {}
            expected, chosen = 0.0, ""
            for seed in range(2):
                points = mixture(many, columns, 0.12, seed)
                names = [f"x{number}" for number in range(columns)]
                domain = Domain(tuple(real(name) for name in names))
                frame = pd.DataFrame(points, columns=names).blowfish.protect(bf.Policy(domain), epsilon=10**6)
                base = peers.best(points, K)
                plan = frame.blowfish.plan.kmeans(names, K, epsilon=epsilon)
                expected, chosen = float(plan.distortion or 0), plan.strategy
                for strategy in ("grid", "adaptive"):
                    for _ in range(runs):
                        centres = frame.blowfish.kmeans(names, K, epsilon=epsilon, strategy=strategy)
                        found = peers.objective(points, centres[names].to_numpy()) / base
                        scores.setdefault(strategy, []).append(found)
            rows.append(
                [
                    str(columns),
                    f"{many:,}",
                    epsilon,
                    chosen,
                    f"{1 + expected:.3f}",
                    *map(said, scores.values()),
                ]
            )
    table(["columns", "rows", "epsilon", "chosen", "expected", "grid", "adaptive"], rows)


def mixture(rows: int, columns: int, spread: float, seed: int) -> np.ndarray:
    """Return four normal clusters in the open unit cube."""
    draw = np.random.default_rng(seed)
    centres = draw.uniform(0, 1, (K, columns))
    points = centres[draw.integers(K, size=rows)] + draw.normal(0, spread, (rows, columns))
    return np.clip(points, 1e-6, 1 - 1e-6)


def calibrate(runs: int) -> None:
    """Print the expected distortion beside that of mixtures, for grids and soft bins."""
    rows = []
    for columns, many in progress([(d, n) for d in (1, 2, 3, 4) for n in (300, 3_000, 30_000)], "calibrate"):
        names = [f"x{number}" for number in range(columns)]
        domain = Domain(tuple(real(name) for name in names))
        for strategy, secret in (("grid", bf.full()), ("soft", bf.threshold(Fraction(1, 16)))):
            scores = []
            policy = bf.Policy(domain, secrets=dict.fromkeys(names, secret))
            for seed in range(3):
                points = mixture(many, columns, 0.12, seed)
                base = peers.best(points, K)
                frame = pd.DataFrame(points, columns=names).blowfish.protect(policy, epsilon=10**6)
                plan = frame.blowfish.plan.kmeans(names, K, epsilon=1, strategy=strategy)
                for _ in range(runs):
                    centres = frame.blowfish.kmeans(names, K, epsilon=1, strategy=strategy)
                    scores.append(peers.objective(points, centres[names].to_numpy()) / base)
            rows.append(
                [
                    str(columns),
                    f"{many:,}",
                    strategy,
                    str(plan.grid),
                    f"{1 + plan.distortion:.3f}",
                    said(scores),
                ]
            )
    table(["columns", "rows, epsilon 1", "strategy", "synopsis", "expected", "found"], rows)


def speed(rows: int) -> None:
    """Print how long a release of many rows takes, over one pass of scikit-learn's Lloyd."""
    from sklearn.cluster import KMeans

    draw = np.random.default_rng(0)
    centres = draw.integers(20, 235, (K, 3))
    points = np.clip(np.rint(centres[draw.integers(K, size=rows)] + draw.normal(0, 25, (rows, 3))), 0, 255)

    def fit(passes: int) -> tuple[float, int]:
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = KMeans(K, init=points[:K], n_init=1, max_iter=passes, tol=0, algorithm="lloyd").fit(points)
        return time.perf_counter() - start, int(made.n_iter_)

    names = ["x0", "x1", "x2"]
    domain = Domain(tuple(integers(name, 0, 255) for name in names))
    frame = pd.DataFrame(points.astype(np.int64), columns=names)
    fit(1)
    once, often = ([fit(passes) for _ in range(4)] for passes in (1, 12))
    whole = min(took for took, _ in once)
    each = (min(took for took, _ in often) - whole) / (often[0][1] - 1)
    secrets = {
        "full": {},
        "theta 32": {tuple(names): bf.threshold(32)},
        "cubes of 32": dict.fromkeys(names, bf.partition(32)),
    }
    found = []
    for name, secret in secrets.items():
        protected = frame.blowfish.protect(bf.Policy(domain, secrets=secret), epsilon=10**6)
        for strategy in ("auto", "grid", "soft", "adaptive", "whole"):
            if strategy == "whole" and name != "cubes of 32":
                continue
            times = []
            for _ in range(4):
                start = time.perf_counter()
                protected.blowfish.kmeans(names, K, epsilon=1, strategy=strategy)
                times.append(time.perf_counter() - start)
            took = min(times)
            found.append([name, strategy, f"{took:.2f} s", f"{took / each:.2f}", f"{took / whole:.2f}"])
    print(f"\n{rows:,} x 3; a Lloyd pass {each:.2f} s, KMeans.fit with one iteration {whole:.2f} s\n")
    table(["policy", "strategy", "release", "over a pass", "over the fit"], found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few runs and rows")
    parser.add_argument("--data", nargs="*", help="names of data sets")
    for extra in ("speed", "calibrate", "columns"):
        parser.add_argument(f"--{extra}", action="store_true")
    given = parser.parse_args()
    runs = 4 if given.quick else RUNS
    if given.speed:
        speed(10**6 if given.quick else 10**7)
    if given.calibrate:
        calibrate(runs // 4)
    if given.columns:
        columns_table(runs // 4)
    if not (given.speed or given.calibrate or given.columns):
        accuracy(given.data or list(loaded()), runs)


if __name__ == "__main__":
    main()
