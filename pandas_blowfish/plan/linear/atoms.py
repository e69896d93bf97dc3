"""Atoms of a workload: cells that no query separates are one, and answers are sums over atoms.

Never sees rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Ints, frozen
from pandas_blowfish.plan.linear.sensitivity import Links, links
from pandas_blowfish.plan.sensitivity import exact_parts
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.graph.records import RecordGraph

MAX_SPLIT = 1_024  # atoms up to which cells of different exact totals are kept apart


@dataclass(frozen=True, eq=False)
class Atoms:
    """Bins of a tally gathered into atoms.

    Attributes:
        of_bin: The atom of each bin, -1 for one that no query needs or no row can be in.
        queries: Answers x atoms, scipy sparse, int64.
        links: Which atoms edges join, and which totals are exact.
    """

    of_bin: Ints
    queries: Any
    links: Links

    @property
    def count(self) -> int:
        """Return how many atoms there are."""
        return self.links.count

    @cached_property
    def changing(self) -> NDArray[np.bool_]:
        """Tell which answers some edge changes; the others are exact."""
        return self.links.changing(self.queries)

    @cached_property
    def needed(self) -> NDArray[np.bool_]:
        """Tell which atoms must be told from the others of their total for some answer."""
        touched = np.diff(self.queries.tocsc().indptr) > 0
        parts = self.links.parts
        needed = touched & (parts < 0)
        order = np.argsort(parts, kind="stable")
        order = order[parts[order] >= 0]
        by_atom = self.queries.tocsc()
        apart = np.flatnonzero(parts[order][1:] == parts[order][:-1])
        moved = abs(by_atom[:, order[apart + 1]] - by_atom[:, order[apart]]).sum(axis=0)
        told = np.zeros(self.links.totals, dtype=bool)
        told[parts[order[apart]][np.asarray(moved).ravel() > 0]] = True
        return np.asarray(needed | ((parts >= 0) & told[np.maximum(parts, 0)] if len(told) else needed))

    def counts(self, bins: Ints) -> Ints:
        """Return how many rows are in each atom, from the bins' counts."""
        found = np.zeros(self.count, dtype=np.int64)
        kept = self.of_bin >= 0
        np.add.at(found, self.of_bin[kept], bins[kept])
        return found

    def totals(self, counts: Ints) -> Ints:
        """Return the exact totals from the atoms' counts."""
        found, inside = np.zeros(self.links.totals, dtype=np.int64), self.links.parts >= 0
        np.add.at(found, self.links.parts[inside], counts[inside])
        return found

    def less_totals(self, rows: Any) -> Any:
        """Return rows over atoms less multiples of exact totals, so that some atom of each has 0.

        No edge sees the difference, since none leaves the atoms of a total.
        """
        from scipy.sparse import csr_array

        parts, by_atom = self.links.parts, rows.tocsc()
        inside = np.flatnonzero(parts >= 0)
        least = inside[np.lexsort((np.diff(by_atom.indptr)[inside], parts[inside]))]
        _, first = np.unique(parts[least], return_index=True)
        return csr_array(rows - by_atom[:, least[first]] @ self.total_rows)

    @cached_property
    def first_of_total(self) -> Ints:
        """Return the first atom of each exact total."""
        inside = np.flatnonzero(self.links.parts >= 0)
        return inside[np.unique(self.links.parts[inside], return_index=True)[1]]

    @cached_property
    def total_rows(self) -> Any:
        """Return the exact totals x atoms, scipy sparse."""
        return indicator(self.links.parts, self.links.totals)

    def over_cells(self, rows: Any, tally: Tally) -> Any:
        """Return rows over atoms as rows over the cells of a tally's domain, scipy sparse."""
        bins = tally.labels()
        return (rows @ indicator(np.where(bins < 0, -1, self.of_bin[bins]), self.count)).tocsr()


def indicator(row_of: Ints, rows: int) -> Any:
    """Return a sparse matrix with a one in each column that has a row, -1 standing for none."""
    from scipy.sparse import coo_array

    kept = np.flatnonzero(row_of >= 0)
    ones = np.ones(len(kept), dtype=np.int64)
    return coo_array((ones, (row_of[kept], kept)), shape=(rows, len(row_of))).tocsr()


