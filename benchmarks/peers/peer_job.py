"""What every peer is asked, and how its errors, time and memory are measured; runs in any environment.

A script `run_<peer>.py FOLDER` beside this file reads FOLDER/job.npz and FOLDER/job.json, asks its library,
and writes FOLDER/<peer>.json. Needs numpy only. Lines on stdout that start with "@" tell the driver how far
it is.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

ENOUGH, LEAST, ENDLESS = 9, 3, 120.0  # how often a release is timed; seconds after which once is enough
Releases = Callable[[np.ndarray, int, float, int], Iterator[tuple[str, np.ndarray]]]
Prepared = Mapping[str, Callable[[], object]]
Centres = Callable[[np.ndarray, np.ndarray, np.ndarray, int, float, int], np.ndarray]


@dataclass(frozen=True)
class Data:
    """One column as the number of the cell of each row, and the ranges asked (first and last cell)."""

    name: str
    values: np.ndarray
    cells: int
    ends: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """Return the rows of each cell."""
        return np.bincount(self.values, minlength=self.cells)


@dataclass(frozen=True)
class Job:
    """What is asked: errors on some data, times of many rows, and clusters of points (empty: not asked).

    Epsilons are the stated ones and half of each; timing one release stops after `patience` seconds.
    """

    data: tuple[Data, ...]
    points: np.ndarray
    runs: int
    epsilons: tuple[float, ...]
    stated: tuple[float, ...]
    rows: int
    sizes: tuple[int, ...]
    clusters: int
    high: float
    patience: float
    quick: bool

    def brief(self) -> Job:
        """Return what is asked of a slow peer in a quick run."""
        last = self.epsilons[-2:]
        return replace(self, data=self.data[:1], sizes=self.sizes[:1], epsilons=last) if self.quick else self


def save(folder: Path, job: Job) -> None:
    """Write a job for the peers' scripts."""
    arrays = {
        f"{index} {part}": getattr(d, part) for index, d in enumerate(job.data) for part in ("values", "ends")
    }
    np.savez(folder / "job.npz", points=job.points, **arrays)
    told = {each.name: getattr(job, each.name) for each in fields(job) if each.name not in ("data", "points")}
    told["data"] = [(each.name, each.cells) for each in job.data]
    (folder / "job.json").write_text(json.dumps(told), "utf-8")


def load(folder: Path) -> Job:
    """Read a job."""
    told = json.loads((folder / "job.json").read_text("utf-8"))
    with np.load(folder / "job.npz") as held:
        parts = [(held[f"{index} values"], held[f"{index} ends"]) for index in range(len(told["data"]))]
        points = held["points"]
    pairs = zip(told.pop("data"), parts, strict=True)
    data = tuple(Data(name, values, cells, ends) for (name, cells), (values, ends) in pairs)
    told = {name: tuple(value) if isinstance(value, list) else value for name, value in told.items()}
    return Job(data=data, points=points, **told)


def squared(answers: np.ndarray, truth: np.ndarray) -> float:
    """Return the mean squared error per query."""
    return float(np.mean((answers - truth) ** 2))


