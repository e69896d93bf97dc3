"""Times the check that the kernel makes before each charge, as a share of the release it is part of.

Run: python benchmarks/check.py [--rows N]. Two tables: whole releases of 1,000,000 rows on 100 cells (the
first of a plan, planning included, and later ones of the same plan, whose check is remembered); and the check
alone on 1,000,000 cells, where edges are drawn.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pandas as pd

import pandas_blowfish as bf
from pandas_blowfish.kernel import check as checking
from pandas_blowfish.kernel.check import Check
from pandas_blowfish.plan import choose
from pandas_blowfish.policy.domain import Domain, integers

REPEATS = 9
SECRETS = {"full": bf.full(), "threshold 5": bf.threshold(5), "partition 10": bf.partition(10)}
VERBS = ("hist", "cumhist", "sum")


@contextmanager
def timed(taken: list[float]) -> Iterator[None]:
    """Add up in `taken[0]` the seconds that checks take."""
    of, require = Check.of.__func__, Check.require  # type: ignore[attr-defined]

    def watch(run: Callable[..., object]) -> Callable[..., object]:
        def watched(*given: object, **named: object) -> object:
            start = time.perf_counter()
            try:
                return run(*given, **named)
            finally:
                taken[0] += time.perf_counter() - start

        return watched

    Check.of, Check.require = classmethod(watch(of)), watch(require)  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        Check.of, Check.require = classmethod(of), require  # type: ignore[method-assign]


def shares(frame: pd.DataFrame, verb: str, *, first: bool) -> tuple[float, float]:
    """Return milliseconds of a release and of its check: of the first of a plan, or of later ones."""
    whole, own = [], []
    for _ in range(REPEATS):
        if first:
            choose._plans.clear()
            checking._passed.clear()
        taken = [0.0]
        with timed(taken):
            start = time.perf_counter()
            getattr(frame.blowfish, verb)("x", epsilon=1)
            whole.append(time.perf_counter() - start)
        own.append(taken[0])
    return 1e3 * float(np.median(whole)), 1e3 * float(np.median(own))


def releases(rows: int) -> None:
    """Print the check's share of releases of many rows on 100 cells."""
    frame = pd.DataFrame({"x": np.random.default_rng(0).integers(0, 100, rows)})
    print(f"| {rows:,} rows, 100 cells | first release, ms | check | later ones, ms | check (below 10%) |")
    print("| --- | --- | --- | --- | --- |")
    for name, secret in SECRETS.items():
        policy = bf.Policy(Domain((integers("x", 0, 99),)), secrets={"x": secret})
        protected = frame.blowfish.protect(policy, epsilon=10**6)
        for verb in VERBS:
            shares(protected, verb, first=True)
            (one, its), (more, theirs) = (shares(protected, verb, first=first) for first in (True, False))
            cells = f"{one:.1f} | {its / one:.1%} | {more:.1f} | {theirs / more:.1%}"
            print(f"| {verb}, {name} | {cells} |", flush=True)


def large(cells: int) -> None:
    """Print how long the check takes on many cells."""
    print(f"\n| {cells:,} cells | strategy | check, s (below 0.5) | checked |\n| --- | --- | --- | --- |")
    for name, secret in {**SECRETS, "threshold 1": bf.threshold(1)}.items():
        policy = bf.Policy(Domain((integers("x", 0, cells - 1),)), secrets={"x": secret})
        for verb in VERBS:
            plan, times = getattr(policy.plan, verb)("x", epsilon=1), []
            Check.of(policy, plan).require(plan.measurement, plan.cost)  # what measuring makes anyway
            for _ in range(3):
                checking._passed.clear()
                start = time.perf_counter()
                check = Check.of(policy, plan)
                check.require(plan.measurement, plan.cost)
                times.append(time.perf_counter() - start)
            took = f"{float(np.median(times)):.3f}"
            print(f"| {verb}, {name} | {plan.strategy} | {took} | {check.text} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**6)
    given = parser.parse_args()
    releases(given.rows)
    large(10**6)
