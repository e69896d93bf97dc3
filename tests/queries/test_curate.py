"""draft and check help the curator without taking bounds from rows or putting values into words."""

import pandas as pd
import pandera.pandas as pa
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import FrameError, SchemaError
from pandas_blowfish.policy.domain import Domain, integers

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
