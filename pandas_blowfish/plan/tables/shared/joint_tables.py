"""Shared: tables whose noise is drawn together, group after group, so that an edge pays once per group.

Never sees rows. A record that moves changes a table from one cell to another of the same component (cells
that edges lead between). A component is a clique: the noise of its cells adds up to 0, so its total is exact.
A table of two-valued columns that is folded to one number changes by 2 or not at all.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.joint_noise import BOX, CLIQUE, Block, Joint
from pandas_blowfish.plan.joint_noise.joint_law import joint_variances
from pandas_blowfish.plan.loss import EXACT, WorstCase
from pandas_blowfish.plan.scales import FARTHEST, TOGETHER, Scales, fit_scales, variance
from pandas_blowfish.plan.shape.nonnegative import number_products
from pandas_blowfish.plan.tables.cover import Option
from pandas_blowfish.plan.tables.residual import Residual, WeightedTable
from pandas_blowfish.plan.tables.shared.joint_search import (
    MAX_CLASSES,
    Found,
    Parts,
    Together,
    choose_apart,
    choose_overlapping,
    find_joint,
    find_largest,
)
from pandas_blowfish.policy.graph.records import RecordGraph

if TYPE_CHECKING:
    from pandas_blowfish.plan.tables.question import MarginalCase, Marginals

Places = tuple[int, ...]
SHARED = "shared"
MAX_KINDS = 256  # of noise in one release
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
        shared: For each group columns that all its tables have: rows whose cells of these are in other groups
            that no edge leaves are of another class, with noise of its own.
        plain: The numbers of groups of one table whose cells have noise of their own: a change is 2, in L1.

    Proof note:
        Requires: no touched facts; no edge leads to where a row is not counted; `Changes.losses` and
                  `Marginals.groups` as their notes say.
        Ensures:  privacy loss <= epsilon.
        Because:  an edge changes a table of the group by e_y - e_x, x and y of one component, which has norm
                  1 in that component's clique, or not at all; a folded table by -2, 0 or 2, norm 1 in a box
                  of reach 2. The row stays in its class, as no edge leaves a group of cells, so one class
                  changes, by the largest of these norms: 1. The scales are the inverses of weights times the
                  largest loss of these over epsilon, in fractions. Cells of scale 0 are alone in their
                  component, or nothing is counted there.
        Checked:  tests/privacy/test_joint_tables_loss.py::test_loss_of_random_instances
    """

    together: Together
    shared: tuple[Places, ...]
    plain: tuple[int, ...]

    @property
    def proof_id(self) -> str:
        """Return where PROOFS.md argues it."""
        return "shared"

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
    def noise_terms(self) -> str:
        """Return that answers are weighted sums of noises that are drawn together."""
        return TOGETHER

    @property
    def form(self) -> dict[str, Any]:
        """Return the tables and their groups as plain data, to read a stored answer by."""
        groups = {"together": [list(group) for group in self.together], "plain": list(self.plain)}
        return {**super().form, **groups, "shared": [list(each) for each in self.shared]}

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
        of = {
            table: scale
            for group, scale in zip(self.together, self.group_scales, strict=True)
            for table in group
        }
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
    def begins(self) -> Ints:
        """Return the first query row of each table, and the first that is exact."""
        return np.cumsum([0, *map(math.prod, self.shapes)])

    @cached_property
    def classes(self) -> list[list[list[tuple[int, Ints]]]]:
        """Return for each group its classes, for each class the components of tables that are in it."""
        found = []
        for group, shared in zip(self.together, self.shared, strict=True):
            classes: dict[int, list[tuple[int, Ints]]] = {}
            for table in group:
                of = self._class_of(table, shared)
                for rows in rows_by_component(self.components[table]):
                    classes.setdefault(int(of[rows[0]]), []).append((table, rows))
            found.append(list(classes.values()))
        return found

    def _class_of(self, table: int, shared: Places) -> Ints:
        """Return the class of each query row of a table."""
        assert self.groups is not None
        own = self.tables[table]
        kept = [place for place in own.places if place not in own.folded]
        zero = (np.zeros(self.question.sizes[place], dtype=np.int64) for place in kept)
        each = (self.groups[p] if p in shared else z for p, z in zip(kept, zero, strict=True))
        return number_products(list(each))

    @cached_property
    def scales(self) -> Scales:
        """Return one scale a query row: class after class of each group, then that of what is exact."""
        codes, joint = np.full(sum(self.rows), -1, dtype=np.int32), {}
        values: list[Fraction] = []
        for group, (classes, scale) in enumerate(zip(self.classes, self.group_scales, strict=True)):
            for each in [[*itertools.chain(*classes)]] if group in self.plain else classes:
                for table, rows in each:
                    codes[self.begins[table] + rows] = len(values)
                if group not in self.plain:
                    joint[len(values)] = Joint(tuple(self._blocks(each)))
                values.append(scale)
        codes[codes < 0] = len(values)
        return Scales([*values, Fraction(0)], codes, joint)

    def _blocks(self, parts: Sequence[tuple[int, Ints]]) -> Iterator[Block]:
        """Yield the blocks of a class of components of tables."""
        folded = [self.begins[table] for table, _ in parts if self.tables[table].folded]
        if folded:
            yield Block(BOX, np.array(folded), (2,) * len(folded))
        for table, rows in parts:
            if not self.tables[table].folded:
                yield Block(CLIQUE, self.begins[table] + rows)

    @property
    def joints(self) -> Iterator[tuple[int, Joint]]:
        """Return which query rows draw their noise together, by the code of their scale."""
        return ((code, Joint(each.blocks)) for code, each in self.scales.joint.items())

    @property
    def drawable(self) -> bool:
        """Tell whether noise of these scales can be drawn together."""
        each = (self.scales.values[code] * (joint.dimension + 2) for code, joint in self.joints)
        return max(each, default=0) < FARTHEST / 4

    @cached_property
    def row_variances(self) -> Floats:
        """Return the variance of each query row that needs noise, as exact totals leave it."""
        found = np.zeros(len(self.scales))
        for code, joint in self.joints:
            found[joint.rows] = joint_variances(joint, self.scales.values[code])
        for group in self.plain:
            (table,) = self.together[group]
            one = variance(self.group_scales[group])
            for rows in rows_by_component(self.components[table]):
                found[self.begins[table] + rows] = one * (1 - 1 / len(rows))
        return found

    @cached_property
    def spreads(self) -> list[Floats]:
        """Return for each table how far the noise of each of its components goes in every direction."""
        found = []
        for table, first in enumerate(self.begins[:-1].tolist()):
            rows = rows_by_component(self.components[table])
            first_of_each = [(int(own[0]), len(own)) for own in rows]
            each = [self.row_variances[first + row] * many / max(many - 1, 1) for row, many in first_of_each]
            found.append(np.array(each))
        return found

    @cached_property
    def variances_of_tables(self) -> list[float]:
        """Return how far each table's noise goes in every direction in which it varies.

        Where that differs, it is a mean, of which nothing but its order of size is used.
        """
        return [min(max(float(each.mean()), 1e-200), 1e200) for each in self.spreads]

    @cached_property
    def uneven(self) -> bool:
        """Tell whether noise goes further in some components of a table: it then tells nothing of others."""
        return self.question.narrowed or any(np.ptp(each) > 1e-9 * each.max() for each in self.spreads)

    def table_variances(self, places: Places) -> Floats:
        """Return the variance of each kept cell of an asked table, before shape constraints."""
        if not self.uneven:
            return super().table_variances(places)
        shape = [self.question.sizes[place] for place in places]
        for table, first in zip(self.tables, self.begins.tolist(), strict=False):
            if table.places == places:
                return self.row_variances[first : first + math.prod(shape)].reshape(shape)
        return np.zeros(shape)

    @property
    def mse(self) -> float:
        """Return the mean variance of the answers."""
        return float(self.variances.mean()) if self.uneven else super().mse

    def table_covariance(self, places: Places) -> dict[str, Any] | None:
        """Return how errors of an asked table's counts go together, in the order of its columns."""
        if not self.uneven:
            return super().table_covariance(places)
        from pandas_blowfish.plan.shape.covariance import describe_parts  # here: it reads strategies
        from pandas_blowfish.plan.shape.line_records import ALONE

        order, question = tuple(sorted(places)), self.question
        codes = np.full([question.whole.shape[place] for place in order], ALONE, dtype=np.int64)
        table = next((n for n, each in enumerate(self.tables) if each.places == order), None)
        if table is None:  # all its counts are exact
            return describe_parts(codes.ravel(), np.zeros(0), Fraction(0))
        own = np.full(math.prod(self.shapes[table]), ALONE, dtype=np.int64)
        for number, rows in enumerate(rows_by_component(self.components[table])):
            own[rows] = number
        codes[np.ix_(*(question.kept_bins[place] for place in order))] = own.reshape(self.shapes[table])
        turned = codes.transpose([order.index(place) for place in places]).ravel()
        return describe_parts(turned, self.spreads[table], self.table_scales[table])

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


