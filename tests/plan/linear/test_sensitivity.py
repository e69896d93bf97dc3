"""Which atoms edges join, against enumeration, whichever way they are found."""

import random

import numpy as np
import pytest
from oracle.definition import definition_edges
from scipy.sparse import csr_array

import pandas_blowfish as bf
from pandas_blowfish.plan.linear import sensitivity as module
from pandas_blowfish.plan.linear.sensitivity import Links, links
from pandas_blowfish.policy.domain import Domain, from_dict
from pandas_blowfish.queries.call.scope import Scope


def random_atoms(draw, policy, make_filter, columns):
    """Return a tally of a policy, random atoms of its bins, and the joined atoms by definition."""
    scope = Scope()
    if draw.random() < 0.4:
        scope = scope.where(policy, make_filter(draw, policy.domain), {})
    tally = scope.tally(policy, columns, None)
    if draw.random() < 0.5:  # bins of several cells, and cells in none
        axis, many = draw.randrange(len(columns)), draw.randint(1, 3)
        tally = tally.rebin(
            axis, np.array([draw.randint(-1, many - 1) for _ in range(tally.shape[axis])]), many
        )
    labels = [draw.randint(-1, 4) for _ in range(tally.size)]
    number = {label: rank for rank, label in enumerate(sorted(set(labels) - {-1}))}
    of_bin = np.array([number.get(label, -1) for label in labels])
    bins = tally.labels()
    atoms = np.append(np.where(bins < 0, -1, of_bin[bins]), -1)
    edges = np.sort(np.where(atoms < 0, len(number), atoms)[definition_edges(policy, tally.domain.columns)])
    joined = {tuple(pair) for pair in edges.tolist() if pair[0] != pair[1]}
    return tally, of_bin, len(number), joined


@pytest.mark.parametrize("seed", range(150))
@pytest.mark.parametrize("way", ["listed", "closed", "bounded"])
def test_links_match_enumeration(seed, way, make_full_policy, make_filter, monkeypatch):
    """Every joined pair is found, and no other one unless edges are too many; no edge leaves a total."""
    if way != "listed":
        monkeypatch.setattr(module, "MAX_LISTED", -1)
    if way == "bounded":
        monkeypatch.setattr(module, "joined_in_column", lambda *_: None)
    draw = random.Random(seed)
    policy = make_full_policy(draw, draw.randint(1, 2 if way == "listed" else 3), 4)
    columns = draw.sample(policy.domain.columns, 1 if way == "closed" else min(2, len(policy.domain.columns)))
    tally, of_bin, count, joined = random_atoms(draw, policy, make_filter, columns)

    found = links(policy.graph.project(tally.domain.columns), tally, of_bin, count)

    assert found.pairs is not None
    pairs = {tuple(pair) for pair in found.pairs.tolist()}
    assert joined <= pairs
    assert way != "listed" or joined == pairs
    parts = np.append(found.parts, -1)
    assert all(parts[a] == parts[b] for a, b in joined)


@pytest.mark.parametrize(
    "secret", [bf.threshold(2), bf.threshold(9), bf.full(), bf.partition([[0, 3, 4], [1, 2], [5, 6, 7]])]
)
@pytest.mark.parametrize("presence", [False, True])
@pytest.mark.parametrize("nullable", [False, True])
def test_closed_forms_of_a_column_are_exact(secret, presence, nullable, monkeypatch):
    """Balls and groups of a long column are not gone through edge by edge, and lose nothing by it."""
    spec = {"type": "integer", "min": 0, "max": 7, "nullable": nullable}
    policy = bf.Policy(Domain((from_dict("x", spec),)), secrets={"x": secret}, presence=presence)
    tally = Scope().tally(policy, ["x"], None)
    of_bin = np.array([0, 0, 1, -1, 1, 2, 2, 3, 4])[: tally.size]
    slow = links(policy.graph, tally, of_bin, 5)
    monkeypatch.setattr(module, "MAX_LISTED", -1)

    fast = links(policy.graph, tally, of_bin, 5)

    assert fast.pairs.tolist() == slow.pairs.tolist()
    assert fast.parts.tolist() == slow.parts.tolist()


@pytest.mark.parametrize("seed", range(60))
def test_change_matches_enumeration(seed, monkeypatch):
    """The largest change is that over the pairs; without pairs it is at least that, in any order."""
    draw = np.random.default_rng(seed)
    count, rows = int(draw.integers(1, 9)), int(draw.integers(1, 6))
    dense = draw.integers(-5, 6, (rows, count)) * (draw.random((rows, count)) < 0.5)
    low, high = np.triu_indices(count + 1, 1)
    kept = draw.random(len(low)) < 0.5
    pairs = np.column_stack([low, high])[kept]
    padded = np.append(dense, np.zeros((rows, 1), dtype=int), axis=1)
    slow = max((int(np.abs(padded[:, a] - padded[:, b]).sum()) for a, b in pairs), default=0)
    loose = np.full(count, -1)
    for chunk in (1, 4, 1 << 22):
        monkeypatch.setattr(module, "CHUNK", chunk)

        assert Links(count, pairs, loose).change(csr_array(dense)) == slow
    everything = max(int(np.abs(padded[:, a] - padded[:, b]).sum()) for a, b in zip(low, high, strict=True))
    assert Links(count, None, loose).change(csr_array(dense)) == everything
    monkeypatch.setattr(module, "MAX_STEPS", 1)
    assert Links(count, None, loose).change(csr_array(dense)) >= everything


def test_what_changes():
    """A row is exact when it is one number on each total, and nothing outside."""
    found = Links(4, None, np.array([0, 0, 1, -1]))

    changing = found.changing(csr_array([[1, 1, 5, 0], [1, 2, 5, 0], [0, 0, 0, 1], [0, 0, 0, 0]]))

    assert changing.tolist() == [False, True, True, False]
    assert found.totals == 2
