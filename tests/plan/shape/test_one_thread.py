"""Linear algebra in one thread, and as many as before afterwards."""

import numpy as np
from threadpoolctl import threadpool_info

from pandas_blowfish.plan.shape.one_thread import one_thread


def test_one_thread_inside_and_as_before_after():
    """The limit holds inside the context alone."""
    _ = np.ones((2, 2)) @ np.ones((2, 2))
    with one_thread():
        pass  # libraries that load late are loaded now
    before = [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]

    with one_thread():
        inside = [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
    after = [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]

    assert inside
    assert set(inside) == {1}
    assert after == before
