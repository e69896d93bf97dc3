"""Every wrong argument is a typed error that charges nothing, changes nothing and quotes no row."""

import re
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pandera.pandas as pa
import pytest
from scipy.sparse import csr_array

import pandas_blowfish as bf
from pandas_blowfish import errors
from pandas_blowfish.policy.domain import Domain, from_dict, integers

NUMBER, TEXT = 123456789, "SECRETVALUE"
PRIVATE = re.compile(f"{NUMBER}|{TEXT}|271828")
DOMAIN = Domain(
    (
        integers("x", 0, 10**9, 10**6),
        from_dict("c", {"type": "category", "values": ["a", TEXT.lower(), "SECRET" + "VALUE"]}),
        from_dict("d", {"type": "datetime", "min": "2020-01-01", "max": "2020-01-09", "step": "1D"}),
        from_dict("r", {"type": "float"}),
    )
)
CELLS = Domain((DOMAIN["x"], DOMAIN["d"], DOMAIN["r"], integers("small", 0, 9)))
POLICY = bf.Policy(CELLS)


def _rows():
    return pd.DataFrame(
        {
            "x": [NUMBER, 5, 6],
            "d": pd.to_datetime(["2020-01-01"] * 3),
            "r": [2718.28, 271828.0, 1.0],
            "small": [1, 2, 3],
            "note": [TEXT, "p", "q"],
        }
    )


@pytest.fixture
def at(tmp_path):
    """Return a protected frame, its release and places for a bad call to go wrong with."""
    ledger = bf.Ledger()
    df = _rows().blowfish.protect(POLICY, epsilon=1, dataset="rows", ledger=ledger)
    release = df.blowfish.hist("small", epsilon="1/8", name="taken")
    return SimpleNamespace(
        df=df, raw=_rows(), release=release, ledger=ledger, tmp=tmp_path, book=tmp_path / "b.db"
    )


def _hist(*columns, **arguments):
    given = {"epsilon": "1/8", **arguments}
    return lambda at: at.df.blowfish.hist(columns[0] if columns else "small", **given)


def _marginal(columns, **arguments):
    return lambda at: at.df.blowfish.marginal(columns, **{"epsilon": "1/8", **arguments})


def _boxes(bounds, **arguments):
    return lambda at: at.df.blowfish.range(["small", "d"], bounds, **{"epsilon": "1/8", **arguments})


def _protect(policy=POLICY, **arguments):
    return lambda at: at.raw.blowfish.protect(policy, **{"epsilon": 1, **arguments})


def _workload(matrix, columns="small", **arguments):
    return lambda at: at.df.blowfish.workload(matrix, columns, **{"epsilon": "1/8", **arguments})


def _workload_of_release(at):
    return at.df.blowfish.workload(at.release.T, "small", epsilon="1/8")


def _schema(**columns):
    return lambda _: bf.Policy(pa.DataFrameSchema(columns))


AWKWARD = [
    object(),
    [1],
    [],
    {},
    True,
    float("nan"),
    float("inf"),
    -1,
    0,
    "abc",
    "",
    1j,
    b"1",
    pd.NA,
    np.bool_(True),
]
AWKWARD += [
    np.array([1, 2]),
    pd.Series([NUMBER, 5]),
    _rows(),
    Decimal("NaN"),
    -0.5,
    "1/0",
    "1e999999",
    lambda: 1,
]

