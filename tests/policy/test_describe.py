"""A policy in words: true, short and safe, whatever its columns are called."""

import random
from fractions import Fraction

import pandas as pd
import pandera.pandas as pa
import pytest

import pandas_blowfish as bf
from pandas_blowfish.policy.attribute import Grid
from pandas_blowfish.policy.describe import describe, describe_secrets, kept_of, value_at, values_of
from pandas_blowfish.policy.domain import Domain, integers

RANKED = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
SCHEMA = pa.DataFrameSchema(
    {
        "age": pa.Column(int, pa.Check.in_range(0, 99), metadata=bf.threshold(5)),
        "pay": pa.Column(
            float, pa.Check.in_range(0, 10, include_max=False), metadata=bf.threshold(1, step=0.5)
        ),
        "day": pa.Column(
            "datetime64[ns]",
            pa.Check.in_range("2020-01-01", "2020-12-31"),
            metadata=bf.threshold("7D", step="1D"),
        ),
        "rank": pa.Column(RANKED, metadata=bf.threshold(1)),
        "sick": pa.Column(
            str, pa.Check.isin(list("abcd")), metadata=bf.partition({"x": ["a", "b"], "y": ["c", "d"]})
        ),
        "pair": pa.Column(str, pa.Check.isin(list("abc")), metadata=bf.edges([("a", "b")])),
        "seen": pa.Column(bool, nullable=True),
        "told": pa.Column(bool, nullable=True, metadata=bf.full(missing="public")),
        "wide": pa.Column(int, pa.Check.in_range(0, 9), metadata=bf.partition(5)),
        "town": pa.Column(str, pa.Check.isin(["n", "s"]), metadata=bf.public()),
    }
)
KEPT = {
    "age": "values up to 5 apart",
    "pay": "values up to 1 apart, in whole cells",
    "day": "values up to 7D apart, in whole cells",
    "rank": "values up to 1 position apart",
    "sick": "values of the same group (2 groups: x, y); which group it is, is not protected",
    "pair": "just these pairs: a and b",
    "seen": "every value from every other; whether it is missing too",
    "told": "every value from every other; whether it is missing is public",
    "wide": "values of the same group of width 5; which group it is, is not protected",
    "town": "nothing: everyone knows the value",
}


def test_each_kind_of_secret_is_said():
    """Every secret has its words, and every column says what it holds."""
    found = {each.name: each for each in describe_secrets(bf.Policy(SCHEMA))}

    assert {name: each.kept for name, each in found.items()} == KEPT
    assert found["pay"].values == "numbers 0 to 10 (without 10), in cells of 0.5"
    assert found["rank"].values == "3 values: low, mid, high, in this order"
    assert found["seen"].values == "False, True, or missing"
    assert found["day"].values.startswith("times 2020-01-01")


@pytest.mark.parametrize(
    ("secret", "words"),
    [
        (
            bf.threshold(50, metric="l2", scale={"a": 111, "b": 71}),
            "combinations of values up to 50 apart (straight-line distance; a times 111, b times 71)",
        ),
        (bf.threshold(2), "combinations of values up to 2 apart (distances added up)"),
        (
            bf.partition({"a": 2, "b": 5}),
            "values of the same box (a by 2, b by 5); which box it is, is not protected",
        ),
        (bf.edges([((0, 1), (2, 3))]), "just these pairs: 0, 1 and 2, 3"),
        (bf.full(), "every combination of values from every other"),
    ],
)
def test_joint_secrets_are_said(secret, words):
    """Columns that share a secret are told together."""
    policy = bf.Policy(Domain((integers("a", 0, 9), integers("b", 0, 9))), secrets={("a", "b"): secret})

    (one,) = describe_secrets(policy)

    assert (one.name, one.kept) == ("a, b", words)
    assert words.split(" (")[0] in policy._repr_html_()


def test_a_value_of_each_cell_is_in_that_cell(make_policy):
    """What stands for a cell in words is read back as that cell."""
    draw = random.Random(8)
    for _ in range(60):
        policy = make_policy(draw, 2, 9)
        for attribute in policy.domain:
            cells = [attribute.cell(value_at(attribute, cell)) for cell in range(attribute.size)]
            assert cells == list(range(attribute.size))
        assert len(list(describe_secrets(policy))) == 2


