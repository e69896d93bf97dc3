"""Rows that have a name in a ledger are not protected under another by mistake."""

import pandas as pd
import polars as pl
import pytest

import pandas_blowfish as bf
from pandas_blowfish.count import seal
from pandas_blowfish.errors import ArgumentTypeError, SecondNameError
from pandas_blowfish.policy.domain import Domain, integers

X, Y = integers("x", 0, 4), integers("y", 0, 1)
POLICY = bf.Policy(Domain((X, Y)))
ROWS = pd.DataFrame({"x": [0, 1, 1, 4], "y": [0, 1, 1, 1]})
OTHERS = {
    "a value": ROWS.assign(x=[0, 1, 2, 4]),
    "a row less": ROWS[:3],
    "pairs": ROWS.assign(y=[1, 1, 1, 0]),
    "text": ROWS.assign(y=[1, 1, 1, 1]),
}


def _protect(frame, name, ledger, policy=POLICY, **more):
    return bf.protect(frame, policy, epsilon=1, dataset=name, ledger=ledger, **more)


@pytest.mark.parametrize(
    "again",
    [
        ROWS,
        ROWS[::-1],
        ROWS.astype("float64"),
        ROWS.assign(z=1),
        pl.from_pandas(ROWS[::-1]),
        pl.from_pandas(ROWS).lazy(),
    ],
    ids=["same", "other order", "other dtype", "one more column", "polars", "lazy"],
)
@pytest.mark.parametrize("first", [ROWS, pl.from_pandas(ROWS)], ids=["pandas", "polars"])
def test_the_same_rows_are_refused_under_a_second_name(first, again, tmp_path):
    """The error names the first dataset and the switch; nothing is written."""
    ledger = bf.Ledger(tmp_path / "budget.db")
    _protect(first, "patients", ledger)

    with pytest.raises(SecondNameError, match=r"'patients'(.|\n)*new=True") as refused:
        _protect(again, "patient", ledger)

    assert (refused.value.dataset, refused.value.first) == ("patient", "patients")
    assert ledger.datasets == ["patients"]


def test_a_second_budget_is_on_the_record():
    """new=True allows it, and the first entry states whose rows they are; the first name goes on."""
    ledger = bf.Ledger()
    _protect(ROWS, "patients", ledger, new=True)

    _protect(ROWS, "patient", ledger, new=True)
    _protect(ROWS, "patients", ledger)
    _protect(ROWS, "patient", ledger)

    assert ledger.dataset("patient").binding["same_rows"] == "patients"
    assert "same_rows" not in ledger.dataset("patients").binding
    assert ledger.verify()


@pytest.mark.parametrize("rows", OTHERS.values(), ids=OTHERS)
def test_other_rows_are_another_dataset(rows):
    """One value, row or pair of values makes them other rows."""
    ledger = bf.Ledger()
    _protect(ROWS, "monday", ledger)

    _protect(rows, "tuesday", ledger)

    assert ledger.datasets == ["monday", "tuesday"]


def test_columns_are_those_that_the_first_name_declares():
    """Another policy for the same rows is refused; rows without a column of the first are others."""
    ledger = bf.Ledger()
    _protect(ROWS, "both", ledger)

    with pytest.raises(SecondNameError, match="'both'"):
        _protect(ROWS, "x alone", ledger, bf.Policy(Domain((X,))))
    _protect(ROWS[["x"]], "x alone", ledger, bf.Policy(Domain((X,))))


def test_values_that_the_first_could_not_hold_are_others():
    """Columns of the same name with other types, or values outside, are compared without an error."""
    ledger = bf.Ledger()
    _protect(ROWS, "patients", ledger)
    wide = bf.Policy(Domain((integers("x", 0, 400),)))

    _protect(pd.DataFrame({"x": [0, 1, 1, 400], "y": list("abcd")}), "wide", ledger, wide)

    assert ledger.datasets == ["patients", "wide"]


def test_unnamed_and_empty_tables_have_no_second_name():
    """Without a name a budget lives in memory alone; no rows are about nobody."""
    ledger = bf.Ledger()
    for name in ("monday", "tuesday"):
        ROWS.blowfish.protect(POLICY, epsilon=1, ledger=ledger)
        _protect(ROWS[:0], name, ledger)

    assert len(ledger.datasets) == 4


def test_values_are_read_only_where_the_number_of_rows_agrees(monkeypatch):
    """A ledger of nightly tables does not make the next one slow."""
    ledger, read = bf.Ledger(), []
    for many in (1, 2, 3):
        _protect(ROWS[:many], f"night {many}", ledger)
    _protect(ROWS.assign(x=3), "night 4", ledger)
    compare = seal._spread_otherwise
    monkeypatch.setattr(
        seal, "_spread_otherwise", lambda *given, **more: read.append(given[1]) or compare(*given, **more)
    )

    _protect(ROWS, "night 5", ledger)

    assert read == [[X]]


def test_new_is_a_switch():
    """A text would read as True."""
    with pytest.raises(ArgumentTypeError, match="new"):
        _protect(ROWS, "patients", bf.Ledger(), new="no")
