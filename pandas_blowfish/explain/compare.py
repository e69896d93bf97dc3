"""The table that `bf.compare` makes, and its picture: error over epsilon. Never sees rows."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.books.receipt import TOTALS
from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, BlowfishError
from pandas_blowfish.exact.number import epsilon_of
from pandas_blowfish.explain.release.axis_labels import in_lines, plain
from pandas_blowfish.explain.release.canvas import axes_of, colors_of, panels_of, stretch
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.policy.schema import is_schema

ASK = 'lambda plan, epsilon: plan.hist("age", epsilon=epsilon)'
COLUMNS = ("distortion", "rmse", "cost", "strategy", "std_high", "sensitivity", "answers", "refused")
Ask = Callable[..., Plan]


def compare(policies: Any, ask: Any, epsilon: Any = None) -> Comparison:
    """Return what a question would cost and how wrong its answers would be: no data, no spend.

    Args:
        policies: {name: policy, ...}, a list of policies, or a single one; a pandera schema, or the planner
            that `policy.plan.where(...)` returns, may stand for a policy.
        ask: Plans the question: takes a planner and an epsilon, or the planner alone. Several questions:
            {name: function, ...}.
        epsilon: One, or several; None for what the question itself states, else 1.

    Returns:
        A frame by policy and epsilon. What a policy does not allow is a row with the reason.

    Examples:
        >>> import pandas_blowfish as bf
        >>> near = bf.datasets.patients_policy()
        >>> dp = bf.Policy(near.domain)
        >>> table = compare({"near": near, "dp": dp}, lambda plan: plan.cumhist("age"), epsilon=(0.1, 1))
        >>> table.loc[("near", 0.1), "strategy"], table.loc[("dp", 0.1), "strategy"]
        ('transport', 'optimised')
        >>> round(float(table.loc[("dp", 0.1), "times_best"]), 1)
        2.7
    """
    planners, questions = _planners(policies), _questions(ask)
    spends = None if epsilon is None else _epsilons(epsilon)
    rows: list[tuple[tuple[Any, Any, float], Plan | BlowfishError]] = []
    text: dict[Any, str] = {}
    units: dict[Any, str] = {}
    for title, function in questions.items():
        for name, planner in planners.items():
            for asked, found in _planned(planner, function, spends):
                rows.append(((title, name, float(asked)), found))
                if isinstance(found, Plan):
                    text.setdefault(title, _call(found))
                    units.setdefault(title, _unit(found))
    keys = [key for key, _ in rows]
    index = pd.MultiIndex.from_tuples(keys, names=["question", "policy", "epsilon"])
    table = Comparison([_row(found) for _, found in rows], index=index)
    if table["distortion"].isna().all():
        table = table.drop(columns="distortion")
    table.insert(table.columns.tolist().index("cost"), "times_best", _times_best(table))
    result = Comparison(table if isinstance(ask, Mapping) else table.droplevel("question"))
    result.attrs |= {"questions": list(text.values()), "units": units}
    return result


def _planned(
    planner: Any, function: Ask, spends: list[Fraction] | None
) -> Iterable[tuple[Fraction, Plan | BlowfishError]]:
    """Return what is planned at each epsilon, or why it is refused."""
    pass_on = _takes_epsilon(function)
    if spends is None and pass_on is None:
        found = _tried(function, planner)
        return [(found.epsilon if isinstance(found, Plan) else Fraction(1), found)]
    wanted = spends or [Fraction(1)]
    if pass_on is None:
        first = _tried(function, planner)
        again = [first if isinstance(first, BlowfishError) else _tried(first.at, spend) for spend in wanted]
        return list(zip(wanted, again, strict=True))
    by_name = pass_on == "epsilon"
    made = [
        _tried(function, planner, **({"epsilon": spend} if by_name else {}), more=() if by_name else (spend,))
        for spend in wanted
    ]
    plans = [each for each in made if isinstance(each, Plan)]
    if len(plans) == len(set(wanted)) > 1 and len({each.epsilon for each in plans}) == 1:
        raise ArgumentError("ask", "it takes an epsilon and does not pass it on", fix=ASK)
    return list(zip(wanted, made, strict=True))


def _tried(function: Any, *given: Any, more: tuple[Any, ...] = (), **named: Any) -> Plan | BlowfishError:
    """Return the plan a function makes, or the library's reason for refusing."""
    try:
        found = function(*given, *more, **named)
    except BlowfishError as error:
        return error
    if not isinstance(found, Plan):
        what = "nothing" if found is None else f"a {type(found).__name__}"
        fix = "ask the planner it is handed, which spends nothing, not a frame."
        raise ArgumentTypeError("ask", f"it returned {what}, not a plan", allowed=ASK, fix=fix)
    return found


