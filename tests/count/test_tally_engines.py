"""Counts and sums of tables that other engines hold are those of the same rows in pandas."""

import random

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.count import groups
from pandas_blowfish.count.readers import open_table
from pandas_blowfish.count.tally import count_cells, count_unplaced
from pandas_blowfish.plan.lattice import LIMIT, Total, lattice, ones
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.queries.call.scope import Scope

pa = pytest.importorskip("pyarrow")

GROUP = from_dict("g", {"type": "category", "values": ["x", "y", "z"], "nullable": True})
DAYS = {"type": "datetime", "min": "2020-01-01", "max": "2020-02-10", "step": "7D"}
COLUMNS = {
    "bounded": ({"type": "integer", "min": -5, "max": 99}, (-5, 99)),
    "cut": ({"type": "integer", "min": -7, "max": 100, "step": 9}, (-7, 100)),
    "two": ({"type": "integer", "min": 0, "max": 4, "step": 3}, (0, 4)),
    "wide": ({"type": "integer", "min": -(2**60), "max": 2**60, "step": 3}, (-(2**60), 2**60)),
    "halves": ({"type": "integer", "min": 0, "max": 2**40}, (2**31 - 3, 2**31 + 3)),
    "far": ({"type": "integer", "min": 10**12, "max": 2 * 10**12, "nullable": True}, (10**12, 2 * 10**12)),
    "float": ({"type": "float", "min": "-1.5", "max": "2.72", "step": "0.1"}, (-1.5, 2.72)),
    "floats": ({"type": "float", "min": 0, "max": 50000, "step": 100, "nullable": True}, (0.0, 50000.0)),
    "listed": ({"type": "float", "values": ["2.5", "0.5", 10, "-3.25"], "nullable": True}, [2.5, 0.5, 10.0]),
    "numbers": ({"type": "integer", "values": [1, 2, 5, 10]}, [1, 2, 5, 10]),
    "truth": ({"type": "bool", "nullable": True}, [True, False]),
    "days": (DAYS, (1577836800, 1581292800)),
    "free": ({"type": "float", "step": "0.01", "nullable": True}, (-1e6, 1e6)),
    "steps": ({"type": "integer", "step": 3}, (-(10**6), 10**6)),
    "large": ({"type": "integer"}, (2**53 - 50, 2**53)),
    "small": ({"type": "integer", "nullable": True}, (-(2**53), -(2**53) + 50)),
}
ENGINES = ("polars", "lazy", "pyarrow", "duckdb", "dask")


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """Let Dask work in this thread."""
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        yield


