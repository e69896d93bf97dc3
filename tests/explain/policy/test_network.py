"""Drawn graphs have a line for each edge and a box for each group."""

import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from pandas_blowfish.explain.policy import network as graphs
from pandas_blowfish.explain.release.axis_labels import places_of

mpl.use("Agg")
NONE = np.empty((0, 2), dtype=np.int64)
TRIANGLE = np.array([[0, 1], [1, 2], [0, 2], [3, 4]])


@pytest.fixture
def axes():
    """Return Axes to draw on."""
    return Figure().subplots()


def _words(axes):
    return [text.get_text() for text in axes.texts]


def test_boxes(axes):
    """One a group with its values, a lonely one is told, missing and absent stand beside."""
    graphs.draw_boxes(axes, [("one", ["a", "b"]), ("two", ["c"])], [("missing", True), ("absent", False)])

    assert [box.get_gid() for box in axes.patches].count("group") == 2
    assert {"one", "two", "a,  b", "c   (alone: nothing to be confused with)"} <= set(_words(axes))
    assert {"missing: one step from every value", "absent: distinguished from every value"} <= set(
        _words(axes)
    )


def test_many_groups_and_values_are_cut_short(axes):
    """As many groups as fit, as many names, and how many there are."""
    values = [f"value {number}" for number in range(400)]

    graphs.draw_boxes(axes, [(f"group {number}", values) for number in range(30)], [])

    assert [box.get_gid() for box in axes.patches].count("group") == graphs.ROWS
    assert "and 16 more groups" in _words(axes)
    assert sum("400 values in all" in words for words in _words(axes)) == graphs.ROWS
    assert all("\n" not in words for words in _words(axes))


def test_dots(axes):
    """Hollow ones, a name each, the first of many."""
    graphs.draw_dots(axes, [f"n{number}" for number in range(20)], [])

    assert len(axes.lines[0].get_xdata()) == graphs.ROWS
    assert axes.lines[0].get_markerfacecolor() == "none"
    assert {"n0", "n13", "and 6 more"} <= set(_words(axes))


def test_arcs(axes):
    """From value to value, one an edge; dotted ones lead to what is joined to all."""
    places = places_of(pd.Index([0, 1, 2, 3]), listed=False)
    edges = np.array([[0, 1], [1, 2], [2, 3], [0, 3]])

    graphs.draw_arcs(axes, places, edges, "x", [("missing", True), ("absent", False)])

    solid, dotted = (each.get_segments() for each in axes.collections)
    ends = {tuple(sorted((round(arc[0, 0]), round(arc[-1, 0])))) for arc in solid}
    assert ends == {(0, 1), (1, 2), (2, 3), (0, 3)}
    assert len(dotted) == 4
    assert max(float(mark) for mark in axes.get_xticks()) <= 3
    assert {"missing", "absent"} <= set(_words(axes))


def test_networks(axes):
    """A line an edge between its dots; values without one are hollow."""
    graphs.draw_network(axes, list("abcdef"), TRIANGLE, [])

    assert len(axes.collections[0].get_segments()) == len(TRIANGLE)
    joined, alone = axes.lines
    assert len(joined.get_xdata()) == 5
    assert len(alone.get_xdata()) == 1
    assert alone.get_markerfacecolor() == "none"
    assert _words(axes) == list("abcdef")


@pytest.mark.parametrize("extra", [True, False])
@pytest.mark.parametrize("edges", [TRIANGLE, NONE, np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]])])
def test_layouts(edges, extra, monkeypatch):
    """Every dot has its own place in the square, with networkx or without."""
    if not extra:
        monkeypatch.setitem(sys.modules, "networkx", None)

    places = graphs.layout(edges, 6)

    assert ((places >= 0) & (places <= 1)).all()
    assert len(np.unique(places.round(6), axis=0)) == 6
    assert np.array_equal(places, graphs.layout(edges, 6))
