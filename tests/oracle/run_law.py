"""The law of a noise of least runs, in fractions, by enumeration: slow and plain."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from pandas_blowfish.exact.run_chain import FLIP, NONE, OPEN, Step, Steps
from pandas_blowfish.kernel.run_noise import _line


def all_runs(places: int, reach: int) -> np.ndarray:
    """Return every run of at most `reach` neighbours as a row of ones and zeros."""
    return np.array(
        [
            [int(start <= at < stop) for at in range(places)]
            for start in range(places)
            for stop in range(start + 1, min(start + reach, places) + 1)
        ]
    )


def by_distance(places: int, reach: int, most: int, far: int) -> dict[tuple[int, ...], int]:
    """Return how many signed runs lead from nothing to each point of a box, searching a wider one."""
    runs = [tuple(run) for run in all_runs(places, reach).tolist()]
    steps = [*runs, *(tuple(-each for each in run) for run in runs)]
    found, edge = {(0,) * places: 0}, [(0,) * places]
    while edge:
        new = []
        for point, step in itertools.product(edge, steps):
            there = tuple(a + b for a, b in zip(point, step, strict=True))
            if there not in found and max(map(abs, there)) <= far:
                found[there] = found[point] + 1
                new.append(there)
        edge = new
    return {point: many for point, many in found.items() if max(map(abs, point)) <= most}


def weights_of(steps: Steps, a, places: int) -> list[list]:
    """Return the weight of each state by the number of places that follow, in the numbers that `a` is of."""
    by_kind = {NONE: 1 - a, OPEN: a, FLIP: a}
    levels = [[1 - a * 0, *[a * 0] * (len(steps.states) - 1)]]
    for _ in range(places):
        levels.append(
            [
                sum(by_kind.get(each.kind, 1) * levels[-1][each.end] for each in leaving)
                for leaving in steps.leaving
            ]
        )
    return levels


def probabilities(steps: Steps, a, levels: list[list], state: int, left: int) -> list:
    """Return the probability of each step from a state."""
    by_kind = {NONE: 1 - a, OPEN: a, FLIP: a}
    return [
        by_kind.get(each.kind, 1) * levels[left][each.end] / levels[left + 1][state]
        for each in steps.leaving[state]
    ]


def paths(steps: Steps, a: Fraction, places: int) -> Iterator[tuple[Fraction, list[Step]]]:
    """Yield every possible sequence of steps, with its probability."""
    levels = weights_of(steps, a, places)

    def walk(state: int, left: int, odds: Fraction, taken: list[Step]) -> Iterator:
        if left < 0:
            yield odds, taken
            return
        own = probabilities(steps, a, levels, state, left)
        for step, share in zip(steps.leaving[state], own, strict=True):
            if share:
                yield from walk(step.end, left - 1, odds * share, [*taken, step])

    yield from walk(0, places - 1, Fraction(1), [])


def drawn_law(reach: int, places: int, a: Fraction, most: int) -> dict[tuple[int, ...], Fraction]:
    """Return what the sampler draws, point by point of a box: all steps, and all numbers of runs."""
    found: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for odds, taken in paths(Steps.of(reach), a, places):
        own = [
            place * reach + number
            for place, step in enumerate(taken)
            if step.kind in (OPEN, FLIP)
            for number in range(step.cuts + 1)
        ]
        for many in itertools.product(range(most + 1), repeat=len(own)):
            numbers = np.zeros(places * reach, dtype=np.int64)
            numbers[own] = many
            y = tuple(_line(taken, numbers, reach).tolist())
            if max(map(abs, y)) <= most:
                found[y] += odds * (1 - a) ** len(own) * a ** sum(many)
    return found
