"""Numerical search for the rows that answer a workload best under a policy, on a lattice of whole numbers.

Never sees rows. Floats only propose what to measure: the sensitivity of the rounded rows is computed exactly
by who measures them. Results are kept by everything they depend on.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.shape.one_thread import one_thread
from pandas_blowfish.plan.tables.weights import descend

LATTICE = 1 << 14  # the largest change over an edge, in steps of the lattice
STAGES = ((0.1, 100.0), (0.03, 200.0), (0.01, 400.0), (0.003, 1_000.0), (0.001, 2_000.0))
MOST, LEAST, AGAIN = 100, 5, 3  # steps of one stage, and how many times as many for the best start
LARGEST = 1 << 31  # the largest number of a row
WORK = 1e10  # operations of the whole search, roughly
GAIN = 1e-9  # of a step, below which a descent ends
MAX_CACHED = 64
_found: OrderedDict[bytes, Ints] = OrderedDict()


def optimise(
    gram: Floats, pairs: Ints, parts: Ints, starts: Sequence[Floats], queries: Ints | None = None
) -> Ints:
    """Return whole-number rows over atoms with a small mean variance at equal noise.

    Minimised is trace(G C) s^2: G = W^T W of the queries, C the covariance of the best estimates from rows
    with unit variance, given the exact totals, and s the largest L1 change of the rows over an edge.
    Every start is improved a little, and the best of them further.

    Args:
        gram: G, atoms x atoms.
        pairs: Joined atoms; the number after the last stands for "absent".
        parts: For each atom the number of its exact total, -1 for none.
        starts: Rows to begin with, real numbers over atoms, each enough to answer all queries.
        queries: The queries as whole-number rows over atoms, where they are few enough to begin with, too.

    Proof note:
        Requires: nothing: what is found is only a proposal.
        Ensures:  rows of whole numbers up to 2^31 that the queries are combinations of, unless they round to
                  too few.
        Because:  either they tell all atoms apart, or they are whole-number combinations of queries.
        Checked:  tests/plan/linear/test_optimise.py::test_rows_answer_the_queries
    """
    begun = [] if queries is None else [queries.astype(np.float64)]
    key = _key(gram, pairs, parts, [*starts, *begun])
    if key in _found:
        _found.move_to_end(key)
        return _found[key]
    problem = Problem.of(gram, pairs, parts)
    tried: list[Tried] = []
    for start in [*starts, *begun]:
        used = problem
        if problem.deficient(start):
            if queries is None:
                continue
            # rows that do not tell all atoms apart are searched among those that tell no more than is asked
            used = problem.narrow_to(queries)
        values = used.normalise(used.values(start))
        tried.append((used, values, used.error(values)))
    work = max(used.work(values.shape[1]) for used, values, _ in tried)
    most = WORK / (work * len(STAGES))
    while len(tried) > 1 and most < LEAST * (len(tried) + AGAIN):  # too much work for all of them
        worst = max(range(len(tried)), key=lambda place: tried[place][2])
        del tried[worst]
    steps = int(np.clip(most / (len(tried) + AGAIN), LEAST, MOST))
    with one_thread():
        best = min((_improved(each, steps) for each in tried), key=lambda each: each[2])
        best = _improved(best, AGAIN * steps)
    rows: Ints = best[0].whole_rows(best[1])
    rows = rows[np.abs(rows).sum(axis=1) > 0]
    _found[key] = rows
    while len(_found) > MAX_CACHED:
        _found.popitem(last=False)
    return rows


Tried = tuple["Problem", Floats, float]


def _improved(tried: Tried, steps: int) -> Tried:
    """Return better values: a descent in ever sharper approximations of the largest change."""
    problem, values, least = tried
    best = values
    for bend, power in STAGES:
        smooth = partial(problem.smooth, bend=bend / values.shape[1], power=power)
        values = problem.normalise(descend(smooth, values, steps=steps, gain=GAIN))
        if (now := problem.error(values)) < least:
            best, least = values, now
    return problem, best, least


@dataclass(frozen=True, eq=False)
class Problem:
    """What is minimised, in coordinates without exact totals: of each the last atom is left out.

    Attributes:
        gram: G in these coordinates.
        one: For each pair the coordinate of one atom; a coordinate past the last is always 0.
        two: That of the other.
        place: The coordinate of each atom.
        contrast: Atoms x coordinates: each atom less the one of its total that is left out.
        base: Whole-number rows over atoms that all rows are combinations of; None where they may be any.
        unit: The largest number of a combination that is 1.
    """

    gram: Floats
    one: Ints
    two: Ints
    place: Ints
    contrast: Floats
    base: Ints | None = None
    unit: int = 1

    @cached_property
    def basis(self) -> Floats | None:
        """Return coordinates x values where rows are combinations of fewer; None for all."""
        return None if self.base is None else (self.base @ self.contrast).T / self.unit

    @cached_property
    def _back(self) -> Floats:
        assert self.basis is not None
        return np.asarray(np.linalg.pinv(self.basis), dtype=np.float64)

    @cached_property
    def _asked(self) -> Floats:
        return self.gram if self.basis is None else np.asarray(self._back @ self.gram @ self._back.T)

    @classmethod
    def of(cls, gram: Floats, pairs: Ints, parts: Ints) -> Problem:
        """Return the problem of a workload."""
        count = len(parts)
        left_out = np.zeros(count, dtype=bool)
        inside = np.flatnonzero(parts >= 0)  # totals may be numbered with gaps
        last = len(inside) - 1 - np.unique(parts[inside][::-1], return_index=True)[1]
        left_out[inside[last]] = True
        size = count - int(left_out.sum())
        place = np.where(left_out, size, np.cumsum(~left_out) - 1)
        contrast = np.zeros((count, size))
        kept = np.flatnonzero(~left_out)
        contrast[kept, place[kept]] = 1.0
        reference = {int(parts[atom]): int(atom) for atom in inside[last]}
        for atom in kept[parts[kept] >= 0].tolist():
            contrast[reference[int(parts[atom])], place[atom]] = -1.0
        where = np.append(place, size)
        ends = where[pairs]
        return cls(contrast.T @ gram @ contrast, ends[:, 0], ends[:, 1], place, contrast)

    def narrow_to(self, queries: Ints) -> Problem:
        """Return the problem whose rows are combinations of queries."""
        from scipy.linalg import qr

        real = (queries @ self.contrast).T
        real = real / np.maximum(np.abs(real).max(axis=0), 1e-300)
        _, upper, order = qr(real, mode="economic", pivoting=True)
        sizes = np.abs(np.diag(upper))
        base = queries[np.sort(order[: int((sizes > 1e-9 * sizes.max(initial=0.0)).sum())])]
        return replace(self, base=base, unit=int(np.abs(base).max(initial=1)))

    def values(self, rows: Floats) -> Floats:
        """Return rows over atoms in these coordinates, less what they are where an atom is left out."""
        found = (rows @ self.contrast).T
        return found if self.basis is None else self._back @ found

    def deficient(self, rows: Floats) -> bool:
        """Tell whether rows leave some atoms untold from others."""
        values = self.values(rows)
        sizes = np.linalg.svd(values, compute_uv=False)
        return bool((sizes > 1e-6 * sizes.max(initial=0.0)).sum() < len(self.gram))

    def whole_rows(self, values: Floats) -> Ints:
        """Return rows over atoms on the finest lattice of numbers up to 2^31; a left out atom has 0.

        What divides all numbers is left out, which changes nothing but the unit.
        """
        real = (self._full(values)[self.place] if self.base is None else values).T
        lattice = float(LATTICE)
        while True:
            steps = np.rint(lattice * real)
            if np.abs(steps).max(initial=0.0) <= LARGEST:  # times a base below 2^20 these are far from 2^63
                rows = steps.astype(np.int64)
                rows = rows if self.base is None else rows @ self.base
                rows //= max(1, int(np.gcd.reduce(rows, axis=None)))
                if np.abs(rows).max(initial=0) <= LARGEST:
                    return rows
            lattice /= 2

    def _full(self, values: Floats) -> Floats:
        full = values if self.basis is None else self.basis @ values
        return np.concatenate([full, np.zeros((1, full.shape[1]))])

    def normalise(self, values: Floats) -> Floats:
        """Return values scaled so that the largest change over an edge is 1."""
        full = self._full(values)
        most = 0.0
        for first in range(0, len(self.one), 50_000):
            part = slice(first, first + 50_000)
            most = max(most, float(np.abs(full[self.one[part]] - full[self.two[part]]).sum(axis=1).max()))
        return np.asarray(values / max(most, 1e-300))

    def work(self, rows: int) -> float:
        """Return roughly how many operations one look at the error costs."""
        size = len(self.gram)
        return 20.0 * len(self.one) * rows + 2.0 * size * size * (size + 2 * rows)

    def error(self, values: Floats) -> float:
        """Return the error of values whose largest change is 1."""
        return self._error(values)[0]

    def _error(self, values: Floats) -> tuple[float, Floats]:
        moment = values @ values.T
        moment[np.diag_indices_from(moment)] += 1e-13 * float(np.trace(moment)) / max(len(moment), 1)
        inverted = np.linalg.inv(moment)
        pulled = inverted @ self._asked
        return float(np.trace(pulled)), -2 * pulled @ inverted @ values

    def smooth(self, values: Floats, bend: float, power: float) -> tuple[float, Floats]:
        """Return log(error s^2) and its gradient, s a smooth stand-in for the largest change.

        |t| is sqrt(t^2 + bend^2), the maximum a norm of high power.
        """
        error, slope = self._error(values)
        if not error > 0:
            return 1e6, np.zeros_like(values)
        full = self._full(values)
        apart = full[self.one] - full[self.two]
        length = np.sqrt(apart * apart + bend * bend)
        change = length.sum(axis=1)
        most = float(change.max())
        share = (change / most) ** (power - 1)
        whole = float((share * change / most).sum())
        apart *= (share * whole ** (1 / power - 1))[:, None] / length
        pull = (self._ends.T @ apart)[:-1]
        if self.basis is not None:
            pull = self.basis.T @ pull
        largest = most * whole ** (1 / power)
        return float(np.log(error) + 2 * np.log(largest)), slope / error + 2 * pull / largest

    @cached_property
    def _ends(self) -> Any:
        from scipy.sparse import coo_array

        many = np.arange(len(self.one))
        ones = np.ones(len(many))
        places = (np.concatenate([many, many]), np.concatenate([self.one, self.two]))
        shape = (len(many), len(self.gram) + 1)
        return coo_array((np.concatenate([ones, -ones]), places), shape=shape).tocsr()


def _key(gram: Floats, pairs: Ints, parts: Ints, starts: Sequence[Floats]) -> bytes:
    """Return a digest of everything the result depends on."""
    digest = hashlib.sha256()
    for part in (gram, pairs, parts, *starts):
        digest.update(f"{part.dtype} {part.shape}".encode())
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.digest()
