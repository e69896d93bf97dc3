"""From a plan to a released frame: measure, shape, receipt. Hands rows to the kernel untouched."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from pandas_blowfish.beyond.weaker import WeakerPlan
from pandas_blowfish.books.analysts import is_name
from pandas_blowfish.books.ledger import Dataset
from pandas_blowfish.books.reprice import policy_of
from pandas_blowfish.errors import ArgumentError, NameTakenError
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.kernel.measure import Measured, measure
from pandas_blowfish.plan.choose import reread
from pandas_blowfish.plan.given import Given
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.protocol import PLACES
from pandas_blowfish.plan.scales import ESTIMATE, TOGETHER, conditioned_terms
from pandas_blowfish.plan.shape.solved import Solved
from pandas_blowfish.policy.attribute import Grid
from pandas_blowfish.queries.frames.protect import Opened
from pandas_blowfish.release import count_frame
from pandas_blowfish.version import __version__

ALSO_RELEASED = "entry {}, under a weaker guarantee: this epsilon does not cover both together"
MOST_VALUES, MOST_LETTERS = 20_000, 100_000  # of a synopsis, and of its policy, that a receipt states
FACTS = 12  # public facts that a receipt lists


def answer(
    plan: Plan,
    frame: Any,
    source: Opened,
    *,
    post: bool | str,
    name: str | None,
    build: Callable[[Plan, Solved, dict[str, Any]], Any] = count_frame,
    shapes: tuple[str, ...] = (),
) -> Any:
    """Return the release of a plan on a protected frame, charged once.

    Args:
        plan: What is measured.
        frame: The protected rows.
        source: Their ledger, dataset and policy.
        post: Whether counts are made non-negative and consistent with what is exact.
        name: A name under which the noisy answer is stored; asking again under it costs nothing.
        build: Makes the frame, or several, of the answers and the facts of the receipt.
        shapes: What `post` may be besides True and False.
    """
    if not isinstance(post, bool) and not (isinstance(post, str) and post in shapes):
        allowed = ", ".join(["True", "False", *map(repr, shapes)])
        raise ArgumentError("post", "not True or False", allowed=allowed)
    if name is not None and not is_name(name):
        raise ArgumentError("name", "not a name", allowed="None or a non-empty str")
    measured = measure(plan, frame, source.ledger, source.dataset, _entry_body(plan), name=name)
    plan = _as_measured(plan, measured, source.dataset, name)
    known = Given.of(plan.policy, source.dataset.binding["rows"])
    solved = plan.measurement.solve(measured.values, post=post, known=known or None)
    rows = source.dataset.binding["rows"]
    facts = _plan_facts(plan, rows, solved) | _error_facts(plan, conditioned=bool(known))
    facts |= (
        {"members": _member_facts(plan, solved, rows, post, conditioned=bool(known))} if plan.members else {}
    )
    facts |= _synopsis(plan, measured.values)
    return build(plan, solved, describe_release(plan, measured, source, post=post, **facts))


def _entry_body(plan: Plan) -> dict[str, Any]:
    """Return what the ledger's entry states about a release."""
    measured = {"strategy": plan.measurement.name, "way": plan.way, "form": plan.measurement.form}
    return {**describe_plan(plan), "measured": measured}


def describe_plan(plan: Plan | WeakerPlan) -> dict[str, Any]:
    """Return what an entry states about any release."""
    return {
        "query": {**plan.query, "epsilon": str(plan.epsilon)},
        "call": plan.call,
        "columns": list(plan.domain.columns),
        "strategy": plan.strategy,
        "sensitivity": str(plan.sensitivity),
        "scale": str(plan.scale),
        **({"guarantee": list(plan.guarantee)} if plan.guarantee else {}),
    }


def describe_release(
    plan: Plan | WeakerPlan, measured: Measured, source: Opened, *, post: bool | str, **more: Any
) -> dict[str, Any]:
    """Return the facts that an outsider needs; none depends on rows but the noisy answer.

    Args:
        plan: What was measured.
        measured: Its entry.
        source: Whose rows it is of.
        post: Whether the answers were shaped.
        more: Further facts, some of which `books.receipt` writes as technical ones.
    """
    body, binding = measured.entry.body, source.dataset.binding
    spent, total = Fraction(body["spent"]), Fraction(body["total"])
    return {
        "kind": "release",
        "verb": plan.query["verb"],
        "query": body["call"],
        "columns": list(plan.domain.columns),
        "groupby": list(plan.query.get("groupby", ())),
        "dataset": source.dataset.name,
        "policy": plan.policy.fingerprint,
        "strategy": plan.strategy,
        **({"guarantee": list(plan.guarantee)} if plan.guarantee else {}),
        "sensitivity": str(plan.sensitivity),
        "scale": str(plan.scale),
        "epsilon": str(plan.cost),
        "expected_squared_error": None if math.isnan(plan.mse) else plan.mse,
        "noise": body["noise"] if plan.sensitivity else "none",
        "post": post,
        "answers": len(plan.index),
        **more,
        "unit": binding["unit"] or "row-level",
        **({"max_rows": plan.policy.max_rows} if plan.policy.max_rows > 1 else {}),
        "outside": binding["outside"],
        "spent": str(spent),
        "remaining": str(total - spent),
        **({"checked": body["checked"]} if "checked" in body else {}),
        **({"weaker_release": ALSO_RELEASED.format(body["beside"])} if "beside" in body else {}),
        "name": body.get("name"),
        "version": __version__,
        "time": measured.entry.time,
        "entry": measured.entry.id,
        "hash": measured.entry.hash,
    }


