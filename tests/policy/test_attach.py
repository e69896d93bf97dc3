"""Schemas carry policies: in their metadata, through copies, and one at a time."""

import pickle

import pandas as pd
import pandera.pandas as pa
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, SchemaError

SCHEMA = pa.DataFrameSchema(
    {
        "age": pa.Column(int, pa.Check.in_range(0, 99)),
        "region": pa.Column(str, pa.Check.isin(["north", "south"])),
    }
)


def test_attached_policies_are_read_back():
    """A schema carries a policy, survives copying and pickling, and takes no second one."""
    policy = bf.Policy(SCHEMA, secrets={"age": bf.threshold(9)}, constraints=[bf.Marginal("region")])

    marked = bf.attach(SCHEMA, policy)

    assert bf.Policy(marked) == policy
    assert bf.Policy(pickle.loads(pickle.dumps(marked))) == policy
    assert bf.Policy(SCHEMA) != policy
    assert (SCHEMA.metadata or {}).get("blowfish") is None
    with pytest.raises(SchemaError, match="already"):
        bf.Policy(marked, presence=True)
    with pytest.raises(ArgumentError):
        bf.attach(SCHEMA, "policy")
    with pytest.raises(SchemaError):
        bf.attach(pd.DataFrame(), policy)


def test_models_take_a_policy_too():
    """Attaching to a model gives a schema that carries the policy."""

    class People(pa.DataFrameModel):
        age: int = pa.Field(ge=0, le=9)

    policy = bf.Policy(People, secrets={"age": bf.threshold(1)})

    assert bf.Policy(bf.attach(People, policy)) == policy
