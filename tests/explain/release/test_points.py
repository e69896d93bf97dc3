"""Values are points with the interval as their whiskers, and columns of all sizes can be read."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import pandas_blowfish as bf
from pandas_blowfish.policy.domain import Domain, integers, values_attribute

mpl.use("Agg")


@pytest.fixture(scope="module")
def asked():
    """Return the verbs of a protected frame."""
    areas = [f"a rather long area {number}" for number in range(26)]
    domain = Domain(
        (
            integers("age", 0, 99),
            integers("pay", 0, 90_000),
            integers("debt", -90, 90),
            values_attribute("area", "category", areas, nullable=False),
        )
    )
    secrets = {"age": bf.threshold(1), "pay": bf.threshold(100), "debt": bf.threshold(5)}
    rows = np.arange(2_600)
    table = {
        "age": 20 + rows % 60,
        "pay": 30_000 + rows,
        "debt": rows % 3 - 50,
        "area": np.array(areas)[rows % 26],
    }
    return pd.DataFrame(table).blowfish.protect(bf.Policy(domain, secrets=secrets), epsilon=10**4).blowfish


@pytest.fixture
def axes():
    """Return Axes to draw on."""
    return Figure().subplots()


def _whiskers(axes):
    return np.array([part for each in axes.containers for part in each.lines[2][0].get_segments()])


@pytest.mark.parametrize("verb", ["sum", "mean"])
def test_points_and_whiskers_are_the_interval(asked, axes, verb):
    """Each column's value, from low to high, and in words."""
    release = getattr(asked, verb)(["age", "debt"], epsilon=1)
    bounds = release.blowfish.interval(0.9)

    release.blowfish.plot(ax=axes, level=0.9)

    assert np.allclose(axes.lines[0].get_ydata(), release["value"])
    assert np.allclose(_whiskers(axes)[:, :, 1], bounds[["low", "high"]])
    assert [text.get_text() for text in axes.get_xticklabels()] == ["age", "debt"]
    assert sum("\N{PLUS-MINUS SIGN}" in text.get_text() for text in axes.texts) == 2
    assert axes.get_yscale() == "linear"  # a debt is below 0


def test_columns_of_very_different_size(asked, axes):
    """Share a logarithmic axis, so that both can be seen, and it says so."""
    asked.mean(["age", "pay"], epsilon=1).blowfish.plot(ax=axes)
    alone = asked.mean(["age", "pay"], epsilon=1).blowfish.plot(ax=axes.figure.add_subplot(), columns=["age"])

    assert axes.get_yscale() == "log"
    assert axes.get_ylabel() == "mean (logarithmic)"
    assert (alone.get_yscale(), alone.get_ylabel()) == ("linear", "mean")


def test_many_groups_do_not_run_into_each_other(asked, axes):
    """Names stand upright, at most as many as have room, and no numbers are written."""
    asked.groupby("area").mean("age", epsilon=1).blowfish.plot(ax=axes)

    labels = [label for label in axes.get_xticklabels() if label.get_text()]
    assert {label.get_rotation() for label in labels} == {90}
    assert len(axes.texts) == 1
    assert len(_whiskers(axes)) == 26


def test_quantiles(asked, axes):
    """Lie over their shares, thousands apart in words."""
    release = asked.quantile("pay", [0.25, 0.5], epsilon=1)

    release.blowfish.plot(ax=axes)
    axes.figure.draw_without_rendering()

    assert np.allclose(axes.lines[0].get_xydata(), np.column_stack([[0.25, 0.5], release["value"]]))
    assert any("," in label.get_text() for label in axes.get_yticklabels())
