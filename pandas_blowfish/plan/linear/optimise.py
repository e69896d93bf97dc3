"""Numerical search for the rows that answer a workload best under a policy, on a lattice of whole numbers.

Never sees rows. Floats only propose what to measure: the sensitivity of the rounded rows is computed exactly
by who measures them. Results are kept by everything they depend on, on disk too where `BLOWFISH_CACHE` names
a folder.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.linear.bound import least_error
from pandas_blowfish.plan.linear.kept_rows import find_kept, keep
from pandas_blowfish.plan.linear.problem import LATTICE, MEMORY, Problem
from pandas_blowfish.plan.shape.one_thread import one_thread
from pandas_blowfish.plan.tables.weights import descend
from pandas_blowfish.progress import show_progress

VERSION = 1  # of what is found: to be raised where the search changes
STAGES = (
    (0.1, 100.0),
    (0.03, 200.0),
    (0.01, 400.0),
    (0.003, 1_000.0),
    (0.001, 2_000.0),
)  # how bent, and of which power
MOST, LEAST = 40, 12  # steps of one stage
EVENED = 3  # starts of which columns are made even
NEAR = 1.02  # times the least error that any method has: near enough
WORK = 2e9  # operations of the whole search, roughly: about 2 s at the largest size
LOOKED_AT = 5_000  # pairs that a stage looks at, besides those that turn out to change most
MANY = 1_000  # joined pairs, beyond which rows with even columns are taken as they are where all are joined
SPOILT = 1.01  # times the error of rows before they were rounded
GAIN = 1e-9  # of a step, below which a descent ends
MAX_CACHED = 64
_found: OrderedDict[bytes, Ints] = OrderedDict()


def optimise(
    gram: Floats,
    pairs: Ints,
    parts: Ints,
    starts: Sequence[Floats],
    queries: Ints | None = None,
    *,
    times: Floats | None = None,
    lattice: int = LATTICE,
    effort: int = 3,
) -> Ints:
    """Return whole-number rows over atoms with a small mean variance at equal noise.

    Minimised is trace(G C) s^2: G = W^T W of the queries, C the covariance of the best estimates from rows
    with unit variance, given the exact totals, and s the largest L1 change of the rows over an edge.
    The work is fixed by the sizes alone: no clock decides what is found. Starts are tried as they are and
    with columns of equal norms; from the best of these a descent follows the pairs of atoms that change
    most. Several hundred atoms take about two seconds, a dozen some milliseconds.

    Args:
        gram: G, atoms x atoms.
        pairs: Joined atoms; the number after the last stands for "absent".
        parts: For each atom the number of its exact total, -1 for none.
        starts: Rows to begin with, real numbers over atoms, each enough to answer all queries.
        queries: The queries as whole-number rows over atoms, where they are few enough to begin with, too.
        times: How often each pair's change counts; None for once.
        lattice: The largest change over an edge, in steps.
        effort: How many starts, and one more, are improved, the best of them so often in all, by stages of so
            many times 40 steps.

    Proof note:
        Requires: nothing: what is found is only a proposal.
        Ensures:  rows of whole numbers up to 2^31 that the queries are combinations of, unless they round to
                  too few.
        Because:  either they tell all atoms apart, or they are whole-number combinations of queries.
        Checked:  tests/plan/linear/test_optimise.py::test_rows_answer_the_queries
    """
    begun = [] if queries is None else [queries.astype(np.float64)]
    often = np.ones(len(pairs)) if times is None else times
    key = _key(np.array([VERSION, lattice, effort]), gram, pairs, parts, often, *starts, *begun)
    if key in _found:
        _found.move_to_end(key)
        return _found[key]
    rows = find_kept(key, len(parts))
    if rows is None or not _answers(rows, gram, parts):
        problem = Problem.of(gram, pairs, parts, often)
        with one_thread():
            found = _search(problem, [*starts, *begun], queries, least_error(gram, pairs), effort)
            rows = _rounded(found, lattice)
        rows = rows[np.abs(rows).sum(axis=1) > 0]
        keep(key, rows)
    _found[key] = rows
    while len(_found) > MAX_CACHED:
        _found.popitem(last=False)
    return rows


def _answers(rows: Ints, gram: Floats, parts: Ints) -> bool:
    """Return whether queries follow from rows and exact totals; kept rows may be anything."""
    totals = (parts == np.arange(int(parts.max(initial=-1)) + 1)[:, None]).astype(np.float64)
    size = np.sqrt((rows.astype(np.float64) ** 2).sum(axis=1, keepdims=True))
    whole = np.vstack([rows / np.maximum(size, 1.0), totals])
    rest = gram - gram @ np.linalg.pinv(whole, rcond=1e-7) @ whole
    return bool(np.abs(rest).max(initial=0.0) <= 1e-6 * np.abs(gram).max(initial=1.0))


@dataclass(frozen=True, eq=False)
class Tried:
    """Rows that were tried: their values in the coordinates of a problem, and the error of these."""

    problem: Problem
    values: Floats
    error: float

    @classmethod
    def of(cls, problem: Problem, values: Floats) -> Tried:
        """Return values scaled so that the largest change is 1, with their error."""
        scaled = problem.normalise(values)
        return cls(problem, scaled, problem.error(scaled))


def _search(
    problem: Problem, starts: Sequence[Floats], queries: Ints | None, least: float, effort: int
) -> list[Tried]:
    """Return what the most promising starts are, and what they lead to.

    Args:
        problem: What is minimised.
        starts: Rows over atoms.
        queries: What may be combined where a start does not tell all atoms apart; None for nothing.
        least: A lower bound of the error: nothing is looked for where a start is near it.
        effort: As for `optimise`.
    """
    begun: list[tuple[Tried, Floats]] = []
    # where not all atoms are told apart, rows are searched among those that tell no more than is asked
    narrow = None if queries is None else problem.narrow_to(queries)
    fewer = narrow is not None and narrow.basis is not None and narrow.basis.shape[1] < len(problem.gram)
    for start in starts:
        enough = not problem.deficient(start)
        if enough:
            begun.append((Tried.of(problem, problem.values(start)), start))
        if narrow is not None and (fewer or not enough):
            begun.append((Tried.of(narrow, narrow.values(start)), start))
    begun.sort(key=lambda each: each[0].error)
    if begun[0][0].error <= NEAR * least:
        return [each for each, _ in begun]
    tried, left = [each for each, _ in begun], WORK
    for each, start in begun[:EVENED]:
        work = MOST * each.problem.work(len(start), 0)
        if each.problem.base is None and work <= left / 3:
            left -= work
            tried.append(Tried.of(problem, problem.even_columns(start, MOST)))
    tried.sort(key=lambda each: each.error)
    if problem.complete and len(problem.one) > MANY:
        return tried  # of columns with equal norms nothing better is found
    costs = [len(STAGES) * used.problem.work(used.values.shape[1], _looked_at(used)) for used in tried]
    many = min(effort + 1, max(1, int((np.cumsum(costs) * LEAST <= left).sum())))
    steps = int(np.clip(left / (sum(costs[:many]) + (effort - 1) * costs[0]), LEAST, effort * MOST))
    best = tried[0]
    for number in show_progress(range(many + effort - 1), "searching query rows"):
        begin = tried[number] if number < many else best  # the best one is improved again
        tried.append(_improved(begin, steps))
        best = min(best, tried[-1], key=lambda each: each.error)
    return tried


def _rounded(found: Sequence[Tried], lattice: int) -> Ints:
    """Return the whole-number rows of what has the least error, unless rounding spoils it.

    Where queries leave some directions open, descent gives up rows that tell these, all but a little:
    rounded, the other rows are no combinations of queries any more.
    """
    best: tuple[float, Ints] | None = None
    for each in sorted(found, key=lambda each: each.error):
        rows = each.problem.whole_rows(each.values, lattice)
        error = Tried.of(each.problem, each.problem.values(rows.astype(np.float64))).error
        if best is None or error < best[0]:
            best = error, rows
        if error <= SPOILT * each.error:
            break
    assert best is not None
    return best[1]


def _looked_at(tried: Tried) -> int:
    return min(len(tried.problem.one), 2 * LOOKED_AT)


def _improved(tried: Tried, steps: int) -> Tried:
    """Return better values: a descent in ever sharper approximations of the largest change."""
    problem, best, now = tried.problem, tried, tried
    pairs = np.zeros(len(problem.one), dtype=bool)
    for bend, power in STAGES:
        pairs = problem.widest(now.values, pairs, LOOKED_AT)
        bent = bend / now.values.shape[1]
        smooth = partial(problem.smooth, bend=bent, power=power, some=np.flatnonzero(pairs))
        now = Tried.of(problem, descend(smooth, now.values, steps=steps, gain=GAIN, memory=MEMORY))
        best = min(best, now, key=lambda each: each.error)
    return best


def _key(*parts: Floats | Ints) -> bytes:
    """Return a digest of everything the result depends on."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{part.dtype} {part.shape}".encode())
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.digest()
