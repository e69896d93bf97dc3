"""release: plan everything, then charge, answer and write one by one. Hands rows on untouched.

Nothing is charged before every query was planned and their cost compared with what is left. Each answer is
kept in the ledger under a name before its file is written, so that a run cut short is run again, free.
"""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

from pandas_blowfish.accessor import Protected, of
from pandas_blowfish.books.ledger import Budget, Dataset, Ledger
from pandas_blowfish.books.pools import Pool
from pandas_blowfish.books.reprice import policy_of
from pandas_blowfish.cli import exits, outputs
from pandas_blowfish.cli.jobs import Job, read_job
from pandas_blowfish.cli.locks import delay_interrupts, hold_lock
from pandas_blowfish.cli.policy_commands import read_policy
from pandas_blowfish.cli.preflight import Planned, plan_all, require_budget, require_pool
from pandas_blowfish.cli.screen import MAX_ROWS, Screen, format_table
from pandas_blowfish.count.readers import files
from pandas_blowfish.errors import LedgerError, LedgerNotFoundError, PolicyMismatchError, UnknownDatasetError
from pandas_blowfish.exact.number import epsilon_of
from pandas_blowfish.markup import decimal, read_numbers, spent_text
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.frames.protect import check_arguments, list_keys, require_bound, state_rows
from pandas_blowfish.release import receipt_of

NEW = "add --new if this is the first release of it."


def release(given: Namespace, screen: Screen) -> int:
    """Answer queries about a file's rows, charged to a ledger."""
    job = read_job(given)
    check_arguments(job.dataset, job.ledger, job.outside, job.unit)
    policy = state_rows(read_policy(job.policy), job.unit, job.max_rows)
    book = Ledger(job.ledger)
    bound, refused = _found(book, job, new=given.new)
    if refused is not None and (job.epsilon is None or not given.dry_run):
        raise refused
    table = _rows(job, policy, screen) if policy.open_columns and bound is None else None
    policy = list_keys(policy, table, bound)  # those of a new dataset are read from its rows, and planned on
    total = _total(job, policy, bound)
    planned = plan_all(job, policy, book, bound)
    before = Budget(total, Fraction(0)) if bound is None else book.budget(job.dataset)
    pool = _pool(job, bound)
    require_budget(job.dataset, planned, bound, before)
    require_pool(job.dataset, planned, before, book, pool)
    _remark(job, policy, bound, planned, screen)
    if given.dry_run:
        return _preview(job, policy, planned, bound, before, refused, screen)
    table = _rows(job, policy, screen) if table is None else table
    if bound is not None:
        book.dataset(job.dataset)  # a ledger that was lost meanwhile is not begun again
    with screen.bar("protecting") as tick:
        stated: dict[str, Any] = {"dataset": job.dataset, "ledger": book, "new": given.new}
        stated |= {"pool": pool, "analyst": job.analyst}
        sealed = of(table).protect(policy, epsilon=total, outside=job.outside, unit=job.unit, **stated)
        tick(1.0)
    del table
    if bound is None:  # and only now that it is on the record
        screen.note(
            f"dataset {job.dataset!r} is new in {str(job.ledger)!r}: a new budget of {decimal(total)}"
        )
        if first := book.dataset(job.dataset).binding.get("same_rows"):
            screen.note(f"its rows are those of dataset {first!r}: the same people, two budgets")
    done = _answer(planned, of(sealed), book, job.dataset, screen)
    now = book.dataset(job.dataset)
    screen.say(f"dataset {job.dataset!r}: {spent_text(now.budget.spent, now.budget.total)}")
    found = {"dataset": job.dataset, "ledger": book.location, "policy": policy_of(now).fingerprint}
    sums = {"total": now.budget.total, "spent": now.budget.spent, "remaining": now.budget.remaining}
    screen.finish({**found, "budget": sums, "releases": done})
    return exits.OK


def _rows(job: Job, policy: Policy, screen: Screen) -> pd.DataFrame:
    """Return the rows of a run's file."""
    with screen.bar("reading") as tick:
        options: dict[str, Any] = {"separator": job.sep, "encoding": job.encoding, "na": job.na}
        return files.read_table(job.data, policy.domain, job.unit, tick=tick, **options)


def _found(book: Ledger, job: Job, *, new: bool) -> tuple[Dataset | None, LedgerError | None]:
    """Return the dataset where the ledger has it, else why it may not be begun; with `new` it may."""
    try:
        return book.dataset(job.dataset), None
    except LedgerNotFoundError as error:
        refused: LedgerError = error
        fix = f"give the right path, mount its volume or restore the file; {NEW}"
    except UnknownDatasetError as error:
        refused, fix = error, f"give the right --dataset; {NEW}"
    outputs.require_directory(job.ledger)
    return None, None if new else exits.with_fix(refused, fix)


def _total(job: Job, policy: Policy, bound: Dataset | None) -> Fraction:
    """Return what all releases may cost, having compared what is asked with what the dataset is bound to."""
    if bound is None:
        if job.epsilon is None:
            raise exits.UsageError("--epsilon is missing", "state what all releases of the dataset may cost.")
        return epsilon_of(job.epsilon)
    total = bound.total if job.epsilon is None else epsilon_of(job.epsilon)
    require_bound(bound, policy, total, {"outside": job.outside, "unit": job.unit})
    return total


def _pool(job: Job, bound: Dataset | None) -> Pool | None:
    """Return the pool that is stated, or that the dataset is in."""
    if job.pool is None and job.pool_epsilon is not None:
        raise exits.UsageError("--pool-epsilon without --pool", "--pool NAME --pool-epsilon TOTAL")
    own = None if bound is None else bound.binding.get("pool")
    if job.pool is None:
        return None if own is None else Pool(own)
    if bound is not None and own != job.pool:
        raise PolicyMismatchError(job.dataset, "pool=")
    return Pool(job.pool, job.pool_epsilon)


def _remark(
    job: Job, policy: Policy, bound: Dataset | None, planned: Sequence[Planned], screen: Screen
) -> None:
    """Note, before anything is charged, whose promise is kept and what would cost nothing."""
    if bound is not None:
        made = policy_of(bound).fingerprint
        if policy.fingerprint not in (made, bound.binding["fingerprint"]):
            given = f"not that of {str(job.policy)!r} ({policy.fingerprint})"
            screen.note(f"dataset {job.dataset!r} keeps the policy it was begun with ({made}), {given}")
    for each in planned:
        if each.same is not None:
            free = f"--name {shlex.quote(each.same)}"
            screen.note(f"{each.plan.call}: the same query is kept as {each.same!r}: {free} is free")


def _preview(
    job: Job,
    policy: Policy,
    planned: Sequence[Planned],
    bound: Dataset | None,
    before: Budget,
    refused: LedgerError | None,
    screen: Screen,
) -> int:
    """Show what a run would charge; one that would be refused for want of --new exits as it would."""
    lines = pd.DataFrame(
        {
            "name": [each.name for each in planned],
            "costs": [decimal(each.cost) for each in planned],
            "typical error": [each.plan.facts()["typical error"].split(" (")[0] for each in planned],
            "": ["answered already" if each.kept else each.plan.strategy for each in planned],
            "out": ["" if each.ask.out is None else str(each.ask.out) for each in planned],
        },
        index=pd.Index(range(1, len(planned) + 1), name="release"),
    )
    cost = before.after(each.charge for each in planned).spent - before.spent
    remaining = before.remaining
    screen.say(format_table(lines))
    screen.say(
        f"dataset {job.dataset!r}: would be charged {decimal(cost)} of the remaining {decimal(remaining)}"
    )
    if bound is None:
        screen.note(
            f"dataset {job.dataset!r} would be new in {str(job.ledger)!r}: "
            f"a new budget of {decimal(before.total)}"
        )
    if refused is not None and not screen.as_json:
        screen.note(f"pandas-blowfish: {exits.describe_error(refused)}")
    listed = [
        {
            "name": each.name,
            "query": each.plan.call,
            "cost": each.cost,
            "kept": each.kept,
            "same_as": each.same,
            "out": each.ask.out,
        }
        for each in planned
    ]
    sums = {"total": before.total, "cost": cost, "remaining": remaining}
    made = (policy if bound is None else policy_of(bound)).fingerprint
    found = {"dataset": job.dataset, "dry_run": True, "new": bound is None, "policy": made, "budget": sums}
    wrong = {} if refused is None else {"error": exits.document(refused)}
    screen.finish({**found, "releases": listed, **wrong})
    return exits.OK if refused is None else exits.code_of(refused)


def _answer(
    planned: Sequence[Planned], rows: Protected, book: Ledger, dataset: str, screen: Screen
) -> list[dict[str, Any]]:
    """Answer and write one query after the other; an error carries what was done before it."""
    done: list[dict[str, Any]] = []
    try:
        with screen.bar("releasing") as tick:
            for each in planned:
                with hold_lock(Path(book.location)), delay_interrupts():
                    done.append(_one(each, rows, book, dataset, screen))
                tick(len(done) / len(planned))
    except BaseException as error:
        error.done = done  # type: ignore[attr-defined]
        raise
    return done


def _one(each: Planned, rows: Protected, book: Ledger, dataset: str, screen: Screen) -> dict[str, Any]:
    """Answer one query, write it, and report it."""
    kept = each.name is not None and book.find(dataset, each.name) is not None
    found = each.ask.call.with_name(each.name).on(rows)
    tables = list(found.values()) if isinstance(found, dict) else [found]
    receipt = receipt_of(tables[0])
    status = "kept" if kept else "charged" if receipt["epsilon"] != "0" else "exact"
    charged = "0" if kept else receipt["epsilon"]
    text = {"name": each.name, "query": receipt["query"], "status": status, "charged": charged}
    words = {"kept": "costs nothing, answered before", "exact": "exact, costs nothing"}.get(
        status, f"charged {decimal(Fraction(charged))}"
    )
    written: list[Path] = []
    if each.ask.out is not None:
        try:
            written = outputs.write(found, each.ask.out)
        except OSError:
            again = "its answer is kept: run it again, free" if each.name else "no answer is kept (--unnamed)"
            screen.note(f"{each.label!r}: {words}, but not written; {again}")
            raise
        screen.say(f"{each.label}: {words}: {', '.join(map(str, written))}")
    else:
        for table in tables:
            screen.say(read_numbers(table).to_string(index=False, max_rows=MAX_ROWS))
        screen.say(f"{each.label}: {words}")
    answers = {} if each.ask.out is not None else {"answer": found if len(tables) == 1 else tables}
    return {**text, "out": written, "receipt": dict(receipt), **answers}
