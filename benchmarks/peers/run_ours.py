"""Ours, asked as the peers are: under full, which is bounded differential privacy, and under thresholds."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import peer_job

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from papers.vldb2015_dawa import answers
from ranges import FULL, Theta, policy_of

import pandas_blowfish  # noqa: F401  (registers the accessor)

POLICIES: dict[Theta, str] = {FULL: "full", 16: "theta 16", 1: "theta 1"}


def errors(data: peer_job.Data, theta: Theta, epsilon: str, runs: int) -> dict[str, dict[str, list[float]]]:
    """Return the errors of shaped (`post=True`, what a user gets) and of unbiased answers."""
    counts = data.counts.astype(np.int64)
    plan = policy_of(data.cells, theta).plan
    bounds = [tuple(pair) for pair in data.ends.tolist()]
    truth = peer_job.ranges(counts, data.ends)
    rows = float(counts.sum())
    asked: dict[str, tuple[object, Callable[[np.ndarray], float]]] = {
        "hist": (plan.hist("x", epsilon=epsilon), lambda told: peer_job.squared(told, counts)),
        "range": (plan.range("x", bounds, epsilon=epsilon), lambda told: peer_job.squared(told, truth)),
        "cdf rows": (plan.cumhist("x", epsilon=epsilon), lambda told: peer_job.farthest(told, rows, counts)),
    }
    found = {
        name: {
            what: [wrong(answers(each, counts, post=post)) for _ in range(runs)]
            for what, (each, wrong) in asked.items()
        }
        for name, post in (("ours", True), ("ours, unbiased", False))
    }
    if theta == FULL:
        cells = plan.hist("x", epsilon=epsilon, strategy="identity")
        pinned = (summed(answers(cells, counts, post=False), rows) for _ in range(runs))
        found["ours, cells"] = {"cdf rows": [peer_job.farthest(each, rows, counts) for each in pinned]}
    return found


def summed(cells: np.ndarray, rows: float) -> np.ndarray:
    """Return cumulative counts of noisy cells, what is above the row count taken off evenly."""
    found = np.cumsum(cells)
    share = np.arange(1, len(cells) + 1) / len(cells)
    return np.asarray(found - (found[-1] - rows) * share)


def prepare(column: np.ndarray, cells: int) -> peer_job.Prepared:
    """Return whole releases of many rows: seal check, charge, count, noise, shape, receipt."""
    frame, policy = pd.DataFrame({"x": column}), policy_of(cells, FULL)
    place = Path(tempfile.mkdtemp())
    held = frame.blowfish.protect(policy, epsilon=10**6)
    filed = frame.blowfish.protect(policy, epsilon=10**6, dataset="peers", ledger=place / "ledger.db")

    def whole() -> object:
        return frame.blowfish.protect(policy, epsilon=1).blowfish.hist("x", epsilon=1)

    return {
        "ours": lambda: held.blowfish.hist("x", epsilon=1),
        "ours, file ledger": lambda: filed.blowfish.hist("x", epsilon=1),
        "ours, with protect": whole,
    }


def main() -> None:
    """Ask ours everything but clusters, which the driver asks."""
    folder = Path(sys.argv[1])
    job = peer_job.load(folder)
    found = []
    epsilons = [f"{each:g}" for each in job.stated]
    steps = [(data, theta, epsilon) for data in job.data for theta in POLICIES for epsilon in epsilons]
    many = len(steps) + (len(job.sizes) if job.rows else 0)
    for done, (data, theta, epsilon) in enumerate(steps, 1):
        print(f"@ {done}/{many} {data.name}, {POLICIES[theta]}, epsilon {epsilon}", flush=True)
        for name, told in errors(data, theta, epsilon, job.runs).items():
            head = {"data": data.name, "epsilon": float(epsilon), "method": name, "policy": POLICIES[theta]}
            found.append({**head, **told})
    later = iter(range(len(steps) + 1, many + 1))
    speed = peer_job.timings(job, prepare, lambda what: print(f"@ {next(later)}/{many} {what}", flush=True))
    told = {"version": version("pandas-blowfish"), "errors": found, "kmeans": [], "speed": speed}
    peer_job.write(folder, "ours", told)


if __name__ == "__main__":
    main()
