"""Query rows and exact totals: as values, as columns at some cells, as a matrix over all. Never sees rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.plan.lattice import Total
from pandas_blowfish.plan.sensitivity import ExactParts
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.graph.part import Mask
from pandas_blowfish.policy.graph.records import Block

MAX_NONZEROS = 10**6
LISTED = 1 << 14  # cells up to which the query rows themselves are asked what they look at


def require_few(nonzeros: int) -> None:
    """Refuse a matrix of too many numbers."""
    if nonzeros > MAX_NONZEROS:
        fix = "plan fewer cells to look at it."
        raise DomainTooLargeError("the strategy's matrix", nonzeros, MAX_NONZEROS, fix=fix)


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
    require_few(most)
    blocks = []
    for first in range(0, size, 256):  # what one row in each atom would add
        atoms = np.zeros((min(256, size - first), size), dtype=np.int64)
        atoms[np.arange(len(atoms)), first + np.arange(len(atoms))] = 1
        blocks.append(csr_array(one_line(atoms)))
    rows = kron(np.eye(lines, dtype=np.int64), vstack(blocks).T)
    part = (part_of + np.arange(lines)[:, None] * (int(part_of.max(initial=-1)) + 1)).ravel()
    free = _ones(exact_rows(part, exact, 0), int(exact.alone.sum()) + exact.totals)
    return (vstack([rows, free]) @ _ones(labels, lines * size)).tocsr()


def tables_matrix(domain: Domain, tallies: Sequence[Tally]) -> list[Any]:
    """Return for each table its bins x cells of a domain that holds its columns, scipy sparse.

    Refused beyond 10^6 non-zeros in all.
    """
    cells = domain.size
    require_few(cells * len(tallies))
    codes, parts = np.unravel_index(np.arange(cells), domain.shape), []
    for tally in tallies:
        flat = np.zeros(cells, dtype=np.int64)
        for name in tally.domain.columns:
            place = domain.columns.index(name)
            flat = flat * domain.shape[place] + codes[place]
        parts.append(_ones(tally.labels()[flat], tally.size))
    return parts


def every_column(step: Any, domain: Domain, nonzeros: int) -> Any:
    """Return the query rows of a round x all cells of a domain, scipy sparse, refused beyond 10^6 non-zeros.

    Args:
        step: The round.
        domain: Its columns.
        nonzeros: How many non-zeros there are at most.
    """
    require_few(nonzeros)
    return step.columns(Cells.every(domain.columns, domain.shape)).tocsr()


def columns_from(entries: Sequence[tuple[Ints, Ints | int]], rows: int) -> Any:
    """Return columns, scipy sparse, from a few entries each.

    Args:
        entries: Row and value, one each per column; a row of -1 is no entry.
        rows: How many rows there are.
    """
    from scipy.sparse import csc_array

    if not entries:
        return csc_array((rows, 0), dtype=np.int64)
    at = np.stack([row for row, _ in entries], axis=1)
    values = np.stack([np.broadcast_to(value, row.shape) for row, value in entries], axis=1)
    kept = at >= 0
    begins = np.append(0, np.cumsum(kept.sum(axis=1)))
    return csc_array((values[kept].astype(np.int64), at[kept], begins), shape=(rows, len(at)))


def sparse_from(entries: Sequence[tuple[Ints, Ints, Ints]], shape: tuple[int, int]) -> Any:
    """Return columns, scipy sparse, from entries (column, row, value) that add up; a row of -1 is none."""
    from scipy.sparse import coo_array

    none = np.empty(0, dtype=np.int64)
    column, row, value = (np.concatenate([none, *(each[at] for each in entries)]) for at in range(3))
    kept = row >= 0
    return coo_array((value[kept], (row[kept], column[kept])), shape=shape).tocsc()


def spread_runs(runs: Sequence[tuple[Ints, Ints, Ints, Ints]]) -> list[tuple[Ints, Ints, Ints]]:
    """Return runs of rows (column, first, one past the last, value) as single entries.

    Two runs of one column that end at the same row are taken together first: of a row that both hold, with
    opposite values, nothing is left.
    """
    if len(runs) == 2:
        (one, low, high, sign), (two, other, end, back) = runs
        shared, at, place = np.intersect1d(one, two, assume_unique=True, return_indices=True)
        same = (high[at] == end[place]) & (sign[at] == -back[place])
        at, place, shared = at[same], place[same], shared[same]
        first, last = np.minimum(low[at], other[place]), np.maximum(low[at], other[place])
        value = np.where(low[at] < other[place], sign[at], back[place])
        left = [np.setdiff1d(np.arange(len(each)), own) for each, own in ((one, at), (two, place))]
        rest = [tuple(part[own] for part in run) for run, own in zip(runs, left, strict=True)]
        runs = [(shared, first, last, value), *rest]
    found = []
    for column, low, high, value in runs:
        many = np.maximum(high - low, 0)
        inside = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
        found.append((np.repeat(column, many), np.repeat(low, many) + inside, np.repeat(value, many)))
    return found


def shift_rows(rows: Ints, by: int) -> Ints:
    """Return row numbers moved by a number of rows; -1 stays."""
    return np.where(rows < 0, -1, rows + by)


def exact_rows(parts: Ints, exact: ExactParts, first: int) -> Ints:
    """Return the row of the exact total that each part belongs to, -1 for none, rows beginning at `first`."""
    known = parts >= 0
    at = np.where(known, parts, 0)
    alone = int(exact.alone.sum())
    rows = np.where(exact.alone, np.cumsum(exact.alone) - 1, -1)
    rows = np.where(exact.total_of >= 0, alone + exact.total_of, rows)
    return shift_rows(np.where(known, rows[at] if len(rows) else -1, -1), first)


def _ones(row_of: Ints, rows: int) -> Any:
    """Return a sparse matrix with a one in each column that has a row, -1 standing for none."""
    from scipy.sparse import coo_array

    kept = np.flatnonzero(row_of >= 0)
    ones = np.ones(len(kept), dtype=np.int64)
    return coo_array((ones, (row_of[kept], kept)), shape=(rows, len(row_of))).tocsr()


def find_seen(strategy: Any, block: Block) -> Mask:
    """Return which cells of a block are in some record that a query row may count."""
    domain = strategy.domain
    bounded = all(attribute.bounded for attribute in domain)
    if bounded and not strategy.in_rounds and domain.size <= LISTED:
        columns = strategy.columns(Cells.every(domain.columns, domain.shape))
        counted = (np.diff(columns.tocsc().indptr) > 0).reshape(domain.shape)
        return _over_block(counted, domain.columns, block)
    seen = np.zeros(block.graph.size, dtype=bool)
    for each in strategy.tallies:
        seen |= _left_in(each.tally if isinstance(each, Total) else each, block)
    return seen


def _left_in(tally: Tally, block: Block) -> Mask:
    """Return which cells of a block a filter, or bins, leave in."""
    names, sieve = tally.domain.columns, tally.sieve
    if not set(block.columns) <= set(names):
        return np.ones(block.graph.size, dtype=bool)
    passes = _over_block(sieve.passes, names, block).reshape(
        [sieve.passes.shape[names.index(column)] for column in block.columns]
    )
    return np.asarray(
        passes[np.ix_(*(sieve.classes[names.index(column)] for column in block.columns))]
    ).ravel()


def _over_block(table: Mask, names: Sequence[str], block: Block) -> Mask:
    """Return whether anything in a table over some columns is true, by the columns of a block in order."""
    others = tuple(axis for axis, name in enumerate(names) if name not in block.columns)
    own = [name for name in names if name in block.columns]
    return np.transpose(table.any(axis=others), [own.index(column) for column in block.columns]).ravel()
