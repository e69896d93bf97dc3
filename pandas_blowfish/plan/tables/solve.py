"""Marginals put together from measured tables, effect by effect: they agree with each other exactly.

Free post-processing: never sees rows. The full joint table is never made.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.given import Family, Given
from pandas_blowfish.plan.shape.agree import agree
from pandas_blowfish.plan.shape.coarse import shape_sums
from pandas_blowfish.plan.shape.nonnegative import (
    EASE,
    MAX_SUMS,
    Agreement,
    Mask,
    TableLimits,
    known_limits,
    lift,
    number_products,
    settle,
)
from pandas_blowfish.plan.shape.simplex import shape
from pandas_blowfish.plan.shape.solved import Solved, without_dust
from pandas_blowfish.plan.tables.identity import Identity
from pandas_blowfish.plan.tables.residual import Residual

if TYPE_CHECKING:
    from pandas_blowfish.plan.tables.question import Marginals


def solve_counts(measurement: Identity, values: Ints, post: bool | str, given: Given | None) -> Solved:
    """Return counts of bins from the noisy ones, that agree with exact totals and known sums.

    Unshaped counts are the noisy ones less what they are too much together, which is taken from all alike.
    """
    size, parts = len(measurement.index), measurement.parts
    noisy, totals = values[:size].astype(np.float64), values[size:].astype(np.float64)
    families = given.over(measurement.tally) if given else []
    known, free = [*families, Family(parts.total_of, totals)], (~parts.alone).astype(np.float64)
    unshaped = noisy
    if families:
        unshaped = without_dust(agree(noisy, known, positive=False, spread=free))
    elif len(totals):
        inside = parts.total_of >= 0
        sums = np.bincount(parts.total_of[inside], noisy[inside], parts.totals)
        gaps = (sums - totals) / np.bincount(parts.total_of[inside], minlength=parts.totals)
        unshaped = noisy - np.where(inside, gaps[parts.total_of], 0.0)
    if not post or measurement.scale == 0:
        return Solved(unshaped, unshaped)
    shaped, moving = unshaped.copy(), ~parts.alone
    own = measurement.noise_variance
    shaped[moving] = shape_sums(unshaped[moving], parts.total_of[moving], totals, own)
    if families:
        spread = free * (
            shaped + max(1.0, float(shaped.mean()))
        )  # large counts move more, and small ones too
        shaped = without_dust(agree(shaped, known, positive=True, spread=spread))
    return Solved(shaped, unshaped)


Places = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Together:
    """All cells of some tables, one after another.

    Attributes:
        sizes: How many cells each column has.
        order: The tables, by their columns.
        spread: The variance of each cell.
        facts: What is known of the cells.
        ties: That tables agree with each other and with exact totals.
        still: Sets of columns whose whole tables are known.
    """

    sizes: Sequence[int]
    order: tuple[Places, ...]
    spread: Floats
    facts: list[Family]
    ties: list[Family]
    still: list[Places]

    @classmethod
    def of(cls, measurement: Residual, tables: Mapping[Places, Floats], given: Given) -> Together:
        """Return the cells of estimated tables, and what is known of them."""
        question, order = measurement.question, tuple(tables)
        starts = np.cumsum([0, *(table.size for table in tables.values())])
        size, facts, ties = int(starts[-1]), [], []
        named = {name for fact in given.facts for name in fact.columns}
        for number, (places, start) in enumerate(zip(order, starts, strict=False)):
            columns = {question.domain.columns[place] for place in places}
            if number == 0 or columns & named or question.narrowed:
                found = given.over(question.table(places))
                facts += [_placed(family, start, size) for family in found]
            if measurement.groups is not None:
                ties.append(_placed(_exact(measurement, places, tables[places]), start, size))
        ties += [
            _tied(question.sizes, order, starts, pair, shared)
            for shared, pairs in _shared(order)
            for pair in pairs
        ]
        spread = np.concatenate([measurement.table_variances(each).ravel() for each in order])
        return cls(question.sizes, order, spread, facts, ties, _known_tables(question, given))

    def make_agree(self, tables: Mapping[Places, Floats], *, positive: bool) -> dict[Places, Floats]:
        """Return tables near those given that agree with all that is known, perhaps nowhere negative."""
        listed = np.concatenate([tables[places].ravel() for places in self.order])
        found = agree(listed, [*self.facts, *self.ties], positive=positive, spread=self.spread)
        shapes = [tuple(self.sizes[place] for place in places) for places in self.order]
        cuts = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
        parts = zip(self.order, np.split(found, cuts), shapes, strict=True)
        return {places: part.reshape(shape) for places, part, shape in parts}


def _known_tables(question: Marginals, given: Given) -> list[Places]:
    """Return the sets of columns whose tables are public facts, of all rows."""
    if question.narrowed:
        return []
    place = {name: rank for rank, name in enumerate(question.domain.columns)}
    tables = [fact.columns for fact in given.facts if fact.condition is None]
    return [tuple(sorted(place[name] for name in columns if name in place)) for columns in tables]


def _placed(family: Family, start: int, size: int) -> Family:
    """Return what is known of one table as known of all, whose cells begin at a place."""
    labels = np.full(size, -1, dtype=np.int64)
    labels[start : start + len(family.labels)] = family.labels
    return Family(labels, family.totals, family.rows)


def _exact(measurement: Residual, places: Places, table: Floats) -> Family:
    """Return the exact totals of products of groups, which an estimated table has already."""
    labels = _products(measurement, places)
    return Family(labels, np.rint(np.bincount(labels, table.ravel())))


def _shared(order: Sequence[Places]) -> list[tuple[Places, list[tuple[int, int]]]]:
    """Return sets of columns that tables share, largest first, and pairs of tables to compare over each.

    Tables that agree on more columns by other pairs need no pair of their own.
    """
    both = {tuple(sorted(set(one) & set(two))) for one, two in itertools.combinations(order, 2)}
    found: list[tuple[Places, list[tuple[int, int]]]] = []
    for shared in sorted(both, key=lambda each: (-len(each), each)):
        holders = [number for number, each in enumerate(order) if set(shared) <= set(each)]
        group = {number: number for number in holders}
        for wider, pairs in found:
            if set(shared) <= set(wider):
                for one, two in pairs:
                    _join(group, one, two)
        pairs = []
        for number in holders[1:]:
            if group[number] != group[holders[0]]:
                pairs.append((holders[0], number))
                _join(group, holders[0], number)
        if pairs:
            found.append((shared, pairs))
    return found


def _join(group: dict[int, int], one: int, two: int) -> None:
    old, new = group[two], group[one]
    for number, own in group.items():
        if own == old:
            group[number] = new


def _tied(
    sizes: Sequence[int], order: Sequence[Places], starts: Ints, pair: tuple[int, int], shared: Places
) -> Family:
    """Return that two tables have the same sums over the columns they do not share."""
    from scipy.sparse import eye_array, hstack

    many = math.prod(sizes[place] for place in shared)
    labels = np.full(int(starts[-1]), -1, dtype=np.int64)
    for side, number in enumerate(pair):
        own = np.zeros(1, dtype=np.int64)
        for place in order[number]:
            held = place in shared
            step = np.arange(sizes[place]) if held else np.zeros(sizes[place], dtype=np.int64)
            own = (own[:, None] * (sizes[place] if held else 1) + step).ravel()
        labels[starts[number] : starts[number + 1]] = own + side * many
    one = eye_array(many, dtype=np.int64)
    return Family(labels, np.zeros(many, dtype=np.int64), hstack([one, -one], format="csr"))


SIGNED = "signed"  # of several tables: those that agree, negative counts and all
WIDE = 10.0  # standard errors
SHARES = (0.1, 0.01, 0.0)  # of the noise that are kept where not all can be


@dataclass(frozen=True, eq=False)
class Source:
    """A noisy table: its columns, those of them that are folded, its counts (folded axes left out)."""

    places: Places
    folded: Places
    counts: Floats
    variance: float


def solve_marginals(measurement: Residual, values: Ints, post: bool | str, given: Given | None) -> Solved:
    """Return the asked tables, one after another, each in the order asked.

    Args:
        measurement: What was measured.
        values: The noisy value of every measured row.
        post: False or "signed" for the unbiased estimates, which agree; else they also are not negative.
        given: Public facts with known answers; each holds in every table that can tell it.

    Proof note:
        Requires: a release already paid for.
        Ensures:  the estimate of least variance among linear unbiased ones; tables agree on every shared
                  sub-marginal and on every exact total.
        Because:  noise of one variance in all cells of a table is as large, and independent, in each of
                  its effects (they are orthogonal), so effects are averaged one by one with weights of
                  inverse variance; what is exact replaces its part.
        Checked:  tests/plan/tables/test_solve.py::test_equals_dense_least_squares
    """
    sources, totals = _split(measurement, values)
    tables = _estimates(measurement, sources, totals)
    question, most = measurement.question, _most(measurement, totals)
    held = {places: question.occupied_cells(places) for places in tables}
    if any(each is not None for each in held.values()):  # linear, so what was unbiased stays so
        tables = _without_impossible(measurement, tables, held)
    before = without_dust(question.list_answers(tables))
    positive, one = bool(post) and post != SIGNED, len(question.asked) == 1
    known = Together.of(measurement, tables, given) if given else None
    known = known if known is not None and known.facts else None
    if known is not None:
        tables = known.make_agree(tables, positive=positive and one)
    elif positive and one:
        tables = {
            places: _shaped(measurement, places, table, held[places], open_=True)
            for places, table in tables.items()
        }
    if positive and not one:
        tables = _lifted(measurement, tables, held, known)
    return Solved(without_dust(question.list_answers(tables)), before, most)


def _split(measurement: Residual, values: Ints) -> tuple[list[Source], dict[Places, Floats]]:
    """Return measured values as noisy tables and as tables of exact totals."""
    sources, at = [], 0
    for table, form, spread in zip(
        measurement.tables, measurement.shapes, measurement.variances_of_tables, strict=True
    ):
        size = math.prod(form)
        counts = values[at : at + size].astype(np.float64).reshape(form)
        sources.append(Source(table.places, table.folded, counts, spread))
        at += size
    totals = {}
    for places, form in zip(measurement.totals, measurement.total_shapes, strict=True):
        size = math.prod(form)
        totals[places] = values[at : at + size].astype(np.float64).reshape(form)
        at += size
    return sources, totals


def _estimates(
    measurement: Residual, sources: Sequence[Source], totals: Mapping[Places, Floats]
) -> dict[Places, Floats]:
    """Return the best estimate of every asked table, columns in the domain's order."""
    sizes = measurement.question.sizes
    needed = {
        effect
        for places in measurement.question.sets
        for many in range(len(places) + 1)
        for effect in itertools.combinations(places, many)
    }
    effects = _effects(sizes, sources, needed)
    found = {}
    for places in measurement.question.sets:
        table = np.zeros([sizes[place] for place in places])
        for many in range(len(places) + 1):
            for effect in itertools.combinations(places, many):
                if effect in effects:
                    rest = math.prod(sizes[place] for place in places if place not in effect)
                    table += _spread(effects[effect], effect, places) / rest
        found[places] = _with_totals(measurement, places, table, totals)
    return found


