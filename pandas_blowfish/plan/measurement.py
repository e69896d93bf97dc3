"""What every strategy tells about itself, whatever it measures. Never sees rows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.plan.lattice import Total
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.plan.workload import Tally
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.graph import Ints


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
