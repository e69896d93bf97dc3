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
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.line.axis import LineGraph
from pandas_blowfish.plan.line.nest import Layout, Nest
from pandas_blowfish.plan.line.tree import Crossing
from pandas_blowfish.plan.line.variance import Spread
from pandas_blowfish.plan.scales import row_variances
from pandas_blowfish.plan.sensitivity import ExactParts

if TYPE_CHECKING:
    from pandas_blowfish.plan.line.runs import Nested
    from pandas_blowfish.plan.line.tree import Tree
    from pandas_blowfish.plan.tables.identity import Identity
    from pandas_blowfish.plan.tables.residual import Residual

Record = dict[str, Any]
MAX_RUNS = 2_000  # in one list: longer ones are left out, and errors of ranges are bounds
MAX_BRANCHINGS, MAX_CELLS = 64, 20_000_000  # that a receipt may describe
ALONE = -2  # a total that is exact by itself; -1 for none that is exact, else the number of a shared one


def to_runs(values: NDArray[Any]) -> list[list[Any]] | None:
    """Return a list as runs of equal values; None where there are too many.

    Examples:
        >>> to_runs(np.array([5, 5, 5, 7]))
        [[5, 3], [7, 1]]
    """
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1])) if len(values) else np.zeros(0, int)
    if len(first) > MAX_RUNS or len(values) > MAX_CELLS:
        return None
    many = np.diff(np.append(first, len(values)))
    return [[value, run] for value, run in zip(values[first].tolist(), many.tolist(), strict=True)]


def from_runs(runs: Sequence[Sequence[Any]], size: int | None = None) -> NDArray[Any]:
    """Return the list that runs describe, refusing one of another size.

    Examples:
        >>> from_runs([[5, 3], [7, 1]], 4).tolist()
        [5, 5, 5, 7]
    """
    values, many = [run[0] for run in runs], [int(run[1]) for run in runs]
    if min(many, default=1) < 1 or sum(many) > MAX_CELLS or (size is not None and sum(many) != size):
        raise ValueError("runs of another length")
    return np.repeat(np.array(values, dtype=None if values else np.int64), many)


def describe_cells(made: Identity) -> Record | None:
    """Return how errors of single counts go together: they are independent but for exact totals."""
    return _complete({"of": "cells", "exact": to_runs(_codes(made.parts)), "scales": [str(made.scale)]})


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


def _read_codes(record: Mapping[str, Any], size: int | None = None) -> Ints:
    """Return which totals are exact, refusing numbers of totals that so few parts cannot have."""
    codes = from_runs(record["exact"], size)
    if codes.dtype.kind != "i" or codes.min(initial=0) < ALONE or codes.max(initial=0) > len(codes):
        raise ValueError("no codes of totals")
    return codes


def _steps(made: Nested | Tree) -> list[list[Any]] | None:
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
    codes = _read_codes(record) if "exact" in record else None
    if record["of"] == "cells" and codes is not None and "steps" not in record and len(codes) == lines * size:
        return _times(record) * _cell_tables(record, codes, _kept_cells(shape, kept))
    if codes is not None:
        record = {**record, "exact": [[code, 1] for code in np.where(codes >= 0, -1, codes).tolist()]}
    ends = np.arange(size if last else 1)
    each = range_variances(record, lines, size, ends, ends + 1 if last else np.array([size]))
    return np.asarray(each.reshape(*shape[:-1], len(ends)).sum(axis=out).ravel())


def _cell_tables(record: Mapping[str, Any], codes: Ints, of: Ints) -> Floats:
    """Return the variances of sums of single counts, by the number of the sum that each counts in."""
    inside, many, own = codes >= 0, np.bincount(codes[codes >= 0]), Fraction(record["scales"][0])
    found = np.bincount(of, codes != ALONE)
    pairs, often = np.unique(of[inside] * max(len(many), 1) + codes[inside], return_counts=True)
    place, total = np.divmod(pairs, max(len(many), 1))
    found = found - np.bincount(place, often**2 / many[total], len(found))
    return np.asarray(row_variances([own])[0] * np.where(found > 1e-9, found, 0.0))


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
    codes = _read_codes(record)
    parts = len(codes) // math.prod(shape[:-1])
    if single and parts != shape[-1]:
        return None
    merged = _merge(codes, _kept_cells([*shape[:-1], parts], kept))
    if merged is None or (not single and _repeats(merged.reshape(-1, parts))):
        return None
    times = _times(record) * math.prod(shape[n] for n in range(len(shape)) if n not in kept)
    return _complete({**record, "exact": to_runs(merged), "times": times})


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
    weights = [*(np.eye(many) for many in outer), _laid(first, each, size)]
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


def _laid(first: int, each: Floats, size: int) -> Floats:
    """Return weights by atom of a whole line, 0 outside of what is asked."""
    found = np.zeros((len(each), size))
    found[:, first : first + each.shape[1]] = each
    return found


