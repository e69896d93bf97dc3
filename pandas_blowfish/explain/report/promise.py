"""What a policy promises, in pairs of values that a reader knows, and how far odds can change.

Never sees rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from pandas_blowfish.errors import BlowfishError
from pandas_blowfish.markup import one_line
from pandas_blowfish.policy.describe import LONG, value_at
from pandas_blowfish.policy.graph.records import Block
from pandas_blowfish.policy.odds import Odds
from pandas_blowfish.policy.policy import Policy

COLUMNS = 24  # secrets of which pairs are shown
SEARCHED = 200_000  # cells up to which a graph is searched for pairs
Record = dict[str, Any]


@dataclass(frozen=True)
class Example:
    """Two values of one secret, and what releases may reveal about which it is.

    Attributes:
        column: The columns of the secret, in words.
        pair: What the two are: a nearest pair, the ends, ...
        whole: The odds once all of the budget is spent.
        now: The odds after what is spent so far; None where that is nothing.
    """

    column: str
    pair: str
    whole: Odds
    now: Odds | None


def examples(policy: Policy, total: Fraction, spent: Fraction) -> list[Example]:
    """Return typical pairs of each secret: a nearest one, far ones, another group, missing, absent."""
    found: list[Example] = []
    for block in list(policy.graph.blocks)[:COLUMNS]:
        if policy.secrets[block.columns]["secret"] == "public":
            continue
        column = ", ".join(one_line(name, LONG) for name in block.columns)
        pairs = (
            (pair, *(_record(policy, block, cell) for cell in ends)) for pair, ends in _pairs(policy, block)
        )
        found += _told(policy, column, pairs, total, spent)
    if policy.presence:
        found += _told(policy, "the row itself", [("there or not", {}, None)], total, spent)
    return found


def left_out(policy: Policy) -> str:
    """Return which secrets no example speaks of, in words; "" for none."""
    counted = {column for block in policy.graph.blocks for column in block.columns}
    bare = [one_line(name, LONG) for name in policy.domain.columns if name not in counted]
    many = len(policy.graph.blocks) - COLUMNS
    text = [f"Of {', '.join(bare[:8])} no pairs are listed: they have no cells."] if bare else []
    text += (
        [f"Of {many:,} more secrets no pairs are listed; policy.odds(...) states them."] if many > 0 else []
    )
    return " ".join(text)


def _told(policy: Policy, column: str, pairs: Any, total: Fraction, spent: Fraction) -> Iterator[Example]:
    """Yield what is promised of some pairs, once for each distance but the nearest."""
    seen: set[Any] = set()
    for pair, first, second in pairs:
        try:
            whole = policy.odds(first, second, total)
        except BlowfishError:  # a graph too large to search: there are other pairs
            continue
        if whole.distance and (whole.distance, whole.tied) not in seen:
            seen.add((whole.distance, whole.tied))
            open_anyway = math.isinf(whole.distance)  # exact answers that cost nothing may have revealed it
            now = replace(whole, epsilon=spent) if spent > 0 or open_anyway else None
            yield Example(column, pair, whole, now)


def _pairs(policy: Policy, block: Block) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield pairs of cells that differ in how well they are protected, the nearest first."""
    graph, size = block.graph, block.graph.size
    alone = len(block.columns) == 1 and policy.domain[block.columns[0]].nullable
    value = size - 1 if alone else size  # cells before the missing one of a single column
    middle, last = value // 2, max(value - 1, 0)
    if size > SEARCHED:
        yield "neighbours", (middle, middle + 1) if middle + 1 < value else (0, last)
    else:
        yield from _joined(block, value, middle)
        other = np.flatnonzero((parts := graph.components[:value]) != parts[min(middle, last)])
        if len(other):
            nearest = int(other[np.argmin(np.abs(other - middle))])
            yield "another group", (min(middle, nearest), max(middle, nearest))
    if value > 1:
        yield "half way", (0, middle)
        yield "the two ends", (0, last)
    if value < size:
        yield "missing or not", (middle if value else 0, size - 1)


def _joined(block: Block, value: int, middle: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield a pair that an edge joins, as far from the middle as one can be, where there is one."""
    top = int(block.graph.furthest(np.arange(block.graph.size))[middle]) if value else 0
    if middle < top < value:
        yield "protected", (middle, top)
        return
    edges = block.graph.pairs()
    edges = edges[(edges < value).all(axis=1)]
    if len(edges):
        near = edges[np.argmin(np.abs(edges - middle).sum(axis=1))]
        yield "protected", (int(near.min()), int(near.max()))


def _record(policy: Policy, block: Block, cell: int) -> Record:
    """Return a cell of a secret as the values a person writes."""
    codes = np.unravel_index(cell, block.sizes)
    pairs = zip(block.columns, codes, strict=True)
    return {name: value_at(policy.domain[name], int(code)) for name, code in pairs}
