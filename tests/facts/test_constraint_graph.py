"""The constraint graph: edges, longest cycles and paths."""

import itertools

import networkx
import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.facts import constraint_graph as module
from pandas_blowfish.facts.constraint_graph import ConstraintGraph, constraint_graph
from pandas_blowfish.facts.signature import signatures_of
from pandas_blowfish.policy.domain import Domain, integers


def _graph(policy):
    return constraint_graph(
        signatures_of(policy.facts, policy.domain, policy.public_columns, policy.presence)
    )


def _random(rng, size):
    """Return a random symmetric graph with some ends."""
    pairs = np.array([pair for pair in itertools.combinations(range(size), 2) if rng.random() < 0.5])
    ends = rng.random(size) < 0.4
    several, spare = rng.random(size) < 0.6, bool(rng.random() < 0.5)
    return ConstraintGraph(np.arange(size), pairs.reshape(-1, 2).astype(np.int64), (), ends, several, spare)


def _longest(graph):
    """Return the longest simple cycle and v+ -> v- path through some count, one by one."""
    whole = graph.to_networkx()
    inner = whole.subgraph([node for node in whole if node not in ("v+", "v-")])
    cycles = list(networkx.simple_cycles(inner))
    paths = [each for each in networkx.all_simple_paths(whole, "v+", "v-") if len(each) > 2]
    weights = [sum(bool(graph.several[v]) for v in each) for each in cycles]
    weights += [sum(bool(graph.several[v]) for v in each[1:-1]) + graph.spare for each in paths]
    cycle, path = max(map(len, cycles), default=0), max((len(each) - 1 for each in paths), default=0)
    return cycle, path, max(weights, default=0)


def test_longest_matches_enumeration():
    """All subsets at once find what going through all cycles and paths finds; bounds are never below."""
    rng = np.random.default_rng(7)
    for _ in range(60):
        graph = _random(rng, int(rng.integers(2, 7)))
        found = [graph.longest(number) for number in range(len(graph.parts))]
        cycle, path, heaviest = _longest(graph)

        assert all(each.exact for each in found)
        assert max(each.cycle for each in found) == cycle
        assert max(each.path for each in found) == path
        assert max(each.heaviest for each in found) == heaviest


def test_bounds_are_never_below(monkeypatch):
    """Beyond the vertices that are gone through: as many as there are, and one more."""
    monkeypatch.setattr(module, "EXACT", 2)
    rng = np.random.default_rng(8)
    for _ in range(60):
        graph = _random(rng, int(rng.integers(3, 7)))
        found = [graph.longest(number) for number in range(len(graph.parts))]
        cycle, path, heaviest = _longest(graph)

        assert max(each.heaviest for each in found) >= heaviest
        assert max(each.cycle for each in found) >= cycle
        assert max(each.path for each in found) >= path


def _by_pairs(policy):
    """Return the edges of the constraint graph from all pairs of cells; None if one changes two."""
    cells = list(itertools.product(*(range(a.size) for a in policy.domain)))
    names, public = policy.domain.columns, policy.public_columns
    labels = {cell: frozenset(_labels(policy, dict(zip(names, cell, strict=True)))) for cell in cells}
    pairs = [
        (labels[x], labels[y])
        for x, y in itertools.permutations(cells, 2)
        if all(a == b for name, a, b in zip(names, x, y, strict=True) if name in public)
    ]
    if policy.presence:
        pairs += [pair for own in labels.values() for pair in ((own, frozenset()), (frozenset(), own))]
    if any(len(x - y) > 1 or len(y - x) > 1 for x, y in pairs):
        return None
    return {(next(iter(x - y), "v+"), next(iter(y - x), "v-")) for x, y in pairs if x != y}


def _labels(policy, record):
    at = 0
    for fact in policy.facts:
        if fact.condition is None:
            yield at + int(np.ravel_multi_index([record[column] for column in fact.columns], fact.shape))
        elif any(record["x"] == value for value in _VALUES[fact.text]):
            yield at
        at += fact.counts


_VALUES = {}


def _count(values):
    fact = bf.Count(f"x in {sorted(values)}")
    _VALUES[fact.describe()] = set(values)
    return fact


@pytest.mark.parametrize("presence", [False, True])
@pytest.mark.parametrize("secrets", [{}, {"p": bf.public()}, {"x": bf.threshold(1)}], ids=str)
def test_graph_matches_enumeration(secrets, presence):
    """An edge for every pair of cells that agree on public columns, or none at all."""
    rng = np.random.default_rng(9)
    domain = Domain((integers("x", 0, 4), integers("p", 0, 1)))
    sparse = 0
    for _ in range(60):
        facts = [_count(rng.choice(5, int(rng.integers(1, 4)), replace=False).tolist()) for _ in range(2)]
        facts = facts[: int(rng.integers(0, 3))]
        facts += [bf.Marginal(*columns) for columns in (("x",), ("p",), ("p", "x")) if rng.random() < 0.25]
        if not facts:
            continue
        policy = bf.Policy(domain, secrets=secrets, presence=presence, constraints=facts)
        graph, wanted = _graph(policy), _by_pairs(policy)

        if wanted is None:
            assert graph is None
            continue
        sparse += 1
        assert set(graph.to_networkx().edges) - {("v+", "v-")} == wanted
    assert sparse > 5


def test_large_cliques_are_not_spelt_out():
    """A marginal of many cells is one clique; twenty counts in a row are gone through."""
    domain = Domain((integers("x", 0, 99_999), integers("p", 0, 1)))
    graph = _graph(bf.Policy(domain, constraints=[bf.Marginal("x")]))
    longest = graph.longest(0)

    assert (longest.cycle, longest.path, longest.exact) == (100_000, 0, True)
    every = np.ones(20, dtype=bool)
    pairs = np.column_stack([np.arange(19), np.arange(1, 20)])
    chain = ConstraintGraph(np.arange(20), pairs, (), np.arange(20) % 19 == 0, every)
    assert (chain.longest(0).cycle, chain.longest(0).path) == (2, 21)
