"""Which quantiles are picked at once, and which between others that were picked before. Never sees rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

SHORT = 10_000  # denominators of shares that are taken as they are
NEAR = Fraction(1, 10**10)  # how far off a share may be taken for such a fraction
FINE = 2**20  # other shares are rounded to this many parts


@dataclass(frozen=True)
class PickStep:
    """One quantile that is picked between two others.

    Attributes:
        at: Its number, among shares as they rise.
        low: The number of the quantile that its run of cells begins with; -1 for the first cell.
        high: That of the quantile that its run ends with; -1 for the last cell.
        share: Which share of the rows of its run lies below it.
        rounded: How far that is from the share that was asked for.
    """

    at: int
    low: int
    high: int
    share: Fraction
    rounded: Fraction = Fraction(0)

    @classmethod
    def nearest(cls, at: int, low: int, high: int, share: Fraction) -> PickStep:
        """Return the step whose share is a fraction of few parts."""
        whole = whole_share(share)
        return cls(at, low, high, whole, abs(whole - share))

    @property
    def leaves(self) -> Fraction:
        """Return how much a row that enters or leaves the run changes differences of distances, in rows."""
        return 2 * max(self.share, 1 - self.share)


Level = tuple[PickStep, ...]


def pick_apart(shares: Sequence[Fraction]) -> tuple[Level, ...]:
    """Return a single level: each quantile by itself, among all cells."""
    return (tuple(PickStep.nearest(at, -1, -1, share) for at, share in enumerate(shares)),)


def pick_by_halves(shares: Sequence[Fraction]) -> tuple[Level, ...]:
    """Return the middle quantile, then those in the middle of what is below and above it, and so on.

    Args:
        shares: Different ones, as they rise.

    Examples:
        >>> first, second = pick_by_halves([Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)])
        >>> [(step.at, str(step.share)) for step in (*first, *second)]
        [(1, '1/2'), (0, '1/2'), (2, '1/2')]
    """
    levels: list[list[PickStep]] = []
    ends = [Fraction(0), *shares, Fraction(1)]

    def add(depth: int, low: int, high: int) -> None:  # shares low + 1 to high - 1 are still to be picked
        if high - low < 2:
            return
        if depth == len(levels):
            levels.append([])
        at = (low + high) // 2
        inside = ends[high + 1] - ends[low + 1]
        share = (shares[at] - ends[low + 1]) / inside
        levels[depth].append(PickStep.nearest(at, low, high if high < len(shares) else -1, share))
        add(depth + 1, low, at)
        add(depth + 1, at, high)

    add(0, -1, len(shares))
    return tuple(map(tuple, levels))


def whole_share(share: Fraction) -> Fraction:
    """Return a share as a fraction of few parts: itself, or one that is nearest.

    Examples:
        >>> whole_share(Fraction("0.3333333333333333")), whole_share(Fraction("0.025"))
        (Fraction(1, 3), Fraction(1, 40))
    """
    short = share.limit_denominator(SHORT)
    return short if abs(short - share) <= NEAR else Fraction(round(share * FINE), FINE)


def rounding(levels: Sequence[Level]) -> Fraction:
    """Return by which share of all rows ranks are off at most, because shares are of few parts.

    A rank is off by that of its own share and by no more than the larger of those it lies between.
    """
    found = {-1: Fraction(0)}
    for step in (step for level in levels for step in level):
        found[step.at] = step.rounded + max(found[step.low], found[step.high])
    return max(found.values())


def rank_variances(levels: Sequence[Level], scale: Fraction) -> Iterator[Fraction]:
    """Yield the expected squared rank error of each quantile, were rows spread evenly, at most.

    A place is then picked as often as exp(-distance / scale) or less: 2 scale^2. A quantile between others is
    off by its share of what those are.
    """
    found = {-1: Fraction(0)}
    for step in (step for level in levels for step in level):
        around = (1 - step.share) ** 2 * found[step.low] + step.share**2 * found[step.high]
        found[step.at] = 2 * scale**2 + around
    yield from (found[at] for at in range(len(found) - 1))
