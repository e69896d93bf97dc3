"""Releases to files, each there whole or not at all. Never sees rows."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.export import MAX_SHEET_ROWS, save
from pandas_blowfish.plan.plan import Plan


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
