"""Tables of any library that exports Arrow streams, functions that open one, and narwhals frames."""

import re

import pandas as pd
import pytest
from oracle.duckdb_tables import kept_table

import pandas_blowfish as bf
from pandas_blowfish.count.readers import open_table
from pandas_blowfish.count.readers.streams import StreamBatches
from pandas_blowfish.errors import EngineError, FrameError, StaleFrameError
from pandas_blowfish.policy.domain import Domain, from_dict, integers

pa = pytest.importorskip("pyarrow")
POLICY = bf.Policy(
    Domain((from_dict("city", {"type": "string", "values": ["a", "b", "c"]}), integers("age", 0, 9))),
    secrets={"city": bf.full(), "age": bf.threshold(2)},
)


def _frame():
    ages = [index % 10 for index in range(60)]
    return pd.DataFrame({"city": ["abc"[age % 3] for age in ages], "age": ages, "note": ["x"] * 60})


def _table():
    return pa.Table.from_pandas(_frame(), preserve_index=False)


class Exported:
    """A table of a library that nobody here knows, read as often as asked."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class Batch:
    """One batch of such a library."""

    def __init__(self, batch):
        self.batch = batch

    def __arrow_c_array__(self, requested_schema=None):
        return self.batch.__arrow_c_array__(requested_schema)


def _narwhals(native):
    return pytest.importorskip("narwhals").from_native(native)


def _polars():
    return pytest.importorskip("polars").from_arrow(_table())


GIVEN = {
    "capsule": lambda: Exported(_table()),
    "batch": lambda: _table().to_batches()[0],
    "reader": lambda: lambda: _table().to_reader(max_chunksize=7),
    "iterator": lambda: lambda: iter(_table().to_batches(max_chunksize=7)),
    "list": lambda: lambda: _table().to_batches(max_chunksize=7),
    "foreign batches": lambda: lambda: map(Batch, _table().to_batches(max_chunksize=7)),
    "opened table": lambda: _table,
    "opened capsule": lambda: lambda: Exported(_table()),
    "narwhals pandas": lambda: _narwhals(_frame()),
    "narwhals polars": lambda: _narwhals(_polars()),
    "narwhals lazy": lambda: _narwhals(_polars().lazy()),
    "narwhals pyarrow": lambda: _narwhals(_table()),
    "narwhals duckdb": lambda: _narwhals(kept_table(_table())),
}


@pytest.mark.parametrize("given", GIVEN)
def test_is_counted_as_pandas_counts(given):
    """One dataset: the seal of pandas holds, and answers are the same, with the same noise."""
    ledger = bf.Ledger()
    stated = {"epsilon": 100, "dataset": "d", "ledger": ledger}
    answers = []
    for table in (_frame(), GIVEN[given]()):
        rows = bf.protect(table, POLICY, **stated)
        with bf.testing.replay(1):
            answers.append(rows.marginal(["city", "age"], epsilon=1))

    pd.testing.assert_frame_equal(*answers)
    checked = [bf.check(table, POLICY) for table in (_frame(), GIVEN[given]())]
    assert checked[0].equals(checked[1])
    assert [line for line in bf.draft(GIVEN[given]()).split("\n") if "'city'" in line]


@pytest.mark.parametrize("given", ["capsule", "reader", "iterator"])
def test_people_with_several_rows(given):
    """Kept rows, and repeats, are found as in any engine."""
    rows, ledger = _frame().assign(who=[index % 7 for index in range(60)]), bf.Ledger()
    table = pa.Table.from_pandas(rows, preserve_index=False)
    tables = {"capsule": Exported(table), "reader": table.to_reader, "iterator": table.to_batches}
    stated = {"epsilon": 100, "dataset": "d", "ledger": ledger, "unit": "who", "max_rows": 3}

    bf.protect(rows, POLICY, **stated)
    found = bf.protect(tables[given], POLICY, **stated)

    assert len(found.hist("age", epsilon=1)) == 10
    with pytest.raises(FrameError, match="who"):
        bf.protect(tables[given], POLICY, epsilon=1, unit="who")


def test_no_rows():
    """A stream without batches has a schema all the same."""
    empty = _table().slice(0, 0)

    for table in (Exported(empty), lambda: pa.RecordBatchReader.from_batches(empty.schema, [])):
        assert bf.protect(table, POLICY, epsilon=1).hist("age", epsilon=1).shape[0] == 10


def test_other_rows_are_found():
    """A function that opens other rows later is another dataset."""
    source = [_table()]
    rows = bf.protect(lambda: source[0].to_reader(), POLICY, epsilon=10)
    rows.hist("age", epsilon=1)

    source[0] = _table().slice(1)

    with pytest.raises(StaleFrameError):
        rows.hist("age", epsilon=1)


def test_streams_that_are_read_once():
    """They are refused, and the error shows the function to write."""
    reader = _table().to_reader()

    for given in (reader, lambda: reader):
        with pytest.raises(FrameError, match=r"lambda: ") as caught:
            bf.protect(given, POLICY, epsilon=1)
        assert "read once" in str(caught.value)


def _fail():
    raise ValueError("SECRETVALUE")


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (lambda: 5, FrameError, "no stream"),
        (lambda: [], FrameError, "no batches"),
        (lambda: ["SECRETVALUE"], EngineError, "described"),
        (_fail, EngineError, "ValueError while rows were opened"),
        (lambda x: x, FrameError, "no table that can be counted"),
        (pd.Series([1]), FrameError, "no table that can be counted"),
        (pa.chunked_array([[1]]), FrameError, "no table that can be counted"),
        (pd.DataFrame, FrameError, "no table that can be counted"),
        (5, FrameError, "no table that can be counted"),
    ],
)
def test_what_is_no_table(given, error, words):
    """Typed errors, with no value of a row."""
    with pytest.raises(error, match=re.escape(words)) as caught:
        bf.protect(given, POLICY, epsilon=1)

    assert "SECRETVALUE" not in str(caught.value)


@pytest.mark.parametrize(("package", "way"), [("modin", "to_pandas"), ("cudf", "to_arrow")])
def test_frames_that_no_reader_is_for(package, way):
    """The error names what to give instead."""
    kind = type("DataFrame", (), {"__module__": f"{package}.core", "__arrow_c_stream__": None})

    with pytest.raises(FrameError, match=way):
        bf.protect(kind(), POLICY, epsilon=1)


def test_opening_reads_no_row_of_a_reader():
    """The schema alone is looked at until rows are counted."""
    opened = []

    def stream():
        opened.append(pa.RecordBatchReader.from_batches(_table().schema, _read(opened)))
        return opened[-1]

    table = open_table(stream)

    assert isinstance(table, StreamBatches)
    assert table.columns == ["city", "age", "note"]
    assert "read" not in opened


def _read(opened):
    opened.append("read")
    yield from _table().to_batches()
