"""From a plan to a released frame: shaped or raw, with a receipt that follows the ledger."""

import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.policy.domain import Domain, integers
from pandas_blowfish.queries.answer import answer
from pandas_blowfish.queries.protect import opened

POLICY = bf.Policy(Domain((integers("x", 0, 4),)), secrets={"x": bf.threshold(1)})


def _protected():
    return pd.DataFrame({"x": [0, 1, 1, 4]}).blowfish.protect(POLICY, epsilon=1, ledger=bf.Ledger())


def test_receipts_follow_the_ledger():
    """spent, remaining, entry and hash are those of the charge, release after release."""
    df = _protected()

    receipts = [df.blowfish.hist("x", epsilon="1/4").blowfish.receipt for _ in range(3)]

    assert [receipt["spent"] for receipt in receipts] == ["1/4", "1/2", "3/4"]
    assert [receipt["remaining"] for receipt in receipts] == ["3/4", "1/2", "1/4"]
    assert [receipt["hash"] for receipt in receipts] == df.blowfish.ledger.entries["hash"].tolist()[1:]
    assert all(df.blowfish.ledger.verify(receipt) for receipt in receipts)


@pytest.mark.parametrize(
    "arguments", [{"post": 1}, {"post": None}, {"name": ""}, {"name": 3}, {"name": "\ud800"}], ids=repr
)
def test_wrong_arguments_are_refused_before_the_charge(arguments):
    """post is True or False, a name is text."""
    df = _protected()
    source = opened(df.attrs["blowfish"])
    plan = POLICY.plan.hist("x", epsilon="1/4")

    with pytest.raises(ArgumentError):
        answer(plan, df, source, **{"post": True, "name": None, **arguments})

    assert df.blowfish.budget.spent == 0
