"""Small linear algebra in one thread: sharing it among several takes longer. Never sees rows."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """Return a context in which linear algebra libraries use a single thread.

    A search multiplies thousands of small matrices. On a busy machine each would wait for the other threads
    of its library, up to a hundred times longer than the product takes.

    Examples:
        >>> with one_thread():
        ...     pass
    """
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited


@lru_cache(maxsize=1)
def _controller() -> Any:
    import scipy.linalg  # noqa: F401  its library must be loaded to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
