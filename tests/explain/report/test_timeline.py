"""A budget over time: steps that rise, marks where something else happened, words for all of it."""

import re
from fractions import Fraction

import pytest

from pandas_blowfish.explain.report.account import Line
from pandas_blowfish.explain.report.timeline import STEPS, Curve, pick_drawn, timeline

START = "2026-01-01T00:00:00.000+00:00"


def _line(number, kind="charge", spent="0", total="1", time=None):
    time = time or f"2026-01-{1 + number % 28:02d}T00:00:00.000+00:00"
    rest = dict.fromkeys(
        ("epsilon", "name", "query", "strategy", "sensitivity", "scale", "checked", "reason", "repriced")
    )
    return Line(number, kind, time, **{**rest, "spent": Fraction(spent), "total": Fraction(total)}, hash="h")


def test_steps_and_marks():
    """What is spent, the total, facts and raises are drawn, and said."""
    lines = [
        _line(0, "open"),
        _line(1, spent="1/2"),
        _line(2, "raise", "1/2", "2"),
        _line(3, "fact", "3/4", "2"),
    ]

    text = timeline(lines)

    assert text.count("<path") >= 4
    assert text.count("◆") == 2  # the mark and the legend
    assert text.count("▲") == 2
    assert "2026-01-01<" in text
    assert "1 charges, 1 recorded facts; 0.75 of 2 is spent" in text
    assert 'role="img"' in text


def test_spent_only_rises_in_the_picture():
    """Upwards is less in SVG: heights never grow along the steps."""
    text = timeline([_line(0, "open"), *(_line(n, spent=f"{n}/20") for n in range(1, 20))])

    heights = [float(each) for each in re.findall(r"V([\d.]+)", re.findall(r'd="(M[^"]*)"', text)[-2])]
    assert heights == sorted(heights, reverse=True)


def test_many_entries_stay_few_steps():
    """Ten thousand entries are a small picture that ends where they do."""
    lines = [
        _line(n, spent=f"{n}/10000", time=f"2026-01-01T{n // 3600:02d}:{n // 60 % 60:02d}:{n % 60:02d}+00:00")
        for n in range(10_000)
    ]

    text = timeline(lines)

    assert len(text) < 40_000
    assert text.count("H") < 4 * (STEPS + 20)
    assert "0.9999 of 1 is spent" in text


def test_curves_have_colours_a_legend_and_words():
    """Each is a line of its own; beneath are their names, cut if long, and room for them."""
    lines = [_line(0, "open"), _line(1, spent="1/2")]
    one, other = (Curve(name, {0: Fraction(0), 1: Fraction(1, 4)}) for name in ("<north>", "w" * 100))

    text = timeline(lines, [one, other])

    colours = re.findall(r'stroke="(#\w+)"', text)
    assert sorted(set(colours)) == sorted({*colours[:2]})
    assert len(colours) == 4  # two lines, two signs
    assert "&lt;north&gt;: 0.25." in text
    assert f">{'w' * 100}<" not in text
    assert 'viewBox="0 0 720 280"' in text


def test_what_is_drawn_ends_with_the_last_entry():
    """Some of many entries, the first and the last among them."""
    lines = [_line(n, spent=f"{n}/10000") for n in range(10_000)]

    drawn = pick_drawn(lines)

    assert (drawn[0], drawn[-1]) == (lines[0], lines[-1])
    assert len(drawn) <= STEPS + 1
    assert pick_drawn(lines[:1]) == lines[:1]
    assert pick_drawn([]) == []


@pytest.mark.parametrize("times", [[START], [START, START], ["never", "ever"], ["2026-02-01", START]])
def test_times_that_do_not_pass(times):
    """Entries are then drawn one after the other."""
    lines = [_line(n, spent=f"{n}/4", time=time) for n, time in enumerate(times)]

    assert "<svg" in timeline(lines)


def test_extremes():
    """No entries, overspent budgets and long fractions are drawn, or not, without trouble."""
    assert timeline([]) == ""
    assert "<svg" in timeline([_line(0), _line(1, spent="3")])
    assert ">1/1000000007<" not in timeline([_line(0, total="1/1000000007")])
