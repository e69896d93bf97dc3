"""Pictures of released frames through matplotlib: error bars, bands. Never sees rows, only releases."""

from __future__ import annotations

from typing import Any

import pandas as pd


def plot(release: pd.DataFrame, *, ax: Any = None, level: Any = 0.95) -> Any:
    """Draw a release and return the Axes."""
    raise NotImplementedError
