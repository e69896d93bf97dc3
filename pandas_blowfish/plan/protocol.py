"""The two protocols that carry every release: Question and Strategy. Never sees rows.

A question knows which strategies can answer it. A strategy is what is measured: in one round or several,
integer query rows over cells with one noise scale each, and how the noisy values become answers. Nothing
outside a family asks which question or strategy it holds.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np
import pandas as pd

from pandas_blowfish.errors import ArgumentError, UnknownStrategyError
from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.joint_noise import law_text
from pandas_blowfish.plan.lattice import InUnits, Total
from pandas_blowfish.plan.loss import WorstCase, edge_loss, worst_pair
from pandas_blowfish.plan.price import Price, price_of
from pandas_blowfish.plan.query_rows import every_column
from pandas_blowfish.plan.scales import ESTIMATE, Scales
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.graph.records import RecordGraph
from pandas_blowfish.policy.policy import Policy

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given
    from pandas_blowfish.plan.shape.solved import Solved

LAPLACE, BUCKETS = "laplace", "buckets"  # how the kernel draws the noise of a round
SELECT, PLACES = "select", "places"  # the same, where just the best candidate of each choice is released
ONE_SIDED = "one-sided geometric"
LAWS = {**dict.fromkeys((LAPLACE, BUCKETS), "discrete Laplace"), **dict.fromkeys((SELECT, PLACES), ONE_SIDED)}


class Question(ABC):
    """What is asked, whatever is measured to answer it."""

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
    ) -> Iterator[Strategy]:
        """Yield what can be measured, the simplest first.

        Args:
            policy: The promise.
            epsilon: What may be lost.
            strategy: "auto", or the one strategy that is wanted.
            every: Whether candidates are wanted that are surely not the best, too.
        """

    @abstractmethod
    def reread(self, policy: Policy, epsilon: Fraction, strategy: str, form: Mapping[str, Any]) -> Strategy:
        """Return what an earlier release measured, from the strategy's name and `form`."""

    def price(self, policy: Policy) -> Price:
        """Return what public facts cost this question."""
        return price_of(policy, self.columns)

    def forced_error(self, policy: Policy, most: int) -> float:
        """Return what single edges force on the answers, whatever is measured; NaN where that is not known.

        The expected squared errors of all answers add up to this, in units of the variance of noise at scale
        1 / epsilon, or to more (`plan/linear/bound.py`).

        Args:
            policy: The promise.
            most: How many counts are looked at; NaN where there are more.
        """
        del policy, most
        return math.nan

    def stated_matrix(self) -> Any:
        """Return the queries as the caller wrote them, where they are a matrix; else None."""
        return None

    def why_not(self, strategy: str) -> str:
        """Return why a strategy may not be able to answer this question."""
        return f"cannot answer this: {strategy}"

    @property
    def asked_together(self) -> tuple[tuple[Mapping[str, Any], Question], ...]:
        """Return the questions that this one is made of, each as plain data too; nothing for most."""
        return ()

    def is_total_of(self, column: str) -> bool:
        """Return whether this asks for the sum or mean of one column over all rows, and for nothing else."""
        del column
        return False


@dataclass(frozen=True)
class Targets:
    """Which rank of each line of counts is chosen for, where just the place nearest to it is released.

    Attributes:
        shares: For each choice the wanted share of its rows, in parts of `whole`.
        whole: What shares are parts of; scales are in as many parts of a row.
        parts: How many equal parts each query row is cut into, each a candidate by itself.
    """

    shares: tuple[int, ...] = ()
    whole: int = 1
    parts: int = 1


class Round(Protocol):
    """One round of a strategy: query rows of whole numbers over cells, with one scale each."""

    @property
    def tallies(self) -> tuple[Tally | Total, ...]:
        """Return the tables of counts, or sums of weights, that rows are gathered into."""

    @property
    def scales(self) -> Scales:
        """Return the noise scale of every query row; 0 for what is exact and costs nothing."""

    def apply(self, counts: Ints) -> Ints:
        """Return the exact value of every query row, from the counts of all tables in order."""

    def columns(self, cells: Cells) -> Any:
        """Return the columns of this round's matrix at some cells, scipy sparse."""

    def changes(self, before: Cells, after: Cells) -> Any:
        """Return by how much each query row's noise must move to make up for moved records, scipy sparse.

        One column per record that moves from a cell of `before` to that of `after`. Where every
        query row has its own noise that is what they change by: `columns(after) - columns(before)`.
        """

    @property
    def own_noise(self) -> bool:
        """Return whether every query row has a noise of its own."""

    @property
    def mechanism(self) -> str:
        """Return how the kernel draws the noise of this round."""

    @property
    def choices(self) -> Ints:
        """Return for each query row which choice it is a candidate of, where just the largest is released."""

    @property
    def targets(self) -> Targets:
        """Return the rank of each choice, where places along lines are released."""

    def spread_noise(self, noise: Ints) -> Ints:
        """Return what the noise adds to the query rows."""

    @property
    def loss_scales(self) -> Scales:
        """Return for each query row of `changes` how large a change loses 1; 0 where any loses all."""


