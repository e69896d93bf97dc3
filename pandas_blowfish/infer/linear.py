"""Answers of a workload from measured rows over atoms: the best estimates, or non-negative ones.

Free post-processing: never sees rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.infer.simplex import shape
from pandas_blowfish.infer.solved import Solved, without_dust
from pandas_blowfish.plan.strategy.linear import Linear
from pandas_blowfish.policy.graph import Ints

Floats = NDArray[np.float64]
MAX_FITTED = 300  # atoms up to which non-negative counts are fitted to the measured rows
DUST = 1e-7  # how near a whole number an answer is taken for it
FIRM = 1e3  # the weight of exact totals in such a fit


def from_rows(measurement: Linear, values: Ints, post: bool | str) -> Solved:
    """Return the answers: unbiased ones of least variance, or those of non-negative counts.

    Proof note:
        Requires: the inputs are a release already paid for.
        Ensures:  without `post` unbiased answers with the plan's variances; with it those of counts of atoms
                  that are not negative and add up to the exact totals, where atoms are estimated at all.
        Because:  see `estimator`; the shaped counts are the nearest ones, or a non-negative fit to the rows.
        Checked:  tests/infer/test_linear.py::test_answers_are_unbiased_with_the_variance_planned
    """
    atoms, many = measurement.atoms, measurement.rows.shape[0]
    noisy, totals = values[:many].astype(np.float64), values[many:].astype(np.float64)
    queries = atoms.queries.astype(np.float64)
    exact = (
        np.rint(queries[:, atoms.first_of_total] @ totals) if len(totals) else np.zeros(len(atoms.changing))
    )
    counts = _counts(measurement, noisy, totals)
    if counts is None:
        row, multiple = measurement.single
        answers = multiple * noisy[row]
        shaped = _signed(measurement, answers) if post else answers
    else:
        answers = np.asarray(queries @ counts)
        shaped = np.asarray(queries @ _shaped(measurement, counts, noisy, totals)) if post else answers
    answers, shaped = (
        without_dust(np.where(atoms.changing, each, exact), DUST) for each in (answers, shaped)
    )
    if not post:
        return Solved(answers, (0.0, 0.0))
    moved = answers - shaped
    return Solved(shaped, (float(moved.min(initial=0.0)), float(moved.max(initial=0.0))))


def _counts(measurement: Linear, noisy: Floats, totals: Floats) -> Floats | None:
    """Return the unbiased counts of atoms; None where only the queries themselves are known."""
    atoms, counted = measurement.atoms, measurement.measured_atoms
    if counted is None:
        return None if measurement.estimator is None else measurement.estimator.counts(noisy, totals)
    parts = atoms.links.parts
    inside = parts >= 0
    sizes = np.bincount(parts[inside], minlength=len(totals))
    found = np.zeros(atoms.count)
    found[inside] = (totals / np.maximum(sizes, 1))[
        parts[inside]
    ]  # where nothing is measured: dealt out evenly
    found[counted] = noisy
    corrected = counted & np.append(measurement.whole, False)[parts]
    gaps = (np.bincount(parts[corrected], found[corrected], len(totals)) - totals) / np.maximum(sizes, 1)
    found[corrected] -= gaps[parts[corrected]]
    return found


def _shaped(measurement: Linear, counts: Floats, noisy: Floats, totals: Floats) -> Floats:
    """Return counts of atoms that are not negative and agree with exact totals."""
    atoms, counted = measurement.atoms, measurement.measured_atoms
    parts, goal = atoms.links.parts, np.maximum(totals, 0.0)
    if counted is None:
        # scipy frees an empty matrix twice, so none is handed to it
        small = 0 < atoms.count <= MAX_FITTED and len(noisy) > 0
        fitted = _fitted(measurement, noisy, goal) if small else None
        return shape(counts, parts, goal).counts if fitted is None else fitted
    kept = np.append(measurement.whole, False)[parts]
    found = np.where(counted, shape(counts, np.where(kept, parts, -1), goal).counts, np.maximum(counts, 0.0))
    loose = counted & ~kept & (parts >= 0)  # the rest of their total is not measured: at most the total
    if loose.any():
        over = np.bincount(parts[loose], found[loose], len(totals)) > goal
        tight = loose & np.append(over, False)[parts]
        found[tight] = shape(counts[tight], parts[tight], goal).counts if tight.any() else 0.0
    return found


def _fitted(measurement: Linear, noisy: Floats, totals: Floats) -> Floats | None:
    """Return the non-negative counts that fit the rows best, with exact totals; None if the fit fails."""
    from scipy.optimize import nnls

    atoms = measurement.atoms
    rows, unit = measurement.rows.toarray(), float(measurement.sensitivity)
    matrix = np.concatenate([rows / unit, FIRM * atoms.total_rows.toarray()])
    try:
        found = np.asarray(nnls(matrix, np.concatenate([noisy / unit, FIRM * totals]))[0])
    except RuntimeError:  # too many steps
        return None
    return shape(found, atoms.links.parts, totals).counts


def _signed(measurement: Linear, answers: Floats) -> Floats:
    """Return answers at least 0 for queries without negative numbers, at most 0 without positive ones."""
    queries = measurement.atoms.queries
    least = np.asarray(queries.min(axis=1).toarray()).ravel()
    most = np.asarray(queries.max(axis=1).toarray()).ravel()
    return np.clip(answers, np.where(least >= 0, 0.0, -np.inf), np.where(most <= 0, 0.0, np.inf))
