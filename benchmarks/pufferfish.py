"""Measures the error of releases under Pufferfish promises, beside plain geometric noise at the same epsilon.

Run: python benchmarks/pufferfish.py [--runs N] [--quick] [--only TABLE ...].
All data are synthetic; noise is the library's own, replayed from seeds so that a run can be repeated, and
nothing is shaped afterwards. An error is the root of the mean squared error, with its standard error;
"expected" is that of the exact law, summed up here apart from the library. A line under each table says
whether all that was measured is within 4 standard errors of it. Promises differ: a ratio below 1 is no better
mechanism for one promise but less noise for a weaker one, and each table says which.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from pufferfish_correlated import chains, correlated
from pufferfish_counts import histograms, one_count
from pufferfish_laws import RUNS, Found, Size
from pufferfish_sums import margins, totals

import pandas_blowfish as bf

FEW = 2_000  # draws of a row of a quick table
TABLES: dict[str, Callable[[Size], list[Found]]] = {
    "count": one_count,
    "hist": histograms,
    "sum": margins,
    "total": totals,
    "correlated": correlated,
    "chain": chains,
}


def run(name: str, size: Size) -> list[Found]:
    """Print a table, with noise of its own seed."""
    with bf.testing.replay(list(TABLES).index(name)):
        return TABLES[name](size)


def main() -> None:
    """Print the tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, help=f"draws for a row of a table ({RUNS:,})")
    parser.add_argument("--quick", action="store_true", help="few draws and settings")
    parser.add_argument("--only", nargs="+", choices=list(TABLES), default=list(TABLES))
    given = parser.parse_args()
    if given.runs is not None and given.runs < 2:
        parser.error("--runs is at least 2")
    for name in given.only:
        run(name, Size(given.runs or (FEW if given.quick else RUNS), given.quick))


if __name__ == "__main__":
    main()
