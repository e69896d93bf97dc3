"""protect binds rows, policy and budget to a name once, and finds them again."""

from fractions import Fraction

import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.books.analysts import is_name
from pandas_blowfish.errors import (
    BudgetMismatchError,
    ClosedDatasetError,
    FactMismatchError,
    FrameError,
    NotProtectedError,
    OutsideDomainError,
    PolicyMismatchError,
    SchemaError,
)
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.queries.frames import protect
from pandas_blowfish.queries.frames.protect import as_policy, open_frame, require_bound

GRID = Domain((integers("x", 0, 4), integers("y", 0, 1)))
PAIRS = pd.DataFrame({"x": [0, 1, 1, 4], "y": [0, 1, 1, 1]})
POLICY = bf.Policy(Domain((integers("x", 0, 4),)))
ROWS = pd.DataFrame({"x": [0, 1, 1, 4]})


def test_what_is_bound():
    """The first entry holds policy, number of rows, seal and choices; `opened` reads the policy back."""
    df = ROWS.blowfish.protect(POLICY, epsilon=1, dataset="rows", ledger=bf.Ledger(), outside="clip")

    source = open_frame(df.attrs["blowfish"])

    assert source.policy == POLICY
    binding = source.dataset.binding
    assert (binding["rows"], binding["outside"], binding["unit"], binding["named"]) == (4, "clip", None, True)
    assert set(binding["seal"]) == {"x"}


def test_a_policy_that_does_not_read_back_is_not_bound(monkeypatch):
    """The ledger would promise something else than was given: nothing is written."""
    ledger = bf.Ledger()
    monkeypatch.setattr(protect, "policy_from", lambda text, facts: bf.Policy(GRID))

    with pytest.raises(SchemaError, match="read back"):
        ROWS.blowfish.protect(POLICY, epsilon=1, dataset="rows", ledger=ledger)

    assert ledger.datasets == []


def test_a_ledger_in_memory_continues_its_frames():
    """Naming the frame's own ledger, but no dataset, continues its budget rather than opening another."""
    df = ROWS.blowfish.protect(POLICY, epsilon=1, ledger=bf.Ledger())
    df.blowfish.hist("x", epsilon="1/2")

    again = df.blowfish.protect(POLICY, epsilon=1, ledger=df.blowfish.ledger)

    assert again.attrs == df.attrs
    assert len(df.blowfish.ledger.entries) == 2


@pytest.mark.parametrize(
    ("value", "good"), [("a", True), ("é 1", True), ("", False), (" ", False), (5, False), ("a\0", False)]
)
def test_names(value, good):
    """A name is text that can be written."""
    assert is_name(value) == good
    assert not is_name("\ud800")


def test_policies_pass_through_and_records_fail_closed():
    """A policy is taken as it is; whatever is no record is refused."""
    assert as_policy(POLICY) is POLICY
    for record in (None, {}, [], "protected", {"kind": "release"}):
        with pytest.raises(NotProtectedError):
            open_frame(record)


def test_recorded_facts_join_the_policy():
    """Frames protected before a fact go on under it; their record still names the first policy."""
    df = PAIRS.blowfish.protect(bf.Policy(GRID), epsilon=9, dataset="rows", ledger=bf.Ledger())
    before = df.blowfish.plan.hist(["x", "y"])

    df.blowfish.ledger.record_exact("rows", bf.Marginal("y", answer=[1, 3]))

    assert df.blowfish.policy == bf.Policy(GRID, constraints=[bf.Marginal("y", answer=[1, 3])])
    assert df.blowfish.plan.hist(["x", "y"]).scale == 2 * before.scale
    assert len(df.blowfish.hist(["x", "y"], epsilon=1)) == 10
    assert df.attrs["blowfish"]["policy"] == bf.Policy(GRID).fingerprint
    assert open_frame(df.attrs["blowfish"]).dataset.facts == (bf.Marginal("y", answer=[1, 3]).to_dict(),)


def test_protect_again_after_facts():
    """The first policy, or it with the facts recorded since, continues the dataset; no other does."""
    first, one, two = bf.Policy(GRID), bf.Count("x == 0"), bf.Marginal("y")
    known = first.with_facts([bf.Box(x=(1, 2))])
    df = PAIRS.blowfish.protect(known, epsilon=9, dataset="rows", ledger=bf.Ledger())
    book = df.blowfish.ledger
    for fact in (one, two, one):
        book.record_exact("rows", fact)

    for facts in (known.constraints, (two, *known.constraints, one)):
        again = PAIRS.blowfish.protect(first.with_facts(facts), epsilon=9, dataset="rows", ledger=book)
        assert again.attrs == df.attrs
        assert again.blowfish.policy == known.with_facts([*known.constraints, one, two])

    others = [first, first.with_facts([one, two]), known.with_facts([*known.constraints, one])]
    others.append(bf.Policy(GRID, secrets={"x": bf.threshold(1)}, constraints=[*known.constraints, one, two]))
    for other in others:
        with pytest.raises(PolicyMismatchError):
            PAIRS.blowfish.protect(other, epsilon=9, dataset="rows", ledger=book)


