"""Threshold graphs: closed forms on a line, up to a million values."""

import math
import time
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.policy.domain import from_dict, integers
from pandas_blowfish.policy.graph.ball import Ball
from pandas_blowfish.policy.graph.missing import WithMissing
from pandas_blowfish.policy.graph.secret_graph import Cliques, Explicit, SecretGraph
from pandas_blowfish.policy.secret import build


@pytest.mark.parametrize(("reach", "far"), [(1, 9), (2, 5), (4, 3), (9, 1), (100, 1)])
def test_even_cells_are_ceil_steps_apart(reach, far):
    """On an even line the distance is the ceiling of the gap over the reach."""
    graph = Ball.even(10, reach)

    assert graph.distance(0, 9) == graph.distance(9, 0) == far == math.ceil(Fraction(9, reach))
    assert graph.distance(4, 4) == 0


def test_even_takes_any_reach():
    """A reach beyond the line, or beyond 64 bits, is the complete graph."""
    graph = Ball.even(5, 10**30)

    assert graph.edge_count == 10
    assert Ball.even(1, 3).edge_count == 0


def _no_listing(monkeypatch):
    for kind in (Ball, Cliques, Explicit, WithMissing):
        monkeypatch.setattr(kind, "_list", lambda self: pytest.fail("the edges were listed"))
    monkeypatch.setattr(SecretGraph, "edges", lambda self: pytest.fail("the edges were listed"))


@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("theta", [1, 1000, 10**6])
def test_a_million_values_need_no_edge_list(monkeypatch, nullable, theta):
    """Components, visibility, distance and inclusion take seconds and a few arrays."""
    _no_listing(monkeypatch)
    column = integers("x", 0, 10**6 - 1, nullable=nullable)
    started = time.monotonic()
    tracemalloc.start()

    graph = build(bf.threshold(theta, missing="public" if nullable else None)["blowfish"], column)
    labels = np.arange(graph.size) // 1000
    wider, whole = build(bf.threshold(theta + 1)["blowfish"], column), build(bf.full()["blowfish"], column)
    answers = (
        len(set(graph.components.tolist())),
        graph.visible(None),
        graph.visible(labels),
        graph.visible(np.zeros(graph.size, dtype=np.int64)),
        graph.distance(0, 10**6 - 1),
        wider.contains(graph),
        graph.contains(wider),
        whole.contains(graph),
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert answers[:4] == (1 + nullable, 2, 2, 0)
    assert answers[4] == math.ceil((10**6 - 1) / theta)
    assert answers[5:] == (True, nullable is False and theta == 10**6, True)
    assert peak < 600 * 10**6
    assert time.monotonic() - started < 30


def test_listed_values_in_any_order_use_their_numbers():
    """Ranks follow the numbers, cells the declaration."""
    column = from_dict("x", {"type": "integer", "values": [6, 0, 4, 2]})

    graph = build(bf.threshold(3)["blowfish"], column)

    assert graph.adjacent(1, 3)
    assert not graph.adjacent(0, 1)
    assert graph.distance(1, 0) == 3
