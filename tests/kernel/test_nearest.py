"""Places along lines: their scores, and by how much an edge changes these, against tables one by one."""

import itertools
import random
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csc_array

from pandas_blowfish.errors import UnsoundPlanError
from pandas_blowfish.kernel.nearest import place_ranges, place_scales, require_places, score_places
from pandas_blowfish.plan.protocol import Targets
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.policy.cells import Cells


@dataclass(frozen=True, eq=False)
class Lines:
    """Query rows with weights of cells 0, 1, 2 ..., in choices."""

    weights: np.ndarray  # rows x cells
    choices: np.ndarray
    targets: Targets

    @property
    def scales(self):
        """Return one scale for all."""
        return Scales([Fraction(7, 2)], np.zeros(len(self.choices), dtype=np.int8))

    def columns(self, cells):
        """Return the matrix at some cells."""
        found = self.weights[:, cells.codes["x"]] * ~cells.absent
        return csc_array(found)


def distances(counts, targets, share):
    """Return of each part of a line how far it is from the wanted rank, by definition."""
    parts = [Fraction(int(each), targets.parts) for each in counts for _ in range(targets.parts)]
    wanted = Fraction(share, targets.whole) * sum(parts)
    ends = [Fraction(0), *itertools.accumulate(parts)]
    return [max(low - wanted, wanted - high, 0) for low, high in itertools.pairwise(ends)]


def random_lines(draw):
    """Return lines of few cells, some of which several lines count, with weights or without."""
    cells, targets = draw.randint(1, 4), []
    weighted, parts, whole = draw.random() < 0.4, draw.choice([1, 1, 2, 3]), draw.choice([1, 2, 4, 5])
    rows, choices = [], []
    for choice in range(draw.randint(1, 2)):
        targets.append(draw.randint(0, whole))
        for cell in range(cells):
            if draw.random() < 0.85 or choice not in choices:
                row = [0] * cells
                row[cell] = draw.randint(0, 3) if weighted else 1
                rows.append(row)
                choices.append(choice)
    return Lines(np.array(rows), np.array(choices), Targets(tuple(targets), whole, parts))


def all_edges(cells):
    """Return every pair of cells, and every cell with its absence, both ways."""
    pairs = list(itertools.permutations(range(cells + 1), 2))
    ends = (np.array(each) for each in zip(*pairs, strict=True))
    return [Cells({"x": np.minimum(each, cells - 1)}, each == cells) for each in ends]


def test_scores_are_distances():
    """Of any counts, in steps of a part of a row; also where 64 bits would not hold them."""
    for seed in range(200):
        draw = random.Random(seed)
        lines = random_lines(draw)
        largest = draw.choice([3, 1000, 10**6])
        counts = np.array([draw.randint(0, largest) for _ in lines.choices])

        found = score_places(lines.choices, counts, lines.targets)

        step = lines.targets.whole * lines.targets.parts
        wanted = [
            -each * step
            for own, share in enumerate(lines.targets.shares)
            for each in distances(counts[lines.choices == own], lines.targets, share)
        ]
        assert found.tolist() == wanted
    huge = score_places(np.array([0, 0, 0]), np.array([5, 2**59, 7]), Targets((1,), 2, 4))
    assert huge[4:12].max() == 0
    assert huge[0] == -(2**61)


def test_ranges_are_those_of_all_tables():
    """No table changes differences of scores by more than is said; of uncut rows some by as much."""
    tight = seen = 0
    for seed in range(70):
        draw = random.Random(seed)
        lines = random_lines(draw)
        cells = lines.weights.shape[1]
        start, end = all_edges(cells)
        stated = place_ranges(lines, start, end)
        worst = np.zeros(len(start), dtype=np.int64)
        tables = list(itertools.product((0, 1, 3, 8) if cells > 2 else range(9), repeat=cells))
        for table in draw.sample(tables, min(len(tables), 40)):
            for at in range(len(start)):
                one, two = (np.array([*table, 0]) for _ in range(2))
                for counts, ends in ((one, start), (two, end)):
                    counts[cells if ends.absent[at] else ends.codes["x"][at]] += 1
                scores = [
                    score_places(lines.choices, lines.weights @ own[:cells], lines.targets)
                    for own in (one, two)
                ]
                change = scores[1] - scores[0]
                each = [
                    np.ptp(change[np.repeat(lines.choices, lines.targets.parts) == own])
                    for own in range(len(lines.targets.shares))
                ]
                worst[at] = max(worst[at], sum(each))

        assert (worst <= stated * lines.targets.parts).all()
        tight += lines.targets.parts == 1 and bool((worst == stated).all())
        seen += lines.targets.parts == 1
    assert seen > 20
    assert tight > seen / 3


def test_steps_between_neighbouring_rows_cost_half():
    """To the next cell the rank of one boundary moves; further, some places gain and some lose."""
    lines = Lines(np.eye(5, dtype=int), np.zeros(5, dtype=int), Targets((1,), 2))
    start, end = all_edges(5)
    stated = dict(
        zip(
            zip(start.codes["x"] + 9 * start.absent, end.codes["x"] + 9 * end.absent, strict=True),
            place_ranges(lines, start, end).tolist(),
            strict=True,
        )
    )

    assert stated[1, 2] == 2
    assert stated[1, 3] == stated[4, 0] == 4
    assert stated[2, 13] == 2


def test_parts_have_as_much_larger_noise():
    """A part's distance is in smaller steps."""
    lines = Lines(np.eye(2, dtype=int), np.zeros(2, dtype=int), Targets((1,), 2, 3))

    assert place_scales(lines) == [Fraction(21, 2)] * 6


@pytest.mark.parametrize(
    ("choices", "targets"),
    [
        ([0, 1, 0], Targets((1, 1), 2)),
        ([0, 2, 2], Targets((1, 1), 2)),
        ([0, 0, 0], Targets((1, 1), 2)),
        ([0, 0, 0], Targets((3,), 2)),
        ([0, 0, 0], Targets((-1,), 2)),
        ([0, 0, 0], Targets((1,), 2, 0)),
        ([0, 0, 0], Targets((0,), 0)),
        ([0, 0, 0], Targets()),
    ],
)
def test_what_is_no_line_is_refused(choices, targets):
    """Rows out of order, a choice without rows, a share that is none."""
    with pytest.raises(UnsoundPlanError, match="one line after another"):
        require_places(Lines(np.eye(3, dtype=int), np.array(choices), targets))


def test_negative_weights_are_refused():
    """The bound takes counts for what never falls along the line."""
    lines = Lines(np.array([[1, 0], [0, -1]]), np.zeros(2, dtype=int), Targets((1,), 2))

    with pytest.raises(UnsoundPlanError, match="below 0"):
        place_ranges(lines, *all_edges(2))
