"""assign: by centres as they were returned, by some of them, and by those back from any kind of file."""

import json

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import FrameError, NotReleasedError
from pandas_blowfish.policy.domain import Domain, from_dict, integers

DOMAIN = Domain(
    (
        integers("x", 0, 99),
        from_dict("y", {"type": "float", "min": 0, "max": 10, "step": "0.1", "nullable": True}),
        from_dict("sex", {"type": "category", "values": ["F", "M"]}),
        from_dict("codes", {"type": "category", "values": ["1", "02"]}),
        from_dict("real", {"type": "float", "min": 0, "max": "0.3", "step": "0.1"}),
        from_dict("bins", {"type": "integer", "min": 0, "max": 9, "step": 5, "nullable": True}),
        from_dict("year", {"type": "integer", "min": 2020, "max": 2022, "nullable": True}),
        from_dict("day", {"type": "datetime", "min": "2024-01-01", "max": "2024-01-04", "step": "2D"}),
        from_dict("flag", {"type": "bool"}),
    )
)
GROUPS = ["sex", "codes", "real", "bins", "year", "day", "flag"]


@pytest.fixture(scope="module")
def rows():
    """Return made-up rows, some values missing."""
    draw, n = np.random.default_rng(1), 600
    return pd.DataFrame(
        {
            "x": draw.integers(0, 100, n),
            "y": np.where(draw.random(n) < 0.9, draw.random(n) * 10, np.nan),
            "sex": draw.choice(["F", "M"], n),
            "codes": draw.choice(["1", "02"], n),
            "real": draw.choice([0.05, 0.1, 0.29, 0.3], n),
            "bins": pd.array(np.where(draw.random(n) < 0.9, draw.integers(0, 10, n), -1), "Int64"),
            "year": pd.array(draw.integers(2020, 2023, n), "Int64"),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(draw.integers(0, 72, n), unit="h"),
            "flag": draw.random(n) < 0.5,
        }
    ).assign(bins=lambda frame: frame["bins"].mask(frame["bins"] < 0))


@pytest.fixture(scope="module")
def df(rows):
    """Return them protected."""
    return rows.blowfish.protect(bf.Policy(DOMAIN), epsilon=10**4)


def _slowly(centres, rows):
    """Return the nearest centre of each row, one by one."""
    units, found = centres.attrs["blowfish"]["technical"]["column_units"], []
    places = centres[["x", "y"]].to_numpy() * units
    for x, y in rows[["x", "y"]].to_numpy():
        far = ((places - np.array([x, y]) * units) ** 2).sum(axis=1)
        found.append(pd.NA if np.isnan(y) else int(centres.index[far.argmin()]))
    return pd.Series(pd.array(found, "Int64"), name="cluster", index=rows.index)


def test_protected_and_plain_rows_alike(df, rows):
    """The nearest centre by the release's units, for nothing, and nothing is attached to the answer."""
    centres = df.blowfish.kmeans(["x", "y"], 4, epsilon=5)
    spent = df.blowfish.budget.spent

    found = centres.blowfish.assign(df)

    assert found.equals(_slowly(centres, rows))
    assert found.equals(centres.blowfish.assign(rows))
    assert found.attrs == {}
    assert df.blowfish.budget.spent == spent
    assert found.isna().sum() == rows["y"].isna().sum()
    assert df.assign(cluster=found).groupby("cluster")["x"].mean().between(0, 99).all()


def test_some_of_the_centres(df, rows):
    """Rows go to those that are left, by their own numbers, in whatever order they are."""
    centres = df.blowfish.kmeans(["x", "y"], 5, epsilon=5)
    some = centres.iloc[[4, 1, 2]]

    assert some.blowfish.assign(rows).equals(_slowly(centres.iloc[[1, 2, 4]], rows))
    assert set(some.blowfish.assign(rows).dropna()) == {1, 2, 4}
    assert set(centres.tail(1).blowfish.assign(rows).dropna()) == {4}
    assert centres[["x", "y"]].blowfish.assign(rows).equals(centres.blowfish.assign(rows))


@pytest.mark.parametrize(
    ("groups", "bins"),
    [
        *(([name], None) for name in GROUPS),
        (["sex", "bins"], None),
        (["day", "flag"], None),
        (["bins"], {"bins": 2}),
        (["sex", "day"], {"day": 2}),
    ],
)
def test_groups_and_files(groups, bins, df, rows, tmp_path):
    """Each row goes to its own group's centres, also of those that come back from Parquet, CSV or Excel."""
    centres = df.blowfish.groupby(groups, bins=bins).kmeans(["x", "y"], 2, epsilon=5)
    receipt = centres.attrs["blowfish"]

    found = centres.blowfish.assign(rows)

    levels = groups if len(groups) > 1 else groups[0]
    for labels, own in centres.groupby(level=levels, dropna=False, observed=True):
        labels = labels if len(groups) > 1 else [labels]
        inside = np.ones(len(rows), dtype=bool)
        for name, label in zip(groups, labels, strict=True):
            inside &= rows[name].map(lambda value, label=label: _is(value, label)).to_numpy(dtype=bool)
        wanted = _slowly(own.droplevel(groups), rows[inside])
        assert found[inside].equals(wanted)
    bf.save(centres, tmp_path / "c.parquet")
    assert pd.read_parquet(tmp_path / "c.parquet").blowfish.assign(rows).equals(found)
    text, beside = bf.save(centres, tmp_path / "c.csv")
    for read in (pd.read_csv(text), pd.read_csv(text, index_col=[*groups, "cluster"])):
        read.attrs["blowfish"] = json.loads(beside.read_text())
        assert read.blowfish.assign(rows).equals(found)
    (book,) = bf.save(centres, tmp_path / "c.xlsx")
    sheet = pd.read_excel(book)
    sheet.attrs["blowfish"] = receipt
    assert sheet.blowfish.assign(rows).equals(found)