def _cell_sums(record: Mapping[str, Any], lines: int, first: int, each: Floats) -> Floats:
    own = row_variances([Fraction(record["scales"][0])])[0]
    codes = _read_codes(record)
    many, by_line = np.bincount(codes[codes >= 0]), codes.reshape(lines, -1)
    weights = _laid(first, each, by_line.shape[1])
    found = (weights**2 @ (by_line != ALONE).T.astype(np.float64)).T
    for number, line in enumerate(by_line):
        inside = line >= 0
        totals, of = np.unique(line[inside], return_inverse=True)
        for place, weight in enumerate(weights[:, inside]):
            sums = np.bincount(of, weight, len(totals))
            found[number, place] -= (sums**2 / many[totals]).sum()
    return np.asarray(own * found)


def _run_sums(record: Mapping[str, Any], lines: int, first: int, each: Floats) -> Floats:
    spread = _read_runs(record, lines)
    return spread.weigh_lines(_laid(first, each, spread.nest.size))


def _tree_sums(record: Mapping[str, Any], lines: int, first: int, each: Floats) -> Floats:
    parent, own, tops = _read_tree(record, lines)
    weights = _laid(first, each, len(parent))
    inner = parent != np.arange(len(parent))
    over = (weights - weights[:, parent])[:, inner] ** 2 @ own[inner]
    return np.asarray(over + tops @ (weights**2).T)


def _cell_ranges(record: Mapping[str, Any], lines: int, low: Ints, high: Ints) -> Floats:
    own = row_variances([Fraction(record["scales"][0])])[0]
    codes = _read_codes(record)
    many = np.bincount(codes[codes >= 0])
    found = np.zeros((lines, len(low)))
    for number, line in enumerate(codes.reshape(lines, -1)):
        free = np.append(0, np.cumsum(line != ALONE))
        found[number] = free[high] - free[low]
        for total in np.unique(line[line >= 0]).tolist():
            inside = np.append(0, np.cumsum(line == total))
            found[number] -= (inside[high] - inside[low]) ** 2 / many[total]
    return own * np.where(found > 1e-9, found, 0.0)


def _run_ranges(record: Mapping[str, Any], lines: int, low: Ints, high: Ints) -> Floats:
    return _read_runs(record, lines).by_line(low, high)


def _read_runs(record: Mapping[str, Any], lines: int) -> Spread:
    """Return how estimates on the nest that a record describes vary."""
    sizes = from_runs(record["sizes"])
    ends = np.cumsum(sizes)
    codes = _read_codes(record, lines * len(sizes))
    exact = ExactParts(codes == ALONE, np.maximum(codes, -1), int(codes.max(initial=-1)) + 1)
    wide = np.flatnonzero(sizes > 1)
    between = np.column_stack([ends - sizes, ends - 1])[wide]
    none = np.zeros((0, 2), dtype=np.int64)
    segments = np.repeat(np.arange(len(sizes)), sizes)
    line = LineGraph(int(ends[-1]), lines, between, none, none[:, 0], None, exact, segments, exact)
    if len(record["layout"]["branching"]) > MAX_BRANCHINGS:
        raise ValueError("too many branchings")
    nest = Nest(line, Layout.from_dict(record["layout"]))
    return Spread(nest, row_variances([Fraction(scale) for scale in record["scales"]]))


def _tree_ranges(record: Mapping[str, Any], lines: int, low: Ints, high: Ints) -> Floats:
    parent, own, tops = _read_tree(record, lines)
    inner, size = np.flatnonzero(parent != np.arange(len(parent))), len(parent)
    sums = np.cumsum(np.pad(tops, ((0, 0), (1, 0))), axis=1)
    over = Crossing(inner, parent[inner], own[inner], size).variances(low, high)
    found = over + sums[:, high] - sums[:, low]
    return np.where(found > 1e-9 * max(float(own.max()), float(tops.max())), found, 0.0)


def _read_tree(record: Mapping[str, Any], lines: int) -> tuple[Ints, Floats, Floats]:
    """Return each atom's parent, its sum's variance, and those of the totals at roots, lines x atoms."""
    up = from_runs(record["parents"])
    size = len(up)
    parent, codes = np.arange(size) - up, from_runs(record["codes"], size)
    own = np.append(row_variances([Fraction(scale) for scale in record["scales"]]), 0.0)[codes]
    roots, tops = np.flatnonzero(up == 0), np.zeros((lines, size))
    tops[:, roots] = from_runs(record["roots"], lines * len(roots)).reshape(lines, -1)
    return parent, own, tops


_READERS = {"cells": _cell_ranges, "runs": _run_ranges, "tree": _tree_ranges, "effects": _effect_ranges}
_WEIGHERS = {"cells": _cell_sums, "runs": _run_sums, "tree": _tree_sums, "effects": _effect_sums}