def _effects(sizes: Sequence[int], sources: Sequence[Source], needed: set[Places]) -> dict[Places, Floats]:
    """Return each effect as all sources together tell it: weights of inverse variance."""
    sums: dict[Places, Floats] = {}
    weights: dict[Places, float] = {}
    for source in sources:
        free = [place for place in source.places if place not in source.folded]
        for many in range(len(free) + 1):
            for part in itertools.combinations(free, many):
                effect = tuple(sorted((*part, *source.folded)))
                if effect not in needed:
                    continue
                gone = tuple(rank for rank, place in enumerate(free) if place not in part)
                table = source.counts.sum(axis=gone)
                for place in sorted(source.folded):
                    axis = effect.index(place)
                    kept = [each for each in effect[:axis] if each in part or each in source.folded]
                    table = np.stack([table / 2, -table / 2], axis=len(kept))
                rest = math.prod(sizes[place] for place in free if place not in part)
                weight = 2.0 ** len(source.folded) / (source.variance * rest)
                sums[effect] = sums.get(effect, 0.0) + weight * table
                weights[effect] = weights.get(effect, 0.0) + weight
    return {effect: _centred(table / weights[effect]) for effect, table in sums.items()}


def _centred(table: Floats) -> Floats:
    """Return what varies with every column: means along each axis taken away."""
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def _spread(table: Floats, effect: Places, places: Places) -> Floats:
    """Return a table over some columns, the same for all values of the others."""
    return np.expand_dims(table, [rank for rank, place in enumerate(places) if place not in effect])


