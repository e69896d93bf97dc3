"""Joint cells in groups that are products of one a column: the grid partition of several columns.

Closed forms column by column: millions of joint cells need no list of their groups. Never sees rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.policy.graph.secret_graph import Cliques, Relation, flatten


class Cubes(Cliques):
    """Every two cells of a group are joined; a group is a combination of groups of the columns.

    Args:
        axes: For each column the group of each of its cells, numbered from 0.
    """

    def __init__(self, axes: Sequence[Ints]) -> None:
        super().__init__(lambda: flatten(self.axes), math.prod(len(each) for each in axes))
        self.axes = tuple(axes)

    @property
    def edge_count(self) -> int:
        """Return the sum of n (n - 1) / 2 over the groups, whose sizes are products."""
        squares = [sum(many * many for many in np.bincount(each).tolist()) for each in self.axes]
        return int(math.prod(squares) - self.size) // 2

    def along(self, axis: int) -> Cliques:
        """Return the graph that one column sees."""
        return Cliques(self.axes[axis])

    def axis_relation(
        self, classes: Sequence[Ints], labels: Sequence[Ints], counts: Sequence[int] | None = None
    ) -> Relation:
        """Return the relation of classes and labels that are products of one a column.

        `counts` states how many classes each column has, where some occur on no cell here.

        Proof note:
            Requires: a cell's class (label) is the tuple of its columns' classes (labels).
            Ensures:  the same tables as comparing the ends of every edge.
            Because:  two cells are joined, or the same, exactly if their groups are the same on every column,
                      so each column moves within its group, or stays, by itself: its tables combine by the
                      Kronecker product, and the label changes if one column's does. From a class to itself a
                      cell must move: then it also can along one column alone.
            Checked:  tests/policy/graph/test_cubes.py::test_axis_relation_matches_edges
        """
        counts = counts or [int(each.max(initial=-1)) + 1 for each in classes]
        move, cross = np.ones((1, 1), dtype=bool), np.zeros((1, 1), dtype=bool)
        held, stays = np.ones(1, dtype=bool), np.zeros(1, dtype=bool)
        for axis, (own, marks, many) in enumerate(zip(classes, labels, counts, strict=True)):
            found = self.along(axis).relation(own, marks).grown(many)
            here = np.bincount(own, minlength=many) > 0
            step = found.move | np.diag(here)
            move, cross = np.kron(move, step), np.kron(cross, step) | np.kron(move, found.cross)
            stays = np.kron(stays, here) | np.kron(held, found.move.diagonal())
            held = np.kron(held, here)
        np.fill_diagonal(move, stays)
        return Relation(move, cross)
