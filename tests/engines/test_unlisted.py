"""Values that no schema lists, on every engine: one cell of all others, or keys that the rows give."""

import numpy as np
import pandas as pd
import pandera.pandas as pan
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import OutsideDomainError

pa = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword:DeprecationWarning")
ENGINES = ("pandas", "polars", "lazy", "table", "dataset", "duckdb", "dask")


def _rows(strange=("x", "y", "ä b'\"`")):
    draw = np.random.default_rng(3)
    shops = [*"abc", *strange]
    return pd.DataFrame(
        {
            "shop": draw.choice(shops, 400),
            "age": draw.integers(0, 10, 400),
            "who": draw.integers(0, 60, 400),
        }
    )


def _native(engine, frame):
    """Return rows as a table of an engine."""
    if engine == "pandas":
        return frame
    table = pa.Table.from_pandas(frame, preserve_index=False)
    if engine in ("polars", "lazy"):
        polars = pytest.importorskip("polars")
        return polars.from_arrow(table).lazy() if engine == "lazy" else polars.from_arrow(table)
    if engine == "duckdb":
        con = pytest.importorskip("duckdb").connect()
        con.register("given", table)
        con.execute("create table kept as select * from given")
        return con.table("kept")
    if engine == "dask":
        return pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=3)
    return table if engine == "table" else pytest.importorskip("pyarrow.dataset").dataset(table)


@pytest.fixture(autouse=True)
def _one_thread():
    with pytest.importorskip("dask").config.set(scheduler="synchronous"):
        yield


def _policy(secret):
    shop = pan.Column(str, pan.Check.isin(list("abc")), metadata=secret)
    age = pan.Column(int, pan.Check.in_range(0, 9), metadata=bf.threshold(2))
    return bf.Policy(pan.DataFrameSchema({"shop": shop, "age": age}))


@pytest.mark.parametrize("max_rows", [None, 3])
def test_unlisted_values_are_one_cell_on_every_engine(max_rows):
    """Seals, kept rows, counts and noise are those of pandas, whichever unlisted values the rows have."""
    policy, ledger = _policy(bf.full(other="other")), bf.Ledger()
    stated = {"epsilon": 100, "dataset": "d", "ledger": ledger}
    stated |= {"unit": "who", "max_rows": max_rows} if max_rows else {}
    found = {}
    for engine in ENGINES:  # one dataset: each engine finds the seal of the first
        rows = bf.protect(_native(engine, _rows()), policy, **stated)
        with bf.testing.replay(5):
            found[engine] = rows.marginal(["shop", "age"], epsilon=1)

    others = bf.protect(_rows(strange=("p", "q", "r")), policy, **stated)  # the same cells: the same rows
    with bf.testing.replay(5):
        found["others"] = others.marginal(["shop", "age"], epsilon=1)

    for frame in found.values():
        pd.testing.assert_frame_equal(frame, found["pandas"])
    assert found["pandas"].index.get_level_values("shop").categories.tolist() == ["a", "b", "c", "other"]


@pytest.mark.parametrize("engine", ENGINES)
def test_without_the_cell_they_are_refused(engine):
    """A policy that does not say so fails closed; `check` counts them for the curator."""
    with pytest.raises(OutsideDomainError):
        bf.protect(_native(engine, _rows()), _policy(bf.full()), epsilon=1)

    checked = bf.check(_native(engine, _rows()), _policy(bf.public(other="other")))
    strange = int((~_rows()["shop"].isin(list("abc"))).sum())
    assert checked["other"].tolist() == [strange, 0]
    assert checked["outside"].tolist() == [0, 0]
    assert checked["status"].tolist() == ["ok", "ok"]
