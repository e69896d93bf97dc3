"""What a charge must satisfy besides the budget holds over entries and processes."""

import subprocess
import sys
from fractions import Fraction

import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.books import log as chain
from pandas_blowfish.books.ledger import Ledger
from pandas_blowfish.errors import InsufficientBudgetError, LedgerTamperedError, OnceError
from pandas_blowfish.policy.domain import Domain, integers

SPEND = """
import sys
from fractions import Fraction
from pandas_blowfish.errors import OnceError
from pandas_blowfish.books.ledger import Ledger
for _ in range(5):
    try:
        print(Ledger(sys.argv[1]).charge("d", Fraction(1), {"query": "q"}, rule=sys.argv[2])[0].id)
    except OnceError:
        pass
"""


def test_each_rule_refuses_what_it_must():
    """And says so before anything is written; what is free is no release."""
    ledger = Ledger()
    ledger.bind("d", Fraction(3), {})
    body = {"query": "q"}

    ledger.charge("d", Fraction(0), body, rule="once")
    ledger.charge("d", Fraction(1), body, rule="once")
    with pytest.raises(OnceError, match="one release"):
        ledger.charge("d", Fraction(1), body, rule="once")
    ledger.charge("d", Fraction(1), body)
    ledger.charge("d", Fraction(0), body, rule="once")
    with pytest.raises(InsufficientBudgetError):
        ledger.charge("d", Fraction(4), body, rule="apart")
    entry, budget = ledger.charge("d", Fraction(3), body, rule="apart")
    with pytest.raises(OnceError, match="weaker guarantee"):
        ledger.charge("d", Fraction(1), body, rule="apart")

    assert budget.spent == 2
    assert "beside" not in entry.body
    assert ledger.charge("d", Fraction(1), body)[0].body["beside"] == entry.id
    assert ledger.budget("d").remaining == 0
    assert list(ledger.entries["kind"]) == ["open", *["charge"] * 4, "apart", "charge"]
    assert ledger.verify()


@pytest.mark.parametrize("rule", ["apart", "once"])
def test_rules_hold_over_processes(rule, tmp_path):
    """Of processes that ask at once as many are let through as the rule allows."""
    path = tmp_path / "budget.db"
    Ledger(path).bind("d", Fraction(100), {})
    asking = [
        subprocess.Popen([sys.executable, "-c", SPEND, str(path), rule], stdout=subprocess.PIPE)
        for _ in range(3)
    ]

    granted = [number for each in asking for number in each.communicate()[0].split()]

    assert len(granted) == 1
    assert not any(each.returncode for each in asking)
    assert Ledger(path).verify()


@pytest.mark.parametrize(("kind", "epsilon"), [("apart", "1"), ("apart", "4"), ("charge", "0")])
def test_a_forged_entry_does_not_follow(kind, epsilon):
    """A second release apart, one beyond the total, or one that claims to be spent: `verify` says so."""
    ledger = Ledger()
    ledger.bind("d", Fraction(3), {})
    if epsilon != "4":
        ledger.charge("d", Fraction(1), {"query": "q"}, rule="apart")
    spent = Fraction(1) if kind == "charge" else Fraction(0)
    with chain.transaction(ledger.location, "IMMEDIATE") as connection:
        stated = {"total": Fraction(3), "spent": spent, "closed": None, "facts": 0}
        chain.append(connection, "d", kind, {"query": "q", "epsilon": Fraction(epsilon), **stated})

    with pytest.raises(LedgerTamperedError, match="do not follow"):
        ledger.verify()


def test_a_secret_total_is_released_once():
    """Through the accessor: the second is refused, whatever it asks; a name finds the first again."""
    domain = Domain((integers("sales", 0, 9),))
    policy = bf.Policy(domain, aggregates=[bf.Aggregate("sales.sum()", delta=5)])
    rows = bf.protect(pd.DataFrame({"sales": [1, 2, 3]}), policy, epsilon=3)

    first = rows.sum("sales", epsilon=1, name="total")

    for again in (lambda: rows.sum("sales", epsilon=1), lambda: rows.mean("sales", epsilon="1/2")):
        with pytest.raises(OnceError, match="one release"):
            again()
    assert rows.sum("sales", epsilon=1, name="total").equals(first)
    assert rows.budget.spent == 1
