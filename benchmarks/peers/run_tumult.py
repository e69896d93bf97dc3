"""Tumult Analytics on Spark: a count grouped by a key set, with geometric noise."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from importlib.metadata import version

import numpy as np
import pandas as pd
import peer_job

os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
warnings.simplefilter("ignore")
from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session  # noqa: E402

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "8g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.driver.extraJavaOptions": "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED "
    "-Dio.netty.tryReflectionSetAccessible=true",
}


def spark() -> SparkSession:
    """Return the one Spark session, on two cores of this machine."""
    builder = SparkSession.builder.master("local[2]").appName("peers")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


def session(frame: DataFrame) -> Session:
    """Return a session without a limit; its relation is one row added or removed."""
    budget = PureDPBudget(float("inf"))
    return Session.from_dataframe(budget, "rows", frame, protected_change=AddOneRow())


def releases(values: np.ndarray, cells: int, epsilon: float, runs: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield noisy counts.

    A query takes seconds whatever its size, so one query answers for all runs: the rows are there once for
    each, the key set is runs x cells. Noise is drawn for each key, of a scale that does not depend on them.
    """
    copies = pd.DataFrame({"run": np.repeat(np.arange(runs), len(values)), "x": np.tile(values, runs)})
    keys = KeySet.from_dict({"run": list(range(runs)), "x": list(range(cells))})
    query = QueryBuilder("rows").groupby(keys).count()
    held = session(spark().createDataFrame(copies))
    told = held.evaluate(query, PureDPBudget(epsilon)).toPandas()
    told = told.sort_values(["run", "x"])["count"].to_numpy().reshape(runs, cells)
    for answer in told:
        yield "Tumult", answer


def prepare(column: np.ndarray, cells: int) -> peer_job.Prepared:
    """Return a release of many rows that Spark already holds in memory."""
    frame = spark().createDataFrame(pd.DataFrame({"x": column})).cache()
    frame.count()
    held, keys = session(frame), KeySet.from_dict({"x": list(range(cells))})
    query = QueryBuilder("rows").groupby(keys).count()
    return {"Tumult": lambda: held.evaluate(query, PureDPBudget(1)).toPandas()}


if __name__ == "__main__":
    peer_job.main("tumult", version("tmlt.analytics"), releases, prepare, share=0.2)
