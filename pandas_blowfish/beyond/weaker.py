"""One release under another promise than the policy's, before it is made. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish import markup
from pandas_blowfish.beyond.certified import Certified
from pandas_blowfish.beyond.wasserstein import Wasserstein
from pandas_blowfish.plan.call_text import call_text
from pandas_blowfish.plan.scales import variance
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.policy import Policy

ONCE = "It is one per dataset: its epsilon does not add up with that of any other release."
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
        return self.mechanism.kind

    @property
    def cost(self) -> Fraction:
        """Return what the ledger writes down, besides what was spent."""
        return self.epsilon

    @property
    def scale(self) -> Fraction:
        """Return the noise scale."""
        return self.mechanism.scale

    @property
    def sensitivity(self) -> Fraction:
        """Return what the noise is sized by: one count, or how far apart laws of the answer lie."""
        return self.mechanism.distance

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

    @property
    def mse(self) -> float:
        """Return the expected squared error, mean over the answers; of `Certified` if the prior is right."""
        return self.mechanism.mse

    @property
    def guarantee(self) -> tuple[str, ...]:
        """Return in plain sentences what is promised, to whom, and what is not."""
        return (*self.mechanism.guarantee, ONCE, COVERED)

    @property
    def proof_id(self) -> str:
        """Return the name of the argument, which is not one of a policy."""
        return self.mechanism.proof_id

    def privacy_loss(self) -> Fraction:
        """Return what is lost at most, for the stated beliefs alone."""
        return self.epsilon

    @property
    def proof(self) -> str:
        """Return the privacy argument in one paragraph."""
        return " ".join(self.guarantee)

    def facts(self) -> dict[str, Any]:
        """Return what an analyst reads before spending."""
        typical = f"+-{self.mse**0.5:,.3g} per count (root mean squared)"
        return {
            "query": self.call,
            "answers": f"{len(self.index):,}",
            "strategy": self.strategy,
            "costs": f"epsilon {self.epsilon}, reported separately from the budget, once per dataset",
            "noise": f"discrete Laplace, scale {self.scale}",
            "typical error": typical + self.mechanism.proviso,
            **self.mechanism.notes(self.index),
            "promise": list(self.guarantee),
        }

    def __repr__(self) -> str:
        return markup.text_facts(self.facts(), "Plan, weaker guarantee")

    def _repr_html_(self) -> str:
        return markup.card("Plan, weaker guarantee", markup.facts_table(self.facts()))
