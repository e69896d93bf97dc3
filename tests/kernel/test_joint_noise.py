"""Noise that query rows draw together: its law, every rare path of the sampler, what it refuses."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.stats import chi2

from pandas_blowfish.errors import ScaleError, UnsoundPlanError
from pandas_blowfish.kernel import joint_noise, noise
from pandas_blowfish.kernel.joint_noise import check_joint, draw_joint, require_joint
from pandas_blowfish.kernel.noise import MAX_SCALE, replay
from pandas_blowfish.plan.joint_noise import BOX, CLIQUE, Block, Joint, box, clique, count_points
from pandas_blowfish.plan.scales import Scales

MIXED = Joint((Block(CLIQUE, [0, 2, 3]), Block(BOX, [1], (2,))))
TWO = Joint((Block(CLIQUE, [0, 1]), Block(CLIQUE, [2, 3])))
LAWS = [
    (clique([0, 1]), Fraction(3, 2), 9),
    (clique([0, 1, 2]), Fraction(1), 7),
    (clique([0, 1, 2, 3]), Fraction(2, 3), 5),
    (box([0], [1]), Fraction(2), 12),
    (box([0, 1], [1, 3]), Fraction(1, 2), 12),
    (box([0, 1, 2], [1, 1, 2]), Fraction(2, 3), 8),
    (MIXED, Fraction(1, 2), 5),
    (TWO, Fraction(1), 6),
]


class Numbers(noise.WordSource):
    """A source whose uniform integers below any bound are prepared: a path through all choices."""

    def __init__(self, path):
        self.path, self.bounds = list(path), []

    def below(self, bound, count):
        """Return the next prepared integers; 0 beyond them."""
        found = []
        for _ in range(count):
            self.bounds.append(bound)
            found.append(self.path[len(self.bounds) - 1] if len(self.bounds) <= len(self.path) else 0)
        return np.array(found, dtype=object)


def every_path(draw):
    """Yield what is drawn on each path of choices, and the path's probability."""
    todo = [[]]
    while todo:
        path = todo.pop()
        source = Numbers(path)
        found = draw(source)
        if len(source.bounds) > len(path):
            todo += [[*path, choice] for choice in range(source.bounds[len(path)])]
        else:
            yield found, Fraction(1, math.prod(source.bounds))


@pytest.mark.parametrize(
    ("block", "radius"),
    [
        (Block(CLIQUE, [0]), 3),
        (Block(CLIQUE, [0, 1]), 4),
        (Block(CLIQUE, [0, 1, 2]), 2),
        (Block(CLIQUE, [0, 1, 2, 3]), 1),
        (Block(BOX, [0, 1], (1, 2)), 2),
        (Block(BOX, [0, 1, 2], (1, 2, 1)), 0),
    ],
)
def test_every_point_is_reached_by_its_share_of_choices(block, radius):
    """Over all choices, each with its probability, each point of the ball is as probable as any other."""
    shares: Counter[tuple[int, ...]] = Counter()
    for point, share in every_path(lambda source: joint_noise._draw_point(block, radius, source)):
        shares[tuple(point)] += share

    many = count_points((block.shape,), radius)
    assert len(shares) == many
    assert set(shares.values()) == {Fraction(1, many)}
    norms = block.measure(np.array(list(shares)))
    assert norms.min() >= 0
    assert norms.max() == (radius if len(block.rows) > 1 else 0)


@pytest.mark.parametrize("radius", [0, 1, 3, 2**50])
def test_points_of_large_cliques_are_points(radius):
    """However large the radius and the clique: whole numbers that sum to 0, no further than allowed."""
    with replay(radius):
        for cells in (2, 5, 60):
            source = noise.open_source()
            for _ in range(5):
                point = joint_noise._draw_clique(cells, radius, source)
                assert len(point) == cells
                assert sum(point) == 0
                assert sum(map(abs, point)) <= 2 * radius


@pytest.mark.parametrize(("joint", "scale", "far"), LAWS)
def test_law_passes_chi_square(joint, scale, far):
    """Points are as frequent as the law says, all that are frequent one by one."""
    many = 3_000
    cells = np.array(list(itertools.product(range(-far, far + 1), repeat=len(joint.rows))))
    norms = joint.measure(cells)
    weights = np.where(norms >= 0, np.exp(-norms.astype(float) / float(scale)), 0.0)
    total = sum(count_points(joint.shape, r) * math.exp(-r / scale) for r in range(400))
    law = weights / (total * (1 - math.exp(-1 / scale)))
    assert 0.9 < law.sum() <= 1 + 1e-12

    with replay(7):
        drawn = np.array([draw_joint(joint, scale) for _ in range(many)])
    points = np.empty_like(drawn)
    points[:, joint.rows] = drawn
    seen = Counter(map(tuple, points.tolist()))
    frequent = np.flatnonzero(law * many > 8)
    expected = np.append(law[frequent], 1 - law[frequent].sum()) * many
    observed = np.array([seen[tuple(cells[place].tolist())] for place in frequent])
    observed = np.append(observed, many - observed.sum())
    kept = expected > 1
    squares = ((observed - expected) ** 2 / np.maximum(expected, 1e-9))[kept].sum()

    assert chi2.sf(squares, kept.sum() - 1) > 1e-4


