"""The one descent that searches for weights and rows share. Never sees rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pandas_blowfish.exact.arrays import Floats

MEMORY = 20  # moves that the descent remembers


def descend(
    height: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    *,
    steps: int,
    within: tuple[float, float] | None = None,
    gain: float = 2.220446049250313e-09,
) -> Floats:
    """Return a point further down, of the start's shape.

    Args:
        height: Returns the height of a point, and its slope there.
        start: Where to begin.
        steps: How many steps to take at most.
        within: The least and the largest number of a point; None for any.
        gain: The relative gain of a step below which it ends.

    Examples:
        >>> descend(lambda at: (float(((at - 3) ** 2).sum()), 2 * (at - 3)), np.zeros(1), steps=9).tolist()
        [3.0]
    """
    from scipy.optimize import minimize

    def flat(at: Floats) -> tuple[float, Floats]:
        value, slope = height(at.reshape(start.shape))
        return value, slope.ravel()

    found = minimize(
        flat,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=None if within is None else [within] * start.size,
        options={"maxiter": steps, "maxcor": MEMORY, "ftol": gain},
    )
    return np.asarray(found.x.reshape(start.shape))
