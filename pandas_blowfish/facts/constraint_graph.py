"""The constraint graph: which known counts one moved record lowers and lifts. Never sees rows.

A record that moves from one cell to another lowers the counts it leaves and lifts those it enters. Where
that is at most one each, neighbouring tables are simple cycles, or simple paths from v+ (a move that only
lifts) to v- (one that only lowers), of this graph on the counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.facts.signature import Signatures
from pandas_blowfish.policy.graph.secret_graph import connect

EXACT = 20  # vertices up to which the longest cycle and path are found exactly
PAIRWISE = 3_000  # signatures that are compared two by two


@dataclass(frozen=True, eq=False)
class Longest:
    """The longest cycle and v+ -> v- path of a part of the graph.

    Attributes:
        cycle: The edges of the longest cycle.
        path: The edges of the longest path.
        heaviest: How many moves between cells of the same count the change of the histogram is made of.
        exact: Whether these are found, and not bounds.
        complete: Whether all vertices are joined.
    """

    cycle: int
    path: int
    heaviest: int
    exact: bool
    complete: bool


@dataclass(frozen=True, eq=False)
class ConstraintGraph:
    """Known counts as vertices, joined when one moved record lowers one and lifts the other.

    The graph is symmetric, since a record may also move back: joined both ways, and v+ leads to exactly
    the counts that lead to v-.

    Attributes:
        vertices: The labels that some move changes.
        pairs: Joined vertices, as places in `vertices`; cliques are not spelt out.
        cliques: Sets of vertices that are all joined to each other, as places.
        ends: Whether v+ leads to a vertex (and it to v-).
        several: Whether a count has two cells or more: else what one record takes another brings back.
        spare: Whether moves from v+ or to v- have two cells or more at their other end.
    """

    vertices: Ints
    pairs: Ints
    cliques: tuple[Ints, ...]
    ends: NDArray[np.bool_]
    several: NDArray[np.bool_]
    spare: bool = True
    _longest: dict[int, Longest] = field(default_factory=dict, repr=False)

    @cached_property
    def parts(self) -> list[Ints]:
        """Return the connected sets of vertices, as places."""
        if not len(self.vertices):
            return []
        chains = [np.column_stack([each[:-1], each[1:]]) for each in self.cliques]
        joined = connect(np.concatenate([self.pairs, *chains]), len(self.vertices))
        order = np.argsort(joined, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(joined[order])) + 1)

    def longest(self, part: int) -> Longest:
        """Return the longest simple cycle and path of one part.

        Proof note:
            Requires: `part` is connected.
            Ensures:  `cycle`, `path` and `heaviest` are at least those of the part, equal where `exact`.
            Because:  up to EXACT vertices all subsets are gone through; in a complete part a cycle and, with
                      two ends, a path go through all vertices; a simple cycle has at most as many edges as
                      vertices, a path one more. Where a record enters a count another leaves it: both
                      together are one move between two cells of that count, and none if it has one cell;
                      so are the first and the last end of a path, among the cells no count covers. Counts of
                      several public combinations, and then the ends, are always taken for one move.
            Checked:  tests/facts/test_constraint_graph.py::test_longest_matches_enumeration
        """
        if part not in self._longest:
            self._longest[part] = self._find(self.parts[part])
        return self._longest[part]

    def _find(self, places: Ints) -> Longest:
        size, ends = len(places), int(self.ends[places].sum())
        weight = self.several[places].astype(np.int64)
        whole = int(weight.sum())
        if any(len(each) == size and np.isin(each, places).all() for each in self.cliques) or size == 1:
            path = 0 if not ends else 2 if ends == 1 else size + 1
            through = whole + self.spare if ends > 1 or size == 1 else 1 + self.spare  # or one vertex alone
            cycle = size if size > 1 else 0
            heaviest = max(whole if cycle else 0, through if ends else 0)
            return Longest(cycle, path, heaviest, True, True)
        if size > EXACT:
            path = size + 1 if ends > 1 else 2 * (ends > 0)
            return Longest(size, path, whole + (self.spare and ends > 0), False, False)
        joined = self.adjacency(places)
        complete = bool((joined | np.eye(size, dtype=bool)).all())
        path, through = _longest_path(joined, self.ends[places], weight)
        cycle, around = _longest_cycle(joined, weight)
        return Longest(cycle, path, max(around, through + (self.spare and path > 0)), True, complete)

    def adjacency(self, places: Ints) -> NDArray[np.bool_]:
        """Return which of some vertices are joined."""
        number = np.full(len(self.vertices), -1, dtype=np.int64)
        number[places] = np.arange(len(places))
        joined = np.zeros((len(places), len(places)), dtype=bool)
        ends = number[self.pairs]
        ends = ends[(ends >= 0).all(axis=1)]
        joined[ends[:, 0], ends[:, 1]] = joined[ends[:, 1], ends[:, 0]] = True
        for clique in self.cliques:
            inside = number[clique]
            inside = inside[inside >= 0]
            joined[np.ix_(inside, inside)] = True
        np.fill_diagonal(joined, False)
        return joined

    def to_networkx(self) -> Any:
        """Return the graph with its vertices v+ and v- as a `networkx.DiGraph`, to look at."""
        import networkx

        graph = networkx.DiGraph()
        graph.add_nodes_from(["v+", "v-", *self.vertices.tolist()])
        graph.add_edge("v+", "v-")  # a record that changes no count
        joined = self.adjacency(np.arange(len(self.vertices)))
        names = self.vertices
        graph.add_edges_from((int(names[a]), int(names[b])) for a, b in np.argwhere(joined))
        for vertex in names[self.ends].tolist():
            graph.add_edge("v+", vertex)
            graph.add_edge(vertex, "v-")
        return graph


def constraint_graph(found: Signatures) -> ConstraintGraph | None:
    """Return the constraint graph of the closure; None where a move lifts or lowers two counts at once.

    Proof note:
        Requires: `found` has every signature that cells have, by combination of public values.
        Ensures:  a graph with an edge for every pair of cells that agree on the public columns, and with
                  presence for every cell and "absent"; None if such a pair changes two counts one way.
        Because:  a pair changes what the signatures of its cells differ in. Where cells of one public
                  combination are counted by at most one label each, besides those all of them share, all
                  pairs of labels are joined; elsewhere the signatures are compared two by two.
        Checked:  tests/facts/test_constraint_graph.py::test_graph_matches_enumeration
    """
    cliques: list[Ints] = []
    pairs: list[Ints] = []
    ends: set[int] = set()
    spare = False
    for rows in found.groups():
        bits, codes = found.bits[rows], found.codes[rows]
        varies = bits.any(axis=0) if found.presence else bits.any(axis=0) & ~bits.all(axis=0)
        moving = np.flatnonzero([len(np.unique(column)) > 1 or found.presence for column in codes.T])
        own = bits[:, varies].sum(axis=1) + len(moving)
        if (own <= 1).all():  # at most one label each
            some = own > 0
            counted = bits[:, varies].argmax(axis=1) if varies.any() else np.zeros(len(rows), dtype=np.int64)
            labels = codes[:, moving[0]] if len(moving) else np.append(found.counts[varies], -1)[counted]
            labels = np.unique(labels[some])
            cliques.append(labels)
            if found.presence or not some.all():
                ends.update(labels.tolist())
                spare = spare or int(found.cells[rows][~some].sum()) + found.presence > 1
            continue
        if len(rows) > PAIRWISE:
            return None
        labels, table = found.table(rows)
        if found.presence:
            table = np.concatenate([table, np.zeros((1, table.shape[1]), dtype=np.int64)])
        shared = table.astype(np.float64) @ table.T  # whole numbers below 2^53 are exact, and soon multiplied
        lowered = table.sum(axis=1)[:, None] - shared  # of row i, as it moves to j; lifted is of j
        if (lowered > 1).any():
            return None
        spare = True
        for start, row in enumerate(table):
            left, entered = lowered[start] == 1, lowered[:, start] == 1
            gone = labels[(row > table[left]).argmax(axis=1)]
            come = labels[(table[left & entered] > row).argmax(axis=1)]
            pairs.append(np.column_stack([gone[entered[left]], come]))
            ends.update(gone[~entered[left]].tolist())
    used = np.unique(np.concatenate([*cliques, *(each.ravel() for each in pairs), np.array(sorted(ends))]))
    used = used.astype(np.int64)
    spare = spare or bool(found.spanning(used).any())
    listed = np.concatenate(pairs) if pairs else np.empty((0, 2), dtype=np.int64)
    return ConstraintGraph(
        used,
        np.searchsorted(used, np.unique(listed, axis=0)).reshape(-1, 2),
        tuple(np.searchsorted(used, each) for each in _distinct(cliques)),
        np.isin(used, np.array(sorted(ends), dtype=np.int64)),
        found.several(used),
        spare,
    )


def _distinct(cliques: list[Ints]) -> list[Ints]:
    """Return the different sets among cliques of more than one vertex."""
    return list({each.tobytes(): each for each in cliques if len(each) > 1}.values())


def _longest_path(joined: NDArray[np.bool_], ends: NDArray[np.bool_], weight: Ints) -> tuple[int, int]:
    """Return the edges of the longest simple v+ -> v- path through vertices, and the heaviest's weight."""
    if not ends.any():
        return 0, 0
    reach = np.zeros(1 << len(ends), dtype=np.uint32)
    for vertex in np.flatnonzero(ends):
        reach[1 << vertex] = 1 << vertex
    _grow(reach, joined, lowest=False)
    wanted = sum(1 << int(vertex) for vertex in np.flatnonzero(ends))
    closed = np.flatnonzero(reach & np.uint32(wanted)).astype(np.uint32)
    return int(np.bitwise_count(closed).max()) + 1, _heaviest(closed, weight)


