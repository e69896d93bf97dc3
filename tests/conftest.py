"""Shared pieces of the tests: random policies over small columns, and where real data lie."""

from __future__ import annotations

import random
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest
from durations import (  # noqa: F401  hooks of every run
    pytest_collection_modifyitems,
    pytest_ignore_collect,
    pytest_terminal_summary,
)
from oracle.definition import definition_edges
from oracle.policies import (
    fact_cells,
    random_attribute,
    random_bins,
    random_boxes,
    random_facts,
    random_filter,
    random_full_policy,
    random_joint,
    random_numbers,
    random_policy,
    random_secret,
)

import pandas_blowfish as bf
from pandas_blowfish.books import ledger
from pandas_blowfish.plan import choose
from pandas_blowfish.plan.clusters.space import Space
from pandas_blowfish.plan.joint_noise import clique_spread
from pandas_blowfish.plan.lattice import Total
from pandas_blowfish.plan.line import search
from pandas_blowfish.plan.line.axis import LineGraph, line
from pandas_blowfish.plan.line.layouts import longest_segment
from pandas_blowfish.plan.line.nest import Layout
from pandas_blowfish.plan.line.question import Spans
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.protocol import Round, Strategy
from pandas_blowfish.plan.scales import variance
from pandas_blowfish.plan.tables.boxes import Boxes
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.domain import Domain, from_dict
from pandas_blowfish.policy.graph.records import RecordGraph
from pandas_blowfish.queries.call.scope import Scope

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
SHORT_SEARCH = 4  # errors looked at for one layout; 150 where the least is wanted


@pytest.fixture(autouse=True, scope="module")
def _new_ledger() -> Iterator[None]:
    """Begin every file with an empty default ledger: one of many charges is slow to read and to verify."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger, "_DEFAULT", {})
        yield


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    """Close what a test drew: matplotlib warns once many figures are open, whoever opened them."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def shared_data() -> Path:
    """Return the folder of real datasets, or skip saying that it is absent."""
    if not SHARED.is_dir():
        pytest.skip("../shared/data is absent: real datasets are not part of the project")
    return SHARED


@pytest.fixture
def make_policy() -> Callable[..., bf.Policy]:
    """Return the maker of random policies."""
    return random_policy


@pytest.fixture
def make_bins() -> Callable[..., object]:
    """Return the maker of random bins."""
    return random_bins


@pytest.fixture
def make_full_policy() -> Callable[..., bf.Policy]:
    """Return the maker of random policies with every feature."""
    return random_full_policy


@pytest.fixture
def make_filter() -> Callable[..., str]:
    """Return the maker of random filters."""
    return random_filter


@pytest.fixture(scope="module")
def _found_so() -> tuple[OrderedDict[object, object], OrderedDict[object, object]]:
    """Return what short searches of a file found, and its plans: not for other files."""
    return OrderedDict(), OrderedDict()


@pytest.fixture
def short_search(monkeypatch: pytest.MonkeyPatch, _found_so: tuple[object, object]) -> None:
    """Weigh layouts less carefully: loss and error follow from whatever weights a search finds."""
    polish = search._polish
    monkeypatch.setattr(search, "_polish", lambda *given: polish(*given[:-1], SHORT_SEARCH))
    monkeypatch.setattr(search, "_found", _found_so[0])
    monkeypatch.setattr(choose, "_plans", _found_so[1])


NO_RANGES = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


@dataclass(frozen=True)
class Lined:
    """A question along the last column of a tally, and the slow twins of what is said about it."""

    policy: bf.Policy
    asked: Spans
    line: LineGraph

    @cached_property
    def edges(self) -> np.ndarray:
        """Return the edges the question sees, from the words of the policy alone."""
        return definition_edges(self.policy, list(self.asked.tally.domain.columns))

    def kind(self, kind: str, given: tuple[np.ndarray, np.ndarray] = NO_RANGES) -> Spans:
        """Return another kind of question along the same line."""
        return Spans(self.asked.tally, kind, given, self.asked.labels)

    def loss(self, measured: Strategy) -> Fraction | float:
        """Return the exact loss of what is measured, over every edge by definition."""
        return edge_loss(measured.matrix(), list(measured.scales), self.edges).value

    def counts(self, draw: random.Random) -> tuple[np.ndarray, np.ndarray]:
        """Return random counts of the cells, and what they are in the bins."""
        tally = self.asked.tally
        cells = np.array([draw.randint(0, 9) for _ in range(tally.domain.size)], dtype=np.int64)
        labels = tally.labels()
        kept = labels >= 0
        bins = np.bincount(labels[kept], cells[kept], self.line.groups * self.line.size)
        return cells, bins.astype(np.int64)


