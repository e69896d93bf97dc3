"""Linear: any whole-number rows over atoms with one noise, and exact totals. Never sees rows.

Behind the strategies `identity` (the atoms' counts), `direct` (the queries themselves) and `optimised` of a
workload.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.errors import ArgumentError, DomainTooLargeError
from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.linear.atoms import Atoms, indicator
from pandas_blowfish.plan.linear.estimator import Estimator, estimator
from pandas_blowfish.plan.protocol import OneTable
from pandas_blowfish.plan.query_rows import MAX_NONZEROS
from pandas_blowfish.plan.scales import Scales, variance
from pandas_blowfish.plan.tables.identity import PROOF_EXACT
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.policy.cells import Cells

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given
    from pandas_blowfish.plan.shape.solved import Solved

IDENTITY, DIRECT, OPTIMISED = "identity", "direct", "optimised"
MAX_DENSE = 768  # atoms, and rows, up to which all rows are used for every answer
MAX_PACKED = 1 << 26  # bytes of the numbers of rows that are kept
LIMIT = 2**61  # measured values are clamped to it, which brings neighbours no further apart
CLOSE = 1e-8  # of a query's largest number: by how much what is estimated may differ from what is asked
PROOF = (
    "{rows:,} rows of whole numbers over {atoms:,} sets of cells: a neighbouring table moves one row along "
    "one edge of the policy, which changes the measured rows by at most the sensitivity {sensitivity} in L1, "
    "the maximum over all edges, in whole numbers. Discrete Laplace noise of scale {scale} on each therefore "
    "loses at most epsilon = {epsilon}. Rows of scale 0 are totals that no edge changes: they are the same "
    "in all neighbouring tables and cost nothing. How the rows were found does not matter; estimates from "
    "them are post-processing."
)


@dataclass(frozen=True, eq=False)
class Linear(OneTable):
    """Rows over atoms with one scale, and the exact totals of atoms.

    Attributes:
        name: The strategy's name.
        tally: What is counted.
        index: The index of the answers.
        atoms: How cells are gathered, the queries and which atoms edges join.
        rows: Noisy rows x atoms, scipy sparse, int64.
        epsilon: What may be lost.
        way: How the rows are made again from the workload, as plain data; None where they must be kept.

    Proof note:
        Requires: `Links.change` as its note says.
        Ensures:  privacy loss <= epsilon, with equality where the links are just those of the policy.
        Because:  every noisy row has scale sensitivity / epsilon, a fraction; rows of scale 0 do not change.
        Checked:  tests/privacy/test_workload_loss.py::test_loss_of_random_workloads
    """

    name: str
    tally: Tally
    index: pd.Index[Any]
    atoms: Atoms
    rows: Any
    epsilon: Fraction
    way: Mapping[str, Any] | None = None

    @property
    def proof_id(self) -> str:
        """Return where PROOFS.md argues it."""
        return "linear"

    @cached_property
    def sensitivity(self) -> Fraction:
        """Return the largest L1 change of the noisy rows between neighbours."""
        return Fraction(self.atoms.links.change(self.rows))

    @property
    def scale(self) -> Fraction:
        """Return the noise scale of every row that is not exact."""
        return self.sensitivity / self.epsilon

    @cached_property
    def scales(self) -> Scales:
        """Return one scale a measured row: noisy rows, then exact totals."""
        codes = np.zeros(self.rows.shape[0] + self.atoms.links.totals, dtype=np.int8)
        codes[self.rows.shape[0] :] = 1
        return Scales([self.scale, Fraction(0)], codes)

    @property
    def proof(self) -> str:
        """Return the argument in one paragraph."""
        if self.sensitivity == 0:
            return PROOF_EXACT
        return PROOF.format(
            rows=self.rows.shape[0],
            atoms=self.atoms.count,
            sensitivity=self.sensitivity,
            scale=self.scale,
            epsilon=self.epsilon,
        )

    @property
    def form(self) -> dict[str, Any]:
        """Return how the rows are made again, or the rows themselves, as plain data."""
        if self.way is not None:
            return dict(self.way)
        return {"atoms": self.atoms.count, "rows": pack_rows(self.rows)}

    @cached_property
    def noise(self) -> float:
        """Return the variance of each noisy row."""
        return variance(self.scale)

    @cached_property
    def measured_atoms(self) -> NDArray[np.bool_] | None:
        """Tell which atoms are counted, where every row is the count of one; else None."""
        if self.name != IDENTITY:
            return None
        found = np.zeros(self.atoms.count, dtype=bool)
        found[self.rows.indices] = True
        return found

    @cached_property
    def whole(self) -> NDArray[np.bool_]:
        """Tell of which exact totals every atom is counted (with `measured_atoms`)."""
        found = np.ones(self.atoms.links.totals, dtype=bool)
        assert self.measured_atoms is not None
        parts = self.atoms.links.parts[~self.measured_atoms]
        found[parts[parts >= 0]] = False
        return found

    @cached_property
    def estimator(self) -> Estimator | None:
        """Return the best estimator of the atoms' counts.

        None where there are too many for dense algebra, or where it does not lead from rows to each query.
        """
        if not dense(self.atoms, self.rows.shape[0]):
            return None
        rows, exact = self.rows.toarray(), self.atoms.total_rows.toarray()
        own, queries = estimator(rows, np.ones(len(rows)), exact), self.atoms.queries.astype(np.float64)
        found = (queries @ own.fit) @ rows + (queries @ own.held) @ exact
        most = np.abs(asked := queries.toarray()).max(axis=1, initial=0.0)
        return own if (np.abs(found - asked).max(axis=1, initial=0.0) <= CLOSE * most).all() else None

    @property
    def enough(self) -> bool:
        """Tell whether every query can be answered from the measured rows."""
        if self.measured_atoms is not None:
            unknown = np.flatnonzero(self.atoms.needed & ~self.measured_atoms)
            return not self.atoms.queries.tocsc()[:, unknown].nnz
        return self.estimator is not None or not self._unmatched.any()

    @cached_property
    def _multiples(self) -> tuple[Ints, Ints]:
        return multiples(self.atoms.queries, self.rows)

    @property
    def _unmatched(self) -> NDArray[np.bool_]:
        return np.asarray(self.atoms.changing & (self._multiples[1] == 0))

    @property
    def single(self) -> tuple[Ints, Ints]:
        """Return for each answer the row that it is a multiple of, and the multiple (0 for an exact one)."""
        if self._unmatched.any():
            raise ArgumentError("strategy", f"{self.name!r} does not answer all queries", fix='"auto"')
        return self._multiples

    @cached_property
    def variances(self) -> Floats:
        """Return the variance of each answer before shape constraints."""
        found = self._unit() * self.noise
        found[~self.atoms.changing] = 0.0
        return np.maximum(found, 0.0)

    def _unit(self) -> Floats:
        """Return the variances of answers where each noisy row has variance 1."""
        queries, counted = self.atoms.queries, self.measured_atoms
        if counted is not None:
            real = queries.astype(np.float64)[:, np.flatnonzero(counted)]
            parts = self.atoms.links.parts[counted]
            shared = np.where(np.append(self.whole, False)[parts], parts, -1)
            inside = np.flatnonzero(shared >= 0)
            each = np.asarray(real.power(2).sum(axis=1)).ravel()
            if len(inside):
                sizes = np.bincount(shared[inside], minlength=self.atoms.links.totals).astype(float)
                sums = real @ indicator(shared, self.atoms.links.totals).T
                each = each - np.asarray(sums.power(2) @ (1 / np.maximum(sizes, 1.0))).ravel()
            return np.asarray(each, dtype=np.float64)
        if self.estimator is not None:
            return self.estimator.variances(queries.astype(np.float64))
        return np.asarray(self.single[1].astype(np.float64) ** 2)

    @cached_property
    def mse(self) -> float:
        """Return the mean variance of the answers."""
        return float(self.variances.mean())

    def apply(self, counts: Ints) -> Ints:
        """Return the exact value of every measured row, from the bins' counts, clamped to +-2^61."""
        held = self.atoms.counts(counts)
        return np.concatenate([multiply_rows(self.rows, held), self.atoms.totals(held)])

    def columns(self, cells: Cells) -> Any:
        """Return the columns of the matrix at some cells: those of their atoms."""
        bins = self.tally.bins_at(cells)
        atoms = np.where(bins < 0, self.atoms.count, self.atoms.of_bin[bins])
        return self._by_atom[:, np.where(atoms < 0, self.atoms.count, atoms)]

    @cached_property
    def _by_atom(self) -> Any:
        """Return the measured rows x atoms by column, and one more column of zeros."""
        from scipy.sparse import csc_array, hstack, vstack

        rows = vstack([self.rows, self.atoms.total_rows], format="csc").astype(np.int64)
        return hstack([rows, csc_array((rows.shape[0], 1), dtype=np.int64)], format="csc")

    def solve(self, values: Ints, *, post: bool | str, known: Given | None = None) -> Solved:
        """Return the answers: the unbiased ones, or the nearest of the right shape."""
        from pandas_blowfish.plan.linear.solve import from_rows  # here: solving needs the strategies

        return from_rows(self, values, post, known)

    def matrix(self) -> Any:
        """Return the measured rows as a sparse matrix over the cells, refused beyond 10^6 non-zeros."""
        from scipy.sparse import vstack

        rows = vstack([self.rows, self.atoms.total_rows], format="csr")
        bins = self.tally.labels()
        atoms = np.where(bins < 0, -1, self.atoms.of_bin[bins])
        each = np.bincount(atoms[atoms >= 0], minlength=self.atoms.count)
        most = int((np.diff(rows.tocsc().indptr) * each).sum())
        if most > MAX_NONZEROS:
            raise DomainTooLargeError(
                "the strategy's matrix", most, MAX_NONZEROS, fix="plan fewer cells to look at it."
            )
        return self.atoms.over_cells(rows, self.tally)


