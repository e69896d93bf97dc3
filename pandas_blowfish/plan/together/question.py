"""A question made of several, answered in one charge: how epsilon is shared between them. Never sees rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.plan.choose import pick_best
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.plan.protocol import LAPLACE, Question, Strategy
from pandas_blowfish.plan.together.stacked import NAME, Stacked
from pandas_blowfish.policy.policy import Policy

TRIED_ENTRIES, TRIED_EDGES = 1 << 20, 50_000  # of a matrix and its edges, up to which every edge is tried
TRIES = 4  # times that shares are lifted to what edges leave


@dataclass(frozen=True, eq=False)
class Member:
    """One of the questions, as plain data too.

    Attributes:
        query: The question as plain data.
        question: What is asked.
        label: What it is called.
    """

    query: Mapping[str, Any]
    question: Question
    label: str


@dataclass(frozen=True, eq=False)
class SeveralQuestions(Question):
    """Several questions in one release.

    Attributes:
        members: The questions; each can be answered in one round, with a noise for each query row.
    """

    members: tuple[Member, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for each in self.members for name in each.question.columns))

    @property
    def strategies(self) -> tuple[str, ...]:
        return (NAME,)

    @property
    def asked_together(self) -> tuple[tuple[Mapping[str, Any], Question], ...]:
        return tuple((each.query, each.question) for each in self.members)

    def candidates(
        self, policy: Policy, epsilon: Fraction, strategy: str, *, every: bool
    ) -> Iterator[Strategy]:
        """Yield each question's best at its share of epsilon; exact ones have none.

        Questions that no edge changes at once, because it moves too few blocks of columns, have the same
        share; those of one group share it evenly. Where all edges of a group can be tried, its shares are
        lifted until the worst edge loses what the group may.
        """
        del strategy, every
        first = [self._best(policy, number, epsilon) for number in range(len(self.members))]
        noisy = [number for number, each in enumerate(first) if each.sensitivity]
        groups = self._groups(policy, noisy)
        at_once = (
            len(groups) if policy.presence else min(len(groups), policy.graph.project(self.columns).limit)
        )
        shares = dict.fromkeys(range(len(self.members)), Fraction(0))
        found = dict(enumerate(first))
        for group in groups:
            left = epsilon / at_once
            some = self._lift(policy, group, left)
            shares |= some
            found |= {number: self._best(policy, number, share) for number, share in some.items()}
        labels = tuple(each.label for each in self.members)
        yield Stacked(tuple(found.values()), tuple(shares.values()), labels, epsilon)

    def reread(self, policy: Policy, epsilon: Fraction, strategy: str, form: Mapping[str, Any]) -> Stacked:
        del strategy
        found, shares = [], []
        for each, stated in zip(self.members, form["members"], strict=True):
            shares.append(Fraction(stated["epsilon"]))
            own = shares[-1] or epsilon
            found.append(each.question.reread(policy, own, stated["strategy"], stated["form"]))
        labels = tuple(each.label for each in self.members)
        return Stacked(tuple(found), tuple(shares), labels, epsilon)

    def _best(self, policy: Policy, number: int, epsilon: Fraction) -> Strategy:
        """Return what answers one question best at an epsilon, in one round."""
        asked = self.members[number].question
        tried = [
            each
            for each in asked.candidates(policy, epsilon, "auto", every=False)
            if each.own_noise and not each.in_rounds and each.mechanism == LAPLACE
        ]
        if not tried:
            what = f"{self.members[number].label} cannot be asked together with others"
            raise ArgumentError("query", what, fix="ask for it by itself.")
        return tried[pick_best(tried)]

    def _groups(self, policy: Policy, numbers: Sequence[int]) -> list[list[int]]:
        """Return questions in groups: two that look at a common block of columns are in one."""
        groups: list[tuple[set[tuple[str, ...]], list[int]]] = []
        for number in numbers:
            own = {
                block for block in policy.secrets if set(block) & set(self.members[number].question.columns)
            }
            own -= {block for block in own if policy.public_columns.issuperset(block)}
            joined = [group for group in groups if group[0] & own]
            blocks = own.union(*(group[0] for group in joined))
            groups = [group for group in groups if group not in joined]
            groups.append((blocks, sorted([number, *(one for group in joined for one in group[1])])))
        return [group for _, group in groups]

    def _lift(self, policy: Policy, group: Sequence[int], left: Fraction) -> dict[int, Fraction]:
        """Return the shares of a group that may lose so much."""
        even = dict.fromkeys(group, left / len(group))
        shares = even
        for _ in range(TRIES if len(group) > 1 else 0):
            lost = self._lost(policy, shares)
            if lost is None or not lost:
                break
            if lost <= left:
                even = shares
            if lost == left:
                break
            shares = {number: share * left / lost for number, share in shares.items()}
        return even

    def _lost(self, policy: Policy, shares: Mapping[int, Fraction]) -> Fraction | None:
        """Return what the worst edge loses by some questions together; None where there are too many."""
        some = tuple(self._best(policy, number, share) for number, share in shares.items())
        stacked = Stacked(some, tuple(shares.values()), ("",) * len(some), Fraction(1))
        domain = stacked.domain
        if not all(each.bounded for each in domain) or domain.size * len(stacked.scales) > TRIED_ENTRIES:
            return None
        graph = policy.graph.project(domain.columns)
        if graph.edge_count > TRIED_EDGES:
            return None
        found = edge_loss(stacked.matrix(), stacked.scales, graph.edges()).value
        return None if isinstance(found, float) else found
