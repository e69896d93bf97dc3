"""Small multiples: the tables of one release side by side, each as it is drawn alone. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.explain.release.axis_labels import in_lines, plain
from pandas_blowfish.explain.release.canvas import FOOT, WIDE, axes_of, discard, entitle
from pandas_blowfish.explain.release.plot import draw_release, title_of

MOST = 12  # tables that are drawn where nobody says which
ABREAST = 3
SIZE = (4.4, 3.6)  # inches of a panel


def draw_tables(tables: Sequence[tuple[Sequence[str], pd.DataFrame]], level: Any, *, shorten: bool) -> Any:
    """Draw tables of a release in a figure of pyplot's and return their Axes as an array.

    Args:
        tables: The columns and the counts of each.
        level: The probability that the bars hold the true answer.
        shorten: Whether the first ones stand for very many.
    """
    if not tables:
        raise ArgumentError("tables", "there are none", fix="name at least one.")
    drawn = list(tables[:MOST] if shorten else tables)
    columns = min(len(drawn), ABREAST if len(drawn) != 4 else 2)
    rows = math.ceil(len(drawn) / columns)
    first = axes_of(None)
    figure = first.figure
    first.remove()
    figure.set_size_inches(SIZE[0] * columns, SIZE[1] * rows + 0.8)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    try:
        for axes, (key, table) in zip(panels, drawn, strict=False):
            axes.spines[["top", "right"]].set_visible(False)
            entitle(axes, ", ".join(key), draw_release(table, axes, level))
    except Exception:
        discard(figure)
        raise
    for spare in panels[len(drawn) :]:
        spare.remove()
    title, cost, footnote = title_of(drawn[0][1])
    figure.suptitle(plain(in_lines(title, WIDE, 3)), x=0.01, ha="left")
    foot = [
        footnote or title,
        cost,
        *([f"{MOST} of {len(tables)} tables"] if len(drawn) < len(tables) else []),
    ]
    text = plain(in_lines("; ".join(foot), FOOT * columns // 2, 3))
    figure.supxlabel(text, x=0.01, ha="left", fontsize="small", alpha=0.7)
    return np.array(panels[: len(drawn)])