X0, Y = bf.Count("x == 0", answer=1), bf.Marginal("y", answer={0: 1, 1: 3})


@pytest.mark.parametrize(
    ("first", "since", "facts"),
    [
        ([], [X0], [X0]),
        ([], [X0], [bf.Count("x == 0")]),
        ([], [X0], [bf.Count("x<1", answer=1)]),
        ([], [X0, Y], [bf.Marginal("y", answer=[1, 3]), bf.Box(x=(0, 0))]),
        ([bf.Marginal("y")], [Y], [Y]),
        ([bf.Marginal("y")], [Y, X0], [X0, Y]),
        ([Y, X0], [], [bf.Box(x=(0, 0), answer=1), bf.Marginal("y", answer=[1, 3])]),
        ([bf.Marginal("y", "x")], [Y], [bf.Marginal("x", "y")]),
        ([bf.Marginal("y", "x")], [Y], [bf.Marginal("x", "y"), Y]),
    ],
)
def test_recorded_facts_are_known_however_written(first, since, facts):
    """With or without the answers, in any order and spelling, the first policy with them continues."""
    df = PAIRS.blowfish.protect(
        bf.Policy(GRID, constraints=first), epsilon=9, dataset="rows", ledger=bf.Ledger()
    )
    book = df.blowfish.ledger
    for fact in since:
        book.record_exact("rows", fact)

    for promise in (bf.Policy(GRID, constraints=facts), bf.Policy(GRID, constraints=first)):
        again = PAIRS.blowfish.protect(promise, epsilon=9, dataset="rows", ledger=book)
        assert again.attrs == df.attrs
    for other in (df.blowfish.policy, bf.Policy(GRID, constraints=[*first, *since])):
        assert PAIRS.blowfish.protect(other, epsilon=9, dataset="rows", ledger=book).attrs == df.attrs


@pytest.mark.parametrize(
    ("first", "since", "facts", "named"),
    [
        ([], [], [X0], ["Count('x == 0')"]),
        ([Y], [X0], [Y, X0, bf.Box(x=(1, 2))], ["Box(x=(1, 2))"]),
        ([], [bf.Marginal("y")], [Y], ["Marginal('y')"]),
        ([], [Y, X0], [Y], []),
        ([Y], [], [X0], []),
        ([Y], [X0], [bf.Marginal("y"), X0], ["Marginal('y')"]),
    ],
)
def test_facts_that_are_not_on_record_are_named(first, since, facts, named):
    """A policy that knows more is refused, and told of record_exact; one that differs otherwise is not."""
    df = PAIRS.blowfish.protect(
        bf.Policy(GRID, constraints=first), epsilon=9, dataset="rows", ledger=bf.Ledger()
    )
    book = df.blowfish.ledger
    for fact in since:
        book.record_exact("rows", fact)

    with pytest.raises(PolicyMismatchError) as caught:
        PAIRS.blowfish.protect(bf.Policy(GRID, constraints=facts), epsilon=9, dataset="rows", ledger=book)

    assert caught.value.facts == named
    assert ("Ledger.record_exact('rows', ...)" in str(caught.value)) == bool(named)
    assert ("another dataset name" in str(caught.value)) != bool(named)


@pytest.mark.parametrize(
    ("first", "wrong"),
    [
        ([], bf.Count("x == 0", answer=2)),
        ([bf.Marginal("y")], bf.Marginal("y", answer=[2, 2])),
        ([bf.Marginal("x")], bf.Count("x == 0", answer=2)),
    ],
    ids=["new", "answered", "follows"],
)
def test_recorded_answers_are_compared_with_the_rows(first, wrong):
    """A known name is no way around it: the fact is named, the count is not, and nothing is written."""
    policy = bf.Policy(GRID, constraints=first)
    df = PAIRS.blowfish.protect(policy, epsilon=9, dataset="rows", ledger=bf.Ledger())
    book = df.blowfish.ledger
    book.record_exact("rows", bf.Count("x == 4", answer=1))
    assert PAIRS.blowfish.protect(policy, epsilon=9, dataset="rows", ledger=book).attrs == df.attrs
    book.record_exact("rows", wrong)

    for promise in (policy, bf.Policy(GRID, constraints=[*first, bf.Count("x == 4", answer=1), wrong])):
        with pytest.raises(FactMismatchError, match="another dataset name") as caught:
            PAIRS.blowfish.protect(promise, epsilon=9, dataset="rows", ledger=book)
        assert caught.value.facts == [wrong.describe()]

    assert book.entries["kind"].tolist() == ["open", "fact", "fact"]


