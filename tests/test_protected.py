"""bf.protect: one budget whatever the engine, seals of tables that change, and errors that show no row."""

import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from oracle.duckdb_tables import kept_table

import pandas_blowfish as bf
from pandas_blowfish.count.readers.duckdb import DuckdbBatches
from pandas_blowfish.count.readers.polars import PolarsBatches
from pandas_blowfish.errors import (
    ArgumentError,
    BlowfishError,
    EngineError,
    FactMismatchError,
    FrameError,
    NotProtectedError,
    OutsideDomainError,
    PolicyMismatchError,
    StaleFrameError,
)
from pandas_blowfish.kernel import measure
from pandas_blowfish.policy.domain import Domain, from_dict, integers

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")
pq = pytest.importorskip("pyarrow.parquet")
ds = pytest.importorskip("pyarrow.dataset")

DOMAIN = Domain(
    (
        integers("age", 0, 99),
        from_dict("sex", {"type": "category", "values": ["F", "M"]}),
        from_dict("income", {"type": "float", "min": 0, "max": 1000, "step": 10, "nullable": True}),
    )
)
POLICY = bf.Policy(DOMAIN, secrets={"age": bf.threshold(5)})
DRAW = np.random.default_rng(4)
FRAME = pd.DataFrame(
    {
        "age": DRAW.integers(0, 100, 200),
        "sex": DRAW.choice(["F", "M"], 200),
        "income": np.where(DRAW.random(200) < 0.1, np.nan, np.round(DRAW.uniform(0, 1000, 200), 2)),
        "id": np.arange(200),
    }
)
ENGINES = ("pandas", "polars", "lazy", "table", "dataset", "duckdb")


def _native(name, frame=FRAME):
    """Return rows as a table of an engine."""
    if name == "pandas":
        return frame
    table = pa.Table.from_pandas(frame, preserve_index=False)
    if name == "duckdb":
        return kept_table(table)
    if name in ("table", "dataset"):
        return table if name == "table" else ds.dataset(table)
    return pl.from_arrow(table).lazy() if name == "lazy" else pl.from_arrow(table)


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_has_every_verb_of_the_accessor(name):
    """And what a protected frame tells of itself, in the same words."""
    protected = bf.protect(_native(name), POLICY, epsilon=1)

    frame = FRAME.blowfish.protect(POLICY, epsilon=1)
    shown = {each for each in dir(frame.blowfish) if not each.startswith("_")}
    assert {each for each in dir(protected) if not each.startswith("_")} == shown - {"protect"}
    assert protected.budget.total == 1
    assert protected.policy == POLICY
    assert protected.plan.hist("age", epsilon="0.5").cost == Fraction(1, 2)
    assert "age" in repr(protected)
    assert "age" in protected._repr_html_()
    released = protected.hist("age", epsilon="0.25")
    assert isinstance(released, pd.DataFrame)
    assert released.blowfish.receipt["epsilon"] == "1/4"
    assert protected.where("age >= 18").groupby("sex").count(epsilon="0.25").shape[0] == 2
    assert protected.budget.spent == Fraction(1, 2)


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_groups_by_bins(name):
    """The same bands, means and filters as pandas, whatever counts the rows."""
    protected = bf.protect(_native(name), POLICY, epsilon=10**7)
    bands = protected.where("age between 5 and 80").groupby("age", bins=[None, 18, 65, None])
    wanted = FRAME[FRAME["age"].between(5, 80)].groupby(
        pd.cut(FRAME["age"], [-1, 17, 64, 200]), observed=False
    )

    counts = bands.count(epsilon=10**6)["count"].round().tolist()
    means = bands.mean("age", epsilon=10**6)["value"].tolist()

    assert counts == wanted.size().tolist()
    assert means == pytest.approx(wanted["age"].mean().tolist(), abs=1e-3)


def test_what_protect_takes():
    """Tables alone; a protected one is protected already, and its own table is given back."""
    table = _native("polars")
    protected = bf.protect(table, POLICY, epsilon=1)

    assert isinstance(protected, bf.Protected)
    assert protected.native is table
    with pytest.raises(FrameError, match="protected already"):
        protected.protect(POLICY, epsilon=1)
    for thing in (None, 5, "rows.csv", [1, 2], {"age": [1]}, table["age"], protected):
        with pytest.raises(FrameError, match="give a frame of pandas or polars"):
            bf.protect(thing, POLICY, epsilon=1)
    for thing in (FRAME, table, None):
        with pytest.raises(FrameError, match=r"bf\.protect"):
            bf.Protected(thing)
    with pytest.raises(FrameError, match="sex"):
        bf.protect(table.drop("sex"), POLICY, epsilon=1)


