"""Pandera schemas become domains and secrets; nothing is read from rows."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pandera.pandas as pa
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import SchemaError, UndeclaredColumnError
from pandas_blowfish.policy.attribute import Grid, Unbounded, Values
from pandas_blowfish.policy.domain import to_dict
from pandas_blowfish.policy.schema import draft, is_schema, read, stored_policy


def column(dtype, *checks, **extra):
    """Return what one schema column declares, as plain data."""
    schema = pa.DataFrameSchema({"x": pa.Column(dtype, list(checks), **extra)})
    return to_dict(read(schema, {})[0]["x"])


Check = pa.Check
STEP = {"metadata": bf.full(step="0.5")}
DAY = {"metadata": bf.full(step="1D")}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (lambda: column(int, Check.in_range(0, 99)), {"type": "integer", "min": 0, "max": 99}),
        (lambda: column(int, Check.ge(0), Check.le(9)), {"type": "integer", "min": 0, "max": 9}),
        (lambda: column(int, Check.gt(0), Check.lt(9)), {"type": "integer", "min": 1, "max": 8}),
        (lambda: column("Int64", Check.in_range(0, 9)), {"type": "integer", "min": 0, "max": 9}),
        (lambda: column("uint8", Check.in_range(0, 9)), {"type": "integer", "min": 0, "max": 9}),
        (
            lambda: column(int, Check.in_range(0, 99), Check.ge(10), Check.lt(50), Check.le(80)),
            {"type": "integer", "min": 10, "max": 49},
        ),
        (
            lambda: column(int, Check.in_range(0, 9, include_min=False, include_max=False)),
            {"type": "integer", "min": 1, "max": 8},
        ),
        (
            lambda: column(int, Check.in_range(0, 99), metadata=bf.full(step=10)),
            {"type": "integer", "min": 0, "max": 99, "step": 10},
        ),
        (lambda: column(int, Check.isin([3, 1, 2])), {"type": "integer", "values": [3, 1, 2]}),
        (lambda: column(int, Check.isin([3, 1, 2]), Check.ge(2)), {"type": "integer", "values": [3, 2]}),
        (
            lambda: column(int, Check.isin([3, 1, 2]), Check.isin([1, 3])),
            {"type": "integer", "values": [3, 1]},
        ),
        (lambda: column(int, Check.isin(np.array([2, 1]))), {"type": "integer", "values": [2, 1]}),
        (lambda: column(int, Check.equal_to(7)), {"type": "integer", "values": [7]}),
        (
            lambda: column(float, Check.in_range(0, 0.29), metadata=bf.full(step=0.01)),
            {"type": "float", "min": 0, "max": "0.29", "step": "0.01"},
        ),
        (
            lambda: column("float32", Check.gt(0), Check.lt(1), **STEP),
            {
                "type": "float",
                "min": 0,
                "max": 1,
                "step": "0.5",
                "exclusive_min": True,
                "exclusive_max": True,
            },
        ),
        (
            lambda: column("datetime64[ns]", Check.in_range("2020-01-01", "2020-01-31"), **DAY),
            {
                "type": "datetime",
                "min": "2020-01-01T00:00:00",
                "max": "2020-01-31T00:00:00",
                "step": "1D",
            },
        ),
        (
            lambda: column(
                pd.DatetimeTZDtype(tz="Europe/Paris"),
                Check.ge(pd.Timestamp("2020-01-01", tz="UTC")),
                Check.lt(pd.Timestamp("2020-01-31", tz="UTC")),
                **DAY,
            ),
            {
                "type": "datetime",
                "min": "2020-01-01T01:00:00+01:00",
                "max": "2020-01-31T01:00:00+01:00",
                "step": "1D",
                "tz": "Europe/Paris",
                "exclusive_max": True,
            },
        ),
        (lambda: column(bool), {"type": "bool", "values": [False, True]}),
        (
            lambda: column("boolean", nullable=True),
            {"type": "bool", "values": [False, True], "nullable": True},
        ),
        (lambda: column(bool, Check.equal_to(True)), {"type": "bool", "values": [True]}),
        (lambda: column("category", Check.isin(["b", "a"])), {"type": "category", "values": ["b", "a"]}),
        (
            lambda: column(pd.CategoricalDtype(["lo", "hi"], ordered=True)),
            {"type": "category", "values": ["lo", "hi"], "ordered": True},
        ),
        (
            lambda: column(pd.CategoricalDtype(["c", "b", "a"]), Check.isin(["a", "c"])),
            {"type": "category", "values": ["c", "a"]},
        ),
        (lambda: column(pd.CategoricalDtype([3, 1])), {"type": "category", "values": [3, 1]}),
        (lambda: column(str, Check.isin(("b", "a"))), {"type": "string", "values": ["b", "a"]}),
        (lambda: column(object, Check.isin(["b", "a"])), {"type": "string", "values": ["b", "a"]}),
        (lambda: column(None, Check.isin(["b", "a"])), {"type": "string", "values": ["b", "a"]}),
        (lambda: column(None, Check.isin([2, 1])), {"type": "integer", "values": [2, 1]}),
        (lambda: column(None, Check.isin([2, 0.5])), {"type": "float", "values": [2.0, 0.5]}),
        (lambda: column(float, metadata=bf.threshold(5)), {"type": "float"}),
        (lambda: column(int, Check.ge(0), metadata=bf.threshold(5)), {"type": "integer"}),
    ],
)
def test_checks_declare_domains(found, expected):
    """Each derivable domain of a schema is the column it says, intersections included."""
    assert found() == expected


def test_models_are_schemas():
    """A DataFrameModel's fields, their checks and metadata are read like columns."""

    class People(pa.DataFrameModel):
        age: int = pa.Field(ge=0, le=99, metadata=bf.threshold(5))
        sex: str = pa.Field(isin=["F", "M"], nullable=True)
        height: float = pa.Field(in_range={"min_value": 0, "max_value": 3}, metadata=bf.full(step=0.01))
        note: str

    domain, secrets = read(People, {})

    assert is_schema(People)
    assert domain.columns == ("age", "sex", "height")
    assert domain.shape == (100, 3, 301)
    assert secrets == {
        "age": {"secret": "threshold", "theta": 5},
        "sex": {"secret": "full"},
        "height": {"secret": "full"},
    }
    assert list(domain.pending) == ["note"]


