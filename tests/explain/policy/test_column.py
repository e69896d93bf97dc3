"""One column is drawn by the kind of its secret: arcs, boxes, dots, lines, or a strip."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import pandas_blowfish as bf
from pandas_blowfish.explain.policy.column import draw_column
from pandas_blowfish.policy.domain import Domain, integers, values_attribute

mpl.use("Agg")
WORDS = values_attribute("w", "category", list("abcdef"), nullable=False, ranked=True)
SMALL, LONG = integers("x", 0, 9), integers("y", 0, 99, nullable=True)


@pytest.fixture
def axes():
    """Return Axes to draw on."""
    return Figure().subplots()


def _drawn(attribute, secret, axes, **given):
    policy = bf.Policy(Domain((attribute,)), secrets={attribute.name: secret}, **given)
    assert draw_column(policy, attribute.name, axes, None, None) is axes
    return policy, [text.get_text() for text in axes.texts]


def _groups(axes):
    return [box for box in axes.patches if box.get_gid() == "group"]


@pytest.mark.parametrize("attribute", [SMALL, WORDS])
def test_few_values_under_a_threshold_have_an_arc_an_edge(attribute, axes):
    """Just between values at distance 1."""
    policy, _ = _drawn(attribute, bf.threshold(2), axes)

    arcs = axes.collections[0].get_segments()
    ends = {tuple(sorted((round(arc[0, 0]), round(arc[-1, 0])))) for arc in arcs}
    values = list(attribute.labels())
    name = attribute.name
    assert ends == {
        (i, j)
        for i, one in enumerate(values)
        for j, two in enumerate(values)
        if i < j and policy.distance({name: one}, {name: two}) == 1
    }


def test_groups_of_names_are_boxes(axes):
    """With the groups' names and values."""
    _, words = _drawn(WORDS, bf.partition({"low": ["a", "b"], "high": ["c", "d", "e", "f"]}), axes)

    assert len(_groups(axes)) == 2
    assert {"low", "high", "a,  b", "c,  d,  e,  f"} <= set(words)


def test_groups_of_numbers_lie_on_their_axis(axes):
    """From the first to the last value of each, named, with the missing cell beside."""
    _, words = _drawn(LONG, bf.partition({"young": range(18), "old": range(18, 100)}), axes)

    assert [(box.get_x(), box.get_width()) for box in axes.patches[:2]] == [(-0.5, 18), (17.5, 82)]
    assert {"young", "old", "missing"} <= set(words)


def test_scattered_groups_of_numbers(axes):
    """Runs of one group have one colour."""
    odd = [list(range(0, 100, 2)), list(range(1, 100, 2))]
    _drawn(LONG, bf.partition(odd), axes)

    colors = [box.get_facecolor() for box in axes.patches[:100]]
    assert len(set(colors)) == 2
    assert colors[0] == colors[2] != colors[1]


def test_full_and_public(axes):
    """One box of all; dots apart; long ones a strip, filled or hollow."""
    _drawn(WORDS, bf.full(), axes)
    figure = axes.figure
    dots, strip, hollow = (figure.add_subplot() for _ in range(3))
    _drawn(WORDS, bf.public(), dots)
    _, every = _drawn(LONG, bf.full(), strip)
    _, none = _drawn(LONG, bf.public(), hollow)

    assert len(_groups(axes)) == 1
    assert len(dots.lines[0].get_xdata()) == 6
    assert strip.patches[0].get_width() == hollow.patches[0].get_width() == 100
    assert (strip.patches[0].get_facecolor()[3] > 0, hollow.patches[0].get_facecolor()[3]) == (True, 0)
    assert "every value, one step from every other" in every
    assert {"every value, distinguished from every other", "missing: distinguished"} <= set(none)


def test_listed_pairs_are_lines(axes):
    """Between the dots of the two values."""
    _drawn(WORDS, bf.edges([("a", "c"), ("c", "f")]), axes)

    segments = np.array(axes.collections[0].get_segments())
    spots = {text.get_text(): text.xy for text in axes.texts if len(text.get_text()) == 1}
    ends = {frozenset(tuple(np.round(end, 9)) for end in segment) for segment in segments}
    assert ends == {
        frozenset(tuple(np.round(spots[name], 9)) for name in pair) for pair in (("a", "c"), ("c", "f"))
    }


def test_listed_pairs_of_many_values_are_a_strip(axes):
    """About the value with most pairs."""
    _, words = _drawn(LONG, bf.edges([(1, 50), (50, 99)]), axes)

    assert "50" in words
    assert axes.get_title(loc="left") == "y: the 2 listed pairs stay indistinguishable"


def test_a_column_of_a_joint_secret_is_a_strip(axes):
    """The others staying as they are."""
    policy = bf.Policy(Domain((SMALL, LONG)), secrets={("x", "y"): bf.threshold(2)})

    draw_column(policy, "x", axes, None, None)

    boxes = [(box.get_x(), box.get_width()) for box in axes.patches]
    assert boxes == [(-0.5, 3), (2.5, 2), (4.5, 1), (5.5, 2), (7.5, 2)]
    assert axes.get_title(loc="left").startswith("x: combinations of values up to 2 apart")
