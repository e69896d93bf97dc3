"""Words for people, one document for machines, bars for terminals."""

import io
import json
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pandas_blowfish.cli.screen import Screen, format_table, plain


def test_everything_has_a_plain_form():
    """Fractions, paths, numpy, intervals, dates and what is not a number become JSON."""
    index = pd.MultiIndex.from_tuples([(pd.Interval(0, 1), "a"), (pd.NaT, None)], names=["x", None])
    table = pd.DataFrame({"n": [1.5, np.inf], "t": pd.to_datetime(["2026-01-01", None])}, index)
    found = {
        "f": Fraction(1, 3),
        "p": Path("a/b"),
        "n": np.int64(3),
        "b": np.bool_(True),
        1: (float("nan"), None, pd.NA),
        "t": table,
    }

    told = json.loads(json.dumps(plain(found), allow_nan=False))

    assert told["f"] == "1/3"
    assert (told["p"], told["n"], told["b"], told["1"]) == ("a/b", 3, True, [None, None, None])
    assert told["t"]["index"] == [["(0, 1]", "a"], [None, None]]
    assert told["t"]["data"] == [[1.5, "2026-01-01 00:00:00"], [None, None]]


def test_standard_output_is_one_document(capsys):
    """With JSON nothing else is printed there; remarks go to standard error."""
    screen = Screen(as_json=True)

    screen.say("hello")
    screen.note("a remark")
    screen.finish({"é": "ü\ud800"})

    out, err = capsys.readouterr()
    assert json.loads(out) == {"é": "ü\ud800"}
    assert err == "a remark\n"


class _Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("progress", [True, False])
def test_bars_are_for_terminals(monkeypatch, progress):
    """A bar is drawn on a terminal's standard error, and shows a share, no number of rows."""
    monkeypatch.setattr(sys, "stderr", _Terminal())

    with Screen(progress=progress).bar("reading") as tick:
        tick(0.5)
        tick(1.0)

    drawn = sys.stderr.getvalue()
    assert ("reading" in drawn) == progress
    assert "it/s" not in drawn


def test_lines_are_not_written_over_a_bar(monkeypatch, capsys):
    """A line printed meanwhile stands alone: the bar is cleared first."""
    monkeypatch.setattr(sys, "stderr", _Terminal())
    screen = Screen()

    with screen.bar("reading") as tick:
        tick(0.5)
        screen.note("a remark")
        screen.say("a line")

    assert capsys.readouterr().out == "a line\n"
    assert "\ra remark" in sys.stderr.getvalue().replace(" ", "").replace("aremark", "a remark")


def test_no_bars_elsewhere(capsys, monkeypatch):
    """Nothing is drawn into a log, or where the package is not installed."""
    with Screen().bar("reading") as tick:
        tick(1.0)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(sys, "stderr", _Terminal())
    with Screen().bar("reading") as tick:
        tick(1.0)

    assert capsys.readouterr().err == ""
    assert sys.stderr.getvalue() == ""


def test_long_tables_are_shortened():
    """A terminal shows the beginning and the end."""
    text = format_table(pd.DataFrame({"x": range(1_000)}))

    assert 150 < len(text.splitlines()) < 250
