"""Which part of a line lies nearest a wanted rank, after noise: sees counts, releases places alone.

Query rows are counts along a line. The distance of a place is how many rows lie between it and the wanted
rank, a share of all rows of the line: 0 where the rank is inside.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pandas_blowfish.errors import UnsoundPlanError
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.plan.protocol import Round, Targets
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.policy.cells import Cells

FAR = 2**61  # distances beyond it are taken for it, which moves none further than it did


def place_scales(step: Round) -> Scales:
    """Return the noise scale of each place: of a distance in parts, which are so many times as long."""
    parts, scales = step.targets.parts, step.scales
    return Scales([scale * parts for scale in scales.values], np.repeat(scales.codes, parts))


def score_places(choices: Ints, counts: Ints, targets: Targets) -> Ints:
    """Return of each part of each query row how near it is to the wanted rank of its choice, 0 at most.

    Args:
        choices: For each query row the number of its choice, never falling: one line after another.
        counts: The exact value of each query row, 0 or more.
        targets: The wanted shares, and into how many equal parts a query row is cut.

    Returns:
        One number per part, those of a row together: less the distance, in steps of 1 / (whole parts) rows.
    """
    whole, parts = targets.whole, targets.parts
    if float(counts.sum(dtype=np.float64)) * whole * parts >= 2**60:
        counts = counts.astype(object)  # 64 bits would wrap
    first = np.flatnonzero(np.diff(choices, prepend=-1))
    before = np.cumsum(counts) - counts
    before = before - before[first][choices]
    shares = np.array(targets.shares, dtype=counts.dtype)
    wanted = (shares * np.add.reduceat(counts, first))[choices] if len(first) else before
    low: Any = parts * (whole * before - wanted)[:, None]
    low = low + whole * counts[:, None] * np.arange(parts)
    high = low + whole * counts[:, None]
    found: Any = -np.maximum(np.maximum(low, -high), 0)
    return np.asarray(np.maximum(found, -FAR), dtype=np.int64).ravel()


def require_places(step: Round) -> None:
    """Raise unless choices come one after another, each with a share between 0 and 1."""
    choices, targets = step.choices, step.targets
    known = len(choices) == len(step.scales) and targets.parts >= 1 and targets.whole >= 1
    in_order = known and np.array_equal(np.unique(choices), np.arange(len(targets.shares)))
    in_order = in_order and bool((np.diff(choices) >= 0).all())
    if not in_order or any(not 0 <= share <= targets.whole for share in targets.shares):
        raise UnsoundPlanError("places are not one line after another, each with a share that is wanted")


def place_ranges(step: Round, start: Cells, end: Cells) -> Ints:
    """Return for each edge by how much it changes differences of distances, summed over choices, at most.

    In steps of 1 / whole of a row, as the scales are.

    Proof note:
        Requires: query rows count with weights of 0 or more.
        Ensures:  for any counts the largest change of a part's score less the smallest is at most this times
                  `parts`, summed over choices.
        Because:  let B_j be `whole` times the rows before boundary j of a line less the wanted rank, D_j what
                  the edge adds to it; on the way, B_j + s D_j for s from 0 to 1, B never falls along the
                  line, as counts stay 0 or more. So at any s boundaries below 0 come before those above, the
                  place that holds the rank has score 0, one before it B of its end, which moves by D of its
                  end, one after it -B of its begin, which moves by -D. The range of the change is at
                  most that of 0, D_j for j < t, -D_j for j >= t, t the largest over all boundaries;
                  ranges add up on the way. D is constant between the query rows that the edge changes:
                  `_widest` tries t before, inside and after each such run. Of a row in parts D moves in
                  steps from one value to the next: t may be anywhere inside, so both ends count.
        Checked:  tests/kernel/test_nearest.py::test_ranges_are_those_of_all_tables,
                  tests/privacy/test_quantile_loss.py::test_no_neighbours_lose_more_than_is_charged
    """
    before, after = step.columns(start), step.columns(end)
    if min(before.data.min(initial=0), after.data.min(initial=0)) < 0:
        raise UnsoundPlanError("counts along a line would be below 0")
    changes = (after - before).tocsc()
    changes.eliminate_zeros()
    changes.sort_indices()
    edge = np.repeat(np.arange(changes.shape[1]), np.diff(changes.indptr))
    row, value = changes.indices.astype(np.int64), changes.data.astype(np.int64)
    found = np.zeros(changes.shape[1], dtype=np.int64)
    if not len(row):
        return found
    choice, sizes = step.choices[row], np.bincount(step.choices)
    new = (np.diff(edge, prepend=-1) != 0) | (np.diff(choice, prepend=-1) != 0)
    key = np.cumsum(new) - 1  # an edge and a choice, whose rows come one after another
    rank = np.arange(len(row)) - np.flatnonzero(new)[key]  # of an entry among those of its key
    place = row - (np.cumsum(sizes) - sizes)[choice]
    own, wide = choice[new], int(rank.max()) + 1
    moved = np.zeros((len(own), wide), dtype=np.int64)
    moved[key, rank] = value
    cut = int(step.targets.parts > 1)
    begin = np.repeat(sizes[own][:, None] + cut, wide + 2, axis=1)  # of runs of boundaries that have one D
    begin[:, 0], begin[key, rank + 1] = 1 - cut, place + 1
    whole, shares = step.targets.whole, np.array(step.targets.shares, dtype=np.int64)
    added = np.cumsum(moved, axis=1)
    runs = np.concatenate([np.zeros((len(own), 1), dtype=np.int64), added], axis=1) * whole
    runs -= (shares[own] * added[:, -1])[:, None]
    np.add.at(found, edge[new], _widest(runs, begin, cut=bool(cut)))
    return found


def _widest(runs: Ints, begin: Ints, *, cut: bool) -> Ints:
    """Return the largest range of 0, D before t and -D from t on, over all t.

    Args:
        runs: D of each run of boundaries, cases x runs.
        begin: Where each run begins, and the last one ends; cases x (runs + 1).
        cut: Whether t lies inside a row, whose ends are on both of its sides; else between two boundaries.
    """
    many, some = np.diff(begin, axis=1), range(runs.shape[1])
    tried = [
        (at, at, at, 2) for at in some
    ]  # the last run before t, the first after it; which must hold what
    tried += (
        [(at, at - 1, at, 1) for at in some[1:]] if cut else [(at - 1, at, 0, 0) for at in (*some, len(some))]
    )
    widest = np.zeros(len(runs), dtype=np.int64)
    for last, first, at, least in tried:
        high, low = np.zeros(len(runs), dtype=np.int64), np.zeros(len(runs), dtype=np.int64)
        for run in some:
            own = np.where(many[:, run] > 0, runs[:, run], 0)
            for side in (*([own] if run <= last else []), *([-own] if run >= first else [])):
                high, low = np.maximum(high, side), np.minimum(low, side)
        widest = np.maximum(widest, np.where(many[:, at] >= least, high - low, 0))
    return widest
