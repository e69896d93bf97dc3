"""Charges in parts of a policy: what is spent is what those have lost who see most, over all processes."""

import json
import random
import sqlite3
from fractions import Fraction
from itertools import product

import pytest

from pandas_blowfish.books import part_sums
from pandas_blowfish.books.ledger import Ledger
from pandas_blowfish.errors import InsufficientBudgetError, LedgerTamperedError

PARTS = [None, {"region": [0]}, {"region": [1, 2]}, {"group": [0]}, {"region": [0, 1], "group": [2]}]


def spent_by_hand(charges):
    """Return what those have lost who see most of some charges, by enumeration."""
    people = product(range(4), range(4))
    return max(
        sum(
            epsilon
            for epsilon, part in charges
            if region in (part or {}).get("region", [region]) and group in (part or {}).get("group", [group])
        )
        for region, group in people
    )


@pytest.mark.parametrize("seed", range(20))
def test_what_is_spent_is_what_someone_has_lost(seed, monkeypatch, tmp_path):
    """Random charges in random parts are spent as enumeration says, also by a process that knows no sums."""
    monkeypatch.setattr(part_sums, "LEAST_REPLAYED", 3)
    draw, ledger, charges = random.Random(seed), Ledger(tmp_path / "budget.db"), []
    ledger.bind("visits", Fraction(3), {})

    for _ in range(30):
        charge = Fraction(draw.randint(1, 4), draw.randint(4, 12)), draw.choice(PARTS)
        if draw.random() < 0.3:
            part_sums._known.clear()  # as in a new process
        expected = spent_by_hand([*charges, charge])
        if expected > 3:
            with pytest.raises(InsufficientBudgetError):
                ledger.charge("visits", charge[0], {}, part=charge[1])
            continue
        assert ledger.charge("visits", charge[0], {}, part=charge[1])[1].spent == expected
        charges.append(charge)

    assert ledger.budget("visits").spent == spent_by_hand(charges)
    assert ledger.verify()


def test_an_error_states_what_remains_to_those_who_see_it():
    """Whoever is elsewhere may still be charged."""
    ledger = Ledger()
    ledger.bind("visits", Fraction(1), {})
    ledger.charge("visits", Fraction(3, 4), {}, part={"region": [0]})

    with pytest.raises(InsufficientBudgetError) as caught:
        ledger.charge("visits", Fraction(1, 2), {}, part={"region": [0, 1]})
    _, budget = ledger.charge("visits", Fraction(1), {}, part={"region": [1]})

    assert caught.value.remaining == Fraction(1, 4)
    assert budget.spent == 1


def test_a_weaker_release_states_no_sums(monkeypatch):
    """It adds nothing, wherever it stands between charges in parts; entries after it follow."""
    monkeypatch.setattr(part_sums, "LEAST_REPLAYED", 3)
    for many in range(1, 8):
        ledger = Ledger()
        ledger.bind("visits", Fraction(9), {})
        for number in range(many):
            ledger.charge("visits", Fraction(1), {}, part={"region": [number % 2]})
        ledger.charge("visits", Fraction(1), {}, rule="apart")
        _, budget = ledger.charge("visits", Fraction(1), {}, part={"region": [0]})

        assert budget.spent == (many + 1) // 2 + 1
        assert ledger.verify()


EDITS = {
    "another part": lambda body: {**body, "part": {"region": [5]}},
    "everyone's": lambda body: {key: value for key, value in body.items() if key != "part"},
    "less spent": lambda body: {**body, "spent": "1/2"},
    "other sums": lambda body: {**body, "sums": {**body["sums"], "everyone": "1/8"}},
    "no sums": lambda body: {key: value for key, value in body.items() if key not in ("sums", "stated")},
    "sums of another entry": lambda body: {**body, "stated": 1},
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_edited_parts_are_found(edit, monkeypatch, tmp_path):
    """Entries whose parts and sums do not follow are refused, even where every hash was made anew."""
    from pandas_blowfish.books import log

    monkeypatch.setattr(part_sums, "LEAST_REPLAYED", 1)
    ledger = Ledger(tmp_path / "budget.db")
    ledger.bind("visits", Fraction(2), {})
    for part in ({"region": [0]}, {"region": [0]}, {"region": [0, 1]}, None):
        ledger.charge("visits", Fraction(1, 4), {}, part=part)
    ledger.close()
    with sqlite3.connect(tmp_path / "budget.db") as file:
        rows = file.execute("SELECT * FROM entries ORDER BY id").fetchall()
        before = ""
        for number, dataset, kind, time, text, _ in rows:
            body = json.loads(text)
            if "sums" in body and number > 2:
                body = edit(body)
            fresh = (number, dataset, kind, time, log.canonical(body))
            before = log._hash(log.canonical([before, *fresh]).encode())
            file.execute("UPDATE entries SET body = ?, hash = ? WHERE id = ?", (fresh[4], before, number))
    file.close()

    with pytest.raises(LedgerTamperedError):
        ledger.verify()
