"""What a block can do when a record moves: what is drawn is among what is listed, and as many as counted."""

import numpy as np
import pytest

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.policy.graph.moves import Groups, Listed, Missing, Moves, Nothing, Offsets, Window


def near(width: int, size: int) -> Window:
    """Return windows of a width on some cells."""
    return Window(size, lambda at: (np.maximum(at - width, 0), np.minimum(at + width, size - 1)), width=width)


BLOCKS: dict[str, Moves] = {
    "nothing": Nothing([4]),
    "full": Groups([None], [5]),
    "runs": Groups([3], [8]),
    "groups": Groups([np.array([0, 1, 0, 2, 1])], [5]),
    "two columns": Groups([None, 2], [2, 5]),
    "window": near(2, 7),
    "listed window": Window(
        3, lambda at: (np.array([0, 0, 1])[at], np.array([1, 2, 2])[at]), np.array([2, 0, 1])
    ),
    "offsets": Offsets([4, 3], [2, 2], lambda far: (far.sum(axis=1) <= 2) & far.any(axis=1)),
    "listed": Listed([2, 3], np.array([[0, 5], [1, 2], [5, 0]])),
    "missing": Missing(near(1, 4), [True], True),
    "missing is public": Missing(near(1, 4), [True], False),
    "one of two missing": Missing(Offsets([3, 2], [1, 1], lambda far: far.any(axis=1)), [True, False], True),
}


def flat(codes: Ints, moves: Moves) -> list[int]:
    """Return cells as numbers."""
    return np.ravel_multi_index(tuple(codes.T), [int(size or 0) for size in moves.sizes]).tolist()


@pytest.mark.parametrize("moves", BLOCKS.values(), ids=BLOCKS)
def test_pairs_are_listed_once_counted_and_drawn(moves):
    """Every pair once, as many as the closed form says; drawn ones are among them, and all are."""
    start, end = moves.every()
    listed = [tuple(sorted(pair)) for pair in zip(flat(start, moves), flat(end, moves), strict=True)]
    random = np.random.default_rng(7)
    cells = np.repeat(moves.list_cells(), 400, axis=0)

    there = moves.draw(random, cells)
    drawn = {
        tuple(sorted(p)) for p in zip(flat(cells, moves), flat(there, moves), strict=True) if p[0] != p[1]
    }

    assert len(set(listed)) == len(listed) == moves.count
    assert all(a != b for a, b in listed)
    assert drawn == set(listed)


def test_what_has_no_end_is_not_counted():
    """A column without bounds, and too many offsets, are drawn only."""
    endless = Window(None, lambda at: (at - 3, at + 3), width=3)
    wide = Offsets([10**6, 10**6], [10**4, 10**4], lambda far: far.sum(axis=1) <= 10**4)
    random = np.random.default_rng(7)

    there = endless.draw(random, np.full((100, 1), 5))
    far = wide.draw(random, np.full((100, 2), 5 * 10**5))

    assert endless.count is None
    assert wide.count is None
    assert 2 <= there.min() <= there.max() <= 8
    assert np.abs(far - 5 * 10**5).sum(axis=1).max() <= 10**4
