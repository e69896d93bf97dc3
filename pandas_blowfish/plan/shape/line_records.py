"""Records of how errors of counts along lines go together, read: by ranges of cells, and by weights.

One reader of each per kind of record (`READERS`, `WEIGHERS`); `covariance.py` says what they are about. Never
sees rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.line.axis import LineGraph
from pandas_blowfish.plan.line.nest import Layout, Nest
from pandas_blowfish.plan.line.tree import Crossing
from pandas_blowfish.plan.line.variance import Spread
from pandas_blowfish.plan.linear.atom_rows import MAX_DENSE, unpack_rows
from pandas_blowfish.plan.linear.line_rows import RowSpread
from pandas_blowfish.plan.scales import row_variances
from pandas_blowfish.plan.sensitivity import ExactParts
from pandas_blowfish.plan.transport.run_law import LineLaw

MAX_RUNS = 2_000  # in one list: longer ones are left out, and errors of ranges are bounds
MAX_BRANCHINGS, MAX_CELLS = 64, 20_000_000  # that a receipt may describe
ALONE = -2  # a total that is exact by itself; -1 for none that is exact, else the number of a shared one


def to_runs(values: NDArray[Any]) -> list[list[Any]] | None:
    """Return a list as runs of equal values; None where there are too many.

    Examples:
        >>> to_runs(np.array([5, 5, 5, 7]))
        [[5, 3], [7, 1]]
    """
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1])) if len(values) else np.zeros(0, int)
    if len(first) > MAX_RUNS or len(values) > MAX_CELLS:
        return None
    many = np.diff(np.append(first, len(values)))
    return [[value, run] for value, run in zip(values[first].tolist(), many.tolist(), strict=True)]


def from_runs(runs: Sequence[Sequence[Any]], size: int | None = None) -> NDArray[Any]:
    """Return the list that runs describe, refusing one of another size.

    Examples:
        >>> from_runs([[5, 3], [7, 1]], 4).tolist()
        [5, 5, 5, 7]
    """
    values, many = [run[0] for run in runs], [int(run[1]) for run in runs]
    if min(many, default=1) < 1 or sum(many) > MAX_CELLS or (size is not None and sum(many) != size):
        raise ValueError("runs of another length")
    return np.repeat(np.array(values, dtype=None if values else np.int64), many)


def widths(record: Mapping[str, Any], codes: Ints) -> tuple[float, Floats]:
    """Return how wide errors of counts in no total are, and of those in each."""
    totals = int(codes.max(initial=-1)) + 1
    if "spreads" not in record:
        own = row_variances([Fraction(record["scales"][0])])[0]
        return own, np.full(totals, own)
    spreads = np.array(record["spreads"], dtype=np.float64)
    if len(spreads) != totals or not (np.isfinite(spreads).all() and (spreads >= 0).all()):
        raise ValueError("another number of totals")
    return 0.0, spreads


def read_codes(record: Mapping[str, Any], size: int | None = None) -> Ints:
    """Return which totals are exact, refusing numbers of totals that so few parts cannot have."""
    codes = from_runs(record["exact"], size)
    if codes.dtype.kind != "i" or codes.min(initial=0) < ALONE or codes.max(initial=0) > len(codes):
        raise ValueError("no codes of totals")
    return codes


def laid(first: int, each: Floats, size: int) -> Floats:
    """Return weights by atom of a whole line, 0 outside of what is asked."""
    found = np.zeros((len(each), size))
    found[:, first : first + each.shape[1]] = each
    return found


def _cell_sums(record: Mapping[str, Any], lines: int, first: int, each: Floats) -> Floats:
    codes = read_codes(record)
    own, spreads = widths(record, codes)
    many, by_line = np.bincount(codes[codes >= 0]), codes.reshape(lines, -1)
    weights = laid(first, each, by_line.shape[1])
    found = (weights**2 @ np.append(spreads, [0.0, own])[by_line].T).T  # of ALONE, -2, it is 0
    for number, line in enumerate(by_line):
        inside = line >= 0
        totals, of = np.unique(line[inside], return_inverse=True)
        for place, weight in enumerate(weights[:, inside]):
            sums = np.bincount(of, weight, len(totals))
            found[number, place] -= (spreads[totals] * sums**2 / many[totals]).sum()
    return np.asarray(found)


def _run_sums(record: Mapping[str, Any], lines: int, first: int, each: Floats) -> Floats:
    spread = _read_runs(record, lines)
    return spread.weigh_lines(laid(first, each, spread.nest.size))


def _tree_sums(record: Mapping[str, Any], lines: int, first: int, each: Floats) -> Floats:
    parent, own, tops = _read_tree(record, lines)
    weights = laid(first, each, len(parent))
    inner = parent != np.arange(len(parent))
    over = (weights - weights[:, parent])[:, inner] ** 2 @ own[inner]
    return np.asarray(over + tops @ (weights**2).T)


def _cell_ranges(record: Mapping[str, Any], lines: int, low: Ints, high: Ints) -> Floats:
    codes = read_codes(record)
    own, spreads = widths(record, codes)
    many, width = np.bincount(codes[codes >= 0]), np.append(spreads, [0.0, own])  # of ALONE, -2, it is 0
    found = np.zeros((lines, len(low)))
    for number, line in enumerate(codes.reshape(lines, -1)):
        free = np.append(0.0, np.cumsum(width[line]))
        found[number] = free[high] - free[low]
        for total in np.unique(line[line >= 0]).tolist():
            inside = np.append(0, np.cumsum(line == total))
            found[number] -= spreads[total] * (inside[high] - inside[low]) ** 2 / many[total]
    return np.where(found > 1e-9 * max(float(width.max()), 1e-200), found, 0.0)


def _run_ranges(record: Mapping[str, Any], lines: int, low: Ints, high: Ints) -> Floats:
    return _read_runs(record, lines).by_line(low, high)


def _read_runs(record: Mapping[str, Any], lines: int) -> Spread:
    """Return how estimates on the nest that a record describes vary."""
    sizes = from_runs(record["sizes"])
    ends = np.cumsum(sizes)
    codes = read_codes(record, lines * len(sizes))
    exact = ExactParts(codes == ALONE, np.maximum(codes, -1), int(codes.max(initial=-1)) + 1)
    wide = np.flatnonzero(sizes > 1)
    between = np.column_stack([ends - sizes, ends - 1])[wide]
    none = np.zeros((0, 2), dtype=np.int64)
    segments = np.repeat(np.arange(len(sizes)), sizes)
    line = LineGraph(int(ends[-1]), lines, between, none, none[:, 0], None, exact, segments, exact)
    if len(record["layout"]["branching"]) > MAX_BRANCHINGS:
        raise ValueError("too many branchings")
    nest = Nest(line, Layout.from_dict(record["layout"]))
    return Spread(nest, row_variances([Fraction(scale) for scale in record["scales"]]))


def _tree_ranges(record: Mapping[str, Any], lines: int, low: Ints, high: Ints) -> Floats:
    parent, own, tops = _read_tree(record, lines)
    inner, size = np.flatnonzero(parent != np.arange(len(parent))), len(parent)
    sums = np.cumsum(np.pad(tops, ((0, 0), (1, 0))), axis=1)
    over = Crossing(inner, parent[inner], own[inner], size).variances(low, high)
    found = over + sums[:, high] - sums[:, low]
    return np.where(found > 1e-9 * max(float(own.max()), float(tops.max())), found, 0.0)


def _transport_ranges(record: Mapping[str, Any], lines: int, low: Ints, high: Ints) -> Floats:
    return np.tile(LineLaw.read(record, from_runs(record["sizes"])).differences(low, high), (lines, 1))


def _transport_sums(record: Mapping[str, Any], lines: int, first: int, each: Floats) -> Floats:
    return np.tile(LineLaw.read(record, from_runs(record["sizes"])).weigh(each, first), (lines, 1))


def _read_tree(record: Mapping[str, Any], lines: int) -> tuple[Ints, Floats, Floats]:
    """Return each atom's parent, its sum's variance, and those of the totals at roots, lines x atoms."""
    up = from_runs(record["parents"])
    size = len(up)
    parent, codes = np.arange(size) - up, from_runs(record["codes"], size)
    own = np.append(row_variances([Fraction(scale) for scale in record["scales"]]), 0.0)[codes]
    roots, tops = np.flatnonzero(up == 0), np.zeros((lines, size))
    tops[:, roots] = from_runs(record["roots"], lines * len(roots)).reshape(lines, -1)
    return parent, own, tops


def _row_ranges(record: Mapping[str, Any], lines: int, low: Ints, high: Ints) -> Floats:
    return _read_rows(record, lines).by_line(low, high)


def _row_sums(record: Mapping[str, Any], lines: int, first: int, each: Floats) -> Floats:
    spread = _read_rows(record, lines)
    return spread.weigh_lines(laid(first, each, spread.size))


def _read_rows(record: Mapping[str, Any], lines: int) -> RowSpread:
    """Return how estimates from the rows that a record describes vary."""
    sizes = from_runs(record["sizes"])
    codes, rows = read_codes(record, lines * len(sizes)), unpack_rows(record["rows"])
    if max(rows.shape) > MAX_DENSE or rows.shape[1] != sizes.sum():
        raise ValueError("rows over other atoms")
    exact = ExactParts(codes == ALONE, np.maximum(codes, -1), int(codes.max(initial=-1)) + 1)
    noise = row_variances([Fraction(record["scales"][0])])[0]
    return RowSpread(rows.toarray(), noise, np.cumsum(sizes) - sizes, exact, lines)


READERS = {"cells": _cell_ranges, "runs": _run_ranges, "tree": _tree_ranges, "rows": _row_ranges}
READERS |= {"transport": _transport_ranges}
WEIGHERS = {"cells": _cell_sums, "runs": _run_sums, "tree": _tree_sums, "rows": _row_sums}
WEIGHERS |= {"transport": _transport_sums}
