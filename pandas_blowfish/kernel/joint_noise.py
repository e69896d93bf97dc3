"""Exact noise that query rows draw together: P(z) proportional to exp(-N(z) / scale); never sees rows.

With a = exp(-1 / scale), a**N(z) is (1 - a) times the sum of a**r over all radii r >= N(z). So a radius r is
drawn with weight V(r) a**r, V(r) the number of whole points of norm at most r, then one of them, uniformly:

    r = J + G: J has weight h[J] a**J (`numerator`), G is the sum of d + 1 independent Geometric(a);
    blocks are independent given r: a box is uniform in [-D r, D r] row by row, a clique by `_draw_clique`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np

from pandas_blowfish.errors import ScaleError, UnsoundPlanError
from pandas_blowfish.exact.enclosure import exp_negative, times
from pandas_blowfish.kernel.noise import (
    MAX_SCALE,
    Integers,
    WordSource,
    check_scale,
    discrete_laplace,
    open_source,
)
from pandas_blowfish.kernel.run_noise import draw_runs
from pandas_blowfish.plan.joint_noise import (
    BOX,
    CLIQUE,
    MAX_CLIQUE,
    MAX_DIMENSION,
    Block,
    Joint,
    NoiseNorm,
    Shape,
    clique_weights,
    numerator,
)
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.plan.transport.run_norm import Runs

_SATURATION = 2**62


def draw_together(together: NoiseNorm, scale: Fraction) -> Integers:
    """Draw the noise of some query rows, in the order of their `rows`; `require_joint` has passed it."""
    if isinstance(together, Runs):
        return draw_runs(scale, together.reach, together.sizes)
    assert isinstance(together, Joint)
    return draw_joint(together, scale)


def draw_joint(joint: Joint, scale: Fraction) -> Integers:
    """Draw whole numbers with P(z) proportional to exp(-N(z) / scale), exactly, in the order of `joint.rows`.

    Args:
        joint: The norm.
        scale: What a change of norm 1 loses is one over it; 0 means no noise.

    Raises:
        ScaleError: Noise of this scale might not fit in 64 bits, or is of too many dimensions.

    Proof note:
        Requires: as `discrete_laplace`.
        Ensures:  the stated law, cut at +-2**62.
        Because:  the sum over r of V(r) x**r is sum_j h[j] x**j / (1 - x)**(d + 1) (`numerator`), the law of
                  J + G up to its sum; a point of norm N is drawn with the sum over r >= N of
                  V(r) a**r / V(r), which is a**N / (1 - a). `_draw_part`, `_draw_point` are exact.
        Checked:  tests/kernel/test_joint_noise.py::test_law_passes_chi_square,
                  tests/kernel/test_joint_noise.py::test_every_point_is_reached_by_its_share_of_choices
    """
    scale = check_joint(joint, scale)
    if not scale:
        return np.zeros(len(joint.rows), dtype=np.int64)
    words, noise = open_source(), discrete_laplace(scale, joint.dimension + 1)
    radius = _draw_part(joint.shape, scale, words) + sum((noise ^ (noise >> 63)).tolist())
    drawn = [each for block in joint.blocks for each in _draw_point(block, radius, words)]
    return np.array([min(max(each, -_SATURATION), _SATURATION) for each in drawn], dtype=np.int64)


def check_joint(joint: Joint, scale: Fraction) -> Fraction:
    """Return the scale, or refuse noise that cannot be drawn in 64 bits, or not in a moment.

    Proof note:
        Requires: nothing.
        Ensures:  |z| passes 2**62 with a probability below exp(-4000).
        Because:  |z| <= D r, and r, with a mean of at most (d + 1) (scale + 1), is a sum of d + 1 geometrics
                  and a number up to d: it passes 4,096 times a bound of its mean less often than that.
        Checked:  tests/kernel/test_joint_noise.py::test_noise_too_large_is_refused
    """
    widest = max((reach for block in joint.blocks for reach in block.reaches), default=1)
    cliques = [len(block.rows) for block in joint.blocks if block.kind == CLIQUE]
    if joint.dimension > MAX_DIMENSION or max(cliques, default=0) > MAX_CLIQUE:
        raise UnsoundPlanError(
            f"noise of {joint.dimension:,} dimensions, or of a clique as large, is not drawn"
        )
    if (check_scale(scale) + 1) * (joint.dimension + 1) * widest > MAX_SCALE:
        raise ScaleError(MAX_SCALE)
    return check_scale(scale)


def require_joint(scales: Scales) -> None:
    """Raise unless each kind of noise that is drawn together is of its own query rows, all of them, once."""
    for code, joint in scales.joint.items():
        plain = type(joint) is Runs
        plain = plain or (type(joint) is Joint and all(type(block) is Block for block in joint.blocks))
        rows = np.flatnonzero(scales.codes == code)
        if not plain or not 0 <= code < len(scales.values) or not np.array_equal(np.sort(joint.rows), rows):
            raise UnsoundPlanError("noise is drawn together for other query rows than it was planned for")
        if isinstance(joint, Joint):
            check_joint(joint, scales.values[code])


@dataclass(frozen=True)
class _Parts:
    """Enclosures of the sums of h[0] a**0 to h[j] a**j, for each j, at some bits."""

    lower: list[int]
    upper: list[int]


@lru_cache(maxsize=64)
def _parts(shape: Shape, scale: Fraction, bits: int) -> _Parts:
    weights = _numerator(shape)
    inner = bits + max(weights).bit_length() + 2 * len(weights).bit_length()
    ratio = exp_negative(1 / scale, inner)
    power, lower, upper = (1 << inner, 1 << inner), [0], [0]
    for weight in weights:
        lower.append(lower[-1] + weight * power[0])
        upper.append(upper[-1] + weight * power[1])
        power = times(power[0], ratio[0], power[1], ratio[1], inner)
    return _Parts(lower[1:], upper[1:])


@lru_cache(maxsize=64)
def _numerator(shape: Shape) -> list[int]:
    return numerator(shape)


def _draw_part(shape: Shape, scale: Fraction, words: WordSource) -> int:
    """Return j with a probability proportional to h[j] a**j.

    Proof note:
        Requires: scale > 0.
        Ensures:  exactly this law.
        Because:  j is where a uniform real U times the sum of all falls between two partial sums; more bits
                  of U, and of the sums, are revealed until their enclosures decide.
        Checked:  tests/kernel/test_joint_noise.py::test_parts_are_decided_as_the_real_number_would
    """
    revealed, bits = int.from_bytes(words.octets(8), "little"), 64
    while True:
        sums = _parts(shape, scale, bits + 64)
        least, most = revealed * sums.lower[-1], (revealed + 1) * sums.upper[-1]
        place = next((j for j, upper in enumerate(sums.upper) if least < upper << bits), len(sums.upper) - 1)
        if place + 1 == len(sums.upper) or most <= sums.lower[place] << bits:
            return place
        revealed, bits = revealed << 64 | int.from_bytes(words.octets(8), "little"), bits + 64


def _draw_point(block: Block, radius: int, words: WordSource) -> list[int]:
    """Return a uniform whole point of a block whose norm is at most the radius."""
    if block.kind == BOX:
        drawn = np.zeros(len(block.rows), dtype=object)
        reaches = np.array(block.reaches, dtype=object)
        for reach in sorted(set(block.reaches)):
            rows = np.flatnonzero(reaches == reach)
            drawn[rows] = words.below(2 * reach * radius + 1, len(rows)).astype(object) - reach * radius
        return drawn.tolist()
    return _draw_clique(len(block.rows), radius, words)


def _draw_clique(cells: int, radius: int, words: WordSource) -> list[int]:
    """Return uniform whole numbers that sum to 0, those above 0 to at most the radius.

    Proof note:
        Requires: cells >= 1, radius >= 0.
        Ensures:  each point has the same probability.
        Because:  the number of points whose positive part is p is sum_j C(k - 1, j)^2 C(p - j + k - 2, k - 2)
                  (`count_points`, without adding up over radii). So p is j and a part of a sum of radius - j
                  in k parts, all but the last: C(k - 1, j)^2 C(radius - j + k - 1, k - 1) choices. Points of
                  one p with m cells above 0 are which m, how p is put into m parts above 0, and how into
                  the other k - m: C(k, m) C(p - 1, m - 1) C(p + k - m - 1, k - m - 1).
        Checked:  tests/kernel/test_joint_noise.py::test_every_point_is_reached_by_its_share_of_choices
    """
    if cells == 1:
        return [0]
    begin = _choose(clique_weights(cells, radius), words)
    total = radius - _put(radius - begin, cells, words)[-1]
    if not total:
        return [0] * cells
    many = 1 + _choose(
        [
            math.comb(cells, m)
            * math.comb(total - 1, m - 1)
            * math.comb(total + cells - m - 1, cells - m - 1)
            for m in range(1, cells)
        ],
        words,
    )
    point = [0] * cells
    above = _choose_some(cells, many, words)
    below = sorted(set(range(cells)) - set(above))
    for cell, amount in zip(above, _put(total - many, many, words), strict=True):
        point[cell] = amount + 1
    for cell, amount in zip(below, _put(total, cells - many, words), strict=True):
        point[cell] = -amount
    return point


def _put(total: int, parts: int, words: WordSource) -> list[int]:
    """Return uniform whole numbers of at least 0 that sum to `total`: the gaps between bars in a row."""
    bars = [-1, *_choose_some(total + parts - 1, parts - 1, words), total + parts - 1]
    return [after - before - 1 for before, after in pairwise(bars)]


def _choose(weights: list[int], words: WordSource) -> int:
    """Return a place with a probability proportional to its weight."""
    left = int(words.below(sum(weights), 1)[0])
    for place, weight in enumerate(weights):
        if left < weight:
            return place
        left -= weight
    raise AssertionError("a number below the sum of weights is below one of their partial sums")


def _choose_some(of: int, many: int, words: WordSource) -> list[int]:
    """Return so many of the numbers below `of`, in order: each set with the same probability (Floyd).

    Each step adds a number below `last + 1` that is new, or else `last`: any set of one number more below
    `last + 1` is reached from as many sets and numbers.
    """
    chosen: set[int] = set()
    for last in range(of - many, of):
        found = int(words.below(last + 1, 1)[0])
        chosen.add(last if found in chosen else found)
    return sorted(chosen)
