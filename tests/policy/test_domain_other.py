"""A listed column may have one more value, for all that are not listed: a cell like any other."""

import itertools

import numpy as np
import pandera.pandas as pa
import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.errors import (
    ArgumentTypeError,
    AttachedPolicyError,
    ExpressionError,
    SchemaError,
    SecretError,
)
from pandas_blowfish.policy.domain import Domain, from_dict, integers, to_dict
from pandas_blowfish.policy.expression import parse
from pandas_blowfish.policy.graph.edges import edges_of
from pandas_blowfish.policy.graph.secret_graph import Explicit
from pandas_blowfish.policy.secret import build

LISTED = ["a", "b", "c"]
SECRETS = {
    "full": bf.full(),
    "public": bf.public(),
    "own group": bf.partition({"x": ["a", "b"], "y": ["c"]}),
    "in a group": bf.partition({"x": ["a", "b"], "y": ["c", "rest"]}),
    "by value": bf.partition({"a": "x", "b": "y", "c": "x"}),
    "no group": bf.partition([["a", "b", "c"]]),
    "edges": bf.edges([("a", "b"), ("b", "c")]),
    "edges of it": bf.edges([("a", "b"), ("c", "rest")]),
}
JOINED = {  # which values `rest` is joined to, in words
    "full": {0, 1, 2},
    "public": set(),
    "own group": set(),
    "in a group": {2},
    "by value": set(),
    "no group": set(),
    "edges": set(),
    "edges of it": {2},
}


def _column(nullable=False, kind="string"):
    spec = {"type": kind, "values": LISTED, "other": "rest", "nullable": nullable}
    return from_dict("x", spec)


def _schema(metadata, **more):
    return pa.DataFrameSchema({"x": pa.Column(str, pa.Check.isin(LISTED), metadata=metadata, **more)})


@pytest.mark.parametrize("secret", SECRETS)
def test_the_cell_is_joined_as_the_secret_states(secret):
    """All values in a full secret; those of its group; those that pairs name; else none."""
    graph = build(SECRETS[secret]["blowfish"], _column())

    assert {a for a in range(3) if graph.adjacent(a, 3)} == JOINED[secret]


@pytest.mark.parametrize(
    ("secret", "missing", "presence"),
    [
        (secret, missing, presence)
        for secret in SECRETS
        for missing in (None, "protected", "public", "rest", "a")
        for presence in (False, True)
        if not (secret == "public" and missing)
    ],
)
def test_closed_forms_and_definition_have_the_cell(secret, missing, presence):
    """The graph, the run-time check's edges and the enumerating twin join the same records."""
    stated = dict(SECRETS[secret]["blowfish"]) | ({"missing": missing} if missing else {})
    domain = Domain((_column(nullable=missing is not None), integers("n", 0, 1)))
    policy = bf.Policy(domain, secrets={"x": stated}, presence=presence)

    twin = {tuple(pair) for pair in definition_edges(policy, ("x",)).tolist()}
    size = domain["x"].size
    graph, found = build(policy.secrets["x",], domain["x"]), edges_of(policy, ("x",))
    joined = {(a, b) for a, b in itertools.combinations(range(size), 2) if graph.adjacent(a, b)}

    assert joined == {pair for pair in twin if pair[1] < size}
    assert {(min(e), max(e)) for e in graph.edges().tolist()} == joined
    listed = Explicit(size, np.array(sorted(joined)).reshape(-1, 2))
    for a, b in itertools.product(range(size), repeat=2):
        assert graph.distance(a, b) == listed.distance(a, b)
    ends = [np.where(cells.absent, size, cells.codes["x"]).tolist() for cells in found.every()]
    assert {(min(pair), max(pair)) for pair in zip(*ends, strict=True)} == twin
    assert policy.plan.hist("x", epsilon=1).privacy_loss() <= 1


@pytest.mark.parametrize("secret", SECRETS)
def test_is_written_and_read_back(secret):
    """Dict, YAML, schema and attached schema give the same policy and fingerprint."""
    stated = {"blowfish": {**SECRETS[secret]["blowfish"], "other": "rest"}}
    policy = bf.Policy(_schema(stated))

    assert policy.domain["x"].values == (*LISTED, "rest")
    assert policy.domain["x"].other
    assert bf.Policy.from_dict(policy.to_dict()) == policy
    assert bf.Policy.from_yaml(policy.to_yaml()) == policy
    assert policy.to_dict()["columns"]["x"]["values"] == LISTED
    assert policy.to_dict()["columns"]["x"]["other"] == "rest"
    assert bf.Policy(bf.attach(_schema(stated), policy)) == policy
    override = bf.Policy(_schema(bf.full()), secrets={"x": stated})
    assert override == policy
    assert to_dict(from_dict("x", to_dict(_column(kind="category")))) == to_dict(_column(kind="category"))


