"""What is measured on lines and its exact totals, as values and as a matrix over cells. Never sees rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.plan.sensitivity import ExactParts
from pandas_blowfish.plan.workload import Tally
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.graph import Ints

MAX_NONZEROS = 10**6


def exact_totals(by_line: Ints, part_of: Ints, exact: ExactParts) -> Ints:
    """Return the totals that no edge changes: of single parts, then those that several parts share.

    Args:
        by_line: Counts, lines x atoms.
        part_of: The part of a line that each atom belongs to.
        exact: Which totals of parts (line after line) are exact.
    """
    totals = np.zeros((int(part_of.max(initial=-1)) + 1, len(by_line)), dtype=np.int64)
    np.add.at(totals, part_of, by_line.T)
    flat, inside = totals.T.ravel(), exact.total_of >= 0
    shared = np.zeros(exact.totals, dtype=np.int64)
    np.add.at(shared, exact.total_of[inside], flat[inside])
    return np.concatenate([flat[exact.alone], shared])


def row_matrix(
    tally: Tally, one_line: Callable[[Ints], Ints], part_of: Ints, exact: ExactParts, nonzeros: int
) -> Any:
    """Return rows x cells, sparse: those of each line, then exact totals; refused beyond 10^6 non-zeros.

    Args:
        tally: What is counted.
        one_line: The rows of one line from its counts, lines x atoms to lines x rows.
        part_of: The part of a line that each atom belongs to.
        exact: Which totals of parts are exact.
        nonzeros: How many non-zeros one line's rows have at most.
    """
    from scipy.sparse import csr_array, kron, vstack

    size, labels = len(part_of), tally.labels()
    lines = tally.size // size
    most = nonzeros * max(1, len(labels) // size) + 2 * len(labels)
    if most > MAX_NONZEROS:
        raise DomainTooLargeError(
            "the strategy's matrix", most, MAX_NONZEROS, fix="plan fewer cells to look at it."
        )
    blocks = []
    for first in range(0, size, 256):  # what one row in each atom would add
        atoms = np.zeros((min(256, size - first), size), dtype=np.int64)
        atoms[np.arange(len(atoms)), first + np.arange(len(atoms))] = 1
        blocks.append(csr_array(one_line(atoms)))
    rows = kron(np.eye(lines, dtype=np.int64), vstack(blocks).T)
    part = (part_of + np.arange(lines)[:, None] * (int(part_of.max(initial=-1)) + 1)).ravel()
    alone = int(exact.alone.sum())
    row_of = np.where(exact.alone, np.cumsum(exact.alone) - 1, -1)
    row_of = np.where(exact.total_of >= 0, alone + exact.total_of, row_of)[part]
    free = _ones(row_of, alone + exact.totals)
    return (vstack([rows, free]) @ _ones(labels, lines * size)).tocsr()


def tables_matrix(domain: Domain, tallies: Sequence[Tally]) -> list[Any]:
    """Return for each table its bins x cells of a domain that holds its columns, scipy sparse.

    Refused beyond 10^6 non-zeros in all.
    """
    cells = domain.size
    if cells * len(tallies) > MAX_NONZEROS:
        raise DomainTooLargeError(
            "the strategy's matrix", cells * len(tallies), MAX_NONZEROS, fix="plan fewer cells to look at it."
        )
    codes, parts = np.unravel_index(np.arange(cells), domain.shape), []
    for tally in tallies:
        flat = np.zeros(cells, dtype=np.int64)
        for name in tally.domain.columns:
            place = domain.columns.index(name)
            flat = flat * domain.shape[place] + codes[place]
        parts.append(_ones(tally.labels()[flat], tally.size))
    return parts


def _ones(row_of: Ints, rows: int) -> Any:
    """Return a sparse matrix with a one in each column that has a row, -1 standing for none."""
    from scipy.sparse import coo_array

    kept = np.flatnonzero(row_of >= 0)
    ones = np.ones(len(kept), dtype=np.int64)
    return coo_array((ones, (row_of[kept], kept)), shape=(rows, len(row_of))).tocsr()
