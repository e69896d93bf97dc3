"""The policy: the graphs its words mean, its identity, its forms, and what it refuses."""

import copy
import itertools
import math
import os
import pickle
import random
import subprocess
import sys

import numpy as np
import pandas as pd
import pandera.pandas as pa
import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.errors import (
    ArgumentError,
    DeclaredValueError,
    DomainTooLargeError,
    SchemaError,
    SecretError,
    UnboundedColumnError,
    UndeclaredColumnError,
)
from pandas_blowfish.policy.attribute import Unbounded
from pandas_blowfish.policy.domain import Domain, from_dict, integers

SCHEMA = pa.DataFrameSchema(
    {
        "age": pa.Column(int, pa.Check.in_range(0, 99), metadata=bf.threshold(5)),
        "income": pa.Column(
            float, pa.Check.in_range(0, 500), metadata=bf.threshold(100, step=10), nullable=True
        ),
        "sex": pa.Column("category", pa.Check.isin(["F", "M"]), metadata=bf.full()),
        "region": pa.Column("category", pa.Check.isin(["n", "s"]), metadata=bf.public()),
        "note": pa.Column(str),
    }
)
SMALL = Domain((integers("a", 0, 3), integers("b", 0, 2), from_dict("c", {"type": "bool"})))


def random_secret(draw, column):
    """Return a secret that fits a column of any kind."""
    values = [getattr(label, "left", label) for label in column.labels()]
    missing = draw.choice([None, "public"])
    secrets = [bf.full(missing=missing), bf.public()]
    secrets.append(
        bf.edges([p for p in itertools.combinations(values, 2) if draw.random() < 0.7], missing=missing)
    )
    secrets.append(bf.partition({value: draw.choice("xy") for value in values}, missing=missing))
    if column.ordered:
        theta = draw.randint(1, 3)
        secrets.append(bf.threshold(f"{theta}D" if column.kind == "datetime" else theta, missing=missing))
    return draw.choice(secrets)


def random_secrets(draw, domain):
    """Return a random secret for every column."""
    return {column.name: random_secret(draw, column) for column in domain}


def pairs_of(policy):
    """Return all neighbouring records from the policy's words, `neighbors` and presence included."""
    return {(int(a), int(b)) for a, b in definition_edges(policy, policy.domain.columns)}


def search(pairs, start):
    """Return distances from one record by breadth-first search over neighbouring pairs."""
    joined = {}
    for a, b in pairs:
        joined.setdefault(a, set()).add(b)
        joined.setdefault(b, set()).add(a)
    far, layer, steps = {start: 0}, {start}, 0
    while layer:
        steps += 1
        layer = {y for x in layer for y in joined.get(x, ()) if y not in far}
        far |= dict.fromkeys(layer, steps)
    return far