def test_a_listed_value_of_that_name_is_another_domain():
    """A policy whose rows may hold anything is not one that lists five values."""
    listed = bf.Policy(Domain((from_dict("x", {"type": "string", "values": [*LISTED, "rest"]}),)))
    policy = bf.Policy(Domain((_column(),)))

    assert listed.fingerprint != policy.fingerprint
    assert not policy.implies(listed)
    with pytest.raises(AttachedPolicyError, match="every other value"):
        bf.attach(_schema(bf.full(other="rest")), bf.Policy(_schema(bf.full())))


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        (pa.Column(int, pa.Check.isin([1, 2]), metadata=bf.full(other="rest")), "integer"),
        (pa.Column(int, pa.Check.in_range(0, 9), metadata=bf.full(other="rest")), "not listed"),
        (pa.Column(bool, metadata=bf.full(other="rest")), "bool"),
        (pa.Column(str, pa.Check.isin(LISTED), metadata=bf.full(other="a")), "listed value too"),
        (pa.Column(str, pa.Check.isin(LISTED), metadata=bf.full(other=" ")), "not a name"),
    ],
)
def test_columns_without_such_a_cell(column, problem):
    """Numbers, orders and names that are taken are refused, with the fix."""
    with pytest.raises(SchemaError, match=problem) as caught:
        bf.Policy(pa.DataFrameSchema({"x": column}))

    assert "fix:" in str(caught.value)


def test_an_order_has_no_place_for_others():
    """Neither an ordered category nor a threshold takes it."""
    ordered = {"type": "category", "values": LISTED, "ordered": True, "other": "rest"}

    with pytest.raises(SchemaError, match="in an order"):
        from_dict("x", ordered)
    with pytest.raises(SecretError, match="no distances"):
        bf.Policy(Domain((_column(),)), secrets={"x": bf.threshold(1)})
    with pytest.raises(ArgumentTypeError, match="other"):
        bf.full(other=5)
    with pytest.raises(SchemaError, match="not listed"):
        from_dict("x", {"type": "integer", "min": 0, "max": 9, "other": "rest"})


def test_overrides_agree_with_the_column():
    """A secret given outside the schema names the same cell, or none."""
    schema = _schema(bf.full(other="rest"))

    assert bf.Policy(schema, secrets={"x": bf.public()}).domain["x"].other
    with pytest.raises(SecretError, match="another other="):
        bf.Policy(schema, secrets={"x": bf.public(other="more")})
    with pytest.raises(SecretError, match="another other="):
        bf.Policy(
            Domain((from_dict("x", {"type": "string", "values": LISTED}),)), secrets={"x": bf.full(other="r")}
        )
    both = Domain((_column(), integers("n", 0, 1)))
    with pytest.raises(SecretError, match="belongs to one column"):
        bf.Policy(both, secrets={("x", "n"): bf.full(other="rest")})


def test_words_name_the_cell():
    """What is printed, and lint, say what the cell is and whether it is disclosed who falls into it."""
    hidden, shown = (
        bf.Policy(Domain((_column(),)), secrets={"x": s}) for s in (SECRETS["full"], SECRETS["own group"])
    )

    assert "rest" in hidden.describe()
    assert "every other value" in hidden.describe()
    assert "every other value" in hidden._repr_html_()
    assert "other-disclosed" not in [each.kind for each in hidden.lint()]
    (found,) = [each for each in shown.lint() if each.kind == "other-disclosed"]
    assert "disclosed" in found.what
    assert _column().describe() == "'a', 'b', 'c', and 'rest' for every other value"
    assert hidden.distance({"x": "a"}, {"x": "rest"}) == 1
    assert shown.distance({"x": "a"}, {"x": "rest"}) == float("inf")


def test_no_predicate_on_text_is_true_of_part_of_the_cell():
    """Of the values that are not listed some may start so and others not: refused, a list is taken."""
    column = from_dict("town", {"type": "string", "values": ["ab", "ac"], "other": "other"})

    with pytest.raises(ExpressionError, match="not listed"):
        parse("town.startswith('a')", Domain((column,)), {})