def test_recorded_answers_are_about_clipped_values():
    """They are compared as the rows are counted."""
    rows, place = PAIRS.assign(x=[0, 9, 1, 4]), {"epsilon": 1, "dataset": "rows", "outside": "clip"}
    df = rows.blowfish.protect(bf.Policy(GRID), ledger=bf.Ledger(), **place)
    df.blowfish.ledger.record_exact("rows", bf.Count("x == 4", answer=2))

    again = rows.blowfish.protect(bf.Policy(GRID), ledger=df.blowfish.ledger, **place)

    assert again.attrs == df.attrs


def test_named_releases_of_a_closed_dataset_stay_readable():
    """A dataset closed for good says so, takes no charge, and still tells what it told by name."""
    policy = bf.Policy(GRID, secrets={"x": bf.partition([[0, 1], [2, 3, 4]])})
    df = PAIRS.blowfish.protect(policy, epsilon=9, dataset="rows", ledger=bf.Ledger())
    told = df.blowfish.hist("x", epsilon=1, name="early")

    df.blowfish.ledger.record_exact("rows", bf.Count("x == 0"))

    with pytest.raises(ClosedDatasetError, match="name= stay readable"):
        df.blowfish.hist("x", epsilon=1)
    assert df.blowfish.budget.closed in repr(df.blowfish.budget)
    assert f"closed: {df.blowfish.budget.closed}" in repr(df.blowfish)
    assert df.blowfish.hist("x", epsilon=1, name="early")["count"].sum() == told["count"].sum()


def test_a_stronger_policy_is_not_taken_once_there_are_facts():
    """With facts a smaller graph is not safer: what implies the first policy is refused, too."""
    line = bf.Policy(GRID, secrets={"x": bf.threshold(1)})
    df = PAIRS.blowfish.protect(line, epsilon=9, dataset="rows", ledger=bf.Ledger())
    book = df.blowfish.ledger
    assert PAIRS.blowfish.protect(bf.Policy(GRID), epsilon=9, dataset="rows", ledger=book).attrs == df.attrs

    book.record_exact("rows", bf.Count("x == 0"))

    with pytest.raises(PolicyMismatchError):
        PAIRS.blowfish.protect(bf.Policy(GRID), epsilon=9, dataset="rows", ledger=book)


def test_rows_that_contradict_an_answer_are_refused(tmp_path):
    """The fact is named, the true count is not, and nothing is bound; what agrees is protected."""
    facts = [bf.Count("x >= 1", answer=3), bf.Box(x=(0, 1), y=(1, 1), answer=2), bf.Marginal("y", "x")]
    right = bf.Policy(GRID, constraints=[*facts, bf.Marginal("y", answer={1: 3, 0: 1})])
    wrong = bf.Policy(
        GRID, constraints=[*facts, bf.Marginal("y", answer=[5, 5]), bf.Count("x < 1", answer=7)]
    )
    place = {"epsilon": 1, "dataset": "rows", "ledger": tmp_path / "budget.db"}

    with pytest.raises(FactMismatchError) as caught:
        PAIRS.blowfish.protect(wrong, **place)

    assert caught.value.facts == ["Marginal('y')", "Count('x < 1')"]
    assert "Marginal('y')" in str(caught.value)
    assert not set("12357") & set(str(caught.value).replace("x < 1", ""))
    assert not (tmp_path / "budget.db").exists()
    assert PAIRS.blowfish.protect(right, **place).blowfish.budget.total == 1


def test_clipped_values_count():
    """An answer is about the values that the promise is about."""
    policy = bf.Policy(GRID, constraints=[bf.Count("x == 4", answer=2)])
    rows = PAIRS.assign(x=[0, 9, 1, 4])

    with pytest.raises(OutsideDomainError):
        rows.blowfish.protect(policy, epsilon=1)
    df = rows.blowfish.protect(policy, epsilon=1, outside="clip")
    with pytest.raises(FactMismatchError):
        PAIRS.blowfish.protect(policy, epsilon=1, outside="clip")

    assert df.blowfish.budget.spent == 0