def ranges(counts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the sums of the cells of each range."""
    below = np.append(0, np.cumsum(counts))
    return np.asarray(below[ends[:, 1] + 1] - below[ends[:, 0]])


def farthest(cumulative: np.ndarray, total: float, counts: np.ndarray) -> float:
    """Return the largest difference of a noisy and the true CDF, the noisy one cut to 0 and 1."""
    told = np.clip(cumulative / max(total, 1.0), 0, 1)
    return float(np.abs(told - np.cumsum(counts) / counts.sum()).max())


def errors(data: Data, answer: np.ndarray) -> dict[str, float]:
    """Return how wrong noisy counts are, themselves, in ranges, as a CDF (by their own or known total)."""
    counts, cumulative = data.counts, np.cumsum(answer)
    return {
        "hist": squared(answer, counts),
        "range": squared(ranges(answer, data.ends), ranges(counts, data.ends)),
        "cdf own": farthest(cumulative, float(answer.sum()), counts),
        "cdf rows": farthest(cumulative, float(counts.sum()), counts),
    }


def seconds(run: Callable[[], object], patience: float) -> list[float]:
    """Return the times of some runs: fewer where they are slow."""
    found: list[float] = []
    while len(found) < LEAST or (len(found) < ENOUGH and sum(found) < patience):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return found


def peak_memory(run: Callable[[], object]) -> tuple[int, int]:
    """Run once; return the bytes resident before and at most during it, of this process and its children."""
    for pid in _family():
        try:
            Path(f"/proc/{pid}/clear_refs").write_text("5")  # forget the largest so far
        except OSError:
            continue
    before = sum(_resident(pid, "VmRSS") for pid in _family())
    run()
    return before, sum(_resident(pid, "VmHWM") for pid in _family())


def _resident(pid: int, field: str) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field)), 0)


def _family() -> list[int]:
    """Return this process and all that it started (Linux; elsewhere none, and memory is 0)."""
    parents = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(place.parent.name)] = int(place.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = [os.getpid()] if parents else []
    for pid in found:
        found.extend(child for child, parent in parents.items() if parent == pid)
    return found


def timings(
    job: Job, prepare: Callable[[np.ndarray, int], Prepared], say: Callable[[str], None]
) -> list[Any]:
    """Return times and memory of histograms of many rows beside numpy.bincount's, in this process."""
    found = []
    for cells in job.sizes if job.rows else ():
        column = np.random.default_rng(0).integers(0, cells, job.rows)
        say(f"time, {cells:,} cells")
        for method, run in prepare(column, cells).items():
            start = time.perf_counter()
            before, most = peak_memory(run)
            first = time.perf_counter() - start
            told = {"method": method, "cells": cells, "rows": job.rows, "first": first}
            times = [first] if first > ENDLESS else seconds(run, job.patience)
            floor = seconds(lambda column=column, cells=cells: np.bincount(column, minlength=cells), 5)
            found.append({**told, "seconds": times, "bincount": floor, "before": before, "peak": most})
    return found


def main(
    peer: str,
    version: str,
    releases: Releases,
    prepare: Callable[[np.ndarray, int], Prepared],
    centres: Centres | None = None,
    *,
    share: float = 1,
) -> None:
    """Ask a peer everything, and write what it said; a slow one is asked a share of the repetitions."""
    folder = Path(sys.argv[1])
    job = load(folder) if share == 1 else load(folder).brief()
    steps = len(job.data) * len(job.epsilons)
    steps += len(job.epsilons) if centres is not None and len(job.points) else 0
    steps += len(job.sizes) if job.rows else 0
    done = 0

    def say(what: str) -> None:
        nonlocal done
        done += 1
        print(f"@ {min(done, steps)}/{steps} {what}", flush=True)

    found = []
    runs = max(2, round(job.runs * share))
    for data in job.data:
        for epsilon in job.epsilons:
            say(f"{data.name}, epsilon {epsilon:g}")
            held: dict[str, list[dict[str, float]]] = {}
            for method, answer in releases(data.values, data.cells, epsilon, runs):
                held.setdefault(method, []).append(errors(data, np.asarray(answer, float)))
            for method, each in held.items():
                told = {what: [one[what] for one in each] for what in each[0]}
                found.append({"data": data.name, "epsilon": epsilon, "method": method, **told})
    clusters = []
    if centres is not None and len(job.points):
        low = np.zeros(job.points.shape[1])
        for epsilon in job.epsilons:
            say(f"k-means, epsilon {epsilon:g}")
            made = centres(job.points, low, low + job.high, job.clusters, epsilon, job.runs)
            clusters.append({"epsilon": epsilon, "centres": np.asarray(made).tolist()})
    speed = timings(job, prepare, say)
    write(folder, peer, {"version": version, "errors": found, "kmeans": clusters, "speed": speed})


def write(folder: Path, peer: str, told: Mapping[str, object]) -> None:
    """Write what a peer said."""
    (folder / f"{peer}.json").write_text(json.dumps({"peer": peer, **told}), "utf-8")
