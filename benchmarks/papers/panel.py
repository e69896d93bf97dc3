"""One picture of Figure 1 of He et al. (2014): scores by policy and epsilon, measured and drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from kmeans import K

from papers import clusters
from papers.clusters import LLOYD, PAPER, UNCUT, Case, scores
from papers.experiment import OURS, Claim, Found, Progress, Size, lower_than_ours

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RUNS = 20  # at most
TENTHS = tuple(f"{tenth / 10:g}" for tenth in range(1, 11))
SHOWN = ("0.1", "0.5", "1")
METHODS = (OURS, LLOYD, PAPER, UNCUT)
CLOSE = 0.001
LEMMA = "Lemma 6.1's noise does not keep the promise except under full"


@dataclass(frozen=True)
class Panel:
    """One of the six pictures: which policies are tried on which data, and what is said about them."""

    name: str
    item: str
    tried: tuple[tuple[str, tuple[Case, ...]], ...]
    judge: Callable[[Means], tuple[Claim, ...]]
    notes: tuple[str, ...] = ()


class Means:
    """Mean scores by data, policy, epsilon and method, measured when first asked for."""

    def __init__(self, size: Size) -> None:
        self.runs = min(size.runs, RUNS)
        self.epsilons = SHOWN if size.quick else TENTHS

    def each(self, data: str, case: Case, epsilon: str, method: str) -> np.ndarray:
        """Return the scores of all runs."""
        return scores(data, case, epsilon, method, self.runs)

    def __call__(self, data: str, case: Case, epsilon: str, method: str) -> float:
        """Return the mean score."""
        return float(self.each(data, case, epsilon, method).mean())

    def row(self, data: str, case: Case, method: str) -> list[float]:
        """Return the mean scores by epsilon."""
        return [self(data, case, epsilon, method) for epsilon in self.epsilons]

    def uneven(self, data: str, cases: Iterable[Case], method: str) -> int:
        """Count in how many steps to a weaker policy the mean score grows by over three standard errors."""
        found = 0
        for epsilon in self.epsilons:
            for stronger, weaker in pairwise(cases):
                before, after = (self.each(data, case, epsilon, method) for case in (stronger, weaker))
                found += after.mean() - before.mean() > 3 * np.hypot(_error(before), _error(after))
        return found


def _error(each: np.ndarray) -> float:
    """Return the standard error of a mean."""
    return float(each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else float(each.mean())


def judged(printed: bool, sound: bool) -> str:
    """Return false for what holds only with noise that does not keep the promise."""
    return "reproduced" if sound else "false" if printed else "not reproduced"


def run(panel: Panel, size: Size, progress: Progress) -> Found:
    """Measure one of the pictures and judge what the paper says about it."""
    means = Means(size)
    cells = [(data, case, e) for data, cases in panel.tried for case in cases for e in means.epsilons]
    rows = []
    for data, case, epsilon in progress(cells, panel.name):
        for method in METHODS:
            each = means.each(data, case, epsilon, method)
            sound = method in (OURS, LLOYD) or case.printed_is_sound
            low, high = np.quantile(each, [0.25, 0.75])
            rows.append((data, case.name, epsilon, method, sound, each.mean(), _error(each), low, high))
    heads = ["data", "policy", "epsilon", "mechanism", "sound", "error", "se", "low", "high"]
    tidy = pd.DataFrame(rows, columns=heads)
    by = ["data", "policy", "epsilon"]
    lower, every = (lower_than_ours(tidy, by, errors=3, close=close) for close in (CLOSE, 0))
    many_rows = {name: len(clusters.scene(name).frame) for name, _ in panel.tried}
    notes = (
        f"Objective over the least of 10 non-private runs, k = {K}: mean (quartiles) of {means.runs} runs. "
        f"`{LLOYD}` is sound, its settings chosen on these very data. {LEMMA}: marked *. The paper does not "
        "say what becomes of centres outside the domain: cut to it, or not.",
        f"Rows: {', '.join(f'{name} {many:,}' for name, many in many_rows.items())}.",
        *panel.notes,
        f"Lower than ours among sound mechanisms by over 3 standard errors: {'; '.join(lower) or 'none'}."
        + (f" By less than 0.1% (a cell of the grid): {len(every) - len(lower)} rows." if every else ""),
    )
    claims = panel.judge(means)
    size_of = (3.7 * max(2, len(panel.tried)), 7 if len(panel.tried) > 1 else 4.4)
    return Found(_table(tidy), lambda figure: draw(figure, panel, tidy), claims, notes, size=size_of)


def _table(tidy: pd.DataFrame) -> pd.DataFrame:
    """Return a row a policy and epsilon shown, a column a method."""
    shown = tidy[tidy["epsilon"].isin(SHOWN)].copy()
    spread = shown.apply(lambda row: f"({row['low']:.3f}-{row['high']:.3f})", axis=1)
    marks = np.where(shown["sound"], "", "\\*")
    shown["told"] = shown["error"].map("{:.3f} ".format) + spread + marks
    keys = ["data", "policy", "epsilon"]
    order = pd.MultiIndex.from_frame(shown[keys].drop_duplicates())
    wide = shown.pivot(index=keys, columns="mechanism", values="told")
    return wide.loc[order, list(METHODS)].reset_index()


def draw(figure: Figure, panel: Panel, tidy: pd.DataFrame) -> None:
    """Draw scores over epsilon: a column a data set (or one), a row ours and one the paper's noise."""
    wide = len(panel.tried) > 1
    sides = figure.subplots(*((2, len(panel.tried)) if wide else (1, 2)), squeeze=False, sharex=True)
    for column, (data, cases) in enumerate(panel.tried):
        held = tidy[tidy["data"] == data]
        for row, method in enumerate((OURS, PAPER)):
            axes = sides[row, column] if wide else sides[0, row]
            for number, case in enumerate(cases):
                _curve(axes, held, case.name, method, color=f"C{number}", label=case.name)
                if method == PAPER:
                    _curve(axes, held, case.name, UNCUT, color=f"C{number}", linestyle=":", linewidth=1)
            if method == OURS:
                _curve(axes, held, "full", LLOYD, color="black", label=f"full, {LLOYD}", linestyle=":")
            told = "ours" if method == OURS else "the paper's noise*"
            axes.set(
                title=f"{data}: {told}", xlabel="epsilon", ylabel="objective / non-private", yscale="log"
            )
            axes.title.set_fontsize(9)
            low, high = axes.get_ylim()
            axes.set_ylim(min(low, 0.99), max(high, 1.05))
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter("{x:.3g}" if high < 40 else "")
            axes.tick_params(axis="y", which="both", labelsize=7)
            axes.grid(alpha=0.3)
            axes.legend(fontsize=7)
    figure.suptitle(f"{panel.item} (*unsound except under full; dotted: centres not cut)", fontsize=10)


def _curve(axes: Any, held: pd.DataFrame, policy: str, method: str, **style: Any) -> None:
    """Draw the mean of one method under one policy, and its quartiles as a band."""
    found = held[(held["policy"] == policy) & (held["mechanism"] == method)]
    if found.empty:
        return
    at = found["epsilon"].astype(float)
    axes.plot(at, found["error"], marker="o", markersize=3, **style)
    if method == UNCUT:
        return
    axes.fill_between(at, found["low"], found["high"], color=style["color"], alpha=0.12, linewidth=0)
