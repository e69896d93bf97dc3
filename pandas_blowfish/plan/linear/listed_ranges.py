"""Listed ranges as a workload: measured by themselves, or by rows found for them alone. Never sees rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.plan.line.question import Spans
from pandas_blowfish.plan.linear.atom_rows import DIRECT, MAX_DENSE, OPTIMISED
from pandas_blowfish.plan.linear.question import DirectBuilder, OptimisedBuilder, Queries, WorkloadCase
from pandas_blowfish.plan.protocol import Builder, Strategy, find_builder
from pandas_blowfish.policy.policy import Policy

# what listed ranges may be measured by, besides what measures the whole line
LISTED: list[Builder[WorkloadCase]] = [DirectBuilder(), OptimisedBuilder()]


@dataclass(frozen=True, eq=False)
class ListedRanges(Queries):
    """Ranges of a line, asked of each line of a tally, as queries over its atoms.

    Attributes:
        asked: The same ranges as spans of the line.
    """

    asked: Spans

    @classmethod
    def of(cls, asked: Spans) -> ListedRanges:
        """Return the ranges that spans are about."""
        from scipy.sparse import csr_array

        starts, stops = asked.ends
        each = stops - starts
        first = np.cumsum(each) - each
        atoms = np.arange(int(each.sum())) - np.repeat(first - starts, each)
        begins = np.append(first, each.sum())
        matrix = csr_array(
            (np.ones(len(atoms), dtype=np.int64), atoms, begins), shape=(len(each), asked.size)
        )
        digest = hashlib.sha256(np.column_stack([starts, stops]).astype("<i8").tobytes()).digest()
        return cls(asked.tally, matrix, digest, asked.axis, asked)

    @property
    def strategies(self) -> tuple[str, ...]:
        return self.asked.strategies

    @property
    def index(self) -> pd.Index[Any]:
        return self.asked.index

    @property
    def ordered(self) -> bool:
        """Return False: what measures runs of the line is a candidate of its own."""
        return False

    def stated_matrix(self) -> None:
        return None

    def why_not(self, strategy: str) -> str:
        return self.asked.why_not(strategy)

    def candidates(
        self, policy: Policy, epsilon: Fraction, strategy: str, *, every: bool
    ) -> Iterator[Strategy]:
        """Yield the ranges themselves, then rows found for them where these are much better."""
        if self.tally.size > MAX_DENSE or strategy not in ("auto", DIRECT, OPTIMISED):
            return
        case = WorkloadCase(self, policy, epsilon, False, every, [])
        for each in LISTED:
            for found in each.build(case):
                case.found.append(found)
                if strategy in ("auto", found.name):
                    yield found

    def reread(self, policy: Policy, epsilon: Fraction, strategy: str, form: Mapping[str, Any]) -> Strategy:
        made: Builder[WorkloadCase] = find_builder(LISTED, strategy)
        return made.reread(WorkloadCase(self, policy, epsilon, True, False, []), form)
