"""The slow twin agrees with the definition, and its pieces with each other."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

import pandas_blowfish as bf
from pandas_blowfish.plan.oracle import database_sensitivity, definition_edges, edge_loss
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


def test_edge_loss_is_exact_over_mixed_scales():
    """Different scales add as fractions, and the witness attains the maximum."""
    matrix = csr_array(np.array([[1, 0, 2], [0, 1, 1]]))
    scales = [Fraction(3), Fraction(7, 2)]

    loss = edge_loss(matrix, scales, np.array([[0, 1], [1, 2]]))

    assert loss.value == Fraction(2, 3)
    assert loss.witness == (1, 2)


def test_a_changing_row_without_noise_is_an_infinite_loss():
    """Scale 0 is for rows that no edge changes."""
    loss = edge_loss(csr_array(np.array([[1, 0]])), [Fraction(0)], np.array([[0, 1]]))

    assert loss.value == math.inf


def test_no_edges_lose_nothing():
    """A policy without edges has nothing to lose."""
    loss = edge_loss(csr_array(np.eye(2, dtype=int)), [Fraction(1)] * 2, np.empty((0, 2), dtype=int))

    assert loss.value == 0
    assert loss.witness is None


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_databases_have_the_sensitivity_of_their_edges(rows):
    """However many rows a table has, one of them moving is the whole change."""
    matrix = csr_array(np.tril(np.ones((4, 4), dtype=int)))
    line = np.array([[0, 1], [1, 2], [2, 3]])

    assert database_sensitivity(matrix, line, 4, rows) == 1