@pytest.mark.parametrize("first", ["pandas", "polars", "table", "duckdb"])
def test_one_budget_whatever_the_engine(first, tmp_path):
    """Rows protected in one engine continue in another, in any order; other rows are refused."""
    book = tmp_path / "book.db"
    options = {"epsilon": 1, "dataset": "people", "ledger": book}
    bf.protect(_native(first), POLICY, **options).hist("age", epsilon="0.25")
    shuffled = FRAME.sample(frac=1, random_state=1)

    for name in ("polars", "dataset", "duckdb"):
        protected = bf.protect(_native(name, shuffled), POLICY, **options)
        protected.hist("sex", epsilon="0.125")
    assert bf.protect(
        FRAME.iloc[::-1] if first != "pandas" else FRAME, POLICY, **options
    ).budget.spent == Fraction(5, 8)
    for name in ("pandas", "polars", "table", "duckdb"):
        for other in (FRAME[:-1], FRAME.assign(age=FRAME["age"].sample(frac=1, random_state=2).to_numpy())):
            with pytest.raises(StaleFrameError):
                bf.protect(_native(name, other), POLICY, **options)
    with pytest.raises(PolicyMismatchError):
        bf.protect(_native("polars"), bf.Policy(DOMAIN, secrets={"age": bf.threshold(1)}), **options)


@pytest.mark.parametrize("reader", ["polars", "dataset", "duckdb"])
def test_a_file_rewritten_after_protect_is_refused(reader, tmp_path):
    """Before anything is charged, by the columns that are read alone."""
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pandas(FRAME, preserve_index=False), path)
    read = {
        "polars": pl.scan_parquet,
        "dataset": ds.dataset,
        "duckdb": lambda at: duckdb.read_parquet(str(at)),
    }
    protected = bf.protect(read[reader](path), POLICY, epsilon=1)
    protected.hist("age", epsilon="0.25")
    edited = FRAME.copy()
    edited.loc[7, "age"] = (edited.loc[7, "age"] + 1) % 100
    table = pa.Table.from_pandas(edited, preserve_index=False)
    pq.write_table(table, path)

    for verb in (
        lambda: protected.hist("age", epsilon="0.25"),
        lambda: protected.mean("age", epsilon="0.25"),
    ):
        with pytest.raises(StaleFrameError, match="age"):
            verb()
    assert protected.budget.spent == Fraction(1, 4)
    protected.hist("sex", epsilon="0.25")
    pq.write_table(table.slice(1), path)
    with pytest.raises((StaleFrameError, EngineError)):
        protected.hist("sex", epsilon="0.25")
    path.unlink()
    with pytest.raises(EngineError):
        protected.hist("sex", epsilon="0.25")
    assert protected.budget.spent == Fraction(1, 2)


@pytest.mark.parametrize("name", ["polars", "table", "duckdb"])
def test_a_table_changed_after_the_seal_raises_nothing(name, monkeypatch):
    """Rows that came outside the domain meanwhile are counted nowhere, whatever they are."""
    bad = FRAME.assign(age=FRAME["age"].astype("int64"), sex=FRAME["sex"])
    bad.loc[:9, "age"] = [10**9, -5, 2**62, -(2**62), 100, -1, 101, 10**15, 2**31, 2**53 + 1]
    bad.loc[10:14, "sex"] = "SECRETVALUE"
    bad.loc[15:19, "income"] = [np.inf, -np.inf, 1e300, -1e300, 1001]
    protected = bf.protect(_native(name), POLICY, epsilon=1000)
    own = protected._frame
    object.__setattr__(own, "native", _native(name, bad))
    monkeypatch.setattr(measure, "find_change", lambda *_: "")
    inside = bad[bad["age"].between(0, 99) & bad["sex"].isin(["F", "M"])]
    inside = inside[~(inside["income"] > 1000) & ~(inside["income"] < 0)]

    with bf.testing.replay(1):
        found = protected.hist(["age", "sex"], epsilon=500)
        boxes = protected.where("income < 500").hist("age", epsilon=1)
        total = protected.sum(["age", "income"], epsilon=1)

    assert len(boxes) == 100
    assert len(total) == 2
    counts = found.set_index(["age", "sex"])["count"] if "age" in found.columns else found["count"]
    for (age, sex), many in inside.groupby(["age", "sex"]).size().items():
        assert abs(counts.loc[(age, sex)] - many) <= 5
    assert protected.budget.spent == 502


