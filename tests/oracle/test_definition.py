"""The slow twin agrees with the definition, and its pieces with each other."""

import random

import numpy as np
import pytest
from scipy.sparse import csr_array

import pandas_blowfish as bf
from oracle.definition import database_sensitivity, definition_edges
from pandas_blowfish.policy.domain import Domain, from_dict


@pytest.mark.parametrize("seed", range(120))
def test_projection_matches_definition(seed, make_policy):
    """The projected graph has exactly the edges that pairs of whole records project to."""
    draw = random.Random(seed)
    policy = make_policy(draw, draw.randint(1, 3))
    columns = draw.sample(policy.domain.columns, draw.randint(1, len(policy.domain.columns)))

    fast = policy.graph.project(columns).edges()
    slow = definition_edges(policy, columns)

    assert {tuple(edge) for edge in fast.tolist()} == {tuple(edge) for edge in slow.tolist()}
    assert policy.graph.project(columns).edge_count == len(slow)


@pytest.mark.parametrize(
    ("column", "secret"),
    [
        ({"type": "integer", "min": 0, "max": 7}, bf.threshold(6, scale={"x": 2})),
        ({"type": "integer", "min": 0, "max": 7}, bf.partition([range(3), range(3, 8)])),
        ({"type": "float", "min": 0, "max": 1, "step": "0.1"}, bf.partition("0.3")),
        ({"type": "datetime", "min": "2020-01-01", "max": "2020-01-09", "step": "1D"}, bf.partition("2D")),
    ],
)
def test_every_form_of_secret_matches_the_definition(column, secret):
    """Scales, runs and widths mean to the graph what they mean to the words."""
    policy = bf.Policy(Domain((from_dict("x", column),)), secrets={"x": secret})

    fast, slow = policy.graph.edges(), definition_edges(policy, ["x"])

    assert {tuple(edge) for edge in fast.tolist()} == {tuple(edge) for edge in slow.tolist()}
    assert len(slow)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_databases_have_the_sensitivity_of_their_edges(rows):
    """However many rows a table has, one of them moving is the whole change."""
    matrix = csr_array(np.tril(np.ones((4, 4), dtype=int)))
    line = np.array([[0, 1], [1, 2], [2, 3]])

    assert database_sensitivity(matrix, line, 4, rows) == 1
