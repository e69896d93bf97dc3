"""How many records neighbours differ in: every rule, with figures worked out by hand."""

import random

import pytest

import pandas_blowfish as bf
from pandas_blowfish.facts import move_bound as module
from pandas_blowfish.facts.move_bound import bound_moves
from pandas_blowfish.policy.domain import Domain, from_dict, integers


def _line(size, *facts, **more):
    return bf.Policy(Domain((integers("x", 0, size - 1),)), constraints=facts, **more)


def _grid(*sizes):
    return Domain(tuple(integers(name, 0, size - 1) for name, size in zip("abcd", sizes, strict=False)))


def _chain(size):
    return _line(size, *(bf.Count(f"x in [{n}, {n + 1}]") for n in range(size - 1)))


@pytest.mark.parametrize(
    ("policy", "count", "rule"),
    [
        (_line(4), 1, "untouched"),
        (_line(4, bf.Count("x < 2"), secrets={"x": bf.partition([[0, 1], [2, 3]])}), 1, "untouched"),
        (_line(4, bf.Count("x in [0, 2]"), secrets={"x": bf.partition([[0, 1], [2, 3]])}), 2, "disjoint"),
        (_line(4, bf.Count("x < 0")), 1, "untouched"),
        (_line(4, bf.Count("x >= 0")), 1, "untouched"),
        (_line(4, bf.Count("x < 0"), presence=True), 1, "untouched"),
        (_line(4, bf.Count("x >= 0"), presence=True), 1, "disjoint"),
        (_line(6, bf.Box(x=(0, 1)), bf.Box(x=(4, 5)), secrets={"x": bf.threshold(1)}), 3, "disjoint"),
        (_line(6, bf.Box(x=(0, 2)), bf.Box(x=(3, 5))), 2, "disjoint"),
        (_line(6, bf.Count("x in [0, 1, 2, 3]"), bf.Count("x in [2, 3, 4, 5]")), 3, "disjoint"),
        (_line(6, bf.Count("x < 2"), bf.Count("x < 4")), 3, "atoms"),
        (_line(6, bf.Count("x < 2"), bf.Count("x < 4"), presence=True), 3, "atoms"),
        (_line(4, bf.Count("x == 0")), 1, "disjoint"),
        (_line(4, bf.Count("x == 0"), bf.Count("x == 2"), bf.Count("x == 3")), 0, "known"),
        (_line(5, bf.Count("x < 2"), bf.Count("x == 2")), 2, "disjoint"),
        (_line(5, bf.Count("x < 3"), bf.Count("x < 4")), 1, "atoms"),
        (_chain(3), 0, "known"),
        (_chain(4), 2, "kernel"),
        (_chain(5), 0, "known"),
        (_chain(200), 100, "kernel"),
        (_line(5, bf.Marginal("x")), 0, "known"),
        (_line(5, bf.Marginal("x"), presence=True), 0, "known"),
        (bf.Policy(_grid(3, 4), constraints=[bf.Marginal("a")]), 3, "one marginal"),
        (bf.Policy(_grid(3, 4), constraints=[bf.Marginal("a")], presence=True), 3, "one marginal"),
        (
            bf.Policy(_grid(3, 4, 2), secrets={"a": bf.public()}, constraints=[bf.Marginal("a", "b")]),
            4,
            "one marginal",
        ),
        (
            bf.Policy(_grid(3, 4, 2), secrets={"a": bf.public()}, constraints=[bf.Marginal("a")]),
            1,
            "untouched",
        ),
        (bf.Policy(_grid(2, 2, 2), constraints=[bf.Marginal("a"), bf.Marginal("b")]), 4, "zero sums"),
        (bf.Policy(_grid(3, 4, 2), constraints=[bf.Marginal("a"), bf.Count("c == 0")]), 8, "zero sums"),
        (bf.Policy(_grid(2, 3, 2), constraints=[bf.Marginal("a"), bf.Marginal("b")]), 8, "zero sums"),
        (bf.Policy(_grid(4, 5, 2), constraints=[bf.Marginal("a"), bf.Marginal("b")]), 148_955, "steinitz"),
    ],
    ids=lambda value: value.describe()[-60:] if isinstance(value, bf.Policy) else str(value),
)
def test_rules(policy, count, rule):
    """The number, and the rule that says so."""
    found = bound_moves(policy)

    assert (found.count, found.rule) == (count, rule)
    assert found.free == (rule == "untouched")


def test_disjoint_boxes_of_a_large_grid():
    """A hundred boxes: one more than there are, since there are cells in none of them."""
    tens = range(0, 1000, 100)
    facts = [bf.Box(a=(a, a + 50), b=(b + 3, b + 60)) for a in tens for b in tens]
    policy = bf.Policy(_grid(1000, 1000), constraints=facts)

    assert (bound_moves(policy).count, bound_moves(policy).rule, bound_moves(policy).exact) == (
        101,
        "disjoint",
        True,
    )
    assert policy.plan.hist("a", strategy="identity").sensitivity == 202