def random_lined(draw: random.Random, most: int = 4) -> Lined:
    """Return every range of some column of a random policy, with random filter and groups."""
    if draw.random() < 0.5:
        policy = random_full_policy(draw, draw.randint(1, 3), most)
    else:
        policy = random_policy(draw, draw.randint(1, 3), most)
    column, *others = draw.sample(policy.domain.columns, len(policy.domain.columns))
    scope = Scope()
    if draw.random() < 0.5:
        scope = scope.where(policy, random_filter(draw, policy.domain), {})
    if groups := draw.sample(others, draw.randint(0, len(others))):
        scope = scope.groupby(policy, groups)
    return lined(policy, column, scope)


def lined(policy: bf.Policy, column: str, scope: Scope | None = None) -> Lined:
    """Return every range of a column in a scope."""
    tally = (scope or Scope()).tally(policy, [column], None)
    found = line(policy.graph.project(tally.domain.columns), tally)
    return Lined(policy, Spans(tally, "all", NO_RANGES, lambda: tally.binnings[-1].index), found)


def random_layout(draw: random.Random, line: LineGraph, wavelet: bool = False) -> Layout:
    """Return any layout that ends in single atoms."""
    longest = longest_segment(line)
    spacing = draw.choice([None, None, 4] if wavelet else [None, 1, 2, 3, 4, 5])
    width, branching = min(spacing or longest, longest), []
    while width > 1:
        branching.append(2 if wavelet else draw.choice([2, 3, 4, width]))
        width = -(-width // branching[-1])
    return Layout(spacing, tuple(branching), draw.random() < 0.4, wavelet)


def bin_matrix(measured: Strategy, bins: int) -> np.ndarray:
    """Return what one row in each bin adds to the measured rows."""
    return np.column_stack([measured.apply(one) for one in np.eye(bins, dtype=np.int64)])


def question_matrix(asked: Spans) -> np.ndarray:
    """Return the answers as sums of bins."""
    starts, stops = asked.ends
    atoms = np.arange(asked.size)
    one = ((starts[:, None] <= atoms) & (atoms < stops[:, None])).astype(float)
    return np.kron(np.eye(asked.groups), one)


def least_squares(matrix: np.ndarray, variances: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Return the best linear unbiased estimator, answers x measured rows, by dense algebra.

    Rows without variance hold exactly; the others are weighted by the inverse of theirs.
    """
    noisy, matrix = variances > 0, matrix.astype(float)
    exact = matrix[~noisy]
    held = np.linalg.pinv(exact) if len(exact) else np.zeros((matrix.shape[1], 0))
    free = np.eye(matrix.shape[1]) - held @ exact
    scale = 1 / np.sqrt(variances[noisy])
    fit = free @ np.linalg.pinv((matrix[noisy] @ free) * scale[:, None], rcond=1e-9) * scale
    out = np.zeros((len(asked), len(matrix)))
    out[:, noisy] = asked @ fit
    out[:, ~noisy] = asked @ (held - fit @ matrix[noisy] @ held)
    return out


@dataclass(frozen=True)
class Dense:
    """The answers of a strategy by dense algebra."""

    estimator: np.ndarray
    noise: np.ndarray

    @property
    def variances(self) -> np.ndarray:
        """Return the variance of each answer."""
        return self.estimator**2 @ self.noise


def dense(matrix: np.ndarray, scales: list[Fraction], asked: np.ndarray) -> Dense:
    """Return the best estimates from a matrix and its scales."""
    noise = np.array([variance(scale) for scale in scales])
    for code, joint in getattr(scales, "joint", {}).items():  # as noise of this variance, and an exact total
        noise[joint.rows] = clique_spread(len(joint.rows), scales.values[code])
    return Dense(least_squares(matrix, noise, asked), noise)


def dense_of(measured: Strategy, asked: Spans) -> Dense:
    """Return the best estimates of a question along a line."""
    bins = asked.groups * asked.size
    return dense(bin_matrix(measured, bins), list(measured.scales), question_matrix(asked))


@pytest.fixture
def make_lined() -> Callable[..., Lined]:
    """Return the maker of random questions along a line."""
    return random_lined


@pytest.fixture
def on_line() -> Callable[..., Lined]:
    """Return the maker of the question for every range of a policy's column."""
    return lined


@pytest.fixture
def make_layout() -> Callable[..., Layout]:
    """Return the maker of random layouts."""
    return random_layout


@pytest.fixture
def by_dense_algebra() -> Callable[..., Dense]:
    """Return the slow twin of estimates: generalised least squares from a matrix and its scales."""
    return dense


@pytest.fixture
def by_dense_bins() -> Callable[..., Dense]:
    """Return the slow twin of estimates along a line."""
    return dense_of


@pytest.fixture
def line_of() -> Callable[..., Lined]:
    """Return the maker of a line 0..k-1 with a threshold (0: full, None: public)."""

    def make(size: int, theta: int | None, scope: str | None = None, **options: object) -> Lined:
        secret = bf.public() if theta is None else bf.threshold(theta) if theta else bf.full()
        domain = Domain((from_dict("x", {"type": "integer", "min": 0, "max": size - 1}),))
        policy = bf.Policy(domain, secrets={"x": secret}, **options)
        return lined(policy, "x", Scope().where(policy, scope, {}) if scope else None)

    return make


def box_matrix(question: Boxes) -> np.ndarray:
    """Return answers x cells of the domain, from the words of boxes, groups and filter alone."""
    shape, groups = question.domain.shape, question.groups
    codes = np.array(np.unravel_index(np.arange(question.domain.size), shape))
    counted = question.whole.labels() >= 0
    rows = []
    for key in np.ndindex(*shape[:groups]):
        own = counted & np.logical_and.reduce([codes[n] == k for n, k in enumerate(key)] or [counted])
        for box in range(len(question.nonempty)):
            hit = own.copy()
            for n, (start, stop) in enumerate(zip(question.starts, question.stops, strict=True)):
                hit &= (codes[groups + n] >= start[box]) & (codes[groups + n] < stop[box])
            rows.append(hit)
    return np.array(rows).astype(np.int64)


@pytest.fixture
def make_boxes() -> Callable[..., list[tuple[tuple[object, object], ...]]]:
    """Return the maker of random boxes."""
    return random_boxes


@pytest.fixture
def boxes_by_cells() -> Callable[..., np.ndarray]:
    """Return the slow twin of boxes: answers x cells."""
    return box_matrix


@pytest.fixture
def make_facts() -> Callable[..., list[bf.Count | bf.Marginal | bf.Box]]:
    """Return the maker of random public facts with true answers."""
    return random_facts


@pytest.fixture
def facts_by_cells() -> Callable[..., np.ndarray]:
    """Return the slow twin of facts: known counts x cells."""
    return fact_cells


@dataclass(frozen=True)
class Clusters:
    """A clustering of a random policy, and the slow twins of what is said about it.

    Attributes:
        policy: The promise.
        plan: The plan of `kmeans`.
        columns: The columns that are clustered.
    """

    policy: bf.Policy
    plan: Plan
    columns: list[str]

    @property
    def space(self) -> Space:
        """Return what is clustered."""
        return self.plan.asked[0].space  # type: ignore[union-attr]

    @property
    def epsilon(self) -> Fraction:
        """Return what one moved record may lose."""
        return self.plan.epsilon / self.plan.price.moved

    @property
    def moves(self) -> bf.Policy:
        """Return the policy of single moved records: the policy itself while no fact is touched."""
        return self.plan.price.policy

    @property
    def graph(self) -> RecordGraph:
        """Return the graph on the columns that are looked at."""
        return self.moves.graph.project(self.space.domain.columns)

    @cached_property
    def edges(self) -> np.ndarray:
        """Return what one moved record may do, from the words of the policy alone."""
        return definition_edges(self.moves, list(self.space.domain.columns))

    def loss(self, measured: Strategy) -> Fraction | float:
        """Return the exact loss of a matrix and its scales over these edges."""
        return edge_loss(measured.matrix(), list(measured.scales), self.edges).value

    def change(self, measured: Strategy) -> Fraction | float:
        """Return the largest L1 change of the noisy rows over these edges."""
        rows = measured.matrix().tocsr()[[n for n, scale in enumerate(measured.scales) if scale]]
        return edge_loss(rows, [Fraction(1)] * rows.shape[0], self.edges).value

    def tables(self, tallies: tuple[Tally | Total, ...]) -> np.ndarray:
        """Return what one row in each cell adds to tables of counts and sums of weights, cells x entries."""
        domain, parts = self.space.domain, []
        codes = np.unravel_index(np.arange(domain.size), domain.shape)
        for each in tallies:
            tally = each if isinstance(each, Tally) else each.tally
            labels = tally.labels()
            own, kept = np.zeros((domain.size, tally.size), dtype=np.int64), np.flatnonzero(labels >= 0)
            own[kept, labels[kept]] = 1
            if isinstance(each, Total):
                place = domain.columns.index(each.lattice.attribute.name)
                own *= each.lattice.weights()[codes[place]][:, None]
            parts.append(own)
        return np.concatenate(parts, axis=1)

    def rows(self, step: Round | Strategy) -> np.ndarray:
        """Return the rows of a round, or of a whole measurement, from what it makes of each single row."""
        return np.column_stack([step.apply(table) for table in self.tables(step.tallies)])


def random_clusters(draw: random.Random, most: tuple[int, ...] = (10, 5, 3), facts: int = 0) -> Clusters:
    """Return a clustering of one to three columns of numbers, perhaps filtered and by groups of another."""
    many = draw.choice([1, 1, 2, 2, 2, 3])
    numbers = [random_numbers(draw, name, most[many - 1]) for name in "uvw"[:many]]
    attributes = numbers + [random_attribute(draw, "g", 2 if many == 3 else 3)] * (draw.random() < 0.6)
    secrets: dict[object, object] = {}
    rest = list(attributes)
    if len(attributes) > 1 and draw.random() < 0.45:
        block = draw.sample(attributes, draw.randint(2, min(3, len(attributes))))
        secrets[tuple(attribute.name for attribute in block)] = random_joint(draw, block)
        rest = [attribute for attribute in attributes if attribute not in block]
    secrets |= {attribute.name: random_secret(draw, attribute) for attribute in rest}
    options = {"neighbors": draw.choice(["record", "record", "attribute", 2]), "secrets": secrets}
    domain = Domain(tuple(attributes))
    policy = bf.Policy(domain, presence=draw.random() < 0.15, **options)
    if facts:
        counts = np.array([draw.randint(0, 3) for _ in range(domain.size)])
        policy = policy.with_facts(random_facts(draw, domain, counts, facts))
    planner, epsilon = policy.plan, Fraction(draw.randint(1, 9), draw.randint(1, 20))
    if draw.random() < 0.4:
        planner = planner.where(random_filter(draw, domain))
    if len(attributes) > many and draw.random() < 0.6:
        planner = planner.groupby("g")
    columns = draw.sample([each.name for each in numbers], draw.randint(1, many))
    rows, scale = draw.choice([None, 5, 10**3, 10**8]), draw.random() < 0.8
    for k in (draw.randint(1, 3), 1):
        try:
            plan = planner.kmeans(columns, k, epsilon=epsilon, rows=rows, scale=scale)
            return Clusters(policy, plan, columns)
        except bf.BlowfishError:  # a filter that leaves fewer cells than clusters
            continue
    return random_clusters(draw, most, facts)


@pytest.fixture
def make_clusters() -> Callable[..., Clusters]:
    """Return the maker of random clusterings."""
    return random_clusters