def _with_totals(
    measurement: Residual, places: Places, table: Floats, totals: Mapping[Places, Floats]
) -> Floats:
    """Return the nearest table whose exact totals are right."""
    if measurement.groups is None:
        return table
    split = measurement.split(places)
    known = next(each for each in totals if set(split) <= set(each))
    right = totals[known].sum(axis=tuple(n for n, place in enumerate(known) if place not in split))
    found, many = table, np.ones(())
    for axis, place in enumerate(places):
        group = measurement.groups[place]
        order = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[order], np.arange(int(group.max(initial=-1)) + 1))
        found = np.add.reduceat(np.take(found, order, axis=axis), starts, axis=axis)
        many = many[..., None] * np.bincount(group)
    gap = (right.reshape(found.shape) - found) / many
    for axis, place in enumerate(places):
        gap = np.take(gap, measurement.groups[place], axis=axis)
    return np.asarray(table + gap)


def _without_impossible(
    measurement: Residual, tables: Mapping[Places, Floats], held: Mapping[Places, Mask | None]
) -> dict[Places, Floats]:
    """Return the nearest tables that agree and are 0 where the filter lets nothing through."""
    kept = [np.ones(each.shape) if held[places] is None else held[places] for places, each in tables.items()]
    limits = TableLimits(np.concatenate([np.asarray(each, dtype=np.float64).ravel() for each in kept]))
    order, groups = tuple(tables), measurement.groups
    agreement = Agreement(measurement.question.sizes, order, groups)
    start = _listed(tables)
    return _tables_of(np.where(limits.empty, 0.0, settle(start, start, agreement, limits)), tables)


