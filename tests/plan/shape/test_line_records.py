"""Lists of receipts are written as runs and read back; what readers give is in test_covariance."""

import numpy as np
import pytest

from pandas_blowfish.plan.shape.line_records import READERS, WEIGHERS, from_runs, to_runs


def test_every_kind_of_record_has_both_readers():
    """By ranges of cells, and by weights."""
    assert READERS.keys() == WEIGHERS.keys()


@pytest.mark.parametrize("values", [[], [4], [1, 1, 2, 2, 2, 1], [0.5, 0.5, 0.25]])
def test_runs_are_read_back(values):
    """Runs are the list again, and of another length they are refused."""
    runs = to_runs(np.array(values))

    assert from_runs(runs, len(values)).tolist() == values
    with pytest.raises(ValueError, match="length"):
        from_runs(runs, len(values) + 1)
    with pytest.raises(ValueError, match="length"):
        from_runs([[1, 10**15]])
