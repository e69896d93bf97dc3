"""Measurements in rounds: what is measured next may depend on noisy answers so far. Never sees rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.plan.lattice import Total
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.policy import Policy


class Question(ABC):
    """What is asked, apart from how it is measured."""

    @property
    @abstractmethod
    def strategies(self) -> tuple[str, ...]:
        """Return the names of the strategies that can be asked for."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Return every column that is looked at, those of filters and groups included."""

    @abstractmethod
    def candidates(
        self, policy: Policy, epsilon: Fraction, strategy: str, *, every: bool
    ) -> Iterator[Measurement]:
        """Yield what can be measured, the simplest first.

        Args:
            policy: The promise.
            epsilon: What may be lost.
            strategy: "auto", or the one strategy that is wanted.
            every: Whether candidates are wanted that are surely not the best, too.
        """

    @abstractmethod
    def reread(
        self, policy: Policy, epsilon: Fraction, strategy: str, form: Mapping[str, Any]
    ) -> Measurement:
        """Return the measurement that an earlier release made, from its name and `form`."""


class Measurement(Protocol):
    """Measured rows with scales, and the answers they lead to."""

    @property
    def name(self) -> str:
        """Return the strategy's name."""

    @property
    def proof_id(self) -> str:
        """Return where PROOFS.md argues it."""

    @property
    def proof(self) -> str:
        """Return the privacy argument in one paragraph."""

    @property
    def tallies(self) -> tuple[Tally | Total, ...]:
        """Return the tables of counts, or sums of weights, that rows are gathered into."""

    @property
    def domain(self) -> Domain:
        """Return the columns that are looked at, and their cells."""

    @property
    def index(self) -> pd.Index[Any]:
        """Return the index of the answers."""

    @property
    def sensitivity(self) -> Fraction:
        """Return the largest L1 change of the noisy rows between neighbours."""

    @property
    def scales(self) -> Scales:
        """Return the noise scale of every measured row; 0 for what is exact and free."""

    @property
    def variances(self) -> NDArray[np.float64]:
        """Return the variance of each answer before shape constraints."""

    @property
    def mse(self) -> float:
        """Return the mean variance of the answers."""

    @property
    def form(self) -> dict[str, Any]:
        """Return what a stored answer is read by, as plain data."""

    def measured(self, counts: Ints) -> Ints:
        """Return the exact value of every measured row, from the counts of all tables, one after another."""

    def matrix(self) -> Any:
        """Return the measured rows x cells, scipy sparse."""

    def columns(self, cells: Cells) -> Any:
        """Return the columns of the measured matrix at some cells of `domain`, scipy sparse."""

    def changes(self, before: Cells, after: Cells) -> Any:
        """Return by how much the noise of each row must move to make up for moved records, scipy sparse.

        One column per record that moves from a cell of `before` to that of `after`. Where every row has its
        own noise that is what the rows change by: `columns(after) - columns(before)`.
        """

    @property
    def own_noise(self) -> bool:
        """Tell whether every measured row has a noise of its own."""

    def mapped(self, noise: Ints) -> Ints:
        """Return what the noise adds to the measured rows."""

    @property
    def loss_scales(self) -> Scales:
        """Return for each row of `changes` how large a change loses 1; 0 where any loses all."""


class Checkable:
    """What follows from `columns` and `scales` where every measured row has a noise of its own."""

    own_noise = True

    def mapped(self, noise: Ints) -> Ints:
        """Return what the noise adds to the measured rows: itself."""
        return noise

    def changes(self: Any, before: Cells, after: Cells) -> Any:
        """Return by how much the measured rows change when records move, scipy sparse."""
        return self.columns(after) - self.columns(before)

    @property
    def loss_scales(self: Any) -> Scales:
        """Return the noise scale of every measured row."""
        scales: Scales = self.scales
        return scales


class _HasTally(Protocol):
    @property
    def tally(self) -> Tally: ...


class OneTable(Checkable):
    """What a measurement of a single table of counts, its `tally`, says about it."""

    @property
    def tallies(self: _HasTally) -> tuple[Tally, ...]:
        """Return the one table of counts."""
        return (self.tally,)

    @property
    def domain(self: _HasTally) -> Domain:
        """Return the columns that are looked at, and their cells."""
        return self.tally.domain


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