class SharedBuilder:
    """Tables whose noise is drawn together, where no edge leads to where a row is not counted."""

    name = SHARED

    def build(self, case: MarginalCase) -> Iterator[JointTables]:
        """Yield the best that a search finds; nothing where it does not apply."""
        if case.one or case.cover.changes.leaves or not case.cover.effects[0]:
            return
        if (found := _find(case)) is not None:
            made = _make(case, found)
            if made.drawable and len(made.scales.values) <= MAX_KINDS:
                yield made

    def reread(self, case: MarginalCase, form: Mapping[str, Any]) -> JointTables:
        """Return the tables that `form` lists."""
        tables = [(tuple(each[0]), tuple(each[1]), each[2]) for each in form["tables"]]
        together, shared = (
            tuple(tuple(map(int, each)) for each in form[key]) for key in ("together", "shared")
        )
        return _make(case, Found(tables, together, shared, tuple(map(int, form["plain"]))))


def _make(case: MarginalCase, found: Found) -> JointTables:
    listed, question = tuple(WeightedTable(*each) for each in found.tables), case.question
    own = (SHARED, question, listed, case.cover, question.groups(case.policy), case.epsilon)
    return JointTables(*own, found.together, found.shared, found.plain)


def _find(case: MarginalCase) -> Found | None:
    """Return the tables and groups of the least error; None where tables cannot be put together.

    Tables that share a column which an edge may change must agree, and are put together from effects: that
    takes components that are equally large.
    """
    cover, question = case.cover, case.question
    asked = Components(question, question.groups(case.policy), ())
    noisy = [places for places in question.sets if len(asked.parts(places).cells)]
    shared = tuple(sorted(set(noisy[0]).intersection(*noisy)))
    split = replace(asked, shared=shared)
    split = split if all(split.few(places) for places in noisy) else asked
    moving = [place for places in noisy for place in places if cover.secret[place]]
    if len(set(moving)) == len(moving):
        return find_joint(
            [choose_apart(noisy, split.shared, [split.parts(places) for places in noisy], cover)]
        )
    if question.narrowed:
        return None
    split = split if all(split.even(places) for places in noisy) else asked
    effects, widest = cover.effects[0], find_largest(noisy, len(cover.sizes))
    ways: list[list[Option]] = [[(each, ()) for each in noisy], [(each, ()) for each in widest]]
    ways.append([(places, folded) for places, folded, _ in case.best_tables])
    ways.append([(each, each) for each in effects if cover.foldable(each) == each])
    tried = []
    for options in {tuple(sorted(each)): each for each in ways}.values():
        if not options or len(options) * len(effects) > MAX_TOLD:
            continue
        tells = cover.tells(options) @ np.ones(len(options)) > 0
        if tells.all() and all(split.fits(*each) for each in options):
            parts = [FOLDED_PARTS if folded else split.parts(places) for places, folded in options]
            tried.append(choose_overlapping(options, split.shared, parts, cover))
    return find_joint(tried)


