"""Counts of the bins of one table, and several marginals asked together. Never sees rows."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats, Ints, frozen
from pandas_blowfish.plan.linear.bound import forced_by_edges
from pandas_blowfish.plan.price import Price, price_of
from pandas_blowfish.plan.protocol import AskedCase, Builder, Question, Strategy, find_builder
from pandas_blowfish.plan.sensitivity import tally_sensitivity
from pandas_blowfish.plan.shape.one_thread import one_thread
from pandas_blowfish.plan.tables.cover import Cover, find_tables
from pandas_blowfish.plan.tables.identity import CliqueCounts, CliquesBuilder, CliqueTable, Identity
from pandas_blowfish.plan.tables.residual import Residual, WeightedTable
from pandas_blowfish.plan.tables.sensitivity import Changes, changes
from pandas_blowfish.plan.tables.shared.joint_tables import SHARED, SharedBuilder
from pandas_blowfish.plan.tally import MAX_TOGETHER, Binning, Tally, tally
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.expression import Condition, columns_of
from pandas_blowfish.policy.graph.records import RecordGraph
from pandas_blowfish.policy.graph.secret_graph import connect
from pandas_blowfish.policy.policy import Policy

Places = tuple[int, ...]
MAX_JOINT = 10**6  # cells of one table over all columns that is considered
EVEN, JOINT, RESIDUAL = "even", "joint", "residual"

# what can be measured for a table of counts, the simplest first: what has a `name` and
# `build(graph, tally, epsilon)`, None where it cannot; to add a strategy, add its builder here
STRATEGIES: list[Any] = [Identity, CliquesBuilder()]
SINGLE = (Identity.name, CliqueCounts.name)  # strategies of single tables

WHY_NOT = {
    JOINT: "is one of the tables asked for, or has too many cells",
    CliqueCounts.name: "is for up to 64 bins of each group, whose total no edge changes",
    SHARED: "needs several tables, and that no edge leads to where a row is not counted (as with presence)",
    RESIDUAL: f"splits tables of up to {MAX_TOGETHER} columns",
}


@dataclass(frozen=True, eq=False)
class Counts(Question):
    """How many rows lie in each bin of a tally."""

    tally: Tally

    @property
    def columns(self) -> tuple[str, ...]:
        """Return every column that is looked at, those of filters and groups included."""
        return self.tally.domain.columns

    @property
    def strategies(self) -> tuple[str, ...]:
        """Return the names of the strategies that can be asked for."""
        return tuple(each.name for each in STRATEGIES)

    def price(self, policy: Policy) -> Price:
        """Return what public facts cost these counts."""
        return price_of(policy, self.columns, self.tally)

    def forced_error(self, policy: Policy, most: int) -> float:
        """Return what single edges force on the counts."""
        return forced_by_edges(policy, self.tally, lambda: np.eye(self.tally.size), most)

    def candidates(
        self, policy: Policy, epsilon: Fraction, strategy: str, *, every: bool
    ) -> Iterator[Strategy]:
        """Yield what can be measured, the simplest first; nothing more once all counts are exact."""
        del every
        graph = policy.graph.project(self.columns)
        for each in STRATEGIES:
            if strategy in ("auto", each.name):
                found: Strategy | None = each.build(graph, self.tally, epsilon)
                if found is None:
                    continue
                yield found
                if found.sensitivity == 0:
                    return

    def why_not(self, strategy: str) -> str:
        """Return why a strategy may not be able to answer this question."""
        return WHY_NOT.get(strategy, super().why_not(strategy))

    def reread(self, policy: Policy, epsilon: Fraction, strategy: str, form: Mapping[str, Any]) -> Strategy:
        """Return what an earlier release measured: the bins determine it."""
        del form
        graph = policy.graph.project(self.columns)
        found: Strategy = find_builder(STRATEGIES, strategy).build(graph, self.tally, epsilon)
        return found


@dataclass(frozen=True, eq=False)
class Marginals(Question):
    """Tables of counts over sets of columns.

    Attributes:
        domain: The columns asked for, then those of the filter alone.
        asked: For each table its columns, by their place in the domain, in the order asked.
        condition: What a row must satisfy to be counted.
        plain: Whether a single table may be counted as it is; else only what differs from that is.
        binned: Columns whose cells are counted in bins; each is in every table.
    """

    domain: Domain
    asked: tuple[Places, ...]
    condition: Condition | None = None
    plain: bool = True
    binned: Mapping[str, Binning] = field(default_factory=dict)

    @classmethod
    def over(
        cls,
        domain: Domain,
        tables: Sequence[Sequence[str]],
        condition: Condition | None,
        binned: Mapping[str, Binning],
    ) -> Marginals:
        """Return the question for tables given by their columns' names, some of them cut into bins."""
        names = list(dict.fromkeys(itertools.chain.from_iterable(tables)))
        hidden = [] if condition is None else [name for name in columns_of(condition) if name not in names]
        place = {name: rank for rank, name in enumerate(names)}
        asked = tuple(tuple(place[name] for name in table) for table in tables)
        return cls(domain.select([*names, *hidden]), asked, condition, binned=binned)

    @property
    def columns(self) -> tuple[str, ...]:
        """Return every column that is looked at, those of filters and groups included."""
        return self.domain.columns

    @property
    def strategies(self) -> tuple[str, ...]:
        """Return the names of the strategies that can be asked for."""
        return tuple(each.name for each in MARGINALS if len(self.asked) == 1 or each.name not in SINGLE)

    @cached_property
    def whole(self) -> Tally:
        """Return the counts of all columns, each cell by itself or in its bin."""
        plain = (Binning(each, None, pd.RangeIndex(each.size)) for each in self.domain)
        own = (self.binned.get(each.attribute.name, each) for each in plain)
        return Tally(tuple(own), None, self.condition)

    @cached_property
    def kept_bins(self) -> tuple[Ints, ...]:
        """Return the cells, or bins, of each column that the filter lets through with some of the others'."""
        found = []
        for attribute, marks in zip(self.domain, self.whole.marks, strict=True):
            kept = marks >= 0
            if not self.empty and attribute.name in self._filter.domain.columns:
                kept = kept & self._filter.find_passing(self._filter.domain.columns.index(attribute.name))
            found.append(frozen(np.unique(marks[kept])))
        return tuple(found)

    @cached_property
    def narrowed(self) -> bool:
        """Tell whether some rows may be counted nowhere: a filter's, or those in no bin."""
        return self.condition is not None or not self._filter.sieve.trivial

    @property
    def empty(self) -> bool:
        """Tell whether the filter lets nothing through."""
        return not bool(self._filter.sieve.passes.any())

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Return the number of kept cells, or bins, of each column."""
        return tuple(len(each) for each in self.kept_bins)

    @cached_property
    def _filter(self) -> Tally:
        """Return the counts of the cells of the filter's columns, and of bins."""
        named = {*self.binned, *([] if self.condition is None else columns_of(self.condition))}
        cells = (own for own in self.whole.binnings if own.attribute.name in named)
        return Tally(tuple(cells), None, self.condition)

    @cached_property
    def sets(self) -> tuple[Places, ...]:
        """Return the sets of columns that are asked for, each once, columns in the domain's order."""
        return tuple(dict.fromkeys(tuple(sorted(table)) for table in self.asked))

    @cached_property
    def answers(self) -> tuple[int, ...]:
        """Return the number of cells, or bins, of each asked table."""
        shape = self.whole.shape
        return tuple(math.prod(shape[place] for place in table) for table in self.asked)

    @cached_property
    def index(self) -> pd.Index[Any]:
        """Return the index of a single table; of several just the numbers of all answers."""
        return self.labels(self.asked[0]) if len(self.asked) == 1 else pd.RangeIndex(sum(self.answers))

    def forced_error(self, policy: Policy, most: int) -> float:
        """Return what single edges force on all tables together."""
        shown = 1 + max((place for table in self.asked for place in table), default=-1)
        hidden = (each.join() for each in self.whole.binnings[shown:])
        counted = replace(self.whole, binnings=(*self.whole.binnings[:shown], *hidden), shown=shown)
        return forced_by_edges(policy, counted, lambda: self._gram(counted), most)

    def _gram(self, counted: Tally) -> Floats:
        """Return for each two cells in how many of the asked tables they are one."""
        codes = np.unravel_index(np.arange(counted.size), counted.shape)
        same = [each[:, None] == each for each in codes]
        found = np.zeros((counted.size,) * 2)
        for table in self.asked:
            found += np.logical_and.reduce([same[place] for place in table])
        return found

    def labels(self, places: Places) -> pd.Index[Any]:
        """Return the index of a table: the full declared domain."""
        own = [list(self.domain)[place] for place in places]
        names = [self.binned[each.name].index if each.name in self.binned else each.index() for each in own]
        return names[0] if len(names) == 1 else pd.MultiIndex.from_product(names)

    def list_answers(self, tables: Mapping[Places, Floats]) -> Floats:
        """Return all asked tables one after another, as asked: 0 where the filter lets nothing through."""
        parts = []
        for asked in self.asked:
            order = tuple(sorted(asked))
            whole = np.zeros([self.whole.shape[place] for place in order])
            whole[np.ix_(*(self.kept_bins[place] for place in order))] = tables[order]
            parts.append(np.transpose(whole, [order.index(place) for place in asked]).ravel())
        return np.concatenate(parts)

    def occupied_cells(self, places: Places) -> NDArray[np.bool_] | None:
        """Return which kept cells of a table the filter lets anything into; None for all."""
        if not self.narrowed:
            return None
        own = self.table(places)
        found = own.occupied.reshape([self.sizes[place] for place in places])
        return None if found.all() else found

    def table(self, places: Places, parts: Sequence[Ints] | None = None) -> Tally:
        """Return the counts over some columns, by kept cells or bins, or by given parts of them."""
        listed = list(self.domain)
        shown = []
        for rank, place in enumerate(places):
            attribute, own = listed[place], np.arange(self.sizes[place]) if parts is None else parts[rank]
            if parts is None and attribute.name not in self.binned and len(own) == attribute.size:
                shown.append(Binning(attribute, None, pd.RangeIndex(attribute.size)))
                continue
            number = np.full(self.whole.shape[place] + 1, -1, dtype=np.int64)  # the last is of no bin
            number[self.kept_bins[place]] = own
            many = int(own.max(initial=-1)) + 1
            shown.append(Binning(attribute, frozen(number[self.whole.marks[place]]), pd.RangeIndex(many)))
        rest = [n for n, a in enumerate(listed) if self._filters(a.name) and n not in places]
        hidden = [self.whole.binnings[n].join() for n in rest]
        return Tally((*shown, *hidden), len(shown), self.condition)

    def _filters(self, column: str) -> bool:
        named = self.condition is not None and column in columns_of(self.condition)
        return named or (column in self.binned and bool((self.whole.marks[self._place(column)] < 0).any()))

    def _place(self, column: str) -> int:
        return self.domain.columns.index(column)

    def graph(self, policy: Policy) -> RecordGraph:
        """Return the secret graph that these columns see."""
        return policy.graph.project(self.domain.columns)

    def changes(self, policy: Policy) -> Changes:
        """Return which columns an edge may change at once: of those in bins, to another bin.

        Proof note:
            Requires: the patterns are as `changes` says.
            Ensures:  every edge between counted cells changes the cells and bins of just a listed set's
                      columns, or, where the list is not exact, of part of one.
            Because:  an edge that changes a column's cell changes its bin or does not, and both are listed;
                      one whose bins no edge leaves never changes.
            Checked:  tests/privacy/test_group_bins.py::test_loss_of_every_verb,
                      tests/privacy/test_group_bins.py::test_an_edge_may_change_a_value_and_not_its_bin
        """
        found = changes(self.graph(policy), self._filter)
        patterns = found.patterns
        for name, binning in self.binned.items():
            without, place = patterns.copy(), self._place(name)
            without[:, place] = False
            still = not tally_sensitivity(policy.graph.project([name]), Tally((binning,)))
            patterns = without if still else np.unique(np.concatenate([patterns, without]), axis=0)
        return replace(found, patterns=np.unique(patterns[patterns.any(axis=1)], axis=0))

    def groups(self, policy: Policy) -> tuple[Ints, ...]:
        """Return for each column the group, which no edge leaves, of each kept cell or bin."""
        return self.groups_of(self.graph(policy))

    def leaves(self, graph: RecordGraph) -> bool:
        """Tell whether an edge of a graph of these columns may lead a row to where it is not counted."""
        return changes(graph, self._filter).leaves

    def groups_of(self, graph: RecordGraph) -> tuple[Ints, ...]:
        """Return the same for a graph of these columns."""
        if self.empty:  # all counts are 0, always
            return tuple(frozen(np.arange(size)) for size in self.sizes)
        found = []
        for column, kept, marks in zip(self.domain.columns, self.kept_bins, self.whole.marks, strict=True):
            whole = graph.project([column]).blocks[0].graph.components
            inside = marks >= 0
            ends = np.column_stack([marks[inside], self.whole.shape[self._place(column)] + whole[inside]])
            many = self.whole.shape[self._place(column)] + int(whole.max(initial=-1)) + 1
            each = np.unique(connect(ends, many)[kept], return_inverse=True)[1]
            found.append(frozen(each.astype(np.int64).reshape(-1)))
        return tuple(found)

    def cover(self, policy: Policy) -> Cover:
        """Return how the asked tables, their effects and the policy's edges hang together."""
        moves, often = self.changes(policy), Counter(tuple(sorted(table)) for table in self.asked)
        parts = None if moves.leaves else [int(each.max(initial=-1)) + 1 for each in self.groups(policy)]
        secret = tuple(bool(each) for each in np.logical_or.reduce(moves.patterns, axis=0))
        return Cover(self.sizes, tuple(often.items()), parts, moves, secret)

    def why_not(self, strategy: str) -> str:
        """Return why a strategy may not be able to answer this question."""
        return WHY_NOT.get(strategy, super().why_not(strategy))

    def candidates(
        self, policy: Policy, epsilon: Fraction, strategy: str, *, every: bool
    ) -> Iterator[Strategy]:
        """Yield what can be measured, the simplest first; nothing more once all counts are exact."""
        case = MarginalCase(self, policy, epsilon, strategy != "auto", every)
        for each in MARGINALS:
            if strategy in ("auto", each.name):
                for found in each.build(case):
                    yield found
                    if found.sensitivity == 0:
                        return

    def reread(self, policy: Policy, epsilon: Fraction, strategy: str, form: Mapping[str, Any]) -> Strategy:
        """Return what an earlier release measured, from the strategy's name and `form`."""
        made: Builder[MarginalCase] = find_builder(MARGINALS, strategy)
        return made.reread(MarginalCase(self, policy, epsilon, True, False), form)


