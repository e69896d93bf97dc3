"""Measurements in rounds: what is measured next may depend on noisy answers so far. Never sees rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.plan.lattice import Total
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.plan.workload import Tally
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.graph import Ints


class Step(Protocol):
    """One round: rows of whole numbers over cells, with a scale each."""

    @property
    def tallies(self) -> tuple[Tally | Total, ...]:
        """Return the tables of counts, or sums of weights, that rows are gathered into."""

    @property
    def scales(self) -> Scales:
        """Return the noise scale of every row of this round; 0 for what is exact and free."""

    def measured(self, counts: Ints) -> Ints:
        """Return the exact value of every row of this round."""

    def columns(self, cells: Cells) -> Any:
        """Return the columns of this round's matrix at some cells, scipy sparse."""

    def changes(self, before: Cells, after: Cells) -> Any:
        """Return by how much the rows change when records move, scipy sparse."""

    @property
    def own_noise(self) -> bool:
        """Tell whether every row has a noise of its own."""

    def mapped(self, noise: Ints) -> Ints:
        """Return what the noise adds to the rows."""

    @property
    def loss_scales(self) -> Scales:
        """Return for each row of `changes` how large a change loses 1."""


@runtime_checkable
class Staged(Protocol):
    """A measurement that is made in rounds.

    Proof note:
        Requires: `following` is a function of its argument; the losses of the steps that it returns one
                  after another, whatever the values, add up to at most epsilon.
        Ensures:  all noisy values together lose at most epsilon.
        Because:  sequential composition: given the same values so far, neighbouring tables are asked the
                  same next step, whose own odds differ by at most the exponential of its loss. Steps of
                  scale 0 have the same answer in neighbouring tables: what follows from them is no secret.
        Checked:  tests/privacy/test_kmeans_loss.py::test_rounds_lose_epsilon_whatever_was_measured
    """

    @property
    def largest(self) -> int:
        """Return a bound on the scales of all steps that may follow."""

    def following(self, values: Sequence[Ints]) -> Step | None:
        """Return the next round, given the noisy values of all earlier ones; None when all is measured."""


def rounds(staged: Staged, values: Ints) -> list[tuple[Step, Ints]]:
    """Return the rounds that values were measured in, one after another, and the values of each."""
    found: list[tuple[Step, Ints]] = []
    begin = 0
    while (step := staged.following([each for _, each in found])) is not None:
        end = begin + len(step.scales)
        if end > len(values):
            break
        found.append((step, values[begin:end]))
        begin = end
    if step is not None or begin != len(values):
        raise ArgumentError("values", "these are not the values of this measurement")
    return found
