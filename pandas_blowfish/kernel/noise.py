"""Exact discrete Laplace noise from the operating system's randomness; never sees rows.

P(z) is proportional to exp(-|z| / scale), exactly: only integers decide. With a = exp(-1 / scale),

    z = u or -1 - u: the sign is Bernoulli(a / (1 + a)), u is Geometric(a), independent;
    u = high * 2**width + low: high is Geometric(a**(2**width)), low has P(low) ~ a**low, independent.

(sign, high) comes from one 16-bit word and a table, low from random bits accepted with probability a**low.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, ScaleError
from pandas_blowfish.exact.enclosure import cell_limits

Integers = NDArray[np.int64]
MAX_SCALE = 2**50  # |noise| then passes 2**62 with a probability of exp(-4096)
_SATURATION = 2**62
_CHUNK = 131_072  # samples at a time: they stay in the processor's cache
_SMALLEST_BATCH = 4_096  # samples drawn for a small request, so that its time reveals nothing of one sample
_ZEROS = memoryview(bytes(8 * _CHUNK))  # what a keystream is the encryption of
_UNSURE = -(2**63)  # in the table: 16 bits do not decide


def discrete_laplace(scale: Fraction | int | Sequence[Fraction], size: int | None = None) -> Integers:
    """Draw independent integers with P(z) proportional to exp(-|z| / scale), exactly.

    Args:
        scale: One scale for all, or one per element; 0 means no noise.
        size: How many; one if not given, or as many as there are scales.

    Returns:
        Integers within +-2**62 (larger noise is cut to that).

    Raises:
        ScaleError: A scale exceeds `MAX_SCALE`.
        ArgumentError: A scale is negative or not exact, or `size` does not fit.

    Examples:
        >>> discrete_laplace(Fraction(0), 3)
        array([0, 0, 0])

    Proof note:
        Requires: outside `replay`; the keystream of AES-256-CTR cannot be distinguished from coin tosses.
        Ensures:  each element has exactly the stated law (cut at +-2**62), independently of the others.
        Because:  both signs give (1 - a) / (1 + a) * a**|z|; the binary digits of a geometric are
                  independent; `_settle` and `_low` draw them exactly.
        Checked:  tests/kernel/test_noise.py::test_law_passes_chi_square
    """
    if size is not None and (isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0):
        raise ArgumentError("size", "is not a whole number of samples", allowed="an integer >= 0")
    words = open_source()
    if not isinstance(scale, Iterable):
        return _draw(check_scale(scale), 1 if size is None else int(size), words)
    positions: dict[Fraction, list[int]] = {}
    for position, one in enumerate(scale):
        positions.setdefault(check_scale(one), []).append(position)
    total = sum(map(len, positions.values()))
    if size is not None and size != total:
        raise ArgumentError("size", f"{size} does not match {total} scales", allowed=f"{total}, or none")
    noise = np.zeros(total, dtype=np.int64)
    for one, where in positions.items():
        noise[where] = _draw(one, len(where), words)
    return noise


def uniform_below(bounds: Integers) -> Integers:
    """Draw independent integers, each uniform from 0 up to its own bound, which is left out."""
    words, drawn = open_source(), np.zeros(len(bounds), dtype=np.int64)
    for bound in sorted(set(bounds[bounds > 1].tolist())):
        where = np.flatnonzero(bounds == bound)
        drawn[where] = words.below(bound, where.size).astype(np.int64)
    return drawn


def open_source() -> WordSource:
    """Return where random words come from: the operating system, but for a replay."""
    return _replayed.get() or _SystemSource()


def check_scale(scale: Fraction | int) -> Fraction:
    """Return the scale as a fraction, or raise before anything is charged."""
    if not isinstance(scale, Rational):
        raise ArgumentTypeError("scale", "is not exact", allowed="a Fraction or an integer")
    exact = Fraction(int(scale.numerator), int(scale.denominator))
    if exact < 0:
        raise ArgumentError("scale", "is negative", allowed=f"0 to {MAX_SCALE}")
    if exact > MAX_SCALE:
        raise ScaleError(MAX_SCALE)
    return exact


def noise_law(law: str = "discrete Laplace") -> str:
    """Return the name of the law for receipts: "TEST ONLY" while replaying."""
    return "TEST ONLY" if is_replaying() else law


def is_replaying() -> bool:
    """Return whether noise is now predictable test noise."""
    return _replayed.get() is not None


@contextmanager
def replay(seed: int) -> Iterator[None]:
    """Make the noise of the block a function of the seed: for tests only, it protects nobody."""
    token = _replayed.set(_ReplaySource(seed))
    try:
        yield
    finally:
        _replayed.reset(token)


class WordSource:
    """Random words out of an AES-256-CTR keystream."""

    def __init__(self, key: bytes, nonce: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes  # slow to import

        self._keystream = Cipher(algorithms.AES(key), modes.CTR(nonce)).encryptor()

    def octets(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        return self._keystream.update(_ZEROS[:count] if count <= len(_ZEROS) else bytes(count))

    def words(self, bits: int, count: int) -> NDArray[Any]:
        """Return `count` uniform unsigned words of 16, 32 or 64 bits."""
        return np.frombuffer(self.octets(count * bits // 8), dtype=f"<u{bits // 8}")

    def below(self, bound: int, count: int) -> NDArray[Any]:
        """Return `count` uniform integers below `bound`: in 64 bits if 63 hold them, else Python's."""
        bits = (bound - 1).bit_length()
        if bound < 2**63:
            drawn = self.words(64, count) >> np.uint64(64 - bits)
        else:
            length = -(-bits // 8)
            pieces = (int.from_bytes(self.octets(length), "little") for _ in range(count))
            drawn = np.array([piece >> (8 * length - bits) for piece in pieces], dtype=object)
        again = np.flatnonzero(drawn >= bound)
        if again.size:
            drawn[again] = self.below(bound, again.size)
        return drawn


class _SystemSource(WordSource):
    """The secure source: keyed by the operating system, keyed anew in a forked process."""

    def __init__(self) -> None:
        self._process = os.getpid()
        super().__init__(os.urandom(32), os.urandom(16))

    def octets(self, count: int) -> bytes:
        """Return the next `count` bytes, never those that a parent process also gets."""
        if os.getpid() != self._process:
            self._process, self._keystream = os.getpid(), _SystemSource()._keystream
        return super().octets(count)


class _ReplaySource(WordSource):
    """INSECURE, for tests: one stream that anyone who knows the seed can repeat."""

    def __init__(self, seed: int) -> None:
        super().__init__(sha256(f"pandas_blowfish replay {seed}".encode()).digest(), bytes(16))


_replayed: ContextVar[_ReplaySource | None] = ContextVar("replayed", default=None)


@dataclass(frozen=True, eq=False)
class _Law:
    """What is computed once per scale."""

    rate: Fraction  # one over the scale
    width: int  # low binary digits drawn apart
    count: int  # high digits with a cell of their own
    limits: NDArray[np.uint64]  # floor(2**64 * T) of each limit T between cells
    guide: Integers  # the code for each 16-bit word, or _UNSURE if a limit lies within it


@lru_cache(maxsize=64)
def _law(scale: Fraction) -> _Law:
    """Build the table of a scale (half a megabyte, a few milliseconds)."""
    rate = Fraction(scale.denominator, scale.numerator)
    width = (-(-scale // 76) - 1).bit_length()  # the least with scale / 2**width <= 76
    count = -(-28 * scale // (1 << width))  # exp(-28) < 2**-40 remains beyond
    limits = np.array(cell_limits(rate, width, count, 64), dtype=np.uint64)
    words = np.arange(2**16, dtype=np.uint64) << np.uint64(48)
    guide = _codes(np.searchsorted(limits, words, side="left"), count, width)
    guide[limits >> np.uint64(48)] = _UNSURE
    return _Law(rate, width, count, limits, guide)


def _codes(cells: NDArray[np.intp], count: int, width: int) -> Integers:
    """Return (high << width), or its complement if negative, for cells numbered as in `cell_limits`."""
    negative = (cells > count).astype(np.int64)
    return ((cells.astype(np.int64) - negative * (count + 1)) << width) ^ -negative


def _draw(scale: Fraction, size: int, source: WordSource) -> Integers:
    """Draw `size` samples; time and use of randomness say nothing about any single one of them."""
    if not scale or not size:
        return np.zeros(size, dtype=np.int64)
    law = _law(scale)
    noise = np.empty(max(size, _SMALLEST_BATCH), dtype=np.int64)
    for start in range(0, noise.size, _CHUNK):
        part = noise[start : start + _CHUNK]
        _fill(law, part, source)
        if law.width:
            part ^= _low(law, part.size, source)
        np.clip(part, -_SATURATION, _SATURATION, out=part)
    return noise if size == noise.size else noise[:size].copy()


def _fill(law: _Law, codes: Integers, source: WordSource) -> None:
    """Overwrite `codes` with independent codes of (sign, high)."""
    words = source.words(16, codes.size)
    np.take(law.guide, words, out=codes, mode="clip")
    unsure = np.flatnonzero(codes == _UNSURE)
    codes[unsure] = _settle(law, words[unsure], source)


def _settle(law: _Law, words: NDArray[np.uint16], source: WordSource) -> Integers:
    """Return the codes of uniform reals that begin with these 16 bits, by revealing more of their bits.

    Proof note:
        Requires: the words are the first 16 bits of uniform reals in [0, 1).
        Ensures:  a real U gets the cell c with T[c - 1] <= U < T[c], however close U is to a limit.
        Because:  64 bits V of U decide against T unless V = floor(2**64 * T); then more bits of both do.
                  Beyond the last cell a geometric is `count` plus a fresh geometric: it has no memory.
        Checked:  tests/kernel/test_noise.py::test_ties_are_decided_as_the_real_number_would
    """
    revealed = (words.astype(np.uint64) << np.uint64(48)) | (source.words(64, words.size) >> np.uint64(16))
    cells = np.searchsorted(law.limits, revealed, side="left")
    for tie in np.flatnonzero(law.limits.take(cells, mode="clip") == revealed):
        cells[tie] = _break_tie(law, int(revealed[tie]), source)
    codes = _codes(cells, law.count, law.width)
    beyond = np.flatnonzero((codes ^ (codes >> 63)) == law.count << law.width)
    if beyond.size:
        fresh, negative = np.empty(beyond.size, dtype=np.int64), codes[beyond] >> 63
        _fill(law, fresh, source)
        total = (law.count << law.width) + (fresh ^ (fresh >> 63))
        codes[beyond] = np.minimum(total, _SATURATION) ^ negative
    return codes


def _break_tie(law: _Law, revealed: int, source: WordSource) -> int:
    """Return the cell of a uniform real whose first 64 bits are those of one limit or several."""
    bits = 64
    while True:
        revealed, bits = revealed << 64 | int.from_bytes(source.octets(8), "little"), bits + 64
        limits = cell_limits(law.rate, law.width, law.count, bits)
        cell = bisect_left(limits, revealed)
        if cell == bisect_right(limits, revealed):
            return cell


def _low(law: _Law, size: int, source: WordSource) -> Integers:
    """Draw `size` low digits with P(low) proportional to exp(-low * rate) on `width` bits.

    Proof note:
        Requires: 0 < width <= 56 and 2**width * rate <= 1.
        Ensures:  uniform digits are kept with probability exp(-low * rate), else drawn again in place.
        Because:  if trial k succeeds with probability x / k, x = low * rate, the first failure is at an odd k
                  with probability 1 - x + x**2 / 2! - ... = exp(-x). Trial 1 is 8 bits below `ceiling` and
                  a uniform integer below its share: ceiling / 256 times 256 * x / ceiling.
        Checked:  tests/kernel/test_noise.py::test_race_accepts_with_the_exact_probability
    """
    bits = 16 if law.width <= 8 else 32 if law.width <= 24 else 64
    words = source.words(bits, size)
    low: Integers = (words >> words.dtype.type(bits - law.width)).astype(np.int64)
    s, t = law.rate.numerator, law.rate.denominator
    ceiling = -((-256 * s << law.width) // t)
    racing = np.flatnonzero(words.astype(np.uint8) < ceiling)  # the others fail at trial 1: kept
    rejected = racing[:0]
    trial, bound, weight = 1, t * ceiling, 256 * s
    while racing.size:
        value = low[racing].astype(np.uint64 if bound < 2**63 else object) * weight
        succeeds = source.below(bound, racing.size) < value
        if trial % 2 == 0:
            rejected = np.append(rejected, racing[~succeeds])
        racing = racing[succeeds]
        trial, bound, weight = trial + 1, t * (trial + 1), s
    if rejected.size:
        low[rejected] = _low(law, rejected.size, source)
    return low