@dataclass(frozen=True, eq=False)
class MarginalCase(AskedCase[Marginals]):
    """Marginals that are asked under a policy, for an epsilon, and what follows for all strategies."""

    @property
    def one(self) -> bool:
        """Tell whether a single table is asked for."""
        return len(self.question.asked) == 1

    @cached_property
    def counted(self) -> Tally:
        """Return the single table that is asked for."""
        asked = self.question
        names = [asked.domain.columns[place] for place in asked.asked[0]]
        return tally(asked.domain, names, dict(asked.binned) or None, asked.condition)

    @cached_property
    def cover(self) -> Cover:
        """Return how the asked tables, their effects and the policy's edges hang together."""
        return self.question.cover(self.policy)

    @cached_property
    def best_tables(self) -> list[tuple[Places, Places, int]]:
        """Return the best tables and weights that a search finds, where each cell has a noise of its own."""
        with one_thread():
            return find_tables(self.cover)

    def measure_tables(self, name: str, tables: Sequence[Sequence[Any]]) -> Residual:
        """Return some tables as a strategy: the columns of each, those that are folded, and its weight."""
        groups = None if self.cover.changes.leaves else self.question.groups(self.policy)
        listed = tuple(WeightedTable(tuple(each[0]), tuple(each[1]), each[2]) for each in tables)
        return Residual(name, self.question, listed, self.cover, groups, self.epsilon)


