"""A policy some of whose public columns have the keys that rows will give."""

import pandera.pandas as pa
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import (
    ArgumentError,
    AttachedPolicyError,
    SchemaError,
    SecretError,
    UnlistedColumnError,
)
from pandas_blowfish.policy.domain import Domain, from_dict, integers

AGE = pa.Column(int, pa.Check.in_range(0, 9), metadata=bf.threshold(2))


def _schema(column=None):
    shop = pa.Column(str, metadata=bf.public(keys="rows")) if column is None else column
    return pa.DataFrameSchema({"shop": shop, "age": AGE})


def test_is_written_and_read_back():
    """As dict, YAML and attached to a schema; the listed policy is another one."""
    policy = bf.Policy(_schema())
    listed = policy.with_keys({"shop": ["p", "q"]})

    assert policy.open_columns == ("shop",)
    assert bf.Policy.from_dict(policy.to_dict()) == policy
    assert bf.Policy.from_yaml(policy.to_yaml()) == policy
    assert bf.Policy(bf.attach(_schema(), policy)) == policy
    assert bf.Policy(_schema(pa.Column(str)), secrets={"shop": bf.public(keys="rows")}) == policy
    assert listed.open_columns == ()
    assert listed != policy
    assert listed == bf.Policy(_schema(pa.Column(str, pa.Check.isin(["p", "q"]), metadata=bf.public())))
    assert "keys" not in listed.to_yaml()
    with pytest.raises(AttachedPolicyError, match="occur in the rows"):
        bf.attach(_schema(), listed)


def test_says_what_it_is():
    """In words, in lint and where a value of the column is needed."""
    policy = bf.Policy(_schema())

    assert "the values that occur in the rows" in policy.describe()
    assert "keys-disclosed" in [each.kind for each in policy.lint()]
    assert policy.distance({"age": 1}, {"age": 5}) == 2
    with pytest.raises(UnlistedColumnError, match="keys are read from the rows"):
        policy.distance({"shop": "a"}, {"shop": "b"})
    assert policy.implies(bf.Policy(_schema()))


@pytest.mark.parametrize(
    "column",
    [
        pa.Column(str, pa.Check.isin(["a"]), metadata=bf.public(keys="rows")),
        pa.Column(int, pa.Check.in_range(0, 9), metadata=bf.public(keys="rows")),
        pa.Column(float, metadata=bf.public(keys="rows")),
        pa.Column(bool, metadata=bf.public(keys="rows")),
        pa.Column(metadata=bf.public(keys="rows")),
        pa.Column(str, metadata={"blowfish": {"secret": "full", "keys": "rows"}}),
        pa.Column(str, metadata={"blowfish": {"secret": "partition", "groups": [["a"]], "keys": "rows"}}),
        pa.Column(str, metadata={"blowfish": {"secret": "public", "keys": "columns"}}),
    ],
)
def test_columns_that_have_no_keys(column):
    """Listed or bounded ones, and those that are not public."""
    with pytest.raises(SchemaError) as caught:
        bf.Policy(_schema(column))

    assert "fix:" in str(caught.value)


def test_wrong_words():
    """Each is a typed error."""
    both = Domain((from_dict("shop", {"type": "string", "keys": "rows"}), integers("age", 0, 9)))
    wrong = {
        "columns": {
            "shop": {"type": "string", "values": ["a"], "secret": {"secret": "public", "keys": "rows"}}
        }
    }

    with pytest.raises(ArgumentError, match="keys"):
        bf.public(keys="all")
    with pytest.raises(ArgumentError, match="other"):
        bf.public(keys="rows", other="rest")
    with pytest.raises(SecretError, match="belongs to one column"):
        bf.Policy(both, secrets={("shop", "age"): bf.public(keys="rows")})
    with pytest.raises(SecretError, match="do not agree"):
        bf.Policy(both, secrets={"shop": bf.full()})
    with pytest.raises(SchemaError, match="it has `values:`"):
        bf.Policy.from_dict({"blowfish": 1, **wrong})
    with pytest.raises(UnlistedColumnError):
        bf.Policy(both, secrets={"shop": bf.public(keys="rows")}, constraints=[bf.Marginal("shop")])
    with pytest.raises(SecretError, match="nothing is proved"):
        bf.Policy(
            both,
            secrets={"shop": bf.public(keys="rows")},
            aggregates=[bf.Aggregate("age.sum()", delta=5)],
        )
    for keys in ({}, {"shop": ["a"], "age": [1]}, ["a"]):
        with pytest.raises(ArgumentError, match="keys"):
            bf.Policy(_schema()).with_keys(keys)
    with pytest.raises(SchemaError):
        bf.Policy(_schema()).with_keys({"shop": [1.5, "a"]})
