"""One release at a time, among processes and among key presses."""

import signal
import subprocess
import sys
import threading
import time

import pytest

from pandas_blowfish.cli.locks import delay_interrupts, hold_lock

WAITS = """
import sys
from pathlib import Path
from pandas_blowfish.cli.locks import hold_lock
print("ready", flush=True)
with hold_lock(Path(sys.argv[1])):
    print("in", flush=True)
"""


def test_the_first_interrupt_waits():
    """The block is finished, then the interrupt comes; handlers are as before."""
    before, done = signal.getsignal(signal.SIGINT), []

    def work():
        with delay_interrupts():
            signal.raise_signal(signal.SIGTERM)
            done.append(1)

    with pytest.raises(KeyboardInterrupt):
        work()

    assert done == [1]
    assert signal.getsignal(signal.SIGINT) is before


def test_the_second_interrupt_does_not_wait():
    """Whoever presses twice means it."""

    def work():
        with delay_interrupts():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            pytest.fail("the second one waited")

    with pytest.raises(KeyboardInterrupt):
        work()


def test_other_threads_have_no_signals():
    """Outside the main thread nothing is changed, and nothing fails."""
    done = []

    def work():
        with delay_interrupts():
            done.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert done == [1]


def test_others_wait(tmp_path):
    """Another process comes in only when this one is out."""
    ledger = tmp_path / "budget.db"
    with hold_lock(ledger):
        command = [sys.executable, "-c", WAITS, str(ledger)]
        other = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        time.sleep(0.2)
        assert other.poll() is None
    out, _ = other.communicate()

    assert out == "in\n"


def test_where_there_is_no_lock(tmp_path):
    """A folder that cannot hold the lock does not stop anybody: the ledger itself will tell."""
    with hold_lock(tmp_path / "no" / "budget.db"):
        pass


def test_what_is_ignored_stays_so():
    """A run in the background, which Ctrl-C does not concern, is not stopped by it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with delay_interrupts():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_lock_is_not_written_into(tmp_path):
    """Whatever is in the file stays; a new one is for its owner alone."""
    (tmp_path / "old.db.lock").write_text("keep")

    with hold_lock(tmp_path / "old.db"), hold_lock(tmp_path / "new.db"):
        pass

    assert (tmp_path / "old.db.lock").read_text() == "keep"
    assert (tmp_path / "new.db.lock").stat().st_mode & 0o777 == 0o600


def test_a_link_is_not_followed(tmp_path):
    """A lock that is a link to another file, there or not, makes nobody wait and touches nothing."""
    (tmp_path / "victim").write_text("keep")
    (tmp_path / "a.db.lock").symlink_to("victim")
    (tmp_path / "b.db.lock").symlink_to("nowhere")

    with hold_lock(tmp_path / "a.db"), hold_lock(tmp_path / "b.db"):
        pass

    assert (tmp_path / "victim").read_text() == "keep"
    assert not (tmp_path / "nowhere").exists()
