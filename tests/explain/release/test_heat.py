"""Heat maps show the released counts where they belong, and how wrong they are."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.style import context

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.explain.release import heat
from pandas_blowfish.explain.release.axis_labels import Places, places_of
from pandas_blowfish.policy.domain import Domain, integers, numeric_attribute, values_attribute

mpl.use("Agg")
TEAMS = list("zyx")
POLICY = bf.Policy(
    Domain(
        (
            integers("x", 0, 4, nullable=True),
            values_attribute("team", "category", TEAMS, nullable=False),
            numeric_attribute("day", "datetime", "2026-01-01", "2026-01-31", "1D"),
            integers("long", 0, 1_999),
        )
    )
)


@pytest.fixture(scope="module")
def asked():
    """Return the verbs of a protected frame."""
    rows = np.arange(900)
    table = {
        "x": pd.array(rows % 5, dtype="Int64"),
        "team": np.array(TEAMS)[(rows % 7) % 3],
        "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(rows % 31, unit="D"),
        "long": rows * 2,
    }
    return pd.DataFrame(table).blowfish.protect(POLICY, epsilon=10**4).blowfish


@pytest.fixture
def axes():
    """Return Axes to draw on."""
    return Figure().subplots()


def _at(axes, drawn, x, y):
    """Return the number whose colour is at a place of the picture."""
    edges = drawn.get_coordinates()
    column = np.searchsorted(edges[0, :, 0], x) - 1
    row = np.searchsorted(edges[:, 0, 1], y) - 1
    return drawn.get_array()[row, column]


def test_every_count_lies_in_its_cell(asked, axes):
    """At the place of each pair of values is its own count, the missing ones' beside a gap."""
    release = asked.hist(["x", "team"], epsilon=1)

    release.blowfish.plot(ax=axes)

    drawn = axes.collections[0]
    upright = places_of(release.index.get_level_values("x").unique(), listed=False)
    for (x, team), count in release["count"].items():
        row = upright.missing if np.isnan(x) else x
        assert _at(axes, drawn, TEAMS.index(team), row) == count
    assert np.ma.is_masked(drawn.get_array()[5])  # the gap
    assert [text.get_text() for text in axes.get_xticklabels()] == TEAMS
    assert axes.get_yticklabels()[-1].get_text() == "missing"
    assert axes.get_ylim()[0] < axes.get_ylim()[1]  # numbers rise
    assert drawn.get_clim()[0] == 0


def test_some_rows_in_any_order(asked, axes):
    """Are drawn where they belong; what was left out is blank."""
    release = asked.hist(["team", "long"], epsilon=1)
    some = release.loc[(["y", "x"], range(10)), :].sample(frac=0.9, random_state=1)

    some.blowfish.plot(ax=axes)

    drawn = axes.collections[0]
    names = [text.get_text() for text in axes.get_yticklabels()]
    for (team, value), count in some["count"].items():
        assert _at(axes, drawn, value, names.index(team)) == count
    assert drawn.get_array().count() == len(some)


def test_few_counts_are_written_with_their_errors(asked, axes):
    """Each cell says its count, give or take what the interval says."""
    release = asked.hist(["team", "x"], epsilon=1, bins={"x": [0, 2, 4]})
    bounds = release.blowfish.interval(0.9)

    release.blowfish.plot(ax=axes, level=0.9)

    count, low, high = release["count"].iloc[0], *bounds.iloc[0]
    written = [text.get_text() for text in axes.texts]
    told = [text for text in written[:-1] if "\N{PLUS-MINUS SIGN}" in text or "to " in text]
    assert len(told) == len(release)
    number, error = (float(each.replace(",", "")) for each in written[0].split("\N{PLUS-MINUS SIGN}"))
    assert number == pytest.approx(count, abs=0.5)
    assert error == pytest.approx(max(high - count, count - low), abs=1)
    assert "90% intervals, typically" not in written[-1] or len(release) > 6


def test_dots_mark_what_may_be_empty(asked, axes):
    """Of many cells those whose interval holds 0, and no others, have a dot."""
    release = asked.hist(["x", "day"], epsilon="0.4")
    bounds = release.blowfish.interval()

    release.blowfish.plot(ax=axes)

    dots = axes.lines[0].get_xydata()
    assert 0 < len(dots) == ((bounds["low"] <= 0) & (bounds["high"] >= 0)).sum() < len(release)
    assert "dotted: may be 0" in axes.texts[-1].get_text()
    assert "typically \N{PLUS-MINUS SIGN}" in axes.texts[-1].get_text()