def _lifted(
    measurement: Residual,
    tables: Mapping[Places, Floats],
    held: Mapping[Places, Mask | None],
    known: Together | None,
) -> dict[Places, Floats]:
    """Return tables near those given that still agree and are nowhere negative.

    A table that shares no column with another is shaped by itself; the number of rows stays what it is.
    """
    often = Counter(itertools.chain.from_iterable(tables))
    alone = [places for places in tables if known is None and all(often[place] == 1 for place in places)]
    found = {places: _shaped(measurement, places, tables[places], held[places]) for places in alone}
    rest = {places: each for places, each in tables.items() if places not in found}
    if not rest or sum(each.size << each.ndim for each in rest.values()) > MAX_SUMS:
        return {**tables, **found}
    even = [_even(measurement, places, each, held[places]).ravel() for places, each in rest.items()]
    still = ((),) if known is None else ((), *known.still)
    agreement = Agreement(measurement.question.sizes, tuple(rest), measurement.groups, EASE, still)
    limits = known_limits(np.concatenate(even), [] if known is None else known.facts, agreement)
    lifted = lift(_listed(rest), agreement, limits)
    if lifted is None:  # known sums leave hardly any room beside the noise: less of it is kept
        middle = _tables_of(limits.even, rest)
        middle = known.make_agree(middle, positive=False) if known is not None else middle
        start = _listed(middle)
        tries = (lift(start + share * (_listed(rest) - start), agreement, limits) for share in SHARES)
        lifted = next((each for each in tries if each is not None), np.maximum(start, 0.0))
    return {**_tables_of(lifted, rest), **found}


def _listed(tables: Mapping[Places, Floats]) -> Floats:
    """Return all cells of tables, one after another."""
    return np.concatenate([each.ravel() for each in tables.values()])


def _tables_of(listed: Floats, like: Mapping[Places, Floats]) -> dict[Places, Floats]:
    """Return listed cells as tables of the shapes of others."""
    parts = np.split(listed, np.cumsum([each.size for each in like.values()])[:-1])
    pairs = zip(like.items(), parts, strict=True)
    return {places: part.reshape(each.shape) for (places, each), part in pairs}


def _even(measurement: Residual, places: Places, table: Floats, held: Mask | None) -> Floats:
    """Return the rows of a table, or of each exact total in it, spread evenly over where they can be.

    No more of them than some standard errors: what counts are lifted to is a share of these.
    """
    label = _products(measurement, places)
    kept = np.ones(table.size, dtype=bool) if held is None else held.ravel()
    rows, many = np.bincount(label, table.ravel()), np.bincount(label, kept)
    rows = rows if measurement.groups is None else np.rint(rows)
    each = (np.maximum(rows, 0.0) / np.maximum(many, 1))[label].reshape(table.shape)
    spread = measurement.table_variances(places)
    return np.where(
        kept.reshape(table.shape), np.where(spread > 0, np.minimum(each, WIDE * np.sqrt(spread)), each), 0.0
    )


def _products(measurement: Residual, places: Places) -> Ints:
    """Return for each cell of a table the product of groups, whose total is exact; 0 where none is."""
    sizes, groups = measurement.question.sizes, measurement.groups
    each = (np.zeros(sizes[place], dtype=np.int64) if groups is None else groups[place] for place in places)
    return number_products(list(each))


def _shaped(
    measurement: Residual, places: Places, table: Floats, held: Mask | None, *, open_: bool = False
) -> Floats:
    """Return the nearest non-negative table with the same exact totals; else, unless open, the same sum."""
    if open_ and measurement.groups is None:
        return np.maximum(table, 0.0)
    label = _products(measurement, places)
    totals = np.bincount(label, table.ravel())
    totals = np.maximum(totals if measurement.groups is None else np.rint(totals), 0.0)
    label = label if held is None else np.where(held.ravel(), label, -1)
    return np.where(label < 0, 0.0, shape(table.ravel(), label, totals.astype(np.float64)).counts).reshape(
        table.shape
    )


def _most(measurement: Residual, totals: Mapping[Places, Floats]) -> float | None:
    """Return what no count exceeds: the number of rows, where that is exact."""
    return None if measurement.groups is None else float(next(iter(totals.values())).sum())
