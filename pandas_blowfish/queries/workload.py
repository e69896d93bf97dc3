"""workload: any whole-number linear counting queries over cells. Touches no row itself."""

from __future__ import annotations

import hashlib
import itertools
import math
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, DomainTooLargeError
from pandas_blowfish.exact.number import epsilon_of
from pandas_blowfish.plan.linear.question import Queries
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.call.scope import Scope, ask, column_names, strategy_name

MAX_ENTRY = 2**31
MAX_ANSWERS = 10**7
MAX_SHOWN = 12  # labels that an error spells out
ALLOWED = "an array, lists, a DataFrame or a scipy sparse matrix of whole numbers, queries x cells"


def plan_workload(
    policy: Policy, matrix: Any, columns: Any, *, epsilon: Any, strategy: str, scope: Scope
) -> Plan:
    """Return the plan of linear queries; see `df.blowfish.workload`."""
    names = column_names(columns)
    spend, chosen = epsilon_of(epsilon), strategy_name(strategy)
    tally = scope.tally(policy, names, None)
    cells = math.prod(policy.domain[name].size for name in names)
    queries = read_matrix(_in_order(matrix, [policy.domain[name].index() for name in names]), cells)
    groups = tally.size // cells
    if groups * queries.shape[0] > MAX_ANSWERS:
        raise DomainTooLargeError(
            "this workload", groups * queries.shape[0], MAX_ANSWERS, fix="ask fewer queries, or fewer groups."
        )
    text, digest = describe_matrix(queries)
    asked = Queries(tally, queries, digest, len(scope.groups))
    query = {"verb": "workload", "columns": names, "matrix": text, "strategy": chosen}
    return ask(policy, [asked], spend, query={**query, **scope.facts()}, strategy=chosen)


def read_matrix(matrix: Any, cells: int) -> Any:
    """Return queries x cells as scipy sparse rows of int64 in their one canonical form.

    Args:
        matrix: What the caller gave, dense or sparse.
        cells: How many cells the columns have together.

    Examples:
        >>> read_matrix([[1, 0, 2.0]], 3).toarray().tolist()
        [[1, 0, 2]]
    """
    from scipy.sparse import csr_array, issparse

    if issparse(matrix):
        if len(matrix.shape) != 2:
            raise ArgumentError("matrix", "not two-dimensional", allowed=ALLOWED)
        found = matrix.tocoo()
        data, shape = _whole(found.data), found.shape
        rows = csr_array((data, (found.row, found.col)), shape=shape)
    else:
        dense = _dense(matrix)
        shape = dense.shape
        if len(shape) != 2:
            raise ArgumentError("matrix", "not two-dimensional", allowed=ALLOWED, fix="one query is [[...]].")
        rows = csr_array(_whole(dense))
    if shape[1] != cells:
        raise ArgumentError(
            "matrix",
            f"it has {shape[1]:,} columns",
            allowed=f"{cells:,}, one for each cell of the columns in C order, missing last of its column",
        )
    if not shape[0]:
        raise ArgumentError("matrix", "it has no queries", allowed=ALLOWED)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    rows.sort_indices()
    _whole(rows.data)  # what was given twice adds up
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


def describe_matrix(rows: Any) -> tuple[str, bytes]:
    """Return a canonical matrix in words for the ledger, and its sha256."""
    digest = hashlib.sha256(f"{rows.shape[0]} x {rows.shape[1]}".encode())
    for part in (rows.indptr, rows.indices, rows.data):
        digest.update(part.astype("<i8").tobytes())
    words = f"{rows.shape[0]:,} x {rows.shape[1]:,}, {rows.nnz:,} non-zeros"
    return f"{words}, sha256 {digest.hexdigest()}", digest.digest()


def _in_order(matrix: Any, labels: list[pd.Index[Any]]) -> Any:
    """Return a frame whose columns are named by cells with them in the cells' order; all else as it is.

    Columns numbered from 0 are taken by position.
    """
    cells = math.prod(len(each) for each in labels)
    if not isinstance(matrix, pd.DataFrame) or matrix.attrs.get("blowfish") or matrix.shape[1] != cells:
        return matrix  # read, or refused, as it is
    given = matrix.columns
    if isinstance(given, pd.RangeIndex) and (cells < 2 or given.step == 1) and given.start == 0:
        return matrix
    wanted = [_values(each) for each in labels]
    keys = list(itertools.product(*wanted))
    if given.nlevels == len(labels):
        levels = [_values(given.get_level_values(place)) for place in range(given.nlevels)]
        place = {key: number for number, key in enumerate(zip(*levels, strict=True))}
        if len(place) == cells and place.keys() == set(keys):
            return matrix.iloc[:, [place[key] for key in keys]]
    shown = list(labels[0] if len(labels) == 1 else pd.MultiIndex.from_product(labels))
    text = ", ".join(map(str, shown[:MAX_SHOWN])) + (", ..." if len(shown) > MAX_SHOWN else "")
    raise ArgumentError(
        "matrix",
        "the labels of its columns are not those of the cells",
        allowed=f"each of {text} once, in any order, or columns numbered from 0",
        fix="matrix.to_numpy() if its columns are in the cells' order.",
    )


def _values(labels: pd.Index[Any]) -> list[Any]:
    """Return labels as values that compare equal however they are kept; missing is None."""
    missing = labels.isna().tolist()
    return [None if gone else each for each, gone in zip(labels.tolist(), missing, strict=True)]


def _dense(matrix: Any) -> Any:
    """Return an array, lists or a frame as an array, refusing what holds no numbers."""
    if isinstance(matrix, pd.DataFrame):
        if matrix.attrs.get("blowfish"):
            raise ArgumentTypeError("matrix", "a protected or released frame", allowed=ALLOWED)
        matrix = matrix.to_numpy()
    if not isinstance(matrix, (np.ndarray, list, tuple)):
        raise ArgumentTypeError("matrix", "not a matrix", allowed=ALLOWED)
    try:
        return np.asarray(matrix)
    except (ValueError, TypeError, OverflowError):
        raise ArgumentTypeError(
            "matrix", "rows of different lengths, or no numbers", allowed=ALLOWED
        ) from None


def _whole(data: Any) -> Any:
    """Return numbers as int64, refusing fractions and what is too large."""
    kind = data.dtype.kind
    if kind == "O" and all(isinstance(each, int) for each in data.ravel().tolist()):
        kind = "i"  # whole numbers beyond 64 bits
    if kind not in "biuf":
        raise ArgumentTypeError("matrix", "it does not hold numbers", allowed=ALLOWED)
    if kind == "f" and not (np.isfinite(data).all() and (data == np.rint(data)).all()):
        raise ArgumentError(
            "matrix",
            "not all of its numbers are whole",
            allowed=ALLOWED,
            fix="multiply by a common denominator.",
        )
    if data.size and kind != "b" and max(int(data.max()), -int(data.min())) > MAX_ENTRY:
        raise ArgumentError("matrix", "its numbers are too large", allowed=f"-{MAX_ENTRY:,} to {MAX_ENTRY:,}")
    return data.astype(np.int64)
