"""Schemas of pandera's other backends state the same columns: types, bounds and lists are read alike."""

import datetime as dt
from typing import Annotated

import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import SchemaError
from pandas_blowfish.policy.domain import to_dict
from pandas_blowfish.policy.schema import read

FIRST, LAST = dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 31)
WANT = {
    "age": {"type": "integer", "min": 0, "max": 99},
    "pay": {"type": "float", "min": 0, "max": 10, "step": "0.5", "nullable": True},
    "sex": {"type": "string", "values": ["F", "M"], "other": "other"},
    "kind": {"type": "category", "values": ["u", "v"]},
    "old": {"type": "bool", "values": [False, True]},
    "when": {"type": "datetime", "min": "2026-01-01T00:00:00", "max": "2026-01-31T00:00:00", "step": "1D"},
}


def _columns(backend, types):
    check = backend.Check
    return {
        "age": backend.Column(types["age"], check.in_range(0, 99), metadata=bf.threshold(5)),
        "pay": backend.Column(
            types["pay"], check.in_range(0, 10), nullable=True, metadata=bf.full(step="0.5")
        ),
        "sex": backend.Column(types["sex"], check.isin(["F", "M"]), metadata=bf.full(other="other")),
        "kind": backend.Column(types["kind"], check.isin(["u", "v"])),
        "old": backend.Column(types["old"]),
        "when": backend.Column(types["when"], check.in_range(FIRST, LAST), metadata=bf.public(step="1D")),
    }


def _polars():
    pl = pytest.importorskip("polars")
    return pytest.importorskip("pandera.polars"), {
        "age": pl.Int32,
        "pay": pl.Float64,
        "sex": pl.String,
        "kind": pl.Enum(["u", "v", "w"]),
        "old": pl.Boolean,
        "when": pl.Datetime("us"),
    }


def _pyarrow():
    pa = pytest.importorskip("pyarrow")
    return pytest.importorskip("pandera.pyarrow"), {
        "age": pa.uint8(),
        "pay": pa.float32(),
        "sex": pa.large_string(),
        "kind": pa.dictionary(pa.int32(), pa.string()),
        "old": pa.bool_(),
        "when": pa.timestamp("us"),
    }


@pytest.mark.parametrize("backend", [_polars, _pyarrow])
def test_the_same_columns(backend):
    """A policy of another backend's schema is that of the pandas schema."""
    package, types = backend()
    schema = package.DataFrameSchema(_columns(package, types))

    domain, secrets = read(schema, {})

    assert {each.name: to_dict(each) for each in domain} == WANT
    assert secrets["age"] == {"secret": "threshold", "theta": 5}
    policy = bf.Policy(schema)
    assert bf.Policy(bf.attach(schema, policy)) == policy


def test_models_and_time_zones():
    """A DataFrameModel of polars, with a date, a zone, and a type that has no cells."""
    pl, pp = pytest.importorskip("polars"), pytest.importorskip("pandera.polars")

    class Visits(pp.DataFrameModel):
        age: int = pp.Field(ge=0, le=99, metadata=bf.threshold(5))
        day: pl.Date = pp.Field(ge=FIRST, le=LAST, metadata=bf.full(step="1D"))
        at: Annotated[pl.Datetime, "us", "Europe/Berlin"] = pp.Field(
            ge="2026-01-01T00:00+01:00", le="2026-01-31T00:00+01:00", metadata=bf.full(step="1D")
        )
        tags: pl.List(pl.String)

    policy = bf.Policy(Visits)

    assert policy.domain.columns == ("age", "day", "at")
    assert policy.domain["at"].tz == "Europe/Berlin"
    assert "tags" in policy.domain.pending


def test_a_secret_of_a_type_without_cells():
    """Is a typed error that names the column."""
    pl, pp = pytest.importorskip("polars"), pytest.importorskip("pandera.polars")

    with pytest.raises(SchemaError, match="'span'"):
        bf.Policy(pp.DataFrameSchema({"span": pp.Column(pl.Duration, metadata=bf.full())}))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("LongType()", "integer"),
        ("DoubleType()", "float"),
        ("DecimalType(10,2)", "float"),
        ("StringType()", "string"),
        ("BooleanType()", "bool"),
        ("TimestampNTZType()", "datetime"),
        ("ArrayType(StringType(), True)", "other"),
    ],
)
def test_names_of_spark_types(name, kind):
    """What pandera's Spark backend calls a type has a kind, or no cells."""
    from pandas_blowfish.policy.schema import _kind

    raw = type("Raw", (), {"__str__": lambda _: name})()
    dtype = type("DataType", (), {"__module__": "pandera.engines.pyspark_engine", "type": raw})()

    assert _kind(dtype) == kind
