"""Audits random releases for as long as wanted: what leaves the kernel loses at most what it is charged.

Run: python benchmarks/audit.py --minutes 10 [--first 1000000] [--verb kmeans]. Every case is a random policy
and question, released for real with the noise in our hands (tests/oracle/audit.py says how). Prints what was
seen and every failure with its seed; the exit status is 1 where there is one.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from oracle import cases
from oracle.audit import Tally, run_audit

from pandas_blowfish.plan.line import search

SHORT_SEARCH = 4  # errors looked at for one layout: the loss follows from whatever a search finds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--first", type=int, default=1_000_000, help="the first seed")
    parser.add_argument("--verb", help="one kind of question alone")
    given = parser.parse_args()
    polish = search._polish
    search._polish = lambda *arguments: polish(*arguments[:-1], SHORT_SEARCH)
    if given.verb:
        cases.VERBS[:] = [given.verb]
    tally, seed, until = Tally(), given.first, time.monotonic() + 60 * given.minutes
    while time.monotonic() < until:
        found = run_audit([seed])
        for failure in found.failed:
            print(failure, flush=True)
        tally.add(found)
        seed += 1
    print(f"seeds {given.first:,} to {seed - 1:,}: {tally.cases:,} cases, {tally.noisy:,} noisy, of which")
    print(f"{tally.tight:,} lose all of the charge; {tally.free:,} free; {len(tally.failed):,} failed.")
    for name, many in sorted(tally.seen.items()):
        print(f"  {name}: {many:,}")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
