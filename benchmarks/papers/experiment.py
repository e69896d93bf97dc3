"""What an experiment of a paper is, how large it is run, and what it finds; it sees no rows itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
VERDICTS = ("reproduced", "not reproduced", "false")
OURS = "ours"
ERRORS = 2  # standard errors of a difference beyond which it is named; one for all tables
Progress = Callable[[Iterable[Any], str], Iterator[Any]]


class AbsentError(Exception):
    """A data file is not there: it is no part of the project, so the experiment is skipped."""


@dataclass(frozen=True)
class Size:
    """How large an experiment is run; without `runs` each experiment has its own number of repetitions."""

    quick: bool
    runs: int | None = None
    ranges: int = 10_000

    def repeats(self, usual: int) -> int:
        """Return how often to repeat: what was asked for, else what is usual."""
        return usual if self.runs is None else self.runs


@dataclass(frozen=True)
class Claim:
    """One sentence of a paper about a result, and what we measured for it."""

    sentence: str
    measured: str
    verdict: str
    why: str = ""

    def __post_init__(self) -> None:
        """Refuse a verdict that is not one of three words."""
        if self.verdict not in VERDICTS:
            raise ValueError(f"{self.verdict!r} is no verdict; use one of {', '.join(VERDICTS)}")


@dataclass(frozen=True)
class Found:
    """What an experiment found.

    The table is printed as it is, without its index. The drawing gets an empty figure, `size` inches wide and
    high. Notes are sentences below the table: the rows where another sound mechanism is lower than ours, and
    why; what was re-binned; what is marked unsound. `repeats` is how often noise was drawn (0: not at all).
    """

    table: pd.DataFrame
    draw: Callable[[Figure], None] | None = None
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    size: tuple[float, float] = (7, 4.5)
    repeats: int = 0


@dataclass(frozen=True)
class Experiment:
    """One figure or table of a paper: its short name, where it is printed, and how to run it."""

    name: str
    paper: str
    item: str
    run: Callable[[Size, Progress], Found]


def archive(name: str) -> dict[str, np.ndarray]:
    """Return the arrays of a file in ../shared/data.

    Raises:
        AbsentError: The file is not there.
    """
    path = DATA / name
    if not path.exists():
        raise AbsentError(f"{name} is absent from ../shared/data: real data are no part of the project")
    with np.load(path) as held:
        return {key: held[key] for key in held}


def verdict(holds: bool, *, unsound: bool = False, disproved: bool = False) -> str:
    """Return the one word for a sentence; the rule is the same for every experiment.

    Args:
        holds: It holds with a sound mechanism (or needs none).
        unsound: It holds with a mechanism that breaks its promise.
        disproved: A proof or an enumeration contradicts it.
    """
    if disproved:
        return "false"
    return "reproduced" if holds else "false" if unsound else "not reproduced"


def span(values: np.ndarray) -> str:
    """Return the least and the largest of several numbers."""
    return f"{values.min():.3g} to {values.max():.3g}" if values.size else "none"


def power(sizes: list[int], errors: Sequence[float]) -> float:
    """Return the power of log2(size) with which errors grow over the larger half of sizes (all of few)."""
    half = len(sizes) // 2 if len(sizes) > 4 else 0
    logs = np.log(np.log2(np.array(sizes[half:], dtype=float)))
    return float(np.polyfit(logs, np.log(errors[half:]), 1)[0])


def attained(fit: float, stated: float) -> bool:
    """Tell whether a fitted power is the stated one: from 3/4 of it to 15% above, as logarithms are short."""
    return bool(0.75 * stated <= fit <= 1.15 * stated)


def lower_than_ours(found: pd.DataFrame, by: list[str], *, chance: bool = False) -> list[str]:
    """Name the settings in which another sound mechanism is lower than ours.

    Args:
        found: One row a setting and mechanism: the columns `by`, `mechanism` (one is "ours"), `sound`,
            `error` and `se` (its standard error).
        by: What makes a setting.
        chance: Those lower by at most two standard errors of the difference, not those beyond.
    """
    named = []
    for setting, rows in found[found["sound"]].groupby(by, sort=False, observed=True):
        ours = rows[rows["mechanism"] == OURS]
        if ours.empty:
            continue
        best = ours.iloc[0]
        others = rows[rows["mechanism"] != OURS]
        gap = best["error"] - others["error"]
        clear = gap > ERRORS * np.hypot(best["se"], others["se"])
        for _, row in others[(gap > 0) & ~clear if chance else clear].iterrows():
            told = ", ".join(f"{name} {value}" for name, value in zip(by, setting, strict=True))
            pair = _apart(row["error"], best["error"])
            named.append(f"{told}: {row['mechanism']} {pair[0]} against {pair[1]}")
    return named


def _apart(low: float, high: float) -> tuple[str, str]:
    """Return two numbers with as many digits as it takes to tell them apart, four at least."""
    for digits in range(4, 17):
        pair = f"{low:.{digits}g}", f"{high:.{digits}g}"
        if pair[0] != pair[1]:
            break
    return pair


def together(named: Iterable[str]) -> str:
    """Return "setting: other error against ours" texts with the others of a setting in one."""
    held: dict[tuple[str, str], list[str]] = {}
    for text in named:
        place, _, rest = text.partition(": ")
        who, _, mine = rest.rpartition(" against ")
        held.setdefault((place, mine), []).append(who)
    return "; ".join(f"{place} ({mine}): {', '.join(who)}" for (place, mine), who in held.items())


def beside_ours(found: pd.DataFrame, by: list[str], why: str = "") -> list[str]:
    """Return notes: where another sound mechanism is lower than ours, beyond two standard errors or not."""
    clear, near = (lower_than_ours(found, by, chance=chance) for chance in (False, True))
    pairs = int((found["sound"] & (found["mechanism"] != OURS)).sum())
    few = "about one in 44 by chance where two are alike"
    notes = [
        f"Lower than ours among sound mechanisms, by over {ERRORS} standard errors ({pairs} pairs, {few}): "
        f"{together(clear) or 'none'}." + (f" {why}" if clear and why else "")
    ]
    return notes + ([f"Lower by less, which may be chance: {together(near)}."] if near else [])


def widest(found: pd.DataFrame) -> str:
    """Return a note with the largest standard error of a mean, as a share of it."""
    held = found[found["error"] > 0]
    share = (held["se"] / held["error"]).fillna(0)
    where = held.loc[share.idxmax()]
    return (
        f"Largest standard error of a mean: {100 * share.max():.0f}% ({where['mechanism']}, epsilon "
        f"{where['epsilon']}). Our noise has no seed, so no two runs agree to the last digit."
    )
