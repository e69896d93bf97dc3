"""Where the cells of a release lie along an axis of a picture, and what is written there. Never sees rows."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.markup import cell_name

LONGEST = 26  # letters of a line of a name
NARROW = 4  # letters of a line beneath an axis; where fewer fit, names are turned
STEPS = [1, 2, 2.5, 5, 10]  # between ticks
LINE, LETTER = 11.0, 5.8  # points that a line of names is high, and a letter wide, about


@dataclass(frozen=True, eq=False)
class Places:
    """Where cells lie along an axis: from left to right of each, in units of the axis.

    Attributes:
        left: Where each begins.
        right: Where each ends.
        labels: What to write at each; None for an axis of numbers or dates.
        dates: Whether the axis shows dates.
        missing: Where the cell of missing values lies beside an axis of numbers or dates.
    """

    left: Floats
    right: Floats
    labels: list[str] | None = None
    dates: bool = False
    missing: float | None = None

    @property
    def middle(self) -> Floats:
        """Return the middle of each cell."""
        return (self.left + self.right) / 2


def places_of(cells: pd.Index[Any], *, listed: bool) -> Places:
    """Return where cells lie: on an axis of numbers or dates, or listed one after the other."""
    empty = np.asarray(cells.isna())
    known = cells[~empty]
    if not listed and len(known) and (ends := _ends(known)) is not None:
        (left, right), dates = ends, _dated(known)
        if not empty.any():
            return Places(left, right, dates=dates)
        span = right.max() - left.min()
        begin, width = right.max() + 0.03 * span, max(float(np.median(right - left)), 0.015 * span)
        at = np.where(empty, begin, 0.0), np.where(empty, begin + width, 0.0)
        at[0][~empty], at[1][~empty] = left, right
        return Places(*at, dates=dates, missing=begin + width / 2)
    numbers = np.arange(len(cells), dtype=float)
    return Places(numbers - 0.5, numbers + 0.5, [name_of(each) for each in cells])


def numbers_of(values: Any) -> tuple[Floats, list[str] | None, bool]:
    """Return a Series or Index as numbers of an axis, the names of categories, whether they are dates."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        kind = values.cat if isinstance(values, pd.Series) else values
        codes = np.asarray(kind.codes, dtype=float)
        return np.where(codes < 0, np.nan, codes), [str(each) for each in kind.categories], False
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        local = pd.DatetimeIndex(values).tz_localize(None)  # the column's own clock
        return np.asarray(_dates().date2num(local.to_numpy()), dtype=np.float64), None, True
    return np.asarray(values, dtype=float), None, False


def write_units(
    axis: Any, places: Places, label: str, *, many: bool = False, ticks: int = 8, share: float = 1.0
) -> None:
    """Write numbers, dates or names along an axis, where the missing values are, and what it shows.

    Of names as many are written as have room, long ones in lines; `many` ones have no names at all. Numbers
    and dates have about so many `ticks`. A legend beside the axis leaves it a `share` of its length.
    """
    from matplotlib import ticker

    dates = _dates()

    axis.set_label_text(plain(label))
    if places.labels is not None:
        if not many:
            _names(axis, places.labels, share)
        return
    wide = float((places.right - places.left).min(initial=np.inf)) >= 1
    locator: Any = (
        dates.AutoDateLocator(minticks=min(ticks, 5), maxticks=ticks)
        if places.dates
        else ticker.MaxNLocator(ticks, steps=STEPS, integer=wide)
    )
    if places.missing is None:
        form: Any = ticker.FuncFormatter(lambda value, _: number_of(value))
        if places.dates:  # what a concise formatter writes above an upright axis would hide the note
            upright = axis.axis_name == "y"
            form = dates.AutoDateFormatter(locator) if upright else dates.ConciseDateFormatter(locator)
        axis.set_major_locator(locator)
        axis.set_major_formatter(form)
        return
    inside = places.left < places.missing - (places.right - places.left)
    low, high = float(places.left[inside].min()), float(places.right[inside].max())
    ends = dates.num2date([low, high]) if places.dates else (low, high)
    marks = [mark for mark in locator.tick_values(*ends) if low <= mark <= high - 0.06 * (high - low)]
    form = dates.ConciseDateFormatter(locator)
    names = form.format_ticks(marks) if places.dates else [number_of(mark) for mark in marks]
    axis.set_ticks([*marks, places.missing], [*names, "missing"])
    if places.dates and form.get_offset():
        axis.set_label_text(plain(f"{label} ({form.get_offset()})"))


