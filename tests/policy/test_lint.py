"""Lint finds what an author may not have meant, and nothing else."""

import pandas as pd
import pandera.pandas as pa
import pytest

import pandas_blowfish as bf
from pandas_blowfish.policy.domain import Domain, from_dict, integers


def _policy(column, secret, **extra):
    return bf.Policy(Domain((from_dict("x", column),)), secrets={"x": secret}, **extra)


LINE = {"type": "integer", "min": 0, "max": 9}


@pytest.mark.parametrize(
    ("policy", "kinds"),
    [
        (_policy(LINE, bf.full()), []),
        (_policy(LINE, bf.threshold(3)), []),
        (_policy(LINE, bf.public()), []),
        (_policy(LINE, bf.threshold(10)), ["theta-wide"]),
        (_policy({**LINE, "step": 5}, bf.threshold(2)), ["theta-below-step"]),
        (_policy(LINE, bf.partition(5)), ["exact-total"]),
        (_policy(LINE, bf.partition(5), presence=True), []),
        (_policy(LINE, bf.edges([(0, 1)])), ["unprotected", "exact-total"]),
        (
            _policy({**LINE, "nullable": True}, bf.full(missing="public")),
            ["missing-public", "unprotected", "exact-total"],
        ),
        (_policy({**LINE, "nullable": True}, bf.full()), []),
        (_policy({"type": "integer", "values": [1, 5, 9]}, bf.threshold(8)), ["theta-wide"]),
        (
            _policy(
                {"type": "datetime", "min": "2020-01-01", "max": "2020-02-01", "step": "1D"},
                bf.threshold("1h"),
            ),
            ["theta-below-step"],
        ),
    ],
)
def test_findings_are_those_of_the_policy(policy, kinds):
    """Each trap is found, and a plain policy is clean."""
    found = policy.lint()

    assert [finding.kind for finding in found] == kinds
    assert all(finding.fix and finding.what for finding in found)
    assert repr(found) == ("\n".join(map(str, found)) or "nothing found")


def test_claims_of_the_schema_are_public_facts():
    """Unique columns and checks across columns are facts the policy does not know."""
    schema = pa.DataFrameSchema(
        {
            "x": pa.Column(int, pa.Check.in_range(0, 9), unique=True),
            "y": pa.Column(int, pa.Check.in_range(0, 9)),
        },
        checks=pa.Check(lambda frame: frame["x"] < frame["y"], name="x_below_y"),
        unique=["x", "y"],
    )

    found = bf.Policy(schema).lint()

    assert [(finding.kind, finding.columns) for finding in found] == [
        ("public-fact", ("x",)),
        ("public-fact", ("x", "y")),
        ("public-fact", ()),
    ]
    assert "x_below_y" in str(found[2])


def test_joint_blocks_are_looked_at_too():
    """Joint cells without an edge are named by their values."""
    grid = Domain(tuple(from_dict(name, LINE) for name in ("lat", "lon")))
    policy = bf.Policy(grid, secrets={("lat", "lon"): bf.edges([((0, 0), (0, 1))])})

    found = policy.lint()

    assert [finding.kind for finding in found] == ["unprotected", "exact-total"]
    assert "(0, 2)" in found[0].what


def test_a_million_cells_are_linted_without_edges():
    """Wide columns use skeletons only."""
    policy = _policy({"type": "integer", "min": 0, "max": 10**6}, bf.threshold(5))

    assert policy.lint() == ()


def test_timestamps_are_named_by_where_they_begin():
    """Bins are shown by their first value."""
    column = {"type": "datetime", "min": "2020-01-01", "max": "2020-01-03", "step": "1D"}
    policy = _policy(column, bf.edges([("2020-01-01", pd.Timestamp("2020-01-02"))]))

    assert "2020-01-03" in policy.lint()[0].what


def _facts(*facts, **more):
    domain = Domain((integers("a", 0, 2), integers("b", 0, 3)))
    found = bf.Policy(domain, constraints=facts, **more).lint()
    return [each for each in found if each.kind.startswith("fact")]


def test_facts_say_what_they_cost():
    """The error with and without each fact that is touched; nothing about others."""
    two = _facts(bf.Box(b=(0, 1)), bf.Count("b == 2"), bf.Count("b == 3 and a == 1"))  # one cell: no more

    assert [each.kind for each in two] == ["fact-cost"] * 2
    assert two[0].columns == ("b",)
    assert "Box(b=(0, 1)): without this fact the error would be +-5.66 instead of +-8.49" in two[0].what
    assert _facts(bf.Marginal("a"), secrets={"a": bf.public()}) == []
    alone = _facts(bf.Marginal("a"), secrets={"b": bf.threshold(1)})
    assert "strategies fitted to the secrets" in alone[0].what


def test_bounds_and_known_tables_are_named():
    """A bound alone says so, facts that leave one table say that nothing is secret, many are summed up."""
    assert _facts(bf.Marginal("a"), bf.Marginal("b"))[0].kind == "fact-bound"
    assert [each.kind for each in _facts(bf.Marginal("a", "b"))] == ["fact-known"]
    domain = Domain((integers("x", 0, 99),))
    many = bf.Policy(domain, constraints=[bf.Box(x=(5 * n, 5 * n + 2)) for n in range(20)]).lint()
    assert next(each for each in many if each.kind == "fact-cost").what.startswith("20 public facts")
