"""Counts, sums and seals of tables that other engines hold: the twin of `count` there. This module sees rows.

Rows that are outside the domain, against the seal, are counted nowhere: no error depends on rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pandas_blowfish.count.bins import combined, gathered
from pandas_blowfish.count.fingerprint import column_spread
from pandas_blowfish.count.place import Ints
from pandas_blowfish.count.progress import told
from pandas_blowfish.count.readers.engine import ROWS, Key, Scan, grouped, rows_of
from pandas_blowfish.count.readers.expressions import SHIFT
from pandas_blowfish.count.readers.keys import cell_key, lot_key, whole_numbers
from pandas_blowfish.count.readers.storage import Steps, absent
from pandas_blowfish.count.weigh import weigh
from pandas_blowfish.plan.lattice import LIMIT, Total
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.attribute import Attribute, Unbounded, Values

HALF = 31
CELLS = 1 << 16  # groups that come back without being gathered into bins
LOW, HIGH, KEPT, LAST = (f"blowfish {name}" for name in ("low", "high", "kept", "last"))


def scanned(table: Scan, asked: Sequence[Tally | Total], *, clip: bool) -> list[Ints]:
    """Return the counts of every table, and the sums of every total."""
    return [
        _summed(table, each, clip=clip) if isinstance(each, Total) else _tallied(table, each, clip=clip)
        for each in (told(asked, "counting tables", len(asked)) if len(asked) > 1 else asked)
    ]


def scanned_unplaced(table: Scan, attribute: Attribute, *, clip: bool) -> tuple[int, int]:
    """Return how many rows of a column are missing, and how many outside its domain."""
    import narwhals as nw

    def keys(steps: Steps) -> list[Key]:
        null = absent(table.storage(attribute.name))
        missing = steps.let(nw.when(null).then(nw.lit(1, nw.Int64)).otherwise(nw.lit(0, nw.Int64)))
        return [Key(missing, whole_numbers)]

    (missing,), found = grouped(table, [attribute], keys, clip=True)  # no row is left out
    cells, counts = column_spread(table, attribute, clip=clip)[0]
    inside = int(counts[cells >= 0].sum())
    nulls = int(found[ROWS][missing == 1].sum())
    return nulls, int(found[ROWS].sum()) - inside - (0 if attribute.nullable else nulls)


def _tallied(table: Scan, asked: Tally, *, clip: bool) -> Ints:
    """Return how many rows lie in each bin, in C order."""
    if not asked.binnings:
        return np.array([rows_of(table)], dtype=np.int64)
    read = [binning.attribute for binning in asked.binnings]
    codes, found = grouped(table, read, lambda steps: _keys(table, steps, asked, clip=clip), clip=clip)
    return gathered(asked, codes, found[ROWS])


def _keys(table: Scan, steps: Steps, asked: Tally, *, clip: bool) -> list[Key]:
    """Return what the rows of a tally are grouped by: of each column the cells that it tells apart."""
    few = math.prod(binning.attribute.size for binning in asked.binnings) <= CELLS
    if few:  # each cell apart, which is less work for each row
        return [cell_key(table, steps, binning.attribute, clip=clip) for binning in asked.binnings]
    keys = []
    for binning, marks, classes in zip(asked.binnings, asked.marks, asked.sieve.classes, strict=True):
        _, lots = np.unique(marks * (int(classes.max(initial=0)) + 1) + classes, return_inverse=True)
        keys.append(lot_key(table, steps, binning.attribute, lots.reshape(-1), clip=clip))
    return keys


def _summed(table: Scan, asked: Total, *, clip: bool) -> Ints:
    """Return the sum of the rows' weights in each group, clamped to +-2^61.

    Proof note:
        Requires: fewer than 2^32 rows.
        Ensures:  what `total.total` gives for the same rows.
        Because:  a weight is a first one plus as many steps as the row's code says, so that sums of codes, in
                  halves of 31 bits, tell it; the last cell, which bounds may cut, is counted apart. Where
                  weights are listed, or larger than 2^61, rows are counted by code and each is weighed.
        Checked:  tests/count/readers/test_scan.py::test_sums_are_those_of_pandas
    """
    lattice, tally = asked.lattice, asked.tally
    attribute = lattice.attribute
    read = [*(binning.attribute for binning in tally.binnings), attribute]
    totals = np.zeros(tally.size, dtype=object)
    if isinstance(attribute, Values) or (lattice.last is not None and lattice.largest > LIMIT):

        def by_code(steps: Steps) -> list[Key]:
            return [*_keys(table, steps, tally, clip=clip), cell_key(table, steps, attribute, clip=clip)]

        codes, found = grouped(table, read, by_code, clip=clip)
        weights, kept = weigh(lattice, codes[-1])
        parts = [weight * rows for weight, rows in zip(weights.tolist(), found[ROWS].tolist(), strict=True)]
        _add(totals, _bins(tally, codes[:-1], len(parts)), parts, kept)
        return _clamped(totals)

    def by_group(steps: Steps) -> list[Key]:
        import narwhals as nw

        keys = _keys(table, steps, tally, clip=clip)
        code = cell_key(table, steps, attribute, clip=clip).expression
        last = 2 * SHIFT if isinstance(attribute, Unbounded) else attribute.cells
        kept = (code >= 0) & (code < last)
        held = steps.let(nw.when(kept).then(code).otherwise(nw.lit(0, nw.Int64)))
        one, none = nw.lit(1, nw.Int64), nw.lit(0, nw.Int64)
        steps.frame = steps.frame.with_columns(
            (held % (1 << HALF)).alias(LOW),
            ((held - held % (1 << HALF)) // (1 << HALF)).alias(HIGH),
            nw.when(kept).then(one).otherwise(none).alias(KEPT),
            nw.when(code == last - 1).then(one).otherwise(none).alias(LAST),
        )
        return keys or [Key(nw.lit(0, nw.Int64), whole_numbers)]

    codes, found = grouped(table, read, by_group, (LOW, HIGH, KEPT, LAST), clip=clip)
    parts = []
    sums = (found[name].tolist() for name in (LOW, HIGH, KEPT, LAST))
    for low, high, kept_rows, last_rows in zip(*sums, strict=True):
        steps_up = (high << HALF) + low
        if lattice.last is None:
            steps_up, last_rows, cut = steps_up - SHIFT * kept_rows, 0, 0
        else:
            cut = lattice.last - (lattice.first + lattice.each * (attribute.cells - 1))
        parts.append(lattice.first * kept_rows + lattice.each * steps_up + cut * last_rows)
    bins = _bins(tally, codes if tally.binnings else [], len(parts))
    _add(totals, bins, parts, np.ones(len(parts), dtype=bool))
    return _clamped(totals)


def _bins(tally: Tally, codes: Sequence[Ints], many: int) -> Ints:
    """Return the group of each combination of cells, -1 for none."""
    return combined(tally, codes, many) if tally.binnings else np.zeros(many, dtype=np.int64)


def _add(totals: Any, bins: Ints, parts: Sequence[int], kept: Any) -> None:
    for place, part, counts in zip(bins.tolist(), parts, kept.tolist(), strict=True):
        if counts and place >= 0:
            totals[place] += part


def _clamped(totals: Any) -> Ints:
    return np.array([min(max(int(each), -LIMIT), LIMIT) for each in totals], dtype=np.int64)
