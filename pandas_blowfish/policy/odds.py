"""What a policy promises about two records, as odds and in words. Never sees rows."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any


@dataclass(frozen=True)
class Odds:
    """How far releases can move someone's odds between two records.

    Attributes:
        first: One record, as column -> value.
        second: The other.
        epsilon: What all releases together may lose.
        distance: How many edges of the policy separate them; infinity when none lead there.

    Examples:
        >>> str(Odds({"age": 34}, {"age": 37}, Fraction(1, 10), 1))[-61:]
        'change by at most a factor 1.11 (epsilon 1/10, 1 step apart).'
    """

    first: Mapping[str, Any]
    second: Mapping[str, Any]
    epsilon: Fraction
    distance: int | float

    @property
    def loss(self) -> Fraction | float:
        """Return epsilon times the distance."""
        return math.inf if math.isinf(self.distance) else self.epsilon * int(self.distance)

    @property
    def factor(self) -> float:
        """Return the largest factor between the odds before and after, exp(loss)."""
        return math.exp(self.loss) if self.loss < 700 else math.inf

    def __str__(self) -> str:
        one, two = (_words(record) for record in (self.first, self.second))
        start = f"Seeing everything released, someone's odds that this row has {one} rather than {two}"
        if not self.distance:
            return f"{start}: the policy does not tell these two apart, they are the same cell."
        if math.isinf(self.distance):
            return (
                f"{start} are not protected at all: no chain of the policy's edges leads from one to the "
                "other, so a release may tell them apart with certainty."
            )
        steps = f"{self.distance} step{'s' if self.distance > 1 else ''} apart"
        factor = f"{self.factor:.3g}" if math.isfinite(self.factor) else f"exp({float(self.loss):.4g})"
        return f"{start} can change by at most a factor {factor} (epsilon {self.epsilon}, {steps})."

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(str(self))}</p>"


def _words(record: Mapping[str, Any]) -> str:
    return " and ".join(
        f"{column} {value if value is not None else 'missing'}" for column, value in record.items()
    )
