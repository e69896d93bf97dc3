"""Secrets of several columns: every kind, seen on any of its columns, equals its own words."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.errors import DomainTooLargeError, SecretError
from pandas_blowfish.policy.attribute import Unbounded
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.policy.graph import joint
from pandas_blowfish.policy.graph.joint import gaps, within
from pandas_blowfish.policy.graph.offsets import OffsetBall
from pandas_blowfish.policy.graph.secret_graph import Cliques, Explicit

METRICS = ["l1", "l2", "linf"]
NULLABLE = [(), ("u",), ("v",), ("u", "v", "w")]


def column(draw, name, kind, nullable):
    """Return a small column of one kind."""
    size = draw.randint(1, 4)
    spec = {
        "integer": {"type": "integer", "min": draw.randint(-2, 2), "max": 0},
        "binned": {"type": "integer", "min": 0, "max": 3 * size - draw.randint(1, 3), "step": 3},
        "float": {"type": "float", "min": 0, "max": f"{size * 0.5 - 0.25}", "step": "0.5"},
        "ranked": {"type": "category", "values": list("abcd"[:size]), "ordered": True},
        "listed": {"type": "integer", "values": sorted(draw.sample(range(9), size))},
    }[kind]
    if kind == "integer":
        spec["max"] = spec["min"] + size - 1
    return from_dict(name, {**spec, "nullable": nullable})


def block(draw, secret, nullable):
    """Return a policy of two or three columns that share one secret of a kind."""
    names = draw.sample("uvw", draw.randint(2, 3))
    kinds = ["integer", "binned", "float"] + ["ranked", "listed"] * (secret != "partition")
    columns = [column(draw, name, draw.choice(kinds), name in nullable) for name in names]
    missing = draw.choice([None, "public"])
    made = {"full": bf.full(missing=missing), "public": bf.public()}.get(secret)
    if secret in METRICS:
        scale = {name: draw.choice([2, "0.5", "1/3"]) for name in names if draw.random() < 0.5}
        theta = draw.choice(["0.25", "0.5", 1, "1.5", 2, 3, 7])
        made = bf.threshold(theta, metric=secret, scale=scale or None, missing=missing)
    if secret == "partition":
        made = bf.partition({c.name: float(c.step * draw.randint(1, 3)) for c in columns}, missing=missing)
    if secret == "edges":
        made = bf.edges(some_edges(draw, columns), missing=missing)
    return bf.Policy(Domain(tuple(columns)), secrets={tuple(draw.sample(names, len(names))): made})


def some_edges(draw, columns):
    """Return pairs of joint values, each in the order of the block's columns: one value repeated is fine."""
    if len({c.cells for c in columns}) > 1 or any(c.describe() != columns[0].describe() for c in columns):
        return []
    values = [getattr(label, "left", label) for label in columns[0].labels()]
    joint = list(itertools.product(values, repeat=len(columns)))
    return [tuple(draw.choices(joint, k=2)) for _ in range(5)]


def edges_of(graph):
    """Return a graph's edges as a set of pairs."""
    return {(int(a), int(b)) for a, b in graph.edges()}


@pytest.mark.parametrize("nullable", NULLABLE, ids=str)
@pytest.mark.parametrize("secret", ["full", "public", "edges", "partition", *METRICS])
def test_projection_matches_definition(secret, nullable):
    """On any columns in any order the block's graph has just the edges that its words project to."""
    draw = random.Random(f"{secret} {nullable}")
    for _ in range(25):
        policy = block(draw, secret, nullable)
        names = list(policy.domain.columns)
        asked = draw.sample(names, draw.randint(1, len(names)))

        graph = policy.graph.project(asked)

        slow = {(int(a), int(b)) for a, b in definition_edges(policy, asked)}
        assert edges_of(graph) == slow
        assert graph.edge_count == len(slow)
        assert graph.columns == tuple(asked)