class IdentityBuilder:
    """A single table, counted as it is."""

    name = Identity.name

    def build(self, case: MarginalCase) -> Iterator[Strategy]:
        """Yield the one way there is."""
        if case.one and case.question.plain:
            yield self.reread(case, {})

    def reread(self, case: MarginalCase, form: Mapping[str, Any]) -> Strategy:
        """Return the one way there is."""
        del form
        counted = case.counted
        return Identity.build(case.policy.graph.project(counted.domain.columns), counted, case.epsilon)


@dataclass(frozen=True)
class TablesBuilder:
    """Tables with a weight each.

    Attributes:
        name: The strategy's name.
        find: Returns the tables, which need noise; None where there are none to choose.
        single: Whether a single table is split, too; else it is the table itself.
    """

    name: str
    find: Callable[[MarginalCase], list[tuple[Places, Places, int]] | None]
    single: bool = False

    def build(self, case: MarginalCase) -> Iterator[Strategy]:
        """Yield the tables found; none where everything is exact and any strategy does."""
        if case.one and not self.single:
            yield from IdentityBuilder().build(case) if case.alone else ()
        elif case.one and len(case.question.asked[0]) > MAX_TOGETHER:
            return
        elif not case.cover.effects[0]:
            if case.alone or self.single:
                yield case.measure_tables(self.name, [])
        elif (tables := self.find(case)) is not None:
            yield case.measure_tables(self.name, tables)

    def reread(self, case: MarginalCase, form: Mapping[str, Any]) -> Strategy:
        """Return the tables that `form` lists."""
        return case.measure_tables(self.name, form["tables"])


def _asked_tables(case: MarginalCase) -> list[tuple[Places, Places, int]]:
    """Return the asked tables, all alike."""
    return [(each, (), 1) for each in case.question.sets]


def _joint_table(case: MarginalCase) -> list[tuple[Places, Places, int]] | None:
    """Return one table over all columns, where it is small and not asked for."""
    asked = case.question
    whole = tuple(sorted(set(itertools.chain.from_iterable(asked.asked))))
    small = math.prod(asked.sizes[place] for place in whole) <= MAX_JOINT
    return [(whole, (), 1)] if small and whole not in asked.sets and (case.alone or case.every) else None


def _best_tables(case: MarginalCase) -> list[tuple[Places, Places, int]]:
    """Return the best tables and weights that a search finds."""
    return case.best_tables


# what can be measured for marginals, in the order they are tried; to add a strategy, add its builder here
MARGINALS: list[Builder[MarginalCase]] = [
    IdentityBuilder(),
    CliqueTable(),
    TablesBuilder(EVEN, _asked_tables),
    TablesBuilder(JOINT, _joint_table),
    TablesBuilder(RESIDUAL, _best_tables, single=True),
    SharedBuilder(),
]
