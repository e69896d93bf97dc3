"""What it costs a plan that any value may be missing, and what another choice would save. Never sees rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pandas_blowfish.errors import BlowfishError
from pandas_blowfish.plan.lattice import nearest
from pandas_blowfish.policy.attribute import Attribute, Grid, Values
from pandas_blowfish.policy.describe import value_at
from pandas_blowfish.policy.margin import MARGINS
from pandas_blowfish.policy.missing import PUBLIC, joins_all

if TYPE_CHECKING:
    from pandas_blowfish.plan.plan import Plan

WORTH = 1.05  # times less error from which a choice is named


def describe_missing(plan: Plan) -> str:
    """Return what `missing="public"`, or a stand-in, would make of a plan's error; "" where that is no less.

    The same question is planned under each choice; nothing is read or spent.
    """
    policy = plan.policy
    if not plan.sensitivity or plan.price.touched:
        return ""
    names = [
        columns[0]
        for columns, secret in policy.secrets.items()
        if len(columns) == 1 and secret["secret"] in ("threshold", *MARGINS) and joins_all(secret)
        if columns[0] in plan.domain.columns and policy.domain[columns[0]].nullable
    ]
    if not names:
        return ""
    likes = {name: _first(policy.domain[name]) for name in names}
    choices: list[tuple[str, dict[str, Any]]] = [('missing="public"', dict.fromkeys(names, PUBLIC))]
    if all(like is not None for like in likes.values()):
        stated = repr(likes[names[0]]) if len(names) == 1 else str(likes)
        choices.append((f"missing={stated}", likes))
    found = [f"{better} with {words}" for words, choice in choices if (better := _better(plan, choice))]
    return f"any value of {', '.join(names)} may be missing; {', '.join(found)}" if found else ""


def _better(plan: Plan, choice: dict[str, Any]) -> str:
    """Return the error under another choice, in words; "" where it is not known or hardly less."""
    try:
        other = plan.again(plan.epsilon, policy=plan.policy.with_missing(choice))
        now, then = plan.mse**0.5, other.mse**0.5
        if math.isnan(now) or math.isnan(then):
            times = plan.measurement.scales[0] / other.measurement.scales[0] if other.sensitivity else 0
            return f"{float(times):,.3g} times less noise" if times >= WORTH else ""
    except BlowfishError:
        return ""
    return f"+-{_digits(then)}" if now >= WORTH * then else ""


def _digits(error: float) -> str:
    """Return an error in three digits, or in whole numbers."""
    return f"{error:,.0f}" if error >= 1_000 else f"{error:.3g}"


def _first(attribute: Attribute) -> Any:
    """Return the value that a stand-in is tried with: 0 or the nearest to it, of categories the first."""
    if not isinstance(attribute, (Grid, Values)) or not attribute.cells:
        return None
    numeric = isinstance(attribute, Grid) or (isinstance(attribute, Values) and attribute.numeric)
    return value_at(attribute, nearest(attribute) if numeric else 0)
