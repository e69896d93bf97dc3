"""Connected parts: which moves are of records inside one, and that none leads to another."""

import numpy as np

import pandas_blowfish as bf
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.graph.part import Part, Side, split_blocks

POLICY = bf.datasets.patients_policy()


def make_part(column, *seen):
    """Return the part of some components of a column."""
    (found,) = [each for each in split_blocks(POLICY.graph, [column]) if each[0] == column]
    key, block, components = found
    return Part((Side(key, block, components, np.isin(np.arange(components.max() + 1), seen)),))


def test_only_blocks_that_fall_apart_split():
    """Ages are joined step by step, regions are not; a block must be looked at as a whole."""
    keys = {key for key, *_ in split_blocks(POLICY.graph, POLICY.domain.columns)}

    assert "region" in keys
    assert "age" not in keys
    assert not list(split_blocks(POLICY.graph, ["age"]))


def test_moves_inside_and_outside():
    """A record is where it is, or, if absent, where it comes to."""
    part = make_part("region", 0, 2)
    start = Cells({"region": np.array([0, 1, 2, 0])}, np.array([False, False, False, True]))
    end = Cells({"region": np.array([0, 1, 3, 1])}, np.zeros(4, dtype=bool))

    assert part.holds(start, end).tolist() == [True, False, True, False]
    assert part.find_crossing(start, end).tolist() == [False, False, True, False]
    assert part.form == {"region": [0, 2]}


def test_a_part_is_left_by_changes_outside_and_by_crossings():
    """Also where moves do not state its columns."""
    part, here = make_part("region", 0, 2), np.zeros(1, dtype=bool)
    at = {place: Cells({"region": np.array([place])}, here) for place in range(4)}

    assert not part.is_left(at[0], at[0], ~here)
    assert not part.is_left(at[1], at[1], here)
    assert part.is_left(at[1], at[1], ~here)
    assert part.is_left(at[0], at[2], here)
    assert part.is_left(Cells({"age": np.array([3])}, here), Cells({"age": np.array([4])}, here), here)
