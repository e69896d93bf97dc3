"""Small questions on which faults are tried: a policy, a few rows and a call each, over every family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import pandas_blowfish as bf
from pandas_blowfish.beyond.aggregate import Aggregate
from pandas_blowfish.policy.attribute import Attribute
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.policy.secret import relative_error

ROWS = 60
ALL_SINGLE = {"one": [0], "two": [1], "three": [2], "four": [3]}
BOXES = [((0, 1), (0, 2)), ((1, 3), (1, 3)), ((2, 2), (0, 3)), ((0, 2), (2, 3)), ((0, 0), (3, 3))]
WORKLOAD = [
    [1, 1, 0, 0, 0, 0],
    [0, 1, 2, 0, 0, 0],
    [0, 0, 1, 1, 1, 0],
    [0, 0, 0, 1, 3, 1],
    [1, 0, 0, 0, 0, 1],
]
RATIO = 0.9


@dataclass(frozen=True)
class Case:
    """One question.

    Attributes:
        policy: Makes the promise anew.
        call: Asks it of a protected frame's accessor.
        rows: How many individuals the slow twin gives tables where facts are public; 0 without facts.
        outside: What is done with numbers beyond the bounds.
        values: Values of one column that records are tried at, where its cells cannot be listed.
    """

    policy: Callable[[], bf.Policy]
    call: Callable[[Any], Any]
    rows: int = 0
    outside: str = "error"
    values: tuple[float, ...] = ()


def _x(last: int, name: str = "x", **more: Any) -> Attribute:
    return (
        from_dict(name, {"type": "integer", "min": 0, "max": last, **more})
        if more
        else integers(name, 0, last)
    )


def _c(name: str = "c", values: str = "abc") -> Attribute:
    return from_dict(name, {"type": "category", "values": list(values)})


def _on(*attributes: Attribute, **stated: Any) -> Callable[[], bf.Policy]:
    return lambda: bf.Policy(Domain(attributes), **stated)


def _line(last: int = 11, theta: int = 3) -> Callable[[], bf.Policy]:
    return _on(_x(last), secrets={"x": bf.threshold(theta)})


def _ranges(strategy: str) -> Callable[[Any], Any]:
    return lambda of: of.range("x", "all", epsilon=1, strategy=strategy)


def _clusters(strategy: str) -> Callable[[Any], Any]:
    return lambda of: of.kmeans(["x", "y"], 2, epsilon=1, strategy=strategy)


def _work(strategy: str) -> Callable[[Any], Any]:
    return lambda of: of.workload(WORKLOAD, "x", epsilon=1, strategy=strategy)


LISTED = bf.edges([(0, 1), (1, 2), (2, 5), (3, 4), (4, 6), (6, 7), (3, 6)])
FAR = {"x": bf.threshold(2), "y": bf.threshold(2)}
FULL = {"x": bf.full(), "y": bf.full()}
BALL = {("x", "y"): bf.threshold(2)}
PIECES = {"x": bf.partition(2), "y": bf.partition(2)}
CASES: dict[str, Case] = {
    # counts
    "hist": Case(_on(_x(5)), lambda of: of.hist("x", epsilon=1, strategy="identity")),
    "hist, groups of cells": Case(
        _on(_x(11), secrets={"x": bf.partition(4)}),
        lambda of: of.hist("x", bins=6, epsilon=1, strategy="identity"),
    ),
    "hist, listed groups": Case(
        _on(_c(values="abcdef"), secrets={"c": bf.partition({"p": list("ace"), "q": list("bdf")})}),
        lambda of: of.hist("c", epsilon=1, strategy="identity"),
    ),
    "hist of two": Case(
        _on(_x(3), _x(3, "y"), secrets={"x": bf.public(), "y": bf.full()}),
        lambda of: of.hist(["x", "y"], epsilon=1, strategy="identity"),
    ),
    "hist, filtered": Case(
        _on(_x(5), _c(), secrets={"x": bf.public()}),
        lambda of: of.where("c == 'a'").hist("x", epsilon=1, strategy="identity"),
    ),
    "hist, filtered to what is exact": Case(
        _on(_x(7), secrets={"x": bf.edges([(0, 1), (1, 2)])}),
        lambda of: of.where("x > 3").hist("x", epsilon=1, strategy="identity"),
    ),
    "hist by group": Case(
        _on(_x(5), _c(), secrets={"x": bf.public()}),
        lambda of: of.groupby("c").hist("x", epsilon=1, strategy="identity"),
    ),
    "hist, missing": Case(
        _on(_x(3, nullable=True), secrets={"x": bf.partition(ALL_SINGLE)}),
        lambda of: of.hist("x", epsilon=1, strategy="identity"),
    ),
    "hist, presence": Case(
        _on(_x(5), secrets={"x": bf.public()}, presence=True),
        lambda of: of.hist("x", epsilon=1, strategy="identity"),
    ),
    "count, presence": Case(_on(_x(5), presence=True), lambda of: of.count(epsilon=1)),
    "hist, near": Case(
        _on(_x(11), secrets={"x": bf.threshold(1)}),
        lambda of: of.hist("x", bins=[0, 3, 6, 9, 12], epsilon=1, strategy="identity"),
    ),
    # lines
    **{
        f"ranges, {name}": Case(_line(), _ranges(name))
        for name in ("identity", "ordered", "haar", "tree", "dawa")
    },
    "ranges, hierarchical": Case(_line(15, 8), _ranges("hierarchical")),
    "ranges, ordered_hierarchical": Case(_line(15, 4), _ranges("ordered_hierarchical")),
    "tree of listed edges": Case(_on(_x(7), secrets={"x": LISTED}), _ranges("tree")),
    "cumhist, filtered": Case(
        _on(_x(7), _c(), secrets={"x": bf.threshold(1)}),
        lambda of: of.where("c == 'a'").cumhist("x", epsilon=1, strategy="ordered"),
    ),
    "cumhist by group": Case(
        _on(_x(7), _c(), secrets={"x": bf.threshold(1)}),
        lambda of: of.groupby("c").cumhist("x", epsilon=1, strategy="ordered"),
    ),
    "cumhist, missing": Case(
        _on(_x(7, nullable=True), secrets={"x": bf.threshold(1)}),
        lambda of: of.cumhist("x", epsilon=1, strategy="ordered"),
    ),
    "cumhist, clipped": Case(
        _line(7, 1), lambda of: of.cumhist("x", epsilon=1, strategy="ordered"), outside="clip"
    ),
    "quantile": Case(_line(7, 2), lambda of: of.quantile("x", 0.5, epsilon=1, strategy="ordered")),
    # tables
    "marginals, residual": Case(
        _on(_x(2), _c(), _c("d", "pq"), _c("e", "uv")),
        lambda of: of.marginal(["x", "c", "d", "e"], order=2, epsilon=1, strategy="residual"),
    ),
    "marginals, groups of cells": Case(
        _on(_x(5), _c(values="abcd"), secrets={"x": bf.partition(2)}),
        lambda of: of.marginal([["x"], ["c"]], epsilon=1, strategy="residual"),
    ),
    "marginals, even": Case(
        _on(_x(2), _c(), _c("d", "pq")),
        lambda of: of.marginal(["x", "c", "d"], order=1, epsilon=1, strategy="even"),
    ),
    "marginals, joint": Case(
        _on(_x(2), _c(), _c("d", "pq")),
        lambda of: of.marginal(["x", "c", "d"], order=1, epsilon=1, strategy="joint"),
    ),
    "marginals, filtered": Case(
        _on(_x(2), _c(), _c("d", "pq"), secrets={"x": bf.public(), "c": bf.public()}),
        lambda of: of.where("d == 'p'").marginal(["x", "c"], order=1, epsilon=1, strategy="even"),
    ),
    "marginals, two blocks": Case(
        _on(_x(2), _c(), _c("d", "pq"), neighbors=2),
        lambda of: of.marginal(["x", "c", "d"], order=1, epsilon=1, strategy="even"),
    ),
    "boxes, levels": Case(
        _on(_x(3), _x(3, "y")), lambda of: of.range(["x", "y"], BOXES, epsilon=1, strategy="hierarchical")
    ),
    "boxes, levels of pieces": Case(
        _on(_x(3), _x(3, "y"), secrets=PIECES),
        lambda of: of.range(["x", "y"], BOXES, epsilon=1, strategy="hierarchical"),
    ),
    "boxes, mesh": Case(
        _on(_x(3), _x(3, "y"), secrets=BALL),
        lambda of: of.range(["x", "y"], BOXES, epsilon=1, strategy="mesh"),
    ),
    "hist of a ball": Case(
        _on(_x(3), _x(3, "y"), secrets={("x", "y"): bf.threshold(2, metric="linf")}),
        lambda of: of.cumhist("x", epsilon=1, strategy="ordered"),
    ),
    # workloads
    **{
        f"workload, {name}": Case(_line(5, 2), _work(name))
        for name in ("identity", "direct", "optimised", "ordered")
    },
    "workload, presence": Case(_on(_x(5), secrets={"x": bf.public()}, presence=True), _work("direct")),
    "workload, groups of cells": Case(_on(_x(5), secrets={"x": bf.partition(3)}), _work("direct")),
    # totals
    "sum": Case(_line(9, 2), lambda of: of.sum("x", epsilon=1)),
    "sum of two": Case(_on(_x(9), _x(9, "y"), secrets=FAR), lambda of: of.sum(["x", "y"], epsilon=1)),
    "sum of a ball": Case(_on(_x(5), _x(5, "y"), secrets=BALL), lambda of: of.sum(["x", "y"], epsilon=1)),
    "sum by group": Case(
        _on(_x(9), _c(), secrets={"x": bf.threshold(1)}), lambda of: of.groupby("c").sum("x", epsilon=1)
    ),
    "sum, filtered": Case(
        _on(_x(9), _c(), secrets={"x": bf.threshold(1)}),
        lambda of: of.where("c == 'a'").sum("x", epsilon=1),
    ),
    "sum, missing": Case(
        _on(_x(9, nullable=True), secrets={"x": bf.threshold(1)}), lambda of: of.sum("x", epsilon=1)
    ),
    "mean": Case(
        _on(_x(9), _c(), secrets={"x": bf.threshold(2)}),
        lambda of: of.where("c == 'a'").mean("x", epsilon=1),
    ),
    "mean, missing": Case(
        _on(_x(9, nullable=True), secrets={"x": bf.threshold(2)}), lambda of: of.mean("x", epsilon=1)
    ),
    "sum of listed": Case(
        _on(
            from_dict("x", {"type": "integer", "values": [1, 4, 5, 9]}),
            secrets={"x": bf.edges([(1, 9), (4, 5)])},
        ),
        lambda of: of.sum("x", epsilon=1),
    ),
    "logsum": Case(
        _on(from_dict("x", {"type": "float"}), secrets={"x": relative_error(str(RATIO))}),
        lambda of: of.logsum("x", epsilon=1),
        values=tuple(np.geomspace(1, 30, 200)),
    ),
    "geomean": Case(
        _on(from_dict("x", {"type": "float"}), secrets={"x": relative_error(str(RATIO))}),
        lambda of: of.geomean("x", epsilon=1),
        values=tuple(np.geomspace(1, 30, 200)),
    ),
    # clusters
    "clusters, grid": Case(_on(_x(7), _x(7, "y"), secrets=FAR), _clusters("grid")),
    "clusters, soft": Case(_on(_x(15), _x(3, "y"), secrets=FAR), _clusters("soft")),
    "clusters, adaptive": Case(_on(_x(7), _x(7, "y")), _clusters("adaptive")),
    "clusters, whole": Case(_on(_x(5), _x(5, "y"), secrets=PIECES), _clusters("whole")),
    "clusters, counted": Case(
        _on(_x(5), _x(5, "y"), _c("d", "pq"), secrets=FAR),
        lambda of: of.where("d == 'p'").kmeans(["x", "y"], 2, epsilon=1, strategy="grid"),
    ),
    "clusters, counted for free": Case(
        _on(_x(15), _c("d", "pq"), secrets={"x": bf.partition(2), "d": bf.public()}),
        lambda of: of.where("d == 'p'").kmeans(["x"], 2, epsilon="0.5", strategy="grid"),
    ),
    # public facts
    "fact, hist": Case(
        _on(_x(3), constraints=[bf.Count("x < 2")]),
        lambda of: of.hist("x", epsilon=1, strategy="identity"),
        rows=3,
    ),
    "fact, near": Case(
        _on(_x(3), secrets={"x": bf.threshold(1)}, constraints=[bf.Count("x < 2")]),
        lambda of: of.cumhist("x", epsilon=1, strategy="ordered"),
        rows=3,
    ),
    "fact, marginal": Case(
        _on(_x(2), _c(), constraints=[bf.Marginal("c")]),
        lambda of: of.hist("x", epsilon=1, strategy="identity"),
        rows=3,
    ),
    "fact, sum": Case(_on(_x(3), constraints=[bf.Count("x < 2")]), lambda of: of.sum("x", epsilon=1), rows=3),
    "fact, sum near": Case(
        _on(_x(3), secrets={"x": bf.threshold(1)}, constraints=[bf.Count("x < 2")]),
        lambda of: of.sum("x", epsilon=1),
        rows=3,
    ),
    # other promises
    "chain": Case(
        _on(
            from_dict("x", {"type": "integer", "values": [0, 1]}),
            chain=bf.Markov("x", [["3/4", "1/4"], ["1/4", "3/4"]], length=ROWS),
        ),
        lambda of: of.hist("x", epsilon=1, strategy="identity"),
    ),
    "secret total": Case(
        _on(_x(9), secrets={"x": bf.threshold(1)}, aggregates=[Aggregate("x.sum()", 40)]),
        lambda of: of.sum("x", epsilon=1),
    ),
}


def frame_of(policy: bf.Policy, case: Case) -> pd.DataFrame:
    """Return rows that a case is asked about: values of all cells, some more often."""
    draw, columns = np.random.default_rng(7), {}
    for attribute in policy.domain:
        if case.values:
            columns[attribute.name] = pd.Series(draw.choice(np.array(case.values), ROWS))
            continue
        cells = draw.integers(0, attribute.size, ROWS)
        values = [
            getattr(attribute, "values", range(attribute.cells))[c] if c < attribute.cells else None
            for c in cells
        ]
        if attribute.kind == "integer" and attribute.nullable:
            columns[attribute.name] = pd.Series(pd.array(values, dtype="Int64"))
        else:
            columns[attribute.name] = pd.Series(values)
    frame = pd.DataFrame(columns)
    if case.outside == "clip":
        frame.loc[0, frame.columns[0]] = 10**6
    return frame
