"""How many lines between cells of a grid of two columns one edge of the policy crosses. Never sees rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.plan.changes import changes
from pandas_blowfish.plan.ladder import Ladder
from pandas_blowfish.policy.front import maximal
from pandas_blowfish.policy.graph import Cliques, Ints
from pandas_blowfish.policy.offsets import OffsetBall
from pandas_blowfish.policy.product import Block, RecordGraph

if TYPE_CHECKING:
    from pandas_blowfish.plan.boxes import Boxes

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
MAX_LISTED_EDGES = 2_000_000


@dataclass(frozen=True, eq=False)
class Crossings:
    """Lines across two columns, a line between every two neighbouring atoms.

    Attributes:
        open: For each column which lines some edge crosses.
        most: Pairs of how many lines of each kind one edge crosses, those no other pair exceeds.
    """

    open: tuple[Mask, Mask]
    most: tuple[tuple[int, int], ...]


def crossings(question: Boxes, graph: RecordGraph) -> Crossings | None:
    """Return the crossings of boxes' two columns, or None where edges do more than move rows along them.

    Proof note:
        Requires: `graph` is projected on the question's columns.
        Ensures:  every edge moves a row between cells that some pair of `most` bounds the lines between, over
                  open lines alone; None where an edge may change another column or lead away.
        Because:  of blocks that move by themselves the furthest cell is the furthest across; an offset
                  fits at every place of each column, whatever its place on the other.
        Checked:  tests/plan/test_crossings.py::test_matches_enumeration
    """
    if len(question.starts) != 2 or question.empty or changes(graph, question.whole).leaves:
        return None
    names = question.domain.columns[question.groups : question.seen]
    if any(block.graph.edge_count and not set(block.columns) <= set(names) for block in graph.blocks):
        return None
    atoms = question.atoms[question.groups :]
    if any((atom < 0).any() for atom in atoms):
        return None
    seen = graph.project(names)
    found = _joint(seen.blocks[0], atoms) if len(seen.blocks) == 1 else _apart(seen, atoms)
    return None if found is None or not found.most else found


def sides(question: Boxes, found: Crossings, kind: int, along: Ladder) -> tuple[Floats, Floats]:
    """Return how many sides of each box lie on lines of a kind with noise, and the sizes of their effects."""
    low, high = question.spans[kind]
    noisy = np.append(found.open[kind], False)  # before the first and after the last atom nothing flows
    some = question.some
    many = np.where(low > 0, noisy[low - 1], False).astype(float) + noisy[np.maximum(high - 1, 0)]
    norms = np.zeros((along.levels, len(low)))
    norms[:, some] = along.norms(*(each[some] for each in question.spans[1 - kind]))
    return many * some, norms


def _apart(graph: RecordGraph, atoms: tuple[Ints, ...]) -> Crossings:
    """Return the crossings of two columns that move by themselves."""
    spans, masks = [], []
    for block, atom in zip(graph.blocks, atoms, strict=True):
        far = atom[block.graph.furthest(np.arange(block.graph.size))]
        spans.append(int((far - atom).max(initial=0)))
        masks.append(_open(atom, far, int(atom.max(initial=0)) + 1))
    pairs = [(spans[0], 0), (0, spans[1])] if graph.limit == 1 else [(spans[0], spans[1])]
    return Crossings((masks[0], masks[1]), _largest(np.array(pairs)))


def _joint(block: Block, atoms: tuple[Ints, ...]) -> Crossings | None:
    """Return the crossings of two columns that move together."""
    graph, sizes = block.graph, [int(atom.max(initial=0)) + 1 for atom in atoms]
    if isinstance(graph, OffsetBall):
        reach, masks = [], []
        for axis, atom in enumerate(atoms):
            far = range(int(graph.reach[axis]) + 1)
            each = np.array([int((atom[d:] - atom[: len(atom) - d]).max(initial=0)) for d in far])
            reach.append(np.maximum.accumulate(each)[graph.front[:, axis]])
            last = np.minimum(np.arange(len(atom)) + graph.reach[axis], len(atom) - 1)
            masks.append(_open(atom, atom[last], sizes[axis]))
        return Crossings((masks[0], masks[1]), _largest(np.column_stack(reach)))
    if not isinstance(graph, Cliques) and graph.edge_count > MAX_LISTED_EDGES:
        return None
    codes = np.unravel_index(np.arange(graph.size), block.sizes)
    places = [atom[code] for atom, code in zip(atoms, codes, strict=True)]
    ends = []
    for each in places:
        if isinstance(graph, Cliques):  # as if each group held all between its ends
            group = graph.components
            low, high = np.full(graph.size, graph.size), np.full(graph.size, -1)
            np.minimum.at(low, group, each)
            np.maximum.at(high, group, each)
            kept = high >= 0
            ends.append((low[kept], high[kept]))
        else:
            pairs = np.sort(each[graph.edges()], axis=1)
            ends.append((pairs[:, 0], pairs[:, 1]))
    masks = [_open(low, high, size) for (low, high), size in zip(ends, sizes, strict=True)]
    return Crossings((masks[0], masks[1]), _largest(np.column_stack([high - low for low, high in ends])))


def _open(low: Ints, high: Ints, size: int) -> Mask:
    """Return which of the lines after atoms 0..size-2 lie between some low and its high."""
    change = np.zeros(size + 1, dtype=np.int64)
    np.add.at(change, low, 1)
    np.add.at(change, high, -1)
    return np.asarray(np.cumsum(change)[: max(size - 1, 0)] > 0)


def _largest(pairs: Ints) -> tuple[tuple[int, int], ...]:
    """Return the pairs that no other one exceeds, without those of nothing."""
    return tuple((int(a), int(b)) for a, b in maximal(pairs.reshape(-1, 2)) if a or b)
