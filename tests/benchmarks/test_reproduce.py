"""The frame of the reproduced experiments: sections, claims, rows where another is lower, absent data."""

from __future__ import annotations

import pandas as pd
import pytest
import reproduce
from papers import experiment
from papers.experiment import AbsentError, Claim, Experiment, Found, Size, beside_ours, lower_than_ours

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
    """Unsound mechanisms are not; those within two standard errors are named apart."""
    rows = [
        ("1", "ours", True, 10.0, 0.1),
        ("1", "lower", True, 9.0, 0.1),
        ("1", "unsound", False, 1.0, 0.1),
        ("1", "within errors", True, 9.8, 0.1),
    ]
    found = pd.DataFrame(rows, columns=["epsilon", "mechanism", "sound", "error", "se"])

    assert lower_than_ours(found, ["epsilon"]) == ["epsilon 1: lower 9 against 10"]
    assert lower_than_ours(found, ["epsilon"], chance=True) == ["epsilon 1: within errors 9.8 against 10"]
    notes = beside_ours(found, ["epsilon"], "Why.")
    assert "epsilon 1 (10): lower 9. Why." in notes[0]
    assert "epsilon 1 (10): within errors 9.8" in notes[1]


def test_an_absent_file_skips_the_experiment(monkeypatch, tmp_path, capsys):
    """It is said, and nothing is written."""
    monkeypatch.setattr(experiment, "DATA", tmp_path)
    parts: list[dict[str, str]] = []
    lost = Experiment("lost", "paper", "item", lambda *_: experiment.archive("none.npz"))

    assert reproduce.run([lost], Size(quick=True), tmp_path, parts.append) == ({}, ["lost"])
    assert parts == []
    assert "none.npz is absent" in capsys.readouterr().out
    with pytest.raises(AbsentError):
        experiment.archive("none.npz")


def test_every_experiment_is_found():
    """Both papers are there, figure by figure."""
    names = set(reproduce.experiments())

    assert {"fig1a", "fig1b", "fig1c", "fig1d", "fig1e", "fig1f", "fig2b", "fig2c", "sensitivities"} <= names


def test_repetitions_are_those_asked_for():
    """Without a number each experiment has its own."""
    assert Size(quick=False).repeats(20) == 20
    assert Size(quick=False, runs=70).repeats(20) == 70


def test_a_quick_run_leaves_pictures_and_results(monkeypatch, tmp_path, capsys):
    """It draws into a temporary folder and says where; so does one with --runs."""
    results = tmp_path / "RESULTS.md"
    results.write_text(TEXT, "utf-8")
    monkeypatch.setattr(reproduce, "RESULTS", results)
    monkeypatch.setattr(reproduce, "FIGURES", tmp_path / "figures")
    seen = []

    def made(size, _progress):
        seen.append(size.repeats(20))
        claim = Claim("A sentence.", "1", "false")
        return Found(pd.DataFrame({"x": [1]}), lambda figure: figure.subplots(), (claim,), repeats=seen[-1])

    monkeypatch.setattr(reproduce, "experiments", lambda: {"one": Experiment("one", "paper", "item", made)})

    assert [reproduce.main(given) for given in (["--quick"], ["--runs", "2"])] == [0, 0]
    told = capsys.readouterr().out
    assert results.read_text("utf-8") == TEXT
    assert not (tmp_path / "figures").exists()
    assert "[1/1] item" in told
    assert "false: A sentence. (one)" in told
    assert "2 repetitions: verdicts may differ" in told
    assert reproduce.main(["--runs", "2", "--write"]) == 0
    assert (tmp_path / "figures" / "one.png").exists()
    assert "2 repetitions" in results.read_text("utf-8")
    assert seen == [3, 2, 2]


def test_an_interrupted_run_keeps_what_is_done(monkeypatch, tmp_path, capsys):
    """Each part is written when it ends."""
    results = tmp_path / "RESULTS.md"
    results.write_text(TEXT, "utf-8")
    monkeypatch.setattr(reproduce, "RESULTS", results)

    def stopped(*_):
        raise KeyboardInterrupt

    first = Experiment("first", "paper", "item", lambda *_: Found(pd.DataFrame({"x": [1]})))
    known = {"first": first, "second": Experiment("second", "paper", "item", stopped)}
    monkeypatch.setattr(reproduce, "experiments", lambda: known)

    assert reproduce.main([]) == 130
    assert "interrupted in second; kept: first" in capsys.readouterr().out
    assert "reproduce:begin first" in results.read_text("utf-8")


def test_a_part_that_is_not_closed_is_refused():
    """Nothing after it is lost."""
    with pytest.raises(ValueError, match="no <!-- reproduce:end -->"):
        reproduce.rewritten(f"{TEXT}{reproduce.BEGIN}\nafter", {}, [])


@pytest.mark.parametrize("given", ["0", "-5", "two", "1.5"])
def test_repetitions_are_whole_numbers(given):
    """Others are refused before anything runs."""
    with pytest.raises(SystemExit):
        reproduce.main(["--runs", given])
