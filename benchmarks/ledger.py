"""Print what one charge costs on disk next to a bare SQLite commit, and what large ledgers cost to read.

Run as `python benchmarks/ledger.py [directory]`; the directory chooses the disk. Times of charges are medians
and p99 in ms, those of reading CPU seconds. A large ledger is filled in one transaction, with entries as
charges write them.
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

import pandas_blowfish as bf
from pandas_blowfish.books import log as chain
from pandas_blowfish.books.ledger import Ledger

SIZES, CHARGES = (1_000, 10_000, 100_000), 200
COST = Fraction(1, 1000)


def main(directory: str | None) -> None:
    print("| entries | bare commit, ms | charge, ms | p99 | named, ms | `entries`, CPU s | verify | report |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for size in SIZES:
        with tempfile.TemporaryDirectory(dir=directory) as folder:
            print(f"| {size:,} | {' | '.join(measured(folder, size))} |", flush=True)


def measured(folder: str, size: int) -> list[str]:
    """Return the row of one size."""
    ledger, body = filled(os.path.join(folder, "ledger.db"), size)
    bare = sqlite3.connect(os.path.join(folder, "bare.db"), isolation_level=None)
    bare.execute("PRAGMA journal_mode = PERSIST")
    bare.execute("PRAGMA synchronous = EXTRA")
    bare.execute("CREATE TABLE entries (id INTEGER PRIMARY KEY, body TEXT)")
    names = iter(range(CHARGES))
    commits = times(lambda: commit(bare))
    charges = times(lambda: ledger.charge("a", COST, body))
    named = times(lambda: ledger.find("a", str(ledger.charge("a", COST, body, name=f"{next(names)}"))))
    page = os.path.join(folder, "report.html")
    actions = (lambda: ledger.entries, ledger.verify, lambda: bf.report(ledger, page))
    read = [seconds(action, time.process_time) for action in actions]
    bare.close()
    ledger.close()
    middle = [statistics.median(each) * 1e3 for each in (commits, charges, named)]
    p99 = sorted(charges)[len(charges) * 99 // 100] * 1e3
    found = [f"{middle[0]:.2f}", f"{middle[1]:.2f}", f"{p99:.2f}", f"{middle[2]:.2f}"]
    return found + [f"{each:.2f}" for each in read]


def filled(path: str, size: int) -> tuple[Ledger, dict[str, object]]:
    """Return a ledger of so many entries, and the body of a charge."""
    policy = bf.datasets.patients_policy()
    df = bf.datasets.patients(2_000).blowfish.protect(policy, epsilon=10**6, dataset="a", ledger=path)
    df.blowfish.hist("age", epsilon="0.1")
    ledger = Ledger(path)
    with chain.transaction(path, "IMMEDIATE") as connection:
        last = chain.select(connection, "TRUE ORDER BY id DESC")
        assert last is not None
        spent = Fraction(last.body["spent"])
        for _ in range(size - last.id):
            spent += COST
            chain.append(connection, "a", "charge", {**last.body, "epsilon": COST, "spent": spent})
    sums = ("epsilon", "spent", "total", "name", "closed", "facts")
    return ledger, {key: value for key, value in last.body.items() if key not in sums}


def commit(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO entries (body) VALUES (?)", ("x" * 400,))
    connection.execute("COMMIT")


def times(action: Callable[[], object]) -> list[float]:
    """Return how long an action took, many times."""
    return [seconds(action) for _ in range(CHARGES)]


def seconds(action: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    action()
    return clock() - start


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
