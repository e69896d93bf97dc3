"""In turn: what can be measured at once, then the picks of others, round after round. Never sees rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.plan.protocol import LAPLACE, Round, Strategy
from pandas_blowfish.plan.together.stacked import Combined, Stacked


@dataclass(frozen=True, eq=False)
class InTurn(Combined):
    """Strategies of which some pick places: each round by itself.

    Proof note:
        Requires: each strategy loses at most its share, whatever it measured in rounds before; the shares
                  add up to epsilon at most.
        Ensures:  privacy loss <= epsilon.
        Because:  no round depends on what another strategy measured, and losses of rounds add up
                  (`Strategy`); what is measured at once loses at most what its shares leave it (`Stacked`).
        Checked:  tests/privacy/test_together_loss.py::test_picks_in_turn_lose_what_they_are_charged
    """

    in_rounds = True

    @cached_property
    def at_once(self) -> Stacked | None:
        """Return what the first round measures; None where everything is picked."""
        own = [number for number, each in enumerate(self.measured) if is_at_once(each)]
        if not own:
            return None
        shares = tuple(self.shares[number] for number in own)
        labels = tuple(self.labels[number] for number in own)
        return Stacked(tuple(self.measured[n] for n in own), shares, labels, sum(shares, Fraction(0)))

    @property
    def picked(self) -> tuple[Strategy, ...]:
        """Return the strategies whose rounds follow."""
        return tuple(each for each in self.measured if not is_at_once(each))

    @property
    def values(self) -> int:
        return sum(each.values or 0 for each in self.measured)

    @property
    def drawn_scales(self) -> Sequence[Fraction | int]:
        return [scale for each in self.measured for scale in each.drawn_scales]

    @property
    def mse(self) -> float:
        """Return the mean variance of the answers whose variance is known."""
        return float(np.nanmean(self.variances)) if not np.isnan(self.variances).all() else float("nan")

    def next_round(self, values: Sequence[Ints]) -> Round | None:
        left = list(values)
        if self.at_once is not None:
            if not left:
                return self.at_once
            left = left[1:]
        for each in self.picked:
            own: list[Ints] = []
            while (step := each.next_round(own)) is not None:
                if not left:
                    return step
                own.append(left.pop(0))
        return None

    def loss_over(self, edges: Callable[[], Ints]) -> None:
        """Return None: later rounds depend on noise."""
        del edges

    def split(self, values: Ints) -> list[Ints]:
        order = [number for number, each in enumerate(self.measured) if is_at_once(each)]
        order += [number for number, each in enumerate(self.measured) if not is_at_once(each)]
        in_turn = tuple(self.measured[number] for number in order)
        parts = dict(zip(order, Combined.split(replace(self, measured=in_turn), values), strict=True))
        return [parts[number] for number in range(len(self.measured))]


def is_at_once(strategy: Strategy) -> bool:
    """Return whether a strategy is measured in one round, with a noise for each of its query rows."""
    return strategy.own_noise and not strategy.in_rounds and strategy.mechanism == LAPLACE
