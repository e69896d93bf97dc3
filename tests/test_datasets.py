"""The bundled table is the same everywhere and fits its policy."""

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
