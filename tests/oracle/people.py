"""What one person with several rows loses by a plan, from the definition: each row moves along an edge.

Edges come from the policy's words. Rows of the person that stay are moves from a cell to itself, and with
presence the cell after the last is "absent". A release in rounds is led along values that are drawn.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

import pandas_blowfish as bf
from oracle.cases import in_words
from oracle.definition import definition_edges
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.plan.joint_noise import APART
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.plan.tally import People
from pandas_blowfish.policy.cells import Cells

MAX_PEOPLE = 3_000  # ways to move all rows that are tried; more are drawn
FAR = 40  # noisy values along which rounds are led
SWEEPS = 2  # over the rows of the person who loses most
CLOSE = 1e-9  # of floats


@dataclass(frozen=True, eq=False)
class Moves:
    """All moves of one row of some columns: edges both ways, and rows that stay.

    Attributes:
        policy: The promise.
        columns: What a question may look at.
    """

    policy: bf.Policy
    columns: tuple[str, ...]

    @cached_property
    def ends(self) -> Ints:
        """Return the moves as pairs of cells."""
        edges = definition_edges(in_words(self.policy), self.columns)
        size = math.prod(self.policy.domain[name].size for name in self.columns)
        stay = np.repeat(np.arange(size), 2).reshape(-1, 2)
        return np.concatenate([edges, edges[:, ::-1], stay])

    @cached_property
    def cells(self) -> Cells:
        """Return all cells, and then "absent"."""
        shape = [self.policy.domain[name].size for name in self.columns]
        every = Cells.every(self.columns, shape)
        codes = {name: np.append(own, 0) for name, own in every.codes.items()}
        return Cells(codes, np.arange(len(every) + 1) == len(every))

    def people(self, rows: int, draw: np.random.Generator) -> Ints:
        """Return people as the moves of their rows: all there are, or drawn ones and all rows alike."""
        many = len(self.ends)
        if math.comb(many + rows - 1, rows) <= MAX_PEOPLE:
            return np.array(list(itertools.combinations_with_replacement(range(many), rows)))
        alike = np.repeat(np.arange(many), rows).reshape(-1, rows)
        return np.concatenate([alike, draw.integers(0, many, (MAX_PEOPLE, rows))])

    def measure(self, plan: Plan, draw: np.random.Generator) -> Measured:
        """Return what each move of a row changes of what a plan measures."""
        start, end = (self.cells.take(self.ends[:, place]) for place in range(2))
        counted, held, scales = [], [], list[Scales]()
        for step in rounds_of(plan, draw):
            tally = step.tallies[0] if step.tallies else None
            if isinstance(tally, People):  # a person is in a group or not
                bins = [np.arange(tally.size) == tally.bins_at(each)[:, None] for each in (start, end)]
                held.append(np.stack(bins))
            else:
                counted.append(step.changes(start, end).toarray().T.astype(np.int64))
            scales.append(step.loss_scales)
        return Measured(counted, held, Scales.stack(scales))

    def worst(self, measured: Sequence[Measured], rows: int, draw: np.random.Generator) -> Fraction | float:
        """Return the most that one person is found to lose by several releases together, exactly.

        Of many people the worst is taken; then each row is moved to where they lose most, a few times.
        """
        people = self.people(rows, draw)
        every = np.arange(len(self.ends))
        for turn in range(SWEEPS * rows + 1):
            changes = [each.change(people) for each in measured]
            losses = sum((each.losses for each in changes), np.zeros(len(people)))
            best = int(np.argmax(losses))
            if turn == SWEEPS * rows:
                break
            people = np.repeat(people[best : best + 1], len(every) + 1, axis=0)
            people[1:, turn % rows] = every
        return sum((each.loss(best) for each in changes), Fraction(0))


@dataclass(frozen=True, eq=False)
class Measured:
    """What each move of a row changes of some rounds.

    Attributes:
        counted: Of counts and sums: moves x query rows.
        held: Of counts of people: whether the row is in each bin before and after, 2 x moves x bins.
        scales: The scale of each value, in the order of rounds; a plan counts rows or people, not both.
    """

    counted: list[Ints]
    held: list[Any]
    scales: Scales

    def change(self, people: Ints) -> Changes:
        """Return what each person changes, given by the moves of their rows."""
        parts = [moved[people].sum(axis=1) for moved in self.counted]
        for own in self.held:
            before, after = (each[people].any(axis=1) for each in own)
            parts.append(after.astype(np.int64) - before)
        return in_norms(np.concatenate(parts, axis=1), self.scales)


def in_norms(table: Ints, scales: Scales) -> Changes:
    """Return changes in which rows that draw their noise together are one: the norm of their change."""
    together = np.zeros(len(scales), dtype=bool)
    columns, own = [], []
    for code, joint in scales.joint.items():
        together[joint.rows] = True
        norm = joint.measure(table)
        columns += [np.maximum(norm, 0), (norm == APART).astype(np.int64)]
        own += [scales.values[code], Fraction(0)]
    alone = np.flatnonzero(~together)
    rest = [scales[int(row)] for row in alone]
    return Changes(np.column_stack([table[:, alone], *columns]), [*rest, *own])


def rounds_of(plan: Plan, draw: np.random.Generator) -> list[Any]:
    """Return what is measured, round after round, given noisy values that are drawn."""
    values: list[Ints] = []
    found = []
    while (step := plan.measurement.next_round(values)) is not None:
        found.append(step)
        values.append(draw.integers(-FAR // 8, FAR, len(step.scales)))
    return found


@dataclass(frozen=True, eq=False)
class Changes:
    """By how much each person changes each noisy value, people x values, and the scale of each."""

    table: Ints
    scales: Sequence[Fraction]

    @cached_property
    def losses(self) -> Any:
        """Return what each person loses, as floats."""
        weights = np.array([float(1 / scale) if scale else 0.0 for scale in self.scales])
        found = np.abs(self.table).astype(np.float64) @ weights
        exact = np.array([not scale for scale in self.scales], dtype=bool)
        found[(self.table[:, exact] != 0).any(axis=1)] = math.inf
        return found

    def loss(self, person: int) -> Fraction | float:
        """Return what a person loses, exactly."""
        if math.isinf(self.losses[person]):
            return math.inf
        pairs = zip(np.abs(self.table[person]).tolist(), self.scales, strict=True)
        return sum((by / scale for by, scale in pairs if by), Fraction(0))

    @cached_property
    def most(self) -> Fraction | float:
        """Return the most that a person loses, exactly: of those that floats find as much the first few."""
        top = self.losses.max(initial=0.0)
        close = np.flatnonzero(self.losses >= top * (1 - CLOSE))[:5]
        return max((self.loss(int(each)) for each in close), default=Fraction(0))
