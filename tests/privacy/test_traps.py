"""Traps: sensitivities easy to get wrong, by hand-made matrices and by plans."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from oracle.definition import definition_edges
from scipy.sparse import csr_array

import pandas_blowfish as bf
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.policy.domain import Domain, from_dict, integers


def change(rows, policy, columns):
    """Return the largest L1 change of some linear queries over the policy's edges, by graph and by words."""
    matrix = csr_array(np.asarray(rows, dtype=np.int64))
    ones = [Fraction(1)] * matrix.shape[0]
    fast = edge_loss(matrix, ones, policy.graph.project(columns).edges()).value

    assert fast == edge_loss(matrix, ones, definition_edges(policy, columns)).value
    return fast


def line(high, theta=1, **extra):
    """Return the threshold policy on 0..high."""
    return bf.Policy(Domain((integers("x", 0, high),)), secrets={"x": bf.threshold(theta)}, **extra)


def test_groups_that_rows_can_change_are_not_parallel():
    """Prefix sums of 5 ages cost 1 in each of two groups, but 8 together: a row can change its sex."""
    domain = Domain((from_dict("sex", {"type": "bool"}), integers("age", 0, 4)))
    policy = bf.Policy(domain, secrets={"age": bf.threshold(1), "sex": bf.full()})
    prefix = np.tril(np.ones((4, 5), dtype=int))  # s_1..s_4; s_5 is the group's size
    nothing = np.zeros_like(prefix)
    one, two = np.hstack([prefix, nothing]), np.hstack([nothing, prefix])
    full = np.tril(np.ones((5, 5), dtype=int))
    blocks = [np.hstack([full, 0 * full]), np.hstack([0 * full, full])]
    apart = bf.Policy(domain, secrets={"age": bf.threshold(1), "sex": bf.public()})

    assert change(one, apart, ["sex", "age"]) == change(two, apart, ["sex", "age"]) == 1
    assert change(np.vstack([one, two]), apart, ["sex", "age"]) == 1
    assert change(np.vstack([one, two]), policy, ["sex", "age"]) == 8
    assert change(np.vstack(blocks), policy, ["sex", "age"]) == 10
    assert change(np.vstack(blocks), apart, ["sex", "age"]) == 1
    one_at_a_time = bf.Policy(domain, secrets=policy.secrets, neighbors="attribute")
    assert change(np.vstack([one, two]), one_at_a_time, ["sex", "age"]) == 8


def test_a_row_can_leave_the_filter():
    """Where a filter keeps cells 4..7 of 0..7: prefix sums 4, suffix sums theta, count 1."""
    kept = np.arange(8) >= 4
    prefix = np.array([(np.arange(8) <= top) & kept for top in range(4, 8)])
    suffix = np.array([np.arange(8) >= low for low in range(4, 8)])

    for theta in (1, 2, 3):
        policy = line(7, theta)

        assert change(prefix, policy, ["x"]) == 4
        assert change(suffix, policy, ["x"]) == theta
        assert change([kept], policy, ["x"]) == 1
        assert policy.plan.where("x >= 4").count().sensitivity == 1
        assert policy.plan.where("x >= 4").hist("x", strategy="identity").sensitivity == 2
        assert policy.plan.where("x >= 4").cumhist("x", strategy="ordered").sensitivity == theta
        assert policy.plan.where("x >= 4").hist("x", bins=[4, 7]).sensitivity == 1
    assert change(prefix[:3], line(7), ["x"]) == 3


def test_a_theta_below_the_step_joins_neighbours():
    """Two values on either side of an edge are as near as one likes, however small theta is."""
    income = from_dict("x", {"type": "float", "min": 0, "max": 50, "step": 10, "exclusive_max": True})
    for domain in (Domain((income,)), Domain((integers("x", 0, 49, 10),))):
        policy = bf.Policy(domain, secrets={"x": bf.threshold("0.1")})

        assert policy.graph.edges().tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]
        assert policy.plan.hist("x", strategy="identity").sensitivity == 2
        assert policy.plan.cumhist("x").sensitivity == 1
        assert policy.distance({"x": 0}, {"x": 41}) == 4


