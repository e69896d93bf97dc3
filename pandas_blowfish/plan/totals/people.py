"""People, counted once each however many rows they have: what is asked, and measured. Never sees rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.plan.loss import WorstCase
from pandas_blowfish.plan.price import Price, price_of
from pandas_blowfish.plan.protocol import Question, Strategy
from pandas_blowfish.plan.sensitivity import ExactParts
from pandas_blowfish.plan.tables.identity import Identity
from pandas_blowfish.plan.tally import People
from pandas_blowfish.policy.graph.records import RecordGraph
from pandas_blowfish.policy.policy import Policy

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given
    from pandas_blowfish.plan.shape.solved import Solved

UNITS = "units"
PROOF = (
    "How many people have a row that passes: one person is counted or not, so that a neighbouring table "
    "changes it by at most 1, however many of their rows change. Discrete Laplace noise of scale {scale} "
    "therefore loses at most epsilon = {epsilon}. A person may be counted in several parts of the policy: "
    "all people see it."
)
PROOF_EXACT = (
    "The filter looks at public columns alone, and who is there is public: nobody's rows pass in one of two "
    "neighbouring tables and not in the other, so the count is exact and costs nothing."
)


@dataclass(frozen=True, eq=False)
class PeopleCount(Identity):
    """How many people have at least one row that passes a filter.

    Proof note:
        Requires: no touched facts; neighbours change rows of one person.
        Ensures:  privacy loss <= epsilon; exact only if no neighbour changes who passes.
        Because:  the count is a sum over people of 0 or 1, and one person's changes. Edges leave public
                  columns as they are: where the filter looks at no others and no row comes or goes, whether
                  a person has a row that passes stays as it is.
        Checked:  tests/privacy/test_units_loss.py::test_people_are_counted_within_the_charge
    """

    name = UNITS
    proof_id = UNITS

    @classmethod
    def of(cls, policy: Policy, people: People, epsilon: Fraction) -> PeopleCount:
        """Return the strategy for a policy."""
        exact = not policy.presence and policy.public_columns.issuperset(people.domain.columns)
        parts = ExactParts(np.array([exact]), np.array([-1]), 0)
        return cls(people, Fraction(0 if exact else 1), epsilon, parts)

    @property
    def proof(self) -> str:
        if self.sensitivity == 0:
            return PROOF_EXACT
        return PROOF.format(scale=self.scale, epsilon=self.epsilon)

    def solve(self, values: Ints, *, post: bool | str, known: Given | None = None) -> Solved:
        del known  # facts count rows
        return super().solve(values, post=post)

    def worst_case(self, graph: RecordGraph) -> WorstCase:
        del graph
        return WorstCase(None, "it counts people, not rows")

    def loss_over(self, edges: Callable[[], Ints]) -> Fraction | float | None:
        del edges  # the charge itself: no matrix over cells counts people
        return None

    def matrix(self) -> Any:
        raise ArgumentError("query", "people are not counted by cells: there is no matrix")


@dataclass(frozen=True, eq=False)
class PeopleQuestion(Question):
    """How many people have at least one row that passes a filter."""

    people: People

    @property
    def columns(self) -> tuple[str, ...]:
        return self.people.domain.columns

    @property
    def strategies(self) -> tuple[str, ...]:
        return (UNITS,)

    def price(self, policy: Policy) -> Price:
        return replace(price_of(policy, self.columns), per_person=True)

    def candidates(
        self, policy: Policy, epsilon: Fraction, strategy: str, *, every: bool
    ) -> Iterator[Strategy]:
        del strategy, every
        yield PeopleCount.of(policy, self.people, epsilon)

    def reread(self, policy: Policy, epsilon: Fraction, strategy: str, form: Mapping[str, Any]) -> Strategy:
        del strategy, form
        return PeopleCount.of(policy, self.people, epsilon)
