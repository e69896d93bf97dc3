"""Secrets as they were stated: one per block of columns, fitted to the domain and frozen. Never sees rows."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from pandas_blowfish.errors import ArgumentError, SecretError
from pandas_blowfish.exact.number import canonical, exact, plain
from pandas_blowfish.policy.attribute import MAX_CELLS, Values
from pandas_blowfish.policy.domain import Domain, read_step
from pandas_blowfish.policy.graph.joint import build_joint
from pandas_blowfish.policy.graph.records import Block
from pandas_blowfish.policy.secret import METRICS, build, fit, has_stand_in, keys_of

Columns = tuple[str, ...]
Secrets = dict[Columns, dict[str, Any]]
_KINDS = ("full", "threshold", "partition", "public", "edges")


def overrides_of(secrets: Any) -> Secrets:
    """Return stated secrets by tuples of columns, unwrapped from their metadata form."""
    if secrets is not None and not isinstance(secrets, Mapping):
        raise ArgumentError("secrets", "not a dict", allowed='{"age": bf.threshold(5), ...}')
    out: Secrets = {}
    for key, secret in (secrets or {}).items():
        columns = (key,) if isinstance(key, str) else tuple(key) if isinstance(key, (tuple, list)) else ()
        if not columns or not all(isinstance(column, str) for column in columns):
            raise ArgumentError("secrets", f"{key!r} is not a column", allowed="a name or a tuple of names")
        stated = secret.get("blowfish", secret) if isinstance(secret, Mapping) else None
        if not isinstance(stated, Mapping) or "secret" not in stated:
            fix = "write bf.full(), bf.threshold(...), ..."
            raise SecretError(", ".join(columns), "not a secret", fix=fix)
        out[columns] = dict(stated)
    return out


def cells_stated(overrides: Secrets, part: str) -> dict[str, Any]:
    """Return what overrides state of columns' cells: their "step", or the "other" of unlisted values."""
    return {keys[0]: secret[part] for keys, secret in overrides.items() if len(keys) == 1 and part in secret}


def merge(domain: Domain, own: Mapping[str, Mapping[str, Any]], overrides: Secrets) -> Secrets:
    """Return one plain secret per block: the overrides, and the columns' own for the rest."""
    taken = [column for columns in overrides for column in columns]
    for column in taken:
        domain[column]  # raises UndeclaredColumnError
    if len(set(taken)) != len(taken):
        raise SecretError(None, "a column is in two blocks", fix="name each column in one secret.")
    for column, other in cells_stated(overrides, "other").items():
        known = domain[column]
        if not (isinstance(known, Values) and known.other and known.values[-1] == other):
            fix = "leave other= out of the override, or state it beside the listed values."
            raise SecretError(column, "its cells have another other=, or none", fix=fix)
    for column, step in cells_stated(overrides, "step").items():
        attribute = domain[column]
        if read_step(attribute.kind, step) != getattr(attribute, "step", None):
            fix = "leave step= out of the override."
            raise SecretError(column, "its cells have another step, or none", fix=fix)
    merged = dict(overrides) | {
        (column,): dict(own[column]) for column in domain.columns if column not in taken
    }
    place = {column: rank for rank, column in enumerate(domain.columns)}
    ordered = sorted(merged.items(), key=lambda item: place[item[0][0]])
    return {columns: _fitted(secret, columns, domain) for columns, secret in ordered}


def blocks_of(domain: Domain, secrets: Mapping[Columns, Mapping[str, Any]]) -> dict[Columns, Block]:
    """Return the graph of each block whose columns have cells enough to count, and not too many."""
    blocks: dict[Columns, Block] = {}
    for columns, secret in secrets.items():
        attributes = tuple(domain[column] for column in columns)
        if not all(a.bounded and a.size <= MAX_CELLS for a in attributes):
            continue
        if len(columns) == 1:
            blocks[columns] = Block(columns, build(secret, attributes[0]))
        else:
            graph, shape = build_joint(secret, attributes, attributes), tuple(a.size for a in attributes)
            blocks[columns] = Block(columns, graph, shape, secret, attributes)
    return blocks


