"""Time of keeping 3 rows of each person, of 10^7 rows of 10^6 people, against pandas' own cumcount.

Run: python benchmarks/units.py [--rows 10000000] [--people 1000000]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.count.units import keep_rows
from pandas_blowfish.policy.domain import Domain, from_dict, integers

KEY = "5e" * 32
TIMES = 3


def timed(work: Callable[[], Any]) -> float:
    """Return the least time of a few runs, in seconds."""
    found = []
    for _ in range(TIMES):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def main() -> None:
    """Print a line per way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--people", type=int, default=10**6)
    parser.add_argument("--most", type=int, default=3)
    given = parser.parse_args()
    draw = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "who": draw.integers(0, given.people, given.rows),
            "age": draw.integers(0, 100, given.rows),
            "ill": draw.random(given.rows) < 0.1,
        }
    )
    domain = Domain((integers("age", 0, 99), from_dict("ill", {"type": "bool"})))

    def cumcount() -> pd.DataFrame:
        return frame[frame.groupby("who").cumcount() < given.most]

    def kept() -> Any:
        return keep_rows(frame, tuple(domain), "who", given.most, KEY, clip=False).rows

    assert len(cumcount()) == len(kept())
    base = timed(lambda: frame.groupby("who").cumcount())
    for name, work in (("cumcount, then rows", cumcount), ("keep_rows, sealed", kept)):
        spent = timed(work)
        print(f"{name:20} {spent:6.2f} s, {spent / base:4.1f} times groupby(unit).cumcount() ({base:.2f} s)")


if __name__ == "__main__":
    main()
