"""The questions that are asked most, beside the best mechanisms that are known for them, at an equal promise.

Run: python benchmarks/best_known.py [--row NAME ...] [--quick]. Each row has the library's figure of today,
that of version 0.1, and the best known, worked out in the same run by `references/` (each checks itself
first). Expected squared error per answer at epsilon 1 unless the row states otherwise. Rows about real
columns read ../shared/data and are left out where it is absent. --quick: smaller or fewer cases; figures of
version 0.1 are then not comparable.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from marginals import adult_sizes
from ranges import FULL, Theta, policy_of, progress, table
from references import balls, optimise, selection, transport

import pandas_blowfish as bf
from pandas_blowfish.plan.shape.one_thread import one_thread
from pandas_blowfish.policy.domain import Domain, integers

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
ENOUGH = 1.05  # times the best known


@dataclass(frozen=True)
class Case:
    """A line of the table: what is asked, our figure, that of version 0.1, the best known, and by what."""

    asked: str
    ours: float
    first: str
    best: float
    how: str


def tables_policy(sizes: list[int], **options: object) -> bf.Policy:
    """Return a policy of several columns of whole numbers."""
    domain = Domain(tuple(integers(f"c{place}", 0, size - 1) for place, size in enumerate(sizes)))
    return bf.Policy(domain, **options)


def atoms_of(cells: int, theta: int, stops: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where atoms between given cuts begin, and the pairs of them that an edge joins."""
    starts = np.unique(np.concatenate([[0], stops[stops < cells]]))
    ends = np.append(starts[1:], cells)
    low, high = np.triu_indices(len(starts), 1)
    near = starts[high] - (ends[low] - 1) <= theta
    return starts, np.column_stack([low[near], high[near]])


def least_listed(queries: np.ndarray, edges: np.ndarray, *, quick: bool) -> float:
    """Return the least error that descent finds for queries over atoms, from three starts."""
    gram, cells = optimise.list_gram(queries), queries.shape[1]
    prefixes = np.tril(np.ones((cells, cells)))[:-1]
    loads = np.zeros(len(queries))
    for row, query in enumerate(queries):
        loads[row] = np.abs(query[edges[:, 0]] - query[edges[:, 1]]).max()
    direct = queries / np.maximum(loads, 1)[:, None]
    starts = [direct, prefixes, np.vstack([direct, 0.3 * prefixes])]
    random = np.random.default_rng(1)
    found = [
        optimise.by_edges(gram, edges, start + random.normal(0, 1e-4, start.shape), steps=30 if quick else 80)
        for start in starts
    ]
    return min(optimise.error_of(rows, gram, edges) for rows in [*found, *starts])


def listed(*, quick: bool) -> Iterator[Case]:
    """Listed ranges under thresholds."""
    for cells, theta, many, first in ((4_096, 16, 20, "32.3"), (1_024, 4, 10, "16.0")):
        for seed in range(1 if quick else 3):
            ends = np.sort(np.random.default_rng(seed).integers(0, cells, (many, 2)), axis=1)
            planner = policy_of(cells, theta).plan
            ours = planner.range("x", [tuple(pair) for pair in ends.tolist()], epsilon=1).mse
            starts, edges = atoms_of(cells, theta, np.concatenate([ends[:, 0], ends[:, 1] + 1]))
            inside = (ends[:, :1] <= starts) & (starts <= ends[:, 1:])
            best = least_listed(inside.astype(float), edges, quick=quick)
            whole = (ends[:, :1] <= np.arange(cells)) & (np.arange(cells) <= ends[:, 1:])
            own = planner.workload(whole.astype(np.int64), "x", epsilon=1).mse
            label = f"{many} ranges of {cells:,} cells, threshold {theta}, draw {seed + 1}"
            how = "numerically optimised rows" if best < own else "own `workload`"
            yield Case(label, ours, first, min(best, own), how)


