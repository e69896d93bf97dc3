"""A bar is shown where somebody watches, and nowhere else."""

import io
import sys

import pytest

from pandas_blowfish import progress


class Terminal(io.StringIO):
    """What looks like a terminal."""

    def isatty(self):
        """Return True."""
        return True


def test_nothing_is_told_where_nobody_watches(monkeypatch):
    """The items come as they are."""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    items = [1, 2]

    assert progress.show_progress(items, "counting") is items
    monkeypatch.setattr(sys, "stderr", None)
    assert progress.show_progress(items, "counting") is items


def test_a_bar_tells_how_many_are_done(monkeypatch):
    """After a while, on the terminal; with nothing of what the items are."""
    pytest.importorskip("tqdm")
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "DELAY", 0)

    assert list(progress.show_progress(["SECRET"] * 3, "counting", 3)) == ["SECRET"] * 3

    assert "counting" in screen.getvalue()
    assert "SECRET" not in screen.getvalue()


def test_without_tqdm_there_is_no_bar(monkeypatch):
    """It is not required."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setitem(sys.modules, "tqdm", None)

    assert progress.show_progress([1], "counting") == [1]
