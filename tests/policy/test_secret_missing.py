"""What a secret may state about missing values: any other, one of them, or public."""

import math
import random

import numpy as np
import pandas as pd
import pandera.pandas as pa
import pytest
from oracle.definition import definition_edges
from oracle.policies import random_attribute, random_secret, value_of

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, SecretError
from pandas_blowfish.policy.attribute import Unbounded
from pandas_blowfish.policy.domain import Domain, from_dict
from pandas_blowfish.policy.graph.edges import edges_of

FINGERPRINTS = (
    "bf1-a41ea5c8fa03c1917c0aa0db8cda986da02a3271",
    "bf1-5ead67a847afc68cd3042281cf4d952821dbfa55",
)
PAY = {"type": "integer", "min": 0, "max": 99, "nullable": True}


def _policy(spec, secret, **given):
    return bf.Policy(Domain((from_dict("x", spec),)), secrets={"x": secret}, **given)


def with_stand_ins(draw, policy):
    """Return a policy whose nullable columns with a secret of their own have stand-ins for missing values."""
    stated = {}
    for columns, secret in policy.secrets.items():
        attribute = policy.domain[columns[0]]
        if len(columns) == 1 and attribute.nullable and secret["secret"] != "public":
            stated[columns[0]] = value_of(attribute, draw.randrange(attribute.cells))
    return policy.with_missing(stated)


@pytest.mark.parametrize(
    ("spec", "secret", "written"),
    [
        (PAY, bf.threshold(5, missing=7.0), 7),
        (PAY, bf.threshold(5, missing="7"), 7),
        (PAY, bf.threshold(5, missing=np.int32(7)), 7),
        ({**PAY, "type": "float", "step": "0.5"}, bf.full(missing=0.25), 0.25),
        ({"type": "bool", "nullable": True}, bf.full(missing=False), False),
        ({"type": "category", "values": ["a", "b"], "nullable": True}, bf.full(missing="b"), "b"),
        (
            {"type": "datetime", "min": "2020-01-01", "max": "2020-12-31", "step": "1D", "nullable": True},
            bf.threshold("7D", missing=pd.Timestamp("2020-03-01")),
            "2020-03-01 00:00:00",
        ),
        ({"type": "float", "nullable": True}, bf.threshold(5, missing=-3), -3),
    ],
)
def test_stand_ins_are_written_one_way(spec, secret, written):
    """Numbers, truth values, categories and instants survive JSON and YAML, and say so in words."""
    policy = _policy(spec, secret)

    assert policy.secrets["x",]["missing"] == written
    assert bf.Policy.from_dict(policy.to_dict()) == policy
    assert bf.Policy.from_yaml(policy.to_yaml()) == policy
    assert f"a missing value as if it were {written}" in policy._repr_html_()
    assert f"missing={written}" in repr(policy)


@pytest.mark.parametrize(
    ("spec", "secret", "why"),
    [
        (PAY, bf.threshold(5, missing=100), "not a declared value"),
        (PAY, bf.threshold(5, missing="secret"), "not a declared value"),
        ({**PAY, "nullable": False}, bf.threshold(5, missing=7), "no value of it may be missing"),
        (PAY, {"secret": "public", "missing": 7}, "in a public column"),
        (
            {"type": "category", "values": ["a"], "nullable": True},
            bf.full(missing="c"),
            "not a declared value",
        ),
    ],
)
def test_a_stand_in_is_a_declared_value(spec, secret, why):
    """Anything else is a SecretError that says what may be stated."""
    with pytest.raises(SecretError, match=why):
        _policy(spec, secret)


@pytest.mark.parametrize("missing", [float("nan"), pd.NA, [1], {"a": 1}])
def test_what_is_no_value_is_refused_at_once(missing):
    """Where it is written."""
    with pytest.raises(ArgumentError, match="protected"):
        bf.threshold(5, missing=missing)


