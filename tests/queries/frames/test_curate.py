"""draft and check help the curator without taking bounds from rows or putting values into words."""

import pandas as pd
import pandera.pandas as pa
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, FactMismatchError, FrameError, SchemaError
from pandas_blowfish.policy.domain import Domain, from_dict, integers

FRAME = pd.DataFrame(
    {"age": [1, 123456789], "name": ["SECRETVALUE", "x"], "when": pd.to_datetime(["2020-01-01"] * 2)}
)


def test_draft_reads_no_rows(capsys):
    """Names and dtypes become code with blanks; no value, no bound; the same for no rows at all."""
    code = bf.draft(FRAME)
    printed = capsys.readouterr().out
    empty = bf.draft(FRAME[:0])

    assert str(code) in printed
    assert str(empty) == str(code)
    assert "123456789" not in code
    assert "SECRETVALUE" not in code
    assert "..." in code
    assert all(name in code for name in FRAME.columns)
    assert "SECRETVALUE" not in repr(code)


def test_check_counts_without_protecting():
    """How many rows are outside, for a policy, a schema, and a frame already protected."""
    policy = bf.Policy(Domain((integers("age", 0, 99),)))
    schema = pa.DataFrameSchema({"age": pa.Column(int, pa.Check.in_range(0, 99))})
    protected = FRAME[:1].blowfish.protect(policy, epsilon=1)

    assert bf.check(FRAME, policy).loc["age", "outside"] == 1
    assert bf.check(FRAME, schema).loc["age", "outside"] == 1
    assert bf.check(protected, policy).loc["age", "status"] == "ok"
    assert protected.blowfish.budget.spent == 0
    assert "123456789" not in bf.check(FRAME, policy).to_string()


def test_wrong_arguments():
    """A typed error for what is no frame or no schema."""
    with pytest.raises(FrameError):
        bf.draft([1, 2])
    with pytest.raises(FrameError):
        bf.check("frame", bf.Policy(Domain((integers("age", 0, 99),))))
    with pytest.raises(SchemaError):
        bf.check(FRAME, "schema")


def test_check_lists_facts_with_an_answer():
    """One row a known answer after the columns: whether the rows agree; facts left open are not listed."""
    rows = pd.DataFrame({"x": [0, 1, 1, 4], "y": [0, 1, 1, 1]})
    domain = Domain((integers("x", 0, 4), integers("y", 0, 1)))
    table = [[0, 0, 0, 0, 1], [1, 1, 1, 0, 0]]
    facts = [bf.Count("x > 0", answer=3), bf.Marginal("y"), bf.Marginal("y", "x", answer=table)]
    facts.append(bf.Box(x=(0, 1), y=(1, 1), answer=2))
    policy = bf.Policy(domain, constraints=facts)

    found = bf.check(rows, policy)
    empty = bf.check(rows[["x"]][:0], policy)

    assert list(found.index)[:4] == ["x", "y", "Count('x > 0')", "Marginal('y', 'x')"]
    assert found["status"].tolist() == ["ok", "ok", "ok", "6 of 10 counts differ", "ok"]
    assert found["declared"].tolist()[2:4] == ["a known count", "10 known counts"]
    assert found["rows"].tolist() == [4] * 5
    assert (found[["rows", "missing", "outside"]].dtypes == "int64").all()
    assert empty["status"].tolist()[1:] == [
        "absent from the frame",
        "stated 3, counted 0",
        "absent from the frame",
        "absent from the frame",
    ]


def test_check_says_what_was_stated_and_counted():
    """Both numbers of a single count, the rows' own told to the curator alone; protect tells neither."""
    rows = pd.DataFrame({"x": [1] * 3601 + [0]})
    policy = bf.Policy(Domain((integers("x", 0, 1),)), constraints=[bf.Count("x > 0", answer=3599)])

    found = bf.check(rows, policy)
    with pytest.raises(FactMismatchError) as caught:
        rows.blowfish.protect(policy, epsilon=1)

    assert found["status"].tolist() == ["ok", "stated 3,599, counted 3,601"]
    assert "36" not in str(caught.value)
    assert "3,6" not in str(caught.value)


def test_what_was_checked_is_printed_whole():
    """A terminal of 80 letters hides nothing; what is made of it is a plain frame."""
    found = bf.check(bf.datasets.patients(5), bf.datasets.patients_policy())

    with pd.option_context("display.width", 80, "display.max_columns", 3):
        shown = repr(found)

    assert all(column in shown for column in ["rows", "missing", "outside", "status", "declared"])
    assert type(found[found["status"] != "ok"]) is pd.DataFrame


def test_check_with_clipping():
    """As `protect` takes rows beyond the bounds, so does check where it is told."""
    policy = bf.Policy(Domain((integers("age", 0, 99),)))

    assert bf.check(FRAME, policy, outside="clip").loc["age", "status"] == "ok"
    assert bf.check(FRAME, policy, outside="error").loc["age", "outside"] == 1
    with pytest.raises(ArgumentError, match="outside"):
        bf.check(FRAME, policy, outside="ignore")


@pytest.mark.parametrize("engine", ["pandas", "polars"])
def test_rows_per_person_and_what_each_limit_would_drop(engine):
    """Exact counts for the curator, which draw themselves; people who are not named are an error."""
    domain = Domain((integers("x", 0, 9),))
    policy, frame = bf.Policy(domain), pd.DataFrame({"x": 1, "who": [*["a"] * 4, "b", "c", "c", *["d"] * 30]})
    rows = pytest.importorskip("polars").from_pandas(frame) if engine == "polars" else frame

    found = bf.check(rows, policy, unit="who")

    assert found.index.tolist() == [*range(1, 11), 20, 30]
    assert found.loc[2].tolist() == [1, 2, 7, 30, 30 / 37]
    assert found.loc[30].tolist() == [1, 0, 37, 0, 0.0]
    assert found.plot(y="share dropped") is not None
    assert bf.check(rows.head(0), policy, unit="who").loc[1].tolist() == [0, 0, 0, 0, 0.0]
    with pytest.raises(FrameError, match="missing"):
        bf.check(frame.assign(who=None), policy, unit="who")


def test_periods_and_durations_are_drafted_as_what_they_become(capsys):
    """Neither is taken as it is: the draft, and the check, name the conversion."""
    frame = pd.DataFrame(
        {"month": pd.period_range("2026", periods=3, freq="M"), "stay": pd.to_timedelta([1, 2, 3], unit="h")}
    )
    code = str(bf.draft(frame))
    capsys.readouterr()
    month = from_dict("month", {"type": "datetime", "min": "2026-01-01", "max": "2027-01-01", "step": "1D"})
    policy = bf.Policy(Domain((month, from_dict("stay", {"type": "float", "min": 0, "max": 100, "step": 1}))))

    assert "'month': pa.Column('datetime64[ns]'" in code
    assert "df['month'].dt.to_timestamp() first" in code
    assert "'stay': pa.Column(float" in code
    assert "df['stay'].dt.total_seconds() first" in code
    assert bf.check(frame, policy)["status"].str.contains("to_timestamp|total_seconds").all()
