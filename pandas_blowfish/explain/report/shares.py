"""Who has lost what, by now and over time: people in parts of the policy, datasets of a pool.

Never sees rows: a ledger that was verified is read again, entry by entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from pandas_blowfish.books.balance import Balance, Replay, require_following
from pandas_blowfish.books.ledger_tables import list_places, name_places
from pandas_blowfish.books.log import Entry, parse_fraction, select_all, transaction
from pandas_blowfish.books.part_sums import Sums
from pandas_blowfish.explain.report.timeline import Curve, pick_drawn

if TYPE_CHECKING:
    from pandas_blowfish.books.ledger import Ledger
    from pandas_blowfish.explain.report.account import Line
    from pandas_blowfish.policy.policy import Policy

LISTED = 20  # of those who have lost most, in the table
COMPARED = 12  # of them whose lines are drawn, as far as they differ
DRAWN = 6  # lines
NAMED = 2  # who are named where several have one line

Names = tuple[str, ...]  # what somebody is called, a text for each column
Row = tuple[Names, Fraction, Fraction]  # who, what they have lost, what remains to them


@dataclass(frozen=True)
class Shares:
    """Who has lost what.

    Attributes:
        columns: What names them: blocks of columns of the policy, or "dataset".
        rows: Those who have lost most, largest first.
        more: How many others there are.
        least: What remains to each of these at least; None where there are none.
        curves: What the largest have lost over time; one line for all who have lost the same all along.
        lines: The entries that the curves follow.
    """

    columns: Names
    rows: tuple[Row, ...]
    more: int
    least: Fraction | None
    curves: tuple[Curve, ...]
    lines: tuple[Line, ...]


def parts_of(ledger: Ledger, dataset: str, policy: Policy, lines: Sequence[Line]) -> Shares | None:
    """Return what people in each part of a policy have lost; None where every charge is everyone's.

    Args:
        ledger: A ledger that was verified.
        dataset: A name in it.
        policy: Its policy, which names the parts.
        lines: Its entries.
    """
    budget = ledger.budget(dataset)
    sums = budget.sums
    if sums is None or not sums.named:
        return None
    places = sorted(list_places(sums, policy), key=lambda place: -sums.places[place])
    lost = [sums.everyone + sums.places[place] for place in places]
    names = name_places(sums, places[:LISTED], policy)
    parts = [{block: [cell] for block, cell in zip(sums.named, each, strict=True)} for each in places]
    past = {
        number: [then.lost(part) for part in parts[:COMPARED]]
        for number, then in _sums_after(_entries(ledger, dataset), {line.id for line in pick_drawn(lines)})
    }
    rows = [(name, each, budget.total - each) for name, each in zip(names, lost, strict=False)]
    least = budget.total - lost[LISTED] if len(lost) > LISTED else None
    return Shares(
        tuple(sums.named),
        tuple(rows),
        len(lost) - len(rows),
        least,
        _curves(tuple(sums.named), names, past),
        tuple(lines),
    )


def members_of(ledger: Ledger, pool: str, lines: Sequence[Line]) -> Shares:
    """Return what each dataset of a pool has spent of it, and what may still be spent on it.

    Args:
        ledger: A ledger that was verified.
        pool: The name of a pool in it.
        lines: The pool's entries.
    """
    spent: dict[str, Fraction] = {}
    stated: dict[int, dict[str, Fraction]] = {}
    numbers = {line.id for line in pick_drawn(lines)}
    for entry in _entries(ledger, pool):
        if entry.kind == "share":
            member = str(entry.body["member"])
            spent[member] = spent.get(member, Fraction(0)) + parse_fraction(entry.body["epsilon"])
        if entry.id in numbers:
            stated[entry.id] = dict(spent)
    largest = sorted(spent, key=lambda name: -spent[name])
    shared = ledger.budget(pool).remaining
    left = [min(shared, ledger.budget(name).remaining) for name in largest]
    rows = [((name,), spent[name], least) for name, least in zip(largest, left, strict=True)]
    past = {
        number: [then.get(name, Fraction(0)) for name in largest[:COMPARED]]
        for number, then in stated.items()
    }
    curves = _curves(("dataset",), [name for name, _, _ in rows], past)
    more, least = len(rows[LISTED:]), min(left[LISTED:], default=None)
    return Shares(("dataset",), tuple(rows[:LISTED]), more, least, curves, tuple(lines))


def _entries(ledger: Ledger, name: str) -> Iterator[Entry]:
    with transaction(ledger.location) as connection:
        yield from select_all(connection, "dataset = ? ORDER BY id", name)


def _sums_after(entries: Iterable[Entry], numbers: set[int]) -> Iterator[tuple[int, Sums]]:
    """Yield what people in each part have lost after some entries; it is changed by those that follow."""
    was: Balance | None = None
    replay = Replay()
    for entry in entries:
        was = require_following(entry, was, replay)
        if entry.id in numbers:
            yield entry.id, replay.sums or Sums(was.spent)


def _curves(columns: Names, names: Sequence[Names], past: dict[int, list[Fraction]]) -> tuple[Curve, ...]:
    """Return a line for each course of losses, with the names of those who have it."""
    found: dict[tuple[Fraction, ...], list[str]] = {}
    for name, course in zip(names, zip(*past.values(), strict=True), strict=False):
        found.setdefault(course, []).append(", ".join(map(" ".join, zip(columns, name, strict=True))))
    return tuple(
        Curve(_join(own), dict(zip(past, course, strict=True))) for course, own in list(found.items())[:DRAWN]
    )


def _join(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return "; ".join(names[:NAMED]) + more
