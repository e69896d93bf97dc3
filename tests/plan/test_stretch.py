"""The longest edge of a column's secret, by closed form and by graph."""

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.lattice import Total, lattice
from pandas_blowfish.plan.shifts import shifts
from pandas_blowfish.plan.stretch import listed, longest, together
from pandas_blowfish.policy.ball import Ball
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.policy.graph import Cliques, Explicit
from pandas_blowfish.policy.offsets import OffsetBall
from pandas_blowfish.queries.scope import Scope


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
        return listed(bf.Policy(Domain((column,)), secrets={"x": secret}).graph.blocks[0].graph, found)

    assert both(bf.full()) == (3, 5)
    assert both(bf.full(missing="public")) == (3, 0)
    assert both(bf.threshold(1)) == (1, 5)
    assert both(bf.public()) == (0, 0)
    assert listed(Explicit(5, np.array([[0, 3], [1, 4]])), found) == (3, 3)
    assert listed(Cliques(np.array([0, 1, 1, 0, 0])), found) == (3, 5)


def test_together():
    """Offsets and listed pairs of joint cells, the widest of each kind; None where values may be missing."""
    a, b = lattice(integers("a", 0, 4)), lattice(integers("b", 0, 9, 2))
    ball = OffsetBall((5, 5), np.array([[0, 1], [1, 0], [1, 1], [2, 0], [0, -1], [-1, 0], [-1, -1], [-2, 0]]))
    step = b.each

    assert together(ball, ["a", "b"], [a, b]).tolist() == [[0, step], [1, step], [2, 0]]
    assert together(Explicit(25, np.array([[0, 24], [0, 1]])), ["a", "b"], [a, b]).tolist() == [
        [0, step],
        [4, 4 * step],
    ]
    assert together(Explicit(25, np.empty((0, 2), int)), ["a", "b"], [a, b]).tolist() == [[0, 0]]
    assert together(Cliques.full(25), ["a", "b"], [a, b]) is None
    maybe = lattice(from_dict("a", {"type": "integer", "min": 0, "max": 3, "nullable": True}))
    assert together(ball, ["a", "b"], [maybe, b]) is None
