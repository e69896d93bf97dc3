"""The noise: its law, every rare path of the sampler, and what it may and may not use."""

import ast
import os
import threading
import time
import warnings
from fractions import Fraction
from math import factorial
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy.stats import chi2, spearmanr

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, ScaleError
from pandas_blowfish.kernel import noise
from pandas_blowfish.kernel.noise import (
    MAX_SCALE,
    check_scale,
    discrete_laplace,
    is_replaying,
    noise_law,
    replay,
)

WIDE_DENOMINATOR = Fraction(10**25 + 7, 10**19)  # its trials do not fit in 63 bits
SCALES = [Fraction(1, 2), 1, 2, 20, Fraction(153, 2), 2000, Fraction(10**6, 3), WIDE_DENOMINATOR, MAX_SCALE]
ONES = 2**64 - 1


class Scripted(noise.WordSource):
    """A source that hands out prepared integers, whatever is asked, and counts the requests."""

    def __init__(self, *numbers):
        self.numbers, self.requests = list(numbers), 0

    def octets(self, count):
        """Return the next number as bytes; a request of no bytes uses none up."""
        if not count:
            return b""
        self.requests += 1
        return self.numbers.pop(0).to_bytes(count, "little")


def real(number) -> mpmath.mpf:
    """Return a fraction at the current precision."""
    return mpmath.mpf(Fraction(number).numerator) / Fraction(number).denominator


def at_most(k: int, scale) -> mpmath.mpf:
    """Return P(z <= k)."""
    a = mpmath.exp(-1 / real(scale))
    return 1 - a ** (k + 1) / (1 + a) if k >= 0 else a**-k / (1 + a)


def chi_square(observed, probabilities) -> float:
    """Return the p-value of counts against exact probabilities."""
    expected = np.array([float(p) for p in probabilities]) * observed.sum()
    assert expected.min() > 5
    return float(chi2.sf(((observed - expected) ** 2 / expected).sum(), len(observed) - 1))


def law_p_value(sample, scale) -> float:
    """Test a sample in up to 400 bins: single integers where they are frequent enough."""
    reach = int(12 * Fraction(scale)) + 30
    grid = sorted({round(reach * (i / 200) ** 2) for i in range(201)} | set(range(min(reach, 100))))
    cuts = sorted({-1 - k for k in grid} | set(grid))
    kept, last = [], mpmath.mpf(0)
    for cut in cuts:
        here = at_most(cut, scale)
        if here - last > 30 / sample.size and 1 - here > 30 / sample.size:
            kept.append((cut, here))
            last = here
    counts = np.bincount(np.searchsorted([cut for cut, _ in kept], sample), minlength=len(kept) + 1)
    sums = [mpmath.mpf(0), *(here for _, here in kept), mpmath.mpf(1)]
    return chi_square(counts, np.diff(sums))


def real_limits(law) -> list[mpmath.mpf]:
    """Return the limits between cells as `cell_limits` states them, at the current precision."""
    a, high = mpmath.exp(-real(law.rate)), mpmath.exp(-real(law.rate * 2**law.width))
    positive = [(1 - high ** (j + 1)) / (1 + a) for j in range(law.count)]
    return positive + [1 - a * high**m / (1 + a) for m in range(law.count + 1)]


def code_of(law, cell: int) -> int:
    """Return the code of a cell, from the words of `cell_limits`."""
    return cell << law.width if cell <= law.count else -1 - ((cell - law.count - 1) << law.width)


@pytest.mark.parametrize("scale", SCALES)
def test_law_passes_chi_square(scale):
    """A million samples from real randomness have the exact law, without a second try."""
    sample = discrete_laplace(scale, 10**6)

    assert sample.dtype == np.int64
    assert law_p_value(sample, scale) > 1e-6


@pytest.mark.parametrize("scale", [77, 2000, Fraction(10**6, 3), WIDE_DENOMINATOR, MAX_SCALE])
def test_low_digits_follow_their_law(scale):
    """The digits drawn by rejection have P(low) proportional to exp(-low / scale) and ignore the sign."""
    width = noise._law(Fraction(scale)).width
    groups = min(width, 5)
    sample = discrete_laplace(scale, 10**6)

    low = (sample ^ (sample >> 63)) & ((1 << width) - 1)
    bins = (low >> (width - groups)) + ((sample < 0).astype(np.int64) << groups)
    share = mpmath.exp(-real(2 ** (width - groups) / Fraction(scale)))
    weights = [share**i for i in range(2**groups)]
    a = mpmath.exp(-1 / real(scale))
    law = [w / sum(weights) * sign for sign in (1 / (1 + a), a / (1 + a)) for w in weights]

    assert chi_square(np.bincount(bins, minlength=2 ** (groups + 1)), law) > 1e-6