def test_very_many_cells_are_means_of_blocks(asked, axes):
    """No finer than a screen, the same mean, and the bar says so; days are on an axis of dates."""
    release = asked.hist(["day", "long"], epsilon=1, post=False)

    release.blowfish.plot(ax=axes)

    drawn = (*axes.collections, *axes.images)[0]
    assert drawn.get_array().shape == (31, 667)
    ends = release["count"].unstack().to_numpy()[:, :3].mean(axis=1)
    assert np.allclose(drawn.get_array()[:, 0], ends)
    assert axes.figure.axes[1].get_ylabel() == "count, mean of 3 cells"
    axes.figure.draw_without_rendering()
    assert any("2026" in text.get_text() for text in axes.get_yticklabels())


def test_one_heat_map_an_axes(asked, axes):
    """A second one would hide the first; centres of clusters go on top."""
    release = asked.hist(["team", "x"], epsilon=1)
    release.blowfish.plot(ax=axes)

    with pytest.raises(ArgumentError, match="heat map already"):
        release.blowfish.plot(ax=axes)
    asked.kmeans(["x", "long"], 2, epsilon=1).blowfish.plot(ax=axes)


def test_exact_and_negative_counts(axes):
    """Exact counts are written without errors; colours begin below 0 where counts do."""
    domain = Domain((integers("a", 0, 1), integers("b", 0, 2)))
    frame = pd.DataFrame({"a": [0, 1, 1], "b": [0, 1, 1]})
    known = bf.Policy(domain, secrets={"a": bf.public(), "b": bf.public()})

    frame.blowfish.protect(known, epsilon=1).blowfish.hist(["a", "b"], epsilon=1).blowfish.plot(ax=axes)
    secret = frame.blowfish.protect(bf.Policy(domain), epsilon=100).blowfish
    noisy = [secret.hist(["a", "b"], epsilon="0.1", post=False) for _ in range(3)]
    least = min(noisy, key=lambda each: each["count"].min())
    second = least.blowfish.plot(ax=axes.figure.add_subplot())

    assert [text.get_text() for text in axes.texts] == ["1", "0", "0", "0", "2", "0", "epsilon 0, exact"]
    assert second.collections[0].get_clim()[0] == least["count"].min() < 0


def test_uneven_bins_of_few_are_listed(asked, axes):
    """So that numbers fit in them."""
    release = asked.hist(["team", "long"], epsilon=1, bins={"long": [0, 10, 100, 1_999]})

    release.blowfish.plot(ax=axes)

    assert [text.get_text() for text in axes.get_xticklabels()] == ["[0, 9]", "[10, 99]", "[100, 1999]"]


def test_meshes_have_gaps():
    """Edges go from the least to the largest; a gap between cells is a column of nothing."""
    places = Places(np.array([4.0, 0.0, 1.0]), np.array([5.0, 1.0, 2.0]))

    edges, order = heat.edges_of(places)
    table = heat.spread(np.array([[10.0, 20.0, 30.0]]), np.array([0]), order)

    assert edges.tolist() == [0, 1, 2, 4, 5]
    assert order.tolist() == [1, 2, -1, 0]
    assert table[0, [0, 1, 3]].tolist() == [20, 30, 10]
    assert np.isnan(table[0, 2])


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_numbers_can_be_read_on_their_colours(asked, style):
    """White on dark cells, black on light ones, whatever the style."""
    with context(style):
        axes = asked.hist(["team", "x"], epsilon=5).blowfish.plot(ax=Figure(figsize=(12, 6)).subplots())
    drawn = axes.collections[0]
    for text in axes.texts[:-1]:
        if "\N{PLUS-MINUS SIGN}" in text.get_text():
            red, green, blue, _ = drawn.cmap(drawn.norm(_at(axes, drawn, *text.get_position())))
            light = 0.299 * red + 0.587 * green + 0.114 * blue > 0.5
            assert text.get_color() == ("black" if light else "white")
