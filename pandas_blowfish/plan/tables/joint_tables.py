"""Cliques: tables whose noise is drawn together, group after group, so that an edge pays once per group.

Never sees rows. A record that moves changes a table from one cell to another of the same component (cells
that edges lead between). A component is a clique: the noise of its cells adds up to 0, so its total is exact.
A table of two-valued columns that is folded to one number changes by 2 or not at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.joint_law import joint_variances
from pandas_blowfish.plan.joint_noise import BOX, CLIQUE, Block, Joint
from pandas_blowfish.plan.loss import EXACT, WorstCase
from pandas_blowfish.plan.scales import FARTHEST, Scales, fit_scales, variance
from pandas_blowfish.plan.shape.nonnegative import number_products
from pandas_blowfish.plan.tables.joint_search import (
    Found,
    Option,
    Together,
    apart,
    find_joint,
    largest,
    overlapping,
)
from pandas_blowfish.plan.tables.residual import Residual, WeightedTable
from pandas_blowfish.policy.graph.records import RecordGraph

if TYPE_CHECKING:
    from pandas_blowfish.plan.tables.question import MarginalCase, Marginals

Places = tuple[int, ...]
CLIQUES = "cliques"
MAX_TOLD = 4_000_000  # effects times tables up to which these are looked at
PROOF = (
    "Tables over {tables} sets of columns, in {groups} groups whose noise is drawn together: a neighbouring "
    "table moves one row along one edge of the policy, which moves it from one cell to another of each table "
    "that sees the change, within its component, where the noise adds up to 0; a difference between two "
    "halves of a table changes by 2. In the norm of a group, the largest of half the sum of changes of each "
    "component and of half the change of each difference, that is one step, and with the scales {scales} "
    "the worst pattern of groups loses exactly {epsilon}. Rows of scale 0 are counts or totals that no edge "
    "changes. The answers are put together from all tables by least squares, which is post-processing."
)


@dataclass(frozen=True, eq=False)
class JointTables(Residual):
    """Counts of the cells of several tables with noise that is drawn together in groups, and exact totals.

    Attributes:
        together: The numbers of the tables of each group; all of a group have the same weight.
        plain: The numbers of groups of one table whose cells have noise of their own: its change is 2 in L1.

    Proof note:
        Requires: no touched facts; no edge leads to where a row is not counted; `Changes.losses` and
                  `Marginals.groups` as their notes say.
        Ensures:  privacy loss <= epsilon.
        Because:  an edge changes a table of the group by e_y - e_x, x and y of one component, which has norm
                  1 in that component's clique, or not at all; a folded table by -2, 0 or 2, norm 1 in a box
                  of reach 2. The largest of these norms is 1 wherever a table of the group changes, and the
                  scales are the inverses of weights times the largest loss of these over epsilon, in
                  fractions. Cells of scale 0 are alone in their component, or nothing is counted there.
        Checked:  tests/privacy/test_joint_tables_loss.py::test_loss_of_random_instances
    """

    together: Together
    plain: tuple[int, ...]

    @property
    def proof_id(self) -> str:
        """Return where PROOFS.md argues it."""
        return "joint tables"

    @property
    def proof(self) -> str:
        """Return the argument in one paragraph."""
        return PROOF.format(
            tables=len(self.tables),
            groups=len(self.together),
            scales=", ".join(map(str, sorted(set(self.group_scales)))),
            epsilon=self.epsilon,
        )

    @property
    def form(self) -> dict[str, Any]:
        """Return the tables and their groups as plain data, to read a stored answer by."""
        groups = {"together": [list(group) for group in self.together], "plain": list(self.plain)}
        return {**super().form, **groups}

    @cached_property
    def group_scales(self) -> tuple[Fraction, ...]:
        """Return the noise scale of each group."""
        hits = [self.losses[:, list(group)].any(axis=1) for group in self.together]
        weights = [self.tables[group[0]].weight for group in self.together]
        return fit_scales(np.column_stack(hits) * self.steps, weights, self.epsilon)

    @property
    def steps(self) -> list[int]:
        """Return for each group how large a change of it is, in its norm."""
        return [2 if group in self.plain else 1 for group in range(len(self.together))]

    @cached_property
    def table_scales(self) -> tuple[Fraction, ...]:
        """Return the scale of each table: that of its group."""
        of = {table: scale for group, scale in zip(self.together, self.group_scales, strict=True) for table in group}
        return tuple(of[table] for table in range(len(self.tables)))

    @cached_property
    def components(self) -> list[Ints]:
        """Return for each table the component of each of its query rows, -1 where it needs no noise."""
        assert self.groups is not None
        return [
            np.zeros(1, dtype=np.int64)
            if table.folded
            else find_components(self.question, self.groups, table.places)
            for table in self.tables
        ]

    @cached_property
    def scales(self) -> Scales:
        """Return one scale a query row: those of a group, then that of what is exact."""
        begins = np.cumsum([0, *map(math.prod, self.shapes)])
        codes = np.full(sum(self.rows), len(self.together), dtype=np.int32)
        joint = {}
        for code, group in enumerate(self.together):
            for table in group:
                codes[begins[table] + np.flatnonzero(self.components[table] >= 0)] = code
            if code not in self.plain:
                joint[code] = Joint(tuple(self._blocks(group, begins)))
        return Scales([*self.group_scales, Fraction(0)], codes, joint)

    def _blocks(self, group: Sequence[int], begins: Ints) -> Iterator[Block]:
        """Yield the blocks of a group of tables, whose query rows begin at some numbers."""
        folded = [begins[table] for table in group if self.tables[table].folded]
        if folded:
            yield Block(BOX, np.array(folded), (2,) * len(folded))
        for table in group:
            for rows in () if self.tables[table].folded else rows_by_component(self.components[table]):
                yield Block(CLIQUE, begins[table] + rows)

    @property
    def drawable(self) -> bool:
        """Tell whether noise of these scales can be drawn together."""
        each = (self.scales.values[code] * (joint.dimension + 2) for code, joint in self.scales.joint.items())
        return max(each, default=0) < FARTHEST / 4

    @cached_property
    def row_variances(self) -> Floats:
        """Return the variance of each query row that needs noise, as exact totals leave it."""
        found, begins = np.zeros(len(self.scales)), np.cumsum([0, *map(math.prod, self.shapes)])
        for code, joint in self.scales.joint.items():
            found[joint.rows] = joint_variances(joint, self.scales.values[code])
        for code in self.plain:
            (table,) = self.together[code]
            own = self.components[table]
            inside = own[own >= 0]
            left = variance(self.group_scales[code]) * (1 - 1 / np.bincount(inside)[inside])
            found[begins[table] + np.flatnonzero(own >= 0)] = left
        return found

    @cached_property
    def variances_of_tables(self) -> list[float]:
        """Return how far each table's noise goes in every direction in which it varies.

        Of components of different sizes that is a mean, of which nothing but its order of size is used.
        """
        begins, found = np.cumsum([0, *map(math.prod, self.shapes)]), []
        for table, first in enumerate(begins[:-1]):
            own = self.row_variances[first : first + math.prod(self.shapes[table])]
            if self.tables[table].folded:
                found.append(float(own[0]))
                continue
            found.append(float(own.sum()) / dimension_of(self.components[table]))
        return found

    @cached_property
    def uneven(self) -> bool:
        """Tell whether some table has components of different sizes: then it tells nothing of another."""
        counts = (np.unique(np.bincount(each[each >= 0])) for each in self.components)
        return any(len(each[each > 0]) > 1 for each in counts) or self.question.narrowed

    def table_variances(self, places: Places) -> Floats:
        """Return the variance of each kept cell of an asked table, before shape constraints."""
        if not self.uneven:
            return super().table_variances(places)
        shape = [self.question.sizes[place] for place in places]
        for table, first in zip(self.tables, np.cumsum([0, *map(math.prod, self.shapes)]), strict=False):
            if table.places == places:
                return self.row_variances[first : first + math.prod(shape)].reshape(shape)
        return np.zeros(shape)

    @property
    def mse(self) -> float:
        """Return the mean variance of the answers."""
        return float(self.variances.mean()) if self.uneven else super().mse

    def table_covariance(self, places: Places) -> dict[str, Any] | None:
        """Return how errors of an asked table's counts go together, in the order of its columns."""
        return None if self.uneven else super().table_covariance(places)

    def worst_case(self, graph: RecordGraph) -> WorstCase:
        """Return what is lost over a graph that holds all edges this was planned under.

        Proof note:
            Requires: as of the class, of the groups of cells.
            Ensures:  no edge of the larger graph loses more; nothing where one changes an exact total.
            Because:  where every edge stays in the components, each group loses 1 / scale at most.
            Checked:  tests/privacy/test_joint_tables_loss.py::test_worst_case_over_larger_graphs
        """
        assert self.groups is not None
        wider = self.question.groups_of(graph)
        if self.question.leaves(graph) or any(
            len(np.unique(np.column_stack([own, new]), axis=0)) > len(np.unique(new))
            for own, new in zip(self.groups, wider, strict=True)
        ):
            return WorstCase(None, EXACT)
        each = zip(self.steps, self.group_scales, strict=True)
        return WorstCase(sum((step / scale for step, scale in each), Fraction(0)))