BAD = {
    # hist: columns
    "unknown column": (_hist("nobody"), errors.UndeclaredColumnError),
    "undeclared column": (_hist("note"), errors.UndeclaredColumnError),
    "unbounded column": (_hist("r"), errors.UnboundedColumnError),
    "no column": (_hist([]), errors.ArgumentError),
    "empty name": (_hist(""), errors.UndeclaredColumnError),
    "column None": (_hist(None), errors.ArgumentTypeError),
    "column number": (_hist(5), errors.ArgumentTypeError),
    "column object": (_hist(object()), errors.ArgumentTypeError),
    "column bytes": (_hist(b"small"), errors.ArgumentTypeError),
    "column set": (_hist({"small"}), errors.ArgumentTypeError),
    "column dict": (_hist({"small": 1}), errors.ArgumentTypeError),
    "column frame": (_hist(_rows()), errors.ArgumentTypeError),
    "column series": (_hist(_rows()["note"]), errors.ArgumentTypeError),
    "columns unhashable": (_hist([["small"]]), errors.ArgumentTypeError),
    "columns mixed": (_hist(["small", 3]), errors.ArgumentTypeError),
    "columns twice": (_hist(["small", "small"]), errors.ArgumentError),
    "columns one unknown": (_hist(["small", "nobody"]), errors.UndeclaredColumnError),
    "too many cells": (lambda at: bf.Policy(_wide()).plan.hist(list("abc")), errors.DomainTooLargeError),
    # hist: bins
    "bins zero": (_hist(bins=0), errors.ArgumentError),
    "bins negative": (_hist(bins=-3), errors.ArgumentError),
    "bins too many": (_hist(bins=11), errors.ArgumentError),
    "bins True": (_hist(bins=True), errors.ArgumentTypeError),
    "bins float": (_hist(bins=2.0), errors.ArgumentTypeError),
    "bins nan": (_hist(bins=float("nan")), errors.ArgumentTypeError),
    "bins text": (_hist(bins="auto"), errors.ArgumentTypeError),
    "bins object": (_hist(bins=object()), errors.ArgumentTypeError),
    "bins empty list": (_hist(bins=[]), errors.ArgumentError),
    "bins one edge": (_hist(bins=[3]), errors.ArgumentError),
    "bins falling": (_hist(bins=[5, 3]), errors.ArgumentError),
    "bins repeated": (_hist(bins=[0, 3, 3, 9]), errors.ArgumentError),
    "bins of text": (_hist(bins=["a", "b"]), errors.ArgumentError),
    "bins None inside": (_hist(bins=[0, None, 3]), errors.ArgumentError),
    "bins open and empty": (_hist(bins=[None, 0, 3]), errors.ArgumentError),
    "bins infinite at the wrong end": (_hist(bins=[np.inf, 3]), errors.ArgumentError),
    "bins a frequency of whole numbers": (_hist(bins="MS"), errors.ArgumentTypeError),
    "bins no frequency": (_hist("d", bins="soon"), errors.ArgumentError),
    "bins an offset without a name": (_hist("d", bins=pd.DateOffset(months=1)), errors.ArgumentError),
    "intervals overlap": (_hist(bins=pd.IntervalIndex.from_tuples([(0, 4), (3, 9)])), errors.ArgumentError),
    "intervals of nothing": (_hist(bins=[pd.Interval(200, 300)]), errors.ArgumentError),
    "intervals in cells": (_hist("x", bins=[pd.Interval(0, 1000, "right")]), errors.DeclaredValueError),
    "intervals closed right": (
        _hist("d", bins=pd.interval_range(pd.Timestamp("2026-01-01"), periods=2, freq="D")),
        errors.ArgumentError,
    ),
    "intervals and edges": (_hist(bins=[pd.Interval(0, 3), 5]), errors.ArgumentError),
    # groupby: bins
    "groups by no bins": (lambda at: at.df.blowfish.groupby("small", bins=0), errors.ArgumentError),
    "groups by other bins": (lambda at: at.df.blowfish.groupby("small", bins={"x": 2}), errors.ArgumentError),
    "groups by bins of two": (
        lambda at: at.df.blowfish.groupby(["small", "d"], bins=2),
        errors.ArgumentError,
    ),
    "groups by bins, and hist": (
        lambda at: at.df.blowfish.groupby("small", bins=2).hist("small", epsilon="1/8"),
        errors.ArgumentError,
    ),
    "groups by bins twice": (
        lambda at: at.df.blowfish.groupby("small", bins=2).hist("d", epsilon="1/8", bins={"small": 2}),
        errors.ArgumentError,
    ),
    # where
    "where nothing is missing": (lambda at: at.df.blowfish.where("small is missing"), errors.ExpressionError),
    "where a power": (lambda at: at.df.blowfish.where("small ** 2 > 4"), errors.ExpressionError),
    "where one equals sign": (lambda at: at.df.blowfish.where("small = 4"), errors.ExpressionError),
    "where a frame": (lambda at: at.df.blowfish.where("df.small > 4"), errors.ExpressionError),
    "where between one": (lambda at: at.df.blowfish.where("small.between(4)"), errors.ExpressionError),
    "where numbers start": (lambda at: at.df.blowfish.where("small.startswith('4')"), errors.ExpressionError),
    "bins of lists": (_hist(bins=[[0, 1], [2, 3]]), errors.ArgumentError),
    "bins of bools": (_hist(bins=[False, True]), errors.ArgumentError),
    "bins off the edges": (_hist("x", bins=[0, 1500]), errors.DeclaredValueError),
    "bins 2-d": (_hist(bins=np.zeros((2, 2))), errors.ArgumentError),
    "bins numbers for days": (_hist("d", bins=[1, 2]), errors.ArgumentError),
    "groups empty": (_hist(bins={}), errors.ArgumentError),
    "groups of nothing": (_hist(bins={"a": []}), errors.ArgumentError),
    "groups overlap": (_hist(bins={"a": [1], "b": [1]}), errors.ArgumentError),
    "groups undeclared": (_hist(bins={"a": [77]}), errors.DeclaredValueError),
    "groups unhashable": (_hist(bins={"a": [[1]]}), errors.DeclaredValueError),
    "groups not lists": (_hist(bins={"a": 1}), errors.ArgumentTypeError),
    "groups of text": (_hist(bins={"a": "12"}), errors.ArgumentTypeError),
    "groups share a name": (_hist(bins={1: [1], "1": [2]}), errors.ArgumentError),
    "bins for other columns": (_hist(["small", "d"], bins={"x": 2}), errors.ArgumentError),
    "bins of several columns": (_hist(["small", "d"], bins=2), errors.ArgumentError),
    # hist: strategy, post, name
    "strategy unknown": (_hist(strategy="best"), errors.UnknownStrategyError),
    "strategy list": (_hist(strategy=["identity"]), errors.ArgumentTypeError),
    "strategy None": (_hist(strategy=None), errors.ArgumentTypeError),
    "strategy frame": (_hist(strategy=_rows()), errors.ArgumentTypeError),
    "post text": (_hist(post="x"), errors.ArgumentError),
    "post None": (_hist(post=None), errors.ArgumentError),
    "post one": (_hist(post=1), errors.ArgumentError),
    "name empty": (_hist(name=""), errors.ArgumentError),
    "name blank": (_hist(name="  "), errors.ArgumentError),
    "name number": (_hist(name=5), errors.ArgumentError),
    "name list": (_hist(name=["a"]), errors.ArgumentError),
    "name surrogate": (_hist(name="\ud800"), errors.ArgumentError),
    "name with zero": (_hist(name="a\0b"), errors.ArgumentError),
    "name taken": (_hist("d", name="taken"), errors.NameTakenError),
    "too much noise": (_hist(epsilon=1e-30), errors.ScaleError),
    "too much": (_hist(epsilon=1), errors.InsufficientBudgetError),
    "far too much": (_hist(epsilon=1e300), errors.InsufficientBudgetError),
    # count and plan
    "count strategy": (lambda at: at.df.blowfish.count(epsilon=1, strategy=[]), errors.ArgumentTypeError),
    "count post": (lambda at: at.df.blowfish.count(epsilon=1, post=3), errors.ArgumentError),
    "count name": (lambda at: at.df.blowfish.count(epsilon=1, name=""), errors.ArgumentError),
    "count epsilon": (lambda at: at.df.blowfish.count(epsilon=0), errors.EpsilonError),
    "selected unknown": (lambda at: at.df.blowfish["nobody"], errors.UndeclaredColumnError),
    "selected undeclared": (lambda at: at.df.blowfish[["small", "note"]], errors.UndeclaredColumnError),
    "selected by number": (lambda at: at.df.blowfish[0], errors.ArgumentTypeError),
    "selected and named": (
        lambda at: at.df.blowfish["small"].value_counts("x", epsilon="1/8"),
        errors.ArgumentError,
    ),
    "selected of rows": (lambda at: at.raw.blowfish["small"], errors.NotProtectedError),
    "selected of a release": (lambda at: at.release.blowfish["small"], errors.NotProtectedError),
    "name of pandas": (lambda at: at.df.blowfish.head(), errors.UnknownVerbError),
    "name of a column": (lambda at: at.df.blowfish.small, errors.UnknownVerbError),
    "value_counts shares": (
        lambda at: at.df.blowfish.value_counts("small", epsilon="1/8", normalize=1),
        errors.ArgumentError,
    ),
    "crosstab of one": (
        lambda at: at.df.blowfish.crosstab("small", "small", epsilon="1/8"),
        errors.ArgumentError,
    ),
    "crosstab shares": (
        lambda at: at.df.blowfish.crosstab("small", "d", epsilon="1/8", normalize=[1]),
        errors.ArgumentError,
    ),
    "median of nobody": (
        lambda at: at.df.blowfish.median("nobody", epsilon="1/8"),
        errors.UndeclaredColumnError,
    ),
    "size of a column": (lambda at: at.df.blowfish.size("small", epsilon="1/8"), errors.ArgumentTypeError),
    "plan column": (lambda at: at.df.blowfish.plan.hist("nobody"), errors.UndeclaredColumnError),
    "plan epsilon": (lambda at: POLICY.plan.hist("x", epsilon=-1), errors.EpsilonError),
    "plan strategy": (lambda at: POLICY.plan.count(strategy={}), errors.ArgumentTypeError),
    # workload
    "workload nothing": (_workload(None), errors.ArgumentTypeError),
    "workload text": (_workload("matrix"), errors.ArgumentTypeError),
    "workload of text": (_workload([["a"] * 10]), errors.ArgumentTypeError),
    "workload of objects": (_workload([[object()] * 10]), errors.ArgumentTypeError),
    "workload of None": (_workload([[None] * 10]), errors.ArgumentTypeError),
    "workload complex": (_workload(np.ones((1, 10)) * 1j), errors.ArgumentTypeError),
    "workload ragged": (_workload([[1] * 10, [1] * 9]), errors.ArgumentTypeError),
    "workload a series": (_workload(pd.Series([1] * 10)), errors.ArgumentTypeError),
    "workload one row": (_workload([1] * 10), errors.ArgumentError),
    "workload 3-d": (_workload(np.ones((1, 1, 10))), errors.ArgumentError),
    "workload empty": (_workload(np.ones((0, 10))), errors.ArgumentError),
    "workload too few cells": (_workload(np.ones((2, 9))), errors.ArgumentError),
    "workload too many cells": (_workload(csr_array((2, 11), dtype=int)), errors.ArgumentError),
    "workload halves": (_workload(np.full((1, 10), 0.5)), errors.ArgumentError),
    "workload nan": (_workload(np.full((1, 10), np.nan)), errors.ArgumentError),
    "workload infinite": (_workload(csr_array(np.full((1, 10), np.inf))), errors.ArgumentError),
    "workload too large": (_workload(np.full((1, 10), 2**31 + 1)), errors.ArgumentError),
    "workload far too large": (_workload([[2**70] * 10]), errors.ArgumentError),
    "workload of rows": (lambda at: at.df.blowfish.workload(at.df, "small", epsilon=1), errors.ArgumentError),
    "workload of a release": (_workload_of_release, errors.ArgumentError),
    "workload column": (_workload(np.eye(10), "nobody"), errors.UndeclaredColumnError),
    "workload unbounded": (_workload(np.eye(10), "r"), errors.UnboundedColumnError),
    "workload no columns": (_workload(np.eye(10), []), errors.ArgumentError),
    "workload strategy": (_workload(np.eye(10), strategy="dawa"), errors.UnknownStrategyError),
    "workload epsilon": (_workload(np.eye(10), epsilon=0), errors.EpsilonError),
    "workload post": (_workload(np.eye(10), post="yes"), errors.ArgumentError),
    "workload name": (_workload(np.eye(10), name=""), errors.ArgumentError),
    "workload name taken": (_workload(np.eye(10), name="taken"), errors.NameTakenError),
    "workload too much": (_workload(np.eye(10), epsilon=1), errors.InsufficientBudgetError),
    "workload too much noise": (_workload(np.eye(10), epsilon=1e-30), errors.ScaleError),
    "workload grouped by": (
        lambda at: at.df.blowfish.groupby("small").workload(np.eye(10), "small", epsilon=1),
        errors.ArgumentError,
    ),
    # sum and mean
    "sum unbounded": (lambda at: at.df.blowfish.sum("r", epsilon="1/8"), errors.UnboundedColumnError),
    "sum unknown": (lambda at: at.df.blowfish.sum("nobody", epsilon="1/8"), errors.UndeclaredColumnError),
    "sum undeclared": (lambda at: at.df.blowfish.sum("note", epsilon="1/8"), errors.UndeclaredColumnError),
    "sum of instants": (lambda at: at.df.blowfish.sum("d", epsilon="1/8"), errors.ArgumentError),
    "sum of nothing": (lambda at: at.df.blowfish.sum([], epsilon="1/8"), errors.ArgumentError),
    "sum of a frame": (lambda at: at.df.blowfish.sum(_rows(), epsilon="1/8"), errors.ArgumentTypeError),
    "sum epsilon": (lambda at: at.df.blowfish.sum("small", epsilon=0), errors.EpsilonError),
    "sum epsilon None": (lambda at: at.df.blowfish.sum("small", epsilon=None), errors.EpsilonError),
    "sum strategy": (
        lambda at: at.df.blowfish.sum("small", epsilon="1/8", strategy="ordered"),
        errors.UnknownStrategyError,
    ),
    "sum post": (lambda at: at.df.blowfish.sum("small", epsilon="1/8", post="x"), errors.ArgumentError),
    "sum name": (lambda at: at.df.blowfish.sum("small", epsilon="1/8", name=""), errors.ArgumentError),
    "sum name taken": (
        lambda at: at.df.blowfish.sum("small", epsilon="1/8", name="taken"),
        errors.NameTakenError,
    ),
    "sum of a release": (lambda at: at.release.blowfish.sum("small", epsilon=1), errors.NotProtectedError),
    "sum of stale": (lambda at: at.df[:2].blowfish.sum("small", epsilon="1/8"), errors.StaleFrameError),
    "sum too much": (lambda at: at.df.blowfish.sum("small", epsilon=1), errors.InsufficientBudgetError),
    "sum too much noise": (lambda at: at.df.blowfish.sum("x", epsilon=1e-30), errors.ScaleError),
    "sum grouped": (
        lambda at: at.df.blowfish.groupby("small").sum("small", epsilon="1/8"),
        errors.ArgumentError,
    ),
    "mode of nothing": (lambda at: at.df.blowfish.mode(epsilon="1/8"), errors.ArgumentTypeError),
    "mode of unknown": (
        lambda at: at.df.blowfish.mode("nobody", epsilon="1/8"),
        errors.UndeclaredColumnError,
    ),
    "mode unbounded": (lambda at: at.df.blowfish.mode("r", epsilon="1/8"), errors.UnboundedColumnError),
    "mode strategy": (
        lambda at: at.df.blowfish.mode("small", epsilon="1/8", strategy="tree"),
        errors.UnknownStrategyError,
    ),
    "mode dropna": (
        lambda at: at.df.blowfish.mode("small", epsilon="1/8", dropna=1),
        errors.ArgumentTypeError,
    ),
    "mode of none": (
        lambda at: at.df.blowfish.where("small < 3 and small > 3").mode("small", epsilon="1/8"),
        errors.ArgumentError,
    ),
    "mode by itself": (
        lambda at: at.df.blowfish.groupby("small").mode("small", epsilon="1/8"),
        errors.ArgumentError,
    ),
    "top too many": (lambda at: at.df.blowfish.top(11, "small", epsilon="1/8"), errors.ArgumentError),
    "top none": (lambda at: at.df.blowfish.top(0, "small", epsilon="1/8"), errors.ArgumentError),
    "top no number": (lambda at: at.df.blowfish.top("small", 3, epsilon="1/8"), errors.ArgumentTypeError),
    "top true": (lambda at: at.df.blowfish.top(True, "small", epsilon="1/8"), errors.ArgumentTypeError),
    "top too much": (lambda at: at.df.blowfish.top(2, "small", epsilon=1), errors.InsufficientBudgetError),
    "top too much noise": (lambda at: at.df.blowfish.top(2, "x", epsilon=1e-30), errors.ScaleError),
    "mean mixed": (lambda at: at.df.blowfish.mean(["small", "d"], epsilon="1/8"), errors.ArgumentError),
    "mean unbounded": (lambda at: at.df.blowfish.mean(["r"], epsilon="1/8"), errors.UnboundedColumnError),
    "mean of categories": (lambda at: bf.Policy(DOMAIN).plan.mean("c"), errors.ArgumentError),
    "mean rows": (lambda at: POLICY.plan.mean("small", rows=-1), errors.ArgumentError),
    "var unbounded": (lambda at: at.df.blowfish.var("r", epsilon="1/8"), errors.UnboundedColumnError),
    "var nothing": (lambda at: at.df.blowfish.var(epsilon="1/8"), errors.ArgumentTypeError),
    "var of instants": (lambda at: at.df.blowfish.var("d", epsilon="1/8"), errors.ArgumentError),
    "var ddof": (lambda at: at.df.blowfish.var("small", epsilon="1/8", ddof=-1), errors.ArgumentError),
    "std ddof text": (
        lambda at: at.df.blowfish.std("small", epsilon="1/8", ddof="1"),
        errors.ArgumentTypeError,
    ),
    "std mixed": (lambda at: at.df.blowfish.std(["small", "d"], epsilon="1/8"), errors.ArgumentError),
    "cov twice": (lambda at: at.df.blowfish.cov(["small", "small"], epsilon="1/8"), errors.ArgumentError),
    "corr of categories": (lambda at: bf.Policy(DOMAIN).plan.corr(["x", "c"]), errors.ArgumentError),
    "corr strategy": (lambda at: POLICY.plan.corr(["x"], strategy="total"), errors.UnknownStrategyError),
    "describe categories": (lambda at: bf.Policy(DOMAIN).plan.describe("c"), errors.ArgumentError),
    "describe instants": (lambda at: POLICY.plan.describe("d"), errors.ArgumentError),
    "describe shares": (lambda at: POLICY.plan.describe("x", percentiles=2), errors.ArgumentError),
    "describe share twice": (
        lambda at: POLICY.plan.describe("x", percentiles=[0.5, 0.5]),
        errors.ArgumentError,
    ),
    "agg nothing": (lambda at: at.df.blowfish.agg({}, epsilon="1/8"), errors.ArgumentError),
    "agg unnamed": (lambda at: at.df.blowfish.agg("mean", epsilon="1/8"), errors.ArgumentTypeError),
    "agg unknown": (lambda at: at.df.blowfish.agg({"small": "max"}, epsilon="1/8"), errors.ArgumentError),
    "agg a number": (lambda at: at.df.blowfish.agg({"small": 3}, epsilon="1/8"), errors.ArgumentTypeError),
    "agg twice": (
        lambda at: at.df.blowfish.agg({"small": ["mean", "mean"]}, epsilon="1/8"),
        errors.ArgumentError,
    ),
    "agg nobody": (
        lambda at: at.df.blowfish.agg({"nobody": "mean"}, epsilon="1/8"),
        errors.UndeclaredColumnError,
    ),
    "agg grouped": (
        lambda at: at.df.blowfish.groupby("small").agg({"small": "mean"}, epsilon="1/8"),
        errors.ArgumentError,
    ),
    "agg unbounded": (
        lambda at: at.df.blowfish.agg({"r": "mean"}, epsilon="1/8"),
        errors.UnboundedColumnError,
    ),
    "mean rows text": (lambda at: POLICY.plan.mean("small", rows="3"), errors.ArgumentTypeError),
    # marginal, and range over several columns
    "marginal of nobody": (_marginal(["small", "nobody"]), errors.UndeclaredColumnError),
    "marginal undeclared": (_marginal([["small"], ["note"]]), errors.UndeclaredColumnError),
    "marginal unbounded": (_marginal([["small"], ["r", "d"]]), errors.UnboundedColumnError),
    "marginal of nothing": (_marginal([]), errors.ArgumentTypeError),
    "marginal of empty tables": (_marginal([[], []]), errors.ArgumentError),
    "marginal None": (_marginal(None), errors.ArgumentTypeError),
    "marginal set": (_marginal({"small", "d"}), errors.ArgumentTypeError),
    "marginal frame": (_marginal(_rows()), errors.ArgumentTypeError),
    "marginal series": (_marginal(_rows()["note"]), errors.ArgumentTypeError),
    "marginal column twice": (_marginal(["small", "small"]), errors.ArgumentError),
    "marginal table twice": (_marginal([["small"], ["small"]]), errors.ArgumentError),
    "marginal too deep": (_marginal([[["small"]]]), errors.ArgumentTypeError),
    "marginal order 0": (_marginal(["small", "d"], order=0), errors.ArgumentError),
    "marginal order 3": (_marginal(["small", "d"], order=3), errors.ArgumentError),
    "marginal order text": (_marginal(["small", "d"], order="1"), errors.ArgumentTypeError),
    "marginal order True": (_marginal(["small", "d"], order=True), errors.ArgumentTypeError),
    "marginal order of lists": (_marginal([["small"], ["d"]], order=1), errors.ArgumentTypeError),
    "marginal strategy": (_marginal(["small", "d"], strategy="mesh"), errors.UnknownStrategyError),
    "marginal strategy None": (_marginal(["small", "d"], strategy=None), errors.ArgumentTypeError),
    "marginal joint": (_marginal([["small", "d"], ["d"]], strategy="joint"), errors.ArgumentError),
    "marginal post": (_marginal(["small", "d"], post="nonpositive"), errors.ArgumentError),
    "marginal post list": (_marginal(["small", "d"], post=["nonnegative"]), errors.ArgumentError),
    "marginal epsilon": (_marginal(["small", "d"], epsilon=-1), errors.EpsilonError),
    "marginal name": (_marginal(["small", "d"], name=""), errors.ArgumentError),
    "marginal name taken": (_marginal(["small", "d"], name="taken"), errors.NameTakenError),
    "marginal too much": (_marginal(["small", "d"], epsilon=1), errors.InsufficientBudgetError),
    "marginal too much noise": (_marginal([["small"], ["d"]], epsilon=1e-30), errors.ScaleError),
    "boxes None": (_boxes(None), errors.ArgumentTypeError),
    "boxes empty": (_boxes([]), errors.ArgumentTypeError),
    "boxes text": (_boxes("all"), errors.ArgumentError),
    "boxes of one pair": (_boxes([(0, 1)]), errors.ArgumentTypeError),
    "boxes of three pairs": (_boxes([((0, 1), (0, 0), (0, 1))]), errors.ArgumentTypeError),
    "boxes reversed": (_boxes([((5, 1), (None, None))]), errors.ArgumentError),
    "boxes outside": (_boxes([((0, 10), (None, None))]), errors.BlowfishError),
    "boxes of numbers for days": (_boxes([((0, 1), (1, 2))]), errors.DeclaredValueError),
    "boxes off the edges": (_boxes([((0, 1), ("2020-01-01", "2020-01-02 07:00"))]), errors.BlowfishError),
    "boxes array": (_boxes(np.zeros((2, 2))), errors.ArgumentError),
    "boxes frame": (_boxes(_rows()), errors.ArgumentTypeError),
    "boxes strategy": (_boxes([((0, 1), (None, None))], strategy="ordered"), errors.UnknownStrategyError),
    "boxes post": (_boxes([((0, 1), (None, None))], post="nonnegative"), errors.ArgumentError),
    "boxes too much noise": (_boxes([((0, 1), (None, None))], epsilon=1e-30), errors.ScaleError),
    "boxes of a group": (
        lambda at: at.df.blowfish.groupby("small").range(["small", "d"], [((0, 1), (None, None))], epsilon=1),
        errors.ArgumentError,
    ),
    # interval, receipts, frames of the wrong kind
    "level above 1": (lambda at: at.release.blowfish.interval(1.5), errors.ArgumentError),
    "level 1": (lambda at: at.release.blowfish.interval(1), errors.ArgumentError),
    "level 0": (lambda at: at.release.blowfish.interval(0), errors.ArgumentError),
    "level text": (lambda at: at.release.blowfish.interval("abc"), errors.ArgumentError),
    "level None": (lambda at: at.release.blowfish.interval(None), errors.ArgumentTypeError),
    "level nan": (lambda at: at.release.blowfish.interval(float("nan")), errors.ArgumentError),
    "level list": (lambda at: at.release.blowfish.interval([0.5]), errors.ArgumentTypeError),
    "interval of protected": (lambda at: at.df.blowfish.interval(), errors.NotReleasedError),
    "receipt of plain": (lambda at: at.raw.blowfish.receipt, errors.NotReleasedError),
    "hist of release": (lambda at: at.release.blowfish.hist("small", epsilon=1), errors.NotProtectedError),
    "hist of plain": (lambda at: at.raw.blowfish.hist("small", epsilon=1), errors.NotProtectedError),
    "budget of plain": (lambda at: at.raw.blowfish.budget, errors.NotProtectedError),
    "protect a release": (lambda at: at.release.blowfish.protect(POLICY, epsilon=1), errors.FrameError),
    "hist of stale": (lambda at: at.df[:2].blowfish.hist("small", epsilon="1/8"), errors.StaleFrameError),
    "of no frame": (lambda at: bf.of(at.raw["note"]), errors.FrameError),
    # protect
    "policy None": (_protect(None), errors.SchemaError),
    "policy text": (_protect("policy"), errors.SchemaError),
    "policy frame": (_protect(_rows()), errors.SchemaError),
    "policy class": (_protect(bf.Policy), errors.SchemaError),
    "outside unknown": (_protect(outside="drop"), errors.ArgumentError),
    "outside None": (_protect(outside=None), errors.ArgumentError),
    "outside list": (_protect(outside=["clip"]), errors.ArgumentError),
    "outside array": (_protect(outside=np.array([1, 2])), errors.ArgumentError),
    "outside frame": (_protect(outside=_rows()), errors.ArgumentError),
    "dataset empty": (_protect(dataset=""), errors.ArgumentError),
    "dataset number": (_protect(dataset=5), errors.ArgumentError),
    "dataset surrogate": (_protect(dataset="\udfff"), errors.ArgumentError),
    "unit unknown": (_protect(unit="nobody"), errors.FrameError),
    "unit list": (_protect(unit=["note"]), errors.ArgumentTypeError),
    "unit repeats": (_protect(unit="d"), errors.FrameError),
    "ledger number": (_protect(ledger=5), errors.ArgumentTypeError),
    "second name": (lambda at: _protect(ledger=at.ledger, dataset="b")(at), errors.SecondNameError),
    "new as text": (_protect(new="no"), errors.ArgumentTypeError),
    "policy no file": (_protect("nowhere.yaml"), errors.SchemaError),
    "policy no path": (_protect("\0.yaml"), errors.SchemaError),
    "policy as text": (_protect(POLICY.to_yaml()), errors.SchemaError),
    "policy a directory": (lambda at: _protect(at.tmp)(at), errors.SchemaError),
    "policy written nowhere": (lambda at: POLICY.to_yaml(at.tmp / "no/p.yaml"), errors.ArgumentError),
    "policy written to 5": (lambda at: POLICY.to_yaml(5), errors.ArgumentTypeError),
    "answer unknown": (lambda at: at.ledger.answer("rows", "no"), errors.UnknownAnswerError),
    "answer of nobody": (lambda at: at.ledger.answer("nobody", "taken"), errors.UnknownDatasetError),
    "answer number": (lambda at: at.ledger.answer("rows", 5), errors.ArgumentTypeError),
    "load number": (lambda at: bf.load(5), errors.ArgumentTypeError),
    "load nothing": (lambda at: bf.load(at.tmp / "no.csv"), errors.DataFileError),
    "ledger bytes": (_protect(ledger=b"b.db", dataset="a"), errors.ArgumentTypeError),
    "ledger empty": (_protect(ledger="", dataset="a"), errors.ArgumentError),
    "ledger with zero": (_protect(ledger="a\0b", dataset="a"), errors.ArgumentError),
    "ledger without name": (lambda at: _protect(ledger=at.book)(at), errors.ArgumentError),
    "ledger nowhere": (lambda at: _protect(ledger=at.tmp / "no/b.db", dataset="a")(at), errors.LedgerError),
    "ledger a directory": (lambda at: _protect(ledger=at.tmp, dataset="a")(at), errors.LedgerError),
    "ledger memory of another": (_protect(ledger="memory:0", dataset="a"), errors.LedgerNotFoundError),
    "other total": (lambda at: at.df.blowfish.protect(POLICY, epsilon=2), errors.BudgetMismatchError),
    "other policy": (lambda at: at.df.blowfish.protect(bf.Policy(DOMAIN), epsilon=1), errors.FrameError),
    "rows outside": (lambda at: _outside(at, x=-NUMBER), errors.OutsideDomainError),
    "text in numbers": (lambda at: _outside(at, x=TEXT), errors.OutsideDomainError),
    "text without bounds": (lambda at: _outside(at, r=TEXT), errors.OutsideDomainError),
    "lists in numbers": (lambda at: _outside(at, small=[[NUMBER]] * 3), errors.OutsideDomainError),
    "nulls": (lambda at: _outside(at, d=None), errors.OutsideDomainError),
    "column absent": (
        lambda at: at.raw.drop(columns="x").blowfish.protect(POLICY, epsilon=1),
        errors.FrameError,
    ),
    "column twice": (lambda at: _twice(at).blowfish.protect(POLICY, epsilon=1), errors.FrameError),
    "levels": (
        lambda at: pd.concat({"k": at.raw}, axis=1).blowfish.protect(POLICY, epsilon=1),
        errors.FrameError,
    ),
    # save, check, draft
    "save plain": (lambda at: bf.save(at.raw, at.tmp / "r.csv"), errors.NotReleasedError),
    "save protected": (lambda at: bf.save(at.df, at.tmp / "r.csv"), errors.NotReleasedError),
    "save nothing": (lambda at: bf.save(None, at.tmp / "r.csv"), errors.ArgumentTypeError),
    "save nowhere": (lambda at: bf.save(at.release, None), errors.ArgumentTypeError),
    "save unknown": (lambda at: bf.save(at.release, at.tmp / "r.pdf"), errors.ArgumentError),
    "check no frame": (lambda at: bf.check(at.raw["note"], POLICY), errors.FrameError),
    "check no policy": (lambda at: bf.check(at.raw, 5), errors.SchemaError),
    "draft no frame": (lambda at: bf.draft(at.raw["note"]), errors.FrameError),
    # ledger
    "unknown dataset": (lambda at: at.ledger.budget("nobody"), errors.UnknownDatasetError),
    "no such ledger": (lambda at: bf.Ledger(at.tmp / "absent.db").entries, errors.LedgerNotFoundError),
    "raise to less": (lambda at: at.ledger.raise_budget("rows", "1/2"), errors.ArgumentError),
    "raise to nan": (lambda at: at.ledger.raise_budget("rows", float("nan")), errors.ArgumentError),
    "raise nothing": (lambda at: at.ledger.raise_budget("nobody", 5), errors.UnknownDatasetError),
    "record nothing": (lambda at: at.ledger.record_exact("rows", None), errors.ArgumentTypeError),
    "preview nothing": (lambda at: at.ledger.preview_exact("rows", None), errors.ArgumentTypeError),
    "preview nobody": (
        lambda at: at.ledger.preview_exact("nobody", bf.Marginal("small")),
        errors.UnknownDatasetError,
    ),
    "record a sum": (lambda at: at.ledger.record_exact("rows", {"sum": "x"}), errors.ArgumentError),
    "record of nobody": (
        lambda at: at.ledger.record_exact("nobody", bf.Marginal("small")),
        errors.UnknownDatasetError,
    ),
    "record no column": (
        lambda at: at.ledger.record_exact("rows", bf.Marginal("note")),
        errors.UndeclaredColumnError,
    ),
    "record inside a cell": (
        lambda at: at.ledger.record_exact("rows", bf.Box(x=(0, 5))),
        errors.ArgumentError,
    ),
    "record without cells": (
        lambda at: at.ledger.record_exact("rows", bf.Marginal("r")),
        errors.UnboundedColumnError,
    ),
    "rows against a fact": (
        lambda at: _protect(
            POLICY.with_facts([bf.Count("small < 4", answer=2)]), ledger=at.book, dataset="a"
        )(at),
        errors.FactMismatchError,
    ),
    # policies and secrets
    "no schema": (lambda _: bf.Policy(None), errors.SchemaError),
    "neighbors": (lambda _: bf.Policy(CELLS, neighbors="friends"), errors.ArgumentError),
    "neighbors 0": (lambda _: bf.Policy(CELLS, neighbors=0), errors.ArgumentError),
    "neighbors True": (lambda _: bf.Policy(CELLS, neighbors=True), errors.ArgumentError),
    "presence": (lambda _: bf.Policy(CELLS, presence="yes"), errors.ArgumentError),
    "constraints": (lambda _: bf.Policy(CELLS, constraints=[5]), errors.ArgumentError),
    "secret of nobody": (lambda _: bf.Policy(CELLS, secrets={"nobody": bf.full()}), errors.BlowfishError),
    "secret no dict": (lambda _: bf.Policy(CELLS, secrets={"x": 5}), errors.SecretError),
    "secret misfit": (lambda _: bf.Policy(CELLS, secrets={"d": bf.threshold(5)}), errors.SecretError),
    "groups incomplete": (
        lambda _: bf.Policy(CELLS, secrets={"small": bf.partition([[1]])}),
        errors.SecretError,
    ),
    "theta 0": (lambda _: bf.threshold(0), errors.ArgumentError),
    "theta None": (lambda _: bf.threshold(None), errors.ArgumentError),
    "metric": (lambda _: bf.threshold(1, metric="l3"), errors.ArgumentError),
    "groups number": (lambda _: bf.partition(None), errors.ArgumentError),
    "edges of three": (lambda _: bf.edges([(1, 2, 3)]), errors.ArgumentError),
    "missing": (lambda _: bf.full(missing=["secret"]), errors.ArgumentError),
    "other number": (lambda _: bf.full(other=5), errors.ArgumentTypeError),
    "other of numbers": (
        lambda _: bf.Policy(CELLS, secrets={"small": bf.full(other="x")}),
        errors.SecretError,
    ),
    "keys of nothing": (lambda _: bf.public(keys="columns"), errors.ArgumentError),
    "keys list": (lambda _: bf.public(keys=["rows"]), errors.ArgumentError),
    "keys and other": (lambda _: bf.public(keys="rows", other="x"), errors.ArgumentError),
    "keys of groups": (lambda _: bf.partition([["a"]], keys="rows"), errors.ArgumentError),
    "keys of numbers": (
        lambda _: bf.Policy(CELLS, secrets={"r": bf.public(keys="rows")}),
        errors.SecretError,
    ),
    "with_keys of none": (lambda _: POLICY.with_keys({"x": [1]}), errors.ArgumentError),
    "stream read once": (
        lambda _: bf.protect(iter([1]), POLICY, epsilon=1),
        errors.FrameError,
    ),
    "function of nothing": (lambda _: bf.protect(lambda: None, POLICY, epsilon=1), errors.FrameError),
    "schema set": (_schema(c=pa.Column(str, pa.Check.isin({"a", "b"}))), errors.SchemaError),
}
for _place, _value in enumerate(AWKWARD):
    _kind = f"{_place}-{type(_value).__name__}"
    BAD[f"hist epsilon {_kind}"] = (_hist(epsilon=_value), errors.ArgumentError)
    BAD[f"protect epsilon {_kind}"] = (_protect(epsilon=_value), errors.ArgumentError)
    BAD[f"plan epsilon {_kind}"] = (
        lambda _, value=_value: POLICY.plan.hist("x", epsilon=value),
        errors.ArgumentError,
    )


