"""SmartNoise: a grouped count in SQL, and synthetic counts by MWEM on random ranges."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import peer_job
from snsql import Privacy, from_df

warnings.simplefilter("ignore")
QUERY = "SELECT x, COUNT(*) AS n FROM t.t GROUP BY x"
STATED: tuple[float, ...] = ()
TABLE = {"row_privacy": True, "censor_dims": False, "clamp_counts": False, "x": {"type": "int"}}


def reader(values: np.ndarray, cells: int, epsilon: float) -> object:
    """Return a private connection to the rows and one public row a cell.

    A cell without rows is missing from a grouped count, without noise: a public row in each makes all cells
    appear (they are declared, so rare ones need not be hidden: censor_dims).
    """
    rows = pd.DataFrame({"x": np.append(values, np.arange(cells))})
    return from_df(rows, privacy=Privacy(epsilon=epsilon, delta=1e-12), metadata={"": {"t": {"t": TABLE}}})


def counted(connection: object, cells: int) -> np.ndarray:
    """Return noisy counts, without the public rows."""
    found = np.zeros(cells)
    for cell, count in connection.execute(QUERY)[1:]:
        found[int(cell)] = count - 1
    return found


def mwem(values: np.ndarray, cells: int, epsilon: float) -> np.ndarray:
    """Return MWEM's counts; it knows the row count.

    Not its default, which measures all cells again and again: better for cells, but 40 s a fit at 100 cells.
    """
    from snsynth.mwem import MWEMSynthesizer

    made = MWEMSynthesizer(epsilon=epsilon, add_ranges=True, marginal_width=0)
    rows = pd.DataFrame({"x": np.append(values, np.arange(cells))})
    made.fit(rows, preprocessor_eps=0.0, categorical_columns=["x"])
    return np.asarray(made.synthetic_histograms[0][0]) - 1


def releases(values: np.ndarray, cells: int, epsilon: float, runs: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield noisy counts of both; MWEM hides a changed value at the epsilon it is given, so never at half."""
    connection = reader(values, cells, epsilon)
    for _ in range(runs):
        yield "SmartNoise SQL", counted(connection, cells)
        if epsilon in STATED:
            yield "SmartNoise MWEM, ranges only", mwem(values, cells, epsilon)


def prepare(column: np.ndarray, cells: int) -> peer_job.Prepared:
    """Return a release in SQL of many rows, which the connection already copied into SQLite."""
    connection = reader(column, cells, 1.0)
    return {"SmartNoise SQL": lambda: counted(connection, cells)}


if __name__ == "__main__":
    STATED = peer_job.load(Path(sys.argv[1])).stated
    peer_job.main("smartnoise", version("smartnoise-sql"), releases, prepare, share=0.1)