def _as_measured(plan: Plan, measured: Measured, dataset: Dataset, name: str | None) -> Plan:
    """Return the plan that a stored answer was measured by, which today's choice may not be.

    Facts recorded since do not change what was measured: it is read by the policy of that time.
    """
    body = measured.entry.body
    how, known = body["measured"], int(body.get("facts", 0))
    if known != len(dataset.facts):
        then = policy_of(dataset, known)
        plan = replace(plan, policy=then, price=plan.asked[how["way"]].price(then))
        plan = reread(plan, how["strategy"], how["way"], how["form"])
    elif how != _entry_body(plan)["measured"]:
        plan = reread(plan, how["strategy"], how["way"], how["form"])
    if body["scale"] != str(plan.scale):
        plan = _as_priced(plan, body)
    if plan.values not in (None, len(measured.values)) or body["scale"] != str(plan.scale):
        raise NameTakenError(dataset.name, str(name), body.get("call"))
    return plan


def _as_priced(plan: Plan, body: Mapping[str, Any]) -> Plan:
    """Return the plan with as many moved records as an entry was charged for: bounds may be lower by now."""
    own, how, found = plan.measurement.sensitivity, body["measured"], plan.price.found
    moved = Fraction(body["sensitivity"]) / own if own and plan.price.touched else Fraction(0)
    if moved.denominator != 1 or not 0 < moved <= found.limit:
        return plan
    then = replace(plan.price, bound=replace(found, count=int(moved), why="as it was charged"))
    return reread(replace(plan, price=then), how["strategy"], how["way"], how["form"])


def _plan_facts(plan: Plan, rows: int, solved: Solved) -> dict[str, Any]:
    """Return what a receipt states of a plan under the policy's own promise."""
    known = plan.std[~np.isnan(plan.std)]  # picked values have no standard error that is known
    unknown = len(plan.std) > len(known) == 0
    return {
        "proof": plan.measurement.proof_id,
        "std_low": None if unknown else float(known[known > 0].min(initial=math.inf)) if known.any() else 0.0,
        "std_high": None if unknown else float(known.max(initial=0.0)),
        "smallest_scale": str(min((scale for scale in plan.scales.values if scale), default=Fraction(0))),
        "largest_answer": solved.most,
        **_known(plan, rows),
        "facts": [fact.text for fact in plan.policy.facts[:FACTS]],
        "record_moves": plan.price.moved,
        "price_rule": plan.price.rule if plan.policy.constraints else None,
    }


def _member_facts(
    plan: Plan, solved: Any, rows: int, post: bool | str, *, conditioned: bool
) -> list[dict[str, Any]]:
    """Return what a receipt states of each of several questions that were answered at once."""
    return [
        {
            "kind": "release",
            "verb": each.query["verb"],
            "strategy": each.strategy,
            "scale": str(each.scale),
            "post": post,
            **_plan_facts(each, rows, own),
            **_error_facts(each, conditioned=conditioned),
        }
        for each, own in zip(plan.members, solved.members, strict=True)
    ]


def _error_facts(plan: Plan, *, conditioned: bool) -> dict[str, Any]:
    """Return the law of the unshaped answers' errors, and how those of counts along a line go together.

    Where answers also agree with public facts, errors are at most these, and no longer sums of whole noises.
    """
    law = plan.measurement.noise_terms
    own = ESTIMATE if law == TOGETHER else law
    terms: dict[str, Any] = {"noise_terms": conditioned_terms(own) if conditioned else own}
    if law == TOGETHER:
        terms["drawn_together"] = True
    elif sizes := plan.scales.clique_sizes:
        terms["clique_sizes"] = sizes
    if plan.query["verb"] not in ("hist", "cumhist", "marginal"):
        return terms
    covariance = plan.measurement.covariance
    return terms if covariance is None else {**terms, "covariance": covariance}


def _synopsis(plan: Plan, values: Ints) -> dict[str, Any]:
    """Return the noisy values that clusters were made of, to make others of them, where they are few.

    Proof note:
        Requires: a release that was charged for all its measured values.
        Ensures:  a receipt that states them costs nothing more.
        Because:  a charge is for every query row that is measured, those whose noise is 0 included, which no
                  edge changes; with public facts nothing is stated.
        Checked:  tests/privacy/test_kmeans_loss.py::test_loss_of_random_policies
    """
    policy = plan.policy
    facts = policy.constraints or policy.aggregates or policy.chain is not None
    if plan.query["verb"] != "kmeans" or facts or len(values) > MOST_VALUES:
        return {}
    how = {"strategy": plan.measurement.name, "way": plan.way, "form": plan.measurement.form}
    stated = json.dumps(policy.to_dict())
    if len(stated) > MOST_LETTERS:
        return {}
    return {"synopsis": {"values": values.tolist(), "policy": stated, "known": plan.query["known"], **how}}


def _known(plan: Plan, rows: int) -> dict[str, Any]:
    """Return what intervals and later questions need: public rows of a sum, declared ends of cut bins."""
    if plan.query["verb"] == "sum":
        return {"rows": int(rows) if plan.policy.rows_public else None}
    if plan.query["verb"] not in ("hist", "cumhist", "quantile"):
        return {}
    shares = "normalize" in plan.query.get("spelt", {"named": ()})["named"]
    picked = plan.measurement.mechanism == PLACES
    stated = {"rows": int(rows)} if (shares or picked) and plan.policy.rows_public else {}
    last = plan.query["columns"][0] if plan.query["verb"] == "quantile" else plan.index.names[-1]
    inner = plan.domain[str(last)]
    if not isinstance(inner, Grid) or inner.single:
        return stated
    ends = (inner.low, inner.high)
    return stated | {"declared_ends": [float(end) if inner.kind == "float" else int(end) for end in ends]}
