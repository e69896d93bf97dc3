"""Releases under a weaker guarantee: counted, and released exactly or with noise, once per dataset.

Sees rows, randomness and budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pandas_blowfish.beyond.certified import Certified
from pandas_blowfish.beyond.weaker import WeakerPlan
from pandas_blowfish.books.ledger import WEAKER, Dataset, Ledger
from pandas_blowfish.count.codes import Kept
from pandas_blowfish.count.seal import Frame
from pandas_blowfish.count.tally import count_cells
from pandas_blowfish.errors import OnceError
from pandas_blowfish.exact.arrays import Bools, Ints
from pandas_blowfish.kernel.check import ARGUED
from pandas_blowfish.kernel.measure import LIMIT, Measured, charge_then, find_stored, read_sealed
from pandas_blowfish.kernel.noise import check_scale, discrete_laplace, noise_law


def measure_weaker(
    plan: WeakerPlan,
    frame: Frame,
    ledger: Ledger,
    dataset: Dataset,
    facts: Mapping[str, Any],
    *,
    name: str | None = None,
) -> Measured:
    """Return the counts of a release under a weaker guarantee, then for each 1 where it is exact, else 0.

    Args:
        plan: What is counted, and how it is released.
        frame: The protected rows.
        ledger: Where it is written down.
        dataset: What the rows were sealed as.
        facts: What the entry states besides.
        name: A name under which the answer is kept.

    Proof note:
        Requires: the plan's own promise (see `certify`, `wasserstein`) for one release.
        Ensures:  there is one such release per dataset, whoever asks; an interrupted one counts.
        Because:  it is written down under the rule "apart" before a row is counted.
        Checked:  tests/kernel/test_weaker_release.py::test_one_release_a_dataset
    """
    check_scale(plan.scale)
    if kept := find_stored(ledger, dataset, plan.policy, facts, name=name):
        return kept
    frame, codes = read_sealed(frame, ledger, dataset, plan.domain)
    if dataset.facts:
        raise OnceError(dataset.name, "answers were recorded as public, of which its promise knows nothing")
    exact = ", or told exactly" if isinstance(plan.mechanism, Certified) else ""  # as receipts have had it
    body = {**facts, "noise": f"{noise_law()}{exact}", "checked": ARGUED}
    clip = dataset.binding["outside"] == "clip"
    return charge_then(
        ledger,
        dataset,
        plan.cost,
        body,
        lambda: _count(plan, frame, codes, clip=clip),
        name=name,
        rule=WEAKER,
    )


def _count(plan: WeakerPlan, frame: Frame, codes: Kept, *, clip: bool) -> Ints:
    counts = count_cells(frame, [plan.tally], clip=clip, kept=codes)
    if isinstance(plan.mechanism, Certified):
        values, exact = draw_certified(counts, plan.mechanism)
    else:
        noise = discrete_laplace(plan.scale, len(counts)) if plan.scale else np.zeros_like(counts)
        values, exact = counts + noise, np.full(len(counts), not plan.scale)
    return np.concatenate([np.clip(values, -LIMIT, LIMIT), exact.astype(np.int64)])


def draw_certified(counts: Ints, law: Certified) -> tuple[Ints, Bools]:
    """Return each count, noisy or exact, and which are exact.

    Proof note:
        Requires: `certify`.
        Ensures:  answers have the probabilities that `certified.exponent` states, each cell by itself.
        Because:  a drawn r is kept with probability exp(-e * rate), e as `certified.exponent` has it: where a
                  geometric u is e or more. One that is not kept is replaced by the true count. Noise that is
                  not negative is such a geometric, and so is -1 less noise that is.
        Checked:  tests/kernel/test_weaker_release.py::test_answers_have_their_law
    """
    low, high = law.intervals
    own = counts[: law.measured]
    first, second = (discrete_laplace(1 / law.rate, len(own)) for _ in range(2))
    drawn, steps = own + first, second ^ (second >> 63)
    inside = (low <= own) & (own <= high) & (low <= drawn) & (drawn <= high)
    nearer = np.minimum(drawn + own - 2 * low, 2 * high - drawn - own)
    exact = inside & (steps < 2 + nearer - np.abs(drawn - own))
    values = np.where(exact, own, drawn)
    if law.measured < len(counts):  # of two cells one is measured: the other is what is left of all rows
        return np.array([values[0], law.n - values[0]]), np.repeat(exact, 2)
    return values, exact
