"""Entries as rows of a table: `Ledger.entries`. Never sees rows of data."""

from __future__ import annotations

from typing import Any

from pandas_blowfish.books.log import UNREADABLE, body_of, parse_fraction
from pandas_blowfish.errors import BlowfishError, LedgerTamperedError

COLUMNS = ["dataset", "kind", "time", "epsilon", "spent", "total", "name", "query", "columns", "strategy"]
COLUMNS += ["sensitivity", "scale", "checked", "reason", "repriced", "hash"]
WORDS = ("name", "strategy", "sensitivity", "scale", "checked")


def entry_row(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a stored entry as a row of `Ledger.entries`, or raise LedgerTamperedError."""
    number, dataset, kind, time, body, given = row
    try:
        if type(dataset) is type(kind) is type(time) is type(given) is str:
            return dataset, kind, time, *_line(body_of(body)), given
    except UNREADABLE:
        pass
    raise LedgerTamperedError(number, "it cannot be read")


def _line(body: dict[str, Any]) -> tuple[Any, ...]:
    """Return what a body states, or raise if it is not of the form that bodies have."""
    epsilon, spent, total = body.get("epsilon"), parse_fraction(body["spent"]), parse_fraction(body["total"])
    query, columns, costs, closed = (
        body.get("query"),
        body.get("columns"),
        body.get("repriced"),
        body["closed"],
    )
    if "call" in body:
        query = _word(body["call"])
    elif "fact" in body:
        query = describe_fact(body["fact"])
    if columns is not None and type(columns) is not list:
        raise ValueError("no columns")
    if costs is not None:
        costs = {int(each): cost for each, cost in costs.items() if parse_fraction(cost) is not None}
    cost, reason = None if epsilon is None else parse_fraction(epsilon), body.get("reason", closed)
    name, strategy, *measured = (_word(body.get(key)) for key in WORDS)
    return cost, spent, total, name, query, columns, strategy, *measured, _word(reason), costs


def _word(value: Any) -> str | None:
    if value is not None and type(value) is not str:
        raise ValueError("not a word")
    return value


def describe_fact(fact: Any) -> str:
    """Return a recorded fact as it is written, without its answer."""
    from pandas_blowfish.facts.declared import constraint_from_dict  # here: charging needs no numpy

    try:
        return constraint_from_dict(fact).describe()
    except (BlowfishError, *UNREADABLE):  # from before facts could be priced, or edited
        return str(fact)
