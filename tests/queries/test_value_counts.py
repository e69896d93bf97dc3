"""value_counts, size, median, crosstab: what pandas returns, with noise, by the plans of other verbs."""

import numpy as np
import pandas as pd
import pandera.pandas as pa
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, FrameError

GROUPS = ["a", "b", "c"]
SCHEMA = pa.DataFrameSchema(
    {
        "kind": pa.Column(pd.CategoricalDtype(GROUPS), metadata=bf.full()),
        "age": pa.Column("Int64", pa.Check.in_range(0, 9), nullable=True, metadata=bf.threshold(2)),
        "level": pa.Column(int, pa.Check.isin([5, 1, 3]), metadata=bf.full()),
        "place": pa.Column(pd.CategoricalDtype(["x", "y"]), metadata=bf.public()),
    }
)
EXACT = 10**6  # an epsilon that leaves no noise


def _rows(many=400):
    draw = np.random.default_rng(1)
    ages = pd.array(draw.integers(0, 10, many), dtype="Int64")
    ages[draw.random(many) < 0.1] = pd.NA
    return pd.DataFrame(
        {
            "kind": pd.Categorical(draw.choice(GROUPS, many, p=[0.2, 0.5, 0.3]), categories=GROUPS),
            "age": ages,
            "level": draw.choice([1, 3, 5], many, p=[0.5, 0.1, 0.4]),
            "place": pd.Categorical(draw.choice(["x", "y"], many)),
        }
    )


@pytest.fixture(scope="module")
def rows():
    """Return the rows themselves."""
    return _rows()


@pytest.fixture(scope="module")
def df(rows):
    """Return them protected, with more than enough to spend."""
    return rows.blowfish.protect(bf.Policy(SCHEMA), epsilon=10**9).blowfish


def _like(released, wanted, column="count"):
    """Require the numbers and the order of a Series of pandas, whose zeros may be left out."""
    found = released[column]
    found = found[found > 1e-9]
    assert [*map(str, found.index)] == [*map(str, wanted.index)]
    np.testing.assert_allclose(found.to_numpy(float), wanted.to_numpy(float), rtol=1e-9)


@pytest.mark.parametrize("column", ["kind", "age", "level"])
@pytest.mark.parametrize(
    "options", [{}, {"ascending": True}, {"sort": False}, {"normalize": True}, {"dropna": False}], ids=str
)
def test_values_are_those_of_pandas(df, rows, column, options):
    """Sorted by count, as shares, with missing values or without; every declared value is there."""
    released = df.value_counts(column, epsilon=EXACT, **options)

    wanted = rows[column].value_counts(**options).rename(_text)
    value = "proportion" if "normalize" in options else "count"
    found = released[value].rename(_text)
    order = {"kind": GROUPS, "age": range(10), "level": [5, 1, 3]}[column]
    np.testing.assert_allclose(found.reindex(wanted.index).to_numpy(float), wanted.to_numpy(float), rtol=1e-9)
    assert len(found) == len(wanted)
    if options == {"sort": False}:
        assert list(found.index) == [*map(_text, order)]
    else:
        falls = found if options.get("ascending") else found[::-1]
        assert falls.is_monotonic_increasing


def _text(label):
    """Return a label whatever its dtype: whole numbers beside a missing one are floats."""
    return "missing" if pd.isna(label) else f"{label:g}" if isinstance(label, float) else str(label)


def test_groups_are_sorted_by_themselves(df, rows):
    """Groups stay in schema order, values inside them are sorted, shares are those of the group."""
    released = df.groupby("place")["kind"].value_counts(epsilon=EXACT, normalize=True)

    wanted = rows.groupby("place", observed=False)["kind"].value_counts(normalize=True)
    for place in ("x", "y"):
        _like(released.loc[place], wanted.loc[place], "proportion")
    assert list(released.index.get_level_values(0)) == ["x"] * 3 + ["y"] * 3


def test_bins_and_filters(df, rows):
    """As `hist` takes them."""
    released = df.where("kind == 'b'")["age"].value_counts(epsilon=EXACT, bins=[0, 3, 10])

    ages = rows.loc[rows["kind"] == "b", "age"].dropna()
    assert sorted(released["count"]) == sorted([(ages < 3).sum(), (ages >= 3).sum()])
    assert released["count"].is_monotonic_decreasing


def test_a_sorted_release_answers_as_a_histogram(df):
    """Its rows are put back into schema order, so that free questions have the same answers and errors."""
    with bf.testing.replay(3):
        plain = df.hist("age", epsilon="0.1")
    with bf.testing.replay(3):
        ordered = df.value_counts("age", epsilon="0.1")

    for ask in (
        lambda each: each.range([(0, 4), (5, None)]),
        lambda each: each.quantile([0.25, 0.5]),
        lambda each: each.cumhist(),
        lambda each: each.hist(bins=2),
    ):
        pd.testing.assert_frame_equal(ask(ordered.blowfish), ask(plain.blowfish), check_index_type=False)
    with pytest.raises(FrameError, match="shares"):
        df.value_counts("age", epsilon="0.1", normalize=True).blowfish.cumhist()


