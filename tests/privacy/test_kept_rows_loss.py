"""People with more rows than are kept: all of their rows move, and what is released loses at most the charge.

Which rows are kept depends on a secret key. Here it is a mixture: every order that hashes can have is tried
with the code that keeps rows, and the law of the noisy output is worked out in whole numbers, with noise that
halves its probability at each step.
"""

import itertools
from collections import Counter
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest

from pandas_blowfish.count import units
from pandas_blowfish.policy.domain import Domain, integers

CELLS, MOST_ROWS = 4, 4
ABSENT = CELLS
TRIED = 3_000  # keys
HIST = np.eye(CELLS, dtype=np.int64)
CUMHIST = np.tril(np.ones((CELLS, CELLS), dtype=np.int64))[:-1]
MEASURED = {"hist": HIST, "cumhist": CUMHIST, "both, one after another": np.concatenate([HIST, CUMHIST])}
DOMAIN = Domain((integers("x", 0, CELLS - 1),))


def kept_law(cells, most):
    """Return how likely each kept multiset is, in 24ths, over all orders of hashes that may differ."""
    whose = np.full(len(cells), 7, dtype=np.uint64)
    rows = units.mix(np.array(cells, dtype=np.uint64), 99)
    distinct, place = np.unique(units.rank_rows(rows, 5), return_inverse=True)
    found = Counter()
    for order in itertools.permutations(range(len(distinct))):
        ranks = np.array(order, dtype=np.uint64)[place.reshape(-1)] << np.uint64(50)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(units, "rank_rows", lambda *_, ranks=ranks: ranks)
            kept = units.choose(whose, rows, most, 5)
        found[tuple(np.array(cells)[kept].tolist())] += 1
    return {each: Fraction(many, found.total()) for each, many in found.items()}


class Laws:
    """The law of what is measured of one person's rows, on all outputs between the least and the greatest."""

    def __init__(self, matrix, most):
        self.matrix, self.most = matrix, most
        self.outputs = np.array(list(itertools.product(range(most + 1), repeat=len(matrix))))
        self.far = most * len(matrix)
        self.known = {}

    def of(self, cells):
        """Return the probability of each output, times a number that all laws share."""
        cells = tuple(sorted(cells))
        if cells not in self.known:
            law = kept_law(cells, self.most)
            self.known[cells] = sum(self._weights(kept) * int(24 * part) for kept, part in law.items())
        return self.known[cells]

    def _weights(self, kept):
        at = self.matrix[:, list(kept)].sum(axis=1)
        return 2 ** (self.far - np.abs(self.outputs - at).sum(axis=1))

    def exceed(self, one, other, steps):
        """Return whether some output is more than 2**steps times as likely in one of two tables."""
        first, second = self.of(one), self.of(other)
        return bool((first > second << steps).any() or (second > first << steps).any())


@lru_cache
def edges_of(theta, presence):
    """Return the pairs that a slot of a row may go through: values at most theta apart, or absent."""
    near = [(a, b) for a, b in itertools.product(range(CELLS), repeat=2) if abs(a - b) <= theta]
    gone = [pair for cell in range(CELLS) for pair in ((cell, ABSENT), (ABSENT, cell))]
    return near + gone * presence


def edge_loss(matrix, edges):
    """Return the largest change that one edge makes."""
    ends = np.concatenate([matrix, np.zeros((len(matrix), 1), dtype=np.int64)], axis=1)
    return max(int(np.abs(ends[:, a] - ends[:, b]).sum()) for a, b in edges)


def moved_people(theta, presence, rows):
    """Return pairs of one person's rows, each slot along an edge, with how many come and how many go."""
    found = {}
    for slots in itertools.combinations_with_replacement(edges_of(theta, presence), rows):
        one, other = (tuple(sorted(pair[end] for pair in slots if pair[end] != ABSENT)) for end in range(2))
        come = sum(pair[0] == ABSENT for pair in slots)
        go = sum(pair[1] == ABSENT for pair in slots)
        found.setdefault((one, other), set()).add((come, go))
    return found