def test_a_hundred_answers_are_counted_together():
    """Boxes by the hundred are counted in one pass, and each wrong one is found."""
    domain = Domain((integers("x", 0, 99), integers("y", 0, 1)))
    rows = pd.DataFrame({"x": range(100), "y": [0, 1] * 50})
    boxes = [bf.Box(x=(low, low + 9), y=(0, 0), answer=5 if low % 30 else 4) for low in range(91)]
    boxes += [bf.Box(x=(low, 99), answer=100 - low) for low in range(10)]

    with pytest.raises(FactMismatchError) as caught:
        rows.blowfish.protect(bf.Policy(domain, constraints=boxes), epsilon=1)

    assert caught.value.facts == [boxes[low].describe() for low in (0, 30, 60, 90)]


def test_the_first_refusal_is_the_only_error(tmp_path):
    """Rows outside the domain, with a ledger that does not exist yet: nothing else is told, nothing made."""
    with pytest.raises(OutsideDomainError) as caught:
        pd.DataFrame({"x": [9]}).blowfish.protect(POLICY, epsilon=1, dataset="x", ledger=tmp_path / "new.db")

    assert caught.value.__context__ is None
    assert not list(tmp_path.iterdir())


def test_a_binding_is_compared_without_rows():
    """The same refusals as `protect`, for whoever asks before rows are read."""
    df = ROWS.blowfish.protect(POLICY, epsilon=1, dataset="rows", ledger=bf.Ledger())
    bound, stated = open_frame(df.attrs["blowfish"]).dataset, {"outside": "error", "unit": None}
    other = bf.Policy(POLICY.domain, secrets={"x": bf.public()})

    require_bound(bound, POLICY, Fraction(1), stated)
    with pytest.raises(BudgetMismatchError):
        require_bound(bound, POLICY, Fraction(2), stated)
    for policy, changed in ((other, {}), (POLICY, {"outside": "clip"}), (POLICY, {"unit": "x"})):
        with pytest.raises(PolicyMismatchError):
            require_bound(bound, policy, Fraction(1), {**stated, **changed})


def test_a_column_that_is_the_index_or_no_column_says_so():
    """An index with the column's name wants reset_index(); a unit that is no column is named as the unit."""
    policy = bf.datasets.patients_policy()
    patients = bf.datasets.patients(20)

    with pytest.raises(bf.errors.FrameError, match=r"age is the index: df.reset_index\(\)"):
        patients.set_index("age").blowfish.protect(policy, epsilon=1)
    assert len(patients.set_index("age").reset_index().blowfish.protect(policy, epsilon=1)) == 20
    named = patients.rename_axis("patient_id").reset_index()
    with pytest.raises(bf.errors.FrameError, match=r"unit='patientid' names no(?s:.*)mean 'patient_id'"):
        named.blowfish.protect(policy, epsilon=1, unit="patientid")
    with pytest.raises(bf.errors.FrameError, match="the schema need not declare it"):
        named.blowfish.protect(policy, epsilon=1, unit="nobody")
    with pytest.raises(bf.errors.FrameError, match=r"reset_index\(\)"):
        named.set_index("patient_id").blowfish.protect(policy, epsilon=1, unit="patient_id")


def test_periods_and_an_index_are_named_with_the_call_that_converts_them():
    """By storage alone: no row is looked at."""
    day = from_dict("day", {"type": "datetime", "min": "2026-01-01", "max": "2026-01-31", "step": "1D"})
    policy = bf.Policy(Domain((day, integers("n", 0, 9))))
    days = pd.date_range("2026-01-01", periods=3)
    periods = pd.DataFrame({"day": days.to_period("D"), "n": [1, 2, 3]})
    indexed = pd.DataFrame({"n": [1, 2, 3]}, index=days)

    with pytest.raises(FrameError, match=r"\['day'\].dt.to_timestamp"):
        periods.blowfish.protect(policy, epsilon=1)
    for index in (days, days.to_period("D")):
        with pytest.raises(FrameError, match=r"reset_index\(names='day'\)"):
            indexed.set_axis(index).blowfish.protect(policy, epsilon=1)
        with pytest.raises(FrameError, match=r"df.reset_index\(\)"):
            indexed.set_axis(index.rename("day")).blowfish.protect(policy, epsilon=1)
    assert "to_timestamp" in bf.check(periods, policy).loc["day", "status"]
    assert indexed.reset_index(names="day").blowfish.protect(policy, epsilon=1) is not None
