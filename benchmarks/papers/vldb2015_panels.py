"""One panel of Figure 8 of Haney et al. (VLDB 2015): mechanisms measured on a dataset, told and drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.plan.plan import Plan
from papers.experiment import OURS, Size, archive, beside_ours, lower_than_ours, together, widest
from papers.vldb2015_dawa import answers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
PAPER = "Haney et al., VLDB 2015"
# the paper's letters, and what the archive calls them
NAMES = {
    "A": "PATENT",
    "B": "INCOME",
    "C": "HEPTH",
    "D": "SEARCHLOGS",
    "E": "NETTRACE",
    "F": "ADULT",
    "G": "MEDCOST",
}
EPSILONS = (Fraction(1, 1000), Fraction(1, 100), Fraction(1, 10), Fraction(1))
RUNS = 20  # the paper repeats 5 times
DP, ADDED, BLOWFISH, UNSOUND = "differential privacy", "added peer", "Blowfish", "unsound"
# no grey: it is for unsound; no pale ones, which are lost under ours
COLORS = ("C0", "C1", "C2", "C3", "C4", "C5", "deeppink", "C8", "C9", "navy", "olive", "teal")
LOOKS = {DP: "o", ADDED: "s", BLOWFISH: "^", UNSOUND: "x", OURS: "*"}


@dataclass(frozen=True)
class Mechanism:
    """A way to answer, and whose it is: plain differential privacy, Blowfish, a peer we added, or ours."""

    name: str
    kind: str
    draw: Callable[[], Floats]


def epsilons(size: Size) -> tuple[Fraction, ...]:
    """Return the paper's epsilons, without the smallest when quick."""
    return EPSILONS[1:] if size.quick else EPSILONS


def line_data() -> dict[str, Ints]:
    """Return the seven one-dimensional datasets by the paper's letters."""
    held = archive("dpbench_1d.npz")
    return {letter: held[name].astype(np.int64) for letter, name in NAMES.items()}


def planned(name: str, kind: str, plan: Plan, counts: Ints, *, post: bool) -> Mechanism:
    """Return a mechanism of the library on the cells of one column, planned once."""
    return Mechanism(name, kind, lambda: answers(plan, counts, post=post))


def measured(
    setting: dict[str, object], mechanisms: Iterable[Mechanism], truth: Floats, runs: int
) -> list[dict[str, object]]:
    """Return for each mechanism its mean squared error over fresh noise, with its standard error."""
    found = []
    for each in mechanisms:
        errors = np.array([float(np.mean((each.draw() - truth) ** 2)) for _ in range(runs)])
        told = {"mechanism": each.name, "kind": each.kind, "sound": each.kind != UNSOUND}
        spread = float(errors.std(ddof=1) / np.sqrt(runs)) if runs > 1 else float("nan")
        found.append({**setting, **told, "error": float(errors.mean()), "se": spread})
    return found


def table(found: pd.DataFrame, across: str) -> pd.DataFrame:
    """Return one row an epsilon and mechanism, one column a dataset, and which sound mechanism is lowest."""
    wide = found.pivot_table(
        index=["epsilon", "mechanism", "kind"], columns=across, values="error", sort=False, observed=True
    )
    wide = wide.map(lambda error: f"{error:.3g}")
    sound = found[found["sound"]]
    least = sound.loc[sound.groupby(["epsilon", across], sort=False)["error"].idxmin()]
    named = least.pivot(index="epsilon", columns=across, values="mechanism")
    tuples = [(epsilon, "lowest sound", "") for epsilon in named.index]
    named.index = pd.MultiIndex.from_tuples(tuples, names=wide.index.names)
    both = pd.concat([wide, named[wide.columns]]).reset_index()
    order = {epsilon: number for number, epsilon in enumerate(found["epsilon"].unique())}
    return both.sort_values("epsilon", key=lambda column: column.map(order), kind="stable")


