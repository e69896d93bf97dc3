"""The slow twin with public facts: all neighbouring tables of a tiny domain, as the definition says.

Never sees rows of a user. Nothing here uses a closed form, nor how facts are read elsewhere: every
assignment of a few individuals to cells is tried, and facts are read cell by cell from their words.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oracle.definition import definition_edges
from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.exact.arrays import Bools, Ints
from pandas_blowfish.facts.declared import Constraint, KnownCell
from pandas_blowfish.policy.attribute import Attribute, Grid
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.expression import Atom, Condition, parse
from pandas_blowfish.policy.policy import Policy

MAX_PAIRS = 10**9  # of tables that are compared
MAX_CHUNK = 4 * 10**6
MAX_CODE = 2**62


class Change(NamedTuple):
    """How the histogram differs between two neighbours, and how many records do."""

    counts: tuple[int, ...]
    moved: int


class _States(NamedTuple):
    """Where an individual can be: a cell, or absent with the public values that everyone knows.

    Attributes:
        cells: The cell of each state; one past the last for absent.
        goes: The states that agree with each state on the public columns, itself first; -1 fills up.
        joined: Which of these a secret joins it to.
        facts: Which facts count each state, facts x states.
        answers: What is known of each fact; None where it is left open.
    """

    cells: Ints
    goes: Ints
    joined: Bools
    facts: Ints
    answers: tuple[int | None, ...]


@lru_cache(maxsize=256)
def neighbours(policy: Policy, rows: int) -> tuple[Change, ...]:
    """Return how histograms of neighbouring tables of some individuals differ, each change once.

    Two tables are neighbours when both satisfy the facts with the same answers, the set T of moves along
    edges of the secret graph is not empty, and no third table that satisfies the facts has a non-empty T
    strictly inside it, or the same T and strictly fewer changes among those made. This relation is not
    symmetric: both directions are returned.

    Args:
        policy: The promise, on a few cells.
        rows: How many individuals there are; with presence each may be absent.

    Examples:
        >>> from pandas_blowfish.facts.declared import Count
        >>> from pandas_blowfish.policy.domain import integers
        >>> known = Policy(Domain((integers("x", 0, 2),)), constraints=[Count("x == 0")])
        >>> sorted({change.moved for change in neighbours(known, 2)})
        [1, 2]
    """
    states, cells = _states(policy), policy.domain.size
    options, radix = states.goes.shape[1], 2 * rows + 1
    tables = math.comb(len(states.cells) + rows - 1, rows)
    if tables * options**rows > MAX_PAIRS or radix ** (cells + 1) > MAX_CODE:
        raise DomainTooLargeError("all pairs of tables", tables * options**rows, MAX_PAIRS, fix="fewer rows.")
    weights = np.array([*(radix**place for place in range(cells)), 0], dtype=np.int64)[states.cells]
    found: set[tuple[int, int]] = set()
    for first in _tables(states, rows, max(1, MAX_CHUNK // options**rows)):
        table, *ways = np.nonzero(_adjacent(states, first))
        start = first[table]
        end = states.goes[start, np.stack(ways, axis=1)]
        change, moved = (weights[end] - weights[start]).sum(axis=1), (end != start).sum(axis=1)
        pairs = np.unique(change * (rows + 1) + np.where(change < 0, -moved, moved))
        found |= {(int(abs(pair)) // (rows + 1), int(abs(pair)) % (rows + 1)) for pair in pairs}
    changes = {Change(_digits(code, cells, rows), moved) for code, moved in found}
    return tuple(sorted(changes | {Change(tuple(-n for n in c.counts), c.moved) for c in changes}))


def true_sensitivity(policy: Policy, matrix: Any, rows: int, columns: Sequence[str] | None = None) -> int:
    """Return the largest L1 change of some linear queries between neighbours of some individuals.

    Args:
        policy: The promise, on a few cells.
        matrix: A, whole numbers, queries x cells.
        rows: How many individuals there are.
        columns: Whose cells the queries are about, in this order; all of the policy's by default.
    """
    return int(_answers(policy, matrix, rows, columns).sum(axis=1).max(initial=0))


def l1_scales(scales: Sequence[Fraction]) -> list[Fraction]:
    """Return what to divide L1 changes by: of rows whose noise sums to 0 half of each counts."""
    found = list(scales)
    for joint in getattr(scales, "joint", {}).values():
        assert [block.kind for block in joint.blocks] == ["clique"]
        for row in joint.rows.tolist():
            found[row] *= 2
    return found


def true_loss(
    policy: Policy, matrix: Any, scales: Sequence[Fraction], rows: int, columns: Sequence[str] | None = None
) -> Fraction | float:
    """Return max over neighbours of sum_j |A[j] (h2 - h1)| / b_j, exactly; see `true_sensitivity`.

    Rows of a box, which draw their noise together, count once: their largest change over its reach. Of
    transport noise at least the largest change of a row is lost: that is a bound from below.
    """
    found = _answers(policy, matrix, rows, columns)
    listed, groups = _boxes(found, scales)
    alone = [number for number, scale in enumerate(listed) if scale is not None]
    distinct = sorted({listed[number] for number in alone})
    groups += [(found[:, [n for n in alone if listed[n] == scale]].sum(axis=1), scale) for scale in distinct]
    worst: Fraction | float = Fraction(0)
    changes = np.stack([change for change, _ in groups], axis=1) if groups else np.zeros((0, 0))
    for pattern in np.unique(changes, axis=0).tolist():
        changed = [(n, b) for n, (_, b) in zip(pattern, groups, strict=True) if n]
        worst = max(worst, math.inf if not all(b for _, b in changed) else sum(n / b for n, b in changed))
    return worst


def _boxes(found: Ints, scales: Sequence[Fraction]) -> tuple[list[Any], list[tuple[Ints, Fraction]]]:
    """Return what to divide L1 changes by, None for rows of boxes, and of each box its steps and scale."""
    joints = dict(getattr(scales, "joint", {}))
    boxes = {n: each for n, each in joints.items() if not each.blocks or each.blocks[0].kind == "box"}
    listed: list[Any] = list(scales) if boxes else l1_scales(scales)
    groups = []
    for code, joint in boxes.items():
        assert len(joint.blocks) <= 1
        assert len(boxes) == len(joints)
        rows = joint.rows
        reaches = np.array(joint.blocks[0].reaches if joint.blocks else [1] * len(rows))
        groups.append(((-(-found[:, rows] // reaches)).max(axis=1, initial=0), scales.values[code]))
        for row in rows.tolist():
            listed[row] = None
    return listed, groups


def fact_cells(policy: Policy) -> tuple[Ints, tuple[int | None, ...]]:
    """Return which cells of all columns each known count holds, counts x cells, and what is known of it."""
    domain = policy.domain
    records = list(itertools.product(*(range(size) for size in domain.shape)))
    held: list[list[bool]] = []
    answers: list[int | None] = []
    for fact in policy.constraints:
        if fact.kind == "marginal":
            places = [domain.columns.index(column) for column in fact.columns]
            known = _known(fact, domain)
            for cell in itertools.product(*(range(domain[column].size) for column in fact.columns)):
                held.append([tuple(record[place] for place in places) == cell for record in records])
                answers.append(known.get(cell))
            continue
        if fact.kind == "count":
            condition = parse(fact.detail, domain, {})
            held.append([_satisfies(condition, domain, record) for record in records])
        else:
            held.append([_inside(fact, domain, record) for record in records])
        answers.append(fact.answer)
    return np.array(held, dtype=np.int64).reshape(-1, len(records)), tuple(answers)


def _satisfies(condition: Condition, domain: Domain, record: Sequence[int]) -> bool:
    if isinstance(condition, Atom):
        return bool(condition.cells[record[domain.columns.index(condition.column)]])
    parts = (_satisfies(part, domain, record) for part in condition.parts)
    return all(parts) if condition.every else any(parts)


def _inside(fact: Constraint, domain: Domain, record: Sequence[int]) -> bool:
    """Tell whether a record lies in a box; a missing value lies in none."""
    cells = [(domain[c], pair, record[domain.columns.index(c)]) for c, pair in fact.detail]
    return all(cell < axis.cells and _between(axis, pair, cell) for axis, pair, cell in cells)


def _between(axis: Attribute, pair: tuple[Any, Any], cell: int) -> bool:
    low, high = pair
    if not isinstance(axis, Grid):
        return (low is None or axis.code(low) <= cell) and (high is None or cell <= axis.code(high))
    begins, ends = axis.low + cell * axis.step, axis.low + (cell + 1) * axis.step
    if axis.kind == "integer":  # inclusive: the last whole number of the cell counts
        ends = min(ends - 1, axis.high)
    return (low is None or axis.place(low) <= begins) and (high is None or ends <= axis.place(high))


def _known(fact: Constraint, domain: Domain) -> dict[tuple[int, ...], int]:
    """Return the stated counts of a marginal by cell."""
    axes, answer = [domain[column] for column in fact.columns], fact.answer
    if answer is None:
        return {}
    if isinstance(answer[0], KnownCell):
        pairs = [([*zip(axes, each.cell, strict=True)], each.rows) for each in answer]
        return {tuple(a.cells if v is None else a.code(v) for a, v in named): many for named, many in pairs}
    cells = itertools.product(*(range(axis.size) for axis in axes))
    return dict(zip(cells, np.ravel(answer).tolist(), strict=True))


@lru_cache(maxsize=64)
def _states(policy: Policy) -> _States:
    """Return where individuals can be under a policy, and what facts count there."""
    domain = policy.domain
    facts, answers = fact_cells(policy)
    absent, edges = domain.size, {tuple(edge) for edge in definition_edges(policy, domain.columns).tolist()}
    public = [place for place, name in enumerate(domain.columns) if name in policy.public_columns]
    classes: dict[tuple[int, ...], list[int]] = {}
    for cell, record in enumerate(itertools.product(*(range(size) for size in domain.shape))):
        classes.setdefault(tuple(record[place] for place in public), []).append(cell)
    groups = [[*cells, absent] if policy.presence else cells for cells in classes.values()]
    widest, starts = max(map(len, groups)), np.cumsum([0, *map(len, groups)])
    cells = np.array([cell for group in groups for cell in group], dtype=np.int64)
    goes = np.full((len(cells), widest), -1, dtype=np.int64)
    joined = np.zeros(goes.shape, dtype=bool)
    for start, group in zip(starts, groups, strict=False):
        for place in range(len(group)):
            ends = [start + place, *(start + other for other in range(len(group)) if other != place)]
            goes[start + place, : len(ends)] = ends
            pairs = [sorted((int(cells[start + place]), int(cells[end]))) for end in ends]
            joined[start + place, : len(ends)] = [tuple(pair) in edges for pair in pairs]
    counted = np.hstack([facts, np.zeros((len(facts), 1), dtype=np.int64)])[:, cells]
    return _States(cells, goes, joined, counted, answers)


def _tables(states: _States, rows: int, chunk: int) -> Iterator[Ints]:
    """Yield tables that satisfy the facts, up to a permutation of the individuals, tables x rows."""
    given = [place for place, answer in enumerate(states.answers) if answer is not None]
    wanted = np.array([states.answers[place] for place in given], dtype=np.int64)
    listed = itertools.combinations_with_replacement(range(len(states.cells)), rows)
    while some := list(itertools.islice(listed, chunk)):
        tables = np.array(some, dtype=np.int64).reshape(len(some), rows)
        kept = tables[(states.facts[given][:, tables].sum(axis=2) == wanted[:, None]).all(axis=0)]
        if len(kept):
            yield kept


def _adjacent(states: _States, first: Ints) -> Bools:
    """Tell which tables are neighbours of each first one: an axis an individual, of where it can go.

    Place 0 of an axis is where the individual is already. A table's T is read off by putting every
    individual back who did not move along an edge; a smaller T, or fewer changes, puts more back.
    """
    rows = first.shape[1]
    edges = [_along(states.joined[first[:, i]], i, rows) for i in range(rows)]
    feasible = _feasible(states, first)
    realised = feasible  # sets T of some feasible table
    for i, edge in enumerate(edges):
        others = (realised & ~edge).any(axis=i + 1, keepdims=True)
        realised = realised & edge
        realised[_back(i)] = others
    realised[(slice(None), *(0,) * rows)] = False
    within = realised.copy()  # holds a realised T
    for i in range(rows):
        within |= within[_back(i)]
    least = realised.copy()  # holds no other realised T
    for i in range(rows):
        least[_moved(i)] &= ~within[_back(i)]
    for i, edge in enumerate(edges):
        least = np.where(edge, least, least[_back(i)])
    fewer = feasible.copy()  # stays feasible when some who did not move along an edge are put back
    for i, edge in enumerate(edges):
        fewer |= fewer[_back(i)] & ~edge
    found = feasible & least
    for i, edge in enumerate(edges):
        found[_moved(i)] &= ~(fewer[_back(i)] & ~edge[_moved(i)])
    return found


def _feasible(states: _States, first: Ints) -> Bools:
    """Tell which tables have the same answers to all facts as each first one."""
    rows, radix = first.shape[1], 2 * first.shape[1] + 1
    possible = np.array(True)
    for i in range(rows):
        possible = possible & _along((states.goes >= 0)[first[:, i]], i, rows)
    most = int(math.log(MAX_CODE, radix)) - 1  # facts whose changes fit one number
    for low in range(0, len(states.facts), most):
        part = states.facts[low : low + most]
        code = radix ** np.arange(len(part), dtype=np.int64) @ part
        moves = code[states.goes] - code[:, None]
        change = sum((_along(moves[first[:, i]], i, rows) for i in range(rows)), np.array(0))
        possible = possible & (change == 0)
    return possible


def _along(values: NDArray[Any], i: int, rows: int) -> NDArray[Any]:
    """Return tables x options as an array whose axis i + 1 is the options."""
    return values.reshape(len(values), *(1,) * i, -1, *(1,) * (rows - i - 1))


def _back(i: int) -> tuple[slice, ...]:
    return (*(slice(None),) * (i + 1), slice(0, 1))


def _moved(i: int) -> tuple[slice, ...]:
    return (*(slice(None),) * (i + 1), slice(1, None))


def _digits(code: int, cells: int, rows: int) -> tuple[int, ...]:
    """Return the digits -rows..rows of a number in base 2 rows + 1."""
    out, radix = [], 2 * rows + 1
    for _ in range(cells):
        digit = (code + rows) % radix - rows
        out.append(digit)
        code = (code - digit) // radix
    return tuple(out)


def _answers(policy: Policy, matrix: Any, rows: int, columns: Sequence[str] | None) -> Ints:
    """Return by how much each query changes between neighbours, changes x queries."""
    counts = np.array([change.counts for change in neighbours(policy, rows)], dtype=np.int64)
    names = policy.domain.columns
    tables = np.unique(counts.reshape(-1, policy.domain.size), axis=0).reshape(-1, *policy.domain.shape)
    seen = list(names if columns is None else columns)
    kept = tables.sum(axis=tuple(i + 1 for i, name in enumerate(names) if name not in seen))
    left = [name for name in names if name in seen]
    ordered = kept.transpose(0, *(left.index(name) + 1 for name in seen))
    dense = matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)
    flat: Ints = ordered.reshape(len(tables), dense.shape[1])
    return np.abs(flat @ dense.T.astype(np.int64))
