"""Tables of counts with a whole weight each: their scales, so that the worst edge loses exactly epsilon.

Never sees rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.plan.protocol import OneRound
from pandas_blowfish.plan.scales import Scales, fit_scales, row_variances
from pandas_blowfish.plan.tables.identity import PROOF_EXACT
from pandas_blowfish.policy.domain import Domain

PROOF = (
    "Tables over {tables} sets of columns, or of nodes of their levels: a neighbouring table moves one row "
    "along one edge of the policy, which changes the columns of one pattern. Each table that sees such a "
    "column changes by 2 in L1 (by 0 where just an even number of folded columns changes), and by 1 where "
    "the row leaves the filter. The worst pattern changes the tables by {sensitivity} in all, and with the "
    "scales {scales} it loses exactly {epsilon}. Rows of scale 0 are totals that no edge changes. The "
    "answers are put together from all tables by generalised least squares, which is post-processing."
)


class _HasTables(Protocol):
    """What a measurement by tables says about itself."""

    @property
    def question(self) -> Any: ...
    @property
    def epsilon(self) -> Fraction: ...
    @property
    def losses(self) -> Ints: ...
    @property
    def weights(self) -> Sequence[int]: ...
    @property
    def rows(self) -> Sequence[int]: ...
    @property
    def sensitivity(self) -> Fraction: ...
    @property
    def table_scales(self) -> tuple[Fraction, ...]: ...


class EffectTables(OneRound):
    """Scales of tables: inverses of their weights, as large as epsilon asks for.

    A subclass has `losses` (edges x tables, see `Changes.losses`), `weights`, `rows` (how many rows each
    table has, then how many rows are exact), `question` and `epsilon`.
    """

    @property
    def domain(self: _HasTables) -> Domain:
        """Return the columns that are looked at, and their cells."""
        domain: Domain = self.question.domain
        return domain

    @property
    def index(self: _HasTables) -> pd.Index[Any]:
        """Return the index of the answers."""
        index: pd.Index[Any] = self.question.index
        return index

    @cached_property
    def sensitivity(self: _HasTables) -> Fraction:
        """Return the largest L1 change of the noisy rows between neighbours."""
        return Fraction(int(self.losses.sum(axis=1).max(initial=0)) if len(self.weights) else 0)

    @cached_property
    def table_scales(self: _HasTables) -> tuple[Fraction, ...]:
        """Return the scale of each table."""
        return fit_scales(self.losses, self.weights, self.epsilon)

    @cached_property
    def variances_of_tables(self: _HasTables) -> list[float]:
        """Return the variance of the noise of each table, within what floats can divide by."""
        return row_variances(self.table_scales)

    @cached_property
    def scales(self: _HasTables) -> Scales:
        """Return one scale a measured row: table after table, then what is exact."""
        codes = np.repeat(np.arange(len(self.rows), dtype=np.int32), self.rows)
        return Scales([*self.table_scales, Fraction(0)], codes)

    @property
    def proof(self: _HasTables) -> str:
        """Return the argument in one paragraph."""
        if self.sensitivity == 0:
            return PROOF_EXACT
        return PROOF.format(
            tables=len(self.weights),
            sensitivity=self.sensitivity,
            scales=", ".join(map(str, sorted(set(self.table_scales)))),
            epsilon=self.epsilon,
        )
