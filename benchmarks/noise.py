"""Speed of our exact discrete Laplace against numpy's float Laplace and OpenDP's, in one run; no rows.

Run: python benchmarks/noise.py
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
from scipy.stats import spearmanr

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pandas_blowfish.kernel import noise

SAMPLES = 10**6
SCALES = [Fraction(2), Fraction(20), Fraction(2000), Fraction(10**6, 3)]
TIMED_SCALES = [Fraction(2), Fraction(20), Fraction(2000)]
TIMED_DRAWS = 10**5


def seconds(action: Callable[[], object], repetitions: int) -> float:
    """Return the median time of an action."""
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return median(times)


def cold(scale: Fraction) -> None:
    noise._law.cache_clear()
    noise.discrete_laplace(scale, SAMPLES)


def opendp_measurements(scale: Fraction) -> dict[str, Callable[[list[int]], object]]:
    """Return OpenDP's discrete Laplace in each integer type it has, or nothing if it is not installed."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return {}
    dp.enable_features("contrib")
    found = {}
    for kind in ("i32", "i64"):
        space = dp.vector_domain(dp.atom_domain(T=kind)), dp.l1_distance(T=kind)
        found[f"laplace {kind}"] = dp.m.make_laplace(*space, scale=float(scale))
        found[f"geometric {kind}"] = dp.m.make_geometric(*space, scale=float(scale))
    return found


def opendp_rate(scale: Fraction) -> tuple[float, str]:
    """Return OpenDP's best samples per second, and how it was timed."""
    measurements = opendp_measurements(scale)
    if not measurements:
        return 0.0, "OpenDP is not installed"
    few = [0] * (SAMPLES // 20)
    kind = min(measurements, key=lambda name: seconds(lambda: measurements[name](few), 3))
    size = SAMPLES if seconds(lambda: measurements[kind](few), 1) * 20 < 30 else len(few)
    vector = [0] * size
    return size / seconds(lambda: measurements[kind](vector), 3), f"{kind}, {size:,} samples, median of 3"


def speed_table() -> None:
    generator = np.random.default_rng()
    heads = ("ours warm", "ours cold", "numpy float", "OpenDP", "/ numpy", "/ OpenDP")
    print(f"Million samples per second, {SAMPLES:,} samples at a time, median of 15 (OpenDP: as noted)")
    print(f"{'scale':>10}" + "".join(f"{head:>13}" for head in heads) + "   OpenDP timed with")
    for scale in SCALES:
        noise.discrete_laplace(scale, SAMPLES)
        warm = SAMPLES / seconds(partial(noise.discrete_laplace, scale, SAMPLES), 15)
        first = SAMPLES / seconds(partial(cold, scale), 15)
        floats = SAMPLES / seconds(partial(generator.laplace, 0, float(scale), SAMPLES), 15)
        theirs, how = opendp_rate(scale)
        rates = "".join(f"{rate / 1e6:>13.3f}" for rate in (warm, first, floats, theirs))
        against = f"{warm / theirs:>13,.0f}" if theirs else f"{'-':>13}"
        print(f"{scale!s:>10}{rates}{warm / floats:>13.1f}{against}   {how}", flush=True)


def leakage_table() -> None:
    print(f"\nRank correlation of time and |z| over {TIMED_DRAWS:,} single draws (wanted: below 0.02)")
    print(f"{'scale':>10}{'median us':>13}{'correlation':>13}")
    for scale in TIMED_SCALES:
        noise.discrete_laplace(scale, 1)
        times, sizes = np.empty(TIMED_DRAWS), np.empty(TIMED_DRAWS)
        for i in range(TIMED_DRAWS):
            start = time.perf_counter_ns()
            drawn = noise.discrete_laplace(scale, 1)
            times[i] = time.perf_counter_ns() - start
            sizes[i] = abs(int(drawn[0]))
        correlation = spearmanr(times, sizes).statistic
        print(f"{scale!s:>10}{np.median(times) / 1e3:>13.0f}{correlation:>13.4f}", flush=True)


if __name__ == "__main__":
    speed_table()
    leakage_table()
