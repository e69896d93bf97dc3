"""Rows that an engine groups have the codes that pandas gives each of them."""

import random
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from count.storages import SPECS, STORAGES
from oracle.duckdb_tables import as_held

from pandas_blowfish.count import groups
from pandas_blowfish.count.encode import encoder
from pandas_blowfish.count.groups import group_cells
from pandas_blowfish.policy.domain import from_dict, integers

pa = pytest.importorskip("pyarrow")
ENGINES = ("polars", "lazy", "duckdb", "pyarrow")
GRIDS = [
    {"min": 0, "max": 1, "step": "0.01"},
    {"min": "-1.7", "max": "2.95", "step": "0.3", "exclusive_min": True, "exclusive_max": True},
    {"min": 0, "max": 1, "step": "0.1", "exclusive_min": True, "nullable": True},
    {"min": -100, "max": 1000, "step": "2.5", "nullable": True},
    {"min": "-1e304", "max": "1e304", "step": "1e300"},
    {"min": 0, "max": 1, "step": 1},
]


def _count(found, name):
    codes, rows = found
    counts = Counter()
    for code, many in zip(codes[name].tolist(), rows.tolist(), strict=True):
        counts[code] += many
    return counts


def _want(series, attribute, clip):
    return Counter(encoder(series, attribute, clip=clip)(0, len(series)).tolist())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("storage", STORAGES)
def test_groups_have_the_codes_of_their_rows(engine, storage, scan, in_pandas):
    """Every storage x declaration x clip; None, where batches are read, is right too."""
    table = as_held(engine, pa.table({"x": STORAGES[storage]}))
    series, read = in_pandas(table)["x"], scan(engine, table)
    for at, spec in enumerate(SPECS):
        attribute = from_dict("x", {**spec, "nullable": at % 2 == 0})
        for clip in (False, True):
            found = group_cells(read, [attribute], clip=clip)
            assert found is None or _count(found, "x") == _want(series, attribute, clip), (spec, clip)


@pytest.mark.parametrize("engine", ["polars", "lazy", "duckdb"])
@pytest.mark.parametrize("spec", GRIDS)
def test_stretches_of_floats_are_cells_or_nothing(engine, spec, scan):
    """Edges, their neighbours, infinities, NaN and null: no row is in a cell that is not its own."""
    made = 0
    attribute = from_dict("x", {"type": "float", **spec})
    edges = np.array([float(attribute.low + at * attribute.step) for at in range(min(attribute.cells, 60))])
    sets = [
        edges,
        edges[:1],
        [np.nan],
        [None],
        [np.inf, 1e308],
        [-np.inf, -1e308],
        np.nextafter(edges, -9e307),
    ]
    sets += [[*edges, np.nan, None], [np.nan, 1e300], [None, -1e300], [-1e308, 1e308], []]
    for values in sets:
        array = pa.array([None if each is None else float(each) for each in values], pa.float64())
        series = pd.Series(pd.arrays.ArrowExtensionArray(array))
        for clip in (False, True):
            found = group_cells(scan(engine, pa.table({"x": array})), [attribute], clip=clip)
            made += found is not None
            assert found is None or _count(found, "x") == _want(series, attribute, clip), values
    assert made > 12


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_decimals_on_edges_need_no_batches(engine, scan, in_pandas):
    """Random steps and decimals of rows, many on an edge: all groups lie in one cell, and it is theirs."""
    for seed in range(20):
        draw = random.Random(seed)
        step = Fraction(draw.choice(["0.01", "0.1", "0.05", "0.3", "1.7", "2.5", "7", "100"]))
        low = Fraction(draw.randint(-500, 500), draw.choice([1, 10, 100]))
        ends = {"min": str(Decimal(int(low * 100)) / 100), "max": float(low + step * draw.randint(1, 300))}
        grid = from_dict("x", {"type": "float", **ends, "step": str(Decimal(int(step * 100)) / 100)})
        values = [float(grid.low + draw.randrange(grid.cells) * grid.step) for _ in range(200)]
        values += [round(draw.uniform(float(grid.low), float(grid.high)), 2) for _ in range(200)]
        table = pa.table({"x": values})

        found = group_cells(scan(engine, table), [grid], clip=False)

        assert _count(found, "x") == _want(in_pandas(table)["x"], grid, False), seed


def _joint(found):
    codes, rows = found
    counts = Counter()
    for *cell, many in zip(*codes.values(), rows, strict=True):
        counts[tuple(int(each) for each in cell)] += int(many)
    return counts


@pytest.mark.parametrize("engine", ENGINES)
def test_several_columns_are_grouped_together(engine, scan):
    """Rows that share all codes are one or more groups; PyArrow groups no numbers, and reads them."""
    columns = {"a": [1, 1, 2, None], "b": ["u", "u", "v", "SECRET"], "f": [0.05, 0.07, 0.95, 0.1]}
    table = scan(engine, pa.table({**columns, "t": [True, True, False, None]}))
    listed = [from_dict("b", {"type": "category", "values": ["u", "v"]}), from_dict("t", {"type": "bool"})]
    numbers = [integers("a", 0, 5), from_dict("f", {"type": "float", "min": 0, "max": 1, "step": "0.1"})]

    assert _joint(group_cells(table, listed, clip=False)) == {(0, 1): 2, (1, 0): 1, (-1, -2): 1}
    found = group_cells(table, [*numbers, *listed], clip=False)
    if engine == "pyarrow":
        assert found is None
    else:
        assert _joint(found) == {(1, 0, 0, 1): 2, (2, 9, 1, 0): 1, (-2, 1, -1, -2): 1}


@pytest.mark.parametrize("engine", ENGINES)
def test_many_groups_do_not_come_back(engine, scan, monkeypatch):
    """Values that are not declared are at most as many as may come back; else batches are read."""
    monkeypatch.setattr(groups, "MOST", 40)
    attribute = from_dict("x", {"type": "category", "values": ["fig", "pear"]})
    table = scan(engine, pa.table({"x": [f"name {at}" for at in range(500)] + ["fig", None]}))

    many = from_dict("x", {"type": "category", "values": [str(at) for at in range(40)]})

    assert group_cells(table, [attribute], clip=False) is None
    assert group_cells(table, [many], clip=False) is None
    assert (
        group_cells(
            table,
            [from_dict("x", {"type": "category", "values": list("abc") * 1 + [str(at) for at in range(40)]})],
            clip=False,
        )
        is None
    )
    assert group_cells(table, [], clip=False) is None
    assert group_cells(pd.DataFrame({"x": ["fig"]}), [attribute], clip=False) is None


def test_a_collation_does_not_make_two_values_one():
    """Text is grouped by its bytes."""
    duckdb = pytest.importorskip("duckdb")
    from pandas_blowfish.count.readers import open_table

    base = duckdb.connect()
    base.execute("CREATE TABLE c(g VARCHAR COLLATE nocase)")
    base.execute("INSERT INTO c VALUES ('u'), ('U'), ('v')")
    attribute = from_dict("g", {"type": "category", "values": ["u", "v"]})

    assert _count(group_cells(open_table(base.table("c")), [attribute], clip=False), "g") == {
        0: 1,
        1: 1,
        -1: 1,
    }
