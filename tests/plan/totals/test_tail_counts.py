"""Cut points double, bins count each row once, and the choice is exact."""

import random
from fractions import Fraction

import numpy as np
import pytest

from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.plan.lattice import clip_lattice, lattice, representative
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.plan.totals import tail_counts
from pandas_blowfish.plan.totals.tail_counts import CutPoints, Noise
from pandas_blowfish.policy.domain import Domain, integers
from pandas_blowfish.policy.policy import Policy


def points_of(low, high, step=1, longest=None):
    """Return the cut points of whole numbers."""
    attribute = integers("x", low, high, step)
    bounds = representative(attribute, 0), representative(attribute, attribute.cells - 1)
    return CutPoints.of(lattice(attribute), bounds, longest)


def test_cut_points_double_from_the_value_nearest_zero():
    """On one side of 0, on both, and far from it; the declared bounds are last."""
    assert points_of(0, 100).upper == (1, 2, 4, 8, 16, 32, 64, 100)
    assert points_of(0, 100).lower == (0,)
    assert points_of(-5, 100).lower == (-1, -2, -4, -5)
    assert points_of(1_000, 1_010).upper == (1_001, 1_002, 1_004, 1_008, 1_010)
    assert points_of(-9, -2).lower == (-3, -4, -6, -9)
    assert points_of(-9, -2).upper == (-2,)


def test_cut_points_end_where_closer_bounds_change_nothing():
    """Noise that follows a threshold is smaller only within it."""
    assert points_of(0, 100, longest=10).upper == (1, 2, 4, 8, 100)
    assert not points_of(0, 100, longest=1).many


def test_each_cell_is_counted_in_one_bin():
    """Bins are numbered from the lowest values; a row on a cut point is not beyond it."""
    points = points_of(-5, 9)

    labels = points.tally(Tally(())).marks[0]

    assert labels.tolist() == [0, 1, 1, 2, 3, 3, 3, 4, 5, 5, 6, 6, 6, 6, 7]
    for below, low in enumerate(points.lower):
        for above, high in enumerate(points.upper):
            noisy = np.bincount(labels).tolist()
            outside = sum(not low <= value <= high for value in range(-5, 10))
            assert points.count_outside(noisy, below, above)[0] == outside


def test_columns_with_too_many_cells_are_refused(monkeypatch):
    """Naming the bounds as the way out."""
    monkeypatch.setattr(tail_counts, "MAX_BINNED", 50)

    with pytest.raises(DomainTooLargeError, match="clip=") as refused:
        points_of(0, 100).tally(Tally(()))

    assert refused.value.size == 101


def choose_slowly(points, noisy, scale, noise):
    """Return the choice by its definition, row by row."""
    best = None
    middle = len(points.lower) - 1
    for below, low in enumerate(points.lower):
        for above, high in enumerate(points.upper):
            lost = Fraction(0)
            for rank in range(1, len(points.upper)):
                many = noisy[middle + rank]
                if rank > above and many > scale * Fraction(30 + 3 * rank, 10):
                    lost += many * (Fraction(points.upper[rank] + points.upper[rank - 1], 2) - high)
            for rank in range(1, len(points.lower)):
                many = noisy[middle - rank]
                if rank > below and many > scale * Fraction(30 + 3 * rank, 10):
                    lost += many * (low - Fraction(points.lower[rank] + points.lower[rank - 1], 2))
            far = high - low if noise.kind == "width" else max(abs(low), abs(high))
            error = lost**2 + 2 * (noise.rate * min(noise.times * far, noise.longest) * noise.groups) ** 2
            if best is None or error < best[0]:
                best = error, (below, above)
    return best[1]


def test_the_choice_is_that_of_the_definition():
    """For random counts, in whole numbers and fractions: no rounding decides."""
    found = set()
    for number in range(60):
        draw = random.Random(number)
        points = points_of(draw.choice([0, -40, -300, 5]), draw.choice([50, 700, 6_000]))
        kind, rate = draw.choice(["width", "reach"]), Fraction(draw.randint(1, 9), draw.randint(1, 5))
        noise = Noise(kind, Fraction(1), Fraction(10**6), rate, Fraction(1), draw.randint(1, 3))
        bins = len(points.lower) + len(points.upper) - 1
        noisy = [draw.choice([-30, 0, 3, 40, 500, 9_000]) for _ in range(bins)]
        scale = Fraction(draw.randint(1, 40), 3)

        chosen = points.choose(noisy, scale, noise)

        assert chosen == choose_slowly(points, noisy, scale, noise)
        found.add(chosen)

    assert len(found) > 10


def test_full_counts_keep_all_values_and_empty_ones_few():
    """With rows in every bin nothing is clipped; with none beyond the first everything is."""
    points, noise = (
        points_of(0, 4_000),
        Noise("width", Fraction(1), Fraction(10**6), Fraction(1), Fraction(1), 1),
    )
    bins = len(points.upper)

    assert points.choose([10**9] * bins, Fraction(8), noise) == (0, bins - 1)
    assert points.choose([10**9] + [0] * (bins - 1), Fraction(8), noise) == (0, 0)


def test_clipped_weights_are_the_clipped_values():
    """Of random columns, from 0 and from a middle, missing values included."""
    for number in range(40):
        draw = random.Random(number)
        attribute = integers(
            "x", -draw.randint(0, 40), draw.randint(1, 60), draw.choice([1, 5]), nullable=True
        )
        found = lattice(attribute, draw.choice([None, (0, attribute.cells - 1)]))
        low, high = sorted(draw.sample(range(-30, 50), 2))
        centre = draw.choice([None, (Fraction(low), Fraction(high))])

        clipped = clip_lattice(found, Fraction(low), Fraction(high), centre)

        values = [clipped.origin + clipped.unit * w for w in clipped.weights()[: attribute.cells].tolist()]
        wanted = [representative(attribute, cell) for cell in range(attribute.cells)]
        low, high = (clipped.origin + clipped.unit * end for end in clipped.clip)
        assert values == [min(max(value, low), high) for value in wanted]
        assert clipped.weights()[attribute.cells] == 0
        assert clipped.ends == (min(clipped.weights()[:-1]), max(clipped.weights()[:-1]))


def test_groups_of_the_column_itself_leave_rows_out():
    """Rows in no group are in no bin."""
    policy = Policy(Domain((integers("x", 0, 99),)))

    plan = policy.plan.groupby("x", bins=[0, 10, 20]).sum("x", epsilon=1, clip="auto")

    marks = plan.measurement.counts.tallies[0].marks[0]
    assert (marks[:20] >= 0).all()
    assert (marks[21:] == -1).all()
