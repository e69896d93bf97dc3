"""Spark answers some verbs as pandas does, on one local session of two threads."""

import shutil
import sys
import warnings
from fractions import Fraction

import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import EngineError, FrameError, OutsideDomainError, StaleFrameError
from pandas_blowfish.policy.domain import Domain, from_dict, integers

pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")
# of PySpark's own, with newer versions of pandas and Python
pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::ResourceWarning"),
]
VERBS = ("hist", "hist of dates", "hist of missing", "range", "marginal", "sum", "where", "quantile")


@pytest.fixture(scope="module")
def session():
    """Return a small local session, or skip saying why there is none."""
    if shutil.which("java") is None:
        pytest.skip("Java is absent: Spark does not run without it")
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)  # workers have this package too
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        build = SparkSession.builder.master("local[2]").appName("blowfish")
        settings = {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.session.timeZone": "America/New_York",  # instants do not depend on it
            "spark.sql.codegen.wholeStage": "false",  # a query of few rows is sooner run than compiled
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.sql.adaptive.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        }
        for name, value in settings.items():
            build = build.config(name, value)
        found = build.getOrCreate()
        found.sparkContext.setLogLevel("OFF")
        yield found
        found.stop()


@pytest.fixture(scope="module")
def rows(session, asked, tmp_path_factory):
    """Return the rows as a DataFrame of Spark, read from a Parquet file."""
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path_factory.mktemp("spark") / "rows.parquet"
    parquet.write_table(pa.Table.from_pandas(asked.frame, preserve_index=False), path)
    return session.read.parquet(str(path))


@pytest.fixture(scope="module")
def protected(rows, asked):
    """Return them protected."""
    return bf.protect(rows, asked.policy, epsilon=1000)


@pytest.mark.parametrize("name", VERBS)
def test_verbs_answer_as_in_pandas(name, asked, protected):
    """Cell for cell, with the same noise."""
    asked.same(protected, name)


def test_one_budget_with_pandas(session, tmp_path):
    """Rows protected in pandas continue in Spark, in any order; other rows are refused."""
    policy = bf.Policy(Domain((integers("k", 0, 9), integers("m", 0, 9))))
    options = {"epsilon": 1, "dataset": "people", "ledger": tmp_path / "book.db"}
    bf.protect(pd.DataFrame({"k": range(9), "m": 1}), policy, **options).hist("k", epsilon="0.25")
    rows = session.sql("select cast(8 - id as int) as k, 1 as m from range(9)")

    protected = bf.protect(rows, policy, **options)
    protected.hist("k", epsilon="0.25")

    assert protected.budget.spent == Fraction(1, 2)
    with pytest.raises(StaleFrameError):
        bf.protect(session.sql("select cast(id as int) as k, 2 as m from range(9)"), policy, **options)


def test_storages_and_odd_names(session):
    """Zoned and naive instants, dates, decimals, narrow floats, nulls; odd names."""
    days = {"type": "datetime", "min": "2020-01-01", "max": "2020-01-09", "step": "1D", "nullable": True}
    zoned = {**days, "min": "2020-01-01T00:00+00:00", "max": "2020-01-09T00:00+00:00", "tz": "UTC"}
    tenths = {"type": "float", "min": 0, "max": 1, "step": "0.1", "nullable": True}
    domain = Domain(
        (
            from_dict("a b", days),
            from_dict("c-d", zoned),
            from_dict("e f", days),
            from_dict("g'h", tenths),
            from_dict('i"j', tenths),
            from_dict("ü", {"type": "category", "values": ["x", "it's"], "nullable": True}),
            integers("k", -5, 5),
        )
    )
    table = session.sql(
        "select * from values"
        " (timestamp_ntz'2020-01-03 04:00:00', timestamp'2020-01-03 04:00:00Z', date'2020-01-05',"
        "  cast(0.3 as decimal(5, 2)), float(0.7), 'x', tinyint(3)),"
        " (timestamp_ntz'2020-01-08 23:59:59.999999', timestamp'2020-01-01 00:00:00Z', null,"
        "  cast(0.99 as decimal(5, 2)), float('nan'), \"it's\", tinyint(-5)),"
        " (null, null, date'2020-01-09', null, null, null, tinyint(5))"
        " as t(`a b`, `c-d`, `e f`, `g'h`, `i\"j`, `ü`, k)"
    )
    frame = pd.DataFrame(
        {
            "a b": pd.to_datetime(
                ["2020-01-03 04:00:00", "2020-01-08 23:59:59.999999", None], format="ISO8601"
            ),
            "c-d": pd.to_datetime(["2020-01-03 04:00:00Z", "2020-01-01 00:00:00Z", None]),
            "e f": pd.to_datetime(["2020-01-05", None, "2020-01-09"]),
            "g'h": [0.3, 0.99, None],
            'i"j': pd.Series([0.7, None, None], dtype="float32"),
            "ü": ["x", "it's", None],
            "k": [3, -5, 5],
        }
    )
    policy = bf.Policy(domain)
    options = {"epsilon": 10, "dataset": "odd"}
    ours, theirs = bf.protect(frame, policy, **options), bf.protect(table, policy, **options)

    with bf.testing.replay(3):
        found = theirs.groupby("ü").hist("a b", epsilon=1)
    with bf.testing.replay(3):
        pd.testing.assert_frame_equal(found, ours.groupby("ü").hist("a b", epsilon=1))


