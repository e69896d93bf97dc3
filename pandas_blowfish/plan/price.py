"""What a promise costs: public facts that tie records together, values that may be missing. Never sees rows.

Facts decide how many records a neighbour moves, and where each may go: every verb is
planned under `Price.policy` at epsilon / moved.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import pandas as pd

from pandas_blowfish.errors import ArgumentError, BlowfishError
from pandas_blowfish.facts.constraint_graph import ConstraintGraph, constraint_graph
from pandas_blowfish.facts.move_bound import KNOWN, MOST, UNTOUCHED, MoveBound, bound_moves
from pandas_blowfish.facts.signature import signatures_of
from pandas_blowfish.plan.given import Given
from pandas_blowfish.plan.joint_noise import Joint, joint_variances
from pandas_blowfish.plan.lattice import nearest
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.attribute import Attribute, Grid, Values
from pandas_blowfish.policy.describe import value_at
from pandas_blowfish.policy.margin import MARGINS
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.policy.secret import PUBLIC, full, joins_all, public

if TYPE_CHECKING:
    from pandas_blowfish.plan.plan import Plan

SEVERAL = "a public fact is changed by an edge, and nothing is proved of people with several rows there"
FEW = 12  # facts whose own cost a plan spells out
WORTH = 1.05  # times less error from which a choice is named


@dataclass(frozen=True, eq=False)
class Price:
    """What neighbours of a policy are, in terms of single moved records.

    Attributes:
        stated: The policy with its facts.
        policy: What one moved record may do: the policy itself while no fact is touched (with absolute and
            relative errors as the thresholds they are), else its closure.
        bound: The rule for the number of moved records; None where there are no facts.
        rows: The number of rows, where it is public and known: no more move.
        per_person: Whether what is measured is about people, so that one neighbour is one change of it.
    """

    stated: Policy
    policy: Policy
    bound: MoveBound | None = None
    rows: int | None = None
    per_person: bool = False

    @property
    def found(self) -> MoveBound:
        """Return the rule for the number of moved records."""
        return self.bound or bound_moves(self.stated)

    @property
    def touched(self) -> bool:
        """Return whether some edge changes a known count."""
        return self.bound is not None and self.bound.rule != UNTOUCHED

    @property
    def settled(self) -> bool:
        """Return whether the answer follows from what is public."""
        return self.bound is not None and self.bound.rule == KNOWN

    @property
    def moved(self) -> int:
        """Return how many moves of one record neighbours' histograms differ by at most, 1 or more."""
        if self.bound is not None and self.touched:
            return self.bound.moves
        return 1 if self.per_person else self.stated.max_rows

    @property
    def records(self) -> int:
        """Return how many records differ at most; some may bring back what others take."""
        return min(max(self.found.records, self.stated.max_rows), MOST)

    @property
    def rule(self) -> str:
        """Return the rule in words."""
        return self.found.why

    @cached_property
    def graph(self) -> ConstraintGraph | None:
        """Return the constraint graph; None where a record may lift or lower two known counts at once."""
        stated = self.stated
        found = signatures_of(stated.facts, stated.domain, stated.public_columns, stated.presence)
        return None if found is None else constraint_graph(found)

    @property
    def proof(self) -> str:
        """Return why the plan keeps the promise in spite of the facts; "" without any."""
        rows, several = self.stated.max_rows, ""
        if rows > 1 and not self.per_person:
            several = (
                f"A person has up to {rows:,} rows, and each may move along an edge: what follows is about "
                f"one row at epsilon / {rows:,}, and {rows:,} of them lose at most {rows:,} times as much. "
            )
        if not self.stated.constraints:
            return several
        if not self.touched:
            return f"No edge changes what is public about the table, so the facts cost nothing. {several}"
        if self.settled:
            return f"Public facts: {self.rule}. "
        return (
            f"Public facts: {self.rule}. Counts of neighbouring tables differ by at most {self.moved} moved "
            "records, each between cells that agree on the public columns; what follows is about one such "
            f"record at epsilon / {self.moved}, and {self.moved} of them lose {self.moved} times as much. "
        )

    def describe(self) -> str:
        """Return what facts do to a plan, in a line."""
        many = len(self.stated.constraints)
        named = f"{many:,} fact{'s' * (many > 1)}"
        if not self.touched:
            return f"{named}, cost nothing: no edge changes a known count"
        if self.settled:
            return f"{named}: {self.rule}"
        far = f"neighbours differ by up to {self.moved:,} moved record{'s' * (self.moved > 1)}"
        return f"{named}: {far} ({self.found.rule}: {self.rule})"

    def cap(self, rows: int | None) -> Price:
        """Return the price for a table of so many rows, where their number is public; None: not known."""
        if rows is None or self.bound is None or not self.stated.rows_public:
            return self
        found = self.bound.cap(rows)
        return self if found is self.bound else replace(self, bound=found, rows=rows)

    @cached_property
    def costs(self) -> pd.DataFrame:
        """Return for each fact what it interacts with and how many records would move without it."""
        rows = []
        for number, fact in enumerate(self.stated.facts):
            together = sorted(
                {other for part in self.found.interacting if number in part for other in part} - {number}
            )
            names = [self.stated.facts[other].text for other in together[:FEW]]
            left = [each for place, each in enumerate(self.stated.constraints) if place != number]
            without = price_facts(self.stated.with_facts(left)).cap(self.rows)
            rows.append((fact.text, ", ".join(names), self.moved, without.moved, not without.touched))
        names = ["fact", "interacts with", "moved", "moved without it", "then free"]
        return pd.DataFrame(rows, columns=names).set_index("fact")


