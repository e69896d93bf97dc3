"""The slow twin: the edges of a policy from its own words, and sensitivity over whole tables.

Nothing here uses a closed form or the package's graphs: every pair of records, every table is tried.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.exact.instant import span_ns
from pandas_blowfish.exact.number import exact
from pandas_blowfish.policy.attribute import Attribute, Grid, Values
from pandas_blowfish.policy.policy import Policy


def database_sensitivity(matrix: Any, edges: Ints, cells: int, rows: int) -> int:
    """Return the largest L1 change between neighbouring tables of `rows` rows, over all tables."""
    dense, joined = matrix.toarray(), {(int(a), int(b)) for pair in edges for a, b in (pair, pair[::-1])}
    worst = 0
    for table in itertools.combinations_with_replacement(range(cells), rows):
        answer = dense[:, list(table)].sum(axis=1)
        for place, cell in enumerate(table):
            for other in range(cells):
                if (cell, other) in joined:
                    moved = [*table[:place], other, *table[place + 1 :]]
                    worst = max(worst, int(abs(dense[:, moved].sum(axis=1) - answer).sum()))
    return worst


def definition_edges(policy: Policy, columns: Sequence[str]) -> Ints:
    """Return the edges that a query on some columns sees, from the words of the policy alone.

    All pairs of whole records are tried: two are neighbours when they differ, each block either stays or
    moves along its own secret, and no more blocks move than `neighbors` says. Their projections on
    `columns` are returned; with presence each record is also joined to "absent", the cell after the last.
    """
    names = list(policy.domain.columns)
    place = {name: rank for rank, name in enumerate(names)}
    allowed = {block: _block_moves(policy, block) for block in policy.secrets}
    most = {"record": len(allowed), "attribute": 1}.get(str(policy.neighbors)) or int(policy.neighbors)
    shape = [policy.domain[column].size for column in columns]
    records = list(itertools.product(*(range(attribute.size) for attribute in policy.domain)))
    seen: set[tuple[int, int]] = set()
    for x, y in itertools.combinations(records, 2):
        ends = {block: [tuple(r[place[c]] for c in block) for r in (x, y)] for block in allowed}
        moved = [(block, a, b) for block, (a, b) in ends.items() if a != b]
        if len(moved) <= most and all((a, b) in allowed[block] for block, a, b in moved):
            flat = [_flat([record[place[column]] for column in columns], shape) for record in (x, y)]
            if flat[0] != flat[1]:
                seen.add((min(flat), max(flat)))
    if policy.presence:
        absent = int(np.prod(shape, dtype=np.int64))
        seen |= {(_flat([r[place[c]] for c in columns], shape), absent) for r in records}
    return np.array(sorted(seen), dtype=np.int64).reshape(-1, 2)


def _block_moves(policy: Policy, block: tuple[str, ...]) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the ordered pairs of a block's joint cells that its secret joins."""
    secret, attributes = policy.secrets[block], [policy.domain[column] for column in block]
    if len(block) == 1:
        return {((a,), (b,)) for a, b in _moves(secret, attributes[0])}
    cells = list(itertools.product(*(range(attribute.size) for attribute in attributes)))
    return {(x, y) for x, y in itertools.permutations(cells, 2) if _joint(secret, attributes, x, y)}


