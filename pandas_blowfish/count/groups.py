"""Groups of rows that an engine counts, to the cells of each group: this module sees rows.

An engine groups rows by what it stores, or roughly by stretches of numbers, and gives the least and the
greatest value of each group. Only `encode` decides about cells: a group whose least and greatest value share
one is all in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.count.encode import encoder
from pandas_blowfish.count.readers.batches import ArrowTable
from pandas_blowfish.count.readers.pieces import Key
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.policy.attribute import Attribute, Grid, Values

MOST = 1 << 16  # groups that may come back
Groups = tuple[dict[str, Ints], Ints]  # the codes of each column by group, and the rows of each group


def group_cells(table: Any, attributes: Sequence[Attribute], *, clip: bool) -> Groups | None:
    """Return the cells of groups of rows, and how many rows each has; None where batches must be read.

    Args:
        table: The rows.
        attributes: The columns; one at least.
        clip: Put numbers beyond the bounds into the nearest cell.

    Proof note:
        Requires: an engine's least and greatest value of a group are those of its rows; null and NaN are
                  grouped with no number, or are its greatest value.
        Ensures:  every row of a group has the codes of the group, as `encode` gives them.
        Because:  values of one group are equal, or lie between two of one code: codes of a grid never fall as
                  numbers grow, and what has none lies on one side of the bounds.
        Checked:  tests/count/test_groups.py::test_groups_have_the_codes_of_their_rows
    """
    own = {each.name: each for each in attributes}
    if not own or not isinstance(table, ArrowTable):
        return None
    keys = [_key(table, each) for each in own.values()]
    known = [key for key in keys if key is not None]
    if len(known) < len(keys) or math.prod(key.many + 3 for key in known) > MOST:
        return None
    groups = table.group(known, MOST)
    if groups is None:
        return None
    codes = {}
    for at, (key, each) in enumerate(zip(known, own.values(), strict=True)):
        found = _codes(groups[f"least {at}"], each, clip=clip)
        if key.step and not _is_sure(groups, at, found, each, clip=clip):
            return None
        codes[each.name] = found
    return codes, groups["rows"].to_numpy(dtype=np.int64)


def _key(table: ArrowTable, attribute: Attribute) -> Key | None:
    """Return by what rows are grouped for a column; None where groups would be too many, or too rough."""
    from pyarrow import types

    kind = table.schema.field(attribute.name).type
    if isinstance(attribute, Values):
        return Key(attribute.name, many=attribute.size)
    if not isinstance(attribute, Grid):
        return None
    if attribute.kind == "integer" and types.is_integer(kind):
        return Key(attribute.name, many=int(attribute.high - attribute.low) + 1)
    low, high, step = float(attribute.low), float(attribute.high), float(attribute.step)
    if attribute.kind == "float" and types.is_float64(kind) and max(abs(low), abs(high)) < step * MOST:
        return Key(attribute.name, low, step, attribute.cells)
    return None


def _codes(values: pd.Series[Any], attribute: Attribute, *, clip: bool) -> Ints:
    return encoder(values, attribute, clip=clip)(0, len(values))


def _is_sure(groups: pd.DataFrame, at: int, codes: Ints, attribute: Attribute, *, clip: bool) -> bool:
    """Return whether all rows of each group have the code of its least value."""
    assert isinstance(attribute, Grid)
    same = codes == _codes(groups[f"greatest {at}"], attribute, clip=clip)
    least, greatest = (
        groups[f"{end} {at}"].to_numpy(dtype=np.float64, na_value=np.nan) for end in ("least", "greatest")
    )
    beyond = (greatest <= float(attribute.low)) | (least >= float(attribute.high)) | np.isnan(least)
    return bool((same & ((codes >= 0) | beyond)).all())
