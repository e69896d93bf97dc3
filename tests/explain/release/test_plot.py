"""Pictures show what was released: a bar a cell, bounds that are the interval's, groups with a legend."""

import itertools
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.style import context

import pandas_blowfish as bf
from pandas_blowfish import errors
from pandas_blowfish.policy.domain import Domain, integers, numeric_attribute, values_attribute

mpl.use("Agg")
GRADES = ["low", "middle", "high"]
POLICY = bf.Policy(
    Domain(
        (
            integers("x", 0, 9, nullable=True),
            numeric_attribute("day", "datetime", "2026-01-01", "2026-03-01", "1D"),
            values_attribute("grade", "category", GRADES, nullable=False, ranked=True),
            values_attribute("sex", "category", ["F", "M"], nullable=False),
            integers("long", 0, 9_999),
        )
    ),
    secrets={"x": bf.threshold(1), "day": bf.threshold("2D"), "long": bf.threshold(3)},
)


@pytest.fixture
def axes():
    """Return Axes to draw on."""
    from matplotlib.figure import Figure

    return Figure().subplots()


@pytest.fixture(scope="module")
def asked():
    """Return the verbs of a protected frame."""
    rows = np.arange(600)
    frame = pd.DataFrame(
        {
            "x": pd.array(rows % 10, dtype="Int64"),
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(rows % 60, unit="D"),
            "grade": pd.Categorical(np.array(GRADES)[rows % 3], categories=GRADES, ordered=True),
            "sex": pd.Categorical(np.array(["F", "M"])[rows % 2], categories=["F", "M"]),
            "long": rows * 16,
        }
    )
    frame.loc[:20, "x"] = pd.NA
    return frame.blowfish.protect(POLICY, epsilon=10**4).blowfish


def _bars(axes):
    from matplotlib.container import BarContainer

    return [each for each in axes.containers if isinstance(each, BarContainer)]


def _whiskers(axes):
    """Return the ends of the error bars that are drawn, by series."""
    from matplotlib.container import ErrorbarContainer

    found = [
        each.lines[2][0].get_segments() for each in axes.containers if isinstance(each, ErrorbarContainer)
    ]
    return [np.array([part for part in parts if np.isfinite(part).all()]) for parts in found]


def test_hist_draws_counts_and_intervals(asked, axes):
    """Bars are as high as the counts, whiskers reach where the interval does, missing values come last."""
    release = asked.hist("x", epsilon=1)
    bounds = release.blowfish.interval(0.9)

    drawn = release.blowfish.plot(ax=axes, level=0.9)

    assert drawn is axes
    (bars,) = _bars(axes)
    (whiskers,) = _whiskers(axes)
    assert np.allclose([bar.get_height() for bar in bars], release["count"])
    assert np.allclose(whiskers[:, 0, 1], bounds["low"])
    assert np.allclose(whiskers[:, 1, 1], bounds["high"])
    assert axes.get_xticklabels()[-1].get_text() == "missing"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "count")
    assert axes.get_title(loc="left") == "hist('x')"
    assert axes.texts[0].get_text().startswith("epsilon 1, 90% intervals, typically \N{PLUS-MINUS SIGN} ")


def test_the_name_is_the_title_and_the_call_a_footnote(asked):
    """Beneath the axis and its label, in small letters; without a name the call is the title."""
    from matplotlib.figure import Figure

    axes = Figure(layout="constrained").subplots()
    release = asked.hist("grade", epsilon=1, name="Grades, by $ and name")

    release.blowfish.plot(ax=axes)
    axes.figure.draw_without_rendering()

    assert axes.get_title(loc="left") == r"Grades, by \$ and name"
    (foot,) = [text for text in axes.texts if text.get_text() == "hist('grade')"]
    assert foot.get_window_extent().y1 <= axes.xaxis.label.get_window_extent().y0
    assert foot.get_window_extent().y0 >= 0
    free = release.blowfish.cumhist().blowfish.plot(ax=axes.figure.add_subplot())
    assert any(text.get_text() == "hist('grade').cumhist()" for text in free.texts)


def test_groups_stand_side_by_side(asked, axes):
    """Each group has its colour and its name, and no two bars overlap."""
    release = asked.groupby("sex").hist("grade", epsilon=1)

    release.blowfish.plot(ax=axes)

    bars = _bars(axes)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["F", "M"]
    assert axes.get_legend().get_title().get_text() == "sex"
    assert len({bar[0].get_facecolor() for bar in bars}) == 2
    spans = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for group in bars for bar in group)
    assert all(right <= left + 1e-9 for (_, right), (left, _) in itertools.pairwise(spans))
    assert np.allclose([bar.get_height() for bar in bars[0]], release.loc["F", "count"])
    assert axes.get_xlabel() == "grade"


