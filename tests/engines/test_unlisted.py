"""Values that no schema lists, on every engine: one cell of all others, or keys that the rows give."""

import numpy as np
import pandas as pd
import pandera.pandas as pan
import pytest
from oracle.duckdb_tables import kept_table

import pandas_blowfish as bf
from pandas_blowfish.errors import FrameError, OutsideDomainError, StaleFrameError, UnlistedColumnError

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
        return kept_table(table)
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


def _keyed(kind=str, **more):
    shop = pan.Column(kind, metadata=bf.public(keys="rows"), **more)
    age = pan.Column(int, pan.Check.in_range(0, 9), metadata=bf.threshold(2))
    return bf.Policy(pan.DataFrameSchema({"shop": shop, "age": age}))


@pytest.mark.parametrize("first", ENGINES)
def test_keys_are_the_same_on_every_engine(first):
    """One dataset, begun on any engine: the others complete the policy alike, and find the same seal."""
    policy, ledger = _keyed(), bf.Ledger()
    stated = {"epsilon": 100, "dataset": "d", "ledger": ledger}
    found = {}
    for engine in (first, *ENGINES):
        rows = bf.protect(_native(engine, _rows()), policy, **stated)
        with bf.testing.replay(5):
            found[engine] = rows.marginal(["shop", "age"], epsilon=1)

    assert found[first].index.levels[0].tolist() == sorted(set(_rows()["shop"]))
    for frame in found.values():
        pd.testing.assert_frame_equal(frame, found[first])
    for strange in ("new", "a"):
        changed = _rows()
        changed.loc[changed["shop"] == "b", "shop"] = strange
        with pytest.raises(StaleFrameError):
            bf.protect(_native(first, changed), policy, **stated)


@pytest.mark.parametrize("engine", ENGINES)
def test_whole_numbers_are_keys_too(engine):
    """Keys are values, not storage; values of another type are refused, and never shown."""
    numbers = _rows().assign(shop=lambda rows: rows["who"] * 1000)
    policy = _keyed(int)

    rows = bf.protect(_native(engine, numbers), policy, epsilon=1)

    assert rows.hist("shop", epsilon=1).index.tolist() == sorted(set(numbers["shop"]))
    with pytest.raises(FrameError, match="not whole numbers"):
        bf.protect(_native(engine, _rows()), policy, epsilon=1)
    with pytest.raises(FrameError, match="not text"):
        bf.protect(_native(engine, numbers), _keyed(), epsilon=1)


def test_plans_need_keys():
    """An open policy plans nothing; one with keys, or of protected rows, does."""
    policy = _keyed()

    with pytest.raises(UnlistedColumnError, match="with_keys"):
        _ = policy.plan
    assert len(policy.with_keys({"shop": ["p", "q"]}).plan.hist("shop", epsilon=1).index) == 2
    assert bf.protect(_rows(), policy, epsilon=1).plan.hist("shop", epsilon=1).cost == 0
    assert bf.check(_rows(), policy)["status"].tolist() == ["ok", "ok"]
