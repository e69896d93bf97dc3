"""Made-up records: cells drawn at random, one record in each, as a frame. Never sees rows."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.exact.instant import from_ns
from pandas_blowfish.plan.lattice import Total
from pandas_blowfish.plan.protocol import Round
from pandas_blowfish.policy.attribute import Attribute, Grid, Unbounded, Values, integer_dtype
from pandas_blowfish.policy.cells import NO_VALUE, Cells
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.graph.edges import drawn_within
from pandas_blowfish.policy.graph.moves import Random


def probe(domain: Domain, cells: Cells) -> pd.DataFrame:
    """Return a frame whose rows lie in the given cells, one each.

    Examples:
        >>> from pandas_blowfish.policy.domain import integers
        >>> own = Domain((integers("age", 0, 99, 10),))
        >>> probe(own, Cells.present({"age": np.array([0, 9])}, 2))["age"].tolist()
        [0, 90]
    """
    made = {}
    for attribute in domain:
        codes, place = np.unique(cells.codes[attribute.name], return_inverse=True)
        values = [value_in(attribute, code) for code in codes.tolist()]
        made[attribute.name] = _column(attribute, [values[at] for at in place.tolist()])
    return pd.DataFrame(made, index=pd.RangeIndex(len(cells)))


def value_in(attribute: Attribute, code: int) -> Any:
    """Return a value of a cell: the first of whole numbers, else one inside; None where it is missing."""
    if isinstance(attribute, Values):
        return attribute.values[code] if code < attribute.cells else None
    if isinstance(attribute, Unbounded):
        if code == NO_VALUE:
            return None
        place = (code + Fraction(1, 2)) * attribute.step
        if attribute.log:
            return math.exp(float(place))
        return int(code * attribute.step) if attribute.kind == "integer" else _plain(attribute, place)
    assert isinstance(attribute, Grid)
    if code >= attribute.cells:
        return None
    low = attribute.low + code * attribute.step
    if attribute.kind == "integer":
        return int(low)
    return _plain(attribute, (low + min(low + attribute.step, attribute.high)) / 2)


def _plain(attribute: Attribute, place: Fraction) -> Any:
    if attribute.kind == "datetime":
        return from_ns(int(place), getattr(attribute, "tz", None))
    return float(place)


def _column(attribute: Attribute, values: list[Any]) -> Any:
    """Return values as a column of a dtype that holds them, missing ones too."""
    if attribute.kind == "datetime":
        return pd.DatetimeIndex(values) if values else pd.DatetimeIndex([])
    if attribute.kind == "float":
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    if attribute.kind == "integer":
        dtype = integer_dtype([value for value in values if value is not None])
        if None in values:
            return pd.array(values, dtype="UInt64" if dtype == "uint64" else "Int64")
        return np.array(values, dtype=dtype or "float64")
    return pd.Series(values, dtype=object)


def cells_near(step: Round, domain: Domain, many: int, random: Random) -> Cells:
    """Return cells drawn from all, and from those next to which something changes in a round."""
    return draw_cells(domain, _special_cells(step, domain), many, random)


def _special_cells(step: Round, domain: Domain) -> dict[str, Ints]:
    """Return the cells of each column next to which something changes: ends, missing, filters, bins."""
    found: dict[str, list[Ints]] = {name: [] for name in domain.columns}
    for each in step.tallies:
        tally = each.tally if isinstance(each, Total) else each
        for weighed in each.factors if isinstance(each, Total) else ():
            found[weighed.attribute.name].append(weighed.clipped_cells)
        for binning, classes in zip(tally.binnings, tally.sieve.classes, strict=True):
            found[binning.attribute.name].append(np.flatnonzero(np.diff(classes)))
            if binning.labels is not None and len(binning.labels) > 1:
                cuts = np.flatnonzero(np.diff(binning.labels))
                found[binning.attribute.name].append(cuts[:: max(len(cuts) // 256, 1)])
    special = {}
    for attribute in domain:
        if not attribute.bounded:
            special[attribute.name] = np.array([-1, 0, 1, *[NO_VALUE] * attribute.nullable])
            continue
        ends = np.array([0, attribute.cells - 1, attribute.size - 1])
        cuts = np.concatenate([*found[attribute.name], np.empty(0, dtype=np.int64)]).astype(np.int64)
        every = np.unique(np.clip(np.concatenate([ends, cuts, cuts + 1]), 0, attribute.size - 1))
        special[attribute.name] = every
    return special


def draw_cells(domain: Domain, special: dict[str, Ints], many: int, random: Random) -> Cells:
    """Return cells drawn from all, and from those next to which something changes."""
    codes, far = {}, drawn_within(domain)
    for attribute in domain:
        name = attribute.name
        low, high = (-far[name], far[name]) if name in far else (0, attribute.size)
        every = random.integers(low, high, many)
        chosen = special[attribute.name][random.integers(0, len(special[attribute.name]), many)]
        codes[attribute.name] = np.where(random.random(many) < 0.5, every, chosen)
    return Cells.present(codes, many)


def nudge_cells(cells: Cells, domain: Domain, random: Random) -> Cells:
    """Return cells moved by a little, or not."""
    codes = {}
    for attribute in domain:
        old, by = cells.codes[attribute.name], random.integers(-8, 9, len(cells))
        own = np.where(old == NO_VALUE, old, old + by * random.integers(0, 2, len(cells)))
        codes[attribute.name] = np.clip(own, 0, attribute.size - 1) if attribute.bounded else own
    return Cells.present(codes, len(cells))