def test_cumhist_is_a_line_with_a_band(asked, axes):
    """Steps as high as the counts, a transparent band around, one of each a group."""
    release = asked.groupby("sex").cumhist("day", epsilon=1)

    release.blowfish.plot(ax=axes)

    assert [line.get_label() for line in axes.lines] == ["F", "M"]
    assert np.allclose(axes.lines[0].get_ydata()[1::2], release.loc["F", "count"])
    assert len(axes.collections) == 2
    assert all(0 < band.get_alpha() < 1 for band in axes.collections)
    assert not _bars(axes)


def test_many_cells_are_steps(asked, axes):
    """More cells than bars can show are one line, in which thousands of cells run together."""
    release = asked.hist("long", epsilon=1)

    release.blowfish.plot(ax=axes)

    (line,) = axes.lines
    assert not _bars(axes)
    assert len(line.get_xdata()) < len(release)
    assert line.get_ydata().max() == pytest.approx(release["count"].max())
    assert line.get_xdata()[[0, -1]].tolist() == [-0.5, 9_999.5]


def test_gaps_are_not_bridged(asked, axes):
    """Some rows of a release: the line stops where rows were left out, and starts again."""
    release = asked.cumhist("long", epsilon=1)

    release[(release.index < 50) | (release.index >= 100)].head(200).blowfish.plot(ax=axes)

    assert np.isnan(axes.lines[0].get_ydata()).sum() == 1


