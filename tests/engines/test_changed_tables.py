"""Tables that change after they were protected, and sums that engines would round: nothing slips through."""

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.count import fingerprint as spread
from pandas_blowfish.count.readers import open_table
from pandas_blowfish.count.tally import count_cells
from pandas_blowfish.errors import EngineError, FrameError, StaleFrameError
from pandas_blowfish.plan.lattice import Total, lattice
from pandas_blowfish.plan.tally import tally
from pandas_blowfish.policy.domain import Domain, from_dict, integers

duckdb = pytest.importorskip("duckdb")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
THREE = Domain(tuple(integers(name, 0, 9) for name in "abc"))


def _rows(count=200):
    values = np.arange(count)
    return pd.DataFrame({"a": values % 10, "b": 0, "c": values % 10})


def _total(frame, domain, name):
    return int(count_cells(frame, [Total(tally(domain, [], None), lattice(domain[name]))], clip=False)[0])


@pytest.mark.parametrize("facts", [[], [bf.Marginal("a", "c")]])
def test_values_put_into_other_rows_are_seen(facts):
    """Each column is what it was, also those between; a question about two of them is refused, uncharged."""
    base = duckdb.connect()
    base.register("rows", _rows())
    base.execute("CREATE TABLE t AS SELECT * FROM rows")
    visits = bf.protect(base.table("t"), bf.Policy(THREE, constraints=facts), epsilon=1)
    base.register("other", _rows().assign(c=lambda rows: rows["c"].to_numpy()[::-1]))
    base.execute("DELETE FROM t")
    base.execute("INSERT INTO t SELECT * FROM other")

    with pytest.raises(StaleFrameError, match="in one row"):
        visits.marginal(["a", "c"], epsilon="1/10")
    with pytest.raises(StaleFrameError, match="in one row"):
        visits.where("c < 5").hist("a", epsilon="1/10")
    assert visits.budget.spent == 0
    visits.hist("a", epsilon="1/10")  # a column that is what it was
    with pytest.raises(StaleFrameError):
        bf.protect(pl.from_pandas(_rows().assign(c=1)), visits.policy, epsilon=1, dataset=_name(visits))


def _name(protected):
    return protected._frame.attrs["blowfish"]["dataset"]


def test_sums_are_exact_beyond_what_floats_hold():
    """DuckDB adds up in 128 bits and hands out floats; PyArrow's batches are clamped once, at the end."""
    wide = Domain((integers("x", 0, 2**40),))
    table = open_table(duckdb.sql("SELECT 2147483647::BIGINT AS x FROM range(6000001)"))
    assert _total(table, wide, "x") == 2147483647 * 6000001

    free = Domain((from_dict("x", {"type": "integer"}),))
    large = 2**53 - 1
    batches = open_table(pa.table({"x": pa.chunked_array([[large] * 400, [-large] * 300])}))
    whole = pd.DataFrame({"x": [large] * 400 + [-large] * 300})
    assert _total(batches, free, "x") == _total(whole, free, "x") == large * 100


def test_many_listed_values_are_sealed_alike(monkeypatch):
    """Numbers of cells with several digits are those of pandas for listed values too."""
    monkeypatch.setattr(spread, "BASE", 8)
    listed = from_dict("x", {"type": "integer", "values": list(range(0, 300, 3)), "nullable": True})
    frame = pd.DataFrame({"x": pd.array([0, 3, 27, 297, None, 3], dtype="Int64")})
    none = spread.Mixed([], "00" * 32)
    (want,) = spread.fingerprint(frame, [listed], none, clip=False).columns

    for table in (open_table(pl.from_pandas(frame)), open_table(pa.Table.from_pandas(frame))):
        (found,) = spread.fingerprint(table, [listed], none, clip=False).columns
        assert len(found) == len(want) > 1
        for mine, theirs in zip(found, want, strict=True):
            assert [part.tolist() for part in mine] == [part.tolist() for part in theirs]


