"""Every verb answers the same on every engine as in pandas, cell for cell, with the same noise."""

import pytest
from oracle.duckdb_tables import kept_table, open_connection

import pandas_blowfish as bf

pa = pytest.importorskip("pyarrow")
# what Dask itself does on its way to Parquet files
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword:DeprecationWarning")
FEW = ("hist of dates", "hist of missing", "one bin", "quantile", "boxes", "marginals", "sum", "where")


@pytest.fixture(scope="module")
def files(asked, tmp_path_factory):
    """Return a folder of Parquet files with the rows."""
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = tmp_path_factory.mktemp("rows")
    table = pa.Table.from_pandas(asked.frame, preserve_index=False)
    for at in range(3):
        part = table.slice(at * len(table) // 3, (at + 1) * len(table) // 3 - at * len(table) // 3)
        parquet.write_table(part, folder / f"{at}.parquet")
    return folder


def _native(engine, frame, files):
    """Return the rows as a table of an engine."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    if engine in ("polars", "lazy", "scan"):
        polars = pytest.importorskip("polars")
        if engine == "scan":
            return polars.scan_parquet(files / "*.parquet")
        return polars.from_arrow(table).lazy() if engine == "lazy" else polars.from_arrow(table)
    if engine in ("duckdb", "duckdb files"):
        whole = str(files / "*.parquet")
        return kept_table(table) if engine == "duckdb" else open_connection().read_parquet(whole)
    if engine in ("dask", "dask files"):
        frames = pytest.importorskip("dask.dataframe")
        return frames.from_pandas(frame, npartitions=3) if engine == "dask" else frames.read_parquet(files)
    return table if engine == "table" else pytest.importorskip("pyarrow.dataset").dataset(files)


@pytest.fixture(scope="module")
def protected(asked, files):
    """Return the maker of protected tables, each made once."""
    made = {}

    def find(engine):
        if engine not in made:
            made[engine] = bf.protect(_native(engine, asked.frame, files), asked.policy, epsilon=1000)
        return made[engine]

    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        yield find


@pytest.mark.parametrize("engine", ["polars", "table", "duckdb", "dask"])
def test_every_verb_answers_as_in_pandas(engine, verb, asked, protected):
    """All verbs, on tables in memory."""
    asked.same(protected(engine), verb)


@pytest.mark.parametrize("engine", ["lazy", "scan", "dataset", "duckdb files", "dask files"])
@pytest.mark.parametrize("name", FEW)
def test_lazy_tables_and_files_answer_as_in_pandas(engine, name, asked, protected):
    """Some verbs, on what is not in memory."""
    asked.same(protected(engine), name)
