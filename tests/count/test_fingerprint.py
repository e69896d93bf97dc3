"""Seals that do not depend on order are the same on every engine as in pandas, and see every change."""

import datetime as dt
import itertools

import numpy as np
import pytest

from pandas_blowfish.count import fingerprint as spread
from pandas_blowfish.count import seal
from pandas_blowfish.count.place import MISSING, OUTSIDE
from pandas_blowfish.errors import OutsideDomainError
from pandas_blowfish.policy.domain import Domain, from_dict, integers

pa = pytest.importorskip("pyarrow")
pc = pytest.importorskip("pyarrow.compute")

KEY = "0123456789abcdef" * 4
ENGINES = ("polars", "lazy", "pyarrow", "dataset", "duckdb", "dask")
DOMAIN = Domain(
    (
        integers("a", -9, 99, nullable=True),
        from_dict("b", {"type": "category", "values": ["x", "y", "z"], "nullable": True}),
        from_dict("c", {"type": "float", "min": 0, "max": 10**6, "step": "0.01"}),  # more than 2^20 cells
        from_dict("d", {"type": "datetime", "min": "2020-01-01", "max": "2021-01-01", "step": "1h"}),
        from_dict("e", {"type": "bool"}),
        from_dict("f", {"type": "float", "step": "0.01"}),
    )
)


def _table(rows=300, seed=0):
    """Return rows of every kind of column."""
    draw = np.random.default_rng(seed)
    whole = draw.integers(-9, 100, rows)
    seconds = draw.integers(0, 366 * 86400, rows)
    return pa.table(
        {
            "a": pa.array([None if at % 11 == 0 else int(each) for at, each in enumerate(whole)], pa.int64()),
            "b": pa.array(draw.choice(["x", "y", "z", None], rows).tolist(), pa.string()),
            "c": np.round(draw.uniform(0, 10**6, rows), 2),
            "d": pa.array([dt.datetime(2020, 1, 1) + dt.timedelta(seconds=int(s)) for s in seconds]),
            "e": draw.random(rows) < 0.3,
            "f": np.round(draw.normal(0, 1000, rows), 3),
        }
    )


TABLE = _table()


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """Let Dask work in this thread."""
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize("engine", ENGINES)
def test_seals_are_those_of_pandas(engine, scan, in_pandas):
    """The same digests by column and by pair, whatever the order; no rows in their order elsewhere."""
    found = seal.seal_rows(scan(engine, TABLE), DOMAIN, KEY, clip=False)
    want = seal.seal_rows(in_pandas(TABLE), DOMAIN, KEY, clip=False)

    assert found["spread"] == want["spread"]
    assert found["seal"] == {}
    assert set(want["seal"]) == set(DOMAIN.columns)
    assert want["spread"]


@pytest.mark.parametrize("engine", ["polars", "pyarrow", "duckdb", "dask"])
def test_order_is_irrelevant_and_nothing_else_is(engine, scan, in_pandas):
    """Shuffled rows pass; an edited, dropped, doubled, added or re-paired one does not, and says where."""
    binding = {"rows": 300, "key": KEY, "outside": "error"}
    binding |= seal.seal_rows(in_pandas(TABLE), DOMAIN, KEY, clip=False)
    shuffled = TABLE.take(np.random.default_rng(1).permutation(300))
    flipped = TABLE.set_column(4, "e", pc.invert(TABLE["e"]))
    moved = TABLE.set_column(0, "a", pa.array([0, *TABLE["a"].to_pylist()[1:]], pa.int64()))
    paired = TABLE.set_column(1, "b", TABLE["b"].take(np.roll(np.arange(300), 1)))
    nudged = TABLE.set_column(5, "f", pa.array([TABLE["f"][0].as_py() + 0.01, *TABLE["f"].to_pylist()[1:]]))
    far = TABLE.set_column(2, "c", pa.array([*TABLE["c"].to_pylist()[:-1], 999999.99]))
    changes = {
        "number of rows": [TABLE.slice(1), pa.concat_tables([TABLE, TABLE.slice(0, 1)])],
        "column 'a'": [moved],
        "column 'e'": [flipped],
        "column 'f'": [nudged],
        "column 'c'": [far],
        "in one row": [paired],
        "columns are (with 'b' 0 times)": [TABLE.drop_columns(["b"])],
    }

    assert seal.find_change(scan(engine, shuffled), DOMAIN, binding) == ""
    for words, tables in changes.items():
        for table in tables:
            assert words in seal.find_change(scan(engine, table), DOMAIN, binding)
    assert seal.find_change(scan(engine, paired), [DOMAIN["a"]], binding) == ""
    assert seal.find_change(scan(engine, flipped), [DOMAIN["a"], DOMAIN["b"]], binding) == ""


@pytest.mark.parametrize("engine", ENGINES)
def test_the_seal_refuses_rows_outside(engine, scan):
    """Every column with a row outside is named, and none of its values."""
    domain = Domain((integers("a", 0, 9), from_dict("b", {"type": "category", "values": ["x"]})))
    bad = pa.table({"a": [1, 123456789], "b": ["x", "SECRETVALUE"], "more": [1, 2]})
    null = pa.table({"a": [1, 2], "b": ["x", None]})

    for table, columns in ((bad, ["a", "b"]), (null, ["b"])):
        with pytest.raises(OutsideDomainError) as caught:
            seal.seal_rows(scan(engine, table), domain, KEY, clip=False)
        assert caught.value.columns == columns
        assert "123456789" not in str(caught.value)
        assert "SECRET" not in str(caught.value)
    with pytest.raises(OutsideDomainError) as caught:
        seal.seal_rows(scan(engine, bad), domain, KEY, clip=True)
    assert caught.value.columns == ["b"]


