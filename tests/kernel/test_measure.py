"""Charge first, count then: the one function through which rows become a release."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.books import log as module_chain
from pandas_blowfish.books.ledger import Ledger
from pandas_blowfish.errors import (
    FactsChangedError,
    InsufficientBudgetError,
    NameTakenError,
    PolicyMismatchError,
    ScaleError,
    StaleFrameError,
    TestNoiseError,
)
from pandas_blowfish.kernel import measure as module
from pandas_blowfish.kernel.measure import measure
from pandas_blowfish.plan.scales import variance
from pandas_blowfish.policy.domain import Domain, integers
from pandas_blowfish.queries.frames.protect import open_frame

POLICY = bf.Policy(Domain((integers("x", 0, 9), integers("y", 0, 3))), secrets={"x": bf.partition(5)})
FRAME = pd.DataFrame({"x": [0, 1, 1, 7, 7, 7, 9], "y": [0, 1, 2, 3, 3, 2, 1]})
TRUTH = np.bincount(FRAME["x"], minlength=10)


def _protected(epsilon=1, **places):
    return FRAME.blowfish.protect(POLICY, epsilon=epsilon, **places)


def _measure(df, columns="x", epsilon=1, name=None):
    source = open_frame(df.attrs["blowfish"])
    plan = source.policy.plan.hist(columns, epsilon=epsilon, strategy="identity")
    facts = {"query": {**plan.query, "epsilon": str(plan.epsilon)}}
    return measure(plan, df, source.ledger, source.dataset, facts, name=name)


def _state(df):
    return df.blowfish.budget, df.blowfish.ledger.entries["hash"].tolist()


def test_charge_comes_before_rows(monkeypatch):
    """If counting fails the charge is already on the record: budget can be wasted, never refunded."""
    df = _protected()

    def crash(*_, **__):
        raise RuntimeError("the machine stops here")

    monkeypatch.setattr(module, "count_cells", crash)
    with pytest.raises(RuntimeError, match="stops here"):
        df.blowfish.hist("x", epsilon="1/4", name="kept")

    assert df.blowfish.budget.spent == Fraction(1, 4)
    assert df.blowfish.ledger.entries["epsilon"].tolist()[-1] == Fraction(1, 4)
    monkeypatch.undo()
    assert df.blowfish.hist("x", epsilon="1/4", name="kept").blowfish.receipt["spent"] == "1/2"


def test_order_of_operations(monkeypatch):
    """Seal, charge, count, noise, store: in this order and each once."""
    df, events = _protected(), []

    def watch(target, attribute, label):
        original = getattr(target, attribute)

        def watched(*args, **kwargs):
            events.append(label)
            return original(*args, **kwargs)

        monkeypatch.setattr(target, attribute, watched)

    watch(module, "find_change", "seal")
    watch(Ledger, "charge", "charge")
    watch(module, "count_cells", "count")
    watch(module, "discrete_laplace", "noise")
    watch(Ledger, "store", "store")
    df.blowfish.hist("x", epsilon="1/4", name="kept", strategy="identity")

    assert events == ["seal", "charge", "count", "noise", "store"]


def test_what_is_counted_is_what_was_checked(monkeypatch):
    """Rows that change after the seal was checked are counted as they were sealed."""
    values = FRAME["x"].to_numpy().copy()
    frame = pd.DataFrame({"x": values, "y": FRAME["y"]}, copy=False)
    df = frame.blowfish.protect(POLICY, epsilon=10_000)
    real, changed = Ledger.charge, []

    def charge(*given, **named):
        changed.append(values.copy())
        values[:] = 0
        return real(*given, **named)

    assert np.shares_memory(df["x"].to_numpy(), values)
    monkeypatch.setattr(Ledger, "charge", charge)
    found = df.blowfish.hist("x", epsilon=5_000)

    assert len(changed) == 1
    assert found["count"].round().tolist() == TRUTH.tolist()
    with pytest.raises(StaleFrameError):
        df.blowfish.hist("x", epsilon="1/4")


def test_a_failed_charge_reads_no_row(monkeypatch):
    """Without budget nothing is counted."""
    df = _protected()
    before = _state(df)
    monkeypatch.setattr(module, "count_cells", lambda *_, **__: pytest.fail("rows were counted"))

    with pytest.raises(InsufficientBudgetError) as caught:
        df.blowfish.hist("x", epsilon=2)

    assert (caught.value.requested, caught.value.remaining, caught.value.total) == (2, 1, 1)
    assert _state(df) == before


def test_stale_rows_and_large_scales_charge_nothing(monkeypatch):
    """What is refused is refused before the charge."""
    df = _protected()
    before = _state(df)
    monkeypatch.setattr(module, "count_cells", lambda *_, **__: pytest.fail("rows were counted"))

    with pytest.raises(StaleFrameError):
        df.iloc[:-1].blowfish.hist("x", epsilon="1/4")
    with pytest.raises(StaleFrameError):
        df.assign(x=0).blowfish.hist("x", epsilon="1/4")
    with pytest.raises(ScaleError):
        df.blowfish.hist("x", epsilon="1e-30")

    assert _state(df) == before


def test_only_the_columns_read_are_checked():
    """A column the release does not look at may have changed: its answer could not."""
    df = _protected().assign(y=0)

    assert len(df.blowfish.hist("x", epsilon="1/4")) == 10
    with pytest.raises(StaleFrameError, match="'y'"):
        df.blowfish.hist(["x", "y"], epsilon="1/4")


def test_noise_is_added_to_noisy_rows_only():
    """Bins get noise of the plan's scale, exact totals get none."""
    df = _protected(epsilon=10_000)

    drawn = np.array([_measure(df, epsilon="1/2").values for _ in range(400)])

    noise = drawn[:, :10] - TRUTH
    assert (drawn[:, 10:] == [3, 4]).all()
    assert (noise != 0).mean() > 0.7
    assert abs(noise.mean()) < 0.6
    plan = df.blowfish.plan.hist("x", epsilon="1/2", strategy="identity")
    assert noise.std() == pytest.approx(variance(plan.scale) ** 0.5, rel=0.1)
    assert (np.abs(np.corrcoef(noise.T) - np.eye(10)) < 0.3).all()


