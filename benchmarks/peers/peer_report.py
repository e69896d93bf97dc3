"""What the peers said, as tables, claims and pictures; it sees errors and times, no rows.

A mechanism that hides the presence of a row at epsilon hides its changed value at 2 epsilon (one row removed,
another added): at half of epsilon it makes the promise that ours makes under full. Both are told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import peer_pictures
from papers.experiment import OURS, beside_ours
from peer_claims import EQUAL, OTHER, STATED, fastest, lowest
from peer_environments import PEERS
from reproduce import markdown

BEGIN, END = "<!-- peers:begin -->", "<!-- peers:end -->"
UNBIASED, CELLS, MWEM = "ours, unbiased", "ours, cells", "SmartNoise MWEM, ranges only"
OWN = (UNBIASED, CELLS)  # ours by another name: no competitors
WHAT = {
    "hist": "Histogram: mean squared error of a cell",
    "range": "Ranges: mean squared error of a range",
    "cdf": "CDF: largest difference, in percent",
}
HEAD = """## Beside other libraries

`make peers` (`python benchmarks/peers.py`): each library in a virtual environment of its own, one after
another. **{equal}**: all hide whether a row's value is x or y, any two values, at the epsilon of the
column; the row count is known. That is ours under `full()`. A library that hides a row's presence runs at
half of epsilon for it. **{stated}**: the same library at the whole epsilon, as its manual would have it:
it hides a row's presence at epsilon and a changed value only at 2 epsilon, a promise half as strong as
that of the rows above. **{other}**: ours under thresholds, which hide near values only: no competitor.
"ours" is what a user gets (`post=True`: counts not negative, totals exact), "{unbiased}" is `post=False`.
Those libraries' answers are as they come, without shaping of ours. A library's CDF is divided by its own
total at stated epsilon; at equal promise by that or by the known row count, whichever is nearer on average.
Numbers are means over repetitions, standard errors in brackets; "lower" is by more than two standard errors
of the difference."""


def spread(each: Sequence[float] | np.ndarray) -> float:
    """Return the standard error of a mean (nan for one number)."""
    return float(np.std(each, ddof=1) / np.sqrt(len(each))) if len(each) > 1 else float("nan")


def told(mean: float, error: float) -> str:
    """Return a mean with its standard error."""
    return f"{short(mean)} ({short(error, 2)})" if error == error else short(mean)


def short(number: float, digits: int = 3) -> str:
    """Return a number to some digits, large ones in full."""
    cut = float(f"{number:.{digits}g}")
    return f"{cut:,.0f}" if 100 <= abs(cut) < 10**7 else f"{cut:.{digits}g}"


def asked(one: dict[str, Any], what: str, promise: str) -> np.ndarray | None:
    """Return the errors of one question: of a CDF in percent, by the better total at equal promise."""
    if what != "cdf":
        return np.array(one[what]) if what in one else None
    keys = [key for key in ("cdf rows", "cdf own") if key in one]
    if promise == STATED:
        keys = ["cdf own"]
    return 100 * min((np.array(one[key]) for key in keys), key=np.mean)


def rewrite(path: Path, text: str) -> None:
    """Put a text between the peers' markers of a file, or at its end where there are none."""
    old = path.read_text("utf-8")
    before, found, rest = old.partition(BEGIN)
    if found and END not in rest:
        raise ValueError(f"{path.name} has {BEGIN} and no {END} after it: put it back where the part ends")
    after = rest.partition(END)[2] if found else "\n"
    before = before if found else f"{old.rstrip()}\n\n"
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", "utf-8")
    fresh.replace(path)  # whole or not at all


