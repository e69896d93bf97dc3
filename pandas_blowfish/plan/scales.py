"""Noise scales, one Fraction per query row, and the law of the noise, for error bars. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.exact.number import exact
from pandas_blowfish.plan.joint_noise import CLIQUE, NoiseNorm

FARTHEST = Fraction(2**50)  # scale of noise that can be drawn, as in kernel/noise.py
SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
SURE = 1 - Fraction(1, 10**12)  # a level above those that anybody asks for
# what an unshaped answer is off by: one noise, several, an estimate's, or one of some that sum to 0
ONE, SUM, ESTIMATE, CLIQUES = "one", "sum", "estimate", "cliques"
TOGETHER = "together"  # an estimate from noises that several tables draw together
CONCAVE, ANY = "log-concave", "any"  # not by sums of Laplace noises: all that is known of its law


def derived_terms(terms: Any) -> str:
    """Return what sums of answers are off by, from what these are."""
    return str(terms) if terms in (CONCAVE, ANY) else ESTIMATE


def conditioned_terms(terms: str) -> str:
    """Return what answers are off by that were made to agree with public facts."""
    return ANY if terms in (CONCAVE, ANY) else ESTIMATE


def variance(scale: Fraction) -> float:
    """Return the variance of P(z) proportional to exp(-|z| / scale); 0 for scale 0.

    Examples:
        >>> round(variance(Fraction(20)), 3)
        799.833
    """
    if scale < Fraction(1, 700):
        return 0.0  # below 10^-300
    if scale > 10**6:  # 1 / (2 sinh^2(1 / 2 scale)) = 2 scale^2 - 1/6 + ...
        return float(2 * scale**2) if scale < 10**150 else math.inf
    return 0.5 / math.sinh(float(1 / scale) / 2) ** 2


def fit_scales(patterns: Any, weights: Sequence[int], epsilon: Fraction) -> tuple[Fraction, ...]:
    """Return scales in inverse proportion to whole weights, at which the worst edge loses exactly epsilon.

    Args:
        patterns: By how much an edge changes what has each weight, in L1: edges x weights, whole numbers.
        weights: One whole number above 0 per scale.
        epsilon: What may be lost.

    Examples:
        >>> fit_scales([[2, 0], [1, 1]], [3, 1], Fraction(1, 2))
        (Fraction(4, 1), Fraction(12, 1))

    Proof note:
        Requires: no edge changes the query rows of each weight by more than some pattern states.
        Ensures:  the largest of patterns @ (1 / scales) is epsilon; scales are 0 where no pattern is above 0.
        Because:  with scales L / (w epsilon) a pattern n loses epsilon (n . w) / L, and L is the largest
                  n . w, in whole numbers: 64 bits where they suffice, else without bounds.
        Checked:  tests/plan/test_scales.py::test_fitted_scales_lose_epsilon
    """
    if not weights:
        return ()
    changes = np.asarray(patterns, dtype=np.int64).reshape(-1, len(weights))
    fits = int(changes.max(initial=0)) * sum(weights) < 2**63
    loss = int((changes @ np.array(weights, dtype=np.int64 if fits else object)).max(initial=0))
    return tuple(Fraction(loss, weight) / epsilon for weight in weights)


def row_variances(scales: Sequence[Fraction]) -> list[float]:
    """Return the variance of the noise at each scale, within what floats can divide by."""
    return [min(max(variance(scale), 1e-200), 1e200) for scale in scales]


def _level(level: object) -> Fraction:
    wanted = exact(level, "level")
    if not 0 < wanted < 1:
        raise ArgumentError("level", f"{level} is not between 0 and 1")
    return wanted


def reach(scale: Fraction, level: object) -> int:
    """Return the least t with P(|z| <= t) >= level.

    Args:
        scale: The noise scale.
        level: A number in (0, 1).

    Examples:
        >>> reach(Fraction(20), 0.95)
        60

    Proof note:
        Requires: 0 < level < 1.
        Ensures:  an answer +- t covers the true count with at least this probability, and t - 1 does not
                  (of scales beyond `FARTHEST`, which no noise has, t may be a little larger).
        Because:  P(|z| > t) = 2 a^(t+1) / (1 + a) with a = exp(-1 / scale), which falls as t grows; the
                  first guess from logarithms is stepped to the exact place.
        Checked:  tests/plan/test_scales_law.py::test_reach_is_least
    """
    wanted = _level(level)
    if scale < 0:
        raise ArgumentError("scale", "below 0", allowed="a number of at least 0")
    if scale == 0:
        return 0
    beyond = math.log((1 - wanted).numerator) - math.log((1 - wanted).denominator)
    if scale > FARTHEST:  # floats do not separate t from t + 1: rounded up instead
        return math.ceil(scale * Fraction(max(math.log(2) - beyond, 0.0)) * Fraction(1 + 1e-9))
    rate = float(min(1 / scale, Fraction(10**300)))

    def outside(t: int) -> float:
        return math.log(2) - rate * (t + 1) - math.log1p(math.exp(-rate))

    t = max(0, math.ceil((outside(-1) - beyond) / rate) - 1)
    while outside(t) > beyond:
        t += 1
    while t > 0 and outside(t - 1) <= beyond:
        t -= 1
    return t


def divisor(count: Any, far: int, taken: int = 0) -> Floats:
    """Return noisy numbers of rows as numbers that a mean can be divided by; NaN where there surely are none.

    Args:
        count: The noisy numbers.
        far: What their noise surely stays within; 0 where they are exact.
        taken: How many rows are taken off before it divides.

    Examples:
        >>> divisor([-3, 0, 5], reach(Fraction(10), SURE)).tolist()
        [1.0, 1.0, 5.0]
        >>> divisor([0, 5], 0).tolist()
        [nan, 5.0]
    """
    many = np.asarray(count, dtype=np.float64)
    return np.where(many + far > taken, np.maximum(many, taken + 1), np.nan)


def reach_of_sum(scale: Fraction, many: int, level: Any) -> int | None:
    """Return the least t with P(|z_1 + ... + z_many| <= t) >= level; None where that is too large to sum up.

    Examples:
        >>> reach_of_sum(Fraction(20), 1, 0.95), reach_of_sum(Fraction(1), 2, 0.95)
        (60, 4)

    Proof note:
        Requires: 0 < level < 1; independent noises of one scale.
        Ensures:  a sum or difference of that many noises lies within t with this probability.
        Because:  the noises' law, cut where less than 10^-17 is left, is convolved with itself.
        Checked:  tests/plan/test_scales_law.py::test_reach_of_sums_is_least
    """
    if many == 1:
        return reach(scale, level)
    return _reach_of_sum(scale, many, exact(level, "level"))


@lru_cache(maxsize=256)
def _reach_of_sum(scale: Fraction, many: int, level: Fraction) -> int | None:
    far = reach(scale, "0.99999999999999999")
    if far * many > 200_000:
        return None
    z = np.arange(-far, far + 1)
    one = np.exp(-np.abs(z) / float(scale))
    length = 2 * far * many + 1
    whole = np.fft.irfft(np.fft.rfft(one / one.sum(), 2 * length) ** many, 2 * length)[:length]
    centre = far * many
    inside = whole[centre] + 2 * np.cumsum(whole[centre + 1 :])
    if whole[centre] >= float(level):
        return 0
    return int(np.searchsorted(inside, float(level))) + 1


def widest(level: Any) -> float:
    """Return how many standard errors hold a weighted sum of Laplace noises with at least this probability.

    Examples:
        >>> round(widest(0.95), 2)
        2.16

    Proof note:
        Requires: 0 < level < 1.
        Ensures:  P(|X| <= t) >= level for every sum X of independent Laplace noises with variance 1.
        Because:  X is normal with a random variance V = sum w_i E_i, E_i exponential, sum w_i = 1, so V
                  comes before E_1 in the convex order: E h(V) <= E g(E_1) for every convex g >= h. With h
                  the normal tail beyond t, the largest of h and a tangent to its concave part is such
                  a g; the tangent with the least mean is taken.
        Checked:  tests/plan/test_scales_law.py::test_widest_covers_sums
    """
    wanted = _level(level)
    return _widest(wanted)


@lru_cache(maxsize=64)
def _widest(wanted: Fraction) -> float:
    low, high = 0.0, max(2.0, -2 * math.log(1 - float(wanted)) if wanted < 1 else 0.0)
    while _tail(high) > 1 - float(wanted):
        high *= 2
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (middle, high) if _tail(middle) > 1 - float(wanted) else (low, middle)
    single = -math.log(1 - float(wanted)) / math.sqrt(2)  # one noise alone, exactly
    return max(high, single) + 1e-3


def _tail(t: float) -> float:
    """Return a bound on P(|X| > t), X a sum of Laplace noises with variance 1 (see `widest`)."""
    from scipy.special import erfc

    at = (np.arange(4_000) + 0.5) / 4_000
    v = -np.log1p(-at)  # a quantile of the exponential law each
    h = erfc(t / np.sqrt(2 * v))
    touch = np.linspace(max(t * t / 3, 1e-9), max(12.0, t * t), 200)[:, None]
    slope = t / np.sqrt(2 * np.pi) * touch**-1.5 * np.exp(-t * t / (2 * touch))
    line = erfc(t / np.sqrt(2 * touch)) + slope * (v - touch)
    return float(np.maximum(h, line).mean(axis=1).min())


class Scales(Sequence[Fraction]):
    """A read-only sequence of fractions: `values[codes[i]]` for row i.

    Query rows of a code in `joint` draw their noise together, in a norm whose scale theirs is; all others
    have independent discrete Laplace noise. Who reads no norms finds a loss that is too large, if the change
    has a norm at all: none exceeds the L1 change.

    Examples:
        >>> list(Scales([Fraction(20), Fraction(0)], np.array([0, 0, 1])))
        [Fraction(20, 1), Fraction(20, 1), Fraction(0, 1)]
    """

    def __init__(
        self,
        values: Sequence[Fraction],
        codes: NDArray[np.integer],
        joint: Mapping[int, NoiseNorm] | None = None,
    ) -> None:
        self.values = tuple(values)
        self.joint = dict(joint or {})
        self.codes = codes.view()
        self.codes.setflags(write=False)

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, item: int) -> Fraction: ...

    @overload
    def __getitem__(self, item: slice) -> Scales: ...

    def __getitem__(self, item: int | slice) -> Fraction | Scales:
        if isinstance(item, slice):
            return self._take(np.arange(len(self))[item])
        return self.values[int(self.codes[item])]

    def _take(self, rows: Ints) -> Scales:
        """Return the scales of some query rows; those that draw noise together stay together."""
        numbers, joint = np.full(len(self), -1, dtype=np.int64), {}
        numbers[rows] = np.arange(len(rows))
        for code, each in self.joint.items():
            kept = numbers[each.rows] >= 0
            if kept.any() and not kept.all():
                raise ArgumentError("rows", "some draw their noise together with others that are left out")
            if kept.all():
                joint[code] = each.renumber(numbers)
        return Scales(self.values, self.codes[rows], joint)

    @classmethod
    def stack(cls, parts: Sequence[Scales]) -> Scales:
        """Return the scales of query rows one after another, each part's noise its own.

        Examples:
            >>> Scales.stack([Scales([Fraction(2)], np.array([0, 0])), Scales([Fraction(3)], np.array([0]))])
            Scales([2, 2, 3], rows=3)
        """
        values: list[Fraction] = []
        codes: list[Ints] = [np.zeros(0, dtype=np.int64)]
        joint, begin = {}, 0
        for part in parts:
            for code, each in part.joint.items():
                joint[len(values) + code] = each.renumber(begin + np.arange(len(part)))
            codes.append(part.codes.astype(np.int64) + len(values))
            values += part.values
            begin += len(part)
        return cls(values, np.concatenate(codes), joint)

    def __iter__(self) -> Iterator[Fraction]:
        return (self.values[int(code)] for code in self.codes)

    @property
    def total_rate(self) -> Fraction:
        """Return what is lost at most where every noisy row changes by 1 at most: the sum of 1 / scale."""
        many = np.bincount(self.codes, minlength=len(self.values)).tolist()
        pairs = zip(many, self.values, strict=True)
        return sum((often / scale for often, scale in pairs if scale), Fraction(0))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (Scales, list, tuple)):
            same = len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
            return same and self._draws_as(other if isinstance(other, Scales) else Scales((), self.codes[:0]))
        return NotImplemented

    def _draws_as(self, other: Scales) -> bool:
        """Return whether the same rows draw their noise together, in the same norms."""
        first, second = (
            sorted(own.joint.values(), key=lambda each: int(each.rows.min())) for own in (self, other)
        )
        return len(first) == len(second) and all(a.is_same(b) for a, b in zip(first, second, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        shown = ", ".join(str(scale) for scale in islice(self, 6))
        together = f", {len(self.joint)} drawn together" if self.joint else ""
        return f"Scales([{shown}{', ...' if len(self) > 6 else ''}], rows={len(self):,}{together})"

    @property
    def clique_sizes(self) -> list[int]:
        """Return of how many cells cliques are that draw their noise by themselves, each number once."""
        alone = [each.blocks[0] for each in self.joint.values() if len(each.blocks) == 1]
        return sorted({len(block.rows) for block in alone if block.kind == CLIQUE})

    def joint_norms(
        self, rows: Ints, change: Ints, amounts: NDArray[Any], many: int
    ) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield kinds that draw together, and the norm of each of so many changes: see `measure_entries`."""
        if not self.joint:
            return
        codes = self.codes[rows]
        order = np.argsort(codes, kind="stable")
        begins, ends = (np.searchsorted(codes[order], list(self.joint), side) for side in SIDES)
        for (code, joint), begin, end in zip(self.joint.items(), begins, ends, strict=True):
            own = order[begin:end]
            yield code, joint.measure_entries(rows[own], change[own], amounts[own], many)

    @property
    def noisy(self) -> bool:
        """Return whether some query row has noise."""
        return any(self.values[int(code)] for code in np.unique(self.codes))

    def spread(self, per_value: Sequence[float]) -> NDArray[np.float64]:
        """Return one float per query row from one per distinct scale."""
        table = np.asarray(per_value, dtype=np.float64)
        return np.asarray(table[self.codes], dtype=np.float64)