def column_classes(matrix: Any) -> Ints:
    """Return a number for each column of a sparse matrix, the same for equal columns; 0 for zeros.

    Row after row, the columns in it are told apart by its numbers: time in proportion to the non-zeros.

    Examples:
        >>> from scipy.sparse import csr_array
        >>> column_classes(csr_array([[1, 1, 0, 2], [0, 0, 0, 1]])).tolist()
        [1, 1, 0, 2]
    """
    labels, following = np.zeros(matrix.shape[1], dtype=np.int64), 1
    for begin, end in zip(matrix.indptr[:-1].tolist(), matrix.indptr[1:].tolist(), strict=True):
        columns, values = matrix.indices[begin:end], matrix.data[begin:end]
        if not len(columns):
            continue
        order = np.lexsort((values, labels[columns]))
        old, value = labels[columns][order], values[order]
        new = np.append(0, np.cumsum((old[1:] != old[:-1]) | (value[1:] != value[:-1])))
        labels[columns[order]] = following + new
        following += int(new[-1]) + 1
    found, first, number = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(found), dtype=np.int64)
    zero = found == 0
    rank[zero], rank[~zero] = 0, 1 + np.argsort(np.argsort(first[~zero], kind="stable"), kind="stable")
    return np.asarray(rank[number.reshape(-1)])


def gather(graph: RecordGraph, tally: Tally, matrix: Any) -> Atoms:
    """Return the atoms of queries over the cells of a tally's last shown columns, for each group.

    Args:
        graph: The secret graph projected on the tally's columns, in the same order.
        tally: Counts of single cells, groups outermost, that pass a filter.
        matrix: Queries x cells of one group, scipy sparse rows, int64.

    Proof note:
        Requires: as `links`.
        Ensures:  every answer is the sum of its queries' numbers times the atoms' counts.
        Because:  cells of an atom have equal columns; cells in no atom have a column of zeros, or hold no
                  row that passes the filter.
        Checked:  tests/plan/linear/test_atoms.py::test_answers_are_those_of_the_matrix
    """
    cells = matrix.shape[1]
    groups = tally.size // cells
    classes = np.tile(column_classes(matrix), groups) + np.repeat(np.arange(groups) * (cells + 1), cells)
    occupied = tally.occupied
    exact = exact_parts(graph, tally)
    part = np.where(exact.total_of >= 0, exact.total_of + 2, np.where(exact.alone, 1, 0))
    _, joint = np.unique(classes * (exact.totals + 2) + part, return_inverse=True)
    joint = joint.reshape(-1)
    if int(joint.max(initial=-1)) >= MAX_SPLIT:
        joint = classes
    atoms = _made(graph, tally, matrix, np.where(occupied, joint, -1))
    loose = (atoms.links.parts < 0) & (np.diff(atoms.queries.tocsc().indptr) == 0)
    if not loose.any():
        return atoms
    # an atom that no answer needs, and whose total is not exact, is better not counted
    kept = np.where(atoms.of_bin < 0, True, loose[atoms.of_bin])
    return _made(graph, tally, matrix, np.where(kept, -1, atoms.of_bin))


def _made(graph: RecordGraph, tally: Tally, matrix: Any, labels: Ints) -> Atoms:
    """Return atoms from labels of bins, numbered in order of their first bins."""
    from scipy.sparse import coo_array

    kept = np.flatnonzero(labels >= 0)
    found, first, number = np.unique(labels[kept], return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(found), dtype=np.int64)
    rank[order] = np.arange(len(found))
    of_bin = np.full(len(labels), -1, dtype=np.int64)
    of_bin[kept] = rank[number.reshape(-1)]
    group, cell = np.divmod(kept[first[order]], matrix.shape[1])
    chosen = matrix.tocsc()[:, cell].tocoo()
    queries, groups = matrix.shape[0], tally.size // matrix.shape[1]
    rows = chosen.row.astype(np.int64) + group[chosen.col] * queries
    over = coo_array((chosen.data, (rows, chosen.col)), shape=(queries * groups, len(found))).tocsr()
    return Atoms(frozen(of_bin), over, links(graph, tally, of_bin, len(found)))
