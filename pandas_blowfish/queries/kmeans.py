"""kmeans: the centres of clusters of rows, how many rows are in each, and the nearest centre of any row.

Touches no row itself; `assign` reads the release, and hands rows to `count` untouched.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.books.receipt import reading
from pandas_blowfish.count.assign import Centres, assign_rows
from pandas_blowfish.errors import (
    ArgumentError,
    ArgumentTypeError,
    DomainTooLargeError,
    FrameError,
    ReceiptError,
    UnboundedColumnError,
)
from pandas_blowfish.exact.arrays import Floats, Ints, frozen
from pandas_blowfish.exact.number import epsilon_of
from pandas_blowfish.markup import cell_name
from pandas_blowfish.plan.clusters.question import USUAL, Clustering
from pandas_blowfish.plan.clusters.solve import Clustered
from pandas_blowfish.plan.clusters.space import Space
from pandas_blowfish.plan.lattice import extremes, representative
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.shape.solved import Solved
from pandas_blowfish.plan.tally import Binning, Tally
from pandas_blowfish.policy.attribute import Attribute, Unbounded, Values
from pandas_blowfish.policy.domain import from_dict, to_dict
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.call.scope import Scope, ask, column_names, strategy_name
from pandas_blowfish.queries.totals import rows_of
from pandas_blowfish.release import Facts, facts_of, with_receipt
from pandas_blowfish.spreadsheet import unescape

RETURNED = "use the centres as they were returned, or some of their rows."
MAX_COLUMNS = 12
MAX_CLUSTERS = 1_000
MAX_GROUPS = 1_000
MAX_CELLS = 10**7  # of a column
LEAST = 1e-100  # of a column beside the longest


def plan_kmeans(
    policy: Policy,
    columns: Any,
    k: Any,
    *,
    epsilon: Any = 1,
    strategy: str = "auto",
    scale: Any = True,
    rows: Any = None,
    known: int | None = None,
    scope: Scope | None = None,
) -> Plan:
    """Return the plan of a clustering; see `df.blowfish.kmeans`.

    `known` is how many rows the table has, where that is public; `rows` what the caller states instead.
    """
    names = column_names(columns)
    spend, chosen, many = epsilon_of(epsilon), strategy_name(strategy), rows_of(rows)
    if many == 0:
        raise ArgumentError("rows", "must be at least 1", allowed="None or a whole number from 1")
    scope = scope or Scope()
    scope.refuse_grouped(names)
    if "cluster" in scope.groups:
        raise ArgumentError("columns", "'cluster' is a name in the result", fix="rename the column.")
    space = _space(policy, scope, names, check_clusters(k), scale)
    query: dict[str, Any] = {"verb": "kmeans", "columns": names, "k": space.k, "strategy": chosen}
    query |= {"scale": _plain_scale(scale)} if scale is not True else {}
    query |= scope.facts() | ({"rows": many} if many is not None else {})
    number, usual = many, USUAL if known is None else max(known, 1)
    if many is None and scope.condition is None and not any(policy.domain[name].nullable for name in names):
        number = usual if policy.rows_public else None
    asked = Clustering(space, number, usual)
    return ask(policy, [asked], spend, query=query | {"known": known}, strategy=chosen)


def _space(policy: Policy, scope: Scope, names: list[str], clusters: int, scale: Any) -> Space:
    """Return the cells that are clustered, by group, refusing columns and groups that cannot be."""
    attributes = tuple(policy.domain[name] for name in names)
    _check_columns(attributes)
    policy.domain.select(names)  # refuses more cells than a column may have
    units = _units(attributes, scale)
    tally = scope.tally(policy, [], None)
    own = [
        Binning(each, frozen(np.where(np.arange(each.size) < each.cells, 0, -1)), pd.RangeIndex(1))
        for each in attributes
    ]
    groups = len(scope.groups)
    rest = [each for each in tally.binnings[groups:] if each.attribute.name not in names]
    binnings = (*tally.binnings[:groups], *own, *rest)
    space = Space(Tally(binnings, groups + len(own), tally.condition), attributes, groups, clusters, units)
    if space.lots > MAX_GROUPS:
        raise DomainTooLargeError("the list of groups", space.lots, MAX_GROUPS, fix="group by less.")
    if clusters > math.prod(space.cells):
        allowed = f"up to {math.prod(space.cells)}, the number of cells"
        raise ArgumentError("k", f"{clusters} clusters", allowed=allowed)
    return space


def kmeans_frame(plan: Plan, solved: Solved, facts: Facts) -> pd.DataFrame:
    """Return a column per coordinate, `size` and `std`, by group and cluster."""
    assert isinstance(solved, Clustered)
    names = plan.query["columns"]
    asked: Any = plan.asked[plan.way]
    space = asked.space
    columns = dict(zip(names, solved.centres.T, strict=True))
    more = {
        "coordinates": list(names),
        "k": space.k,
        "column_units": [float(unit) for unit in space.units],
        "group_domains": [to_dict(each.attribute) for each in space.whole.binnings[: space.groups]],
        "group_bins": [_write_bins(each) for each in space.whole.binnings[: space.groups]],
        "largest_answer": plan.query["known"],
        "std_low": float(solved.std[solved.std > 0].min(initial=np.inf)) if (solved.std > 0).any() else 0.0,
        "std_high": float(solved.std.max(initial=0.0)),
    }
    return with_receipt({**columns, "size": solved.answers, "std": solved.std}, plan.index, facts | more)


def _write_bins(binning: Binning) -> dict[str, Any] | None:
    """Return the names of a group's bins, and the runs of cells in each; None for each cell by itself."""
    if binning.labels is None:
        return None
    starts = np.flatnonzero(np.append(True, binning.labels[1:] != binning.labels[:-1]))
    missing = binning.index.isna()
    named = [None if gone else label for label, gone in zip(binning.index, missing, strict=True)]
    names = [None if label is None else str(label) for label in named]
    shown = [None if label is None else cell_name(label) for label in named]  # as files name them
    return {
        "names": names,
        "shown": shown,
        "starts": starts.tolist(),
        "bins": binning.labels[starts].tolist(),
    }


