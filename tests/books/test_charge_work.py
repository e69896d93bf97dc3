"""What a charge does is the same however many entries a ledger has: work is counted, not timed."""

from fractions import Fraction

import pytest

from pandas_blowfish.books import database
from pandas_blowfish.books.ledger import Ledger
from pandas_blowfish.books.pools import Pool

COST = Fraction(1, 1000)
OPTIONS = [{}, {"name": "first"}, {"part": {"region": [0]}}]


def _watch(ledger, action):
    """Return how many steps SQLite took for an action, and its statements."""
    connection, _ = database._OPEN[ledger.location]
    steps, seen = [0], []

    def count():
        steps[0] += 1
        return 0

    connection.set_progress_handler(count, 1)
    connection.set_trace_callback(seen.append)
    action()
    connection.set_progress_handler(None, 0)
    connection.set_trace_callback(None)
    return steps[0], seen


@pytest.mark.parametrize("pool", [None, Pool("people", epsilon=1000)])
@pytest.mark.parametrize("options", OPTIONS)
def test_a_charge_takes_as_many_steps_after_many_as_after_few(pool, options):
    """With a pool, parts, a limit and a weaker release besides; every lookup of entries uses an index."""
    ledger = Ledger(analyst="ana")
    ledger.bind("a", Fraction(1000), {}, pool=pool, limits={"ana": Fraction(900)})
    ledger.bind("b", Fraction(1000), {}, pool=pool)
    ledger.charge("b", COST, {}, rule="apart")
    found = {}

    for size in (20, 400):
        while len(ledger.entries) < size if size == 20 else ledger.charge("a", COST, {})[0].id < size:
            ledger.charge("b", COST, {}, part={"region": [0]})
            ledger.charge("a", COST, {}, part=options.get("part"))

        def act():
            entry, _ = ledger.charge("a", COST, {}, **options)
            if "name" in options:
                ledger.store(entry, b"answer")

        act()
        found[size], seen = _watch(ledger, act)

    connection, _ = database._OPEN[ledger.location]
    lookups = [each for each in seen if each.startswith("SELECT") and "FROM entries" in each]
    plans = [row[3] for each in lookups for row in connection.execute(f"EXPLAIN QUERY PLAN {each}")]
    assert lookups
    assert not [each for each in plans if "SCAN" in each]
    assert found[400] <= found[20] + 20
