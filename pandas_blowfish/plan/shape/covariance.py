"""How errors of the counts along lines go together, as plain data: the exact error of any sum of a release.

A receipt holds what a strategy's `covariance` describes: what was measured, with which scales, and what is
exact. `range_variances` and `sum_variances` read it. Never sees rows. Lists are written as runs, [value, how
often].
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.sensitivity import ExactParts
from pandas_blowfish.plan.shape.line_records import (
    ALONE,
    MAX_CELLS,
    READERS,
    WEIGHERS,
    from_runs,
    laid,
    read_codes,
    to_runs,
    widths,
)

if TYPE_CHECKING:
    from pandas_blowfish.plan.line.runs import Nested
    from pandas_blowfish.plan.line.tree import Tree
    from pandas_blowfish.plan.linear.line_rows import Optimised
    from pandas_blowfish.plan.tables.identity import CliqueCounts, Identity
    from pandas_blowfish.plan.tables.residual import Residual

Record = dict[str, Any]


def describe_cells(made: Identity) -> Record | None:
    """Return how errors of single counts go together: they are independent but for exact totals."""
    return _complete({"of": "cells", "exact": to_runs(_codes(made.parts)), "scales": [str(made.scale)]})


def describe_cliques(made: CliqueCounts) -> Record | None:
    """Return the same of counts whose noise sums to 0 over each total: how wide that of each total is."""
    spreads = made.spreads.tolist()
    return _complete({**(describe_cells(made) or {"exact": None}), "spreads": spreads})


def describe_parts(codes: Ints, spreads: Floats, scale: Fraction) -> Record | None:
    """Return the same of counts of which each has the number of its total, or is exact: `ALONE`."""
    stated = {"of": "cells", "exact": to_runs(codes), "scales": [str(scale)], "spreads": spreads.tolist()}
    return _complete(stated)


def describe_runs(made: Nested) -> Record | None:
    """Return how errors of the best estimates on a nest go together."""
    line, layout = made.line, made.layout.to_dict()
    sizes = to_runs(np.diff(np.append(line.starts, line.size)))
    scales = [str(scale) for scale in made.family_scales]
    found = {"of": "runs", "layout": layout, "scales": scales, "sizes": sizes}
    return _complete({**found, "exact": to_runs(_codes(line.exact)), "steps": _steps(made)})


def describe_tree(made: Tree) -> Record | None:
    """Return how errors of sums under the edges of a forest go together."""
    forest, scales = made.forest, made.line_scales
    own = np.full(made.line.size, -1, dtype=np.int64)
    own[made.rows] = scales.codes
    found: Record = {"of": "tree", "scales": [str(scale) for scale in scales.values], "codes": to_runs(own)}
    found["parents"] = to_runs(np.arange(made.line.size) - forest.parent)
    found["roots"] = to_runs(made.root_variances[:, forest.roots].ravel())
    return _complete({**found, "steps": _steps(made)})


def describe_rows(made: Optimised) -> Record | None:
    """Return how errors of the best estimates from any rows go together."""
    sizes = to_runs(np.diff(np.append(made.line.starts, made.line.size)))
    found: Record = {"of": "rows", "rows": made.form["rows"], "scales": [str(made.scale)], "sizes": sizes}
    return _complete({**found, "exact": to_runs(_codes(made.line.exact)), "steps": _steps(made)})


def describe_effects(made: Residual, places: tuple[int, ...]) -> Record | None:
    """Return how errors of a table's counts go together where effects of its columns were measured."""
    if made.question.condition is not None:
        return None
    own = set(places)
    found = {each: spread for each, spread in made.effect_variances.items() if own >= set(each)}
    effects = [[places.index(place) for place in each] for each in found]
    shape = [made.question.sizes[place] for place in places]
    groups = None if made.groups is None else [to_runs(made.groups[place]) for place in places]
    if groups is not None and any(each is None for each in groups):
        return None
    record: Record = {"of": "effects", "scales": [], "shape": shape, "effects": effects}
    return record | {"variances": list(found.values())} | ({"groups": groups} if groups else {})


def _complete(record: Record) -> Record | None:
    return None if any(part is None for part in record.values()) else record


def _codes(exact: ExactParts) -> Ints:
    return np.where(exact.alone, ALONE, exact.total_of)