def test_ranges_lie_on_their_side(asked, axes):
    """One bar a range, with its name, the first on top; some rows, in any order, are drawn too."""
    release = asked.range("x", [(0, 4), (2, 9), (0, 9)], epsilon=1)

    release.blowfish.plot(ax=axes)

    (bars,) = _bars(axes)
    assert np.allclose([bar.get_width() for bar in bars], release["count"])
    assert [text.get_text() for text in axes.get_yticklabels()] == ["[0, 4]", "[2, 9]", "[0, 9]"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("x", "count")


def test_very_many_ranges_are_steps(asked, axes):
    """Ranges in the order asked, without names."""
    asked.range("x", "all", epsilon=1).blowfish.plot(ax=axes)
    second = axes.figure.add_subplot()
    asked.groupby("grade").range("x", "all", epsilon=1).blowfish.plot(ax=second)

    assert len(_bars(axes)[0]) == 55
    assert "order asked" in second.get_xlabel()
    assert len(second.lines) == 3


@pytest.mark.parametrize("column", ["long", "day"])
def test_quantiles_are_points(asked, axes, column):
    """Points at the values with whiskers, the column on the upright axis, in its own units."""
    release = asked.quantile(column, [0.25, 0.5], epsilon=1)

    release.blowfish.plot(ax=axes)

    (whiskers,) = _whiskers(axes)
    assert len(whiskers) == 2
    assert axes.get_ylabel() == column
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0.25", "0.5"]
    axes.figure.draw_without_rendering()
    if column == "day":
        assert any("2026" in text.get_text() for text in axes.get_yticklabels())


def test_quantiles_of_groups_and_of_categories(asked, axes):
    """Groups stand a little apart; categories have names, and whiskers from one to another."""
    asked.groupby("sex").quantile("grade", [0.2, 0.5], epsilon=1).blowfish.plot(ax=axes)

    assert [text.get_text() for text in axes.get_yticklabels()] == GRADES
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["F", "M"]
    assert axes.get_ylabel() == "grade"
    assert "95% intervals" in axes.texts[-1].get_text()
    assert all(np.isin(each[:, :, 1], range(3)).all() for each in _whiskers(axes) if each.size)


def test_more_questions_keep_their_column(asked, axes):
    """What is read off a release names both, and has the intervals of what was asked."""
    release = asked.hist(["sex", "day"], epsilon=1)

    release.blowfish.quantile(0.5).blowfish.plot(ax=axes)
    second = axes.figure.add_subplot()
    asked.hist("x", epsilon=1).blowfish.range([(0, 4)]).blowfish.plot(ax=second)

    assert axes.get_ylabel() == "day"
    assert second.get_title(loc="left") == "hist('x').range([(0, 4)])"
    assert "95% intervals" in second.texts[-1].get_text()
    assert _whiskers(second)[0].size == 4


def test_counts_are_one_bar(asked, axes):
    """A count has one bar; an exact one no whisker."""
    asked.where("x < 5").count(epsilon=1).blowfish.plot(ax=axes)
    second = axes.figure.add_subplot()
    asked.count(epsilon=1).blowfish.plot(ax=second)

    assert len(_bars(axes)[0]) == 1
    assert axes.get_xticklabels()[0].get_text() == "rows"
    assert axes.get_title(loc="left") == "where('x < 5').count()"
    assert len(_whiskers(axes)[0]) == 1
    assert not _whiskers(second)[0].size
    assert second.texts[-1].get_text() == "epsilon 0, exact"


def test_what_depends_on_rows_has_no_bars(asked, axes):
    """dawa does not tell how wrong it is: counts alone are drawn, negative ones too."""
    asked.cumhist("long", epsilon=1, strategy="dawa").blowfish.plot(ax=axes)
    release, second = asked.hist("long", epsilon="0.05", post=False), axes.figure.add_subplot()
    release.blowfish.plot(ax=second)

    assert (len(axes.lines), len(axes.collections)) == (1, 0)
    assert "no error bars" in axes.texts[0].get_text()
    assert second.get_ylim()[0] < release["count"].min() < 0


def test_two_releases_share_axes(asked):
    """Without ax a figure is made; a second release on its Axes takes the next colour."""
    from matplotlib import pyplot

    drawn = asked.cumhist("x", epsilon=1).blowfish.plot()
    asked.cumhist("x", epsilon=1).blowfish.plot(ax=drawn)

    assert pyplot.gcf() is drawn.figure
    assert len({line.get_color() for line in drawn.lines}) == 2
    pyplot.close(drawn.figure)


def test_odd_names_are_drawn_as_they_are(axes):
    """Dollar signs begin no formula, and a name that begins with _ is in the legend."""
    domain = Domain(
        (
            values_attribute("$pay", "category", ["$1", "$2"], nullable=False),
            values_attribute("_g", "category", ["_a", "b"], nullable=False),
        )
    )
    frame = pd.DataFrame({"$pay": ["$1", "$2"], "_g": ["_a", "b"]})
    df = frame.blowfish.protect(bf.Policy(domain), epsilon=1)

    df.blowfish.groupby("_g").hist("$pay", epsilon=1).blowfish.plot(ax=axes)
    axes.figure.draw_without_rendering()

    assert [text.get_text() for text in axes.get_legend().get_texts()] == [" _a", "b"]
    assert axes.get_xticklabels()[0].get_text() == r"\$1"


def test_wrong_arguments_are_refused(asked, axes):
    """No receipt, no count, no rows, no Axes, no probability: typed errors, nothing drawn."""
    release = asked.hist("grade", epsilon=1)

    with pytest.raises(errors.NotReleasedError):
        pd.DataFrame({"count": [1]}).blowfish.plot(ax=axes)
    with pytest.raises(errors.NotReleasedError):
        asked._frame.blowfish.plot(ax=axes)
    for changed in (release[["std"]], release.head(0)):
        with pytest.raises(errors.FrameError):
            changed.blowfish.plot(ax=axes)
    with pytest.raises(errors.ArgumentTypeError):
        release.blowfish.plot(ax="here")
    for level in (0, 1, 95, "x"):
        with pytest.raises(errors.ArgumentError):
            release.blowfish.plot(ax=axes, level=level)
    assert not axes.has_data()


def test_without_matplotlib_the_error_says_what_to_install(asked, monkeypatch):
    """A typed ImportError names the extra."""
    release = asked.hist("grade", epsilon=1)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)

    with pytest.raises(errors.MissingPackageError, match=r"pandas-blowfish\[plot\]") as caught:
        release.blowfish.plot()

    assert {ImportError, errors.BlowfishError} <= set(type(caught.value).__mro__)
    assert caught.value.name == "matplotlib"


def test_importing_the_library_does_not_import_matplotlib():
    """Pictures cost nothing until one is drawn."""
    code = "import sys, pandas_blowfish; print('matplotlib' in sys.modules)"

    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert told.stdout.strip() == "False"