def test_rows_outside_and_failures_show_no_value(session, asked):
    """Neither values outside the domain, nor what Spark says when a query of the curator fails."""
    policy = bf.Policy(Domain((integers("k", 0, 5),)))
    bad = session.sql("select explode(array(1, 123456789)) as k")
    with pytest.raises(OutsideDomainError) as caught:
        bf.protect(bad, policy, epsilon=1)
    assert "123456789" not in str(caught.value)
    failing = session.sql("select raise_error('SECRETVALUE') as k, 1 as m").selectExpr("cast(k as int) as k")
    with pytest.raises(EngineError) as failed:
        bf.protect(failing, policy, epsilon=1)
    assert "SECRETVALUE" not in str(failed.value)
    with pytest.raises(FrameError, match="'k' is stored as"):
        bf.protect(session.sql("select array(1) as k"), policy, epsilon=1)
    with pytest.raises(FrameError, match="'k' repeats"):
        bf.protect(session.sql("select explode(array(1, 1)) as k"), policy, epsilon=1, unit="k")


def test_names_that_spark_reads_as_paths_are_names(session):
    """A dot or a backtick in a declared name is part of it."""
    for name, quoted in (("a.b", "`a.b`"), ("c`d", "`c``d`")):
        protected = bf.protect(
            session.sql(f"select 1 as {quoted}"), bf.Policy(Domain((integers(name, 0, 5),))), epsilon=100
        )
        assert protected.hist(name, epsilon=100, post=False)["count"].round().tolist() == [0, 1, 0, 0, 0, 0]


def test_names_that_occur_twice_are_refused(session):
    """Nobody could tell which one is meant."""
    with pytest.raises(FrameError, match="twice"):
        bf.protect(session.sql("select 1 as k, 2 as k"), bf.Policy(Domain((integers("k", 0, 5),))), epsilon=1)


def test_codes_are_those_of_pandas(session, tmp_path):
    """Every storage that Spark reads from Parquet, by batches on the workers and by groups."""
    from count.storages import SPECS, STORAGES

    from pandas_blowfish.count.encode import encoder
    from pandas_blowfish.count.groups import group_cells
    from pandas_blowfish.count.readers import open_table

    parquet = pytest.importorskip("pyarrow.parquet")
    odd = {"uint64", "uint64 null", "ns None", "ns Europe/Berlin", "s None", "s Europe/Berlin", "category"}
    names = [name for name in STORAGES if name not in odd]
    most = max(len(STORAGES[name]) for name in names)
    padded = {
        name: pa.concat_arrays([STORAGES[name], pa.nulls(most - len(STORAGES[name]), STORAGES[name].type)])
        for name in names
    }
    parquet.write_table(pa.table(padded), tmp_path / "rows.parquet", coerce_timestamps="us")
    table = open_table(session.read.parquet(str(tmp_path / "rows.parquet")))
    made = 0
    for at, name in enumerate(names):
        attributes = [
            from_dict(name, {**spec, "nullable": nullable})
            for spec in SPECS[at % 3 :: 3]
            for nullable in (True, False)
        ]
        series = pa_column(padded[name])
        want = [sorted(encoder(series, each, clip=False)(0, most).tolist()) for each in attributes]

        def work(part, own=attributes):
            return [encoder(part[each.name], each, clip=False)(0, len(part)).tolist() for each in own]

        found = table.merge([name], work, lambda one, more: [a + b for a, b in zip(one, more, strict=True)])
        assert [sorted(each) for each in found] == want, name
        for each, codes in zip(attributes[:6], want, strict=False):
            groups = group_cells(table, [each], clip=False)
            made += groups is not None
            assert groups is None or sorted(groups[0][name].repeat(groups[1]).tolist()) == codes, (name, each)
    assert made > 20


def pa_column(array):
    """Return an Arrow array as pandas keeps it."""
    kind = array.type
    plain = pa.types.is_string(kind) or pa.types.is_timestamp(kind) or pa.types.is_floating(kind)
    return array.to_pandas() if plain else array.to_pandas(types_mapper=pd.ArrowDtype)


def test_collations_do_not_make_two_values_one(session):
    """Text is compared by its bytes."""
    policy = bf.Policy(Domain((from_dict("g", {"type": "category", "values": ["u", "U", "v"]}),)))
    rows = session.sql("select g collate UTF8_LCASE as g from values ('u'), ('U'), ('U'), ('v') as t(g)")
    protected = bf.protect(rows, policy, epsilon=1000)

    assert protected.hist("g", epsilon=1000, post=False)["count"].round().tolist() == [1, 2, 1]


def test_nobody_changes_which_rows_of_another_are_kept(session, tmp_path):
    """Over 10^4 random tables in several parts, as pandas keeps them."""
    from oracle.crowds import require_own_rows_alone

    from pandas_blowfish.count.readers import open_table

    parquet = pytest.importorskip("pyarrow.parquet")

    def table(frame):
        path = tmp_path / str(len(list(tmp_path.iterdir())))
        parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)
        return open_table(session.read.parquet(str(path)).repartition(4))

    require_own_rows_alone(table, 2)
