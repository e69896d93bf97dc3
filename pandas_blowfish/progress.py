"""A bar on long scans, where somebody watches and tqdm is installed. Touches no row, and shows none."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TypeVar

Item = TypeVar("Item")
DELAY = 2.0  # seconds before a bar is shown


def is_watched() -> bool:
    """Return whether somebody watches: a terminal, or a notebook."""
    return sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)


def show_progress(items: Iterable[Item], what: str, total: int | None = None) -> Iterable[Item]:
    """Return items one after another, with a bar of how many are done once it takes long.

    Nothing is shown where nobody watches: neither a terminal nor a notebook.
    """
    if not is_watched():
        return items
    try:
        from tqdm import tqdm
    except ImportError:
        return items
    bar: Iterable[Item] = tqdm(items, desc=what, total=total, delay=DELAY, leave=False, file=sys.stderr)
    return bar