def _takes_epsilon(function: Ask) -> str | None:
    """Return how a function takes an epsilon: "epsilon" by that name, "second" by its place; None if not."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # a builtin, which states no name
        return None
    placed = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    named = any(p.name == "epsilon" and p.kind != p.POSITIONAL_ONLY for p in parameters)
    if named and (not placed or placed[0].name != "epsilon"):
        return "epsilon"
    return "second" if len(placed) > 1 and placed[1].default is inspect.Parameter.empty else None


def _planners(policies: Any) -> dict[Any, Any]:
    """Return a planner for each name."""
    if isinstance(policies, Mapping):
        named = dict(policies)
    elif isinstance(policies, (list, tuple)):
        named = {f"policy {number}": each for number, each in enumerate(policies, start=1)}
    else:
        named = {"policy": policies}
    if not named:
        raise ArgumentError("policies", "there are none", allowed='{"line": policy, "dp": another}')
    return {name: _planner(each) for name, each in named.items()}


def _planner(policy: Any) -> Any:
    if isinstance(policy, Policy.planner):
        return policy
    if not isinstance(policy, Policy) and is_schema(policy):
        policy = Policy(policy)
    if not isinstance(policy, Policy):
        allowed = "a bf.Policy, a pandera schema or policy.plan, by name or in a list"
        raise ArgumentTypeError("policies", f"a {type(policy).__name__} is no policy", allowed=allowed)
    return policy.plan


def _questions(ask: Any) -> dict[Any, Ask]:
    questions = dict(ask) if isinstance(ask, Mapping) else {"": ask}
    if not questions or not all(callable(each) for each in questions.values()):
        raise ArgumentTypeError("ask", "not a function that plans, or a dict of them", allowed=ASK)
    return questions


def _epsilons(epsilon: Any) -> list[Fraction]:
    listed = isinstance(epsilon, Iterable) and not isinstance(epsilon, str)
    found = [epsilon_of(each) for each in (epsilon if listed else [epsilon])]
    if not found:
        raise ArgumentError("epsilon", "there are none", allowed="one, or several such as (0.1, 1)")
    return list(dict.fromkeys(found))


def _row(found: Plan | BlowfishError) -> dict[str, Any]:
    if isinstance(found, BlowfishError):
        nothing = dict.fromkeys(COLUMNS, np.nan)
        text = " ".join(str(found).split())
        return nothing | {"strategy": "refused", "answers": 0, "refused": text}
    values = (
        np.nan if found.distortion is None else float(found.distortion),
        float(found.mse**0.5),
        float(found.cost),
        found.strategy,
        float(found.std.max(initial=0.0)),
        float(found.sensitivity),
        len(found.index),
        "",
    )
    return dict(zip(COLUMNS, values, strict=True))


def _times_best(table: pd.DataFrame) -> NDArray[np.float64]:
    """Return each error as a multiple of the least at the same epsilon, of the same question."""
    out = np.full(len(table), np.nan)
    asked = table.index.get_level_values("question")
    for question in dict.fromkeys(asked):
        own = np.flatnonzero([other == question for other in asked])
        part = table.iloc[own]
        error = part[decisive(part)]
        least = error.groupby(level="epsilon").transform("min").to_numpy()
        value = error.to_numpy()
        with np.errstate(divide="ignore", invalid="ignore"):
            out[own] = np.where(value == least, 1.0, value / least)
    return out


def _call(plan: Plan) -> str:
    """Return a question without its strategy and epsilon."""
    stripped = r", (strategy|epsilon)='[^']*'|\b(strategy|epsilon)='[^']*'(, )?"
    return re.sub(stripped, "", plan.call)


def _unit(plan: Plan) -> str:
    """Return what the errors of a plan are in: counts, or what is summed or averaged."""
    verb = str(plan.query["verb"])
    return f"{verb} of {', '.join(plan.query['columns'])}" if verb in TOTALS else "counts"


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
WIDE = 40  # letters of a line of a name
PANEL = 230.0  # points that a panel is high


class Comparison(pd.DataFrame):
    """One planned release per row, by policy and epsilon (and question, where there are several).

    Columns: `rmse`, the root mean squared error over the answers, before shape constraints; `times_best`,
    this as a multiple of the least at the same epsilon; `cost`, what would be charged; `strategy`;
    `std_high`, the largest standard error of any answer; `sensitivity`; `answers`, how many; `refused`, why
    there is no such release, or "". For clusters also `distortion`, what they are expected to add to the
    least sum of squared distances, as its share: `times_best` is then about that, and `rmse` about sizes.
    """

    def plot(self, *, ax: Any = None, y: str | None = None) -> Any:  # type: ignore[override]
        """Draw the error over epsilon, a line per policy, or bars for a single epsilon; return the Axes.

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
        draw = _bars if self.index.get_level_values("epsilon").nunique() == 1 else _lines
        parts = _by_unit(self, y)
        if ax is None and len(parts) > 1:
            stretch(axes, PANEL * len(parts))
        panels = [axes] if len(parts) == 1 else panels_of(axes, len(parts), 1, lines=5)
        for panel, (unit, part) in zip(panels, parts, strict=True):
            draw(panel, part, y)
            if unit:
                panel.set_title(plain(unit), loc="left", fontsize="medium")
        text = self.attrs.get("questions", [])
        if len(text) == 1:
            axes.set_title(plain(in_lines(text[0], 64, 3)), loc="left", fontsize="medium")
        return axes


