"""Sensitivities that He et al. (2014) print in sections 5 to 8, beside the truth by enumeration and ours."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import numpy as np
import pandas as pd
from oracle.neighbours import true_sensitivity

import pandas_blowfish as bf
from pandas_blowfish.policy.domain import Domain, integers
from papers.experiment import Claim, Experiment, Found, Progress, Size, verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = 4  # individuals in the tables that are enumerated: all of their neighbours are tried


def cells(*sizes: int) -> Domain:
    """Return columns A1, A2, ... of whole numbers from 0."""
    return Domain(tuple(integers(f"A{place}", 0, size - 1) for place, size in enumerate(sizes, 1)))


def line(size: int, theta: int | None = None, facts: Sequence[str] = ()) -> bf.Policy:
    """Return a policy on one column: full, or a threshold, with some known counts."""
    secret = bf.full() if theta is None else bf.threshold(theta)
    return bf.Policy(cells(size), secrets={"A1": secret}, constraints=[bf.Count(fact) for fact in facts])


HALVES = bf.Policy(cells(8), secrets={"A1": bf.partition([range(4), range(4, 8)])})
SQUARE = bf.Policy(cells(4, 4), neighbors="attribute")
EXAMPLE = bf.Policy(cells(2, 2, 3), constraints=[bf.Marginal(["A1", "A2"])])
TWO_MARGINALS = bf.Policy(
    cells(2, 2, 2), neighbors="attribute", constraints=[bf.Marginal("A1"), bf.Marginal("A2")]
)
ENDS = ["0 <= A1 <= 1", "4 <= A1 <= 5"]
PREFIX = np.tril(np.ones((8, 8), dtype=int))[:-1]
WORTH = np.arange(8)[None, :]
# what is summed in each of two clusters, values from 6.5 (A1 from 2.5) on in the second
CUT = np.stack([WORTH[0] * (WORTH[0] < 6.5), WORTH[0] * (WORTH[0] > 6.5)]).astype(int)
PLACE = np.stack([axis.ravel() for axis in np.indices((4, 4))])
CUT_SQUARE = np.concatenate([PLACE * (PLACE[0] < 2.5), PLACE * (PLACE[0] > 2.5)]).astype(int)


@dataclass(frozen=True)
class Row:
    """One printed sensitivity: where, of what, under which policy, by which formula; and what we use."""

    where: str
    query: str
    told: str
    policy: bf.Policy
    matrix: np.ndarray
    formula: str
    printed: int
    ours: Fraction | None

    @property
    def true(self) -> int:
        """The largest L1 change between any two neighbours."""
        rows = ROWS if self.policy.constraints else 1
        return true_sensitivity(self.policy, self.matrix, rows)


def histogram(where: str, told: str, policy: bf.Policy, formula: str, printed: int) -> Row:
    """Return a row about the complete histogram."""
    ours = policy.plan.hist(list(policy.domain.columns), strategy="identity").sensitivity
    return Row(
        where, "histogram", told, policy, np.eye(policy.domain.size, dtype=int), formula, printed, ours
    )


def rows() -> tuple[Row, ...]:
    """Return what is compared, in the order of the paper."""
    full, near = line(8), line(8, 2)
    totals = np.repeat(np.eye(2, dtype=int), 4, axis=1)
    sums = [policy.plan.sum("A1").sensitivity for policy in (full, near)]
    ordered = [policy.plan.cumhist("A1", strategy="ordered").sensitivity for policy in (full, near)]
    groups = HALVES.plan.range("A1", [(0, 3), (4, 7)]).sensitivity
    return (
        Row("5", "sum", "0..7, full", full, WORTH, "b - a", 7, sums[0]),
        Row("5", "sum", "0..7, theta 2", near, WORTH, "theta", 2, sums[1]),
        Row("5", "totals of groups", "0..3, 4..7 partition", HALVES, totals, "0", 0, groups),
        histogram("5", "0..7, theta 2", near, "2", 2),
        Row("Lemma 6.1", "cluster sums", "0..7, theta 1", line(8, 1), CUT, "2 theta", 2, None),
        Row("Lemma 6.1", "cluster sums", "4 x 4, attribute", SQUARE, CUT_SQUARE, "2 max |A|", 6, None),
        Row("Lemma 6.1", "cluster sums", "0..3, 4..7 partition", HALVES, CUT, "2 max d(P)", 6, None),
        Row("7", "cumulative histogram", "0..7, full", full, PREFIX, "k - 1", 7, ordered[0]),
        Row("7.2", "cumulative histogram", "0..7, theta 2", near, PREFIX, "theta", 2, ordered[1]),
        histogram(
            "Theorem 8.2", "0..3, full, [0, 1] known", line(4, None, ["A1 <= 1"]), "2 max(alpha, xi)", 4
        ),
        histogram("Theorem 8.2", "0..5, theta 1, ends known", line(6, 1, ENDS), "2 max(alpha, xi)", 4),
        histogram("Corollary 8.3", "0..3, full, [0, 1] known", line(4, None, ["A1 <= 1"]), "2 max(p, 1)", 2),
        histogram("Theorem 8.4, Example 8.3", "2 x 2 x 3, full, {A1, A2} known", EXAMPLE, "2 size(C)", 8),
        histogram("Theorem 8.5", "2 x 2 x 2, attribute, {A1}, {A2} known", TWO_MARGINALS, "2 max size(C)", 4),
        histogram("Theorem 8.6", "0..5, theta 1, ends known", line(6, 1, ENDS), "2 (maxcomp + 1)", 4),
        histogram("Theorem 8.6", "0..5, theta 3, ends known", line(6, 3, ENDS), "2 (maxcomp + 1)", 6),
    )


SAID = {
    "5": "Sums need noise for theta, totals of groups none, histograms for 2.",
    "Lemma 6.1": "Cluster sums change by 2 theta, 2 max |A|, 2 max d(P) at most.",
    "7": "The cumulative histogram has sensitivity |T| - 1.",
    "7.2": "Under a threshold the cumulative histogram has sensitivity theta.",
    "Theorem 8.2": "With sparse facts the histogram's is at most 2 max(alpha, xi) of the graph of the edges.",
    "Corollary 8.3": "It is at most 2 max(|Q|, 1).",
    "Theorem 8.4, Example 8.3": "With one known marginal and full secrets it is 2 size(C): 8 in the example.",
    "Theorem 8.5": "With disjoint known marginals and attribute secrets it is 2 max size(C).",
    "Theorem 8.6": "With disjoint known ranges and a threshold it is 2 (maxcomp + 1).",
}
WHY = {
    "Lemma 6.1": "a row that changes cluster takes its whole value from one sum to another",
    "Theorem 8.2": "right for full; else another row may repair a fact along a pair that is no edge",
    "Corollary 8.3": "a path from v+ to v- has up to |Q| + 1 edges",
    "Theorem 8.4, Example 8.3": "an upper bound; reached with four rows",
    "Theorem 8.5": "rows that change different attributes repair each other's marginals",
    "Theorem 8.6": "other rows, anywhere, may repair a range, not only those near it",
}


def run(size: Size, progress: Progress) -> Found:
    """Enumerate every row and judge what is printed."""
    del size  # small as it is
    found = [(row, row.true) for row in progress(rows(), "sensitivities")]
    table = pd.DataFrame(
        {
            "paper": row.where,
            "of": row.query,
            "policy": row.told,
            "formula": row.formula,
            "printed": row.printed,
            "true": true,
            "ours": "not measured" if row.ours is None else str(row.ours),
            "printed is": "right"
            if row.printed == true
            else "too small"
            if row.printed < true
            else "too large",
        }
        for row, true in found
    )
    claims = []
    for where, sentence in SAID.items():
        held = [(row, true) for row, true in found if row.where == where]
        fine = all(row.printed >= true for row, true in held)
        told = ", ".join(f"{true} (printed {row.printed})" for row, true in held)
        if where == "Theorem 8.5":
            few = true_sensitivity(held[0][0].policy, held[0][0].matrix, ROWS - 1)
            told += f"; {few} with {ROWS - 1} rows, where a change of {held[0][1]} has no room"
        claims.append(Claim(sentence, told, verdict(fine, disproved=not fine), WHY.get(where, "")))
    notes = (
        f"True: the largest L1 change over all neighbours (Definition 4.1) of all tables of {ROWS} rows with "
        "facts, of any table without. Ours is what noise is sized by: never below the truth here.",
        "Our k-means measures cluster sums only where groups go to clusters whole: no edge leaves a cluster.",
    )
    return Found(table, lambda figure: draw(figure, found), tuple(claims), notes, size=(9.5, 5.5))


def draw(figure: Figure, found: Sequence[tuple[Row, int]]) -> None:
    """Draw what is printed, true and ours side by side."""
    axes = figure.subplots()
    place = np.arange(len(found))
    axes.barh(place - 0.27, [row.printed for row, _ in found], 0.26, label="printed", color="C1")
    axes.barh(place, [true for _, true in found], 0.26, label="true, by enumeration", color="C7")
    ours = [(at, float(row.ours)) for at, (row, _) in enumerate(found) if row.ours is not None]
    axes.barh([at + 0.27 for at, _ in ours], [value for _, value in ours], 0.26, label="ours", color="C0")
    axes.set_yticks(place, [f"{row.where}: {row.query}, {row.told}" for row, _ in found], fontsize=7)
    axes.invert_yaxis()
    axes.set(xlabel="sensitivity", title="Sensitivities as printed, true, and as we use them")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="lower right", fontsize=8)


EXPERIMENTS = (Experiment("sensitivities", "SIGMOD 2014", "Sections 5 to 8, sensitivities", run),)
