"""Spanning forests: trees along the graph's own pieces, their sums and paths as enumerated."""

import random

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.line.tree import forest
from pandas_blowfish.policy.domain import Domain, integers


def _above(tree, atom):
    """Return an atom and all above it, up to its root."""
    found = [atom]
    while tree.parent[found[-1]] != found[-1]:
        found.append(int(tree.parent[found[-1]]))
    return found


def _path(tree, a, b):
    """Return the atoms whose edges to their parents lie between two atoms."""
    return set(_above(tree, a)) ^ set(_above(tree, b))


@pytest.mark.parametrize("seed", range(80))
def test_every_piece_is_one_tree(seed, make_lined):
    """Each atom's root is that of its piece, and the order lists whole trees, parents first."""
    line = make_lined(random.Random(seed), 6).line
    tree = forest(line)
    roots = [_above(tree, atom)[-1] for atom in range(line.size)]

    assert len(tree.roots) == len(set(line.pieces.tolist()))
    for a in range(line.size):
        for b in range(line.size):
            assert (roots[a] == roots[b]) == (line.pieces[a] == line.pieces[b])
    assert sorted(tree.order.tolist()) == list(range(line.size))
    assert tree.depth.tolist() == [len(_above(tree, atom)) - 1 for atom in range(line.size)]
    place = np.argsort(tree.order)
    for atom in range(line.size):
        under = tree.order[place[atom] : place[atom] + tree.under[atom]].tolist()
        assert sorted(under) == [each for each in range(line.size) if atom in _above(tree, each)]


@pytest.mark.parametrize("seed", range(40))
def test_sums_and_paths_match_enumeration(seed, make_lined):
    """Sums count what lies at or under an atom; longest paths are found by walking all of them."""
    draw = random.Random(seed)
    line = make_lined(draw, 6).line
    tree = forest(line)
    counts = np.array([[draw.randint(0, 9) for _ in range(line.size)] for _ in range(2)])
    pairs = np.array([[draw.randrange(line.size)] * 2 for _ in range(1)] + line.between.tolist())

    slow = [0] * line.size
    for a, b in pairs.tolist():
        path = _path(tree, a, b)
        for atom in path:
            slow[atom] = max(slow[atom], len(path))

    assert tree.longest_paths(pairs).tolist() == slow
    for row, found in zip(counts, tree.sums(counts), strict=True):
        wanted = [
            sum(row[each] for each in range(line.size) if atom in _above(tree, each))
            for atom in range(line.size)
        ]
        assert found.tolist() == wanted


@pytest.mark.parametrize("size", [5, 12, 13, 40])
def test_a_threshold_has_stretch_at_most_three(size, line_of):
    """Whatever the threshold, one that does not divide the size too; the line itself has stretch 1."""
    for theta in range(1, size):
        tree = forest(line_of(size, theta).line)
        pairs = [(a, b) for a in range(size) for b in range(a + 1, min(a + theta + 1, size))]

        longest = max(len(_path(tree, a, b)) for a, b in pairs)

        assert longest <= (1 if theta == 1 else 3)
        assert len(tree.roots) == 1


def test_a_star_is_its_own_tree(on_line):
    """Listed edges around one value give that value as the root, each other one edge away."""
    policy = bf.Policy(
        Domain((integers("x", 0, 6),)), secrets={"x": bf.edges([(3, other) for other in (0, 1, 2, 4, 6)])}
    )

    tree = forest(on_line(policy, "x").line)

    assert tree.parent.tolist() == [3, 3, 3, 3, 3, 5, 3]
    assert tree.roots.tolist() == [3, 5]
    assert tree.depth.max() == 1
