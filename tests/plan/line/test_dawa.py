"""Buckets that the data suggest: what is told before the data, and that nothing else is."""

from fractions import Fraction

import numpy as np
import pytest

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.plan.line.dawa import PARTITION_SHARE, Dawa
from pandas_blowfish.plan.line.tree import Tree


@pytest.fixture
def dawa(line_of):
    """Return the strategy on a line of 12 atoms with threshold 2."""
    lined = line_of(12, 2)
    return Dawa(lined.asked, lined.line, Fraction(4, 5))


def test_the_budget_is_split(dawa):
    """Twice the stretch over the first scale, once over the second: together epsilon."""
    stretch = dawa.sensitivity

    first = 2 * stretch / dawa.partition_scale
    second = stretch / dawa.bucket_scale

    assert first == PARTITION_SHARE * dawa.epsilon
    assert first + second == dawa.epsilon == dawa.loss


def test_nothing_depends_on_rows_before_the_release(dawa):
    """No error is promised and no matrix shown; the rows are the tree's."""
    counts, tree = np.arange(12), Tree(dawa.asked, dawa.line, dawa.epsilon)

    assert np.isnan(dawa.mse)
    assert np.isnan(dawa.variances).all()
    assert len(dawa.variances) == len(tree.variances)
    assert dawa.apply(counts).tolist() == tree.apply(counts).tolist()
    assert len(dawa.scales) == len(tree.scales)
    assert set(dawa.scales) == {dawa.bucket_scale, Fraction(0)}
    assert dawa.form == {}
    assert dawa.tally is tree.tally
    with pytest.raises(ArgumentError, match="no matrix"):
        dawa.matrix()


def test_the_proof_says_both_shares(dawa):
    """A quarter for the buckets, the rest for their totals."""
    assert "at most 1/5" in dawa.proof
    assert "at most 3/5" in dawa.proof
    assert "epsilon = 4/5" in dawa.proof


def test_a_public_column_loses_nothing(line_of):
    """Without edges there is nothing to pay for."""
    lined = line_of(4, None)

    assert Dawa(lined.asked, lined.line, Fraction(1)).loss == 0


def test_it_is_planned_by_name_only(line_of):
    """auto never takes it: its error is not known before the release."""
    policy = line_of(12, 2).policy

    plan = policy.plan.cumhist("x", strategy="dawa")

    assert plan.strategy == "dawa"
    assert plan.privacy_loss() == plan.cost == 1
    assert "dawa" not in set(policy.plan.cumhist("x").candidates["strategy"])
