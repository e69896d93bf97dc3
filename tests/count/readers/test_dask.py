"""Dask's partitions are counted as pandas frames are, and only counts come back."""

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.count.readers import dask as partitions
from pandas_blowfish.count.readers.dask import Partitions, read_dask
from pandas_blowfish.count.tally import count_cells, count_unplaced
from pandas_blowfish.errors import EngineError
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.queries.call.scope import Scope

dd = pytest.importorskip("dask.dataframe")
pa = pytest.importorskip("pyarrow")
LETTERS = ["x", "y", "z"]
DOMAIN = Domain(
    (
        integers("a", 0, 9, nullable=True),
        from_dict("b", {"type": "category", "values": LETTERS, "nullable": True}),
    )
)


def _frame(rows, whole, text):
    draw = np.random.default_rng(0)
    numbers = pd.array([None if at % 7 == 0 else int(draw.integers(0, 10)) for at in range(rows)], "Int64")
    letters = [None if at % 5 == 0 else LETTERS[at % 3] for at in range(rows)]
    return pd.DataFrame({"a": pd.Series(numbers).astype(whole), "b": pd.Series(letters, dtype=text)})


def _asked(*lists):
    return [Scope().tally(bf.Policy(DOMAIN), columns, None) for columns in lists]


def test_only_dask_frames_are_recognised():
    """By class; a Series is none."""
    frame = dd.from_pandas(pd.DataFrame({"a": [1, 2]}), npartitions=2)

    assert isinstance(read_dask(frame), Partitions)
    assert read_dask(frame["a"]) is None
    assert read_dask(pd.DataFrame()) is None


@pytest.mark.parametrize("parts", [1, 3, 20])
@pytest.mark.parametrize("whole", ["Int64", "float64", "int64[pyarrow]"])
@pytest.mark.parametrize("text", ["object", "string[pyarrow]", pd.ArrowDtype(pa.string()), "category"])
def test_counts_are_those_of_pandas(parts, whole, text):
    """Whatever partitions keep values in, and however many there are."""
    frame = _frame(60, whole, text)
    asked = _asked(["a"], ["a", "b"], ["b"], [])
    table = read_dask(dd.from_pandas(frame, npartitions=parts))

    assert count_cells(table, asked, clip=False).tolist() == count_cells(frame, asked, clip=False).tolist()
    for attribute in (integers("a", 2, 5), DOMAIN["b"]):
        assert count_unplaced(table, attribute) == count_unplaced(frame, attribute)


def test_partitions_may_differ_in_storage():
    """Each is read by its own values: a unit of time that Dask does not know of is no other instant."""
    days = pd.date_range("2020-01-01", periods=6)
    parts = [pd.DataFrame({"d": days[:3].as_unit("s")}), pd.DataFrame({"d": days[3:].as_unit("ns")})]
    spec = {"type": "datetime", "min": "2020-01-01", "max": "2020-01-10", "step": "1D"}
    policy = bf.Policy(Domain((from_dict("d", spec),)))
    table = dd.from_map(lambda at: parts[at], [0, 1], meta=parts[1].iloc[:0])

    found = count_cells(read_dask(table), [Scope().tally(policy, ["d"], None)], clip=False)

    assert found.tolist() == [1] * 6 + [0] * 4


def test_one_answer_comes_back(monkeypatch):
    """Workers merge what they found: nothing as long as the rows, or the partitions, is returned."""
    dask = pytest.importorskip("dask")
    given, compute = [], dask.compute

    def watched(*asked, **how):
        given.append(asked)
        return compute(*asked, **how)

    monkeypatch.setattr(dask, "compute", watched)
    frame = _frame(900, "Int64", "object")
    table = read_dask(dd.from_pandas(frame, npartitions=30))

    count_cells(table, _asked(["a"]), clip=False)

    assert [len(asked) for asked in given] == [1]


def test_an_error_of_a_worker_shows_nothing():
    """The kind alone: its words may hold a value."""

    def fail(part):
        raise ValueError(f"SECRET {part}")

    table = read_dask(dd.from_map(fail, [1, 2], meta=pd.DataFrame({"a": [1]})))

    with pytest.raises(EngineError) as caught:
        count_cells(table, _asked(["a"]), clip=False)

    assert "SECRET" not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_bars_are_those_of_dask(monkeypatch):
    """Where somebody watches, Dask's own bar is used; counts are the same."""
    from dask import diagnostics

    shown = []

    class Bar(diagnostics.ProgressBar):
        def __init__(self, **how):
            shown.append(how)
            super().__init__(**how)

    frame = _frame(30, "Int64", "object")
    table = read_dask(dd.from_pandas(frame, npartitions=3))
    monkeypatch.setattr(partitions, "is_watched", lambda: True)
    monkeypatch.setattr(diagnostics, "ProgressBar", Bar)

    found = count_cells(table, _asked(["a"]), clip=False)

    assert found.tolist() == count_cells(frame, _asked(["a"]), clip=False).tolist()
    assert shown == [{"minimum": 2}]
