"""Which facts a cell is counted by: the distinct signatures of all cells. Never sees rows.

Cells that no fact distinguishes share a class, column by column, so that a hundred boxes on a grid of a
million cells are a small table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.facts.fact import Fact
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.expression import Atom, Condition, Junction, atoms_of, truth

MAX_COMBINATIONS = 1_000_000  # of classes of all columns
MAX_BITS = 400_000_000  # of counts over these combinations
WORD = 62  # counts that one whole number holds


@dataclass(frozen=True, eq=False)
class Signatures:
    """The distinct combinations of facts that cells are counted by, one after another.

    Attributes:
        facts: The facts, in the order of their labels.
        starts: The first label of each fact: a count has one, a marginal one a cell of its columns.
        group: For each signature the number of its combination of public values.
        bits: Whether it is counted by each count (signatures x counts).
        counts: The label of each count.
        codes: Its label of each marginal (signatures x marginals).
        presence: Whether a row may be absent, and then is counted by nothing.
        cells: How many cells of one public combination have it; more than 2 are stated as 2.
        confined: Whether public combinations are distinguished, so that cells of one group agree on them.
    """

    facts: tuple[Fact, ...]
    starts: Ints
    group: Ints
    bits: NDArray[np.bool_]
    counts: Ints
    codes: Ints
    presence: bool
    cells: Ints
    confined: bool

    @property
    def size(self) -> int:
        """Return how many signatures there are."""
        return len(self.group)

    @property
    def labels(self) -> int:
        """Return how many counts are known in all."""
        return sum(fact.counts for fact in self.facts)

    def groups(self) -> list[Ints]:
        """Return the signatures of each combination of public values."""
        order = np.argsort(self.group, kind="stable")
        cuts = np.flatnonzero(np.diff(self.group[order])) + 1
        return [part for part in np.split(order, cuts) if len(part)]

    def fact_of(self, labels: Ints) -> Ints:
        """Return the fact that each label belongs to."""
        return np.searchsorted(self.starts, labels, side="right") - 1

    def table(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return the labels that some signatures have, and whether each has each, as 0 and 1."""
        held = self.counts[self.bits[rows].any(axis=0)]
        labels = np.unique(np.concatenate([held, self.codes[rows].ravel()]))
        table = np.zeros((len(rows), len(labels)), dtype=np.int64)
        table[:, np.searchsorted(labels, held)] = self.bits[rows][:, np.isin(self.counts, held)]
        for column in self.codes[rows].T:
            table[np.arange(len(rows)), np.searchsorted(labels, column)] = 1
        return labels, table

    def several(self, labels: Ints) -> NDArray[np.bool_]:
        """Tell which labels have two cells or more, of one public combination or of several."""
        held, _ = self._held
        return np.asarray((held[labels] > 1) | self.spanning(labels))

    def spanning(self, labels: Ints) -> NDArray[np.bool_]:
        """Tell which labels have cells of several public combinations."""
        _, seen = self._held
        return np.asarray((seen[labels] > 1) | (not self.confined))

    @cached_property
    def _held(self) -> tuple[Ints, Ints]:
        """Return for each label how many cells, and how many public combinations, it has."""
        held, seen = (np.zeros(self.labels, dtype=np.int64) for _ in range(2))
        every = np.ones(self.size, dtype=bool)
        counts = [
            (members, np.full(self.size, own)) for members, own in zip(self.bits.T, self.counts, strict=True)
        ]
        for members, own in [*counts, *((every, codes) for codes in self.codes.T)]:
            np.add.at(held, own[members], self.cells[members])
            pairs = np.unique(np.stack([own[members], self.group[members]]), axis=1)
            np.add.at(seen, pairs[0], 1)
        return held, seen

    @cached_property
    def matrix(self) -> Ints:
        """Return whether each signature is counted under each label that any has, as 0 and 1."""
        return self.table(np.arange(self.size))[1]

    def with_totals(self, groups: Sequence[Ints]) -> Ints:
        """Return `matrix`, after the totals of public combinations where the number of rows is public."""
        if self.presence:
            return self.matrix
        totals = np.zeros((self.size, len(groups)), dtype=np.int64)
        for number, rows in enumerate(groups):
            totals[rows, number] = 1
        return np.concatenate([totals, self.matrix], axis=1)