def test_two_columns_are_a_heat_map(asked, axes):
    """Counts by colour, the last column along the bottom; `columns` turns them round."""
    release = asked.hist(["sex", "grade"], epsilon=1)
    table = release["count"].unstack()

    release.blowfish.plot(ax=axes)
    turned = release.blowfish.plot(ax=axes.figure.add_subplot(), columns=["sex", "grade"])

    assert (axes.get_xlabel(), axes.get_ylabel()) == ("grade", "sex")
    assert np.allclose(axes.collections[0].get_array(), table)
    assert (turned.get_xlabel(), turned.get_ylabel()) == ("sex", "grade")
    assert np.allclose(turned.collections[0].get_array(), table.T)
    assert [text.get_text() for text in axes.get_yticklabels()] == ["F", "M"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # names are read from top to bottom


def test_a_marginal_and_a_part_of_three_columns(asked, axes):
    """Are heat maps too; all of three columns are series, or rows where those are many."""
    asked.marginal(["grade", "sex"], epsilon=1).blowfish.plot(ax=axes)
    three = asked.hist(["sex", "grade", "x"], epsilon=1)
    part = three.loc["F"].blowfish.plot(ax=axes.figure.add_subplot())
    many = asked.groupby("x").hist(["sex", "grade"], epsilon=1).blowfish.plot(ax=axes.figure.add_subplot())
    few = asked.hist(["sex", "grade"], epsilon=1).loc[["F"]].blowfish.plot(ax=axes.figure.add_subplot())

    assert axes.collections[0].get_array().shape == (3, 2)
    assert (part.get_xlabel(), part.get_ylabel()) == ("x", "grade")
    assert (many.get_xlabel(), many.get_ylabel()) == ("grade", "x, sex")
    assert many.collections[0].get_array().shape == (22, 3)
    assert few.collections[0].get_array().shape == (1, 3)
    with pytest.raises(errors.ArgumentError, match=r"marginal\(\[\.\.\.\]\) of two columns"):
        three.blowfish.plot(columns=["sex", "grade"])


def test_sums_of_some_columns(asked, axes):
    """`columns` picks among those of a sum; others are refused, and no figure is left behind."""
    from matplotlib import pyplot

    release, before = asked.sum(["x", "long"], epsilon=1), pyplot.get_fignums()

    release.blowfish.plot(ax=axes, columns="long")

    assert [text.get_text() for text in axes.get_xticklabels()] == ["long"]
    for wrong in ("sex", ["x", "sex"], [], 5):
        with pytest.raises(errors.ArgumentError):
            release.blowfish.plot(columns=wrong)
    for wrong in ("sex", ["sex", "sex"], ["sex"], 5):
        with pytest.raises(errors.ArgumentError):
            asked.hist(["sex", "grade"], epsilon=1).blowfish.plot(columns=wrong)
    with pytest.raises(errors.ArgumentError):
        asked.kmeans(["x", "long"], 2, epsilon=1).blowfish.plot(columns="sex")
    assert pyplot.get_fignums() == before


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_pictures_change_nothing_but_their_axes(asked, style):
    """No setting of matplotlib's, no figure of pyplot's where Axes are given; words in the style's colour."""
    from matplotlib import pyplot
    from matplotlib.figure import Figure

    with context(style):
        before, figures = dict(mpl.rcParams), pyplot.get_fignums()
        for release in (
            asked.hist("x", epsilon=1),
            asked.hist(["sex", "grade"], epsilon=1),
            asked.cumhist("day", epsilon=1),
            asked.quantile("long", [0.5], epsilon=1),
            asked.sum(["x", "long"], epsilon=1),
        ):
            axes = Figure(layout="constrained").subplots()
            assert release.blowfish.plot(ax=axes) is axes
            axes.figure.draw_without_rendering()
            assert axes.texts[-1].get_color() == mpl.rcParams["text.color"]
        assert (dict(mpl.rcParams), pyplot.get_fignums()) == (before, figures)


def test_a_box_of_several_columns_is_one_bar():
    """Boxes are named by all their sides, groups are series."""
    df = bf.datasets.patients(500).blowfish.protect(bf.datasets.patients_policy(), epsilon=10)
    boxes = [((18, 64), (0, 20_000)), ((65, None), (None, 50_000)), ((0, 17), (0, 10_000))]

    plain = df.blowfish.range(["age", "income"], boxes, epsilon=1).blowfish.plot()
    grouped = df.blowfish.groupby("sex").range(["age", "income"], boxes, epsilon=1).blowfish.plot()

    assert any(label.get_text().startswith("[18, 64], [0") for label in plain.get_yticklabels())
    assert len(plain.patches) == 3
    assert len(grouped.patches) == 6
    assert len(grouped.get_legend().get_texts()) == 2
