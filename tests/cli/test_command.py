"""main: as a process, with pipes that break, with errors nobody expected."""

import json
import os
import subprocess
import sys

import pytest

from pandas_blowfish.cli import exits
from pandas_blowfish.cli import policy_commands as look
from pandas_blowfish.version import __version__

COMMAND = [sys.executable, "-m", "pandas_blowfish"]


def test_as_a_process(folder):
    """python -m pandas_blowfish runs a command, and exits with its code."""
    plan = subprocess.run(
        [*COMMAND, "plan", "policy.yaml", "hist('age', epsilon=0.1)", "--json"],
        capture_output=True,
        check=False,
    )
    wrong = subprocess.run([*COMMAND, "plan", "policy.yaml", "hist(age)"], capture_output=True, check=False)

    assert plan.returncode == exits.OK
    assert json.loads(plan.stdout)["cost"] == "1/10"
    assert wrong.returncode == exits.USAGE
    assert not wrong.stdout
    assert b"Traceback" not in wrong.stderr


def test_a_broken_pipe_is_quiet(folder):
    """Whoever stops reading gets no traceback."""
    read, write = os.pipe()
    os.close(read)

    ran = subprocess.run([*COMMAND, "demo"], stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)

    assert ran.returncode == exits.BROKEN_PIPE
    assert ran.stderr == b""


@pytest.mark.parametrize(
    ("error", "code"),
    [(ValueError("row 3: Smith"), exits.UNEXPECTED), (KeyboardInterrupt(), exits.INTERRUPTED)],
)
def test_the_unexpected_is_not_quoted(folder, run, monkeypatch, error, code):
    """An error nobody expected may quote a row: its words are shown only to whoever asks."""

    def broken(path):
        raise error

    monkeypatch.setattr(look, "read_policy", broken)

    ran, as_json = run("lint", "policy.yaml"), run("lint", "policy.yaml", "--json")
    asked = run("lint", "policy.yaml", "--debug")

    assert ran.code == as_json.code == asked.code == code
    assert "Smith" not in ran.err + as_json.out
    assert as_json.document["error"]["type"] == type(error).__name__
    assert "Traceback" in asked.err


def test_help_and_version(run):
    """Both are printed and end well; no command at all is a usage error, in JSON too."""
    assert run("--version").out.strip() == f"pandas-blowfish {__version__}"
    assert "exit codes" in run("--help").out
    assert "jobs" in run("release", "--help").out
    assert run().code == exits.USAGE
    assert run("--json").document["error"]["type"] == "UsageError"


def _shell(words, **environment):
    """Run a release of the folder in a shell, with what follows it there."""
    query = "hist('age', epsilon='0.25')"
    fixed = "--policy policy.yaml --epsilon 1 --ledger budget.db --new"
    line = f'"$0" -m pandas_blowfish release patients.csv "$1" {fixed} {words}'
    return subprocess.run(
        ["sh", "-c", line, sys.executable, query],
        capture_output=True,
        check=False,
        text=True,
        env={**os.environ, **environment},
    )


def test_letters_that_the_terminal_lacks(folder):
    """They are escaped: a job does not stop after it was charged, because of its name."""
    ran = _shell("--dataset '\u00fcber' -o ages.csv", PYTHONIOENCODING="ascii")

    assert ran.returncode == exits.OK
    assert "dataset '\\xfcber': spent 0.25 of 1" in ran.stdout
    assert "dataset '\\xfcber' is new" in ran.stderr


def test_closed_streams(folder):
    """Without standard output or error the job is done all the same, and remarks stay out of the document."""
    ran = [_shell(f"--dataset p --json {closed}") for closed in ("2>&-", ">&-", ">&- 2>&-", "<&- >&- 2>&-")]

    assert [each.returncode for each in ran] == [exits.OK] * 4
    assert json.loads(ran[0].stdout)["releases"][0]["status"] == "charged"
    assert [each.stdout + each.stderr for each in ran[1:]] == [""] * 3
    wrong = _shell("--dataset p --unit nobody 2>&-")
    assert wrong.returncode == exits.LEDGER
    assert wrong.stdout == ""
