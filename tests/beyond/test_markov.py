"""Chains: what is read, and the stationary law against its definition."""

import json
import random
import time
from fractions import Fraction

import pandas as pd
import pytest

from pandas_blowfish.beyond.markov import Markov
from pandas_blowfish.errors import BlowfishError

SLOW = [["0.9", "0.1"], ["0.2", "0.8"]]


def chains():
    """Yield random chains of 2 to 6 values, some with zeros, periods and transient values."""
    draw = random.Random(7)
    while True:
        size = draw.randint(2, 6)
        rows = [[draw.choice([0, 0, 1, 2, 5]) for _ in range(size)] for _ in range(size)]
        if all(map(any, rows)):
            yield [[Fraction(p, sum(row)) for p in row] for row in rows]


def test_stationary_law_stays():
    """It equals itself a row later; where there are several, a typed error says so."""
    kept = refused = 0
    for rows in chains():
        try:
            chain = Markov("x", rows)
        except BlowfishError as error:
            refused += "never left" in str(error)
            continue
        assert chain.step(chain.start) == chain.start
        assert sum(chain.start) == 1
        assert min(chain.start) >= 0
        assert chain.stationary
        kept += 1
        if kept > 200 and refused > 5:
            break


def test_several_closed_groups_need_an_initial_law():
    """Two values that are never left have many stationary laws."""
    with pytest.raises(BlowfishError, match="2 groups"):
        Markov("x", [[1, 0], [0, 1]])

    chain = Markov("x", [[1, 0], [0, 1]], initial=["1/4", "3/4"])

    assert chain.step(chain.start) == chain.start == (Fraction(1, 4), Fraction(3, 4))


def test_values_left_for_ever_have_no_weight():
    """A transient value has stationary probability 0."""
    assert Markov("x", [["1/2", "1/2"], [0, 1]]).start == (0, 1)


def test_laws_follow_the_chain():
    """Row by row, from the initial law."""
    chain = Markov("x", SLOW, initial=[1, 0])

    assert not chain.stationary
    assert chain.start == (1, 0)
    assert chain.step(chain.start) == (Fraction(9, 10), Fraction(1, 10))
    assert chain.step(chain.step(chain.start)) == (Fraction(83, 100), Fraction(17, 100))
    assert Markov("x", SLOW).start == (Fraction(2, 3), Fraction(1, 3))
    assert Markov("x", SLOW, initial=["2/3", "1/3"]).stationary


def test_lists_mappings_and_tables_are_the_same_chain():
    """However the transition is written; columns of a table may come in another order."""
    names = ["up", "down"]
    wanted = Markov("x", SLOW, values=names)

    mapping = Markov("x", {"up": {"up": 0.9, "down": 0.1}, "down": {"up": 0.2, "down": 0.8}})
    table = Markov("x", pd.DataFrame([[0.1, 0.9], [0.8, 0.2]], index=names, columns=names[::-1]))

    assert wanted == mapping == table
    assert hash(wanted) == hash(table)
    assert Markov("x", SLOW, values=names, initial={"down": 1}).initial == (0, 1)


def test_ordered_permutes_values():
    """The law of a value does not depend on the order it is written in."""
    chain = Markov("x", SLOW, values=["up", "down"], initial=["1/4", "3/4"])
    turned = chain.reorder(["down", "up"])

    assert turned.transition == ((Fraction(4, 5), Fraction(1, 5)), (Fraction(1, 10), Fraction(9, 10)))
    assert turned.initial == (Fraction(3, 4), Fraction(1, 4))
    assert Markov("x", SLOW).reorder(["a", "b"]).values == ("a", "b")
    for wrong in (["up"], ["up", "other"], ["up", "down", "left"]):
        with pytest.raises(BlowfishError, match="declared"):
            chain.reorder(wrong)
    with pytest.raises(BlowfishError, match="declared"):
        Markov("x", SLOW).reorder([1, 2, 3])


def test_survives_json():
    """Through JSON and back."""
    for chain in (
        Markov("x", [["1/3", "2/3"], ["0.5", "0.5"]], initial=[1, 0], values=["a", "b"]),
        Markov("y", SLOW),
        Markov("z", SLOW, values=[True, 2.5]),
    ):
        assert Markov.from_dict(json.loads(json.dumps(chain.to_dict()))) == chain


def test_many_values_are_solved_quickly():
    """Exact fractions, in reasonable time."""
    draw = random.Random(1)
    rows = []
    for _ in range(60):
        weights = [draw.randint(1, 9) for _ in range(60)]
        rows.append([Fraction(w, sum(weights)) for w in weights])
    begun = time.perf_counter()

    chain = Markov("x", rows)

    assert chain.step(chain.start) == chain.start
    assert time.perf_counter() - begun < 20


@pytest.mark.parametrize(
    "given",
    [
        {"transition": [[1]]},
        {"transition": []},
        {"transition": 5},
        {"transition": "text"},
        {"transition": [["1/2", "1/2"]]},
        {"transition": [["1/2", "1/3"], ["1/2", "1/2"]]},
        {"transition": [["3/2", "-1/2"], ["1/2", "1/2"]]},
        {"transition": [[None, 1], [0, 1]]},
        {"transition": SLOW, "initial": [1]},
        {"transition": SLOW, "initial": ["1/2", "1/3"]},
        {"transition": SLOW, "initial": 3},
        {"transition": SLOW, "initial": {"a": 1}},
        {"transition": SLOW, "values": ["a"]},
        {"transition": SLOW, "values": ["a", "a"]},
        {"transition": {"a": {"a": 1}, "b": {"c": 1}}},
        {"transition": {"a": 1, "b": 2}},
        {"transition": {"a": {"a": 1}, "b": {"a": 1}}, "values": ["a", "c"]},
        {"transition": pd.DataFrame([[1, 0], [1, 0]], index=["a", "a"], columns=["a", "b"])},
        {"transition": SLOW, "column": 3},
    ],
)
def test_wrong_chains_are_refused(given):
    """Typed errors, before anything is planned."""
    with pytest.raises(BlowfishError):
        Markov(**{"column": "x", **given})


def test_floats_that_nearly_add_up_are_taken():
    """Rows of thirds, and frequencies; a row that is wrong is named, with its sum."""
    thirds = Markov("x", [[1 / 3] * 3] * 3, length=9)

    assert thirds.transition[0] == (Fraction(1, 3),) * 3
    with pytest.raises(BlowfishError, match=r"of 'b' .* 0\.95"):
        Markov("x", {"a": {"a": 1}, "b": {"a": 0.8, "b": 0.15}})
    with pytest.raises(BlowfishError, match="negative"):
        Markov("x", [[1.5, -0.5], [0, 1]])
