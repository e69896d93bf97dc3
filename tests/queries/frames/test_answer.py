"""From a plan to a released frame: shaped or raw, with a receipt that follows the ledger."""

import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, NameTakenError
from pandas_blowfish.facts.move_bound import MoveBound
from pandas_blowfish.policy.domain import Domain, integers
from pandas_blowfish.queries.frames.answer import answer
from pandas_blowfish.queries.frames.protect import open_frame

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
    source = open_frame(df.attrs["blowfish"])
    plan = POLICY.plan.hist("x", epsilon="1/4")

    with pytest.raises(ArgumentError):
        answer(plan, df, source, **{"post": True, "name": None, **arguments})

    assert df.blowfish.budget.spent == 0


@pytest.mark.parametrize("strategy", ["auto", "identity", "ordered", "hierarchical"])
def test_a_stored_answer_outlives_a_fact(strategy):
    """What was measured before a fact is read by the policy of that time, free; anew it has the new noise."""
    rows = pd.DataFrame({"x": [0, 1, 1, 4], "y": [0, 0, 1, 1]})
    policy = bf.Policy(Domain((integers("x", 0, 4), integers("y", 0, 1))), secrets={"x": bf.threshold(1)})
    df = rows.blowfish.protect(policy, epsilon=999, ledger=bf.Ledger(), dataset="rows")
    first = df.blowfish.hist("x", epsilon=1, strategy=strategy, name="kept")
    book, spent = df.blowfish.ledger, df.blowfish.budget.spent

    book.record_exact("rows", bf.Marginal("y"))
    again = df.blowfish.hist("x", epsilon=1, strategy=strategy, name="kept")
    assert df.blowfish.budget.spent > spent == 1  # the fact made it dearer, reading it again did not
    kinds = book.entries["kind"].tolist()
    anew = df.blowfish.hist("x", epsilon=1, strategy=strategy, name="anew")

    pd.testing.assert_frame_equal(first, again)
    assert again.attrs == first.attrs
    assert again.blowfish.receipt["policy"] == policy.fingerprint
    assert kinds == ["open", "charge", "answer", "fact"]
    assert anew.blowfish.receipt["policy"] == df.blowfish.policy.fingerprint != policy.fingerprint
    assert float(anew["std"].max()) > float(first["std"].max())
    assert book.verify(dict(first.attrs["blowfish"]))
    pd.testing.assert_frame_equal(df.blowfish.hist("x", epsilon=1, strategy=strategy, name="anew"), anew)
    with pytest.raises(NameTakenError):
        df.blowfish.hist("x", epsilon=2, strategy=strategy, name="kept")


def test_every_verb_rereads_its_answers():
    """Sums, tables, ranges and quantiles of before a fact come back as they were."""
    rows = pd.DataFrame({"x": [0, 1, 1, 4], "y": [0, 0, 1, 1]})
    policy = bf.Policy(Domain((integers("x", 0, 4), integers("y", 0, 1))), secrets={"x": bf.threshold(1)})
    df = rows.blowfish.protect(policy, epsilon=10**9, ledger=bf.Ledger(), dataset="rows")
    verbs = {
        "sum": lambda own: own.sum("x", epsilon=1, name="sum"),
        "mean": lambda own: own.mean("x", epsilon=1, name="mean"),
        "count": lambda own: own.where("x > 1").count(epsilon=1, name="count"),
        "quantile": lambda own: own.quantile("x", 0.5, epsilon=1, name="quantile"),
        "range": lambda own: own.range(["x", "y"], [((0, 2), (1, 1))], epsilon=1, name="range"),
        "marginal": lambda own: own.marginal(["x", "y"], epsilon=1, name="marginal"),
        "workload": lambda own: own.groupby("y").workload([[1, 2, 0, 0, 1]], "x", epsilon=1, name="workload"),
    }
    before = {name: ask(df.blowfish) for name, ask in verbs.items()}
    for fact in (bf.Count("x == 0", answer=1), bf.Marginal("y", answer=[2, 2])):
        df.blowfish.ledger.record_exact("rows", fact)

    for name, ask in verbs.items():
        pd.testing.assert_frame_equal(ask(df.blowfish), before[name])
    assert df.blowfish.ledger.entries["kind"].tolist().count("charge") == len(verbs)


def test_a_stored_answer_outlives_a_better_bound(monkeypatch):
    """It was measured with more noise than the same question has by now, and is read by that."""
    domain = Domain((integers("x", 0, 3), integers("y", 0, 4)))
    policy = bf.Policy(domain, constraints=[bf.Marginal("x"), bf.Marginal("y")])
    rows = pd.DataFrame({"x": [0, 1, 2, 3] * 5, "y": [0, 1, 2, 3, 4] * 4})
    frame = rows.blowfish.protect(policy, epsilon=2, dataset="bounds", ledger=bf.Ledger())

    with monkeypatch.context() as before:
        before.setattr(MoveBound, "cap", lambda bound, rows: bound)
        first = frame.blowfish.hist(["x", "y"], epsilon=1, name="kept")
    again, anew = (frame.blowfish.hist(["x", "y"], epsilon=1, name=name) for name in ("kept", "new"))

    assert first.equals(again)
    assert first.attrs["blowfish"]["scale"] == again.attrs["blowfish"]["scale"] == "148955"
    assert anew.attrs["blowfish"]["sensitivity"] == "40"
    assert frame.blowfish.budget.spent == 2