def signatures_of(
    facts: Sequence[Fact], domain: Domain, public: frozenset[str], presence: bool
) -> Signatures | None:
    """Return the signatures of all cells; None where there are too many combinations to go through."""
    columns = list(dict.fromkeys(column for fact in facts for column in fact.columns))
    classes = [_classes(facts, column, domain[column].size) for column in columns]
    shape = tuple(int(each.max(initial=-1)) + 1 for each in classes)
    combinations = math.prod(shape)
    single = [fact for fact in facts if fact.condition is not None]
    if combinations > MAX_COMBINATIONS or combinations * max(len(single), 1) > MAX_BITS:
        return None
    open_axes = [axis for axis, column in enumerate(columns) if column in public]
    words = [_code(shape, open_axes).ravel()]
    starts = np.cumsum([0, *(fact.counts for fact in facts)])[:-1]
    for first in range(0, len(single), WORD):
        word = np.zeros(shape, dtype=np.int64)
        for place, fact in enumerate(single[first : first + WORD]):
            assert fact.condition is not None
            word += truth(fact.condition, columns, classes).astype(np.int64) << place
        words.append(word.ravel())
    tables = [(fact, start) for fact, start in zip(facts, starts, strict=True) if fact.condition is None]
    for fact, start in tables:  # each cell of a marginal's columns is a class of its own
        words.append(_code(shape, [columns.index(column) for column in fact.columns]).ravel() + start)
    found, kind = np.unique(np.stack(words, axis=1), axis=0, return_inverse=True)
    many = len(words) - len(tables)
    shifts = np.arange(WORD)
    bits = [((found[:, [1 + n]] >> shifts) & 1).astype(bool) for n in range(many - 1)]
    flat = np.concatenate(bits, axis=1)[:, : len(single)] if bits else np.zeros((len(found), 0), dtype=bool)
    counts = starts[[fact.condition is not None for fact in facts]].astype(np.int64)
    sizes = _sizes(classes, shape, open_axes)
    others = [column for column in domain.columns if column not in columns]
    free = any(column not in public and not _single(domain, column) for column in others)
    cells = np.bincount(kind.reshape(-1), np.minimum(sizes.ravel() * (1 + free), 2))
    cells = np.minimum(cells, 2).astype(np.int64)
    distinct = all(len(classes[axis]) == shape[axis] for axis in open_axes)
    distinct = distinct and all(_single(domain, column) for column in others if column in public)
    labels = (flat, counts, found[:, many:])
    return Signatures(tuple(facts), starts, found[:, 0], *labels, presence, cells, distinct)


def _single(domain: Domain, column: str) -> bool:
    """Tell whether a column has just one cell."""
    return domain[column].bounded and domain[column].size == 1


def _sizes(classes: Sequence[Ints], shape: Sequence[int], public: Sequence[int]) -> Ints:
    """Return how many cells each combination of classes has for one choice of public values; at most 2."""
    sizes = np.ones(shape, dtype=np.int64)
    for axis, each in enumerate(classes):
        if axis not in public:
            view = [1] * len(shape)
            view[axis] = -1
            sizes = np.minimum(sizes * np.bincount(each).reshape(view), 2)
    return sizes


def is_disjoint(facts: Sequence[Fact], domain: Domain) -> bool:
    """Tell whether facts are counts of cells that all of their columns together keep apart."""
    sides = [_sides(fact.condition) for fact in facts]
    if any(side is None for side in sides):
        return False
    disjoint = np.zeros((len(facts), len(facts)), dtype=bool)
    for column in {column for side in sides for column in side or {}}:
        masks = np.stack(
            [(side or {}).get(column, np.ones(domain[column].size, dtype=bool)) for side in sides]
        ).astype(np.float32)
        disjoint |= masks @ masks.T == 0
    np.fill_diagonal(disjoint, True)
    return bool(disjoint.all())


def _classes(facts: Sequence[Fact], column: str, size: int) -> Ints:
    """Return classes of a column's cells that no fact distinguishes; each its own for a marginal."""
    if any(fact.condition is None and column in fact.columns for fact in facts):
        return np.arange(size)
    own = [atom for fact in facts if fact.condition is not None for atom in atoms_of(fact.condition)]
    masks = [atom.cells for atom in own if atom.column == column]
    if not masks:
        return np.zeros(size, dtype=np.int64)
    changes = np.zeros(size, dtype=bool)  # where some comparison begins or ends: runs between are alike
    for mask in masks:
        changes[1:] |= mask[1:] != mask[:-1]
    starts = np.append(0, np.flatnonzero(changes))
    packed = np.packbits(np.stack([mask[starts] for mask in masks]), axis=0).T
    _, classes = np.unique(packed, axis=0, return_inverse=True)
    return np.repeat(classes.reshape(-1), np.diff(np.append(starts, size))).astype(np.int64)


def _code(shape: Sequence[int], axes: Sequence[int]) -> Ints:
    """Return the C order number of the combination on some axes, over all combinations."""
    code = np.zeros((1,) * len(shape), dtype=np.int64)
    for axis in axes:
        view = [1] * len(shape)
        view[axis] = -1
        code = code * shape[axis] + np.arange(shape[axis]).reshape(view)
    return np.broadcast_to(code, shape)


def _sides(condition: Condition | None) -> dict[str, NDArray[np.bool_]] | None:
    """Return a condition as one set of cells per column; None where it is not of that kind."""
    if isinstance(condition, Atom):
        return {condition.column: condition.cells}
    if not isinstance(condition, Junction) or not condition.every:
        return None
    sides: dict[str, NDArray[np.bool_]] = {}
    for part in condition.parts:
        own = _sides(part)
        if own is None:
            return None
        for column, cells in own.items():
            sides[column] = sides[column] & cells if column in sides else cells
    return sides
