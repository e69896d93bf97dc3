"""What a release really loses: the slow twin, on what would be counted and the noise that would be drawn.

Edges are those of `oracle.definition` in tests/ (of `oracle.neighbours` where facts are public), of a promise
that was made before the fault; the measured matrix is what the counter and the measurement make of one record
in each cell.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import numpy as np
import pandas as pd
from mutation_cases import RATIO, Case
from oracle.definition import definition_edges
from oracle.neighbours import true_loss
from scipy.optimize import linprog
from scipy.sparse import csr_array

import pandas_blowfish as bf
from pandas_blowfish.beyond.quilt import find_quilt
from pandas_blowfish.count import tally as count
from pandas_blowfish.plan.line.dawa import Dawa
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.plan.tables.mesh import Mesh

_edges: dict[Any, Any] = {}
Loss = Fraction | float


def loss_of(plan: Any, policy: bf.Policy, case: Case, frame: pd.DataFrame) -> Loss:
    """Return what a plan's release loses at most, as a multiple of what is charged for it."""
    names = plan.domain.columns
    records = _records(policy, names, case)
    matrix, scales = _drawn(plan, records, frame, clip=case.outside == "clip")
    if isinstance(plan.measurement, Mesh):
        lost = _mesh_loss(plan.measurement, matrix, scales, _pairs(policy, names, case))
    elif case.rows:
        lost = true_loss(policy, csr_array(matrix), scales, case.rows, names)
    else:
        lost = edge_loss(csr_array(matrix), scales, _pairs(policy, names, case)).value
    for secret in policy.aggregates:
        unit = plan.measurement.summed[0].lattice.unit
        lost = max(lost, secret.distance(unit) / scales[0] if scales[0] else math.inf)
    allowed = plan.cost
    if policy.chain is not None and allowed:
        allowed = find_quilt(policy.chain, policy.chain.length, allowed).rate
    if not allowed:
        return math.inf if lost else Fraction(0)
    return lost / allowed


def _records(policy: bf.Policy, names: Sequence[str], case: Case) -> list[pd.DataFrame]:
    """Return one record in each cell of some columns, in C order; then perhaps one beyond the bounds."""
    if case.values:
        return [pd.DataFrame({names[0]: [value]}) for value in case.values]
    axes = []
    for attribute in policy.domain.select(names):
        values = list(getattr(attribute, "values", range(attribute.cells)))
        axes.append([*values, None] if attribute.nullable else values)
    grid = itertools.product(*(range(len(axis)) for axis in axes))
    found = []
    for cell in grid:
        own: dict[str, Any] = {}
        for name, axis, code in zip(names, axes, cell, strict=True):
            nullable = axis[-1] is None and not isinstance(axis[0], str)
            own[name] = pd.array([axis[code]], dtype="Int64") if nullable else [axis[code]]
        found.append(pd.DataFrame(own, index=pd.RangeIndex(1)))
    if case.outside == "clip":
        found.append(pd.DataFrame({names[0]: [10**6]}))
    return found


def _pairs(policy: bf.Policy, names: Sequence[str], case: Case) -> Any:
    """Return both ends of every edge, by the numbers of records."""
    key = (policy.fingerprint, tuple(names), case.outside, case.values)
    if key not in _edges:
        _edges[key] = _listed(policy, names, case)
    return _edges[key]


def _listed(policy: bf.Policy, names: Sequence[str], case: Case) -> Any:
    if case.values:
        low, high = np.triu_indices(len(case.values), 1)
        values = np.array(case.values)
        near = values[high] <= values[low] * RATIO**-4
        return np.column_stack([low[near], high[near]])
    edges = definition_edges(policy, names)
    if case.outside != "clip":
        return edges
    last = policy.domain[names[0]].cells - 1  # what is beyond the bounds is in the last cell
    beyond = edges[(edges == last).any(axis=1)].copy()
    beyond[beyond == last] = last + 1
    return np.concatenate([edges, beyond])


def _drawn(
    plan: Any, records: list[pd.DataFrame], frame: pd.DataFrame, *, clip: bool
) -> tuple[Any, list[Fraction]]:
    """Return the measured matrix, records as columns, and the scale of each row; of rounds all of them."""
    own = plan.measurement
    if not own.in_rounds:
        matrix = _columns(own, records, clip)
        scales = list(own.scales)
        if (
            isinstance(own, Dawa) and own.sensitivity
        ):  # the partition loses twice what the totals do, each at its scale
            both = 1 / (2 / own.partition_scale + 1 / own.bucket_scale)
            scales = [both if scale else scale for scale in scales]
        return matrix, scales
    draw, values, parts, scales = np.random.default_rng(1), [], [], []
    while (step := own.next_round(values)) is not None:
        parts.append(_columns(step, records, clip))
        scales += list(step.scales)
        noise = [draw.laplace(0, float(scale)) if scale else 0.0 for scale in step.scales]
        exact = step.apply(count.count_cells(frame, step.tallies, clip=clip))
        values.append(exact + np.rint(noise).astype(np.int64))
    return np.concatenate(parts), scales


def _columns(step: Any, records: list[pd.DataFrame], clip: bool) -> Any:
    return np.column_stack([step.apply(count.count_cells(one, step.tallies, clip=clip)) for one in records])


def _mesh_loss(mesh: Mesh, matrix: Any, scales: list[Fraction], pairs: Any) -> Loss:
    """Return the least loss of noise that makes up for a move, of the move for which that is largest."""
    many = len(scales)
    noise = np.column_stack([mesh.spread_noise(each) for each in np.eye(many, dtype=np.int64)]).astype(float)
    costs = np.array([1 / float(scale) if scale else 1e12 for scale in scales])
    matrix = np.column_stack([matrix, np.zeros(len(matrix), dtype=np.int64)])
    worst, whole = 0.0, float(mesh.whole)
    for change in np.unique((matrix[:, pairs[:, 1]] - matrix[:, pairs[:, 0]]).T, axis=0):
        if not change.any():
            continue
        both = np.concatenate([noise, -noise], axis=1) / whole
        found = linprog(np.tile(costs, 2), A_eq=both, b_eq=change / whole, bounds=(0, None))
        worst = max(worst, float(found.fun) if found.status == 0 else math.inf)
    return round(worst, 6)
