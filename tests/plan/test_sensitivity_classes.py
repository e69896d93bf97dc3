"""Which filter classes edges join: the tables equal trying every record."""

import itertools
import random

import numpy as np
import pytest

from pandas_blowfish.plan.sensitivity import class_moves


def _others(graph, tally, axis):
    """Yield pairs of records of the other columns that a neighbour may hold, and how many blocks move."""
    names = tally.domain.columns
    shape = [attribute.size for attribute in tally.domain]
    blocks = [block for block in graph.blocks if names[axis] not in block.columns]
    allowed = []
    for block in blocks:
        pairs = {tuple(pair) for pair in block.graph.edges().tolist()}
        allowed.append(pairs | {pair[::-1] for pair in pairs})
    records = list(itertools.product(*(range(n) for rank, n in enumerate(shape) if rank != axis)))
    place = {name: rank for rank, name in enumerate(n for r, n in enumerate(names) if r != axis)}
    for one, two in itertools.product(records, repeat=2):
        moved, possible = 0, True
        for block, pairs in zip(blocks, allowed, strict=True):
            ends = []
            for record in (one, two):
                flat = 0
                for column in block.columns:
                    flat = flat * shape[names.index(column)] + record[place[column]]
                ends.append(flat)
            moved += ends[0] != ends[1]
            possible &= ends[0] == ends[1] or tuple(ends) in pairs
        if possible:
            yield one, two, moved


def _tables(graph, tally, axis):
    """Return between, across, across_still, leave, leave_still by trying all pairs of records."""
    counted = tally.sieve.cells().reshape([attribute.size for attribute in tally.domain])
    classes = tally.sieve.classes[axis]
    count = tally.sieve.passes.shape[axis]
    first = {kind: int(np.flatnonzero(classes == kind)[0]) for kind in range(count)}
    groups = [marks for rank, marks in enumerate(tally.marks) if rank != axis]
    tables = {key: np.zeros((count, count), dtype=bool) for key in ("between", "across", "leave")}
    still = {key: np.zeros(count, dtype=bool) for key in ("across", "leave")}
    for one, two, moved in _others(graph, tally, axis):
        line = any(mark[a] != mark[b] for mark, a, b in zip(groups, one, two, strict=True))
        for u, v in itertools.product(range(count), repeat=2):
            here = counted[(*one[:axis], first[u], *one[axis:])]
            there = counted[(*two[:axis], first[v], *two[axis:])]
            if moved + 1 <= graph.limit:
                tables["between"][u, v] |= here and there
                tables["across"][u, v] |= here and there and line
                tables["leave"][u, v] |= here and not there
            if u == v and moved <= graph.limit:
                still["across"][u] |= here and there and line
                still["leave"][u] |= here and not there
    return tables["between"], tables["across"], still["across"], tables["leave"], still["leave"]


@pytest.mark.parametrize("seed", range(60))
def test_tables_match_enumeration(seed, make_lined):
    """Every table is true exactly where some record allows the move."""
    draw = random.Random(seed)
    lined = make_lined(draw, 3)
    tally = lined.asked.tally
    axis = lined.asked.axis
    graph = lined.policy.graph.project(tally.domain.columns)
    block = next(each for each in graph.blocks if tally.domain.columns[axis] in each.columns)
    if len(block.columns) > 1:
        return

    found = class_moves(graph, tally, axis)
    slow = _tables(graph, tally, axis)

    for name, wanted in zip(("between", "across", "across_still", "leave", "leave_still"), slow, strict=True):
        assert getattr(found, name).tolist() == wanted.tolist(), name
