"""Formulas of the papers about facts that are false as printed: each falls below enumeration.

PROOFS.md lists them at its end. The printed number is computed here and shown to be too small, and
the plan of the verb that answers the same question covers the truth. The sum of 0..3 as a fact is in
tests/oracle/test_neighbours.py; formulas that need no facts are in test_false_budgets.py.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from oracle.definition import definition_edges
from oracle.neighbours import fact_cells, neighbours, true_loss, true_sensitivity
from scipy.sparse import csr_array

import pandas_blowfish as bf
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.policy.domain import Domain, integers


def on_line(cells, secret, *facts, **extra):
    """Return a policy on 0..cells-1."""
    domain = Domain((integers("x", 0, cells - 1),))
    return bf.Policy(domain, secrets={"x": secret}, constraints=facts, **extra)


def count_of(*cells):
    """Return the fact how many rows are in some cells of x."""
    return bf.Count(f"x in {list(cells)}")


def identity(cells):
    """Return the queries for single cells."""
    return np.eye(cells, dtype=int)


def truth(policy, rows, matrix=None):
    """Return the largest true sensitivity of the histogram, or of some queries, of 1 to some rows."""
    asked = identity(policy.domain.size) if matrix is None else matrix
    return max(true_sensitivity(policy, asked, n) for n in range(1, rows + 1))


def planned(policy):
    """Return what the plan of the histogram of all columns says its sensitivity is, having kept its word."""
    columns = list(policy.domain.columns)
    for strategy in ("identity", "auto"):
        plan = policy.plan.hist(columns, strategy=strategy)
        rows = range(1, 5 if policy.domain.size <= 8 else 4)

        assert max(true_loss(policy, plan.matrix(), plan.scales, n, plan.domain.columns) for n in rows) <= 1
        assert plan.privacy_loss() <= 1
    return policy.plan.hist(columns, strategy="identity").sensitivity


def databases(policy, rows):
    """Return, for every two tables with equal answers, the moves along edges and all that differs."""
    held, _ = fact_cells(policy)
    edges = {frozenset(pair) for pair in definition_edges(policy, policy.domain.columns).tolist()}
    by_answers = {}
    for table in itertools.product(range(policy.domain.size), repeat=rows):
        by_answers.setdefault(tuple(held[:, list(table)].sum(axis=1).tolist()), []).append(table)
    found = {}
    for some in by_answers.values():
        for one, two in itertools.product(some, repeat=2):
            moves = [(i, a, b) for i, (a, b) in enumerate(zip(one, two, strict=True)) if a != b]
            secret = frozenset(move for move in moves if frozenset(move[1:]) in edges)
            found.setdefault(one, {})[two] = secret, frozenset(moves)
    return found


def directed(policy, rows, *, literal=False):
    """Return the ordered pairs of neighbours; literally, an empty T is smaller than any other."""
    found = set()
    for one, others in databases(policy, rows).items():
        for two, (pairs, moves) in others.items():
            smaller = any(
                ((literal or some) and some < pairs) or (some == pairs and other < moves)
                for some, other in others.values()
            )
            if pairs and not smaller:
                found.add((one, two))
    return found


def printed_theorem_8_2(policy):
    """Return 2 max(alpha, xi) of the graph of constraints built on the secret graph; None if not sparse."""
    held, _ = fact_cells(policy)
    many, arcs = len(held), {("+", "-")}
    for pair in definition_edges(policy, policy.domain.columns).tolist():
        for a, b in (pair, pair[::-1]):
            lifted = [q for q in range(many) if held[q, b] > held[q, a]]
            lowered = [q for q in range(many) if held[q, b] < held[q, a]]
            if len(lifted) > 1 or len(lowered) > 1:
                return None
            if lifted or lowered:
                arcs.add((lowered[0] if lowered else "+", lifted[0] if lifted else "-"))
    longest, queue = 0, [("+",), *((q,) for q in range(many))]
    while queue:
        path = queue.pop()
        ends = [end for start, end in arcs if start == path[-1]]
        if (path[0] == "+" and "-" in ends) or path[0] in ends:
            longest = max(longest, len(path))
        queue += [(*path, end) for end in ends if end != "-" and end not in path]
    return 2 * longest


def test_definition_4_1_as_printed_has_no_neighbours():
    """Condition 3 compares with D1 itself, whose T is empty: without a word on that nothing is left."""
    policy = on_line(3, bf.threshold(1), count_of(0))

    assert directed(policy, 2, literal=True) == set()
    assert directed(policy, 2)
    assert directed(on_line(3, bf.full()), 2, literal=True) == set()


def test_definition_4_1_is_not_symmetric():
    """On an incomplete graph with a fact one table may be next to another, and not the other way."""
    policy = on_line(4, bf.edges([(0, 1), (0, 2), (1, 3)]), count_of(0, 3))

    found = directed(policy, 2)

    assert ((0, 1), (1, 3)) in found
    assert ((1, 3), (0, 1)) not in found
    changes = {change.counts for change in neighbours(policy, 2)}
    assert {(-1, 0, 0, 1), (1, 0, 0, -1)} <= changes
    assert planned(policy) >= truth(policy, 4)


OTHER_GRAPHS = {
    "two ends of a line": on_line(6, bf.threshold(1), bf.Box(x=(0, 1)), bf.Box(x=(4, 5))),
    "groups and a count across": on_line(
        5, bf.partition([[0, 1], [2, 3, 4]]), count_of(0, 2), count_of(0, 1)
    ),
}


@pytest.mark.parametrize("case", OTHER_GRAPHS)
def test_theorem_8_2_off_the_full_graph(case):
    """A neighbour repairs a fact by moving another record along a pair that is no edge."""
    policy = OTHER_GRAPHS[case]

    assert truth(policy, 4) == 6 > printed_theorem_8_2(policy) == 4
    assert planned(policy) >= 6


@pytest.mark.parametrize(
    "facts", [[(0,)], [(0, 1)], [(0,), (1,)], [(0, 1), (2,)], [(0, 1, 2)], [(0, 1), (2, 3), (4,)]]
)
def test_theorem_8_2_on_the_full_graph_holds(facts):
    """On the full graph the longest cycle or path is right; ours is the truth: single cells cost less."""
    policy = on_line(5, bf.full(), *(count_of(*cells) for cells in facts))

    printed = printed_theorem_8_2(policy)

    assert truth(policy, 4) <= planned(policy) <= printed
    assert planned(policy) == max(truth(policy, rows) for rows in (2, 3, 4))


def test_corollary_8_3():
    """One count known under the full graph: a path of two edges, so 4 and not 2 |Q|."""
    policy = on_line(4, bf.full(), count_of(0, 1))

    assert truth(policy, 3) == 4 > 2 * max(1, 1)
    assert planned(policy) == 4
    two = on_line(6, bf.full(), count_of(0, 1), count_of(2, 3))
    assert truth(two, 3) == 6 > 2 * max(2, 1)
    assert planned(two) == 6


def test_theorem_8_4_is_an_upper_bound_that_is_reached():
    """One marginal under the full graph: 2 size(C), with rows enough (Example 8.3: 8)."""
    domain = Domain((integers("a", 0, 1), integers("b", 0, 1), integers("c", 0, 2)))
    policy = bf.Policy(domain, constraints=[bf.Marginal("a", "b")])

    assert [true_sensitivity(policy, identity(12), rows) for rows in (1, 2, 3)] == [2, 4, 6]
    assert true_sensitivity(policy, identity(12), 4) == 8 == 2 * 4
    assert planned(policy) == 8


def test_theorem_8_5():
    """2 x 2 x 2 with two marginals known, one attribute at a time: 6 with 3 rows, 8 with 4, printed 4."""
    domain = Domain(tuple(integers(name, 0, 1) for name in "abc"))
    policy = bf.Policy(domain, neighbors="attribute", constraints=[bf.Marginal("a"), bf.Marginal("b")])

    found = [true_sensitivity(policy, identity(8), rows) for rows in (1, 2, 3, 4)]

    assert found == [2, 4, 6, 8]
    assert found[2] > 2 * max(2, 2)
    assert printed_theorem_8_2(policy) == 4
    assert planned(policy) >= 8


def test_theorem_8_6():
    """A line of 6 with [0, 1] and [4, 5] known, theta 1: rectangles apart repair each other."""
    boxes = [(0, 1), (4, 5)]
    policy = OTHER_GRAPHS["two ends of a line"]
    touching = any(abs(a - b) <= 1 for a, b in itertools.product(*boxes))

    printed = 2 * ((2 if touching else 1) + 1)

    assert truth(policy, 4) == 6 > printed == 4
    assert planned(policy) >= 6


def test_theorem_4_3_asks_for_nothing():
    """With every Q_i empty its condition holds, and two people's counts lose epsilon each in one step."""
    policy = bf.Policy(Domain((integers("sex", 0, 1),)), constraints=[bf.Marginal("sex")])
    people = [{0}, {1}]  # disjoint sets of individuals, each with a count of its own and scale 1

    lost = max(
        sum(abs(sum(one[i] for i in own) - sum(two[i] for i in own)) for own in people)
        for one, two in directed(policy, 2)
    )

    alone = [max(abs(one[i] - two[i]) for one, two in directed(policy, 2)) for i in (0, 1)]
    assert alone == [1, 1]
    assert lost == 2 > max(alone)


