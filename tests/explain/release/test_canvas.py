"""Pictures share Axes, colours that do not repeat, and titles that fit."""

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure
from matplotlib.style import context

from pandas_blowfish.errors import ArgumentTypeError
from pandas_blowfish.explain.release import canvas

mpl.use("Agg")


@pytest.fixture
def axes():
    """Return Axes to draw on."""
    return Figure().subplots()


def test_axes_are_those_given_or_new(axes):
    """What is given comes back, without a figure of pyplot's; anything else is refused."""
    from matplotlib import pyplot

    before = pyplot.get_fignums()

    assert canvas.axes_of(axes) is axes
    assert pyplot.get_fignums() == before
    made = canvas.axes_of(None)
    assert pyplot.get_fignums() == [*before, made.figure.number]
    pyplot.close(made.figure)
    for wrong in ("here", Figure(), [axes]):
        with pytest.raises(ArgumentTypeError):
            canvas.axes_of(wrong)


@pytest.mark.parametrize("many", [1, 10, 26])
def test_colours_differ(axes, many):
    """As many as series, also more than the style has, and nothing is left on the Axes."""
    colors = canvas.colors_of(axes, many)

    assert len({mpl.colors.to_hex(color) for color in colors}) == many
    assert not axes.lines


def test_the_next_drawing_has_the_next_colours(axes):
    """Colours go on where the last series ended."""
    first, second = canvas.colors_of(axes, 2), canvas.color_of(axes)

    assert second not in first


def test_words_follow_the_style():
    """On a dark style words are light."""
    with context("dark_background"):
        assert canvas.ink() == "white"


def test_titles_are_wrapped_and_plain(axes):
    """A long one has lines, dollars begin no formula, the note stands beneath."""
    canvas.entitle(axes, "$5 " * 40, "a note of $1")

    title = axes.get_title(loc="left")
    assert all(len(line.replace("\\", "")) <= canvas.WIDE for line in title.split("\n"))
    assert "\n" in title
    assert r"\$5" in title
    assert axes.texts[0].get_text() == r"a note of \$1"


def test_long_legends_stand_beside(axes):
    """Few names inside the picture, many outside it."""
    for number in range(30):
        axes.plot([0], [0], label=str(number))
    axes.figure.draw_without_rendering()

    beside = canvas.legend_of(axes, "$g", 30)
    axes.figure.draw_without_rendering()
    box, edge = beside.get_window_extent(), axes.get_window_extent()

    assert box.x0 >= edge.x1
    assert beside.get_title().get_text() == r"\$g"
