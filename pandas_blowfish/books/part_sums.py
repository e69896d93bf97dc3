"""Charges that different people see: what those who see most have lost. Never sees rows.

A secret graph falls into connected parts: values of public columns, groups of a partition. Nobody can move
from one to another, so a charge that looks at some parts only is no loss to people elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from sqlite3 import Connection
from typing import Any, NamedTuple

from pandas_blowfish.books.log import UNREADABLE, Entry, parse_fraction, select, select_all
from pandas_blowfish.errors import LedgerTamperedError

REST = -1  # stands for all components of a block that no charge has named yet
MAX_PLACES = 20_000  # combinations of components whose sums are kept; beyond, a block is looked at as a whole
MAX_NAMED = 1_000  # components of one block that a charge may name
LEAST_REPLAYED = 128  # charges after which an entry states all sums, so that few are read to find them again

Part = Mapping[str, list[int]]  # for each block of columns the components seen, each by its first cell
Place = tuple[int, ...]  # one component of each block


def read_part(value: Any) -> Part:
    """Return the part that an entry states, empty for everyone, or raise ValueError."""
    stated = {} if value is None else value
    if not isinstance(stated, dict) or not all(map(_is_listed, stated.values())):
        raise ValueError("not a part")
    return stated


def _is_listed(cells: Any) -> bool:
    whole = isinstance(cells, list) and all(type(cell) is int and cell >= 0 for cell in cells)
    return whole and 0 < len(cells) <= MAX_NAMED and sorted(set(cells)) == cells


@dataclass
class Sums:
    """What people in each part have lost, as charges are added one by one.

    Attributes:
        everyone: What charges that look at all parts add up to.
        named: Of each block of columns the components that some charge has named, and `REST`.
        places: For each combination of them what other charges add up to.
        highest: The largest of these.

    Examples:
        >>> sums = Sums()
        >>> sums.add(Fraction(1, 2), {"region": [0]})
        >>> sums.add(Fraction(1, 3), {"region": [1, 2]})
        >>> sums.most, sums.lost({"region": [1]}), sums.lost({"region": [7]})
        (Fraction(1, 2), Fraction(1, 3), Fraction(0, 1))

    Proof note:
        Requires: a charge loses nothing between neighbours that differ in a record outside its part; no edge
                  joins two components of a block.
        Ensures:  between any two neighbours all charges together lose at most `most`.
        Because:  the record that neighbours differ in stays in one combination of components, or comes or
                  goes there, and only charges whose part holds that combination see it. Components that no
                  charge names are in the same charges, those of `REST`, and these are charges of every
                  component. A block that is looked at as a whole, for want of room, only adds.
        Checked:  tests/books/test_part_sums.py::test_the_most_is_that_of_enumeration
    """

    everyone: Fraction = Fraction(0)
    named: dict[str, list[int]] = field(default_factory=dict)
    places: dict[Place, Fraction] = field(default_factory=lambda: {(): Fraction(0)})
    highest: Fraction = Fraction(0)

    @property
    def most(self) -> Fraction:
        """Return what those who see most have lost."""
        return self.everyone + self.highest

    def add(self, epsilon: Fraction, part: Part | None = None) -> None:
        """Add a charge that people in one part see; None or empty: everyone."""
        stated = sorted((part or {}).items())  # in one order, whatever order entries keep them in
        seen = {block: cells for block, cells in stated if self._name(block, cells)}
        if not seen:
            self.everyone += epsilon
            return
        for place in self._inside(seen):
            self.places[place] += epsilon
            self.highest = max(self.highest, self.places[place])

    def lost(self, part: Part) -> Fraction:
        """Return what those in a part who see most have lost."""
        known = {block: set(self.named[block]) for block in part if block in self.named}
        seen = {
            block: list(dict.fromkeys(cell if cell in own else REST for cell in part[block]))
            for block, own in known.items()
        }
        return self.everyone + max(self.places[place] for place in self._inside(seen))

    def copy(self) -> Sums:
        """Return sums that can be added to without changing these."""
        named = {block: list(cells) for block, cells in self.named.items()}
        return Sums(self.everyone, named, dict(self.places), self.highest)

    def to_dict(self) -> dict[str, Any]:
        """Return the sums as plain data."""
        places = [[*place, str(lost)] for place, lost in self.places.items()]
        named = [
            [block, list(cells)] for block, cells in self.named.items()
        ]  # as a list, which keeps the order
        return {"everyone": str(self.everyone), "named": named, "places": places}

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Sums:
        """Return the sums that plain data states, or raise one of `UNREADABLE`."""
        places = {tuple(place): parse_fraction(lost) for *place, lost in form["places"]}
        named = {str(block): list(cells) for block, cells in form["named"]}
        return cls(parse_fraction(form["everyone"]), named, places, max(places.values()))

    def _name(self, block: str, cells: list[int]) -> bool:
        """Give components sums of their own; return whether there is room for them."""
        known = self.named.get(block, [REST])
        new = [cell for cell in cells if cell not in known]
        if len(self.places) // len(known) * (len(known) + len(new)) > MAX_PLACES:
            return False
        if block not in self.named:
            self.named[block] = [REST]
            self.places = {(*place, REST): lost for place, lost in self.places.items()}
        at = list(self.named).index(block)
        for place, lost in list(self.places.items()) if new else ():
            if place[at] == REST:
                self.places |= {(*place[:at], cell, *place[at + 1 :]): lost for cell in new}
        self.named[block] += new
        return True

    def _inside(self, seen: Part) -> Iterable[Place]:
        """Return the combinations that a part holds."""
        return product(*(seen.get(block, cells) for block, cells in self.named.items()))


class KnownSums(NamedTuple):
    """What people in each part of a dataset have lost after some entry.

    Attributes:
        id: The number of the entry.
        hash: Its hash, which says of which ledger and dataset it is.
        sums: What they have lost.
        stated: The entry that states all sums; 0 where none does, as all charges so far are everyone's.
        since: How many charges were made after that one.
    """

    id: int
    hash: str
    sums: Sums
    stated: int
    since: int


_known: dict[str, KnownSums] = {}  # of the datasets that this process has charged, by name


def sums_of(connection: Connection, last: Entry) -> KnownSums:
    """Return the sums of a dataset, from its last entry and as few before it as state them."""
    stated = last.body.get("stated")
    if stated is None:
        return KnownSums(last.id, last.hash, Sums(parse_fraction(last.body["spent"])), 0, 0)
    try:
        known = _known.get(last.dataset)
        if known is None or not _holds(connection, known, last.dataset):
            first = select(connection, "id = ? AND dataset = ?", stated or last.id, last.dataset)
            assert first is not None
            known = KnownSums(first.id, first.hash, Sums.from_dict(first.body["sums"]), first.id, 0)
        sums, since = known.sums.copy(), known.since
        clause = "dataset = ? AND kind = 'charge' AND id > ? ORDER BY id"
        for entry in select_all(connection, clause, last.dataset, known.id):
            sums.add(parse_fraction(entry.body["epsilon"]), read_part(entry.body.get("part")))
            since = since + 1 if entry.body["stated"] else 0
    except (AssertionError, *UNREADABLE):
        raise LedgerTamperedError(last.id, "the sums of its parts cannot be read") from None
    return KnownSums(last.id, last.hash, sums, stated or last.id, since)


def _holds(connection: Connection, known: KnownSums, dataset: str) -> bool:
    """Return whether a ledger has the entry after which sums are known."""
    found = select(connection, "id = ? AND dataset = ?", known.id, dataset)
    return found is not None and found.hash == known.hash


def stated_by(entry: Entry | None) -> dict[str, int]:
    """Return what an entry after another states of sums: the entry that states them, if there is one."""
    stated = None if entry is None else entry.body.get("stated")
    return {} if entry is None or stated is None else {"stated": stated or entry.id}


def state_sums(known: KnownSums, sums: Sums) -> dict[str, Any]:
    """Return what a charge states besides: all sums now and then, else the entry that does; else nothing.

    Args:
        known: The sums before it.
        sums: Those after it.
    """
    if not sums.named:
        return {}
    if not known.stated or known.since >= max(LEAST_REPLAYED, len(sums.places) // 4):
        return {"stated": 0, "sums": sums.to_dict()}
    return {"stated": known.stated}


def remember(entry: Entry, known: KnownSums, sums: Sums) -> None:
    """Keep the sums after a charge for the next one of this process."""
    if (stated := entry.body.get("stated")) is not None:
        since = known.since + 1 if stated else 0
        _known[entry.dataset] = KnownSums(entry.id, entry.hash, sums, stated or entry.id, since)
