"""A folder with rows and a policy, and the command line run in this process."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import pandas_blowfish as bf
from pandas_blowfish.cli import main


@dataclass
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Return standard output, which is one JSON document."""
        return json.loads(self.out)


@pytest.fixture(autouse=True)
def _hears_interrupts() -> Iterator[None]:
    """Let Ctrl-C be heard, though a shell that runs tests in the background lets it be ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, with patients.csv, .parquet and policy.yaml in it."""
    monkeypatch.chdir(tmp_path)
    patients = bf.datasets.patients(600)
    patients.insert(0, "id", [f"{number:05d}" for number in range(600)])
    patients["notes"] = "seen, again"
    patients.to_csv("patients.csv", index=False)
    patients.to_parquet("patients.parquet")
    Path("policy.yaml").write_text(bf.datasets.patients_policy().to_yaml())
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Return a function that runs a command in this process."""

    def command(*words: object) -> Ran:
        capsys.readouterr()
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return command


@pytest.fixture
def release(folder: Path, run: Callable[..., Ran]) -> Callable[..., Ran]:
    """Return a function that runs a release of the folder's rows, the first time or again."""
    fixed = ["patients.csv", "--policy", "policy.yaml", "--dataset", "p", "--ledger", "budget.db"]

    def command(*words: object, epsilon: object = 1, new: bool = True) -> Ran:
        return run("release", *fixed, "--epsilon", epsilon, *(["--new"] if new else []), *words)

    return command
