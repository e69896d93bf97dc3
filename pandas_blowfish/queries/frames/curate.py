"""draft and check: the curator's tools before protect. Touches no row itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.count import tally as count
from pandas_blowfish.count.readers import open_table
from pandas_blowfish.count.seal import row_count
from pandas_blowfish.count.units import count_rows
from pandas_blowfish.policy import schema
from pandas_blowfish.policy.attribute import Attribute, Values
from pandas_blowfish.queries.frames.protect import as_policy, check_arguments, list_keys

FEW_ROWS = 10  # numbers of rows per person that are listed one by one
_STEPS = tuple(each * 10**power for power in range(1, 6) for each in (2, 5, 10))


class Draft(str):
    """Schema code; shown once, by `draft`, not again by the notebook."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<draft of {self.count('pa.Column')} columns: printed above, str() has the code>"


class Checked(pd.DataFrame):
    """What `check` found, printed whole however narrow the terminal is."""

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def __repr__(self) -> str:
        return self.to_string()


def draft(frame: Any) -> Draft:
    """Print schema code for a frame, with blanks (`...`) where a person must state the bounds.

    Only names and dtypes are read: bounds taken from rows would be a leak.

    Returns:
        The code, as text.
    """
    table = open_table(frame)
    count.require_columns(table, [])
    dtypes = table.dtypes
    code = Draft(schema.draft({str(name): dtype for name, dtype in dtypes.items()}))
    print(str(code))
    return code


def check(frame: Any, policy: Any, *, outside: str = "error", unit: str | None = None) -> pd.DataFrame:
    """Return how many rows of each declared column are missing or outside its domain.

    Where columns have a value for all others (`other=`), also how many rows it is the value of.

    Then, for each public fact whose answer the policy states, whether the rows agree with it: else what
    was stated and what was counted, or of a marginal how many counts differ.
    A curator's tool: the counts are exact and private, keep them out of logs.

    Args:
        frame: The rows, protected or not, of any engine that `bf.protect` takes.
        policy: A policy or schema.
        outside: As `protect` takes it: with "clip" numbers beyond the bounds are not outside.
        unit: The column that names who a row is about: then the result has, for each `max_rows` that
            `protect` may be given, how many people have that many rows, how many have more, and how many
            rows would be kept and dropped. Choose it by what is public, never from this table alone.
    """
    promise = as_policy(policy)
    check_arguments(None, None, outside, unit)
    clip = outside == "clip"
    frame = open_table(frame)
    count.require_columns(frame, [])
    if unit is not None:
        count.require_unit_column(frame, unit)
        return _per_unit(count_rows(frame, unit))
    count.require_columns(frame, promise.open_columns)
    promise = list_keys(promise, frame, None)
    there = [name for name in promise.domain.columns if name in frame.columns]
    count.require_columns(frame, there)
    dtypes = frame.dtypes
    rows: list[tuple[Any, ...]] = []
    for attribute in promise.domain:
        if attribute.name not in there:
            rows.append((attribute.name, 0, 0, 0, 0, "absent from the frame", attribute.describe()))
            continue
        missing, beyond, unlisted = count.count_unplaced(frame, attribute, clip=clip)
        status = ["nullable=True, or fill"] * (missing > 0 and not attribute.nullable)
        status += [_advice(dtypes[attribute.name], attribute)] * (beyond > 0)
        counts = (row_count(frame), missing, beyond, unlisted)
        rows.append((attribute.name, *counts, "; ".join(status) or "ok", attribute.describe()))
    known = [fact for fact in promise.facts if fact.answer is not None]
    whole = [fact for fact in known if set(fact.columns) <= set(there)]
    found = {
        fact: _verdict(*both) for fact, *both in count.compare_facts(frame, promise.domain, whole, clip=clip)
    }
    for fact in known:
        shown = "a known count" if fact.condition is not None else f"{fact.counts:,} known counts"
        many = row_count(frame) if fact in found else 0
        rows.append((fact.text, many, 0, 0, 0, found.get(fact, "absent from the frame"), shown))
    rows = [(*row[:-1], row[-1] if len(row[-1]) <= 30 else f"{row[-1][:27]}...") for row in rows]
    columns = ["column", "rows", "missing", "outside", "other", "status", "declared"]
    checked = pd.DataFrame(rows, columns=columns).set_index("column")
    has_other = any(isinstance(each, Values) and each.other for each in promise.domain)
    return Checked(checked if has_other else checked.drop(columns="other"))


def _per_unit(counts: NDArray[np.int64]) -> pd.DataFrame:
    """Return what each number of rows per person would keep and drop, as far as somebody has more."""
    most = int(counts.max(initial=1))
    steps = [each for each in _STEPS if each < most]
    limits = pd.Index([*range(1, min(most, FEW_ROWS) + 1), *steps, *([most] if most > FEW_ROWS else [])])
    kept = np.array([int(np.minimum(counts, limit).sum()) for limit in limits])
    columns: dict[str, Any] = {
        "people": [int((counts == limit).sum()) for limit in limits],
        "with more": [int((counts > limit).sum()) for limit in limits],
        "rows kept": kept,
        "rows dropped": int(counts.sum()) - kept,
    }
    columns["share dropped"] = columns["rows dropped"] / max(int(counts.sum()), 1)
    return Checked(pd.DataFrame(columns, index=limits.rename("max_rows")))


def _verdict(stated: NDArray[np.int64], counts: NDArray[np.int64]) -> str:
    """Return whether counts are as stated: both where there is one, how many differ where there are more."""
    wrong = int((stated != counts).sum())
    if wrong and len(counts) == 1:
        return f"stated {int(stated[0]):,}, counted {int(counts[0]):,}"
    return f"{wrong:,} of {len(counts):,} counts differ" if wrong else "ok"


def _advice(dtype: Any, attribute: Attribute) -> str:
    """Return what to do about values outside a domain, from the column's storage alone."""
    axis = attribute.kind in ("integer", "float", "datetime")
    if axis and (pd.api.types.is_string_dtype(dtype) or isinstance(dtype, pd.CategoricalDtype)):
        read = "datetime" if attribute.kind == "datetime" else "numeric"
        return f'stored as text: pd.to_{read} converts it, with errors="coerce" what it cannot to missing'
    if axis and isinstance(dtype, pd.PeriodDtype):
        return "stored as periods: .dt.to_timestamp() makes them instants"
    if axis and getattr(dtype, "kind", "") == "m":
        return "stored as durations: .dt.total_seconds() makes them numbers"
    zones = [getattr(each, "tz", None) is None for each in (dtype, attribute)]
    if attribute.kind == "datetime" and zones[0] != zones[1]:
        return "one of schema and column has a time zone: tz_localize, or declare it"
    if axis:
        return 'widen the schema, fix the rows, or outside="clip"'
    fix = 'list the values in the schema, take others in one cell with bf.full(other="other"), or fix the '
    return f"{fix}rows (na_values= of read_csv turns marks into nulls)"
