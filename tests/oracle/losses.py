"""The exact loss between neighbouring tables, from what the kernel measured and drew for each of them.

Tables are released with noise of our choice, so that all of them hand out the same values y; what noise that
takes says what was measured exactly, q. The loss between two of them is then at most, and for some y exactly,

    sum over all noises of |q1 - q2| / scale,

of noises that are drawn together the norm of q1 - q2 over the scale,
infinite where values without noise differ. Where draws or their places differ although the same values were
handed out before, the release is broken whatever the numbers are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from oracle.tap import Draw, Ints, Release, Run, Shape

Pairs = Sequence[tuple[int, int]]
Chosen = Callable[[Draw, Ints], Ints]  # noise for a draw, given the exact values it is added to
MAX_NOISES = 120  # of a mesh: its noise map is found noise by noise
SLACK = 1e-7  # of a linear programme


class BrokenReleaseError(AssertionError):
    """A release loses more than it is charged, or is not the same mechanism for neighbouring tables."""


@dataclass(frozen=True)
class Found:
    """What tables measure: for each the exact values under every noise, and those without noise."""

    draws: tuple[Draw, ...]
    exact: NDArray[np.int64]  # tables x noises
    plain: list[Ints]  # a table's values without noise
    charged: Fraction

    @property
    def noisy(self) -> bool:
        """Tell whether any noise was drawn."""
        return bool(self.draws)

    def loss(self, first: int, second: int) -> Fraction | float:
        """Return the exact loss between two of the tables."""
        if not np.array_equal(self.plain[first], self.plain[second]):
            return math.inf
        change, total, start = self.exact[first] - self.exact[second], Fraction(0), 0
        for scale, size, shape in self.draws:
            moved = norm(change[start : start + size], shape)
            if math.isinf(moved) or (moved and not scale):
                return math.inf
            total += int(moved) / scale if moved else 0
            start += size
        return total


def norm(change: Ints, shape: Shape) -> float:
    """Return what a change is in L1, or the largest norm of the blocks of noises that are drawn together."""
    if not shape:
        return int(np.abs(change).sum())
    found, start = [0.0], 0
    for kind, size, reaches in shape:
        own = change[start : start + size].tolist()
        if kind == "box":
            found += [-(-abs(one) // reach) for one, reach in zip(own, reaches, strict=True)]
        else:
            found.append(sum(map(abs, own)) / 2 if sum(own) == 0 else math.inf)
        start += size
    return max(found)


def one_charge(runs: Sequence[Run]) -> Fraction:
    """Return what all runs were charged, or raise; a charge of 0 allows no noise."""
    charges = {run.charged for run in runs}
    if len(charges) != 1:
        raise BrokenReleaseError(f"charges depend on the rows or on the noise: {sorted(charges)}")
    charge = charges.pop()
    if not charge and any(scale for run in runs for scale, *_ in run.draws):
        scales = sorted({str(scale) for run in runs for scale, *_ in run.draws if scale})
        raise BrokenReleaseError(f"charged 0, but noise is drawn with scales {', '.join(scales)}")
    return charge


def placed(plain: Ints, tagged: Ints, tags: Ints) -> Ints:
    """Return which values the noises of one draw are added to, in order; later rounds may differ at will."""
    many = min(len(plain), len(tagged))
    change = tagged[:many] - plain[:many]
    rows: list[int] = []
    for row in np.flatnonzero(change):
        if len(rows) < len(tags) and change[row] == tags[len(rows)]:
            rows.append(int(row))
        elif len(rows) < len(tags):
            raise BrokenReleaseError("noise is not added to values one by one")
    if len(rows) < len(tags):
        raise BrokenReleaseError("some noise is added to nothing")
    return np.array(rows, dtype=np.int64)


def in_one_round(releases: Sequence[Release], pairs: Pairs) -> tuple[Fraction | float, Found | None]:
    """Return the largest loss over pairs of tables of a release that is measured at once."""
    runs = [release(()) for release in releases]
    draws = runs[0].draws
    if any(run.draws != draws or run.values.shape != runs[0].values.shape for run in runs):
        raise BrokenReleaseError("draws of noise depend on the rows")
    charge = one_charge(runs)
    sizes = np.array([size for _, size, _ in draws], dtype=np.int64)
    tags = np.arange(1, int(sizes.sum()) + 1, dtype=np.int64)
    tagged = releases[0](np.split(tags, np.cumsum(sizes)[:-1]) if len(sizes) else ())
    change = tagged.values - runs[0].values
    if sorted(change[change != 0].tolist()) != tags.tolist():
        return mapped_loss(releases, runs, pairs), None
    rows = np.argsort(np.where(change == 0, len(tags) + 1, change), kind="stable")[: len(tags)]
    rest = np.setdiff1d(np.arange(len(change)), rows)
    values = np.stack([run.values for run in runs])
    found = Found(draws, values[:, rows], [run.values[rest] for run in runs], charge)
    return max((found.loss(a, b) for a, b in pairs), default=Fraction(0)), found


def mapped_loss(releases: Sequence[Release], runs: Sequence[Run], pairs: Pairs) -> float:
    """Return the largest loss of a release whose values mix noises: y = x + M z.

    Shifting z by s with M s = x1 - x2 turns the release of one table into that of the other, and has odds of
    at most exp(sum |s| / scale): the least such sum bounds the loss.
    """
    from scipy.optimize import linprog

    scales = np.array([float(scale) for scale, size, _ in runs[0].draws for _ in range(size)])
    if len(scales) > MAX_NOISES:
        raise OverflowError("too many noises to look at")
    columns = []
    for noise in range(len(scales)):
        unit = np.zeros(len(scales), dtype=np.int64)
        unit[noise] = 1
        parts = np.split(unit, np.cumsum([size for _, size, _ in runs[0].draws])[:-1])
        columns.append(releases[0](parts).values - runs[0].values)
    mixed = np.stack(columns, axis=1).astype(float)
    worst, seen = 0.0, set()
    for a, b in pairs:
        change = runs[a].values - runs[b].values
        if not change.any() or tuple(change) in seen:
            continue
        seen |= {tuple(change), tuple(-change)}
        found = linprog(
            np.concatenate([1 / scales] * 2), A_eq=np.hstack([mixed, -mixed]), b_eq=change, method="highs"
        )
        worst = max(worst, math.inf if found.status != 0 else float(found.fun) * (1 - SLACK))
    return worst


def in_rounds(releases: Sequence[Release], pairs: Pairs, chosen: Chosen) -> tuple[Fraction | float, Found]:
    """Return the largest loss over pairs of tables of a release in rounds, along one sequence of values.

    The first table is released with chosen noise, draw after draw; the others with the noise that makes them
    hand out the same.
    """
    noises: list[Ints] = []
    rows: list[Ints] = []
    exact: list[Ints] = []
    runs: list[Run] = []
    while len((run := releases[0](noises)).draws) > len(noises):
        runs.append(run)
        draw = run.draws[len(noises)]
        tags = np.arange(1, draw[1] + 1, dtype=np.int64)
        own = placed(run.values, releases[0]([*noises, tags]).values, tags)
        rows.append(own)
        exact.append(run.values[own])
        noises.append(chosen(draw, run.values[own]))
    runs.append(run)
    every = [np.concatenate([*exact, np.zeros(0, dtype=np.int64)])]
    for release in releases[1:]:
        every.append(_same(release, run, rows, runs))
    rest = np.setdiff1d(np.arange(len(run.values)), np.concatenate([*rows, np.zeros(0, dtype=np.int64)]))
    found = Found(run.draws, np.stack(every), [run.values[rest]] * len(releases), one_charge(runs))
    return max((found.loss(a, b) for a, b in pairs), default=Fraction(0)), found


def _same(release: Release, wanted: Run, rows: list[Ints], runs: list[Run]) -> Ints:
    """Return what another table measures under each noise when it hands out the same values."""
    noises: list[Ints] = []
    exact: list[Ints] = []
    for place, own in enumerate(rows):
        run = release(noises)
        runs.append(run)
        if run.draws[: place + 1] != wanted.draws[: place + 1] or len(run.values) <= own.max(initial=-1):
            raise BrokenReleaseError("after the same noisy values neighbours are asked something else")
        exact.append(run.values[own])
        noises.append(wanted.values[own] - run.values[own])
    run = release(noises)
    runs.append(run)
    if run.draws != wanted.draws or not np.array_equal(run.values, wanted.values):
        raise BrokenReleaseError("values without noise differ between neighbours")
    return np.concatenate([*exact, np.zeros(0, dtype=np.int64)])