def test_several_columns_have_no_stand_in():
    """A joint secret states that missing is public, or protected, which is the default."""
    domain = Domain(tuple(from_dict(name, PAY) for name in "xy"))

    with pytest.raises(SecretError, match="a secret of its own"):
        bf.Policy(domain, secrets={("x", "y"): bf.threshold(5, missing=0)})
    stated = bf.Policy(domain, secrets={("x", "y"): bf.threshold(5, missing="protected")})
    assert stated.implies(bf.Policy(domain, secrets={("x", "y"): bf.threshold(5)}))


def test_policies_without_a_stand_in_are_named_as_before():
    """Fingerprints that were written down before stand-ins existed."""
    schema = {"x": pa.Column(int, pa.Check.in_range(0, 9), nullable=True, metadata=bf.threshold(2))}

    assert bf.Policy(pa.DataFrameSchema(schema)).fingerprint == FINGERPRINTS[0]
    assert _policy(PAY, bf.full(missing="public")).fingerprint == FINGERPRINTS[1]


def test_odds_are_those_of_the_stand_in():
    """As far from others as that value, one step from it; the default, and what it implies, stay stronger."""
    like, every, public = (_policy(PAY, bf.threshold(5, missing=m)) for m in (10, "protected", "public"))

    found = [like.distance({"x": None}, {"x": value}) for value in (10, 12, 15, 16, 99, None)]

    assert found == [1, 1, 1, 2, 18, 0]
    assert like.distance({"x": 0}, {"x": 99}) == 20
    assert like.odds({"x": None}, {"x": 16}, 1).distance == 2
    assert every.implies(like)
    assert like.implies(public)
    assert not like.implies(every)
    assert not public.implies(like)
    endless = bf.Policy(Domain((Unbounded("x", "float", True),)), secrets={"x": bf.threshold(5, missing=10)})
    assert [endless.distance({"x": None}, {"x": v}) for v in (10, 15, 16, -90)] == [1, 1, 2, 20]
    assert public.distance({"x": None}, {"x": 10}) == math.inf


@pytest.mark.parametrize("seed", range(200))
def test_edges_of_the_check_and_of_plans_are_the_twins(seed):
    """Three descriptions of one promise: by enumeration, as the kernel draws edges, and in closed form."""
    draw = random.Random(90_000 + seed)
    attributes = [random_attribute(draw, name, 4) for name in "uv"]
    secrets = {attribute.name: random_secret(draw, attribute) for attribute in attributes}
    neighbors = draw.choice(["record", "attribute"])
    policy = bf.Policy(
        Domain(tuple(attributes)), secrets=secrets, neighbors=neighbors, presence=draw.random() < 0.3
    )
    policy = with_stand_ins(draw, policy)

    edges = {tuple(edge) for edge in definition_edges(policy, policy.domain.columns).tolist()}
    checked = edges_of(policy, policy.domain.columns)
    listed = checked.listed
    planned = policy.graph.project(policy.domain.columns)

    assert {
        tuple(sorted(pair)) for pair in zip(listed.start.tolist(), listed.end.tolist(), strict=True)
    } == edges
    assert checked.count == len(edges)
    assert {tuple(sorted(edge)) for edge in planned.edges().tolist()} == edges
    if edges:
        cells = checked.listed_cells
        start, end = checked.draw(
            np.random.default_rng(seed), cells.take(np.repeat(np.arange(len(cells)), 20))
        )
        drawn = zip(checked._numbers(start, len(cells)), checked._numbers(end, len(cells)), strict=True)
        assert {tuple(sorted(map(int, pair))) for pair in drawn} <= edges


def test_filters_see_missing_as_it_is():
    """A missing value passes no comparison, whatever stands in for it: a row near that may leave a filter."""
    policy = _policy({**PAY, "max": 9}, bf.partition(5, missing=0))

    kept = [policy.plan.where(text).count(epsilon=1).sensitivity for text in ("x <= 9", "x < 5", "x >= 5")]

    assert kept == [1, 1, 0]