@pytest.mark.parametrize("missing", [None, "public"])
def test_listed_edges_project(missing):
    """Edges of tuples join just those; seen on one column, the ends that differ there."""
    domain = Domain(
        (integers("a", 0, 2, nullable=True), from_dict("c", {"type": "category", "values": ["x", "y"]}))
    )
    pairs = [((0, "x"), (2, "y")), ((1, "x"), (1, "y")), ((None, "x"), (0, "y"))]
    policy = bf.Policy(domain, secrets={("a", "c"): bf.edges(pairs, missing=missing)})

    for asked in (["a", "c"], ["c", "a"], ["a"], ["c"]):
        slow = {(int(a), int(b)) for a, b in definition_edges(policy, asked)}

        assert edges_of(policy.graph.project(asked)) == slow
    assert policy.distance({"a": 0, "c": "x"}, {"a": 2, "c": "y"}) == 1
    assert policy.distance({"a": 0, "c": "x"}, {"a": 1, "c": "y"}) == (2 if missing is None else np.inf)


@pytest.mark.parametrize(("metric", "theta", "far"), [("l1", 5, 2), ("l2", 5, 3), ("linf", 5, 5)])
def test_balls_of_whole_numbers(metric, theta, far):
    """Whole numbers are exact values: a diagonal of d steps is 2 d, d sqrt(2) or d long."""
    policy = bf.Policy(
        Domain((integers("a", 0, 99), integers("b", 0, 99))),
        secrets={("a", "b"): bf.threshold(theta, metric=metric)},
    )
    graph = policy.graph.blocks[0].graph

    straight = max(step for step in range(100) if graph.adjacent(0, step) or not step)
    diagonal = max(step for step in range(100) if graph.adjacent(0, 101 * step) or not step)

    assert straight == theta
    assert diagonal == far


@pytest.mark.parametrize(
    ("metric", "theta", "nearer", "further"),
    [("l1", 7, (3, 5), (4, 5)), ("l2", 5, (4, 4), (4, 5)), ("linf", 4, (4, 4), (4, 5))],
)
def test_the_end_of_a_half_open_cell_is_not_reached(metric, theta, nearer, further):
    """Cells whose nearest values are just theta apart, but not attained, are not joined."""
    spec = {"type": "float", "min": 0, "max": 9, "step": 1, "exclusive_max": True}
    near_by = {("a", "b"): bf.threshold(theta, metric=metric)}
    graph = (
        bf.Policy(Domain((from_dict("a", spec), from_dict("b", spec))), secrets=near_by).graph.blocks[0].graph
    )

    assert graph.adjacent(0, 9 * nearer[0] + nearer[1])
    assert not graph.adjacent(0, 9 * further[0] + further[1])


