"""The loss over listed edges is exact, and its witness attains it."""

import math
from fractions import Fraction

import numpy as np
from scipy.sparse import csr_array

from pandas_blowfish.plan.loss import edge_loss


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
