"""Figure 2 (b) and (c) of He et al. (2014): random ranges of capital losses, and of tweets by latitude."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from ranges import PEERS, errors_each, policy_of

from papers.experiment import (
    OURS,
    Claim,
    Experiment,
    Found,
    Progress,
    Size,
    archive,
    beside_ours,
    verdict,
    widest,
)
from papers.ordered_tree import FAN_OUT, OrderedTree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER = "SIGMOD 2014"
FULL = "full"
PLAIN, SOUND, FITTED, PRINTED = (
    "ours, no fit",
    "paper, sound budget",
    "the same, fitted",
    "paper as printed (unsound)",
)
TENTHS = tuple(f"{tenth / 10:g}" for tenth in range(1, 11))
SHOWN = ("0.1", "0.5", "1")
RUNS = 50  # as the paper
INEXACT = 0.02  # how far the mean over random ranges may be from that over all of them
RANGES = 10_000  # also when quick: they cost no more than a few
Errors = Mapping[tuple[str, str, str], np.ndarray]  # threshold, epsilon, mechanism -> an error a repetition


@dataclass(frozen=True)
class Picture:
    """One of the two pictures: its data, and the thresholds by name, in cells."""

    name: str
    item: str
    file: str
    key: str
    thetas: Mapping[str, int]
    note: str

    @property
    def line(self) -> str:
        """The name of the smallest threshold, one cell."""
        return list(self.thetas)[-1]


CAPITAL = Picture(
    "fig2b",
    "Figure 2(b), ranges of capital loss",
    "adult_capital_loss.npz",
    "all_4357",
    {FULL: 4357, "1000": 1000, "500": 500, "100": 100, "50": 50, "10": 10, "1": 1},
    "48,842 rows of Adult (train and test) on 4,357 cells, 99 of which are not empty.",
)
TWEETS = Picture(
    "fig2c",
    "Figure 2(c), ranges of latitude",
    "twitter_western_usa.npz",
    "lat400_jittered_DERIVED",
    {FULL: 400, "500 km": 90, "50 km": 9, "5 km": 1},
    "193,563 tweets, re-binned: DPBench's 256 latitudes, each tweet placed uniformly in its cell, on 400 "
    "cells of 0.05 degrees (5.56 km), 389 of which are not empty. The original coordinates were not kept.",
)


def measure(
    picture: Picture, size: Size, progress: Progress
) -> tuple[Errors, dict[str, OrderedTree], np.ndarray]:
    """Return the errors of every mechanism, the paper's trees by threshold, and the ranges."""
    counts = archive(picture.file)[picture.key].astype(np.int64)
    cells = len(counts)
    draw = np.random.default_rng(2014)
    ends = np.sort(draw.integers(0, cells, (RANGES, 2)), axis=1)
    bounds = [tuple(pair) for pair in ends.tolist()]
    total = np.append(0, np.cumsum(counts))
    truth = total[ends[:, 1] + 1] - total[ends[:, 0]]
    trees = {theta: OrderedTree(cells, many) for theta, many in picture.thetas.items()}
    budgets = {theta: {SOUND: tree.sound(ends), PRINTED: tree.printed()} for theta, tree in trees.items()}
    epsilons, repeats = SHOWN if size.quick else TENTHS, size.repeats(RUNS)
    found: dict[tuple[str, str, str], np.ndarray] = {}
    for theta, epsilon in progress([(t, e) for t in trees for e in epsilons], picture.name):
        planner = policy_of(cells, FULL if theta == FULL else picture.thetas[theta]).plan
        each = errors_each(planner.range("x", bounds, epsilon=epsilon), counts, truth, repeats)
        found[theta, epsilon, PLAIN], found[theta, epsilon, OURS] = each.T
        tree, rate = trees[theta], float(epsilon)
        for name, scales in budgets[theta].items():
            each = np.array([tree.errors(counts, ends, scales, rate, draw) for _ in range(repeats)])
            found[theta, epsilon, name] = each[:, 0]
            if name == SOUND:
                found[theta, epsilon, FITTED] = each[:, 1]
        for strategy, name in PEERS.items():  # they hide everything: what they reach under full holds for all
            if theta == FULL:
                plan = planner.range("x", bounds, epsilon=epsilon, strategy=strategy)
                found[theta, epsilon, name] = errors_each(plan, counts, truth, repeats)[:, 1]
            else:
                found[theta, epsilon, name] = found[FULL, epsilon, name]
    return found, trees, ends


