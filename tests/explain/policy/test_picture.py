"""Pictures of policies shade exactly what the policy's distances say, on Axes that are given back."""

import itertools
import math
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.style import context

import pandas_blowfish as bf
from pandas_blowfish import errors
from pandas_blowfish.explain.policy.reach import MOST
from pandas_blowfish.explain.release.axis_labels import places_of
from pandas_blowfish.policy.domain import Domain, integers, numeric_attribute, values_attribute

mpl.use("Agg")
A, B = integers("a", 0, 30), integers("b", 0, 24, nullable=True)
LAT = numeric_attribute("lat", "float", 30, 36, "0.25", open_high=True)
LON = numeric_attribute("lon", "float", -120, -112, "0.25", open_high=True)
TEAM = values_attribute("team", "category", list("xyz"), nullable=False)
BALL = bf.Policy(
    Domain((LAT, LON)),
    secrets={("lat", "lon"): bf.threshold(100, metric="l2", scale={"lat": 111.2, "lon": 84.8})},
)
STYLES = ["default", "dark_background"]


@pytest.fixture
def axes():
    """Return Axes to draw on."""
    return Figure(layout="constrained").subplots()


def _words(axes):
    return [text.get_text().replace("\n", " ") for text in (*axes.texts, axes.title, axes._left_title)]


def _shown(axes, cells):
    """Return the steps that are drawn at the middle of every pair of cells, NaN where none are."""
    drawn = axes.collections[0]
    edges, table = drawn.get_coordinates(), np.ma.filled(drawn.get_array(), np.nan)
    upright, across = (places_of(each, listed=False).middle for each in cells)
    rows = np.searchsorted(edges[:, 0, 1], upright) - 1
    columns = np.searchsorted(edges[0, :, 0], across) - 1
    return table[np.ix_(rows, columns)]


