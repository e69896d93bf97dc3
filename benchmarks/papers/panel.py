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
from papers.clusters import LLOYD, NOISELESS, PAPER, UNCUT, Case, scores
from papers.experiment import OURS, Claim, Found, Progress, Size, beside_ours

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RUNS = 50  # as the paper
TENTHS = tuple(f"{tenth / 10:g}" for tenth in range(1, 11))
SHOWN = ("0.1", "0.5", "1")
METHODS = (OURS, LLOYD, PAPER, UNCUT)
COLUMNS = {UNCUT: f"{UNCUT} (median)"}  # what is summed over a size of 1 has a heavy tail: means say nothing
DENOMINATOR = (
    "The denominator is the least of 10 runs without privacy (half of them from k-means++), each until it "
    'stands still. The paper\'s is "the non-private k-means algorithm", not described: were it one Lloyd of '
    "10 steps from a random start, all scores would be smaller by what the row `no noise` says."
)
RATIOS = {OURS: "ours", PAPER: "paper*", UNCUT: "paper*, centres not cut (medians)"}
LEMMA = "Lemma 6.1's noise does not keep the promise except under full"


@dataclass(frozen=True)
class Panel:
    """One of the six pictures: which policies are tried on which data, and what is said about them."""

    name: str
    item: str
    tried: tuple[tuple[str, tuple[Case, ...]], ...]
    judge: Callable[[Means], tuple[Claim, ...]]
    needs: tuple[str, ...] = ()  # other data that the sentences are about
    notes: tuple[str, ...] = ()
    ratio: bool = False  # full over the policy is drawn, not both
    why: str = ""  # why another sound mechanism is lower than ours, where one is


class Means:
    """Scores by data, policy, epsilon and method, measured when first asked for.

    They are told as means, as in the paper; where centres are not cut as medians.
    """

    def __init__(self, size: Size) -> None:
        self.runs = size.repeats(RUNS)
        self.epsilons = SHOWN if size.quick else TENTHS

    def each(self, data: str, case: Case, epsilon: str, method: str) -> np.ndarray:
        """Return the scores of all runs."""
        return scores(data, case, epsilon, method, self.runs)

    def __call__(self, data: str, case: Case, epsilon: str, method: str) -> float:
        """Return the mean score, or the median where centres are not cut."""
        return middle(self.each(data, case, epsilon, method), method)

    def error(self, data: str, case: Case, epsilon: str, method: str) -> float:
        """Return the standard error of that score."""
        return _error(self.each(data, case, epsilon, method), method)

    def row(self, data: str, case: Case, method: str) -> list[float]:
        """Return the scores by epsilon."""
        return [self(data, case, epsilon, method) for epsilon in self.epsilons]

    def uneven(self, data: str, cases: Iterable[Case], method: str) -> int:
        """Count in how many steps to a weaker policy the mean score grows by over three standard errors.

        Runs of the paper's Lloyd are compared seed by seed, ours on the whole.
        """
        found = 0
        for epsilon in self.epsilons:
            for stronger, weaker in pairwise(cases):
                before, after = (self.each(data, case, epsilon, method) for case in (stronger, weaker))
                apart = np.hypot(_error(before), _error(after)) if method == OURS else _error(after - before)
                found += after.mean() - before.mean() > max(3 * apart, 1e-9)
        return int(found)


def middle(each: np.ndarray, method: str) -> float:
    """Return what stands for the scores of all runs."""
    return float(np.median(each) if method == UNCUT else each.mean())


def _error(each: np.ndarray, method: str = "") -> float:
    """Return the standard error of a mean, or (from the quartiles) of a median."""
    if len(each) < 2:
        return float(np.abs(each).mean())
    if method == UNCUT:
        low, high = np.quantile(each, [0.25, 0.75])
        return float(1.25 * (high - low) / 1.35 / np.sqrt(len(each)))
    return float(each.std(ddof=1) / np.sqrt(len(each)))


