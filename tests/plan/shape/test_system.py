"""Equations about known sums: what they say, and their solution however they are solved."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from pandas_blowfish.plan.given import Family
from pandas_blowfish.plan.shape import system as module
from pandas_blowfish.plan.shape.system import System, solve_equations


def test_groups_are_what_no_sum_tells_apart():
    """Sums, prices and overlaps over groups are those over counts."""
    one = Family(np.array([0, 0, 1, 1, -1, -1]), np.array([3, 4]))
    two = Family(np.array([0, 0, 0, 1, 1, -1]), np.array([9]), np.array([[2, -1]]))
    rows = np.array([[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [2, 2, 2, -1, -1, 0]])
    counts, prices = np.array([1.0, 2, 3, 4, 5, 6]), np.array([1.0, 10, 100])

    found = System.build([one, two], 6)

    assert found.of.tolist()[0] == found.of.tolist()[1]
    assert len(set(found.of.tolist())) == 5
    assert found.of[5] == -1
    assert found.totals.tolist() == [3, 4, 9]
    assert np.array_equal(found.sums(counts), rows @ counts)
    assert np.array_equal(found.lift(prices), rows.T @ prices)
    assert np.array_equal(found.gram(counts).toarray(), (rows * counts) @ rows.T)


def test_sums_of_nothing_are_left_out():
    """A known sum over no counts is no equation."""
    found = System.build([Family(np.array([2, 2]), np.array([0, 0, 5]))], 2)

    assert found.many == 1
    assert System.build([], 3).many == 0


@pytest.mark.parametrize("dense", [0, 100])
@pytest.mark.parametrize("seed", range(10))
def test_equations_that_follow_from_others(seed, dense, monkeypatch):
    """Dense algebra and conjugate gradients solve what has a solution, rows of zeros among them."""
    random_numbers = np.random.default_rng(seed)
    rows = random_numbers.integers(0, 2, (6, 9)).astype(float)
    rows[4] = rows[0] + rows[1]
    rows[5] = 0.0
    gram = rows @ rows.T
    goal = gram @ random_numbers.normal(size=6)
    monkeypatch.setattr(module, "DENSE", dense)

    assert np.allclose(gram @ solve_equations(csr_array(gram), goal), goal, atol=1e-8)


def test_an_equation_without_numbers_is_damped():
    """What is added to the diagonal keeps a step along an empty row finite."""
    gram = csr_array(np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 0.0]]))

    assert solve_equations(gram, np.array([3.0, 4.0, 5.0]), np.array([0.0, 0.0, 0.5]))[2] == pytest.approx(10)
    assert solve_equations(gram, np.array([3.0, 4.0, 0.0])).tolist() == pytest.approx([1, 1, 0])
