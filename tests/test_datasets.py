"""The bundled tables are the same everywhere and fit their policies."""

import hashlib
import io

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf


@pytest.mark.parametrize("rows", [0, 1, 20_000])
def test_patients_fit_their_policy(rows):
    """Every row lies in the declared domain, whatever the size."""
    frame, policy = bf.datasets.patients(rows), bf.datasets.patients_policy()

    table = bf.check(frame, policy)

    assert len(frame) == rows
    assert (table["status"] == "ok").all()
    assert list(frame.columns) == list(policy.domain.columns)


def test_patients_are_computed_not_drawn():
    """Two calls agree, and a shorter table is the beginning of a longer one."""
    first, again = bf.datasets.patients(500), bf.datasets.patients(500)

    pd.testing.assert_frame_equal(first, again)
    pd.testing.assert_frame_equal(bf.datasets.patients(100), first[:100])


def test_patients_look_like_people():
    """Every declared category occurs, and ages spread over the range."""
    frame = bf.datasets.patients()

    assert frame["age"].between(0, 99).all()
    assert frame["age"].nunique() > 90
    assert frame["disease"].nunique() == 6
    assert set(frame["region"]) == set(bf.datasets.REGIONS)
    assert (frame.loc[frame["age"] < 18, "income"] == 0).all()


TABLES = ["patients", "salaries", "tweets", "admissions", "shoppers", "losses", "visits"]
BESIDE = {"visits": ["patient"]}  # columns that name who a row is about


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("rows", [0, 1, 777, None])
def test_tables_fit_their_policies(name, rows):
    """Every row of every table lies in its declared domain, whatever the size."""
    make = getattr(bf.datasets, name)
    frame, policy = make() if rows is None else make(rows), getattr(bf.datasets, f"{name}_policy")()

    table = bf.check(frame, policy)

    assert rows is None or len(frame) == rows
    assert (table["status"] == "ok").all()
    assert list(frame.columns) == [*BESIDE.get(name, []), *policy.domain.columns]


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_computed_not_drawn(name):
    """Two calls agree, and a shorter table is the beginning of a longer one."""
    make = getattr(bf.datasets, name)

    pd.testing.assert_frame_equal(make(400), make(400))
    pd.testing.assert_frame_equal(make(90), make(400)[:90])


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("patients", "6393a9c305272987"),
        ("salaries", "a82b7c84dac409a8"),
        ("tweets", "8dc6984f50285835"),
        ("admissions", "86bbf66c5df96acc"),
        ("shoppers", "3fb7861c91576754"),
        ("losses", "bf8e32db88d11f88"),
        ("visits", "6ae73636857dba9d"),
    ],
)
def test_tables_are_the_same_on_every_machine(name, digest):
    """The numbers of a table are those of the day it was written: notebooks and documents quote them."""
    text = getattr(bf.datasets, name)(2_000).to_csv(index=False, lineterminator="\n")

    assert hashlib.sha256(text.encode()).hexdigest()[:16] == digest


def test_messy_csv_is_messy():
    """Every kind of trouble occurs, two calls agree, and a few lines of pandas mend all of it."""
    text = bf.datasets.messy_csv()
    survey = pd.read_csv(io.StringIO(text))

    assert text == bf.datasets.messy_csv()
    assert len(survey) == 4_000
    assert survey["person"].is_unique
    assert [pd.api.types.is_numeric_dtype(dtype) for dtype in survey.dtypes] == [
        False,
        False,
        True,
        *[False] * 3,
    ]
    for name, stray in {
        "age": ["34 years", " 18", "999", "-1", "unknown"],
        "weight": ["?", "0"],
        "smoker": ["yes", "Yes", "y", "Y", "no", "No", "n", "N", "refused"],
        "ward": ["A ", "a", "C"],
    }.items():
        assert set(stray) <= set(survey[name]), name
    assert survey["weight"].str.contains(",").any()
    assert survey["weight"].str.contains(" kg").any()
    assert (survey["visits"] == 99).any()
    assert pd.read_csv(io.StringIO(bf.datasets.messy_csv(0))).empty


def test_tables_have_the_shape_their_stories_need():
    """Towns are dense, the board is small and well paid, habits are apart, nearly all losses are 0."""
    pay, places = bf.datasets.salaries(), bf.datasets.tweets()
    board = pay["department"] == "board"
    shoppers = bf.datasets.shoppers()

    assert 0.01 < board.mean() < 0.05
    assert pay.loc[board, "salary"].median() > 2 * pay["salary"].median()
    for share, lat, lon, spread in list(bf.datasets.TOWNS.values())[:-1]:
        near = np.hypot(places["lat"] - lat, (places["lon"] - lon) / 1.45) < 2.5 * spread
        assert near.mean() > 0.85 * share
    assert np.corrcoef(places["lat"].rank(), places["hour"].rank())[0, 1] < 0.1
    assert shoppers.loc[shoppers["spend"] > 150, "visits"].max() < 15
    assert (bf.datasets.losses()["loss"] == 0).mean() > 0.95
    assert bf.datasets.admissions()["day"].value_counts().idxmax() in range(20, 40)


def test_visits_are_several_per_patient():
    """At most three a day, which the policy takes; some come on several days, all rows are in one region."""
    frame = bf.datasets.visits()
    people = frame.groupby("patient")

    assert frame.groupby(["patient", "day"]).size().max() == bf.datasets.visits_policy().max_rows
    assert people.size().max() > 9
    assert (people["day"].nunique() > 1).mean() > 0.1
    assert (people[["region", "age"]].nunique() == 1).all(axis=None)
    assert frame["day"].value_counts().min() > 2_500


def test_losses_policy_without_a_threshold_is_full():
    """None is differential privacy."""
    assert bf.datasets.losses_policy(None).distance({"loss": 0}, {"loss": 4_356}) == 1
    assert bf.datasets.losses_policy(100).distance({"loss": 0}, {"loss": 4_356}) == 44
