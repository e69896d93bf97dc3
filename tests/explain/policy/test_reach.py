"""The steps that pictures shade are the policy's own distances, also in a window of a large domain."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, DeclaredValueError, DomainTooLargeError
from pandas_blowfish.explain.policy import reach as module
from pandas_blowfish.explain.policy.reach import MOST, reach_of
from pandas_blowfish.policy.domain import Domain, integers, numeric_attribute, values_attribute

A, B = integers("a", 0, 8), integers("b", 0, 6)
NULL = integers("n", 0, 5, nullable=True)
HALF = numeric_attribute("h", "float", 0, 4, "0.5", open_high=True)
LIST = values_attribute("l", "integer", [5, 1, 2, 9, 14], nullable=True)
WORDS = values_attribute("w", "category", list("uvwxyz"), nullable=False, ranked=True)
PUBLIC = {"missing": "public"}
POLICIES = {
    "line": (bf.Policy(Domain((A,)), secrets={"a": bf.threshold(2)}), ["a"]),
    "full": (bf.Policy(Domain((A,))), ["a"]),
    "public": (bf.Policy(Domain((A,)), secrets={"a": bf.public()}), ["a"]),
    "groups": (
        bf.Policy(Domain((WORDS,)), secrets={"w": bf.partition([["u", "x"], ["v"], ["w", "y", "z"]])}),
        ["w"],
    ),
    "ordered": (bf.Policy(Domain((WORDS,)), secrets={"w": bf.threshold(1)}), ["w"]),
    "edges": (
        bf.Policy(Domain((WORDS,)), secrets={"w": bf.edges([("u", "v"), ("v", "z"), ("x", "y")])}),
        ["w"],
    ),
    "missing": (bf.Policy(Domain((NULL,)), secrets={"n": bf.threshold(1)}), ["n"]),
    "open missing": (bf.Policy(Domain((NULL,)), secrets={"n": bf.threshold(1, **PUBLIC)}), ["n"]),
    "missing edges": (bf.Policy(Domain((NULL,)), secrets={"n": bf.edges([(0, 1)], **PUBLIC)}), ["n"]),
    "uneven": (bf.Policy(Domain((LIST,)), secrets={"l": bf.threshold(4)}), ["l"]),
    "presence": (bf.Policy(Domain((A,)), secrets={"a": bf.threshold(1)}, presence=True), ["a"]),
    "both": (bf.Policy(Domain((A, NULL)), secrets={"a": bf.threshold(2), "n": bf.threshold(1)}), ["n", "a"]),
    "one": (
        bf.Policy(
            Domain((A, WORDS)),
            secrets={"a": bf.threshold(3), "w": bf.partition([["u", "v", "w"], ["x", "y", "z"]])},
            neighbors="attribute",
        ),
        ["a", "w"],
    ),
    "ball": (
        bf.Policy(Domain((A, HALF)), secrets={("a", "h"): bf.threshold(2, metric="l2", scale={"h": 2})}),
        ["h", "a"],
    ),
    "ball, missing": (bf.Policy(Domain((A, NULL)), secrets={("a", "n"): bf.threshold(1)}), ["a", "n"]),
    "uneven ball": (bf.Policy(Domain((A, LIST)), secrets={("a", "l"): bf.threshold(3)}), ["a", "l"]),
    "cubes": (bf.Policy(Domain((A, B)), secrets={("a", "b"): bf.partition({"a": 3, "b": 2})}), ["b", "a"]),
    "joint edges": (
        bf.Policy(Domain((A, NULL)), secrets={("n", "a"): bf.edges([((0, 1), (2, 3)), ((2, 3), (5, 8))])}),
        ["a", "n"],
    ),
    "joint edges to missing": (
        bf.Policy(
            Domain((A, NULL)),
            secrets={("n", "a"): bf.edges([((0, 1), (None, 3)), ((None, 3), (5, 8))], **PUBLIC)},
        ),
        ["a", "n"],
    ),
    "part of a ball": (
        bf.Policy(Domain((A, B, NULL)), secrets={("a", "b", "n"): bf.threshold(2, metric="linf")}),
        ["b", "a"],
    ),
    "one of a ball": (bf.Policy(Domain((A, B)), secrets={("a", "b"): bf.threshold(2)}), ["b"]),
    "joint presence": (
        bf.Policy(Domain((A, B)), secrets={("a", "b"): bf.public()}, presence=True),
        ["a", "b"],
    ),
}


def _values(attribute):
    """Return a value of each cell, None for the missing one."""
    values = [getattr(each, "left", each) for each in attribute.labels()]
    return [*values, None] if attribute.nullable else values


def _slow(policy, columns, start):
    """Return the steps to every record, one distance after the other."""
    values = [_values(policy.domain[column]) for column in columns]
    found = [
        policy.distance(start, dict(zip(columns, each, strict=True))) for each in itertools.product(*values)
    ]
    steps = np.array([each if math.isinf(each) else min(each, MOST + 1) for each in found])
    return steps.reshape([len(each) for each in values])


@pytest.mark.parametrize("name", POLICIES)
def test_steps_are_distances(name):
    """From every record, the missing ones included, steps equal `policy.distance`."""
    policy, columns = POLICIES[name]
    values = [_values(policy.domain[column]) for column in columns]

    for record in itertools.islice(itertools.product(*values), 0, None, 5):
        start = dict(zip(columns, record, strict=True))

        found = reach_of(policy, columns, start)

        assert found.steps.tolist() == _slow(policy, columns, start).tolist()
        assert found.whole
        assert found.steps[found.origin] == 0
        assert found.steps.shape == tuple(len(found.cells(axis)) for axis in range(len(columns)))


@pytest.mark.parametrize("kind", ["line", "floats", "days", "groups", "plane"])
def test_a_window_has_the_same_steps(kind):
    """Of large columns a part is looked at, whose cells and steps are those of the whole."""
    secrets = {"line": bf.threshold(3), "groups": bf.partition(7)}
    policy, columns = {
        "line": (bf.Policy(Domain((integers("x", 10, 2_000),)), secrets={"x": secrets["line"]}), ["x"]),
        "groups": (bf.Policy(Domain((integers("x", 10, 2_000),)), secrets={"x": secrets["groups"]}), ["x"]),
        "floats": (
            bf.Policy(
                Domain((numeric_attribute("x", "float", 0, 9, "0.01"),)), secrets={"x": bf.threshold("0.02")}
            ),
            ["x"],
        ),
        "days": (
            bf.Policy(
                Domain((numeric_attribute("x", "datetime", "2020-01-01", "2026-01-01", "1D"),)),
                secrets={"x": bf.threshold("2D")},
            ),
            ["x"],
        ),
        "plane": (
            bf.Policy(
                Domain((integers("x", 0, 999), integers("y", 0, 999))),
                secrets={("x", "y"): bf.threshold(5, metric="l2")},
            ),
            ["y", "x"],
        ),
    }[kind]
    found = reach_of(policy, columns)
    start = {c: _values(found.attributes[axis])[found.origin[axis]] for axis, c in enumerate(columns)}

    assert not found.whole
    assert found.steps.size < 10_000
    assert [start[c] for c in columns] == [
        getattr(policy.domain[c].labels()[policy.domain[c].cells // 2], "left", None)
        or policy.domain[c].labels()[policy.domain[c].cells // 2]
        for c in columns
    ]
    for place in itertools.islice(np.ndindex(found.steps.shape), 0, None, 1 if len(columns) == 1 else 97):
        record = {c: _values(found.attributes[axis])[place[axis]] for axis, c in enumerate(columns)}
        true = policy.distance(start, record)
        assert found.steps[place] == (true if math.isinf(true) else min(true, MOST + 1))


@pytest.mark.parametrize("nullable", [False, True])
def test_some_of_very_many_pairs(nullable):
    """Two long columns with a long reach: cells are taken evenly, the first of them among them."""
    domain = Domain((integers("x", 0, 99_999), integers("y", 0, 49_999, nullable=nullable)))
    policy = bf.Policy(domain, secrets={"x": bf.threshold(9_000), "y": bf.threshold(3_000)})

    found = reach_of(policy, ["x", "y"], {"x": 123})

    assert found.steps.size < 1_100**2
    assert found.steps[found.origin] == 0
    for place in itertools.islice(np.ndindex(found.steps.shape), 0, None, 4_999):
        record = {c: _values(found.attributes[axis])[place[axis]] for axis, c in enumerate(["x", "y"])}
        assert found.steps[place] == min(policy.distance({"x": 123, "y": 25_000}, record), MOST + 1)


def test_windows_at_the_ends():
    """A window about the first or the last value is cut off there."""
    policy = bf.Policy(Domain((integers("x", 0, 9_999),)), secrets={"x": bf.threshold(1)})

    low, high = (reach_of(policy, ["x"], {"x": value}) for value in (0, 9_999))

    assert low.cells(0)[0] == low.origin[0] == 0
    assert high.cells(0)[-1] == 9_999
    assert high.origin[0] == len(high.cells(0)) - 1
    assert high.steps[-2:].tolist() == [1, 0]


@pytest.mark.parametrize("secret", [bf.full(), bf.public(), bf.threshold(7), bf.partition(100)])
def test_very_large_columns(secret):
    """A hundred million cells, alone or with a second column, need no list of them."""
    secrets = {"x": secret, "y": secret}
    many = 10**8 - 1 if secret["blowfish"]["secret"] != "partition" else 10**6 - 1
    policy = bf.Policy(Domain((integers("x", 0, many), integers("y", 0, 10**6 - 1))), secrets=secrets)

    for columns in (["x"], ["x", "y"]):
        found = reach_of(policy, columns)

        assert found.steps.size < module.LARGEST
        assert (found.steps == 0).sum() == 1


def test_what_cannot_be_looked_at():
    """Part of listed pairs, values that are not declared, more cells than a picture has."""
    far = bf.Policy(
        Domain((integers("x", 0, 9_999), integers("y", 0, 9_999))),
        secrets={("x", "y"): bf.threshold(4_000)},
    )
    pairs = bf.Policy(Domain((A, B)), secrets={("a", "b"): bf.edges([((0, 0), (1, 1))])})

    with pytest.raises(DomainTooLargeError):
        reach_of(far, ["x", "y"])
    with pytest.raises(ArgumentError, match="draw a and b"):
        reach_of(pairs, ["a"])
    with pytest.raises(DeclaredValueError):
        reach_of(pairs, ["a", "b"], {"a": 50})
    assert reach_of(pairs, ["a", "b"]).steps.min() == 0


def test_names_of_cells():
    """Are those of the column, missing last."""
    policy, columns = POLICIES["missing"]

    cells = reach_of(policy, columns).cells(0)

    assert cells[:-1].tolist() == list(range(6))
    assert pd.isna(cells[-1])
    assert module.MOST == MOST