def _by_unit(table: pd.DataFrame, y: str) -> list[tuple[str, pd.DataFrame]]:
    """Return the questions whose errors are in the same unit, and the unit where there are several.

    Questions of which there is nothing to draw are named beside the first.
    """
    units = table.attrs.get("units", {})
    if "question" not in table.index.names or y == "distortion":
        return [("", table)]
    asked = table.index.get_level_values("question")
    drawn = {units.get(each, "counts"): True for each in asked[np.asarray(table[y] > 0)]}
    if len(drawn) < 2:
        return [("", table)]
    first = next(iter(drawn))
    own = [units.get(each, "counts") for each in asked]
    own = [each if each in drawn else first for each in own]
    return [(unit, table[[each == unit for each in own]]) for unit in drawn]


def decisive(table: pd.DataFrame) -> str:
    """Return the column with the error of the answers: of clusterings alone, the distortion."""
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
    name = in_lines(f"{policy}, {question}" if question != "" else str(policy), WIDE, 3)
    return plain(f" {name}" if name.startswith("_") else name)  # "_" hides from legends


def _lines(axes: Any, table: pd.DataFrame, y: str) -> None:
    """Draw a line per policy and question: colours and marks distinguish policies, dashes questions."""
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
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.yaxis.set_minor_formatter(ticker.NullFormatter())
    axes.grid(alpha=0.25, linewidth=0.6)
    long = max(len(str(policy)) + len(str(question)) for question, policy, _ in parts) > WIDE
    beside = len(parts) > FEW or long
    aside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1, 1)} if beside else {}
    axes.legend(fontsize="small", **aside)


def _same(one: pd.Series[Any], other: pd.Series[Any]) -> bool:
    """Return whether two curves look the same."""
    return len(one) == len(other) > 0 and bool(np.allclose(one, other, rtol=0.02))


def _bars(axes: Any, table: pd.DataFrame, y: str) -> None:
    """Draw a bar per policy and question, with its number at its end."""
    from matplotlib.ticker import MaxNLocator

    parts = _parts(table)
    policies = list(dict.fromkeys(policy for _, policy, _ in parts))
    colors = colors_of(axes, len(policies))
    for place, (_, policy, part) in enumerate(parts):
        value, fate = float(part[y].iloc[0]), _fate(part, y)
        length = value if np.isfinite(value) else 0.0
        axes.barh(place, length, 0.7, color=colors[policies.index(policy)], alpha=0.75)
        words = fate or f"{float(f'{value:.3g}'):,.10g}"
        axes.annotate(words, (length, place), (4, 0), textcoords="offset points", va="center")
    axes.set_yticks(range(len(parts)), [_name(policy, question) for question, policy, _ in parts])
    axes.invert_yaxis()
    axes.margins(x=0.2)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    epsilon = table.index.get_level_values("epsilon")[0]
    axes.set_xlabel(f"{LABELS[y]}, at epsilon {epsilon:g}")
