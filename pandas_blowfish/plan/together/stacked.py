"""Together: the query rows of several strategies, one after another, in one release. Never sees rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pandas_blowfish import markup
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.lattice import Total
from pandas_blowfish.plan.loss import WorstCase
from pandas_blowfish.plan.protocol import PLACES, OneRound, Strategy
from pandas_blowfish.plan.query_rows import every_column
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.plan.shape.solved import Solved
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.graph.records import RecordGraph

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given

NAME = "together"
LEFT_OUT = "min, max: values of single rows; quantiles such as percentiles=[0.01, 0.99] are what can be said"
PROOF = (
    "Several questions in one release: {named}. An edge of the policy loses at most what it loses by each of "
    "them, added up over those that it changes, which is at most epsilon = {epsilon}. "
)


@dataclass(frozen=True, eq=False)
class SolvedMembers(Solved):
    """The answers of each member."""

    members: tuple[Solved, ...] = ()


@dataclass(frozen=True, eq=False)
class Combined(OneRound):
    """Strategies of several questions in one release, however their rounds follow one another.

    Attributes:
        measured: The strategies.
        shares: What each was planned to lose.
        labels: What each is called.
        epsilon: What may be lost in all.
    """

    measured: tuple[Strategy, ...]
    shares: tuple[Fraction, ...]
    labels: tuple[str, ...]
    epsilon: Fraction

    name = NAME

    @property
    def members(self) -> tuple[Strategy, ...]:
        return self.measured

    @property
    def form(self) -> dict[str, Any]:
        return {
            "members": [
                {"strategy": each.name, "epsilon": str(share), "form": each.form}
                for each, share in zip(self.measured, self.shares, strict=True)
            ]
        }

    @property
    def proof(self) -> str:
        named = "; ".join(self._named())
        inside = " ".join(f"({label}) {each.proof}" for label, each in self._each())
        return PROOF.format(named=named, epsilon=self.epsilon) + inside

    def _each(self) -> Iterator[tuple[str, Strategy]]:
        return zip(self.labels, self.measured, strict=True)

    def _named(self) -> list[str]:
        shares = zip(self.labels, self.measured, self.shares, strict=True)
        return [
            f"{label} by {each.name} at {markup.decimal(share)}" if each.sensitivity else f"{label}, exact"
            for label, each, share in shares
        ]

    @cached_property
    def domain(self) -> Domain:
        """Return the columns that any of them looks at."""
        found = {attribute.name: attribute for each in self.measured for attribute in each.domain}
        return Domain(tuple(found.values()))

    @cached_property
    def index(self) -> pd.Index[Any]:
        """Return the number of each answer."""
        return pd.RangeIndex(sum(len(each.index) for each in self.measured))

    @cached_property
    def tallies(self) -> tuple[Tally | Total, ...]:
        return tuple(one for each in self.measured for one in each.tallies)

    @cached_property
    def scales(self) -> Scales:
        """Return one scale per query row, strategy after strategy."""
        return Scales.stack([each.scales for each in self.measured])

    @cached_property
    def sensitivity(self) -> Fraction:
        """Return a bound on the largest L1 change of the query rows between neighbours."""
        return sum((each.sensitivity for each in self.measured), Fraction(0))

    @cached_property
    def variances(self) -> Floats:
        return np.concatenate([each.variances for each in self.measured])

    def apply(self, counts: Ints) -> Ints:
        sizes = [
            sum((one.tally if isinstance(one, Total) else one).size for one in each.tallies)
            for each in self.measured
        ]
        parts = np.split(counts, np.cumsum(sizes)[:-1])
        return np.concatenate([each.apply(part) for each, part in zip(self.measured, parts, strict=True)])

    def columns(self, cells: Cells) -> Any:
        from scipy.sparse import vstack

        return vstack([each.columns(cells) for each in self.measured], format="csc")

    def matrix(self) -> Any:
        found = every_column(self, self.domain, self.domain.size * len(self.scales))
        found.eliminate_zeros()
        return found

    def worst_case(self, graph: RecordGraph) -> WorstCase:
        """Return the sum of what each loses at most; unknown where one is."""
        found = [each.worst_case(graph.project(each.domain.columns)) for each in self.measured]
        unknown = [one for one in found if one.loss is None]
        return (
            unknown[0] if unknown else WorstCase(sum((one.loss or Fraction(0) for one in found), Fraction(0)))
        )

    def notes(self, query: Mapping[str, Any], *, rows_public: bool) -> dict[str, str]:
        """Return what each is measured by, and what it states itself."""
        said = {"parts": "; ".join(self._named())}
        for label, each in self._each():
            if each.mechanism == PLACES and each.sensitivity:  # whose noise is in rows
                own = each.notes(query, rows_public=rows_public)
                said[label] = "; ".join(text for heading, text in own.items() if heading != "typical error")
                continue
            for heading, text in each.notes(query, rows_public=rows_public).items():
                said[heading] = f"{said[heading]}; {text}" if heading in said else text
        return {**said, **({"left out": LEFT_OUT} if query["verb"] == "describe" else {})}

    def solve(self, values: Ints, *, post: bool | str, known: Given | None = None) -> SolvedMembers:
        parts = self.split(values)
        found = tuple(
            each.solve(part, post=post, known=known) for each, part in zip(self.measured, parts, strict=True)
        )
        answers, free = (
            np.concatenate([getattr(one, key) for one in found]) for key in ("answers", "unshaped")
        )
        return SolvedMembers(answers, free, None, found)

    def split(self, values: Ints) -> list[Ints]:
        """Return the noisy values of each strategy."""
        sizes = [each.values or 0 for each in self.measured]
        if len(values) != sum(sizes):
            raise ArgumentError("values", "these are not the values of this measurement")
        return np.split(values, np.cumsum(sizes)[:-1])


@dataclass(frozen=True, eq=False)
class Stacked(Combined):
    """Strategies of one round each, whose query rows are measured at once.

    Proof note:
        Requires: shares as `SeveralQuestions` gives them: each strategy loses at most its share over every
                  edge, strategies that one edge may change share epsilon, or all edges were tried.
        Ensures:  privacy loss <= epsilon.
        Because:  no strategies draw noise together, so losses over an edge add up over draws, and so over
                  strategies; those whose columns an edge leaves alone lose nothing. Where all edges were
                  tried the sum itself was found to be at most epsilon, in fractions.
        Checked:  tests/privacy/test_together_loss.py::test_loss_of_random_instances
    """

    def changes(self, before: Cells, after: Cells) -> Any:
        from scipy.sparse import vstack

        return vstack([each.changes(before, after) for each in self.measured], format="csc")
