"""The frame of the reproduced experiments: sections, claims, rows where another is lower, absent data."""

from __future__ import annotations

import pandas as pd
import pytest
import reproduce
from papers import experiment
from papers.experiment import AbsentError, Claim, Experiment, Found, Size, lower_than_ours

TEXT = "# Results\n\nbefore\n"


def section(name: str, body: str) -> str:
    """Return a part of RESULTS.md by an experiment of this name."""
    found = Found(pd.DataFrame({"x": [1.23456], "y": ["a|b"]}), claims=(Claim(body, "1", "reproduced"),))
    return reproduce.section(
        Experiment(name, "paper", "item", lambda *_: found), found, "now", pictured=False
    )


def test_sections_are_replaced_and_others_kept():
    """A run of some experiments leaves the parts of the others, and the text around them, as they were."""
    order = ["one", "two"]
    first = (
        reproduce.rewritten(TEXT, {name: section(name, f"old {name}") for name in order}, order) + "after\n"
    )

    second = reproduce.rewritten(first, {"two": section("two", "new two")}, order)

    assert "old one" in second
    assert "old two" not in second
    assert "new two" in second
    assert second.startswith(TEXT)
    assert second.endswith("after\n")
    assert "2 reproduced, 0 not reproduced, 0 false" in second
    assert reproduce.rewritten(second, {}, order) == second


def test_tables_are_markdown():
    """Numbers have three digits and bars do not split cells."""
    assert "| 1.23 | a\\|b |" in section("one", "claim")


def test_a_verdict_is_one_of_three():
    """Any other word is refused."""
    with pytest.raises(ValueError, match="no verdict"):
        Claim("x", "1", "maybe")


def test_a_lower_sound_mechanism_is_named():
    """Unsound mechanisms, small differences and those within two standard errors are not."""
    rows = [
        ("1", "ours", True, 10.0, 0.1),
        ("1", "lower", True, 9.0, 0.1),
        ("1", "unsound", False, 1.0, 0.1),
        ("1", "within errors", True, 9.8, 0.1),
    ]
    found = pd.DataFrame(rows, columns=["epsilon", "mechanism", "sound", "error", "se"])

    assert lower_than_ours(found, ["epsilon"]) == ["epsilon 1: lower 9 against 10"]
    assert lower_than_ours(found, ["epsilon"], close=0.2) == []


def test_an_absent_file_skips_the_experiment(monkeypatch, tmp_path, capsys):
    """It is said, and nothing is written."""
    monkeypatch.setattr(experiment, "DATA", tmp_path)
    lost = Experiment("lost", "paper", "item", lambda *_: experiment.archive("none.npz"))

    assert reproduce.run([lost], Size(quick=True)) == {}
    assert "none.npz is absent" in capsys.readouterr().out
    with pytest.raises(AbsentError):
        experiment.archive("none.npz")


def test_every_experiment_is_found():
    """Both papers are there, figure by figure."""
    names = set(reproduce.experiments())

    assert {"fig1a", "fig1b", "fig1c", "fig1d", "fig1e", "fig1f", "fig2b", "fig2c", "sensitivities"} <= names