def test_the_first_cell_of_an_open_range_has_a_value():
    """Its low edge is not one of them."""
    attribute = Grid("x", "float", False, Fraction(0), Fraction(1), Fraction(1, 4), open_low=True)

    assert attribute.code(value_at(attribute, 0)) == 0


def test_neighbours_are_said():
    """What may change at once, presence, and facts that make rows change together."""
    domain = Domain((integers("a", 0, 9), integers("b", 0, 9)))
    views = [
        bf.Policy(domain)._repr_html_(),
        bf.Policy(domain, neighbors="attribute", presence=True)._repr_html_(),
        bf.Policy(domain, neighbors=2, constraints=[bf.Count("a < 5")])._repr_html_(),
    ]

    assert "one row, in any of its columns at once; the number of rows is public" in views[0]
    assert "in one secret at a time; also whether a row is there" in views[1]
    assert "public facts make change together), in up to 2 secrets at a time" in views[2]
    assert "Count(&#x27;a &lt; 5&#x27;)" in views[2]


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "two\nlines", "n" * 500], ids=lambda n: n[:9])
def test_views_of_hostile_and_large_policies_are_short(name):
    """Two hundred columns, ten thousand categories, names of any kind: views stay short and escaped."""
    many = [f"{name} {number}" for number in range(10_000)]
    columns = {f"{name}{number}": pa.Column(bool) for number in range(200)}
    columns[name] = pa.Column(
        str, pa.Check.isin(many), metadata=bf.partition({"g" + each: [each] for each in many})
    )
    facts = [bf.Marginal(f"{name}{number}") for number in range(40)]
    policy = bf.Policy(pa.DataFrameSchema(columns), constraints=facts)

    text, shown = repr(policy), policy._repr_html_()

    assert len(text) < 12_000
    assert len(text.splitlines()) < 60
    assert len(shown) < 60_000
    assert "<script" not in shown
    assert "and 177 more" in text
    assert "more facts" in shown
    assert len(describe(policy).splitlines()) == 1 + 201 + 40 + 10_000


def test_the_promise_lists_groups_and_pairs():
    """They are what is promised: in print(policy) the first of them and how many more, in describe() all."""
    values = [f"v{number}" for number in range(30)]
    columns = {
        "named": pa.Column(
            str, pa.Check.isin(["a", "b", "c"]), metadata=bf.partition({"x": ["a", "b"], "y": ["c"]})
        ),
        "runs": pa.Column(int, pa.Check.in_range(0, 99), metadata=bf.partition([range(18), range(18, 100)])),
        "wide": pa.Column(int, pa.Check.in_range(0, 99), metadata=bf.partition(10)),
        "pairs": pa.Column(str, pa.Check.isin(values), metadata=bf.edges([("v0", v) for v in values[1:]])),
        "many": pa.Column(str, pa.Check.isin(values), metadata=bf.partition([values[:15], values[15:]])),
    }
    policy = bf.Policy(pa.DataFrameSchema(columns))

    text = repr(policy)

    assert "  named: partition() on 'a', 'b', 'c'\n    x: a, b\n    y: c\n" in text
    assert "    group 1: from 0, below 18\n    group 2: from 18, below 100\n" in text
    assert "    groups of width 10\n" in text
    assert "    v0 and v1\n" in text
    assert "    v0 and v8\n    and 21 more pairs\n" in text
    assert "    group 1: v0, v1, v2, v3, v4, v5, v6, v7 and 7 more\n" in text
    assert "    v0 and v29\n" in policy.describe()
    assert "v13, v14\n" in policy.describe()
    assert "x: a, b; y: c" in policy._repr_html_()


def test_a_column_without_bounds_is_said():
    """It holds any number, and has no cell."""
    schema = pa.DataFrameSchema({"x": pa.Column(float, metadata=bf.threshold(2))})
    policy = bf.Policy(schema)

    assert values_of(policy.domain["x"]) == "any number"
    assert kept_of(policy.secrets[("x",)], [policy.domain["x"]]) == "values up to 2 apart"
    assert value_at(policy.domain["x"], 0) is None