def number_of(value: float) -> str:
    """Return a number as an axis shows it: thousands separated from five digits on, for years have four."""
    return f"{value:,.10g}" if abs(value) >= 10_000 else f"{value:.10g}"


def _names(axis: Any, labels: list[str], share: float) -> None:
    """Write names along an axis: in lines, at an angle where they are long, only some where they are many."""
    box = axis.axes.get_window_extent()
    upright = axis.axis_name == "y"
    room = share * float(box.height if upright else box.width) * 72 / axis.axes.figure.dpi  # in points
    apart = max(-(-len(labels) * LINE // max(room, 1.0)), 1)
    at = np.arange(0, len(labels), int(apart))
    names, own = [labels[place] for place in at], room / max(len(at), 1)
    letters, lines = int(own / LETTER) - 1, min(max(int(own / LINE), 1), 3)
    turned: dict[str, Any] = {}
    level = [textwrap.wrap(name, max(letters, 1), break_long_words=False) or [""] for name in names]
    if upright:
        text = [in_lines(name, LONGEST, lines) for name in names]
    elif (sum(map(len, names)) + 2 * len(names)) * LETTER <= room:
        text = names
    elif letters >= NARROW and all(len(each) <= 3 and max(map(len, each)) <= letters for each in level):
        text = ["\n".join(each) for each in level]
    else:
        long = max(map(len, names)) > LONGEST  # needs two lines, which lie close at an angle
        steep = len(names) * (3.6 if long else 2.2) * LINE > room
        text = [in_lines(name, LONGEST, lines if steep else 2) for name in names]
        turned = {"rotation": 90} if steep else {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    axis.set_ticks(at, [plain(each) for each in text], **turned)


def in_lines(name: str, letters: int, lines: int) -> str:
    """Return a name in so many lines of so many letters at most; what does not fit is cut.

    Examples:
        >>> in_lines("furniture or household equipment", 16, 3).split(chr(10))
        ['furniture or', 'household', 'equipment']
        >>> in_lines("furniture or household equipment", 16, 1)
        'furniture or...'
    """
    found = textwrap.wrap(name, letters)
    if len(found) > lines:
        short = textwrap.wrap(name, letters, max_lines=lines, placeholder="...")
        found = (
            short if short[-1] != "..." else [*found[: lines - 1], f"{found[lines - 1][: letters - 3]}..."]
        )
    return "\n".join(found)


def plain(text: str) -> str:
    """Return a text that is drawn as it is: no dollar signs that begin formulas."""
    return text.replace("$", r"\$")


def name_of(value: Any) -> str:
    """Return a cell's or a group's name as a label shows it."""
    return cell_name(value)


def _ends(known: pd.Index[Any]) -> tuple[Floats, Floats] | None:
    """Return where cells of numbers or dates begin and end; None for values that are but a list."""
    if isinstance(known, pd.IntervalIndex):
        whole = 0.5 if pd.api.types.is_integer_dtype(known.left.dtype) or _whole(known) else 0.0
        left, right = numbers_of(known.left)[0] - whole, numbers_of(known.right)[0] + whole
        return (left, right) if (right > left).all() else None
    if not pd.api.types.is_numeric_dtype(known.dtype) or known.dtype == bool:
        return None
    values = np.asarray(known, dtype=float)
    steps = np.diff(np.sort(values))
    step = float(steps.min(initial=np.inf)) if len(steps) else 1.0
    if step <= 0 or not np.allclose(steps % step, 0) or steps.sum() > 4 * step * len(values):
        return None
    return values - step / 2, values + step / 2


def _whole(known: pd.IntervalIndex) -> bool:
    """Return whether bins of whole numbers became floats beside a missing cell."""
    return known.closed == "both" and not _dated(known) and bool((known.left % 1 == 0).all())


def _dated(cells: pd.Index[Any]) -> bool:
    return pd.api.types.is_datetime64_any_dtype(getattr(cells, "left", cells).dtype)


def _dates() -> Any:
    """Return matplotlib's dates, which are not typed."""
    from matplotlib import dates

    return dates