@pytest.mark.parametrize("name", ENGINES[1:])
def test_rows_outside_are_refused_by_column_alone(name):
    """At protect, before anything is bound: no value is shown."""
    bad = FRAME.copy()
    bad.loc[3, "age"] = 123456789
    bad.loc[4, "sex"] = "SECRETVALUE"
    book = bf.Ledger.default()

    with pytest.raises(OutsideDomainError) as caught:
        bf.protect(_native(name, bad), POLICY, epsilon=1, dataset=f"refused-{name}", ledger=book, new=True)

    assert caught.value.columns == ["age", "sex"]
    assert "123456789" not in str(caught.value)
    assert "SECRETVALUE" not in str(caught.value)
    bf.protect(_native(name), POLICY, epsilon=2, dataset=f"refused-{name}", ledger=book, new=True)
    table = bf.check(_native(name, bad), POLICY)
    assert table["outside"].tolist() == [1, 1, 0]
    assert table["missing"].tolist() == bf.check(bad, POLICY)["missing"].tolist()


@pytest.mark.parametrize("name", ENGINES[1:])
def test_outside_clip_is_that_of_pandas(name):
    """Numbers beyond the bounds are in the nearest cell, on one budget with pandas."""
    beyond = FRAME.copy()
    beyond.loc[:3, "age"] = [-5, 10**12, 100, -1]
    beyond.loc[4:6, "income"] = [np.inf, -1e300, 1000.5]
    options = {"epsilon": 1000, "dataset": f"clipped-{name}", "outside": "clip", "new": True}
    ours = bf.protect(_native(name, beyond), POLICY, **options)
    theirs = bf.protect(beyond, POLICY, **options)

    for verb in (
        lambda p: p.hist("age", epsilon=1),
        lambda p: p.hist("income", epsilon=1),
        lambda p: p.sum(["age", "income"], epsilon=1),
    ):
        with bf.testing.replay(3):
            found = verb(ours)
        with bf.testing.replay(3):
            pd.testing.assert_frame_equal(found, verb(theirs))
    with pytest.raises(PolicyMismatchError, match="outside="):
        bf.protect(_native(name), POLICY, epsilon=1000, dataset=f"clipped-{name}")


@pytest.mark.parametrize("name", ENGINES[1:])
def test_units_are_one_row_each(name):
    """Repeats and nulls are refused, by the name of the column alone."""
    bf.protect(_native(name), POLICY, epsilon=1, unit="id")
    with pytest.raises(FrameError, match="'sex' repeats"):
        bf.protect(_native(name), POLICY, epsilon=1, unit="sex")
    with pytest.raises(FrameError, match="'income' is missing in some rows"):
        bf.protect(
            _native(name, FRAME[:5].assign(income=[1.0, 2.0, None, 3.0, 4.0])),
            POLICY,
            epsilon=1,
            unit="income",
        )
    with pytest.raises(FrameError, match="nobody"):
        bf.protect(_native(name), POLICY, epsilon=1, unit="nobody")


@pytest.mark.parametrize("name", ENGINES[1:])
def test_no_rows_are_released_as_in_pandas(name):
    """An empty table has counts, sums and ranges, all noise."""
    empty = FRAME[:0]
    ours = bf.protect(_native(name, empty), POLICY, epsilon=100)
    theirs = bf.protect(empty, POLICY, epsilon=100)

    for verb in (
        lambda p: p.hist("age", epsilon=1),
        lambda p: p.marginal(["age", "sex"], epsilon=1),
        lambda p: p.sum("income", epsilon=1),
        lambda p: p.where("age < 5").count(epsilon=1),
    ):
        with bf.testing.replay(3):
            found = verb(ours)
        with bf.testing.replay(3):
            pd.testing.assert_frame_equal(found, verb(theirs))


@pytest.mark.parametrize("name", ENGINES[1:])
def test_public_facts_are_checked_and_used(name):
    """A stated count that the rows contradict is refused; a true one makes the same answers as in pandas."""
    women = int((FRAME["sex"] == "F").sum())
    right, wrong = (POLICY.with_facts([bf.Count("sex == 'F'", answer=each)]) for each in (women, women + 1))

    with pytest.raises(FactMismatchError):
        bf.protect(_native(name), wrong, epsilon=1)
    ours, theirs = (bf.protect(each, right, epsilon=100) for each in (_native(name), FRAME))
    with bf.testing.replay(3):
        found = ours.hist("sex", epsilon=1)
    with bf.testing.replay(3):
        pd.testing.assert_frame_equal(found, theirs.hist("sex", epsilon=1))
    assert found["count"].tolist() == [women, 200 - women]
    assert (bf.check(_native(name), right)["status"] == "ok").all()


@pytest.mark.parametrize("name", ["polars", "table", "duckdb"])
def test_wrong_arguments_charge_nothing(name):
    """Neither at protect nor at a verb."""
    table = _native(name)
    for options in ({"epsilon": 0}, {"epsilon": 1, "outside": "drop"}, {"epsilon": 1, "dataset": " "}):
        with pytest.raises(ArgumentError):
            bf.protect(table, POLICY, **options)
    with pytest.raises(ArgumentError):
        bf.protect(table, POLICY, epsilon=1, ledger="somewhere.db")
    protected = bf.protect(table, POLICY, epsilon=1)
    for verb in (
        lambda: protected.hist("nothing", epsilon=1),
        lambda: protected.hist("age", epsilon=2),
        lambda: protected.where("age >").count(epsilon=1),
        lambda: protected.quantile("age", [2], epsilon=1),
        lambda: protected.sum("sex", epsilon=1),
    ):
        with pytest.raises(BlowfishError):
            verb()
    assert protected.budget.spent == 0