@pytest.mark.parametrize("engine", ["polars", "pyarrow", "duckdb", "dask"])
def test_digits_of_large_cells_are_those_of_pandas(engine, scan, in_pandas):
    """A column of many cells is counted digit by digit: each digit as pandas has it."""
    for attribute in (DOMAIN["c"], DOMAIN["f"], DOMAIN["a"]):
        for clip in (False, True):
            none = spread.Mixed([], KEY)
            (want,) = spread.fingerprint(in_pandas(TABLE), [attribute], none, clip=clip).columns
            (found,) = spread.fingerprint(scan(engine, TABLE), [attribute], none, clip=clip).columns
            assert len(found) == len(want) == (1 if attribute.name == "a" else len(want))
            for (cells, counts), (own, known) in zip(found, want, strict=True):
                assert cells.tolist() == own.tolist()
                assert counts.tolist() == known.tolist()


def test_occurrences_are_of_digits():
    """Beyond 2^20 cells digits are counted; negative codes stay what they are."""
    counts = spread.Occurrences(DOMAIN["c"])
    counts.add(np.array([0, 1, 2**20, 2**20 + 1, OUTSIDE, MISSING, 3 * 2**20]))
    low, high = counts.counts()

    assert dict(zip(*map(np.ndarray.tolist, low), strict=True)) == {-2: 1, -1: 1, 0: 3, 1: 2}
    assert dict(zip(*map(np.ndarray.tolist, high), strict=True)) == {-2: 1, -1: 1, 0: 2, 1: 2, 3: 1}


def test_what_is_in_one_row_is_mixed_alike(scan, in_pandas):
    """Remainders of whole rows are those of pandas on each engine; another key mixes otherwise."""
    mixed = spread.Mixed(list(DOMAIN), KEY)
    want = spread.fingerprint(in_pandas(TABLE), [], mixed, clip=False).rows

    for engine in ("polars", "pyarrow", "duckdb", "dask"):
        found = spread.fingerprint(scan(engine, TABLE), [], mixed, clip=False).rows
        assert [part.tolist() for part in found] == [part.tolist() for part in want]
    assert want[1].sum() == 300
    other = spread.Mixed(list(DOMAIN), KEY[::-1])
    assert spread.fingerprint(in_pandas(TABLE), [], other, clip=False).rows[0].tolist() != want[0].tolist()


def test_many_rows_are_counted_in_a_table(monkeypatch):
    """What occurs is the same whether numbers are kept or counted on the way."""
    parts = [np.arange(50) % 7, np.arange(30) % 11, np.arange(0)]
    want = [part.tolist() for part in np.unique(np.concatenate(parts), return_counts=True)]

    for prime in (1_000, 60, 13):
        monkeypatch.setattr(spread, "PRIME", prime)
        assert [part.tolist() for part in spread.count_numbers(iter(parts))] == want


@pytest.mark.parametrize("engine", ENGINES)
def test_no_rows_have_a_seal(engine, scan, in_pandas):
    """An empty table is sealed as an empty frame is."""
    empty = TABLE.slice(0, 0)

    found = seal.seal_rows(scan(engine, empty), DOMAIN, KEY, clip=False)

    assert found["spread"] == seal.seal_rows(in_pandas(empty), DOMAIN, KEY, clip=False)["spread"]


def test_parts_add_up(in_pandas):
    """Whatever the parts are, what is seen of them together is what is seen of all rows."""
    frame, mixed = in_pandas(TABLE), spread.Mixed(list(DOMAIN), KEY)
    whole = spread.fingerprint_part(frame, list(DOMAIN), mixed, clip=False)

    for cuts in ([0, 1, 300], [0, 0, 120, 299, 300], list(range(0, 301, 50))):
        parts = [
            spread.fingerprint_part(frame.iloc[start:stop], list(DOMAIN), mixed, clip=False)
            for start, stop in itertools.pairwise(cuts)
        ]
        found = sum(parts[1:], start=parts[0])
        assert _plain(found) == _plain(whole)
    bad = frame.assign(a=1000)
    seen = spread.fingerprint_part(frame, list(DOMAIN), mixed, clip=False)
    assert (seen + spread.fingerprint_part(bad, list(DOMAIN), mixed, clip=False)).outside == [True] + [
        False
    ] * 5


def _plain(seen):
    numbers = [[[part.tolist() for part in digit] for digit in column] for column in seen.columns]
    return numbers, [part.tolist() for part in seen.rows], seen.outside


def test_few_and_many_rows_are_counted_alike(monkeypatch):
    """Whether numbers are sorted, or each cell is counted, or some of both."""
    numbers = np.array([0, 1, 2**20, 2**20 + 1, OUTSIDE, MISSING, 3 * 2**20] * 9)
    want = None
    for few, listed in ((1, 1 << 14), (1 << 30, 0), (1 << 18, 4), (1 << 16, 1 << 14)):
        monkeypatch.setattr(spread, "FEW", few)
        monkeypatch.setattr(spread, "LISTED", listed)
        counts = spread.Occurrences(DOMAIN["c"])
        for part in np.array_split(numbers, 5):
            counts.add(part)
        found = [[part.tolist() for part in digit] for digit in counts.counts()]
        want = want or found
        assert found == want
    assert sum(want[0][1]) == len(numbers)
