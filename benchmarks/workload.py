"""Measures what numerical optimisation of the measured rows gains over the best structured strategy.

Run: python benchmarks/workload.py [--quick]. The workload is every range of one column, as a matrix; expected
squared error per query at epsilon 1, noise counted as 2 b^2 (planned at epsilon 1/1000, rescaled).
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from ranges import policy_of, progress, singular_value_bound, table
from scipy.sparse import csr_array

CASES = [(64, 4), (64, 16), (64, "full"), (128, 4), (256, 4), (256, 16), (256, "full")]


def every_range(cells: int) -> csr_array:
    """Return all ranges as rows over the cells."""
    low, high = np.triu_indices(cells)
    place = np.arange(cells)
    return csr_array(((low[:, None] <= place) & (place <= high[:, None])).astype(np.int64))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="16 and 32 cells alone")
    cases = [(16, 4), (32, 4)] if parser.parse_args().quick else CASES
    rows = []
    for cells, theta in progress(cases, "plan"):
        planner = policy_of(cells, theta).plan
        structured = planner.range("x", "all", epsilon="0.001")
        start = time.perf_counter()
        found = planner.workload(every_range(cells), "x", epsilon="0.001", strategy="optimised")
        seconds = time.perf_counter() - start
        errors = structured.mse / 10**6, found.mse / 10**6
        shown = [f"{each:.4g}" for each in (*errors, errors[0] / errors[1])]
        bound = f"{singular_value_bound(cells, theta):.3g}"
        rows.append((str(cells), str(theta), *shown, bound, f"{seconds:.1f}"))
    heads = ("cells", "threshold", "structured", "optimised", "structured / optimised", "bound", "plan, s")
    table(heads, rows)


if __name__ == "__main__":
    main()
