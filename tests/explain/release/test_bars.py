"""Bars and steps are as high as the counts, and errors are written where they can hardly be seen."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from pandas_blowfish.explain.release.bars import MANY, THIN, draw_counts
from pandas_blowfish.explain.release.series import Series, about

mpl.use("Agg")


@pytest.fixture
def axes():
    """Return Axes to draw on."""
    return Figure().subplots()


def _series(value, error, name=""):
    value = np.asarray(value, dtype=float)
    return Series(name, np.arange(len(value)), value, value - error, value + error)


@pytest.mark.parametrize(
    ("value", "error", "said"),
    [
        (15_803.2, 30.4, "15,803 \N{PLUS-MINUS SIGN} 31"),
        (45.231, 1.234, "45.2 \N{PLUS-MINUS SIGN} 1.3"),
        (0.5012, 0.0034, "0.5012 \N{PLUS-MINUS SIGN} 0.0034"),
        (-3.0, np.nan, "-3"),
        (12_345_678.0, 0.0, "12,345,678"),
    ],
)
def test_numbers_have_the_digits_that_make_sense(value, error, said):
    """Two digits of the error, rounded up, and as many of the number; exact ones in full."""
    assert about(value, error) == said


def test_few_bars_are_written(axes):
    """Beyond the end of each whisker, below negative bars; not on Axes that show something already."""
    draw_counts(axes, "hist", pd.Index(["a", "b"], name="c"), [_series([10, -5], 2)])
    draw_counts(axes, "hist", pd.Index(["a", "b"], name="c"), [_series([1, 2], 1)])

    sign = "\N{PLUS-MINUS SIGN}"
    assert [(text.get_text(), text.xy) for text in axes.texts] == [
        (f"10 {sign} 2", (0, 12)),
        (f"-5 {sign} 2", (1, -7)),
    ]


def test_ranges_are_written_at_their_right(axes):
    """On their side numbers stand beside the bars."""
    draw_counts(axes, "range", pd.Index(["a", "b"], name="c"), [_series([10, 20], 2)])

    assert [text.xy for text in axes.texts] == [(12, 0), (22, 1)]
    assert all(text.get_horizontalalignment() == "left" for text in axes.texts)


def test_many_groups_have_colours_of_their_own(axes):
    """More series than the style has colours do not repeat them."""
    series = [_series(np.arange(5), 1, str(number)) for number in range(15)]

    draw_counts(axes, "cumhist", pd.Index(range(5), name="c"), series)

    assert len({mpl.colors.to_hex(line.get_color()) for line in axes.lines}) == 15


def test_steps_keep_the_extremes(axes):
    """Runs of very many cells are drawn from their least to their largest."""
    value = np.sin(np.arange(3 * THIN))
    value[1234] = 50

    draw_counts(axes, "hist", pd.Index(range(len(value)), name="c"), [_series(value, 1)])

    drawn = axes.lines[0].get_ydata()
    assert len(value) > MANY
    assert len(drawn) <= 2 * THIN + 2
    assert drawn.max() == 50
    assert drawn.min() == value.min()


def test_areas_of_unequal_bins_are_counts(axes):
    """Bars are as wide as their bins; the narrowest keep their counts, and all counts are written."""
    cells = pd.IntervalIndex.from_breaks([0.0, 5.0, 10.0, 30.0], closed="left", name="fare")

    draw_counts(axes, "hist", cells, [_series([100, 50, 80], 10)])

    bars = axes.patches
    assert [round(bar.get_height(), 9) for bar in bars] == [100, 50, 20]
    assert bars[2].get_x() + bars[2].get_width() == pytest.approx(30, abs=1)
    assert [bar.get_width() for bar in bars[:2]] == pytest.approx([4.3, 4.3])
    assert axes.get_ylabel() == "count per 5 of fare"
    sign = "\N{PLUS-MINUS SIGN}"
    assert [text.get_text().replace("\n", " ") for text in axes.texts] == [
        f"100 {sign} 10",
        f"50 {sign} 10",
        f"80 {sign} 10",
    ]
    whiskers = axes.containers[1].lines[2][0].get_segments()
    assert [round(end[1], 9) for end in whiskers[2]] == [17.5, 22.5]


def test_bins_that_differ_a_little_are_equal(axes):
    """As months do."""
    cells = pd.IntervalIndex.from_breaks(pd.date_range("2026-01-01", periods=5, freq="MS"), closed="left")

    draw_counts(axes, "hist", cells, [_series([1, 2, 3, 4], 1)])

    assert [bar.get_height() for bar in axes.patches] == [1, 2, 3, 4]
    assert axes.get_ylabel() == "count"


def test_unequal_days_are_counted_per_day(axes):
    """The narrowest bin says per what."""
    days = pd.DatetimeIndex(["2026-01-01", "2026-01-08", "2026-03-01"])

    cells = pd.IntervalIndex.from_breaks(days, closed="left", name="seen")
    draw_counts(axes, "hist", cells, [_series([7, 52], 1)])

    assert axes.get_ylabel() == "count per 7 days of seen"
    assert [bar.get_height() for bar in axes.patches] == pytest.approx([7, 7])


def test_counts_that_noise_moves_to_a_bound_are_marked(axes):
    """By triangles that point beyond it, and in words as what they may be."""
    value = np.array([0.0, 40.0, 100.0])
    one = Series("", np.arange(3), value, np.array([0.0, 20, 80]), np.array([20.0, 60, 100]))

    note = draw_counts(axes, "hist", pd.Index(["a", "b", "c"], name="x"), [one])

    marks = {line.get_marker(): line.get_xydata().tolist() for line in axes.lines if line.get_gid()}
    assert marks == {"v": [[0, 0]], "^": [[2, 100]]}
    assert note == "; triangles: noise reached a bound"
    assert axes.texts[0].get_text() == "0 to 20"


def test_of_many_steps_the_note_counts_those_at_a_bound(axes):
    """Marks would cover the picture."""
    value = np.concatenate([np.zeros(50), np.full(50, 30.0)])
    one = Series("", np.arange(100), value, np.maximum(value - 10, 0), value + 10)

    note = draw_counts(axes, "hist", pd.Index(range(100), name="x"), [one])

    assert note == "; 50 of 100 held at a bound by noise"
