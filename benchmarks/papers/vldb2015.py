"""Table 1 of Haney et al. (VLDB 2015) beside the data; sees counts.

Figure 3 is in vldb2015_growth.py, Figure 8 in vldb2015_line.py and vldb2015_plane.py, what is said about
privacy in vldb2015_statements.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from papers.experiment import Claim, Experiment, Found, Progress, Size, archive, verdict
from papers.vldb2015_panels import NAMES, PAPER, line_data

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# printed: scale, and the share of empty cells in percent
PRINTED = {
    "A": (2.8e7, 6.20),
    "B": (2.0e7, 44.97),
    "C": (3.5e5, 21.17),
    "D": (3.4e5, 51.03),
    "E": (2.6e4, 96.61),
    "F": (1.8e4, 97.08),
    "G": (9.4e3, 74.80),
    "T100": (1.9e5, 84.93),
    "T50": (1.9e5, 69.24),
    "T25": (1.9e5, 43.20),
}


def table_one(_size: Size, _progress: Progress) -> Found:
    """Compare scale and empty cells of the ten datasets with what is printed."""
    tweets = archive("twitter_western_usa.npz")
    data = {**line_data(), **{f"T{n}": tweets[f"T{n}_cellcentre_DERIVED"] for n in (100, 50, 25)}}
    rows = []
    for name, counts in data.items():
        scale, empty = PRINTED[name]
        found = 100 * float((counts == 0).mean())
        shape = " x ".join(map(str, counts.shape))
        source = NAMES.get(name, "tweets, re-binned")
        rows.append((name, source, shape, scale, float(counts.sum()), empty, round(found, 2)))
    heads = ["data", "source", "cells", "scale, printed", "scale", "empty %, printed", "empty %"]
    table = pd.DataFrame(rows, columns=heads)
    return Found(_told(table), _bars(table), _claims_of_table(table, data["F"].size))


def _claims_of_table(table: pd.DataFrame, cells: int) -> tuple[Claim, ...]:
    """Return what becomes of Table 1's columns."""
    held = table.set_index("data")
    scale, empty = held["scale"], held["empty %"]
    unlike = [name for name in held.index if not as_printed(scale[name], held["scale, printed"][name])]
    alike = [name for name in held.index if name not in unlike]
    off = (empty - held["empty %, printed"]).abs()
    line, plane = list("ABCDEG"), ["T100", "T50", "T25"]
    stated = PRINTED["F"][1]
    near = [round(100 * number / cells, 2) for number in range(cells + 1)]
    around = sorted(near, key=lambda share: abs(share - stated))[:2]
    return (
        Claim(
            f"Table 1: the scales of {', '.join(alike)}.",
            "all within half a unit of the second digit, which is the last that is printed",
            verdict(bool(alike)),
        ),
        *(
            Claim(
                f"Table 1: the scale of {name} is {held['scale, printed'][name]:.1e}.",
                f"{scale[name]:,.0f}, which is {scale[name]:.1e}",
                verdict(False),
                "the archive's file may not be the paper's",
            )
            for name in unlike
        ),
        Claim(
            "Table 1: the shares of empty cells of A, B, C, D, E and G.",
            f"largest difference {off[line].max():.3f} points",
            verdict(bool(off[line].max() < 0.0051)),
        ),
        Claim(
            f"Table 1: {stated}% of F's cells are empty.",
            f"{empty['F']:.2f}%; the nearest that {cells:,} cells can have: "
            f"{', '.join(f'{each:.2f}' for each in around)}",
            verdict(bool(off["F"] < 0.0051), disproved=stated not in near),
            f"no number of empty cells among {cells:,} gives it" if stated not in near else "",
        ),
        Claim(
            "Table 1: the shares of empty cells of T100, T50 and T25.",
            ", ".join(f"{name} {empty[name]:.2f} (printed {PRINTED[name][1]:.2f})" for name in plane),
            verdict(bool(off[plane].max() < 0.0051)),
            "the tweets themselves are lost: these grids are re-binned from one of 256 x 256",
        ),
        Claim(
            "Most of the datasets are sparse.",
            f"more than half of the cells are empty in {int((empty > 50).sum())} of {len(empty)}",
            verdict(bool((empty > 50).sum() > len(empty) / 2)),
        ),
    )


def as_printed(value: float, printed: float) -> bool:
    """Tell whether a number is within half a unit of the last of the two digits that are printed."""
    unit = 10 ** (np.floor(np.log10(printed)) - 1)
    return bool(abs(value - printed) <= unit / 2)


def _told(table: pd.DataFrame) -> pd.DataFrame:
    shown = table.copy()
    shown["scale"] = [f"{value:,.0f}" for value in table["scale"]]
    for column in ("empty %, printed", "empty %"):
        shown[column] = [f"{value:.2f}" for value in table[column]]
    return shown


def _bars(table: pd.DataFrame) -> Callable[[Figure], None]:
    """Return a drawing of the shares of empty cells."""

    def draw(figure: Figure) -> None:
        axis = figure.subplots()
        place = np.arange(len(table))
        axis.bar(place - 0.2, table["empty %, printed"], 0.4, label="printed", color="0.7")
        axis.bar(place + 0.2, table["empty %"], 0.4, label="in the file", color="C0")
        axis.set_xticks(place, table["data"])
        axis.set(ylabel="empty cells, %", title="Table 1: shares of empty cells")
        axis.legend(frameon=False)

    return draw


EXPERIMENTS = (Experiment("table1", PAPER, "Table 1, the datasets", table_one),)
