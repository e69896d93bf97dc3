"""Which connected parts of the policy a release looks at: people elsewhere lose nothing by it.

Never sees rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.plan.lattice import Total
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.graph.records import Block
from pandas_blowfish.policy.policy import Policy

MOST_NAMED = 1_000  # components of a block that a part names; of more the whole block is looked at
LISTED = 1 << 14  # cells up to which the query rows themselves are asked what they look at
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Side:
    """The components of one block of columns that are looked at.

    Attributes:
        key: The names of its columns.
        block: The block.
        components: Of which component each of its cells is.
        seen: Of each component, whether it is looked at.
    """

    key: str
    block: Block
    components: Ints
    seen: Mask

    def components_at(self, cells: Cells) -> Ints:
        """Return of which component some cells are; what is said of "absent" means nothing."""
        codes = [np.where(cells.absent, 0, cells.codes[column]) for column in self.block.columns]
        return self.components[np.ravel_multi_index(codes, self.block.sizes)]


@dataclass(frozen=True, eq=False)
class Part:
    """What a release looks at: some components of a few blocks of columns, and all of the others."""

    sides: tuple[Side, ...] = ()

    @property
    def form(self) -> dict[str, list[int]]:
        """Return the components of each block by their first cells, as plain data; empty: everything."""
        first = {side.key: np.unique(side.components, return_index=True)[1] for side in self.sides}
        return {side.key: sorted(first[side.key][side.seen].tolist()) for side in self.sides}

    def holds(self, start: Cells, end: Cells) -> Mask:
        """Return which moves, from some cells to others or to and from "absent", are of records inside."""
        inside = np.ones(len(start), dtype=bool)
        for side in self.sides:
            at = np.where(start.absent, side.components_at(end), side.components_at(start))
            inside &= side.seen[at]
        return inside

    def crossed(self, start: Cells, end: Cells) -> Mask:
        """Return which moves lead from one component to another; none may."""
        there = ~start.absent & ~end.absent
        found = np.zeros(len(start), dtype=bool)
        for side in self.sides:
            found |= there & (side.components_at(start) != side.components_at(end))
        return found


EVERYONE = Part()


@lru_cache(maxsize=32)
def part_of(plan: Plan) -> Part:
    """Return which components of blocks of columns a release looks at; of blocks left out all.

    All people see a release wherever public facts, secret totals or chains tie different parts together.

    Examples:
        >>> import pandas_blowfish as bf
        >>> plan = bf.datasets.patients_policy().plan
        >>> part_of(plan.where("region in ['north', 'west']").hist("age")).form
        {'region': [0, 3]}
        >>> part_of(plan.hist("age")).form
        {}

    Proof note:
        Requires: no fact is touched, nothing is promised about more than one record.
        Ensures:  a record outside the part changes no query row, wherever an edge moves it, and where
                  presence is secret also by coming or going.
        Because:  an edge stays in one component of each block (of a product of graphs these are the
                  products), and cells of components that are not listed have columns of zeros: the filter
                  leaves them out, or every query row does.
        Checked:  tests/kernel/test_check.py::test_nobody_outside_a_part_changes_a_query_row, and before each
                  charge by `kernel.check`
    """
    policy = plan.policy
    tied = plan.price.touched or policy.aggregates or policy.chain is not None
    if tied or not plan.cost or not plan.measurement.own_noise:
        return EVERYONE
    sides = []
    for key, block, components in split_blocks(plan.price.policy, plan.domain.columns):
        many = int(components.max()) + 1
        seen = np.bincount(components[_seen(plan.measurement, block)], minlength=many) > 0
        if 0 < seen.sum() <= min(many - 1, MOST_NAMED):
            sides.append(Side(key, block, components, seen))
    return Part(tuple(sides))


def split_blocks(policy: Policy, columns: Sequence[str]) -> Iterator[tuple[str, Block, Ints]]:
    """Yield each block among some columns that falls into components: its key, it, and its components."""
    blocks = {", ".join(block.columns): block for block in policy.graph.blocks}
    if len(blocks) < len(policy.graph.blocks):  # names that hold commas can look alike
        return
    for key, block in blocks.items():
        if set(block.columns) <= set(columns) and block.graph.components.max(initial=0):
            yield key, block, block.graph.components


def _seen(strategy: Any, block: Block) -> Mask:
    """Return which cells of a block are in some record that a query row may count."""
    domain = strategy.domain
    if not strategy.in_rounds and domain.size <= LISTED:
        columns = strategy.columns(Cells.every(domain.columns, domain.shape))
        counted = (np.diff(columns.tocsc().indptr) > 0).reshape(domain.shape)
        return _over_block(counted, domain.columns, block)
    seen = np.zeros(block.graph.size, dtype=bool)
    for each in strategy.tallies:
        seen |= _left_in(each.tally if isinstance(each, Total) else each, block)
    return seen


def _left_in(tally: Tally, block: Block) -> Mask:
    """Return which cells of a block a filter, or bins, leave in."""
    names, sieve = tally.domain.columns, tally.sieve
    if not set(block.columns) <= set(names):
        return np.ones(block.graph.size, dtype=bool)
    passes = _over_block(sieve.passes, names, block).reshape(
        [sieve.passes.shape[names.index(column)] for column in block.columns]
    )
    return np.asarray(
        passes[np.ix_(*(sieve.classes[names.index(column)] for column in block.columns))]
    ).ravel()


def _over_block(table: Mask, names: Sequence[str], block: Block) -> Mask:
    """Return whether anything in a table over some columns is true, by the columns of a block in order."""
    others = tuple(axis for axis, name in enumerate(names) if name not in block.columns)
    own = [name for name in names if name in block.columns]
    return np.transpose(table.any(axis=others), [own.index(column) for column in block.columns]).ravel()
