"""A question that knows itself which measurements can answer it. Never sees rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from pandas_blowfish.plan.measurement import Measurement
from pandas_blowfish.policy.policy import Policy


class Question(ABC):
    """What is asked, apart from how it is measured."""

    @property
    @abstractmethod
    def strategies(self) -> tuple[str, ...]:
        """Return the names of the strategies that can be asked for."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Return every column that is looked at, those of filters and groups included."""

    @abstractmethod
    def candidates(
        self, policy: Policy, epsilon: Fraction, strategy: str, *, every: bool
    ) -> Iterator[Measurement]:
        """Yield what can be measured, the simplest first.

        Args:
            policy: The promise.
            epsilon: What may be lost.
            strategy: "auto", or the one strategy that is wanted.
            every: Whether candidates are wanted that are surely not the best, too.
        """

    @abstractmethod
    def reread(
        self, policy: Policy, epsilon: Fraction, strategy: str, form: Mapping[str, Any]
    ) -> Measurement:
        """Return the measurement that an earlier release made, from its name and `form`."""
