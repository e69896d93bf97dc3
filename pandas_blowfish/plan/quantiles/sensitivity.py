"""How one edge changes which places are nearest to some ranks. Never sees rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from pandas_blowfish.plan.line.axis import line
from pandas_blowfish.plan.quantiles.halving import Level
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.graph.records import RecordGraph


@dataclass(frozen=True)
class Reach:
    """What one edge can do to a row of a line.

    Attributes:
        moves: Move it along its line.
        far: Move it further than to the next cell.
        leaves: Take it to where nothing is counted.
        crosses: Take it to another line.
    """

    moves: bool
    far: bool
    leaves: bool
    crosses: bool

    @classmethod
    def of(cls, graph: RecordGraph, tally: Tally) -> Reach:
        """Return what the edges of a graph, projected on the tally's columns, can do, or a little more."""
        axis = line(graph, tally)
        pairs = axis.between
        far = bool(len(pairs)) and int((pairs[:, 1] - pairs[:, 0]).max()) > 1
        return cls(bool(len(pairs)), far, bool(len(axis.away)), bool(len(axis.across)))


def place_change(levels: Sequence[Level], reach: Reach, *, parts: int) -> Fraction:
    """Return by how much one edge changes differences of distances, in rows, over all rounds and choices.

    Args:
        levels: What is picked in each round.
        reach: What edges can do.
        parts: How many parts cells are cut into.

    Examples:
        >>> from pandas_blowfish.plan.quantiles.halving import pick_by_halves
        >>> quarters = pick_by_halves([Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)])
        >>> place_change(quarters, Reach(True, True, False, False), parts=1)
        Fraction(4, 1)

    Proof note:
        Requires: no touched facts; an edge does no more than `reach` states.
        Ensures:  at least the sum over rounds, whatever was picked, of the sum over choices of the largest
                  change of a place's distance less the smallest.
        Because:  a row that moves along a line lifts the distance of places on one side of the rank by 1 at
                  most and lowers it on the other: 2; between neighbouring cells a single boundary moves,
                  whose place is on one side: 1, unless cells are cut. A row that leaves a run moves the
                  rank by its share p, and those after it by p - 1: 2 max(p, 1 - p); one that enters as much.
                  Runs of one round share no row but in parts of a cell: then a row is in each by its part,
                  and the range of a sum is at most the sum of ranges, so an average of these cases.
        Checked:  tests/plan/quantiles/test_sensitivity.py::test_no_edge_changes_more,
                  tests/privacy/test_quantile_loss.py::test_no_neighbours_lose_more_than_is_charged
    """
    if len(levels) == 1:  # each choice has all rows
        return _apart(levels[0], reach, parts=parts)
    total = _apart(levels[0], reach, parts=parts)
    for level in levels[1:]:
        leaves = sorted(step.leaves for step in level)
        total += max(
            Fraction(2 * reach.moves),
            sum(leaves[-2:], Fraction(0)) * reach.moves,
            leaves[-1] * (2 if reach.crosses else int(reach.leaves)),
        )
    return total


def _apart(level: Level, reach: Reach, *, parts: int) -> Fraction:
    """Return the change where every choice is among all cells of its line."""
    along = len(level) * (2 if reach.far or parts > 1 else 1) * reach.moves
    return max(Fraction(along), _entering(level) * (2 if reach.crosses else int(reach.leaves)))


def _entering(level: Level) -> Fraction:
    return sum((step.leaves for step in level), Fraction(0))
