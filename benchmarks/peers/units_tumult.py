"""Tumult Analytics on Spark: rows with an id, of which some of each id are kept."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pandas as pd
from run_tumult import spark
from tmlt.analytics import (
    AddRowsWithID,
    KeySet,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    MaxRowsPerID,
    PureDPBudget,
    QueryBuilder,
    Session,
)
from units_job import CHANGE, COME, Job, as_runs, main


def ask(job: Job) -> dict[str, Any]:
    """Return the answers under both promises: that a person changes is that one goes and one comes."""
    frame = spark().createDataFrame(pd.DataFrame(job.copies())).cache()
    change = AddRowsWithID("person")
    held = Session.from_dataframe(PureDPBudget(float("inf")), "rows", frame, protected_change=change)
    runs = KeySet.from_dict({"run": list(range(job.runs))})
    cells = KeySet.from_dict({"run": list(range(job.runs)), "age": list(range(job.ages))})
    few = QueryBuilder("rows").enforce(MaxRowsPerID(job.most))
    ill = QueryBuilder("rows").filter("admitted = 1").enforce(MaxGroupsPerID("run", 1))
    once = ill.enforce(MaxRowsPerGroupPerID("run", 1))  # one row of each: their count is that of people
    queries = {
        "hist": (few.groupby(cells).count(), "count", ["run", "age"]),
        "mean": (few.groupby(runs).average("visits", low=0, high=job.high), "visits_average", ["run"]),
        "people": (once.groupby(runs).count(), "count", ["run"]),
    }

    def answer(query: Any, epsilon: float, value: str, by: list[str]) -> list[Any]:
        told = held.evaluate(query, PureDPBudget(epsilon)).toPandas()
        return as_runs([told[name].to_numpy() for name in by], told[value].to_numpy())

    return {
        promise: {name: answer(query, epsilon, value, by) for name, (query, value, by) in queries.items()}
        for promise, epsilon in ((COME, job.epsilon), (CHANGE, job.epsilon / 2))
    }


if __name__ == "__main__":
    main("tumult", version("tmlt.analytics"), ask)
