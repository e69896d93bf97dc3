"""count: the number of rows is exact and free while it is public."""

import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import NameTakenError, StaleFrameError, UnsupportedPolicyError
from pandas_blowfish.policy.domain import Domain, integers

DOMAIN = Domain((integers("x", 0, 9),))


@pytest.mark.parametrize("rows", [0, 1, 12_345])
def test_the_row_count_is_free(rows):
    """One row, `count` and `std`, no charge, a receipt."""
    df = pd.DataFrame({"x": [3] * rows}).blowfish.protect(bf.Policy(DOMAIN), epsilon=1)

    released = df.blowfish.count(epsilon="1/2")

    assert released.to_numpy().tolist() == [[rows, 0.0]]
    assert released.dtypes.tolist() == ["float64", "float64"]
    assert released.blowfish.receipt["query"].startswith("count(")
    assert df.blowfish.budget.spent == 0


def test_counts_are_of_the_sealed_rows():
    """Rows added or taken away are noticed, whatever columns were read."""
    df = pd.DataFrame({"x": [1, 2, 3]}).blowfish.protect(bf.Policy(DOMAIN), epsilon=1)

    for changed in (df[:2], pd.concat([df, df])):
        with pytest.raises(StaleFrameError):
            changed.blowfish.count(epsilon=1)


def test_names_of_counts():
    """A name keeps a count too, and keeps a histogram out."""
    df = pd.DataFrame({"x": [1, 2, 3]}).blowfish.protect(bf.Policy(DOMAIN), epsilon=1)
    first = df.blowfish.count(epsilon=1, name="rows")

    again = df.blowfish.count(epsilon=1, name="rows")

    assert again.attrs == first.attrs
    with pytest.raises(NameTakenError):
        df.blowfish.hist("x", epsilon=1, name="rows")
    assert df.blowfish.budget.spent == 0


def test_secret_presence_is_refused_for_now():
    """A policy that hides who is there is not priced yet: refused, not approximated."""
    df = pd.DataFrame({"x": [1, 2, 3]}).blowfish.protect(bf.Policy(DOMAIN, presence=True), epsilon=1)

    with pytest.raises(UnsupportedPolicyError):
        df.blowfish.count(epsilon=1)
    with pytest.raises(UnsupportedPolicyError):
        df.blowfish.hist("x", epsilon=1)

    assert df.blowfish.budget.spent == 0