FOLDED_PARTS = Parts(np.array([2]), np.zeros(1, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Components:
    """Into which components tables fall, by groups of cells that no edge leaves, and into which classes."""

    question: Marginals
    groups: Sequence[Ints]
    shared: Places
    _found: dict[Places, Parts] = field(default_factory=dict, init=False)

    def parts(self, places: Places) -> Parts:
        """Return how many cells each component has that needs noise, and its class."""
        if places not in self._found:
            self._found[places] = self._find_parts(places)
        return self._found[places]

    def _find_parts(self, places: Places) -> Parts:
        rows = rows_by_component(find_components(self.question, self.groups, places))
        zero = (np.zeros(self.question.sizes[place], dtype=np.int64) for place in places)
        own = [self.groups[p] if p in self.shared else z for p, z in zip(places, zero, strict=True)]
        of, first = number_products(own), np.array([each[0] for each in rows], dtype=np.int64)
        return Parts(np.array([len(each) for each in rows], dtype=np.int64), of[first])

    def few(self, places: Places) -> bool:
        """Tell whether a table is in few enough classes."""
        return len(np.unique(self.parts(places).classes)) <= MAX_CLASSES

    def even(self, places: Places) -> bool:
        """Tell whether all classes, of which there is none without, hold as many components of a table."""
        own = self.parts(places)
        return not np.ptp(np.bincount(own.classes)) and not np.ptp(own.cells)

    def fits(self, places: Places, folded: Places) -> bool:
        """Tell whether a table tells effects: its classes are even; all of a folded one's columns are."""
        if folded:
            return folded == places and not self.shared
        own = self.parts(places)
        return len(own.cells) > 0 and set(self.shared) <= set(places) and self.even(places)
