"""Searches layouts and scales for the least expected error, from the line and the question alone.

Never sees rows. Results are kept by everything they depend on.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.plan.line.axis import LineGraph
from pandas_blowfish.plan.line.nest import Layout, Nest
from pandas_blowfish.plan.line.variance import Spread

if TYPE_CHECKING:
    from pandas_blowfish.plan.line.question import Spans

SHORT = 128  # atoms up to which every strategy is searched by itself
FINEST = 240  # weights are whole numbers up to this
MAX_CACHED = 256
SAMPLE = 2_000  # given ranges that the search looks at
VERY_LONG = 1 << 16  # atoms beyond which fewer layouts are tried, and less thoroughly
LONG = 2_048  # atoms of a line that is searched as a whole
POLISHED = 5  # layouts whose scales are optimised
_found: OrderedDict[bytes, tuple[Layout, tuple[int, ...], float]] = OrderedDict()


def search(line: LineGraph, asked: Spans, layouts: Sequence[Layout]) -> tuple[Layout, tuple[int, ...]]:
    """Return the layout, and the weights of its families, of least mean variance.

    Scales are inverses of the weights. Every layout is first tried with weights that suit its patterns
    and sizes, then the scales of the best few are optimised.

    Args:
        line: The axis and what edges do on it.
        asked: The questions.
        layouts: What to choose from, at least one.
    """
    key = _key(line, asked, layouts)
    if key in _found:
        _found.move_to_end(key)
        return _found[key][:2]
    if all(layout.spacing for layout in layouts):  # else the layout depends on the whole line
        line, asked = shorter(line, asked) or (line, asked)
    sample = _sampled(asked)
    tried = []
    if line.size > VERY_LONG:
        layouts = [each for each in layouts if _usual(each)] or layouts
    for number, layout in enumerate(layouts):
        nest = Nest(line, layout)
        patterns = nest.patterns()
        weights = _first_guess(nest, patterns)
        tried.append((_error(nest, patterns, weights, sample), number, nest, patterns, weights))
    tried.sort(key=lambda each: each[:2])
    best: tuple[float, Nest, Floats] | None = None
    long = line.size > VERY_LONG
    for _, _, nest, patterns, weights in tried[: 1 if long else 2 if asked.kind == "cells" else POLISHED]:
        polished = _polish(nest, patterns, weights, sample, 30 if long else 150)
        error = _error(nest, patterns, polished, sample)
        if best is None or error < best[0]:
            best = (error, nest, polished)
    assert best is not None
    result = best[1].layout, _whole(best[2]), best[0]
    _found[key] = result
    while len(_found) > MAX_CACHED:
        _found.popitem(last=False)
    return result[:2]


def _key(line: LineGraph, asked: Spans, layouts: Sequence[Layout]) -> bytes:
    """Return a digest of everything the result depends on."""
    digest = hashlib.sha256(repr((line.size, line.groups, asked.kind, tuple(layouts))).encode())
    exact = line.exact
    parts = [line.between, line.across, line.away, exact.alone, exact.total_of]
    if asked.kind == "ranges":
        parts += list(asked.given)
    for part in parts:
        digest.update(f"{part.dtype} {part.shape}".encode())
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.digest()


def shorter(line: LineGraph, asked: Spans) -> tuple[LineGraph, Spans] | None:
    """Return the first part of a line that repeats itself, long enough to search on; else None."""
    reach = int((line.between[:, 1] - line.between[:, 0]).max(initial=1))
    size = max(LONG, 24 * reach)
    plain = not len(line.across) and not len(line.away) and len(line.starts) == 1 and line.listed is None
    if line.size <= 2 * size or not plain or asked.kind == "ranges":
        return None
    between = np.minimum(line.between[line.between[:, 0] < size - 1], size - 1)
    pieces = line.pieces[:size]
    part = LineGraph(size, line.groups, between, line.across, line.away, None, line.exact, pieces, line.exact)
    return part, asked.cut(size)


def _usual(layout: Layout) -> bool:
    """Return whether a layout is among the few worth trying on a very long line."""
    return not layout.branching or 6 <= max(layout.branching) <= 40


def _sampled(asked: Spans) -> Spans:
    """Return the questions, or evenly spread ones of very many."""
    many, size = asked.per_line, asked.size
    if asked.kind == "cells" or (asked.kind != "ranges" and size <= 4 * LONG):
        return asked
    if asked.kind == "all":  # the fractional parts of multiples of two irrational numbers
        steps = np.arange(SAMPLE)
        ends = np.sort([(steps * 0.6180339887 % 1) * size, (steps * 0.7548776662 % 1) * size], axis=0)
        low = ends[0].astype(np.int64)
        return asked.only(low, np.maximum(ends[1].astype(np.int64), low) + 1)
    if many <= SAMPLE:
        return asked
    kept = np.linspace(0, many - 1, SAMPLE).astype(np.int64)
    return asked.only(asked.ends[0][kept], asked.ends[1][kept])


def _first_guess(nest: Nest, patterns: Ints) -> Floats:
    """Return weights that share the loss evenly, less to families with many rows of which few are used."""
    if not len(nest.families):
        return np.ones(0)
    most = np.maximum(patterns.max(axis=0, initial=0), 1).astype(float)
    used = np.ones(len(most))
    widths = [nest.width, *(-(-nest.width // w) for w in np.cumprod(nest.layout.branching))]
    offset = len(most) - len(nest.levels)
    for number in range(len(nest.levels)):
        used[offset + number] = max(widths[number] / max(widths[number + 1], 1) - 1, 0.5)
    return np.asarray((used / most) ** (1 / 3))


def _error(nest: Nest, patterns: Ints, weights: Floats, asked: Spans) -> float:
    """Return the mean variance at epsilon 1 with scales in inverse proportion to weights."""
    if not patterns.size or not patterns.any():
        return 0.0
    scales = float((patterns @ weights).max()) / weights
    return asked.mean_variance(Spread(nest, (2 * scales**2).tolist()))


def _polish(nest: Nest, patterns: Ints, weights: Floats, asked: Spans, most: int) -> Floats:
    """Return better weights: a descent in their logarithms, the first kept at 1."""
    from scipy.optimize import minimize

    if len(weights) < 2 or not patterns.any():
        return weights

    def error(logs: Floats) -> float:
        tried = np.exp(np.clip(np.append(0.0, logs), -6, 6))
        return float(np.log(max(_error(nest, patterns, tried, asked), 1e-300)))  # 0 where nothing is asked

    start = np.log(weights[1:] / weights[0])
    around = np.vstack([start, start + 0.4 * np.eye(len(start))])
    options = {"maxfev": min(50 * len(start), most), "xatol": 0.01, "fatol": 1e-4, "initial_simplex": around}
    found = minimize(error, start, method="Nelder-Mead", options=options)
    best = found.x if found.fun < error(start) else start
    return np.asarray(np.exp(np.clip(np.append(0.0, best), -6, 6)))


def _whole(weights: Floats) -> tuple[int, ...]:
    """Return weights as whole numbers of nearly the same proportions."""
    if not len(weights):
        return ()
    scaled = np.maximum(np.rint(weights / weights.max() * FINEST), 1).astype(np.int64)
    scaled //= np.gcd.reduce(scaled)
    return tuple(int(each) for each in scaled)
