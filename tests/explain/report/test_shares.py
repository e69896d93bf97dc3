"""Who has lost what: sums over time are those of adding up the charges that somebody sees."""

import random
import sqlite3
from fractions import Fraction

import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.explain.report.account import account
from pandas_blowfish.explain.report.chapters import budget
from pandas_blowfish.explain.report.shares import COMPARED, DRAWN, LISTED
from pandas_blowfish.policy.domain import Domain, integers

REGIONS = ("north", "east", "south", "west")


def _patients(**stated):
    rows = bf.datasets.patients(100)
    given = {"epsilon": 1, "dataset": "d", "ledger": bf.Ledger(), **stated}
    return rows.blowfish.protect(bf.datasets.patients_policy(), **given)


def _account(df, dataset="d"):
    return account(df.blowfish.ledger, dataset, bf.of)


def _shops(many):
    """Return a frame of shops, whose customers are parts of their own, and its ledger."""
    domain = Domain((integers("shop", 0, many - 1), integers("age", 0, 9)))
    policy = bf.Policy(domain, secrets={"shop": bf.public(), "age": bf.full()})
    rows = pd.DataFrame({"shop": [*range(many)], "age": [0] * many})
    return rows.blowfish.protect(policy, epsilon=100, dataset="d", ledger=bf.Ledger())


def _charge(df, epsilon, part=None):
    df.blowfish.ledger.charge("d", Fraction(epsilon), {"call": "count()"}, part=part)


def test_sums_over_time_are_those_of_the_charges_that_somebody_sees():
    """At every entry, of each part: all charges so far that look at it, or at everyone."""
    draw, seen = random.Random(1), []
    df = _shops(5)
    for _ in range(60):
        shops = sorted(draw.sample(range(5), draw.randint(1, 3))) if draw.random() < 0.8 else None
        cost = Fraction(draw.randint(1, 9), 10)
        seen.append((cost, shops))
        _charge(df, cost, None if shops is None else {"shop": shops})

    found = _account(df)

    curves = {curve.name: list(curve.lost.values()) for curve in found.parts.curves}
    for shop in range(5):
        costs = [cost if shops is None or shop in shops else Fraction(0) for cost, shops in seen]
        lost = [sum(costs[:at], Fraction(0)) for at in range(len(costs) + 1)]
        assert curves[f"shop {shop}"] == lost
        assert next(row for row in found.parts.rows if row[0] == (str(shop),))[1:] == (
            lost[-1],
            100 - lost[-1],
        )
    largest = [max(each) for each in zip(*curves.values(), strict=True)]
    assert largest == [line.spent for line in found.lines]
    assert found.parts.more == 0
    assert found.parts.least is None


def test_many_parts_and_charges_stay_a_small_page():
    """The largest are listed and drawn, the others counted, with what remains to each at least."""
    df = _shops(300)
    for number in range(900):
        _charge(df, Fraction(1 + number % 300, 100), {"shop": [number % 300]})

    found = _account(df)
    text = budget(found)

    assert [row[0] for row in found.parts.rows] == [(str(shop),) for shop in range(299, 299 - LISTED, -1)]
    assert len(found.parts.curves) == DRAWN <= COMPARED <= LISTED
    assert found.parts.more == 300 - LISTED
    assert found.parts.least == 100 - Fraction(3 * (300 - LISTED), 100)
    assert f"and {300 - LISTED} more; 91.6 or more remains to each" in text
    assert len(text[: text.index("Entries")]) < 80_000


def test_regions_asked_at_once_share_a_line():
    """A charge about three regions is one course; elsewhere nothing was lost."""
    df = _shops(9)
    _charge(df, "0.5", {"shop": [0, 1, 2]})

    found = _account(df).parts

    assert [curve.name for curve in found.curves] == ["shop 0; shop 1 and 1 more", "shop elsewhere"]
    assert [row[0] for row in found.rows] == [("0",), ("1",), ("2",), ("elsewhere",)]


def test_the_page_shows_parts():
    """Names, what is left to each, and why charges do not add up."""
    df = _patients()
    for number, name in enumerate(REGIONS):
        df.blowfish.where(f"region == '{name}'").hist("age", epsilon=Fraction(1 + number, 10))

    text = budget(_account(df))

    assert "What remains to whom" in text
    assert "region west" in text
    assert '<th scope="row">north</th><td class="number">0.1</td><td class="number">0.9</td>' in text
    assert "different parts of the policy are about different people" in text


def test_parts_of_two_columns_have_a_column_each():
    """Combinations are named by both."""
    df = _patients()
    df.blowfish.where("region == 'north' and disease == 'healthy'").hist("age", epsilon="0.25")
    df.blowfish.where("region == 'east'").hist("age", epsilon="0.5")

    found = _account(df).parts

    assert set(found.columns) == {"region", "disease"}
    assert found.rows[0][1] == Fraction(1, 2)
    assert all(len(names) == 2 for names, _, _ in found.rows)


def test_nothing_is_shown_where_every_charge_is_everyones():
    """Without parts, and once a fact ties them together."""
    plain, tied = _patients(), _patients(epsilon=5)
    plain.blowfish.hist("age", epsilon="0.5")
    tied.blowfish.where("region == 'north'").hist("age", epsilon="0.5")
    tied.blowfish.where("region == 'east'").hist("age", epsilon="0.5")
    tied.blowfish.ledger.record_exact("d", bf.Count("age < 18"))

    assert _account(plain).parts is None
    assert "different parts" not in budget(_account(plain))
    assert _account(tied).parts is None


@pytest.mark.parametrize("members", [1, 30])
def test_a_pool_is_shown_by_its_datasets(members):
    """What each has spent of it over time, and what may still be spent on it: its own rest or the pool's."""
    book, pool = bf.Ledger(), bf.Pool("people", epsilon=50)
    policy = bf.Policy(Domain((integers("a", 0, 3),)))
    for number in range(members):
        rows = pd.DataFrame({"a": [0] * (number + 2)})
        df = rows.blowfish.protect(policy, epsilon=2, dataset=f"night {number}", ledger=book, pool=pool)
        book.charge(f"night {number}", Fraction(1 + number, 20), {"call": "count()"})

    found = _account(df, f"night {members - 1}")
    text = budget(found)

    spent = Fraction(members * (members + 1), 40)
    assert found.members.rows[0] == (
        (f"night {members - 1}",),
        Fraction(members, 20),
        min(2 - Fraction(members, 20), 50 - spent),
    )
    assert found.members.more == max(members - LISTED, 0)
    assert list(found.members.curves[0].lost.values())[-1] == Fraction(members, 20)
    assert sum(next(iter(curve.lost.values())) for curve in found.members.curves) == 0  # when it was opened
    assert f"dataset night {members - 1}" in text
    assert "What the pool was spent on" in text


def test_a_ledger_that_is_not_sound_has_no_parts(tmp_path):
    """What was tampered with is reported, not drawn."""
    place = tmp_path / "budget.db"
    df = _patients(ledger=bf.Ledger(place), pool=bf.Pool("p", epsilon=3))
    df.blowfish.where("region == 'north'").hist("age", epsilon="0.5")
    with sqlite3.connect(place) as connection:
        connection.execute(
            "UPDATE entries SET body = replace(body, '\"1/2\"', '\"1/3\"') WHERE kind = 'charge'"
        )
    connection.close()

    found = account(bf.Ledger(place), "d", bf.of)

    assert found.problem
    assert found.parts is found.members is None
