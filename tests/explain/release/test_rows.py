"""Many names have a row each, the largest on top; what has no room is counted together."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.explain.release.rows import LISTED, draw_rows
from pandas_blowfish.explain.release.series import Series
from pandas_blowfish.policy.domain import Domain, integers, values_attribute

mpl.use("Agg")
TOWNS = [f"town {number}" for number in range(40)]
TOWNS[7] = "a town whose name is so long that it needs another line"
RANKS = [f"rank {number}" for number in range(30)]


@pytest.fixture(scope="module")
def asked():
    """Return the verbs of a protected frame: town 39 has most rows."""
    town = np.repeat(np.arange(40), np.arange(40) * 5)
    frame = pd.DataFrame({"town": np.array(TOWNS)[town], "rank": np.array(RANKS)[town % 30]})
    frame["age"], frame["sex"] = town, np.array(["F", "M"])[np.arange(len(town)) % 2]
    domain = Domain(
        (
            values_attribute("town", "category", TOWNS, nullable=False),
            values_attribute("rank", "category", RANKS, nullable=False, ranked=True),
            values_attribute("sex", "category", ["F", "M"], nullable=False),
            integers("age", 0, 99),
        )
    )
    policy = bf.Policy(domain, secrets={"age": bf.threshold(5)})
    return frame.blowfish.protect(policy, epsilon=10**4).blowfish


def _labels(axes):
    return [text.get_text() for text in axes.get_yticklabels()]


def test_all_names_are_written_the_largest_on_top(asked):
    """In a figure of our own, which is made high enough; long names are in lines, none is cut."""
    release = asked.hist("town", epsilon=10)

    axes = release.blowfish.plot()

    assert len(release) > LISTED
    labels = _labels(axes)
    assert sorted(label.replace("\n", " ") for label in labels) == sorted(TOWNS)
    assert sum("\n" in label for label in labels) == 1
    widths = [bar.get_width() for bar in sorted(axes.patches, key=lambda bar: bar.get_y())]
    assert widths == sorted(release["count"], reverse=True)
    assert axes.get_ylim()[0] > axes.get_ylim()[1]
    assert axes.figure.get_figheight() > 4.8
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("count", "town")
    pyplot.close(axes.figure)


@pytest.mark.parametrize("post", [True, False])
def test_what_has_no_room_is_counted_together(asked, post):
    """In the last row; the interval holds the true count of those names."""
    release = asked.hist("town", epsilon=1, post=post)

    axes = release.blowfish.plot(ax=Figure(figsize=(6, 3)).subplots(), level=0.999999)

    labels = _labels(axes)
    rest = len(TOWNS) - len(labels) + 1
    assert labels[-1] == f"other ({rest})"
    assert len(axes.patches) == len(labels) - 1 < len(TOWNS)
    (words,) = [text.get_text() for text in axes.texts if text.get_text().endswith(" together")]
    number, error = words.removesuffix(" together").replace(",", "").split(" \N{PLUS-MINUS SIGN} ")
    truth = sum(sorted(np.arange(40) * 5)[:rest])
    assert abs(float(number) - truth) <= float(error)


def test_unshaped_estimates_are_no_series(asked):
    """Where a release has them they are drawn nowhere; the other names are added up by them."""
    both = asked.hist("town", epsilon=1)
    record, release = both.attrs["blowfish"], both.drop(columns="unshaped")
    technical = {**record["technical"], "lowest_shift": 0.0, "highest_shift": 0.0, "noise_terms": "one"}
    release.attrs["blowfish"] = {**record, "technical": technical}  # as earlier versions wrote them

    drawn = [each.blowfish.plot(ax=Figure(figsize=(6, 3)).subplots()) for each in (release, both)]

    assert [len(axes.patches) for axes in drawn] == [len(drawn[0].patches)] * 2
    assert [bar.get_width() for bar in drawn[0].patches] == [bar.get_width() for bar in drawn[1].patches]
    errors = [float(axes.texts[0].get_text().split()[-2].replace(",", "")) for axes in drawn]
    assert errors[1] < errors[0] / 3


def test_groups_share_a_row(asked):
    """As points, with a legend, and one text for both in the last row."""
    release = asked.groupby("sex").hist("town", epsilon=1)

    axes = release.blowfish.plot(ax=Figure(figsize=(6, 3)).subplots())

    assert not axes.patches
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["F", "M"]
    assert any(text.get_text().startswith("F ") and ", M " in text.get_text() for text in axes.texts)


def test_ordered_names_keep_their_order(asked):
    """Ranks are read from the first to the last."""
    axes = asked.hist("rank", epsilon=1).blowfish.plot()

    assert _labels(axes) == RANKS
    pyplot.close(axes.figure)


def test_of_means_the_surest_are_kept(asked):
    """They do not add up: the last row says how many are not shown."""
    release = asked.groupby("town").mean("age", epsilon=1)

    axes = release.blowfish.plot(ax=Figure(figsize=(6, 3)).subplots())

    shown = [label for label in _labels(axes) if not label.startswith("other (")]
    assert "not shown: their errors are larger" in [text.get_text() for text in axes.texts]
    width = (release.blowfish.interval()["high"] - release.blowfish.interval()["low"]).sort_values()
    assert {label.replace("\n", " ") for label in shown} == set(width.index[: len(shown)])
    assert axes.get_xlabel() == "mean of age"
    with pytest.raises(ArgumentError, match="shows something already"):
        release.blowfish.plot(ax=axes)


def test_names_at_a_bound_are_marked():
    """By a triangle that points beyond it."""
    axes, value = Figure().subplots(), np.arange(30.0)
    one = Series("", np.arange(30), value, np.maximum(value - 5, 0), value + 5)

    note = draw_rows(axes, [str(number) for number in range(30)], [one], "x", "count", room=1_000)

    (marks,) = [line for line in axes.lines if line.get_gid() == "blowfish bound"]
    assert marks.get_marker() == "<"
    assert marks.get_xdata().tolist() == [0]
    assert "noise reached a bound" in note
