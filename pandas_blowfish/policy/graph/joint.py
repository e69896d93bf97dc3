"""Secrets shared by several columns: balls, grid partitions and edges over their joint cells.

Never sees rows. A ball over evenly cut columns is kept as its longest offsets, so that a grid of
millions of cells needs no edge list; whole numbers are exact values, other bins half-open.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.errors import ArgumentError, DeclaredValueError, DomainTooLargeError, SecretError
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.exact.instant import span_ns
from pandas_blowfish.exact.number import exact
from pandas_blowfish.exact.pareto import MAX_FRONT, MAX_PROFILE, metric_front
from pandas_blowfish.policy.attribute import Attribute, Grid, Values
from pandas_blowfish.policy.graph.cubes import Cubes
from pandas_blowfish.policy.graph.missing import WithMissing
from pandas_blowfish.policy.graph.offsets import OffsetBall
from pandas_blowfish.policy.graph.partition import group_cells, plain_groups
from pandas_blowfish.policy.graph.secret_graph import Cliques, Explicit, SecretGraph
from pandas_blowfish.policy.secret import joins_all

MAX_JOINT = 10**8  # joint cells of a block
MAX_PAIRS = 4 * 10**6  # pairs of joint cells that may be compared one by one


def build_joint(
    secret: Mapping[str, Any], attributes: Sequence[Attribute], seen: Sequence[Attribute]
) -> SecretGraph:
    """Return the graph a joint secret puts on the cells of the columns that are seen.

    Args:
        secret: The plain secret of the whole block.
        attributes: All columns of the block, in the order it was stated.
        seen: Those a query looks at, in the order it does.

    Proof note:
        Requires: one row moves along one edge of the block's graph on all its columns.
        Ensures:  two cells of the seen columns are joined exactly when some edge of the block has them
                  as its projections, unless they are equal.
        Because:  leaving the unseen columns where they are is the shortest way to move the seen ones, so
                  balls and grid groups project to balls and groups of the seen columns; edges are
                  projected one by one. A missing cell is joined to every cell of its block, so an unseen
                  column that may be missing leads from every seen cell to every other.
        Checked:  tests/policy/graph/test_joint.py::test_projection_matches_definition
    """
    name, kind = ", ".join(attribute.name for attribute in attributes), secret["secret"]
    _check(secret, attributes, name)
    size, solid = (math.prod(each) for each in ([a.size for a in seen], [a.cells for a in seen]))
    secretive = joins_all(secret)
    if size > MAX_JOINT:
        raise DomainTooLargeError(f"the block ({name})", size, MAX_JOINT, fix="declare wider steps.")
    if secretive and any(a.nullable for a in attributes if a not in seen):
        return Cliques.full(size)  # through the unseen missing cell
    if kind == "public":
        return Cliques.none(size)
    if kind == "full" and (secretive or solid == size):
        return Cliques.full(size)
    if kind == "edges" and not secretive:  # its pairs may name missing cells
        return Explicit(size, _edges(secret, attributes, seen, name))
    graph = _solid(secret, attributes, seen, name)
    if solid == size:
        return graph
    return WithMissing(graph, [a.cells for a in seen], [a.nullable for a in seen], joined=secretive)


def _solid(
    secret: Mapping[str, Any], attributes: Sequence[Attribute], seen: Sequence[Attribute], name: str
) -> SecretGraph:
    """Return the graph of the joint cells in which nothing is missing."""
    kind, shape = secret["secret"], [a.cells for a in seen]
    size = math.prod(shape)
    if kind == "full":
        return Cliques.full(size)
    if kind == "partition":
        return Cubes([_own_groups(secret["groups"][attribute.name], attribute) for attribute in seen])
    if kind == "edges":
        codes = np.array(np.unravel_index(_edges(secret, attributes, seen, name).T, [a.size for a in seen]))
        kept = (codes < np.array(shape).reshape(-1, 1, 1)).all(axis=(0, 1))
        return Explicit(size, np.asarray(np.ravel_multi_index(codes[:, :, kept], shape), dtype=np.int64).T)
    if all(isinstance(attribute, Grid) for attribute in seen):
        return _ball(secret, attributes, seen, name)
    if size * (size - 1) // 2 > MAX_PAIRS:
        fix = "use evenly cut columns, or wider steps."
        raise DomainTooLargeError(f"the pairs of block ({name})", size * (size - 1) // 2, MAX_PAIRS, fix=fix)
    return Explicit(size, _compared(secret, attributes, seen, name))


def theta_of(secret: Mapping[str, Any], attributes: Sequence[Attribute], name: str) -> Fraction:
    """Return the distance of a joint threshold: a span when all columns of the block are datetimes."""
    times = all(attribute.kind == "datetime" for attribute in attributes)
    try:
        theta = span_ns(secret["theta"], "theta") if times else exact(secret["theta"], "theta")
    except (KeyError, ArgumentError) as error:
        problem = f"theta cannot be read ({error})"
        raise SecretError(name, problem, fix="give one distance for the block.") from None
    if theta <= 0:
        raise SecretError(name, "the distance is not positive", fix="bf.public() protects no pair.")
    return theta


def scale_of(secret: Mapping[str, Any], attribute: Attribute, name: str) -> Fraction:
    """Return what one unit of a column (a nanosecond of a datetime) is worth in the distance."""
    try:
        scale = exact((secret.get("scale") or {}).get(attribute.name, 1), "scale")
    except (ArgumentError, AttributeError) as error:
        raise SecretError(name, f"scale cannot be read ({error})", fix="scale={column: units, ...}") from None
    if scale <= 0:
        raise SecretError(name, "a scale is not positive", fix="scale={column: units, ...}")
    return scale


def within(metric: str, parts: Sequence[Any], attained: Sequence[Any], limit: int) -> NDArray[np.bool_]:
    """Tell which distances, made of parts, are within a limit.

    A least distance that no two values attain must lie below the limit: for the largest part that
    concerns each part by itself, for sums the whole.
    """
    if metric == "linf":
        near = [(p < limit) | ((p == limit) & a) for p, a in zip(parts, attained, strict=True)]
        return np.asarray(np.logical_and.reduce(near), dtype=bool)
    power = 2 if metric == "l2" else 1
    total, edge = sum(part**power for part in parts), limit**power
    reached = np.logical_and.reduce(list(attained)) & np.asarray(total == edge, dtype=bool)
    return np.asarray((total < edge) | reached, dtype=bool)


def gaps(attribute: Attribute, a: int, b: int) -> tuple[Fraction, bool]:
    """Return the least distance between values of two cells, and whether it is attained."""
    if isinstance(attribute, Grid):  # bins of whole numbers are closed, others half-open
        whole = attribute.kind == "integer"
        return (max(abs(a - b) - 1, 0) * attribute.step + (whole and a != b)), whole or a == b
    if isinstance(attribute, Values) and attribute.numeric:
        return abs(attribute.positions[a] - attribute.positions[b]), True
    return Fraction(abs(a - b)), True


def _check(secret: Mapping[str, Any], attributes: Sequence[Attribute], name: str) -> None:
    """Refuse a joint secret that its columns cannot share, or that names others."""
    columns = [attribute.name for attribute in attributes]
    for key in ("scale", "groups"):
        stated = secret.get(key) or {}
        if not isinstance(stated, Mapping) or ("width" in stated and "width" not in columns):
            raise SecretError(name, f"{key} not by column", fix=f"{key} by column: {{{columns[0]!r}: ...}}")
        if strange := [column for column in stated if column not in columns]:
            raise SecretError(
                name, f"{key} of {strange[0]!r}, not in this secret", fix="name its own columns."
            )
    if secret["secret"] == "partition" and set(secret.get("groups") or ()) != set(columns):
        raise SecretError(name, "a column has no groups", fix="give groups, or a width, for each column.")
    if secret["secret"] == "threshold":
        theta_of(secret, attributes, name)
        for attribute in attributes:
            scale_of(secret, attribute, name)
            if isinstance(attribute, Values) and not (attribute.numeric or attribute.ordered):
                fix = "declare it as an ordered category, or use another secret."
                raise SecretError(name, f"the values of {attribute.name!r} have no distances", fix=fix)


def _ball(
    secret: Mapping[str, Any], attributes: Sequence[Attribute], seen: Sequence[Attribute], name: str
) -> OffsetBall:
    """Return the ball over evenly cut columns."""
    theta, metric = theta_of(secret, attributes, name), secret.get("metric", "l1")
    widths = [
        attribute.step * scale_of(secret, attribute, name)
        for attribute in seen
        if isinstance(attribute, Grid)
    ]
    ones = [scale_of(secret, a, name) if a.kind == "integer" else Fraction(0) for a in seen]
    unit = math.lcm(theta.denominator, *(part.denominator for part in [*widths, *ones]))
    limit, steps, starts = (
        int(theta * unit),
        *([int(part * unit) for part in each] for each in (widths, ones)),
    )
    # one column alone reaches ceil(theta / step)
    reach = [min((limit - 1) // step + 1, a.cells - 1) for step, a in zip(steps, seen, strict=True)]
    what, fix = f"the ball of ({name})", "declare wider steps."
    if (ways := math.prod(most + 1 for most in reach) // (max(reach) + 1)) > MAX_PROFILE:
        raise DomainTooLargeError(what, ways, MAX_PROFILE, fix=fix)
    ball = OffsetBall([a.cells for a in seen], metric_front(metric, limit, steps, starts, reach, what))
    if len(ball.front) > MAX_FRONT:
        raise DomainTooLargeError(what, len(ball.front), MAX_FRONT, fix=fix)
    return ball


def _own_groups(stated: Any, attribute: Attribute) -> Ints:
    """Return the group of each of one column's cells: from its groups, or the width of even ones."""
    return group_cells(plain_groups(stated), attribute)