def value_at(column, cell):
    """Return a value that lies in a cell; None for the missing one."""
    if cell == column.cells:
        return None
    label = column.labels()[cell]
    return getattr(label, "left", label)


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_graph_matches_definition(make_policy, columns):
    """The closed-form product has just the edges that the policy's words say, on any columns."""
    draw = random.Random(columns)
    for _ in range(120 // columns**2):
        policy = make_policy(draw, columns)
        asked = draw.sample(policy.domain.columns, draw.randint(1, columns))

        fast = policy.graph.project(asked).edges()

        slow = {(int(a), int(b)) for a, b in definition_edges(policy, asked)}
        assert {(int(a), int(b)) for a, b in fast} == slow
        assert policy.graph.project(asked).edge_count == len(slow)


def test_distance_matches_search(make_policy):
    """The distance of records is breadth-first search over the neighbours that the words define."""
    draw = random.Random(11)
    for _ in range(60):
        policy = make_policy(draw, draw.randint(1, 2))
        neighbors, presence = draw.choice(["record", "attribute", 1, 2]), draw.random() < 0.3
        policy = bf.Policy(policy.domain, secrets=policy.secrets, neighbors=neighbors, presence=presence)
        columns = list(policy.domain)
        shape = [column.size for column in columns]
        start = draw.randrange(math.prod(shape))

        far = search(pairs_of(policy), start)

        for end in range(math.prod(shape)):
            ends = [np.unravel_index(cell, shape) for cell in (start, end)]
            records = [{c.name: value_at(c, int(i)) for c, i in zip(columns, e, strict=True)} for e in ends]
            assert policy.distance(*records) == far.get(end, math.inf)


def test_distance_in_words():
    """Columns left out stay; unknown values, columns and unequal records are refused."""
    policy = bf.Policy(SCHEMA)

    assert policy.distance({"age": 34}, {"age": 71}) == 8
    assert policy.distance({"age": 34, "sex": "F"}, {"age": 35, "sex": "M"}) == 1
    assert policy.distance({"region": "n"}, {"region": "s"}) == math.inf
    assert policy.distance({"income": None}, {"income": 3.5}) == 1
    assert policy.distance({}, {}) == 0
    with pytest.raises(ArgumentError, match="different columns"):
        policy.distance({"age": 1}, {"sex": "F"})
    with pytest.raises(DeclaredValueError):
        policy.distance({"age": 1}, {"age": 100})
    with pytest.raises(DeclaredValueError):
        policy.distance({"age": 1}, {"age": None})
    with pytest.raises(UndeclaredColumnError):
        policy.distance({"note": 1}, {"note": 2})


def test_implies_matches_enumeration(make_policy):
    """One policy implies another exactly when all the other's neighbours are neighbours here."""
    draw = random.Random(12)
    found = []
    for _ in range(250):
        domain = make_policy(draw, draw.randint(1, 2), 3).domain
        choices = [
            {
                "secrets": random_secrets(draw, domain),
                "neighbors": draw.choice(["record", "record", "attribute", 1, 2]),
                "presence": draw.random() < 0.3,
            }
            for _ in range(2)
        ]
        mine, theirs = (bf.Policy(domain, **choice) for choice in choices)

        result = mine.implies(theirs)

        assert result == (pairs_of(theirs) <= pairs_of(mine))
        assert mine.implies(mine)
        found.append(result)
    assert 20 < sum(found) < 230


def test_implies_needs_the_same_cells_and_no_facts():
    """Other cells, or any public fact, allow no comparison but with itself; order does not matter."""
    wide, narrow = bf.Policy(SMALL), bf.Policy(SMALL, secrets={"a": bf.threshold(1)})
    fact = bf.Policy(SMALL, constraints=[bf.Marginal("a")])
    turned = bf.Policy(Domain(SMALL.attributes[::-1]), secrets={"a": bf.threshold(1)})
    other = bf.Policy(Domain((integers("a", 0, 4), *SMALL.attributes[1:])))

    assert wide.implies(narrow)
    assert wide.implies(turned)
    assert not narrow.implies(wide)
    assert not wide.implies(fact)
    assert not fact.implies(narrow)
    assert fact.implies(fact)
    assert not wide.implies(other)
    with pytest.raises(ArgumentError):
        wide.implies("narrow")


def test_implies_with_columns_that_have_no_graph():
    """Unbounded and endless columns must promise the same; the others are compared."""
    domain = Domain((Unbounded("u", "float", False), integers("id", 0, 10**14), integers("a", 0, 3)))

    wide = bf.Policy(domain, secrets={"u": bf.threshold(5)})
    narrow = bf.Policy(domain, secrets={"u": bf.threshold("5.0"), "a": bf.threshold(1)})
    other = bf.Policy(domain, secrets={"u": bf.threshold(6), "a": bf.threshold(1)})

    assert wide.implies(narrow)
    assert not narrow.implies(wide)
    assert not wide.implies(other)


def test_columns_too_large_to_count_do_no_harm():
    """A column of 10^14 values is declared without memory; only asking for its cells is refused."""
    policy = bf.Policy(Domain((integers("id", 0, 10**14), integers("a", 0, 3))))

    assert policy.plan.hist("a").sensitivity == 2
    assert policy.distance({"a": 0}, {"a": 3}) == 1
    with pytest.raises(DomainTooLargeError):
        policy.plan.hist("id")
    with pytest.raises(DomainTooLargeError):
        policy.distance({"id": 0}, {"id": 3})


def test_unbounded_columns_are_declared_but_not_counted():
    """A numeric column without bounds keeps its secret, and cell queries refuse it."""
    schema = pa.DataFrameSchema({"u": pa.Column(float, metadata=bf.threshold(5)), "b": pa.Column(bool)})

    policy = bf.Policy(schema)

    assert policy.domain.columns == ("u", "b")
    assert bf.Policy.from_yaml(policy.to_yaml()) == policy
    assert policy.plan.hist("b", strategy="identity").sensitivity == 2
    with pytest.raises(UnboundedColumnError):
        policy.plan.hist("u")


@pytest.mark.parametrize(
    ("extra", "sensitivities"),
    [
        ({"constraints": [bf.Marginal("a")]}, [8, 8, 0]),
        ({"constraints": [bf.Marginal("p", "a")]}, [8, 8, 0]),
        ({"constraints": [bf.Count("p == 1")]}, [2, 2, 0]),
        ({"constraints": [bf.Box(a=(0, 1))]}, [4, 4, 0]),
        ({"constraints": [bf.Marginal("p"), bf.Box(a=(0, 1), p=(0, 1))]}, [4, 4, 0]),
        ({"neighbors": "attribute", "constraints": [bf.Marginal("b")]}, [0, 8, 0]),
        ({"secrets": {("a", "p"): bf.public()}, "constraints": [bf.Marginal("a", "b")]}, [0, 0, 0]),
        ({"presence": True, "constraints": [bf.Marginal("p")]}, [2, 2, 0]),
    ],
)
def test_facts_are_written_down_and_priced(extra, sensitivities):
    """Facts that a secret touches are read back, and every verb pays for them."""
    domain = Domain((integers("a", 0, 3), integers("b", 0, 3), integers("p", 0, 1)))

    policy = bf.Policy(domain, **{"secrets": {"p": bf.public()}, **extra})
    plain = {"strategy": "identity"}
    plans = [policy.plan.hist("b", **plain), policy.plan.hist(["a", "b"], **plain), policy.plan.hist("p")]

    assert bf.Policy.from_yaml(policy.to_yaml()) == policy
    assert bf.Policy.from_dict(policy.to_dict()).fingerprint == policy.fingerprint
    assert policy.constraints[0].describe() in policy.describe()
    assert [plan.sensitivity for plan in plans] == sensitivities
    assert all(plan.privacy_loss() == plan.cost for plan in plans)


@pytest.mark.parametrize(
    ("extra", "sensitivities"),
    [
        ({}, [2, 2, 0]),
        ({"neighbors": "attribute"}, [2, 2, 0]),
        ({"neighbors": 2}, [2, 2, 0]),
        ({"presence": True}, [2, 2, 1]),
        ({"secrets": {("a", "b"): bf.threshold(1, metric="l2")}}, [2, 2, 0]),
        ({"secrets": {("a", "b"): bf.public()}}, [0, 0, 0]),
        ({"secrets": {("a", "b"): bf.public()}, "presence": True}, [1, 1, 1]),
        ({"secrets": {("b", "a"): bf.partition({"a": 2, "b": 4})}}, [2, 2, 0]),
    ],
)
def test_every_neighbour_is_priced(extra, sensitivities):
    """Joint secrets, attribute neighbours and presence are written down, read back and answered."""
    policy = bf.Policy(Domain((integers("a", 0, 3), integers("b", 0, 3))), **extra)
    again = bf.Policy.from_yaml(policy.to_yaml())

    plain = {"strategy": "identity"}
    plans = [again.plan.hist("a", **plain), again.plan.hist(["b", "a"], **plain), again.plan.count()]
    chosen = [again.plan.hist("a"), again.plan.hist(["b", "a"])]

    assert again == policy
    assert again.graph.edge_count == policy.graph.edge_count
    assert [plan.sensitivity for plan in plans] == sensitivities
    assert all(plan.privacy_loss() == plan.cost for plan in [*plans, *chosen])


def test_facts_about_public_columns_are_allowed():
    """No edge touches them, so they cost nothing."""
    domain = Domain((integers("a", 0, 3), integers("p", 0, 1), integers("q", 0, 1)))
    facts = [bf.Marginal("p", "q", answer=[[1, 2], [3, 4]]), bf.Box(p=(0, 0), answer=3)]

    policy = bf.Policy(domain, secrets={"p": bf.public(), "q": bf.public()}, constraints=facts)

    assert policy.plan.hist("a").sensitivity == 2
    assert "cost nothing" in policy.plan.hist("a").proof


def test_a_policy_reads_its_schema():
    """Columns, secrets and cells come from the schema; other columns pass through."""
    policy = bf.Policy(SCHEMA)

    assert policy.domain.columns == ("age", "income", "sex", "region")
    assert policy.domain.shape == (100, 52, 2, 2)
    assert policy.public_columns == {"region"}
    assert policy.rows_public
    assert [secret["secret"] for secret in policy.secrets.values()] == [
        "threshold",
        "threshold",
        "full",
        "public",
    ]
    assert "threshold(theta=5) on [0, 99]" in repr(policy)


def test_overrides_and_steps():
    """An override replaces a secret and keeps the step; it may bring one only where none is."""
    bare = pa.DataFrameSchema({"x": pa.Column(float, pa.Check.in_range(0, 10))})

    kept = bf.Policy(SCHEMA, secrets={"income": bf.threshold(20)})
    brought = bf.Policy(bare, secrets={"x": bf.threshold(2, step=0.5)})

    assert kept.domain == bf.Policy(SCHEMA).domain
    assert kept.distance({"income": 0}, {"income": 50}) == 2
    assert brought.domain.shape == (21,)
    assert bf.Policy(SCHEMA, secrets={"income": bf.threshold(20, step="10")}) == kept
    with pytest.raises(SecretError, match="step"):
        bf.Policy(SCHEMA, secrets={"income": bf.threshold(20, step=5)})
    with pytest.raises(SecretError, match="step"):
        bf.Policy(SCHEMA, secrets={"sex": bf.full()} | {("age", "income"): bf.threshold(5, step=1)})


@pytest.mark.parametrize(
    "extra",
    [
        {"neighbors": "all"},
        {"neighbors": 0},
        {"neighbors": True},
        {"neighbors": 1.5},
        {"neighbors": None},
        {"presence": 1},
        {"presence": None},
        {"constraints": bf.Marginal("a")},
        {"constraints": ["a"]},
        {"constraints": [bf.Marginal("z")]},
        {"secrets": {"z": bf.full()}},
        {"secrets": {"a": 5}},
        {"secrets": {"a": bf.threshold("1D")}},
        {"secrets": {"c": bf.partition([[True]])}},
    ],
)
def test_wrong_arguments_are_typed_errors(extra):
    """Every wrong argument of a policy is one of our own errors, at once."""
    with pytest.raises(bf.BlowfishError):
        bf.Policy(SMALL, **extra)


def test_column_names_must_differ():
    """Two columns of one name are refused."""
    with pytest.raises(SchemaError, match="share a name"):
        bf.Policy(Domain((integers("a", 0, 1), integers("a", 0, 2))))


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_random_policies_round_trip(make_policy, columns):
    """Dicts, YAML, pickles and copies are the same policy, with the same graph."""
    draw = random.Random(20 + columns)
    for _ in range(40):
        policy = make_policy(draw, columns)
        names = policy.domain.columns

        twins = [
            bf.Policy.from_dict(policy.to_dict()),
            bf.Policy.from_yaml(policy.to_yaml()),
            pickle.loads(pickle.dumps(policy)),
            copy.deepcopy(policy),
            copy.copy(policy),
            bf.Policy(policy.domain, secrets=policy.secrets),
        ]

        for twin in twins:
            assert twin == policy
            assert hash(twin) == hash(policy)
            assert twin.to_dict() == policy.to_dict()
            assert twin.domain == policy.domain
            assert np.array_equal(twin.graph.project(names).edges(), policy.graph.project(names).edges())


def test_equal_words_are_equal_policies():
    """However theta, spans and values are written, the promise has one fingerprint."""
    days = Domain(
        (from_dict("t", {"type": "datetime", "min": "2020-01-01", "max": "2020-02-01", "step": "1D"}),)
    )
    numbers = [bf.Policy(SMALL, secrets={"a": bf.threshold(theta)}) for theta in (2, 2.0, "2", np.float32(2))]
    spans = [bf.Policy(days, secrets={"t": bf.threshold(span)}) for span in ("1D", "24h", pd.Timedelta("1D"))]
    forms = [
        bf.Policy(SMALL, secrets={"a": {"secret": "partition", "groups": groups}})
        for groups in ({"x": [0, 1], "y": [2, 3]}, {0: "x", 1: "x", 2: "y", 3: "y"})
    ]

    for group in (numbers, spans, forms):
        assert len({policy.fingerprint for policy in group}) == 1
    assert len({*numbers, *spans, *forms}) == 3
    assert numbers[0] != "policy"


def test_different_promises_have_different_fingerprints():
    """Cells, secrets, neighbours, presence and facts all count."""
    fact = [bf.Marginal("a")]
    policies = [
        bf.Policy(SMALL),
        bf.Policy(Domain(SMALL.attributes[:2])),
        bf.Policy(SMALL, secrets={"a": bf.threshold(1)}),
        bf.Policy(SMALL, secrets={"a": bf.threshold(2)}),
        bf.Policy(SMALL, secrets={("a", "b"): bf.full()}),
        bf.Policy(SMALL, neighbors="attribute"),
        bf.Policy(SMALL, neighbors=2),
        bf.Policy(SMALL, presence=True),
        bf.Policy(SMALL, constraints=fact),
        bf.Policy(Domain((integers("a", 0, 3, nullable=True), *SMALL.attributes[1:]))),
    ]

    assert len({policy.fingerprint for policy in policies}) == len(policies)


@pytest.mark.parametrize("seed", ["0", "1", "4711"])
def test_fingerprint_is_stable_across_processes(seed):
    """Another process with another hash seed names the same policy the same."""
    secrets = {"a": bf.partition([{0, 3}, {1, 2}]), "b": bf.edges([(0, 1)])}
    policy = bf.Policy(SMALL, secrets=secrets, constraints=[bf.Marginal("a")])
    code = (
        "import pandas_blowfish as bf\n"
        "from pandas_blowfish.policy.domain import *\n"
        "d = Domain((integers('a', 0, 3), integers('b', 0, 2), from_dict('c', {'type': 'bool'})))\n"
        "s = {'a': bf.partition([{0, 3}, {1, 2}]), 'b': bf.edges([(0, 1)])}\n"
        "print(bf.Policy(d, secrets=s, constraints=[bf.Marginal('a')]).fingerprint)\n"
    )

    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == policy.fingerprint
    assert policy.fingerprint.startswith("bf1-")


def test_the_fingerprint_does_not_change_between_versions():
    """Ledgers keep fingerprints, so this one may change only on purpose."""
    policy = bf.Policy(SMALL, secrets={"a": bf.threshold(1)})

    assert policy.fingerprint == "bf1-b889b1dcbe139a2720b28b840cc67526db3ecfdd"


def test_policies_cannot_be_changed():
    """Neither attributes nor the data inside can be set or deleted, and forms are copies."""
    policy = bf.Policy(SMALL, secrets={"a": bf.partition({"x": [0, 1], "y": [2, 3]})})
    before = policy.to_dict()

    for name in ("domain", "secrets", "presence", "graph", "fingerprint", "anything"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(policy, name, None)
        with pytest.raises(AttributeError, match="immutable"):
            delattr(policy, name)
    with pytest.raises(TypeError):
        policy.secrets[("b",)] = {}
    with pytest.raises(TypeError):
        policy.secrets[("a",)]["secret"] = "public"
    with pytest.raises(TypeError):
        policy.secrets[("a",)]["groups"]["x"] += [3]
    policy.to_dict()["columns"]["a"]["secret"]["groups"]["x"].append(2)

    assert policy.to_dict() == before


def test_later_changes_to_arguments_do_not_reach_the_policy():
    """A policy keeps its own copy of what it was given."""
    secret, facts = bf.partition({"x": [0, 1], "y": [2, 3]}), [bf.Marginal("a")]
    policy = bf.Policy(SMALL, secrets={"a": secret}, constraints=facts)
    before = policy.fingerprint

    secret["blowfish"]["groups"]["x"].append(2)
    facts.clear()

    assert bf.Policy.from_dict(policy.to_dict()).fingerprint == before


def test_describe_names_everything():
    """The promise in words has a line a column and a line a fact."""
    policy = bf.Policy(
        SMALL,
        secrets={("a", "b"): bf.threshold(2, metric="l2", scale={"a": 2})},
        presence=True,
        constraints=[bf.Marginal("c")],
    )

    lines = policy.describe().splitlines()

    assert "presence secret" in lines[0]
    assert lines[1] == "  a, b: threshold(theta=2, metric=l2, scale={'a': 2}) on [0, 3]; [0, 2]"
    assert lines[-1].startswith("  public fact:")