def test_values_declared_in_their_own_order_keep_honest_errors(df):
    """Where labels cannot be put back in order, nothing is claimed of how errors go together."""
    released = df.value_counts("level", epsilon="0.1")

    assert "covariance" not in released.blowfish.receipt["technical"]
    assert len(released.blowfish.hist()) == 3


def test_size_and_median(df, rows):
    """One row per group, as in pandas."""
    sizes = df.groupby("kind").size(epsilon=EXACT)
    middles = df.groupby("kind")["age"].median(epsilon=EXACT)
    one = df.median("age", epsilon=EXACT)

    assert sizes["count"].tolist() == rows.groupby("kind", observed=False).size().tolist()
    wanted = rows.groupby("kind", observed=False)["age"].median()
    assert abs(middles["value"] - wanted).max() <= 0.5
    assert list(middles.index) == GROUPS
    assert abs(one["value"].item() - rows["age"].median()) <= 0.5
    bounds = middles.blowfish.interval()
    assert (bounds["low"] <= middles["value"]).all()
    assert (middles["value"] <= bounds["high"]).all()


@pytest.mark.parametrize("normalize", [False, True, "all", "index", "columns"])
@pytest.mark.parametrize("sides", [("kind", "place"), ("place", "age"), ("level", "kind")], ids=str)
def test_a_crosstab_is_that_of_pandas(df, rows, sides, normalize):
    """`table["count"]` has its rows, columns and numbers."""
    table = df.crosstab(*sides, epsilon=EXACT, normalize=normalize)

    found = table["proportion" if normalize else "count"]
    wanted = pd.crosstab(rows[sides[0]], rows[sides[1]], normalize=normalize)
    assert [*map(str, found.columns)] == [*map(str, wanted.reindex(columns=found.columns).columns)]
    values = wanted.reindex(
        index=found.index, columns=[int(each) if sides[1] == "age" else each for each in found]
    )
    np.testing.assert_allclose(found.to_numpy(float), values.to_numpy(float), rtol=1e-9)
    assert found.columns.name == sides[1]
    assert found.index.name == sides[0]


def test_a_wide_release_is_read_like_a_long_one(df, tmp_path):
    """interval, plot, receipt, views, files, the report."""
    table = df.crosstab("kind", "place", epsilon="0.1", name="table")

    bounds = table.blowfish.interval()
    assert (bounds["low"] <= table["count"]).all(axis=None)
    assert (table["count"] <= bounds["high"]).all(axis=None)
    assert "kind" in repr(table.blowfish)
    assert table.blowfish.plot() is not None
    for suffix in ("csv", "parquet", "xlsx"):
        bf.save(table, tmp_path / f"t.{suffix}")
        pd.testing.assert_frame_equal(bf.load(tmp_path / f"t.{suffix}"), table)
    pd.testing.assert_frame_equal(df.ledger.answer(_dataset(df), "table"), table)
    page = df.report(tmp_path / "r.html", releases=table).read_text()
    assert "numbers are those that the ledger keeps" in page
    assert table.blowfish.hist()["count"].tolist() == pytest.approx(table["count"].to_numpy().ravel())
    with pytest.raises(FrameError, match="columns are not"):
        table.drop(columns=[("std", "x")]).blowfish.interval()
    with pytest.raises(FrameError, match="no column 'count'"):
        table["count"].blowfish.interval()


def _dataset(df):
    return df.ledger.datasets[-1]


@pytest.mark.parametrize(
    "ask",
    [
        lambda df, **more: df.value_counts("kind", epsilon="0.1", **more),
        lambda df, **more: df.value_counts("age", epsilon="0.1", normalize=True, **more),
        lambda df, **more: df.groupby("place").value_counts(["kind", "age"], epsilon="0.1", **more),
        lambda df, **more: df.groupby("kind").median("age", epsilon="0.1", **more),
        lambda df, **more: df.median("age", epsilon="0.1", **more),
        lambda df, **more: df.groupby("kind").size(epsilon="0.1", **more),
        lambda df, **more: df.crosstab("kind", "age", epsilon="0.1", normalize="columns", **more),
    ],
)
def test_every_release_is_kept_saved_drawn_and_verified(df, ask, tmp_path, request):
    """Under a name it is free; files give it back; the ledger knows its receipt; it is drawn."""
    name = request.node.name
    released = ask(df, name=name)
    spent = df.budget.spent

    pd.testing.assert_frame_equal(ask(df, name=name), released)
    pd.testing.assert_frame_equal(df.ledger.answer(_dataset(df), name), released)
    assert df.budget.spent == spent
    df.ledger.verify(released.blowfish.receipt)
    for suffix in ("csv", "parquet"):
        bf.save(released, tmp_path / f"t.{suffix}")
        again = bf.load(tmp_path / f"t.{suffix}")
        pd.testing.assert_frame_equal(again, released)
        pd.testing.assert_frame_equal(again.blowfish.interval(), released.blowfish.interval())
    assert released.blowfish.plot() is not None
    assert len(released.blowfish.interval()) == len(released)


