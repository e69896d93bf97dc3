"""The files that a command writes: whole or not at all, none that it reads, none twice. Never sees rows."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pandas_blowfish.cli.exits import FILES, UsageError, fail_with
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.export import MAX_SHEET_ROWS, save
from pandas_blowfish.plan.plan import Plan

BESIDE = ("", "-wal", "-shm", "-journal", ".lock", ".seal-key")  # what a ledger's file has beside it


def write(result: Any, out: Path) -> list[Path]:
    """Write a release, or a dict of them, with its receipt; return the files.

    They are made beside their place and moved there when all are whole, receipts first: whoever reads one
    meanwhile finds the old one or the new one.
    """
    with tempfile.TemporaryDirectory(prefix=".blowfish-", dir=out.parent) as hold:
        made = save(result, Path(hold) / out.name)
        moved = [out.with_name(each.name) for each in made]
        pairs = sorted(zip(made, moved, strict=True), key=lambda pair: pair[1].suffix == out.suffix)
        for each, place in pairs:
            os.replace(each, place)
    return moved


def require_room(plan: Plan, out: Path | None) -> None:
    """Refuse answers that their file cannot hold."""
    if out is not None and out.suffix == ".xlsx" and len(plan.index) > MAX_SHEET_ROWS:
        raise ArgumentError("out", f"a sheet holds {MAX_SHEET_ROWS:,} rows", fix="write .parquet or .csv.")


def require_directory(path: Path) -> None:
    """Refuse a file to be made in a directory that is not there."""
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))


def ledger_files(ledger: Any) -> list[Path]:
    """Return the files of a ledger, there or not."""
    return [Path(f"{ledger}{ending}") for ending in BESIDE]


def require_unused(written: Iterable[Path], used: Mapping[str, Sequence[Any]]) -> None:
    """Refuse to write over a file that the command uses, under whatever name.

    Args:
        written: Every file that will be written.
        used: Files by what they are to the command.
    """
    taken = {mark: what for what, places in used.items() for place in places for mark in _marks(place)}
    for place in written:
        if what := next((taken[mark] for mark in _marks(place) if mark in taken), None):
            raise UsageError(f"{str(place)!r} would be written over {what}", "give another --out.")


def require_distinct(written: Sequence[Sequence[Path]]) -> None:
    """Refuse releases of which two are written to one file; for each, all of its files."""
    taken: set[tuple[object, ...]] = set()
    for places in written:
        own = set[tuple[object, ...]]()
        for place in places:
            if place.is_dir():
                raise ArgumentError("out", f"{str(place)!r} is a directory", fix="choose another name.")
            if _marks(place) & taken:
                raise UsageError(f"two releases are written to {str(place)!r}", "give each its own file.")
            own |= _marks(place)
        taken |= own


def require_writable(directory: Path) -> None:
    """Refuse a directory in which no file can be made."""
    if not directory.is_dir() or not os.access(directory, os.W_OK):
        with fail_with(FILES):
            problem = f"{str(directory)!r} is no directory to write in"
            raise ArgumentError("out", problem, fix="make it first, or choose another.")


def _marks(place: Any) -> set[tuple[object, ...]]:
    """Return what identifies a file: where it really is, and which one it is if it is there."""
    found: set[tuple[object, ...]] = {(os.path.normcase(os.path.realpath(place)),)}
    try:
        status = os.stat(place)
    except OSError:
        return found
    return found | {(status.st_dev, status.st_ino)}
