"""The questions of the corpus, defined once: small policies, small tables, many verbs and strategies.

`record.py` writes what the library answers to them, `test_corpus.py` asks again. Public names only, so that
neither depends on where a module lies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pandera.pandas as pa

import pandas_blowfish as bf

ROWS = 120
Declared = tuple[pa.Column, list[Any]]  # a column of the schema, and values that rows of it take


def whole(low: int, high: int, secret: Any = None, **options: Any) -> Declared:
    """Return a column of whole numbers."""
    column = pa.Column(int, pa.Check.in_range(low, high), metadata=secret, **options)
    return column, _with_missing(list(range(low, high + 1)), options)


def real(low: float, high: float, step: str, secret: Any) -> Declared:
    """Return a column of numbers in cells of some width."""
    column = pa.Column(float, pa.Check.in_range(low, high), metadata=secret)
    return column, np.round(np.arange(low, high, float(step) / 2), 6).tolist()


def days(low: str, high: str, secret: Any) -> Declared:
    """Return a column of days."""
    ends = pa.Check.in_range(pd.Timestamp(low), pd.Timestamp(high))
    return pa.Column("datetime64[ns]", ends, metadata=secret), list(pd.date_range(low, high, freq="D"))


def names(values: list[str], secret: Any = None, *, ordered: bool = False, **options: Any) -> Declared:
    """Return a column of categories."""
    kind = pd.CategoricalDtype(values, ordered=ordered)
    return pa.Column(kind, metadata=secret, **options), _with_missing(list(values), options)


def flags(secret: Any = None) -> Declared:
    """Return a column of truth values."""
    return pa.Column(bool, metadata=secret), [False, True]


def endless(secret: Any, values: list[float]) -> Declared:
    """Return a column of numbers without bounds."""
    return pa.Column(float, metadata=secret), values


def _with_missing(values: list[Any], options: Mapping[str, Any]) -> list[Any]:
    return [*values, None] if options.get("nullable") else values


@dataclass(frozen=True)
class Promise:
    """A policy and a table it protects.

    Attributes:
        columns: The declared columns.
        options: Further arguments of `bf.Policy`.
        facts: Makes the public facts from the table, which they must agree with.
    """

    columns: Mapping[str, Declared]
    options: Mapping[str, Any] = field(default_factory=dict)
    facts: Callable[[pd.DataFrame], list[Any]] | None = None

    def frame(self, rows: int = ROWS) -> pd.DataFrame:
        """Return rows that are computed, not drawn."""
        steps = np.arange(1, rows + 1)
        found = {}
        for place, (name, (column, values)) in enumerate(self.columns.items()):
            codes = (steps * steps * (place + 2) + 5 * steps * (place + 1) + steps // 7) % 101 % len(values)
            cells = [values[code] for code in codes]
            kind = column.dtype.type if isinstance(column.dtype.type, pd.CategoricalDtype) else None
            if None in values and kind is None:
                kind = "Int64"
            found[name] = pd.Series(cells, dtype=kind)
        return pd.DataFrame(found)

    def policy(self) -> bf.Policy:
        """Return the promise."""
        known = {} if self.facts is None else {"constraints": self.facts(self.frame())}
        schema = pa.DataFrameSchema({name: column for name, (column, _) in self.columns.items()})
        return bf.Policy(schema, **self.options, **known)


LETTERS, ILLS = ["a", "b", "c"], ["angina", "asthma", "flu", "none"]
PIECES = {"low": [0, 1, 2, 3, 4], "middle": [5, 6, 7], "high": [8, 9, 10, 11, 12, 13, 14, 15]}
SCATTERED = [[0, 2, 4, 6], [1, 3, 5, 7], [8, 15], [9, 10, 11, 12, 13, 14]]
BRANCHES = [(at, at + 1) for at in range(7)] + [(0, 8), (8, 9), (9, 10), (4, 12), (13, 14)]
STAY = [["0.9", "0.1"], ["0.2", "0.8"]]
THREE = [["0.6", "0.2", "0.2"], ["0.2", "0.6", "0.2"], ["0.1", "0.3", "0.6"]]


def line(secret: Any, **options: Any) -> Promise:
    """Return a promise about one column of 16 whole numbers."""
    return Promise({"x": whole(0, 15, secret)}, options)


def table(**options: Any) -> Promise:
    """Return a promise about three columns of which two may change."""
    columns = {"g": names(LETTERS, bf.full()), "x": whole(0, 5, bf.threshold(1)), "s": flags(bf.full())}
    return Promise(columns, options)


def plane(secret: Any = None, size: int = 8, **options: Any) -> Promise:
    """Return a promise about two columns of whole numbers, jointly or each by itself."""
    columns = {"u": whole(0, size - 1, bf.threshold(1)), "v": whole(0, size - 1, bf.threshold(2))}
    joint = {} if secret is None else {"secrets": {("u", "v"): secret}}
    return Promise(columns, {**joint, **options})


def counted(frame: pd.DataFrame, mask: Any) -> int:
    """Return how many rows satisfy a mask."""
    return int(mask(frame).sum())


def known(*facts: str) -> Callable[[pd.DataFrame], list[Any]]:
    """Return the maker of some of the public facts about `g`, `x` and `h`, with their answers."""

    def make(frame: pd.DataFrame) -> list[Any]:
        of_h = frame["h"].value_counts().reindex(["n", "s"]).tolist()
        of_g = frame["g"].value_counts().reindex(LETTERS).tolist()
        inside = counted(frame, lambda f: f["x"].between(2, 6))
        every = {
            "h": bf.Marginal("h", answer=of_h),
            "g": bf.Marginal("g", answer=of_g),
            "g without answer": bf.Marginal("g"),
            "x < 4": bf.Count("x < 4", answer=counted(frame, lambda f: f["x"] < 4)),
            "x == 9": bf.Count("x == 9"),
            "box": bf.Box(x=(2, 6), answer=inside),
            "long box": bf.Box({"x": (5, None)}),
            "g and h": bf.Marginal("g", "h"),
            "h is n": bf.Count("h == 'n'"),
        }
        return [every[fact] for fact in facts]

    return make


def factual(*facts: str, **options: Any) -> Promise:
    """Return a promise with public facts."""
    columns = {
        "x": whole(0, 9, bf.threshold(2)),
        "g": names(LETTERS, bf.full()),
        "h": names(["n", "s"], bf.public()),
    }
    return Promise(columns, options, known(*facts))


PROMISES: dict[str, Promise] = {
    "full": line(bf.full()),
    "theta 1": line(bf.threshold(1)),
    "theta 3": line(bf.threshold(3)),
    "public": line(bf.public()),
    "partition": line(bf.partition(PIECES)),
    "partition by width": line(bf.partition(4)),
    "scattered": line(bf.partition(SCATTERED)),
    "edges": line(bf.edges(BRANCHES)),
    "absolute error": line(bf.absolute_error(1)),
    "relative error": Promise({"x": whole(1, 16, bf.relative_error("0.8"))}),
    "theta 3, presence": line(bf.threshold(3), presence=True),
    "full, presence": line(bf.full(), presence=True),
    "partition, presence": line(bf.partition(PIECES), presence=True),
    "nullable": Promise({"x": whole(0, 11, bf.threshold(2), nullable=True)}),
    "nullable full": Promise({"x": whole(0, 11, bf.full(), nullable=True)}),
    "nullable, missing public": Promise(
        {"x": whole(0, 11, bf.threshold(2, missing="public"), nullable=True)}
    ),
    "nullable partition": Promise({"x": whole(0, 11, bf.partition(4), nullable=True), "s": flags()}),
    "nullable names": Promise(
        {
            "ill": names(ILLS, nullable=True),
            "x": whole(0, 4, bf.threshold(1, missing="public"), nullable=True),
        }
    ),
    "steps": Promise({"x": whole(0, 99, bf.threshold(25, step=10))}),
    "reals": Promise({"x": real(0, 10, "0.5", bf.threshold(1, step="0.5"))}),
    "days": Promise({"x": days("2026-01-01", "2026-03-31", bf.threshold("14D", step="7D"))}),
    "ordered names": Promise({"x": names(["xs", "s", "m", "l", "xl"], bf.threshold(1), ordered=True)}),
    "long": Promise({"x": whole(0, 199, bf.threshold(4))}),
    "long full": Promise({"x": whole(0, 149, bf.full())}),
    "ills": Promise(
        {"ill": names(ILLS, bf.partition([["angina"], ["asthma", "flu"], ["none"]])), "s": flags()}
    ),
    "groups": Promise({"x": whole(0, 9, bf.threshold(2)), "g": names(LETTERS, bf.full())}),
    "groups, public": Promise({"x": whole(0, 9, bf.threshold(2)), "g": names(LETTERS, bf.public())}),
    "groups, attribute": Promise(
        {"x": whole(0, 9, bf.threshold(2)), "g": names(LETTERS, bf.full())}, {"neighbors": "attribute"}
    ),
    "table": table(),
    "table, attribute": table(neighbors="attribute"),
    "table, two": table(neighbors=2),
    "table, presence": table(presence=True),
    "plane": plane(),
    "plane, attribute": plane(neighbors="attribute"),
    "plane, l1": plane(bf.threshold(1)),
    "plane, l1 wide": plane(bf.threshold(3)),
    "plane, l2": plane(bf.threshold(2, metric="l2")),
    "plane, linf": plane(bf.threshold(1, metric="linf")),
    "plane, scaled": plane(bf.threshold(4, metric="l2", scale={"u": 1, "v": "2.5"})),
    "plane, grid": plane(bf.partition({"u": 4, "v": 2})),
    "plane, presence": plane(bf.threshold(2), presence=True),
    "steep plane": Promise(
        {"u": whole(0, 9, bf.threshold(2)), "v": names(["s", "m", "l"], bf.full(), ordered=True)}
    ),
    "wide plane": plane(bf.threshold(2), size=32),
    "pieces": Promise({"u": whole(0, 15, bf.partition(4)), "v": whole(0, 15, bf.public())}),
    "money": Promise(
        {
            "age": whole(0, 99, bf.threshold(5)),
            "pay": real(0, 1000, "50", bf.threshold(100, step=50)),
            "s": flags(),
        }
    ),
    "untouched": factual("h", "h is n"),
    "touched count": factual("x < 4"),
    "touched counts": factual("x < 4", "x == 9"),
    "touched marginal": factual("g"),
    "marginal without answer": factual("g without answer"),
    "box": factual("box"),
    "boxes": factual("box", "long box"),
    "two columns known": factual("g and h"),
    "facts of all kinds": factual("h", "g", "x < 4"),
    "facts, attribute": factual("g", neighbors="attribute"),
    "chain": Promise({"state": flags()}, {"chain": bf.Markov("state", STAY, length=ROWS)}),
    "chain of three": Promise(
        {"state": names(LETTERS)}, {"chain": bf.Markov("state", THREE, ["1", "0", "0"], length=ROWS)}
    ),
    "aggregate": Promise(
        {"sales": whole(0, 50, bf.full())}, {"aggregates": [bf.Aggregate("sales.sum()", delta=20)]}
    ),
    "endless": Promise({"value": endless(bf.threshold("2.5", step="0.5"), [-7.5, 0.0, 3.5, 12.0])}),
    "endless absolute": Promise({"value": endless(bf.absolute_error(2, step=1), [-7.0, 0.0, 3.0, 12.0])}),
    "endless ratio": Promise({"price": endless(bf.relative_error("0.9"), [0.5, 1.0, 2.0, 8.0, 9.5])}),
    "ratio by group": Promise(
        {
            "price": endless(bf.relative_error("0.5"), [0.25, 1.0, 3.0]),
            "g": names(LETTERS, bf.public()),
        }
    ),
}


@cache
def policy_of(name: str) -> bf.Policy:
    """Return a policy of the corpus."""
    return PROMISES[name].policy()


RUNS = [[int(low <= at <= high) for at in range(16)] for low in range(0, 16, 3) for high in range(low, 16, 4)]
MATRICES: dict[str, Any] = {
    "prefixes": np.tril(np.ones((16, 16), dtype=np.int64)),
    "runs": RUNS,
    "weights": [[(3 * row + at * at) % 7 - 3 for at in range(16)] for row in range(5)],
    "of 30": [[int((row + at) % 5 == 0) for at in range(30)] for row in range(6)],
    "of 3": [[1, 0, 0], [1, 1, 0], [1, 1, 1], [2, -1, 0]],
    "of 4": [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1]],
    "of 10": np.triu(np.ones((10, 10), dtype=np.int64)),
}
TABLES = list(product([False, True], repeat=3))
SCENARIOS: dict[str, Any] = {
    "contagion": lambda: bf.scenario(
        TABLES,
        {"even": [1] * 8, "together": [4, 1, 1, 1, 1, 1, 1, 4]},
        [([each for each in TABLES if each[0]], [each for each in TABLES if not each[0]])],
    )
}


@dataclass(frozen=True)
class Case:
    """One question to one policy.

    Attributes:
        promise: The name of the policy.
        verb: What is asked.
        given: Positional arguments; the first of a workload names its matrix.
        options: Named arguments; `scenario` is named.
        where: A filter.
        groupby: Columns to group by.
    """

    promise: str
    verb: str
    given: tuple[Any, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    where: str | None = None
    groupby: str | list[str] | None = None

    @property
    def name(self) -> str:
        """Return the case in words, which no other case has."""
        asked = [*map(repr, self.given), *(f"{key}={value!r}" for key, value in self.options.items())]
        scope = f"where({self.where!r})." if self.where else ""
        scope += f"groupby({self.groupby!r})." if self.groupby else ""
        return f"{self.promise}: {scope}{self.verb}({', '.join(asked)})"

    def ask(self, target: Any, **more: Any) -> Any:
        """Ask it of `policy.plan` or of `df.blowfish`."""
        given, options = self.given, {**self.options, **more}
        if self.verb == "workload":
            given = (MATRICES[given[0]], *given[1:])
        if "scenario" in options:
            options["scenario"] = SCENARIOS[options["scenario"]]()
        if self.where:
            target = target.where(self.where)
        if self.groupby:
            target = target.groupby(self.groupby)
        return getattr(target, self.verb)(*given, **options)


def ask(promise: str, verb: str, *given: Any, where: Any = None, groupby: Any = None, **options: Any) -> Case:
    """Return a case as its call is written."""
    return Case(promise, verb, given, options, where, groupby)


ON_LINES = ["identity", "ordered", "ordered_hierarchical", "hierarchical", "haar", "tree", "dawa"]
ON_WORKLOADS = ["auto", "identity", "direct", "optimised", "ordered", "hierarchical", "haar"]
OF_CLUSTERS = ["auto", "grid", "soft", "adaptive", "whole"]
RANGES = [(0, 3), (2, 9), (5, None), (None, 12)]
BOXES = [((0, 3), (1, 6)), ((2, 5), (0, 7)), ((4, 7), (4, None)), ((None, 6), (3, 3))]


def _line_cases() -> list[Case]:
    every = [name for name, promise in PROMISES.items() if list(promise.columns) == ["x"]]
    found = [ask(name, verb, "x", epsilon="1/2") for name in every for verb in ("hist", "cumhist")]
    found += [
        ask(name, verb, "x", *more, epsilon="0.7", strategy=strategy)
        for name in ("full", "theta 3", "edges")
        for verb, *more in (("cumhist",), ("range", RANGES))
        for strategy in ON_LINES
    ]
    found += [ask("theta 1", "cumhist", "x", strategy=strategy) for strategy in ON_LINES]
    found += [ask("scattered", "hist", "x", strategy=strategy) for strategy in ON_LINES]
    found += [ask("nullable", "cumhist", "x", strategy=strategy) for strategy in ON_LINES]
    found += [
        ask(name, "range", "x", "all", epsilon="0.3") for name in ("full", "theta 3", "partition", "steps")
    ]
    found += [
        ask("partition", "range", "x", RANGES),
        ask("absolute error", "range", "x", RANGES, epsilon="0.05"),
        ask("relative error", "range", "x", [(1, 4), (3, 16)]),
        ask("theta 3, presence", "range", "x", RANGES),
        ask("reals", "range", "x", [(0, 2.5), (1, None)]),
        ask("days", "range", "x", [("2026-01-08", "2026-02-05"), (None, "2026-01-15")]),
        ask("ordered names", "range", "x", [("s", "l"), ("xs", "xs")]),
        ask("long", "range", "x", [(0, 10), (5, 150), (77, None)], strategy="ordered_hierarchical"),
        ask("long full", "range", "x", "all", epsilon="0.2"),
    ]
    found += [ask(name, "quantile", "x", epsilon="0.4") for name in ("full", "theta 1", "nullable", "days")]
    found += [
        ask("theta 3", "quantile", "x", [0.1, 0.5, 0.9], epsilon=2, strategy="tree"),
        ask("reals", "quantile", "x", 0.25, epsilon="1/3"),
        ask("full", "hist", "x", bins=4),
        ask("theta 3", "hist", "x", bins=[0, 5, 10, 15], epsilon=0.1),
        ask("theta 3", "hist", "x", bins={"few": [0, 1, 2], "many": [3, 4, 5, 6, 7]}, strategy="identity"),
        ask("partition", "hist", "x", bins={"low": [0, 1, 2, 3, 4], "rest": list(range(5, 16))}),
        ask("steps", "hist", "x", bins=[0, 50, 100]),
        ask("ills", "hist", "ill", epsilon="1/7"),
        ask("ills", "hist", ["s", "ill"], epsilon="1/7"),
        ask("nullable names", "hist", ["ill", "x"]),
        ask("nullable partition", "hist", ["x", "s"], bins={"x": 3}),
        ask("theta 3", "hist", "x", where="x >= 4", epsilon=1),
        ask("theta 3", "cumhist", "x", where="3 <= x < 11", epsilon=1),
        ask("partition", "cumhist", "x", where="x < 8"),
        ask("nullable", "range", "x", [(0, 4), (2, 11)], where="x != 3"),
        ask("theta 3", "hist", "x", epsilon="1/1000"),
        ask("theta 3", "cumhist", "x", epsilon=50),
    ]
    return found


def _group_cases() -> list[Case]:
    found = []
    for name in ("groups", "groups, public", "groups, attribute"):
        found += [
            ask(name, "hist", ["x", "g"]),
            ask(name, "hist", ["g", "x"], bins={"x": [0, 4, 9]}),
            ask(name, "hist", "x", groupby="g", epsilon="0.2"),
            ask(name, "cumhist", "x", groupby="g", epsilon="0.2"),
            ask(name, "quantile", "x", [0.5, 0.75], groupby="g"),
            ask(name, "range", "x", [(0, 4), (3, 9)], where="g == 'a'"),
            ask(name, "sum", "x", groupby="g"),
            ask(name, "mean", "x", where="g != 'b'", rows=ROWS),
            ask(name, "count", where="x < 5 and g in ['a', 'b']", epsilon="1/3"),
            ask(name, "marginal", ["x", "g"]),
            ask(name, "workload", "of 10", "x", groupby="g"),
        ]
    found += [ask("groups, public", "cumhist", "x", groupby="g", strategy=each) for each in ON_LINES]
    return found


def _table_cases() -> list[Case]:
    found = []
    for name in ("table", "table, attribute", "table, two", "table, presence"):
        found += [
            ask(name, "marginal", ["g", "s"]),
            ask(name, "marginal", [["g", "s"], ["x"]], epsilon="0.5"),
            ask(name, "marginal", ["g", "x", "s"], order=2, epsilon="0.5"),
            ask(name, "hist", ["g", "x", "s"]),
            ask(name, "count", where="g == 'a' or s"),
        ]
    found += [ask("table", "marginal", ["g", "x", "s"], order=1, strategy=s) for s in ("residual", "even")]
    found += [ask("table", "marginal", [["g", "x"], ["s"]], strategy="joint")]
    found += [ask("table", "marginal", ["g", "s"], strategy=s) for s in ("identity", "residual", "joint")]
    found += [
        ask("table, attribute", "marginal", [["g"], ["x"]], groupby="s"),
        ask("table", "marginal", [["g", "x"], ["x", "s"]], where="x <= 3", strategy="even"),
        ask("ills", "marginal", [["ill"], ["s"]]),
        ask("nullable names", "marginal", [["ill", "x"], ["x"]]),
    ]
    return found


def _plane_cases() -> list[Case]:
    every = [name for name in PROMISES if name.startswith("plane")]
    found = [ask(name, "range", ["u", "v"], BOXES, epsilon="0.6") for name in every]
    found += [ask(name, "hist", ["u", "v"]) for name in every]
    found += [
        ask(name, "range", ["u", "v"], BOXES, epsilon="0.6", strategy=strategy)
        for name in ("plane, l1", "plane, attribute", "plane, linf", "plane, grid")
        for strategy in ("identity", "hierarchical", "mesh")
    ]
    found += [
        ask("steep plane", "range", ["u", "v"], [((0, 4), ("s", "l")), ((2, 9), ("m", None))]),
        ask("plane, grid", "cumhist", "u", groupby="v"),
        ask("plane, l2", "sum", ["u", "v"]),
        ask("plane, linf", "marginal", [["u"], ["v"]]),
        ask("plane, scaled", "hist", "u", where="v >= 4"),
    ]
    return found


def _total_cases() -> list[Case]:
    found = [
        ask(name, verb, "x", **({"rows": ROWS} if verb == "mean" else {}))
        for name in ("full", "theta 3", "partition", "edges", "absolute error", "nullable", "steps", "reals")
        for verb in ("sum", "mean")
    ]
    found += [
        ask("days", "mean", "x", rows=ROWS),
        ask("money", "sum", ["age", "pay"], epsilon="0.3"),
        ask("money", "mean", ["age", "pay"], groupby="s", rows=ROWS),
        ask("money", "sum", "pay", where="age >= 18"),
        ask("theta 3, presence", "sum", "x"),
        ask("theta 3, presence", "mean", "x"),
        ask("public", "sum", "x"),
        ask("table, attribute", "sum", "x", groupby=["g", "s"]),
        ask("endless", "sum", "value"),
        ask("endless", "mean", "value", rows=ROWS, epsilon="0.2"),
        ask("endless absolute", "sum", "value"),
        ask("endless ratio", "logsum", "price"),
        ask("endless ratio", "geomean", "price", rows=ROWS),
        ask("ratio by group", "logsum", "price", groupby="g", epsilon="1/2"),
        ask("ratio by group", "geomean", "price", where="g != 'a'"),
        ask("relative error", "sum", "x"),
    ]
    return found


def _count_cases() -> list[Case]:
    every = ("full", "theta 1", "public", "partition", "theta 3, presence", "nullable", "edges")
    return [
        *(ask(name, "count", where="x >= 5") for name in every),
        *(ask(name, "count") for name in ("theta 3", "theta 3, presence", "nullable")),
        ask("chain", "hist", "state"),
        ask("chain", "count", where="state", epsilon="0.3"),
        ask("chain of three", "hist", "state", epsilon=2),
        ask("chain of three", "workload", "of 3", "state"),
        ask("aggregate", "sum", "sales"),
        ask("aggregate", "mean", "sales", epsilon="0.1"),
    ]


def _workload_cases() -> list[Case]:
    found = [
        ask(name, "workload", matrix, "x", strategy=strategy, epsilon="0.5")
        for name in ("full", "theta 3")
        for matrix in ("prefixes", "weights")
        for strategy in ON_WORKLOADS
    ]
    return [
        *found,
        ask("edges", "workload", "runs", "x"),
        ask("partition", "workload", "runs", "x"),
        ask("public", "workload", "weights", "x"),
        ask("theta 3, presence", "workload", "runs", "x", strategy="ordered_hierarchical"),
        ask("groups", "workload", "of 30", ["x", "g"]),
        ask("groups, attribute", "workload", "of 30", ["g", "x"], strategy="direct"),
        ask("groups", "workload", "of 3", "g", where="x > 4"),
        ask("ills", "workload", "of 4", "ill", groupby="s"),
    ]


def _fact_cases() -> list[Case]:
    every = [name for name, promise in PROMISES.items() if promise.facts is not None]
    found = [
        case
        for name in every
        for case in (
            ask(name, "hist", "x"),
            ask(name, "hist", "g"),
            ask(name, "cumhist", "x", where="h == 'n'", epsilon="0.5"),
        )
    ]
    return [
        *found,
        ask("untouched", "range", "x", [(0, 4), (3, 9)]),
        ask("touched count", "range", "x", [(0, 3), (4, 9)]),
        ask("touched count", "count", where="x < 4"),
        ask("touched counts", "sum", "x"),
        ask("touched marginal", "marginal", [["g"], ["x"]]),
        ask("touched marginal", "mean", "x", rows=ROWS),
        ask("two columns known", "hist", ["g", "h"]),
        ask("two columns known", "kmeans", "x", 2, rows=ROWS),
        ask("box", "workload", "of 10", "x"),
        ask("box", "count", where="2 <= x <= 6"),
    ]


def _cluster_cases() -> list[Case]:
    found = [
        ask(name, "kmeans", columns, 3, epsilon="0.8", strategy=strategy, rows=20_000)
        for name, columns in (("wide plane", ["u", "v"]), ("pieces", ["u", "v"]), ("money", "age"))
        for strategy in OF_CLUSTERS
    ]
    return [
        *found,
        ask("wide plane", "kmeans", ["u", "v"], 2),
        ask("money", "kmeans", ["age", "pay"], 2, groupby="s"),
        ask("money", "kmeans", ["age", "pay"], 2, where="age >= 20", scale=False),
        ask("money", "kmeans", "age", 2, where="s", epsilon="0.4"),
        ask("theta 3, presence", "kmeans", "x", 2),
        ask("nullable", "kmeans", "x", 2, rows=ROWS),
        ask("plane, linf", "kmeans", ["u", "v"], 2, scale={"u": 1, "v": 3}),
    ]


def _weaker_cases() -> list[Case]:
    half = {"prior": ["0.6", "0.3", "0.1"], "rows": ROWS}
    return [
        ask("groups", "hist", "g", strategy="single_prior", **half),
        ask("groups", "hist", "g", strategy="hedging", epsilon="0.2", **half),
        ask("groups", "hist", "g", strategy="hedging", alpha="0.1", **half),
        ask("theta 3", "hist", "x", bins=4, strategy="single_prior", prior=[1, 2, 3, 4], rows=ROWS),
        ask("ills", "count", where="s", strategy="wasserstein", scenario="contagion", rows=3),
        ask("ills", "count", where="s", strategy="wasserstein", scenario="contagion", epsilon="0.1"),
    ]


def _refusals() -> list[Case]:
    return [
        ask("theta 3, presence", "cumhist", "x", strategy="dawa"),
        ask("theta 3", "hist", "x", strategy="mesh"),
        ask("money", "kmeans", "age", 3, strategy="whole"),
        ask("endless", "hist", "value"),
        ask("aggregate", "hist", "sales"),
        ask("chain", "cumhist", "state"),
        ask("full", "hist", "y"),
        ask("full", "range", "x", [(9, 3)]),
        ask("relative error", "logsum", "x"),
        ask("groups", "range", ["x", "g"], [((0, 4), ("a", "a"))]),
        ask("full", "hist", "x", epsilon=0),
        ask("ills", "cumhist", "ill"),
        ask("steps", "count", where="x >= 15"),
    ]


def plan_cases() -> list[Case]:
    """Return every case that is planned."""
    groups = (_line_cases, _group_cases, _table_cases, _plane_cases, _total_cases, _count_cases)
    more = (_workload_cases, _fact_cases, _cluster_cases, _weaker_cases, _refusals)
    found = {case.name: case for make in (*groups, *more) for case in make()}
    return list(found.values())


SEALED_ALONE = ("rows",)  # arguments of plans that frames know by themselves
CANDIDATES = ("full", "theta 3", "partition", "groups", "table", "plane, l1", "touched count", "money")


def considered_cases() -> list[Case]:
    """Return the cases whose every candidate is looked at: the first of each verb of some policies."""
    found: dict[tuple[str, str], Case] = {}
    for case in plan_cases():
        if case.promise in CANDIDATES and case.options.get("strategy", "auto") == "auto":
            found.setdefault((case.promise, case.verb), case)
    refused = {case.name for case in _refusals()}
    return [case for case in found.values() if case.name not in refused]


@dataclass(frozen=True)
class Release:
    """One question to the rows, with noise that can be replayed.

    Attributes:
        case: The question.
        post: Whether, or how, counts are shaped.
        rows: How many rows there are.
    """

    case: Case
    post: bool | str = True
    rows: int = ROWS

    @property
    def name(self) -> str:
        """Return the case in words."""
        return self.case.name + ("" if self.post is True else f" with post={self.post!r}")

    def make(self, target: Any, **more: Any) -> Any:
        """Ask it of `df.blowfish`.

        Several marginals could be negative when the corpus was recorded: they still can be, if asked to.
        """
        options = {key: value for key, value in self.case.options.items() if key not in SEALED_ALONE}
        asked = Case(**{**vars(self.case), "options": {"epsilon": 1, **options}})
        several = self.case.verb == "marginal" and (
            "order" in options or isinstance(self.case.given[0][0], list)
        )
        return asked.ask(target, post="signed" if several and self.post is True else self.post, **more)


def released(promise: str, verb: str, *given: Any, post: bool | str = True, **options: Any) -> Release:
    """Return a release as its call is written."""
    return Release(ask(promise, verb, *given, **options), post)


PRIOR = {"prior": ["0.6", "0.3", "0.1"]}
TOLD = released("groups", "hist", "g", strategy="single_prior", epsilon="0.5", **PRIOR)
SIZED = Release(ask("ills", "count", where="s", strategy="wasserstein", scenario="contagion"), rows=3)


def release_cases() -> list[Release]:
    """Return every case that is released under replayed noise."""
    by_strategy = [
        *(released("theta 3", "cumhist", "x", strategy=each) for each in ON_LINES),
        *(released("edges", "range", "x", RANGES, strategy=each, post=False) for each in ON_LINES),
        *(released("theta 3", "workload", "weights", "x", strategy=each) for each in ON_WORKLOADS),
        *(released("wide plane", "kmeans", ["u", "v"], 3, strategy=each) for each in OF_CLUSTERS[:4]),
        *(released("plane, l1", "range", ["u", "v"], BOXES, strategy=each) for each in ("identity", "mesh")),
        *(
            released("table", "marginal", [["g", "x"], ["s"]], strategy=each)
            for each in ("residual", "joint")
        ),
    ]
    return [
        *by_strategy,
        released("pieces", "kmeans", ["u", "v"], 3, strategy="whole"),
        released("money", "kmeans", "age", 2, where="s", epsilon="0.4"),
        released("money", "kmeans", ["age", "pay"], 2, groupby="s"),
        released("theta 3", "hist", "x"),
        released("theta 3", "hist", "x", post=False),
        released("theta 3", "hist", "x", bins=[0, 5, 10, 15], where="x >= 5"),
        released("partition", "hist", "x"),
        released("scattered", "hist", "x", strategy="tree"),
        released("public", "hist", "x"),
        released("full, presence", "hist", "x"),
        released("nullable", "hist", "x"),
        released("nullable", "cumhist", "x"),
        released("nullable, missing public", "cumhist", "x"),
        released("nullable names", "hist", ["ill", "x"]),
        released("groups, public", "cumhist", "x", groupby="g"),
        released("groups, attribute", "hist", ["g", "x"]),
        released("theta 3", "quantile", "x", [0.1, 0.5, 0.9]),
        released("days", "quantile", "x", [0.25, 0.5]),
        released("reals", "range", "x", [(0, 2.5), (1, None)]),
        released("plane, l2", "hist", ["u", "v"], post=False),
        released("plane, grid", "range", ["u", "v"], BOXES),
        released("table, attribute", "marginal", ["g", "x", "s"], order=2),
        released("table", "marginal", ["g", "s"], post="nonnegative"),
        released("theta 3", "sum", "x"),
        released("nullable", "mean", "x"),
        released("money", "mean", ["age", "pay"], groupby="s"),
        released("days", "mean", "x"),
        released("endless", "sum", "value"),
        released("endless ratio", "logsum", "price"),
        released("endless ratio", "geomean", "price"),
        released("theta 3", "count", where="x >= 5"),
        released("ills", "workload", "of 4", "ill", groupby="s"),
        released("touched count", "hist", "x"),
        released("touched marginal", "marginal", [["g"], ["x"]]),
        released("facts of all kinds", "cumhist", "x"),
        released("box", "range", "x", [(0, 4), (3, 9)]),
        released("untouched", "hist", "h"),
        released("chain", "hist", "state"),
        released("aggregate", "sum", "sales"),
        TOLD,
        released("groups", "hist", "g", strategy="hedging", alpha="0.1", **PRIOR),
        SIZED,
    ]


@dataclass(frozen=True)
class Answer:
    """A release that the ledger keeps under a name; one without a name is charged, and not kept."""

    name: str | None
    release: Release


@dataclass(frozen=True)
class Fact:
    """A count that becomes public elsewhere."""

    fact: Any


@dataclass(frozen=True)
class Raise:
    """A larger total."""

    total: str
    reason: str


@dataclass(frozen=True)
class Book:
    """One dataset of the recorded ledger, and what happens to it, in order.

    Attributes:
        promise: The name of the policy.
        total: The budget that it begins with.
        steps: Answers, facts and larger totals.
        options: Further arguments of `protect`.
        rows: How many rows there are.
    """

    promise: str
    total: str
    steps: tuple[Answer | Fact | Raise, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    rows: int = ROWS

    @property
    def last_total(self) -> str:
        """Return the budget that it ends with."""
        raised = [step.total for step in self.steps if isinstance(step, Raise)]
        return raised[-1] if raised else self.total

    def frame(self) -> pd.DataFrame:
        """Return the rows; with a unit each has its own, and some values lie outside the bounds."""
        found = PROMISES[self.promise].frame(self.rows)
        if "unit" in self.options:
            found["person"] = [f"p{number}" for number in range(self.rows)]
            found["x"] = found["x"] * 2 - 5
        return found

    def protect(self, name: str, ledger: Any, total: str) -> Any:
        """Return the protected rows."""
        policy = policy_of(self.promise)
        return self.frame().blowfish.protect(
            policy, epsilon=total, dataset=name, ledger=ledger, **self.options
        )


def kept(promise: str, *calls: tuple[Any, ...], **options: Any) -> tuple[Answer, ...]:
    """Return answers under names: each call is its name, the verb, its arguments and a dict of options."""
    found = []
    for name, verb, *given in calls:
        more = given.pop() if given and isinstance(given[-1], dict) else {}
        found.append(Answer(name, released(promise, verb, *given, **{"epsilon": "1/10", **more, **options})))
    return tuple(found)


BOOKS: dict[str, Book] = {
    "lines": Book(
        "theta 3",
        "5",
        (
            *kept(
                "theta 3", *((f"cumhist by {each}", "cumhist", "x", {"strategy": each}) for each in ON_LINES)
            ),
            *kept(
                "theta 3",
                *(
                    (f"workload by {each}", "workload", "weights", "x", {"strategy": each})
                    for each in ON_WORKLOADS
                ),
            ),
            *kept(
                "theta 3",
                ("hist", "hist", "x"),
                ("unshaped hist", "hist", "x", {"post": False, "epsilon": "1/3"}),
                ("bins", "hist", "x", {"bins": [0, 5, 10, 15], "where": "x >= 5"}),
                ("range", "range", "x", RANGES),
                ("every range", "range", "x", "all"),
                ("quantiles", "quantile", "x", [0.1, 0.5, 0.9]),
                ("sum", "sum", "x"),
                ("mean", "mean", "x"),
                ("count", "count", {"where": "x >= 5"}),
                ("clusters", "kmeans", "x", 2),
                (None, "count", {"where": "x < 9"}),
            ),
        ),
    ),
    "groups": Book(
        "groups, public",
        "3",
        (
            *kept(
                "groups, public",
                ("by group", "cumhist", "x", {"groupby": "g"}),
                ("totals", "hist", "g"),
                ("sums", "sum", "x", {"groupby": "g"}),
            ),
            Fact(bf.Marginal("g")),
            *kept("groups, public", ("after one fact", "hist", ["g", "x"])),
            Raise("40", "a fact is about to be published"),
            Fact(bf.Count("x < 4")),
            *kept("groups, public", ("after two facts", "hist", "x"), ("told", "count", {"where": "x < 4"})),
        ),
    ),
    "tables": Book(
        "table",
        "3",
        kept(
            "table",
            ("flat", "marginal", ["g", "s"]),
            ("nested", "marginal", [["g", "x"], ["s"]]),
            ("even", "marginal", [["g", "x"], ["s"]], {"strategy": "even"}),
            ("joint", "marginal", [["g", "x"], ["s"]], {"strategy": "joint"}),
            ("pairs", "marginal", ["g", "x", "s"], {"order": 2}),
            ("nonnegative", "marginal", ["g", "x"], {"post": "nonnegative"}),
            ("cells", "hist", ["g", "x", "s"]),
        ),
    ),
    "planes": Book(
        "plane, l1",
        "3",
        kept(
            "plane, l1",
            ("mesh", "range", ["u", "v"], BOXES, {"strategy": "mesh"}),
            ("levels", "range", ["u", "v"], BOXES, {"strategy": "hierarchical"}),
            ("cells", "range", ["u", "v"], BOXES, {"strategy": "identity"}),
            ("hist", "hist", ["u", "v"]),
        ),
    ),
    "clusters": Book(
        "wide plane",
        "6",
        kept(
            "wide plane",
            *((f"by {each}", "kmeans", ["u", "v"], 3, {"strategy": each}) for each in OF_CLUSTERS[:4]),
            epsilon="1",
        ),
    ),
    "pieces": Book("pieces", "1", kept("pieces", ("whole", "kmeans", ["u", "v"], 3, {"strategy": "whole"}))),
    "money": Book(
        "money",
        "4",
        kept(
            "money",
            ("counted first", "kmeans", "age", 2, {"where": "s", "epsilon": "1"}),
            ("by group", "kmeans", ["age", "pay"], 2, {"groupby": "s", "epsilon": "1"}),
            ("means", "mean", ["age", "pay"], {"groupby": "s"}),
        ),
    ),
    "presence": Book(
        "theta 3, presence",
        "2",
        kept("theta 3, presence", ("cumhist", "cumhist", "x"), ("count", "count"), ("mean", "mean", "x")),
    ),
    "missing": Book(
        "nullable",
        "2",
        kept("nullable", ("hist", "hist", "x"), ("cumhist", "cumhist", "x"), ("median", "quantile", "x")),
    ),
    "days": Book("days", "1", kept("days", ("median", "quantile", "x", 0.5), ("mean", "mean", "x"))),
    "prices": Book(
        "endless ratio",
        "1",
        kept("endless ratio", ("logsum", "logsum", "price"), ("geomean", "geomean", "price")),
    ),
    "known facts": Book(
        "facts of all kinds",
        "2",
        kept(
            "facts of all kinds",
            ("hist", "hist", "x"),
            ("known", "hist", "g"),
            ("range", "range", "x", [(0, 4)]),
        ),
    ),
    "states": Book("chain", "2", kept("chain", ("hist", "hist", "state", {"epsilon": "1"}))),
    "sales": Book("aggregate", "1", kept("aggregate", ("sum", "sum", "sales"))),
    "overspent": Book(
        "groups", "1", (*kept("groups", ("hist", "hist", "x", {"epsilon": "3/5"})), Fact(bf.Marginal("g")))
    ),
    "reopened": Book(
        "groups",
        "1",
        (
            *kept("groups", ("hist", "hist", "x", {"epsilon": "3/5"}), ("sum", "sum", "x")),
            Fact(bf.Marginal("g")),
            Raise("30", "the board agreed"),
            *kept("groups", ("afterwards", "hist", "x", {"epsilon": "1"})),
        ),
    ),
    "weaker hist": Book(
        "groups", "1", (Answer("prior", TOLD), *kept("groups", ("beside it", "count", {"where": "x < 5"})))
    ),
    "weaker count": Book("ills", "1", (Answer("scenario", SIZED),), rows=3),
    "clipped": Book(
        "theta 3", "1", kept("theta 3", ("hist", "hist", "x")), {"outside": "clip", "unit": "person"}
    ),
}
# a fact that follows from the domain costs nothing, yet answers stored before it are read by their form alone
TRIVIAL = {
    "lines": "x >= 0",
    "tables": "x >= 0",
    "planes": "u >= 0",
    "clusters": "u >= 0",
    "pieces": "v >= 0",
    "money": "age >= 0",
}
BOOKS |= {
    f"{name}, then a fact": replace(BOOKS[name], steps=(*BOOKS[name].steps, Fact(bf.Count(where))))
    for name, where in TRIVIAL.items()
}


def named_answers() -> dict[str, tuple[str, Answer]]:
    """Return each named answer of the ledger, with its dataset, by both names."""
    return {
        f"{dataset}: {step.name}": (dataset, step)
        for dataset, book in BOOKS.items()
        for step in book.steps
        if isinstance(step, Answer) and step.name is not None
    }
