"""Boxes on levels: effects, what tables tell of them, and the search for the best tables."""

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.tables.levels import BoxLevels, search
from pandas_blowfish.plan.tables.sensitivity import changes
from pandas_blowfish.policy.domain import Domain, integers


def _leveled(radices, secrets=None, **options):
    domain = Domain((integers("a", 0, 7), integers("b", 0, 8)))
    policy = bf.Policy(domain, secrets=secrets, **options)
    boxes = [((low, high), (2, 6)) for low in range(8) for high in range(low, 8)]
    question = policy.plan.range(["a", "b"], boxes, strategy="identity").asked[0]
    ladders = question.ladders(question.segments(policy), radices)
    return BoxLevels(question, tuple(ladders), changes(question.graph(policy), question.whole))


def test_effects_leave_out_what_is_exact():
    """The whole is exact while the row count is public, and an effect like others where it is not."""
    bounded, unbounded = _leveled([(2, 4), (4,)]), _leveled([(2, 4), (4,)], presence=True)

    assert (0, 0) not in bounded.effects
    assert len(bounded.effects) == 3 * 2 - 1
    assert len(unbounded.effects) == 3 * 2


def test_finer_tables_tell_coarser_effects_with_more_noise():
    """A table tells an effect with as many noises as it has nodes in one of the effect's."""
    leveled = _leveled([(2, 4), (4,)])

    tells = leveled.tells([(2, 1), (1, 1)])

    at = {effect: row for row, effect in enumerate(leveled.effects)}
    assert tells[at[2, 1]].tolist() == [1.0, 0.0]
    assert tells[at[1, 1]].tolist() == [1 / 4, 1.0]
    assert tells[at[0, 1]].tolist() == [1 / 8, 1 / 2]


def test_edges_within_parts_change_no_table_of_them():
    """Nodes of groups that no edge leaves are not changed by one."""
    groups = bf.partition([[0, 1, 2, 3], [4, 5, 6, 7]])
    leveled = _leveled([(4,), (4,)], {"a": groups})

    losses = leveled.losses([(1, 0), (2, 0), (0, 1), (2, 1)])

    assert leveled.ladders[0].still == 1
    assert losses[:, 0].max() == 0
    assert losses[:, 1:].max() == 2


@pytest.mark.parametrize("radices", [[(8,), (4,)], [(2, 4), (2, 2)], [(2, 2, 2), (4,)]])
def test_the_search_beats_its_starts(radices):
    """What is found is no worse than even weights, and is what the tables' own error says."""
    found = search(_leveled(radices))

    tables, error = found.tables()

    even = np.ones(len(found.options))
    start = (found.worth / (found.tells @ even**2)).sum() * (found.losses @ even).max() ** 2
    assert error <= start * (1 + 1e-9)
    assert found.error() >= error * (1 - 0.05)
    assert all(weight >= 1 for _, weight in tables)