@pytest.mark.parametrize(
    ("dtype", "checks", "needs"),
    [
        (str, [], "isin"),
        ("category", [], "categories"),
        (int, [], "in_range"),
        (int, [pa.Check.ge(0)], "in_range"),
        (float, [pa.Check.in_range(0, 1)], "step="),
        ("datetime64[ns]", [], "step="),
        (None, [pa.Check.in_range(0, 1)], "dtype"),
        ("timedelta64[ns]", [], "no cells"),
        (complex, [], "no cells"),
        (pd.PeriodDtype("D"), [], "no cells"),
        (str, [pa.Check(lambda s: s == s, name="isin")], "isin"),
    ],
)
def test_columns_without_a_domain_are_pending(dtype, checks, needs):
    """A column that declares no domain passes through, and says what it needs when asked."""
    schema = pa.DataFrameSchema({"x": pa.Column(dtype, checks), "y": pa.Column(bool)})

    policy = bf.Policy(schema)

    assert policy.domain.columns == ("y",)
    with pytest.raises(UndeclaredColumnError, match=needs):
        policy.plan.hist("x")


@pytest.mark.parametrize("dtype", [str, "category", "timedelta64[ns]", complex, None])
def test_a_secret_needs_a_domain(dtype):
    """A stated secret on a column without a domain is an error, not a silence."""
    schema = pa.DataFrameSchema({"x": pa.Column(dtype, metadata=bf.full()), "y": pa.Column(bool)})

    with pytest.raises(SchemaError, match="no domain") as caught:
        bf.Policy(schema)

    assert caught.value.column == "x"


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: pa.Column(str, Check.isin({"a", "b"})), "list"),
        (lambda: pa.Column(str, Check.isin(frozenset("ab"))), "list"),
        (lambda: pa.Column(int, Check.in_range(0, 9), parsers=pa.Parser(abs)), "parse"),
        (lambda: pa.Column(int, Check.in_range(0, 9), default=0), "default"),
        (lambda: pa.Column(int, Check.in_range(0, 9), drop_invalid_rows=True), "drop_invalid_rows"),
        (lambda: pa.Column(int, Check.in_range(0, 9), regex=True), "regex"),
        (lambda: pa.Column(int, Check.in_range(0, 9), metadata={"blowfish": "full"}), "not a dict"),
        (lambda: pa.Column(int, Check.isin([1, 2]), metadata=bf.full(step=2)), "step"),
        (lambda: pa.Column(str, Check.isin(["a"]), metadata=bf.full(step=2)), "step"),
        (lambda: pa.Column(int, [Check.isin([1, 2]), Check.isin([3])]), "no allowed values"),
        (lambda: pa.Column(int, [Check.ge(5), Check.le(3)]), "no value"),
        (lambda: pa.Column(int, Check.in_range(0, 9), metadata=bf.full(step="0.5")), "step"),
        (lambda: pa.Column(int, [Check.ge(0), Check.ge("a"), Check.le(5)]), "different types"),
        (lambda: pa.Column(int, [Check.isin([1, 2]), Check.ge("a")]), "different types"),
        (lambda: pa.Column("datetime64[ns]", Check.in_range("a", "b"), **DAY), "not an instant"),
        (lambda: pa.Column(int, Check.isin(["a"])), "type integer"),
        (lambda: pa.Column(pd.CategoricalDtype([pd.Interval(0, 1)])), "type category"),
        (lambda: pa.Column(pd.DatetimeTZDtype(tz="UTC"), Check.in_range("2020", "2021"), **DAY), "time zone"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_column(make, problem):
    """Sets, features that change or hide rows, and contradictions are typed errors with a fix."""
    schema = pa.DataFrameSchema({"x": make(), "y": pa.Column(bool)})

    with pytest.raises(SchemaError, match=problem) as caught:
        read(schema, {})

    assert caught.value.column == "x"
    assert "fix:" in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: pa.DataFrameSchema({"x": pa.Column(bool)}, parsers=pa.Parser(lambda df: df)),
        lambda: pa.DataFrameSchema({"x": pa.Column(bool)}, drop_invalid_rows=True),
        lambda: pa.DataFrameSchema({5: pa.Column(bool)}),
        lambda: pa.DataFrameSchema({("a", "b"): pa.Column(bool)}),
        lambda: pa.DataFrameSchema({"x": pa.Column(str)}),
        lambda: pa.DataFrameSchema({}),
    ],
)
def test_schemas_that_cannot_be_honoured_are_refused(make):
    """Parsers, dropped rows, names that are not text and schemas without any domain."""
    with pytest.raises(SchemaError):
        read(make(), {})