def _wide():
    return Domain(tuple(integers(name, 0, 9_999) for name in "abc"))


def _outside(at, **columns):
    return at.raw.assign(**columns).blowfish.protect(POLICY, epsilon=1, ledger=at.book, dataset="bad")


def _twice(at):
    return pd.concat([at.raw, at.raw], axis=1)


def _texts(error):
    """Yield everything an error, and what it was raised from, says about itself."""
    while error is not None:
        yield str(error)
        yield repr(error)
        yield repr({key: value for key, value in vars(error).items() if not key.startswith("__")})
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("case", BAD)
def test_bad_call(case, at):
    """A typed error; budget, entries, frames and directory as they were; no value of a row in words."""
    call, expected = BAD[case]
    budget, entries = at.df.blowfish.budget, at.ledger.entries
    default = len(bf.Ledger.default().entries)
    kept, attrs = at.df.copy(), dict(at.df.attrs)

    with pytest.raises(expected) as caught:
        call(at)

    assert isinstance(caught.value, bf.BlowfishError)
    for text in _texts(caught.value):
        assert not PRIVATE.search(text), text
    assert at.df.blowfish.budget == budget
    assert at.ledger.entries.equals(entries)
    assert len(bf.Ledger.default().entries) == default
    pd.testing.assert_frame_equal(at.df, kept)
    assert at.df.attrs == attrs
    pd.testing.assert_frame_equal(at.raw, _rows())
    assert at.raw.attrs == {}
    assert list(at.tmp.iterdir()) == []


