"""What a release would lose if one record could move anywhere the public columns let it. Never sees rows.

A fact that becomes public later may let records move along pairs that no secret joins (PROOFS.md: once a fact
is public, each charge costs at least what it has lost), so each charge states this at once: when the fact
comes, the plan is gone.
"""

from __future__ import annotations

import math
from fractions import Fraction
from weakref import WeakKeyDictionary

from pandas_blowfish.errors import SecretError
from pandas_blowfish.plan.loss import WorstCase
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.graph.records import Block, RecordGraph
from pandas_blowfish.policy.graph.secret_graph import Cliques
from pandas_blowfish.policy.policy import Policy

DIGITS = 12  # of a loss, which is rounded up
UNBOUNDED = "it looks at a column without bounds"
CHAIN = "its rows follow each other"


def closure(plan: Plan) -> WorstCase:
    """Return the most that a release loses when one record moves where the public columns let it.

    Examples:
        >>> from pandas_blowfish.policy.domain import integers
        >>> from pandas_blowfish.policy.secret import threshold
        >>> line = Policy(Domain((integers("x", 0, 3),)), secrets={"x": threshold(1)})
        >>> closure(line.plan.cumhist("x", epsilon=1, strategy="ordered")).loss
        Fraction(3, 1)

    Proof note:
        Requires: nothing.
        Ensures:  the loss is at least sum_j |A[j,x] - A[j,y]| / b_j for all cells x, y that agree on the
                  public columns and, with presence, for y absent; None where some such pair changes an
                  exact query row, or where there is no such matrix A; 0 for what follows from the facts.
        Because:  a plan made under touched facts keeps epsilon / moved over these very pairs, one made for
                  full and public columns keeps epsilon, or its share of a person's rows. Counts of bins, and
                  nests, have their closed forms on the graph of these pairs. A few cells are
                  tried pair by pair; of many, the triangle inequality adds up the two largest distances from
                  one centre.
        Checked:  tests/plan/test_worst_case.py::test_at_least_every_pair
    """
    if plan not in _kept:
        found = _closure(plan)
        _kept[plan] = found if found.loss is None else WorstCase(_rounded_up(found.loss))
    return _kept[plan]


_kept: WeakKeyDictionary[Plan, WorstCase] = WeakKeyDictionary()


def closure_graph(policy: Policy, domain: Domain) -> RecordGraph:
    """Return the graph that joins all cells of some columns that agree on the public ones."""
    public = policy.public_columns
    blocks = (
        Block((each.name,), Cliques.none(each.size) if each.name in public else Cliques.full(each.size))
        for each in domain
    )
    return RecordGraph(tuple(blocks), None, policy.presence, domain.columns)


def _closure(plan: Plan) -> WorstCase:
    if plan.policy.chain is not None:
        return WorstCase(None, CHAIN)
    if plan.price.touched:
        return WorstCase(plan.cost / plan.price.moved)
    if not plan.policy.presence and plan.policy.public_columns.issuperset(plan.domain.columns):
        return WorstCase(Fraction(0))
    if not all(attribute.bounded for attribute in plan.domain):
        return WorstCase(None, UNBOUNDED)
    if _holds_all(plan):
        return WorstCase(plan.cost / plan.price.moved)
    return plan.measurement.worst_case(closure_graph(plan.policy, plan.domain))


def _holds_all(plan: Plan) -> bool:
    """Return whether the edges that a plan was made for are all these pairs: full and public columns."""
    try:
        graph = plan.policy.graph.project(plan.domain.columns)
    except SecretError:  # a column of its secret has no cells
        return False
    public, moving = plan.policy.public_columns, 0
    for block in graph.blocks:
        if public.issuperset(block.columns) or block.graph.size == 1:
            continue
        moving += 1
        if not isinstance(block.graph, Cliques) or (block.graph.groups != block.graph.groups[0]).any():
            return False
    return moving <= graph.limit


def _rounded_up(loss: Fraction) -> Fraction:
    """Return a loss as it is if it is short to write, else the next fraction of a few digits."""
    if loss.denominator <= 10**DIGITS:
        return loss
    unit = Fraction(10) ** (math.floor(math.log10(loss)) + 1 - DIGITS)
    return math.ceil(loss / unit) * unit
