"""Pools: datasets about the same people share one more total, in the same transaction."""

import random
from fractions import Fraction
from itertools import product

import pytest

import pandas_blowfish as bf
from pandas_blowfish.books import log
from pandas_blowfish.books.ledger import Ledger
from pandas_blowfish.books.pools import Pool
from pandas_blowfish.errors import (
    ArgumentError,
    ArgumentTypeError,
    BudgetMismatchError,
    ClosedDatasetError,
    InsufficientBudgetError,
    LedgerTamperedError,
    PolicyMismatchError,
    PoolBudgetError,
)
from tests.books.test_analysts import rewrite

POLICY = bf.datasets.patients_policy()
VISITS = Pool("visits", 1)


def _members(ledger, *names, total=1, pool=VISITS):
    for name in names:
        ledger.bind(name, Fraction(total), {}, pool=pool)
    return ledger


def test_each_charge_counts_twice():
    """Against its dataset and its pool; the smaller remainder refuses, and then nothing is written."""
    ledger = _members(Ledger(), "monday", "tuesday")
    ledger.bind("alone", Fraction(1), {})
    ledger.charge("monday", Fraction(3, 4), {})
    ledger.charge("alone", Fraction(3, 4), {})
    before = len(ledger.entries)

    with pytest.raises(
        PoolBudgetError, match=r"pool 'visits': requested 0.5 for dataset 'tuesday', remaining 0.25"
    ):
        ledger.charge("tuesday", Fraction(1, 2), {})
    with pytest.raises(InsufficientBudgetError):
        ledger.charge("monday", Fraction(1, 2), {})
    assert len(ledger.entries) == before
    ledger.charge("tuesday", Fraction(1, 4), {})
    ledger.charge("tuesday", Fraction(0), {})

    assert ledger.budget("visits") == bf.Budget(Fraction(1), Fraction(1))
    assert ledger.budget("tuesday").spent == Fraction(1, 4)
    assert (ledger.datasets, ledger.pools) == (["monday", "tuesday", "alone"], ["visits"])
    assert ledger.verify()


@pytest.mark.parametrize("seed", range(10))
def test_the_sum_of_members_is_what_the_pool_spends(seed, tmp_path):
    """Parts compose inside a dataset and add up over datasets: never less than any person has lost.

    A person is in one region of each table, perhaps another one in each: enumeration over all of them.
    """
    draw, ledger = random.Random(seed), Ledger(tmp_path / "budget.db")
    _members(ledger, "a", "b", "c", total=100, pool=Pool("people", 3))
    lost = {name: [Fraction(0)] * 3 for name in "abc"}
    for _ in range(60):
        name, epsilon = draw.choice("abc"), Fraction(draw.randint(1, 4), draw.randint(8, 30))
        regions = sorted(draw.sample(range(3), draw.randint(1, 3)))
        try:
            ledger.charge(name, epsilon, {}, part={"region": regions} if len(regions) < 3 else None)
        except PoolBudgetError:
            continue
        for region in regions:
            lost[name][region] += epsilon

    people = [sum(own) for own in product(*lost.values())]
    spent = ledger.budget("people").spent
    assert spent == sum(ledger.budget(name).spent for name in "abc")
    assert max(people) == spent <= 3
    assert Ledger(ledger.location).verify()


def test_frames_share_a_pool(tmp_path):
    """protect opens it, later by its name alone; a dataset goes on in its pool without being told."""
    path, total = tmp_path / "budget.db", bf.Pool("all", epsilon="3/2")

    def protect(night, pool=None):
        stated = {"dataset": f"n{night}", "ledger": path, "pool": pool}
        return nights[night].blowfish.protect(POLICY, epsilon=1, **stated)

    nights = [bf.datasets.patients(50 + night) for night in range(3)]
    one, two = protect(0, total), protect(1, "all")
    one.blowfish.hist("age", epsilon=1, name="ages")
    again = protect(1)

    with pytest.raises(PoolBudgetError):
        again.blowfish.hist("age", epsilon=1)
    two.blowfish.hist("age", epsilon="1/2")
    one.blowfish.hist("age", epsilon=1, name="ages")

    assert Ledger(path).budget("all").remaining == 0
    assert Ledger(path).entries["pool"].tolist()[:3] == [None, "all", "all"]
    assert Ledger(path).verify()
    with pytest.raises(PolicyMismatchError, match="pool="):
        protect(1, bf.Pool("more", epsilon=1))
    with pytest.raises(BudgetMismatchError):
        protect(1, bf.Pool("all", epsilon=9))
    with pytest.raises(ArgumentError, match="no pool"):
        protect(2, "none")
    assert Ledger(path).datasets == ["n0", "n1"]


def test_a_raised_pool_goes_on():
    """On the record, never down, and the new total is the one to state."""
    ledger = _members(Ledger(), "monday", "tuesday")
    ledger.charge("monday", Fraction(1), {})

    ledger.raise_budget("visits", 2, "agreed")
    ledger.charge("tuesday", Fraction(1), {})

    assert ledger.budget("visits").remaining == 0
    with pytest.raises(ArgumentError, match="raises nothing"):
        ledger.raise_budget("visits", 1)
    with pytest.raises(BudgetMismatchError):
        _members(ledger, "wednesday")
    assert ledger.verify()