def binned(*, quick: bool) -> Iterator[Case]:
    """Coarse histograms under thresholds: at most twice the best in version 0.1."""
    for cells, bins, theta in ((1_024, 8, 16), (1_024, 32, 16), (1_024, 32, 64), (256, 16, 4))[
        : 2 if quick else None
    ]:
        edges = np.linspace(0, cells, bins + 1).astype(int)
        planner = policy_of(cells, theta).plan
        ours = planner.hist("x", bins=bins, epsilon=1).mse
        starts, pairs = atoms_of(cells, theta, edges)
        best = least_listed(np.eye(len(starts)), pairs, quick=quick)
        whole = np.repeat(np.eye(bins, dtype=np.int64), np.diff(edges), axis=1)
        own = planner.workload(whole, "x", epsilon=1).mse
        how = "numerically optimised rows" if best < own else "own `workload`"
        yield Case(
            f"`hist` of {cells:,} cells in {bins} bins, threshold {theta}", ours, "-", min(best, own), how
        )


def incomes() -> np.ndarray | None:
    """Return incomes of ACS in units of $100 as whole numbers up to 5,000."""
    path = DATA / "acs_nist_national2019.csv.gz"
    if not path.is_file():
        return None
    income = pd.to_numeric(pd.read_csv(path)["PINCP"], errors="coerce").dropna() / 100
    return income.round().clip(0, 5_000).to_numpy().astype(np.int64)


def quantiles(*, quick: bool) -> Iterator[Case]:
    """Rank errors of one quantile and of three, seeded."""
    values = incomes()
    if values is None:
        print("acs_nist_national2019.csv.gz is absent: quantiles are left out")
        return
    counts, runs = np.bincount(values, minlength=5_001), 10 if quick else 40
    df = pd.DataFrame({"x": values}).blowfish.protect(policy_of(5_001, FULL), epsilon=10**6)
    random = np.random.default_rng(20261118)
    for shares, first in (([0.25], "86 to 108"), ([0.5], "86 to 108"), ([0.25, 0.5, 0.75], "137")):
        away = np.array([selection.distances(counts, share) for share in shares])
        found = []
        with bf.testing.replay(7):
            for _ in range(runs):
                picked = df.blowfish.quantile("x", shares, epsilon="0.1")["value"].to_numpy()
                cells = np.clip(np.rint(picked), 0, 5_000).astype(int)
                found.append(away[np.arange(len(shares)), cells].mean())
        best, how = (
            selection.rank_error(random, counts, shares, 0.1, 20 * runs),
            "permute-and-flip over cells",
        )
        if len(shares) == 3:
            best, how = selection.quartile_error(random, counts, 0.1, 20 * runs), f"{how}, by halves"
        where = f"5,001 cells, {len(values):,} rows, epsilon 0.1"
        label = f"quantile {', '.join(map(str, shares))}: rows between, {where}"
        yield Case(label, float(np.mean(found)), first, best, how)


def columns(*, quick: bool) -> Iterator[Case]:
    """One-way tables of two-valued columns."""
    for many, first in ((20, "720"), (50, "4,466"))[: 1 if quick else None]:
        plan = tables_policy([2] * many).plan.marginal([[f"c{place}"] for place in range(many)], epsilon=1)
        yield Case(
            f"1-way tables of {many} two-valued columns", plan.mse, first, balls.box_error(many), "box noise"
        )


def totals(*, quick: bool) -> Iterator[Case]:
    """Sums of columns with values from 0 to 99; the factor is that of version 0.1."""
    for many in (2, 5, 10, 20)[: 2 if quick else None]:
        plan = tables_policy([100] * many).plan.sum([f"c{place}" for place in range(many)], epsilon=1)
        best = balls.box_error(many, 1 / 99)
        yield Case(
            f"sums of {many} columns, 0 to 99", plan.mse, f"{2 * (99 * many) ** 2:,}", best, "box noise"
        )


def split_blocks(sizes: list[int]) -> float:
    """Return the least error of 1-way tables, cliques that share radii in groups, epsilon split among groups.

    Groups are neighbours by size; errors fall with the square of a share, so that shares go with third roots.
    """
    sizes, best = sorted(sizes), np.inf
    known: dict[tuple[int, ...], float] = {}
    for number in range(2 ** (len(sizes) - 1)):
        cuts = [0, *(place for place in range(1, len(sizes)) if number >> (place - 1) & 1), len(sizes)]
        groups = [tuple(sizes[low:high]) for low, high in pairwise(cuts)]
        roots = []
        for group in groups:
            if group not in known:
                share = 1 / len(sizes)  # about what a group gets
                known[group] = balls.blocks_error(group, 0, share) * sum(group) * share**2
            roots.append(known[group] ** (1 / 3))
        best = min(best, sum(roots) ** 3 / sum(sizes))
    return best