def test_text_is_compared_by_bytes():
    """A collation of the engine does not make two values one."""
    base = duckdb.connect()
    base.execute("CREATE TABLE c(g VARCHAR COLLATE nocase)")
    base.execute("INSERT INTO c VALUES ('u'), ('U'), ('v')")
    policy = bf.Policy(Domain((from_dict("g", {"type": "category", "values": ["u", "v"]}),)))

    assert bf.check(base.table("c"), policy)["outside"].tolist() == [1]


def test_chunks_of_columns_need_not_agree():
    """PyArrow may cut each column elsewhere."""
    table = pa.table({"a": pa.chunked_array([[0, 1], [2, 3]]), "b": pa.chunked_array([[0, 1, 2, 3]])})
    policy = bf.Policy(Domain((integers("a", 0, 5), integers("b", 0, 5))))
    visits = bf.protect(table, policy, epsilon=10)

    with bf.testing.replay(1):
        found = visits.hist(["a", "b"], epsilon=1)
    with bf.testing.replay(1):
        want = bf.protect(table.to_pandas(), policy, epsilon=10).hist(["a", "b"], epsilon=1)
    pd.testing.assert_frame_equal(found, want)


def test_an_engines_words_are_nowhere():
    """Neither cause nor context of our error is the engine's own, which may hold a value."""
    lazy = pl.LazyFrame({"x": ["3", "SECRETVALUE"]}).select(pl.col("x").cast(pl.Int64))
    with pytest.raises(EngineError) as caught:
        bf.protect(lazy, bf.Policy(Domain((integers("x", 0, 5),))), epsilon=1)

    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "SECRETVALUE" not in str(caught.value)


def test_names_that_occur_twice_are_refused():
    """DuckDB takes "a" and "A" for one name."""
    with pytest.raises(FrameError, match="twice"):
        bf.protect(
            duckdb.sql('SELECT 1 AS a, 2 AS "A"'), bf.Policy(Domain((integers("a", 0, 5),))), epsilon=1
        )


@pytest.mark.parametrize("name", ["rows", "least 0", "key 0", "greatest 1", "Blowfish step 0", "^a$"])
def test_names_of_ours_are_names_like_any_other(name):
    """What columns on the way are called does not matter."""
    policy = bf.Policy(Domain((integers(name, 0, 5), integers("b", 0, 5))))
    frame = pd.DataFrame({name: [1, 2, 2, 5], "b": [0, 1, 1, 2]})
    with bf.testing.replay(3):
        want = bf.protect(frame, policy, epsilon=10).hist([name, "b"], epsilon=1)
    base = duckdb.connect()
    base.register("given", frame)
    for table in (base.table("given"), pl.from_pandas(frame).lazy(), pa.Table.from_pandas(frame)):
        protected = bf.protect(table, policy, epsilon=10)
        with bf.testing.replay(3):
            pd.testing.assert_frame_equal(protected.hist([name, "b"], epsilon=1), want)


def test_dask_takes_many_partitions():
    """Several listed columns over many partitions: Dask could not group what was grouped before."""
    dd = pytest.importorskip("dask.dataframe")
    names = ["p", "q"]
    listed = {"type": "category", "values": ["u", "v", "w"]}
    policy = bf.Policy(Domain(tuple(from_dict(name, listed) for name in names)))
    frame = pd.DataFrame(
        {name: np.array(["u", "v", "w"])[np.arange(600) // (at + 1) % 3] for at, name in enumerate(names)}
    )
    visits = bf.protect(dd.from_pandas(frame, npartitions=120), policy, epsilon=10)

    with bf.testing.replay(1):
        found = visits.marginal(names, epsilon=1)
    with bf.testing.replay(1):
        want = bf.protect(frame, policy, epsilon=10).marginal(names, epsilon=1)
    pd.testing.assert_frame_equal(found, want)
