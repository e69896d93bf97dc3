"""What a run states about its seconds, and that its lists name tests that are there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import durations
from durations import FAST, HEAVY, SLOW, is_fast, summary

ROOT = Path(__file__).resolve().parents[1]


class Phase(NamedTuple):
    """One phase of a test."""

    nodeid: str
    duration: float


def test_summary_adds_up_by_folder(monkeypatch):
    """Phases of a test belong together; a long test has its reason, or is marked."""
    monkeypatch.setattr(durations, "SLOW", {"tests/plan/line/test_a.py::test_long": "it enumerates"})
    phases = [
        Phase("tests/plan/line/test_a.py::test_long[1]@group", 1.5),
        Phase("tests/plan/line/test_a.py::test_long[1]@group", 29.0),
        Phase("tests/plan/test_b.py::test_short", 0.5),
        Phase("tests/test_c.py::test_other", 21.0),
        Phase("pandas_blowfish/testing.py::pandas_blowfish.testing", 0.2),
    ]

    whole, *lines = summary(phases)

    assert whole.split()[:4] == ["52.2", "s", "all", "4"]
    assert [line.split(maxsplit=2)[2] for line in lines[:3]] == [
        "plan (2 tests)",
        "tests on top (1 tests)",
        "doctests (1 tests)",
    ]
    assert lines[3].endswith("test_long[1]@group: it enumerates")
    assert "test_other: NO REASON GIVEN" in lines[4]
    assert len(lines) == 5


def test_fast_tests_are_there():
    """`make check` names folders and files of the tree."""
    files = [f"{folder}/test_{name}.py" for folder, names in HEAVY.items() for name in names.split()]

    assert [path for path in (*FAST, *files) if not (ROOT / path).exists()] == []
    assert not [path for path in files if is_fast(path)]


def test_fast_tests_cover_every_layer():
    """Each folder of the package has some tests in `make check`."""
    files = [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")]
    layers = {path.parent.name for path in (ROOT / "pandas_blowfish").glob("*/__init__.py")}

    covered = {path.split("/")[1] for path in files if is_fast(path)}

    assert not layers - covered


def test_reasons_are_about_tests_that_are_there():
    """A reason goes with its test."""
    for test, why in SLOW.items():
        file, name = test.split("::")
        assert re.search(rf"def {name}\(", (ROOT / file).read_text(encoding="utf-8")), test
        assert len(why) > 10, test
