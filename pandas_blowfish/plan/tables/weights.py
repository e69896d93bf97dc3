"""Finds the weights of tables that together tell effects best. Never sees rows.

A table of weight w has noise of scale 1 / w, so it tells an effect with a precision of w^2 times a factor.
The precisions of all tables add, the variance of an effect is the inverse, and what is lost is the largest of
some sums of weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.exact.pareto import is_maximal
from pandas_blowfish.plan.shape.one_thread import one_thread

FINEST = 1_000  # weights are whole numbers up to this
LOGS = (-14.0, 4.0)  # between which logarithms of weights are searched
MEMORY = 20  # moves that a descent remembers
STEPS, FEW = 250, 100  # of a descent, and of one for a first impression


def best_weights(tells: Any, losses: Floats, worth: Floats, starts: Sequence[Floats]) -> tuple[Ints, float]:
    """Return whole weights of the least error found, and that error at epsilon 1 (before rounding).

    Args:
        tells: The precision at weight 1, effects x tables, perhaps scipy sparse.
        losses: What each edge loses a weight of 1: edges x tables.
        worth: What the variance of each effect adds to the error.
        starts: Logarithms of weights to start from.
    """
    sharpest = _sharpest(losses)
    error, weights = _best(tells, sharpest, worth, starts)
    with one_thread():
        return _whole(_thinned(tells, sharpest, worth, weights), tells), error


def least_error(tells: Any, losses: Floats, worth: Floats, starts: Sequence[Floats]) -> float:
    """Return nearly the least error that `best_weights` would find, much sooner."""
    return _best(tells, _sharpest(losses), worth, starts, FEW)[0]


def _best(
    tells: Any, losses: Floats, worth: Floats, starts: Sequence[Floats], steps: int = STEPS
) -> tuple[float, Floats]:
    """Return the least error found from any start, and its weights."""
    with one_thread():
        found = [_descend(tells, losses, worth, start, steps) for start in starts]
    return min(found, key=lambda each: each[0])


def _sharpest(losses: Floats) -> Floats:
    """Drop patterns that another is at least as large as everywhere."""
    if len(losses) > 1_000:
        return losses
    losses = np.unique(losses, axis=0)
    return losses[is_maximal(losses)]


def _error(tells: Any, losses: Floats, worth: Floats, weights: Floats) -> float:
    """Return the sum of variances at epsilon 1."""
    return float((worth / (tells @ weights**2)).sum() * (losses @ weights).max() ** 2)


def _descend(
    tells: Any, losses: Floats, worth: Floats, logs: Floats, steps: int = STEPS
) -> tuple[float, Floats]:
    """Return the least error found from a start, and its weights: a descent in their logarithms."""

    def smooth(power: float, at: Floats) -> tuple[float, Floats]:
        weights = np.exp(np.clip(at, *LOGS))
        precise = tells @ weights**2
        error = worth / precise
        falls = -2 * (error / precise @ tells) * weights**2 / error.sum()
        loss = losses @ weights
        top = loss.max()
        share = (loss / top) ** power
        rises = 2 * ((share / np.maximum(loss, 1e-300)) @ losses) * weights / share.sum()
        return float(np.log(error.sum()) + 2 * (np.log(top) + np.log(share.sum()) / power)), falls + rises

    for power in (8.0, 64.0) if len(losses) > 1 else (1.0,):
        logs = descend(partial(smooth, power), logs, steps=steps, within=LOGS)
    weights = np.exp(logs)
    return _error(tells, losses, worth, weights), weights


def descend(
    height: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    *,
    steps: int,
    within: tuple[float, float] | None = None,
    gain: float = 2.220446049250313e-09,
    memory: int = MEMORY,
) -> Floats:
    """Return a point further down, of the start's shape: the descent that all searches with slopes share.

    Args:
        height: Returns the height of a point, and its slope there.
        start: Where to begin.
        steps: How many steps to take at most.
        within: The least and the largest number of a point; None for any.
        gain: The relative gain of a step below which it ends.
        memory: How many moves it remembers.

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
        options={"maxiter": steps, "maxcor": memory, "ftol": gain},
    )
    return np.asarray(found.x.reshape(start.shape))


def _thinned(tells: Any, losses: Floats, worth: Floats, weights: Floats) -> Floats:
    """Return weights without the tables that hardly matter, as long as that makes nothing worse."""
    least = _error(tells, losses, worth, weights)
    for share in (0.3, 0.1, 0.03, 0.01, 0.003):
        tried = np.where(weights >= share * weights.max(), weights, 0.0)
        if not (tells @ tried**2 > 0).all():
            continue
        some = np.flatnonzero(tried)
        error, found = _descend(tells[:, some], losses[:, some], worth, np.log(tried[some]))
        if error <= least * (1 + 1e-3):
            out = np.zeros(len(weights))
            out[some] = found
            return out
    return weights


def _whole(weights: Floats, tells: Any) -> Ints:
    """Return weights as whole numbers of nearly the same proportions, every effect still told."""
    whole = np.rint(weights / weights.max() * FINEST).astype(np.int64)
    for effect in np.flatnonzero((tells @ whole.astype(float) ** 2) == 0):
        one = (np.arange(tells.shape[0]) == effect).astype(float)
        whole[int(np.argmax((one @ tells) * weights**2))] = 1
    return np.asarray(whole // np.gcd.reduce(whole[whole > 0]))