def lower(found: pd.DataFrame, across: str, why: str, named: str = "") -> tuple[str, ...]:
    """Return notes: where another sound mechanism is lower than ours, and where an unsound one is.

    Args:
        found: What was measured.
        across: The column of datasets.
        why: Why another is lower, said where one is.
        named: Why one of our strategies by name is lower than `auto`, said where one is.
    """
    by = ["epsilon", across]
    others = found[(found["kind"] != OURS) | (found["mechanism"] == OURS)]
    clear = lower_than_ours(others, by)
    settings = found.groupby(by).ngroups
    notes = [
        widest(found),
        f"Ours is the lowest of the sound mechanisms, or within 2 standard errors of it, in "
        f"{settings - len({each.partition(': ')[0] for each in clear})} of {settings} settings.",
        *beside_ours(others, by, why),
    ]
    strategies = found[found["kind"] == OURS]
    of_ours = lower_than_ours(strategies, by)
    if of_ours:
        notes.append(f"Of our strategies by name, lower than `auto`: {together(of_ours)}. {named}".strip())
    near = lower_than_ours(strategies, by, chance=True)
    notes += [f"Of them lower by less, which may be chance: {together(near)}."] if near else []
    cheats = others[others["mechanism"].eq(OURS) | (others["kind"] == UNSOUND)].assign(sound=True)
    wins = lower_than_ours(cheats, by)
    notes += [f"Unsound, so no competitor, but lower than ours: {together(wins)}."] if wins else []
    return tuple(notes)


def drawn(found: pd.DataFrame, across: str, title: str) -> Callable[[Figure], None]:
    """Return a drawing: one panel an epsilon, datasets side by side, errors on a log scale."""

    def draw(figure: Figure) -> None:
        epsilons = list(found["epsilon"].unique())
        axes = np.atleast_1d(figure.subplots(1, len(epsilons), sharex=True)).ravel()
        places = list(found[across].unique())
        told = found[(found["kind"] != OURS) | (found["mechanism"] == OURS)]
        names = list(told["mechanism"].unique())
        for axis, epsilon in zip(axes, epsilons, strict=True):
            part = found[found["epsilon"] == epsilon]
            for number, name in enumerate(names):
                rows = part[part["mechanism"] == name].set_index(across)
                kind = rows["kind"].iloc[0]
                color = (
                    "black" if name == OURS else "0.6" if kind == UNSOUND else COLORS[number % len(COLORS)]
                )
                axis.plot(
                    range(len(places)),
                    rows["error"].reindex(places),
                    marker="+" if kind == UNSOUND and "Transformed" in name else LOOKS[kind],
                    color=color,
                    linewidth=1.2 if name == OURS else 0.5,
                    markersize=9 if name == OURS else 5,
                    label=name.replace("code)", "code, unsound)"),
                    zorder=3 if name == OURS else 2,
                )
            axis.set_yscale("log")
            axis.set_xticks(range(len(places)), [str(place) for place in places])
            axis.set_title(f"epsilon {epsilon}", fontsize=9)
            axis.set_xlabel("cells" if across == "cells" else "dataset", fontsize=8)
            axis.grid(axis="y", alpha=0.3)
            axis.tick_params(labelsize=8)
        axes[0].set_ylabel("mean squared error")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
        figure.suptitle(title, fontsize=10)

    return draw


class Errors:
    """Measured errors, looked up by epsilon, dataset and mechanism."""

    def __init__(self, found: pd.DataFrame, across: str) -> None:
        self.found = found.set_index(["epsilon", across, "mechanism"])["error"]
        self.epsilons, self.places = list(found["epsilon"].unique()), list(found[across].unique())

    def __call__(self, epsilon: str, place: object, mechanism: str) -> float:
        """Return one error."""
        return float(self.found[epsilon, place, mechanism])

    def ratios(self, above: str, below: str, epsilons: Iterable[str] | None = None) -> Floats:
        """Return error ratios, epsilons x datasets."""
        kept = [epsilon for epsilon in epsilons or self.epsilons if epsilon in self.epsilons]
        upper, under = (
            np.array([[self(epsilon, place, name) for place in self.places] for epsilon in kept])
            for name in (above, below)
        )
        return upper / under