def test_parts_are_decided_as_the_real_number_would():
    """Next to a limit, and on it for 64 or 128 bits, more bits of the real number decide."""
    shape, scale = clique([0, 1, 2]).shape, Fraction(5, 3)
    with mpmath.workprec(1_000):
        a = mpmath.exp(-1 / (mpmath.mpf(5) / 3))
        weights = [1, 4 * a, a**2]
        limits = [sum(weights[: j + 1]) / sum(weights) for j in range(2)]

        class Bits(noise.WordSource):
            def __init__(self, *words):
                self.words, self.asked = list(words), 0

            def octets(self, count):
                self.asked += 1
                return self.words.pop(0).to_bytes(count, "little")

        for place, limit in enumerate(limits):
            for bits in (64, 128, 192):
                for side in (-1, 1):
                    near = int(mpmath.floor(limit * 2**bits)) + side
                    words = [near >> shift & (2**64 - 1) for shift in range(bits - 64, -1, -64)]
                    source = Bits(*words, 0)

                    assert joint_noise._draw_part(shape, scale, source) == place + (side > 0)
                    assert source.asked == bits // 64


def test_parts_have_their_law_at_any_scale():
    """Tiny scales leave the first part alone, huge ones weigh all by their numbers."""
    shape = clique(range(9)).shape
    with replay(3):
        source = noise.open_source()
        assert {joint_noise._draw_part(shape, Fraction(1, 1000), source) for _ in range(50)} == {0}
        drawn = np.bincount([joint_noise._draw_part(shape, Fraction(10**9), source) for _ in range(4_000)])
    weights = np.array([math.comb(8, j) ** 2 for j in range(9)], dtype=float)
    expected = weights[1:8] / weights.sum() * 4_000

    assert chi2.sf(((drawn[1:8] - expected) ** 2 / expected).sum(), 6) > 1e-4


def test_noise_of_no_scale_or_dimension_is_none():
    """Scale 0 means no noise, and so does a clique of one cell, whatever its scale."""
    assert draw_joint(clique([0, 1, 2]), Fraction(0)).tolist() == [0, 0, 0]
    assert draw_joint(clique([5]), Fraction(9)).tolist() == [0]


def test_noise_of_any_scale_is_drawn():
    """Wide noise is wide, tiny noise none; cliques sum to 0, and a replay repeats itself."""
    wide = Joint((Block(BOX, [0, 1], (1, 2**20)), Block(CLIQUE, [2, 3, 4])))
    with replay(5):
        drawn = draw_joint(wide, Fraction(2**20))
    with replay(5):
        assert draw_joint(wide, Fraction(2**20)).tolist() == drawn.tolist()

    assert abs(drawn[1]) > 2**30
    assert drawn[2:].sum() == 0
    assert not draw_joint(wide, Fraction(1, 10**6)).any()
    assert draw_joint(wide, Fraction(2**20)).tolist() != draw_joint(wide, Fraction(2**20)).tolist()


def test_noise_too_large_is_refused():
    """Noise that might pass 64 bits, of too many dimensions or cells, is none; a little less is."""
    assert check_joint(box([0], [2**40]), Fraction(2**8)) == 2**8
    with pytest.raises(ScaleError):
        check_joint(box([0], [2**40]), Fraction(2**9))
    with pytest.raises(ScaleError):
        check_joint(clique([0, 1]), Fraction(MAX_SCALE))
    with pytest.raises(UnsoundPlanError, match="dimensions"):
        check_joint(box(range(1_001), [1] * 1_001), Fraction(1))
    with pytest.raises(UnsoundPlanError, match="dimensions"):
        check_joint(clique(range(257)), Fraction(1))
    assert check_joint(clique(range(256)), Fraction(1)) == 1


def test_noise_is_of_its_own_rows():
    """Every row of a kind is drawn once, and no other: anything else is refused."""

    class Sly(Joint):
        pass

    def kinds(joint, codes):
        return Scales([Fraction(1), Fraction(2)], np.array(codes), {1: joint})

    require_joint(kinds(clique([1, 2]), [0, 1, 1]))
    for joint, codes in [
        (clique([0, 1]), [0, 1, 1]),
        (clique([1, 2]), [1, 1, 1]),
        (clique([1, 2, 3]), [0, 1, 1]),
        (Sly(clique([1, 2]).blocks), [0, 1, 1]),
    ]:
        with pytest.raises(UnsoundPlanError, match="other query rows"):
            require_joint(kinds(joint, codes))
    with pytest.raises(UnsoundPlanError, match="other query rows"):
        require_joint(Scales([Fraction(1)], np.array([0, 0]), {3: clique([0, 1])}))