def test_a_grid_of_a_million_cells_lists_nothing(monkeypatch):
    """A ball of evenly cut columns is its longest offsets."""
    monkeypatch.setattr(OffsetBall, "_list", lambda self: pytest.fail("edges were listed"))
    monkeypatch.setattr(Explicit, "__init__", lambda *_: pytest.fail("edges were listed"))
    lat = from_dict("lat", {"type": "float", "min": 0, "max": 10, "step": "0.01", "exclusive_max": True})
    lon = from_dict("lon", {"type": "float", "min": 0, "max": 10, "step": "0.01", "exclusive_max": True})
    near_by = bf.threshold(20, metric="l2", scale={"lat": 111.2, "lon": 71.5})

    policy = bf.Policy(Domain((lat, lon)), secrets={("lat", "lon"): near_by})

    assert policy.plan.hist(["lat", "lon"]).sensitivity == 2
    assert policy.plan.where("lat < 5").groupby("lon").count().sensitivity == 2
    assert policy.plan.where("lat < 5 and lon >= 2").count().sensitivity == 1
    assert policy.plan.hist("lat").sensitivity == 2
    assert policy.distance({"lat": 0, "lon": 0}, {"lat": 0.05, "lon": 0.05}) == 1


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("columns", "size", "theta"), [(3, 256, 32), (3, 256, 256), (2, 1000, 500)])
def test_balls_of_millions_of_offsets_need_no_list(monkeypatch, metric, columns, size, theta):
    """Wide thresholds of large columns plan at once, from all of their columns or from some."""
    monkeypatch.setattr(OffsetBall, "_list", lambda self: pytest.fail("edges were listed"))
    steps = OffsetBall.pairs
    monkeypatch.setattr(
        OffsetBall, "pairs", lambda self: steps(self) if self.size < 10**4 else pytest.fail("a pair a cell")
    )
    names = list("rgb")[:columns]
    domain = Domain(tuple(integers(name, 0, size - 1) for name in names))

    policy = bf.Policy(domain, secrets={tuple(names): bf.threshold(theta, metric=metric)})

    assert policy.plan.hist(names, bins=dict.fromkeys(names, 4)).sensitivity == 2
    assert policy.plan.hist("g", bins=4, strategy="identity").sensitivity == 2
    assert policy.plan.where("r < 50").sum("g").sensitivity == size - 1  # a row may leave
    furthest = policy.graph.project(["g"]).blocks[0].graph.reach[0]
    assert furthest == min(theta, size - 1)
    if metric == "linf":
        ends = (dict.fromkeys(names, cell) for cell in (0, size - 1))
        assert policy.distance(*ends) == -(-(size - 1) // theta)


@pytest.mark.parametrize("most", ["MAX_FRONT", "MAX_PROFILE"])
def test_balls_too_wide_to_keep_are_refused(monkeypatch, most):
    """Too many longest offsets, or ways of all columns but one, are a typed error with a way out."""
    monkeypatch.setattr(joint, most, 20)
    domain = Domain(tuple(integers(name, 0, 9) for name in "abc"))

    with pytest.raises(DomainTooLargeError, match="the ball of"):
        bf.Policy(domain, secrets={tuple("abc"): bf.threshold(5)})

    assert bf.Policy(domain, secrets={tuple("abc"): bf.threshold(2)}).graph.edge_count


def test_a_projection_reads_theta_as_the_whole_block_does():
    """A number beside a datetime keeps its number when only the datetime is seen."""
    day = from_dict("day", {"type": "datetime", "min": "2020-01-01", "max": "2020-01-09", "step": "1D"})
    scale = {"day": Fraction(1, 86_400 * 10**9)}
    policy = bf.Policy(
        Domain((day, integers("a", 0, 9))), secrets={("day", "a"): bf.threshold(2, scale=scale)}
    )

    assert policy.plan.hist("day").sensitivity == 2
    assert policy.graph.project(["day"]).edge_count == 8 + 7
    assert policy.distance({"day": "2020-01-01"}, {"day": "2020-01-05"}) == 2


def test_spans_measure_blocks_of_datetimes():
    """When all columns are datetimes theta is a time span."""
    spec = {"type": "datetime", "min": "2020-01-01", "max": "2020-01-05", "step": "1D"}
    policy = bf.Policy(
        Domain((from_dict("a", spec), from_dict("b", spec))),
        secrets={("a", "b"): bf.threshold("36h", metric="linf")},
    )

    assert policy.distance({"a": "2020-01-01"}, {"a": "2020-01-05"}) == 2
    with pytest.raises(SecretError, match="theta"):
        bf.Policy(policy.domain, secrets={("a", "b"): bf.threshold(3)})


def test_gaps_and_metrics():
    """The least distance of two cells, which bins of real numbers do not attain."""
    grid, listed = integers("a", 0, 99, 10), from_dict("b", {"type": "integer", "values": [0, 3, 9]})
    real = from_dict("c", {"type": "float", "min": 0, "max": 99, "step": 10})

    assert [gaps(grid, 0, cell) for cell in (0, 1, 2)] == [(0, True), (1, True), (11, True)]
    assert [gaps(real, 0, cell) for cell in (0, 1, 2)] == [(0, True), (0, False), (10, False)]
    assert gaps(listed, 0, 2) == (9, True)
    parts = [np.array([3]), np.array([4])]
    both, one = [np.array([True])] * 2, [np.array([True]), np.array([False])]
    assert within("l1", parts, both, 7).all()
    assert not within("l1", parts, one, 7).any()
    assert within("l2", parts, both, 5).all()
    assert not within("linf", parts, both, 3).any()
    assert within("linf", parts, both, 4).all()
    assert not within("linf", parts, one, 4).any()
    assert within("linf", parts[::-1], one, 4).all()


def test_the_largest_part_decides_alone():
    """Under linf an edge at theta along listed values stays one when a bin moves along."""
    listed = from_dict("x", {"type": "integer", "values": [0, 5]})
    for other in (integers("y", 0, 1), from_dict("y", {"type": "float", "min": 0, "max": 1, "step": 1})):
        policy = bf.Policy(Domain((listed, other)), secrets={("x", "y"): bf.threshold(5, metric="linf")})
        plan = policy.plan.where("(x == 0 and y < 1) or (x == 5 and y >= 1)").hist("x", epsilon=1)

        assert policy.distance({"x": 0, "y": 0}, {"x": 5, "y": 1}) == 1
        assert plan.sensitivity == 2


def test_misspelt_keys_of_a_joint_secret_are_refused():
    """A typo must not fall back to a weaker promise."""
    grid = Domain((integers("x", 0, 3), integers("y", 0, 3)))

    with pytest.raises(SecretError, match="takes no metrik"):
        bf.Policy(grid, secrets={("x", "y"): {"secret": "threshold", "theta": 3, "metrik": "linf"}})
    with pytest.raises(SecretError, match="missing"):
        bf.Policy(grid, secrets={("x", "y"): {"secret": "full", "missing": "secret"}})


def test_implies_answers_for_large_blocks():
    """Inclusion that would need an edge list too long is answered False, never an error."""
    wide = Domain((integers("x", 0, 999), integers("y", 0, 999)))
    ball = bf.Policy(wide, secrets={("x", "y"): bf.threshold(30, metric="l2")})

    assert not ball.implies(bf.Policy(wide, secrets={("x", "y"): bf.full()}))
    assert bf.Policy(wide, secrets={("x", "y"): bf.full()}).implies(ball)
    assert ball.implies(bf.Policy(wide, secrets={("x", "y"): bf.threshold(20, metric="l2")}))


CATEGORY = from_dict("c", {"type": "category", "values": ["x", "y", "z"]})
MIXED = Domain((CATEGORY, integers("a", 0, 3), integers("n", 0, 3, nullable=True)))


@pytest.mark.parametrize(
    "secrets",
    [
        {("c", "a"): bf.threshold(1)},
        {("n", "a"): bf.threshold("0")},
        {("n", "a"): {"secret": "threshold", "theta": -1}},
        {("n", "a"): {"secret": "threshold"}},
        {("n", "a"): {"secret": "threshold", "theta": 1, "scale": 5}},
        {("n", "a"): {"secret": "threshold", "theta": 1, "scale": {"a": -1}}},
        {("n", "a"): bf.threshold(1, scale={"other": 3})},
        {("n", "a"): bf.threshold("3D")},
        {("n", "a"): bf.partition({"a": 1})},
        {("n", "a"): bf.partition({"a": 1, "n": 1, "c": 1})},
        {("n", "a"): bf.partition(2)},
        {("n", "a"): bf.partition([[0, 1], [2, 3]])},
        {("n", "a"): {"secret": "partition", "groups": None}},
        {("c", "a"): bf.partition({"c": 1, "a": 1})},
        {("n", "a"): bf.edges([(0, 1)])},
        {("n", "a"): bf.edges([((0, 1), (0, 9))])},
        {("n", "a"): bf.edges([((0, 1, 2), (0, 1, 3))])},
        {("c", "a"): bf.edges([("xy", "zx")])},
        {("n", "a"): {"secret": "edges"}},
    ],
    ids=str,
)
def test_secrets_that_columns_cannot_share_are_refused(secrets):
    """A joint secret that does not fit is an error when the policy is made."""
    with pytest.raises(SecretError):
        bf.Policy(MIXED, secrets=secrets)


def test_a_column_whose_block_cannot_be_counted_is_refused():
    """Sharing a secret with a column without bounds leaves nothing to price: a typed error, never a 0."""
    domain = Domain((Unbounded("u", "float", False), integers("a", 0, 3), integers("b", 0, 3)))
    policy = bf.Policy(domain, secrets={("u", "a"): bf.full()})

    for ask in (
        lambda: policy.plan.hist("a"),
        lambda: policy.plan.where("a > 1").count(),
        lambda: policy.distance({"a": 0}, {"a": 1}),
    ):
        with pytest.raises(SecretError, match="no cells"):
            ask()
    assert policy.plan.hist("b").sensitivity == 2


def test_blocks_too_large_to_list_are_refused():
    """Pairs that would take too long to compare are counted and refused with a way out."""
    listed = from_dict("a", {"type": "integer", "values": list(range(5_000))})
    wide = Domain((listed, integers("b", 0, 99)))

    with pytest.raises(DomainTooLargeError, match="evenly cut"):
        bf.Policy(wide, secrets={("a", "b"): bf.threshold(1)})
    assert bf.Policy(wide, secrets={("a", "b"): bf.edges([((0, 0), (1, 1))])}).graph.edge_count == 1
    assert isinstance(bf.Policy(wide, secrets={("a", "b"): bf.full()}).graph.blocks[0].graph, Cliques)
