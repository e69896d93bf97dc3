"""Tables of one release stand side by side, each as it is drawn alone."""

import matplotlib as mpl
import pytest
from matplotlib import pyplot

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.explain.release.multiples import draw_tables

mpl.use("Agg")


@pytest.fixture(scope="module")
def one():
    """Return a table per column."""
    df = bf.datasets.patients(1_000).blowfish.protect(bf.datasets.patients_policy(), epsilon=100)
    return df.blowfish.marginal(["sex", "disease"], order=1, epsilon=1)


def test_a_panel_per_table(one):
    """With its columns as its title; without a name the call is the title."""
    drawn = draw_tables(list(one.items()), 0.9, shorten=True)

    assert [axes.get_xlabel() for axes in drawn] == ["sex", "disease"]
    assert [len(axes.patches) for axes in drawn] == [2, 6]
    assert drawn[0].figure.get_suptitle() == "marginal(['sex', 'disease'], order=1)"
    assert "90% intervals" in drawn[0].texts[-1].get_text()
    pyplot.close(drawn[0].figure)


def test_nothing_is_left_behind_where_nothing_can_be_drawn(one):
    """No table, no probability, no count: typed errors, and no figure stays open."""
    before = pyplot.get_fignums()

    with pytest.raises(ArgumentError):
        one.plot(tables=[])
    with pytest.raises(ArgumentError):
        one.plot(level=2)

    assert pyplot.get_fignums() == before
