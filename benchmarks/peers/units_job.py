"""What a peer is asked about people with several rows; runs in any environment, needs numpy only.

A script `units_<peer>.py FOLDER` beside this file reads FOLDER/rows.npz and FOLDER/job.json, asks its library
and writes FOLDER/<peer>.json: for each promise and question the answers of all runs. As one query takes
seconds whatever its size, all runs are one: the table is there once for each, every copy with people of its
own, and `run` is one more column to group by. Noise is drawn for each group, of a scale that does not depend
on how many there are.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Table = dict[str, np.ndarray]  # columns
COME, CHANGE = "come or go", "change"  # all rows of one person: the promises a peer can make


@dataclass(frozen=True)
class Job:
    """The table, and what is asked of it.

    Attributes:
        rows: One row per person and year: person, age, visits, admitted.
        most: How many rows a person has at most.
        ages: Cells of the histogram: ages from 0 on.
        high: The most visits in a year; the least is 0.
        epsilon: The loss of a person in each query.
        runs: How often each is asked.
    """

    rows: Table
    most: int
    ages: int
    high: int
    epsilon: float
    runs: int

    def write(self, folder: Path) -> None:
        """Write it for the peers' own interpreters."""
        np.savez(folder / "rows.npz", **self.rows)
        stated = {key: value for key, value in vars(self).items() if key != "rows"}
        (folder / "job.json").write_text(json.dumps(stated), "utf-8")

    @classmethod
    def read(cls, folder: Path) -> Job:
        """Return what was written."""
        with np.load(folder / "rows.npz") as rows:
            return cls(dict(rows), **json.loads((folder / "job.json").read_text("utf-8")))

    @property
    def size(self) -> int:
        """Return the number of rows."""
        return len(self.rows["person"])

    def copies(self) -> Table:
        """Return the table once for each run, with people of its own."""
        run = np.repeat(np.arange(self.runs), self.size)
        table = {name: np.tile(column, self.runs) for name, column in self.rows.items()}
        return {**table, "person": table["person"] + run * (table["person"].max() + 1), "run": run}

    def truth(self) -> dict[str, Any]:
        """Return the exact answers."""
        return {
            "hist": np.bincount(self.rows["age"], minlength=self.ages),
            "mean": self.rows["visits"].mean(),
            "people": len(np.unique(self.rows["person"][self.rows["admitted"] == 1])),
        }


def as_runs(columns: Sequence[np.ndarray], values: np.ndarray) -> list[Any]:
    """Return the answers of a release run by run, in the order of its columns; the first is `run`."""
    order = np.lexsort([np.asarray(column) for column in reversed(columns)])
    return np.asarray(values)[order].reshape(len(np.unique(columns[0])), -1).tolist()


def main(name: str, version: str, ask: Callable[[Job], Mapping[str, Any]]) -> None:
    """Ask a peer, and write what it answered."""
    folder = Path(sys.argv[1])
    answers = ask(Job.read(folder))
    (folder / f"{name}.json").write_text(json.dumps({"version": version, "answers": answers}), "utf-8")