@pytest.mark.parametrize("metric", ["l1", "l2", "linf"])
def test_diagonal_cells_of_a_joint_ball_are_joined(metric):
    """Cells that share only a corner hold values as near as one likes."""
    spec = {"type": "float", "min": 0, "max": 3, "step": 1, "exclusive_max": True}
    policy = bf.Policy(
        Domain((from_dict("a", spec), from_dict("b", spec))),
        secrets={("a", "b"): bf.threshold("0.01", metric=metric)},
    )

    edges = {tuple(edge) for edge in policy.graph.edges().tolist()}

    assert {(0, 4), (1, 3), (4, 8), (0, 1), (0, 3)} <= edges
    assert len(edges) == 12 + 8
    assert policy.distance({"a": 0, "b": 0}, {"a": 2, "b": 2}) == 2
    assert policy.plan.where("a < 1").where("b < 1").groupby(["a", "b"]).count().sensitivity == 1


@pytest.mark.parametrize(
    ("values", "theta", "expected"),
    [([0, 2, 4, 6], 3, 3), ([0, 1, 5], 3, math.inf), ([0, 1, 5], 4, 2), ([0, 1, 2, 3, 4, 5, 6], 3, 2)],
)
def test_gaps_lengthen_distances(values, theta, expected):
    """A path needs values to stand on: ceil(d / theta) holds only where all exist."""
    column = from_dict("x", {"type": "integer", "values": values})
    policy = bf.Policy(Domain((column,)), secrets={"x": bf.threshold(theta)})

    assert policy.distance({"x": values[0]}, {"x": values[-1]}) == expected


def test_component_totals_are_not_exact_when_rows_can_leave():
    """Group totals are free only while no edge crosses the filter and presence is public."""
    domain = Domain((integers("x", 0, 3), integers("y", 0, 1)))
    secrets = {"x": bf.partition([[0, 1], [2, 3]])}
    policy = bf.Policy(domain, secrets=secrets)
    totals = [[1, 1, 0, 0], [0, 0, 1, 1]]

    plain = {"strategy": "identity"}
    whole = policy.plan.hist("x", **plain)
    filtered = policy.plan.where("y == 0").hist("x", **plain)
    inside = policy.plan.where("x >= 2").hist("x", **plain)
    hidden = bf.Policy(domain, secrets=secrets, presence=True).plan.hist("x", **plain)

    assert change(totals, policy, ["x"]) == 0
    assert whole.matrix().toarray()[4:].tolist() == totals
    assert filtered.matrix().shape[0] == hidden.matrix().shape[0] == 4
    assert inside.matrix().toarray()[4:].tolist() == [[0, 0, 1, 1]]
    assert policy.plan.hist("x", bins=2).cost == 0
    assert policy.plan.where("y == 0").hist("x", bins=2).sensitivity == 1
    assert policy.plan.where("x >= 2").count().cost == 0
    assert bf.Policy(domain, secrets=secrets, presence=True).plan.hist("x", bins=2).sensitivity == 1


def test_attribute_neighbours_see_less_than_records():
    """A filter that only two columns moving together can leave is public when one at a time may move."""
    domain = Domain((from_dict("a", {"type": "bool"}), from_dict("b", {"type": "bool"})))
    same = "a and b or not a and not b"

    policies = {
        neighbors: bf.Policy(domain, neighbors=neighbors) for neighbors in ("record", "attribute", 1, 2)
    }
    found = {name: policy.plan.where(same).groupby("a").count() for name, policy in policies.items()}

    assert {n: plan.sensitivity for n, plan in found.items()} == {"record": 2, "attribute": 1, 1: 1, 2: 2}
    assert all(plan.privacy_loss() == 1 for plan in found.values())


def test_missing_leaves_every_filter():
    """A value may become missing, and missing satisfies nothing: no filter on the column is public."""
    column = integers("x", 0, 3, nullable=True)
    public = {"x": bf.partition([[0, 1], [2, 3]], missing="public")}
    joined = bf.Policy(Domain((column,)), secrets={"x": bf.partition([[0, 1], [2, 3]])})

    assert joined.plan.where("x >= 0").count().sensitivity == 1
    assert joined.plan.where("not x < 2").count().sensitivity == 1
    assert bf.Policy(Domain((column,)), secrets=public).plan.where("x < 2").count().cost == 0


def test_what_a_filter_excludes_is_never_released():
    """Counts outside a filter have scale 0 and must be 0: the kernel counts only rows that pass."""
    df = pd.DataFrame({"x": [0, 1] * 500 + [6] * 10}).blowfish.protect(line(7), epsilon=100)

    for post in (True, False):
        released = df.blowfish.where("x >= 4").hist("x", epsilon=1, post=post)

        assert (released.loc[:3] == 0).all(axis=None)
