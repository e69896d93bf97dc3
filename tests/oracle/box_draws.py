"""Many draws of the noise of query rows, boxes included: for statistics, not exact; a twin of the kernel."""

import numpy as np


def radius_law(reaches, scale):
    """Return P(r) for r = 0, 1, ...: the points within r steps, times exp(-r / scale)."""
    radius = np.arange(int((len(reaches) + 45 + 10 * len(reaches) ** 0.5) * float(scale)) + len(reaches) + 5)
    logs = -radius / float(scale) + sum(np.log(2.0 * reach * radius + 1) for reach in reaches)
    law = np.exp(logs - logs.max())
    return law / law.sum()


def draw_noise(scales, times, seed=0):
    """Return noise, times x query rows: independent discrete Laplace, or boxes where rows draw together."""
    random = np.random.default_rng(seed)
    found = np.zeros((times, len(scales)), dtype=np.int64)
    for code, scale in enumerate(scales.values):
        rows = np.flatnonzero(scales.codes == code)
        if not scale or not len(rows):
            continue
        if code not in scales.joint:
            share = 1 - np.exp(-1 / float(scale))
            found[:, rows] = random.geometric(share, (times, len(rows)))
            found[:, rows] -= random.geometric(share, (times, len(rows)))
            continue
        (block,) = scales.joint[code].blocks
        law = radius_law(block.reaches, scale)
        radius = random.choice(len(law), times, p=law)
        for row, reach in zip(block.rows, block.reaches, strict=True):
            found[:, row] = random.integers(-reach * radius, reach * radius + 1)
    return found