def _steps(made: Nested | Tree | Optimised) -> list[list[Any]] | None:
    """Return how many atoms lie between one answer's end and the next, from the line's beginning."""
    return to_runs(np.diff(made.asked.ends[1], prepend=0))


def regroup(record: Mapping[str, Any], places: Ints, size: int) -> Record | None:
    """Return what describes the counts between some ends of a release's cells, in rising order.

    Args:
        record: What describes the release.
        places: Ends, the first one included, as numbers of cells before them.
        size: How many cells a line of the release has.
    """
    ends = _places(record, size)[places]
    return _complete({**record, "first": int(ends[0]), "steps": to_runs(np.diff(ends))})


def _places(record: Mapping[str, Any], size: int) -> Ints:
    """Return how many atoms of a line lie before each end of a release's cells."""
    if "steps" not in record:
        return np.arange(size + 1)
    steps = from_runs(record["steps"])[:size]  # without a missing cell, if there is one
    return int(record.get("first", 0)) + np.append(0, np.cumsum(steps))


def table_variances(record: Mapping[str, Any], shape: Sequence[int], kept: Sequence[int]) -> Floats:
    """Return the variances of the counts of some of a table's columns, or upper bounds of them.

    Args:
        record: What describes the table, whose last column is the axis of its lines.
        shape: How many cells each column has.
        kept: The columns that are kept, by their place, in rising order.

    Proof note:
        Requires: as `range_variances`.
        Ensures:  at least the variance of each sum of cells over the columns that are left out; exactly that
                  of single counts, and where no total is shared by several lines.
        Because:  of single counts, variances add up, less what exact totals take away. Lines are independent
                  but for shared totals, and what is known of these makes no estimate vary more.
        Checked:  tests/plan/shape/test_covariance.py::test_tables_equal_dense_covariances
    """
    if record["of"] == "effects":
        return _effect_variances(
            record, [np.eye(n) if p in kept else np.ones((1, n)) for p, n in enumerate(shape)]
        )
    size, lines = shape[-1], math.prod(shape[:-1])
    out, last = tuple(n for n in range(len(shape)) if n not in kept), len(shape) - 1 in kept
    codes = read_codes(record) if "exact" in record else None
    if record["of"] == "cells" and codes is not None and "steps" not in record and len(codes) == lines * size:
        return _times(record) * _cell_tables(record, codes, _kept_cells(shape, kept))
    if codes is not None and "spreads" not in record:
        record = {**record, "exact": [[code, 1] for code in np.where(codes >= 0, -1, codes).tolist()]}
    ends = np.arange(size if last else 1)
    each = range_variances(record, lines, size, ends, ends + 1 if last else np.array([size]))
    return np.asarray(each.reshape(*shape[:-1], len(ends)).sum(axis=out).ravel())


def _cell_tables(record: Mapping[str, Any], codes: Ints, of: Ints) -> Floats:
    """Return the variances of sums of single counts, by the number of the sum that each counts in."""
    inside, many = codes >= 0, np.bincount(codes[codes >= 0])
    own, spreads = widths(record, codes)
    whole = np.bincount(of, np.append(spreads, [0.0, own])[np.where(codes == ALONE, -2, codes)])
    pairs, often = np.unique(of[inside] * max(len(many), 1) + codes[inside], return_counts=True)
    place, total = np.divmod(pairs, max(len(many), 1))
    found = whole - np.bincount(place, spreads[total] * often**2 / many[total], len(whole))
    return np.asarray(np.where(found > 1e-9 * whole, found, 0.0))


def _kept_cells(shape: Sequence[int], kept: Sequence[int]) -> Ints:
    """Return for each cell of a table the cell of some of its columns that it is counted in."""
    codes = np.unravel_index(np.arange(math.prod(shape)), shape)
    own = tuple(codes[n] for n in kept)
    if not own:  # all of them in one sum
        return np.zeros(math.prod(shape), dtype=np.int64)
    return np.asarray(np.ravel_multi_index(own, [shape[n] for n in kept]), dtype=np.int64)


