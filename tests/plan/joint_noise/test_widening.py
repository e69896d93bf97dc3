"""What a receipt states of its noise decides how far answers may be off."""

import numpy as np
import pytest

from pandas_blowfish.plan.joint_noise.log_concave import TOGETHER_WIDENING, widest_together
from pandas_blowfish.plan.joint_noise.widening import find_far, rounding_of, widening_of
from pandas_blowfish.plan.scales import widest


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_each_kind_of_noise_goes_its_own_way(level):
    """Noises of their own, those that sum to 0, and those that tables share; large scales are not rounded."""
    plain = {"smallest_scale": "1000"}
    cliques, shared = {**plain, "clique_sizes": [3]}, {**plain, "drawn_together": True}

    assert find_far(plain, level) == pytest.approx(float(widest(level)), rel=1e-6)
    assert find_far(cliques, level) == pytest.approx(find_far(plain, level) * widening_of(cliques), rel=1e-6)
    assert find_far(shared, level) == pytest.approx(widest_together(level), rel=1e-6)
    assert find_far(shared, level) <= find_far(plain, level) * TOGETHER_WIDENING
    assert rounding_of(shared) == pytest.approx(TOGETHER_WIDENING, rel=1e-6)
    assert rounding_of({"smallest_scale": "1/4"}) > 1.8
    assert np.isclose(rounding_of(plain), 1)
