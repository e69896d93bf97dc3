"""A question made of several, answered in one charge: how epsilon is shared between them. Never sees rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.plan.choose import pick_best
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.plan.protocol import PLACES, Question, Strategy
from pandas_blowfish.plan.together.in_turn import InTurn, is_at_once
from pandas_blowfish.plan.together.stacked import NAME, Combined, Stacked
from pandas_blowfish.policy.policy import Policy

TRIED_ENTRIES, TRIED_EDGES = 1 << 20, 50_000  # of a matrix and its edges, up to which every edge is tried
MAX_CHOICES = 10_000  # of blocks that an edge moves, up to which all are looked at
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
        members: The questions; each can be answered in one round, some by picks of places too.
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

        Shares are as even as can be: questions that an edge may change at once share epsilon. Where all edges
        can be tried, shares are lifted until the worst edge loses what it may.

        Proof note:
            Requires: no touched facts; each question loses at most its share over an edge that moves one
                      of its columns, and nothing over any other.
            Ensures:  all together lose at most epsilon over every edge.
            Because:  an edge moves at most `limit` blocks of columns (with presence a row may come or go,
                      which changes all), and for every such choice of blocks the shares of those that look at
                      one of them add up to epsilon at most. A group that shares no block with another is
                      lifted to what all its edges leave of its largest sum; that is done where the largest
                      sums of as many groups as an edge may change are at most epsilon. Places are picked
                      where all questions share epsilon, so that rounds may add up.
            Checked:  tests/privacy/test_together_loss.py::test_loss_of_random_instances
        """
        del strategy, every
        first = [self._best(policy, number, epsilon) for number in range(len(self.members))]
        noisy = [number for number, each in enumerate(first) if each.sensitivity]
        limits = self._limits(policy, noisy)
        shares = dict.fromkeys(range(len(self.members)), Fraction(0)) | share_evenly(noisy, limits, epsilon)
        picked = self._picked(policy, shares) if len(limits) == 1 else frozenset()
        groups = _groups(limits)
        most = [
            max(sum((shares[n] for n in limit & group), Fraction(0)) for limit in limits) for group in groups
        ]
        at_once = (
            len(groups) if policy.presence else min(len(groups), policy.graph.project(self.columns).limit)
        )
        if sum(sorted(most, reverse=True)[:at_once]) <= epsilon:
            for group, left in zip(groups, most, strict=True):
                own = {number: shares[number] for number in sorted(group - picked)}
                spent = sum((shares[number] for number in group & picked), Fraction(0))
                shares |= self._lift(policy, own, left - spent)
        found = [
            self._best(policy, number, shares[number], picks=number in picked) if shares[number] else each
            for number, each in enumerate(first)
        ]
        yield _together(found, tuple(shares.values()), tuple(each.label for each in self.members), epsilon)

    def _picked(self, policy: Policy, shares: Mapping[int, Fraction]) -> frozenset[int]:
        """Return which questions are best answered by picks of places, in rounds of their own."""
        noisy = [(number, share) for number, share in shares.items() if share]
        best = {number: self._best(policy, number, share, picks=True) for number, share in noisy}
        return frozenset(number for number, each in best.items() if not is_at_once(each))

    def reread(self, policy: Policy, epsilon: Fraction, strategy: str, form: Mapping[str, Any]) -> Combined:
        del strategy
        found, shares = [], []
        for each, stated in zip(self.members, form["members"], strict=True):
            shares.append(Fraction(stated["epsilon"]))
            own = shares[-1] or epsilon
            found.append(each.question.reread(policy, own, stated["strategy"], stated["form"]))
        return _together(found, tuple(shares), tuple(each.label for each in self.members), epsilon)

    def _best(self, policy: Policy, number: int, epsilon: Fraction, *, picks: bool = False) -> Strategy:
        """Return what answers one question best at an epsilon, in one round; with picks also by places."""
        asked = self.members[number].question
        tried = [
            each
            for each in asked.candidates(policy, epsilon, "auto", every=False)
            if is_at_once(each) or (picks and each.mechanism == PLACES)
        ]
        if not tried:
            what = f"{self.members[number].label} cannot be asked together with others"
            raise ArgumentError("query", what, fix="ask for it by itself.")
        return tried[pick_best(tried)]

    def _limits(self, policy: Policy, numbers: Sequence[int]) -> list[frozenset[int]]:
        """Return sets of questions; whatever an edge changes is within one of them."""
        public, every = policy.public_columns, frozenset(numbers)
        blocks = [block for block in policy.secrets if not public.issuperset(block)]
        seen = [
            frozenset(n for n in numbers if set(block) & set(self.members[n].question.columns))
            for block in blocks
        ]
        seen = [each for each in seen if each]
        limit = policy.graph.project(self.columns).limit
        if policy.presence or limit >= len(seen) or math.comb(len(seen), limit) > MAX_CHOICES:
            return [every] if numbers else []
        return list(dict.fromkeys(frozenset().union(*some) for some in itertools.combinations(seen, limit)))

    def _lift(self, policy: Policy, shares: dict[int, Fraction], left: Fraction) -> dict[int, Fraction]:
        """Return shares, lifted to what the worst edge leaves of what some questions may lose together."""
        kept = shares
        for _ in range(TRIES if len(shares) > 1 else 0):
            lost = self._lost(policy, shares)
            if lost is None or not lost:
                break
            if lost <= left:
                kept = shares
            if lost == left:
                break
            shares = {number: share * left / lost for number, share in shares.items()}
        return kept

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


def share_evenly(
    numbers: Sequence[int], limits: Sequence[frozenset[int]], epsilon: Fraction
) -> dict[int, Fraction]:
    """Return shares that grow evenly until those of a limit add up to epsilon.

    Examples:
        >>> found = share_evenly([0, 1, 2], [frozenset({0, 1}), frozenset({2})], Fraction(1))
        >>> [str(share) for share in found.values()]
        ['1/2', '1/2', '1']
    """
    shares: dict[int, Fraction] = {}
    free = set(numbers)
    while free:
        growing = [(limit, limit & free) for limit in limits if limit & free]
        rooms = [
            (epsilon - sum(shares.get(n, Fraction(0)) for n in limit)) / len(own) for limit, own in growing
        ]
        least = min(rooms)
        held = set().union(*(own for (_, own), room in zip(growing, rooms, strict=True) if room == least))
        shares |= dict.fromkeys(held, least)
        free -= held
    return {number: shares[number] for number in numbers}


def _together(
    found: Sequence[Strategy], shares: tuple[Fraction, ...], labels: tuple[str, ...], epsilon: Fraction
) -> Combined:
    """Return what measures all of them: at once, or some in rounds of their own."""
    kind = Stacked if all(is_at_once(each) for each in found) else InTurn
    return kind(tuple(found), shares, labels, epsilon)


def _groups(limits: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    """Return questions in groups: two that an edge may change at once are in one."""
    groups: list[frozenset[int]] = []
    for limit in limits:
        joined = [group for group in groups if group & limit]
        groups = [group for group in groups if not group & limit] + [limit.union(*joined)]
    return groups
