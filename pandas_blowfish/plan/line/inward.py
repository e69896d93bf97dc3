"""Tree transform from within: for rows that leave a line in its middle. Never sees rows."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.plan.line.axis import LineGraph
from pandas_blowfish.plan.line.tree import Forest, Tree, forest, order_forest

if TYPE_CHECKING:
    from pandas_blowfish.plan.line.question import Spans

MAX_ATOMS = 1 << 16  # of a line that is cut into blocks one by one, from within


class Inward(Tree):
    """The sum at or under each atom of a tree with its root in the middle of the atoms that rows can leave.

    Proof note:
        Requires: no touched facts.
        Ensures:  privacy loss <= epsilon.
        Because:  as `Tree`, which it is where edges are listed, lead to another line or leave from an end.
                  Else all scales are those of the longest path: between the ends of each edge, from an atom
                  that can be left up to and over the root. Either side of the root is cut into blocks of a
                  reach; of the atoms that one atom reaches, the furthest and the one before it have the
                  longest path, seen from either end.
        Checked:  tests/plan/line/test_inward.py::test_loss_matches_enumeration
    """

    name = "inward"
    proof_id = "inward"

    @classmethod
    def build(cls, asked: Spans, axis: LineGraph, epsilon: Fraction, *, alone: bool) -> Iterator[Tree]:
        """Yield the tree where rows leave from within a line; elsewhere only if nothing else is asked for."""
        found = cls(asked, axis, epsilon)
        if alone or found.within:
            yield found

    @cached_property
    def within(self) -> bool:
        """Return whether rows leave from within a line that is one run, and from there alone."""
        line, away = self.line, self.line.away
        whole = line.listed is None and not len(line.across) and len(line.starts) == 1
        inside = len(away) > 0 and int(away[0]) > 0 and int(away[-1]) < line.size - 1
        return whole and inside and line.size <= MAX_ATOMS

    @cached_property
    def forest(self) -> Forest:
        """Return the tree that is measured: blocks of a reach on either side of the root."""
        if not self.within:
            return forest(self.line)
        reach, size = self.line.reach, self.line.size
        root = int(self.line.away[0] + self.line.away[-1]) // 2
        parent, red = np.arange(size), root
        while red < size - 1:
            far = int(reach[red])
            parent[red + 1 : far + 1] = red
            red = far
        red = root
        while red > 0:
            far = int(self._back[red])
            parent[far:red] = red
            red = far
        return order_forest(parent)

    @cached_property
    def _back(self) -> Ints:
        """Return the first atom that each atom is reached from."""
        return np.searchsorted(self.line.reach, np.arange(self.line.size))

    @cached_property
    def _longest(self) -> Ints:
        if not self.within:
            return super()._longest
        atoms, reach, back = np.arange(self.line.size), self.line.reach, self._back
        ends = [reach, np.maximum(reach - 1, atoms), back, np.minimum(back + 1, atoms)]
        pairs = np.concatenate([np.column_stack([atoms, each]) for each in ends])
        longest = int(self.forest.longest_paths(pairs).max(initial=0))
        most = max(longest, int(self.forest.depth[self.line.away].max()) + self.open)
        return np.full(len(self.rows), most)
