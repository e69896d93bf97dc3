"""A Dask cluster of two processes: releases there, and what becomes of one when a worker is killed."""

import os
import signal
import threading
import time
from contextlib import suppress
from fractions import Fraction

import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import EngineError
from pandas_blowfish.policy.domain import Domain, from_dict, integers

distributed = pytest.importorskip("distributed")
dd = pytest.importorskip("dask.dataframe")
pytestmark = [
    pytest.mark.xdist_group("dask"),
    # of distributed's own: ports and loops that are still being closed, and large graphs
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::UserWarning", "ignore::DeprecationWarning"
    ),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]
DOMAIN = Domain((integers("age", 0, 99), from_dict("sex", {"type": "category", "values": ["F", "M"]})))
POLICY = bf.Policy(DOMAIN)
FRAME = pd.DataFrame({"age": [at * 7 % 100 for at in range(400)], "sex": ["F", "M", "M", "F"] * 100})


@pytest.fixture(scope="module")
def cluster():
    """Return two workers, each a process of one thread."""
    import dask

    settings = {
        "distributed.worker.daemon": True,
        "distributed.comm.timeouts.connect": "10s",
        "distributed.scheduler.allowed-failures": 3,
    }
    with dask.config.set(settings):
        made = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        )
        client = distributed.Client(made)
        yield client
        client.close()
        made.close()


@pytest.fixture
def slow(cluster, tmp_path):
    """Return rows whose parts become slow once a file is there, protected."""

    def slowly(part, folder):  # in here, so that workers need not import this file
        if os.path.exists(os.path.join(folder, "slow")):
            with open(os.path.join(folder, "begun"), "a") as begun:
                begun.write(f"{os.getpid()}\n")
            time.sleep(0.7)
        return part

    cluster.wait_for_workers(2, timeout=60)  # one may have been killed, and be starting again
    rows = dd.from_pandas(FRAME, npartitions=4).map_partitions(slowly, str(tmp_path), meta=FRAME.iloc[:0])
    return bf.protect(rows, POLICY, epsilon=10), tmp_path


def _expected(seed, verb):
    with bf.testing.replay(seed):
        return verb(bf.protect(FRAME, POLICY, epsilon=10))


def test_a_cluster_answers_as_pandas(slow):
    """Rows are counted on the workers; the noise is drawn here."""
    protected, _ = slow
    for verb in (
        lambda p: p.hist("age", epsilon=1),
        lambda p: p.groupby("sex").sum("age", epsilon=1),
        lambda p: p.where("age < 50").hist("sex", epsilon=1),
    ):
        with bf.testing.replay(5):
            found = verb(protected)
        pd.testing.assert_frame_equal(found, _expected(5, verb))


def test_a_worker_killed_in_the_middle(slow):
    """The release completes, with the answer of pandas, or fails cleanly; it is charged exactly once."""
    protected, folder = slow
    killed = []

    def kill():
        deadline = time.monotonic() + 20
        begun = folder / "begun"
        while time.monotonic() < deadline and not begun.exists():
            time.sleep(0.02)
        time.sleep(0.2)
        pid = int(begun.read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        killed.append(pid)

    from pandas_blowfish.kernel import measure

    seal = measure.find_change

    def find_change(*given):  # the seal is checked at full speed: what is slow, and killed, is the counting
        found = seal(*given)
        (folder / "slow").touch()
        return found

    killer = threading.Thread(target=kill, daemon=True)
    with pytest.MonkeyPatch.context() as patch, bf.testing.replay(5):
        patch.setattr(measure, "find_change", find_change)
        killer.start()
        found = None
        with suppress(EngineError):
            found = protected.hist("age", epsilon=1)
    killer.join(25)

    assert killed
    assert protected.budget.spent == Fraction(1)
    (folder / "slow").unlink()
    if found is not None:
        pd.testing.assert_frame_equal(found, _expected(5, lambda p: p.hist("age", epsilon=1)))
    with bf.testing.replay(6):
        again = protected.hist("sex", epsilon=1)
    pd.testing.assert_frame_equal(again, _expected(6, lambda p: p.hist("sex", epsilon=1)))
    assert protected.budget.spent == Fraction(2)