@pytest.mark.parametrize("scale", [Fraction(1, 10**6), Fraction(1, 2), 2, 20, 2000])
def test_guide_is_right_for_every_word(scale):
    """A word has a code if and only if all reals that begin with it lie in one cell, and it is theirs."""
    law = noise._law(Fraction(scale))
    with mpmath.workprec(300):
        blocks = np.array([min(int(mpmath.floor(limit * 2**16)), 2**16 - 1) for limit in real_limits(law)])

    below = np.searchsorted(blocks, np.arange(2**16), side="left")
    codes = np.array([code_of(law, cell) for cell in range(2 * law.count + 2)])[below]
    codes[blocks] = noise._UNSURE

    assert np.array_equal(law.guide, codes)


@pytest.mark.parametrize("scale", [Fraction(1, 2), 2, 20, 2000])
def test_ties_are_decided_as_the_real_number_would(scale):
    """Next to a limit, and on it for 64 or 128 bits, the revealed bits decide like the real number."""
    law = noise._law(Fraction(scale))
    long = noise.cell_limits(law.rate, law.width, law.count, 192)
    with mpmath.workprec(600):
        limits = real_limits(law)
        for index in {0, 1, law.count // 2, law.count - 1, law.count, law.count + 2, 2 * law.count - 1}:
            for step, bits in [(-1, 64), (1, 64), (-1, 128), (1, 128), (-1, 192), (1, 192)]:
                revealed = (long[index] >> (192 - bits)) + step
                words = [revealed >> shift & ONES for shift in range(bits - 64, -1, -64)]
                source = Scripted(words[0] << 16 & ONES, *words[1:], 0)  # the 0 is for a tail only

                codes = noise._settle(law, np.array([words[0] >> 48], dtype=np.uint16), source)

                anywhere = (mpmath.mpf(revealed) + 0.5) / mpmath.mpf(2) ** bits
                cell = sum(limit <= anywhere for limit in limits)
                assert cell == index + (step > 0)
                assert codes.tolist() == [code_of(law, cell)]
                assert source.requests == bits // 64 + (cell == law.count)


def test_limits_that_coincide_are_told_apart():
    """At scale 1/50 three limits share 64 bits; further bits find the right cell among them."""
    law = noise._law(Fraction(1, 50))
    low, zero, far = noise.cell_limits(law.rate, 0, 1, 128)
    assert law.limits.tolist() == [ONES] * 3
    assert low < zero < far == 2**128 - 1

    def settle(*more):
        source = Scripted(ONES, *more, 0)  # the last 0 is a fresh geometric of 0
        return noise._settle(law, np.array([2**16 - 1], dtype=np.uint16), source).tolist()

    assert settle((low & ONES) - 1) == [0]
    assert settle((low & ONES) + 1) == [1]  # beyond the first cell: 1 and a fresh geometric
    assert settle((zero & ONES) + 1) == [-1]
    assert settle(ONES - 1) == [-1]
    assert settle(ONES, 0) == [-1]
    assert settle(ONES, ONES) == [-2]


def test_tail_adds_a_fresh_geometric():
    """Beyond the last cell the high digit is `count` plus another high digit of either sign."""
    law = noise._law(Fraction(2))
    word = {code: int(np.flatnonzero(law.guide == code)[0]) for code in (0, 3, -3)}
    tail, positive_tail = np.array([2**16 - 1]), int(law.limits[law.count]) - 1
    assert law.limits[-1] < ONES

    def settle(*numbers, first=tail):
        return noise._settle(law, first.astype(np.uint16), Scripted(*numbers)).tolist()

    assert settle(ONES, word[0]) == [-1 - law.count]
    assert settle(ONES, word[3]) == [-1 - (law.count + 3)]
    assert settle(ONES, word[-3]) == [-1 - (law.count + 2)]
    assert settle(ONES, 2**16 - 1, ONES, word[3]) == [-1 - (2 * law.count + 3)]
    first = np.array([positive_tail >> 48])
    assert settle(positive_tail << 16 & ONES, word[3], first=first) == [law.count + 3]
    assert mpmath.exp(-real(law.rate * law.count)) < mpmath.mpf(2) ** -40


@pytest.mark.parametrize("sign", [1, -1])
def test_noise_saturates(sign):
    """Three hundred tails on end would pass 64 bits; the noise stops at 2**62."""
    law = noise._law(Fraction(MAX_SCALE))

    class AlwaysTail(noise.WordSource):
        calls = 0

        def __init__(self):
            pass

        def words(self, bits, count):
            type(self).calls += 1
            wanted = ONES if sign < 0 or self.calls > 2 else int(law.limits[law.count]) - 1
            if bits == 64 and self.calls == 2:
                wanted = wanted << 16 & ONES
            whole = (wanted if bits == 64 else wanted >> 48) if self.calls <= 640 else 0
            return np.full(count, whole, dtype=f"u{bits // 8}")

    sample = noise._draw(Fraction(MAX_SCALE), 5, AlwaysTail())

    assert sample.tolist() == [sign * 2**62] * 5


@pytest.mark.parametrize("scale", [80, 2000, Fraction(10**6, 3), WIDE_DENOMINATOR, MAX_SCALE])
def test_race_accepts_with_the_exact_probability(scale):
    """Every trial has exactly the probability that the series of exp(-x) needs, at its very boundary."""
    law = noise._law(Fraction(scale))
    bits = next(b for b in (16, 32, 64) if law.width + 8 <= b)
    s, t = law.rate.numerator, law.rate.denominator
    ceiling = -(-256 * s * 2**law.width // t)
    assert ceiling <= 256

    class Race(noise.WordSource):
        def __init__(self, low, eight, draws):
            self.starts, self.draws, self.bounds = [low << (bits - law.width) | eight, 255], draws, []

        def words(self, asked, count):
            assert (asked, count) == (bits, 1)
            return np.array([self.starts.pop(0)], dtype=f"u{bits // 8}")

        def below(self, bound, count):
            assert count == 1
            self.bounds.append(bound)
            return np.array([self.draws.pop(0)], dtype=np.uint64 if bound < 2**63 else object)

    for low in {1, 2**law.width // 2, 2**law.width - 1}:
        x, partial_sum, bounds = low * law.rate, Fraction(1), []
        accepted = Race(low, ceiling, [])
        assert noise._low(law, 1, accepted).tolist() == [low]
        assert not accepted.bounds
        for trial in range(1, 7):
            limits = [256 * low * s] + [low * s] * (trial - 1)
            race = Race(low, ceiling - 1, [limit - 1 for limit in limits[:-1]] + [limits[-1]])
            kept = noise._low(law, 1, race).tolist() == [low] and len(race.starts) == 1
            bounds = race.bounds
            assert kept == (trial % 2 == 1)
            reached = Fraction(ceiling, 256)
            for limit, bound in zip(limits, bounds, strict=True):
                reached *= Fraction(limit, bound)
            assert reached == x**trial / factorial(trial)
            partial_sum += (-1) ** trial * reached
        with mpmath.workprec(300):
            missing = abs(real(partial_sum) - mpmath.exp(-real(x)))
            assert missing <= real(x**7 / factorial(7))


@pytest.mark.parametrize("bound", [1, 2, 5, 8, 2**62 + 1, 2**63 - 1, 2**63, 2**70 + 3, 10**40])
def test_bounded_integers_reject_what_is_too_large(bound):
    """The largest allowed integer is kept, the next is drawn again, and none is shifted or reduced."""
    bits = (bound - 1).bit_length()
    size = 64 if bound < 2**63 else 8 * -(-bits // 8)

    def first(*numbers):
        source = Scripted(*(number << (size - bits) for number in numbers))
        return int(source.below(bound, 1)[0]), source.requests

    assert first(bound - 1) == (bound - 1, 1)
    assert first(0) == (0, 1)
    if bound < 2**bits:
        assert first(bound, 2**bits - 1, bound // 2) == (bound // 2, 3)


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 131_073])
@pytest.mark.parametrize("scale", [0, 2, 2000])
def test_size_is_what_was_asked(scale, size):
    """Any size works, and a small one holds on to nothing of its batch."""
    sample = discrete_laplace(scale, size)

    assert sample.shape == (size,)
    assert sample.base is None
    assert scale or not sample.any()


def test_one_scale_per_element():
    """Each element has the law of its own scale, in the order given; scale 0 adds nothing."""
    scales = [Fraction(0), Fraction(2), Fraction(2000), Fraction(1, 10**6)] * 100_000

    sample = discrete_laplace(scales).reshape(-1, 4)

    assert not sample[:, 0].any()
    assert not sample[:, 3].any()
    assert law_p_value(sample[:, 1], 2) > 1e-6
    assert law_p_value(sample[:, 2], 2000) > 1e-6
    assert discrete_laplace([Fraction(1), Fraction(2)], 2).shape == (2,)
    assert discrete_laplace([]).shape == (0,)
    assert discrete_laplace(np.array([0, 0, 0])).tolist() == [0, 0, 0]
    assert discrete_laplace(Fraction(3)).shape == (1,)


@pytest.mark.parametrize("scale", [2, 20, 2000])
def test_small_draws_have_the_law_and_hide_it_in_time(scale):
    """Single draws follow the law, and how long they take says nothing about |z|."""
    discrete_laplace(scale, 1)
    times, sample = np.empty(20_000), np.empty(20_000, dtype=np.int64)
    for i in range(sample.size):
        start = time.perf_counter_ns()
        drawn = discrete_laplace(scale, 1)
        times[i] = time.perf_counter_ns() - start
        sample[i] = drawn[0]

    assert law_p_value(sample, scale) > 1e-6
    assert abs(spearmanr(times, np.abs(sample)).statistic) < 0.04


def test_replay_repeats_only_inside():
    """A seed gives one stream over the calls of its block; outside, in other threads, noise is secure."""
    with replay(7):
        first, second, law = discrete_laplace(2000, 50), discrete_laplace(2000, 50), noise_law()
        with replay(8):
            other = discrete_laplace(2000, 50)
        elsewhere = []
        thread = threading.Thread(target=lambda: elsewhere.append((noise_law(), discrete_laplace(2000, 50))))
        thread.start()
        thread.join()
    with replay(7):
        again = discrete_laplace(2000, 50), discrete_laplace(2000, 50)
    outside = discrete_laplace(2000, 50)

    assert law == "TEST ONLY"
    assert elsewhere[0][0] == noise_law() == "discrete Laplace"
    assert np.array_equal(first, again[0])
    assert np.array_equal(second, again[1])
    assert len({tuple(x) for x in (first, second, other, outside, elsewhere[0][1])}) == 5


def test_replay_ends_when_its_block_fails():
    """An error inside the block does not leave predictable noise behind."""
    with pytest.raises(ScaleError), replay(1):
        discrete_laplace(MAX_SCALE + 1)

    assert not is_replaying()
    assert noise_law() == "discrete Laplace"


def test_every_call_is_keyed_by_the_operating_system(monkeypatch):
    """Each call outside `replay` asks for a new 256-bit key and a new nonce."""
    asked = []
    genuine = os.urandom
    monkeypatch.setattr(os, "urandom", lambda n: asked.append(n) or genuine(n))

    discrete_laplace(2, 1)
    discrete_laplace([Fraction(2), Fraction(3)])

    assert asked == [32, 16, 32, 16]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_process_never_repeats_its_parent():
    """A source alive at a fork gives other bytes in the child than in the parent."""
    source = noise._SystemSource()
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        os.write(writer, source.octets(64) + source.octets(64))
        os._exit(0)
    os.waitpid(child, 0)
    theirs = os.read(reader, 128)
    os.close(reader)
    os.close(writer)

    assert len({theirs[:64], theirs[64:], source.octets(64), source.octets(64)}) == 4


def test_scales_that_cannot_be_drawn_are_refused():
    """Too large, negative and inexact scales raise before anything is drawn, alone or in a list."""
    for ask in (
        check_scale,
        lambda scale: discrete_laplace(scale, 1),
        lambda scale: discrete_laplace([scale]),
    ):
        with pytest.raises(ScaleError):
            ask(MAX_SCALE + Fraction(1, 10))
        with pytest.raises(ArgumentError):
            ask(Fraction(-1, 2))
        with pytest.raises(ArgumentTypeError):
            ask(0.5)
    with pytest.raises(ArgumentTypeError):
        discrete_laplace("1/2", 1)

    assert check_scale(MAX_SCALE) == MAX_SCALE
    assert type(check_scale(np.int64(3)).numerator) is int


@pytest.mark.parametrize("size", [-1, 1.0, True, "3"])
def test_sizes_that_make_no_sense_are_refused(size):
    """A size is an integer >= 0, and the number of scales if there are several."""
    with pytest.raises(ArgumentError):
        discrete_laplace(2, size)
    with pytest.raises(ArgumentError):
        discrete_laplace([Fraction(2)], 3)


def test_no_float_and_no_other_randomness_appears():
    """Only integer operations of numpy, no float, no true division, no random module."""
    tree = ast.parse(Path(noise.__file__).read_text())
    integer_operations = {
        *("int64", "uint64", "uint16", "uint8", "intp", "integer"),
        *("append", "arange", "array", "clip", "empty", "flatnonzero", "frombuffer", "minimum"),
        *("searchsorted", "take", "zeros"),
    }

    used, imported = set(), set()
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Div)
        assert not (isinstance(node, ast.Constant) and isinstance(node.value, float | complex))
        assert not (isinstance(node, ast.Name) and node.id in {"float", "round", "pow"})
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "np":
            used.add(node.attr)
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            imported.add(node.module)

    assert used <= integer_operations
    assert not imported & {"math", "random", "secrets", "cmath", "decimal", "scipy", "mpmath", "numpy.random"}