def dense(atoms: Atoms, rows: int) -> bool:
    """Tell whether atoms and rows are few enough for dense algebra."""
    return max(atoms.count, rows) <= MAX_DENSE


def multiply_rows(rows: Any, counts: Ints) -> Ints:
    """Return whole-number rows (scipy sparse) times counts, clamped to +-2^61.

    Proof note:
        Requires: nothing.
        Ensures:  every value is that of whole numbers without bounds, clamped; so no two tables are further
                  apart than in whole numbers.
        Because:  where the sum of absolute values is below 2^62 no 64 bits are exceeded; the others are
                  multiplied and added as Python integers. Clamping is 1-Lipschitz.
        Checked:  tests/plan/linear/test_atom_rows.py::test_large_numbers_do_not_wrap
    """
    rows = rows.tocsr()
    found = np.asarray(rows @ counts, dtype=np.int64)
    most = abs(rows.astype(np.float64)) @ np.abs(counts.astype(np.float64))
    for row in np.flatnonzero(most >= 2.0**62).tolist():
        part = slice(rows.indptr[row], rows.indptr[row + 1])
        pairs = zip(rows.data[part].tolist(), counts[rows.indices[part]].tolist(), strict=True)
        found[row] = max(-LIMIT, min(LIMIT, sum(number * count for number, count in pairs)))
    return np.clip(found, -LIMIT, LIMIT)


