"""Measures how wrong all 2-way marginals are, expected at epsilon 1, against other ways to measure them.

Run: python benchmarks/marginals.py [--quick]. Columns: the eight categorical columns of adult (skipped where
the shared data is absent), and 20 synthetic ones. Policies: full, attribute, partition.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from fractions import Fraction
from pathlib import Path

import pandas as pd
from ranges import progress, table

import pandas_blowfish as bf
from pandas_blowfish.plan.scales import variance
from pandas_blowfish.policy.domain import Domain, integers

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult.csv.gz"
CATEGORIES = (
    "workclass",
    "education",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native_country",
)


def adult_sizes() -> list[int] | None:
    """Return how many values each categorical column of adult has, '?' included."""
    if not DATA.is_file():
        return None
    frame = pd.read_csv(DATA)
    names = [name for name in CATEGORIES if name in frame.columns]
    names = names or [c for c in frame.columns if c.replace("-", "_") in CATEGORIES]
    return [int(frame[name].nunique(dropna=False)) for name in names]


def policy_of(sizes: list[int], kind: str) -> bf.Policy:
    """Return a policy on columns of whole numbers: full, attribute, or partitions into two groups."""
    domain = Domain(tuple(integers(f"c{place}", 0, size - 1) for place, size in enumerate(sizes)))
    if kind == "partition":
        halves = {
            f"c{p}": [list(range(n // 2)), list(range(n // 2, n))] for p, n in enumerate(sizes) if n > 3
        }
        return bf.Policy(domain, secrets={name: bf.partition(groups) for name, groups in halves.items()})
    return bf.Policy(domain, neighbors="attribute" if kind == "attribute" else "record")


def even_laplace(plan: bf.Plan) -> float:
    """Return the error of the asked tables by themselves, all with one scale, used one by one."""
    return variance(plan.measurement.table_scales[0])


def joint(sizes: list[int], tables: list[tuple[int, ...]]) -> float:
    """Return the error of tables summed from one histogram of all columns, with its exact total."""
    cells = math.prod(sizes)
    each = [variance(Fraction(2)) * cells / (n := math.prod(sizes[p] for p in t)) * (n - 1) for t in tables]
    return sum(each) / sum(math.prod(sizes[p] for p in t) for t in tables)


def uniform(policy: bf.Policy, plan: bf.Plan, tables: list[tuple[int, ...]]) -> float:
    """Return the best error of tables with one weight and least squares: those asked for, or all within."""
    within = {part for t in tables for n in range(1, len(t) + 1) for part in itertools.combinations(t, n)}
    forms = [sorted(within), sorted(set(tables))]
    made = [
        plan.asked[0].reread(policy, Fraction(1), "residual", {"tables": [[t, (), 1] for t in each]})
        for each in forms
    ]
    return min(each.mse for each in made)


def bound(sizes: list[int], tables: list[tuple[int, ...]], kind: str) -> float:
    """Return a mean squared error that no measured matrix with Laplace noise is below.

    The error is at least 2 (sum of the singular values of W P_G)^2 / (edges * answers), for the policy's
    graph or any part of its edges. W^T W and the graphs here have the effects of sets of columns as common
    eigenvectors. For `partition` the part is one combination of the largest groups.
    """
    answers = sum(math.prod(sizes[p] for p in t) for t in tables)
    if kind == "partition":
        sizes = [n - n // 2 if n > 3 else n for n in sizes]
    logs = [math.log(n) for n in sizes]
    effects = {part for t in tables for n in range(1, len(t) + 1) for part in itertools.combinations(t, n)}
    found = []
    for graph in ("attribute",) if kind == "attribute" else ("full", "all differ"):
        total = 0.0  # in units of the number of cells, which may be beyond floats
        for effect in effects:
            gram = sum(
                math.exp(-sum(logs[p] for p in t)) for t in tables if set(effect) <= set(t)
            )  # times the cells
            if graph == "full":
                spread = 1.0  # times the cells; edges are cells^2 / 2
            elif graph == "attribute":
                spread = float(sum(sizes[p] for p in effect))  # edges are cells * sum(n - 1) / 2
            else:
                sign = math.prod(-1 / (sizes[p] - 1) for p in effect)
                spread = 1 - sign  # times the degree; edges are cells * degree / 2
            total += math.prod(sizes[p] - 1 for p in effect) * math.sqrt(gram * spread)
        degree = sum(n - 1 for n in sizes) if graph == "attribute" else 1
        found.append(2 * total**2 / (degree / 2) / answers)
    return max(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and smaller columns")
    quick = parser.parse_args().quick
    spread = [2, 2, 2, 3, 3, 4, 4, 5, 5, 6, 8, 8, 10, 10, 12, 16, 20, 24, 32, 50]
    sets = {"10 values x 20": [10] * 20, "2 to 50 values x 20": spread, "2 values x 20": [2] * 20}
    if quick:
        sets = {"10 values x 8": [10] * 8, "2 to 20 values x 8": [2, 2, 3, 4, 6, 8, 12, 20]}
    sizes = adult_sizes()
    if sizes is None:
        print("skipping adult: ../shared/data/adult.csv.gz is absent")
    else:
        sets = {f"adult ({len(sizes)} columns)": sizes, **sets}
    rows = []
    cases = [(name, kind) for name in sets for kind in ("full", "attribute", "partition")]
    for name, kind in progress(cases, "plan"):
        sizes = sets[name]
        policy = policy_of(sizes, kind)
        columns, tables = list(policy.domain.columns), list(itertools.combinations(range(len(sizes)), 2))
        start = time.perf_counter()
        plan = policy.plan.marginal(columns, order=2, epsilon=1)
        seconds = time.perf_counter() - start
        even = policy.plan.marginal(columns, order=2, epsilon=1, strategy="even")
        others = [even_laplace(even), joint(sizes, tables), uniform(policy, even, tables)]
        factors = [f"{each / plan.mse:.3g}" for each in others]
        shown = [f"{each:.4g}" for each in (*others, plan.mse)]
        rows.append((name, kind, *shown, *factors, f"{bound(sizes, tables, kind):.3g}", f"{seconds:.1f}"))
    print("\nExpected squared error a count, all 2-way marginals, epsilon 1; lower is better.\n")
    heads = ("columns", "policy", "Laplace, even", "joint", "uniform residual", "ours")
    table((*heads, "even / ours", "joint / ours", "uniform / ours", "bound", "plan, s"), rows)


if __name__ == "__main__":
    main()
