"""Times a whole hist release of 10,000,000 rows against numpy and pandas in the same run.

Run: python benchmarks/hist.py [--rows N] [--cpu]. The release is all a user gets: seal check, charge on a
file ledger, counting, exact noise, shape, receipt. numpy.bincount counts an array of its own that may be
written to: of one that may not, as pandas gives out a column, it first makes a copy, which doubles its time.
With --cpu times are those of the process, for a machine that others use too.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import psutil

import pandas_blowfish as bf
from pandas_blowfish.policy.domain import Domain, from_dict, integers, values_attribute

REPEATS = 9
CLOCK = {"now": time.perf_counter}


def median_ms(run: Callable[[], object]) -> float:
    """Return the median time of several runs, in milliseconds."""
    run()
    times = []
    for _ in range(REPEATS):
        start = CLOCK["now"]()
        run()
        times.append(CLOCK["now"]() - start)
    return 1e3 * float(np.median(times))


def peak_mb(run: Callable[[], object]) -> float:
    """Return the most memory above the start that the process held during a run, in MB."""
    process, stop = psutil.Process(), threading.Event()
    before = process.memory_info().rss
    most = before

    def watch() -> None:
        nonlocal most
        while not stop.wait(0.0005):
            most = max(most, process.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    run()
    stop.set()
    watcher.join()
    return (most - before) / 2**20


def grouped(rows: int) -> None:
    """Time a filtered, grouped release of three columns against pandas' own filter and groupby."""
    draw = np.random.default_rng(1)
    sizes = {"a": 4, "b": 10, "c": 50}
    frame = pd.DataFrame({name: draw.integers(0, size, rows).astype(np.int8) for name, size in sizes.items()})
    frame = frame.apply(lambda column: pd.Categorical(column, categories=range(sizes[column.name])))
    domain = Domain(
        tuple(values_attribute(n, "category", range(k), nullable=False) for n, k in sizes.items())
    )
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "ledger.db"
        df = frame.blowfish.protect(bf.Policy(domain), epsilon=1000, dataset="bench", ledger=place)

        def ours() -> pd.DataFrame:
            return df.blowfish.where("a in [0, 1]").groupby("b").hist("c", epsilon="0.1")

        def pandas_groupby() -> object:
            return frame[frame["a"].isin([0, 1])].groupby(["b", "c"], observed=False).size()

        memory = peak_mb(ours)
        peer, mine = median_ms(pandas_groupby), median_ms(ours)
        df.blowfish.ledger.close()
    print("where on one column, grouped by another, hist of a third (categories):")
    print(f"pandas {peer:.1f} ms, release {mine:.1f} ms, ratio {mine / peer:.2f}, peak {memory:.1f} MB")


def storages(rows: int) -> None:
    """Time `hist`, `where` on the counted column and `protect` of 100 cells in several storages."""
    draw = np.random.default_rng(2)
    values = draw.integers(0, 100, rows)
    whole, real = integers("x", 0, 99), from_dict("x", {"type": "float", "min": 0, "max": 100, "step": 1})
    listed = values_attribute("x", "category", range(100), nullable=False)
    columns = {
        "int64": (values, whole, "x < 50"),
        "int8": (values.astype(np.int8), whole, "x < 50"),
        "Int64": (pd.array(values, dtype="Int64"), whole, "x < 50"),
        "float64": (draw.random(rows) * 100, real, "x < 50"),
        "category": (pd.Categorical(values, categories=range(100)), listed, "x in [1, 2, 3]"),
    }
    floor = median_ms(lambda: np.bincount(values, minlength=100))
    print(f"one column of 100 cells, times numpy.bincount of int64 ({floor:.1f} ms):")
    print("".join(f"{head:>14}" for head in ("stored as", "hist", "where", "protect")))
    for name, (column, attribute, text) in columns.items():
        frame, policy = pd.DataFrame({"x": column}), bf.Policy(Domain((attribute,)))
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "ledger.db"
            df = frame.blowfish.protect(policy, epsilon=1000, dataset="bench", ledger=place)

            def protect(frame: pd.DataFrame = frame, policy: bf.Policy = policy) -> None:
                frame.blowfish.protect(policy, epsilon=1, ledger=bf.Ledger(), dataset="rows")

            def hist(df: pd.DataFrame = df) -> pd.DataFrame:
                return df.blowfish.hist("x", epsilon="0.1")

            def where(df: pd.DataFrame = df, text: str = text) -> pd.DataFrame:
                return df.blowfish.where(text).hist("x", epsilon="0.1")

            ratios = [median_ms(each) / floor for each in (hist, where, protect)]
            df.blowfish.ledger.close()
        print("".join(f"{figure:>14}" for figure in (name, *(f"{each:.2f}" for each in ratios))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--cpu", action="store_true")
    given = parser.parse_args()
    rows = given.rows
    if given.cpu:
        CLOCK["now"] = time.process_time
    print(f"{rows:,} rows, one int64 column; medians of {REPEATS}")
    heads = ("cells", "bincount", "value_counts", "release", "/bincount", "/value_counts", "peak")
    print("".join(f"{head:>14}" for head in heads))
    for cells in (100, 4096):
        values = np.random.default_rng(0).integers(0, cells, rows)
        policy = bf.Policy(Domain((integers("x", 0, cells - 1),)), secrets={"x": bf.threshold(5)})
        with tempfile.TemporaryDirectory() as folder:
            frame = pd.DataFrame({"x": values})
            df = frame.blowfish.protect(
                policy, epsilon=1000, dataset="bench", ledger=Path(folder) / "ledger.db"
            )

            def release(df: pd.DataFrame = df) -> pd.DataFrame:
                return df.blowfish.hist("x", epsilon="0.1")

            memory = peak_mb(release)  # the first release, before any buffer is warm
            floor = median_ms(lambda values=values, cells=cells: np.bincount(values, minlength=cells))
            peer = median_ms(lambda df=df: df["x"].value_counts())
            ours = median_ms(release)
            df.blowfish.ledger.close()
        times = (f"{cells}", f"{floor:.1f} ms", f"{peer:.1f} ms", f"{ours:.1f} ms")
        ratios = (f"{ours / floor:.2f}", f"{ours / peer:.2f}", f"{memory:.1f} MB")
        print("".join(f"{figure:>14}" for figure in times + ratios))
    storages(rows)
    grouped(rows)


if __name__ == "__main__":
    main()
