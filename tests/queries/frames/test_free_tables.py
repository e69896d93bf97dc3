"""A released table determines those of fewer columns, and which values are frequent: free, unbiased."""

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import (
    ArgumentError,
    FrameError,
    NotProtectedError,
    ReceiptError,
    UnknownTableError,
)
from pandas_blowfish.policy.domain import Domain, from_dict, integers

DOMAIN = Domain(
    (
        from_dict("sex", {"type": "category", "values": ["F", "M"]}),
        from_dict("ill", {"type": "category", "values": ["a", "b", "c"]}),
        integers("age", 0, 9, nullable=True),
    )
)
ROWS = pd.DataFrame(
    {
        "sex": ["F", "M", "M"] * 60,
        "ill": ["a", "b", "b", "c", "a"] * 36,
        "age": pd.array([0, 1, 1, 2, 5, 9, None, 3, 3, 3] * 18, dtype="Int64"),
    }
)
SECRETS = {"age": bf.threshold(2), "ill": bf.partition({"x": ["a", "b"], "y": ["c"]})}


def _protected(**options):
    policy = bf.Policy(DOMAIN, **{"secrets": SECRETS, **options})
    return ROWS.blowfish.protect(policy, epsilon=10**9, ledger=bf.Ledger())


@pytest.mark.parametrize("columns", [["sex"], ["age"], ["age", "sex"], "ill", ["ill", "age"]])
@pytest.mark.parametrize("verb", ["hist", "marginal"])
def test_fewer_columns_are_what_asking_for_them_gives(verb, columns):
    """The same index and counts, in the order asked, nothing spent, and a receipt that names the entry."""
    df = _protected()
    release = getattr(df.blowfish, verb)(["sex", "ill", "age"], epsilon=10**5)
    spent = df.blowfish.budget.spent

    found = release.blowfish.marginal(columns)

    assert df.blowfish.budget.spent == spent
    asked = df.blowfish.marginal(columns, epsilon=10**5)
    pd.testing.assert_frame_equal(found[["count"]], asked[["count"]], check_exact=False)
    assert found.blowfish.receipt["entry"] == release.blowfish.receipt["entry"]
    assert found.blowfish.receipt["derived"].startswith("marginal(")


def test_tables_in_another_order_and_of_several_answer():
    """`tables["ill", "sex"]` is turned, and the table of a column that was not asked for is pointed to."""
    df = _protected()
    tables = df.blowfish.marginal([["sex", "ill"], ["ill", "age"]], epsilon=10**5)

    turned = tables["ill", "sex"].blowfish.marginal(["ill"])

    pd.testing.assert_frame_equal(turned, tables["sex", "ill"].blowfish.marginal("ill"))
    assert turned["count"].tolist() == pytest.approx(ROWS["ill"].value_counts().reindex(list("abc")).tolist())
    with pytest.raises(UnknownTableError, match="free"):
        tables["sex"]
    with pytest.raises(UnknownTableError, match="in any order"):
        tables["sex", "age"]


@pytest.mark.parametrize(
    "options",
    [{}, {"secrets": {}}, {"secrets": {**SECRETS, "sex": bf.public()}}, {"presence": True}],
    ids=["mixed", "full", "public", "presence"],
)
@pytest.mark.parametrize("tables", [None, [["sex", "ill", "age"], ["sex"]]], ids=["hist", "marginal"])
def test_intervals_of_sub_tables_cover(options, tables):
    """Sums of shaped releases are unbiased, and no further off than they state."""
    df = _protected(**options)
    truth = ROWS["age"].value_counts().reindex(range(10)).fillna(0).to_numpy(dtype=float)
    inside, off, stated = [], [], []

    for seed in range(60):
        with bf.testing.replay(seed):
            if tables is None:
                release = df.blowfish.hist(["sex", "ill", "age"], epsilon="1/2")
            else:
                release = df.blowfish.marginal(tables, epsilon="1/2")["sex", "ill", "age"]
        found = release.blowfish.marginal("age").iloc[:10]
        ends = found.blowfish.interval(0.8)
        inside.append((ends["low"].to_numpy() <= truth) & (truth <= ends["high"].to_numpy()))
        off.append(found["unshaped"].to_numpy() - truth)
        stated.append(found["std"].to_numpy())

    error = np.maximum(np.mean(stated, axis=0), 1e-9)
    assert np.mean(inside) > 0.77
    assert (np.abs(np.mean(off, axis=0)) < 4.5 * error / np.sqrt(60)).all()
    assert (np.std(off, axis=0) < 1.4 * error).all()
    assert np.sqrt(np.mean(np.square(off))) == pytest.approx(np.sqrt(np.mean(error**2)), rel=0.15)


