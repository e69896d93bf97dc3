"""The longest of differences, found without going through all of them, equal those found by doing so."""

import itertools
import math
import random

import numpy as np
import pytest

from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.exact import pareto as module
from pandas_blowfish.exact.pareto import below, is_maximal, maximal, metric_front, profile
from pandas_blowfish.policy.graph.joint import within


def some_rows(draw):
    """Return a few rows of small numbers, of one to four axes."""
    axes = draw.randint(1, 4)
    most = [draw.choice([0, 1, 2, 5]) for _ in range(axes)]
    rows = [[draw.randint(0, each) for each in most] for _ in range(draw.randint(1, 12))]
    return np.array(rows, dtype=np.int64)


@pytest.mark.parametrize("dense", [0, module.MAX_PROFILE])
def test_maximal_matches_comparing_all(monkeypatch, dense):
    """A row stays unless another one is nowhere smaller, whether rows are compared or put in a table."""
    monkeypatch.setattr(module, "MAX_PROFILE", dense)
    draw = random.Random(1)
    for _ in range(300):
        rows = some_rows(draw)
        distinct = sorted({tuple(row) for row in rows.tolist()})
        slow = [
            row
            for row in distinct
            if not any(o != row and all(x >= y for x, y in zip(o, row, strict=True)) for o in distinct)
        ]

        found = maximal(rows)

        assert [tuple(row) for row in found.tolist()] == slow
        assert found.dtype == np.int64


@pytest.mark.parametrize("compared", [0, 10**6])
@pytest.mark.parametrize("kind", [bool, np.int64, np.float64])
def test_is_maximal_keeps_the_first_of_equal_rows(monkeypatch, compared, kind):
    """Whatever the numbers and the way they are compared, in the order given."""
    monkeypatch.setattr(module, "MAX_COMPARED", compared)
    for seed in range(200):
        draw = np.random.default_rng(seed)
        rows = draw.integers(0, 2 if kind is bool else 5, (draw.integers(0, 12), draw.integers(1, 4)))
        rows = rows.astype(kind) / (7 if kind is np.float64 else 1) if kind is not bool else rows > 0

        found = is_maximal(rows)

        for place, row in enumerate(rows):
            reached = [(row <= other).all() for other in rows]
            same = [(row == other).all() for other in rows]
            beaten = any(a and not b for a, b in zip(reached, same, strict=True)) or any(same[:place])
            assert found[place] == (not beaten)


def test_profiles_match_their_definition():
    """An entry is the most that a row which reaches there has on the axis left out, -1 where none does."""
    draw = random.Random(2)
    for _ in range(200):
        rows = some_rows(draw)
        axis = draw.randrange(rows.shape[1])
        reach = (rows.max(axis=0) + draw.randint(0, 2)).tolist()

        found = profile(rows, axis, reach)

        assert found.shape == tuple(1 if a == axis else most + 1 for a, most in enumerate(reach))
        for place in np.ndindex(*found.shape):
            over = (np.delete(rows, axis, axis=1) >= np.delete(np.array(place), axis)).all(axis=1)
            assert found[place] == rows[over, axis].max(initial=-1)
        assert (below(found) == found).all()


def random_metric(draw):
    """Return the arguments of a random ball: whole and half-open axes, capped by their cells or not."""
    axes = draw.randint(1, 4)
    large = draw.choice([1, 1, 10**6, 2**31, 10**9, 2**60, 10**30])
    steps = [draw.randint(1, 4) * large for _ in range(axes)]
    starts = [draw.choice([0, draw.randint(1, step // large) * large]) for step in steps]
    limit = draw.randint(1, 12) * large - draw.choice([0, 0, large // 3])
    cells = [draw.choice([1, 2, 4, 9]) for _ in range(axes)]
    reach = [min((limit - 1) // step + 1, size - 1) for step, size in zip(steps, cells, strict=True)]
    return draw.choice(["l1", "l2", "linf"]), limit, steps, starts, reach


@pytest.mark.parametrize("chunk", range(4))
def test_metric_front_matches_every_offset(chunk):
    """Offsets below a row are those whose distance is within the limit, and those of one axis alone."""
    draw, kinds = random.Random(chunk), {"below": 0, "beyond": 0, "alone": 0}
    for _ in range(150):
        metric, limit, steps, starts, reach = random_metric(draw)

        rows = metric_front(metric, limit, steps, starts, reach, "a ball")

        for offset in itertools.product(*(range(most + 1) for most in reach)):
            parts = [
                np.array([max(d - 1, 0) * step + (d > 0) * start], dtype=object)
                for d, step, start in zip(offset, steps, starts, strict=True)
            ]
            attained = [np.array([d == 0 or start > 0]) for d, start in zip(offset, starts, strict=True)]
            near = bool(within(metric, parts, attained, limit)[0])
            alone = sum(d > 0 for d in offset) == 1
            kinds["below" if near else "alone" if alone else "beyond"] += 1
            assert bool((np.array(offset) <= rows).all(axis=1).any()) == (near or alone)
    assert min(kinds.values()) > 10


@pytest.mark.parametrize(("axes", "theta"), [(2, 500), (3, 256), (4, 100), (12, 3)])
def test_large_balls_list_just_their_front(axes, theta):
    """The longest offsets of whole numbers in L1 are those that add up to theta."""
    rows = maximal(metric_front("l1", theta, [1] * axes, [1] * axes, [theta] * axes, "a ball"))

    assert len(rows) == math.comb(theta + axes - 1, axes - 1)
    assert (rows.sum(axis=1) == theta).all()


def test_balls_without_a_short_front_are_refused():
    """A front that cannot be listed is a typed error with a way out."""
    with pytest.raises(DomainTooLargeError, match="wider steps"):
        metric_front("l1", 500, [1] * 5, [1] * 5, [500] * 5, "a ball")

    assert metric_front("linf", 500, [1] * 5, [1] * 5, [500] * 5, "a ball")[0].tolist() == [500] * 5