def test_large_epsilon_shows_the_counts():
    """With next to no noise the answers are the counts, so nothing else is done to them."""
    df = _protected(epsilon=10**6)

    assert _measure(df, epsilon=1000).values[:10].tolist() == TRUTH.tolist()


def test_no_noise_where_no_edge_leads():
    """An answer of sensitivity 0 is exact, costs nothing and is still recorded."""
    public = bf.Policy(POLICY.domain, secrets={"x": bf.public(), "y": bf.public()})
    df = FRAME.blowfish.protect(public, epsilon=1, ledger=bf.Ledger())

    answer = df.blowfish.hist("x", epsilon="1/2")

    assert answer["count"].tolist() == TRUTH.tolist()
    assert (answer["std"] == 0).all()
    assert df.blowfish.budget.spent == 0
    assert len(df.blowfish.ledger.entries) == 2


def test_a_name_is_answered_once():
    """The same query under the same name is read back, not measured and not charged again."""
    df = _protected()

    first = _measure(df, epsilon="1/2", name="ages")
    again = _measure(df, epsilon="1/2", name="ages")

    assert again.values.tolist() == first.values.tolist()
    assert again.entry == first.entry
    assert again.budget == first.budget
    assert df.blowfish.budget.spent == Fraction(1, 2)


@pytest.mark.parametrize("other", [{"columns": "y"}, {"epsilon": "1/8"}, {"columns": ["x", "y"]}])
def test_another_query_under_a_name_is_refused(other):
    """A name stands for one query; nothing is charged for the attempt."""
    df = _protected()
    _measure(df, epsilon="1/4", name="ages")
    before = _state(df)

    with pytest.raises(NameTakenError):
        _measure(df, **{"epsilon": "1/4", "name": "ages", **other})

    assert _state(df) == before


def test_names_belong_to_one_dataset(tmp_path):
    """Two datasets in one ledger may use one name for different queries."""
    book = tmp_path / "budget.db"
    one, two = (_protected(ledger=book, dataset=dataset, new=True) for dataset in ("one", "two"))

    _measure(one, "x", name="first", epsilon="1/4")
    _measure(two, "y", name="first", epsilon="1/4")

    assert one.blowfish.budget.spent == two.blowfish.budget.spent == Fraction(1, 4)


def test_whoever_stores_first_answers_for_a_name(monkeypatch):
    """Two processes may both miss a name and both pay; they still give one and the same answer."""
    df, other = _protected(), []
    real = module.count_cells

    def interrupted(*args, **kwargs):
        monkeypatch.setattr(module, "count_cells", real)
        other.append(_measure(df, epsilon="1/4", name="ages"))  # the other process is faster
        return real(*args, **kwargs)

    monkeypatch.setattr(module, "count_cells", interrupted)
    mine = _measure(df, epsilon="1/4", name="ages")

    assert mine.values.tolist() == other[0].values.tolist()
    assert mine.entry == other[0].entry
    assert _measure(df, epsilon="1/4", name="ages").entry == mine.entry
    assert df.blowfish.budget.spent == Fraction(1, 2)