def run(panel: Panel, size: Size, progress: Progress) -> Found:
    """Measure one of the pictures and judge what the paper says about it."""
    means = Means(size)
    for name, _ in panel.tried:
        clusters.scene(name)  # absent files are found before anything is measured
    whole = clusters.present(*panel.needs)
    cells = [(data, case, e) for data, cases in panel.tried for case in cases for e in means.epsilons]
    rows = []
    for data, case, epsilon in progress(cells, panel.name):
        for method in METHODS:
            each = means.each(data, case, epsilon, method)
            sound = method in (OURS, LLOYD) or case.printed_is_sound
            low, high = np.quantile(each, [0.25, 0.75])
            found = middle(each, method), _error(each, method), low, high
            rows.append((data, case.name, epsilon, method, sound, *found))
    heads = ["data", "policy", "epsilon", "mechanism", "sound", "error", "se", "low", "high"]
    tidy = pd.DataFrame(rows, columns=heads)
    many_rows = {name: len(clusters.scene(name).frame) for name, _ in panel.tried}
    notes = [
        f"Objective over that without privacy, k = {K}: mean (quartiles) of {means.runs} runs, median "
        "(quartiles) where centres are not cut. Tables show three epsilons, sentences are judged on "
        f"{len(means.epsilons)}. `{LLOYD}` is sound, its settings chosen on these data; thresholds leave "
        "its noise as it is under full, and its seeds are the same, so its numbers are too. The other two "
        f"columns are the paper's. {LEMMA}: marked *. The paper does not say what becomes of centres outside "
        f"the domain: cut to it, or not. `{NOISELESS}` is its Lloyd from the same random starts.",
        DENOMINATOR,
        "The paper's Lloyd has the same seeds under all policies, which hides part of the chance between "
        "them; our noise has no seed.",
        f"Rows: {', '.join(f'{name} {many:,}' for name, many in many_rows.items())}.",
        *panel.notes,
        *beside_ours(tidy, ["data", "policy", "epsilon"], panel.why),
    ]
    notes += (
        [] if whole else [f"Sentences that need {', '.join(panel.needs)} are left out: a file is absent."]
    )
    claims = panel.judge(means) if whole else ()
    high = 4 if panel.ratio else 7 if len(panel.tried) > 1 else 4.4
    size_of = (3.7 * max(2, len(panel.tried)), high)
    table = pd.concat([_noiseless(panel, means), _table(tidy)])
    return Found(table, lambda figure: draw(figure, panel, tidy), claims, tuple(notes), size_of, means.runs)


def _noiseless(panel: Panel, means: Means) -> pd.DataFrame:
    """Return a row a data set: Lloyd from the paper's random starts, without noise."""
    rows = []
    for data, cases in panel.tried:
        each = means.each(data, cases[0], "1", NOISELESS)
        low, high = np.quantile(each, [0.25, 0.75])
        told = {COLUMNS.get(name, name): "" for name in METHODS}
        told[PAPER] = f"{each.mean():.3f} ({low:.3f}-{high:.3f})"
        rows.append({"data": data, "policy": NOISELESS, "epsilon": "none", **told})
    return pd.DataFrame(rows)


def _table(tidy: pd.DataFrame) -> pd.DataFrame:
    """Return a row a policy and epsilon shown, a column a method."""
    shown = tidy[tidy["epsilon"].isin(SHOWN)].copy()
    spread = shown.apply(lambda row: f"({row['low']:.3f}-{row['high']:.3f})", axis=1)
    marks = np.where(shown["sound"], "", "\\*")
    shown["told"] = shown["error"].map("{:.3f} ".format) + spread + marks
    keys = ["data", "policy", "epsilon"]
    order = pd.MultiIndex.from_frame(shown[keys].drop_duplicates())
    wide = shown.pivot(index=keys, columns="mechanism", values="told")
    return wide.loc[order, list(METHODS)].rename(columns=COLUMNS).reset_index()


def draw(figure: Figure, panel: Panel, tidy: pd.DataFrame) -> None:
    """Draw scores over epsilon: a column a data set (or one), a row ours and one the paper's noise."""
    if panel.ratio:
        _ratios(figure, panel, tidy)
        return
    wide = len(panel.tried) > 1
    shape = (2, len(panel.tried)) if wide else (1, 2)
    sides = figure.subplots(*shape, squeeze=False, sharex=True, sharey=False if wide else "row")
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
            axes.tick_params(axis="y", which="both", labelsize=7)
            axes.grid(alpha=0.3)
    for axes in sides.ravel():  # when all is drawn: sides may share it
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, 0.99), max(high, 1.05))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("{x:.3g}" if high < 40 else "")
    handles, labels = sides[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=7, frameon=False)
    told = "*unsound except under full; dotted: centres not cut, medians"
    figure.suptitle(f"{panel.item}\n({told})", fontsize=9)


def _ratios(figure: Figure, panel: Panel, tidy: pd.DataFrame) -> None:
    """Draw the objective under full over that under the policy, a line a data set, as the paper does."""
    sides = figure.subplots(1, 3, sharex=True)
    for axes, (method, told) in zip(sides, RATIOS.items(), strict=True):
        held = tidy[tidy["mechanism"] == method]
        for data, cases in panel.tried:
            full, weaker = (
                held[(held["data"] == data) & (held["policy"] == case.name)].set_index("epsilon")["error"]
                for case in cases[:2]
            )
            ratio = full / weaker
            axes.plot([float(each) for each in ratio.index], ratio, marker="o", markersize=3, label=data)
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set(title=told, xlabel="epsilon")
        axes.title.set_fontsize(9)
        axes.grid(alpha=0.3)
    sides[0].set_ylabel(f"objective under full / {panel.tried[0][1][1].name}")
    sides[0].legend(fontsize=8)
    figure.suptitle(f"{panel.item} (*unsound)", fontsize=10)


def _curve(axes: Any, held: pd.DataFrame, policy: str, method: str, **style: Any) -> None:
    """Draw the mean of one method under one policy, and its quartiles as a band."""
    found = held[(held["policy"] == policy) & (held["mechanism"] == method)]
    if found.empty:
        return
    at = found["epsilon"].astype(float)
    axes.plot(at, found["error"], marker="o", markersize=3, **style)
    if method == UNCUT:
        return
    axes.fill_between(at, found["low"], found["high"], color=style["color"], alpha=0.06, linewidth=0)
