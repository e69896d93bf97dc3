"""Strips are shaded by steps, have their own units, and end where the values do."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure

import pandas_blowfish as bf
from pandas_blowfish.explain.policy import strips
from pandas_blowfish.explain.policy.reach import reach_of
from pandas_blowfish.policy.domain import Domain, integers, numeric_attribute

mpl.use("Agg")


@pytest.fixture
def axes():
    """Return Axes to draw on."""
    return Figure().subplots()


def test_shades_grow_fainter(axes):
    """Of one colour of the style; a second picture has the next."""
    first, second = strips.shades(axes), strips.shades(axes)

    assert [color[3] for color in first] == [1, *strips.STRENGTH]
    assert {to_hex(color) for color in first} == {to_hex("C0")}
    assert to_hex(second[0]) == to_hex("C1")


def test_runs_of_the_same_steps_are_one_box(axes):
    """Gaps part them; what no steps reach is hollow."""
    left = np.array([0.0, 1, 2, 3, 6])
    steps = np.array([1.0, 1, 0, np.inf, np.inf])

    strips.draw_runs(axes, left, left + 1, steps, strips.shades(axes), (0, 1))

    assert [(box.get_x(), box.get_width()) for box in axes.patches] == [(0, 2), (2, 1), (3, 1), (6, 1)]
    assert [box.get_facecolor()[3] for box in axes.patches] == [strips.STRENGTH[0], 1, 0, 0]


def test_a_strip_of_days(axes):
    """Has dates along the bottom, none of them beyond the last; missing and absent stand beside."""
    day = numeric_attribute("day", "datetime", "2026-01-01", "2026-06-30", "1D", nullable=True)
    policy = bf.Policy(Domain((day,)), secrets={"day": bf.threshold("7D")}, presence=True)
    colors = strips.shades(axes)

    strips.draw_strip(
        axes, reach_of(policy, ["day"]), colors, "day", [("missing", True), ("absent", True)], "up to 7D"
    )
    axes.figure.draw_without_rendering()

    last = max(box.get_x() + box.get_width() for box in axes.patches if box.get_facecolor() != to_rgba("w"))
    assert axes.get_xlim()[1] > last
    assert max(axes.get_xticks()) < sorted(box.get_x() for box in axes.patches)[-2]
    assert any(
        "2026" in each for each in (axes.get_xlabel(), *(t.get_text() for t in axes.get_xticklabels()))
    )
    words = [text.get_text() for text in axes.texts]
    assert {"missing", "absent", "up to 7D", "2026-04-01"} <= set(words)
    arcs = [line for line in axes.lines if len(line.get_xdata()) > 2]
    reach = sorted(np.ptp(line.get_xdata()) for line in arcs)
    assert reach == pytest.approx([7, 7])


def test_from_the_missing_cell(axes):
    """The mark stands on it, and every value is one step away."""
    policy = bf.Policy(Domain((integers("x", 0, 50, nullable=True),)), secrets={"x": bf.threshold(2)})

    strips.draw_strip(
        axes, reach_of(policy, ["x"], {"x": None}), strips.shades(axes), "x", [("missing", True)], "up to 2"
    )

    assert [box.get_width() for box in axes.patches[:1]] == [51]
    assert axes.lines[0].get_xdata()[0] > 50.5
    assert not any(text.get_text() == "up to 2" for text in axes.texts)


def test_steps_are_explained(axes):
    """Each number that occurs, once, in order; without an epsilon no odds."""
    strips.explain_steps(axes, [2, 1, np.inf, 0, 1, 5], strips.shades(axes), None)

    said = [text.get_text() for text in axes.get_legend().get_texts()]
    assert said == ["1 step", "2 steps", "5 or more", "not protected: no steps lead there"]


def test_lanes_name_their_ends(axes):
    """In the column's units, with dots where there is more."""
    domain = Domain((integers("x", 0, 99, nullable=True), integers("y", 0, 99_999)))
    policy = bf.Policy(domain, secrets={"x": bf.threshold(9), "y": bf.threshold(2)})
    lanes = [(name, "words", reach_of(policy, [name])) for name in ("x", "y")]

    strips.draw_lanes(axes, [*lanes, ("z", "every value", "all of them")], strips.shades(axes))

    words = [text.get_text() for text in axes.texts]
    assert {"0", "99, missing", "... 49,970", "50,030 ...", "all of them"} <= set(words)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["x", "y", "z"]
