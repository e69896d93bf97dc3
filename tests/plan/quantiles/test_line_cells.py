"""Query rows of runs of cells: their columns are what is counted."""

import numpy as np

import pandas_blowfish as bf
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.domain import Domain, integers

POLICY = bf.Policy(Domain((integers("x", 0, 5), integers("y", 0, 2))))


def test_candidates_are_the_bins_that_can_hold_rows():
    """Of each group; groups without any are left out."""
    plan = (
        POLICY.plan.where("(y == 0 and x > 2) or (y == 2)")
        .groupby("y")
        .quantile("x", strategy="select", epsilon=1)
    )
    lines = plan.measurement.lines

    assert lines.live.tolist() == [0, 2]
    assert lines.sizes.tolist() == [3, 6]
    assert lines.bins.tolist() == [3, 4, 5, *range(12, 18)]


def test_columns_are_what_is_counted():
    """In the first round and in one after it, where cells at the ends count in parts."""
    plan = POLICY.plan.groupby("y").quantile("x", [0.25, 0.5, 0.75], strategy="select", epsilon=1)
    first = plan.measurement.next_round([])
    parts = first.targets.parts
    picked = np.array([2, 6 + 0, 12 + 5]) * parts + np.array([0, parts - 1, parts // 2])
    codes = np.random.default_rng(1).integers(0, 18, 200)
    cells = Cells.present({"x": codes // 3, "y": codes % 3}, 200)
    counts = np.bincount(codes % 3 * 6 + codes // 3, minlength=18)

    for step in (first, plan.measurement.next_round([picked])):
        assert step.apply(counts).tolist() == step.columns(cells).sum(axis=1).tolist()
    assert step.apply(counts).sum() == 200 * 2 * plan.measurement.parts
