"""Plans about rows that follow each other in one column. Never sees rows."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, lru_cache

from pandas_blowfish.beyond.quilt import Quilt, find_quilt
from pandas_blowfish.errors import SecretError, UnsoundPlanError
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.protocol import Question
from pandas_blowfish.policy.policy import Policy


class ChainPlan(Plan):
    """A release about rows that follow each other, with noise that allows for it."""

    @classmethod
    def require(cls, policy: Policy) -> None:
        """Refuse a policy without a chain."""
        if policy.chain is None:
            raise UnsoundPlanError("this policy has no chain")

    @staticmethod
    def rate(policy: Policy, epsilon: Fraction) -> Fraction:
        """Return the epsilon at which a question is measured, were rows independent and all values secret."""
        return _quilt(policy, epsilon).rate

    @cached_property
    def quilt(self) -> Quilt:
        """Return how strongly such rows may be measured, and why."""
        return _quilt(self.policy, self.epsilon)

    def privacy_loss(self) -> Fraction | float:
        """Return a bound of what is lost about the value of any one row, whatever the others reveal about it.

        It is that of one changed row, exactly, times the rows of the quilt, and what the quilt reveals.
        """
        return self.quilt.loss(Fraction(super().privacy_loss()))

    @property
    def proof(self) -> str:
        """Return the privacy argument in one paragraph."""
        used, rate = self.quilt.quilts[0], self.quilt.rate
        return (
            f"{super().proof} One row that becomes any other loses {rate} so. Rows follow each other: given "
            f"rows at some distance on both sides, {used.card:,} rows depend on one, and those rows reveal "
            f"{float(used.influence):.4g} about it: {float(self.quilt.loss(rate)):.4g} in all, at most."
        )

    def facts(self) -> dict[str, str]:
        """Return what an analyst reads before spending."""
        used, times = self.quilt.quilts[0], float(self.epsilon / self.quilt.rate)
        noise = f"{used.card:,} rows depend on each other: {times:,.3g} times the noise of independent rows"
        return {**super().facts(), **({"chain": noise} if self.sensitivity else {})}

    @property
    def guarantee(self) -> tuple[str, ...]:
        """Return what is promised of rows that follow each other."""
        assert self.policy.chain is not None
        return (
            f"{self.policy.chain.describe().capitalize()}: odds between any two values of a row change by at "
            f"most exp({self.epsilon}), for anyone who believes that, other rows and all.",
            "Nothing is promised against who believes another chain.",
        )


@lru_cache(maxsize=64)
def _quilt(policy: Policy, epsilon: Fraction) -> Quilt:
    assert policy.chain is not None
    assert policy.chain.length is not None
    return find_quilt(policy.chain, policy.chain.length, epsilon)


def chain_plan_type(policy: Policy, asked: Sequence[Question]) -> type[Plan]:
    """Return what plans about rows that follow each other are, or raise where other columns are seen.

    Proof note:
        Requires: rows follow the policy's chain in one column; of other columns nothing is known.
        Ensures:  a plan's answer is a function of that column, and of noise at the rate of `find_quilt`.
        Because:  a question that looks at any other column, in a filter or a group too, is refused here, and
                  `choose` measures at `ChainPlan.rate`, for the full graph of the column.
        Checked:  tests/beyond/test_chain_plan.py::test_noise_is_enough_by_enumeration,
                  tests/beyond/test_chain_plan.py::test_other_columns_are_refused
    """
    assert policy.chain is not None
    column = policy.chain.column
    for each in asked:
        if set(each.columns) - {column}:
            what = f"rows follow each other in {column!r}, and what other columns reveal of that is unknown"
            fix = f"ask about {column!r} alone, filters and groups included."
            raise SecretError(column, what, fix=fix)
    return ChainPlan
