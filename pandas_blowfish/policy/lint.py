"""What a policy leaves open, with a fix for each: values nobody protects, totals released for free.

Never sees rows.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pandas_blowfish.policy.attribute import Grid, Values
from pandas_blowfish.policy.exact import exact
from pandas_blowfish.policy.instant import span_ns
from pandas_blowfish.policy.moved import KNOWN, MOST, moved
from pandas_blowfish.policy.product import Block

if TYPE_CHECKING:
    from pandas_blowfish.policy.policy import Policy

MOST_FACTS = 12  # facts that are looked at one by one


@dataclass(frozen=True)
class Finding:
    """One thing a policy's author may not have meant.

    Attributes:
        kind: unprotected, exact-total, theta-below-step, theta-wide, missing-public, missing-joins,
            public-fact (one the policy does not know), fact-cost, fact-bound or fact-known.
        columns: The columns it concerns.
        what: What was found.
        fix: What to do if it was not meant.
    """

    kind: str
    columns: tuple[str, ...]
    what: str
    fix: str

    def __str__(self) -> str:
        return f"{', '.join(self.columns) or 'table'}: {self.what}\n  fix: {self.fix}"


class Findings(tuple[Finding, ...]):
    """All findings, printed one below the other."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "nothing found"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"


def lint(policy: Policy) -> Findings:
    """Return what a policy leaves open, column by column."""
    found: list[Finding] = []
    touched = bool(policy.constraints) and not moved(policy).free
    for block in policy.graph.blocks:
        secret = policy.secrets[block.columns]
        if secret["secret"] == "public":
            continue
        found += _missing(policy, block, secret)
        if secret["secret"] == "threshold" and len(block.columns) == 1:
            found += _theta(policy, block, secret)
        found += [] if touched else _open(policy, block)  # a touched fact lets records go anywhere
    for columns, what in policy.domain.notes:
        fix = "state it as a fact, constraints=[bf.Count(...)], where it is one, or drop it from the schema."
        found.append(
            Finding("public-fact", columns, f"{what}: a public fact that the policy does not know", fix)
        )
    return Findings([*found, *_facts(policy)])


def _facts(policy: Policy) -> Iterator[Finding]:
    """Yield what touched facts cost: the error with and without each."""
    if not policy.constraints or (found := moved(policy)).free:
        return
    if found.rule == KNOWN:
        yield Finding("fact-known", (), f"{found.why}: nothing is left to protect", "drop a fact.")
        return
    now = f"+-{_error(found.count)} with it (a histogram's count at epsilon 1)"
    if not found.exact:
        many = "18 quintillion or more" if found.count >= MOST else f"{found.count:,}"
        what = f"neighbours may differ in {many} records, by a bound alone: {found.why}"
        yield Finding("fact-bound", (), what, "drop facts, or merge them into one marginal.")
    if len(policy.constraints) > MOST_FACTS:
        what = f"{len(policy.constraints):,} public facts: the error is {now}; without any it would be "
        yield Finding("fact-cost", (), f"{what}+-{_error(1)}", "leave out facts that are not public.")
        return
    for number, fact in enumerate(policy.facts):
        left = [other for place, other in enumerate(policy.constraints) if place != number]
        rest = moved(policy.with_facts(left))
        if rest.count == found.count and not rest.free:
            continue  # it costs nothing besides the others
        what = f"{fact.text}: without this fact the error would be +-{_error(rest.count)} instead of {now}"
        if rest.free:
            what += ", and strategies fitted to the secrets could be used"
        yield Finding("fact-cost", fact.columns, what, "leave the fact out if it is not public.")


def _error(records: int) -> str:
    """Return the standard error of a histogram's count, at epsilon 1, when so many records move."""
    return f"{2 * math.sqrt(2) * min(max(records, 1), MOST):,.3g}"


def _missing(policy: Policy, block: Block, secret: Any) -> Iterator[Finding]:
    nullable = [column for column in block.columns if policy.domain[column].nullable]
    if nullable and secret.get("missing") == "public":
        what = "whether the value is missing is public, and so is how many are"
        yield Finding("missing-public", tuple(nullable), what, 'leave missing="public" out to protect it.')
    elif nullable and secret["secret"] == "threshold":
        what = "a missing value could be any other, so that a small theta makes cumulative counts no cheaper"
        fix = 'missing="public" if everyone may know whether the value is missing.'
        yield Finding("missing-joins", tuple(nullable), what, fix)


def _theta(policy: Policy, block: Block, secret: Any) -> Iterator[Finding]:
    attribute = policy.domain[block.columns[0]]
    theta = span_ns(secret["theta"], "theta") if attribute.kind == "datetime" else exact(secret["theta"])
    theta /= exact((secret.get("scale") or {}).get(attribute.name, 1))
    if isinstance(attribute, Grid):
        if theta < attribute.step:
            what = "theta is below the step: whole neighbouring cells are protected, more than was asked"
            yield Finding("theta-below-step", block.columns, what, "declare a finer step, or a larger theta.")
        if theta > attribute.high - attribute.low:
            what = "theta is wider than the domain: this is bf.full()"
            yield Finding("theta-wide", block.columns, what, "write bf.full(), or a smaller theta.")
    elif isinstance(attribute, Values) and attribute.cells > 1:
        places = attribute.positions if attribute.numeric else tuple(map(exact, range(attribute.cells)))
        if theta >= max(places) - min(places):
            what = "theta is as wide as the domain: this is bf.full()"
            yield Finding("theta-wide", block.columns, what, "write bf.full(), or a smaller theta.")


def _open(policy: Policy, block: Block) -> Iterator[Finding]:
    """Yield cells without any edge, and components whose totals come out exact."""
    size = block.graph.size
    bare = np.ones(size, dtype=bool)
    bare[block.graph.pairs().ravel()] = False
    if size > 1 and bare.any():
        first = np.flatnonzero(bare)[:3].tolist()
        shown = ", ".join(_cell(policy, block, cell) for cell in first)
        more = ", ..." if int(bare.sum()) > 3 else ""
        many = "value is" if int(bare.sum()) == 1 else "values are"
        what = f"{int(bare.sum()):,} {many} protected from nothing: {shown}{more}"
        yield Finding("unprotected", block.columns, what, "join them to others, or declare bf.public().")
    count = int(block.graph.components.max(initial=-1)) + 1
    if count > 1 and policy.rows_public:
        what = f"the values fall into {count:,} components, whose totals come out exact and free"
        yield Finding(
            "exact-total", block.columns, what, "use bf.full() or bf.threshold() if the group is secret."
        )


def _cell(policy: Policy, block: Block, cell: int) -> str:
    codes = np.unravel_index(cell, block.sizes)
    labels = [policy.domain[c].index()[int(code)] for c, code in zip(block.columns, codes, strict=True)]
    named = [str(label.left) if hasattr(label, "left") else str(label) for label in labels]
    shown = [
        "missing" if value == "nan" or (isinstance(value, float) and math.isnan(value)) else value
        for value in named
    ]
    return shown[0] if len(shown) == 1 else f"({', '.join(shown)})"