def find_components(question: Marginals, groups: Sequence[Ints], places: Places) -> Ints:
    """Return the component of each kept cell of a table; -1 where it is alone, or nothing is counted."""
    label = number_products([groups[place] for place in places])
    held = question.occupied_cells(places)
    label = label if held is None else np.where(held.ravel(), label, -1)
    many = np.bincount(label[label >= 0], minlength=int(label.max(initial=0)) + 1)
    return np.where((label >= 0) & (many[label] > 1), label, -1)


def rows_by_component(components: Ints) -> list[Ints]:
    """Return the cells of each component."""
    order = np.argsort(components, kind="stable")[(components < 0).sum() :]
    cuts = np.flatnonzero(np.diff(components[order])) + 1
    return [each for each in np.split(order, cuts) if len(each)]


def dimension_of(components: Ints) -> int:
    """Return in how many dimensions the noise of components varies."""
    inside = components[components >= 0]
    return len(inside) - len(np.unique(inside))


class CliquesBuilder:
    """Tables whose noise is drawn together, where no edge leads to where a row is not counted."""

    name = CLIQUES

    def build(self, case: MarginalCase) -> Iterator[JointTables]:
        """Yield the best that a search finds; nothing where it does not apply."""
        if case.one or case.cover.changes.leaves or not case.cover.effects[0]:
            return
        if (found := _find(case)) is not None:
            made = _make(case, found.tables, found.together, found.plain)
            if made.drawable:
                yield made

    def reread(self, case: MarginalCase, form: Mapping[str, Any]) -> JointTables:
        """Return the tables that `form` lists."""
        together = tuple(tuple(map(int, group)) for group in form["together"])
        return _make(case, form["tables"], together, tuple(map(int, form["plain"])))


