"""Compares releases with those of OpenDP, diffprivlib, Tumult Analytics and SmartNoise, in one run.

Run: python benchmarks/peers.py [--quick] [--only NAME ...] [--runs N] [--rows N] [--no-create] [--write].
Each peer runs in a virtual environment of its own (.venv-peers/NAME, made when it is not there), one after
another: errors of a histogram, of random ranges and of a CDF, time and memory of many rows over
numpy.bincount in the same process, and k-means. A peer that does not install or fails is left out, and that
is said. Real data are read from ../shared/data, without which only synthetic ones are used. A full run of
all peers (or --write) replaces the peers' part of benchmarks/RESULTS.md and draws
benchmarks/figures/peers_*.png; any other draws into a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))
import peer_environments
import peer_job
import peer_report
from papers import clusters
from papers.experiment import DATA, OURS, AbsentError, Size, archive
from peer_environments import PEERS, Peer, SkippedError
from reproduce import circumstances, whole_number

HERE = Path(__file__).resolve().parent
EPSILONS = ("0.1", "1")
DATASETS = 4  # columns of a full run
LIMIT = 1_800  # seconds a peer may take
CASES = {
    "full": clusters.Case("full", "full"),
    "theta 64": clusters.Case("theta 64", "threshold", clusters.Fraction(64)),
    "theta 32": clusters.Case("theta 32", "threshold", clusters.Fraction(32)),
}


def columns(ranges: int, *, quick: bool) -> tuple[peer_job.Data, ...]:
    """Return the columns that are asked about: one synthetic, and real ones where their files are."""
    draw = np.random.default_rng(9)
    held: dict[str, np.ndarray] = {}
    ages = DATA / "adult.csv.gz"
    if ages.exists():
        held["adult age"] = np.bincount(pd.read_csv(ages, usecols=["age"])["age"], minlength=100)
    else:
        print(f"{ages.name} is absent from ../shared/data: adult age is left out")
    for name, file, key in (
        ("capital loss", "adult_capital_loss.npz", "all_4357"),
        ("HEPTH", "dpbench_1d.npz", "HEPTH"),
    ):
        try:
            if not quick:
                held[name] = archive(file)[key].astype(np.int64)
        except AbsentError as absent:
            print(f"{absent}; {name} is left out")
    made = draw.choice([200, 450, 460, 800], 50_000) + draw.normal(0, 1, 50_000) * draw.choice(
        [2, 60], 50_000
    )
    held["synthetic"] = np.bincount(np.clip(np.rint(made), 0, 1023).astype(int), minlength=1024)
    found = []
    for name, counts in held.items():
        ends = np.sort(draw.integers(0, len(counts), (ranges, 2)), axis=1)
        values = np.repeat(np.arange(len(counts)), counts)
        found.append(peer_job.Data(name, values, len(counts), ends))
    return tuple(found)


def job_of(size: Size, rows: int) -> peer_job.Job:
    """Return what is asked of every peer: the stated epsilons, and half of each (see `peer_report`)."""
    try:
        points = clusters._loaded()["skin 1%"].points
    except KeyError:
        points = np.empty((0, 3))
    epsilons = tuple(float(each) / part for each in EPSILONS for part in (2, 1))
    return peer_job.Job(
        data=columns(size.ranges, quick=size.quick),
        points=points,
        runs=size.runs,
        epsilons=epsilons,
        stated=tuple(map(float, EPSILONS)),
        rows=rows,
        sizes=(100, 10_000),
        clusters=clusters.K,
        high=255.0,
        patience=1 if size.quick else 10,
        quick=size.quick,
    )


def asked(name: str, command: list[str], folder: Path, limit: float = LIMIT) -> dict[str, Any]:
    """Run a peer's script on the job in a folder, tell how far it is, and return what it wrote.

    Raises:
        SkippedError: It failed, or took too long.
    """
    log = folder / f"{name}.log"
    paths = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    started = time.perf_counter()
    with (
        log.open("w", encoding="utf-8") as errors,
        subprocess.Popen(
            [*command, str(folder)],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": paths} if name == OURS else None,
        ) as child,
    ):
        watch = threading.Timer(limit, os.killpg, (child.pid, signal.SIGKILL))  # and all that it started
        watch.start()
        try:
            _follow(name, child)
            child.wait()
        finally:
            watch.cancel()
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
    if child.returncode == -signal.SIGKILL:
        raise SkippedError(f"{name} is left out: it took over {limit:.0f} s, or too much memory")
    if child.returncode:
        lines = log.read_text("utf-8", errors="replace").strip().splitlines() or ["no message"]
        raise SkippedError(f"{name} is left out: it failed: {lines[-1][:300]}")
    told: dict[str, Any] = json.loads((folder / f"{name}.json").read_text("utf-8"))
    return {**told, "took": time.perf_counter() - started}


def _follow(name: str, child: subprocess.Popen[str]) -> None:
    """Show the steps a peer tells of, by tqdm where it is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        tqdm = None
    bar = tqdm(desc=name, unit="step") if tqdm else None
    for line in child.stdout or ():
        if line.startswith("@"):
            place, _, what = line[1:].strip().partition(" ")
            done, _, steps = place.partition("/")
            if bar is None:
                print(f"  {name} {place}: {what}", flush=True)
            else:
                bar.total, bar.n = int(steps), int(done)
                bar.set_postfix_str(what.ljust(40)[:40])
    if bar is not None:
        bar.close()


