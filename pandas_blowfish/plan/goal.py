"""Accuracy first: the smallest short decimal epsilon at which a question is planned well enough.

Never sees rows, spends nothing: the question is planned again at a few epsilons.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError
from pandas_blowfish.exact.instant import span_ns
from pandas_blowfish.exact.number import exact

if TYPE_CHECKING:
    from pandas_blowfish.plan.plan import Plan

UNIT = 100  # the result has three significant digits
STEPS = 9 * UNIT  # such decimals between a power of ten and the next
FIRST, LAST = -30 * STEPS, 12 * STEPS  # epsilons from 10^-30 to 10^12 are looked at
MAX_SCALE = 2**50  # of noise that can be drawn, as in kernel/noise.py
STEEPEST, FLATTEST = -50.0, -0.2  # slopes of log error over log epsilon that a guess goes by; usually -1
MAX_TRIES = 400  # far more than halving all epsilons needs
ALLOWED = "a positive number, such as rmse=10"


@dataclass(frozen=True)
class Goal:
    """One thing that may be at most so much.

    Attributes:
        name: The argument: rmse, std or distortion.
        most: What it may be at most.
    """

    name: str
    most: float

    def value(self, plan: Plan) -> float:
        """Return how large it is in a plan."""
        if self.name == "distortion":
            return math.nan if plan.distortion is None else float(plan.distortion)
        return float(plan.mse**0.5 if self.name == "rmse" else plan.std.max(initial=0.0))


def epsilon_for(plan: Plan, *, rmse: Any = None, std: Any = None, distortion: Any = None) -> Fraction:
    """Return the smallest decimal of three digits that meets all goals; see `Plan.epsilon_for`.

    Where the error does not fall steadily with epsilon (a clustering is counted more finely the more epsilon
    there is), it meets the goals and the next smaller decimal does not.
    """
    given = {"rmse": rmse, "std": std, "distortion": distortion}
    goals = [_goal(plan, name, most) for name, most in given.items() if most is not None]
    if not goals:
        raise ArgumentError("rmse", "no goal is given", allowed=ALLOWED)
    if plan.members:
        problem = "several statistics have errors in units of their own"
        raise ArgumentError(goals[0].name, problem, fix="ask for one of them, and give the others as much.")
    for goal in goals:
        _known(plan, goal)
    if not plan.sensitivity:
        if missed := next((goal for goal in goals if goal.value(plan) > goal.most), None):
            problem = f"the counts are exact already, and {missed.name} is {missed.value(plan):.3g}"
            raise ArgumentError(missed.name, problem, fix="no epsilon changes that: ask for more.")
        return plan.epsilon
    for goal in goals:
        if not goal.most:
            raise ArgumentError(goal.name, "an answer with noise is never exact", allowed=ALLOWED)

    def missed_by(index: int) -> float:
        return _missed_by(plan.again(decimal(index)), goals)

    found = _smallest(missed_by, (_log(plan.epsilon), _missed_by(plan, goals)))
    if found is None:
        far = plan.again(decimal(LAST))
        goal = max(goals, key=lambda each: _log_ratio(each.value(far), each.most))
        problem = f"no epsilon leads to {goal.most:,.4g}; {goal.value(far):,.4g} is about the least"
        raise ArgumentError(goal.name, problem, fix="ask for more than that.")
    return decimal(found)


def decimal(index: int) -> Fraction:
    """Return a decimal of three significant digits by its number: 0 is 1, 1 is 1.01, -1 is 0.999.

    Examples:
        >>> [float(decimal(index)) for index in (-900, -1, 0, 1, 899, 900)]
        [0.1, 0.999, 1.0, 1.01, 9.99, 10.0]
    """
    power, digits = divmod(index, STEPS)
    return Fraction(UNIT + digits, UNIT) * (Fraction(10**power) if power >= 0 else Fraction(1, 10**-power))


def _index(log: float) -> int:
    """Return the number of the decimal at or above exp(log), up to rounding."""
    power = math.floor(log / math.log(10))
    digits = math.exp(log - power * math.log(10)) * UNIT
    return min(max(power * STEPS + math.ceil(digits - 1e-9) - UNIT, FIRST), LAST)


def _smallest(missed_by: Callable[[int], float], start: tuple[float, float]) -> int | None:
    """Return the number of a decimal that meets the goals while the one below does not; None without any.

    Args:
        missed_by: How far the goals are missed at a decimal, as a logarithm; met at 0 and below.
        start: The logarithm of an epsilon, and how far it misses: where to begin.
    """
    points = [start]  # of log epsilon and log error, the latest last
    low: int | None = None  # the largest decimal known to miss, and the smallest that does not
    high: int | None = None
    step = 1
    for tried in range(MAX_TRIES):
        index = _guess(points)
        if low is not None and high is not None:
            index = (low + high) // 2 if tried % 3 == 2 else min(max(index, low + 1), high - 1)
        elif low is not None:
            index, step = min(max(index, low + step), LAST), 2 * step
        elif high is not None:
            index, step = max(min(index, high - step), FIRST), 2 * step
        missed = missed_by(index)
        if missed > 0:
            low = index
        else:
            high = index
        if low == LAST:
            return None
        if high is not None and (high == FIRST or high - 1 == low):
            return high
        points.append((_log(decimal(index)), missed))
    raise AssertionError("a bracket that is halved closes")  # pragma: no cover


def _guess(points: list[tuple[float, float]]) -> int:
    """Return the decimal where the line through the latest points meets the goal."""
    finite = [point for point in points if math.isfinite(point[1])][-2:]
    if not finite:
        return _index(points[-1][0]) + (STEPS if points[-1][1] > 0 else -STEPS)
    (x, y), slope = finite[-1], -1.0
    if len(finite) == 2 and finite[0][0] != x:
        slope = min(max((finite[0][1] - y) / (finite[0][0] - x), STEEPEST), FLATTEST)
    if not math.isfinite(points[-1][1]):  # too far: half way back
        return (_index(points[-1][0]) + _index(x)) // 2
    return _index(min(max(x - y / slope, _log(decimal(FIRST))), _log(decimal(LAST))))


def _missed_by(plan: Plan, goals: list[Goal]) -> float:
    """Return the logarithm of how many times too large a plan's error is; up to 0 where goals are met."""
    if plan.scale > MAX_SCALE:
        return math.inf  # this could not be released
    values = [(goal.value(plan), goal.most) for goal in goals]
    far = max(_log_ratio(value, most) for value, most in values)
    met = all(value <= most for value, most in values)
    return min(far, 0.0) if met else max(far, 1e-15)


