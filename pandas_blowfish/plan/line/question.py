"""Questions along a line: sums of runs of atoms, for every line of a tally. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.exact.arrays import Floats, Ints, frozen
from pandas_blowfish.plan.line.variance import Spread
from pandas_blowfish.plan.tally import Binning, Tally


@dataclass(frozen=True, eq=False)
class Spans:
    """The sums of atoms start..stop-1, asked of each line of a tally.

    Attributes:
        tally: What is counted; its last shown column is the axis.
        kind: "cells", "prefixes", "all" (every range) or "ranges" (those given).
        given: Starts and stops of the ranges, for "ranges".
        labels: Makes the index of one line's answers.
    """

    tally: Tally
    kind: str
    given: tuple[Ints, Ints]
    labels: Callable[[], pd.Index[Any]]
    shown: int | None = None  # atoms that are asked about, where not all are

    @property
    def size(self) -> int:
        """Return the number of atoms."""
        return self.shown or self.tally.shape[self.axis]

    @property
    def axis(self) -> int:
        """Return the place of the axis among the tally's columns."""
        return (len(self.tally.binnings) if self.tally.shown is None else self.tally.shown) - 1

    @property
    def groups(self) -> int:
        """Return the number of lines."""
        return math.prod(self.tally.shape[: self.axis])

    @property
    def per_line(self) -> int:
        """Return the number of answers of one line."""
        if self.kind == "ranges":
            return len(self.given[0])
        return self.size * (self.size + 1) // 2 if self.kind == "all" else self.size

    @cached_property
    def ends(self) -> tuple[Ints, Ints]:
        """Return starts and stops of one line's answers."""
        atoms = np.arange(self.size)
        if self.kind == "cells":
            return frozen(atoms), frozen(atoms + 1)
        if self.kind == "prefixes":
            return frozen(atoms * 0), frozen(atoms + 1)
        if self.kind == "all":
            low, high = np.triu_indices(self.size)
            return frozen(low), frozen(high + 1)
        return self.given

    @cached_property
    def index(self) -> pd.Index[Any]:
        """Return the index of all answers: groups outermost."""
        outer = [binning.index for binning in self.tally.binnings[: self.axis]]
        inner = self.labels()
        if not outer:
            return inner
        if isinstance(inner, pd.MultiIndex):
            lines = pd.MultiIndex.from_product(outer) if len(outer) > 1 else outer[0]
            frames = [lines.repeat(len(inner)).to_frame(index=False)]
            frames.append(pd.concat([inner.to_frame(index=False)] * len(lines), ignore_index=True))
            return pd.MultiIndex.from_frame(pd.concat(frames, axis=1))
        return pd.MultiIndex.from_product([*outer, inner])

    def only(self, starts: Ints, stops: Ints) -> Spans:
        """Return other ranges of the same lines."""
        return Spans(self.tally, "ranges", (starts, stops), self.labels, self.shown)

    def cut(self, size: int) -> Spans:
        """Return the same kind of question about the first atoms alone."""
        return Spans(self.tally, self.kind, self.given, self.labels, size)

    def compact(self) -> Spans:
        """Return the same questions on a line without the atoms that a filter leaves empty everywhere."""
        if self.kind == "all" or self.tally.condition is None:
            return self
        tally, axis = self.tally, self.axis
        held = np.asarray(tally.sieve.occupied(tally.marks, tally.shape).reshape(-1, self.size).any(axis=0))
        if held.all() or not held.any():
            return self
        place = np.append(0, np.cumsum(held))
        marks = tally.marks[axis]
        labels = np.where((marks >= 0) & held[marks], place[marks], -1)
        own = Binning(tally.binnings[axis].attribute, frozen(labels), pd.RangeIndex(int(place[-1])))
        fewer = Tally(
            (*tally.binnings[:axis], own, *tally.binnings[axis + 1 :]), tally.shown, tally.condition
        )
        starts, stops = self.ends
        return Spans(fewer, "ranges", (frozen(place[starts]), frozen(place[stops])), self.labels)

    def answers(self, positions: Floats) -> Floats:
        """Return the answers from cumulative counts, lines x (size + 1)."""
        if self.kind == "cells":
            return np.diff(positions, axis=1).ravel()
        starts, stops = self.ends
        return (positions[:, stops] - positions[:, starts]).ravel()

    def variances(self, spread: Spread) -> Floats:
        """Return the variance of every answer."""
        found = self._by_line(spread)
        return np.tile(found[0], self.groups) if len(found) == 1 else found.ravel()

    def _by_line(self, spread: Spread) -> Floats:
        """Return the variances of each line's answers; a single row where all lines are alike."""
        if self.kind == "cells" and not spread.nest.line.open:
            return spread.atoms()[None]
        if self.kind == "prefixes" and not (spread.nest.line.open or spread.nest.layout.mirrored):
            each = np.maximum(spread.prefixes(), 0.0)
            each[spread.nest.segments.end - 1] = 0.0
            return each[None]
        starts, stops = self.ends
        if (stops == starts).any():  # of nothing
            some = stops > starts
            inner = self.only(starts[some], stops[some])._by_line(spread)
            found = np.zeros((len(inner), len(starts)))
            found[:, some] = inner
            return found
        ranged, cuts = spread.ranges(starts, stops), spread.cuts()
        line = spread.nest.line
        if not line.open:  # from one segment's edge to another's everything is exact
            known = np.append(line.starts, self.size)
            exact = np.isin(starts, known) & np.isin(stops, known)
            return np.where(exact, 0.0, np.maximum(ranged.base, 0.0))[None]
        if (cuts == cuts[:1]).all():
            cuts = cuts[:1]
        before = np.concatenate([np.zeros((len(cuts), 1)), np.cumsum(cuts, axis=1)], axis=1)
        last, after = ranged.last, np.minimum(ranged.first + 1, ranged.last)
        less = ranged.low**2 * cuts[:, ranged.first] + ranged.high**2 * cuts[:, last]
        less += np.where(ranged.first == last, 0.0, before[:, last] - before[:, after])
        left = ranged.base - less
        return np.where(left > 1e-12 * ranged.base, left, 0.0)

    def mean_variance(self, spread: Spread) -> float:
        """Return the mean variance of the answers; in linear time for every range, too."""
        if self.kind != "all":
            return float(self._by_line(spread).mean())
        k = self.size
        prefixes = Spans(self.tally, "prefixes", self.given, self.labels, self.shown)
        each = float(prefixes.variances(spread).sum()) / self.groups
        # the sum over all pairs of positions of Var(P_b - P_a) is (k + 1) sum Var(P) - Var(sum P)
        whole, follows = spread.weighted(np.arange(k, 0, -1, dtype=np.float64))
        whole -= float((follows**2 * spread.cuts()).sum()) / self.groups
        return ((k + 1) * each - whole) / self.per_line
