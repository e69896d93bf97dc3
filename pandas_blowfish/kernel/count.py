"""Frames to integer counts and seals, a chunk at a time: this module sees rows."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xxhash
from numpy.typing import NDArray

from pandas_blowfish.errors import FrameError, OutsideDomainError
from pandas_blowfish.kernel.encode import MISSING, OUTSIDE, Ints, encoder
from pandas_blowfish.plan.workload import Tally
from pandas_blowfish.policy.attribute import Attribute
from pandas_blowfish.policy.domain import Domain

CHUNK = 1 << 15


def tally(frame: pd.DataFrame, asked: Tally, *, clip: bool) -> Ints:
    """Return how many rows lie in each bin, in C order.

    A row outside every bin, or (against the seal) outside the domain, is counted nowhere: no error
    depends on rows.
    """
    if not asked.binnings:
        return np.array([len(frame)], dtype=np.int64)
    size = asked.size
    counts = np.zeros(size + 1, dtype=np.int64)  # the last slot takes what no bin counts
    readers = [encoder(frame[b.attribute.name], b.attribute, clip=clip) for b in asked.binnings]
    plain = len(readers) == 1 and asked.binnings[0].labels is None
    step = int(np.clip(size, CHUNK, 1 << 24))  # a large table is filled by fewer, larger passes
    for start in range(0, len(frame), step):
        stop = min(start + step, len(frame))
        codes = readers[0](start, stop)
        if not plain:
            codes = _combine(asked, readers, start, stop)
        if len(codes) and int(codes.min()) < 0:
            codes = np.where(codes < 0, size, codes)
        found = np.bincount(codes, minlength=size + 1)
        counts += found
    return counts[:size]


def seal(frame: pd.DataFrame, domain: Domain, key: str, *, clip: bool) -> dict[str, str]:
    """Return a keyed hash of each declared column's cell codes; refuse rows outside the domain.

    Codes, not storage, are hashed: a column read back as another dtype with the same values passes,
    and whatever could change an answer does not.
    """
    outside, found = [], {}
    for attribute in domain:
        hasher = _hasher(key, attribute.name)
        bad = False
        for codes in _codes(frame, attribute, clip=clip):
            if attribute.bounded and len(codes) and int(codes.min()) < 0:
                bad = True
            hasher.update(codes)
        if bad:
            outside.append(attribute.name)
        found[attribute.name] = hasher.hexdigest()
    if outside:
        raise OutsideDomainError(outside)
    return found


def unsealed(frame: pd.DataFrame, domain: Iterable[Attribute], binding: dict[str, Any]) -> str:
    """Return what of a frame is not as it was sealed, in words; "" when all is."""
    if len(frame) != binding["rows"]:
        return "the number of rows is"
    for attribute in domain:
        if attribute.name not in frame.columns:
            return f"the columns are (without {attribute.name!r})"
        hasher = _hasher(binding["key"], attribute.name)
        for codes in _codes(frame, attribute, clip=binding["outside"] == "clip"):
            hasher.update(codes)
        if hasher.hexdigest() != binding["seal"][attribute.name]:
            return f"the values of column {attribute.name!r} are"
    return ""


def new_key() -> str:
    """Return a random key for the seals of one dataset."""
    return secrets.token_hex(32)


def rows(frame: pd.DataFrame) -> int:
    """Return the number of rows."""
    return len(frame)


def same_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame that shares the rows and has attrs of its own."""
    return frame.copy(deep=False)


def require_columns(frame: object, names: Sequence[str]) -> None:
    """Refuse what is not a frame with each named column once."""
    if not isinstance(frame, pd.DataFrame):
        raise FrameError("not a pandas DataFrame", fix="give a DataFrame.")
    if isinstance(frame.columns, pd.MultiIndex):
        raise FrameError("the columns have several levels", fix="flatten them to plain names.")
    absent = [name for name in names if name not in frame.columns]
    if absent:
        raise FrameError(f"declared columns are not in the frame: {', '.join(absent)}", columns=absent, fix="add them.")
    twice = [name for name in names if list(frame.columns).count(name) > 1]
    if twice:
        raise FrameError(f"columns occur twice: {', '.join(twice)}", columns=twice, fix="give each its own name.")


def require_unit(frame: pd.DataFrame, unit: str) -> None:
    """Refuse a frame in which one unit has several rows, or a row has none."""
    require_columns(frame, [unit])
    if frame[unit].isna().any() or not frame[unit].is_unique:
        raise FrameError(
            f"the unit column {unit!r} repeats or is missing somewhere",
            columns=[unit],
            fix="keep one row a unit; r rows a unit would multiply epsilon by r.",
        )


def check(frame: pd.DataFrame, domain: Domain) -> pd.DataFrame:
    """Return, column by column, how many rows are missing or outside: for the curator only."""
    require_columns(frame, [name for name in domain.columns if name in frame.columns])
    rows = []
    for attribute in domain:
        if attribute.name not in frame.columns:
            rows.append((attribute.name, attribute.describe(), 0, 0, 0, "absent from the frame"))
            continue
        missing = refused = outside = 0
        for codes in _codes(frame, attribute, clip=False):
            if attribute.bounded:
                refused += int((codes == MISSING).sum())
                outside += int((codes == OUTSIDE).sum())
                missing += int((codes == attribute.cells).sum()) if attribute.nullable else 0
        fixes = ["nullable=True, or fill"] * bool(refused) + ["widen the schema, mend the rows, or clip"] * bool(outside)
        rows.append((attribute.name, attribute.describe(), len(frame), missing + refused, outside, "; ".join(fixes) or "ok"))
    columns = ["column", "declared", "rows", "missing", "outside", "status"]
    return pd.DataFrame(rows, columns=columns).set_index("column")


def _codes(frame: pd.DataFrame, attribute: Attribute, *, clip: bool) -> Iterator[Ints]:
    """Yield a column's codes chunk by chunk, contiguous."""
    read = encoder(frame[attribute.name], attribute, clip=clip)
    for start in range(0, len(frame), CHUNK):
        yield np.ascontiguousarray(read(start, min(start + CHUNK, len(frame))))


def _combine(asked: Tally, readers: Sequence[Any], start: int, stop: int) -> Ints:
    """Return one bin number a row, by Horner's rule; negative where some column has none."""
    joint = np.zeros(stop - start, dtype=np.int64)
    outside: NDArray[np.bool_] = np.zeros(stop - start, dtype=bool)
    for binning, read in zip(asked.binnings, readers, strict=True):
        codes = read(start, stop)
        if binning.labels is not None:
            codes = np.append(binning.labels, -1)[np.maximum(codes, -1)]
        if len(codes) and int(codes.min()) < 0:
            outside |= codes < 0
        joint = joint * binning.bins + codes
    return np.where(outside, -1, joint)


def _hasher(key: str, column: str) -> Any:
    """Return a hash keyed by the dataset's secret and the column's name."""
    secret = bytes.fromhex(key)
    hasher = xxhash.xxh3_128(seed=int.from_bytes(secret[:8], "big"))
    hasher.update(secret + column.encode())
    return hasher
