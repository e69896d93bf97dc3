"""Tumult Analytics on Spark: rows are added or removed, so that a changed value costs twice."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from run_tumult import session, spark
from summaries_job import (
    MEAN,
    MEDIAN,
    NUMERIC,
    QUARTERS,
    QUARTILES,
    TOP,
    VAR,
    Answers,
    Column,
    largest,
    main,
    whole,
)
from tmlt.analytics import KeySet, PureDPBudget, QueryBuilder


def ask(column: Column, epsilon: float, runs: int) -> dict[str, Answers]:
    """Return the answers about a column.

    As a query takes seconds whatever its size, all runs are one: the rows are there once for each. Noise is
    drawn for each group, of a scale that does not depend on how many there are.
    """
    run, values = np.repeat(np.arange(runs), len(column.values)), np.tile(column.values, runs)
    held = session(spark().createDataFrame(pd.DataFrame({"run": run, "x": values})).cache())
    keys, half = KeySet.from_dict({"run": list(range(runs))}), epsilon / 2
    bounds = {"low": 0, "high": column.high}

    def answer(query: Any, part: float) -> np.ndarray:
        told = held.evaluate(query, PureDPBudget(part)).toPandas()
        order = [name for name in ("run", "x") if name in told and name != told.columns[-1]]
        return told.sort_values(order)[told.columns[-1]].to_numpy().reshape(runs, -1)

    found: dict[str, Answers] = {}
    if TOP in column.questions:
        cells = KeySet.from_dict({"run": list(range(runs)), "x": list(range(column.cells))})
        counts = answer(QueryBuilder("rows").groupby(cells).count(), half)
        found[TOP] = {"counts": [largest(each) for each in counts]}
    if set(NUMERIC) & set(column.questions):
        rows = QueryBuilder("rows").groupby(keys)
        found[MEAN] = {"average": answer(rows.average("x", **bounds), half)[:, 0]}
        found[VAR] = {"variance": answer(rows.variance("x", **bounds), half)[:, 0]}
        found[MEDIAN] = whole(answer(rows.median("x", **bounds), half)[:, 0])
        part = half / len(QUARTERS)
        each = [answer(rows.quantile("x", share, **bounds), part)[:, 0] for share in QUARTERS]
        found[QUARTILES] = whole(np.transpose(each))
    return found


if __name__ == "__main__":
    main("tumult", version("tmlt.analytics"), ask)
