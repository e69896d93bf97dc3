"""What a search for rows minimises: the error of queries at equal loss, and its slopes. Never sees rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.tables.weights import descend

LATTICE = 1 << 14  # the largest change over an edge, in steps of the lattice
LARGEST = 1 << 31  # the largest number of a row
CHUNK = 1 << 22  # changes looked at together
COARSE = 1 << 20  # changes beyond which the slopes of their sizes are worked out in single precision
MEMORY = 6  # moves that a descent remembers
NUDGE = 0.02  # of the largest number: by how much numbers are moved away from 0, where slopes vanish


@dataclass(frozen=True, eq=False)
class Problem:
    """What is minimised, in coordinates without exact totals: of each the last atom is left out.

    Attributes:
        gram: G in these coordinates.
        one: For each pair the coordinate of one atom; a coordinate past the last is always 0.
        two: That of the other.
        times: How often each pair's change counts.
        place: The coordinate of each atom.
        contrast: Atoms x coordinates: each atom less the one of its total that is left out.
        base: Whole-number rows over atoms that all rows are combinations of; None where they may be any.
        unit: The largest number of a combination that is 1.
    """

    gram: Floats
    one: Ints
    two: Ints
    times: Floats
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
    def of(cls, gram: Floats, pairs: Ints, parts: Ints, times: Floats | None = None) -> Problem:
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
        ends = np.append(place, size)[pairs]
        often = np.ones(len(pairs)) if times is None else times
        return cls(contrast.T @ gram @ contrast, ends[:, 0], ends[:, 1], often, place, contrast)

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

    def whole_rows(self, values: Floats, lattice: int = LATTICE) -> Ints:
        """Return rows over atoms on the finest lattice of numbers up to 2^31; a left out atom has 0.

        What divides all numbers is left out, which changes nothing but the unit.

        Args:
            values: Rows in these coordinates, whose largest change is 1.
            lattice: Into how many steps that is divided, unless numbers would be too large.
        """
        real = (self._full(values)[self.place] if self.base is None else values).T
        fine = float(lattice)
        while True:
            steps = np.rint(fine * real)
            if np.abs(steps).max(initial=0.0) <= LARGEST:  # times a base below 2^20 these are far from 2^63
                rows = steps.astype(np.int64)
                rows = rows if self.base is None else rows @ self.base
                rows //= max(1, int(np.gcd.reduce(rows, axis=None)))
                if np.abs(rows).max(initial=0) <= LARGEST:
                    return rows
            fine /= 2

    def _full(self, values: Floats) -> Floats:
        full = values if self.basis is None else self.basis @ values
        return np.concatenate([full, np.zeros((1, full.shape[1]))])

    def changes(self, values: Floats) -> Floats:
        """Return the L1 change of the rows over each pair, as often as it counts."""
        full, found = self._full(values), np.empty(len(self.one))
        size = max(1, CHUNK // max(1, full.shape[1]))
        for first in range(0, len(self.one), size):
            part = slice(first, first + size)
            found[part] = np.abs(full[self.one[part]] - full[self.two[part]]).sum(axis=1)
        return np.asarray(found * self.times)

    def normalise(self, values: Floats) -> Floats:
        """Return values scaled so that the largest change over an edge is 1."""
        return np.asarray(values / max(float(self.changes(values).max(initial=0.0)), 1e-300))

    def work(self, rows: int, pairs: int) -> float:
        """Return roughly how many operations one look at the error and some changes costs."""
        size = len(self.gram)
        return 10.0 * pairs * rows + size * size * (size + 2 * rows) / 4

    def error(self, values: Floats) -> float:
        """Return the error of values whose largest change is 1."""
        return self._error(values)[0]

    def _error(self, values: Floats) -> tuple[float, Floats]:
        from scipy.linalg.lapack import dpotrf, dpotri

        moment = values @ values.T
        moment.flat[:: len(moment) + 1] += 1e-13 * float(np.trace(moment)) / max(len(moment), 1)
        half, failed = dpotrf(moment, lower=1)
        inverted, singular = dpotri(half, lower=1) if not failed else (half, failed)
        if failed or singular:
            return math.inf, np.zeros_like(values)
        inverted = np.tril(inverted)
        inverted += np.tril(inverted, -1).T
        pulled = inverted @ self._asked
        return float(np.trace(pulled)), -2 * pulled @ inverted @ values

    def smooth(
        self, values: Floats, bend: float, power: float, some: Ints | None = None
    ) -> tuple[float, Floats]:
        """Return log(error s^2) and its gradient, s a smooth stand-in for the largest change.

        |t| is sqrt(t^2 + bend^2), the maximum a norm of high power.

        Args:
            values: Rows in these coordinates.
            bend: Up to where |t| is bent.
            power: Of the norm.
            some: The pairs that are looked at; None for all.
        """
        error, slope = self._error(values)
        if not 0 < error < math.inf:
            return 1e6, np.zeros_like(values)
        some = np.arange(len(self.one)) if some is None else some
        full, times = self._full(values), self.times[some]
        if len(some) * full.shape[1] > COARSE:
            full = full.astype(np.float32)
        apart = full[self.one[some]]
        apart -= full[self.two[some]]
        length = apart * apart
        length += full.dtype.type(bend * bend)
        np.sqrt(length, out=length)
        change = length.sum(axis=1, dtype=np.float64) * times
        most = float(change.max())
        share = (change / most) ** (power - 1)
        whole = float((share * change / most).sum())
        apart /= length
        apart *= (times * share * whole ** (1 / power - 1)).astype(full.dtype)[:, None]
        pull = np.asarray(self._ends(some, full.dtype) @ apart, dtype=np.float64)[:-1]
        if self.basis is not None:
            pull = self.basis.T @ pull
        largest = most * whole ** (1 / power)
        return float(np.log(error) + 2 * np.log(largest)), slope / error + 2 * pull / largest

    def _ends(self, some: Ints, kind: Any) -> Any:
        """Return coordinates x pairs with 1 at one end and -1 at the other, scipy sparse, kept."""
        from scipy.sparse import coo_array

        known = self.__dict__.get("_kept")
        if known is not None and known[0] is some and known[1] == kind:
            return known[2]
        many = np.arange(len(some))
        ones = np.ones(len(some), dtype=kind)
        places = (np.concatenate([self.one[some], self.two[some]]), np.concatenate([many, many]))
        shape = (len(self.gram) + 1, len(some))
        found = coo_array((np.concatenate([ones, -ones]), places), shape=shape).tocsr()
        self.__dict__["_kept"] = (some, kind, found)
        return found

    def even_columns(self, start: Floats, steps: int) -> Floats:
        """Return values that do well where all atoms are joined: rows whose columns have equal L1 norms.

        No edge between two such columns changes the rows by more than both norms. With numbers u |u|, divided
        by the sums of u^2, the error is smooth without any constraint.

        Args:
            start: Rows over atoms to begin with.
            steps: How many steps to take at most.
        """
        moved = start + NUDGE * np.abs(start).max(initial=0.0) * _scattered(start.shape)
        norms = np.maximum(np.abs(moved).sum(axis=0), 1e-300)

        def height(u: Floats) -> tuple[float, Floats]:
            signed, norm = u * np.abs(u), np.maximum(2 * (u * u).sum(axis=0), 1e-300)
            rows = signed / norm
            error, slope = self._error((rows @ self.contrast).T)
            if not 0 < error < math.inf:
                return 1e6, np.zeros_like(u)
            by_row = (self.contrast @ slope).T / error
            pulled = (by_row * signed).sum(axis=0) / norm**2
            return float(np.log(error)), 2 * np.abs(u) * by_row / norm - 4 * pulled * u

        u = descend(
            height, np.sign(moved) * np.sqrt(np.abs(moved) / norms), steps=steps, gain=1e-8, memory=MEMORY
        )
        rows = u * np.abs(u) / np.maximum(2 * (u * u).sum(axis=0), 1e-300)
        return self.normalise((rows @ self.contrast).T)

    @cached_property
    def complete(self) -> bool:
        """Tell whether every two atoms of a total are joined, and no row can vanish."""
        inside = np.abs(self.contrast).sum(axis=0) == 2  # the others are in no exact total
        sizes = 1 + np.bincount(np.argmin(self.contrast, axis=0))
        sizes = sizes[sizes > 1]
        return bool(inside.all()) and len(self.one) == int((sizes * (sizes - 1) // 2).sum())

    def widest(self, values: Floats, before: NDArray[np.bool_], most: int) -> NDArray[np.bool_]:
        """Tell which pairs a stage looks at: those of before, the largest changes, some of the large ones.

        Args:
            values: Rows in these coordinates.
            before: The pairs that the last stage looked at.
            most: How many of the large ones to take, spread evenly.
        """
        if len(self.one) <= most:
            return np.ones(len(self.one), dtype=bool)
        changes = self.changes(values)
        large = changes > 0.7 * changes.max()
        share = min(1.0, most / max(int(large.sum()), 1))
        spread = np.arange(len(changes)) * 0.6180339887498949 % 1 < share
        return np.asarray(before | (large & spread) | (changes > 0.94 * changes.max()))


def _scattered(shape: tuple[int, ...]) -> Floats:
    """Return numbers between -1 and 1 without a pattern, the same every time."""
    many = np.arange(1, int(np.prod(shape)) + 1, dtype=np.float64)
    return (2 * (many * many * 0.6180339887498949 % 1) - 1).reshape(shape)