def test_a_fact_about_one_member_may_close_the_pool():
    """What it makes earlier releases lose counts; nobody is charged until the pool is raised."""
    ledger, rows = bf.Ledger(), bf.datasets.patients(100)
    pool = bf.Pool("people", epsilon=3)
    one = rows.blowfish.protect(POLICY, epsilon=500, dataset="one", ledger=ledger, pool=pool)
    two = rows[:60].blowfish.protect(POLICY, epsilon=500, dataset="two", ledger=ledger, pool=pool)
    one.blowfish.cumhist("age", epsilon=1)
    two.blowfish.hist("sex", epsilon="1/2")
    ledger.record_exact("one", bf.Count("age < 18"))
    spent = ledger.budget("one").spent

    budget = ledger.budget("people")
    assert spent > 3
    assert (budget.spent, ledger.budget("one").closed) == (spent + Fraction(1, 2), None)
    assert "about 'one'" in budget.closed
    for df in (one, two):
        with pytest.raises(ClosedDatasetError, match="'people'"):
            df.blowfish.hist("sex", epsilon="1/2")
    assert ledger.verify()
    ledger.record_exact("two", bf.Count("age < 18"))
    ledger.raise_budget("people", 2 * ledger.budget("people").spent, "agreed")
    two.blowfish.hist("sex", epsilon="1/2")
    assert ledger.verify()


def test_pools_and_datasets_have_names_of_their_own():
    """A pool is not protected, charged or told facts about; a dataset is no pool."""
    ledger = _members(Ledger(), "monday")
    for wrong in (
        lambda: ledger.charge("visits", Fraction(1, 4), {}),
        lambda: ledger.dataset("visits"),
        lambda: ledger.bind("visits", Fraction(1), {}),
        lambda: ledger.record_exact("visits", bf.Count("age < 18")),
        lambda: ledger.set_limit("visits", "ana", 1),
        lambda: _members(ledger, "tuesday", pool=Pool("monday", 1)),
        lambda: _members(ledger, "tuesday", pool=Pool("tuesday", 1)),
    ):
        with pytest.raises(ArgumentError, match="pool"):
            wrong()
    assert ledger.entries["kind"].tolist() == ["pool", "open"]


@pytest.mark.parametrize("name", ["", " a", 5, None])
def test_pools_have_names(name):
    """As datasets do."""
    with pytest.raises(ArgumentError):
        Pool(name, 1)
    with pytest.raises(ArgumentTypeError):
        bf.datasets.patients(5).blowfish.protect(POLICY, epsilon=1, pool=5)
    with pytest.raises(ArgumentError):
        Pool("a", 0)


def _without_a_share(entries):
    return entries[:-1]


def _smaller(entries):
    entries[-1][3].update({"epsilon": "1/8", "spent": "3/8"})
    return entries


def _of_another(entries):
    entries[-1][3]["member"] = "tuesday"
    return entries


def _twice(entries):
    dataset, kind, time, body = entries[-1]
    return [*entries, (dataset, kind, time, {**body, "spent": "3/4"})]


def _closed(entries):
    entries[-1][3]["closed"] = "earlier releases have lost more than the total"
    return entries


def _outside(entries):
    entries[1][3]["binding"] = {}
    return entries


def _without_a_pool(entries):
    return [entry for entry in entries if entry[0] != "visits"]


def _more_than_all(entries):
    entries[0][3]["total"] = entries[4][3]["total"] = entries[6][3]["total"] = "1/4"
    return entries


@pytest.mark.parametrize(
    "edit",
    [_without_a_share, _smaller, _of_another, _twice, _closed, _outside, _without_a_pool, _more_than_all],
)
def test_edited_shares_are_found(edit, tmp_path):
    """A pool's sums must follow from its members', even where every hash was made anew."""
    ledger = _members(Ledger(tmp_path / "budget.db"), "monday", "tuesday")
    ledger.charge("monday", Fraction(1, 4), {})
    ledger.charge("monday", Fraction(1, 4), {})
    ledger.close()
    rewrite(tmp_path / "budget.db", lambda entries: entries)
    assert ledger.verify()
    ledger.close()
    rewrite(tmp_path / "budget.db", edit)

    with pytest.raises(LedgerTamperedError):
        ledger.verify()


def test_a_charge_finds_its_pool_by_an_index(tmp_path):
    """The last entry of a pool is looked up, whatever the number of entries."""
    ledger = _members(Ledger(tmp_path / "budget.db"), "monday")

    with log.transaction(ledger.location) as connection:
        plan = connection.execute(
            "EXPLAIN QUERY PLAN SELECT * FROM entries WHERE dataset = ? ORDER BY id DESC LIMIT 1", ("visits",)
        ).fetchall()

    assert "USING INDEX entries_of" in plan[0][-1]
