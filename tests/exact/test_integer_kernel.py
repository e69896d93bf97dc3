"""Exact linear algebra over whole numbers."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest

from pandas_blowfish.exact import integer_kernel as lattice
from pandas_blowfish.exact.integer_kernel import (
    has_independent_rows,
    independent,
    longest_zero_sum,
    only_direction,
    short_kernel,
)


def _kernel(matrix):
    """Return a basis of the rational kernel by plain elimination."""
    rows = [[Fraction(int(value)) for value in row] for row in matrix]
    pivots, top, width = [], 0, matrix.shape[1]
    for column in range(width):
        live = next((n for n in range(top, len(rows)) if rows[n][column]), None)
        if live is None:
            continue
        rows[top], rows[live] = rows[live], rows[top]
        rows[top] = [value / rows[top][column] for value in rows[top]]
        for n in range(len(rows)):
            if n != top and rows[n][column]:
                rows[n] = [a - rows[n][column] * b for a, b in zip(rows[n], rows[top], strict=True)]
        pivots.append(column)
        top += 1
    return pivots, width - len(pivots)


def test_only_direction_matches_fractions():
    """Empty for a kernel of 0, a primitive vector for a line, None for more."""
    rng = np.random.default_rng(3)
    seen = set()
    for _ in range(300):
        matrix = rng.integers(0, 2, (int(rng.integers(1, 7)), int(rng.integers(2, 6))))
        found, (_, nullity) = only_direction(matrix), _kernel(matrix)

        seen.add(min(nullity, 2))
        if nullity > 1:
            assert found is None
        elif nullity == 0:
            assert len(found) == 0
        else:
            assert found.any()
            assert not (matrix @ found).any()
            assert np.gcd.reduce(np.abs(found)) == 1
    assert seen == {0, 1, 2}


def test_independent_columns_span_all():
    """As many as the rank, and each other column follows from them."""
    rng = np.random.default_rng(4)
    for _ in range(100):
        matrix = rng.integers(-1, 2, (int(rng.integers(1, 6)), int(rng.integers(1, 6))))
        chosen = independent(matrix)

        assert len(chosen) == len(_kernel(matrix)[0])
        assert len(_kernel(matrix[:, chosen])[0]) == len(chosen) if chosen else not matrix.any()


def _by_enumeration(moves, most):
    """Return the longest minimal zero sum of at most so many moves, trying all of them."""
    signed = sorted({tuple(v) for move in moves for v in (move, [-x for x in move]) if any(v)})
    best = 1
    for size in range(2, most + 1):
        for picked in itertools.combinations_with_replacement(signed, size):
            if any(map(sum, zip(*picked, strict=True))):
                continue
            parts = (part for k in range(1, size) for part in itertools.combinations(picked, k))
            if not any(not any(map(sum, zip(*part, strict=True))) for part in parts):
                best = size
                break
    return best


@pytest.mark.parametrize(
    "moves",
    [
        [(1,)],
        [(1, 0), (0, 1)],
        [(1, 0), (0, 1), (1, 1)],
        [(1, 0), (0, 1), (1, 1), (1, -1)],
        [(1, 1), (1, -1), (1, 0)],
        [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)],
        [(1, -1, 0), (0, 1, -1), (1, 0, 1)],
    ],
)
def test_longest_zero_sum_matches_enumeration(moves):
    """The completion finds the longest, no longer and no shorter."""
    found = longest_zero_sum(moves)

    assert found == _by_enumeration(moves, min(found + 2, 6))


def test_no_moves_and_too_many(monkeypatch):
    """A record that changes nothing moves alone; where the completion grows too large there is no answer."""
    assert longest_zero_sum([(0, 0)]) == 1
    assert longest_zero_sum(list(itertools.product((-1, 0, 1), repeat=3))) is None
    monkeypatch.setattr(lattice, "MAX_WORK", 2)
    assert longest_zero_sum([(1, 0, 1), (0, 1, 1), (1, 1, 0), (1, 1, 1), (1, -1, 0)]) is None


def test_two_by_three_marginals_take_eight_moves():
    """The longest of 163 minimal zero sums, found within the budget of work, whatever the machine."""
    cells = [(x, y == 1, y == 2) for x in range(2) for y in range(3)]
    moves = [[int(a) - int(b) for a, b in zip(x, y, strict=True)] for x in cells for y in cells]

    assert longest_zero_sum(moves) == 8


@pytest.mark.parametrize("seed", range(40))
def test_short_kernel_is_whole_and_complete(seed):
    """Rows are whole, are mapped to 0, and are as many as the matrix leaves free."""
    draw = random.Random(seed)
    size, rows = draw.randint(1, 7), draw.randint(0, 6)
    matrix = np.array(
        [[draw.choice([-1, 0, 0, 1]) for _ in range(size)] for _ in range(rows)], dtype=np.int64
    )
    matrix = matrix.reshape(rows, size)

    found = short_kernel(matrix, size)

    assert found.dtype == np.int64
    assert not (matrix @ found.T).any()
    free = size - (np.linalg.matrix_rank(matrix) if rows else 0)
    assert len(found) == free == (np.linalg.matrix_rank(found) if len(found) else 0)


@pytest.mark.parametrize("seed", range(60))
def test_independent_rows_match_fractions(seed):
    """Rows, some of them sums of others, as exact elimination has it; nested ones however many."""
    draw = np.random.default_rng(seed)
    matrix = draw.integers(0, 2, (draw.integers(0, 8), draw.integers(1, 9)))

    assert has_independent_rows(matrix) == (len(independent(matrix.T)) == len(matrix))

    wide = np.triu(np.ones((1_500, 1_500), dtype=np.int64))[draw.permutation(1_500)]
    if not seed:
        assert has_independent_rows(wide)
        assert not has_independent_rows(np.concatenate([wide, wide[:1]]))
