"""Every strategy tells the same things about itself."""

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.line.question import STRATEGIES as LINE_STRATEGIES
from pandas_blowfish.plan.protocol import Strategy
from pandas_blowfish.policy.domain import Domain, integers

TOLD = [name for name in vars(Strategy) if not name.startswith("_")]
POLICY = bf.Policy(Domain((integers("x", 0, 15),)), secrets={"x": bf.threshold(4)})


@pytest.mark.parametrize("strategy", [each.name for each in LINE_STRATEGIES])
def test_strategies_keep_the_protocol(strategy):
    """Names, proof, index, scales and errors are there, and fit one another."""
    plan = POLICY.plan.cumhist("x", epsilon="1/2", strategy=strategy)
    measured = plan.measurement

    assert all(hasattr(measured, name) for name in TOLD)
    assert measured.name == measured.proof_id == strategy
    assert "epsilon = 1/2" in measured.proof
    assert len(measured.variances) == len(measured.index) == 16
    assert len(measured.apply(np.arange(16))) == len(measured.scales)
    assert isinstance(measured.form, dict)
    if strategy != "dawa":
        assert measured.mse == pytest.approx(measured.variances.mean())
        assert measured.matrix().shape == (len(measured.scales), 16)
