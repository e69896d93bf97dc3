"""The picture of a comparison: a line a policy over epsilon, bars at one epsilon, words for the rest."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, ArgumentTypeError
from pandas_blowfish.explain.compare import Comparison, decisive
from pandas_blowfish.policy.domain import Domain, integers, values_attribute

mpl.use("Agg")
AGES = Domain((integers("age", 0, 99), values_attribute("sex", "category", ["F", "M"], nullable=False)))
LINE = bf.Policy(AGES, secrets={"age": bf.threshold(1), "sex": bf.public()})
DP = bf.Policy(AGES)
POLICIES = {"line": LINE, "_$dp$": DP}


@pytest.fixture
def axes():
    """Return Axes to draw on."""
    from matplotlib.figure import Figure

    return Figure().subplots()


def _legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_lines_over_epsilons(axes):
    """Both axes logarithmic, a line a policy with its errors, the question as the title."""
    table = bf.compare(POLICIES, lambda plan: plan.cumhist("age"), epsilon=(1, 0.1))

    assert table.plot(ax=axes) is axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert [line.get_xdata().tolist() for line in axes.lines] == [[0.1, 1.0]] * 2
    drawn = [line.get_ydata().tolist() for line in axes.lines]
    assert drawn == [table.loc[name, "rmse"].sort_index().tolist() for name in POLICIES]
    assert _legend(axes) == ["line", r" _\$dp\$"]
    assert axes.get_title(loc="left") == "cumhist('age')"


def test_bars_at_one_epsilon(axes):
    """A bar a policy with its number."""
    table = bf.compare(POLICIES, lambda plan: plan.cumhist("age"))

    table.plot(ax=axes)

    assert [bar.get_width() for bar in axes.patches] == table["rmse"].tolist()
    assert [text.get_text() for text in axes.texts] == [f"{value:,.3g}" for value in table["rmse"]]


def test_what_cannot_be_drawn_is_said(axes):
    """Exact, refused and unknown errors have no place on a logarithmic axis."""
    asked = {
        "sex": lambda plan: plan.hist("sex"),
        "none": lambda plan: plan.hist("weight"),
        "rows": lambda plan: plan.cumhist("age", strategy="dawa"),
    }
    table = bf.compare({"line": LINE}, asked, epsilon=(0.1, 1))

    table.plot(ax=axes)
    words = ["line, sex (exact)", "line, none (refused)", "line, rows (not known before the release)"]
    assert _legend(axes) == words

    axes.clear()
    bf.compare({"line": LINE}, asked).plot(ax=axes)
    assert [text.get_text() for text in axes.texts] == ["exact", "refused", "not known before the release"]


def test_curves_that_coincide_are_all_seen(axes):
    """What is drawn over is wider."""
    table = bf.compare({"a": DP, "b": DP, "c": LINE}, lambda plan: plan.cumhist("age"), epsilon=(0.1, 1))

    table.plot(ax=axes)

    widths = [line.get_linewidth() for line in axes.lines]
    assert widths[0] > widths[1] == widths[2]


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_both_styles_and_new_axes(style, tmp_path):
    """It is drawn with the style's own colours."""
    from matplotlib import pyplot

    with pyplot.style.context(style):
        many = {f"policy {number}": DP for number in range(9)}
        drawn = bf.compare(many, lambda plan: plan.hist("age"), epsilon=np.linspace(0.1, 2, 12)).plot()
        drawn.figure.savefig(tmp_path / "x.png")
    assert len(drawn.lines) == 9
    pyplot.close(drawn.figure)


def test_other_columns_can_be_drawn(axes):
    """The largest standard error, or what clusters add; nothing else."""
    table = bf.compare(POLICIES, lambda plan: plan.cumhist("age"), epsilon=(0.1, 1))

    assert "largest" in table.plot(ax=axes, y="std_high").get_ylabel()
    for wrong in ("cost", "distortion", "x"):
        with pytest.raises(ArgumentError, match="'rmse', 'std_high'"):
            table.plot(ax=axes, y=wrong)
    with pytest.raises(ArgumentTypeError, match="draw on"):
        table.plot(ax=3)


def test_it_is_a_frame():
    """What pandas makes of it is a plain frame; clusters alone are decided by their distortion."""
    table = bf.compare(POLICIES, lambda plan: plan.hist("age"))

    assert isinstance(table, Comparison)
    assert type(table.reset_index()) is pd.DataFrame
    assert "<table" in table._repr_html_()
    assert decisive(table) == "rmse"
    clusters = bf.compare({"dp": DP}, lambda plan: plan.kmeans("age", 2, rows=100))
    assert decisive(clusters) == "distortion"


def test_several_units_never_share_an_axis(axes):
    """Counts have a panel, and so has a sum; what has nothing to draw is named beside the first."""
    asked = {
        "ages": lambda plan: plan.cumhist("age"),
        "sum": lambda plan: plan.sum("age"),
        "mean": lambda plan: plan.mean("age"),
    }

    bf.compare(POLICIES, asked, epsilon=(0.1, 1)).plot(ax=axes)

    assert [panel.get_title(loc="left") for panel in axes.child_axes] == ["counts", "sum of age"]
    assert [len(_legend(panel)) for panel in axes.child_axes] == [4, 2]
    assert "not known before the release" in " ".join(_legend(axes.child_axes[0]))
    counts = bf.compare(POLICIES, {"a": asked["ages"], "b": lambda plan: plan.hist("sex")}, epsilon=(0.1, 1))
    assert not counts.plot(ax=axes.figure.add_subplot()).child_axes


def test_long_names_of_policies_are_wrapped(axes):
    """In lines, beside the picture."""
    name = "a policy whose name says at length what everybody may learn"

    bf.compare({name: LINE}, lambda plan: plan.cumhist("age"), epsilon=(0.1, 1)).plot(ax=axes)

    (shown,) = _legend(axes)
    assert shown.replace("\n", " ") == name
    assert "\n" in shown