def test_moved_times_the_edge_sensitivity():
    """Groups {0,1}, {2,3}, count {0,2} known: no edge changes the groups' totals, neighbours do by 2."""
    policy = on_line(4, bf.partition([[0, 1], [2, 3]]), count_of(0, 2))
    totals = np.array([[1, 1, 0, 0], [0, 0, 1, 1]])
    moved = max(change.moved for change in neighbours(policy, 4))

    edges = edge_loss(csr_array(totals), [Fraction(1)] * 2, definition_edges(policy, ["x"])).value

    assert moved == 2
    assert truth(policy, 4, totals) == 2 > moved * edges == 0
    plan = policy.plan.hist("x", bins=2)
    assert plan.sensitivity >= 2
    assert plan.cost == 1
    assert planned(policy) >= truth(policy, 4)


def test_facts_that_no_edge_touches_enter_the_rule():
    """Groups {0,1}, {2,3,4}, count {0,2} known: 4; that {0,1} is public too makes it 6."""
    secret = bf.partition([[0, 1], [2, 3, 4]])
    one, both = on_line(5, secret, count_of(0, 2)), on_line(5, secret, count_of(0, 2), count_of(0, 1))

    assert truth(one, 4) == 4
    assert truth(both, 4) == 6
    assert planned(one) >= 4
    assert planned(both) >= 6
    alone = on_line(5, secret, count_of(0, 1))
    assert truth(alone, 3) == planned(alone) == 2