def _compared(
    secret: Mapping[str, Any], attributes: Sequence[Attribute], seen: Sequence[Attribute], name: str
) -> Ints:
    """Return the pairs of joint cells that a threshold joins, by the distances of their values."""
    theta, metric = theta_of(secret, attributes, name), secret.get("metric", "l1")
    shape, scales = [a.cells for a in seen], [scale_of(secret, a, name) for a in seen]
    found = [[[gaps(a, i, j) for j in range(a.cells)] for i in range(a.cells)] for a in seen]
    spread = [[[gap * w for gap, _ in row] for row in table] for table, w in zip(found, scales, strict=True)]
    unit = math.lcm(theta.denominator, *(gap.denominator for table in spread for row in table for gap in row))
    codes = np.unravel_index(np.arange(math.prod(shape)), shape)
    parts, attained = [], []
    for table, gap_table, code in zip(spread, found, codes, strict=True):
        at = np.ix_(code, code)
        parts.append(np.array([[int(gap * unit) for gap in row] for row in table], dtype=object)[at])
        attained.append(np.array([[reached for _, reached in row] for row in gap_table])[at])
    joined = within(metric, parts, attained, int(theta * unit))
    moved = [code[:, None] != code[None, :] for code in codes]
    alone = sum(each.astype(int) for each in moved) == 1
    for attribute, scale, code, moves in zip(seen, scales, codes, moved, strict=True):
        if isinstance(attribute, Grid):  # one evenly cut column alone reaches ceil(theta / step) cells
            reach = math.ceil(theta / (attribute.step * scale))
            joined = np.where(alone & moves, abs(code[:, None] - code[None, :]) <= reach, joined)
    return np.column_stack(np.nonzero(np.triu(joined, 1)))


def _edges(
    secret: Mapping[str, Any], attributes: Sequence[Attribute], seen: Sequence[Attribute], name: str
) -> Ints:
    """Return listed pairs of joint values as pairs of seen cells."""
    place = {attribute.name: rank for rank, attribute in enumerate(attributes)}
    out = []
    try:
        for pair in secret["pairs"]:
            ends = []
            for values in pair:
                if isinstance(values, str) or len(values) != len(attributes):
                    raise SecretError(
                        name, "an edge's end has not one value per column", fix="list tuples of values."
                    )
                flat = 0
                for attribute in seen:
                    flat = flat * attribute.size + attribute.cell(values[place[attribute.name]])
                ends.append(flat)
            out.append((ends[0], ends[1]))
    except (DeclaredValueError, KeyError, TypeError) as error:
        raise SecretError(
            name, f"an edge cannot be read ({error})", fix="pairs of tuples of declared values."
        ) from None
    return np.array([(a, b) for a, b in out if a != b], dtype=np.int64).reshape(-1, 2)
