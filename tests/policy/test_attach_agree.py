"""An attached policy agrees with its schema: the same cells, and no secret less than the metadata."""

import copy
import itertools
import pickle

import pandas as pd
import pandera.pandas as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pandas_blowfish as bf
from pandas_blowfish.errors import AttachedPolicyError, SchemaError
from pandas_blowfish.policy.attach import require_agreement

REGIONS = ["north", "south", "east"]
SCHEMA = pa.DataFrameSchema(
    {
        "age": pa.Column(int, pa.Check.in_range(0, 99)),
        "region": pa.Column(str, pa.Check.isin(REGIONS)),
        "pay": pa.Column(float, pa.Check.in_range(0, 10), nullable=True),
        "id": pa.Column(str),
    }
)
SECRETS = {"age": bf.threshold(5), "region": bf.partition([["north", "south"], ["east"]])}
POLICY = bf.Policy(SCHEMA, secrets=SECRETS)
MARKED = bf.attach(SCHEMA, POLICY)
CHANGED = {
    "metadata": (MARKED.update_column("age", metadata=bf.full()), "age", "full()", "threshold(theta=5)"),
    "bounds": (
        MARKED.update_column("age", checks=pa.Check.in_range(0, 120)),
        "age",
        "integer [0, 120]",
        "integer [0, 99]",
    ),
    "nullable": (MARKED.update_column("age", nullable=True), "age", "nullable", "[0, 99]"),
    "values": (
        MARKED.update_column("region", checks=pa.Check.isin([*REGIONS, "west"])),
        "region",
        "'west'",
        "'east'",
    ),
    "order": (
        MARKED.update_column("region", checks=pa.Check.isin(REGIONS[::-1])),
        "region",
        "'east'",
        "'north'",
    ),
    "type": (
        MARKED.update_column("age", dtype=float, checks=pa.Check.in_range(0, 99)),
        "age",
        "float",
        "integer",
    ),
    "rename": (MARKED.rename_columns({"age": "years"}), "years", "integer [0, 99]", "no such column"),
    "remove": (MARKED.remove_columns(["region"]), "region", "no such column", "'north'"),
    "add": (
        MARKED.add_columns({"sex": pa.Column(str, pa.Check.isin(["F", "M"]))}),
        "sex",
        "'F', 'M'",
        "no such column",
    ),
    "no bounds": (MARKED.update_column("age", checks=[]), "age", "no such column with cells", "[0, 99]"),
    "step": (MARKED.update_column("age", metadata=bf.threshold(5, step=5)), "age", "by 5", "[0, 99]"),
}


@pytest.mark.parametrize(("schema", "column", "ours", "theirs"), CHANGED.values(), ids=CHANGED)
def test_what_changed_after_attaching_is_refused(schema, column, ours, theirs):
    """The error shows both sides and the fix; neither protect, a copy nor a pickle passes."""
    for each in (schema, copy.deepcopy(schema), pickle.loads(pickle.dumps(schema))):
        with pytest.raises(AttachedPolicyError) as refused:
            bf.Policy(each)

    assert column in refused.value.differences
    said, attached = refused.value.differences[column]
    assert ours in said
    assert theirs in attached
    assert "bf.attach" in refused.value.fix
    assert said in str(refused.value)
    assert attached in str(refused.value)
    with pytest.raises(AttachedPolicyError):
        pd.DataFrame({"age": [1]}).blowfish.protect(schema, epsilon=1)
    with pytest.raises(AttachedPolicyError):
        bf.attach(schema, POLICY)


def test_the_columns_metadata_is_not_overruled():
    """The hole: bf.full() on a column, and noise of threshold(5) by an attached policy."""
    marked = bf.attach(SCHEMA, POLICY)

    stated = marked.update_column("age", metadata=bf.full())

    with pytest.raises(AttachedPolicyError, match="age: the schema states full"):
        bf.Policy(stated)
    agreed = bf.attach(stated, bf.Policy(SCHEMA, secrets={**SECRETS, "age": bf.full()}))
    assert bf.Policy(agreed).plan.cumhist("age", strategy="ordered", epsilon=1).sensitivity == 99


@pytest.mark.parametrize("metadata", [bf.threshold(5), bf.threshold(3), bf.public(), bf.partition(2), None])
def test_policies_that_imply_the_metadata_are_taken(metadata):
    """What protects as much as the column says, or more, is no contradiction."""
    stated = MARKED.update_column("age", metadata=metadata)

    assert bf.Policy(stated) == POLICY


def test_columns_without_metadata_say_nothing():
    """Columns that have no cells, or state no secret, and other metadata, may come and go."""
    more = MARKED.add_columns({"note": pa.Column(str)}).remove_columns(["id"])
    noted = more.update_column("age", metadata={"unit": "years"})

    assert bf.Policy(more) == bf.Policy(noted) == POLICY
    assert bf.Policy(bf.attach(SCHEMA, bf.Policy(SCHEMA, presence=True, neighbors="attribute"))).presence


