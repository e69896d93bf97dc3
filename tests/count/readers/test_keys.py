"""Lots of cells that an engine tells apart are those of the table lookup."""

import random

import numpy as np
import pytest

from pandas_blowfish.count.encode import encoder
from pandas_blowfish.count.place import MISSING, OUTSIDE
from pandas_blowfish.count.readers import keys
from pandas_blowfish.count.readers.dialect import fetched
from pandas_blowfish.count.readers.engine import ROWS, grouped
from pandas_blowfish.count.readers.keys import FEW, cell_key, lot_key, stretches
from pandas_blowfish.policy.domain import from_dict, integers

pa = pytest.importorskip("pyarrow")
nw = pytest.importorskip("narwhals")

ENGINES = ("polars", "duckdb")
FRUIT = {"type": "category", "values": ["fig", "pear", "plum", "kiwi", "lime"]}
LISTED = {"type": "integer", "values": [-3, 0, 4, 12, 13, 40]}


def _lots(draw, cells):
    """Return lots of any shape: even and cut runs, few and many of them, in order or not."""
    kind = draw.choice(["even", "widths", "cuts", "runs", "any", "whole", "each", "few"])
    places = np.arange(cells)
    if kind == "even":
        many = draw.randint(1, cells)
        return ((places + 1) * many - 1) // cells
    if kind == "widths":
        return places // draw.randint(1, cells)
    if kind == "cuts":
        ends = sorted(draw.sample(range(1, cells), draw.randint(0, min(cells - 1, 20))))
        return np.searchsorted(ends, places, side="right")
    if kind == "runs":  # some stretches, each of lots that rise by one
        found, start = [], 0
        while len(found) < cells:
            width, many = draw.randint(1, 4), draw.randint(1, 9)
            start = draw.randint(0, 30)
            found += (start + np.arange(width * many) // width).tolist()
        return np.array(found[:cells])
    if kind == "whole":
        return np.zeros(cells, dtype=np.int64)
    if kind == "each":
        return draw.choice([1, -1]) * places + (cells if draw.random() < 0.5 else 0)
    return np.array([draw.randrange(3 if kind == "few" else cells) for _ in range(cells)])


def _ranks(lots):
    return np.unique(lots, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _expected(codes, lots, many):
    """Return how many rows are in each lot, and how many are missing though they may not be."""
    inside = codes[codes >= 0]
    return np.bincount(lots[inside], minlength=many).tolist()


def _counted(scanned, attribute, lots, clip):
    """Return how many rows each lot has, in an engine."""

    def keys(steps):
        return [lot_key(scanned, steps, attribute, lots, clip=clip)]

    (codes,), found = grouped(scanned, [attribute], keys, clip=clip)
    counts = np.zeros(lots.max() + 1, dtype=np.int64)
    inside = codes >= 0
    np.add.at(counts, lots[codes[inside]], found[ROWS][inside])
    return counts


@pytest.mark.parametrize("engine", ENGINES)
def test_lots_of_an_axis_are_those_of_the_table(engine, scan, in_pandas):
    """Random lots of random sizes: whatever expression is made of them, rows come back in their lot."""
    for seed in range(45 if engine == "polars" else 20):
        draw = random.Random(seed)
        cells, nullable, clip = draw.randint(1, 120), draw.random() < 0.4, draw.random() < 0.3
        attribute = integers("x", 0, cells - 1, nullable=nullable)
        lots = _ranks(_lots(draw, cells + nullable))
        values = [draw.randint(-3, cells + 3) for _ in range(300)] + list(range(cells)) + [None]
        table = pa.table({"x": pa.array(values, pa.int32())})
        scanned = scan(engine, table)
        counts = _counted(scanned, attribute, lots, clip)
        series = in_pandas(table)["x"]
        want = encoder(series, attribute, clip=clip)(0, len(series))
        assert counts.tolist() == _expected(want, lots, len(counts)), (seed, lots.tolist())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("spec", [FRUIT, LISTED], ids=["text", "numbers"])
def test_lots_of_listed_values_are_those_of_the_table(engine, spec, scan, in_pandas):
    """Few lists of values, each told by its members, nulls and values that are not listed."""
    for seed in range(8):
        draw = random.Random(seed)
        attribute = from_dict("x", {**spec, "nullable": draw.random() < 0.5})
        lots = _ranks(np.array([draw.randrange(3) for _ in range(attribute.size)]))
        stored = [
            draw.choice([*spec["values"], None, -99 if spec is LISTED else "SECRET"]) for _ in range(200)
        ]
        clip = draw.random() < 0.5
        table = pa.table({"x": stored})
        scanned = scan(engine, table)
        counts = _counted(scanned, attribute, lots, clip)
        series = in_pandas(table)["x"]
        want = encoder(series, attribute, clip=clip)(0, len(series))
        assert counts.tolist() == _expected(want, lots, len(counts)), (seed, lots.tolist())


def test_stretches_are_lots_or_nothing(scan):
    """Whatever is returned gives each code its lot; too many stretches return nothing."""
    codes = scan("polars", pa.table({"x": np.arange(200)}))
    made = 0
    for seed in range(120):
        draw = random.Random(seed)
        cells = draw.randint(2, 200)
        lots = _lots(draw, cells).astype(np.int64)
        found = stretches(nw.col("x"), lots)
        if found is None:
            continue
        made += 1
        frame = codes.steps([integers("x", 0, 199, nullable=True)], clip=False).frame
        values = fetched("polars", frame.filter(nw.col("x") < cells).select("x", found.alias("lot")))
        order = np.argsort(np.asarray(values["x"]))
        assert np.broadcast_to(np.asarray(values["lot"]), cells)[order].tolist() == lots.tolist(), seed
    assert made > 60
    assert stretches(nw.col("x"), np.arange(4 * FEW) % 2 * 5) is None


def test_only_declared_values_come_back(scan):
    """A value that is not listed is dropped in the engine: what comes back is bounded by the declaration."""
    attribute = from_dict("x", FRUIT)
    table = scan("polars", pa.table({"x": [f"name {at}" for at in range(500)] + ["fig", None]}))
    seen = []

    def made(steps):
        key = cell_key(table, steps, attribute, clip=False)
        seen.append(key)
        return [key]

    (codes,), found = grouped(table, [attribute], made, clip=False)

    assert sorted(codes.tolist()) in ([0], [MISSING, 0])
    assert found[ROWS].tolist() == [1] * len(codes)
    assert seen[0].cells(["fig", "other", None]).tolist() == [0, OUTSIDE, MISSING]


def test_very_many_listed_values(scan, monkeypatch):
    """Beyond a number of values DuckDB does not look each up: rows come back by value, and are coded here."""
    monkeypatch.setattr(keys, "MANY", 50)
    values = [f"{at:05d}" for at in range(60)]
    attribute = from_dict("x", {"type": "category", "values": values})
    table = scan("duckdb", pa.table({"x": [values[-1], values[0], values[0], "none"]}))
    key = cell_key(table, table.steps([attribute], clip=False), attribute, clip=False)
    (codes,), found = grouped(table, [attribute], lambda steps: [key], clip=False)

    assert key.guard is None
    assert dict(zip(codes.tolist(), found[ROWS].tolist(), strict=True)) == {59: 1, 0: 2, OUTSIDE: 1}
