"""One release at a time: a charge is answered and written before anything comes between. Never sees rows."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any


@contextmanager
def hold_lock(ledger: Path) -> Iterator[None]:
    """Let other runs on the same ledger wait, so that two of the same job do not both pay for an answer.

    The budget is safe without: the ledger has locks of its own. Where there are no file locks, or the lock's
    file is a link or not ours to open, nobody waits. Nothing is ever written into it.
    """
    try:
        import fcntl

        how = os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        lock = os.open(f"{ledger}.lock", how, 0o600)
    except (ImportError, OSError):
        yield
        return
    try:
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)  # which opens the lock


@contextmanager
def delay_interrupts() -> Iterator[None]:
    """Let the first Ctrl-C (or SIGTERM) wait until a charge is answered and written; the second does not."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def wait(number: int, _: Any) -> None:
        if came:
            raise KeyboardInterrupt
        came.append(number)

    heard = [each for each in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(each) != signal.SIG_IGN]
    before = {number: signal.signal(number, wait) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt
