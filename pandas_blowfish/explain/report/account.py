"""The account of a dataset: promise, budget, entries and kept releases, from its ledger alone.

Sees no row and spends nothing: kept answers are read back, and the rest is shown by its entry.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import pandas as pd

from pandas_blowfish.arrangement import lengthen
from pandas_blowfish.books.ledger import Budget, Dataset, Ledger
from pandas_blowfish.books.reprice import policy_of
from pandas_blowfish.errors import (
    ArgumentTypeError,
    BlowfishError,
    FrameError,
    LedgerTamperedError,
    UnknownDatasetError,
)
from pandas_blowfish.explain.report.shares import Shares, members_of, parts_of
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.call.call_reader import parse_call
from pandas_blowfish.queries.frames.kept import HASHED, empty_frame, read_kept
from pandas_blowfish.release import Receipt, receipt_of

READ = 120  # kept releases that are read back, the newest
Frames = tuple[tuple[str, pd.DataFrame], ...]  # a release's tables, each with its name


@dataclass(frozen=True)
class Line:
    """One entry of a ledger, as it stands; `now` is what a charge costs since facts repriced it."""

    id: int
    kind: str
    time: str
    epsilon: Fraction | None
    spent: Fraction | None
    total: Fraction | None
    name: str | None
    query: str | None
    strategy: str | None
    sensitivity: str | None
    scale: str | None
    checked: str | None
    reason: str | None
    repriced: Mapping[int, str] | None
    hash: str
    now: Fraction | None = None
    user: str | None = None
    analyst: str | None = None


@dataclass(frozen=True)
class Shown:
    """One release.

    Attributes:
        line: Its entry; None where a frame was given that has no entry.
        frames: Its tables, where they are kept or were given.
        why: Why there are none.
        checked: The result of comparing a given frame with the ledger; "" where none was given.
        agrees: Whether that was agreement.
    """

    line: Line | None
    frames: Frames = ()
    why: str = ""
    checked: str = ""
    agrees: bool = True


@dataclass(frozen=True)
class Account:
    """What a ledger states of one dataset.

    Attributes:
        dataset: Its name.
        ledger: The ledger's file, without its folders; "" for one in memory.
        policy: The promise, with the facts recorded since; None where the ledger cannot be trusted.
        rows: The number of rows, where the policy makes it public.
        unit: The column that names who a row is about; None for rows that may be anyone's.
        outside: What `protect` did with values outside the domain.
        total: What all releases may lose.
        spent: What they have lost.
        closed: Why no more is charged, if so.
        lines: Its entries, in order.
        releases: Its releases, newest first.
        problem: What is wrong with the ledger; "" where `verify` found nothing.
        keyed: Whether entries are signed with a key.
        entries: How many entries the ledger has, of all datasets.
        head: The hash of the last of them.
        others: The other datasets in the ledger.
        made: When this was read.
        pool: The pool that the dataset is in, with its budget.
        parts: What people in each part of the policy have lost; None where every charge is everyone's.
        members: What each dataset of the pool has spent of it.
        limits: What each analyst with a limit may charge and has charged.
    """

    dataset: str
    ledger: str
    policy: Policy | None
    rows: int | None
    unit: str | None
    outside: str
    total: Fraction
    spent: Fraction
    closed: str | None
    lines: tuple[Line, ...] = field(repr=False)
    releases: tuple[Shown, ...] = field(repr=False)
    problem: str
    keyed: bool
    entries: int
    head: str
    others: tuple[str, ...]
    made: str
    pool: tuple[str, Budget] | None = None
    parts: Shares | None = None
    members: Shares | None = None
    limits: Mapping[str, Budget] = field(default_factory=dict)


def account(ledger: Ledger, dataset: str, ask: Callable[[pd.DataFrame], Any], releases: Any = ()) -> Account:
    """Return what a ledger states of a dataset; nothing is written.

    Args:
        ledger: The ledger.
        dataset: A name in it.
        ask: Gives the verbs of a frame, as `bf.of` does: kept releases are asked of one without rows.
        releases: Frames that verbs returned, or dicts of them, to be compared with the ledger.

    Raises:
        UnknownDatasetError: The ledger has no such dataset.
        NotReleasedError: One of `releases` carries no receipt.

    Proof note:
        Requires: `measure` returns the answer kept under a name before it looks at rows or charges.
        Ensures:  the ledger has the same entries and answers after as before, and no row is read.
        Because:  a release is asked only by a name under which `find` has just found an answer, and answers
                  are never taken back; the frame it is asked of has no rows and no columns.
        Checked:  tests/explain/report/test_account.py::test_an_account_changes_nothing
    """
    given = read_releases(releases)
    bound, policy = _bound(ledger, dataset)
    every, lines = _entries(ledger, dataset)
    empty = empty_frame(ledger, dataset, bound)
    problem = _problem(ledger)
    checked = [
        (name, table, *_compared(ledger, dataset, receipt_of(table), problem)) for name, table in given
    ]
    kept = _releases(ledger, dataset, lines, checked, lambda: ask(empty))
    last, binding = lines[-1], bound.binding if bound is not None else {}
    pool = None if problem else binding.get("pool")
    public, head = policy is not None and policy.rows_public, str(every["hash"].iloc[-1])
    return Account(
        dataset=dataset,
        ledger=os.path.basename(ledger.location) if ledger.is_file else "",
        policy=policy,
        rows=binding.get("rows") if public else None,
        unit=binding.get("unit"),
        outside=str(binding.get("outside", "unknown")),
        total=bound.total if bound else last.total or Fraction(0),
        spent=bound.spent if bound else last.spent or Fraction(0),
        closed=bound.closed if bound else last.reason,
        lines=tuple(lines),
        releases=tuple(kept),
        problem=problem,
        keyed=head.startswith("hmac-"),
        entries=len(every.index),
        head=head,
        others=tuple(name for name in ledger.datasets if name != dataset),
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        pool=None if pool is None else (pool, ledger.budget(pool)),
        parts=None if problem or policy is None else parts_of(ledger, dataset, policy, lines),
        members=None if pool is None else members_of(ledger, pool, _lines(every[every["dataset"] == pool])),
        limits=ledger.limits(dataset) if bound is not None else {},
    )


def _entries(ledger: Ledger, dataset: str) -> tuple[pd.DataFrame, list[Line]]:
    """Return all entries of a ledger, and those of a dataset, of which there must be some."""
    try:
        every = ledger.entries
        lines = _lines(every[every["dataset"] == dataset])
    except (ArithmeticError, LookupError, TypeError, ValueError):
        raise LedgerTamperedError(None, "its entries cannot be read") from None
    if not lines:
        raise UnknownDatasetError(dataset, ledger.datasets)
    return every, lines


def read_releases(releases: Any) -> list[tuple[str, pd.DataFrame]]:
    """Return given releases as frames with names, or raise if one is none."""
    if isinstance(releases, (pd.DataFrame, Mapping)):
        releases = [releases]
    if isinstance(releases, (str, bytes)) or not isinstance(releases, Iterable):
        raise ArgumentTypeError("releases", "not releases", allowed="a list of frames that verbs returned")
    found: list[tuple[str, pd.DataFrame]] = []
    for each in releases:
        tables = each.items() if isinstance(each, Mapping) else [("", each)]
        for key, table in tables:
            if not isinstance(table, pd.DataFrame):
                allowed = "a list of frames that verbs returned"
                raise ArgumentTypeError(
                    "releases", f"a {type(table).__name__} is no release", allowed=allowed
                )
            receipt_of(table)  # raises where there is none
            if table.columns.has_duplicates:
                raise FrameError(
                    "a release has columns of the same name", fix="give it as a verb returned it."
                )
            found.append((_title(key), lengthen(table)))
    return found


def _bound(ledger: Ledger, dataset: str) -> tuple[Dataset | None, Policy | None]:
    """Return what a name is bound to and its policy; None where entries were tampered with."""
    try:
        bound = ledger.dataset(dataset)
        return bound, policy_of(bound) if "policy" in bound.binding else None
    except LedgerTamperedError:
        return None, None


def _problem(ledger: Ledger) -> str:
    try:
        ledger.verify()
    except LedgerTamperedError as error:
        return str(error)
    return ""


def _lines(table: pd.DataFrame) -> list[Line]:
    """Return entries as they stand, each charge with what it costs by now."""
    keys = [key for key in Line.__dataclass_fields__ if key not in ("id", "now")]
    lines: dict[int, Line] = {}
    columns = [table.index.tolist(), *(table[key].tolist() for key in keys)]
    for number, *values in zip(*columns, strict=True):
        own = dict(zip(keys, values, strict=True))
        lines[number] = Line(number, **own, now=own["epsilon"] if own["kind"] == "charge" else None)
        for charged, cost in (own["repriced"] or {}).items():
            if charged in lines:
                lines[charged] = replace(lines[charged], now=Fraction(cost))
    return list(lines.values())


def _releases(
    ledger: Ledger,
    dataset: str,
    lines: list[Line],
    checked: list[tuple[str, pd.DataFrame, str, bool]],
    ask: Callable[[], Any],
) -> list[Shown]:
    """Return every charge, newest first, and given frames that have no charge."""
    shown, read = [], 0
    given: dict[Any, list[tuple[str, pd.DataFrame, str, bool]]] = {}
    for each in checked:
        if each[3]:
            given.setdefault(receipt_of(each[1]).get("entry"), []).append(each)
    for line in reversed([line for line in lines if line.kind in ("charge", "apart")]):
        own = given.get(line.id, [])
        post = receipt_of(own[0][1]).get("post", True) if own else True
        frames: Frames = ()
        why = f"only the newest {READ} named releases are read back"
        if line.name is not None and read < READ:
            frames, why = _kept(ledger, dataset, line, post, ask)
            read += bool(frames)
        elif line.name is None:
            why = "it has no name, so the ledger keeps no numbers"
        shown.append(_with_given(Shown(line, frames, why), own))
    lost = [Shown(None, ((name, table),), "", text, False) for name, table, text, good in checked if not good]
    return [*lost, *shown]


def _compared(ledger: Ledger, dataset: str, receipt: Receipt, problem: str) -> tuple[str, bool]:
    """Return what a ledger, perhaps with a problem, states about a receipt, and whether they agree."""
    if receipt.get("dataset") != dataset:
        return f"its receipt is of another dataset, {receipt.get('dataset')!r}", False
    try:
        ledger.agrees(receipt)
    except BlowfishError as error:
        return _first(error), False
    if problem:
        return problem.splitlines()[0].rstrip("."), False
    return f"its receipt matches entry {receipt['entry']} of the ledger", True


def _kept(ledger: Ledger, dataset: str, line: Line, post: Any, ask: Callable[[], Any]) -> tuple[Frames, str]:
    """Return the tables kept under a charge's name, or why there are none; nothing is ever charged."""
    try:
        found = ledger.find(dataset, str(line.name))
        if found is None:
            return (), "its answer was not kept: it was charged and then interrupted"
        if found[0].id != line.id:
            return (), f"entry {found[0].id} holds the answer of this name"
        if not parse_call(line.query).replayable:
            return (), HASHED
        result = read_kept(line.query, str(line.name), post, ask)
    except BlowfishError as error:
        return (), _first(error)
    if isinstance(result, Mapping):
        return tuple((_title(key), lengthen(table)) for key, table in result.items()), ""
    return (("", lengthen(result)),), ""


def _with_given(release: Shown, own: list[tuple[str, pd.DataFrame, str, bool]]) -> Shown:
    """Return a release with the frames given for it: their check, and where none are kept themselves."""
    if not own:
        return release
    text = own[0][2]
    if not release.frames:
        return replace(
            release, frames=tuple((name, table) for name, table, _, _ in own), why="", checked=text
        )
    tables = [table for _, table in release.frames]
    if all(any(_same(table, each) for each in tables) for _, table, _, _ in own):
        return replace(release, checked=f"{text}, and its numbers are those that the ledger keeps")
    if any("derived" in receipt_of(table) for _, table, _, _ in own):
        return replace(
            release, checked=f"{text}; it was worked out from the release, shown as the ledger keeps it"
        )
    text += (
        ", but its numbers are not those that the ledger keeps, which are shown (some of them, or changed?)"
    )
    return replace(release, checked=text, agrees=False)


def _same(table: pd.DataFrame, stored: pd.DataFrame) -> bool:
    """Return whether two tables hold the same numbers, the levels of their columns in any order."""
    names: list[Any] = list(table.index.names)
    if (
        len(set(names)) == len(names) > 1
        and names != stored.index.names
        and {*names} == {*stored.index.names}
    ):
        stored = stored.reorder_levels(names).reindex(table.index)
    return table.equals(stored)


def _first(error: BlowfishError) -> str:
    """Return what happened, without what to do: that is for whoever asked."""
    return str(error).splitlines()[0].rstrip(".")


def _title(key: Any) -> str:
    return ", ".join(map(str, key)) if isinstance(key, (tuple, list)) else str(key)
