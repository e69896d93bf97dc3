"""The law of one total's noise: of its own, or as one of several that are drawn together. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from pandas_blowfish.plan.joint_noise import BOX, Joint, box, joint_reach, numerator
from pandas_blowfish.plan.scales import FARTHEST, SURE, reach, variance

Counted = tuple[tuple[int, int], ...]  # reaches of the rows of a box, and how many have each


@dataclass(frozen=True)
class BoxLaw:
    """The law of the noise of a total.

    Attributes:
        scale: The scale of its noise, or of the draw that it is a part of; 0 for none.
        reach: Of a row of a box, how large a change of it is one step; 0 for noise of its own.
        counted: The reaches of all rows of the box.
    """

    scale: Fraction
    reach: int = 0
    counted: Counted = ()

    @property
    def size(self) -> Fraction:
        """Return the scale in what is counted: of a box, that of its radius times the reach."""
        return self.scale * max(self.reach, 1)

    @property
    def variance(self) -> float:
        """Return the variance of the noise."""
        if not self.reach:
            return variance(self.scale)
        one, two, *_ = _moments(self.counted, self.scale)
        return float(self.reach) * (self.reach * two + one) / 3

    @property
    def fourth(self) -> float:
        """Return the mean of the fourth power of the noise, at most."""
        if not self.reach:
            return 6 * self.variance**2
        one, two, three, four = _moments(self.counted, self.scale)
        far = float(self.reach)
        return (3 * far**4 * four + 6 * far**3 * three + 2 * far**2 * two - far * one) / 15

    def squares(self, other: BoxLaw) -> float:
        """Return the mean of the product of the squares of this noise and another's, at most."""
        if not self.reach or (self.scale, self.counted) != (other.scale, other.counted):
            return self.variance * other.variance
        _, two, three, four = _moments(self.counted, self.scale)
        a, b = float(self.reach), float(other.reach)
        return a * b * (a * b * four + (a + b) * three + two) / 9

    def within(self, level: Any) -> int:
        """Return the least t with P(|noise| <= t) >= level."""
        if not self.reach:
            return reach(self.scale, level)
        first = next(place for place, far in enumerate(_spread(self.counted)) if far == self.reach)
        return joint_reach(self.joint, self.scale, first, level)

    @property
    def sure(self) -> int:
        """Return what the noise surely stays within."""
        return self.within(SURE)

    @property
    def limit(self) -> Fraction:
        """Return what the noise stays within with a probability above 1 - exp(-60).

        The radius of a box of d rows is one of up to d and d + 1 geometric ones of this scale; a sum of d + 1
        exponential ones exceeds 2 (d + 1) + 128 with a probability below exp(-100), if d is below 1,000.
        """
        if not self.reach:
            return 64 * self.scale
        many = sum(often for _, often in self.counted)
        return self.reach * (2 * many + 1 + self.scale * (2 * (many + 1) + 128))

    @property
    def is_drawable(self) -> bool:
        """Return whether the kernel draws it, if it is drawn together with others."""
        if not self.reach:
            return True
        many, widest = sum(often for _, often in self.counted), max(far for far, _ in self.counted)
        return (self.scale + 1) * (many + 1) * widest <= FARTHEST

    @property
    def joint(self) -> Joint:
        """Return the box, its rows by rising reach."""
        reaches = _spread(self.counted)
        return box(range(len(reaches)), reaches)


def state_laws(laws: Sequence[BoxLaw]) -> tuple[list[str], list[str | None]]:
    """Return what a receipt states besides scales: the reaches of boxes, and of each law its box and reach.

    Noise of its own has none. Boxes of equal reaches are stated once.

    Examples:
        >>> found = state_laws([BoxLaw(Fraction(3), 5, ((5, 2), (9, 1))), BoxLaw(Fraction(2))])
        >>> found
        (['5*2 9*1'], ['0 5', None])
        >>> read_law("3", found[1][0], found[0])
        BoxLaw(scale=Fraction(3, 1), reach=5, counted=((5, 2), (9, 1)))
    """
    texts = [" ".join(f"{far}*{many}" for far, many in each.counted) for each in laws]
    boxes = list(dict.fromkeys(text for text in texts if text))
    own = zip(texts, laws, strict=True)
    return boxes, [f"{boxes.index(text)} {each.reach}" if text else None for text, each in own]


def read_law(scale: Any, text: str | None, boxes: Sequence[str]) -> BoxLaw:
    """Return the law that a receipt states: the scale, which box and reach, the reaches of all boxes."""
    if text is None:
        return BoxLaw(Fraction(scale))
    number, own = map(int, text.split())
    pairs = (part.split("*") for part in boxes[number].split())
    return BoxLaw(Fraction(scale), own, tuple((int(far), int(many)) for far, many in pairs))


@lru_cache(maxsize=4096)
def _numerator(counted: Counted) -> tuple[int, ...]:
    return tuple(numerator(((BOX, sum(many for _, many in counted), _spread(counted)),)))


def _spread(counted: Counted) -> tuple[int, ...]:
    return tuple(far for far, often in counted for _ in range(often))


@lru_cache(maxsize=4096)
def _moments(counted: Counted, scale: Fraction) -> tuple[float, float, float, float]:
    """Return the means of r, r^2, r^3 and r^4, r the radius of the noise in a box.

    Proof note:
        Requires: `numerator`; P(r) proportional to V(r) a^r, a = exp(-1 / scale), V(r) the points within r.
        Ensures:  its first four moments, to the precision of floats.
        Because:  sum_r V(r) (a x)^r = h(a x) / (1 - a x)^(d + 1): r is a number with P(j) proportional to
                  h_j a^j and, independent of it, a sum of d + 1 geometric ones; cumulants of sums add up.
        Checked:  tests/plan/totals/test_law.py::test_moments_are_those_of_the_law
    """
    if scale < Fraction(1, 700):
        return (0.0,) * 4  # below 10^-300
    weights, many = _numerator(counted), sum(often for _, often in counted) + 1
    rate = float(1 / scale)
    logs = [math.log(each) - place * rate if each else -math.inf for place, each in enumerate(weights)]
    shares = [math.exp(log - max(logs)) for log in logs]
    whole = sum(shares)
    mean = sum(place * share for place, share in enumerate(shares)) / whole
    away = [sum((place - mean) ** power * s for place, s in enumerate(shares)) / whole for power in (2, 3, 4)]
    a, left = math.exp(-rate), -math.expm1(-rate)
    own = [a / left, a / left**2, a * (1 + a) / left**3, a * (1 + 4 * a + a * a) / left**4]
    mean, two, three = mean + many * own[0], away[0] + many * own[1], away[1] + many * own[2]
    four = away[2] - 3 * away[0] ** 2 + many * own[3] + 3 * two**2  # fourth cumulants add up
    return (
        mean,
        two + mean**2,
        three + 3 * two * mean + mean**3,
        four + 4 * three * mean + 6 * two * mean**2 + mean**4,
    )
