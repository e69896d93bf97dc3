"""The missing cell: joined to every value, or to none when it is public."""

import math

import numpy as np

import pandas_blowfish as bf
from pandas_blowfish.policy.domain import integers
from pandas_blowfish.policy.graph.ball import Ball
from pandas_blowfish.policy.graph.missing import WithMissing
from pandas_blowfish.policy.graph.secret_graph import Cliques
from pandas_blowfish.policy.secret import build


def test_missing_joins_every_value_and_shortens_paths():
    """Through missing any two values are two steps apart, whatever the values' own graph."""
    line, apart = WithMissing(Ball.even(10, 1), joined=True), WithMissing(Cliques.none(4), joined=True)

    assert [line.distance(0, cell) for cell in (1, 2, 9, 10)] == [1, 2, 2, 1]
    assert line.edge_count == 9 + 10
    assert len(set(apart.components.tolist())) == 1


def test_public_missing_is_alone():
    """A public missing cell has no edge and no path."""
    line = WithMissing(Ball.even(10, 1), joined=False)

    assert line.distance(0, 10) == math.inf
    assert line.distance(10, 10) == 0
    assert line.distance(0, 9) == 9
    assert line.visible(np.array([0] * 10 + [1])) == 0


def test_secrets_say_whether_missing_is_joined():
    """Every secret protects the missing cell unless it, or the column, is public."""
    column = integers("x", 0, 3, nullable=True)
    secrets = [bf.full(), bf.threshold(1), bf.partition(2), bf.edges([(0, 1)])]
    opened = [bf.full(missing="public"), bf.threshold(1, missing="public"), bf.public()]

    assert all(build(secret["blowfish"], column).adjacent(4, cell) for secret in secrets for cell in range(4))
    assert not any(
        build(secret["blowfish"], column).adjacent(4, cell) for secret in opened for cell in range(4)
    )