@dataclass(frozen=True)
class Report:
    """Everything that was measured, and who was left out."""

    said: list[dict[str, Any]]
    clusters: pd.DataFrame
    skipped: list[str]
    epsilons: tuple[str, ...]

    @cached_property
    def errors(self) -> pd.DataFrame:
        """Return one row a question, data, epsilon (as promised), method and promise."""
        rows = []
        for one in (one for peer in self.said for one in peer["errors"]):
            if one["method"] == UNBIASED and one["policy"] != "full":
                continue
            for promise, epsilon, policy in self._promises(
                one["method"], one["epsilon"], one.get("policy", "")
            ):
                method = one["method"] if policy in ("", "full") else f"{one['method']}, {policy}"
                for what in WHAT:
                    if what != "range" and method == MWEM:
                        continue  # as it was asked, it is made for ranges
                    each = asked(one, what, promise)
                    if each is None:
                        continue
                    rows.append(
                        (what, one["data"], epsilon, method, promise, each.mean(), spread(each), len(each))
                    )
        heads = ["what", "data", "epsilon", "mechanism", "promise", "error", "se", "runs"]
        return pd.DataFrame(rows, columns=heads).drop_duplicates(heads[:5])

    def _promises(self, method: str, epsilon: float, policy: str) -> Iterable[tuple[str, str, str]]:
        """Yield under which promise, and as which epsilon, a measured error is told."""
        known = {float(each): each for each in self.epsilons}
        if policy:
            yield EQUAL if policy == "full" else OTHER, known[epsilon], policy
            return
        exact = method == MWEM  # hides a changed value at the epsilon it is given
        if epsilon in known:
            yield EQUAL if exact else STATED, known[epsilon], ""
        if 2 * epsilon in known and not exact:
            yield EQUAL, known[2 * epsilon], ""

    def table(self, what: str) -> pd.DataFrame:
        """Return one row a mechanism and promise, one column a data set and epsilon, and who is lowest."""
        found = self.errors[self.errors["what"] == what].copy()
        found["told"] = [told(*pair) for pair in zip(found["error"], found["se"], strict=True)]
        found["column"] = found["data"] + ", " + found["epsilon"]
        order = [f"{data}, {epsilon}" for data in found["data"].unique() for epsilon in self.epsilons]
        rows = []
        for promise in (EQUAL, STATED, OTHER):
            part = found[found["promise"] == promise]
            for mechanism in part["mechanism"].unique():
                held = part[part["mechanism"] == mechanism].set_index("column")["told"]
                rows.append([promise, mechanism, *(held.get(column, "") for column in order)])
        equal = found[(found["promise"] == EQUAL)]
        least = equal.loc[equal.groupby("column")["error"].idxmin()].set_index("column")["mechanism"]
        rows.append([EQUAL, "**lowest**", *(f"**{least[column]}**" for column in order)])
        return pd.DataFrame(rows, columns=["promise", "mechanism", *order])

    @cached_property
    def speed(self) -> pd.DataFrame:
        """Return times over numpy.bincount in the same process, and memory in columns of the rows timed."""
        rows = []
        for peer in self.said:
            for one in peer["speed"]:
                floor, each = np.mean(one["bincount"]), np.array(one["seconds"])
                relative = np.hypot(spread(each) / each.mean(), spread(one["bincount"]) / floor)
                relative = relative if relative == relative else float("nan")
                column = 8 * one["rows"]
                extra = max(one["peak"] - one["before"], 0) / column
                ratio, first = each.mean() / floor, one["first"] / floor
                head = (one["method"], one["cells"], one["rows"])
                rows.append((*head, ratio, ratio * relative, first, extra, one["peak"] / 2**20))
        heads = ["method", "cells", "rows", "ratio", "se", "first", "extra", "peak"]
        return pd.DataFrame(rows, columns=heads)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Return k-means scores by method, promise and epsilon."""
        rows = []
        titles = {peer.name: peer.title for peer in PEERS}
        for _, one in self.clusters.iterrows():
            method = titles.get(one["method"], one["method"])
            for promise, epsilon, policy in self._promises(method, one["epsilon"], one["policy"]):
                named = method if policy in ("", "full") else f"{method}, {policy}"
                each = one["scores"]
                rows.append((named, promise, epsilon, each.mean(), spread(each), len(each)))
        return pd.DataFrame(rows, columns=["mechanism", "promise", "epsilon", "error", "se", "runs"])

    def claims(self) -> pd.DataFrame:
        """Return whether ours is the lowest, question by question, naming the rows where it is not."""
        rows = []
        for what, title in WHAT.items():
            found = self.errors[(self.errors["what"] == what) & ~self.errors["mechanism"].isin(OWN)]
            for promise in (EQUAL, STATED):
                rows.append(lowest(title.partition(":")[0], found, promise, ["data", "epsilon"]))
        if len(self.scores):
            rows.extend(lowest("K-means", self.scores, promise, ["epsilon"]) for promise in (EQUAL, STATED))
        rows.extend(fastest(cells, part) for cells, part in self.speed.groupby("cells"))
        return pd.DataFrame(rows, columns=["claim", "holds", "measured"])

    def peers(self) -> pd.DataFrame:
        """Return who was asked, and what each promises."""
        said = {each["peer"]: each for each in self.said}
        ours = said[OURS]
        rows = [
            ("ours", ours["version"], "the policy's: under full, one row's value changed", "", ours["took"])
        ]
        for peer in PEERS:
            if peer.name in said:
                each = said[peer.name]
                rows.append((peer.title, each["version"], peer.relation, peer.remark, each["took"]))
        rows = [(*row[:4], f"{row[4]:.0f} s") for row in rows]
        return pd.DataFrame(rows, columns=["library", "version", "hides", "how it was asked", "whole run"])

    def text(self, circumstances: str) -> str:
        """Return everything as Markdown."""
        names = {"equal": EQUAL.capitalize(), "stated": STATED.capitalize(), "other": OTHER.capitalize()}
        parts = [HEAD.format(**names, unbiased=UNBIASED), circumstances, markdown(self.peers())]
        parts += ["\n".join(f"- {reason}" for reason in self.skipped)] if self.skipped else []
        parts += [markdown(self.claims()), "![errors](figures/peers_errors.png)"]
        for what, title in WHAT.items():
            parts += [f"### {title}", self._repeated(what), markdown(self.table(what)), self._below(what)]
        if len(self.speed):
            parts += self._timed()
        if len(self.scores):
            shown = self.scores.assign(
                score=[told(*pair) for pair in self.scores[["error", "se"]].to_numpy()]
            )
            heads = ["promise", "mechanism", "epsilon", "score", "runs"]
            order = shown.assign(rank=shown["promise"].map([EQUAL, STATED, OTHER].index))
            said = (
                "Sum of squared distances over the least of 10 non-private runs, k = 4, 3 colours. `private "
                "Lloyd` is our own, sound, tuned on these data. OpenDP, Tumult, SmartNoise have no k-means."
            )
            table = markdown(order.sort_values(["rank", "epsilon"], kind="stable")[heads])
            parts += ["### K-means of skin 1%", said, table, "![k-means](figures/peers_kmeans.png)"]
        return "\n\n".join(parts)

    def _below(self, what: str) -> str:
        """Return where another is lower than ours at equal promise, and why."""
        held = self.errors[(self.errors["what"] == what) & (self.errors["promise"] == EQUAL)]
        held = held.assign(sound=True).fillna({"se": 0.0})
        notes = beside_ours(held[held["mechanism"] != CELLS], ["data", "epsilon"])
        if what == "cdf" and (held["mechanism"] == CELLS).any():
            notes.append(
                f'`{CELLS}` is ours with `strategy="identity"`, cells summed up and what is above the row '
                "count taken off evenly. A hierarchy is planned for squared error, not for the largest gap, "
                "which over few cells may be smaller without one:"
            )
            notes += beside_ours(held[held["mechanism"].isin((OURS, CELLS))], ["data", "epsilon"])
        return "\n".join(f"- {note}" for note in notes)

    def _repeated(self, what: str) -> str:
        """Return how often each mechanism was asked."""
        runs = self.errors[self.errors["what"] == what].groupby("mechanism", sort=False)["runs"].first()
        most = int(runs.max())
        fewer = [f"{int(many)} of {name}" for name, many in runs.items() if many < most]
        return "; ".join([f"{most} repetitions", *fewer]) + "."

    def _timed(self) -> list[str]:
        """Return the times and memory as Markdown."""
        found = self.speed
        shown = pd.DataFrame(
            {
                "method": found["method"],
                "cells": found["cells"],
                "time / bincount": [told(*pair) for pair in found[["ratio", "se"]].to_numpy()],
                "first time": found["first"],
                "extra memory / column": found["extra"],
                "whole peak, MB": found["peak"].map("{:.0f}".format),
            }
        ).sort_values(["cells"], kind="stable")
        said = (
            f"A histogram of {found['rows'].iloc[0]:,} rows that the library already holds, over "
            "`numpy.bincount` of the same column in the same process (so a ratio, not a time). Memory is of "
            "the process and all it started (Spark's too): extra is the most above that before, in columns "
            "(8 bytes a row); what Spark already held is in the last only. `ours, file ledger` also writes "
            "the charge to disk (no peer does), `ours, with protect` also reads and seals the frame."
        )
        return ["### Time and memory", said, markdown(shown), "![time](figures/peers_speed.png)"]

    def draw(self, folder: Path) -> None:
        """Write the pictures."""
        folder.mkdir(exist_ok=True)
        promises = {EQUAL: "o", STATED: "v", OTHER: "d"}
        peer_pictures.errors(self.errors, WHAT, self.epsilons, promises, folder / "peers_errors.png")
        if len(self.speed):
            peer_pictures.speed(self.speed, folder / "peers_speed.png")
        if len(self.scores):
            peer_pictures.scores(self.scores, promises, folder / "peers_kmeans.png")
