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
        (f"10.0 {sign} 2.0", (0, 12)),
        (f"-5.0 {sign} 2.0", (1, -7)),
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
