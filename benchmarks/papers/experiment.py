"""What an experiment of a paper is, how large it is run, and what it finds; it sees no rows itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
Progress = Callable[[Iterable[Any], str], Iterator[Any]]


class AbsentError(Exception):
    """A data file is not there: it is no part of the project, so the experiment is skipped."""


@dataclass(frozen=True)
class Size:
    """How large an experiment is run: the papers repeat 50 times and ask 10,000 ranges."""

    quick: bool
    runs: int = 50
    ranges: int = 10_000


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
    why; what was re-binned; what is marked unsound.
    """

    table: pd.DataFrame
    draw: Callable[[Figure], None] | None = None
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    size: tuple[float, float] = (7, 4.5)


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
        raise AbsentError(f"{path} is absent: real data are no part of the project")
    with np.load(path) as held:
        return {key: held[key] for key in held}


def verdict(holds: bool) -> str:  # the papers' sentences are plain: they hold or they do not
    """Return "reproduced" or "not reproduced"."""
    return VERDICTS[0] if holds else VERDICTS[1]


def lower_than_ours(found: pd.DataFrame, by: list[str], *, errors: float = 2, close: float = 0) -> list[str]:
    """Name the settings in which another sound mechanism is lower than ours by some standard errors.

    Args:
        found: One row a setting and mechanism: the columns `by`, `mechanism` (one is "ours"), `sound`,
            `error` and `se` (its standard error).
        by: What makes a setting.
        errors: How many standard errors; with hundreds of pairs, two are often exceeded by chance.
        close: Mechanisms that are lower by this share of ours or less are not named.
    """
    named = []
    for setting, rows in found[found["sound"]].groupby(by, sort=False, observed=True):
        ours = rows[rows["mechanism"] == OURS]
        if ours.empty:
            continue
        best = ours.iloc[0]
        others = rows[rows["mechanism"] != OURS]
        gap = best["error"] - others["error"]
        clear = (gap > errors * np.hypot(best["se"], others["se"])) & (gap > close * best["error"])
        for _, row in others[clear].iterrows():
            told = ", ".join(f"{name} {value}" for name, value in zip(by, setting, strict=True))
            named.append(f"{told}: {row['mechanism']} {row['error']:.4g} against {best['error']:.4g}")
    return named