def run(picture: Picture, size: Size, progress: Progress) -> Found:
    """Measure one of the pictures and judge what the paper says about it."""
    errors, trees, ends = measure(picture, size, progress)
    repeats = size.repeats(RUNS)
    tidy = pd.DataFrame(
        {
            "threshold": theta,
            "epsilon": epsilon,
            "mechanism": name,
            "sound": name != PRINTED,
            "error": each.mean(),
            "se": each.std(ddof=1) / np.sqrt(len(each)) if len(each) > 1 else each.mean(),
        }
        for (theta, epsilon, name), each in errors.items()
    )
    shown = tidy[tidy["epsilon"].isin(SHOWN)]
    names = [OURS, PLAIN, SOUND, FITTED, *PEERS.values(), PRINTED]
    wide = shown.pivot(index=["threshold", "epsilon"], columns="mechanism", values="error")
    order = [(theta, epsilon) for theta in picture.thetas for epsilon in SHOWN]
    table = wide.loc[order, names].reset_index()
    others = tidy[tidy["mechanism"] != PLAIN]
    why = (
        "At the smallest threshold ours and the paper's measure the same sums, and under full ours is close "
        "to Hb: what is between them is chance. Elsewhere ours is chosen before any row is read, by its "
        "error without the monotone fit; what the fit gains "
        "depends on how empty the data are."
    )
    notes = (
        picture.note,
        f"Mean squared error a range, {RANGES:,} random ranges, {repeats} repetitions. `ours` is the "
        f"default (monotone fit), `paper` sums nodes up (fan-out {FAN_OUT}), `fitted` adds a monotone fit. "
        f"{', '.join(PEERS.values())} (all fitted) hide everything at the same epsilon, bounded; Hb is a "
        "hierarchy of the best fan-out with optimised scales.",
        widest(tidy),
        *beside_ours(others, ["threshold", "epsilon"], why),
    )
    claims = judged(picture, errors, trees, ends)
    return Found(table, lambda figure: draw(figure, picture, errors), claims, notes, (11, 4.4), repeats)


def judged(
    picture: Picture, errors: Errors, trees: Mapping[str, OrderedTree], ends: np.ndarray
) -> tuple[Claim, ...]:
    """Return what became of each sentence, at epsilon 0.5 unless said otherwise."""
    thetas = list(picture.thetas)
    mean = {theta: {name: errors[theta, "0.5", name].mean() for name in _names(errors)} for theta in thetas}
    last = picture.line
    ratios = {name: mean[FULL][name] / mean[last][name] for name in (SOUND, PLAIN, OURS)}
    losses = {theta: tree.loss(tree.printed()) for theta, tree in trees.items()}
    worst = max(loss for loss in losses.values() if np.isfinite(loss))
    sound = {theta: tree.expected(ends, tree.sound(ends)) for theta, tree in trees.items()}
    true = {
        theta: tree.expected(ends, tree.printed()) / tree.printed_error() for theta, tree in trees.items()
    }
    above = [theta for theta in thetas if sound[theta] > 1.001 * sound[FULL]]
    falls = any(
        all(mean[wide][name] < mean[near][name] for wide, near in pairwise(thetas)) for name in (SOUND, OURS)
    )
    gain = mean[last][PLAIN] / mean[last][OURS]
    claims = (
        Claim(
            "As theta increases, the error decreases (7.3).",
            f"theta {', '.join(thetas[::-1])}: {_row(mean, SOUND)} ({SOUND}); {_row(mean, OURS)} (ours)",
            verdict(falls, disproved=not falls and sound[last] < sound[FULL]),
            f"expected errors of the paper's own mechanism, times epsilon^2: {sound[last]:.3g} at theta = "
            f"{last}, {sound[FULL]:.3g} under full",
        ),
        Claim(
            f"Orders of magnitude difference in error between theta = {last} and full (7.3).",
            ", ".join(f"{name}: {ratio:.0f} times" for name, ratio in ratios.items()),
            verdict(max(ratios.values()) >= 100),
            "read as 100 times at least, with one of these",
        ),
        Claim(
            f"At theta = {last} the ordered hierarchical mechanism is the ordered mechanism (7.3), whose "
            "error is at most 4 / epsilon^2 (Theorem 7.1).",
            f"expected {sound[last]:.3f} / epsilon^2, measured {0.25 * mean[last][SOUND]:.2f} ({SOUND})",
            verdict(sound[last] <= 4 and 0.25 * mean[last][SOUND] < 4.1),
            "only with a sound budget: as printed s_1 gets no noise, its loss is infinite",
        ),
        Claim(
            "The ordered hierarchical mechanism with the printed budget is epsilon-private (Theorem 7.2).",
            f"loss / epsilon: {_told(losses)}",
            "false" if max(losses.values()) > 1 + 1e-9 else "reproduced",
            f"at most {worst:.2f} epsilon where s_1 has noise; a sound budget costs little",
        ),
        Claim(
            "Its error is never above that of the hierarchical mechanism (7.2).",
            f"over that of full: {_told({theta: sound[theta] / sound[FULL] for theta in thetas})}",
            verdict(not above),
            "expected, sound budget" + (f"; above at {', '.join(above)}" if above else ""),
        ),
        Claim(
            "Equation (15) is the exact expected error (7.2).",
            f"true over printed: {_told(true)}",
            "reproduced" if all(abs(each - 1) < INEXACT for each in true.values()) else "false",
            "log_f theta is taken as if it were whole, and nodes that two ends share are counted twice",
        ),
    )
    if picture is not CAPITAL:
        return claims
    fit = Claim(
        "The monotone fit leads to a much smaller error on sparse data (7.1).",
        f"theta = {last}: {gain:.1f} times smaller (ours)",
        verdict(gain > 3),
        "99 of 4,357 cells are not empty; with latitudes, where 389 of 400 are not, it gains little",
    )
    return (*claims, fit)