def _log_ratio(value: float, most: float) -> float:
    if not value:
        return -math.inf
    return math.inf if math.isinf(value) or not most else math.log(value) - math.log(most)


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def _goal(plan: Plan, name: str, most: Any) -> Goal:
    """Return a goal from what the caller gave."""
    if name == "distortion" and plan.distortion is None:
        raise ArgumentError(name, "only a kmeans has one", fix="give rmse=, the error of the answers.")
    if isinstance(most, (datetime.timedelta, np.timedelta64)):
        instants = [plan.policy.domain[column].kind == "datetime" for column in plan.query["columns"]]
        if name == "distortion" or plan.query["verb"] != "mean" or not all(instants):
            raise ArgumentTypeError(name, "a length of time: the answers are numbers", allowed=ALLOWED)
        found = span_ns(most, name)
    else:
        found = exact(most, name)
    if found < 0:
        raise ArgumentError(name, f"{most} is negative", allowed=ALLOWED)
    try:
        return Goal(name, float(found))
    except OverflowError:
        return Goal(name, math.inf)


def _known(plan: Plan, goal: Goal) -> None:
    """Refuse a goal about an error that nobody knows before the release."""
    if not math.isnan(goal.value(plan)):
        return
    if plan.query.get("clip") == "auto":
        problem = "the error of values clipped to bounds that are found first depends on the rows"
        fix = "state bounds, clip=(low, high), or leave clip= out."
    elif plan.query["verb"] in ("mean", "geomean"):
        problem = "the error of these means depends on how many rows there are"
        fix = "plan with rows= where all rows are averaged, or ask for the sum."
    elif plan.query.get("strategy", "auto") == "auto":
        problem, fix = f"the error of {plan.query['verb']!r} depends on the rows", "choose epsilon= yourself."
    else:
        problem, fix = f"the error of {plan.strategy!r} depends on the rows", 'plan with strategy="auto".'
    raise ArgumentError(goal.name, f"{problem}: not known before the release", fix=fix)
