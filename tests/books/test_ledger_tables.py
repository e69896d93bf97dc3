"""A ledger as tables: entries as they stand, and what remains to people in each part."""

import json
from fractions import Fraction

import pandas_blowfish as bf
from pandas_blowfish.books.ledger_tables import COLUMNS, describe_fact, describe_part, entry_row, list_parts
from pandas_blowfish.books.part_sums import Sums


def test_entries_of_facts_are_listed():
    """Also those from before facts were priced."""
    row = (1, "a", "fact", "now", '{"total":"1","spent":"0","closed":null,"fact":{"count":1}}', "hash")

    shown = dict(zip(COLUMNS, entry_row(row), strict=True))

    assert describe_fact(bf.Box(x=(0, 2)).to_dict()) == "Box(x=(0, 2))"
    assert shown["query"] == "{'count': 1}"
    assert shown["repriced"] is None


POLICY = bf.datasets.patients_policy()
TEXT = json.dumps(POLICY.to_dict())


def test_parts_are_named_by_declared_values():
    """Public values, and the first values of groups."""
    sums = Sums(Fraction(1, 8))
    sums.add(Fraction(1, 4), {"region": [0, 2]})

    table = list_parts(sums, Fraction(1), TEXT)

    assert table["spent"].to_dict() == {
        "elsewhere": Fraction(1, 8),
        "north": Fraction(3, 8),
        "south": Fraction(3, 8),
    }
    assert (table["spent"] + table["remaining"] == 1).all()
    assert table.index.name == "region"


def test_nobody_is_elsewhere_once_all_are_named():
    """A row for people who do not exist is left out."""
    sums = Sums()
    for cell in range(4):
        sums.add(Fraction(1, 4), {"region": [cell]})

    assert list(list_parts(sums, Fraction(1), TEXT).index) == ["north", "east", "south", "west"]


def test_without_charges_in_parts_there_is_one_row():
    """What everyone has lost."""
    assert list_parts(Sums(Fraction(1, 3)), Fraction(1), None)["remaining"].to_dict() == {
        "everyone": Fraction(2, 3)
    }


def test_several_blocks_are_levels_of_the_index():
    """One row for each combination that some charge has named."""
    sums = Sums()
    sums.add(Fraction(1, 2), {"region": [1], "disease": [0]})

    table = list_parts(sums, Fraction(1), TEXT)

    assert list(table.index.names) == ["disease", "region"]
    assert table["spent"].max() == Fraction(1, 2)
    assert (table["spent"] == 0).sum() == 3


def test_a_part_is_described_by_its_values():
    """Groups of a partition by their first values."""
    assert describe_part(POLICY, {"region": [0, 3]}) == {"region": ["north", "west"]}
