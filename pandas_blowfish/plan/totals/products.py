"""How far one edge of the policy can move totals of products of weights. Never sees rows.

Few edges are tried one by one. Of many, an edge either keeps a row in its group, and then each block of
columns that moves adds its share to the change; or it takes the row elsewhere, and then both ends count.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.exact.pareto import is_maximal
from pandas_blowfish.plan.lattice import LIMIT, Lattice, Total
from pandas_blowfish.plan.sensitivity import tally_sensitivity
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.plan.totals.sensitivity import Pattern, Shifts, joined_to_missing
from pandas_blowfish.policy.attribute import MAX_CELLS, Grid
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.graph.joint import scale_of, theta_of
from pandas_blowfish.policy.graph.records import RecordGraph
from pandas_blowfish.policy.graph.secret_graph import SecretGraph
from pandas_blowfish.policy.policy import Policy

TRIED_CELLS, TRIED_EDGES = 1 << 14, 200_000  # up to which every edge is tried
STRETCHES = 1 << 10  # of offsets between even cells, each bounded as a whole
EVEN = ("full", "threshold", "public")  # secrets by which evenly cut cells need not be listed
FRONT = 1 << 12  # kinds of changes from which just the largest are looked for


def product_shifts(policy: Policy, tally: Tally, totals: Sequence[Total | Tally]) -> Shifts:
    """Return what one edge can do to totals of products of weights, in the groups of a tally.

    Args:
        policy: The promise.
        tally: The groups and the filter.
        totals: What is added up in each group; the tally itself counts rows. All columns have bounds.

    Proof note:
        Requires: no touched facts; neighbours move one row along one edge of the policy's graph.
        Ensures:  sum_t |change of t| * rates[t] <= loss(rates) over every edge, with equality over some
                  edge where all edges were tried.
        Because:  few edges are all tried. Of more, one that keeps a row's group and moves some blocks moves
                  them one after another: a product x y changes by x' (y' - y) + (x' - x) y, so that each
                  block adds at most what its own factors change by, times the largest of all others; and
                  never more than the greatest product less the least. Any other edge changes a total by the
                  weights at both ends at most, or by one where the other is not counted.
        Checked:  tests/plan/totals/test_products.py::test_bounds_every_edge
    """
    weighed = [each for each in totals if isinstance(each, Total)]
    names = tuple(
        dict.fromkeys([*tally.domain.columns, *(a.name for each in weighed for a in each.attributes)])
    )
    shape = [policy.domain[name].size for name in names]
    if math.prod(shape) <= TRIED_CELLS:
        graph = policy.graph.project(names)
        if graph.edge_count <= TRIED_EDGES:
            return _try_edges(graph, Cells.every(names, shape), totals)
    return _bound_edges(policy, tally, totals, weighed)


def require_small(total: Total) -> None:
    """Refuse products of weights that 61 bits do not hold."""
    if math.prod(each.largest for each in total.factors) >= LIMIT:
        names = " and ".join(repr(each.name) for each in total.attributes)
        raise ArgumentError(
            "columns",
            f"{names} has more steps between its bounds than squares and products can be added up of",
            fix="declare a wider step= in its secret, or narrower bounds.",
        )


def _try_edges(graph: RecordGraph, cells: Cells, totals: Sequence[Total | Tally]) -> Shifts:
    """Return what every edge changes."""
    pairs = graph.edges()
    changes, ends = (np.zeros((len(pairs), len(totals)), dtype=np.int64) for _ in range(2))
    many = np.ones(len(pairs), dtype=np.int64)  # groups that an edge changes the totals of
    for number, total in enumerate(totals):
        group, weight = total.entries(cells) if isinstance(total, Total) else (total.bins_at(cells), 1)
        weight = np.append(np.where(group >= 0, weight, 0), 0)  # "absent" is last
        group = np.append(group, -1)
        (start, end), (one, two) = weight[pairs].T, group[pairs].T
        changes[:, number] = np.where(one == two, abs(start - end), abs(start) + abs(end))
        ends[:, number] = np.where(one == two, 0, np.maximum(abs(start), abs(end)))
        many = np.where(one == two, 0, 1 + (np.minimum(one, two) >= 0))  # groups are the same for all
    flows = {number: _front(changes[many == number]) for number in (1, 2) if (many == number).any()}
    groups = tuple(number for number, own in flows.items() for _ in own)
    most = tuple(ends.max(axis=0, initial=0).tolist())
    return Shifts((_front(changes[many == 0]),), tuple(itertools.chain(*flows.values())), 1, (), groups, most)


def _bound_edges(
    policy: Policy, tally: Tally, totals: Sequence[Total | Tally], weighed: Sequence[Total]
) -> Shifts:
    seen = tally.domain.columns
    flow = int(tally_sensitivity(policy.graph.project(seen), tally))
    ends = {each.name: _ends(tally, seen, each) for total in weighed for each in total.attributes}
    largest = [
        math.prod(_largest(each, ends) for each in total.factors) if isinstance(total, Total) else 1
        for total in totals
    ]
    used = {each.name for total in weighed for each in total.attributes}
    blocks = [block for block in policy.secrets if used & set(block)]
    patterns = [_block_changes(policy, block, totals, ends) for block in blocks]
    limit = len(patterns) if policy.graph.moves is None else policy.graph.moves
    flows = (tuple(flow * most for most in largest),) if flow or not patterns else ()
    shared = tuple(_span(total, ends) if _crosses(total, blocks) else 0 for total in totals)
    shared, groups = shared if any(shared) else (), (max(flow, 1),) * len(flows)
    most = tuple(largest) if flow else (0,) * len(totals)
    return Shifts(tuple(patterns), flows, limit, shared, groups, most)


def _ends(tally: Tally, seen: Sequence[str], attribute: Any) -> tuple[int, int]:
    """Return the first and the last cell of a column, by number, that a filter leaves in."""
    if attribute.name not in seen:
        return 0, attribute.cells - 1
    kept = np.flatnonzero(tally.find_passing(seen.index(attribute.name))[: attribute.cells])
    return (int(kept[0]), int(kept[-1])) if len(kept) else (0, 0)


def _weights(lattice: Lattice, ends: Mapping[str, tuple[int, int]]) -> Ints:
    """Return weights among which are the least and the greatest that can be counted."""
    first, last = ends[lattice.attribute.name]
    if isinstance(lattice.attribute, Grid):
        return lattice.weights_at(np.array([first, max(last - 1, first), last]))
    return lattice.weights_at(np.arange(first, last + 1))


def _largest(lattice: Lattice, ends: Mapping[str, tuple[int, int]]) -> int:
    return int(abs(_weights(lattice, ends)).max())


def _crosses(total: Total | Tally, blocks: Sequence[tuple[str, ...]]) -> bool:
    """Return whether several blocks change a total."""
    if not isinstance(total, Total):
        return False
    return sum(any(each.name in block for each in total.attributes) for block in blocks) > 1


def _span(total: Total | Tally, ends: Mapping[str, tuple[int, int]]) -> int:
    """Return the greatest product of weights less the least, or a little more; a missing one is 0."""
    assert isinstance(total, Total)
    low, high = 1, 1
    for name in {each.attribute.name for each in total.factors}:
        own = [each for each in total.factors if each.attribute.name == name]
        least = 0 if own[0].attribute.nullable else None
        some = [int(each) for each in np.prod([_weights(each, ends) for each in own], axis=0)]
        bottom = 0 if len(own) > 1 and all(each == own[0] for each in own) else min(some)
        some = [bottom, max(some), *([least] if least is not None else [])]
        corners = [one * two for one, two in itertools.product((low, high), (min(some), max(some)))]
        low, high = min(corners), max(corners)
    return high - low


def _block_changes(
    policy: Policy,
    block: tuple[str, ...],
    totals: Sequence[Total | Tally],
    ends: Mapping[str, tuple[int, int]],
) -> tuple[Pattern, ...]:
    """Return what moves of one block change each total by, at most."""
    inner: list[list[Lattice]] = []
    outer: list[int] = []
    for total in totals:
        factors = total.factors if isinstance(total, Total) else ()
        inner.append([each for each in factors if each.attribute.name in block])
        rest = [each for each in factors if each.attribute.name not in block]
        outer.append(math.prod(_largest(each, ends) for each in rest))
    columns = list(dict.fromkeys(each.attribute.name for own in inner for each in own))
    attribute, secret = policy.domain[columns[0]], policy.secrets[block]
    if (
        len(block) == 1
        and isinstance(attribute, Grid)
        and secret["secret"] in ("full", "threshold", "public")
    ):
        changes = _even_changes(attribute, secret, inner, ends[attribute.name])
    else:
        changes = _listed_changes(policy, columns, inner)
    times = np.array(outer, dtype=object)
    if int(abs(changes).max(initial=0)) * max(outer, default=1) >= 2**62:
        return tuple(tuple(int(each) for each in row) for row in changes.astype(object) * times)
    return _front(changes * times.astype(np.int64))


def _even_changes(
    attribute: Grid, secret: Mapping[str, Any], inner: Sequence[Sequence[Lattice]], ends: tuple[int, int]
) -> Ints:
    """Return what edges between evenly cut cells change products of up to two weights by.

    Proof note:
        Requires: at most two factors of a total are no constants, and then they are the same weights.
        Ensures:  for all rates the largest loss over rows is at least that over the edges, and the same
                  where offsets are few enough to be listed one by one.
        Because:  between cells j apart squares change by |w - v| |w + v|. Of cells that are cut evenly
                  |w - v| is the same for all pairs, and |w + v| convex in where they lie: the first or the
                  last pair loses most. A last cell that bounds cut is the end of one further pair. Over a
                  stretch of offsets |w - v| is largest at its end, |w + v| at one of its ends.
        Checked:  tests/plan/totals/test_products.py::test_even_cells_match_their_edges
    """
    first, last = ends
    far = _reach(attribute, secret, last - first)
    degrees = [sum(each.each != 0 for each in own) for own in inner]
    weights = next((each for own in inner for each in own if each.each != 0), None)
    rows: list[Ints] = [np.zeros((1, len(inner)), dtype=np.int64)]
    stops = np.unique(np.linspace(0, far, min(far, STRETCHES) + 1).astype(np.int64))
    starts, stops = stops[:-1] + 1, stops[1:]
    anchors = ((first, 1), (last, -1), (last - 1, -1)) if weights is not None and far else ()
    for anchor, sign in anchors:
        some = (anchor + sign * starts >= first) & (anchor + sign * starts <= last) & (anchor >= first)
        if not some.any():
            continue
        assert weights is not None
        end = np.clip(anchor + sign * stops[some], first, last)
        own = weights.weights_at(np.array([anchor]))
        near, there = weights.weights_at(anchor + sign * starts[some]), weights.weights_at(end)
        by = np.maximum(abs(there - own), abs(near - own))
        both = np.maximum(abs(there + own), abs(near + own))
        rows.append(np.column_stack([_of_degree(degree, by, both) for degree in degrees]))
    if attribute.nullable and (cells := joined_to_missing(attribute, secret)) is not None:
        place, blank = np.clip(np.array(cells), first, last), np.zeros(2, dtype=np.int64)
        lost = [np.prod([each.weights_at(place) for each in own], axis=0) if own else blank for own in inner]
        rows.append(abs(np.column_stack(lost)))
    return np.concatenate(rows)


def _of_degree(degree: int, by: Ints, both: Ints) -> Ints:
    return by * both if degree == 2 else by if degree == 1 else np.zeros(len(by), dtype=np.int64)


def _reach(attribute: Grid, secret: Mapping[str, Any], most: int) -> int:
    """Return how many cells apart two joined cells are at most."""
    if secret["secret"] == "public":
        return 0
    if secret["secret"] == "full":
        return most
    theta = theta_of(secret, [attribute], attribute.name) / scale_of(secret, attribute, attribute.name)
    return min(math.ceil(theta / attribute.step), most)


def _listed_changes(policy: Policy, columns: Sequence[str], inner: Sequence[Sequence[Lattice]]) -> Ints:
    """Return what the edges of a block change products of its weights by; of many edges the most."""
    attributes = [policy.domain[column] for column in columns]
    size = math.prod(each.size for each in attributes)
    if size > MAX_CELLS:
        raise ArgumentError(
            "columns",
            f"{', '.join(map(repr, columns))} has too many values for its secret to be looked at",
            fix="declare a wider step= in its secret, or narrower bounds.",
        )
    cells = Cells.every(columns, [each.size for each in attributes])
    products = np.zeros((size, len(inner)), dtype=np.int64)
    for number, own in enumerate(inner):
        if own:
            products[:, number] = Total(Tally(()), own[0], tuple(own[1:])).weights_at(cells.codes)
    graph: SecretGraph = policy.graph.project(columns).blocks[0].graph
    if graph.edge_count <= TRIED_EDGES:
        pairs = graph.edges()
        return np.asarray(abs(products[pairs[:, 0]] - products[pairs[:, 1]]))
    part = graph.components
    count = int(part.max(initial=-1)) + 1
    low, high = (
        np.full((count, len(inner)), end) for end in (np.iinfo(np.int64).max, np.iinfo(np.int64).min)
    )
    np.minimum.at(low, part, products)
    np.maximum.at(high, part, products)
    return np.asarray(high - low)


def _front(changes: Ints) -> tuple[Pattern, ...]:
    """Return changes that no other reaches everywhere, as patterns."""
    found = np.unique(changes, axis=0) if len(changes) else np.zeros((1, changes.shape[1]), dtype=np.int64)
    if len(found) <= FRONT:
        found = found[is_maximal(found)]
    return tuple(tuple(row) for row in found.tolist())