@lru_cache(maxsize=64)
def price_facts(policy: Policy) -> Price:
    """Return what a policy's facts cost.

    Proof note:
        Requires: `bound_moves` (its own note).
        Ensures:  a release that loses at most epsilon / moved between any two tables that differ by one
                  edge of `Price.policy` loses at most epsilon between neighbours of the policy.
        Because:  the histograms of neighbours, all that is measured, differ by at most `moved` moves of one
                  record between cells that agree on the public columns or, with presence, to or from
                  "absent"; every such move is an edge of the closure, so the loss is at most that of `moved`
                  edges one after another. Tables on the way need not satisfy the facts: what is measured
                  is defined on all tables, and what moves away was there. With no fact
                  touched a neighbour is one edge, or one for each of a person's rows, of which there are
                  `max_rows` at most. Where the facts leave one table nothing changes at all.
        Checked:  tests/privacy/test_fact_oracle.py::test_never_below_the_truth,
                  tests/privacy/test_people_loss.py::test_no_person_loses_more_than_is_charged,
                  tests/privacy/test_units_loss.py::test_no_person_loses_more_than_is_charged
    """
    if not policy.constraints:
        return Price(policy, policy.reduced)
    found = bound_moves(policy)
    if found.rule == UNTOUCHED:
        return Price(policy, policy.reduced, found)
    if policy.max_rows > 1:
        raise ArgumentError("max_rows", SEVERAL, fix="max_rows=1, or a policy without that fact.")
    if found.rule == KNOWN:
        return Price(policy, _settled(policy), found)
    return Price(policy, closure(policy), found)


def price_of(policy: Policy, columns: Collection[str], tally: Tally | None = None) -> Price:
    """Return what facts cost a question about some columns: nothing where facts determine it.

    Args:
        policy: The promise.
        columns: All columns that the question looks at, its filter and groups included.
        tally: The counts that its answers are made of, if they are.

    Proof note:
        Requires: the question looks at `columns` alone, or its answers are sums of the counts of `tally`.
        Ensures:  as `price`.
        Because:  neighbours have the same known counts, and number of rows where that is public, so what
                  follows from them is the same in both.
        Checked:  tests/plan/test_price.py::test_what_a_marginal_tells_is_exact,
                  tests/plan/test_price.py::test_what_facts_tell_is_exact
    """
    found = price_facts(policy)
    if not found.touched or found.settled:
        return found
    stating = [fact for fact in policy.facts if fact.condition is None and set(columns) <= set(fact.columns)]
    if not stating and (tally is None or not Given.open(policy).settles(tally)):
        return found
    why = f"the answer follows from {stating[0].text}" if stating else "the answer follows from the facts"
    why += ", which is public" if stating else ", which are public"
    return replace(found, policy=_settled(policy), bound=MoveBound(0, 0, KNOWN, why, found.found.interacting))


def closure(policy: Policy) -> Policy:
    """Return the policy of single moved records: any value for any other, but for public columns."""
    secrets = {name: public() if name in policy.public_columns else full() for name in policy.domain.columns}
    return Policy(policy.domain, secrets=secrets, presence=policy.presence)


def _settled(policy: Policy) -> Policy:
    """Return the policy under which nothing about the table is secret any more."""
    return Policy(policy.domain, secrets={name: public() for name in policy.domain.columns})


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
    from pandas_blowfish.plan.choose import choose  # here: choosing needs prices

    policy, query = plan.policy.with_missing(choice), plan.query
    try:
        named = str(query.get("strategy", "auto"))
        other = choose(policy, plan.asked, plan.epsilon, query=query, strategy=named, kind=type(plan))
        now, then = plan.mse**0.5, other.mse**0.5
        if math.isnan(now) or math.isnan(then):
            own, less = (_first_error(one.scales) for one in (plan, other))
            return f"{own / less:,.3g} times less noise" if less and own >= WORTH * less else ""
    except BlowfishError:
        return ""
    return f"+-{_digits(then)}" if now >= WORTH * then else ""


def _first_error(scales: Scales) -> float:
    """Return how far the noise of the first query row goes: its standard error, or about that."""
    code = int(scales.codes[0])
    if code not in scales.joint or not scales.joint[code].blocks:
        return float(scales[0]) * 2**0.5
    joint = Joint(scales.joint[code].blocks)
    return float(joint_variances(joint, scales[0])[joint.rows == 0][0] ** 0.5)


def _digits(error: float) -> str:
    """Return an error in three digits, or in whole numbers."""
    return f"{error:,.0f}" if error >= 1_000 else f"{error:.3g}"


def _first(attribute: Attribute) -> Any:
    """Return the value that a stand-in is tried with: 0 or the nearest to it, of categories the first."""
    if not isinstance(attribute, (Grid, Values)) or not attribute.cells:
        return None
    numeric = isinstance(attribute, Grid) or (isinstance(attribute, Values) and attribute.numeric)
    return value_at(attribute, nearest(attribute) if numeric else 0)
