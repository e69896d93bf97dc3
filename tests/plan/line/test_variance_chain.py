"""Prefix sums along blocks: the tridiagonal shortcuts equal dense algebra."""

import numpy as np
import pytest

from pandas_blowfish.plan.line.nest import Layout, Nest
from pandas_blowfish.plan.line.variance import Chain

CASES = [
    (9, 2, None, False),
    (9, 2, None, True),
    (12, 3, "x >= 4", False),
    (12, 3, "x != 5", False),
    (4, 1, None, False),
    (2, 1, None, True),
    (1, 1, None, False),
]


def _chain(line_of, case, infinite=False):
    size, spacing, where, presence = case
    nest = Nest(line_of(size, 1, where, presence=presence).line, Layout(spacing, (spacing,) * (spacing > 1)))
    block = np.random.default_rng(size).uniform(0.5, 3, nest.blocks.size)
    return Chain(nest, 1.7, np.full(len(block), np.inf) if infinite else block)


def _dense(chain):
    """Return the precision of the ends of blocks, which segments with exact totals leave out."""
    blocks, weight = chain.nest.blocks, 1 / chain.block
    precision = np.diag(np.full(blocks.size, 1 / chain.prefix))
    for block in range(blocks.size):
        change = np.zeros(blocks.size)
        change[block] = 1
        if block > blocks.first[blocks.parent[block]]:
            change[block - 1] = -1
        precision += weight[block] * np.outer(change, change)
    return precision[np.ix_(chain.unknown, chain.unknown)]


@pytest.mark.parametrize("infinite", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_variances_and_covariances_equal_the_inverse(case, infinite, line_of):
    """Every entry of a segment's covariance is that of the inverted precision."""
    chain = _chain(line_of, case, infinite)
    places, parent = chain.places(chain.unknown), chain.nest.blocks.parent[chain.unknown]

    slow = np.linalg.inv(_dense(chain))

    assert chain.variance[places] == pytest.approx(np.diag(slow))
    for low in range(len(places)):
        for high in range(low, len(places)):
            if parent[low] == parent[high]:
                fast = chain.covariance(places[[low]], places[[high]])
                assert fast == pytest.approx(slow[[low], [high]], abs=1e-12)
    others = np.setdiff1d(np.arange(len(chain.variance)), places)
    assert (chain.variance[others] == 0).all()


@pytest.mark.parametrize("case", [case for case in CASES if case[2] or case[3]])
def test_shares_are_regressions_on_the_total(case, line_of):
    """A place follows its segment's total by covariance over variance."""
    chain = _chain(line_of, case)
    places, parent = chain.places(chain.unknown), chain.nest.blocks.parent[chain.unknown]

    slow = np.linalg.inv(_dense(chain))

    for number, place in enumerate(places):
        last = np.flatnonzero(parent == parent[number])[-1]
        assert chain.share[place] == pytest.approx(slow[number, last] / slow[last, last])


@pytest.mark.parametrize("case", CASES)
def test_ends_solve_the_normal_equations(case, line_of):
    """Estimates minimise the weighted squares of all that was measured."""
    chain = _chain(line_of, case)
    blocks, unknown, draw = chain.nest.blocks, chain.unknown, np.random.default_rng(3)
    measured, sums = draw.normal(size=(2, len(unknown))), draw.normal(size=(2, blocks.size))
    totals = draw.normal(size=(2, chain.nest.segments.size))

    found = chain.ends(measured, sums, totals)

    rows, goals = [], []
    for number, block in enumerate(unknown):
        rows.append(np.eye(blocks.size)[block] / chain.prefix**0.5)
        goals.append(measured[:, number] / chain.prefix**0.5)
    for block in range(blocks.size):
        before = block > blocks.first[blocks.parent[block]]
        row = np.eye(blocks.size)[block] - (np.eye(blocks.size)[block - 1] if before else 0)
        rows.append(row / chain.block[block] ** 0.5)
        goals.append(sums[:, block] / chain.block[block] ** 0.5)
    if chain.fixed:
        for segment, block in enumerate(blocks.first[1:] - 1):
            rows.append(np.eye(blocks.size)[block] * 1e6)
            goals.append(totals[:, segment] * 1e6)
    slow = np.linalg.lstsq(np.array(rows), np.array(goals), rcond=None)[0].T
    assert found[:, chain.places(np.arange(blocks.size))] == pytest.approx(slow, abs=1e-6)
    assert (found[:, chain.last - np.diff(blocks.first)] == 0).all()
