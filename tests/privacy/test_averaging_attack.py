"""The papers' example, end to end: with x1+x2, x2+x3, ... known every noisy count tells x1 once more."""

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.policy.domain import Domain, integers

CELLS, RUNS = 64, 40
LEAST = 1 / (np.exp(1) + np.exp(-1) - 2)  # Chapman-Robbins: neighbours differ by 1 in x1, epsilon is 1


def _estimates(truth, known):
    """Return what an attacker who knows all sums of neighbouring cells makes of x1, release by release."""
    facts = [bf.Count(f"x in [{n}, {n + 1}]") for n in range(CELLS - 1)]
    policy = bf.Policy(Domain((integers("x", 0, CELLS - 1),)), constraints=facts if known else ())
    rows = pd.DataFrame({"x": np.repeat(np.arange(CELLS), truth)})
    sign = (-1.0) ** np.arange(CELLS)
    offset = np.append(0.0, np.cumsum(sign[:-1] * (truth[:-1] + truth[1:])))
    found = []
    with bf.testing.replay(7):
        frame = rows.blowfish.protect(policy, epsilon=RUNS)
        for _ in range(RUNS):
            noisy = frame.blowfish.hist("x", epsilon=1, post=False, strategy="identity")["count"].to_numpy()
            found.append(float((offset + sign * noisy).mean()))
    return policy.plan.hist("x", strategy="identity"), np.array(found)


@pytest.mark.parametrize("known", [False, True])
def test_averaging_fails_where_facts_are_stated(known):
    """Plain noise averages out below what any promise allows; ours stays far above."""
    truth = np.random.default_rng(3).integers(20, 60, CELLS)

    plan, found = _estimates(truth, known)

    assert plan.sensitivity == (CELLS if known else 2)
    if known:
        assert found.var() > 10 * LEAST
        assert (np.abs(found - truth[0]) > 3).mean() > 0.4
    else:
        assert found.var() < LEAST / 2
        assert (np.rint(found) == truth[0]).mean() > 0.6
