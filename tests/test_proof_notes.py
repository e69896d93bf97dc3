"""Every privacy argument names a test that exists, in docstrings and in PROOFS.md."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LINES = ("Requires:", "Ensures:", "Because:", "Checked:")


def _notes():
    """Yield (module, docstring) of every definition whose docstring has a proof note."""
    for path in sorted((ROOT / "pandas_blowfish").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                text = ast.get_docstring(node) or ""
                if "Proof note:" in text:
                    yield f"{path.relative_to(ROOT)}::{node.name}", text


NOTES = list(_notes())


def _exists(test_id: str) -> bool:
    """Return whether a test id names a test function of the suite."""
    file, _, name = test_id.partition("::")
    path = ROOT / file
    return path.exists() and bool(re.search(rf"^def {re.escape(name)}\(", path.read_text(), re.MULTILINE))


@pytest.mark.parametrize(("where", "text"), NOTES, ids=[where for where, _ in NOTES])
def test_notes_are_complete_and_checked(where, text):
    """Four lines, and each test id exists."""
    note = text[text.index("Proof note:") :]

    assert all(line in note for line in LINES)
    ids = re.findall(r"tests/[\w/]+\.py::\w+", note[note.index("Checked:") :])
    assert ids
    assert all(_exists(test_id) for test_id in ids)


def test_proofs_page_points_at_what_exists():
    """Every function and test that PROOFS.md names exists."""
    text = (ROOT / "PROOFS.md").read_text()
    functions = re.findall(r"`(pandas_blowfish(?:\.\w+)+)`", text)
    tests = re.findall(r"`(tests/[\w/]+\.py::\w+)`", text)

    assert len(functions) >= 10
    for name in functions:
        module, _, member = name.rpartition(".")
        try:
            target = importlib.import_module(module)
        except ModuleNotFoundError:  # a method: module.Class.method
            module, _, owner = module.rpartition(".")
            target = getattr(importlib.import_module(module), owner)
        assert hasattr(target, member), name
    assert all(_exists(test_id) for test_id in tests)
    for where, note in NOTES:
        ids = re.findall(r"tests/[\w/]+\.py::\w+", note[note.index("Checked:") :])
        assert any(test_id in tests for test_id in ids), f"PROOFS.md does not list {where}"


def test_a_missing_test_is_found():
    """The check can fail."""
    assert not _exists("tests/test_proof_notes.py::test_that_is_not_there")
    assert not _exists("tests/nowhere.py::test_x")
