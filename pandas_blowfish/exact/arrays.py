"""Types of arrays that every layer uses, and arrays that nothing can write to."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Draws(Protocol):
    """A source of random draws, handed in by whoever may own one."""

    def integers(self, low: Any, high: Any = ..., size: Any = ...) -> Any:
        """Return whole numbers from `low` up to, not including, `high`."""

    def choice(self, values: Any, size: Any = ..., replace: bool = ..., p: Any = ...) -> Any:
        """Return some of the values."""

    def random(self, size: Any = ...) -> Any:
        """Return numbers between 0 and 1."""


def frozen(array: Ints) -> Ints:
    """Return an array that nothing can write to: a policy that is handed out stays what it was."""
    array = array.view()
    array.setflags(write=False)
    return array
