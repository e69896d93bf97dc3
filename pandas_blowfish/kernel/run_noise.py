"""Exact noise of neighbouring sums together: as unlikely as it needs many signed runs; never sees rows.

P(y) is proportional to exp(-N(y) / scale), N(y) the least number of signed runs of at most `reach` neighbours
that add up to y. What happens at each place comes from random bits and enclosed limits, how many runs are
opened together from exact geometric noise.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.run_chain import CUT, FARTHEST, FLIP, MAX_PLACES, NONE, RunChain, Step, chain_of
from pandas_blowfish.kernel.noise import check_scale, discrete_laplace, uniform_below

Integers = NDArray[np.int64]
BITS = 62  # of a uniform real that are revealed at a time
_SATURATION = 2**62
_SMALL = 2**50  # numbers of runs whose sums fit into 64 bits


def draw_runs(scale: Fraction, reach: int, sizes: Sequence[int]) -> Integers:
    """Draw lines of whole numbers with P(y) proportional to exp(-N(y) / scale), exactly, one after another.

    Args:
        scale: The noise scale; 0 means no noise.
        reach: How many neighbours a run holds at most.
        sizes: How long each line is; runs end with their line.

    Examples:
        >>> draw_runs(Fraction(0), 2, [2, 1])
        array([0, 0, 0])

    Proof note:
        Requires: `discrete_laplace` and `uniform_below` draw as their notes say.
        Ensures:  exactly the stated law, each number cut at +-2**62: as clamped sums are cut at less
                  (kernel/measure.py), that changes no released value. Lines are independent.
        Because:  steps have the probabilities of `Steps`, `_choose` taking the one whose interval holds a
                  uniform real; the geometric numbers are `_geometric`.
        Checked:  tests/kernel/test_run_noise.py::test_drawn_law_is_the_law_of_least_runs
    """
    if not 2 <= reach <= FARTHEST or any(not 0 <= size < MAX_PLACES for size in sizes):
        raise ArgumentError("reach", f"{reach} is not offered", allowed=f"2 to {FARTHEST}")
    if not check_scale(scale):
        return np.zeros(sum(sizes), dtype=np.int64)
    chain = chain_of(reach, scale)
    words = uniform_below(np.full(sum(sizes), 1 << BITS)).tolist()
    many = _geometric(scale, sum(sizes) * reach)
    lines, begin = [np.zeros(0, dtype=np.int64)], 0
    for size in sizes:
        steps = list(_walk(chain, words[begin : begin + size]))
        lines.append(_line(steps, many[begin * reach : (begin + size) * reach], reach))
        begin += size
    return np.concatenate(lines)


def _walk(chain: RunChain, words: Sequence[int]) -> Iterator[Step]:
    """Yield what happens at each place of a line, by the first bits of a uniform real each."""
    state = 0
    for place, word in enumerate(words):
        step = _choose(chain, state, len(words) - 1 - place, word)
        state = step.end
        yield step


def _choose(chain: RunChain, state: int, left: int, revealed: int) -> Step:
    """Return the step of a uniform real whose first bits are `revealed`, by revealing as many as it takes.

    Proof note:
        Requires: limits T[j] as `RunChain.limits` encloses them, at any number of bits.
        Ensures:  a real U gets the step j with T[j - 1] <= U < T[j], however close U is to a limit.
        Because:  U lies in [revealed, revealed + 1) over 2**bits: it is decided if no limit's enclosure
                  reaches into that, else by more bits of both; limits are irrational or 0 or 1, so with
                  probability 1 some number of bits decides.
        Checked:  tests/kernel/test_run_noise.py::test_ties_are_decided_as_the_real_number_would
    """
    leaving, bits = chain.steps.leaving[state], BITS
    while True:
        limits = chain.limits(state, left, bits)
        number = bisect_right(limits.upper, revealed)
        if number == len(limits.lower) or revealed < limits.lower[number]:
            return leaving[number]
        revealed = revealed << BITS | int(uniform_below(np.array([1 << BITS]))[0])
        bits += BITS


def _geometric(scale: Fraction, many: int) -> NDArray[np.object_] | Integers:
    """Draw independent u >= 0 with P(u) proportional to exp(-u / scale), however large: Python's if need be.

    Discrete Laplace noise is u or -1 - u. What is cut at 2**62 is that and a fresh u: u has no memory.
    """
    noise = discrete_laplace(scale, many)
    found = noise ^ (noise >> 63)
    if found.max(initial=0) < _SMALL:
        return found
    whole = found.astype(object)
    for cut in np.flatnonzero(np.abs(noise) >= _SATURATION):
        whole[cut] += _geometric(scale, 1)[0]
    return whole


@dataclass
class _Batch:
    """Runs that were opened together: where, and which geometric numbers of them are still open."""

    start: int
    numbers: list[int]


def _line(steps: Sequence[Step], geometric: NDArray[np.object_] | Integers, reach: int) -> Integers:
    """Return the line that steps and numbers of runs make; `reach` numbers are there for each place."""
    size, sign = len(steps), 1
    batches: deque[_Batch] = deque()
    starts, stops, signs, numbers, single = [], [], [], [], []

    def end(batch: _Batch, place: int) -> None:
        """End the last number of runs of a batch; with its first, one run more."""
        starts.append(batch.start)
        stops.append(place)
        signs.append(sign)
        numbers.append(batch.numbers.pop())
        single.append(not batch.numbers)

    def end_all(place: int) -> None:
        while batches:
            end_batch(place)

    def end_batch(place: int) -> None:
        batch = batches.popleft()
        while batch.numbers:
            end(batch, place)

    for place, step in enumerate(steps):
        if batches and batches[0].start + reach == place:
            end_batch(place)
        if step.kind in (NONE, FLIP):
            end_all(place)
            sign = -sign if step.kind == FLIP else sign
        if step.kind == CUT:
            while len(batches[0].numbers) == 1:
                end_batch(place)
            end(batches[0], place)
        elif step.kind != NONE:
            batches.append(_Batch(place, list(range(place * reach, place * reach + step.cuts + 1))))
    end_all(size)
    return _add_up(size, starts, stops, np.array(signs) * (geometric[numbers] + single))


def _add_up(
    size: int, starts: Sequence[int], stops: Sequence[int], many: NDArray[np.object_] | Integers
) -> Integers:
    """Return the sum of runs, each as often as stated, cut at +-2**62."""
    change = np.zeros(size + 1, dtype=many.dtype if len(many) else np.int64)
    np.add.at(change, starts, many)
    np.subtract.at(change, stops, many)
    found = np.clip(np.cumsum(change[:size]), -_SATURATION, _SATURATION)
    return np.asarray(found, dtype=np.int64)