@pytest.mark.parametrize("often", [0.2, 0.95])
def test_errors_of_shares_are_honest(rows, often):
    """Over many releases the error of a share is at most what `std` states, to first order, and is covered.

    Where one value has nearly all rows the error of the total is most of it.
    """
    some = rows.assign(age=rows["age"].mask(np.random.default_rng(2).random(len(rows)) < often, 4))
    df = some.blowfish.protect(bf.Policy(SCHEMA), epsilon=10**6).blowfish
    asked = df.where("kind != 'c'")["age"]
    exact = asked.value_counts(epsilon=EXACT // 10, normalize=True, sort=False)
    truth = exact["proportion"].to_numpy()
    found, std, inside = [], [], np.zeros(len(truth))
    for seed in range(150):
        with bf.testing.replay(seed):
            each = asked.value_counts(
                epsilon="0.5", normalize=True, sort=False, post=False, strategy="identity"
            )
        found.append(each["proportion"].to_numpy())
        std.append(each["std"].to_numpy())
        bounds = each.blowfish.interval(0.8)
        inside += ((bounds["low"] - 1e-9 <= truth) & (truth <= bounds["high"] + 1e-9)).to_numpy()

    errors = np.sqrt(((np.array(found) - truth) ** 2).mean(axis=0))
    assert (errors <= 1.15 * np.mean(std, axis=0)).all()
    assert (errors >= 0.3 * np.mean(std, axis=0)).all()
    assert (inside >= 150 * 0.8 - 3 * np.sqrt(150 * 0.8 * 0.2)).all()


@pytest.mark.parametrize("normalize", ["all", "index", "columns"])
def test_intervals_of_shares_cover(rows, normalize):
    """At least as often as stated, of a secret total and of a public one, shaped and not."""
    df = rows.blowfish.protect(bf.Policy(SCHEMA), epsilon=10**6).blowfish
    truth = df.crosstab("kind", "place", epsilon=EXACT // 10, normalize=normalize)["proportion"]
    inside = np.zeros(truth.shape)
    for seed in range(60):
        with bf.testing.replay(seed):
            table = df.crosstab("kind", "place", epsilon="0.2", normalize=normalize, post=bool(seed % 2))
        bounds = table.blowfish.interval(0.8)
        inside += (bounds["low"] - 1e-9 <= truth) & (truth <= bounds["high"] + 1e-9)

    assert (inside >= 60 * 0.8 - 3 * np.sqrt(60 * 0.8 * 0.2)).all(axis=None)


def test_shares_of_all_rows_are_of_the_public_number(df):
    """Divided by an exact number, the error is the count's own."""
    shares = df.value_counts("kind", epsilon="0.1", normalize=True)
    plan = df.plan.hist("kind", epsilon="0.1")

    np.testing.assert_allclose(shares["std"].to_numpy(), plan.std[0] / 400)
    assert shares["proportion"].sum() == pytest.approx(1)


def test_nothing_is_known_where_there_may_be_no_rows(df):
    """A total that may be 0 leaves shares between 0 and 1."""
    shares = df.where("age < 1").groupby("kind")["level"].value_counts(epsilon="0.01", normalize=True)

    bounds = shares.blowfish.interval()
    assert ((bounds["low"] >= 0) & (bounds["high"] <= 1)).all()
    assert (bounds["high"] == 1).any()


@pytest.mark.parametrize(
    "ask",
    [
        lambda df: df.value_counts("kind", epsilon=1, normalize="all"),
        lambda df: df.value_counts("kind", epsilon=1, sort=1),
        lambda df: df.value_counts(epsilon=1),
        lambda df: df.crosstab("kind", "kind", epsilon=1),
        lambda df: df.crosstab("kind", "place", epsilon=1, normalize="rows"),
        lambda df: df.crosstab("kind", epsilon=1),
        lambda df: df["kind"].crosstab("level", "place", epsilon=1),
        lambda df: df.median(["age", "level"], epsilon=1),
        lambda df: df.median("kind", epsilon=1),
        lambda df: df.size("kind", epsilon=1),
    ],
)
def test_wrong_calls_are_typed_and_free(df, ask):
    """Before anything is charged."""
    spent = df.budget.spent

    with pytest.raises((ArgumentError, ArgumentTypeError)):
        ask(df)

    assert df.budget.spent == spent
