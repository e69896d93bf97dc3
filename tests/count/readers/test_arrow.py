"""PyArrow tables and datasets are read batch by batch, with the same counts whatever the batches are."""

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.count.encode import encoder
from pandas_blowfish.count.place import OUTSIDE
from pandas_blowfish.count.readers import batches
from pandas_blowfish.count.readers.arrow import ArrowBatches, read_arrow
from pandas_blowfish.count.tally import count_cells
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.queries.call.scope import Scope

pa = pytest.importorskip("pyarrow")
ds = pytest.importorskip("pyarrow.dataset")
pq = pytest.importorskip("pyarrow.parquet")

TABLE = pa.table({"a": [1, 2, None, 4, 5] * 4, "b": ["x", "y", "x", None, "z"] * 4, "c": np.arange(20)})
DOMAIN = Domain(
    (
        integers("a", 0, 5, nullable=True),
        from_dict("b", {"type": "category", "values": ["x", "y", "z"], "nullable": True}),
    )
)


def test_tables_and_datasets_are_recognised(tmp_path):
    """By class; nothing else is."""
    pq.write_table(TABLE, tmp_path / "one.parquet")

    for native in (TABLE, ds.dataset(TABLE), ds.dataset(tmp_path), ds.dataset([ds.dataset(TABLE)])):
        found = read_arrow(native)
        assert isinstance(found, ArrowBatches)
        assert (found.rows, found.columns) == (20, ["a", "b", "c"])
    assert read_arrow(TABLE.to_pandas()) is None
    assert read_arrow(TABLE["a"]) is None


@pytest.mark.parametrize("rows", [2, 3, 7, 20, 1 << 20])
@pytest.mark.parametrize("files", [False, True])
def test_batches_do_not_show(rows, files, tmp_path, monkeypatch, in_pandas):
    """Counts are those of pandas, from memory or files, in batches of any size."""
    monkeypatch.setattr(batches, "ROWS", rows)
    for at in range(2):
        pq.write_table(TABLE.slice(10 * at, 10), tmp_path / f"{at}.parquet")
    native = ds.dataset(tmp_path) if files else TABLE
    policy = bf.Policy(DOMAIN)
    asked = [Scope().tally(policy, columns, None) for columns in (["a"], ["a", "b"], [])]

    found = count_cells(read_arrow(native), asked, clip=False)

    assert found.tolist() == count_cells(in_pandas(TABLE), asked, clip=False).tolist()


def test_an_empty_table_is_one_empty_frame(tmp_path):
    """So that each column is there with its dtype."""
    pq.write_table(TABLE.slice(0, 0), tmp_path / "none.parquet")
    for native in (TABLE.slice(0, 0), ds.dataset(tmp_path)):
        frames = list(read_arrow(native).frames(["b", "a", "b"]))
        assert sum(map(len, frames)) == 0
        assert list(frames[0].columns) == ["b", "a"]


def test_only_the_columns_asked_for_are_read():
    """The others stay where they are."""
    (frame,) = read_arrow(TABLE).frames(["c"])

    assert list(frame.columns) == ["c"]
    assert frame["c"].tolist() == list(range(20))


def test_values_of_every_storage_have_the_codes_of_pandas():
    """Decimals, dictionaries of numbers, large whole numbers and zoned instants."""
    from decimal import Decimal

    arrays = [
        (pa.array([Decimal("0.29"), None]), {"type": "float", "min": 0, "max": 1, "step": "0.01"}, [29, -2]),
        (pa.array([3, 3, 12]).dictionary_encode(), {"type": "integer", "min": 0, "max": 9}, [3, 3, OUTSIDE]),
        (pa.array([2**63, 5], pa.uint64()), {"type": "integer", "min": -1, "max": 9}, [OUTSIDE, 6]),
        (pa.array([2**53 + 1, 1]), {"type": "float", "min": 0, "max": 1, "step": "0.5"}, [OUTSIDE, 2]),
        (pa.array([-0.0, np.nan]), {"type": "float", "values": [7, 0]}, [1, -2]),
    ]
    for array, spec, want in arrays:
        (frame,) = read_arrow(pa.table({"x": array})).frames(["x"])
        assert encoder(frame["x"], from_dict("x", spec), clip=False)(0, len(array)).tolist() == want
