"""Secrets as stated: overrides, blocks, steps, and values nobody can change."""

import json

import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, SecretError, UndeclaredColumnError
from pandas_blowfish.policy.blocks import cells_stated, freeze, merge, overrides_of, thaw
from pandas_blowfish.policy.domain import Domain, from_dict, integers

DOMAIN = Domain((integers("a", 0, 9), integers("b", 0, 99, 10), from_dict("c", {"type": "bool"})))
OWN = {column: {"secret": "full"} for column in DOMAIN.columns}


def merged(secrets):
    """Return the secrets of the test's domain under some overrides."""
    return merge(DOMAIN, OWN, overrides_of(secrets))


def test_overrides_replace_a_column_own_secret():
    """What is overridden changes, the rest stays, in schema order."""
    result = merged({"c": bf.public(), "a": bf.threshold(2)})

    assert list(result) == [("a",), ("b",), ("c",)]
    assert [secret["secret"] for secret in result.values()] == ["threshold", "full", "public"]


def test_joint_secrets_are_one_block():
    """A tuple of columns is one block, placed at its first column."""
    result = merged({("c", "a"): bf.full(), "b": bf.threshold(5.0)})

    assert list(result) == [("b",), ("c", "a")]
    assert result[("b",)] == {"secret": "threshold", "theta": 5}


def test_steps_belong_to_the_domain():
    """An override may repeat its column's step, and the secret does not keep it."""
    secrets = {"b": bf.threshold(5, step=10.0), "a": bf.full(step="1")}

    result = merged(secrets)

    assert cells_stated(overrides_of(secrets), "step") == {"b": 10.0, "a": "1"}
    assert all("step" not in secret for secret in result.values())


@pytest.mark.parametrize(
    "secrets",
    [
        {"b": bf.threshold(5, step=5)},
        {"c": bf.full(step=1)},
        {("a", "b"): bf.threshold(5, step=1)},
        {("a", "b"): {"secret": "threshold", "metric": "l7", "theta": 1}},
        {("a", "b"): bf.full(), "a": bf.full()},
        {("a", "a"): bf.full()},
        {"a": {"theta": 5}},
        {"a": "full"},
        {"a": {"secret": "partition", "groups": None}},
        {"a": {"secret": "edges", "pairs": 5}},
        {"a": {"secret": "unknown"}},
    ],
    ids=str,
)
def test_secrets_that_do_not_fit_are_refused(secrets):
    """Another step, a shared column or a secret of no known kind is a SecretError."""
    with pytest.raises(SecretError):
        merged(secrets)


@pytest.mark.parametrize("secrets", [5, ["a"], {5: bf.full()}, {("a", 5): bf.full()}, {(): bf.full()}])
def test_overrides_name_columns(secrets):
    """Keys are names of columns, or tuples of them."""
    with pytest.raises(ArgumentError):
        overrides_of(secrets)


@pytest.mark.parametrize("key", ["z", ("a", "z")])
def test_unknown_columns_are_refused(key):
    """A secret of a column that is not declared names it."""
    with pytest.raises(UndeclaredColumnError, match="'z'"):
        merged({key: bf.full()})


def test_frozen_data_thaws_and_cannot_change():
    """Freezing is deep, and thawing gives back plain JSON data."""
    plain = {"a": {"b": [1, [2, {"c": None}]]}, "d": "text"}

    frozen = freeze(plain)

    assert thaw(frozen) == plain
    assert json.dumps(thaw(frozen)) == json.dumps(plain)
    with pytest.raises(TypeError):
        frozen["a"]["b"] = 1
    with pytest.raises(TypeError):
        frozen["a"]["b"][0] = 1