@pytest.mark.parametrize("most", [1, 2])
def test_every_choice_is_as_likely(most):
    """Whatever rows hold, and however many of them are equal."""
    for rows in range(1, MOST_ROWS + 1):
        for cells in itertools.combinations_with_replacement(range(CELLS), rows):
            every = Counter(itertools.combinations(cells, min(most, rows)))

            assert kept_law(cells, most) == {
                kept: Fraction(many, every.total()) for kept, many in every.items()
            }


def people_who_lose_more(most, measured):
    """Return the pairs of neighbouring rows of one person that lose more than `most` edges, of all tried."""
    found, tried = [], 0
    laws = Laws(MEASURED[measured], most)
    for theta in (1, 2):
        steps = most * edge_loss(laws.matrix, edges_of(theta, False))
        for rows in range(1, MOST_ROWS + 1):
            pairs = moved_people(theta, False, rows)
            tried += len(pairs)
            found += [pair for pair in pairs if laws.exceed(*pair, steps)]
    return found, tried


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("measured", MEASURED)
def test_all_rows_of_a_person_may_move(most, measured):
    """Also those that are not kept, each along an edge of a threshold."""
    found, tried = people_who_lose_more(most, measured)

    assert not found
    assert tried > 1_000


@pytest.mark.parametrize("most", [1, 2])
def test_ties_of_equal_rows_would_lose_more(most, monkeypatch):
    """If equal rows had one hash, who has three different rows and who has two alike would be told apart."""
    monkeypatch.setattr(units, "rank_rows", lambda rows, seed: rows)

    assert people_who_lose_more(most, "cumhist")[0]


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("measured", ["hist", "cumhist"])
def test_rows_that_come_or_go_replace_kept_ones(most, measured):
    """As many kept rows as come or go at most; if all do, or no more than are kept, none is replaced."""
    laws, more, tried = Laws(MEASURED[measured], most), 0, 0
    for theta in (0, 1):
        edge = edge_loss(laws.matrix, edges_of(theta, True))
        for rows in range(1, MOST_ROWS):
            for pair, ways in moved_people(theta, True, rows).items():
                replaced = min(max(way) for way in ways)
                if rows <= most or not all(pair):
                    replaced = 0
                tried += 1

                assert not laws.exceed(*pair, (most + min(replaced, most)) * edge)
                more += laws.exceed(*pair, most * edge)

    assert tried > 500
    assert (more > 0) == (measured == "hist")  # where values are public: not promised, and stated so


def test_people_with_full_secrets_may_come_and_go():
    """A kept row that another replaces has moved along an edge, too."""
    laws = Laws(HIST, 1)

    for rows in range(1, MOST_ROWS):
        for pair in moved_people(CELLS, True, rows):
            assert not laws.exceed(*pair, edge_loss(HIST, edges_of(CELLS, True)))


def test_keys_choose_as_chance_would():
    """Of three equal rows and another, one is kept: the other by a quarter of keys."""
    frame = pd.DataFrame({"who": ["a"] * 4, "x": [2, 2, 1, 2]})
    found = [
        units.keep_rows(frame, tuple(DOMAIN), "who", 1, f"{key:064x}", clip=False).rows["x"].item()
        for key in range(TRIED)
    ]

    assert abs(found.count(1) / TRIED - 0.25) < 0.04


@pytest.mark.parametrize("key", ["5e" * 32, "00" * 32])
def test_people_are_chosen_for_as_chance_would(key):
    """One key and many people with the same rows, some of them equal: each pair of rows is as likely."""
    cells, many = [0, 0, 1, 2], 20_000
    frame = pd.DataFrame({"who": np.repeat(np.arange(many), 4), "x": cells * many})
    kept = units.keep_rows(frame, tuple(DOMAIN), "who", 2, key, clip=False).rows
    pairs = Counter(map(tuple, np.sort(kept["x"].to_numpy().reshape(-1, 2)).tolist()))

    for pair, part in Counter(itertools.combinations(cells, 2)).items():
        assert abs(pairs[pair] / many - part / 6) < 0.017  # five standard deviations
