"""The enumeration with facts agrees with the definition word by word, and with values worked out by hand."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import pandas_blowfish as bf
from oracle import neighbours as module
from oracle.definition import definition_edges
from oracle.neighbours import Change, fact_cells, neighbours, true_loss, true_sensitivity
from pandas_blowfish.errors import ArgumentError, DomainTooLargeError
from pandas_blowfish.facts.declared import constraint_from_dict
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.policy.domain import Domain, from_dict, integers


def on_line(cells, secret, *facts, **extra):
    """Return a policy on 0..cells-1."""
    domain = Domain((integers("x", 0, cells - 1),))
    return bf.Policy(domain, secrets={"x": secret}, constraints=facts, **extra)


def count_of(*cells, **extra):
    """Return the fact how many rows are in some cells of x."""
    return bf.Count(f"x in {list(cells)}", **extra)


def cumulative(cells):
    """Return the prefix sums of some cells."""
    return np.tril(np.ones((cells, cells), dtype=int))


def word_by_word(policy, rows):
    """Return the neighbours by sets of databases, secrets and tuples, as Definition 4.1 writes them.

    An individual is a tuple (number, public values); a database says where each one is.
    """
    cells = list(itertools.product(*(range(size) for size in policy.domain.shape)))
    held, answers = fact_cells(policy)
    edges = {frozenset(pair) for pair in definition_edges(policy, policy.domain.columns).tolist()}
    public = [i for i, name in enumerate(policy.domain.columns) if name in policy.public_columns]
    absent, found = len(cells), set()
    for people in itertools.combinations_with_replacement(
        sorted({tuple(c[i] for i in public) for c in cells}), rows
    ):
        own = [
            [n for n, c in enumerate(cells) if tuple(c[i] for i in public) == values]
            + [absent] * policy.presence
            for values in people
        ]
        by_answers = {}
        for database in itertools.product(*own):
            said = tuple(int(sum(fact[c] for c in database if c != absent)) for fact in held)
            if all(known in (None, count) for known, count in zip(answers, said, strict=True)):
                by_answers.setdefault(said, []).append(database)
        for possible in by_answers.values():
            for one in possible:
                found |= _next_to(one, possible, edges, absent)
    return tuple(sorted(found | {Change(tuple(-n for n in c.counts), c.moved) for c in found}))


def _next_to(one, possible, edges, absent):
    def pairs(two):
        return zip(one, two, strict=True)

    def discriminative(two):
        return frozenset((i, a, b) for i, (a, b) in enumerate(pairs(two)) if frozenset((a, b)) in edges)

    def different(two):
        return set(enumerate(one)) ^ set(enumerate(two))

    found = set()
    for two in possible:
        secrets = discriminative(two)
        if not secrets or any(
            (discriminative(three) and discriminative(three) < secrets)
            or (discriminative(three) == secrets and different(three) < different(two))
            for three in possible
        ):
            continue
        moved = sum(a != b for a, b in pairs(two))
        found.add(Change(tuple(two.count(c) - one.count(c) for c in range(absent)), moved))
    return found


def random_facts(draw, domain):
    """Return some facts of every kind, with and without answers."""
    facts = []
    for _ in range(draw.randint(0, 2)):
        kind, answer = draw.choice(["count", "box", "marginal"]), draw.choice([None, None, 1])
        axis = draw.choice(domain.attributes)
        if kind == "marginal":
            facts.append(bf.Marginal(axis.name))
        elif kind == "box":
            low = draw.randrange(axis.cells)
            facts.append(bf.Box(**{axis.name: (low, draw.randrange(low, axis.cells))}, answer=answer))
        else:
            some = draw.sample(range(axis.cells), draw.randint(1, axis.cells))
            facts.append(bf.Count(f"{axis.name} in {some}", answer=answer))
    return facts


def random_secret(draw, cells):
    """Return a secret of any kind on 0..cells-1."""
    pairs = [pair for pair in itertools.combinations(range(cells), 2) if draw.random() < 0.5]
    kinds = [bf.full(), bf.threshold(1), bf.public(), bf.edges(pairs)]
    return draw.choice([*kinds, bf.partition([range(cells // 2), range(cells // 2, cells)])])


@pytest.mark.parametrize("seed", range(80))
def test_matches_the_definition_word_by_word(seed):
    """Sets of databases, one line of the definition at a time, have the same neighbours."""
    draw = random.Random(seed)
    sizes = draw.choice([[2], [3], [4], [2, 2]])
    domain = Domain(
        tuple(integers(name, 0, size - 1) for name, size in zip("xy"[: len(sizes)], sizes, strict=True))
    )
    policy = bf.Policy(
        domain,
        secrets={axis.name: random_secret(draw, axis.cells) for axis in domain},
        neighbors=draw.choice(["record", "attribute"]),
        presence=draw.random() < 0.25,
        constraints=random_facts(draw, domain),
    )

    for rows in (1, 2, 3):
        assert neighbours(policy, rows) == word_by_word(policy, rows)


@pytest.mark.parametrize("seed", range(40))
def test_without_facts_the_neighbours_are_the_edges(seed, make_full_policy):
    """One record moved along one edge is every neighbour."""
    draw = random.Random(seed)
    policy = make_full_policy(draw, draw.randint(1, 2), 3)
    cells = policy.domain.size
    unit = np.vstack([np.eye(cells, dtype=int), np.zeros((1, cells), dtype=int)])

    edges = definition_edges(policy, policy.domain.columns).tolist()
    moves = {tuple((unit[b] - unit[a]).tolist()) for pair in edges for a, b in (pair, pair[::-1])}

    for rows in (1, 2):
        assert set(neighbours(policy, rows)) == {Change(move, 1) for move in moves}


def test_loss_and_sensitivity_are_those_of_the_edges_without_facts():
    """The two oracles agree where both apply, on some columns in any order too."""
    domain = Domain((integers("x", 0, 2), integers("y", 0, 1)))
    policy = bf.Policy(domain, secrets={"x": bf.threshold(1), "y": bf.public()})
    matrix = csr_array(np.array([[1, 0, 2, 0, 0, 3], [0, 1, 1, 1, -1, 0], [0, 0, 0, 1, 2, 9]]))
    scales = [Fraction(3), Fraction(7, 2), Fraction(3)]

    for columns in (["x", "y"], ["y", "x"]):
        edges = definition_edges(policy, columns)
        ones = [Fraction(1)] * 3

        assert true_loss(policy, matrix, scales, 2, columns) == edge_loss(matrix, scales, edges).value
        assert true_sensitivity(policy, matrix, 2, columns) == edge_loss(matrix, ones, edges).value
    assert true_sensitivity(policy, matrix, 2) != true_sensitivity(policy, matrix, 2, ["y", "x"])
    assert true_sensitivity(policy, np.eye(2, dtype=int), 1, ["y"]) == 0
    assert true_sensitivity(policy, np.eye(3, dtype=int), 1, ["x"]) == 2
    assert true_loss(policy, np.eye(3, dtype=int), [Fraction(0)] * 3, 1, ["x"]) == float("inf")
    assert true_loss(policy, np.ones((1, 3), dtype=int), [Fraction(0)], 1, ["x"]) == 0


def test_a_marginal_of_two_cells():
    """Whoever changes the one column makes another change it back."""
    domain = Domain((integers("x", 0, 1), integers("y", 0, 2)))
    policy = bf.Policy(domain, constraints=[bf.Marginal("x")])
    known = bf.Policy(domain, constraints=[bf.Marginal("x", answer=[2, 0])])

    assert max(change.moved for change in neighbours(policy, 4)) == 2
    assert [true_sensitivity(policy, np.eye(6, dtype=int), rows) for rows in (1, 2, 3)] == [2, 4, 4]
    assert true_sensitivity(known, np.eye(6, dtype=int), 2) == 2
    assert neighbours(known, 3) == ()
    assert true_sensitivity(known, np.eye(6, dtype=int), 3) == 0


def test_components_are_not_exact_when_a_fact_is_touched():
    """Groups {0,1}, {2,3}, count {0,2} known: another record may cross between the groups."""
    policy = on_line(4, bf.partition([[0, 1], [2, 3]]), count_of(0, 2))

    totals = [true_sensitivity(policy, np.array([[1, 1, 0, 0], [0, 0, 1, 1]]), rows) for rows in (1, 2, 3, 4)]

    assert totals == [0, 2, 2, 2]


def test_smaller_graphs_are_not_safer():
    """Fact {2}: the smaller of two graphs has the larger cumulative sensitivity, with any rows."""
    small = on_line(4, bf.edges([(1, 3), (2, 3)]), count_of(2))
    large = on_line(4, bf.edges([(1, 3), (2, 3), (0, 2)]), count_of(2))

    for rows in (2, 3, 4):
        assert true_sensitivity(small, cumulative(4), rows) == 3
        assert true_sensitivity(large, cumulative(4), rows) == 2


def test_overlapping_facts_that_cover_the_domain():
    """{0,1,2,3}, {2,3,4,5}: three records move, one more than there are facts."""
    policy = on_line(6, bf.full(), count_of(0, 1, 2, 3), count_of(2, 3, 4, 5))

    assert max(change.moved for change in neighbours(policy, 4)) == 3
    assert true_sensitivity(policy, np.eye(6, dtype=int), 3) == 6


@pytest.mark.parametrize(("cells", "expected"), [(3, 0), (4, 4), (5, 0)])
def test_chains_of_pairs(cells, expected):
    """x1 + x2, x2 + x3, ... known: with an odd number of cells everything is."""
    policy = on_line(cells, bf.full(), *(count_of(i, i + 1) for i in range(cells - 1)))

    assert true_sensitivity(policy, np.eye(cells, dtype=int), 4) == expected


def test_a_known_sum_is_no_fact(monkeypatch):
    """The sum of 0..3 known costs 8, the rule for counts would say 4: such facts cannot be stated."""
    policy = on_line(4, bf.full(), count_of(1))
    with monkeypatch.context() as patch:
        patch.setattr(module, "fact_cells", lambda policy: (np.array([[0, 1, 2, 3]]), (None,)))
        patch.setattr(module, "neighbours", neighbours.__wrapped__)
        patch.setattr(module, "_states", module._states.__wrapped__)
        costs = [true_sensitivity(policy, np.eye(4, dtype=int), rows) for rows in (2, 3, 4)]

    assert costs == [4, 6, 8]
    with pytest.raises(ArgumentError):
        constraint_from_dict({"fact": "sum", "columns": ["x"]})
    for fact in (count_of(1), bf.Marginal("x"), bf.Box(x=(1, 2))):
        assert set(fact_cells(on_line(4, bf.full(), fact))[0].ravel().tolist()) == {0, 1}


@pytest.mark.parametrize(
    ("spec", "fact", "expected"),
    [
        ({"type": "integer", "min": 0, "max": 5}, bf.Box(c=(1, 3)), [0, 1, 1, 1, 0, 0]),
        ({"type": "integer", "min": 0, "max": 5}, bf.Box(c=(None, 3)), [1, 1, 1, 1, 0, 0]),
        ({"type": "integer", "min": 0, "max": 9, "step": 4}, bf.Box(c=(4, 9)), [0, 1, 1]),
        ({"type": "integer", "min": 0, "max": 9, "step": 4}, bf.Box(c=(0, 3)), [1, 0, 0]),
        ({"type": "float", "min": 0, "max": "0.45", "step": "0.1"}, bf.Box(c=(0.1, 0.3)), [0, 1, 1, 0, 0]),
        ({"type": "float", "min": 0, "max": 1, "step": "0.5"}, bf.Box(c=(0.5, None)), [0, 1, 1]),
        ({"type": "integer", "values": [1, 4, 6], "nullable": True}, bf.Box(c=(1, 4)), [1, 1, 0, 0]),
        ({"type": "integer", "values": [1, 4, 6], "nullable": True}, bf.Box(c=(4, None)), [0, 1, 1, 0]),
        ({"type": "integer", "min": 0, "max": 1, "nullable": True}, bf.Box(c=(1, None)), [0, 1, 0]),
        ({"type": "integer", "min": 0, "max": 1, "nullable": True}, bf.Count("not c == 0"), [0, 1, 0]),
        ({"type": "category", "values": list("abc"), "ordered": True}, bf.Box(c=("b", None)), [0, 1, 1]),
        ({"type": "datetime", "min": "2020-01-01", "max": "2020-01-03", "step": "1D"},
         bf.Box(c=("2020-01-01", "2020-01-03")), [1, 1, 0]),
    ],
)  # fmt: skip
def test_facts_are_read_cell_by_cell(spec, fact, expected):
    """Whole numbers are inclusive, bins half-open, missing in nothing."""
    policy = bf.Policy(Domain((from_dict("c", spec),)), constraints=[fact])

    assert fact_cells(policy)[0].tolist() == [expected]
    assert fact_cells(policy)[1] == (None,)


def test_answers_of_marginals():
    """A table in schema order and a dict of values say the same; missing is None."""
    axes = (integers("a", 0, 1, nullable=True), from_dict("b", {"type": "category", "values": ["u", "v"]}))
    table = [[1, 2], [3, 4], [5, 6]]
    cells = list(itertools.product((0, 1, None), ("u", "v")))
    series = pd.Series({("v",): 3, ("u",): 2})

    for answer in (table, dict(zip(cells, range(1, 7), strict=True))):
        policy = bf.Policy(Domain(axes), constraints=[bf.Marginal("a", "b", answer=answer)])

        assert fact_cells(policy)[0].tolist() == np.eye(6, dtype=int).tolist()
        assert fact_cells(policy)[1] == (1, 2, 3, 4, 5, 6)
    swapped = bf.Policy(Domain(axes), constraints=[bf.Marginal("b", answer=series.to_dict())])
    assert fact_cells(swapped)[1] == (2, 3)


def test_public_values_are_known_of_the_absent_too():
    """Who is absent keeps the public value: another region's record cannot stand in."""
    domain = Domain((integers("x", 0, 1), integers("region", 0, 1)))
    secrets = {"region": bf.public(), "x": bf.public()}
    policy = bf.Policy(domain, secrets=secrets, presence=True, constraints=[bf.Count("x == 0")])

    assert {change.moved for change in neighbours(policy, 3)} == {1, 2}
    assert true_sensitivity(policy, np.eye(4, dtype=int), 3) == 2
    assert true_sensitivity(policy, np.array([[0, 0, 1, 1]]), 3) == 1


def test_large_domains_are_refused():
    """It is for tiny domains only."""
    with pytest.raises(DomainTooLargeError):
        neighbours(on_line(40, bf.full()), 5)
