"""Cells by their codes."""

import numpy as np

from pandas_blowfish.policy.cells import Cells


def test_taking_and_joining_keep_codes_and_absence_together():
    """Some of the cells, and cells after cells, are what they were."""
    cells = Cells({"a": np.array([3, 1, 2])}, np.array([False, True, False]))

    some = cells.take([2, 1])
    both = some.concat(Cells.present({"a": np.array([7])}, 1))

    assert some.codes["a"].tolist() == [2, 1]
    assert both.codes["a"].tolist() == [2, 1, 7]
    assert both.absent.tolist() == [False, True, False]
    assert len(both) == 3
