"""Pictures of clusters show every centre, its size with its error, and the groups in their colours."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, FrameError
from pandas_blowfish.explain.release import map as module
from pandas_blowfish.policy.domain import Domain, from_dict, integers

mpl.use("Agg")
GROUPS = {
    name: {"type": "category", "values": list(values)} for name, values in (("sex", "FM"), ("six", "abcdef"))
}
DOMAIN = Domain(
    (
        *(integers(name, 0, 99) for name in ("x", "y", "$z$")),
        *(from_dict(name, spec) for name, spec in GROUPS.items()),
    )
)


@pytest.fixture(scope="module")
def asked():
    """Return the verbs of a protected frame."""
    draw, n = np.random.default_rng(0), 900
    frame = pd.DataFrame({name: draw.integers(0, 100, n) for name in ("x", "y", "$z$")})
    frame = frame.assign(sex=draw.choice(["F", "M"], n), six=draw.choice(list("abcdef"), n))
    return frame.blowfish.protect(bf.Policy(DOMAIN), epsilon=10**4).blowfish


@pytest.fixture
def axes():
    """Return Axes to draw on."""
    return Figure().subplots()


def _words(axes):
    return [text.get_text() for text in axes.texts]


def _discs(axes):
    """Return the places and areas of filled markers, by group."""
    filled = [each for each in axes.collections if each.get_alpha() == 0.55]
    return [(np.asarray(each.get_offsets()), each.get_sizes()) for each in filled]


def test_two_coordinates(asked, axes):
    """A marker a centre where it lies, with an area by size, and its number, size and error in words."""
    centres = asked.kmeans(["x", "y"], 3, epsilon=2)
    bounds = centres.blowfish.interval(0.9)

    drawn = centres.blowfish.plot(ax=axes, level=0.9)

    ((places, areas),) = _discs(axes)
    assert drawn is axes
    assert np.allclose(places, centres[["x", "y"]])  # the largest first, beneath
    assert np.allclose(areas / areas[0], centres["size"] / centres["size"].iloc[0])
    error = (bounds["high"] - centres["size"]).iloc[0]
    assert f"0: {centres['size'].iloc[0]:,.0f} \N{PLUS-MINUS SIGN} {error:,.0f}" in _words(axes)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")
    assert "kmeans(['x', 'y'], k=3)" in axes.get_title(loc="left")
    assert "epsilon 2, 90% intervals" in _words(axes)


def test_rings_show_how_large_a_cluster_may_be(asked, axes):
    """About each disc is a ring whose area is the upper end of the interval."""
    centres = asked.kmeans(["x", "y"], 2, epsilon="1/4", strategy="grid")
    bounds = centres.blowfish.interval()

    centres.blowfish.plot(ax=axes)

    rings = next(each.get_sizes() for each in axes.collections if not len(each.get_facecolors()))
    ((_, areas),) = _discs(axes)
    assert np.allclose(rings / areas, bounds["high"] / centres["size"])


def test_one_coordinate(asked, axes):
    """A stem a centre, as high as its size, with an error bar as long as the interval."""
    centres = asked.kmeans("x", 3, epsilon=2)
    bounds = centres.blowfish.interval()

    centres.blowfish.plot(ax=axes)

    dots = axes.lines[0].get_xydata()
    assert np.allclose(dots, centres[["x", "size"]])
    bars = axes.containers[0].lines[2][0].get_segments()
    assert np.allclose([bar[:, 1] for bar in bars], bounds[["low", "high"]])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "size")
    assert axes.get_ylim()[0] == 0


def test_coordinates_can_be_chosen(asked, axes):
    """One or two of them, in any order; dollar signs are no formulas."""
    centres = asked.kmeans(["x", "y", "$z$"], 2, epsilon=2)

    centres.blowfish.plot(ax=axes, columns=("$z$", "x"))
    alone = centres.blowfish.plot(columns="y")

    assert (axes.get_xlabel(), axes.get_ylabel()) == (r"\$z\$", "x")
    assert alone.get_xlabel() == "y"
    for wrong, error in [
        (["x", "x"], ArgumentError),
        (["x", "y", "$z$"], ArgumentError),
        ([], ArgumentError),
        ("nobody", ArgumentError),
        (5, ArgumentTypeError),
        ([5], ArgumentTypeError),
    ]:
        with pytest.raises(error):
            centres.blowfish.plot(ax=Figure().subplots(), columns=wrong)
    with pytest.raises(ArgumentError, match="none to choose from"):
        asked.hist("sex", epsilon=1).blowfish.plot(columns=["x"])


@pytest.mark.parametrize("columns", [["x"], ["x", "y"]])
def test_groups_have_colours(asked, axes, columns):
    """Each its own, named in a legend, and its words in the same one."""
    centres = asked.groupby("sex").kmeans(columns, 2, epsilon=2)

    centres.blowfish.plot(ax=axes)

    legend = axes.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["F", "M"]
    assert legend.get_title().get_text() == "sex"
    colours = {to_hex(text.get_color()) for text in axes.texts if ":" in text.get_text()}
    assert len(colours) == 2
    if len(columns) == 2:
        assert [len(places) for places, _ in _discs(axes)] == [2, 2]


def test_many_centres_have_only_numbers(asked, axes):
    """Words would cover each other: of many centres, or of many groups."""
    asked.kmeans(["x", "y"], module.MANY + 1, epsilon=5).blowfish.plot(ax=axes)
    other = asked.groupby("six").kmeans(["x", "y"], 2, epsilon=5).blowfish.plot()

    for drawn, numbers in ((axes, module.MANY + 1), (other, 2)):
        assert {word for word in _words(drawn) if not word.startswith("epsilon")} == set(
            map(str, range(numbers))
        )


def test_exact_sizes_have_no_error(axes):
    """Sizes that are exact are written without one."""
    policy = bf.Policy(Domain((integers("x", 0, 99), integers("y", 0, 99))), secrets=_public("x", "y"))
    frame = pd.DataFrame({"x": [1, 2, 90], "y": [1, 1, 80]}).blowfish.protect(policy, epsilon=1)

    frame.blowfish.kmeans(["x", "y"], 2, epsilon=1).blowfish.plot(ax=axes)

    assert {"0: 2", "1: 1", "epsilon 0, exact"} <= set(_words(axes))


def _public(*names):
    return {name: bf.public() for name in names}


def test_some_of_the_centres(asked, axes):
    """Those that are left are drawn by their own numbers, without groups where one was taken out."""
    centres = asked.groupby("sex").kmeans(["x", "y"], 3, epsilon=2)

    centres.loc["F"].iloc[[2, 0]].blowfish.plot(ax=axes)

    assert [word[:2] for word in _words(axes) if ":" in word] == ["2:", "0:"]
    assert axes.get_legend() is None


def test_no_size_and_negative_sizes(axes):
    """Clusters of nothing are small, and unshaped sizes below 0 are drawn."""
    frame = pd.DataFrame({"x": [], "y": []})
    policy = bf.Policy(Domain((integers("x", 0, 99), integers("y", 0, 99))), presence=True)
    df = frame.blowfish.protect(policy, epsilon=10**3)

    for columns in (["x"], ["x", "y"]):
        found = df.blowfish.kmeans(columns, 4, epsilon=1, post=False)
        assert isinstance(found.blowfish.plot(), Axes)
    df.blowfish.kmeans(["x", "y"], 4, epsilon=1).blowfish.plot(ax=axes)

    ((_, areas),) = _discs(axes)
    assert (areas >= module.LEAST).all()


def test_edited_centres(asked, axes):
    """Sizes that were rounded are drawn without errors; what is no place is refused."""
    centres = asked.kmeans(["x", "y"], 2, epsilon="1/3", strategy="grid")

    centres.round(1).blowfish.plot(ax=axes)

    assert any(word.startswith("epsilon about 0.3333, no error bars") for word in _words(axes))
    assert not any("\N{PLUS-MINUS SIGN}" in word for word in _words(axes))
    for edited in (
        centres.assign(x=np.nan),
        centres.assign(y="a"),
        centres.drop(columns="y"),
        centres.head(0),
    ):
        with pytest.raises(FrameError):
            edited.blowfish.plot(ax=Figure().subplots())


def test_two_releases_on_one_axes(asked, axes):
    """Have colours of their own."""
    for _ in range(2):
        asked.kmeans(["x", "y"], 2, epsilon=2).blowfish.plot(ax=axes)

    filled = [each for each in axes.collections if each.get_alpha() == 0.55]
    assert len({to_hex(each.get_facecolors()[0]) for each in filled}) == 2


def test_it_is_drawn(asked):
    """The picture can be rendered."""
    drawn = asked.groupby("sex").kmeans(["x", "$z$"], 3, epsilon=2).blowfish.plot()

    drawn.figure.canvas.draw()
