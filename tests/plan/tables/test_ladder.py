"""Ladders: nodes equally wide on each level, and the sizes of effects against dense projections."""

import random

import numpy as np
import pytest

from pandas_blowfish.plan.tables.ladder import count_filled, ladder, longest


def random_ladder(draw, *, ordered):
    """Return a ladder over random segments, with cells of no atom and random radices."""
    runs = [draw.randint(1, 5) for _ in range(draw.randint(1, 4))]
    segments = np.repeat(np.arange(len(runs)), runs)
    if not ordered or draw.random() < 0.2:
        segments = np.array(draw.sample(segments.tolist(), len(segments)))
    atom_of = np.array([atom for atom in range(len(segments)) for _ in range(draw.randint(1, 3))])
    if draw.random() < 0.5:
        atom_of = np.append(atom_of, -1)
    left, radices = longest(segments, ordered=ordered), []
    while left > 1:
        radices.append(draw.randint(2, left))
        left = -(-left // radices[-1])
    return ladder(atom_of, segments, radices, ordered=ordered), segments


def projections(found):
    """Return for each level the projection on what varies between its nodes and not above, over leaves."""
    spaces = []
    for level in range(found.levels):
        width = found.width(level)
        spaces.append(np.kron(np.eye(found.counts[level]), np.ones((width, width)) / width))
    return [here - (spaces[level - 1] if level else 0) for level, here in enumerate(spaces)]


@pytest.mark.parametrize("seed", range(40))
def test_norms_are_those_of_dense_projections(seed):
    """The part of a range in each effect, and what tables of nodes tell of it: squared lengths."""
    draw = random.Random(seed)
    ordered = seed % 2 == 0
    found, segments = random_ladder(draw, ordered=ordered)
    many = len(segments)
    starts = np.array([draw.randrange(many) for _ in range(12)])
    stops = np.array([draw.randint(start + 1, many) if ordered else start + 1 for start in starts])

    norms = found.norms(starts, stops)

    for place, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        box = np.zeros(found.leaves)
        box[found.leaf_of[start:stop]] = 1
        for level, part in enumerate(projections(found)):
            # noise in an effect is spread over the leaves of a node, so shares of nodes count
            assert norms[level, place] == pytest.approx((part @ box @ box) / found.width(level), abs=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_nodes_hold_each_atom_once(seed):
    """Leaves are distinct; a level's nodes are unions of the next one's; still nodes are the segments."""
    draw = random.Random(500 + seed)
    ordered = seed % 2 == 0
    found, segments = random_ladder(draw, ordered=ordered)

    assert len(set(found.leaf_of.tolist())) == len(segments)
    assert found.leaf_of.max() < found.leaves
    assert found.counts[0] == 1
    for level, count in enumerate(found.counts):
        marks = found.marks(level)
        assert ((marks < 0) == (found.atom_of < 0)).all()
        assert marks.max() < count
        assert found.leaves % count == 0
        if level:
            assert found.counts[level] % found.counts[level - 1] == 0
    still = found.leaf_of // found.width(found.still)
    for segment in np.unique(segments):
        assert len(set(still[segments == segment].tolist())) == 1
    if ordered:
        assert (np.diff(found.leaf_of) > 0).all()


def test_segments_that_are_no_runs():
    """Where order matters they count as one; where it does not each stays by itself."""
    segments = np.array([0, 1, 0, 1])

    assert ladder(np.arange(4), segments, [4], ordered=True).counts == (1, 4)
    assert ladder(np.arange(4), segments, [2], ordered=False).counts == (1, 2, 4)
    assert longest(segments, ordered=True) == 4
    assert longest(segments, ordered=False) == 2
    assert count_filled(segments, ordered=True) == 4
    assert count_filled(np.array([0, 1, 1, 1, 2]), ordered=True) == 9


def test_radices_must_reach():
    """A cut that leaves two atoms in one leaf is refused."""
    with pytest.raises(ValueError, match="reach"):
        ladder(np.arange(5), np.zeros(5, dtype=np.int64), [2, 2], ordered=True)
