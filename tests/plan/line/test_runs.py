"""Rows of a nest: measured, priced and solved as the matrix says, whatever the policy and layout."""

import random
from fractions import Fraction

import pytest

from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.plan.line.nest import Layout, Nest
from pandas_blowfish.plan.line.runs import Nested


def _some(draw, lined, layout):
    families = len(Nest(lined.line, layout).families)
    weights = tuple(draw.randint(1, 9) for _ in range(families))
    epsilon = Fraction(draw.randint(1, 9), draw.randint(1, 9))
    return Nested("nested", lined.asked, lined.line, layout, weights, epsilon)


@pytest.mark.parametrize("seed", range(60))
def test_loss_is_epsilon(seed, make_lined, make_layout):
    """The exact loss by definition is epsilon, whatever the layout and weights; at most, for wavelets."""
    draw = random.Random(seed)
    lined = make_lined(draw)

    for wavelet in (False, False, True):
        nested = _some(draw, lined, make_layout(draw, lined.line, wavelet))
        loss = lined.loss(nested)

        assert loss <= nested.epsilon
        if not wavelet:
            assert loss == (nested.epsilon if nested.sensitivity else 0)


@pytest.mark.parametrize("seed", range(60))
def test_measured_rows_are_those_of_the_matrix(seed, make_lined, make_layout):
    """Counts of bins lead to the same rows as the matrix on counts of cells."""
    draw = random.Random(1_000 + seed)
    lined = make_lined(draw)

    for wavelet in (False, True):
        nested = _some(draw, lined, make_layout(draw, lined.line, wavelet))
        cells, bins = lined.counts(draw)

        assert nested.apply(bins).tolist() == (nested.matrix() @ cells).tolist()
        assert len(nested.scales) == nested.matrix().shape[0]


@pytest.mark.parametrize("seed", range(60))
def test_variances_are_those_of_dense_least_squares(seed, make_lined, make_layout, by_dense_bins):
    """The variance of every range, and the mean, equal generalised least squares on the matrix."""
    draw = random.Random(2_000 + seed)
    lined = make_lined(draw)

    for wavelet in (False, True):
        nested = _some(draw, lined, make_layout(draw, lined.line, wavelet))
        slow = by_dense_bins(nested, lined.asked).variances if nested.sensitivity else 0 * nested.variances

        assert nested.variances == pytest.approx(slow, rel=1e-6, abs=1e-8)
        assert nested.mse == pytest.approx(slow.mean(), rel=1e-6, abs=1e-8)


def test_the_form_makes_the_same_measurement(make_lined, make_layout):
    """Layout and weights as plain data give back the scales and the matrix."""
    draw = random.Random(3)
    lined = make_lined(draw)
    nested = _some(draw, lined, make_layout(draw, lined.line))

    again = Nested.from_form("nested", lined.asked, lined.line, nested.epsilon, nested.form)

    assert again.layout == nested.layout
    assert list(again.scales) == list(nested.scales)
    assert (again.matrix() != nested.matrix()).nnz == 0


def test_the_proof_says_what_is_measured(line_of):
    """Families, sensitivity and scales are named; nothing to hide says so."""
    lined = line_of(8, 2)
    nested = Nested("nested", lined.asked, lined.line, Layout(2, (2,)), (1, 1), Fraction(1, 2))

    assert "prefix, level 1 on each line" in nested.proof
    assert "changes the rows by 3 in L1" in nested.proof
    assert nested.proof_id == "nested"
    assert nested.tally is lined.asked.tally
    nothing = line_of(8, None)
    free = Nested("nested", nothing.asked, nothing.line, Layout(None, ()), (), Fraction(1))
    assert "cost nothing" in free.proof


def test_a_matrix_too_large_is_refused(line_of):
    """Beyond 10^6 non-zeros the matrix is not made."""
    lined = line_of(2_000, 1)
    nested = Nested("nested", lined.asked, lined.line, Layout(1), (1,), Fraction(1))

    with pytest.raises(DomainTooLargeError):
        nested.matrix()
