"""What a peer is asked about single columns; runs in any environment, needs numpy only.

A script `summaries_<peer>.py FOLDER` beside this file reads FOLDER/columns.npz and FOLDER/job.json, asks its
library and writes FOLDER/<peer>.json: for each column, epsilon, question and method of the library the
answers of all runs. All answers are at an equal promise: whether a row's value is x or y, any two declared
values, is hidden at epsilon; the number of rows is known.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

QUARTERS = (0.25, 0.5, 0.75)
MANY = 10  # how many of the most frequent values
SLOW = 4  # of how many runs one asks for quantiles, which take longest
MEAN, VAR, MEDIAN, QUARTILES, TOP = "mean", "var", "median", "quartiles", f"top {MANY}"
NUMERIC = (MEAN, VAR, MEDIAN, QUARTILES)
Answers = dict[str, list[Any]]  # by method


@dataclass(frozen=True, eq=False)
class Column:
    """A column of whole numbers from 0 to `high`, and what is asked of it.

    Attributes:
        name: What it is called in tables.
        values: One per row.
        high: The greatest declared value; the least is 0.
        questions: Names of questions.
    """

    name: str
    values: np.ndarray
    high: int
    questions: tuple[str, ...]

    @property
    def cells(self) -> int:
        """Return the number of declared values."""
        return self.high + 1

    @property
    def counts(self) -> np.ndarray:
        """Return how many rows have each declared value."""
        return np.bincount(self.values, minlength=self.cells)


@dataclass(frozen=True)
class Job:
    """The columns, the epsilons, and how often each question is asked."""

    columns: tuple[Column, ...]
    epsilons: tuple[float, ...]
    runs: int

    def write(self, folder: Path) -> None:
        """Write it for the peers' own interpreters."""
        np.savez(folder / "columns.npz", **{each.name: each.values for each in self.columns})
        stated = [(each.name, each.high, each.questions) for each in self.columns]
        told = {"columns": stated, "epsilons": self.epsilons, "runs": self.runs}
        (folder / "job.json").write_text(json.dumps(told), "utf-8")

    @classmethod
    def read(cls, folder: Path) -> Job:
        """Return what was written."""
        told = json.loads((folder / "job.json").read_text("utf-8"))
        with np.load(folder / "columns.npz") as rows:
            columns = [Column(name, rows[name], high, tuple(asked)) for name, high, asked in told["columns"]]
        return cls(tuple(columns), tuple(told["epsilons"]), told["runs"])


Step = tuple[Column, float]
Ask = Callable[[Column, float, int], Mapping[str, Answers]]  # column, epsilon, runs: answers by question


def follow(steps: list[Step]) -> Iterator[Step]:
    """Yield the steps, telling the driver how far they are."""
    for done, (column, epsilon) in enumerate(steps, 1):
        print(f"@ {done}/{len(steps)} {column.name}, epsilon {epsilon:g}", flush=True)
        yield column, epsilon


def ask_all(
    job: Job, ask: Ask, watch: Callable[[list[Step]], Iterator[Step]] = follow
) -> dict[str, dict[str, Any]]:
    """Return the answers by column and epsilon."""
    found: dict[str, dict[str, Any]] = {column.name: {} for column in job.columns}
    for column, epsilon in watch([(column, epsilon) for column in job.columns for epsilon in job.epsilons]):
        answers = ask(column, epsilon, job.runs)
        found[column.name][f"{epsilon:g}"] = {
            question: {method: np.asarray(each).tolist() for method, each in methods.items()}
            for question, methods in answers.items()
        }
    return found


def fewer(runs: int) -> int:
    """Return in how many runs quantiles are asked for."""
    return max(runs // SLOW, 2)


def largest(counts: np.ndarray) -> list[int]:
    """Return the values with the largest counts, the largest first."""
    return np.argsort(-np.asarray(counts), kind="stable")[:MANY].tolist()


def whole(values: Any) -> dict[str, Any]:
    """Return quantiles between declared values as whole numbers, in both ways."""
    return {"quantile, nearest": np.rint(values), "quantile, rounded down": np.floor(values)}


def main(name: str, version: str, ask: Ask) -> None:
    """Ask a peer, and write what it answered."""
    folder = Path(sys.argv[1])
    answers = ask_all(Job.read(folder), ask)
    (folder / f"{name}.json").write_text(json.dumps({"version": version, "answers": answers}), "utf-8")
