"""Section 7.2 of He et al. (2014): from which threshold on a hierarchy is better than prefix sums. No data.

The ordered mechanism adds noise for theta to every cumulative count, so that a range is wrong by 4 theta^2
(in units of 1 / epsilon^2); a hierarchy hides everything, whatever theta is. Errors are expected ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from ranges import FULL

from papers.experiment import Claim, Experiment, Found, Progress, Size, attained, power, span, verdict
from papers.ordered_tree import FAN_OUT, OrderedTree
from papers.vldb2015_growth import line_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RANGES = 10_000
ALIKE = 3  # errors within this factor are comparable


def ordered(cells: int, theta: float) -> float:
    """Return the expected error of a range by the ordered mechanism with noise for theta, at epsilon 1."""
    return float(4 * theta**2 * (cells - 1) / (cells + 1))


def crossing(cells: int, error: float) -> float:
    """Return the threshold from which on the ordered mechanism is worse than a given error."""
    return float(np.sqrt(error / ordered(cells, 1)))


def hierarchical(cells: int, fan_out: int) -> float:
    """Return the expected error of a range by the paper's hierarchy under full, at epsilon 1."""
    ends = np.sort(np.random.default_rng(cells).integers(0, cells, (RANGES, 2)), axis=1)
    tree = OrderedTree(cells, cells, fan_out)
    return tree.expected(ends, tree.sound(ends))


def run(size: Size, progress: Progress) -> Found:
    """Compare the ordered mechanism with hierarchies over several domains."""
    sizes = [64, 256, 1024] if size.quick else [64, 128, 256, 512, 1024, 2048, 4096]
    rows = []
    for cells in progress(sizes, "orders"):
        two, many, best = hierarchical(cells, 2), hierarchical(cells, FAN_OUT), line_error(cells, FULL)
        rows.append((cells, np.log2(cells), ordered(cells, np.log2(cells)), best, two, many))
    found = np.array(rows)
    table = pd.DataFrame(
        {
            "cells": found[:, 0].astype(int),
            "log2 of them": found[:, 1],
            "ordered, theta = log2": found[:, 2],
            "ours under full": found[:, 3],
            "hierarchy, fan-out 2": found[:, 4],
            "worse from theta on": [crossing(k, e) for k, e in zip(sizes, found[:, 4], strict=True)],
            f"hierarchy, fan-out {FAN_OUT}": found[:, 5],
            "worse from theta on ": [crossing(k, e) for k, e in zip(sizes, found[:, 5], strict=True)],
            "log2^(3/2)": found[:, 1] ** 1.5,
        }
    )
    notes = (
        "Error a range times epsilon^2, expected over random ranges (ours: over all). The ordered mechanism "
        f"is sound. With fan-out {FAN_OUT} the height of the tree changes only once over these sizes, so "
        "that growth is judged with fan-out 2.",
    )
    return Found(table, lambda figure: draw(figure, sizes, found), claims(sizes, found), notes)


def claims(sizes: list[int], found: np.ndarray) -> tuple[Claim, ...]:
    """Return what became of the two sentences; columns are those of `run`."""
    alike = found[:, 2] / found[:, 3]
    crossings = [crossing(cells, error) for cells, error in zip(sizes, found[:, 4], strict=True)]
    fit = power(sizes, crossings)
    coarse = power(sizes, [crossing(cells, error) for cells, error in zip(sizes, found[:, 5], strict=True)])
    over = np.array(crossings) / found[:, 1] ** 1.5
    return (
        Claim(
            "With noise for theta on every cumulative count, errors become comparable with those under "
            "differential privacy as theta reaches log |T| (7.2).",
            f"ordered at theta = log2 |T| over ours under full: {span(alike)}; over the hierarchy of fan-out "
            f"{FAN_OUT}: {span(found[:, 2] / found[:, 5])}",
            verdict(bool((alike < ALIKE).all() and (alike > 1 / ALIKE).all())),
            f"read as: within a factor of {ALIKE} of the best under full at every size",
        ),
        Claim(
            "The ordered mechanism is worse than the hierarchical one from theta of order log^(3/2) |T| on "
            "(7.2).",
            f"theta / log2^(3/2) |T|: {span(over)} with fan-out 2; power of the logarithm {fit:.2f} with "
            f"fan-out 2, {coarse:.2f} with the paper's {FAN_OUT}",
            verdict(attained(fit, 1.5)),
            f"fan-out 2 decides: with {FAN_OUT} the height of the tree is a step function, which these sizes "
            "cross once" + ("" if attained(coarse, 1.5) else ", and the power is not attained"),
        ),
    )


def draw(figure: Figure, sizes: list[int], found: np.ndarray) -> None:
    """Draw errors over the number of cells."""
    axes = figure.subplots()
    names = ("ordered, theta = log2 |T|", "ours under full", "hierarchy, fan-out 2", f"fan-out {FAN_OUT}")
    for column, name in enumerate(names, 2):
        axes.plot(sizes, found[:, column], marker=".", label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set(xlabel="cells", ylabel="error a range, times epsilon squared", title="Section 7.2: orders")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)


EXPERIMENTS = (Experiment("orders", "SIGMOD 2014", "Section 7.2, orders of the error", run),)