def test_an_engine_that_fails_while_counting(monkeypatch):
    """The charge stays, once; nothing of its words is shown; the same name can be asked again."""
    protected = bf.protect(_native("polars"), POLICY, epsilon=1)
    real, failing = PolarsBatches._groups, []

    def groups(*given):
        if failing:
            raise RuntimeError("row 17 is SECRETVALUE")
        return real(*given)

    def find_change(*given):  # the seal is checked; only what comes after it fails
        found = seal(*given)
        failing.append(True)
        return found

    seal = measure.find_change
    monkeypatch.setattr(PolarsBatches, "_groups", groups)
    monkeypatch.setattr(measure, "find_change", find_change)
    with pytest.raises(EngineError) as caught:
        protected.hist("age", epsilon="0.25", name="ages")
    assert "SECRETVALUE" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert protected.budget.spent == Fraction(1, 4)
    monkeypatch.setattr(measure, "find_change", seal)
    failing.clear()

    found = protected.hist("age", epsilon="0.25", name="ages")

    assert protected.budget.spent == Fraction(1, 2)
    pd.testing.assert_frame_equal(protected.hist("age", epsilon="0.25", name="ages"), found)
    assert protected.budget.spent == Fraction(1, 2)


def test_an_engine_that_fails_before_the_charge(monkeypatch):
    """While the seal is checked, or rows are described: nothing is spent."""
    protected = bf.protect(_native("duckdb"), POLICY, epsilon=1)

    def groups(*_):
        raise RuntimeError("SECRETVALUE")

    monkeypatch.setattr(DuckdbBatches, "_groups", groups)
    with pytest.raises(EngineError) as caught:
        protected.hist("age", epsilon="0.25")
    assert "SECRETVALUE" not in str(caught.value)
    assert protected.budget.spent == 0


def test_nothing_is_imported_unless_used():
    """Nor by protecting a pandas frame; what pandera imports itself aside."""
    code = """
import sys
import pandera.pandas
before = set(sys.modules)
import pandas_blowfish as bf
frame = bf.datasets.patients(50)
bf.protect(frame, bf.datasets.patients_policy(), epsilon=1).hist("age", epsilon=1)
engines = {"polars", "duckdb", "dask", "pyspark", "narwhals", "distributed", "tqdm"}
print(sorted(engines & (set(sys.modules) - before)))
"""
    command = [sys.executable, "-W", "ignore", "-c", code]
    found = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ})

    assert found.stdout.strip() == "[]", found.stdout


def test_frames_of_polars_have_an_accessor():
    """After one import: protect there, and no verb before it."""
    import pandas_blowfish.polars  # noqa: F401

    for frame in (_native("polars"), _native("lazy")):
        protected = frame.blowfish.protect(POLICY, epsilon=1, unit="id")
        assert isinstance(protected, bf.Protected)
        assert len(protected.hist("sex", epsilon=1)) == 2
        with pytest.raises(NotProtectedError):
            frame.blowfish.hist("sex", epsilon=1)
        with pytest.raises(AttributeError):
            frame.blowfish.nothing  # noqa: B018
        assert "protect" in repr(frame.blowfish)


@pytest.mark.parametrize("name", ["polars", "table", "duckdb"])
def test_odd_names_of_columns(name):
    """Quotes, backticks, blanks, dots and letters of any script, as in pandas."""
    columns = ['a "b"', "c`d", "e.f", "größe in m²"]
    domain = Domain(
        (
            integers(columns[0], 0, 99),
            from_dict(columns[1], {"type": "category", "values": ["F", "M"]}),
            from_dict(columns[2], {"type": "float", "min": 0, "max": 1000, "step": 10, "nullable": True}),
            integers(columns[3], 0, 199),
        )
    )
    policy, frame = bf.Policy(domain), FRAME.set_axis(columns, axis=1)
    ours, theirs = (bf.protect(each, policy, epsilon=100) for each in (_native(name, frame), frame))

    for verb in (
        lambda p: p.hist(columns[:2], epsilon=1),
        lambda p: p.groupby(columns[1]).sum([columns[2], columns[3]], epsilon=1),
        lambda p: p.where("`e.f` < 500").cumhist(columns[3], epsilon=1),
    ):
        with bf.testing.replay(3):
            found = verb(ours)
        with bf.testing.replay(3):
            pd.testing.assert_frame_equal(found, verb(theirs))
