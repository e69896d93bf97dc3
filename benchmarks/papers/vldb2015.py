"""Table 1 of Haney et al. (VLDB 2015) beside the data, and which of its statements do not hold; sees counts.

Figure 3 is in vldb2015_growth.py, Figure 8 in vldb2015_line.py and vldb2015_plane.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from papers.experiment import Claim, Experiment, Found, Progress, Size, archive, verdict
from papers.vldb2015_dawa import PublicCode
from papers.vldb2015_panels import NAMES, PAPER, line_data
from papers.vldb2015_transforms import Spanner

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
TESTS = "tests/privacy/test_false_budgets.py::"


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
    scale, empty = table.set_index("data")["scale"], table.set_index("data")["empty %"]
    apart = (scale / table.set_index("data")["scale, printed"] - 1).abs()
    off = (empty - table.set_index("data")["empty %, printed"]).abs()
    line, plane = list("ABCDEG"), ["T100", "T50", "T25"]
    reachable = round(cells * (1 - PRINTED["F"][1] / 100))
    near = [round(100 * (1 - full / cells), 2) for full in (reachable - 1, reachable, reachable + 1)]
    return (
        Claim(
            "Table 1: the scales of all ten datasets.",
            f"largest difference {100 * apart.max():.1f}% ({apart.idxmax()}: {scale[apart.idxmax()]:,.0f})",
            verdict(bool(apart.max() < 0.05)),
            "two printed digits" if apart.max() < 0.02 else "B is printed as 2.0, and is 2.08",
        ),
        Claim(
            "Table 1: the shares of empty cells of A, B, C, D, E and G.",
            f"largest difference {off[line].max():.3f} points",
            verdict(bool(off[line].max() < 0.011)),
        ),
        Claim(
            "Table 1: 97.08% of F's cells are empty.",
            f"{empty['F']:.2f}%",
            "false",
            f"no number of empty cells among {cells:,} gives it: {', '.join(f'{each:.2f}' for each in near)}",
        ),
        Claim(
            "Table 1: the shares of empty cells of T100, T50 and T25.",
            ", ".join(f"{name} {empty[name]:.2f} (printed {PRINTED[name][1]:.2f})" for name in plane),
            verdict(bool(off[plane].max() < 0.011)),
            "the tweets themselves are lost: these grids are re-binned from one of 256 x 256",
        ),
        Claim(
            "Most of the datasets are sparse.",
            f"more than half of the cells are empty in {int((empty > 50).sum())} of {len(empty)}",
            verdict(bool((empty > 50).sum() > len(empty) / 2)),
        ),
    )


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
        axis.set_ylabel("empty cells, %")
        axis.legend(frameon=False)

    return draw


def statements(_size: Size, _progress: Progress) -> Found:
    """List statements about privacy that fail, each with its counter-example, or that the figures rest on."""
    losses = {cells: PublicCode.singles_loss(cells) for cells in (3, 16, 256)}
    told = ", ".join(f"{loss:.3g} at {cells} cells" for cells, loss in losses.items())
    stretches = {theta: Spanner(8 * theta, theta).stretch for theta in (2, 4, 8)}
    claims = (
        Claim(
            "Theorem 4.1: a matrix mechanism with W A A+ = W is private, before and after the transform.",
            "a strategy that meets the condition publishes an exact count",
            "false",
            f"what is needed is W A+ A = W, and A of full column rank; {TESTS}test_vldb_theorem_4_1_with_the_"
            "printed_condition",
        ),
        Claim(
            "Sections 4.1, 5.2.2: noise for epsilon on the transformed database is private on any graph.",
            "Laplace(1 / epsilon) on x_G loses 3.4 epsilon on a grid of 8 x 8",
            "false",
            "only on trees; on a grid release functions of x alone, as Transformed + Privelet does here; "
            f"{TESTS}test_vldb_noise_on_the_weights_of_edges",
        ),
        Claim(
            "Claim 4.2, Lemma 4.9: neighbours are what is at distance 1 after the transform, over the reals.",
            "half a row along each of two edges is at distance 1 and no neighbour",
            "false",
            f"it holds for whole numbers, which is enough; {TESTS}test_vldb_claim_4_2_is_about_whole_numbers",
        ),
        Claim(
            "Section 5.3.1: H is a tree that spans the line, with a stretch of 3.",
            f"stretch by theta: {stretches}; k = 10, theta = 3 (its own Figure 6): in two pieces",
            "false",
            "true where theta divides k, as in Figure 8; "
            f"{TESTS}test_vldb_spanner_of_a_line_whose_length_theta_does_not_divide",
        ),
        Claim(
            "Section 5.3.2: the spanner of the plane stretches no more than that of the line.",
            "stretch 5 in the plane",
            "false",
            f"{TESTS}test_vldb_spanner_of_the_plane_has_stretch_five",
        ),
        Claim(
            "Section 6: an epsilon / 2 differentially private algorithm is (epsilon, G)-private for every G.",
            "moving one row is removing one and adding one: epsilon / 2 twice",
            "reproduced",
            "used for every plain mechanism here; a bounded one at epsilon is as good or better",
        ),
        Claim(
            "Section 6 takes DAWA as differentially private, alone and as a part of Blowfish algorithms.",
            f"the partition of its public code loses, in its share of epsilon: {told}",
            "false",
            "as that code has it (no noise on single cells, costs cut at 0; whether the authors ran it is "
            "not known); with noise on every cost it is private, and far worse; "
            "tests/benchmarks/test_vldb2015.py::test_public_code_of_dawa_loses_more_than_its_share",
        ),
    )
    rows = [(claim.sentence, claim.verdict) for claim in claims]
    return Found(pd.DataFrame(rows, columns=["statement", "verdict"]), None, claims)


EXPERIMENTS = (
    Experiment("table1", PAPER, "Table 1, the datasets", table_one),
    Experiment("statements", PAPER, "Statements about privacy", statements),
)
