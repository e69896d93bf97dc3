"""What entries state of their dataset follows from the entries before, or is found out."""

from fractions import Fraction

import pytest

from pandas_blowfish.books.balance import OVERSPENT, Replay, balance_of, latest_charges, require_following
from pandas_blowfish.books.ledger import Ledger
from pandas_blowfish.books.log import Entry
from pandas_blowfish.errors import LedgerTamperedError

OVER, UNKNOWN = f"{OVERSPENT}: 3/2 of 1", "nobody knows"


def entry(kind, *, number=9, **body):
    """Return an entry that states some sums: total 1, spent 1/2, open and without facts by default."""
    return Entry(
        number, "a", kind, "now", {"total": "1", "spent": "1/2", "closed": None, "facts": 0, **body}, "hash"
    )


def follows(now, before, costs):
    """Return whether an entry may state its sums when the one before it stated its own."""
    try:
        require_following(now, None if before is None else balance_of(before), Replay(costs))
    except LedgerTamperedError:
        return False
    return True


def judged(now, was, costs=None):
    """Tell whether an entry follows another when two charges cost 1/4 each."""
    return follows(now, was, {2: Fraction(1, 4), 3: Fraction(1, 4)} if costs is None else costs)


WAS = entry("charge")
FOLLOWS = {
    "charge": entry("charge", epsilon="1/4", spent="3/4"),
    "free": entry("charge", epsilon="0"),
    "raise": entry("raise", total="2"),
    "fact": entry("fact", repriced={}, facts=1),
    "repriced": entry("fact", repriced={"2": "1/2"}, spent="3/4", facts=1),
    "repriced to all": entry("fact", repriced={"2": "3/4"}, spent="1", facts=1),
    "over": entry("fact", repriced={"2": "5/4"}, spent="3/2", facts=1, closed=OVER),
    "unknown": entry("fact", repriced={}, facts=1, closed=UNKNOWN),
    "before facts were priced": entry("fact", closed=UNKNOWN),
}
DOES_NOT = {
    "refund": entry("charge", epsilon="-1/4", spent="1/4"),
    "overspent": entry("charge", epsilon="1", spent="3/2"),
    "a fact lost": entry("charge", epsilon="0", facts=-1),
    "a fact from nowhere": entry("charge", epsilon="0", facts=1),
    "total with a charge": entry("charge", epsilon="0", total="2"),
    "cheaper": entry("fact", repriced={"2": "1/8"}, spent="3/8", facts=1),
    "more than it says": entry("fact", repriced={"2": "1/2"}, spent="1/2", facts=1),
    "less than it says": entry("fact", repriced={}, spent="3/4", facts=1),
    "of no charge": entry("fact", repriced={"7": "1/2"}, spent="1", facts=1),
    "over and open": entry("fact", repriced={"2": "5/4"}, spent="3/2", facts=1),
    "fact not counted": entry("fact", repriced={}),
    "fact with a total": entry("fact", repriced={}, facts=1, total="2"),
    "not a dict": entry("fact", repriced=[], facts=1),
    "open, not priced": entry("fact"),
    "lowered": entry("raise", total="3/4"),
}


@pytest.mark.parametrize("now", FOLLOWS.values(), ids=FOLLOWS)
def test_what_follows(now):
    """Charges add up, facts make charges dearer by what they say, totals rise."""
    assert judged(now, WAS)


@pytest.mark.parametrize("now", DOES_NOT.values(), ids=DOES_NOT)
def test_what_does_not_follow(now):
    """A cost never falls, nothing is spent from nowhere, and more than the total is spent only if closed."""
    assert not judged(now, WAS)


def test_closed_datasets():
    """One closed for its total is opened by a total that covers it, one closed for good by nothing."""
    over = entry("fact", spent="3/2", closed=OVER, facts=1)
    good = entry("fact", closed=UNKNOWN, facts=1)

    assert judged(entry("raise", total="3/2", spent="3/2", facts=1), over)
    assert not judged(entry("raise", total="5/4", spent="3/2", facts=1), over)
    assert not judged(entry("raise", total="2", facts=1), good)
    assert not judged(entry("charge", epsilon="0", facts=1), good)
    assert not judged(entry("charge", epsilon="0", facts=1, spent="3/2", total="2"), over)
    assert not judged(entry("fact", repriced={}, spent="3/2", facts=2), over)
    assert judged(entry("fact", repriced={}, spent="3/2", facts=2, closed=UNKNOWN), over)
    assert judged(entry("fact", repriced={}, facts=2, closed=UNKNOWN), good)
    assert not judged(entry("fact", repriced={}, facts=2, closed=OVER), good)


def test_costs_are_carried_on():
    """A second fact is measured against what the first made of a charge."""
    costs = {}
    first = entry("charge", epsilon="1/2", number=2)
    second = entry("fact", repriced={"2": "3/4"}, spent="3/4", facts=1)

    assert follows(first, entry("charge", spent="0"), costs)
    assert follows(second, first, costs)
    assert costs == {2: Fraction(3, 4)}
    assert not follows(entry("fact", repriced={"2": "5/8"}, spent="5/8", facts=2), second, costs)


def test_the_first_entry_opens():
    """A dataset begins with nothing spent and no facts."""
    assert follows(entry("open", spent="0"), None, {})
    assert not follows(entry("open"), None, {})
    assert not follows(entry("open", spent="0", facts=1), None, {})
    assert not follows(entry("open", spent="0"), WAS, {})
    assert not follows(entry("charge", epsilon="0", spent="0"), None, {})


def test_entries_from_before_facts_were_counted():
    """They state no number of facts: there were none."""
    assert (
        balance_of(Entry(1, "a", "fact", "now", {"total": "1", "spent": "0", "closed": None}, "")).facts == 0
    )


def test_the_last_charges_come_newest_first():
    """Other kinds of entries, and other datasets, are left out."""
    ledger = Ledger()
    for name in ("a", "b"):
        ledger.bind(name, Fraction(2), {})
        for number in range(3):
            ledger.charge(name, Fraction(1, 4), {"number": number})
    ledger.raise_budget("a", 3)

    assert [entry.body["number"] for entry in latest_charges(ledger.location, "a", 2)] == [2, 1]
    assert latest_charges(ledger.location, "nobody", 2) == []