def test_too_many_combinations(monkeypatch):
    """Counts that are kept apart have a bound, others Steinitz' alone."""
    monkeypatch.setattr("pandas_blowfish.facts.signature.MAX_COMBINATIONS", 2)
    apart = bf.Policy(_grid(40, 40), constraints=[bf.Box(a=(0, 3)), bf.Box(a=(5, 7), b=(1, 2))])
    crossing = bf.Policy(_grid(40, 40), constraints=[bf.Box(a=(0, 4)), bf.Box(b=(1, 2))])

    assert (bound_moves(apart).count, bound_moves(apart).exact) == (3, False)
    assert (bound_moves(crossing).count, bound_moves(crossing).rule) == (25, "steinitz")


def test_facts_that_follow_cost_nothing_more():
    """A marginal and what it tells is the marginal, however many cells it has; so is one stated twice."""
    domain = Domain((integers("a", 0, 199), integers("b", 0, 3)))
    whole = Domain((integers("a", 0, 999), integers("b", 0, 999)))
    for facts in ([bf.Count("a == 3")], [bf.Marginal("a")], [bf.Box(a=(0, 8)), bf.Count("a > 150")]):
        found = bound_moves(bf.Policy(domain, constraints=[*facts, bf.Marginal("a")]))
        assert (found.count, found.rule, len(found.interacting)) == (200, "one marginal", 1)
    assert (
        bound_moves(bf.Policy(whole, constraints=[bf.Marginal("a", "b"), bf.Box(a=(0, 8))])).rule == "known"
    )
    assert bound_moves(bf.Policy(whole, constraints=[bf.Marginal("a"), bf.Marginal("b")])).count == 2**64


def test_columns_without_bounds_may_be_public():
    """With presence a marginal of other columns is still priced."""
    domain = Domain((integers("a", 0, 3), from_dict("x", {"type": "float"})))
    policy = bf.Policy(domain, secrets={"x": bf.public()}, presence=True, constraints=[bf.Marginal("a")])

    assert bound_moves(policy).count == 5


def test_interacting_facts_are_named():
    """Facts that one neighbour can change together, others apart; a part for each public value."""
    domain = Domain((integers("p", 0, 1), integers("x", 0, 3)))
    facts = [bf.Count("p == 0 and x == 0"), bf.Count("p == 0 and x == 1"), bf.Count("p == 1 and x < 2")]
    policy = bf.Policy(domain, secrets={"p": bf.public()}, constraints=facts)

    found = bound_moves(policy)

    assert (found.count, found.records, set(found.interacting)) == (2, 3, {(0, 1), (2,)})


def test_bounds_of_ordered_sums():
    """m moves a step in d more dimensions; a marginal and two counts."""
    assert [module._ordered(1, d) for d in range(4)] == [1, 2, 25, 343]
    assert [module._ordered(3, d) for d in range(3)] == [3, 15, 3 * 13**2]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("presence", [False, True])
def test_many_facts_are_priced_as_few(seed, presence, monkeypatch):
    """What exact elimination reduces to atoms is reduced without it, at the same price; nothing else is."""
    draw = random.Random(seed)
    domain = Domain((integers("a", 0, 5), integers("b", 0, 2)))
    facts = [bf.Count(f"a < {end}") for end in draw.sample(range(1, 6), draw.randint(2, 4))]
    facts += [bf.Count(f"a in {sorted(draw.sample(range(6), 3))}")] * (seed % 2)
    monkeypatch.setattr(module, "MAX_RANK", 0)  # longest sums of what are no atoms take long to find
    policy = bf.Policy(domain, constraints=facts, presence=presence)
    old = bound_moves.__wrapped__(policy)
    monkeypatch.setattr(module, "MAX_TABLE", 0)

    new = bound_moves.__wrapped__(policy)

    assert (new == old) if old.rule in ("atoms", "untouched", "kernel", "known") else new.count >= old.count
    assert (new.rule == "atoms") == (old.rule == "atoms")


@pytest.mark.parametrize("many", [140, 160, 700])
def test_nested_facts_are_as_many_counts_as_there_are(many):
    """Counts below ever larger values tell those between them, however many there are."""
    domain = Domain((integers("x", 0, 2 * many + 1),))
    facts = [bf.Count(f"x < {2 * number}") for number in range(1, many + 1)]

    found = bound_moves(bf.Policy(domain, constraints=facts))

    assert (found.count, found.records, found.rule, found.exact) == (many + 1, many + 1, "atoms", True)
