"""Print what one charge costs on disk, next to a bare SQLite commit in the same run: ms, median and p99.

Run as `python benchmarks/ledger.py [directory]`; the directory chooses the disk.
"""

from __future__ import annotations

import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction

from pandas_blowfish.kernel.ledger import Ledger

ENTRIES, CHARGES = 10_000, 1_000
BODY = {
    "query": {"verb": "hist", "columns": ["age"]},
    "columns": ["age"],
    "strategy": "identity",
    "scale": "20",
}


def main(directory: str | None) -> None:
    print(f"{'entries':>8}  {'what':<22} {'median ms':>10} {'p99 ms':>8}")
    with tempfile.TemporaryDirectory(dir=directory) as folder:
        ledger = Ledger(os.path.join(folder, "ledger.db"))
        bare = sqlite3.connect(os.path.join(folder, "bare.db"), isolation_level=None)
        bare.execute("PRAGMA journal_mode = WAL")
        bare.execute("PRAGMA synchronous = FULL")
        bare.execute("CREATE TABLE entries (id INTEGER PRIMARY KEY, body TEXT)")
        ledger.bind("a", Fraction(10**6), {"seal": {str(column): "0" * 32 for column in range(20)}})
        for present in (0, ENTRIES):
            while ledger.charge("a", Fraction(1, 1000), BODY)[0].id < present:
                bare.execute("INSERT INTO entries (body) VALUES (?)", ("x" * 400,))
            report(present, "bare SQLite commit", lambda: commit(bare))
            report(present, "Ledger.charge", lambda: ledger.charge("a", Fraction(1, 1000), BODY))
            report(present, "Ledger.budget", lambda: ledger.budget("a"))
            report(present, "Ledger.at(...).charge", lambda: at(ledger.location))
        count = len(ledger.entries)
        start = time.perf_counter()
        ledger.verify()
        print(f"{count:>8}  {'Ledger.verify':<22} {(time.perf_counter() - start) * 1e3:>10.0f}")
        bare.close()
        ledger.close()


def commit(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO entries (body) VALUES (?)", ("x" * 400,))
    connection.execute("COMMIT")


def at(location: str) -> None:
    Ledger.at(location).charge("a", Fraction(1, 1000), BODY)


def report(present: int, what: str, action: Callable[[], object]) -> None:
    times = []
    for _ in range(CHARGES):
        start = time.perf_counter()
        action()
        times.append((time.perf_counter() - start) * 1e3)
    times.sort()
    print(f"{present:>8}  {what:<22} {statistics.median(times):>10.3f} {times[len(times) * 99 // 100]:>8.3f}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
