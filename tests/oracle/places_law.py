"""The exact law of picked quantiles: how much likelier any picks are in one of two tables of counts."""

import itertools
import math
from fractions import Fraction

import numpy as np

from oracle.selection_law import pick_law
from pandas_blowfish.count.tally import count_cells
from pandas_blowfish.kernel.nearest import place_scales, score_places

BASE = Fraction(7, 8)  # exp(-1 / longest scale), which the argument takes to be anything
LONG = 10  # how many times the shortest scale a step is long that goes into all


def common_scale(scales):
    """Return the least scale that is a whole number of times each of these."""
    longest = Fraction(math.lcm(*(scale.numerator for scale in scales)))
    return longest / math.gcd(*(scale.denominator for scale in scales))


def counts_of(plan, frame):
    """Return the counts that the kernel would take."""
    return count_cells(frame, plan.measurement.tallies, clip=False)


def choices_of(step, counts):
    """Return the scores of each choice, as lists."""
    scores = score_places(step.choices, step.apply(counts), step.targets)
    own = np.repeat(step.choices, step.targets.parts)
    return [scores[own == choice].tolist() for choice in range(len(step.targets.shares))]


def largest_ratio(plan, one, two, longest):
    """Return the largest ratio of the probabilities of any picks of all rounds; lines multiply."""
    worst = Fraction(1)
    rounds = len(plan.measurement.levels)

    def follow(values, ratio):
        nonlocal worst
        if len(values) == rounds:
            worst = max(worst, ratio)
            return
        step = plan.measurement.next_round(values)
        (scale,) = set(place_scales(step))
        power = longest / scale
        assert power.denominator == 1
        first, found = 0, []
        for mine, theirs in zip(choices_of(step, one), choices_of(step, two), strict=True):
            if mine == theirs:
                own = [(Fraction(1), first + at) for at in range(len(mine))]
                own = own if len(values) + 1 < rounds else own[:1]
            else:
                laws = [pick_law(each, BASE ** int(power)) for each in (mine, theirs)]
                own = [(a / b, first + at) for at, (a, b) in enumerate(zip(*laws, strict=True))]
            own = own if len(values) + 1 < rounds else [max(own)]  # the last: choices are independent
            found.append(own)
            first += len(mine)
        for picked in itertools.product(*found):
            follow(
                [*values, np.array([at for _, at in picked])],
                ratio * math.prod((each for each, _ in picked), start=Fraction(1)),
            )

    follow([], Fraction(1))
    return worst
