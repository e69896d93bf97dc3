"""The table that `bf.compare` makes, and its picture: error over epsilon. Never sees rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.explain.canvas import axes_of, colors_of
from pandas_blowfish.explain.places import plain

DASHES = ("-", "--", ":", "-.")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
LABELS = {
    "rmse": "error of an answer (root mean squared)",
    "std_high": "largest standard error of an answer",
    "distortion": "added to squared distances, as a share",
}
UNKNOWN = "not known before the release"
MANY = 8  # epsilons beyond which not each is written
FEW = 6  # lines that are named inside the picture


class Comparison(pd.DataFrame):
    """One planned release a row, by policy and epsilon (and question, where there are several).

    Columns: `rmse`, the root mean squared error over the answers, before shape constraints; `times_best`,
    this as a multiple of the least at the same epsilon; `cost`, what would be charged; `strategy`;
    `std_high`, the largest standard error of any answer; `sensitivity`; `answers`, how many; `refused`, why
    there is no such release, or "". For clusters also `distortion`, what they are expected to add to the
    least sum of squared distances, as its share: `times_best` is then about that, and `rmse` about sizes.
    """

    def plot(self, *, ax: Any = None, y: str | None = None) -> Any:  # type: ignore[override]
        """Draw the error over epsilon, a line a policy, or bars for a single epsilon; return the Axes.

        Args:
            ax: The matplotlib Axes to draw on; None for new ones.
            y: The column to draw: "rmse", "std_high" or "distortion"; None for that of `times_best`.
        """
        if y is None:
            y = decisive(self)
        if y not in LABELS or y not in self.columns:
            known = [name for name in LABELS if name in self.columns]
            raise ArgumentError("y", "not an error of this table", allowed=", ".join(map(repr, known)))
        axes = axes_of(ax)
        if self.index.get_level_values("epsilon").nunique() == 1:
            _bars(axes, self, y)
        else:
            _lines(axes, self, y)
        said = self.attrs.get("questions", [])
        if len(said) == 1:
            shown = said[0] if len(said[0]) <= 64 else f"{said[0][:61]}..."
            axes.set_title(plain(shown), loc="left", fontsize="medium")
        return axes


def decisive(table: pd.DataFrame) -> str:
    """Return the column that says how wrong answers are: of clusterings alone, the distortion."""
    planned = table[table["refused"] == ""]
    own = "distortion" in table and len(planned) and planned["distortion"].notna().all()
    return "distortion" if own else "rmse"


def _parts(table: pd.DataFrame) -> list[tuple[Any, Any, pd.DataFrame]]:
    """Return the question ("" for the only one), the policy and their rows, in order."""
    asked = table.index.get_level_values("question") if "question" in table.index.names else [""] * len(table)
    keys = list(zip(asked, table.index.get_level_values("policy"), strict=True))
    return [
        (*key, table.iloc[[place for place, other in enumerate(keys) if other == key]])
        for key in dict.fromkeys(keys)
    ]


def _fate(part: pd.DataFrame, y: str) -> str:
    """Return why there is nothing to draw: "exact", "refused", or that nobody knows; "" where there is."""
    if (part[y] > 0).any():
        return ""
    if (part["refused"] != "").all():
        return "refused"
    return "exact" if (part[y] == 0).any() else UNKNOWN


def _name(policy: Any, question: Any) -> str:
    name = f"{policy}, {question}" if question != "" else str(policy)
    return plain(f" {name}" if name.startswith("_") else name)  # "_" hides from legends


def _lines(axes: Any, table: pd.DataFrame, y: str) -> None:
    """Draw a line a policy and question: colours and marks tell policies apart, dashes questions."""
    from matplotlib import ticker

    parts = _parts(table)
    policies = list(dict.fromkeys(policy for _, policy, _ in parts))
    questions = list(dict.fromkeys(question for question, _, _ in parts))
    colors = colors_of(axes, len(policies))
    curves = [part.loc[part[y] > 0, y].droplevel("policy").sort_index() for _, _, part in parts]
    for place, (question, policy, part) in enumerate(parts):
        number, fate, curve = policies.index(policy), _fate(part, y), curves[place]
        hidden = min(sum(_same(curve, later) for later in curves[place + 1 :]), 4)  # drawn over: look out
        axes.plot(
            curve.index.get_level_values("epsilon").to_numpy(),
            curve.to_numpy(),
            color=colors[number],
            marker=MARKS[number % len(MARKS)],
            markersize=6 + 3 * hidden,
            linewidth=1.5 + 1.5 * hidden,
            linestyle=DASHES[questions.index(question) % len(DASHES)],
            label=_name(policy, question) + (f" ({fate})" if fate else ""),
        )
    axes.set(xlabel="epsilon", ylabel=LABELS[y], xscale="log", yscale="log")
    epsilons = np.unique(table.index.get_level_values("epsilon"))
    if len(epsilons) <= MANY:
        axes.set_xticks(epsilons, [f"{each:g}" for each in epsilons])
        axes.xaxis.set_minor_locator(ticker.NullLocator())
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5), numticks=12))
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axes.yaxis.set_minor_formatter(ticker.NullFormatter())
    axes.grid(alpha=0.25, linewidth=0.6)
    aside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1, 1)} if len(parts) > FEW else {}
    axes.legend(fontsize="small", **aside)


def _same(one: pd.Series[Any], other: pd.Series[Any]) -> bool:
    """Tell whether two curves look the same."""
    return len(one) == len(other) > 0 and bool(np.allclose(one, other, rtol=0.02))


def _bars(axes: Any, table: pd.DataFrame, y: str) -> None:
    """Draw a bar a policy and question, with its number at its end."""
    parts = _parts(table)
    policies = list(dict.fromkeys(policy for _, policy, _ in parts))
    colors = colors_of(axes, len(policies))
    for place, (_, policy, part) in enumerate(parts):
        value, fate = float(part[y].iloc[0]), _fate(part, y)
        length = value if np.isfinite(value) else 0.0
        axes.barh(place, length, 0.7, color=colors[policies.index(policy)], alpha=0.75)
        words = fate or f"{value:,.3g}"
        axes.annotate(words, (length, place), (4, 0), textcoords="offset points", va="center")
    axes.set_yticks(range(len(parts)), [_name(policy, question) for question, policy, _ in parts])
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set_xlim(left=0)
    epsilon = table.index.get_level_values("epsilon")[0]
    axes.set_xlabel(f"{LABELS[y]}, at epsilon {epsilon:g}")