@pytest.mark.parametrize("verb", ["hist", "marginal"])
def test_errors_are_bounds_where_receipts_do_not_state_more(verb):
    """Without covariance errors are at least the exact ones, and intervals as wide."""
    df = _protected()
    release = getattr(df.blowfish, verb)(["sex", "ill", "age"], epsilon=1)
    plain = release.copy()
    inner = {**release.attrs["blowfish"]["technical"], "covariance": None}
    plain.attrs["blowfish"] = {**release.attrs["blowfish"], "technical": inner}

    exact, bound = (each.blowfish.marginal(["age"]) for each in (release, plain))

    assert (bound["std"] >= exact["std"] * (1 - 1e-9)).all()
    assert (bound.blowfish.interval()["high"] >= exact.blowfish.interval()["high"]).all()
    pd.testing.assert_series_equal(bound["unshaped"], exact["unshaped"])


def test_a_sub_table_is_a_release_again(tmp_path):
    """It answers quantiles, means, bins and tables of its own, and is saved, loaded and drawn."""
    df = _protected()
    release = df.blowfish.hist(["sex", "ill", "age"], epsilon=1)

    pair = release.blowfish.marginal(["sex", "age"])
    age = pair.blowfish.marginal("age")

    pd.testing.assert_frame_equal(age, release.blowfish.marginal("age"), check_exact=False)
    assert age.blowfish.mean().blowfish.interval()["low"].item() < ROWS["age"].mean()
    assert len(age.blowfish.quantile([0.25, 0.5])) == 2
    assert len(age.blowfish.hist(bins=[0, 5, 9])) == 2
    assert pair.blowfish.mean().index.names == ["sex"]
    bf.save(age, tmp_path / "age.csv")
    back = bf.load(tmp_path / "age.csv")
    pd.testing.assert_frame_equal(back.blowfish.mean(), age.blowfish.mean())
    assert age.blowfish.plot() is not None


def test_value_counts_of_a_release_are_listed_as_pandas_lists_them():
    """The largest first, in each group, without missing values unless asked."""
    df = _protected()
    ages = df.blowfish.hist("age", epsilon=10**5)
    grouped = df.blowfish.groupby("sex").hist("ill", epsilon=10**5)

    found = ages.blowfish.value_counts()

    wanted = ROWS["age"].value_counts()
    assert found["count"].tolist()[: len(wanted)] == pytest.approx(wanted.tolist())
    assert list(found.columns) == ["count", "std", "unshaped"]
    assert len(ages.blowfish.value_counts(dropna=False)) == 11
    assert ages.blowfish.value_counts(sort=False).index.tolist() == list(range(10))
    assert ages.blowfish.value_counts(ascending=True)["count"].is_monotonic_increasing
    shares = grouped.blowfish.value_counts(normalize=True)
    assert shares["proportion"].groupby(level="sex", observed=True).sum().tolist() == pytest.approx([1, 1])
    assert shares["proportion"].groupby(level="sex", observed=True).is_monotonic_decreasing.all()
    for release in (df.blowfish.hist("ill", epsilon=10**5), df.blowfish.hist(["sex", "ill"], epsilon=10**5)):
        assert release.blowfish.value_counts(normalize=True)["proportion"].sum() == pytest.approx(1)
    assert found.blowfish.interval()["high"].ge(found["count"] - 1).all()