def _values(draw, spec, ends, rows):
    """Return values between two ends, or listed ones, some missing where they may be."""
    pick = (lambda: draw.choice(ends)) if isinstance(ends, list) else (lambda: draw.randint(*ends))
    if isinstance(ends, tuple) and isinstance(ends[0], float):
        pick = lambda: round(draw.uniform(*ends), 3)  # noqa: E731
    found = [None if spec.get("nullable") and draw.random() < 0.1 else pick() for _ in range(rows)]
    found[:2] = [ends[0], ends[-1]]
    if spec["type"] == "datetime":
        return pa.array(found, pa.int64()).cast(pa.timestamp("s")).cast(pa.timestamp("us"))
    kinds = {"integer": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
    return pa.array(found, kinds[spec["type"]])


def _tables(rows=60):
    """Return an Arrow table with every column, and its domain."""
    draw = random.Random(3)
    table = {name: _values(draw, spec, ends, rows) for name, (spec, ends) in COLUMNS.items()}
    table["g"] = pa.array([draw.choice(["x", "y", "z", None]) for _ in range(rows)])
    attributes = [from_dict(name, spec) for name, (spec, _) in COLUMNS.items()]
    return pa.table(table), Domain((*attributes, GROUP))


TABLE, DOMAIN = _tables()
POLICY = bf.Policy(DOMAIN)
SCOPES = {
    "all": Scope(),
    "groups": Scope().groupby(POLICY, ["g"]),
    "filter": Scope().where(POLICY, "bounded >= 10 and g != 'y'", {}),
    "both": Scope().where(POLICY, "truth == True or numbers < 5", {}).groupby(POLICY, ["g", "truth"]),
    "none": Scope().where(POLICY, "bounded > 98 and bounded < 3", {}),
}


def _totals(name):
    """Return everything that is added up of a column, under one filter or group each."""
    attribute = DOMAIN[name]
    weights = [lattice(attribute)] + [ones(attribute)] * (name != "truth")
    if attribute.bounded and attribute.cells > 1:
        weights.append(lattice(attribute, (0, attribute.cells - 1)))
    return [Total(scope.tally(POLICY, [], None), each) for scope in SCOPES.values() for each in weights]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", COLUMNS)
def test_sums_are_those_of_pandas(engine, name, scan, in_pandas):
    """Bounded, cut, listed and unbounded weights; missing rows, groups, filters, halves of 31 bits."""
    asked = _totals(name)
    want = count_cells(in_pandas(TABLE), asked, clip=False)

    assert count_cells(scan(engine, TABLE), asked, clip=False).tolist() == want.tolist()
    assert np.abs(want).max() > 0


@pytest.mark.parametrize("engine", ENGINES)
def test_sums_of_large_weights_are_clamped(engine, scan, in_pandas):
    """Rows weigh no more than 2^61, nor does their sum; halves carry."""
    column = integers("x", -(2**62) + 9, 2**62 - 9)
    values = [2**62 - 9, 2**62 - 10, 2**61 + 5, -(2**62) + 9, 2**31, 2**31 - 1, -(2**31), 2**60, 7]
    policy = bf.Policy(Domain((column,)))
    for rows in (values, values[:2], values[3:4] * 3, values[4:7] * 50):
        table = pa.table({"x": pa.array(rows, pa.int64())})
        asked = [Total(Scope().tally(policy, [], None), lattice(column))]
        want = count_cells(in_pandas(table), asked, clip=False).tolist()

        assert count_cells(scan(engine, table), asked, clip=False).tolist() == want
        assert abs(want[0]) <= LIMIT


@pytest.mark.parametrize("most", [0, 1 << 16])
@pytest.mark.parametrize("engine", ENGINES)
def test_counts_are_those_of_pandas(engine, most, scan, in_pandas, monkeypatch):
    """Tables of one to three columns, binned, filtered and grouped; by groups, or by batches."""
    monkeypatch.setattr(groups, "MOST", most)
    asked = [
        Scope().tally(POLICY, ["bounded"], None),
        Scope().tally(POLICY, [], None),
        SCOPES["filter"].tally(POLICY, ["cut", "g"], None),
        SCOPES["both"].tally(POLICY, ["days"], None),
        Scope().tally(POLICY, ["float", "truth"], None),
        SCOPES["none"].tally(POLICY, ["numbers"], None),
        Scope().tally(POLICY, ["bounded"], {"bounded": 7}),
        Scope().tally(POLICY, ["bounded"], {"bounded": 1}),
        Scope().tally(POLICY, ["cut"], {"cut": 1}),
        Scope().tally(POLICY, ["listed", "floats"], {"floats": [0, 1000, 50000]}),
    ]
    for clip in (False, True):
        want = count_cells(in_pandas(TABLE), asked, clip=clip)
        assert count_cells(scan(engine, TABLE), asked, clip=clip).tolist() == want.tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_outside_count_nowhere(engine, scan, in_pandas):
    """Against the seal: values out of bounds, nulls that are not allowed, text that is not listed."""
    domain = Domain((integers("a", 0, 9), from_dict("b", {"type": "category", "values": ["x", "y"]})))
    policy = bf.Policy(domain)
    table = pa.table({"a": [1, 2, 77, None, 3, -(2**62)], "b": ["x", "SECRET", "y", "y", None, "x"]})
    scope = Scope().where(policy, "b != 'y'", {})
    asked = [Scope().tally(policy, columns, None) for columns in (["a"], ["b"], ["a", "b"])]
    asked += [scope.tally(policy, ["a"], None), Total(scope.tally(policy, [], None), lattice(domain["a"]))]
    found = scan(engine, table)

    for clip in (False, True):
        counts = count_cells(found, asked, clip=clip)
        assert counts.tolist() == count_cells(in_pandas(table), asked, clip=clip).tolist()
    assert count_cells(in_pandas(table), asked, clip=False).sum() == 3 + 4 + 1 + 1 + 1
    for name in ("a", "b"):
        for clip in (False, True):
            want = count_unplaced(in_pandas(table), domain[name], clip=clip)
            assert count_unplaced(found, domain[name], clip=clip) == want


@pytest.mark.parametrize("engine", ENGINES)
def test_no_rows_are_no_counts(engine, scan, in_pandas):
    """Counts and sums of an empty table are zeros."""
    empty = TABLE.slice(0, 0)
    asked = [Scope().tally(POLICY, ["bounded", "g"], None), Scope().tally(POLICY, [], None)]
    asked += [
        Total(SCOPES["groups"].tally(POLICY, [], None), lattice(DOMAIN[name])) for name in ("free", "listed")
    ]

    found = count_cells(scan(engine, empty), asked, clip=False)

    assert found.tolist() == [0] * len(count_cells(in_pandas(empty), asked, clip=False))


def test_many_rows_of_many_parts():
    """Partitions, and sums of halves over them, do not show."""
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    rows = 200_000
    values = np.random.default_rng(0).integers(2**31 - 50, 2**31 + 50, rows)
    frame = pd.DataFrame({"x": values})
    column = integers("x", 0, 2**40)
    asked = [Total(Scope().tally(bf.Policy(Domain((column,))), [], None), lattice(column))]
    con = duckdb.connect()
    con.register("given", pa.Table.from_pandas(frame))

    for native in (polars.from_pandas(frame).lazy(), con.table("given"), pa.Table.from_pandas(frame)):
        assert count_cells(open_table(native), asked, clip=False).tolist() == [int(values.sum())]