def _told(values: Mapping[str, float]) -> str:
    """Return a value a threshold."""
    return ", ".join(f"{value:.2f} ({theta})" for theta, value in values.items())


def _names(errors: Errors) -> list[str]:
    return list(dict.fromkeys(name for _, _, name in errors))


def _row(mean: Mapping[str, Mapping[str, float]], name: str) -> str:
    """Return errors from the smallest threshold to full."""
    return ", ".join(f"{mean[theta][name]:.3g}" for theta in reversed(list(mean)))


def draw(figure: Figure, picture: Picture, errors: Errors) -> None:
    """Draw errors over epsilon, a colour a threshold: ours, the paper's with a sound budget, as printed."""
    sides = figure.subplots(1, 3, sharex=True, sharey=True)
    titles = {OURS: "ours", SOUND: f"{SOUND} (thin: fitted)", PRINTED: PRINTED}
    colours = {theta: f"C{number}" for number, theta in enumerate(picture.thetas)}
    for axes, (name, title) in zip(sides, titles.items(), strict=True):
        for theta, colour in colours.items():
            _line(axes, errors, theta, name, color=colour, label=theta, marker="o", markersize=3)
            if name == SOUND:
                _line(axes, errors, theta, FITTED, color=colour, linewidth=0.8, linestyle="--")
        if name == OURS:
            _line(axes, errors, FULL, "Hb", color="black", linestyle=":", label="full, Hb fitted")
        axes.set(title=title, xlabel="epsilon", yscale="log")
        axes.grid(alpha=0.3)
    sides[0].set_ylabel("mean squared error of a range")
    sides[0].legend(title="threshold", fontsize=8, ncols=2)
    figure.suptitle(picture.item)


def _line(axes: object, errors: Errors, theta: str, name: str, **style: object) -> None:
    """Draw one mechanism under one threshold."""
    points = [
        (float(epsilon), each.mean()) for (t, epsilon, n), each in errors.items() if (t, n) == (theta, name)
    ]
    axes.plot(*zip(*sorted(points), strict=True), **style)  # type: ignore[attr-defined]


def _experiment(picture: Picture) -> Experiment:
    return Experiment(picture.name, PAPER, picture.item, lambda size, progress: run(picture, size, progress))


EXPERIMENTS = (_experiment(CAPITAL), _experiment(TWEETS))