def law_of(step: Round) -> str:
    """Return the law of the noise of a round in words, for plans and receipts; of several strategies all."""
    members = getattr(step, "members", ())
    if any(each.mechanism != LAPLACE for each in members):
        return " and ".join(dict.fromkeys(law_of(each) for each in members if each.sensitivity))
    if not step.scales.joint:
        return LAWS[step.mechanism]
    codes, scales = np.unique(step.scales.codes).tolist(), step.scales
    alone = any(scales.values[code] for code in codes if code not in scales.joint)
    return law_text([scales.joint[code] for code in scales.joint if scales.values[code]], alone=alone)


class OwnNoise:
    """A round whose query rows each have a noise of their own: what follows from `columns` and `scales`."""

    own_noise = True
    mechanism = LAPLACE

    @property
    def choices(self) -> Ints:
        """Return nothing: the query rows themselves are released, with noise."""
        return np.empty(0, dtype=np.int64)

    @property
    def targets(self) -> Targets:
        """Return nothing: no places along lines are released."""
        return Targets()

    def spread_noise(self, noise: Ints) -> Ints:
        """Return what the noise adds to the query rows: itself."""
        return noise

    def changes(self: Any, before: Cells, after: Cells) -> Any:
        return self.columns(after) - self.columns(before)

    @property
    def loss_scales(self: Any) -> Scales:
        scales: Scales = self.scales
        return scales


class Strategy(Round, Protocol):
    """What is measured, and the answers it leads to. Most strategies are their own and only round.

    Proof note:
        Requires: `next_round` is a function of its argument; the losses of the rounds that it returns one
                  after another, whatever the values, add up to at most epsilon.
        Ensures:  all noisy values together lose at most epsilon.
        Because:  sequential composition: given the same values so far, neighbouring tables are asked the
                  same next round, whose own odds differ by at most the exponential of its loss. Rounds of
                  scale 0 have the same answer in neighbouring tables: what follows from them is no secret.
        Checked:  tests/privacy/test_kmeans_loss.py::test_rounds_lose_epsilon_whatever_was_measured
    """

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
    def domain(self) -> Domain:
        """Return the columns that are looked at, and their cells."""

    @property
    def index(self) -> pd.Index[Any]:
        """Return the index of the answers."""

    @property
    def sensitivity(self) -> Fraction:
        """Return the largest L1 change of the noisy query rows between neighbours."""

    @property
    def variances(self) -> Floats:
        """Return the variance of each answer before shape constraints."""

    @property
    def mse(self) -> float:
        """Return the mean variance of the answers."""

    @property
    def form(self) -> dict[str, Any]:
        """Return what a stored answer is read by, as plain data."""

    def matrix(self) -> Any:
        """Return the query rows x cells, scipy sparse."""

    def solve(self, values: Ints, *, post: bool | str, known: Given | None = None) -> Solved:
        """Return the answers: the unbiased ones, or the nearest of the right shape.

        Args:
            values: The noisy value of every query row, of all rounds one after another.
            post: False for unbiased answers; else counts are of the right shape.
            known: Public facts with known answers, which the result agrees with.
        """

    @property
    def in_rounds(self) -> bool:
        """Return whether later rounds depend on the noisy values of earlier ones."""

    def next_round(self, values: Sequence[Ints]) -> Round | None:
        """Return the next round, given the noisy values of all earlier ones; None when all is measured."""

    @property
    def values(self) -> int | None:
        """Return how many noisy values are handed out; None where that depends on earlier rounds."""

    @property
    def drawn_scales(self) -> Sequence[Fraction | int]:
        """Return scales of which the largest is at least as large as any that is drawn, in any round."""

    def noise_map(self) -> Any:
        """Return what the noise adds to the query rows, rows x noise, where it is not one each; else None."""

    def loss_over(self, edges: Callable[[], Ints]) -> Fraction | float | None:
        """Return the largest loss over edges, by enumeration; None where earlier noise decides the rows."""

    def worst_case(self, graph: RecordGraph) -> WorstCase:
        """Return the most that is lost when one record moves along a graph that holds all edges."""

    @property
    def tolerance(self) -> float:
        """Return how many times the least error this may have and still be taken, where it is simplest."""

    def figures(self) -> dict[str, float]:
        """Return what candidates are compared by, the most important last."""

    def notes(self, query: Mapping[str, Any], *, rows_public: bool) -> dict[str, str]:
        """Return what a plan states of this strategy in particular, by heading."""

    @property
    def noise_terms(self) -> str:
        """Return what an unshaped answer is off by: "one" noise, the "sum" of some of one scale, or neither.

        Neither is called an "estimate": a weighted sum of noises, of which just the variance is stated.
        "cliques": one of some noises that sum to 0, of as many cells as the receipt states; "together": an
        estimate from noises that are drawn together in other ways. Other noise is "log-concave" in sums of
        counts, or "any": of that nothing but the variance is known.
        """

    @property
    def covariance(self) -> dict[str, Any] | None:
        """Return how errors of counts along lines go together, as plain data; None where not known."""

    def in_units(self) -> tuple[InUnits, ...]:
        """Return what is measured in units other than rows, each in its own; nothing for counts."""

    @property
    def members(self) -> tuple[Strategy, ...]:
        """Return the strategies that this one is made of; nothing for most."""


