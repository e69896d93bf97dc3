"""Releases that are kept apart: counted, told exactly or with noise, once a dataset.

Sees rows, randomness and budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.beyond.certified import Certified
from pandas_blowfish.beyond.weaker import Apart
from pandas_blowfish.books.ledger import Dataset, Ledger
from pandas_blowfish.count.place import Ints
from pandas_blowfish.count.seal import Frame
from pandas_blowfish.count.tally import count_cells
from pandas_blowfish.errors import OnceError
from pandas_blowfish.kernel.check import ARGUED
from pandas_blowfish.kernel.measure import LIMIT, Measured, charge_then, find_stored
from pandas_blowfish.kernel.noise import check_scale, discrete_laplace, noise_law

Flags = NDArray[np.bool_]


def measure_apart(
    plan: Apart,
    frame: Frame,
    ledger: Ledger,
    dataset: Dataset,
    facts: Mapping[str, Any],
    *,
    name: str | None = None,
) -> Measured:
    """Return the counts of a release that is kept apart, then for each 1 where it is exact and 0 where not.

    Args:
        plan: What is counted, and how it is told.
        frame: The protected rows.
        ledger: Where it is written down.
        dataset: What the rows were sealed as.
        facts: What the entry says besides.
        name: A name under which the answer is kept.

    Proof note:
        Requires: the plan's own promise (see `certify`, `wasserstein`) for one release.
        Ensures:  there is one such release a dataset, whoever asks; an interrupted one counts.
        Because:  it is written down under the rule "apart" before a row is counted.
        Checked:  tests/kernel/test_weaker_release.py::test_one_release_a_dataset
    """
    check_scale(plan.scale)
    if kept := find_stored(frame, ledger, dataset, plan.policy, plan.domain, facts, name=name):
        return kept
    if dataset.facts:
        raise OnceError(dataset.name, "answers were recorded as public, of which its promise knows nothing")
    told = isinstance(plan.mechanism, Certified)
    body = {**facts, "noise": f"{noise_law()}{', or told exactly' if told else ''}", "checked": ARGUED}
    clip = dataset.binding["outside"] == "clip"
    return charge_then(
        ledger, dataset, plan.cost, body, lambda: _told(plan, frame, clip=clip), name=name, rule="apart"
    )


def _told(plan: Apart, frame: Frame, *, clip: bool) -> Ints:
    counts = count_cells(frame, [plan.tally], clip=clip)
    if isinstance(plan.mechanism, Certified):
        values, exact = draw_certified(counts, plan.mechanism)
    else:
        noise = discrete_laplace(plan.scale, len(counts)) if plan.scale else np.zeros_like(counts)
        values, exact = counts + noise, np.full(len(counts), not plan.scale)
    return np.concatenate([np.clip(values, -LIMIT, LIMIT), exact.astype(np.int64)])


def draw_certified(counts: Ints, told: Certified) -> tuple[Ints, Flags]:
    """Return each count, noisy or exact, and which are exact.

    Proof note:
        Requires: `certify`.
        Ensures:  answers have exactly the probabilities of `certified.law`, each measured cell by itself.
        Because:  a drawn r is kept where a geometric, u >= e with probability exp(-e * rate), says so, e as
                  `certified.exponent` has it; one that is not kept is replaced by the true count. Noise that
                  is not negative is such a geometric, and so is -1 less noise that is.
        Checked:  tests/kernel/test_weaker_release.py::test_answers_have_their_law
    """
    low, high = told.intervals
    own = counts[: told.measured]
    first, second = (discrete_laplace(1 / told.rate, len(own)) for _ in range(2))
    drawn, steps = own + first, second ^ (second >> 63)
    inside = (low <= own) & (own <= high) & (low <= drawn) & (drawn <= high)
    nearer = np.minimum(drawn + own - 2 * low, 2 * high - drawn - own)
    exact = inside & (steps < 2 + nearer - np.abs(drawn - own))
    values = np.where(exact, own, drawn)
    if told.measured < len(counts):  # of two cells one is measured: the other is what is left of all rows
        return np.array([values[0], told.n - values[0]]), np.repeat(exact, 2)
    return values, exact
