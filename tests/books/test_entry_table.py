"""Stored entries are rows of one table, whatever version wrote them."""

import pandas_blowfish as bf
from pandas_blowfish.books.entry_table import COLUMNS, describe_fact, entry_row


def test_entries_of_facts_are_listed():
    """Also those from before facts were priced."""
    row = (1, "a", "fact", "now", '{"total":"1","spent":"0","closed":null,"fact":{"count":1}}', "hash")

    shown = dict(zip(COLUMNS, entry_row(row), strict=True))

    assert describe_fact(bf.Box(x=(0, 2)).to_dict()) == "Box(x=(0, 2))"
    assert shown["query"] == "{'count': 1}"
    assert shown["repriced"] is None