def test_steps_of_the_policy_hold_where_the_schema_states_none():
    """A step given with the secret is part of the attached policy, and of no other."""
    policy = bf.Policy(SCHEMA, secrets={"pay": bf.threshold(1, step="0.5")})
    marked = bf.attach(SCHEMA, policy)

    assert bf.Policy(marked) == policy
    assert bf.Policy(marked.update_column("pay", metadata=bf.threshold(1))) == policy
    with pytest.raises(AttachedPolicyError, match=r"by 0\.25"):
        bf.Policy(marked.update_column("pay", metadata=bf.threshold(1, step="0.25")))


def test_policies_of_other_schemas_are_not_attached():
    """`attach` compares before it writes, and shows each column."""
    other = pa.DataFrameSchema({"age": pa.Column(int, pa.Check.in_range(0, 9)), "sex": pa.Column(bool)})

    with pytest.raises(AttachedPolicyError) as refused:
        bf.attach(other, POLICY)

    assert set(refused.value.differences) == {"age", "sex", "region"}
    with pytest.raises(SchemaError):
        bf.Policy(pa.DataFrameSchema(SCHEMA.columns, metadata={"blowfish": "threshold(5)"}))


def test_what_only_a_policy_states_is_compared_too():
    """Neighbours that change one secret at a time, and secret totals, protect less than two columns say."""
    both = SCHEMA.update_column("age", metadata=bf.threshold(5)).update_column("region", metadata=bf.full())
    one = SCHEMA.update_column("age", metadata=bf.threshold(5))
    total = {"aggregates": [bf.Aggregate("age.sum()", delta=50)]}

    for stated in ({"neighbors": "attribute"}, {"neighbors": 1}, total):
        with pytest.raises(AttachedPolicyError) as refused:
            bf.attach(both, bf.Policy(both, **stated))
        assert set(refused.value.differences) == {"table"}
    for stated in ({"neighbors": "attribute"}, {"neighbors": 2}, {"presence": True}):
        policy = bf.Policy(one, **stated)
        assert bf.Policy(bf.attach(one, policy)) == policy
    assert bf.attach(SCHEMA, bf.Policy(SCHEMA, **total)).metadata["blowfish"]


def test_facts_are_left_aside():
    """With facts inclusion is not safety; what a schema can state is compared without them."""
    stated = SCHEMA.update_column("age", metadata=bf.threshold(5))
    facts = [bf.Marginal("region")]
    weak = bf.Policy(SCHEMA, secrets={"age": bf.threshold(1)}, constraints=facts)

    assert bf.Policy(bf.attach(stated, bf.Policy(stated, constraints=facts))).constraints
    with pytest.raises(AttachedPolicyError):
        bf.attach(stated, weak)


SMALL = {"a": (0, 2), "b": (0, 1), "c": (0, 1)}
KINDS = st.sampled_from(
    [None, bf.full(), bf.public(), bf.threshold(1), bf.partition([[0], [1]]), bf.edges([(0, 1)])]
)


@settings(max_examples=120, deadline=None)
@given(
    st.tuples(KINDS, KINDS, KINDS),
    st.tuples(KINDS, KINDS, KINDS),
    st.sampled_from([None, bf.full(), bf.threshold(1), bf.threshold(2), bf.public()]),
    st.sampled_from(["record", "attribute", 2]),
    st.booleans(),
)
def test_agreement_matches_enumeration(metadata, secrets, joint, neighbors, presence):
    """Accepted just where each pair of records that the metadata protects is an edge of the policy."""
    whole = {"a": bf.partition([[0], [1, 2]])}
    fix = {
        name: whole.get(name) if kind == bf.partition([[0], [1]]) and name == "a" else kind
        for name, kind in zip(SMALL, metadata, strict=True)
    }
    own = {
        name: whole.get(name) if kind == bf.partition([[0], [1]]) and name == "a" else kind
        for name, kind in zip(SMALL, secrets, strict=True)
    }
    columns = {
        name: pa.Column(int, pa.Check.in_range(*ends), metadata=fix[name]) for name, ends in SMALL.items()
    }
    schema, plain = (
        pa.DataFrameSchema(each)
        for each in (columns, {n: pa.Column(int, pa.Check.in_range(*e)) for n, e in SMALL.items()})
    )
    given_secrets = {name: kind for name, kind in own.items() if kind is not None}
    if joint is not None:
        given_secrets = {
            ("a", "b"): joint,
            **{name: kind for name, kind in given_secrets.items() if name == "c"},
        }
    policy = bf.Policy(plain, secrets=given_secrets, neighbors=neighbors, presence=presence)
    stated = {name: kind if kind is not None else bf.public() for name, kind in fix.items()}
    said = bf.Policy(plain, secrets=stated)
    records = [
        dict(zip(SMALL, each, strict=True)) for each in itertools.product(range(3), range(2), range(2))
    ]

    protected = all(
        policy.distance(one, two) == 1
        for one, two in itertools.combinations(records, 2)
        if said.distance(one, two) == 1
    )

    if protected:
        require_agreement(schema, policy)
    else:
        with pytest.raises(AttachedPolicyError):
            require_agreement(schema, policy)