def _make(
    case: MarginalCase, tables: Sequence[Sequence[Any]], together: Together, plain: tuple[int, ...]
) -> JointTables:
    listed = tuple(WeightedTable(tuple(each[0]), tuple(each[1]), each[2]) for each in tables)
    groups = case.question.groups(case.policy)
    return JointTables(CLIQUES, case.question, listed, case.cover, groups, case.epsilon, together, plain)


def _find(case: MarginalCase) -> Found | None:
    """Return the tables and groups of the least error; None where tables cannot be put together.

    Tables that share a column which an edge may change must agree, and are put together from effects: that
    takes components that are equally large.
    """
    cover, asked = case.cover, Shapes(case.question, case.question.groups(case.policy))
    noisy = [places for places in case.question.sets if len(asked.sizes(places))]
    moving = [place for places in noisy for place in places if cover.secret[place]]
    if len(set(moving)) == len(moving):
        return find_joint([apart(noisy, [asked.sizes(places) for places in noisy], cover)])
    if case.question.narrowed:
        return None
    effects, widest = cover.effects[0], largest(noisy, len(cover.sizes))
    ways: list[list[Option]] = [[(each, ()) for each in noisy], [(each, ()) for each in widest]]
    ways.append([(places, folded) for places, folded, _ in case.best_tables])
    ways.append([(each, each) for each in effects if cover.foldable(each) == each])
    tried = []
    for options in {tuple(sorted(each)): each for each in ways}.values():
        if not options or len(options) * len(effects) > MAX_TOLD:
            continue
        tells = cover.tells(options) @ np.ones(len(options)) > 0
        shapes = [asked.shape(places, folded) for places, folded in options]
        if tells.all() and None not in shapes:
            tried.append(overlapping(options, [each for each in shapes if each is not None], cover))
    return find_joint(tried)


@dataclass(frozen=True, eq=False)
class Shapes:
    """Into which components, by groups of cells that no edge leaves, tables fall."""

    question: Marginals
    groups: Sequence[Ints]

    def sizes(self, places: Places) -> Ints:
        """Return how many cells each component has that needs noise."""
        own = find_components(self.question, self.groups, places)
        many = np.bincount(own[own >= 0])
        return many[many > 0]

    def shape(self, places: Places, folded: Places) -> tuple[int, int] | None:
        """Return how many components a table has and how large all are; None where they differ, or it is part folded."""
        sizes = self.sizes(places)
        if folded:
            return (1, 2) if folded == places else None
        return (len(sizes), int(sizes[0])) if len(sizes) and not np.ptp(sizes) else None
