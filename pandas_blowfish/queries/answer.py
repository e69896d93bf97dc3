"""From a plan to a released frame: measure, shape, receipt. Hands rows to the kernel untouched."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.infer.simplex import Shaped, shape
from pandas_blowfish.kernel.measure import Measured, measure
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.queries.protect import Opened, is_name
from pandas_blowfish.release import released
from pandas_blowfish.version import __version__


def answer(plan: Plan, frame: pd.DataFrame, source: Opened, *, post: bool, name: str | None) -> pd.DataFrame:
    """Return the release of a plan on a protected frame, charged once.

    Args:
        plan: What is measured.
        frame: The protected rows.
        source: Their ledger, dataset and policy.
        post: Whether counts are made non-negative and consistent with what is exact.
        name: A name under which the noisy answer is kept and found again, free.
    """
    if not isinstance(post, bool):
        raise ArgumentError("post", "not True or False")
    if name is not None and not is_name(name):
        raise ArgumentError("name", "not a name", allowed="None or a non-empty str")
    measured = measure(plan, frame, source.ledger, source.dataset, _facts(plan), name=name)
    shaped = _shaped(plan, measured, post)
    return released(plan, shaped.counts, _receipt(plan, measured, source, shaped, post=post))


def _facts(plan: Plan) -> dict[str, Any]:
    """Return what the ledger's entry says about a release."""
    return {
        "query": {**plan.query, "epsilon": str(plan.epsilon)},
        "call": plan.call,
        "columns": list(plan.domain.columns),
        "strategy": plan.strategy,
        "sensitivity": str(plan.sensitivity),
        "scale": str(plan.scale),
    }


def _shaped(plan: Plan, measured: Measured, post: bool) -> Shaped:
    """Return the answers: the unbiased measurements, or the nearest counts of the right shape."""
    size = len(plan.index)
    noisy = measured.values[:size].astype(np.float64)
    if not post:
        return Shaped(noisy, (0.0, 0.0))
    parts = plan.measurement.parts
    out = shape(noisy, parts.total_of, measured.values[size:].astype(np.float64))
    out.counts[parts.alone] = noisy[parts.alone]
    return out


def _receipt(plan: Plan, measured: Measured, source: Opened, shaped: Shaped, *, post: bool) -> dict[str, Any]:
    """Return the flat record an outsider needs; nothing in it depends on rows but the noisy answer."""
    body, binding = measured.entry.body, source.dataset.binding
    spent, total = Fraction(body["spent"]), Fraction(body["total"])
    return {
        "kind": "release",
        "query": body["call"],
        "columns": list(plan.domain.columns),
        "dataset": source.dataset.name,
        "policy": source.policy.fingerprint,
        "strategy": plan.strategy,
        "sensitivity": str(plan.sensitivity),
        "scale": str(plan.scale),
        "epsilon": str(plan.cost),
        "expected_squared_error": plan.mse,
        "noise": body["noise"] if plan.sensitivity else "none",
        "proof": plan.measurement.proof_id,
        "post": post,
        "shift_low": shaped.shift[0],
        "shift_high": shaped.shift[1],
        "unit": binding["unit"] or "row-level",
        "outside": binding["outside"],
        "spent": str(spent),
        "remaining": str(total - spent),
        "name": body.get("name"),
        "version": __version__,
        "time": measured.entry.time,
        "entry": measured.entry.id,
        "hash": measured.entry.hash,
    }