def multiples(queries: Any, rows: Any) -> tuple[Ints, Ints]:
    """Return for each query the row that it is a multiple of, and the multiple; (0, 0) for none.

    A query is a multiple where both are the same once divided by their common divisor and sign.
    """
    known, found = {}, np.zeros((queries.shape[0], 2), dtype=np.int64)
    for number, (key, factor) in enumerate(_primitives(rows)):
        known[key] = (number, factor)
    for number, (key, factor) in enumerate(_primitives(queries)):
        if key in known and factor % known[key][1] == 0:
            row, own = known[key]
            found[number] = row, factor // own
    return found[:, 0], found[:, 1]


def distinct(queries: Any) -> Any:
    """Return the rows that all queries are multiples of, each once, without zeros."""
    from scipy.sparse import csr_array

    seen: dict[bytes, int] = {}
    kept, factors = [], []
    for number, (key, factor) in enumerate(_primitives(queries)):
        if factor and key not in seen:
            seen[key] = number
            kept.append(number)
            factors.append(factor)
    rows = csr_array(queries[kept] if kept else queries[:0])
    rows.data = rows.data // np.repeat(np.array(factors, dtype=np.int64), np.diff(rows.indptr))
    return rows


def _primitives(rows: Any) -> Any:
    """Yield for each row of a sparse matrix what identifies it but for a factor, and the factor."""
    for begin, end in zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True):
        columns, data = rows.indices[begin:end], rows.data[begin:end]
        if not len(data):
            yield b"", 0
            continue
        factor = int(np.gcd.reduce(data)) * (1 if data[0] > 0 else -1)
        yield columns.astype("<i8").tobytes() + (data // factor).astype("<i8").tobytes(), factor


def pack_rows(rows: Any) -> dict[str, Any]:
    """Return a sparse matrix of whole numbers as plain data, compressed."""
    rows = rows.tocsr()
    rows.sort_indices()
    parts = (rows.indptr, rows.indices, rows.data)
    kept: dict[str, Any] = {"shape": list(rows.shape)}
    for name, part in zip(("begins", "columns", "numbers"), parts, strict=True):
        raw = np.diff(part, prepend=0) if name == "begins" else part
        kept[name] = base64.b85encode(zlib.compress(raw.astype("<i8").tobytes(), 9)).decode()
    return kept


def unpack_rows(kept: Mapping[str, Any]) -> Any:
    """Return the matrix that `pack_rows` described, refusing more numbers than any strategy keeps."""
    from scipy.sparse import csr_array

    begins, columns, numbers = (
        np.frombuffer(_inflate(base64.b85decode(kept[name])), dtype="<i8").astype(np.int64)
        for name in ("begins", "columns", "numbers")
    )
    return csr_array((numbers, columns, np.cumsum(begins)), shape=tuple(kept["shape"]))


def _inflate(packed: bytes) -> bytes:
    """Return compressed bytes as they were, up to a size."""
    reader = zlib.decompressobj()
    found = reader.decompress(packed, MAX_PACKED)
    if not reader.eof:
        raise ValueError("too many numbers, or no end of them")
    return found
