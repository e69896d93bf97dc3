"""Measures releases from tables of other engines against each engine's own GROUP BY of the same rows.

Run: python benchmarks/engines.py [--rows N] [--files N] [--only ENGINE ...] [--repeat N] [--folder FOLDER].
Synthetic rows are written to Parquet files once (10^8 of them take about 1 GB), in a folder that is kept if
it is named. Each engine runs in a process of its own, first with all rows in memory, then from the files: a
histogram of 100 cells, a table of three columns, ranges over 5,000 cells. A release is timed whole (plan,
charge on a ledger in memory, count, noise, shape) but for the check of the seal, with which it is timed
again. Ratios are of the best of some repetitions; memory is the most that the process and its children ever
held together.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil

warnings.filterwarnings("ignore")
import pandas_blowfish as bf  # noqa: E402
from pandas_blowfish.kernel import measure  # noqa: E402

ENGINES = ("pandas", "polars", "pyarrow", "duckdb", "dask", "pyspark")
TABLE = ["sex", "disease", "region"]
RANGES = [(start * 10_000.0, (start + 5) * 10_000.0) for start in range(0, 40, 5)]
PART = 10**6  # rows of a file
LIMIT = {"ratio": 1.5, "memory": 2_000}
Own = dict[str, Callable[[], Any]]


def write_rows(folder: Path, rows: int) -> Path:
    """Write synthetic patients to Parquet files, unless they are there, and return their folder."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    target = folder / f"patients_{rows}"
    target.mkdir(parents=True, exist_ok=True)
    values = {
        "disease": ["angina", "arrhythmia", "asthma", "copd", "flu", "healthy"],
        "sex": ["F", "M"],
        "region": ["north", "east", "south", "west"],
    }
    for part in range(-(-rows // PART)):
        path = target / f"part_{part:04}.parquet"
        if path.exists():
            continue
        draw, size = np.random.default_rng(part), min(PART, rows - part * PART)
        columns: dict[str, Any] = {
            "age": draw.integers(0, 100, size),
            "income": np.round(np.clip(draw.gamma(2, 20_000, size), 0, 499_999), 2),
        }
        for name, listed in values.items():
            codes = pa.array(draw.integers(0, len(listed), size).astype(np.int32))
            columns[name] = pa.DictionaryArray.from_arrays(codes, pa.array(listed)).cast(pa.string())
        pq.write_table(pa.table(columns), f"{path}.new")
        os.replace(f"{path}.new", path)
    return target


def opened(engine: str, folder: Path, *, memory: bool) -> tuple[Any, Own]:
    """Return a table of an engine, in memory or of files, and its own ways to group it."""
    files = str(folder / "*.parquet")
    if engine == "pandas":
        frame = pd.read_parquet(folder)
        return frame, {
            "hist": lambda: frame.groupby("age").size(),
            "marginal": lambda: frame.groupby(TABLE).size(),
            "range": lambda: frame.groupby((frame["income"] // 100).astype("int64")).size(),
        }
    if engine == "polars":
        import polars as pl

        lazy = pl.read_parquet(files).lazy() if memory else pl.scan_parquet(files)
        cell = (pl.col("income") / 100).floor().cast(pl.Int64)
        keys = {"hist": ["age"], "marginal": TABLE, "range": [cell]}
        return lazy, {
            name: lambda by=by: lazy.group_by(by).len().collect(engine="streaming")
            for name, by in keys.items()
        }
    if engine == "pyarrow":
        return _pyarrow(folder, memory=memory)
    if engine == "duckdb":
        import duckdb

        base = duckdb.connect()
        base.execute(f"CREATE {'TABLE' if memory else 'VIEW'} t AS SELECT * FROM read_parquet('{files}')")
        keys_sql = {"hist": "age", "marginal": ", ".join(TABLE), "range": "floor(income / 100)::BIGINT"}
        return base.table("t") if memory else base.view("t"), {
            name: lambda by=by: base.sql(f"SELECT {by}, count(*) FROM t GROUP BY ALL").fetchall()
            for name, by in keys_sql.items()
        }
    if engine == "dask":
        import dask.dataframe as dd

        lazy = dd.read_parquet(str(folder))
        lazy = lazy.persist() if memory else lazy
        return lazy, {
            "hist": lambda: lazy.groupby("age").size().compute(),
            "marginal": lambda: lazy.groupby(TABLE).size().compute(),
            "range": lambda: lazy.groupby((lazy["income"] // 100).astype("int64")).size().compute(),
        }
    return _spark(folder, memory=memory)


def _pyarrow(folder: Path, *, memory: bool) -> tuple[Any, Own]:
    import pyarrow.compute as pc
    import pyarrow.dataset as ds
    from pyarrow import acero

    files = ds.dataset(str(folder))
    table: Any = files.to_table() if memory else files
    cell = pc.floor(pc.divide(pc.field("income"), 100)).cast("int64")
    keys = {
        "hist": {"age": pc.field("age")},
        "marginal": {name: pc.field(name) for name in TABLE},
        "range": {"cell": cell},
    }

    def own(by: dict[str, Any]) -> Any:
        if memory:
            source = acero.Declaration("table_source", acero.TableSourceNodeOptions(table))
        else:
            needed = ["income"] if "cell" in by else list(by)
            source = acero.Declaration("scan", acero.ScanNodeOptions(table, columns=needed))
        project = acero.Declaration("project", acero.ProjectNodeOptions(list(by.values()), list(by)))
        count = acero.AggregateNodeOptions([([], "hash_count_all", None, "n")], keys=list(by))
        steps = [source, project, acero.Declaration("aggregate", count)]
        return acero.Declaration.from_sequence(steps).to_table()

    return table, {name: lambda by=by: own(by) for name, by in keys.items()}


def _spark(folder: Path, *, memory: bool) -> tuple[Any, Own]:
    from pyspark.sql import SparkSession, functions

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers count with this package
    made = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = made.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    table = session.read.parquet(str(folder))
    if memory:
        table = table.cache()
        table.count()
    cell = functions.floor(functions.col("income") / 100)
    return table, {
        "hist": lambda: table.groupBy("age").count().collect(),
        "marginal": lambda: table.groupBy(*TABLE).count().collect(),
        "range": lambda: table.groupBy(cell).count().collect(),
    }


class Memory:
    """The most memory that this process and its children hold together, looked at ten times a second."""

    def __init__(self) -> None:
        self.most, self._done = 0.0, threading.Event()
        self._watch = threading.Thread(target=self._look, daemon=True)
        self._watch.start()

    def _look(self) -> None:
        own = psutil.Process()
        while not self._done.wait(0.1):
            held = 0
            for process in (own, *own.children(recursive=True)):
                try:
                    held += process.memory_info().rss
                except psutil.Error:
                    continue
            self.most = max(self.most, held / 1e6)

    def stop(self) -> float:
        """Return it, in MB."""
        self._done.set()
        return self.most


def best(run: Callable[[], Any], repeat: int) -> float:
    """Return the least time of some runs, after one that is not counted."""
    run()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def measured(engine: str, folder: Path, *, memory: bool, repeat: int) -> dict[str, Any]:
    """Return an engine's ratios and its memory."""
    watch = Memory()
    table, own = opened(engine, folder, memory=memory)
    start = time.perf_counter()
    rows = bf.protect(table, bf.datasets.patients_policy(), epsilon=10**6)
    protect = time.perf_counter() - start
    ours: Own = {
        "hist": lambda: rows.hist("age", epsilon=1),
        "marginal": lambda: rows.marginal(TABLE, epsilon=1),
        "range": lambda: rows.range("income", RANGES, epsilon=1),
    }
    checked, found = measure.find_change, {}
    for name, run in own.items():
        floor = best(run, repeat)
        with_seal = best(ours[name], repeat)
        measure.find_change = lambda *_: ""  # the seal is timed apart
        found[name] = {"floor": floor, "release": best(ours[name], repeat), "with seal": with_seal}
        measure.find_change = checked
    return {"protect": protect, "memory": watch.stop(), "queries": found}


def table_of(told: list[tuple[str, str, dict[str, Any]]]) -> pd.DataFrame:
    """Return ratios over each engine's own GROUP BY, a line an engine and source."""
    lines = []
    for engine, source, found in told:
        each = found["queries"]
        ratios = {name: q["release"] / q["floor"] for name, q in each.items()}
        sealed = {f"{name}, seal too": q["with seal"] / q["floor"] for name, q in each.items()}
        slowest = max(q["floor"] for q in each.values())
        lines.append(
            {"engine": engine, "rows": source, **ratios, **sealed}
            | {"protect / marginal": found["protect"] / slowest, "memory, MB": found["memory"]}
        )
    return pd.DataFrame(lines)


def _short(found: dict[str, Any]) -> str:
    ratios = [f"{name} {each['release'] / each['floor']:.2f}" for name, each in found["queries"].items()]
    return f"{', '.join(ratios)}; {found['memory']:,.0f} MB"


def table(frame: pd.DataFrame) -> str:
    """Return a frame as a Markdown table, numbers with three digits."""
    shown = [
        [
            f"{each:,.3g}"
            if isinstance(each, float) and each < 1_000
            else f"{each:,.0f}"
            if isinstance(each, float)
            else str(each)
            for each in row
        ]
        for row in frame.itertuples(index=False)
    ]
    lines = [list(frame.columns), ["---"] * frame.shape[1], *shown]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**7, help="rows in memory (0: none)")
    parser.add_argument("--files", type=int, default=10**8, help="rows in Parquet files (0: none)")
    parser.add_argument("--only", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where files are kept for the next run")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        engine, source, folder = given.one
        print(json.dumps(measured(engine, Path(folder), memory=source == "memory", repeat=given.repeat)))
        return
    told = []
    with tempfile.TemporaryDirectory() as place:
        for source, rows in (("memory", given.rows), ("files", given.files)):
            if not rows:
                continue
            folder = write_rows(given.folder or Path(place), rows)
            for engine in given.only:
                if engine == "pandas" and source == "files":
                    continue  # it has no table of files
                command = [sys.executable, __file__, "--repeat", str(given.repeat)]
                command += ["--one", engine, source, str(folder)]
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode:
                    print(f"{engine}, {source}: left out: {' '.join(done.stderr.split()[-40:])}", flush=True)
                    continue
                told.append((engine, f"{rows:,} in {source}", json.loads(done.stdout.splitlines()[-1])))
                print(f"{engine}, {rows:,} in {source}: {_short(told[-1][2])}", flush=True)
    found = table_of(told)
    print(table(found) if len(found) else "nothing was measured")
    print(f"limits: {LIMIT['ratio']} for a release without the seal, {LIMIT['memory']:,} MB from files")


if __name__ == "__main__":
    main()
