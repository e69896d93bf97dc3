"""Budgets and datasets: what may be spent, what was spent, and why no more is. Never sees rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from pandas_blowfish.errors import EpsilonError
from pandas_blowfish.markup import short

OVERSPENT = "earlier releases have lost more than the total"  # so begins a reason that raise_budget removes
LARGEST = BITS = 14_000  # bits of a number, or of its denominator: Python writes no longer ones


@dataclass(frozen=True)
class Budget:
    """What a dataset may spend in all and has spent: exact fractions.

    Attributes:
        total: What all releases together may lose.
        spent: What they have lost.
        closed: Why the dataset takes no more charges; None where it takes them.
    """

    total: Fraction
    spent: Fraction
    closed: str | None = None
    view: ClassVar[Any] = repr  # for notebooks: explain.glance sets it

    @property
    def remaining(self) -> Fraction:
        """Return what may still be spent; below 0 where a fact made earlier releases cost more than all."""
        return self.total - self.spent

    def __repr__(self) -> str:
        closed = "" if self.closed is None else f", closed={self.closed!r}"
        total, spent, left = map(short, (self.total, self.spent, self.remaining))
        return f"Budget(total={total}, spent={spent}, remaining={left}{closed})"

    def _repr_html_(self) -> str:
        return str(type(self).view(self))


@dataclass(frozen=True)
class Dataset:
    """What a dataset name is bound to, what it has spent, and what became public about it since."""

    name: str
    binding: dict[str, Any] = field(repr=False)  # holds the seal
    total: Fraction
    spent: Fraction
    closed: str | None  # why it takes no more charges
    facts: tuple[dict[str, Any], ...] = ()  # as plain data, in the order they were recorded

    @property
    def budget(self) -> Budget:
        """Return what it may spend in all and has spent, and whether it is closed."""
        return Budget(self.total, self.spent, self.closed)

    @property
    def mendable(self) -> bool:
        """Return whether it is open, or closed for nothing but its total."""
        return self.closed is None or self.closed.startswith(OVERSPENT)


def check_denominators(now: Dataset) -> None:
    """Refuse sums that cannot be written."""
    if max(now.spent, now.total) >= 2**LARGEST:
        raise EpsilonError("epsilon", "too large a number", allowed=f"below 2**{LARGEST}")
    if max(now.spent.denominator, (now.total - now.spent).denominator).bit_length() > BITS:
        fix = "charge decimals, such as 0.1."
        raise EpsilonError("epsilon", "the sum of charges has too fine a denominator", fix=fix)
