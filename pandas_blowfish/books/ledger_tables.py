"""A ledger as tables: its entries, and what remains to people in each part of a policy. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.books.log import UNREADABLE, body_of, parse_fraction
from pandas_blowfish.books.part_sums import REST, Part, Place, Sums
from pandas_blowfish.errors import BlowfishError, LedgerTamperedError
from pandas_blowfish.facts.later import policy_from
from pandas_blowfish.policy.graph.records import Block
from pandas_blowfish.policy.policy import Policy

COLUMNS = ["dataset", "kind", "time", "epsilon", "spent", "total", "name", "query", "columns", "strategy"]
COLUMNS += ["sensitivity", "scale", "checked", "reason", "repriced", "user", "analyst", "pool", "hash"]
WORDS = ("name", "strategy", "sensitivity", "scale", "checked")
ELSEWHERE = "elsewhere"
MOST_VALUES = 3  # of a component that are named; more are counted


def list_entries(rows: Sequence[tuple[Any, ...]]) -> pd.DataFrame:
    """Return stored entries as a table: see `Ledger.entries`."""
    columns = list(zip(*map(entry_row, rows), strict=True)) or [()] * len(COLUMNS)
    index = pd.Index([row[0] for row in rows], name="id", dtype="int64")
    return pd.DataFrame(dict(zip(COLUMNS, map(list, columns), strict=True)), index, dtype=object)


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
    elif "member" in body:
        query = f"{_word(body['member'])}, entry {int(body['entry'])}"
    elif "limit" in body:
        query = f"at most {parse_fraction(body['limit'])}"
    elif "fact" in body:
        query = describe_fact(body["fact"])
    if columns is not None and type(columns) is not list:
        raise ValueError("no columns")
    if costs is not None:
        costs = {int(each): cost for each, cost in costs.items() if parse_fraction(cost) is not None}
    cost, reason = None if epsilon is None else parse_fraction(epsilon), body.get("reason", closed)
    name, strategy, *measured = (_word(body.get(key)) for key in WORDS)
    binding = body.get("binding")
    pool = _word(binding.get("pool")) if isinstance(binding, dict) else None
    who = (_word(body.get("user")), _word(body.get("analyst")), pool)
    return cost, spent, total, name, query, columns, strategy, *measured, _word(reason), costs, *who


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


def list_parts(sums: Sums, total: Fraction, policy: str | None) -> pd.DataFrame:
    """Return one row for each combination of parts: `spent`, `remaining`, and the parts as the index.

    Args:
        sums: What people have lost.
        total: What they may lose.
        policy: The policy as the ledger has it; without it components are named by their first cells.
    """
    stated = None if policy is None else policy_from(policy, ())
    kept = list_places(sums, stated)
    rows = name_places(sums, kept, stated)
    lost = [sums.everyone + sums.places[place] for place in kept]
    index = pd.MultiIndex.from_tuples(rows, names=list(sums.named)) if sums.named else pd.Index(["everyone"])
    if len(sums.named) == 1:
        index = index.get_level_values(0)
    table = pd.DataFrame({"spent": lost, "remaining": [total - each for each in lost]}, index, dtype=object)
    return table.rename_axis("part") if not sums.named else table


def list_places(sums: Sums, policy: Policy | None) -> list[Place]:
    """Return the combinations of components that have sums, without those that nobody can be in."""
    whole = [len(cells) > _count(policy, block) for block, cells in sums.named.items()]
    return [
        place
        for place in sums.places
        if not any(cell == REST and all_named for cell, all_named in zip(place, whole, strict=True))
    ]


def name_places(sums: Sums, places: Sequence[Place], policy: Policy | None) -> list[tuple[str, ...]]:
    """Return what combinations are called, a name for each block of columns."""
    used = [dict.fromkeys(cells) for cells in zip(*places, strict=True)] or [{} for _ in sums.named]
    names = [_names(policy, block, list(cells)) for block, cells in zip(sums.named, used, strict=True)]
    return [tuple(own[cell] for own, cell in zip(names, place, strict=True)) for place in places]


def _count(policy: Policy | None, key: str) -> float:
    """Return how many components a block has."""
    block = _block(policy, key)
    return math.inf if block is None else int(block.graph.components.max(initial=-1)) + 1


def describe_part(policy: Policy, part: Part) -> dict[str, list[str]]:
    """Return a part by declared values, for people to read."""
    found = {key: _names(policy, key, cells) for key, cells in part.items()}
    return {key: list(names.values()) for key, names in found.items()}


def _names(policy: Policy | None, key: str, cells: Sequence[int]) -> dict[int, str]:
    """Return what each component of a block is called: its values, or some of many."""
    block = _block(policy, key)
    return {cell: ELSEWHERE if cell == REST else _name(policy, block, cell) for cell in cells}


def _block(policy: Policy | None, key: str) -> Block | None:
    blocks = () if policy is None else policy.graph.blocks
    return next((block for block in blocks if ", ".join(block.columns) == key), None)


def _name(policy: Policy | None, block: Block | None, cell: int) -> str:
    if policy is None or block is None:
        return f"cell {cell:,}"
    components = block.graph.components
    inside = np.flatnonzero(components == components[cell])
    codes = np.unravel_index(inside[:MOST_VALUES], block.sizes)
    labels = [policy.domain[column].index() for column in block.columns]
    values = [
        ", ".join(str(own[code]) for own, code in zip(labels, each, strict=True))
        for each in zip(*codes, strict=True)
    ]
    more = len(inside) - len(values)
    return " | ".join(values) + (f" and {more:,} more" if more else "")
