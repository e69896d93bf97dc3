"""Arrays that are handed out stay what they were."""

import numpy as np
import pytest

from pandas_blowfish.exact.arrays import frozen


def test_frozen_arrays_cannot_be_written_to():
    """The view is read-only; the array it was made of is not changed."""
    own = np.arange(3)

    kept = frozen(own)

    with pytest.raises(ValueError, match="read-only"):
        kept[0] = 1
    own[0] = 5
    assert kept[0] == 5