@pytest.mark.parametrize("thing", [None, 5, "schema", pd.DataFrame({"a": [1]}), {}])
def test_other_things_are_not_schemas(thing):
    """A frame is not a schema: its bounds would come from rows."""
    with pytest.raises(SchemaError):
        bf.Policy(thing)

    with pytest.raises(SchemaError):
        read(thing, {})


def test_steps_from_outside_fill_in_only():
    """A step stated outside the schema serves a column that states none itself."""
    schema = pa.DataFrameSchema(
        {
            "x": pa.Column(float, Check.in_range(0, 1)),
            "y": pa.Column(float, Check.in_range(0, 1), metadata=bf.full(step=0.5)),
        }
    )

    domain, secrets = read(schema, {"x": 0.25, "y": 0.1})

    assert domain.shape == (5, 3)
    assert secrets == {"x": {"secret": "full"}, "y": {"secret": "full"}}
    assert isinstance(domain["x"], Grid)


def test_reading_leaves_the_schema_alone():
    """The schema's metadata is not changed, and a schema without a policy stores none."""
    metadata = bf.full(step=2)
    schema = pa.DataFrameSchema({"x": pa.Column(int, Check.in_range(0, 9), metadata=metadata)})

    domain, _ = read(schema, {})

    assert metadata == {"blowfish": {"secret": "full", "step": 2}}
    assert stored_policy(schema) is None
    assert isinstance(domain["x"], Grid)
    assert not isinstance(domain["x"], (Values, Unbounded))


def test_drafts_show_no_values_and_compile():
    """Draft code has names and dtypes with blanks; no category or bound of the rows appears."""
    frame = pd.DataFrame(
        {
            "age": [41, 17],
            'it\'s "quoted"\n': [0.123, 0.456],
            "disease": pd.Categorical(["SECRET-A", "SECRET-B"]),
            "when": pd.to_datetime(["1999-12-31", "2001-02-03"]).tz_localize("Europe/Paris"),
            "ok": [True, False],
            "name": ["SECRET-C", "SECRET-D"],
            "span": pd.to_timedelta(["41h", "17h"]),
            7: [1j, 2j],
        }
    )

    code = draft(frame.dtypes.to_dict())

    compile(code, "draft", "exec")
    for value in ("41", "17", "0.123", "0.456", "SECRET", "1999", "2001"):
        assert value not in code
    assert "Europe/Paris" in code
    assert code.count("pa.Column(") == 8
    assert code.count("...") >= 8
    for hint in ("whole numbers with gaps: int, nullable=True", "dates: pd.to_datetime first", "such as ids"):
        assert code.count(hint) == 1


def test_importing_the_library_does_not_import_pandera():
    """Pandera costs 0.4 s, and whoever has a schema has imported it already."""
    code = "import sys, pandas_blowfish; sys.exit('pandera' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], check=False)

    assert done.returncode == 0


@pytest.mark.parametrize("dtype", [float, "datetime64[ns]"])
def test_bounds_without_a_step_are_refused_where_a_secret_is_stated(dtype):
    """Declared bounds are never dropped silently: the fix says where the step goes."""
    low, high = (0, 1) if dtype is float else ("2020-01-01", "2020-02-01")
    secret = bf.threshold(1) if dtype is float else bf.threshold("1D")

    with pytest.raises(SchemaError, match="step=") as caught:
        bf.Policy(pa.DataFrameSchema({"x": pa.Column(dtype, Check.in_range(low, high), metadata=secret)}))
    assert "in_range" not in str(caught.value)
    assert (
        "bf.threshold(1, step=...)" if dtype is float else "bf.threshold('1D', step='1D')"
    ) in caught.value.fix
    with pytest.raises(SchemaError, match="step"):
        bf.Policy.from_dict({"blowfish": 1, "columns": {"x": {"type": "float", "min": 0, "max": 1}}})