class OneRound(OwnNoise):
    """What most strategies have in common: one round, their own, whose query rows are known beforehand."""

    in_rounds = False
    tolerance = 1.0

    @property
    def noise_terms(self) -> str:
        """Return that answers are weighted sums of noises, of which just the variance is stated."""
        return ESTIMATE

    @property
    def covariance(self) -> dict[str, Any] | None:
        """Return None: of sums of these answers only bounds of errors are known."""
        return None

    def table_covariance(self, places: tuple[int, ...]) -> dict[str, Any] | None:
        """Return how errors of the counts of one of several tables go together, by its columns."""
        del places
        return self.covariance

    @property
    def proof_id(self: Any) -> str:
        """Return the strategy's name, which PROOFS.md argues it by."""
        return self.name  # type: ignore[no-any-return]

    @property
    def form(self) -> dict[str, Any]:
        """Return nothing: what is measured follows from the question and the policy."""
        return {}

    @property
    def mse(self: Any) -> float:
        return float(self.variances.mean())

    def next_round(self: Any, values: Sequence[Ints]) -> Round | None:
        return None if values else self

    @property
    def values(self: Any) -> int | None:
        return len(self.scales)

    @property
    def drawn_scales(self: Any) -> Sequence[Fraction | int]:
        return self.scales.values  # type: ignore[no-any-return]

    def matrix(self: Any) -> Any:
        return every_column(self, self.domain, self.domain.size)

    def noise_map(self) -> Any:
        """Return None: every query row has a noise of its own."""
        return None

    def loss_over(self: Any, edges: Callable[[], Ints]) -> Fraction | float | None:
        matrix = self.matrix()  # refused where there are no cells, or too many
        return edge_loss(matrix, self.scales, edges()).value

    def worst_case(self: Any, graph: RecordGraph) -> WorstCase:
        return worst_pair(self.matrix, self.scales, graph)

    def figures(self: Any) -> dict[str, float]:
        return {"mse": self.mse}

    def notes(self, query: Mapping[str, Any], *, rows_public: bool) -> dict[str, str]:
        del query, rows_public
        return {}

    def in_units(self) -> tuple[InUnits, ...]:
        """Return nothing: what is measured are counts."""
        return ()

    @property
    def members(self) -> tuple[Strategy, ...]:
        """Return nothing: it is not made of others."""
        return ()


class _HasTally(Protocol):
    @property
    def tally(self) -> Tally: ...


class OneTable(OneRound):
    """A strategy that measures a single table of counts, its `tally`."""

    @property
    def tallies(self: _HasTally) -> tuple[Tally, ...]:
        return (self.tally,)

    @property
    def domain(self: _HasTally) -> Domain:
        return self.tally.domain


class InRounds(OneRound):
    """A strategy whose later rounds depend on the noisy values of earlier ones."""

    in_rounds = True

    @property
    def values(self) -> int | None:
        """Return None: it depends on the noisy values."""
        return None

    @property
    def drawn_scales(self: Any) -> Sequence[Fraction | int]:
        """Return the scales of what is expected, and a bound on all that may follow."""
        return [*self.scales.values, self.largest]


Asked = TypeVar("Asked", bound=Question)


@dataclass(frozen=True, eq=False)
class AskedCase(Generic[Asked]):
    """A question that is asked under a policy, for an epsilon: what builders of a family's list are handed.

    Attributes:
        question: What is asked.
        policy: The promise.
        epsilon: What may be lost.
        alone: Whether one strategy is asked for by its name.
        every: Whether candidates are wanted that hardly ever are the best.
    """

    question: Asked
    policy: Policy
    epsilon: Fraction
    alone: bool
    every: bool


AnyCase = TypeVar("AnyCase", contravariant=True)


class Builder(Protocol[AnyCase]):
    """How a strategy of a family's list is made."""

    @property
    def name(self) -> str:
        """Return the strategy's name."""

    def build(self, case: AnyCase) -> Iterator[Strategy]:
        """Yield what can be measured."""

    def reread(self, case: AnyCase, form: Mapping[str, Any]) -> Strategy:
        """Return what an earlier release measured."""


def find_builder(builders: Sequence[Any], strategy: str) -> Any:
    """Return what makes a strategy, by its name, from a family's list."""
    for each in builders:
        if each.name == strategy:
            return each
    raise UnknownStrategyError(strategy, [each.name for each in builders])


def rounds(strategy: Strategy, values: Ints) -> list[tuple[Round, Ints]]:
    """Return the rounds that values were measured in, one after another, and the values of each."""
    found: list[tuple[Round, Ints]] = []
    begin = 0
    while (step := strategy.next_round([each for _, each in found])) is not None:
        end = begin + len(step.scales)
        if end > len(values):
            break
        found.append((step, values[begin:end]))
        begin = end
    if step is not None or begin != len(values):
        raise ArgumentError("values", "these are not the values of this measurement")
    return found
