"""The fuzz command finds what it looks for, and a short run of each target finds nothing."""

import random

import fuzz
import pytest


@pytest.mark.parametrize("target", fuzz.TARGETS)
def test_a_short_run_finds_nothing(target, tmp_path):
    """The same inputs each time, as many as a second allows; `make fuzz` runs for longer."""
    found = fuzz.fuzz(target, 1.0, 7, str(tmp_path))

    assert found["inputs"] > 0
    assert found["failures"] == []


def _broken():
    def run(number):
        if number < 0.02:
            raise KeyError(number)
        while number > 0.9:
            pass

    return lambda rng: rng.random(), run


def test_untyped_errors_are_found(tmp_path, monkeypatch):
    """An untyped error is reported with its input, and the input is kept."""
    told = []
    monkeypatch.setitem(fuzz.TARGETS, "broken", _broken)
    monkeypatch.setattr(fuzz, "SLOWEST", 0.1)
    monkeypatch.setattr(fuzz.resource, "setrlimit", lambda *_: None)  # of this very process

    class Pipe:
        def send(self, message):
            told.append(message)

    with monkeypatch.context() as here:
        here.setattr(fuzz.sys, "stdout", fuzz.sys.stdout)
        here.setattr(fuzz.sys, "stderr", fuzz.sys.stderr)
        fuzz.child("broken", 1.0, 1, Pipe(), str(tmp_path))

    wrong = [message[1] for message in told if message[0] == "failure"]
    assert any("KeyError" in each for each in wrong)
    assert any("more than 0.1 s" in each for each in wrong)
    assert list(tmp_path.iterdir())


def test_seeds_repeat():
    """The same seed makes the same inputs."""
    make, _ = fuzz.TARGETS["filters"]()

    assert [make(random.Random(3)) for _ in range(5)] == [make(random.Random(3)) for _ in range(5)]
