"""count: the number of rows is exact and free while it is public."""

import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import NameTakenError, StaleFrameError
from pandas_blowfish.policy.domain import Domain, integers

DOMAIN = Domain((integers("x", 0, 9),))


@pytest.mark.parametrize("rows", [0, 1, 12_345])
def test_the_row_count_is_free(rows):
    """One row, `count` and `std`, no charge, a receipt."""
    df = pd.DataFrame({"x": [3] * rows}).blowfish.protect(bf.Policy(DOMAIN), epsilon=1)

    released = df.blowfish.count(epsilon="1/2")

    assert released.to_numpy().tolist() == [[rows, 0.0, rows]]
    assert released.dtypes.tolist() == ["float64"] * 3
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


def test_secret_presence_makes_the_count_noisy():
    """Whether a row is there changes the count by 1, and costs; a histogram has no exact total then."""
    df = pd.DataFrame({"x": [1, 2, 3]}).blowfish.protect(bf.Policy(DOMAIN, presence=True), epsilon=2)

    released = df.blowfish.count(epsilon=1)
    plan = df.blowfish.plan.hist("x", epsilon=1, strategy="identity")

    assert released["std"].iloc[0] > 0
    assert released.blowfish.receipt["sensitivity"] == "1"
    assert df.blowfish.budget.spent == 1
    assert plan.sensitivity == 2
    assert plan.matrix().shape == (10, 10)
    assert all(scale == 2 for scale in plan.scales)


def test_public_values_are_noisy_while_presence_is_secret():
    """`public` fixes a row's value, not its being there: one bin changes by 1."""
    policy = bf.Policy(DOMAIN, secrets={"x": bf.public()}, presence=True)

    plan = policy.plan.hist("x", epsilon="1/2")

    assert plan.sensitivity == 1
    assert set(plan.scales) == {2}
    assert plan.privacy_loss() == plan.cost == plan.epsilon
    assert policy.plan.where("x > 8").count().sensitivity == 1


def test_counts_of_a_filter_and_by_groups():
    """A count is one row; by groups, one a group; the filter's columns are no index."""
    domain = Domain((*DOMAIN, integers("y", 0, 1)))
    policy = bf.Policy(domain, secrets={"y": bf.public()})
    df = pd.DataFrame({"x": [1, 2, 3, 4], "y": [0, 0, 0, 1]}).blowfish.protect(policy, epsilon=3)

    free = df.blowfish.groupby("y").count(epsilon=1)
    some = df.blowfish.where("x > 2").count(epsilon=1)
    both = df.blowfish.where("x > 2").groupby("y").count(epsilon=1)

    assert free["count"].tolist() == [3, 1]
    assert free["std"].tolist() == [0, 0]
    assert free.index.name == "y"
    assert len(some) == 1
    assert some["std"].iloc[0] > 0
    assert both["std"].gt(0).all()
    assert df.blowfish.budget.spent == 2
