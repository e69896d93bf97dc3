"""The law of noise that query rows draw together: variances, and how far one row's noise reaches.

With a = exp(-1 / scale), r is a radius with weight V(r) a^r, V(r) the number of points within it
(`ball_points.py`), and z one of these points, uniformly. Never sees rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.arrays import Floats
from pandas_blowfish.exact.enclosure import exp_negative
from pandas_blowfish.exact.number import exact
from pandas_blowfish.plan.joint_noise.ball_points import difference, list_points, numerator
from pandas_blowfish.plan.joint_noise.norms import BOX, CLIQUE, Joint, NoiseNorm, Shape

SUMS = "discrete Laplace of twice the scale that sums to 0"
_BITS = 160  # of sums of whole numbers times powers of a, beyond those of the numbers
_TINY = Fraction(1, 700)  # scales below this leave noise with a probability below 10^-300


def joint_variances(joint: Joint, scale: Fraction) -> Floats:
    """Return the variance of the noise of each query row, in the order of `joint.rows`.

    Errors of two rows of a box, or of rows of different blocks, are uncorrelated: each may change its sign.
    Those of two of the k cells of a clique have a covariance of -variance / (k - 1): they sum to 0.

    Examples:
        >>> from pandas_blowfish.plan.joint_noise import box, clique
        >>> joint_variances(clique([0, 1, 2]), Fraction(1)).round(2).tolist()
        [3.16, 3.16, 3.16]
        >>> joint_variances(box([0, 1], [1, 10]), Fraction(1)).round(1).tolist()
        [4.5, 368.6]

    Proof note:
        Requires: `numerator`.
        Ensures:  the variances, to the precision of floats.
        Because:  uniform whole numbers up to D r have the variance D r (D r + 1) / 3; the sum over a ball of
                  z_1^2 is a polynomial in r (`_squares`), and so are both times V of the other blocks: their
                  series are whole numbers times powers of a, summed up in whole numbers.
        Checked:  tests/plan/joint_noise/test_joint_law.py::test_variances_are_those_of_the_law
    """
    per_block = [
        np.array([_variance(joint.shape, number, reach, scale) for reach in block.reaches or (0,)])
        for number, block in enumerate(joint.blocks)
    ]
    return np.concatenate(
        [np.resize(found, len(block.rows)) for found, block in zip(per_block, joint.blocks, strict=True)]
    )


def _variance(shape: Shape, number: int, reach: int, scale: Fraction) -> float:
    """Return the variance of a row of one of the blocks: of a box that with this reach."""
    kind, cells, _ = shape[number]
    rest = tuple(sorted(shape[:number] + shape[number + 1 :]))
    if scale < _TINY or (kind == CLIQUE and cells == 1):
        return 0.0
    if kind == BOX:
        squares, steps = _radii(tuple(sorted(shape)), scale)
        return float(reach) * (float(reach) * squares + steps) / 3
    return _clique_variance(cells, rest, scale)


@lru_cache(maxsize=4096)
def _clique_variance(cells: int, rest: Shape, scale: Fraction) -> float:
    """Return the variance of each of the cells of a clique, drawn together with the rest."""
    shape = ((CLIQUE, cells, ()), *rest)
    dimension = sum(many - (kind == CLIQUE) for kind, many, _ in shape)
    sums, points = _squares(cells, dimension + 3), list_points(rest, dimension + 3)
    values = [each * many for each, many in zip(sums, points.tolist(), strict=True)]
    above, below, left = _series([difference(values, dimension + 3), numerator(shape)], scale)
    return above / below / left / left


@lru_cache(maxsize=4096)
def _radii(shape: Shape, scale: Fraction) -> tuple[float, float]:
    """Return the means of r^2 and of r: J + G, J with weight h[J] a^J, G a sum of d + 1 geometric numbers."""
    weights = numerator(shape)
    first, second = ([place**power * h for place, h in enumerate(weights)] for power in (1, 2))
    whole, one, two, left = _series([weights, first, second], scale)
    many, a, j, squared = len(weights), 1 - left, one / whole, two / whole
    mean = many * a / left
    return squared + 2 * j * mean + many * a / left**2 + mean**2, j + mean


def _series(coefficients: list[list[int]], scale: Fraction) -> list[float]:
    """Return the sums of c[j] a^j of each list, up to one factor, then 1 - a."""
    bits = _BITS + max(abs(each) for one in coefficients for each in one).bit_length()
    bits += int(math.log2(float(max(scale, Fraction(1))))) + len(coefficients[0]).bit_length()
    a, power, sums = exp_negative(1 / scale, bits)[0], 1 << bits, [0] * len(coefficients)
    for place in range(max(map(len, coefficients))):
        sums = [
            total + (one[place] * power if place < len(one) else 0)
            for total, one in zip(sums, coefficients, strict=True)
        ]
        power = power * a >> bits
    most = max(map(abs, sums))
    return [*(total / most for total in sums), ((1 << bits) - a) / (1 << bits)]


@lru_cache(maxsize=256)
def _squares(cells: int, many: int) -> list[int]:
    """Return the sum of z_1^2 over the points of a clique within r, for r below `many`.

    Proof note:
        Requires: cells >= 2.
        Ensures:  the exact numbers.
        Because:  of C = C(n + k - 1, n) ways to put n into k parts g_1 has the variance
                  n (k - 1) (n + k) / (k^2 (k + 1)), so the sum of (g_1 - g'_1)^2 over pairs is twice that
                  times C^2; pairs are points with a common part (`count_points`), so its series times
                  (1 - x)^k is that of points of norm r, and times (1 - x)^(k - 1) that of points within r.
        Checked:  tests/plan/joint_noise/test_joint_law.py::test_squares_are_those_of_the_points
    """
    k, found = cells, []
    for n in range(many):
        pairs = 2 * math.comb(n + k - 1, n) ** 2 * n * (k - 1) * (n + k)
        found.append(pairs // (k * k * (k + 1)))
    return difference(found, k - 1)


def joint_reach(joint: Joint, scale: Fraction, row: int, level: Any) -> int:
    """Return the least t with P(|noise of a query row| <= t) >= level, or one that is a little larger.

    Examples:
        >>> from pandas_blowfish.plan.joint_noise import box, clique
        >>> joint_reach(clique([0, 1, 2]), Fraction(1), 0, 0.95)
        4
        >>> joint_reach(box([3, 4], [2, 5]), Fraction(1), 3, 0.5)
        2
    """
    for number, block in enumerate(joint.blocks):
        if row in (rows := block.rows.tolist()):
            reach = block.reaches[rows.index(row)] if block.reaches else 0
            return shape_reach(joint.shape, number, reach, scale, exact(level, "level"))
    raise ArgumentError("row", f"{row} draws no noise together with others")


@lru_cache(maxsize=4096)
def shape_reach(shape: Shape, number: int, reach: int, scale: Fraction, level: Fraction) -> int:
    """Return the same for a row of one of several blocks: of a box that with this reach.

    Proof note:
        Requires: 0 < level < 1.
        Ensures:  P(|z| <= t) >= level.
        Because:  see `_outside_clique` of a clique alone and `_outside_box`; both fall as t grows. Of a
                  clique among other blocks |z| <= r, and Chebyshev's inequality holds.
        Checked:  tests/plan/joint_noise/test_joint_law.py::test_reaches_cover
    """
    if not 0 < level < 1:
        raise ArgumentError("level", f"{level} is not between 0 and 1")
    kind, cells, _ = shape[number]
    if scale < _TINY or (kind == CLIQUE and cells == 1):
        return 0
    missed = float(1 - level) * (1 - 1e-9)
    if kind == BOX:
        radii, chances = _radius_steps(shape, scale, missed)
        return _least(lambda t: _outside_box(t, reach, radii, chances) <= missed)
    if len(shape) == 1:
        return _least(lambda t: _outside_clique(t, cells, scale) <= missed)
    radii, chances = _radius_steps(shape, scale, missed)
    far = _least(lambda t: float(chances[radii > t].sum()) <= missed)
    rest = tuple(sorted(shape[:number] + shape[number + 1 :]))
    return min(far, math.ceil(math.sqrt(_clique_variance(cells, rest, scale) / missed)))


def _least(holds: Callable[[int], bool]) -> int:
    """Return the least whole number from 0 that something holds for, and for all above it."""
    low, high = -1, 1
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return 0 if high == 1 and holds(0) else high


def _outside_clique(t: int, cells: int, scale: Fraction) -> float:
    """Return P(|z_1| > t) for a cell of a clique by itself.

    Proof note:
        Requires: cells >= 2, t >= 0.
        Ensures:  the probability, to the precision of floats.
        Because:  with s = k - 2 the others make up for v in ways whose series in a is, pair by pair
                  (`count_points`), a^v sum_m C(m + s, s) C(m + v + s, s) a^m up to one factor. As
                  C(m + v + s, s) is the sum over i of C(v, i) C(m + s, s - i) (Vandermonde), that is a
                  mixture over i of v = i + a sum of i + 1 geometric numbers, in shares
                  a^i sum_l C(s - i, l) C(s, i + l) a^l (Euler's transformation).
        Checked:  tests/plan/joint_noise/test_joint_law.py::test_reaches_cover
    """
    from scipy.special import betainc

    shares, zero = _clique_mixture(cells, scale)
    i = np.arange(len(shares))
    left = -math.expm1(-float(1 / scale))
    beyond = np.where(i > t, 1.0, 1 - betainc(i + 1, np.maximum(t - i, 0) + 1, left))
    return float(2 * (shares * beyond).sum() / (2 * shares.sum() - zero))


@lru_cache(maxsize=256)
def _clique_mixture(cells: int, scale: Fraction) -> tuple[Floats, float]:
    """Return the shares of `_outside_clique` for v >= 0, and that of v = 0."""
    s, a = cells - 2, math.exp(-float(1 / scale))
    series = [
        sum(math.comb(s - i, j) * math.comb(s, i + j) * a**j for j in range(s - i + 1)) for i in range(s + 1)
    ]
    most = max(series)
    shares = np.array([a**i * (each / most) for i, each in enumerate(series)])
    return shares, float(shares[0] * -math.expm1(-float(1 / scale)))


def _outside_box(t: int, reach: int, radii: Floats, chances: Floats) -> float:
    """Return a bound on P(|z_j| > t) for a row of a box, given steps of its radius rounded up."""
    return float((chances * np.maximum(1 - (2 * t + 1) / (2 * reach * radii + 1), 0)).sum())


_STEPS = 4096  # of a radius, in error bars


def _radius_steps(shape: Shape, scale: Fraction, missed: float) -> tuple[Floats, Floats]:
    """Return radii and the chance that the radius is one, or just below and above the radius before.

    What is beyond the last is counted with an infinite one.

    Proof note:
        Requires: scale > 0.
        Ensures:  a law of radii that are at least as large as those of the noise, to the precision of floats.
        Because:  r = J + G (`numerator`), G a sum of d + 1 geometric numbers: P(G > m) is an incomplete beta
                  function; shares of J too small for floats are counted with an infinite radius.
        Checked:  tests/plan/joint_noise/test_joint_law.py::test_reaches_cover
    """
    from scipy.special import betainc

    weights, left = numerator(shape), -math.expm1(-float(1 / scale))
    logs = np.array([math.log(each) if each else -math.inf for each in weights])
    logs -= np.arange(len(weights)) * float(1 / scale)
    parts = np.exp(logs - logs.max())
    parts /= parts.sum()
    kept = np.flatnonzero(parts > 1e-18)
    many, size = len(weights), float(scale) if scale > 1 else 1.0
    far = (many + 8 * math.sqrt(many) + 4 * math.log(1 / missed)) * size + many
    radii = np.unique(np.ceil(np.linspace(0, far, min(_STEPS, int(far) + 2))))
    away = radii[:, None] - kept
    beyond = np.where(away < 0, 1.0, 1 - betainc(len(weights), np.maximum(away, 0) + 1, left))
    above = beyond @ parts[kept] + (1 - parts[kept].sum())
    chances = np.append(-np.diff(above, prepend=1.0), above[-1])
    return np.append(radii, np.inf), np.maximum(chances, 0.0)


def law_text(joints: Iterable[NoiseNorm], *, alone: bool) -> str:
    """Return the law of the noise in words, for plans and receipts.

    Args:
        joints: The kinds of noise that query rows draw together.
        alone: Whether other query rows have noise of their own.

    Examples:
        >>> from pandas_blowfish.plan.joint_noise import clique
        >>> law_text([clique([0, 1, 2])], alone=True)
        'discrete Laplace, and discrete Laplace of twice the scale that sums to 0'
    """
    kinds = [tuple(block.kind for block in each.blocks) for each in joints]
    texts = ["discrete Laplace"] * alone + [SUMS] * ((CLIQUE,) in kinds)
    texts += ["transport (odds of exp(-edges / scale))"] * (() in kinds)
    balls = any(kind not in ((), (CLIQUE,)) for kind in kinds)
    return ", and ".join([*texts, *["drawn together (odds of exp(-largest change / scale))"] * balls])


@lru_cache(maxsize=4096)
def clique_spread(cells: int, scale: Fraction) -> float:
    """Return c, where errors of the k cells of a clique by itself have covariances c ([i = j] - 1 / k).

    Examples:
        >>> round(clique_spread(3, Fraction(1)) * (1 - 1 / 3), 2)
        3.16
    """
    return 0.0 if cells < 2 else _variance(((CLIQUE, cells, ()),), 0, 0, scale) * cells / (cells - 1)


def clique_reach(cells: int, scale: Fraction, level: Any) -> int:
    """Return the least t with P(|noise of a cell| <= t) >= level, of a clique by itself: `joint_reach`."""
    return shape_reach(((CLIQUE, cells, ()),), 0, 0, scale, exact(level, "level"))


def clique_widening(sizes: Iterable[int], scale: Fraction) -> float:
    """Return how many times further than their standard error says weighted sums of clique noise may go.

    Proof note:
        Requires: `widest`, and that of whole noises (its callers): both are about sums of Laplace noises.
        Ensures:  a weighted sum of noises of cliques of these sizes, times this, goes no further than one of
                  independent Laplace noises with its standard error.
        Because:  clique noise is Laplace noise of twice the scale given that it sums to 0. Given random
                  variances e_i both are normal; given the sum, the variance is the least over m of the sum of
                  (w_i - m)^2 e_i, and small e_i are the likelier, as the probability of a sum of 0 falls with
                  each of them: so it is, in law, no more than for the mean m of the weights without the
                  condition. These have 1 / c times v the standard error squared, v the variance of Laplace
                  noise of twice the scale, c as `clique_spread`.
        Checked:  tests/plan/joint_noise/test_joint_law.py::test_sums_of_cliques_stay_within_widened_errors
    """
    least = min((clique_spread(cells, scale) for cells in sizes), default=0.0)
    from pandas_blowfish.plan.scales import variance  # here: scales hold norms

    return math.sqrt(variance(2 * scale) / least) if least > 0 else 1.0


def clique_ends(std: Floats, sizes: Iterable[int], scale: Fraction, level: Any, other: Floats) -> Floats:
    """Return how far noise goes: of what has the standard error of a cell as its law says, else as given."""
    found = other
    for cells in sizes:
        error = math.sqrt(clique_spread(cells, scale) * (1 - 1 / cells))
        single = np.isclose(std, error, rtol=1e-9, atol=0)
        found = np.where(single, clique_reach(cells, scale, level) if single.any() else 0, found)
    return found