def _longest_cycle(joined: NDArray[np.bool_], weight: Ints) -> tuple[int, int]:
    """Return the edges of the longest simple cycle, and the heaviest's weight; two vertices are one of 2."""
    size = len(joined)
    reach = np.zeros(1 << size, dtype=np.uint32)
    for vertex in range(size):
        reach[1 << vertex] = 1 << vertex
    _grow(reach, joined, lowest=True)
    best = (0, 0)
    masks = np.arange(1 << size, dtype=np.uint32)
    low = masks & (~masks + np.uint32(1))
    for vertex in range(size):
        near = np.uint32(sum(1 << int(other) for other in np.flatnonzero(joined[vertex])))
        closed = np.flatnonzero((low == 1 << vertex) & ((reach & near) > 0)).astype(np.uint32)
        if len(closed):
            longest = int(np.bitwise_count(closed).max())
            best = max(best[0], longest), max(best[1], _heaviest(closed, weight))
    return best


def _heaviest(sets: NDArray[np.uint32], weight: Ints) -> int:
    """Return the largest weight of some sets of vertices."""
    mask = np.uint32(sum(1 << int(vertex) for vertex in np.flatnonzero(weight)))
    return int(np.bitwise_count(sets & mask).max())


def _grow(reach: NDArray[np.uint32], joined: NDArray[np.bool_], *, lowest: bool) -> None:
    """Extend paths vertex by vertex: reach[set] has a bit for each vertex a path through the set ends at.

    With `lowest` a path begins at the lowest vertex of its set.
    """
    size = len(joined)
    masks = np.arange(1 << size, dtype=np.uint32)
    many = np.bitwise_count(masks)
    near = [np.uint32(sum(1 << int(other) for other in np.flatnonzero(row))) for row in joined]
    for count in range(1, size):
        layer = masks[many == count]
        layer = layer[reach[layer] > 0]
        for vertex in range(size):
            bit = np.uint32(1 << vertex)
            able = layer[((layer & bit) == 0) & ((reach[layer] & near[vertex]) > 0)]
            if lowest:
                able = able[(able & (~able + np.uint32(1))) < bit]
            reach[able | bit] |= bit