def check_clusters(k: Any) -> int:
    """Return the number of clusters."""
    if isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)):
        raise ArgumentTypeError("k", "not a number of clusters", allowed=f"1 to {MAX_CLUSTERS}")
    if not 1 <= k <= MAX_CLUSTERS:
        raise ArgumentError("k", f"{k} clusters", allowed=f"1 to {MAX_CLUSTERS}")
    return int(k)


def _check_columns(attributes: tuple[Attribute, ...]) -> None:
    """Refuse columns that have no distances, or too many of them."""
    if len(attributes) > MAX_COLUMNS:
        raise ArgumentError(
            "columns",
            f"{len(attributes)} columns: noise on so many would outweigh the rows",
            allowed=f"up to {MAX_COLUMNS}",
            fix="choose those that distinguish clusters, or add a few that combine them before protect.",
        )
    for each in attributes:
        if each.name in ("cluster", "size", "std"):
            raise ArgumentError("columns", f"{each.name!r} is a name in the result", fix="rename it.")
        if each.kind not in ("integer", "float"):
            raise ArgumentError(
                "columns",
                f"{each.name!r} is a column of kind {each.kind}, which has no distances to cluster by",
                allowed="columns of numbers",
            )
        if isinstance(each, Unbounded):
            raise UnboundedColumnError(each.name)
        if each.cells > MAX_CELLS:
            fix = "declare a wider step; kmeans needs few cells."
            raise DomainTooLargeError(f"the column {each.name!r}", each.cells, MAX_CELLS, fix=fix)
        if isinstance(each, Values) and not each.ordered:
            raise ArgumentError(
                "columns", f"the values of {each.name!r} are listed in no order", fix="list them rising."
            )


