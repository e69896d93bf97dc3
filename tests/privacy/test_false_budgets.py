"""Formulas of the papers without facts that are false as printed: each loses more than epsilon.

PROOFS.md lists them at its end. Distances over gaps and groups that rows can change are in
test_traps.py; that no scale is 0 at theta = 1 also in tests/plan/line/test_layouts.py.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from oracle.definition import definition_edges
from oracle.neighbours import true_loss, true_sensitivity
from scipy.sparse import csr_array

import pandas_blowfish as bf
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.policy.domain import Domain, integers


def on_line(cells, secret):
    """Return a policy on 0..cells-1."""
    return bf.Policy(Domain((integers("x", 0, cells - 1),)), secrets={"x": secret})


def test_lemma_6_1():
    """A point that changes its cluster moves one sum by x and the other by y: 13, not 2 theta."""
    centroids, values = (0, 13), np.arange(8)
    near = np.abs(values - centroids[0]) < np.abs(values - centroids[1])
    sums = np.array([values * near, values * ~near])
    policy = on_line(8, bf.threshold(1))
    far = Domain((integers("x", 10, 12),))
    apart = np.array([[10, 0, 0], [0, 11, 12]])

    everything = bf.Policy(far)  # even 2 d(T), of the full graph, when 0 is not in the domain
    assert true_sensitivity(policy, sums, 2) == 13 > 2 * 1
    assert true_sensitivity(everything, apart, 2) == 22 > 2 * (12 - 10)
    for each, asked in ((policy, sums), (everything, apart)):
        plan = each.plan.workload(asked, "x", strategy="direct")

        assert true_loss(each, plan.matrix(), plan.scales, 2) == plan.privacy_loss() == 1


def ordered_hierarchical(cells, theta, branching, ordered_share, tree_share):
    """Return the rows and scales of section 7.2 as printed, for epsilon 1."""
    height = math.ceil(round(math.log(theta, branching), 9))
    rows, scales = [], []
    for end in range(theta, cells, theta):  # s_1, ..., s_(k-1); the last is the number of rows
        rows.append(np.arange(cells) < end)
        scales.append(Fraction(2 * height) if end == theta else 1 / ordered_share)
    for block, level in itertools.product(range(0, cells, theta), range(1, height + 1)):
        width = -(-theta // branching**level)
        for start in range(block, block + theta, width):
            rows.append((np.arange(cells) >= start) & (np.arange(cells) < start + width))
            scales.append(Fraction(2 * height) if block == 0 else 2 * height / tree_share)
    return csr_array(np.array(rows, dtype=np.int64)), scales


@pytest.mark.parametrize(("theta", "height"), [(2, 1), (4, 2), (8, 3)])
@pytest.mark.parametrize("share", [Fraction(24, 25), Fraction(1, 2)])
def test_budgets_of_section_7_2(theta, height, share):
    """Between the first block and the second the budgets add up to more than epsilon: up to 1.48."""
    edges = definition_edges(on_line(4 * theta, bf.threshold(theta)), ["x"])
    matrix, scales = ordered_hierarchical(4 * theta, theta, 2, 1 - share, share)

    lost = edge_loss(matrix, scales, edges).value

    said = Fraction(1, 2) + Fraction(1, 2 * height) + share / 2
    assert lost == max(1, said)
    assert height > 1 or lost > 1
    plan = on_line(4 * theta, bf.threshold(theta)).plan.cumhist("x", strategy="ordered_hierarchical")
    assert plan.privacy_loss() == 1


def test_section_7_2_at_theta_one():
    """The printed scale of s_1 is 0: it is published."""
    edges = definition_edges(on_line(4, bf.threshold(1)), ["x"])
    matrix, scales = ordered_hierarchical(4, 1, 2, Fraction(1, 2), Fraction(1, 2))

    assert edge_loss(matrix, scales, edges).value == math.inf
    assert on_line(4, bf.threshold(1)).plan.cumhist("x").privacy_loss() == 1


def test_vldb_theorem_4_1_with_the_printed_condition():
    """W A A^+ = W lets a strategy through whose noise does not reach the answer: it is published."""
    strategy, asked = np.array([[0, 1], [0, 0]]), np.array([[1, 0]])
    inverse = np.linalg.pinv(strategy)

    assert np.allclose(asked @ strategy @ inverse, asked)  # as printed
    assert not np.allclose(asked @ inverse @ strategy, asked)  # as needed
    assert np.allclose(asked @ inverse, 0)  # what the noise is multiplied with


def test_vldb_noise_on_the_weights_of_edges():
    """On a grid of 8 x 8 Laplace(1 / epsilon) on x_G = P_G^+ x loses 3.4 epsilon."""
    side = 8
    policy = bf.Policy(
        Domain((integers("a", 0, side - 1), integers("b", 0, side - 1))),
        secrets={("a", "b"): bf.threshold(1)},
    )
    edges = definition_edges(policy, ["a", "b"])
    incidence = np.zeros((side**2, len(edges)))
    incidence[edges[:, 0], np.arange(len(edges))] = 1
    incidence[edges[:, 1], np.arange(len(edges))] = -1
    weights = np.linalg.pinv(incidence[:-1])  # the last cell stands for "absent"

    lost = np.abs(weights @ incidence[:-1]).sum(axis=0).max()

    assert round(lost, 1) == 3.4
    boxes = [((0, 3), (2, 5)), ((1, 6), (0, 7)), ((4, 4), (4, 4))]
    for strategy in ("mesh", "auto"):
        assert policy.plan.range(["a", "b"], boxes, strategy=strategy).privacy_loss() <= 1


def stretch(vertices, spanner, edges):
    """Return the longest way through a spanner between the ends of an edge."""
    longest = 0
    for start in vertices:
        far, front = {start: 0}, [start]
        while front:
            front = [(v, far[u] + 1) for u in front for v in spanner.get(u, ()) if v not in far]
            far |= dict(front)
            front = list(dict(front))
        longest = max([longest, *(far.get(end, math.inf) for end in edges(start))])
    return longest


def joined(pairs):
    """Return who is next to whom."""
    found = {}
    for a, b in pairs:
        found.setdefault(a, set()).add(b)
        found.setdefault(b, set()).add(a)
    return found


def test_vldb_spanner_of_the_plane_has_stretch_five():
    """Squares of side theta / 2, each joined to its upper right corner: 5 and not 3."""
    side, theta = 12, 4
    width = theta // 2
    cells = list(itertools.product(range(1, side + 1), repeat=2))
    red = {(x, y): (-(-x // width) * width, -(-y // width) * width) for x, y in cells}
    inner = [(cell, corner) for cell, corner in red.items() if cell != corner]
    outer = [(a, b) for a, b in itertools.combinations(sorted(set(red.values())), 2)]
    outer = [(a, b) for a, b in outer if abs(a[0] - b[0]) + abs(a[1] - b[1]) == width]

    def near(cell):
        return [c for c in cells if 0 < abs(c[0] - cell[0]) + abs(c[1] - cell[1]) <= theta]

    assert stretch(cells, joined(inner + outer), near) == 5


def test_vldb_spanner_of_a_line_whose_length_theta_does_not_divide():
    """H as printed leaves the last vertex of its own Figure 6 alone; joined to the last red one it is 3."""
    cells, theta = 10, 3
    red = range(theta, cells + 1, theta)
    path = list(itertools.pairwise(red))
    leaves = [(v, -(-v // theta) * theta) for v in range(1, cells + 1) if v % theta]
    printed = [pair for pair in path + leaves if pair[1] <= cells]
    mended = [(v, min(end, red[-1])) for v, end in path + leaves]

    def near(v):
        return [u for u in range(1, cells + 1) if 0 < abs(u - v) <= theta]

    assert stretch(range(1, cells + 1), joined(printed), near) == math.inf
    assert stretch(range(1, cells + 1), joined(mended), near) == 3
    plan = on_line(cells, bf.threshold(theta)).plan.cumhist("x", strategy="tree")
    assert plan.privacy_loss() <= 1


def test_vldb_claim_4_2_is_about_whole_numbers():
    """Half a record along each of two edges has distance 1 after the transform, but is no neighbour."""
    incidence = np.array([[1, 0], [-1, 1], [0, -1]])  # a line of three cells

    change = incidence @ np.array([0.5, 0.5])

    moves = [incidence[:, edge] * sign for edge in (0, 1) for sign in (1, -1)]
    assert not any(np.array_equal(change, move) for move in moves)