def _is(value, label):
    """Tell whether a value is in the group of a label."""
    if pd.isna(label) if pd.api.types.is_scalar(label) else False:
        return pd.isna(value)
    return not pd.isna(value) and (value in label if isinstance(label, pd.Interval) else value == label)


def test_equally_near_centres(df, rows):
    """The one of the least number is taken, in whatever order they are."""
    centres = df.blowfish.kmeans(["x", "y"], 3, epsilon=5).assign(x=50.0, y=5.0)

    assert set(centres.iloc[::-1].blowfish.assign(rows).dropna()) == {0}


def test_one_group_taken_out(df, rows):
    """Its centres are centres for all rows; a group without centres has none."""
    centres = df.blowfish.groupby("sex").kmeans(["x", "y"], 2, epsilon=5)
    women = centres.loc["F"]

    assert women.blowfish.assign(rows).equals(_slowly(women, rows))
    only = centres.loc[["F"]].blowfish.assign(rows)
    assert only[rows["sex"] == "M"].isna().all()
    assert only[rows["sex"] == "F"].equals(women.blowfish.assign(rows[rows["sex"] == "F"]))
    with pytest.raises(FrameError, match="one number"):
        centres.droplevel("sex").blowfish.assign(rows)
    with pytest.raises(FrameError, match="sex"):
        centres.blowfish.assign(rows.drop(columns="sex"))


def test_clipped_groups(rows):
    """Where values beyond the bounds were counted in the last bins, they are assigned there too."""
    frame = rows.assign(bins=rows["bins"].fillna(0) + 3)
    df = frame.blowfish.protect(bf.Policy(DOMAIN), epsilon=10, outside="clip")

    found = df.blowfish.groupby("bins").kmeans("x", 2, epsilon=5).blowfish.assign(df)

    assert found.notna().all()


def test_other_frames_have_no_centres(df, rows):
    """Not rows, not other releases, not a release whose attrs are gone."""
    centres = df.blowfish.kmeans(["x", "y"], 2, epsilon=5)

    for wrong in (rows, df, centres.copy().pipe(lambda each: pd.DataFrame(each.to_dict("list")))):
        with pytest.raises(NotReleasedError):
            wrong.blowfish.assign(rows)
    with pytest.raises(FrameError, match="only a kmeans"):
        df.blowfish.hist("sex", epsilon=1).blowfish.assign(rows)
    for wrong in (None, rows["x"], "rows"):
        with pytest.raises(FrameError, match="not a pandas DataFrame"):
            centres.blowfish.assign(wrong)


EDITS = {
    "NaN": lambda c: c.assign(x=np.nan),
    "infinite": lambda c: c.assign(y=np.inf),
    "NA": lambda c: c.assign(x=pd.array([1, None], dtype="Int64")),
    "text": lambda c: c.assign(x="a"),
    "no column": lambda c: c.drop(columns="y"),
    "no rows": lambda c: c.head(0),
    "no numbers": lambda c: c.reset_index(drop=True),
    "names": lambda c: c.rename(index={0: "young", 1: "old"}),
    "halves": lambda c: c.set_index(pd.Index([0.5, 1.0], name="cluster")),
    "twice": lambda c: c.rename(index={1: 0}),
    "column twice": lambda c: pd.concat([c, c[["x"]]], axis=1),
}


@pytest.mark.parametrize("edit", EDITS)
def test_edited_centres(edit, df, rows):
    """What is no centre with a number any more is refused."""
    centres = df.blowfish.kmeans(["x", "y"], 2, epsilon=5)
    edited = EDITS[edit](centres)
    edited.attrs = dict(centres.attrs)

    with pytest.raises(FrameError):
        edited.blowfish.assign(rows)


def test_groups_that_were_not_released(df, rows):
    """A group that the policy does not declare picks no rows."""
    centres = df.blowfish.groupby("sex").kmeans(["x", "y"], 2, epsilon=5)
    other = centres.rename(index={"F": "X"}, level="sex")

    with pytest.raises(FrameError, match="groups of 'sex'"):
        other.blowfish.assign(rows)