def _units(attributes: tuple[Attribute, ...], scale: Any) -> tuple[float, ...]:
    """Return what one unit of each column counts in distances."""
    if isinstance(scale, (bool, np.bool_)):
        return _even(
            attributes, [1 / (_length(each) or Fraction(1)) if scale else Fraction(1) for each in attributes]
        )
    names = [each.name for each in attributes]
    allowed = "True (declared ranges count alike), False (units do) or {column: units, ...}"
    if not isinstance(scale, Mapping):
        raise ArgumentError("scale", "not True, False or a number for each column", allowed=allowed)
    if strange := [str(name) for name in scale if name not in names]:
        raise ArgumentError("scale", f"{strange[0]!r} is not clustered", allowed=allowed)
    if absent := [name for name in names if name not in scale]:
        raise ArgumentError("scale", f"it has no number for {absent[0]!r}", allowed=allowed)
    found = []
    for name in names:
        unit = scale[name]
        if isinstance(unit, (bool, np.bool_)) or not isinstance(unit, (int, float, np.number)):
            raise ArgumentTypeError("scale", f"not a number for {name!r}", allowed="a positive number")
        if not 0 < float(unit) < math.inf:
            raise ArgumentError("scale", f"{unit} for {name!r}", allowed="a positive number")
        found.append(Fraction(float(unit)))
    return _even(attributes, found)


def _even(attributes: tuple[Attribute, ...], units: list[Fraction]) -> tuple[float, ...]:
    """Return units by which the longest column is 1 long: just their proportions count."""
    spans = [unit * _length(each) for unit, each in zip(units, attributes, strict=True)]
    longest = max(spans) or Fraction(1)
    found = tuple(float(unit / longest) for unit in units)
    if any(span and span / longest < LEAST for span in spans) or not all(
        0 < unit < math.inf for unit in found
    ):
        raise ArgumentError("scale", "a column is far too short beside another", fix="scale=True")
    return found


def _length(attribute: Attribute) -> Fraction:
    """Return how long the declared range is."""
    low, high = (representative(attribute, cell) for cell in extremes(attribute))
    return high - low


def _plain_scale(scale: Any) -> Any:
    """Return the scale as plain data."""
    return bool(scale) if not isinstance(scale, Mapping) else {str(k): float(v) for k, v in scale.items()}


def assign(release: pd.DataFrame, frame: Any) -> pd.Series[Any]:
    """Return the number of the nearest centre of each row of any frame; see `df.blowfish.assign`."""
    with reading():
        centres = centres_of(release)
    return assign_rows(frame, centres)


def centres_of(release: pd.DataFrame) -> Centres:
    """Return the centres of a released k-means, or of some of its rows, whatever file they were kept in.

    The numbers of groups and clusters are read from the index, or from columns of these names. A release from
    which one group was taken (`centres.loc["F"]`) has no groups any more, and takes rows of any.
    """
    facts = facts_of(release)
    if facts.get("verb") != "kmeans":
        raise FrameError("only a kmeans has centres", fix="release one: df.blowfish.kmeans(...).")
    coordinates = tuple(facts["coordinates"])
    absent = [name for name in coordinates if name not in release.columns]
    if absent or not len(release):
        what = f"the centres have no {', '.join(map(repr, absent))}" if absent else "no centres are left"
        raise FrameError(what, columns=absent, fix=RETURNED)
    places, numbers = _places(release, coordinates), _numbers(_labels(release, "cluster"))
    groups, bins, lots = _groups(release, facts)
    if pd.MultiIndex.from_arrays([lots, numbers]).has_duplicates:
        raise FrameError("two centres have one number", fix=RETURNED)
    order = np.argsort(numbers, kind="stable")  # of equally near centres that of the least number
    lots, numbers, places = lots[order], numbers[order], places[order]
    each = {lot: (numbers[lots == lot], places[lots == lot]) for lot in np.unique(lots).tolist()}
    units = np.array(facts["column_units"], dtype=np.float64)
    if len(units) != len(coordinates) or len(set(coordinates)) != len(coordinates):
        raise ReceiptError("`column_units` is not one for each of `coordinates`")
    return Centres(coordinates, units, groups, each, facts.get("outside") == "clip", bins)


