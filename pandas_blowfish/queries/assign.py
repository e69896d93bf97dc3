"""assign: the nearest released centre of each row. Reads the release; rows go to the kernel untouched."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.books.receipt import reading
from pandas_blowfish.count.assign import Centres, Ints, assigned
from pandas_blowfish.errors import FrameError, ReceiptError
from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.policy.attribute import Attribute
from pandas_blowfish.policy.domain import from_dict
from pandas_blowfish.release import Receipt, receipt_of
from pandas_blowfish.spreadsheet import unescaped

RETURNED = "use the centres as they were returned, or some of their rows."


def assign(release: pd.DataFrame, frame: Any) -> pd.Series[Any]:
    """Return the number of the nearest centre of each row of any frame; see `df.blowfish.assign`."""
    with reading():
        centres = centres_of(release)
    return assigned(frame, centres)


def centres_of(release: pd.DataFrame) -> Centres:
    """Return the centres of a released k-means, or of some of its rows, whatever file they were kept in.

    The numbers of groups and clusters are read from the index, or from columns of these names. A release from
    which one group was taken (`centres.loc["F"]`) has no groups any more, and takes rows of any.
    """
    receipt = receipt_of(release)
    if receipt.get("verb") != "kmeans":
        raise FrameError("only a kmeans has centres", fix="release one: df.blowfish.kmeans(...).")
    coordinates = tuple(receipt["coordinates"])
    absent = [name for name in coordinates if name not in release.columns]
    if absent or not len(release):
        what = f"the centres have no {', '.join(map(repr, absent))}" if absent else "no centres are left"
        raise FrameError(what, columns=absent, fix=RETURNED)
    places, numbers = _places(release, coordinates), _numbers(_labels(release, "cluster"))
    groups, lots = _groups(release, receipt)
    if pd.MultiIndex.from_arrays([lots, numbers]).has_duplicates:
        raise FrameError("two centres have one number", fix=RETURNED)
    order = np.argsort(numbers, kind="stable")  # of equally near centres that of the least number
    lots, numbers, places = lots[order], numbers[order], places[order]
    each = {lot: (numbers[lots == lot], places[lots == lot]) for lot in np.unique(lots).tolist()}
    units = np.array(receipt["units"], dtype=np.float64)
    if len(units) != len(coordinates) or len(set(coordinates)) != len(coordinates):
        raise ReceiptError("`units` is not one for each of `coordinates`")
    return Centres(coordinates, units, groups, each, receipt.get("outside") == "clip")


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


def _groups(release: pd.DataFrame, receipt: Receipt) -> tuple[tuple[Attribute, ...], Ints]:
    """Return the columns that pick a group of centres, and the number of each centre's group."""
    groups, lots = [], np.zeros(len(release), dtype=np.int64)
    for name, spec in zip(receipt["groupby"], receipt.get("groups", ()), strict=True):
        labels = _labels(release, name)
        if labels is None:
            continue
        attribute = from_dict(name, spec)
        groups.append(attribute)
        lots = lots * attribute.size + _cells(attribute, labels)
    return tuple(groups), lots


def _cells(attribute: Attribute, labels: pd.Index[Any]) -> Ints:
    """Return the cells that labels name, as text too: a file may have made text of [0, 9], or 3.0 of "03"."""
    declared = attribute.labels()[: attribute.cells]
    exactly = {str(label): cell for cell, label in enumerate(declared)}
    nearly = {_text(label): cell for cell, label in enumerate(declared)}
    cells = np.full(len(labels), attribute.cells, dtype=np.int64)
    told = ~np.asarray(labels.isna())
    cells[told] = [exactly.get(unescaped(str(label)), nearly.get(_text(label), -1)) for label in labels[told]]
    if int(cells.min()) < 0 or int(cells.max()) >= attribute.size:
        raise FrameError(
            f"the centres have groups of {attribute.name!r} that were not released", fix=RETURNED
        )
    return cells


def _text(label: Any) -> str:
    """Return a label as text that does not depend on how its numbers are written."""
    try:
        return str(float(str(label)))
    except ValueError:
        return re.sub(r"(?<=\d)\.0(?!\d)", "", str(label))