def test_top_and_mode_are_read_off_noisy_counts():
    """As `value_counts`, cut in each group; the receipt says what they are."""
    df = _protected()
    ages = df.blowfish.cumhist("age", epsilon=10**5)
    grouped = df.blowfish.groupby("sex").hist("ill", epsilon=10**5)

    best = grouped.blowfish.top(2)

    assert best.groupby(level="sex", observed=True).size().tolist() == [2, 2]
    assert ages.blowfish.mode().index.tolist() == ROWS["age"].mode().tolist()
    pd.testing.assert_frame_equal(ages.blowfish.top(10), ages.blowfish.value_counts(), check_names=True)
    assert "noisy counts" in best.blowfish.receipt["derived"]
    assert ages.blowfish.mode().blowfish.receipt["verb"] == "mode"
    for k in (0, 11, True, "2"):
        with pytest.raises((ArgumentError, TypeError)):
            ages.blowfish.top(k)


def test_changed_tables_and_wrong_columns_are_refused():
    """By name, before anything is computed."""
    df = _protected()
    release = df.blowfish.hist(["sex", "ill"], epsilon=1)
    grouped = df.blowfish.groupby("sex").hist("ill", epsilon=1)

    for changed in (release.iloc[1:], release.iloc[::-1], release.drop(columns="std"), release.reset_index()):
        with pytest.raises(FrameError):
            changed.blowfish.marginal("sex")
        with pytest.raises(FrameError):
            changed.blowfish.value_counts()
    with pytest.raises(ArgumentError, match="no column"):
        release.blowfish.marginal("age")
    with pytest.raises(ArgumentError, match="grouped"):
        grouped.blowfish.marginal("sex")
    with pytest.raises(FrameError, match="tables of counts"):
        df.blowfish.count(epsilon=1).blowfish.value_counts()
    with pytest.raises(FrameError):
        release.blowfish.value_counts().blowfish.marginal("sex")
    with pytest.raises(ArgumentError, match="normalize"):
        release.blowfish.value_counts(normalize="yes")
    with pytest.raises(NotProtectedError):
        release.blowfish.marginal(["sex"], epsilon=1)


@pytest.mark.parametrize("ask", ["value_counts", "top", "mode", "marginal"])
def test_tables_that_are_laid_out_answer_as_long_ones(ask):
    """A crosstab, and counts that are sorted, give what the same counts in the schema's order give."""
    df = _protected()
    wide, long = (
        df.blowfish.crosstab("sex", "ill", epsilon=10**5),
        df.blowfish.hist(["sex", "ill"], epsilon=10**5),
    )
    listed, ages = df.blowfish.value_counts("age", epsilon=10**5), df.blowfish.hist("age", epsilon=10**5)
    given = {"top": [2], "marginal": ["ill"]}.get(ask, [])

    found, wanted = (getattr(own.blowfish, ask)(*given) for own in (wide, long))
    given = given if ask != "marginal" else ["age"]
    few, most = (getattr(own.blowfish, ask)(*given) for own in (listed, ages))

    pd.testing.assert_frame_equal(found[["count"]], wanted[["count"]], check_exact=False, atol=1e-3)
    assert few.index[0] == most.index[0]
    for own in (found, few):
        assert len(own.blowfish.interval()) == len(own)
        assert "layout" not in own.attrs["blowfish"]["technical"]
    assert ask != "marginal" or few.index.dropna().is_monotonic_increasing


def test_intervals_of_the_largest_hold_all_values_at_once():
    """They were picked for being large: their intervals are wider than those of values chosen before."""
    ages = _protected().blowfish.hist("age", epsilon=1)

    best = ages.blowfish.top(3)

    own, before = best.blowfish.interval(), ages.blowfish.interval().loc[best.index]
    assert (own["high"] - own["low"] > before["high"] - before["low"]).all()


@pytest.mark.parametrize("part", ["groupby", "post"])
def test_receipts_without_a_part_are_refused(part):
    """By the name of the part."""
    release = _protected().blowfish.hist("age", epsilon=1)
    del release.attrs["blowfish"][part]

    with pytest.raises(ReceiptError, match=f"`{part}` is missing"):
        release.blowfish.mode() if part == "groupby" else release.blowfish.range([(1, 3)])
