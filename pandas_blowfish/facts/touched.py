"""Whether an edge of the policy changes a known count. Never sees rows."""

from __future__ import annotations

import numpy as np

from pandas_blowfish.facts.fact import Fact
from pandas_blowfish.policy.expression import signatures, truth
from pandas_blowfish.policy.graph.records import RecordGraph, block_moves

MAX_CLASSES = 3_000  # combinations of classes whose pairs are gone through


def touches(graph: RecordGraph, fact: Fact) -> bool:
    """Return whether some edge lifts or lowers a known count.

    Args:
        graph: The secret graph of whole records.
        fact: The fact.

    Proof note:
        Requires: nothing.
        Ensures:  False only if the fact's counts are the same in all tables that differ by one edge.
        Because:  with presence a row that is counted may be absent. Else a marginal changes with any edge
                  of the graph projected on its columns, and a count with an edge between cells of which
                  one is counted: cells that no comparison distinguishes are one class, and which classes an
                  edge joins follows from each block's own table.
        Checked:  tests/facts/test_touched.py::test_touches_matches_enumeration
    """
    seen = graph.project(fact.columns)
    if fact.condition is None:
        return graph.presence or any(block.graph.edge_count > 0 for block in seen.blocks)
    columns = [column for block in seen.blocks for column in block.columns]
    sizes = dict(zip(seen.columns, seen.shape, strict=True))
    classes = {column: signatures(fact.condition, column, sizes[column]) for column in columns}
    counted = truth(fact.condition, columns, [classes[column] for column in columns]).ravel()
    if not counted.any():
        return False
    if graph.presence or len(counted) > MAX_CLASSES:
        return True
    marks = {column: np.zeros(sizes[column], dtype=np.int64) for column in columns}
    joined = block_moves(seen.blocks, classes, marks).within(seen.limit)
    return bool((joined & (counted[:, None] ^ counted[None, :])).any())
