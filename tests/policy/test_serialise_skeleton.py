"""The YAML of a policy with blanks: from names and types alone, refused until it is filled in."""

import pandas as pd
import pytest
import yaml

import pandas_blowfish as bf
from pandas_blowfish.errors import SchemaError
from pandas_blowfish.policy.serialise import blanks, skeleton

NAMES = [
    "age",
    "in: come",
    "no",
    "1",
    "o'n\ne",
    "é\U0001f600",
    "#x",
    "a b",
    "null",
    "",
    " x",
    "- y",
    "{z",
    "\x7f",
]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_is_written_so_that_it_is_read(name):
    """Names that mean something to YAML are quoted."""
    text = skeleton({name: "int64", "other": "bool"})

    assert list(yaml.safe_load(text)["columns"]) == [name, "other"]


def test_every_type_has_its_blanks():
    """Each kind of column asks for what its domain needs, and for nothing else."""
    types = {
        "i": "int64",
        "f": "float64",
        "d": pd.DatetimeTZDtype(tz="Europe/Paris"),
        "b": "bool",
        "c": "category",
        "s": "str",
        "o": "timedelta64[ns]",
    }
    text = skeleton(types)

    wanted = ["i: min", "i: max", "f: min", "f: max", "f: step", "d: min", "d: max", "d: step"]
    assert blanks(yaml.safe_load(text)) == [*wanted, "c: values", "s: values", "o: values"]
    assert "tz: Europe/Paris" in text


def test_blanks_are_refused_by_name():
    """Reading a policy that is not filled in says what is missing, and never fills it in."""
    text = skeleton({"age": "int64", "sex": "str"})

    with pytest.raises(SchemaError, match="still blank: age: min, age: max, sex: values"):
        bf.Policy.from_yaml(text)

    filled = text.replace("min: ...", "min: 0").replace("max: ...", "max: 99").replace("[...]", "[F, M]")
    policy = bf.Policy.from_yaml(filled)
    assert policy.domain.shape == (100, 2)
    assert policy.secrets[("sex",)]["secret"] == "full"


@pytest.mark.parametrize(
    "spec", [None, [], "x", {"columns": []}, {"columns": {"a": None}}, {"columns": {1: 2}}]
)
def test_what_is_no_policy_has_no_blanks(spec):
    """Anything else is left to the reader of policies to refuse."""
    assert blanks(spec) == []


def test_blank_secrets_are_found():
    """A theta that is not stated is blank too."""
    spec = {
        "columns": {"age": {"type": "integer", "secret": {"secret": "threshold", "theta": "..."}}, "b": "..."}
    }

    assert blanks(spec) == ["age: theta", "b: values"]


def test_whole_numbers_with_gaps_are_told_of():
    """Pandas reads them as floats; cells of floats would be read as their middles."""
    assert "`type: integer` without a step" in skeleton({"rating": "float64"})
