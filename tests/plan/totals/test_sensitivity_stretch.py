"""The longest edge of a column's secret, by closed form and by graph."""

import itertools
import random

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.lattice import Total, lattice
from pandas_blowfish.plan.totals.sensitivity import joint_changes, longest, longest_listed, shifts
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.policy.graph.ball import Ball
from pandas_blowfish.policy.graph.offsets import OffsetBall
from pandas_blowfish.policy.graph.secret_graph import Cliques, Explicit
from pandas_blowfish.queries.call.scope import Scope


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("theta", [1, 2, 5, 50])
def test_even_columns_need_no_graph(size, theta):
    """The closed form of evenly cut columns equals the longest edge of their graph, a cut last bin too."""
    for high in range((size - 1) * 3, size * 3):
        column = integers("x", 0, high, 3)
        policy = bf.Policy(Domain((column,)), secrets={"x": bf.threshold(theta)})
        found = lattice(column)

        fast = shifts(
            policy, Scope().tally(policy, [], None), [Total(Scope().tally(policy, [], None), found)]
        )

        assert fast.peaks == (longest(policy.graph.blocks[0].graph, found.weights()),)


def test_longest_of_graphs():
    """Groups, listed edges, balls whose cells are in another order, and balls that weights do not follow."""
    weights = np.array([0, 10, 3, 7])

    assert longest(Cliques(np.array([0, 0, 1, 1])), weights) == 10
    assert longest(Explicit(4, np.array([[0, 3], [1, 2]])), weights) == 7
    assert longest(Ball(np.array([1, 2, 3, 3]), np.array([0, 2, 3, 1])), weights) == 4
    assert longest(Ball.even(4, 1), weights) == 10  # of the whole component: a bound
    assert longest(Cliques.none(4), weights) == 0


def test_missing_cells():
    """What a value loses when it becomes missing: all of its weight, where an edge leads there."""
    column = integers("x", 2, 5, nullable=True)
    found = lattice(column)

    def both(secret):
        return longest_listed(
            bf.Policy(Domain((column,)), secrets={"x": secret}).graph.blocks[0].graph, found
        )

    assert both(bf.full()) == (3, 5)
    assert both(bf.full(missing="public")) == (3, 0)
    assert both(bf.threshold(1)) == (1, 5)
    assert both(bf.public()) == (0, 0)
    assert longest_listed(Explicit(5, np.array([[0, 3], [1, 4]])), found) == (3, 3)
    assert longest_listed(Cliques(np.array([0, 1, 1, 0, 0])), found) == (3, 5)


def test_together():
    """The longest offsets and listed pairs of joint cells; None where values may be missing."""
    a, b = lattice(integers("a", 0, 4)), lattice(integers("b", 0, 9, 2))
    ball = OffsetBall((5, 5), np.array([[0, 1], [1, 0], [1, 1], [2, 0], [0, -1], [-1, 0], [-1, -1], [-2, 0]]))
    step = b.each

    assert joint_changes(ball, ["a", "b"], [a, b]).tolist() == [[1, step], [2, 0]]
    assert joint_changes(Explicit(25, np.array([[0, 24], [0, 1]])), ["a", "b"], [a, b]).tolist() == [
        [0, step],
        [4, 4 * step],
    ]
    assert joint_changes(Explicit(25, np.empty((0, 2), int)), ["a", "b"], [a, b]).tolist() == [[0, 0]]
    assert joint_changes(Cliques.full(25), ["a", "b"], [a, b]) is None
    maybe = lattice(from_dict("a", {"type": "integer", "min": 0, "max": 3, "nullable": True}))
    assert joint_changes(ball, ["a", "b"], [maybe, b]) is None


def every_change(ball, order, weighed):
    """Return what each difference of a ball changes, of totals in some order of its columns."""
    return np.array(
        [
            [min(offset[place] * each.each, each.span) for place, each in zip(order, weighed, strict=True)]
            for offset in itertools.product(*(range(n) for n in ball.shape))
            if (np.array(offset) <= ball.front).all(axis=1).any()
        ]
    )


@pytest.mark.parametrize("seed", range(60))
def test_together_bounds_every_edge(seed):
    """However totals are weighed, the largest change is that of all differences, cut ends included."""
    draw = random.Random(seed)
    names = "abc"[: draw.randint(2, 3)]
    columns = [integers(name, 0, draw.randint(0, 12), draw.randint(1, 4)) for name in names]
    if seed % 3:
        secret = bf.threshold(draw.randint(1, 20), metric=draw.choice(["l1", "l2", "linf"]))
        ball = bf.Policy(Domain(tuple(columns)), secrets={tuple(names): secret}).graph.blocks[0].graph
    else:
        most = draw.randint(1, 6)
        rows = [
            offset for offset in itertools.product(range(most + 1), repeat=len(names)) if sum(offset) <= most
        ]
        ball = OffsetBall([c.cells for c in columns], np.array(rows))
    order = draw.sample(range(len(names)), len(names))
    weighed = [lattice(columns[place]) for place in order]
    every = every_change(ball, order, weighed)

    found = joint_changes(ball, list(names), weighed)

    assert {tuple(row) for row in found.tolist()} <= {tuple(row) for row in every.tolist()}
    for rates in itertools.product(range(8), repeat=len(names)):
        assert (found @ rates).max() == (every @ rates).max()


def test_a_ball_of_whole_numbers_is_its_corners():
    """Of thirty thousand longest offsets just those are kept that one weighing or another needs."""
    names = ("r", "g", "b")
    domain = Domain(tuple(integers(name, 0, 255) for name in names))
    for theta, corners in ((128, 3), (256, 6)):
        ball = bf.Policy(domain, secrets={names: bf.threshold(theta)}).graph.blocks[0].graph

        found = joint_changes(ball, list(names), [lattice(each) for each in domain])

        assert len(found) == corners
        assert (found.sum(axis=1) == theta * lattice(domain["r"]).each).all()
