"""OpenDP on Polars: people are an identifier, of whose rows some are kept; or some rows change."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
import opendp.prelude as dp
import polars as pl
from units_job import CHANGE, COME, Job, as_runs, main

dp.enable_features("contrib")


def ask(job: Job) -> dict[str, Any]:
    """Return the answers under both promises.

    Rows that change are its `changes=`, where the numbers of rows are public, so that a mean needs a noisy
    sum alone. For people there is no such unit: that they change is that one goes and one comes, at half of
    epsilon.
    """
    rows = pl.DataFrame(job.copies()).lazy()
    runs = pl.DataFrame({"run": np.arange(job.runs)})
    cells = runs.join(pl.DataFrame({"age": np.arange(job.ages)}), how="cross")
    person = dp.unit_of(contributions=1, identifier=pl.col("person"))
    visits = pl.col("visits").cast(int).fill_null(0)
    known = dp.polars.Margin(by=["run"], max_length=job.size, invariant="lengths")
    bound = dp.polars.Margin(by=["run"], max_length=2 * job.size)

    def query(unit: Any, epsilon: float, *margins: Any) -> Any:
        loss = dp.loss_of(epsilon=epsilon)
        return dp.Context.compositor(
            data=rows, privacy_unit=unit, privacy_loss=loss, split_evenly_over=1, margins=list(margins)
        ).query()

    def counts(asked: Any, by: list[str], keys: pl.DataFrame) -> list[Any]:
        found = asked.group_by(by).agg(dp.len(signed=True)).with_keys(keys).release().collect()
        return as_runs([found[name].to_numpy() for name in by], found["len"].to_numpy())

    def people(epsilon: float) -> list[Any]:
        ill = query(person, epsilon).filter(pl.col("admitted") == 1).truncate_per_group(1)
        return counts(ill, ["run"], runs)

    few = query(person, job.epsilon, bound).truncate_per_group(job.most)
    both = few.group_by("run").agg(visits.dp.sum((0, job.high)), dp.len(signed=True)).with_keys(runs)
    sums = both.release().collect()
    some = dp.unit_of(changes=job.most)
    asked = query(some, job.epsilon, known).group_by("run").agg(visits.dp.mean((0, job.high)))
    means = asked.release().collect()
    return {
        COME: {
            "hist": counts(query(person, job.epsilon).truncate_per_group(job.most), ["run", "age"], cells),
            "mean": as_runs([sums["run"].to_numpy()], (sums["visits"] / sums["len"]).to_numpy()),
            "people": people(job.epsilon),
        },
        CHANGE: {
            "hist": counts(query(some, job.epsilon), ["run", "age"], cells),
            "mean": as_runs([means["run"].to_numpy()], means["visits"].to_numpy()),
            "people": people(job.epsilon / 2),
        },
    }


if __name__ == "__main__":
    main("opendp", version("opendp"), ask)
