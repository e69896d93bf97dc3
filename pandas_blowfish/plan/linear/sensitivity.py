"""Which atoms an edge of the policy joins, and how much one edge changes whole-number rows over them.

Never sees rows. Atoms are sets of cells, each cell in at most one; what is in none is "absent", the number
after the last atom, a column of zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Ints, frozen
from pandas_blowfish.plan.sensitivity import exact_parts
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.graph.ball import Ball
from pandas_blowfish.policy.graph.missing import WithMissing
from pandas_blowfish.policy.graph.records import RecordGraph
from pandas_blowfish.policy.graph.secret_graph import Cliques, SecretGraph, connect

MAX_LISTED = 5_000_000  # edges between cells that are gone through one by one
MAX_PAIRS = 5_000_000  # pairs of atoms
MAX_COMPLETE = 3_000  # atoms of which every two are taken for joined where edges are too many to go through
MAX_STEPS = 200  # atoms that are compared with all others where pairs are too many
CHUNK = 1 << 22  # numbers compared at once


@dataclass(frozen=True, eq=False)
class Links:
    """Pairs of atoms that an edge joins, or more, and the sums of atoms that no edge changes.

    Attributes:
        count: How many atoms there are; "absent" has this number.
        pairs: Joined atoms, each pair once; None where they are too many to list.
        parts: For each atom the number of its exact total, -1 for none: no edge leaves the atoms of a total.
    """

    count: int
    pairs: Ints | None
    parts: Ints

    @property
    def totals(self) -> int:
        """Return how many exact totals there are."""
        return int(self.parts.max(initial=-1)) + 1

    def changing(self, rows: Any) -> NDArray[np.bool_]:
        """Tell which rows over atoms (scipy sparse) some edge changes, or may change.

        A row is the same in all neighbouring tables when it is the same number on all atoms of each exact
        total, and 0 on the others.
        """
        by_atom = rows.tocsc()
        order = np.argsort(self.parts, kind="stable")
        same = self.parts[order][1:] == self.parts[order][:-1]
        inside = np.flatnonzero(same & (self.parts[order][1:] >= 0))
        apart = abs(by_atom[:, order[inside + 1]] - by_atom[:, order[inside]]).sum(axis=1)
        outside = abs(by_atom[:, np.flatnonzero(self.parts < 0)]).sum(axis=1)
        return np.asarray(apart + outside).ravel() > 0

    def change(self, rows: Any) -> int:
        """Return the largest L1 change that one edge makes to rows over atoms (scipy sparse, int64).

        Proof note:
            Requires: `pairs` holds every two atoms that an edge joins, "absent" among them; without pairs, no
                      edge leaves the atoms of an exact total.
            Ensures:  result >= max over edges (x, y) of ||A(e_x - e_y)||_1, with equality where `pairs` are
                      just the joined ones.
            Because:  it is the maximum over a set that holds the changes of all edges; in whole numbers.
                      Without pairs atoms are taken in order of their norms, and once two norms together
                      do not exceed the largest change found, no pair left does.
            Checked:  tests/plan/linear/test_sensitivity.py::test_change_matches_enumeration
        """
        if not rows.shape[0] or (self.pairs is not None and not len(self.pairs)):
            return 0
        by_atom = rows.T.tocsr()
        if self.pairs is None:
            return _among_all(by_atom, self.parts)
        return _among_pairs(by_atom, self.pairs)


def _among_pairs(by_atom: Any, pairs: Ints) -> int:
    """Return the largest L1 distance between the columns of joined atoms, "absent" being zeros.

    Those whose norms add up to most come first; what cannot exceed the largest found is not looked at.
    """
    from scipy.sparse import csr_array, vstack

    columns = by_atom.shape[1]
    padded = vstack([by_atom, csr_array((1, columns), dtype=np.int64)], format="csr")
    norms = np.asarray(abs(padded).sum(axis=1)).ravel()
    each = -(-padded.nnz // padded.shape[0])
    dense = 8 * each > columns and columns * padded.shape[0] <= CHUNK
    numbers, size = padded.toarray() if dense else padded, max(1, CHUNK // max(1, columns if dense else each))
    worst, left, most = 0, pairs, norms[pairs].sum(axis=1)
    while len(left):
        split = len(left) - min(size, len(left))
        order = np.argpartition(most, split) if split else np.arange(len(left))
        part, left, most = left[order[split:]], left[order[:split]], most[order[:split]]
        moved = abs(numbers[part[:, 0]] - numbers[part[:, 1]])
        worst = max(worst, int(moved.sum(axis=1).max()))
        left, most = left[most > worst], most[most > worst]
    return worst


def _among_all(by_atom: Any, parts: Ints) -> int:
    """Return the largest L1 distance between the columns of any two atoms, or a bound on it."""
    norms, worst = np.asarray(abs(by_atom).sum(axis=1)).ravel(), 0
    if (parts < 0).any():  # a row may vanish, too
        worst = int(norms.max(initial=0))
    order = np.argsort(-norms, kind="stable")
    row_of = np.repeat(np.arange(by_atom.shape[0]), np.diff(by_atom.indptr))
    for step, atom in enumerate(order.tolist()):
        following = int(norms[order[step + 1]]) if step + 1 < len(order) else 0
        if int(norms[atom]) + following <= worst:
            return worst
        if step == MAX_STEPS:
            return int(norms[atom]) + following
        own = np.zeros(by_atom.shape[1], dtype=np.int64)
        own[by_atom.indices[by_atom.indptr[atom] : by_atom.indptr[atom + 1]]] = by_atom.data[
            by_atom.indptr[atom] : by_atom.indptr[atom + 1]
        ]
        there = own[by_atom.indices]
        extra = np.zeros(len(norms), dtype=np.int64)
        np.add.at(extra, row_of, np.abs(by_atom.data - there) - np.abs(there))
        worst = max(worst, int(norms[atom]) + int(extra.max(initial=0)))
    return worst


def links(graph: RecordGraph, tally: Tally, of_bin: Ints, count: int) -> Links:
    """Return which atoms edges join.

    Args:
        graph: The secret graph projected on the tally's columns, in the same order.
        tally: What is counted.
        of_bin: The atom of each bin, -1 for none.
        count: How many atoms there are.

    Proof note:
        Requires: no touched facts.
        Ensures:  `pairs` holds every two atoms (or an atom and "absent") that an edge of the graph joins, and
                  no edge changes the total of the atoms of a part.
        Because:  edges are gone through one by one; or, of a single column, the runs of cells of one atom
                  that a ball, and the atoms that a group, joins; else every two atoms of a part, and any
                  two outside of the parts, are taken for joined, which is sound. No edge leaves a
                  connected class of atoms that "absent" is not in, so its total cannot change.
        Checked:  tests/plan/linear/test_sensitivity.py::test_links_match_enumeration
    """
    joined = _listed(graph, tally, of_bin, count)
    if joined is not None:
        classes = connect(joined, count + 1)
        return Links(count, frozen(joined), frozen(_numbered(classes, count)))
    parts = _numbered(_known(graph, tally, of_bin, count), count)
    if count > MAX_COMPLETE:
        return Links(count, None, frozen(parts))
    low, high = np.triu_indices(count, 1)
    same = parts[low] == parts[high]
    loose = np.flatnonzero(parts < 0)
    away = np.column_stack([loose, np.full(len(loose), count)])
    pairs = np.concatenate([np.column_stack([low[same], high[same]]), away])
    return Links(count, frozen(pairs), frozen(parts))


def _listed(graph: RecordGraph, tally: Tally, of_bin: Ints, count: int) -> Ints | None:
    """Return joined atoms from the edges themselves, or None where these are too many."""
    few = graph.edge_count <= MAX_LISTED and tally.domain.size <= MAX_LISTED
    if not few and (len(tally.binnings) > 1 or tally.condition is not None):
        return None
    bins = tally.labels()
    atoms = np.where(bins < 0, -1, of_bin[bins])  # of cells
    atoms[atoms < 0] = count
    if few:
        absent = len(atoms)
        return _distinct(np.append(atoms, count)[np.minimum(graph.edges(), absent)], count)
    found = joined_in_column(graph.blocks[0].graph, atoms, count)
    if found is not None and graph.presence:
        present = np.unique(atoms)
        found = np.concatenate([found, np.column_stack([present, np.full(len(present), count)])])
    return None if found is None else _distinct(found, count)


def joined_in_column(graph: SecretGraph, atoms: Ints, count: int) -> Ints | None:
    """Return joined atoms of one column from what is known about its graph, or None."""
    if isinstance(graph, WithMissing):
        found = joined_in_column(graph.inner, atoms[:-1], count)
        if found is None or not (graph.joined or graph.like is not None):
            return found
        present = np.unique(atoms[:-1] if graph.joined else atoms[graph.partners])
        return np.concatenate([found, np.column_stack([present, np.full(len(present), atoms[-1])])])
    if isinstance(graph, Cliques):
        keys = np.unique(graph.components * (count + 1) + atoms)
        group, member = np.divmod(keys, count + 1)
        last = np.searchsorted(group, group, "right") - 1
        return _up_to(last, member)
    if isinstance(graph, Ball):
        along = atoms[graph.order]
        starts = np.append(0, np.flatnonzero(along[1:] != along[:-1]) + 1)
        ends = np.append(starts[1:], len(along)) - 1
        return _up_to(np.searchsorted(starts, graph.upper[ends], "right") - 1, along[starts])
    return None


def _up_to(last: Ints, atoms: Ints) -> Ints | None:
    """Return the pairs of places i < j <= last[i] as pairs of atoms, or None if they are too many."""
    reach = last - np.arange(len(last))
    if int(reach.sum()) > MAX_PAIRS:
        return None
    low = np.repeat(np.arange(len(last)), reach)
    high = low + 1 + np.arange(len(low)) - np.repeat(np.cumsum(reach) - reach, reach)
    return np.column_stack([atoms[low], atoms[high]])


def _distinct(pairs: Ints, count: int) -> Ints:
    """Return pairs of two different atoms, each once."""
    ends = np.sort(pairs, axis=1)
    ends = ends[ends[:, 0] < ends[:, 1]]
    return np.column_stack(np.divmod(np.unique(ends[:, 0] * (count + 1) + ends[:, 1]), count + 1))


def _known(graph: RecordGraph, tally: Tally, of_bin: Ints, count: int) -> Ints:
    """Return classes of atoms and "absent" that edges cannot leave, from the tally's exact parts."""
    exact = exact_parts(graph, tally)
    atoms = np.where(of_bin < 0, count, of_bin)
    inside = exact.total_of >= 0
    loose = ~inside & ~exact.alone
    pairs = [
        np.column_stack([atoms[inside], count + 1 + exact.total_of[inside]]),
        np.column_stack([atoms[loose], np.full(int(loose.sum()), count)]),
    ]
    return connect(np.concatenate(pairs), count + 1 + exact.totals)


def _numbered(classes: Ints, count: int) -> Ints:
    """Return the number of each atom's class, -1 where "absent" is in it, in order of their first atoms."""
    parts = np.full(count, -1, dtype=np.int64)
    inside = np.flatnonzero(classes[:count] != classes[count])
    found, first, number = np.unique(classes[inside], return_index=True, return_inverse=True)
    rank = np.empty(len(found), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(found))
    parts[inside] = rank[number.reshape(-1)]
    return parts