def keep_columns(record: Mapping[str, Any], shape: Sequence[int], kept: Sequence[int]) -> Record | None:
    """Return what describes the counts of some of a table's columns; None where that is not so simple.

    Args:
        record: What describes the table, whose last column is the axis of its lines.
        shape: How many cells each column has.
        kept: The columns that are kept, by their place, in rising order.

    Proof note:
        Requires: as `range_variances`.
        Ensures:  a record whose variances are those of the sums over the columns left out.
        Because:  where all that is summed up has the same scales, and the same totals in each place
                  (`_merge`), m of them vary as one does, m times, and a total that m parts of each place
                  share is a total of the sums, with m times the variance.
        Checked:  tests/plan/shape/test_covariance.py::test_tables_equal_dense_covariances
    """
    if record["of"] == "effects":
        return _keep_effects(record, kept)
    last, single = len(shape) - 1, record["of"] == "cells"
    if "exact" not in record or not (single or last in kept) or ("steps" in record and single):
        return None
    codes = read_codes(record)
    parts = len(codes) // math.prod(shape[:-1])
    if single and parts != shape[-1]:
        return None
    of = _kept_cells([*shape[:-1], parts], kept)
    merged = _merge(codes, of)
    if merged is None or (not single and _repeats(merged.reshape(-1, parts))):
        return None
    times = _times(record) * math.prod(shape[n] for n in range(len(shape)) if n not in kept)
    found = {**record, "exact": to_runs(merged), "times": times}
    if "spreads" in record:
        found["spreads"] = _merge_spreads(widths(record, codes)[1], codes, of, merged)
    return _complete(found)


def _merge_spreads(spreads: Floats, codes: Ints, of: Ints, merged: Ints) -> list[float]:
    """Return how wide errors of the sums of each merged total are, per part of a sum: their mean."""
    each = np.bincount(of, np.append(spreads, [0.0, 0.0])[codes]) / np.bincount(of)
    found = np.zeros(int(merged.max(initial=-1)) + 1)
    found[merged[merged >= 0]] = each[merged >= 0]
    return [float(width) for width in found]


def _keep_effects(record: Mapping[str, Any], kept: Sequence[int]) -> Record:
    """Return the record of some columns: effects of others add up to nothing over them."""
    pairs = zip(record["effects"], record["variances"], strict=True)
    own = [([list(kept).index(p) for p in each], spread) for each, spread in pairs if set(each) <= set(kept)]
    found = {**record, "shape": [record["shape"][n] for n in kept], "effects": [each for each, _ in own]}
    groups = {"groups": [record["groups"][n] for n in kept]} if "groups" in record else {}
    return {**found, "variances": [spread for _, spread in own], **groups}


def _effect_variances(record: Mapping[str, Any], weights: Sequence[Floats]) -> Floats:
    """Return the variances of sums of cells whose weights are products, one factor per column.

    Args:
        record: As `describe_effects` returned it.
        weights: For each column some factors, factors x cells; every combination of them is a sum.

    Returns:
        The variances of all combinations, the last column's factors changing fastest.

    Proof note:
        Requires: the record of a table of a release whose tables agree, unshaped, without a filter.
        Ensures:  exact variances; of estimates that also agree with public facts, at least theirs.
        Because:  errors of effects are independent, each a multiple of the projection on it: a product over
                  columns, of w - mean for those of the effect and of the mean for others, less the part that
                  totals of groups make exact. A product of weights has the product of their squared lengths.
        Checked:  tests/plan/shape/test_covariance.py::test_effects_equal_dense_covariances
    """
    parts = []
    for place, each in enumerate(weights):
        size = int(record["shape"][place])
        codes = (
            from_runs(record["groups"][place], size) if "groups" in record else np.zeros(size, dtype=np.int64)
        )
        if each.shape[1] != size or codes.min(initial=0) < 0 or codes.max(initial=0) >= size:
            raise ValueError("groups of another size")
        inside = np.zeros((len(each), size))
        np.add.at(inside.T, codes, each.T)
        many = np.maximum(np.bincount(codes, minlength=size), 1)
        total = each.sum(axis=1) ** 2 / size
        parts.append(((each**2).sum(axis=1) - total, (inside**2 / many).sum(axis=1) - total, total / size))
    found = np.zeros([len(each) for each in weights])
    for effect, spread in zip(record["effects"], record["variances"], strict=True):
        free, exact = np.ones(()), np.ones(())
        for place, (own, known, rest) in enumerate(parts):
            free = free[..., None] * (own if place in effect else rest)
            exact = exact[..., None] * (known if place in effect else rest)
        left = free - exact if "groups" in record else free
        found += float(spread) * np.where(left > 1e-9 * free, left, 0.0)
    return found.ravel()


