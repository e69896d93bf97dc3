"""The norm of changes in runs: against enumeration, by entries and in full, and what is refused."""

import itertools

import numpy as np
import pytest
from oracle.run_law import by_distance

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.plan.transport.run_norm import Runs


def _runs(reach, *sizes):
    return Runs(np.arange(sum(sizes)), sizes, reach)


@pytest.mark.parametrize("reach", [2, 3])
def test_norms_agree_with_enumeration(reach):
    """On two lines they are sums of distances found by a search; and they are norms."""
    one, two = by_distance(3, reach, 1, 3), by_distance(1, reach, 1, 3)
    points = np.array(list(itertools.product((-1, 0, 1), repeat=4)))

    norms = _runs(reach, 3, 1).measure(points)

    assert norms.tolist() == [one[tuple(p[:3])] + two[tuple(p[3:])] for p in points.tolist()]
    sums = _runs(reach, 3, 1).measure((points[:, None] + points[None]).reshape(-1, 4)).reshape(81, 81)
    assert (sums <= norms[:, None] + norms[None]).all()
    assert (_runs(reach, 3, 1).measure(-points) == norms).all()


@pytest.mark.parametrize("kind", [np.int64, object])
def test_entries_give_the_norms_of_whole_changes(kind):
    """In any order, with other rows among them, and for changes without any."""
    random = np.random.default_rng(2)
    changes = (random.integers(-2, 3, (50, 9)) * (random.random((50, 9)) < 0.5)).astype(kind)
    changes[7] = 0
    norm = Runs(np.array([8, 1, 2, 5, 4, 0]), (4, 0, 2), 3)
    change, row = np.nonzero(changes)
    order = random.permutation(len(row))

    found = norm.measure_entries(row[order], change[order], changes[change, row][order], 50)

    assert found.tolist() == _runs(3, 4, 0, 2).measure(changes[:, norm.rows]).tolist()
    assert norm.measure(changes).tolist() == found.tolist()


def test_edges_are_one():
    """A run of as many sums as the reach is 1, a longer one as many as it needs."""
    norm = _runs(3, 10)
    changes = np.array(
        [[0] * start + [1] * many + [0] * (10 - start - many) for start, many in [(2, 3), (0, 1), (1, 7)]]
    )

    assert norm.measure(changes).tolist() == [1, 1, 3]
    assert norm.measure(5 * changes).tolist() == [5, 5, 15]


def test_renumbered_rows_keep_their_lines():
    """Where rows get other numbers, their order stays."""
    norm = Runs(np.array([3, 4, 0]), (2, 1), 2)

    other = norm.renumber(np.array([9, -1, -1, 7, 5]))

    assert other.rows.tolist() == [7, 5, 9]
    assert other.is_same(Runs(np.array([7, 5, 9]), (2, 1), 2))
    assert not other.is_same(norm)
    assert not other.is_same(Runs(np.array([7, 5, 9]), (1, 2), 2))
    assert norm.blocks == ()


@pytest.mark.parametrize(
    ("rows", "sizes", "reach"),
    [([0, 1], (2,), 1), ([0, 1], (2,), 9), ([0, 1], (1,), 2), ([0, 0], (2,), 2), ([], (), 2)],
)
def test_no_norm_is_refused(rows, sizes, reach):
    """Reaches that are not offered, other sizes, rows twice, and none."""
    with pytest.raises(ArgumentError):
        Runs(np.array(rows, dtype=np.int64), sizes, reach)