def collect(chosen: Iterable[Peer], folder: Path, *, create: bool) -> tuple[list[dict[str, Any]], list[str]]:
    """Ask ours and every peer, one after another; return what they said, and who was left out and why.

    Raises:
        SkippedError: Ours failed, without which there is nothing to compare.
    """
    script = str(HERE / "peers" / "run_ours.py")
    told, skipped = [asked(OURS, [sys.executable, script], folder)], []
    for peer in chosen:
        try:
            python = peer_environments.ready(peer, create=create)
            told.append(asked(peer.name, [str(python), str(peer.script)], folder))
        except SkippedError as reason:
            print(reason)
            skipped.append(str(reason))
    return told, skipped


def clustered(told: Iterable[dict[str, Any]], runs: int) -> pd.DataFrame:
    """Return k-means scores of ours, of a sound private Lloyd and of the peers on 1% of the skin data."""
    name, rows = clusters.SKIN01, []
    try:
        scene = clusters.scene(name)
    except AbsentError:
        return pd.DataFrame()
    for epsilon in EPSILONS:
        for policy, case in CASES.items():
            for method in (OURS, clusters.LLOYD) if policy == "full" else (OURS,):
                each = clusters.scores(name, case, epsilon, method, runs)
                rows.append((method, policy, float(epsilon), each))
    for each in told:
        for one in each["kmeans"]:
            scores = np.array([scene.score(np.array(centres)) for centres in one["centres"]])
            rows.append((each["peer"], "", one["epsilon"], scores))
    return pd.DataFrame(rows, columns=["method", "policy", "epsilon", "scores"])


def unkept(given: argparse.Namespace, skipped: list[str], data: int) -> str:
    """Return why a run does not replace RESULTS.md by itself; "" where it does."""
    reasons = {
        "it was quick": given.quick,
        "--runs was given": given.runs is not None,
        "--rows was given": given.rows is not None,
        "not all peers were asked": len(given.only) < len(PEERS),
        "a peer was left out": bool(skipped),
        "data are absent": not given.quick and data < DATASETS,
    }
    return ", ".join(reason for reason, holds in reasons.items() if holds)


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for; return 1 when ours failed, 130 when interrupted."""
    names = [peer.name for peer in PEERS]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few repetitions and rows: a minute or two")
    parser.add_argument("--only", nargs="+", choices=names, default=names, help="these peers, beside ours")
    parser.add_argument(
        "--runs", type=whole_number(1), help="repetitions instead of 50, or of 4 with --quick"
    )
    parser.add_argument("--rows", type=whole_number(0), help="rows that are timed instead of 10^7 (0: none)")
    parser.add_argument(
        "--no-create", action="store_true", help="make no environments: leave absent peers out"
    )
    parser.add_argument(
        "--write", action="store_true", help="replace pictures and the part of RESULTS.md in any case"
    )
    given = parser.parse_args(arguments)
    try:
        return compare(given)
    except SkippedError as reason:
        print(f"\n{reason}")
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted; RESULTS.md left as it was")
        return 130


def compare(given: argparse.Namespace) -> int:
    """Ask everybody, print what they said, and keep it where the run was a whole one."""
    runs = given.runs if given.runs is not None else 4 if given.quick else 50
    size = Size(given.quick, runs, 1_000 if given.quick else 10_000)
    rows = given.rows if given.rows is not None else 10**5 if given.quick else 10**7
    start = time.perf_counter()
    job = job_of(size, rows)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        peer_job.save(folder, job)
        chosen = [peer for peer in PEERS if peer.name in given.only]
        told, skipped = collect(chosen, folder, create=not given.no_create)
    found = clustered(told, runs)
    report = peer_report.Report(told, found, skipped, EPSILONS)
    asked = f"at most {runs} repetitions and {size.ranges:,} ranges"
    text = report.text(circumstances(size, time.perf_counter() - start, asked))
    print(text)
    why = unkept(given, skipped, len(job.data))
    kept = given.write or not why  # pictures and text are of one run
    pictures = HERE / "figures" if kept else Path(tempfile.mkdtemp(prefix="peers_"))
    report.draw(pictures)
    print(f"\npictures: {pictures}")
    if kept:
        peer_report.rewrite(HERE / "RESULTS.md", text)
    else:
        print(f"RESULTS.md left as it was: {why} (--write to replace it all the same)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
