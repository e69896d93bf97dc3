"""Weighted sums of the atoms of a line, asked of each line of a tally. Never sees rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.plan.line.question import Spans
from pandas_blowfish.plan.line.variance import Spread

CHUNK = 1 << 21  # weights looked at together
SEARCHED = 1 << 15  # weights that a search for the best layout looks at


@dataclass(frozen=True, eq=False)
class LineSums(Spans):
    """Sums of atoms times whole numbers, of each line.

    Attributes:
        weights: Queries x atoms of one line, scipy sparse.
    """

    weights: Any = None

    @property
    def per_line(self) -> int:
        """Return the number of answers of one line."""
        return int(self.weights.shape[0])

    @cached_property
    def index(self) -> pd.Index[Any]:
        """Return the index of all answers: groups outermost, then the number of the query."""
        return number_answers(self.tally.binnings[: self.axis], self.per_line)

    def answers(self, positions: Floats) -> Floats:
        """Return the answers from cumulative counts, lines x (size + 1)."""
        return np.asarray((self.weights @ np.diff(positions, axis=1).T).T, dtype=np.float64).ravel()

    def variances(self, spread: Spread) -> Floats:
        """Return the variance of every answer."""
        found = self._variances(spread)
        found[self._steady(spread)] = 0.0
        return found.T.ravel()

    def _variances(self, spread: Spread) -> Floats:
        """Return the variances, queries x lines, but for rounding of what is exact."""
        found, cuts = np.empty((self.per_line, self.groups)), spread.cuts()
        size = max(1, CHUNK // max(1, self.size))
        for first in range(0, self.per_line, size):
            part = np.asarray(self.weights[first : first + size].toarray(), dtype=np.float64)
            base, follow = weighted_rows(spread, part)
            left = base[:, None] - follow**2 @ cuts.T
            left[left <= 1e-12 * base[:, None]] = 0.0
            found[first : first + size] = left
        return found

    def mean_variance(self, spread: Spread) -> float:
        """Return the mean variance of the answers."""
        return float(self._variances(spread).mean())

    def _steady(self, spread: Spread) -> NDArray[np.bool_]:
        """Tell which queries are the same number on each segment, where all segments' totals are exact."""
        if spread.nest.line.open:
            return np.zeros(self.per_line, dtype=bool)
        starts, by_atom = spread.nest.line.starts, self.weights.tocsc()
        inner = np.setdiff1d(np.arange(1, self.size), starts)
        moved = abs(by_atom[:, inner] - by_atom[:, inner - 1]).sum(axis=1)
        return np.asarray(np.asarray(moved).ravel() == 0)

    def sample(self) -> LineSums:
        """Return few queries with nearly the same mean variance, for searches: all, their factor, or some."""
        from scipy.sparse import csr_array

        rows, size = self.weights, self.size
        most = max(8, SEARCHED // max(size, 1))
        if self.per_line > most and size <= most:
            dense = rows.toarray().astype(np.float64)
            values, vectors = np.linalg.eigh(dense.T @ dense)
            factor = (np.sqrt(np.maximum(values, 0.0)) * vectors).T
            rows = csr_array(factor[values > 1e-12 * values.max(initial=0.0)])
        elif self.per_line > most:
            rows = rows[np.linspace(0, self.per_line - 1, most).astype(np.int64)]
        return LineSums(self.tally, self.kind, self.given, self.labels, self.shown, rows)


def weighted_rows(spread: Spread, weights: Floats) -> tuple[Floats, Floats]:
    """Return the variances of weighted sums of atoms, and how each follows each segment's total.

    Args:
        spread: How estimates on a nest vary.
        weights: Sums x atoms.

    Proof note:
        Requires: as `Spread`.
        Ensures:  row by row what `Spread.weigh` returns.
        Because:  it is the same recursion, on all rows at once.
        Checked:  tests/plan/linear/test_line_sums.py::test_rows_are_single_ones
    """
    nest, chain = spread.nest, spread.chain
    each = weights[:, ::-1] if nest.layout.mirrored else weights
    rest = np.zeros(len(weights))
    for level, up, below in zip(nest.levels[::-1], spread.up[::-1], spread.below[::-1], strict=True):
        pull = np.add.reduceat(each * up, level.first[:-1], axis=1)
        rest += (each**2 * up).sum(axis=1) - (pull**2 / below).sum(axis=1)
        each = pull / below
    nothing = np.zeros((len(weights), 1))
    follows_on = nest.blocks.parent == np.append(nest.blocks.parent[1:], -1)
    pull = (each - np.concatenate([each[:, 1:], nothing], axis=1) * follows_on)[:, chain.unknown]
    rest += (pull.T * chain.solve(pull.T)).sum(axis=0)
    if chain.fixed:
        return rest, np.zeros((len(weights), nest.segments.size))
    follow = pull * chain.share[chain.places(chain.unknown)]
    return rest, np.add.reduceat(follow, nest.blocks.first[:-1], axis=1)


def number_answers(binnings: Any, many: int, name: str | None = None) -> pd.Index[Any]:
    """Return the index of numbered answers of every group."""
    outer = [binning.index for binning in binnings]
    inner = pd.RangeIndex(many, name=name)
    return pd.MultiIndex.from_product([*outer, inner]) if outer else inner
