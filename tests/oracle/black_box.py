"""The loss of releases as an outsider sees it: many of two neighbouring tables, told apart by events.

Half of the releases choose an event, by how often values occur in the one and in the other; the other half
says how often it happens, with exact (Clopper-Pearson) bounds. No promise of a smaller loss than the bound
that follows can be true, but for the stated odds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

import pandas_blowfish as bf
from oracle.tap import SAMPLER, TOTAL, Ints, Steps, ask, drawing_modules
from pandas_blowfish.kernel import measure
from pandas_blowfish.kernel.joint_noise import draw_together
from pandas_blowfish.plan.line.dawa import CONTINUES

Floats = NDArray[np.float64]
ERROR = 1e-4  # odds that a sound release is blamed
BULK = 40_000  # noises drawn at a time
WHOLE = (".joint_noise", ".run_noise")  # modules whose noise is weakened as a whole
FEW = 30  # releases of one form from which values of that form are judged


def outputs(
    frame: Any, policy: bf.Policy, steps: Steps, runs: int, less: int = 1
) -> tuple[list[Ints], Fraction]:
    """Return what the kernel hands out in so many runs of one release, and what the ledger was charged.

    The release is planned, checked and charged once; what is done after the charge is done again and again,
    rows gathered once. `less` divides the scale of every noise: the fault that an audit has to find.
    """
    counting: list[Callable[[], Ints]] = []
    real_charged, real_counted, kept = measure.charge_then, measure.count_cells, {}

    def charged(ledger: Any, dataset: Any, epsilon: Any, body: Any, count: Any, **named: Any) -> Any:
        counting.append(count)
        return real_charged(ledger, dataset, epsilon, body, count, **named)

    def counted(own: Any, asked: Sequence[Any], **named: Any) -> Ints:
        key = tuple(map(id, asked))
        if key not in kept:
            kept[key] = (real_counted(own, asked, **named), asked)
        return np.array(kept[key][0])

    def together(norm: Any, scale: Fraction) -> Ints:
        return draw_together(norm, scale / less)

    ledger = bf.Ledger()
    protected = frame.blowfish.protect(policy, epsilon=TOTAL, ledger=ledger, dataset="rows")
    with ExitStack() as stack:
        alone = [module for module in drawing_modules() if not module.__name__.endswith(WHOLE)]
        stack.enter_context(mock.patch.object(measure, "draw_together", together))
        for module in alone:
            pool = Pool(getattr(module, SAMPLER), less)
            stack.enter_context(mock.patch.object(module, SAMPLER, pool.sample))
        stack.enter_context(mock.patch.object(measure, "charge_then", charged))
        stack.enter_context(mock.patch.object(measure, "count_cells", counted))
        ask(protected.blowfish, steps)
        found = [counting[0]() for _ in range(runs)]
    return found, ledger.budget("rows").spent


class Pool:
    """The real sampler, asked for many noises of a scale at a time: a few alone cost as much."""

    def __init__(self, real: Callable[..., Ints], less: int) -> None:
        self.real, self.less = real, less
        self.left: dict[Fraction, Ints] = {}

    def sample(self, scale: Fraction, size: int | None = None) -> Ints:
        """Return the next noises of a scale."""
        many, left = 1 if size is None else int(size), self.left.get(scale)
        if left is None or len(left) < many:
            left = self.real(scale / self.less, max(BULK, many))
        self.left[scale] = left[many:]
        return left[:many].copy()


def lowest_loss(first: Sequence[Ints], second: Sequence[Ints]) -> float:
    """Return what is lost at least between two tables, by releases of each; wrong with odds of `ERROR`."""
    half = len(first) // 2
    score = scorer(first[:half], second[:half])
    learnt = [score(part[:half]) for part in (first, second)]
    tested = [score(part[half:]) for part in (first, second)]
    best, event = -math.inf, (1, 0.0)
    for sign in (1, -1):
        one, other = (learnt[0], learnt[1]) if sign == 1 else (-learnt[1], -learnt[0])
        for threshold in np.quantile(one, np.linspace(0.02, 0.98, 49)):
            found = bound((one >= threshold).sum(), (other >= threshold).sum(), half)
            if found > best:
                best, event = found, (sign, float(threshold))
    sign, threshold = event
    one, other = (tested[0], tested[1]) if sign == 1 else (-tested[1], -tested[0])
    return bound((one >= threshold).sum(), (other >= threshold).sum(), len(one))


def bound(often: int, seldom: int, runs: int) -> float:
    """Return the least ratio of two probabilities, as a logarithm, that fits how often things happened."""
    from scipy.stats import beta

    low = beta.ppf(ERROR / 2, often, runs - often + 1) if often else 0.0
    high = beta.ppf(1 - ERROR / 2, seldom + 1, runs - seldom) if seldom < runs else 1.0
    return float(math.log(low / high)) if low > 0 else -math.inf


def form_of(values: Ints) -> tuple[int, bytes]:
    """Return how many values there are, and which go on with a bucket."""
    return len(values), (values == CONTINUES).tobytes()


def by_form(part: Sequence[Ints]) -> dict[Any, tuple[Ints, Floats]]:
    """Return for each form where it occurs, and its values."""
    places: dict[Any, list[int]] = {}
    for place, values in enumerate(part):
        places.setdefault(form_of(values), []).append(place)
    return {
        form: (np.array(own), np.array([part[place] for place in own], dtype=float))
        for form, own in places.items()
    }


def scorer(first: Sequence[Ints], second: Sequence[Ints]) -> Callable[[Sequence[Ints]], Floats]:
    """Return the log odds of values under one table against the other, as learnt from releases of both.

    Forms are compared by how often they occur; values of one form, each by itself, as if their noise fell off
    at one rate from the middle of either table.
    """
    one, other = by_form(first), by_form(second)
    nothing = (np.zeros(0, dtype=np.int64), np.zeros((0, 0)))
    known: dict[Any, tuple[float, Floats, Floats, Floats] | float] = {}
    for form in {*one, *other}:
        parts = [own.get(form, nothing)[1] for own in (one, other)]
        odds = math.log((len(parts[0]) + 1) / (len(parts[1]) + 1))
        known[form] = odds
        if min(map(len, parts)) >= FEW and form[0]:
            middles = [part.mean(axis=0) for part in parts]
            spreads = [np.abs(part - own).mean(axis=0) for part, own in zip(parts, middles, strict=True)]
            known[form] = odds, middles[0], middles[1], np.maximum(np.mean(spreads, axis=0), 1e-9)

    def score(part: Sequence[Ints]) -> Floats:
        scores = np.zeros(len(part))
        for form, (places, values) in by_form(part).items():
            found = known.get(form, 0.0)
            if isinstance(found, float):
                scores[places] = found
                continue
            odds, mine, theirs, spread = found
            nearer = (np.abs(values - theirs) - np.abs(values - mine)) / spread
            scores[places] = odds + nearer.sum(axis=1)
        return scores

    return score
