"""Lint finds what an author may not have meant, and nothing else."""

import inspect
import re
import time

import pandas as pd
import pandera.pandas as pa
import pytest
import yaml

import pandas_blowfish as bf
from pandas_blowfish.policy import lint
from pandas_blowfish.policy import lint as hints
from pandas_blowfish.policy.domain import Domain, from_dict, integers


def _policy(column, secret, **extra):
    return bf.Policy(Domain((from_dict("x", column),)), secrets={"x": secret}, **extra)


LINE = {"type": "integer", "min": 0, "max": 9}


@pytest.mark.parametrize(
    ("policy", "kinds"),
    [
        (_policy(LINE, bf.full()), []),
        (_policy(LINE, bf.threshold(3)), []),
        (_policy(LINE, bf.public()), ["no-secret"]),
        (_policy(LINE, bf.public(), presence=True), []),
        (_policy(LINE, bf.threshold(10)), ["theta-wide"]),
        (_policy({**LINE, "step": 5}, bf.threshold(2)), ["theta-below-step"]),
        (_policy(LINE, bf.partition(5)), ["exact-total"]),
        (_policy(LINE, bf.partition(5), presence=True), []),
        (_policy(LINE, bf.edges([(0, 1)])), ["unprotected", "exact-total"]),
        (
            _policy({**LINE, "nullable": True}, bf.full(missing="public")),
            ["missing-public"],
        ),
        (
            _policy({**LINE, "nullable": True}, bf.partition(5, missing="public")),
            ["missing-public", "exact-total"],
        ),
        (
            _policy({**LINE, "nullable": True}, bf.edges([(0, 1)], missing="public")),
            ["missing-public", "unprotected", "exact-total"],
        ),
        (_policy({**LINE, "nullable": True}, bf.threshold(1)), ["missing-joins"]),
        (_policy({**LINE, "nullable": True}, bf.threshold(1, missing="public")), ["missing-public"]),
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


GRID = [from_dict(name, {**LINE, "max": 3, "nullable": name == "lon"}) for name in ("lat", "lon")]
PAIR = {("lat", "lon"): bf.threshold(2, metric="l2", scale={"lat": 2}, missing="public")}


FIXES = [
    ([from_dict("x", LINE)], {"secrets": {"x": bf.public()}}, "no-secret"),
    ([from_dict("x", LINE)], {"secrets": {"x": bf.threshold(10)}}, "theta-wide"),
    ([from_dict("x", LINE)], {"secrets": {"x": bf.partition(5)}}, "exact-total"),
    ([from_dict("x", LINE)], {"secrets": {"x": bf.edges([(0, 1)])}}, "unprotected"),
    (GRID[:1], {"secrets": {"lat": bf.partition({"a": [0, 1], "b": [2, 3]})}}, "exact-total"),
    (GRID[1:], {"secrets": {"lon": bf.threshold(1)}}, "missing-joins"),
    (GRID[1:], {"secrets": {"lon": bf.threshold(1, missing="public")}}, "missing-public"),
    (GRID[1:], {"secrets": {"lon": bf.partition(2, missing="public")}}, "missing-public"),
    (GRID[1:], {"secrets": {"lon": bf.edges([(0, 1)], missing="public")}}, "missing-public"),
    (GRID[1:], {"secrets": {"lon": bf.full(missing="public")}}, "missing-public"),
    (GRID, {"secrets": PAIR}, "missing-public"),
    (GRID, {"neighbors": "attribute"}, "one-at-a-time"),
    ([*GRID, from_dict("x", LINE)], {"neighbors": 2}, "one-at-a-time"),
    (GRID, {"constraints": [bf.Count("lat < 2")]}, "fact-cost"),
    (GRID, {"constraints": [bf.Count("lat < 2"), bf.Count("lon < 2")]}, "fact-cost"),
    (GRID[:1], {"constraints": [bf.Marginal("lat")]}, "fact-known"),
    (
        [from_dict(name, LINE) for name in "abc"],
        {"constraints": [bf.Marginal("a"), bf.Marginal("b")]},
        "fact-bound",
    ),
]


@pytest.mark.parametrize(("columns", "given", "kind"), FIXES)
def test_a_fix_can_be_pasted(columns, given, kind):
    """Evaluated as it is written, the fix removes what it is about."""
    domain = Domain(tuple(columns))
    policy = bf.Policy(domain, **given)
    before = [each for each in policy.lint() if each.kind == kind]

    fix = before[0].fix
    code = fix if fix.startswith("policy") else f"dict({fix}\n)"
    pasted = eval(code, {"bf": bf, "policy": policy})
    after = pasted if isinstance(pasted, bf.Policy) else bf.Policy(domain, **{**given, **pasted})

    left = [each.what for each in after.lint() if each.kind == kind]
    assert before[0].what not in left


@pytest.mark.parametrize(("columns", "given", "kind"), [case for case in FIXES if "fact" not in case[2]])
def test_a_fix_in_yaml_can_be_stated(columns, given, kind):
    """Stated in the policy's YAML instead of what is there, it removes what it is about."""
    policy = bf.Policy(Domain(tuple(columns)), **given)
    before = next(each for each in policy.lint() if each.kind == kind)

    spec, stated = policy.to_dict(), yaml.safe_load(before.yaml)
    for name, column in stated.pop("columns", {}).items():
        spec["columns"][name] |= column
    after = bf.Policy.from_dict({**spec, **stated}).lint()

    assert before.what not in [each.what for each in after if each.kind == kind]


def test_facts_are_left_out_of_the_yaml():
    """What is not public is named by its place; marginals are put together."""
    two = _facts(bf.Box(b=(0, 1)), bf.Count("b == 2"))
    domain = Domain(tuple(from_dict(name, LINE) for name in "abc"))
    bound = bf.Policy(domain, constraints=[bf.Marginal("a"), bf.Marginal("b")]).lint()

    assert [each.yaml.partition(",")[0] for each in two] == [
        "constraints:  # without number 1",
        "constraints:  # without number 2",
    ]
    assert bound[0].yaml.startswith("constraints: [{fact: marginal, columns: [a, b]}]")


def test_the_two_sides_of_a_choice_do_not_contradict():
    """Each says what it means in one short sentence, and a choice that was stated is accepted."""
    nullable = {**LINE, "nullable": True}

    joins = _policy(nullable, bf.threshold(1)).lint()
    public = _policy(nullable, bf.threshold(1, missing="public")).lint()

    assert [each.kind for each in (*joins, *public)] == ["missing-joins", "missing-public"]
    assert all(len(each.what) < 100 and "." not in each.what for each in (*joins, *public))
    assert "missing: public" in joins[0].yaml
    assert _policy(nullable, bf.threshold(1, missing="protected")).lint() == ()
    assert _policy(nullable, bf.threshold(1, missing=0)).lint() == ()


def test_columns_that_no_query_can_ask_are_named():
    """A schema column without checks is reported, with what it needs."""
    columns = {"x": pa.Column(int, pa.Check.in_range(0, 9)), "note": pa.Column(str), "pay": pa.Column(float)}
    bounded = {"fee": pa.Column(float, pa.Check.in_range(0, 9))}

    found = bf.Policy(pa.DataFrameSchema({**columns, **bounded})).lint()

    assert [(each.kind, each.columns) for each in found] == [
        ("undeclared", ("note",)),
        ("undeclared", ("pay",)),
        ("undeclared", ("fee",)),
    ]
    assert "Check.isin" in found[0].fix
    assert "step=" in found[2].fix


def test_the_joint_table_is_compared_with_its_marginals():
    """Where stating it would cost less; not where it is the whole table, of which nothing is secret then."""
    facts = [bf.Marginal("a"), bf.Marginal("b")]
    large = Domain(tuple(from_dict(name, LINE) for name in "abc"))
    small = Domain((integers("a", 0, 1), integers("b", 0, 2), integers("c", 0, 9)))

    bound, exact = (bf.Policy(domain, constraints=facts).lint() for domain in (large, small))

    assert [bound[0].kind, exact[0].kind] == ["fact-bound", "fact-joint"]
    assert bound[0].what.endswith("if the joint table of a, b is public, stating it instead makes that 100")
    assert exact[0].what.startswith(
        "neighbours may differ in 8 records; if the joint table of a, b is public"
    )
    whole = bf.Policy(Domain(tuple(small)[:2]), constraints=facts).lint()
    assert not any("joint table" in each.what for each in whole)


def test_long_secrets_are_not_written_again():
    """A secret of a thousand groups is not repeated in a fix."""
    groups = {f"group {n}": [2 * n, 2 * n + 1] for n in range(500)}
    column = {"type": "integer", "min": 0, "max": 999, "nullable": True}

    found = _policy(column, bf.partition(groups, missing="public")).lint()[0]

    assert found.yaml.startswith("`missing: protected` in the secret of x  #")


def test_every_kind_is_listed():
    """What a script may accept is what lint finds."""
    source = inspect.getsource(lint) + inspect.getsource(hints)

    assert all(source.count(f'"{kind}"') >= 2 for kind in lint.KINDS)
    assert set(re.findall(r'Finding\(\s*"([a-z-]+)"', source)) <= set(lint.KINDS)


def test_a_finer_step_is_written_into_the_schema():
    """The metadata of the fix makes cells that theta reaches."""
    column = pa.Column(float, pa.Check.in_range(0, 9), metadata=bf.threshold("0.5", step=1))
    found = bf.Policy(pa.DataFrameSchema({"x": column})).lint()

    given = eval(f"dict({found[0].fix}\n)", {"bf": bf})

    mended = pa.DataFrameSchema({"x": pa.Column(float, pa.Check.in_range(0, 9), **given)})
    assert found[0].kind == "theta-below-step"
    assert bf.Policy(mended).lint() == ()
    assert found[0].yaml == "columns: {x: {step: '0.5'}}  # or a larger theta"


def test_one_secret_at_a_time_is_said():
    """Two secrets of which one changes a step: both differ two steps away."""
    policy = bf.Policy(Domain(tuple(GRID)), neighbors="attribute")

    found = policy.lint()

    assert [each.kind for each in found] == ["one-at-a-time"]
    assert "2 steps apart or more" in found[0].what
    assert policy.distance({"lat": 0, "lon": 0}, {"lat": 1, "lon": 1}) == 2
    alone = bf.Policy(Domain(tuple(GRID)), neighbors="attribute", secrets={"lat": bf.public()})
    assert alone.lint() == ()


def test_findings_are_a_table_too():
    """A row a finding, escaped in a notebook; a tuple all the same."""
    policy = bf.Policy(Domain((from_dict("<b>x", LINE),)), secrets={"<b>x": bf.partition(5)})

    found = policy.lint()

    assert list(found.table.columns) == ["kind", "columns", "what", "fix"]
    assert found.table["kind"].tolist() == ["exact-total"]
    assert "<b>" not in found._repr_html_()
    assert "bf.full()" in found._repr_html_()
    assert isinstance(found, tuple)
    clean = bf.Policy(Domain((from_dict("x", LINE),))).lint()
    assert "nothing found" in clean._repr_html_()
    assert clean.table.empty


LARGE = {"type": "integer", "min": 0, "max": 99_999_999}


@pytest.mark.parametrize(
    ("secret", "kinds"),
    [
        (bf.full(), []),
        (bf.threshold(5), []),
        (bf.partition(10), ["not-looked-at"]),
        (bf.edges([(0, 1)]), ["not-looked-at"]),
    ],
)
def test_a_hundred_million_cells_take_no_time(secret, kinds):
    """What joins all cells is known to; of the rest it is said that nobody looked."""
    begun = time.process_time()

    found = _policy(LARGE, secret).lint()

    assert time.process_time() - begun < 0.1
    assert [each.kind for each in found] == kinds