def _places(release: pd.DataFrame, coordinates: tuple[str, ...]) -> Floats:
    """Return the centres, refusing what are no numbers any more."""
    try:
        places = release[list(coordinates)].to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        places = np.full((1, 1), np.nan)
    if places.shape != (len(release), len(coordinates)) or not np.isfinite(places).all():
        raise FrameError("a coordinate of the centres is missing, or no number", fix=RETURNED)
    return places


def _labels(release: pd.DataFrame, name: str) -> pd.Index[Any] | None:
    """Return a level of the index, or else a column; None where there is none of this name."""
    if list(release.index.names).count(name) == 1:
        return release.index.get_level_values(name)
    return pd.Index(release[name]) if list(release.columns).count(name) == 1 else None


def _numbers(labels: pd.Index[Any] | None) -> Ints:
    """Return the numbers of the clusters."""
    if labels is None:
        raise FrameError("the centres have lost their numbers", fix="keep the index level 'cluster'.")
    numbers = pd.to_numeric(labels.to_series(), errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    if not (np.isfinite(numbers) & (numbers == np.rint(numbers))).all():
        raise FrameError("the centres have names that are no numbers", fix="keep the index level 'cluster'.")
    return np.asarray(numbers, dtype=np.int64)


def _groups(
    release: pd.DataFrame, facts: Facts
) -> tuple[tuple[Attribute, ...], tuple[Ints | None, ...], Ints]:
    """Return the columns that pick a group of centres, their bins, and the number of each centre's group."""
    groups, bins, lots = [], [], np.zeros(len(release), dtype=np.int64)
    domains = facts.get("group_domains", ())
    cuts = facts.get("group_bins") or [None] * len(domains)
    for name, spec, cut in zip(facts["groupby"], domains, cuts, strict=True):
        labels = _labels(release, name)
        if labels is None:
            continue
        attribute = from_dict(name, spec)
        declared = attribute.labels().tolist()
        shown = [cell_name(label) for label in declared]
        if cut is not None:
            declared, shown = ([each for each in cut[key] if each is not None] for key in ("names", "shown"))
        groups.append(attribute)
        bins.append(None if cut is None else _read_bins(attribute, cut))
        size = attribute.size if cut is None else len(cut["names"])
        lots = lots * size + _cells(attribute.name, declared, shown, size, labels)
    return tuple(groups), tuple(bins), lots


def _read_bins(attribute: Attribute, cut: Mapping[str, Any]) -> Ints:
    """Return the bin of each cell from the runs that a receipt states."""
    try:
        ends = np.array([*cut["starts"], attribute.size], dtype=np.int64)
        marks = np.repeat(np.array(cut["bins"], dtype=np.int64), np.diff(ends))
    except (TypeError, ValueError, KeyError):
        marks = np.zeros(0, dtype=np.int64)
    if len(marks) != attribute.size or not -1 <= marks.min() <= marks.max() < len(cut["names"]):
        raise ReceiptError("`group_bins` are not of the groups' cells")
    return marks


def _cells(column: str, declared: list[Any], shown: list[str], size: int, labels: pd.Index[Any]) -> Ints:
    """Return the cells that labels name, as text too: a file may have made text of [0, 9], or 3.0 of "03"."""
    exactly = {str(label): cell for cell, label in enumerate(declared)}
    nearly = {label: cell for cell, label in enumerate(shown)}  # as files name them
    nearly |= {_text(label): cell for cell, label in enumerate(declared)}
    cells = np.full(len(labels), len(declared), dtype=np.int64)
    known = ~np.asarray(labels.isna())
    cells[known] = [
        exactly.get(unescape(str(label)), nearly.get(_text(label), nearly.get(cell_name(label), -1)))
        for label in labels[known]
    ]
    if int(cells.min()) < 0 or int(cells.max()) >= size:
        raise FrameError(f"the centres have groups of {column!r} that were not released", fix=RETURNED)
    return cells


def _text(label: Any) -> str:
    """Return a label as text that does not depend on how its numbers are written."""
    try:
        return str(float(str(label)))
    except ValueError:
        return re.sub(r"(?<=\d)\.0(?!\d)", "", str(label))
