"""The policy's edges by definition: all where they are few, else some that are drawn. Never sees rows.

`kernel/check.py` relies on these edges: an auditor reads this file, `moves.py` and the check together. It is
written independently of the graphs that plans are made with (`secret_graph`, `ball`, `offsets`, `cubes`,
`missing`, `joint`, `records`) and must stay so: what those get wrong is found here. Shared with them is how a
secret is read: the groups of a partition (`partition.group_cells`), the threshold of an error (`margin`) and
the cell of a value (`attribute.cell_of`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.exact.instant import span_ns
from pandas_blowfish.exact.number import exact
from pandas_blowfish.policy.attribute import Attribute, Grid, Unbounded, Values, cell_of
from pandas_blowfish.policy.cells import NO_VALUE, Cells
from pandas_blowfish.policy.graph.moves import (
    FAR,
    Groups,
    Listed,
    Mask,
    Missing,
    Moves,
    Nothing,
    Offsets,
    Random,
    Window,
)
from pandas_blowfish.policy.graph.partition import group_cells, plain_groups
from pandas_blowfish.policy.margin import RELATIVE, as_threshold, c_of
from pandas_blowfish.policy.policy import Policy

FEW = 200_000  # edges up to which every one is tried
LOGARITHM = 600  # the largest logarithm of a number that is drawn: floats reach 709
MAX_CELLS = 2 * 10**6  # cells up to which edges of several blocks are listed


@dataclass(frozen=True, eq=False)
class Listing:
    """All cells of some columns, and both ends of every edge by their numbers; "absent" comes last."""

    cells: Cells
    start: Ints
    end: Ints


@dataclass(frozen=True, eq=False)
class Edges:
    """Pairs of records that one neighbour may exchange, seen on some columns.

    Attributes:
        blocks: The columns of each block, and its moves.
        limit: How many blocks may move at once.
        presence: Whether a record may also come or go.
        far: How far from 0 the numbers of columns without bounds are drawn.
    """

    blocks: tuple[tuple[tuple[str, ...], Moves], ...]
    limit: int
    presence: bool
    far: Mapping[str, int]

    @cached_property
    def count(self) -> int | None:
        """Return how many there are; None where they are not counted."""
        ways = [1] + [0] * min(self.limit, len(self.blocks))  # ways[m]: ordered pairs that differ in m blocks
        for _, moves in self.blocks:
            if moves.count == 0 and moves.cells is None:
                continue  # a public column without bounds: as many times the same
            if moves.count is None or moves.cells is None:
                return None
            each = 2 * moves.count
            ways = [many * moves.cells + (ways[m - 1] * each if m else 0) for m, many in enumerate(ways)]
        return sum(ways[1:]) // 2 + (ways[0] if self.presence else 0)

    @cached_property
    def few(self) -> bool:
        """Return whether every edge can be tried."""
        count = self.count
        if count is None or count > FEW or any(moves.cells is None for _, moves in self.blocks):
            return False
        cells = self.cells or 0
        moving = sum(bool(moves.count) for _, moves in self.blocks)
        return cells <= MAX_CELLS or (moving <= 1 and not self.presence)

    @property
    def cells(self) -> int | None:
        """Return how many cells the columns have together; None without bounds."""
        each = [moves.cells for _, moves in self.blocks]
        return None if None in each else math.prod(many for many in each if many is not None)

    def every(self) -> tuple[Cells, Cells]:
        """Return both ends of every edge, each once."""
        return self._every

    @cached_property
    def _every(self) -> tuple[Cells, Cells]:
        moving = [moves for _, moves in self.blocks if moves.count]
        if len(moving) <= 1:
            start, end = self._of_one(moving[0] if moving else None)
        else:
            start, end = self._of_several()
        if self.presence:
            cells = self.listed_cells
            absent = Cells(cells.codes, np.ones(len(cells), dtype=bool))
            start, end = start.concat(cells), end.concat(absent)
        return start, end

    def _of_one(self, moving: Moves | None) -> tuple[Cells, Cells]:
        """Return the edges where one block alone moves: its pairs, at every cell of the others."""
        ends: list[dict[str, Ints]] = [{}, {}]
        size = int(moving is not None)
        for columns, moves in self.blocks:
            own = moves.every() if moves is moving else (moves.list_cells(),) * 2 if size else None
            many = 0 if own is None else len(own[0])
            for side, codes in enumerate(ends):
                codes.update({name: np.repeat(each, many) for name, each in codes.items()})
                for rank, column in enumerate(columns):
                    part = np.empty(0, dtype=np.int64) if own is None else own[side][:, rank]
                    codes[column] = np.tile(part, size)
            size *= many
        return Cells.present(ends[0], size), Cells.present(ends[1], size)

    def _of_several(self) -> tuple[Cells, Cells]:
        """Return the edges of a product: each block stays or moves, as many as may."""
        ends: list[dict[str, Ints]] = [{}, {}]
        moved = np.zeros(1, dtype=np.int64)
        for columns, moves in self.blocks:
            stay, (one, two) = moves.list_cells(), moves.every()
            own = [np.concatenate([stay, one, two]), np.concatenate([stay, two, one])]
            moved = (moved[:, None] + (np.arange(len(own[0])) >= len(stay))).ravel()
            kept = moved <= self.limit
            moved = moved[kept]
            for side, codes in enumerate(ends):
                before = len(next(iter(codes.values()))) if codes else 1
                wide = {name: np.repeat(each, len(own[side]))[kept] for name, each in codes.items()}
                more = {c: np.tile(own[side][:, rank], before)[kept] for rank, c in enumerate(columns)}
                codes.update(wide | more)
        once = np.zeros(len(moved), dtype=bool)
        same = np.ones(len(moved), dtype=bool)
        for name, start in ends[0].items():
            once |= same & (start < ends[1][name])
            same &= start == ends[1][name]
        both = [{name: codes[once] for name, codes in side.items()} for side in ends]
        return Cells.present(both[0], int(once.sum())), Cells.present(both[1], int(once.sum()))

    @cached_property
    def listed(self) -> Listing:
        """Return every cell, and every edge by the numbers of its ends."""
        cells = self.listed_cells
        return Listing(cells, *(self._numbers(ends, len(cells)) for ends in self.every()))

    def _numbers(self, cells: Cells, many: int) -> Ints:
        flat = np.zeros(len(cells), dtype=np.int64)
        for columns, moves in self.blocks:
            for column, size in zip(columns, moves.sizes, strict=True):
                assert size is not None
                flat = flat * size + cells.codes[column]
        return np.where(cells.absent, many, flat)

    @cached_property
    def listed_cells(self) -> Cells:
        """Return every cell of all blocks."""
        codes: dict[str, Ints] = {}
        size = 1
        for columns, moves in self.blocks:
            own = moves.list_cells()
            codes = {name: np.repeat(each, len(own)) for name, each in codes.items()}
            codes |= {column: np.tile(own[:, rank], size) for rank, column in enumerate(columns)}
            size *= len(own)
        return Cells.present(codes, size)

    def draw(self, random: Random, start: Cells) -> tuple[Cells, Cells]:
        """Return edges that begin at some of the given cells, all blocks moving as often as some of them."""
        many = len(start)
        rank = np.argsort(random.random((len(self.blocks), many)), axis=0)  # in which order blocks move
        most = np.minimum(self.limit, len(self.blocks))
        several = np.where(random.random(many) < 0.5, most, random.integers(1, most + 1, many)) if most else 0
        codes, changed = dict(start.codes), np.zeros(many, dtype=bool)
        for number, (columns, moves) in enumerate(self.blocks):
            rows = np.flatnonzero(rank[number] < several)
            if not len(rows) or moves.count == 0:
                continue
            own = np.column_stack([codes[column][rows] for column in columns])
            there = moves.draw(random, own)
            changed[rows] |= (own != there).any(axis=1)
            for place, column in enumerate(columns):
                codes[column] = codes[column].copy()
                codes[column][rows] = self._within(column, there[:, place])
        absent = random.random(many) < 0.2 if self.presence else np.zeros(many, dtype=bool)
        kept = np.flatnonzero(changed | absent)
        return start.take(kept), Cells(codes, absent).take(kept)

    def _within(self, column: str, codes: Ints) -> Ints:
        """Return codes no further from 0 than numbers are drawn; nearer ones are joined as well."""
        if column not in self.far:
            return codes
        return np.where(codes == NO_VALUE, codes, np.clip(codes, -self.far[column], self.far[column]))


def drawn_within(columns: Iterable[Attribute]) -> dict[str, int]:
    """Return how far from 0 numbers of each column without bounds are drawn: where floats differ."""
    endless = [attribute for attribute in columns if isinstance(attribute, Unbounded)]
    return {a.name: _farthest(a) for a in endless}


def _farthest(attribute: Unbounded) -> int:
    """Return how many steps from 0 numbers are drawn: where whole numbers and instants are exact."""
    if attribute.log:
        return int(LOGARITHM / attribute.step)
    most = {"integer": 2**52, "datetime": 2**62}.get(attribute.kind)
    return FAR if most is None else min(FAR, max(int(most / attribute.step), 1))


@lru_cache(maxsize=32)
def edges_of(policy: Policy, columns: tuple[str, ...]) -> Edges:
    """Return the edges that a query on some columns sees, from the words of the policy."""
    blocks = []
    for block, secret in policy.secrets.items():
        if seen := tuple(column for column in columns if column in block):
            own = [policy.domain[column] for column in block]
            blocks.append((seen, _moves(secret, own, [policy.domain[column] for column in seen])))
    most = {"record": len(policy.secrets), "attribute": 1}.get(str(policy.neighbors))
    limit, far = (
        int(policy.neighbors) if most is None else most,
        drawn_within(policy.domain[column] for column in columns),
    )
    return Edges(tuple(blocks), limit, policy.presence, far)


@lru_cache(maxsize=32)
def closure_of(policy: Policy, columns: tuple[str, ...]) -> Edges:
    """Return all pairs of cells that agree on the public columns, to or from "absent" with presence."""
    public, blocks = policy.public_columns, []
    for column in columns:
        attribute = policy.domain[column]
        sizes = (attribute.size if attribute.bounded else None,)
        moves: Moves = Nothing(sizes) if column in public else Groups([None], sizes)
        blocks.append(((column,), moves))
    return Edges(
        tuple(blocks), len(blocks), policy.presence, drawn_within(policy.domain[column] for column in columns)
    )


def _moves(secret: Mapping[str, Any], block: Sequence[Attribute], seen: Sequence[Attribute]) -> Moves:
    """Return the moves of a block as its secret states them, seen on some of its columns.

    What is not seen may stay where it is, which is the shortest way to move the rest. A missing value is
    joined to every cell of its block, so an unseen one leads from every seen cell to every other; or it is
    joined to what a stated value is joined to, and to that.
    """
    kind = secret["secret"]
    stated = secret.get("missing")
    hidden = kind != "public" and stated in (None, "protected")
    sizes = [a.size if a.bounded else None for a in seen]
    if kind == "public":
        return Nothing(sizes)
    if hidden and any(a.nullable for a in block if a not in seen):
        return Groups([None] * len(seen), sizes)
    if kind == "edges" and stated == "public":  # its pairs may name missing cells
        return Listed([a.size for a in seen], _pairs(secret, block, seen, [a.size for a in seen]))
    inner = _solid(secret, block, seen)
    if not any(a.nullable for a in seen):
        return inner
    like = None if hidden or stated == "public" else cell_of(seen[0], stated)  # the secret of one column
    return Missing(inner, [a.nullable for a in seen], hidden, like)


def _solid(secret: Mapping[str, Any], block: Sequence[Attribute], seen: Sequence[Attribute]) -> Moves:
    """Return the moves between cells in which nothing is missing."""
    sizes = [a.cells if a.bounded else None for a in seen]
    stated = as_threshold(secret, block[0]) if len(block) == 1 else secret
    kind = stated["secret"]
    if kind == "full":
        return Groups([None] * len(seen), sizes)
    if kind == "partition":
        groups = stated["groups"]
        return Groups([_groups(groups if len(block) == 1 else groups[a.name], a) for a in seen], sizes)
    if kind == "edges":
        kept = _pairs(stated, block, seen, [a.size for a in seen])
        shape = tuple(a.size for a in seen)
        codes = np.array(np.unravel_index(kept, shape)).reshape(len(seen), -1, 2)
        solid = (codes < np.array([a.cells for a in seen]).reshape(-1, 1, 1)).all(axis=(0, 2))
        flat = np.ravel_multi_index(tuple(codes[:, solid]), [a.cells for a in seen])
        return Listed([a.cells for a in seen], np.asarray(flat, dtype=np.int64))
    if len(block) == 1:
        return _ratio(stated, seen[0]) if kind == RELATIVE else _near(stated, seen[0])
    return _ball(stated, block, seen)


def _groups(groups: Any, attribute: Attribute) -> Ints | int | None:
    """Return the group of each cell, or how many cells each run is long."""
    plain = plain_groups(groups)
    if isinstance(plain, Mapping) and set(plain) == {"width"} and isinstance(attribute, Grid):
        width = plain["width"]
        span = span_ns(width, "width") if attribute.kind == "datetime" else exact(width)
        return int(span / attribute.step)
    return group_cells(plain, attribute)


def _pairs(
    secret: Mapping[str, Any], block: Sequence[Attribute], seen: Sequence[Attribute], shape: Sequence[int]
) -> Ints:
    """Return the listed pairs as numbers of seen cells."""
    names = [attribute.name for attribute in block]
    found = []
    for pair in secret["pairs"]:
        ends = []
        for values in pair:
            listed = [values] if len(block) == 1 else list(values)
            codes = [a.cell(listed[names.index(a.name)]) for a in seen]
            ends.append(int(np.ravel_multi_index(codes, shape)))
        found.append(ends)
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def _near(secret: Mapping[str, Any], attribute: Attribute) -> Moves:
    """Return the cells of one column some of whose values are within theta."""
    theta = span_ns(secret["theta"], "theta") if attribute.kind == "datetime" else exact(secret["theta"])
    theta /= exact((secret.get("scale") or {}).get(attribute.name, 1))
    if isinstance(attribute, (Grid, Unbounded)):  # bins are half-open: the end of one is not reached
        size = attribute.cells if isinstance(attribute, Grid) else None
        width = math.ceil(theta / attribute.step)
        last = None if size is None else size - 1
        return Window(size, lambda at: (_clip(at - width, last), _clip(at + width, last)), width=width)
    assert isinstance(attribute, Values)
    places = attribute.positions if attribute.numeric else tuple(map(Fraction, range(attribute.cells)))
    return _ranked(places, lambda low, high: high - low <= theta)


def _ranked(places: Sequence[Fraction], joined: Any) -> Window:
    """Return the windows of listed numbers, of which nearer ones are joined wherever further ones are."""
    order = sorted(range(len(places)), key=places.__getitem__)
    line = [places[place] for place in order]
    low, first = 0, []
    for place in line:
        while not joined(line[low], place):
            low += 1
        first.append(low)
    begin = np.array(first, dtype=np.int64)
    ends = begin, np.searchsorted(begin, np.arange(len(line)), "right") - 1
    return Window(len(line), lambda at: (ends[0][at], ends[1][at]), np.array(order, dtype=np.int64))


def _ratio(secret: Mapping[str, Any], attribute: Attribute) -> Moves:
    """Return the cells of one column some of whose numbers are within a factor c^-4."""
    ratio = c_of(secret, attribute.name) ** -4
    if isinstance(attribute, Values):
        return _ranked(attribute.positions, lambda low, high: high <= low * ratio)
    assert isinstance(attribute, Grid)
    low, step, whole, last = attribute.low, attribute.step, attribute.kind == "integer", attribute.cells - 1

    def window(at: Ints) -> tuple[Ints, Ints]:
        highest, lowest = [], []
        for cell in at.tolist():
            end = min(low + (cell + 1) * step - whole, attribute.high)  # of half-open cells not reached
            far = (end * ratio - low) / step
            highest.append(max(cell, min(far.__floor__() - (not whole and far.denominator == 1), last)))
            near = (low + cell * step) / ratio  # the least end that reaches this cell
            back = (near + whole - low) / step - 1
            lowest.append(min(cell, max(back.__ceil__() + (not whole and back.denominator == 1), 0)))
        return np.array(lowest, dtype=np.int64), np.array(highest, dtype=np.int64)

    return Window(attribute.cells, window)


def _ball(secret: Mapping[str, Any], block: Sequence[Attribute], seen: Sequence[Attribute]) -> Moves:
    """Return the cells of several columns some of whose values are within theta together."""
    times = all(attribute.kind == "datetime" for attribute in block)
    theta = span_ns(secret["theta"], "theta") if times else exact(secret["theta"])
    metric, scales = secret.get("metric", "l1"), secret.get("scale") or {}
    weights = [exact(scales.get(attribute.name, 1)) for attribute in seen]
    if all(isinstance(attribute, Grid) for attribute in seen):
        steps = [(a.step * w, w, a.kind == "integer") for a, w in zip(seen, weights, strict=True)]  # type: ignore[attr-defined]
        reach = [math.ceil(theta / each) for each, _, _ in steps]
        unit = math.lcm(theta.denominator, *(part.denominator for each in steps for part in each[:2]))

        def is_allowed(far: Ints) -> Mask:
            return _within(
                far, [(int(s * unit), int(w * unit), i) for s, w, i in steps], int(theta * unit), metric
            )

        return Offsets([a.cells for a in seen], reach, is_allowed)
    shape = [a.cells for a in seen]
    cells = np.column_stack(np.unravel_index(np.arange(math.prod(shape)), shape))
    low, high = np.triu_indices(len(cells), 1)
    one, two = cells[low], cells[high]
    gaps = [_gaps(attribute, weight) for attribute, weight in zip(seen, weights, strict=True)]
    unit = math.lcm(theta.denominator, *(gap.denominator for table in gaps for row in table for gap in row))
    parts, attained = [], []
    for axis, (attribute, table) in enumerate(zip(seen, gaps, strict=True)):
        parts.append(_whole([[int(gap * unit) for gap in row] for row in table])[one[:, axis], two[:, axis]])
        half = isinstance(attribute, Grid) and attribute.kind != "integer"  # bins that do not reach their end
        attained.append(one[:, axis] == two[:, axis] if half else np.full(len(one), True))
    joined = _below(parts, attained, int(theta * unit), metric)
    alone = (one != two).sum(axis=1) == 1
    for axis, (attribute, weight) in enumerate(zip(seen, weights, strict=True)):
        if isinstance(attribute, Grid):  # one evenly cut column alone reaches ceil(theta / step) cells
            far = np.abs(one[:, axis] - two[:, axis])
            joined = np.where(alone & (far > 0), far <= math.ceil(theta / (attribute.step * weight)), joined)
    return Listed(shape, np.column_stack([low, high])[np.asarray(joined, dtype=bool)])


def _within(far: Ints, steps: Sequence[tuple[int, int, bool]], theta: int, metric: str) -> Mask:
    """Tell which differences of evenly cut cells are within theta: of their nearest values."""
    parts, attained = [], []
    for axis, (step, one, whole) in enumerate(steps):
        gap = np.maximum(far[:, axis] - 1, 0).astype(object) * step
        parts.append(gap + np.where(far[:, axis] > 0, one, 0) if whole else gap)
        attained.append(np.full(len(far), True) if whole else far[:, axis] == 0)
    found = _below(parts, attained, theta, metric)
    alone = (far > 0).sum(axis=1) == 1
    for axis, (step, _, _) in enumerate(steps):
        own = (far[:, axis].astype(object) - 1) * step < theta
        found = np.where(alone & (far[:, axis] > 0), own.astype(bool), found)
    return np.asarray(found & far.any(axis=1), dtype=bool)


def _below(parts: Sequence[Any], attained: Sequence[Mask], theta: int, metric: str) -> Mask:
    """Tell which distances made of parts are at most theta, below it where no two values attain them."""
    if metric == "linf":
        near = [(p < theta) | ((p == theta) & a) for p, a in zip(parts, attained, strict=True)]
        return np.asarray(np.logical_and.reduce([np.asarray(each, dtype=bool) for each in near]))
    power = 2 if metric == "l2" else 1
    total = sum(part**power for part in parts)
    reached = np.logical_and.reduce(list(attained)) & np.asarray(total == theta**power, dtype=bool)
    return np.asarray(np.asarray(total < theta**power, dtype=bool) | reached)


def _gaps(attribute: Attribute, weight: Fraction) -> list[list[Fraction]]:
    """Return the least distance between values of every two cells of a column."""
    if isinstance(attribute, Grid):
        whole = attribute.kind == "integer"
        each = [(max(d - 1, 0) * attribute.step + (whole and d > 0)) * weight for d in range(attribute.cells)]
        return [[each[abs(a - b)] for b in range(attribute.cells)] for a in range(attribute.cells)]
    assert isinstance(attribute, Values)
    places = attribute.positions if attribute.numeric else tuple(map(Fraction, range(attribute.cells)))
    return [[abs(a - b) * weight for b in places] for a in places]


def _whole(table: list[list[int]]) -> Any:
    """Return whole numbers as an array whose squares add up without wrapping."""
    large = max(map(max, table), default=0) >= 2**30
    return np.array(table, dtype=object if large else np.int64)


def _clip(codes: Ints, last: int | None) -> Ints:
    return codes if last is None else np.clip(codes, 0, last)
