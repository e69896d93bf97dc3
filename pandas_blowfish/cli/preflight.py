"""The queries of a run, all planned, with what could stop one later checked before the first is charged.

Never sees rows.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from pandas_blowfish.books.ledger import Budget, Dataset, Ledger
from pandas_blowfish.books.pools import Pool, require_total
from pandas_blowfish.books.receipt import COMBINED, MOMENTS
from pandas_blowfish.books.reprice import policy_of
from pandas_blowfish.cli import outputs
from pandas_blowfish.cli.jobs import Ask, Job
from pandas_blowfish.cli.ledger_commands import verify_on_failure
from pandas_blowfish.errors import (
    ArgumentError,
    BlowfishError,
    ClosedDatasetError,
    InsufficientBudgetError,
    LedgerNotFoundError,
    NameTakenError,
    OnceError,
    PoolBudgetError,
    UnknownDatasetError,
)
from pandas_blowfish.exact.number import epsilon_of
from pandas_blowfish.export import files_of
from pandas_blowfish.kernel.measure import require_drawable
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.call.call_reader import parse_call
from pandas_blowfish.queries.call.planner import Planner
from pandas_blowfish.queries.marginal import table_keys

MAX_NAME = 200  # characters of a query that is its own name
WEAKER = ("single_prior", "hedging", "wasserstein")  # strategies that keep another promise
MEANS = ("mean", "geomean", *MOMENTS, *COMBINED)  # whose plans state a number of rows, which no name does


@dataclass(frozen=True)
class Planned:
    """One query of a run, planned.

    Attributes:
        ask: The query.
        plan: What it measures and costs.
        name: What its answer is kept under; None to keep none.
        kept: Whether it is answered already, and so is free.
        same: The name that an answer to the same query is kept under, where it is another one.
    """

    ask: Ask
    plan: Plan
    name: str | None
    kept: bool
    same: str | None = None

    @property
    def cost(self) -> Fraction:
        """Return what it will be charged."""
        return Fraction(0) if self.kept else self.plan.cost

    @property
    def charge(self) -> tuple[Fraction, dict[str, list[int]]]:
        """Return what it will be charged, and the parts of the policy whose people see it."""
        return self.cost, self.plan.part.form

    @property
    def label(self) -> str:
        """Return its name for a person."""
        return self.name or self.plan.call

    @property
    def files(self) -> list[Path]:
        """Return every file that will be written."""
        return [] if self.ask.out is None else files_of(self.ask.out, table_keys(self.plan))


def plan_all(job: Job, policy: Policy, book: Ledger, bound: Dataset | None) -> list[Planned]:
    """Return every query planned, or raise for the first that cannot be answered and written."""
    planner = Planner(policy)
    if bound is not None:  # as its rows will be asked: with their number, and with facts recorded since
        now = policy_of(bound)
        planner = Planner(now, rows=bound.binding["rows"] if now.rows_public else None)
    planned: list[Planned] = []
    named = _names(book, job.dataset) if bound is not None else {}
    for number, ask in enumerate(job.asks, 1):
        try:
            planned.append(_planned(ask, planner, book, named, planned, job))
        except BlowfishError as error:
            if len(job.asks) > 1:
                error.args = (f"release {number}: {error}", *error.args[1:])
            raise
    written = [each.files for each in planned]
    used = {
        "the rows": [job.data],
        "the policy": [job.policy],
        "the ledger": outputs.ledger_files(job.ledger),
    }
    used |= {"the file of jobs": [job.jobs]} if job.jobs is not None else {}
    outputs.require_unused([place for each in written for place in each], used)
    outputs.require_distinct(written)
    return planned


def require_budget(dataset: str, planned: Sequence[Planned], bound: Dataset | None, before: Budget) -> None:
    """Refuse a run that the budget, as it is before, does not suffice for, as a whole."""
    if bound is not None and bound.closed is not None and not all(each.kept for each in planned):
        raise ClosedDatasetError(dataset, bound.closed, for_good=not bound.is_reopenable)
    fresh = [each for each in planned if each.cost]
    why = fresh[0].plan.policy.single_release if fresh else None
    if why and (len(fresh) > 1 or (bound is not None and bound.spent)):
        raise OnceError(dataset, why, for_good=True)
    after = before.after(each.charge for each in planned)
    if after.spent > before.total:
        raise InsufficientBudgetError(dataset, after.spent - before.spent, before.remaining, before.total)


def require_pool(
    dataset: str, planned: Sequence[Planned], before: Budget, book: Ledger, pool: Pool | None
) -> None:
    """Refuse a run that the pool of its dataset does not suffice for, as a whole."""
    if pool is None:
        return
    total = pool.epsilon
    own = None if total is None else Budget(total, Fraction(0))
    with suppress(LedgerNotFoundError, UnknownDatasetError):
        own = book.budget(pool.name)
        require_total(pool, own.total)
    if own is None:
        fix = "--pool-epsilon TOTAL opens it."
        raise ArgumentError("pool", f"the ledger has no pool {pool.name!r}", fix=fix)
    if own.closed is not None and not all(each.kept for each in planned):
        raise ClosedDatasetError(pool.name, own.closed)
    more = before.after(each.charge for each in planned).spent - before.spent
    if more > own.remaining:
        raise PoolBudgetError(pool.name, dataset, more, own.remaining, own.total)


def _planned(
    ask: Ask,
    planner: Planner,
    book: Ledger,
    named: Mapping[str, Sequence[str]],
    before: Sequence[Planned],
    job: Job,
) -> Planned:
    """Return one query planned, with what could stop it later checked now."""
    if ask.call.epsilon is None:
        epsilon_of(None)  # raises: a release states its cost
    if (strategy := ask.call.arguments.get("strategy")) in WEAKER:
        fix = "release it in Python: its promise is weaker than the policy's, and is to be read first."
        raise ArgumentError(
            "strategy", f"{strategy!r} has a weaker guarantee, which no budget covers", fix=fix
        )
    ask.call.require_rows(planner.rows)
    plan: Plan = ask.call.on(planner)
    require_drawable(plan)
    outputs.require_room(plan, ask.out)
    name, dataset = ask.name or (None if job.unnamed else _own_name(plan)), job.dataset
    asked = _query(plan)
    found = book.find(dataset, name) if named and name is not None else None
    if found is not None and found[0].body.get("query") != asked:
        raise NameTakenError(dataset, str(name), found[0].body.get("call"))
    earlier = next((each for each in before if name is not None and each.name == name), None)
    if earlier is not None and _query(earlier.plan) != asked:
        raise NameTakenError(dataset, str(name), earlier.plan.call)
    kept = found is not None or earlier is not None
    others = () if kept or plan.cost == 0 else named.get(plan.call, ())
    return Planned(ask, plan, name, kept, next((n for n in others if _keeps(book, dataset, n, asked)), None))


def _names(book: Ledger, dataset: str) -> dict[str, list[str]]:
    """Return the names that a dataset's charges have, by the text of their query."""
    found = dict[str, list[str]]()
    with verify_on_failure(book):
        entries = book.entries
    charges = entries[(entries["dataset"] == dataset) & (entries["kind"] == "charge")]
    for query, name in zip(charges["query"], charges["name"], strict=True):
        if name is not None:
            found.setdefault(query, []).append(name)
    return found


def _keeps(book: Ledger, dataset: str, name: str, asked: Mapping[str, Any]) -> bool:
    """Return whether an answer to just this query is kept under a name."""
    found = book.find(dataset, name)
    return found is not None and found[0].body.get("query") == asked


def _query(plan: Plan) -> dict[str, Any]:
    """Return the question as the ledger keeps it."""
    return {**plan.query, "epsilon": str(plan.epsilon)}


def _own_name(plan: Plan) -> str:
    """Return the name of a query that was given none: its own text, so that asking it again is free.

    Without the number of rows of a mean, which nobody knows yet when a new dataset is asked first.
    """
    text = str(parse_call(plan.call).but(rows=None)) if plan.query["verb"] in MEANS else plan.call
    text = unicodedata.normalize("NFC", text)
    if len(text) <= MAX_NAME and text.isprintable():
        return text
    return f"{plan.query['verb']} {hashlib.sha256(text.encode()).hexdigest()}"
