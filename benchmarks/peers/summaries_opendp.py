"""OpenDP: the number of rows is part of the domain, so that a changed value is two steps of its metric."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
import opendp.prelude as dp
from summaries_job import (
    MANY,
    MEAN,
    MEDIAN,
    NUMERIC,
    QUARTERS,
    QUARTILES,
    TOP,
    VAR,
    Answers,
    Column,
    fewer,
    largest,
    main,
)

dp.enable_features("contrib")
CHANGED = 2  # one row goes and another comes: its distance between tables of equal size


def calibrated(make: Callable[[float], Any], epsilon: float, distance: int = CHANGED) -> Any:
    """Return the measurement with the least noise that keeps the promise."""
    return dp.binary_search_chain(make, d_in=distance, d_out=epsilon)


def repeated(measure: Callable[[Any], Any], rows: np.ndarray, runs: int) -> list[Any]:
    """Return the answers of some runs."""
    return [measure(rows) for _ in range(runs)]


def totals(column: Column, epsilon: float, runs: int) -> dict[str, Answers]:
    """Return means and variances."""
    values = column.values.astype(float)
    bounded = dp.atom_domain(bounds=(0.0, float(column.high)), nan=False)
    space = dp.vector_domain(bounded, size=len(values)), dp.symmetric_distance()
    ways = {MEAN: dp.t.then_mean, VAR: dp.t.then_variance}
    return {
        question: {
            "Laplace": repeated(
                calibrated(lambda scale, way=way: space >> way() >> dp.m.then_laplace(scale), epsilon),
                values,
                runs,
            )
        }
        for question, way in ways.items()
    }


def quantiles(column: Column, epsilon: float, runs: int) -> dict[str, Answers]:
    """Return quantiles: each picked among all declared values, or all read off one tree of counts."""
    rows = column.values.astype(np.int32)
    space = dp.vector_domain(dp.atom_domain(T="i32"), size=len(rows)), dp.symmetric_distance()
    declared = list(range(column.cells))

    def picked(share: float, part: float) -> list[Any]:
        def make(scale: float) -> Any:
            return space >> dp.m.then_private_quantile(dp.max_divergence(), declared, share, scale)

        return repeated(calibrated(make, part), rows, runs)

    branches = dp.t.choose_branching_factor(column.cells)
    tree = counting(column) >> dp.t.then_b_ary_tree(leaf_count=column.cells, branching_factor=branches)
    measure = calibrated(lambda scale: tree >> dp.m.then_laplace(scale), epsilon)
    consistent = dp.t.make_consistent_b_ary_tree(branches)
    found = [np.cumsum(np.array(consistent(measure(rows)))[: column.cells]) for _ in range(runs)]
    read = np.array([[np.argmax(each >= share * len(rows)) for share in QUARTERS] for each in found])
    each = [picked(share, epsilon / len(QUARTERS)) for share in QUARTERS]
    return {
        MEDIAN: {"private quantile": picked(0.5, epsilon), "tree": read[:, 1]},
        QUARTILES: {"private quantile": np.transpose(each), "tree": read},
    }


def counting(column: Column) -> Any:
    """Return the count of every declared value."""
    space = dp.vector_domain(dp.atom_domain(T="i32")), dp.symmetric_distance()
    return space >> dp.t.then_count_by_categories(list(range(column.cells)), null_category=False)


def most(column: Column, epsilon: float, runs: int) -> dict[str, Answers]:
    """Return the most frequent values: picked, where no count changes by more than 1, or by noisy counts."""
    rows, counts = column.values.astype(np.int32), column.counts.astype(np.int32)
    space = dp.vector_domain(dp.atom_domain(T="i32")), dp.linf_distance(T="i32")

    def make(scale: float) -> Any:
        return dp.m.make_noisy_top_k(*space, dp.max_divergence(), MANY, scale)

    noisy = calibrated(lambda scale: counting(column) >> dp.m.then_laplace(scale), epsilon)
    return {
        TOP: {
            "noisy top k": repeated(calibrated(make, epsilon, 1), counts, runs),
            "Laplace on counts": [largest(each) for each in repeated(noisy, rows, runs)],
        }
    }


def ask(column: Column, epsilon: float, runs: int) -> dict[str, Answers]:
    """Return the answers about a column."""
    found = most(column, epsilon, runs) if TOP in column.questions else {}
    if set(NUMERIC) & set(column.questions):
        found |= totals(column, epsilon, runs) | quantiles(column, epsilon, fewer(runs))
    return found


if __name__ == "__main__":
    main("opendp", version("opendp"), ask)
