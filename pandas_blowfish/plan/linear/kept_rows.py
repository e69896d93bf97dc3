"""Query rows that a search has found, kept as files where `BLOWFISH_CACHE` names a folder.

Never sees rows of a table. A file is a proposal like what the search itself returns: who measures the rows
works out their loss exactly, the kernel once more. One that is damaged, or about another search, is ignored.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.exact.arrays import Ints

ENVIRONMENT = "BLOWFISH_CACHE"
LARGEST = 1 << 31  # the largest number of a row
MAX_BYTES = 1 << 26  # of a file


def find_kept(key: bytes, atoms: int) -> Ints | None:
    """Return the rows over so many atoms that are kept under a key; None where there are none to be used."""
    path = _path(key)
    if path is None:
        return None
    try:
        if path.stat().st_size > MAX_BYTES:
            return None
        kept = json.loads(path.read_text(encoding="ascii"))
        rows: NDArray[Any] = np.array(kept["rows"] if kept["key"] == key.hex() else 0)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    usable = rows.dtype == np.int64 and rows.ndim == 2 and rows.shape[-1] == atoms
    if not usable or int(rows.max(initial=0)) > LARGEST or int(rows.min(initial=0)) < -LARGEST:
        return None
    return rows.astype(np.int64)


def keep(key: bytes, rows: Ints) -> None:
    """Keep rows under a key, where there is a folder that can be written to.

    The file appears as a whole or not at all, whoever else writes it at the same time.
    """
    path = _path(key)
    if path is None or not rows.size:
        return
    text = json.dumps({"key": key.hex(), "rows": rows.tolist()}, separators=(",", ":"))
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
        try:
            with os.fdopen(number, "w", encoding="ascii") as file:
                file.write(text)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)


def _path(key: bytes) -> Path | None:
    """Return where rows of a key are kept; None where nothing is kept."""
    folder = os.environ.get(ENVIRONMENT, "").strip()
    return Path(folder).expanduser() / f"rows-{key.hex()}.json" if folder else None
