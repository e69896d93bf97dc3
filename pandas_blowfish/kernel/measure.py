"""Charge, count, add exact noise, record: the one function through which rows become a release.

Sees rows, randomness and budget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from pandas_blowfish.books.ledger import ONCE, Budget, Dataset, Entry, Ledger, Rule
from pandas_blowfish.books.reprice import facts_since, policy_of
from pandas_blowfish.books.sealkey import with_key
from pandas_blowfish.count.codes import Kept
from pandas_blowfish.count.seal import Frame, find_change
from pandas_blowfish.count.tally import count_cells, find_contradicted
from pandas_blowfish.count.units import keep_rows
from pandas_blowfish.errors import (
    FactMismatchError,
    FrameError,
    NameTakenError,
    PolicyMismatchError,
    StaleFrameError,
    TestNoiseError,
    UnsoundPlanError,
)
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.kernel.buckets import check_buckets, draw_buckets
from pandas_blowfish.kernel.check import Check
from pandas_blowfish.kernel.choices import draw_choices
from pandas_blowfish.kernel.joint_noise import draw_together, require_joint
from pandas_blowfish.kernel.nearest import place_scales, score_places
from pandas_blowfish.kernel.noise import check_scale, discrete_laplace, is_replaying, noise_law
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.protocol import BUCKETS, PLACES, SELECT, Round, law_of
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.plan.worst_case import closure
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.policy import Policy

LIMIT = 2**61  # counts and noise are clamped so that clamping commutes with adding


@dataclass(frozen=True)
class Measured:
    """The noisy value of every measured row, and its entry in the ledger."""

    values: Ints
    entry: Entry
    budget: Budget


def measure(
    plan: Plan,
    frame: Frame,
    ledger: Ledger,
    dataset: Dataset,
    facts: Mapping[str, Any],
    *,
    name: str | None = None,
) -> Measured:
    """Return the noisy measurements of a plan, charged exactly once.

    Args:
        plan: What is measured, with what noise.
        frame: The protected rows.
        ledger: Where the charge is written.
        dataset: What the rows were sealed as, and the facts recorded when the plan was made.
        facts: What the entry states besides.
        name: A name under which the answer is kept; the same query under it is answered from there.

    Proof note:
        Requires: `Check.require`, or the strategy's own note where the check is "argued".
        Ensures:  all releases of the dataset together lose at most its total.
        Because:  the loss of what will be drawn is found out anew before the charge, and of each further
                  round before its noise; the charge is committed before a row is counted, a failed one
                  raises before one is, and nothing but counts plus noise, places of the largest of
                  these, or query rows that no edge changes, leaves this function. The plan is one for the
                  dataset's policy with the facts recorded by then, which are as many when it is charged,
                  and the entry states what facts recorded later may make of it.
        Checked:  tests/kernel/test_measure.py::test_charge_comes_before_rows,
                  tests/kernel/test_measure.py::test_a_plan_under_other_facts_is_refused
    """
    require_drawable(plan)
    if kept := find_stored(ledger, dataset, plan.policy, facts, name=name):
        return kept
    frame, codes = read_sealed(frame, ledger, dataset, plan.domain)
    if plan.price.settled:  # exact by facts: recorded ones were not compared with these rows yet
        require_recorded(frame, dataset)
    check = Check.of(policy_of(dataset), plan, dataset.binding["rows"])
    lost = check.require(_first_round(plan), plan.cost)
    later = closure(plan)
    law = noise_law(law_of(plan.measurement))
    body = {**facts, "noise": law, "checked": check.text, "closure": later.loss}
    body |= {"unknown": later.why} if later.loss is None else {}
    clip, unit = dataset.binding["outside"] == "clip", dataset.binding["unit"]
    left, rule = plan.cost - lost, ONCE if plan.policy.single_release else None
    return charge_then(
        ledger,
        dataset,
        plan.cost,
        body,
        lambda: _measure_rounds(plan, frame, check, left, clip=clip, unit=unit, kept=codes),
        name=name,
        rule=rule,
        part=check.part.form,
    )


def find_stored(
    ledger: Ledger, dataset: Dataset, policy: Policy, facts: Mapping[str, Any], *, name: str | None
) -> Measured | None:
    """Return the answer that is kept under a name; else None, if the plan is one for the dataset."""
    if is_replaying() and ledger.is_file:
        raise TestNoiseError()
    if name is not None and (kept := _kept(ledger, dataset.name, name, facts)) is not None:
        return kept
    if policy != policy_of(dataset):
        raise PolicyMismatchError(dataset.name, "policy")
    return None


def read_sealed(frame: Frame, ledger: Ledger, dataset: Dataset, domain: Domain) -> tuple[Frame, Kept]:
    """Return the rows that are counted, or raise where these columns of them are not as they were sealed.

    With the codes of columns that were just read and are as they were sealed: what is counted is what was
    checked, whatever becomes of the frame meanwhile.
    """
    binding = with_key(ledger.location, dataset.name, dataset.binding)
    rows, first, kept = read_kept(frame, dataset, binding), policy_of(dataset, 0), Kept()
    if stale := find_change(rows, domain, binding, first.domain, first.chain is not None, kept):
        raise StaleFrameError(dataset.name, stale)
    return rows, kept


def read_kept(frame: Frame, dataset: Dataset, binding: Mapping[str, Any]) -> Frame:
    """Return the rows of a dataset that are kept: all of them where nobody may have several."""
    first, clip = policy_of(dataset, 0), binding["outside"] == "clip"
    if first.max_rows == 1:
        return frame
    names, unit = list(frame.columns), binding["unit"]
    for name in (unit, *first.domain.columns):
        if names.count(name) != 1:
            raise StaleFrameError(dataset.name, f"the columns are (with {name!r} {names.count(name)} times)")
    try:
        kept = keep_rows(frame, tuple(first.domain), unit, first.max_rows, binding["key"], clip=clip)
    except FrameError:
        kept = None
    if kept is None or kept.digest != binding["units"]:
        raise StaleFrameError(dataset.name, "who rows are about, or the values of some column, are")
    return kept.rows


def charge_then(
    ledger: Ledger,
    dataset: Dataset,
    epsilon: Fraction,
    body: Mapping[str, Any],
    count: Callable[[], Ints],
    *,
    name: str | None,
    rule: Rule | None,
    part: Mapping[str, list[int]] | None = None,
) -> Measured:
    """Return what counting gives, once it is charged; kept under a name, where it has one."""
    known = len(dataset.facts)
    entry, budget = ledger.charge(dataset.name, epsilon, body, name=name, facts=known, rule=rule, part=part)
    values = count()
    if name is None:
        return Measured(values, entry, budget)
    # another process may have been asked the same meanwhile: a name stands for one answer, the first
    if (kept := _kept(ledger, dataset.name, name, body)) is None:
        ledger.store(entry, values.astype("<i8").tobytes())
        kept = _kept(ledger, dataset.name, name, body)
    return kept or Measured(values, entry, budget)


def require_drawable(plan: Plan) -> None:
    """Refuse a plan whose noise is too large to be drawn exactly."""
    for scale in plan.measurement.drawn_scales:
        check_scale(scale)
    require_joint(plan.measurement.scales)
    if plan.measurement.mechanism == BUCKETS:
        check_buckets(plan.measurement)


def require_recorded(frame: Frame, dataset: Dataset) -> None:
    """Refuse rows that contradict an answer recorded after they were bound, naming the facts alone."""
    clip, domain = dataset.binding["outside"] == "clip", policy_of(dataset, 0).domain
    wrong = find_contradicted(frame, domain, facts_since(dataset), clip=clip) if dataset.facts else []
    if wrong:
        fix = "a recorded answer stays; if it is wrong use another dataset name (a new budget, on record)."
        raise FactMismatchError(list(dict.fromkeys(fact.text for fact in wrong)), fix)


def _kept(ledger: Ledger, dataset: str, name: str, facts: Mapping[str, Any]) -> Measured | None:
    """Return the answer kept under a name, or raise if it answers another query."""
    found = ledger.find(dataset, name)
    if found is None:
        return None
    entry, answer = found
    if entry.body.get("query") != facts.get("query"):
        raise NameTakenError(dataset, name, entry.body.get("call"))
    return Measured(np.frombuffer(answer, dtype="<i8").astype(np.int64), entry, ledger.budget(dataset))


def _first_round(plan: Plan) -> Round:
    """Return what is measured before anything noisy is known."""
    first = plan.measurement.next_round([])
    assert first is not None
    return first


def _measure_rounds(
    plan: Plan, frame: Frame, check: Check, left: Fraction, *, clip: bool, unit: str | None, kept: Kept
) -> Ints:
    """Return the noisy values of all rounds; what the next one is, is asked of the noisy values alone.

    Args:
        plan: What is measured; its first round was checked before the charge.
        frame: The protected rows.
        check: What each further round must pass before its noise is drawn.
        left: What the first round left of the charge.
        clip: Put numbers beyond the bounds into the nearest cell.
        unit: The column that names who a row is about.
        kept: The codes of columns that were read when the seal was checked.
    """
    values: list[Ints] = []
    seen: tuple[object, ...] = ()
    counts = np.zeros(0, dtype=np.int64)
    while (step := plan.measurement.next_round(values)) is not None:
        if values:
            left -= check.require(step, left)
        if len(seen) != len(step.tallies) or any(a is not b for a, b in zip(seen, step.tallies, strict=True)):
            seen, counts = step.tallies, count_cells(frame, step.tallies, clip=clip, unit=unit, kept=kept)
        exact = step.apply(counts)
        if step.own_noise:  # elsewhere a clamped count would not move as the noise does: 64 bits wrap
            exact = np.clip(exact, -LIMIT, LIMIT)
        values.append(add_noise(step, exact, plan.cost))
    return np.concatenate(values)


def add_noise(step: Round, exact: Ints, charge: Fraction) -> Ints:
    """Return the query rows with noise, of their own, of a mesh or of buckets; of a choice its place."""
    if step.mechanism == BUCKETS:
        return draw_buckets(step, exact)
    if step.mechanism == PLACES:
        each = np.repeat(step.choices, step.targets.parts)
        scores, noise = score_places(step.choices, exact, step.targets), _noise(place_scales(step), charge)
        return draw_choices(each, scores, noise, noisy=step.scales.noisy)
    noise = _noise(step.scales, charge)
    if step.mechanism == SELECT:
        return draw_choices(step.choices, exact, noise, noisy=step.scales.noisy)
    return np.asarray(np.clip(exact + step.spread_noise(noise), -LIMIT, LIMIT))


def _noise(scales: Scales, charge: Fraction) -> Ints:
    """Return noise of each kind, rows together where they draw so; under a charge of 0 there is none."""
    values = np.zeros(len(scales), dtype=np.int64)
    for code, scale in enumerate(scales.values):
        rows = np.flatnonzero(scales.codes == code)
        if scale > 0 and len(rows):
            if not charge:
                raise UnsoundPlanError("noise would be drawn, and nothing is charged for it")
            if together := scales.joint.get(code):
                values[together.rows] = draw_together(together, scale)
            else:
                values[rows] = discrete_laplace(scale, len(rows))
    return values