def test_replayed_noise_never_reaches_a_file(tmp_path):
    """Predictable noise is for tests: a file ledger refuses it before any charge."""
    filed = _protected(ledger=tmp_path / "budget.db", dataset="rows")
    before = _state(filed)

    with bf.testing.replay(7), pytest.raises(TestNoiseError):
        filed.blowfish.hist("x", epsilon="1/4")

    assert _state(filed) == before


def test_replayed_noise_is_marked():
    """In memory it is repeatable, and every receipt says so."""
    df = _protected()

    with bf.testing.replay(7):
        first = df.blowfish.hist("x", epsilon="1/4")
    with bf.testing.replay(7):
        again = df.blowfish.hist("x", epsilon="1/4")

    assert first["count"].tolist() == again["count"].tolist()
    assert first.blowfish.receipt["noise"] == again.blowfish.receipt["noise"] == "TEST ONLY"
    assert df.blowfish.hist("x", epsilon="1/4").blowfish.receipt["noise"].startswith("discrete Laplace")


def test_entries_say_what_later_facts_may_make_of_them():
    """Each charge holds its loss when one record moves anywhere, or why that is unknown."""
    domain = Domain((integers("x", 0, 9), integers("y", 0, 3)))
    line = bf.Policy(domain, secrets={"x": bf.threshold(1)})
    df = FRAME.blowfish.protect(line, epsilon=9, ledger=bf.Ledger())

    bodies = [
        _measured(df, lambda verbs: verbs.hist("y", epsilon="1/2")),
        _measured(df, lambda verbs: verbs.cumhist("x", epsilon=1, strategy="ordered")),
        _measured(df, lambda verbs: verbs.hist("x", epsilon=1, strategy="dawa")),
        _measured(_protected(), lambda verbs: verbs.hist("x", epsilon=1)),
    ]

    assert [body["closure"] for body in bodies] == ["1/2", "9", None, None]
    assert ["unknown" in body for body in bodies] == [False, False, True, True]
    assert all(body["facts"] == 0 for body in bodies)


def _measured(df, ask):
    receipt = ask(df.blowfish).blowfish.receipt
    source = open_frame(df.attrs["blowfish"])
    with module_chain.transaction(source.ledger.location) as connection:
        return module_chain.select(connection, "id = ?", receipt["entry"]).body


def test_a_plan_under_other_facts_is_refused(monkeypatch):
    """A fact recorded after the plan, even just before the charge, stops it: nothing is charged."""
    df = FRAME.blowfish.protect(bf.Policy(POLICY.domain), epsilon=9, ledger=bf.Ledger())
    source = open_frame(df.attrs["blowfish"])
    plan = source.policy.plan.hist("x", epsilon="1/4")
    real = module.find_change

    def interrupted(*arguments):
        monkeypatch.setattr(module, "find_change", real)
        source.ledger.record_exact(source.dataset.name, bf.Marginal("y"))  # another process is faster
        return real(*arguments)

    monkeypatch.setattr(module, "find_change", interrupted)
    monkeypatch.setattr(module, "count_cells", lambda *_, **__: pytest.fail("rows were counted"))
    with pytest.raises(FactsChangedError, match="ask again"):
        measure(plan, df, source.ledger, source.dataset, {})
    with pytest.raises(PolicyMismatchError):
        measure(plan, df, source.ledger, open_frame(df.attrs["blowfish"]).dataset, {})

    assert df.blowfish.ledger.entries["kind"].tolist() == ["open", "fact"]
    monkeypatch.undo()
    assert df.blowfish.hist("x", epsilon="1/4").blowfish.receipt["spent"] == "1/4"


def test_what_a_wrong_recorded_answer_tells_is_not_released():
    """Rows that contradict it are not read out exactly, and nothing is charged; noisy releases go on."""
    ledger = bf.Ledger()
    rows = pd.DataFrame({"a": [0, 0, 1, 2], "b": [0, 1, 1, 1]})
    domain = Domain((integers("a", 0, 2), integers("b", 0, 1)))
    frame = rows.blowfish.protect(bf.Policy(domain), epsilon=1, ledger=ledger, dataset="d")
    ledger.record_exact("d", bf.Marginal("a", answer=[4, 0, 0]))

    for ask in (frame.blowfish.hist, frame.blowfish.cumhist, frame.blowfish.sum):
        with pytest.raises(bf.errors.FactMismatchError, match="Marginal"):
            ask("a", epsilon="1/8")
    assert ledger.budget("d").spent == 0
    assert frame.blowfish.hist("b", epsilon="1/8")["count"].sum() == 4
