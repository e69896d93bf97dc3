"""Keyed hashes by which changed rows are found: this module sees rows.

Whoever lacks the key, which is not in the ledger (`sealkey`), learns nothing from them.

A pandas frame is sealed twice, in one pass: in the order of its rows, which is quick to check again, and by
what does not depend on their order, which every engine can check (`spread`). Tables of other engines have the
second alone. Rows in another order pass by the second, unless the promise is about their order (a chain).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xxhash

from pandas_blowfish.count import fingerprint as spread
from pandas_blowfish.count.codes import Kept, room_for
from pandas_blowfish.count.encode import encoder
from pandas_blowfish.count.readers.pieces import Pieces
from pandas_blowfish.errors import EngineError, OutsideDomainError
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.exact.digest import seal_digest
from pandas_blowfish.policy.attribute import Attribute
from pandas_blowfish.policy.domain import Domain

CHUNK = 1 << 16
ANOTHER_ORDER = "these are the same rows in another order, which is"
UNKNOWN_ORDER = " (or the rows are in another order: an earlier version sealed them in their order alone)"
Frame = pd.DataFrame | Pieces
Seals = dict[str, Any]


def seal_rows(frame: Frame, domain: Domain, key: str, *, clip: bool) -> Seals:
    """Return keyed hashes of each declared column; refuse rows outside the domain.

    Codes, not storage, are hashed: a column read back as another dtype with the same values passes,
    and whatever could change an answer does not.

    Returns:
        `seal`, by column, of the rows in order (none for tables of other engines), `spread`, by column
        and of whole rows, whatever their order, and `count`, of the number of rows.

    Proof note:
        Requires: HMAC-SHA256 under a secret key cannot be distinguished from random digits.
        Ensures:  whoever has the digests and not the key learns nothing about the rows, not even whether a
                  guess of all of them is right.
        Because:  each digest ends in an HMAC under the dataset's own key; equal columns of two datasets have
                  different keys, and the parts of one dataset have different names.
        Checked:  tests/count/test_seal.py::test_a_guess_cannot_be_confirmed_without_the_key
    """
    attributes, mixed = list(domain), spread.Mixed(list(domain), key)
    ordered: dict[str, str] = {}
    if isinstance(frame, pd.DataFrame):
        hashers = [_hasher(key, each.name) for each in attributes]

        def hash_codes(at: int, codes: Ints) -> None:
            hashers[at].update(codes)

        seen = spread.fingerprint_part(frame, attributes, mixed, clip=clip, each=hash_codes)
        ordered = {
            each.name: _in_order(key, each.name, hasher)
            for each, hasher in zip(attributes, hashers, strict=True)
        }
    else:
        seen = spread.fingerprint(frame, attributes, mixed, clip=clip)
    if bad := [each.name for each, wrong in zip(attributes, seen.outside, strict=True) if wrong]:
        raise OutsideDomainError(bad)
    columns = {
        each.name: _digest(key, each.name, found)
        for each, found in zip(attributes, seen.columns, strict=True)
    }
    spread_of = {"columns": columns, "rows": _digest(key, "", [seen.rows]), "mixed": spread.BY_VALUE}
    return {"seal": ordered, "spread": spread_of, "count": _count(key, row_count(frame))}


def row_count(frame: Frame) -> int:
    """Return the number of rows."""
    return frame.rows if isinstance(frame, Pieces) else len(frame)


def find_change(
    frame: Frame,
    domain: Iterable[Attribute],
    binding: Mapping[str, Any],
    whole: Iterable[Attribute] = (),
    in_order: bool = False,
    kept: Kept | None = None,
) -> str:
    """Return what of a frame is not as it was sealed, in words; "" when all is.

    Args:
        frame: The rows.
        domain: The columns that are looked at.
        binding: What they were sealed as.
        whole: All declared columns, where it matters which values of several are in one row.
        in_order: Whether rows must also be in the order they were sealed in, where that is known.
        kept: Takes the codes that were found to be those that were sealed, so that they are read once.

    Proof note:
        Requires: the key is secret from whoever changes rows.
        Ensures:  rows that pass have, in the columns looked at, the cells that were sealed, and the same of
                  them together in one row, all but surely; in the same order too, where `in_order`. Codes
                  that are kept are, all but surely, those that were sealed.
        Because:  each column's cells are counted one by one, and whole rows by a keyed sum of their cells'
                  numbers below a prime, which two rows that exchange unequal values change. Kept are
                  the very codes that were hashed, and only where all hashes are those of the seal.
        Checked:  tests/count/test_seal.py::test_reordered_rows_pass_and_edited_ones_do_not,
                  tests/count/test_codes.py::test_kept_codes_are_those_that_are_read,
                  tests/count/test_codes.py::test_nothing_is_kept_of_rows_that_are_not_as_sealed
    """
    try:
        return _find_change(frame, list(domain), binding, list(whole), in_order=in_order, kept=kept)
    except EngineError as error:
        failed = error
    raise EngineError(failed.engine, "checked", failed.kind)


def _find_change(
    frame: Frame,
    attributes: list[Attribute],
    binding: Mapping[str, Any],
    whole: list[Attribute],
    *,
    in_order: bool,
    kept: Kept | None,
) -> str:
    if _count(binding["key"], row_count(frame)) != binding["count"]:
        return "the number of rows is"
    names = list(frame.columns)
    for each in attributes:
        if names.count(each.name) != 1:
            return f"the columns are (with {each.name!r} {names.count(each.name)} times)"
    read: Kept | None = None if kept is None else {}
    moved = _find_moved(frame, attributes, binding, read) if isinstance(frame, pd.DataFrame) else ""
    if isinstance(frame, pd.DataFrame) and binding["seal"] and not moved:
        if kept is not None:
            kept |= read or {}
        return ""
    if moved and binding.get("spread") is None:
        return f"the values of column {moved!r} are{UNKNOWN_ORDER}"
    found = _spread_otherwise(frame, attributes, binding, whole or attributes)
    return ANOTHER_ORDER if moved and in_order and not found else found


def _find_moved(
    frame: pd.DataFrame, attributes: Iterable[Attribute], binding: Mapping[str, Any], kept: Kept | None
) -> str:
    """Return the first column whose values are not, row by row, those that were sealed in order; else ""."""
    many, clip = len(frame), binding["outside"] == "clip"
    for each in attributes if binding["seal"] else ():
        hasher, read = _hasher(binding["key"], each.name), encoder(frame[each.name], each, clip=clip)
        room = None if kept is None else room_for(kept, each, many)
        for start in range(0, many, CHUNK):
            stop = min(start + CHUNK, many)
            codes = np.ascontiguousarray(read(start, stop))
            hasher.update(codes)
            if room is not None:
                room[start:stop] = codes
        if _in_order(binding["key"], each.name, hasher) != binding["seal"].get(each.name):
            return each.name
        if kept is not None and room is not None:
            kept[each.name] = room
    return ""


def is_same(frame: Frame, domain: Iterable[Attribute], binding: Mapping[str, Any]) -> bool:
    """Return whether rows are those that were sealed, whatever their order; of most others little is read.

    Proof note:
        Requires: `seal_rows`; the chance that two tables mix into the same numbers under a secret key.
        Ensures:  True for the same rows in any order and storage, and all but surely for no others (of an
                  older version's seals: in the same order).
        Because:  the number of rows, then one column, then all of them are compared with what was sealed.
        Checked:  tests/count/test_seal.py::test_same_rows_in_any_order
    """
    attributes, names = list(domain), list(frame.columns)
    if _count(binding["key"], row_count(frame)) != binding["count"]:
        return False
    if any(names.count(each.name) != 1 for each in attributes):
        return False
    if "spread" not in binding:
        return not find_change(frame, attributes, binding)
    parts = [attributes[:1], attributes] if len(attributes) > 1 else [attributes]
    return not any(_spread_otherwise(frame, part, binding, attributes) for part in parts)


def _spread_otherwise(
    frame: Frame, attributes: Sequence[Attribute], binding: Mapping[str, Any], whole: Sequence[Attribute]
) -> str:
    """Return what does not hold the cells, or the rows of cells, that it was sealed with."""
    known, key, pandas = binding.get("spread"), binding["key"], isinstance(frame, pd.DataFrame)
    if known is None:
        return "a table of another engine is (an earlier version sealed rows in their order alone)"
    together = (len(attributes) > 1 or pandas) and set(known["columns"]) == {each.name for each in whole}
    names = list(frame.columns)
    if together and (gone := [each.name for each in whole if names.count(each.name) != 1]):
        if len(attributes) > 1:
            return f"which values are in one row cannot be seen without column {gone[0]!r}: the columns are"
        together = False
    mixed = spread.Mixed(whole if together else [], key, by=known.get("mixed", spread.BY_LOT))
    seen = spread.fingerprint(frame, attributes, mixed, clip=binding["outside"] == "clip")
    for each, found in zip(attributes, seen.columns, strict=True):
        if _digest(key, each.name, found) != known["columns"].get(each.name):
            return f"the values of column {each.name!r} are"
    if together and _digest(key, "", [seen.rows]) != known["rows"]:
        return "which values are in one row is"
    return ""


def _digest(key: str, name: str, parts: Sequence[spread.Found]) -> str:
    hasher = _hasher(key, name)
    for part in (array for both in parts for array in both):
        hasher.update(np.ascontiguousarray(np.append(len(part), part).astype("<i8")))
    return seal_digest(key, "cells", name, hasher.hexdigest())


def _in_order(key: str, name: str, hasher: Any) -> str:
    return seal_digest(key, "rows in order", name, hasher.hexdigest())


def _count(key: str, rows: int) -> str:
    return seal_digest(key, "count", str(rows))


def _hasher(key: str, column: str) -> Any:
    """Return a hash keyed by the dataset's secret and the column's name."""
    secret = bytes.fromhex(key)
    hasher = xxhash.xxh3_128(seed=int.from_bytes(secret[:8], "big"))
    hasher.update(secret + column.encode())
    return hasher
