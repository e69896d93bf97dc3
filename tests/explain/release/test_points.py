"""Values are points with the interval as their whiskers, and units never share an axis."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.policy.domain import Domain, integers, numeric_attribute, values_attribute

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
    """A panel per column: its value, from low to high, and in words."""
    release = getattr(asked, verb)(["age", "debt"], epsilon=1)
    bounds = release.blowfish.interval(0.9)

    release.blowfish.plot(ax=axes, level=0.9)

    panels = axes.child_axes
    assert np.allclose([panel.lines[0].get_xdata()[0] for panel in panels], release["value"])
    assert np.allclose([_whiskers(panel)[0, :, 0] for panel in panels], bounds[["low", "high"]])
    assert [panel.get_yticklabels()[0].get_text() for panel in panels] == ["age", "debt"]
    assert all("\N{PLUS-MINUS SIGN}" in panel.texts[0].get_text() for panel in panels)


def test_several_units_never_share_an_axis(asked, axes):
    """Also of groups: a panel per column side by side, the groups named once; a single column has none."""
    grouped = asked.groupby("area").mean(["age", "pay"], epsilon=1).blowfish.plot(ax=axes)
    alone = asked.mean(["age", "pay"], epsilon=1).blowfish.plot(ax=axes.figure.add_subplot(), columns=["age"])

    first, second = grouped.child_axes
    assert first.get_xlabel() == "mean of age"
    assert second.get_xlabel() == "mean of pay"
    assert first.get_xlim()[1] < 1_000 < second.get_xlim()[1]
    assert (first.get_xscale(), second.get_xscale()) == ("linear", "linear")
    assert any("area 0" in text.get_text() for text in first.get_yticklabels())
    assert not any(text.get_text() for text in second.get_yticklabels())
    assert not alone.child_axes
    assert (alone.get_yscale(), alone.get_ylabel()) == ("linear", "mean of age")
    ages = asked.mean("age", epsilon=1).blowfish.plot(ax=axes.figure.add_subplot())
    assert ages.get_ylabel() == "mean of age"
    for other in (
        asked.mean("pay", epsilon=1),
        asked.quantile("age", epsilon=1),
        asked.hist("age", epsilon=1),
    ):
        with pytest.raises(ArgumentError, match="'mean of age' already"):
            other.blowfish.plot(ax=ages)
    with pytest.raises(ArgumentError, match="shows something already"):
        asked.mean(["age", "pay"], epsilon=1).blowfish.plot(ax=axes)


def test_many_groups_do_not_run_into_each_other(asked, axes):
    """Each has a row, as many as have room, and no numbers are written."""
    asked.groupby("area").mean("age", epsilon=1).blowfish.plot(ax=axes)

    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert len(labels) == len(set(labels)) > 20
    assert all(label.startswith(("a rather long area", "other (")) for label in labels)


def test_means_that_noise_moves_to_a_bound_are_marked(asked, axes):
    """By triangles that point beyond the bound, and the note says so."""
    release = asked.where("age < 21").groupby("area").mean("pay", epsilon="0.001").head(12)
    at = release["value"].isin([0, 90_000])

    release.blowfish.plot(ax=axes)

    marks = [line for line in axes.lines if line.get_gid() == "blowfish bound"]
    assert sum(len(line.get_ydata()) for line in marks) == at.sum() > 0
    assert {line.get_marker() for line in marks} <= {"v", "^"}
    assert "noise reached a bound" in axes.texts[-1].get_text().replace("\n", " ")


def test_means_of_cells_have_their_middles_as_bounds(axes):
    """A mean of steps of 0.5 ends at 0.25: it is marked as well, also in panels."""
    fare = numeric_attribute("fare", "float", 0, 100, "0.5")
    domain = Domain(
        (fare, integers("age", 0, 99), values_attribute("sex", "category", ["F", "M"], nullable=False))
    )
    frame = pd.DataFrame({"fare": [0.0] * 50, "age": 0, "sex": "F"})
    asked = frame.blowfish.protect(bf.Policy(domain), epsilon=10**4).blowfish
    ends = {"fare": (0.25, 99.75), "age": (0, 99)}

    def count(release):
        last = release.index.get_level_values("column")
        low, high = (last.map({name: pair[end] for name, pair in ends.items()}) for end in (0, 1))
        return int(((release["value"] <= low) | (release["value"] >= high)).sum())

    many = [asked.groupby("sex").mean(["fare", "age"], epsilon="0.0001") for _ in range(8)]
    release = max(many, key=count)
    release.blowfish.plot(ax=axes)

    marks = [line for panel in axes.child_axes for line in panel.lines if line.get_gid() == "blowfish bound"]
    assert sum(len(line.get_xdata()) for line in marks) == count(release) > 0


def test_means_of_dates_lie_on_axes_of_dates(axes):
    """In panels too."""
    days = pd.date_range("2026-01-01", "2026-12-31", freq="1D")
    frame = pd.DataFrame({"seen": days, "left": days[::-1]})
    domain = Domain(
        tuple(numeric_attribute(name, "datetime", "2026-01-01", "2026-12-31", "1D") for name in frame)
    )
    means = frame.blowfish.protect(bf.Policy(domain), epsilon=10).blowfish.mean(["seen", "left"], epsilon=10)

    means.blowfish.plot(ax=axes)

    for panel in axes.child_axes:
        assert "Date" in type(panel.xaxis.get_major_formatter()).__name__


def test_quantiles(asked, axes):
    """Lie over their shares, thousands apart in words."""
    release = asked.quantile("pay", [0.25, 0.5], epsilon=1)

    release.blowfish.plot(ax=axes)
    axes.figure.draw_without_rendering()

    assert np.allclose(axes.lines[0].get_xydata(), np.column_stack([[0.25, 0.5], release["value"]]))
    assert any("," in label.get_text() for label in axes.get_yticklabels())
