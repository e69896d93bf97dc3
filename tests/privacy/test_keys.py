"""Keys that are read from rows are the same in all neighbouring tables; else they are refused."""

import itertools

import numpy as np
import pandas as pd
import pytest
from oracle.definition import definition_edges
from oracle.neighbours import neighbours

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, SecretError
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.queries.frames.protect import list_keys, open_frame

SHOP = from_dict("shop", {"type": "string", "values": ["a", "b", "c"]})
X = integers("x", 0, 2)
SECRETS = {
    "full": bf.full(),
    "threshold": bf.threshold(1),
    "partition": bf.partition([[0, 1], [2]]),
    "edges": bf.edges([(0, 2)]),
    "public": bf.public(),
}
FACTS = {
    "none": (),
    "count": (bf.Count("x == 0"),),
    "counts": (bf.Count("x == 0"), bf.Count("x <= 1")),
    "marginal": (bf.Marginal("x"),),
    "joint": (bf.Count("shop == 'a' and x == 1"),),
    "of keys": (bf.Marginal("shop"),),
}


def _policy(secret, facts=(), **stated):
    """Return what is promised, on all keys that anybody could have."""
    return bf.Policy(
        Domain((SHOP, X)), secrets={"shop": bf.public(), "x": secret}, constraints=facts, **stated
    )


def _open(secret, **stated):
    """Return the same promise, with keys that rows give."""
    shop = from_dict("shop", {"type": "string", "keys": "rows"})
    secrets = {"shop": bf.public(keys="rows"), "x": secret}
    return bf.Policy(Domain((shop, X)), secrets=secrets, **stated)


def _frame(cells, **more):
    """Return rows in some cells of (shop, x)."""
    shops, numbers = np.divmod(np.array(cells, dtype=np.int64), 3)
    return pd.DataFrame({"shop": [SHOP.values[each] for each in shops], "x": numbers, **more})


@pytest.mark.parametrize("neighbors", ["record", "attribute"])
@pytest.mark.parametrize("facts", FACTS)
@pytest.mark.parametrize("secret", SECRETS)
def test_neighbours_have_the_same_keys(secret, facts, neighbors):
    """Whatever the secrets and public facts, touched or not, no neighbour has another row of any key."""
    policy = _policy(SECRETS[secret], FACTS[facts], neighbors=neighbors)

    for change in neighbours(policy, 3):
        assert not np.reshape(change.counts, (3, 3)).sum(axis=1).any()


@pytest.mark.parametrize("secret", SECRETS)
def test_neighbouring_rows_are_bound_to_one_policy(secret):
    """All tables of three rows, and all their neighbours: the policy that is bound is the same."""
    policy, promised = _policy(SECRETS[secret]), _open(SECRETS[secret])
    bound = {
        table: list_keys(promised, _frame(table), None).fingerprint
        for table in itertools.product(range(9), repeat=3)
    }

    for a, b in definition_edges(policy, ("shop", "x")).tolist():
        for rest in itertools.product(range(9), repeat=2):
            assert bound[a, *rest] == bound[b, *rest]
    assert len(set(bound.values())) == 7  # each set of keys that occurs


def test_presence_takes_keys_away():
    """A neighbour without a row may lack its key: such a policy is refused."""
    changes = neighbours(_policy(bf.full(), presence=True), 2)

    assert any(np.reshape(change.counts, (3, 3)).sum(axis=1).any() for change in changes)
    with pytest.raises(SecretError, match="presence"):
        _open(bf.full(), presence=True)


def test_groups_of_a_partition_are_no_keys():
    """Without facts their totals stay; a touched fact, which may be recorded later, lets records leave."""
    groups, known = bf.partition([[0, 1], [2]]), (bf.Count("x == 0"),)

    def totals(facts):
        found = neighbours(_policy(groups, facts), 2)
        changes = [np.reshape(each.counts, (3, 3)).sum(axis=0) for each in found]
        return {(int(each[:2].sum()), int(each[2])) for each in changes}

    assert totals(()) == {(0, 0)}
    assert (-1, 1) in totals(known)
    with pytest.raises(ArgumentError, match="not read from rows"):
        bf.partition([[0, 1], [2]], keys="rows")


def test_keys_are_those_of_all_rows_of_a_person():
    """Which rows of a person are kept depends on secrets, so keys of those would: they are of all rows."""
    ledger, kept, bound = bf.Ledger(), set(), set()
    for number, xs in enumerate(itertools.product(range(3), repeat=3)):
        rows = _frame([3 * shop + x for shop, x in enumerate(xs)], who=1)
        stated = {"epsilon": 10, "dataset": f"d{number}", "ledger": ledger, "unit": "who", "max_rows": 2}
        protected = bf.protect(rows, _open(bf.full()), **stated, new=True)
        found = protected.hist("shop", epsilon=1)  # public: exact
        kept.add(tuple(found["count"]))
        bound.add(open_frame(protected._frame.attrs["blowfish"]).policy.domain["shop"].values)

    assert bound == {("a", "b", "c")}
    assert len(kept) > 1
