"""Counts of the bins of one table, and several marginals asked together. Never sees rows."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats, Ints, frozen
from pandas_blowfish.plan.price import Price, price_of
from pandas_blowfish.plan.protocol import Question, Strategy, find_builder
from pandas_blowfish.plan.shape.one_thread import one_thread
from pandas_blowfish.plan.tables.cover import Cover, find_tables
from pandas_blowfish.plan.tables.identity import Identity
from pandas_blowfish.plan.tables.residual import Residual, WeightedTable
from pandas_blowfish.plan.tables.sensitivity import Changes, changes
from pandas_blowfish.plan.tally import MAX_TOGETHER, Binning, Tally, tally
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.expression import Condition, columns_of
from pandas_blowfish.policy.graph.records import RecordGraph
from pandas_blowfish.policy.policy import Policy

Places = tuple[int, ...]
MAX_JOINT = 10**6  # cells of one table over all columns that is considered
EVEN, JOINT, RESIDUAL = "even", "joint", "residual"

# what can be measured for a table of counts, the simplest first: a class with `name` and
# `build(graph, tally, epsilon)`; to add a strategy, add its class here
STRATEGIES: list[Any] = [Identity]

WHY_NOT = {
    JOINT: "is one of the tables asked for, or has too many cells",
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

    def candidates(
        self, policy: Policy, epsilon: Fraction, strategy: str, *, every: bool
    ) -> Iterator[Strategy]:
        """Yield what can be measured, the simplest first; nothing more once all counts are exact."""
        del every
        graph = policy.graph.project(self.columns)
        for each in STRATEGIES:
            if strategy in ("auto", each.name):
                found: Strategy = each.build(graph, self.tally, epsilon)
                yield found
                if found.sensitivity == 0:
                    return

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
    """

    domain: Domain
    asked: tuple[Places, ...]
    condition: Condition | None = None
    plain: bool = True

    @classmethod
    def over(cls, domain: Domain, tables: Sequence[Sequence[str]], condition: Condition | None) -> Marginals:
        """Return the question for tables given by their columns' names."""
        names = list(dict.fromkeys(itertools.chain.from_iterable(tables)))
        hidden = [] if condition is None else [name for name in columns_of(condition) if name not in names]
        place = {name: rank for rank, name in enumerate(names)}
        asked = tuple(tuple(place[name] for name in table) for table in tables)
        return cls(domain.select([*names, *hidden]), asked, condition)

    @property
    def columns(self) -> tuple[str, ...]:
        """Return every column that is looked at, those of filters and groups included."""
        return self.domain.columns

    @property
    def strategies(self) -> tuple[str, ...]:
        """Return what can be measured."""
        alone = (Identity.name,) if len(self.asked) == 1 else ()
        return (*alone, RESIDUAL, EVEN, JOINT)

    @cached_property
    def kept_cells(self) -> tuple[Ints, ...]:
        """Return the cells of each column that the filter lets through with some values of the others."""
        sieve, found = self._filter.sieve, {}
        for axis, (column, classes) in enumerate(
            zip(self._filter.domain.columns, sieve.classes, strict=True)
        ):
            rows = np.moveaxis(sieve.passes, axis, 0).reshape(sieve.passes.shape[axis], -1)
            found[column] = np.logical_or.reduce(rows, axis=1)[classes]
        if self.empty:
            found = {}
        cells = [np.flatnonzero(found.get(a.name, np.ones(a.size, dtype=bool))) for a in self.domain]
        return tuple(frozen(each) for each in cells)

    @property
    def empty(self) -> bool:
        """Tell whether the filter lets nothing through."""
        return not bool(self._filter.sieve.passes.any())

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Return the number of kept cells of each column."""
        return tuple(len(each) for each in self.kept_cells)

    @cached_property
    def _filter(self) -> Tally:
        """Return the counts of the cells of the filter's columns."""
        named = [] if self.condition is None else columns_of(self.condition)
        cells = (Binning(a, None, pd.RangeIndex(a.size)) for a in self.domain if a.name in named)
        return Tally(tuple(cells), None, self.condition)

    @cached_property
    def sets(self) -> tuple[Places, ...]:
        """Return the sets of columns that are asked for, each once, columns in the domain's order."""
        return tuple(dict.fromkeys(tuple(sorted(table)) for table in self.asked))

    @cached_property
    def answers(self) -> tuple[int, ...]:
        """Return the number of cells of each asked table."""
        shape = self.domain.shape
        return tuple(math.prod(shape[place] for place in table) for table in self.asked)

    @cached_property
    def index(self) -> pd.Index[Any]:
        """Return the index of a single table; of several just the numbers of all answers."""
        return self.labels(self.asked[0]) if len(self.asked) == 1 else pd.RangeIndex(sum(self.answers))

    def labels(self, places: Places) -> pd.Index[Any]:
        """Return the index of a table: the full declared domain."""
        names = [list(self.domain)[place].index() for place in places]
        return names[0] if len(names) == 1 else pd.MultiIndex.from_product(names)

    def list_answers(self, tables: Mapping[Places, Floats]) -> Floats:
        """Return all asked tables one after another, as asked: 0 where the filter lets nothing through."""
        parts = []
        for asked in self.asked:
            order = tuple(sorted(asked))
            whole = np.zeros([self.domain.shape[place] for place in order])
            whole[np.ix_(*(self.kept_cells[place] for place in order))] = tables[order]
            parts.append(np.transpose(whole, [order.index(place) for place in asked]).ravel())
        return np.concatenate(parts)

    def occupied_cells(self, places: Places) -> NDArray[np.bool_] | None:
        """Return which kept cells of a table the filter lets anything into; None for all."""
        if self.condition is None:
            return None
        own = self.table(places)
        found = own.occupied.reshape([self.sizes[place] for place in places])
        return None if found.all() else found

    def table(self, places: Places, parts: Sequence[Ints] | None = None) -> Tally:
        """Return the counts over some columns, by kept cells or by given parts of them."""
        listed = list(self.domain)
        shown = []
        for rank, place in enumerate(places):
            attribute, own = listed[place], np.arange(self.sizes[place]) if parts is None else parts[rank]
            if parts is None and len(own) == attribute.size:
                shown.append(Binning(attribute, None, pd.RangeIndex(attribute.size)))
                continue
            marks = np.full(attribute.size, -1, dtype=np.int64)
            marks[self.kept_cells[place]] = own
            shown.append(Binning(attribute, frozen(marks), pd.RangeIndex(int(own.max(initial=-1)) + 1)))
        rest = [a for n, a in enumerate(listed) if self._filters(a.name) and n not in places]
        hidden = [Binning(a, frozen(np.zeros(a.size, dtype=np.int64)), pd.RangeIndex(1)) for a in rest]
        return Tally((*shown, *hidden), len(shown), self.condition)

    def _filters(self, column: str) -> bool:
        return self.condition is not None and column in columns_of(self.condition)

    def graph(self, policy: Policy) -> RecordGraph:
        """Return the secret graph that these columns see."""
        return policy.graph.project(self.domain.columns)

    def changes(self, policy: Policy) -> Changes:
        """Return which columns an edge may change at once."""
        return changes(self.graph(policy), self._filter)

    def groups(self, policy: Policy) -> tuple[Ints, ...]:
        """Return for each column the group, which no edge leaves, of each kept cell."""
        if self.empty:  # all counts are 0, always
            return tuple(frozen(np.arange(size)) for size in self.sizes)
        graph, found = self.graph(policy), []
        for column, kept in zip(self.domain.columns, self.kept_cells, strict=True):
            whole = graph.project([column]).blocks[0].graph.components
            _, each = np.unique(whole[kept], return_inverse=True)
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
        """Yield the asked tables with even scales, one joint table, and the best tables and scales found."""
        auto = strategy == "auto"
        one = len(self.asked) == 1
        if one and strategy in (EVEN, JOINT):  # of one table both are the table itself
            strategy = Identity.name
        if one and self.plain and (auto or strategy == Identity.name):
            plain = self._plain(policy, epsilon)
            yield plain
            if plain.sensitivity == 0:
                return
        if one and (len(self.asked[0]) > MAX_TOGETHER or strategy == Identity.name):
            return
        cover = self.cover(policy)
        made = partial(self._measured, policy, cover, epsilon)
        if not cover.effects[0]:  # everything is exact
            yield made(RESIDUAL if auto else strategy, [])
            return
        if not one and (auto or strategy == EVEN):
            yield made(EVEN, [WeightedTable(each, (), 1) for each in self.sets])
        whole = tuple(sorted(set(itertools.chain.from_iterable(self.asked))))
        size = math.prod(self.sizes[place] for place in whole)
        joint = size <= MAX_JOINT and whole not in self.sets
        if joint and not one and (strategy == JOINT or (auto and every)):
            yield made(JOINT, [WeightedTable(whole, (), 1)])
        if auto or strategy == RESIDUAL:
            with one_thread():
                tables = [WeightedTable(*each) for each in find_tables(cover)]
            yield made(RESIDUAL, tables)

    def reread(self, policy: Policy, epsilon: Fraction, strategy: str, form: Mapping[str, Any]) -> Strategy:
        """Return the measurement whose tables a form lists."""
        if strategy == Identity.name:
            return self._plain(policy, epsilon)
        tables = [
            WeightedTable(tuple(places), tuple(folded), weight) for places, folded, weight in form["tables"]
        ]
        return self._measured(policy, self.cover(policy), epsilon, strategy, tables)

    def _plain(self, policy: Policy, epsilon: Fraction) -> Identity:
        """Return the single table counted as it is."""
        names = [self.domain.columns[place] for place in self.asked[0]]
        counted = tally(self.domain, names, None, self.condition)
        return Identity.build(policy.graph.project(counted.domain.columns), counted, epsilon)

    def _measured(
        self, policy: Policy, cover: Cover, epsilon: Fraction, name: str, tables: Sequence[WeightedTable]
    ) -> Residual:
        groups = None if cover.changes.leaves else self.groups(policy)
        return Residual(name, self, tuple(tables), cover, groups, epsilon)
