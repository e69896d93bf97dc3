"""Several strategies as one: rows, scales and answers one after another."""

from fractions import Fraction

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

import pandas_blowfish as bf
from pandas_blowfish.count.tally import count_cells
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.plan.worst_case import closure
from pandas_blowfish.policy.domain import Domain, from_dict, integers

DOMAIN = Domain(
    (
        integers("x", 0, 7),
        integers("y", 0, 4, nullable=True),
        from_dict("g", {"type": "category", "values": ["a", "b"]}),
    )
)
POLICY = bf.Policy(DOMAIN, secrets={"x": bf.threshold(2), "g": bf.public()})
ASKED = {"x": ["mean", "median"], "y": ["count", "std"]}


def test_rows_are_those_of_the_members():
    """What is counted, its scales and its columns are the members' own, in order."""
    plan = POLICY.plan.groupby("g").agg(ASKED, epsilon=1)
    stacked = plan.measurement
    rows = pd.DataFrame({"x": [0, 3, 7], "y": pd.array([1, None, 4], dtype="Int64"), "g": ["a", "b", "b"]})

    values = stacked.apply(count_cells(rows, stacked.tallies, clip=False))
    each = [one.apply(count_cells(rows, one.tallies, clip=False)) for one in stacked.members]

    assert np.array_equal(values, np.concatenate(each))
    assert [np.array_equal(a, b) for a, b in zip(stacked.split(values), each, strict=True)] == [True, True]
    assert list(stacked.scales) == [scale for one in stacked.members for scale in one.scales]
    assert stacked.matrix().shape == (len(stacked.scales), stacked.domain.size)
    assert stacked.sensitivity == sum(one.sensitivity for one in stacked.members)
    assert len(stacked.index) == len(stacked.variances)


def test_the_worst_case_is_at_least_that_of_every_pair():
    """What facts recorded later may cost is the sum over members, which bounds every pair of cells."""
    plan = POLICY.plan.agg(ASKED, epsilon=1)
    pairs = np.column_stack(np.triu_indices(plan.domain.size, 1))
    noisy = plan.matrix().toarray() * np.array([scale > 0 for scale in plan.scales])[:, None]

    worst = edge_loss(csr_array(noisy), plan.scales, pairs).value

    assert closure(plan).loss >= Fraction(worst) * Fraction(999_999, 1_000_000)


def test_plans_state_their_parts():
    """The proof and the notes name each member, what it is measured by and at what share."""
    plan = POLICY.plan.agg(ASKED, epsilon=1)

    assert "mean, count, std by moments at" in plan.facts()["parts"]
    assert "quantiles of x by" in plan.facts()["parts"]
    assert all(one.proof in plan.proof for one in plan.measurement.members)
    assert [one.query["verb"] for one in plan.members] == ["agg", "quantile"]