def _joint(
    secret: Mapping[str, Any], attributes: Sequence[Attribute], x: Sequence[int], y: Sequence[int]
) -> bool:
    """Return whether a joint secret joins two cells of its columns, straight from its words."""
    kind = secret["secret"]
    ends = list(zip(attributes, x, y, strict=True))
    if kind == "public":
        return False
    if any(attribute.nullable and attribute.cells in (a, b) for attribute, a, b in ends):
        return bool(secret.get("missing") != "public") or (
            kind == "edges" and _joint_edge(secret, attributes, x, y)
        )
    if kind == "edges":
        return _joint_edge(secret, attributes, x, y)
    if kind == "partition":
        widths = [_span(secret["groups"][attribute.name], attribute) for attribute in attributes]
        steps = [attribute.step for attribute in attributes if isinstance(attribute, Grid)]
        return all(a * s // w == b * s // w for (_, a, b), s, w in zip(ends, steps, widths, strict=True))
    if kind == "full":
        return True
    theta, parts = exact(secret["theta"]), []
    metric, scales = secret.get("metric", "l1"), secret.get("scale", {})
    moved = [(attribute, a, b) for attribute, a, b in ends if a != b]
    if len(moved) == 1 and isinstance(
        axis := moved[0][0], Grid
    ):  # one column alone: ceil(theta / step) cells
        return (abs(moved[0][1] - moved[0][2]) - 1) * axis.step * exact(scales.get(axis.name, 1)) < theta
    for attribute, a, b in moved:
        scale, attained = exact(scales.get(attribute.name, 1)), True
        if isinstance(attribute, Grid) and attribute.kind == "integer":  # the nearest whole numbers
            gap = (abs(a - b) - 1) * attribute.step + 1
        elif isinstance(attribute, Grid):  # half-open bins: the nearest values are not reached
            gap, attained = (abs(a - b) - 1) * attribute.step, False
        else:
            assert isinstance(attribute, Values)
            places = (
                attribute.positions if attribute.numeric else tuple(map(Fraction, range(attribute.cells)))
            )
            gap = abs(places[a] - places[b])
        parts.append((gap * scale, attained))
    if metric == "linf":
        return all(part < theta or (part == theta and attained) for part, attained in parts)
    power = 2 if metric == "l2" else 1
    total = sum((part**power for part, _ in parts), Fraction(0))
    return total < theta**power or (total == theta**power and all(attained for _, attained in parts))


def _joint_edge(
    secret: Mapping[str, Any], attributes: Sequence[Attribute], x: Sequence[int], y: Sequence[int]
) -> bool:
    cells = [
        [tuple(a.cell(v) for a, v in zip(attributes, end, strict=True)) for end in pair]
        for pair in secret["pairs"]
    ]
    return any({tuple(x), tuple(y)} == set(pair) for pair in cells)


def _moves(secret: Mapping[str, Any], attribute: Attribute) -> set[tuple[int, int]]:
    """Return the ordered pairs of one column's cells that its secret joins, straight from its words."""
    pairs = set()
    for a, b in itertools.permutations(range(attribute.cells), 2):
        if _joined(secret, attribute, a, b):
            pairs.add((a, b))
    if attribute.nullable and secret["secret"] != "public" and secret.get("missing") != "public":
        missing, like = attribute.cells, secret.get("missing")
        if like in (None, "protected"):
            partners = set(range(missing))
        else:  # as if it were that value
            own = attribute.code(like)
            partners = {own} | {cell for cell in range(missing) if (own, cell) in pairs}
        pairs |= {pair for cell in partners for pair in ((cell, missing), (missing, cell))}
    return pairs


def _joined(secret: Mapping[str, Any], attribute: Attribute, a: int, b: int) -> bool:
    kind = secret["secret"]
    if kind == "threshold":
        scale = exact(secret.get("scale", {}).get(attribute.name, 1))
        return _near(attribute, min(a, b), max(a, b), _span(secret["theta"], attribute) / scale)
    if kind == "partition":
        groups = secret["groups"]
        if isinstance(groups, Mapping) and set(groups) == {"width"} and isinstance(attribute, Grid):
            width = _span(groups["width"], attribute)
            return a * attribute.step // width == b * attribute.step // width
        return any(_holds(attribute, group, a) and _holds(attribute, group, b) for group in _listed(groups))
    if kind == "edges":
        return any({attribute.code(u), attribute.code(v)} == {a, b} for u, v in secret["pairs"])
    return bool(kind == "full")


def _span(value: Any, attribute: Attribute) -> Fraction:
    return span_ns(value, "span") if attribute.kind == "datetime" else exact(value)


def _near(attribute: Attribute, a: int, b: int, theta: Fraction) -> bool:
    """Return whether some value of one cell is within theta of some value of another, a below b."""
    if isinstance(attribute, Grid):  # bins are half-open: the end of one is not reached
        return (b - a - 1) * attribute.step < theta
    assert isinstance(attribute, Values)
    apart = abs(attribute.positions[a] - attribute.positions[b]) if attribute.numeric else Fraction(b - a)
    return apart <= theta


def _listed(groups: Any) -> Iterator[Any]:
    return iter(groups.values() if isinstance(groups, Mapping) else groups)


def _holds(attribute: Attribute, group: Any, cell: int) -> bool:
    if isinstance(group, Mapping):
        low, high = (attribute.edge(group[end], closed=False) for end in ("low", "high"))
        return low <= cell < high
    return any(attribute.code(value) == cell for value in group)


def _flat(codes: Sequence[int], shape: Sequence[int]) -> int:
    flat = 0
    for code, size in zip(codes, shape, strict=True):
        flat = flat * size + code
    return flat
