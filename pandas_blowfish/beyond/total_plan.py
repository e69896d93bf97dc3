"""Plans under a secret of the whole table: the total itself, and nothing else. Never sees rows."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from pandas_blowfish.beyond.chain_plan import chain_plan_type
from pandas_blowfish.errors import SecretError, UnsoundPlanError
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.protocol import Question
from pandas_blowfish.policy.policy import Policy

MORE = " Only one release of a dataset is covered by this argument."


class TotalPlan(Plan):
    """The release of a total that is secret to within some delta, and of each record's secrets."""

    @classmethod
    def require(cls, policy: Policy) -> None:
        """Refuse a policy without a secret total, or with a chain."""
        if policy.chain is not None or not policy.aggregates:
            raise UnsoundPlanError("this policy has no secret total, or a chain")

    def privacy_loss(self) -> Fraction | float:
        """Return the larger of the largest loss over the policy's edges and that over totals to be hidden.

        Without bounds there are no cells to enumerate: of edges it is the bound that the noise is sized by.
        """
        measured: Any = self.measurement
        scale = measured.total_scales[0]
        if all(attribute.bounded for attribute in self.domain):
            own = super().privacy_loss()
        else:
            own = measured.moved.loss([1 / each if each else Fraction(0) for each in measured.total_scales])
        return max(own, Fraction(measured.hidden / scale))

    @property
    def proof(self) -> str:
        """Return the privacy argument in one paragraph."""
        return super().proof + MORE

    @property
    def guarantee(self) -> tuple[str, ...]:
        """Return what is promised besides the secrets of each row."""
        secret = self.policy.aggregates[0].describe()
        return (
            f"Nobody can tell {secret} from a total up to as far beyond: odds change by exp({self.epsilon}).",
            "One release is made of a dataset: another would not add up.",
        )

    def facts(self) -> dict[str, str]:
        """Return what an analyst reads before spending."""
        facts = {**super().facts(), "secret total": self.policy.aggregates[0].describe(), "releases": "one"}
        return {name: value for name, value in facts.items() if name != "exact, costs nothing"}


def plan_type(policy: Policy, asked: Sequence[Question]) -> type[Plan]:
    """Return what plans of a question are, or raise where it is about more than a secret total.

    Proof note:
        Requires: nothing.
        Ensures:  under a policy with a secret total every plan's answer is a function of that total, of the
                  public number of rows, and of noise.
        Because:  it is the sum or the mean of that column alone, over all rows, none of them missing.
        Checked:  tests/beyond/test_total_plan.py::test_all_but_the_total_is_refused
    """
    if policy.chain is not None:
        return chain_plan_type(policy, asked)
    if not policy.aggregates:
        return Plan
    secret = policy.aggregates[0]
    for each in asked:
        if not each.is_total_of(secret.column):
            what = (
                f"{secret.text} is secret, and any other release, even an exact and free one, may reveal it"
            )
            fix = f"ask for sum({secret.column!r}) or mean({secret.column!r}) of all rows, and nothing else."
            raise SecretError(secret.column, what, fix=fix)
    return TotalPlan
