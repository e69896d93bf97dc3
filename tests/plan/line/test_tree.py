"""The tree transform: rows, losses and errors as enumeration and dense algebra find them."""

import random
from fractions import Fraction

import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.plan.line.tree import Tree
from pandas_blowfish.policy.domain import Domain, integers


def _tree(draw, lined):
    return Tree(lined.asked, lined.line, Fraction(draw.randint(1, 9), draw.randint(1, 9)))


@pytest.mark.parametrize("seed", range(120))
def test_loss_matches_enumeration(seed, make_lined):
    """At most epsilon over every edge by definition, whatever the graph, filter, groups and presence."""
    draw = random.Random(seed)
    lined = make_lined(draw, draw.choice([4, 6]))
    tree = _tree(draw, lined)

    loss = lined.loss(tree)

    assert loss <= tree.epsilon
    assert (loss > 0) == (tree.sensitivity > 0)


@pytest.mark.parametrize("size", [2, 7, 12, 13])
def test_thresholds_lose_exactly_epsilon(size, line_of):
    """Stretch 1 on the line itself, at most 3 otherwise; some edge uses a longest path."""
    for theta in range(size):
        lined = line_of(size, theta)
        tree = Tree(lined.asked, lined.line, Fraction(3, 4))

        assert tree.sensitivity <= 3
        assert (tree.sensitivity == 1) == (theta == 1 or size == 2)
        assert lined.loss(tree) == tree.epsilon


@pytest.mark.parametrize("seed", range(60))
def test_measured_rows_are_those_of_the_matrix(seed, make_lined):
    """Counts of bins lead to the same rows as the matrix on counts of cells."""
    draw = random.Random(500 + seed)
    lined = make_lined(draw)
    tree = _tree(draw, lined)
    cells, bins = lined.counts(draw)

    assert tree.apply(bins).tolist() == (tree.matrix() @ cells).tolist()
    assert len(tree.scales) == tree.matrix().shape[0]


@pytest.mark.parametrize("seed", range(60))
def test_variances_are_those_of_dense_least_squares(seed, make_lined, by_dense_bins):
    """Of every range and in the mean."""
    draw = random.Random(900 + seed)
    lined = make_lined(draw)
    tree = _tree(draw, lined)
    if not tree.sensitivity:
        return

    slow = by_dense_bins(tree, lined.asked).variances

    assert tree.variances == pytest.approx(slow, rel=1e-6, abs=1e-8)
    assert tree.mse == pytest.approx(slow.mean(), rel=1e-6, abs=1e-8)


def test_pieces_that_are_no_runs_keep_exact_totals(on_line):
    """Interleaved groups have one exact root each."""
    policy = bf.Policy(
        Domain((integers("x", 0, 3),)), secrets={"x": bf.partition({"even": [0, 2], "odd": [1, 3]})}
    )
    lined = on_line(policy, "x")
    tree = Tree(lined.asked, lined.line, Fraction(1))

    assert tree.rows.tolist() == [2, 3]
    assert list(tree.scales) == [1, 1, 0, 0]
    assert tree.apply(lined.counts(random.Random(0))[1])[2:].sum() == sum(lined.counts(random.Random(0))[1])


def test_the_form_is_empty_and_makes_the_same_tree(line_of):
    """A forest follows from the policy alone."""
    lined = line_of(9, 2)
    tree = Tree(lined.asked, lined.line, Fraction(1))

    again = Tree(lined.asked, lined.line, Fraction(1))

    assert tree.form == {}
    assert list(again.scales) == list(tree.scales)
    assert "measured stretch 3" in tree.proof
    nothing = line_of(9, None)
    assert "cost nothing" in Tree(nothing.asked, nothing.line, Fraction(1)).proof


def test_a_matrix_too_large_is_refused(line_of):
    """Beyond 10^6 non-zeros the matrix is not made."""
    lined = line_of(2_000, 1)

    with pytest.raises(DomainTooLargeError):
        Tree(lined.asked, lined.line, Fraction(1)).matrix()