def adult(*, quick: bool) -> Iterator[Case]:
    """One-way tables of the categorical columns of adult."""
    del quick
    sizes = adult_sizes()
    if sizes is None:
        print("adult.csv.gz is absent: its tables are left out")
        return
    plan = tables_policy(sizes).plan.marginal([[f"c{place}"] for place in range(len(sizes))], epsilon=1)
    yield Case(
        "adult, 1-way tables of 8 columns",
        plan.mse,
        "334",
        split_blocks(sizes),
        "cliques in groups of columns",
    )


def cells(*, quick: bool) -> Iterator[Case]:
    """Histograms of few cells."""
    del quick
    for many, first in ((3, "5.22"), (4, "5.88"), (10, "7.05")):
        plan = policy_of(many, FULL).plan.hist("x", epsilon=1)
        yield Case(f"`hist` of {many} cells, full", plan.mse, first, balls.clique_error(many), "clique noise")


def least_curves(many: int, theta: Theta, *, prefixes: bool, quick: bool) -> float:
    """Return the least error over all ranges, or prefixes, that descent finds."""
    gram = optimise.prefix_gram(many) if prefixes else optimise.range_gram(many)
    random, found = np.random.default_rng(0), []
    every = optimise.edges_of(many, many if theta == FULL else int(theta))
    for branching in (4,) if quick or many > 256 else (4, 16):
        start = optimise.tree(many, branching)
        start = start + random.normal(0, 0.003, start.shape)
        steps = 60 if quick or many > 256 else 200
        found.append(optimise.by_columns(gram, start, steps))
    rows = min(found, key=lambda each: optimise.error_of(each, gram, every))
    best = optimise.error_of(rows, gram, every)
    if theta == FULL:
        return best
    apart = every[:, 1] - every[:, 0]
    lengths = {
        length for power in range(12) for length in (2**power, 3 * 2**power, 5 * 2**power, 7 * 2**power)
    }
    some = (apart >= 0.9 * int(theta)) | np.isin(apart, sorted(lengths))
    for _ in range(1 if quick else 3):
        rows = optimise.by_edges(gram, every[some], rows, steps=30 if quick else 60)
        best = min(best, optimise.error_of(rows, gram, every))
        losses = np.concatenate(
            [
                np.abs(rows[:, part[:, 0]] - rows[:, part[:, 1]]).sum(axis=0)
                for part in np.array_split(every, max(len(every) // 4_096, 1))
            ]
        )
        some |= losses > 0.995 * losses[some].max()  # edges that were left out and now lose most
    return best


def curves(*, quick: bool) -> Iterator[Case]:
    """All ranges and cumulative counts under wide policies."""
    asked: list[tuple[int, Theta, bool, str]] = [
        (256, 64, False, "218"),
        (256, FULL, False, "218"),
        (256, 64, True, "129"),
        (256, FULL, True, "159"),
        (1_024, FULL, False, "463"),
    ]
    if quick:
        asked = [(64, 16, False, "-"), (64, FULL, False, "-"), (64, 16, True, "-")]
    for many, theta, prefixes, first in asked:
        planner = policy_of(many, theta).plan
        plan = planner.cumhist("x", epsilon=1) if prefixes else planner.range("x", "all", epsilon=1)
        best = least_curves(many, theta, prefixes=prefixes, quick=quick)
        what = "`cumhist`" if prefixes else "all ranges"
        limit = "full" if theta == FULL else f"threshold {theta}"
        yield Case(f"{what}, {many:,} cells, {limit}", plan.mse, first, best, "numerically optimised rows")


def thresholds(*, quick: bool) -> Iterator[Case]:
    """All ranges and cumulative counts under small thresholds."""
    many = 256 if quick else 4_096
    for theta, prefixes, first in ((2, False, "15.7"), (4, False, "40.8"), (4, True, "20.4")):
        best = (transport.prefix_error if prefixes else transport.range_error)(many, theta)
        what = "`cumhist`" if prefixes else "all ranges"
        for strategy in ("auto",):
            planner, given = policy_of(many, theta).plan, {"epsilon": 1, "strategy": strategy}
            plan = planner.cumhist("x", **given) if prefixes else planner.range("x", "all", **given)
            label = f"{what}, {many:,} cells, threshold {theta}, strategy {strategy}"
            yield Case(label, plan.mse, first, best, "transport noise")


def means(*, quick: bool) -> Iterator[Case]:
    """Means of heavy-tailed columns whose bounds are far too wide: root mean squared error."""
    runs = 20 if quick else 100
    for name, column, scale, high in (
        ("adult", "capital_loss", 1, 99_999),
        ("nyc_taxis_2019", "total", 100, 999_999),
    ):
        path = DATA / f"{name}.csv.gz"
        if not path.is_file():
            print(f"{path.name} is absent: the mean of its {column} is left out")
            continue
        values = (
            (pd.read_csv(path)[column].dropna() * scale).round().clip(0, high).to_numpy().astype(np.int64)
        )
        df = pd.DataFrame({"x": values}).blowfish.protect(policy_of(high + 1, FULL), epsilon=10**6)
        for epsilon in (0.1, 1.0):
            with bf.testing.replay(11):
                found = [clipped_mean(df, epsilon) - values.mean() for _ in range(runs)]
            random = np.random.default_rng(20261118)
            best = selection.clipped_mean_error(random, values, high, epsilon, 50 * runs)
            plain = float(df.blowfish.plan.mean("x", epsilon=epsilon).std[0])
            label = f'`mean` of {column} within 0 to {high:,}, {len(values):,} rows, `clip="auto"`, '
            label += f"epsilon {epsilon:g}: rmse (without clip {shown(plain)})"
            ours = float(np.sqrt(np.mean(np.square(found))))
            yield Case(
                label, ours, f"{2**0.5 * high / len(values) / epsilon:.3g}", best, "a private clip first"
            )


def clipped_mean(df: pd.DataFrame, epsilon: float) -> float:
    """Return the library's mean by a private clip."""
    found = df.blowfish.mean("x", epsilon=epsilon, clip="auto")
    return float(found["value"].iloc[0])


def components(*, quick: bool) -> Iterator[Case]:
    """Policies whose connected parts have different sizes: each part by itself, as if it were alone."""
    del quick
    for sizes in ((4, 16, 64, 256), (8, 128), (2, 2, 2, 64)):
        starts = np.append(0, np.cumsum(sizes)).tolist()
        groups = [list(range(low, high)) for low, high in pairwise(starts)]
        domain = Domain((integers("x", 0, starts[-1] - 1),))
        policy = bf.Policy(domain, secrets={"x": bf.partition(groups)})
        for verb in ("cumhist", "hist"):
            ours = getattr(policy.plan, verb)("x", epsilon=1).mse
            alone = [getattr(policy_of(size, FULL).plan, verb)("x", epsilon=1).mse for size in sizes]
            best = float(np.average(alone, weights=sizes))
            label = f"`{verb}`, groups of {', '.join(map(str, sizes))}"
            yield Case(label, ours, "1.07 to 1.22 times", best, "own plan of each group")


ROWS: dict[str, Callable[..., Iterator[Case]]] = {
    "ranges": listed,
    "bins": binned,
    "quantiles": quantiles,
    "columns": columns,
    "totals": totals,
    "adult": adult,
    "cells": cells,
    "curves": curves,
    "thresholds": thresholds,
    "means": means,
    "components": components,
}


def shown(value: float) -> str:
    """Return a figure with the digits that matter."""
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.3g}"


def main() -> None:
    """Check the references, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--row", nargs="+", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--quick", action="store_true", help="fewer runs, smaller cases")
    given = parser.parse_args()
    for reference in (balls, selection, transport, optimise):
        reference.check()
    found: list[tuple[str, Case, float]] = []
    for name in progress(given.row, "row"):
        start = time.perf_counter()
        with one_thread():  # matrices are small: threads would wait for each other
            cases = list(ROWS[name](quick=given.quick))
        seconds = (time.perf_counter() - start) / max(len(cases), 1)
        found += [(name, case, seconds) for case in cases]
    print("\nExpected squared error per answer at epsilon 1 unless stated; at most 1.05 times is wanted.\n")
    rows = []
    for name, case, _ in found:
        factor = case.ours / case.best
        mark = f"{factor:.2f}" if factor <= ENOUGH else f"**{factor:.2f}**"
        rows.append((name, case.asked, shown(case.ours), case.first, shown(case.best), case.how, mark))
    table(("row", "question", "ours", "version 0.1", "best known", "by", "factor"), rows)


if __name__ == "__main__":
    main()
