"""Answers of a workload from measured rows over atoms: the best estimates, or non-negative ones.

Free post-processing: never sees rows.
"""

from __future__ import annotations

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.given import Family, Given
from pandas_blowfish.plan.line.solve import solve_lines, steady_inverse
from pandas_blowfish.plan.linear.atom_rows import Linear, multiples
from pandas_blowfish.plan.linear.atoms import indicator
from pandas_blowfish.plan.linear.woven import Woven
from pandas_blowfish.plan.shape.agree import agree
from pandas_blowfish.plan.shape.simplex import shape
from pandas_blowfish.plan.shape.solved import Solved, without_dust
from pandas_blowfish.plan.shape.system import System

MAX_FITTED = 300  # atoms up to which non-negative counts are fitted to the measured rows
DUST = 1e-7  # how near a whole number an answer is taken for it
FIRM = 1e3  # the weight of exact totals in such a fit
LOOSE = 1e10  # how far a count that was not measured moves beside one that was


def from_rows(measurement: Linear, values: Ints, post: bool | str, given: Given | None) -> Solved:
    """Return the answers: unbiased ones of least variance, or those of non-negative counts.

    Both agree with known answers of public facts that are sums of atoms.

    Proof note:
        Requires: the inputs are a release already paid for.
        Ensures:  without `post` unbiased answers with the plan's variances; with it those of counts of atoms
                  that are not negative and add up to the exact totals, where atoms are estimated at all.
        Because:  see `estimator`; the shaped counts are the nearest ones, or a non-negative fit to the rows.
        Checked:  tests/plan/linear/test_solve.py::test_answers_are_unbiased_with_the_variance_planned
    """
    atoms, many = measurement.atoms, measurement.rows.shape[0]
    noisy, totals = values[:many].astype(np.float64), values[many:].astype(np.float64)
    queries = atoms.queries.astype(np.float64)
    exact = (
        np.rint(queries[:, atoms.first_of_total] @ totals) if len(totals) else np.zeros(len(atoms.changing))
    )
    counts = _counts(measurement, noisy, totals)
    families = given.over(measurement.tally, atoms.of_bin) if given else []
    known = [*families, Family(atoms.links.parts, totals)] if families else []
    if counts is None:
        row, multiple = measurement.single
        answers = multiple * noisy[row]
        shaped = _signed(measurement, answers) if post else answers
        shaped = _replaced(measurement, shaped, known) if known else shaped
    else:
        answers = np.asarray(queries @ counts)
        if known:
            shaped = np.asarray(queries @ _agreed(measurement, counts, noisy, known, positive=bool(post)))
        else:
            shaped = np.asarray(queries @ _shaped(measurement, counts, noisy, totals)) if post else answers
    answers, shaped = (
        without_dust(np.where(atoms.changing, each, exact), DUST) for each in (answers, shaped)
    )
    return Solved(shaped, answers)


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
    atoms = measurement.atoms
    found = _fit(measurement, noisy, atoms.total_rows.toarray(), totals)
    return None if found is None else shape(found, atoms.links.parts, totals).counts


def _fit(measurement: Linear, noisy: Floats, firm: Floats, totals: Floats) -> Floats | None:
    """Return non-negative counts that fit the rows best, and firm rows nearly; None if the fit fails."""
    from scipy.optimize import nnls

    rows, unit = measurement.rows.toarray(), float(measurement.sensitivity)
    matrix = np.concatenate([rows / unit, FIRM * firm])
    try:
        return np.asarray(nnls(matrix, np.concatenate([noisy / unit, FIRM * totals]))[0])
    except (RuntimeError, np.linalg.LinAlgError):  # too many steps, or columns that are nearly alike
        return None


def _agreed(
    measurement: Linear, counts: Floats, noisy: Floats, known: list[Family], *, positive: bool
) -> Floats:
    """Return counts of atoms that agree with known sums; unbiased ones, or none of them negative."""
    counted, size = measurement.measured_atoms, measurement.atoms.count
    if counted is not None:  # what is not counted takes what is left
        return agree(counts, known, positive=positive, spread=np.where(counted, 1.0, LOOSE))
    system = System.build(known, size)
    rows = np.append(system.matrix.toarray(), np.zeros((system.many, 1)), axis=1)[:, system.of]
    if positive and size <= MAX_FITTED and len(noisy):
        fit = _fit(measurement, noisy, rows, system.totals)
        if fit is not None:
            return agree(fit, known, positive=True, spread=fit + max(1.0, float(fit.mean())))
    assert measurement.estimator is not None
    made, own = measurement.estimator, measurement.rows.toarray()
    told = made.fit @ own + made.held @ measurement.atoms.total_rows.toarray()
    left, values, _ = np.linalg.svd(rows - rows @ told)
    sums = left[:, int((values > DUST).sum()) :].T  # of known sums, what the measured rows tell at all
    spread = made.covariance
    pull = spread @ (sums @ rows).T
    inverse, found = steady_inverse(sums @ rows @ pull, float(spread.max(initial=0.0))), counts
    for _ in range(2):  # once more for what rounding leaves
        found = found + pull @ (inverse @ (sums @ (system.totals - rows @ found)))
    return agree(found, known, positive=True) if positive else found


def _replaced(measurement: Linear, answers: Floats, known: list[Family]) -> Floats:
    """Return answers, those whose queries are multiples of known sums by these."""
    from scipy.sparse import csr_array

    system = System.build(known, measurement.atoms.count)
    rows = csr_array(system.matrix @ indicator(system.of, system.matrix.shape[1]))
    rows.data = np.rint(rows.data).astype(np.int64)
    rows.sort_indices()
    row, multiple = multiples(measurement.atoms.queries, rows)
    return np.where(multiple != 0, multiple * np.append(system.totals, 0.0)[row], answers)


def _signed(measurement: Linear, answers: Floats) -> Floats:
    """Return answers at least 0 for queries without negative numbers, at most 0 without positive ones."""
    queries = measurement.atoms.queries
    least = np.asarray(queries.min(axis=1).toarray()).ravel()
    most = np.asarray(queries.max(axis=1).toarray()).ravel()
    return np.clip(answers, np.where(least >= 0, 0.0, -np.inf), np.where(most <= 0, 0.0, np.inf))


def solve_woven(measurement: Woven, values: Ints, post: bool | str, given: Given | None) -> Solved:
    """Return weighted sums along lines; those of exact totals are whole."""
    found = solve_lines(measurement, values, post, given)
    noisy = measurement.variances > 0
    shown, unshaped = (np.where(noisy, each, np.rint(each)) for each in (found.answers, found.unshaped))
    return Solved(shown, unshaped)
