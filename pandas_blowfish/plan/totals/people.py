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
from pandas_blowfish.plan.sensitivity import ExactParts, exact_parts, tally_sensitivity
from pandas_blowfish.plan.tables.identity import Identity
from pandas_blowfish.plan.tally import People
from pandas_blowfish.policy.graph.records import RecordGraph
from pandas_blowfish.policy.policy import Policy

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given
    from pandas_blowfish.plan.shape.solved import Solved

UNITS = "units"
PROOF = (
    "How many people have a row in each group: one person is counted in a group or not, and each of their "
    "rows leaves one group and enters one at most, so that a neighbouring table changes all counts together "
    "by at most {sensitivity}. Discrete Laplace noise of scale {scale} therefore loses at most epsilon = "
    "{epsilon}. A person may be counted in several parts of the policy: all people see it."
)
PROOF_EXACT = (
    "No edge of the policy takes a row into a group or out of one: nobody has a row there in one of two "
    "neighbouring tables and not in the other, so the counts are exact and cost nothing."
)


@dataclass(frozen=True, eq=False)
class PeopleCount(Identity):
    """How many people have at least one row in each bin.

    Proof note:
        Requires: no touched facts; neighbours change rows of one person, `max_rows` at most.
        Ensures:  privacy loss <= epsilon; exact only where no edge takes a row into a bin or out of it.
        Because:  each count is a sum over people of 0 or 1, and one person's changes. The bins that the
                  person is in differ by those that rows leave or enter, for each row as many as one edge
                  changes (`tally_sensitivity`), and by no bin that all edges leave alone (`exact_parts`).
        Checked:  tests/privacy/test_units_loss.py::test_people_are_counted_within_the_charge,
                  tests/privacy/test_people_loss.py::test_groups_of_people_change_by_no_more
    """

    name = UNITS
    proof_id = UNITS

    @classmethod
    def of(cls, policy: Policy, people: People, epsilon: Fraction) -> PeopleCount:
        """Return the strategy for a policy."""
        graph = policy.graph.project(people.domain.columns)
        alone = exact_parts(graph, people).alone
        most = min(policy.max_rows * tally_sensitivity(graph, people), Fraction(int((~alone).sum())))
        return cls(people, most, epsilon, ExactParts(alone, np.full(len(alone), -1), 0))

    @property
    def proof(self) -> str:
        if self.sensitivity == 0:
            return PROOF_EXACT
        return PROOF.format(sensitivity=self.sensitivity, scale=self.scale, epsilon=self.epsilon)

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
    """How many people have at least one row in each bin."""

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
