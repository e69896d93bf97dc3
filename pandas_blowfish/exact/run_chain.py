"""Which runs a noise of least runs is made of: a Markov chain, its odds enclosed; never sees rows.

A line of whole numbers y is a sum of signed runs of at most `reach` neighbours. N(y) runs suffice if from
left to right runs are opened as late as possible, and where some must end the newest are kept. What happens
at a place is one of four things, which this chain knows the odds of when P(y) ~ a**N(y):

    NONE: y is 0, no run is left open.             FLIP: all open runs end, some of the other sign begin.
    OPEN: some more begin, all open ones go on.    CUT: some opened together end, and all older ones.

Some runs that were opened together are a batch. A state says how often each open batch will be cut:
`state[j]` times that of which j + 1 places are left.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from pandas_blowfish.exact.enclosure import exp_negative

NONE, OPEN, FLIP, CUT = range(4)
FARTHEST = 8  # the longest reach: 1,430 states, and about 3.4 times as many for each more
MAX_PLACES = 1 << 30  # of a line
SLACK = MAX_PLACES.bit_length() + 4  # binary digits that settled weights are more exact by

State = tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """What happens at a place.

    Attributes:
        kind: `NONE`, `OPEN`, `FLIP` or `CUT`.
        cuts: How often the batch that is opened will be cut.
        end: The number of the state that it leads to.
    """

    kind: int
    cuts: int
    end: int


@dataclass(frozen=True, eq=False)
class Steps:
    """The states of a reach, and the steps that each may take.

    Proof note:
        Requires: reach >= 2.
        Ensures:  with w = a for OPEN and FLIP, 1 - a for NONE and 1 for CUT, and u[i] of a state the sum over
                  all ways to take i more steps, to the state without cuts, of the product of their w: if
                  each step is taken with probability w u[i](end) / u[i + 1](start), and each batch that will
                  be cut k times holds 1 + G_0 + ... + G_k runs, of which each cut ends the last G, all G
                  geometric, P(G) = (1 - a) a**G, then P(y) is proportional to a**N(y).
        Because:  let c[j] runs be open with j + 1 places left, b(m, c) = C(c + m - 1, m), and B(s) the
                  product over j of b(s[j], c[j]). Given c, y determines what happens: it is 0; keeps all and
                  opens m > 0; is of the other sign; or keeps x of 1..c[t] of one batch and all newer runs.
                  The weight of all that may follow is V[i](c) = sum over y of a**new V[i - 1](next c), and
                  V[0] = 1. So V[i] is the sum over states s of v[i](s) B(s): sums of a**m b(k, m) over
                  m > 0 are a / (1 - a)**(k + 1), sums of b(k, x) over 1 <= x <= c are b(k + 1, c), and B is
                  0 where a state cuts a batch that is empty. Each product of the right side comes from one
                  kind of step, so a state can be carried along: with c it has odds v B. They start at c = 0,
                  where just the state without cuts has any. With u = v (1 - a)**(-cuts), all times 1 - a,
                  the w are as stated. Given the steps, P(m) ~ a**m b(k, m) for new runs and P(x) ~ b(k, x)
                  for those a cut leaves, which are sums of k + 1, and of the first k, of the G and 1.
        Checked:  tests/exact/test_run_chain.py::test_law_is_the_law_of_least_runs
    """

    reach: int
    states: tuple[State, ...]
    leaving: tuple[tuple[Step, ...], ...]

    @classmethod
    def of(cls, reach: int) -> Steps:
        """Return all states that follow from the one without cuts, which is the first."""
        start: State = (0,) * (reach - 1)
        number, waiting = {start: 0}, [start]
        leaving: list[tuple[Step, ...]] = []
        for state in waiting:  # grows meanwhile
            steps = []
            for kind, cuts, end in _follow(state):
                if end not in number:
                    number[end] = len(waiting)
                    waiting.append(end)
                steps.append(Step(kind, cuts, number[end]))
            leaving.append(tuple(steps))
        return cls(reach, tuple(waiting), tuple(leaving))


def _follow(state: State) -> list[tuple[int, int, State]]:
    """Return kind, cuts and next state of each step from a state."""
    found: list[tuple[int, int, State]] = []
    if any(state):
        oldest = next(place for place, cuts in enumerate(state) if cuts)
        less = (*state[:oldest], state[oldest] - 1, *state[oldest + 1 :])
        found.append((CUT, 0, (*less[1:], 0)))
    else:
        found.append((NONE, 0, state))
    if not state[0]:  # else the last place of a batch that must be cut
        opened = [(*state[1:], cuts) for cuts in range(len(state) + 1)]
        in_time = [(end[-1], end) for end in opened if _in_time(end)]
        found += [(OPEN, cuts, end) for cuts, end in in_time]
        found += [(FLIP, cuts, end) for cuts, end in in_time if not any(state)]
    return found


def _in_time(state: State) -> bool:
    """Return whether all cuts can be made before their batches end, one at a place."""
    return all(sum(state[: place + 1]) <= place + 1 for place in range(len(state)))


@lru_cache(maxsize=FARTHEST)
def steps_of(reach: int) -> Steps:
    """Return the steps of a reach."""
    return Steps.of(reach)


class RunChain:
    """The probabilities of steps, at any precision.

    Args:
        reach: How many places a run covers at most, 2 to `FARTHEST`.
        scale: P(y) ~ exp(-N(y) / scale).
    """

    def __init__(self, reach: int, scale: Fraction) -> None:
        self.steps, self.rate = steps_of(reach), 1 / scale
        self._weights: dict[int, _Weights] = {}
        self._limits: dict[tuple[int, int, int], StepLimits] = {}

    def limits(self, state: int, left: int, bits: int) -> StepLimits:
        """Return the limits between the steps from a state, where `left` places follow, times 2**bits.

        Proof note:
            Requires: left < MAX_PLACES, and the state can be left in time.
            Ensures:  for the sums T of the probabilities of the first 1, 2, ... steps, the last one left out:
                      each limit's pair (lower, upper) has lower <= 2**bits T <= upper.
            Because:  weights are enclosed, and sums and quotients are rounded outwards.
            Checked:  tests/exact/test_run_chain.py::test_limits_enclose_exact_probabilities
        """
        weights = self._weighed(bits)
        key = (state, min(left, len(weights.lower) - 2), bits)
        if key not in self._limits:
            self._limits[key] = self._enclose(weights, *key)
        return self._limits[key]

    def _enclose(self, weights: _Weights, state: int, level: int, bits: int) -> StepLimits:
        """Return the limits at a level that has weights."""
        leaving = self.steps.leaving[state]
        lower = [weights.steps[each.kind][0] * weights.lower[level][each.end] for each in leaving]
        upper = [weights.steps[each.kind][1] * weights.upper[level][each.end] for each in leaving]
        low, high, found_low, found_high = 0, sum(upper), [], []
        below, above = sum(lower), 0
        last = level == len(weights.lower) - 2
        room = 1 if last else 0  # what settled weights leave open
        for number in range(len(leaving) - 1):
            low, high = low + lower[number], high - upper[number]
            above, below = above + upper[number], below - lower[number]
            found_low.append(max((low << bits) // max(low + high, 1) - room, 0))
            found_high.append(min(-((-above << bits) // max(above + below, 1)) + room, 1 << bits))
        return StepLimits(tuple(found_low), tuple(found_high))

    def _weighed(self, bits: int) -> _Weights:
        if bits not in self._weights:
            self._weights[bits] = _weigh(self.steps, self.rate, bits)
        return self._weights[bits]


@dataclass(frozen=True)
class StepLimits:
    """Lower and upper ends of the limits between steps."""

    lower: tuple[int, ...]
    upper: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Weights:
    """The weights u of states by the number of places that follow, each level times some factor.

    Attributes:
        lower: Their lower ends.
        upper: Their upper ends.
        steps: Those of steps, by kind.
    """

    lower: list[list[int]]
    upper: list[list[int]]
    steps: list[tuple[int, int]]


def _weigh(steps: Steps, rate: Fraction, bits: int) -> _Weights:
    """Return the weights of each number of places, up to where they are settled.

    Proof note:
        Requires: bits > 0.
        Ensures:  for a factor of each level, lower <= u <= upper; the last two levels also stand for any
                  later two, up to `MAX_PLACES`: probabilities at these differ by less than 2**-bits.
        Because:  steps have weights >= 0, which sums and products rounded outwards keep. If
                  m u[i] <= u[i + 1] <= M u[i] in every state then also one place further, so
                  m**j u[i] <= u[i + j] <= M**j u[i]: a probability, a quotient of two sums of such,
                  changes by a factor of at most (M / m)**(2 j), which is below 1 + 2**-bits where
                  M / m <= 1 + 2**-(bits + SLACK) and j <= MAX_PLACES.
        Checked:  tests/exact/test_run_chain.py::test_settled_weights_stay_within_their_limits
    """
    inner = bits + SLACK + 64
    one = 1 << inner
    a_low, a_high = exp_negative(rate, inner)
    by_kind = [(one - a_high, one - a_low), (a_low, a_high), (a_low, a_high), (one, one)]
    pairs = [[(by_kind[each.kind], each.end) for each in leaving] for leaving in steps.leaving]
    first = [one, *[0] * (len(steps.states) - 1)]
    lower, upper = [first], [first]
    while not _settled(lower, upper, bits + SLACK):
        below, above = lower[-1], upper[-1]
        low = [sum(weight[0] * below[end] for weight, end in own) for own in pairs]
        high = [sum(weight[1] * above[end] for weight, end in own) for own in pairs]
        shift = max(high).bit_length() - inner
        lower.append([each >> shift for each in low])
        upper.append([-(-each >> shift) for each in high])
    return _Weights(lower, upper, by_kind)


def _settled(lower: list[list[int]], upper: list[list[int]], bits: int) -> bool:
    """Return whether the last two levels surely differ by one factor for all states, within 2**-bits."""
    if len(lower) < 2 or min(lower[-2]) <= 0:
        return False
    least = min(Fraction(*each) for each in zip(lower[-1], upper[-2], strict=True))
    most = max(Fraction(*each) for each in zip(upper[-1], lower[-2], strict=True))
    return most <= least * (1 + Fraction(1, 1 << bits))


@lru_cache(maxsize=16)
def chain_of(reach: int, scale: Fraction) -> RunChain:
    """Return the chain of a reach and scale."""
    return RunChain(reach, scale)