@pytest.mark.parametrize(
    ("policy", "columns"),
    [
        (BALL, ["lat", "lon"]),
        (BALL, ["lon", "lat"]),
        (bf.Policy(Domain((A, B)), secrets={"a": bf.threshold(4), "b": bf.threshold(3)}), ["a", "b"]),
        (
            bf.Policy(
                Domain((A, B)), secrets={"a": bf.threshold(4), "b": bf.threshold(3)}, neighbors="attribute"
            ),
            ["b", "a"],
        ),
        (bf.Policy(Domain((A, TEAM)), secrets={"a": bf.partition(7), "team": bf.public()}), ["team", "a"]),
        (bf.Policy(Domain((A, TEAM)), secrets={"a": bf.threshold(1)}, presence=True), ["team", "a"]),
    ],
    ids=["ball", "turned ball", "both", "one", "groups", "presence"],
)
def test_shades_of_two_columns_are_distances(policy, columns, axes):
    """Every cell is shaded by `policy.distance` from the marked one: 1 where they are neighbours."""
    attributes = [policy.domain[column] for column in columns]
    values = [[getattr(v, "left", v) for v in a.labels()] + [None] * a.nullable for a in attributes]
    start = {column: each[a.cells // 2] for column, a, each in zip(columns, attributes, values, strict=True)}

    drawn = policy.plot(columns, ax=axes)

    shown = _shown(axes, [a.index() for a in attributes])
    for place in np.ndindex(shown.shape):
        record = {column: each[at] for column, each, at in zip(columns, values, place, strict=True)}
        true = policy.distance(start, record)
        assert np.isnan(shown[place]) if math.isinf(true) else shown[place] == min(true, MOST + 1)
    assert drawn is axes
    assert (axes.get_ylabel(), axes.get_xlabel()) == tuple(columns)
    marked = axes.lines[-1].get_xydata()[0]
    middle = [places_of(a.index(), listed=False).middle[a.cells // 2] for a in attributes]
    assert marked.tolist() == middle[::-1]


@pytest.mark.parametrize("around", [0, 12, 30])
def test_shades_of_one_column_are_distances(axes, around):
    """A strip has a box for each number of steps, from the first to the last value at that distance."""
    policy = bf.Policy(Domain((A,)), secrets={"a": bf.threshold(4)})

    policy.plot("a", ax=axes, around={"a": around})

    steps = np.array([policy.distance({"a": around}, {"a": value}) for value in range(31)])
    for box in axes.patches:
        inside = np.arange(31)[
            (np.arange(31) > box.get_x()) & (np.arange(31) < box.get_x() + box.get_width())
        ]
        assert len({min(each, MOST + 1) for each in steps[inside].tolist()}) == 1
    assert sum(box.get_width() for box in axes.patches) == 31
    near = next(box for box in axes.patches if box.get_x() + 0.5 == around + 1 or around == 30)
    assert mpl.colors.to_hex(near.get_facecolor()) == mpl.colors.to_hex("C0")
    assert around in axes.lines[0].get_xdata()
    assert "a: values up to 4 apart stay indistinguishable" in _words(axes)
    assert f"steps from a {around}" in _words(axes)


def test_odds_are_written_with_an_epsilon(axes):
    """The factor of each number of steps, never below what `policy.odds` says."""
    policy = bf.Policy(Domain((A,)), secrets={"a": bf.threshold(4)})

    policy.plot("a", ax=axes, epsilon=0.1, around={"a": 3})

    said = [text.get_text() for text in axes.get_legend().get_texts()]
    near, far = (policy.odds({"a": 3}, {"a": end}, 0.1).factor_text for end in (5, 9))
    assert said[0] == f"1 step: odds \N{MULTIPLICATION SIGN} {near} at most"
    assert said[1] == f"2 steps: odds \N{MULTIPLICATION SIGN} {far} at most"
    assert said[-1] == "5 or more"


def test_all_columns_have_a_lane(axes):
    """With names, few words, and shades; a policy of one block is drawn in full instead."""
    policy = bf.datasets.patients_policy()

    policy.plot(ax=axes)
    alone = BALL.plot(ax=axes.figure.add_subplot())

    assert [label.get_text() for label in axes.get_yticklabels()] == list(policy.domain.columns)
    assert {"up to 5 apart", "up to 10,000 apart", "same group", "every value", "public"} <= set(_words(axes))
    assert (alone.get_ylabel(), alone.get_xlabel()) == ("lat", "lon")
    assert any("straight-line" in words for words in _words(alone))


def test_columns_without_cells_are_told(axes):
    """Numbers without bounds, and pairs of several columns, have a lane of words."""
    free = numeric_attribute("free", "float", None, None, None)
    pairs = bf.edges([((0, 0), (1, 1))])
    policy = bf.Policy(Domain((free, A, B)), secrets={"free": bf.threshold(5), ("a", "b"): pairs})

    policy.plot(ax=axes)

    assert {"any number", "listed pairs"} <= set(_words(axes))
    with pytest.raises(errors.UnboundedColumnError):
        policy.plot("free", ax=axes)


def test_very_many_columns(axes):
    """The first of them, and the note says how many there are."""
    policy = bf.Policy(Domain(tuple(integers(f"c{number}", 0, 9) for number in range(30))))

    policy.plot(ax=axes)

    assert len(axes.get_yticklabels()) == 24
    assert any("the first 24 of 30 columns" in words for words in _words(axes))


def test_presence_and_facts_are_told(axes):
    """Beside the values stands "absent"; facts are named."""
    policy = bf.Policy(
        Domain((A, TEAM)), secrets={"a": bf.threshold(4)}, presence=True, constraints=[bf.Marginal("team")]
    )

    policy.plot("a", ax=axes)

    assert "absent" in _words(axes)
    note = "between tables that agree with all public facts; 'absent' is one step from every value"
    assert any(words.startswith(note) for words in _words(axes))


@pytest.mark.parametrize("style", STYLES)
def test_nothing_else_changes(style):
    """Settings and figures stay as they were, dollar signs are no formulas, and it can be rendered."""
    from matplotlib import pyplot

    odd = values_attribute("$odd$", "category", ["$x", "_y", "<b>"], nullable=True)
    policy = bf.Policy(
        Domain((A, odd, LAT)),
        secrets={"$odd$": bf.partition({"$1": ["$x", "_y"], "$2": ["<b>"]}), "lat": bf.threshold(1)},
    )
    with context(style):
        before, figures = dict(mpl.rcParams), pyplot.get_fignums()
        for columns in (None, "a", "$odd$", "lat", ["$odd$", "a"], ["a", "lat", "$odd$"]):
            axes = Figure(layout="constrained").subplots()
            assert policy.plot(columns, ax=axes) is axes
            axes.figure.draw_without_rendering()
        assert (dict(mpl.rcParams), pyplot.get_fignums()) == (before, figures)


def test_without_axes_a_figure_is_made():
    """By pyplot, which shows it in a notebook."""
    from matplotlib import pyplot

    drawn = BALL.plot()

    assert pyplot.gcf() is drawn.figure
    pyplot.close(drawn.figure)


def test_wrong_arguments_are_refused():
    """Before anything is drawn, and without a figure left behind."""
    from matplotlib import pyplot

    policy, before = bf.Policy(Domain((A, B, TEAM))), pyplot.get_fignums()
    wrong = [
        (errors.UndeclaredColumnError, {"columns": "nobody"}),
        (errors.UndeclaredColumnError, {"columns": ["a", "nobody"]}),
        (errors.ArgumentError, {"columns": ["a", "a"]}),
        (errors.ArgumentError, {"columns": []}),
        (errors.ArgumentTypeError, {"columns": 5}),
        (errors.ArgumentTypeError, {"columns": ["a", 5]}),
        (errors.ArgumentTypeError, {"ax": "here"}),
        (errors.ArgumentError, {"epsilon": 0}),
        (errors.ArgumentTypeError, {"columns": "a", "around": 5}),
        (errors.ArgumentTypeError, {"columns": "a", "around": {"b": 5}}),
        (errors.DeclaredValueError, {"columns": "a", "around": {"a": 99}}),
        (errors.DeclaredValueError, {"columns": ["a", "b"], "around": {"a": 99}}),
    ]
    for error, given in wrong:
        with pytest.raises(error):
            policy.plot(**given)
    assert pyplot.get_fignums() == before


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    """A typed ImportError names the extra."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)

    for columns in (None, "lat"):
        with pytest.raises(errors.MissingPackageError, match=r"pandas-blowfish\[plot\]"):
            BALL.plot(columns)


@pytest.mark.parametrize(
    "secrets", [{}, {"x": bf.public(), "y": bf.public()}, {"x": bf.threshold(5), "y": bf.threshold(9_999)}]
)
def test_large_domains_are_drawn(secrets):
    """A million cells each, one or both."""
    policy = bf.Policy(Domain((integers("x", 0, 10**6), integers("y", 0, 10**6))), secrets=secrets)

    for columns, style in itertools.product(("x", "y", ["x", "y"], None), STYLES):
        with context(style):
            axes = policy.plot(columns, ax=Figure(layout="constrained").subplots())
            axes.figure.draw_without_rendering()