def _effect_ranges(record: Mapping[str, Any], lines: int, low: Ints, high: Ints) -> Floats:
    cells = np.arange(record["shape"][-1])
    return _effect_sums(record, lines, 0, ((low[:, None] <= cells) & (cells < high[:, None])).astype(float))


def _effect_sums(record: Mapping[str, Any], lines: int, first: int, each: Floats) -> Floats:
    *outer, size = (int(many) for many in record["shape"])
    if math.prod(outer) != lines:
        raise ValueError("another number of lines")
    weights = [*(np.eye(many) for many in outer), laid(first, each, size)]
    return _effect_variances(record, weights).reshape(lines, -1)


def _repeats(codes: Ints) -> bool:
    """Return whether some line has a total twice."""
    return any(len(np.unique(line[line >= 0])) < (line >= 0).sum() for line in codes)


def _merge(codes: Ints, of: Ints) -> Ints | None:
    """Return the codes of sums of parts: None unless parts of each sum have totals as those of its peers.

    Sums with the same totals, each as often, are peers; no total may count in others than these.
    """
    order = np.lexsort((codes, of))
    rows = codes[order].reshape(int(of.max()) + 1, -1)
    kinds, number = np.unique(rows, axis=0, return_inverse=True)
    single = (kinds.min(axis=1) >= 0) | (kinds.min(axis=1) == kinds.max(axis=1))
    own = [np.unique(kind[kind >= 0]) for kind in kinds]
    listed = np.concatenate(own) if own else codes[:0]
    if not single.all() or len(np.unique(listed)) != len(listed):
        return None
    return np.where(kinds[:, 0] >= 0, np.arange(len(kinds)), kinds[:, 0])[number.reshape(-1)]


def range_variances(record: Mapping[str, Any], lines: int, size: int, starts: Ints, stops: Ints) -> Floats:
    """Return the variances of sums of released cells start..stop-1, lines x ranges.

    Args:
        record: As `describe_cells`, `describe_runs` or `describe_tree` returned it.
        lines: How many lines the release has.
        size: How many cells each has, a missing one not counted.
        starts: The first cell of each range.
        stops: One past its last.

    Proof note:
        Requires: the record of a release whose unshaped estimates are asked.
        Ensures:  exact variances; of estimates that also agree with public facts, at least theirs.
        Because:  they are those that the strategy plans such ranges with; conditioning on true sums by
                  least squares makes no linear estimate vary more.
        Checked:  tests/plan/shape/test_covariance.py::test_equals_dense_covariances
    """
    places = _places(record, size)
    low, high = places[starts], places[stops]
    found = _times(record) * _READERS[record["of"]](record, lines, low, high)
    return np.broadcast_to(found, (lines, len(starts)))


def sum_variances(record: Mapping[str, Any], lines: int, size: int, weights: Floats) -> Floats:
    """Return the variances of weighted sums of released cells, lines x sums.

    Args:
        record: As for `range_variances`.
        lines: How many lines the release has.
        size: How many cells each has, a missing one not counted.
        weights: Sums x cells, the same for every line.

    Proof note:
        Requires: the record of a release whose unshaped estimates are asked.
        Ensures:  exact variances; of estimates that also agree with public facts, at least theirs.
        Because:  of single counts the variances add up, less what exact totals take away; of sums under
                  the edges of a forest a count is its own sum less those of its children, so an edge counts
                  by the difference of its two weights; of runs `Spread.weigh_lines` has the note.
        Checked:  tests/plan/shape/test_covariance.py::test_weighted_sums_equal_dense_covariances
    """
    places = _places(record, size)
    each = np.repeat(weights.astype(np.float64), np.diff(places), axis=1)
    found = _WEIGHERS[record["of"]](record, lines, int(places[0]), each)
    return np.broadcast_to(_times(record) * np.maximum(found, 0.0), (lines, len(weights)))


def _times(record: Mapping[str, Any]) -> float:
    """Return of how many equal parts each count is the sum."""
    times = float(record.get("times", 1))
    if not 0 < times < MAX_CELLS:
        raise ValueError("no number of parts")
    return times


_READERS = {**READERS, "effects": _effect_ranges}
_WEIGHERS = {**WEIGHERS, "effects": _effect_sums}