def require_same_keys(secrets: Mapping[Columns, Mapping[str, Any]], **stated: Any) -> None:
    """Refuse keys from rows where they need not be the same in all neighbouring tables, or nothing is proved.

    Proof note:
        Requires: a column whose keys come from rows is public, and the keys are those of all rows, before any
                  are left out of people with too many.
        Ensures:  neighbouring tables have the same keys, so that reading them reveals nothing that the policy
                  does not, also once facts are recorded later.
        Because:  without presence neighbours have the same rows, which move along edges or, where facts are
                  touched, anywhere in the closure; both leave public columns as they are. With presence a
                  row that alone has a key takes it away. Groups of a partition are left by moves of the
                  closure: they are not read from rows at all, their totals are exact and free instead.
        Checked:  tests/privacy/test_keys.py::test_neighbours_have_the_same_keys
    """
    open_ = [columns[0] for columns, secret in secrets.items() if "keys" in secret]
    if not open_:
        return
    if stated["presence"]:
        fix = "presence=False, or list the values that the column may have, with other= for more."
        why = "a row that is not there takes its key away, so that keys would reveal who is"
        raise SecretError(open_[0], f'keys="rows" and presence=True: {why}', fix=fix)
    if stated["aggregates"] or stated["chain"] is not None:
        what = 'keys="rows", and nothing is proved of it under a secret total or a chain'
        raise SecretError(open_[0], what, fix="list the values that the column may have.")


def neighbors_of(neighbors: Any) -> str | int:
    """Return how many blocks one neighbour may change, or raise."""
    if isinstance(neighbors, numbers.Integral) and not isinstance(neighbors, bool) and int(neighbors) >= 1:
        return int(neighbors)
    if not isinstance(neighbors, str) or neighbors not in ("record", "attribute"):
        raise ArgumentError("neighbors", "unknown", allowed='"record", "attribute" or a positive integer')
    return neighbors


def freeze(value: Any) -> Any:
    """Return plain data that cannot be changed: read-only mappings and tuples."""
    if isinstance(value, Mapping):
        return MappingProxyType({key: freeze(item) for key, item in value.items()})
    return tuple(freeze(item) for item in value) if isinstance(value, (list, tuple)) else value


def thaw(value: Any) -> Any:
    """Return frozen data as plain dicts and lists again."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    return [thaw(item) for item in value] if isinstance(value, (list, tuple)) else value


def _fitted(secret: Mapping[str, Any], columns: Columns, domain: Domain) -> dict[str, Any]:
    try:
        if len(columns) == 1:
            return fit(secret, domain[columns[0]])
    except ArgumentError as error:
        raise SecretError(columns[0], str(error), fix="see help(bf.threshold), help(bf.partition).") from None
    name = ", ".join(columns)
    if secret["secret"] not in _KINDS or secret.get("metric", "l1") not in METRICS:
        raise SecretError(name, "several columns cannot share it", fix=f"one of {', '.join(_KINDS)}.")
    if unknown := set(secret) - {"step", "other", *keys_of(secret["secret"])}:
        problem = f"{secret['secret']} takes no {', '.join(sorted(map(str, unknown)))}"
        raise SecretError(name, problem, fix="leave it out.")
    if has_stand_in(secret):
        fix = 'say "public" or "protected", or give the column that may be missing a secret of its own.'
        raise SecretError(name, f"missing={secret['missing']!r} for several columns", fix=fix)
    for part in ("step", "other", "keys"):
        if part in secret:
            fix = f"state {part}= in each column's metadata."
            raise SecretError(name, f"{part}= belongs to one column", fix=fix)
    out = {str(key): canonical(thaw(value)) for key, value in secret.items()}
    if isinstance(out.get("theta"), str):  # 5, 5.0 and "5" are one theta
        with suppress(ArgumentError):
            out["theta"] = plain(exact(out["theta"]))
    return out