def test_with_presence_no_fact_is_untouched():
    """Who leaves a region is replaced by another: all columns public, and still 2 and not 1."""
    domain = Domain((integers("region", 0, 1), integers("x", 0, 1)))
    public = {"region": bf.public(), "x": bf.public()}
    policy = bf.Policy(domain, secrets=public, presence=True, constraints=[bf.Marginal("region")])
    free = bf.Policy(domain, secrets=public, presence=True)

    assert truth(free, 2) == planned(free) == 1
    assert truth(policy, 3) == 2
    assert planned(policy) >= 2


def test_smaller_graphs_are_not_safer():
    """Fact {2}: cumulative sensitivity 3 on the smaller graph, 2 on the larger; neither implies the other."""
    small = on_line(4, bf.edges([(1, 3), (2, 3)]), count_of(2))
    large = on_line(4, bf.edges([(1, 3), (2, 3), (0, 2)]), count_of(2))
    prefix = np.tril(np.ones((4, 4), dtype=int))

    assert truth(small, 4, prefix) == 3 > truth(large, 4, prefix) == 2
    assert not large.implies(small)
    assert not small.implies(large)
    for policy in (small, large):
        for strategy in ("identity", "ordered", "hierarchical"):
            plan = policy.plan.cumhist("x", strategy=strategy)

            assert max(true_loss(policy, plan.matrix(), plan.scales, n) for n in (1, 2, 3, 4)) <= 1


def test_overlapping_facts_move_one_more_than_they_are():
    """{0,1,2,3}, {2,3,4,5} cover the domain and overlap: 3 records move."""
    policy = on_line(6, bf.full(), count_of(0, 1, 2, 3), count_of(2, 3, 4, 5))

    assert truth(policy, 4) == 6 > 2 * 2
    assert planned(policy) >= 6


@pytest.mark.parametrize(("cells", "expected"), [(3, 0), (4, 4), (5, 0)])
def test_chains_that_almost_determine_the_table(cells, expected):
    """x1 + x2, x2 + x3, ... known: the histogram is public, or moves in one direction alone."""
    policy = on_line(cells, bf.full(), *(count_of(i, i + 1) for i in range(cells - 1)))

    assert truth(policy, 4) == expected
    assert planned(policy) >= expected


def test_a_fact_learnt_later_reprices_earlier_releases():
    """A full histogram charged 1/2 has lost 1 once one marginal of two cells is known."""
    domain = Domain((integers("x", 0, 1), integers("y", 0, 1)))
    before = bf.Policy(domain)
    after = bf.Policy(domain, constraints=[bf.Marginal("x")])

    plan = before.plan.hist(["x", "y"], epsilon="1/2", strategy="identity")

    assert true_loss(before, plan.matrix(), plan.scales, 3) == Fraction(1, 2)
    assert true_loss(after, plan.matrix(), plan.scales, 3) == 1
    again = after.plan.hist(["x", "y"], epsilon="1/2", strategy="identity")
    assert true_loss(after, again.matrix(), again.scales, 3) <= Fraction(1, 2)
    assert again.sensitivity == 4
