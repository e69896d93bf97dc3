"""One release under another promise than the policy's, before it is made. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish import markup
from pandas_blowfish.beyond.certified import Certified, chance_of_exact
from pandas_blowfish.beyond.wasserstein import Wasserstein
from pandas_blowfish.plan.call_text import call_text
from pandas_blowfish.plan.scales import variance
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.policy import Policy

CERTIFIED = "certified"  # of counts that may be released exactly
SHOWN = 4  # cells of which is shown when they are released exactly
ALONE = "It is one per dataset: its epsilon does not add up with that of any other release."
COVERED = "The budget does not cover it: epsilons of other releases say nothing about what is lost together."


@dataclass(frozen=True, eq=False, repr=False)
class WeakerPlan:
    """One release under a weaker guarantee, which the ledger reports separately.

    Attributes:
        policy: The policy of the rows, whose promise this is not.
        tally: What is counted.
        epsilon: What it may lose, of its own promise.
        query: The question as plain data.
        mechanism: How counts are released: `Certified`, or with the noise of `Wasserstein`.
    """

    policy: Policy
    tally: Tally
    epsilon: Fraction
    query: Mapping[str, Any]
    mechanism: Certified | Wasserstein

    @property
    def strategy(self) -> str:
        """Return the name of the mechanism."""
        return self.mechanism.kind if isinstance(self.mechanism, Certified) else "wasserstein"

    @property
    def cost(self) -> Fraction:
        """Return what the ledger writes down, besides what was spent."""
        return self.epsilon

    @property
    def scale(self) -> Fraction:
        """Return the noise scale."""
        return 1 / self.mechanism.rate if isinstance(self.mechanism, Certified) else self.mechanism.scale

    @property
    def sensitivity(self) -> Fraction:
        """Return what the noise is sized by: one count, or how far apart laws of the answer lie."""
        return Fraction(1) if isinstance(self.mechanism, Certified) else Fraction(self.mechanism.distance)

    @property
    def domain(self) -> Domain:
        """Return the columns the release looks at, and their cells."""
        return self.tally.domain

    @property
    def index(self) -> pd.Index[Any]:
        """Return the index of the answers."""
        return self.tally.index

    @property
    def call(self) -> str:
        """Return the question as the call that asks it."""
        return call_text(self.query, self.epsilon)

    @property
    def std(self) -> NDArray[np.float64]:
        """Return the standard error of the noise of each answer, before counts are released exactly."""
        return np.full(len(self.index), math.sqrt(variance(self.scale)))

    @cached_property
    def mse(self) -> float:
        """Return the expected squared error, mean over the answers; of `Certified` if the prior is right."""
        if isinstance(self.mechanism, Certified):
            return float(self.mechanism.variances.mean())
        return variance(self.scale)

    @property
    def guarantee(self) -> tuple[str, ...]:
        """Return in plain sentences what is promised, to whom, and what is not."""
        if isinstance(self.mechanism, Certified):
            return (*self.mechanism.guarantee, COVERED)
        return (
            f"The answer changes the odds between the two statements of each stated pair by at most "
            f"exp({self.epsilon}), for anyone who believes one of the stated priors.",
            "This is weaker than a Blowfish policy where a prior is left out: nothing is promised against "
            "it, nor where the table is none of those that are listed.",
            ALONE,
            COVERED,
        )

    @property
    def proof_id(self) -> str:
        """Return the name of the argument, which is not one of a policy."""
        return CERTIFIED if isinstance(self.mechanism, Certified) else "wasserstein"

    def privacy_loss(self) -> Fraction:
        """Return what is lost at most, for the stated beliefs alone."""
        return self.epsilon

    @property
    def proof(self) -> str:
        """Return the privacy argument in one paragraph."""
        return " ".join(self.guarantee)

    def facts(self) -> dict[str, Any]:
        """Return what an analyst reads before spending."""
        facts: dict[str, Any] = {
            "query": self.call,
            "answers": f"{len(self.index):,}",
            "strategy": self.strategy,
            "costs": f"epsilon {self.epsilon}, reported separately from the budget, once per dataset",
            "noise": f"discrete Laplace, scale {self.scale}",
            "typical error": f"+-{self.mse**0.5:,.3g} per count (root mean squared)",
        }
        if isinstance(self.mechanism, Certified):
            facts["released exactly"] = self._released_exactly(self.mechanism)
            facts["typical error"] += ", if the prior is right"
        else:
            facts["distance"] = f"{self.mechanism.distance}: how far answers lie apart between two statements"
        return facts | {"promise": list(self.guarantee)}

    def _released_exactly(self, law: Certified) -> str:
        """Return which counts are released exactly, and how likely that is for those that are expected."""
        low, high = law.intervals
        some = np.flatnonzero(low <= high)
        if not len(some):
            return "no count, ever: the policy's own release is as accurate, and promises more"
        shares = np.array([float(law.prior[at]) for at in some])
        chance = chance_of_exact(np.rint(shares * law.n), low[some], high[some], law.rate).mean()
        bands = [f"{self.index[at]} from {low[at]:,} to {high[at]:,}" for at in some[:SHOWN]]
        more = f" and {len(some) - SHOWN:,} more" if len(some) > SHOWN else ""
        return f"{'; '.join(bands)}{more}: mostly (in the middle with a probability of {chance:.3f})"

    def __repr__(self) -> str:
        return markup.text_facts(self.facts(), "Plan, weaker guarantee")

    def _repr_html_(self) -> str:
        return markup.card("Plan, weaker guarantee", markup.facts_table(self.facts()))