def test_every_error_says_how_to_go_on(at):
    """Messages have what happened and what is allowed or how to fix it."""
    for case in (
        "unknown column",
        "bins zero",
        "strategy unknown",
        "too much",
        "hist of plain",
        "outside unknown",
    ):
        with pytest.raises(bf.BlowfishError) as caught:
            BAD[case][0](at)

        assert "allowed:" in str(caught.value) or "fix:" in str(caught.value)


@pytest.mark.parametrize(
    "epsilon", [1, 0.25, "0.25", "1/4", Decimal("0.25"), Fraction(1, 4), np.float32(0.25)], ids=repr
)
def test_every_way_to_write_epsilon(epsilon):
    """Ints, floats, text, decimals, fractions and numpy's numbers are exact amounts."""
    df = _rows().blowfish.protect(POLICY, epsilon=1)

    df.blowfish.hist("small", epsilon=epsilon)

    assert df.blowfish.budget.spent == (1 if epsilon == 1 else Fraction(1, 4))


@pytest.mark.parametrize("epsilon", [1e300, 1e-300, "1e-2000", 10**300], ids=str)
def test_absurd_totals_are_kept_exactly(epsilon):
    """A total may be any positive number; sums stay exact."""
    df = _rows().blowfish.protect(POLICY, epsilon=epsilon)

    assert df.blowfish.budget.remaining == df.blowfish.budget.total > 0
    assert df.blowfish.count(epsilon=1)["count"].tolist() == [3]


@pytest.mark.parametrize("epsilon", [1e-300, 10**400], ids=["tiny", "huge"])
def test_absurd_epsilons_of_a_release(epsilon):
    """Noise beyond 64 bits is a typed error; next to none is no noise."""
    df = _rows().blowfish.protect(POLICY, epsilon=10**400)

    if epsilon > 1:
        assert df.blowfish.hist("small", epsilon=epsilon)["count"].tolist() == [0, 1, 1, 1, *[0] * 6]
    else:
        with pytest.raises(errors.ScaleError):
            df.blowfish.hist("small", epsilon=epsilon)


def test_next_to_no_noise():
    """The largest float is an epsilon like any other."""
    df = _rows().blowfish.protect(POLICY, epsilon=1e300)

    assert df.blowfish.hist("small", epsilon=1e300)["count"].tolist() == [0, 1, 1, 1, *[0] * 6]
