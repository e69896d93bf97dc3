"""People with several rows: time of keeping 3 rows of each, and errors beside OpenDP and Tumult Analytics.

Run: python benchmarks/units.py [--rows 10000000] [--people 1000000] [--runs 400] [--only time|errors]
[--no-create]. Times are those of 10^7 rows of 10^6 people, against pandas' own cumcount. Errors are of
person-years of the RAND health insurance experiment, read from ../shared/data: without it there are none.
Each peer runs in an environment of its own (.venv-peers/NAME, made when it is not there); one that does not
install or fails is left out, and that is said.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))
import peer_environments
from papers.experiment import DATA
from peers import asked
from units_job import CHANGE, COME, Job

import pandas_blowfish as bf
from pandas_blowfish.count.units import keep_rows
from pandas_blowfish.policy.domain import Domain, from_dict, integers

HERE = Path(__file__).resolve().parent
KEY = "5e" * 32
TIMES = 3
CLOSE = "change, by 5 years and 2 visits at most"
PROMISES = (COME, CHANGE, CLOSE)
OURS = "pandas_blowfish"
FEWER = {"tumult": 8}  # of how many runs one is asked where each takes seconds
QUESTIONS = {
    "hist": "`hist` of age, per cell",
    "mean": "`mean` of visits",
    "people": "`count(units=True)`",
}


def timed(work: Callable[[], Any]) -> float:
    """Return the least time of a few runs, in seconds."""
    found = []
    for _ in range(TIMES):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def print_times(rows: int, people: int, most: int) -> None:
    """Print a line per way."""
    draw = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "who": draw.integers(0, people, rows),
            "age": draw.integers(0, 100, rows),
            "ill": draw.random(rows) < 0.1,
        }
    )
    domain = Domain((integers("age", 0, 99), from_dict("ill", {"type": "bool"})))

    def cumcount() -> pd.DataFrame:
        return frame[frame.groupby("who").cumcount() < most]

    def kept() -> Any:
        return keep_rows(frame, tuple(domain), "who", most, KEY, clip=False).rows

    assert len(cumcount()) == len(kept())
    base = timed(lambda: frame.groupby("who").cumcount())
    for name, work in (("cumcount, then rows", cumcount), ("keep_rows, sealed", kept)):
        spent = timed(work)
        print(f"{name:20} {spent:6.2f} s, {spent / base:4.1f} times groupby(unit).cumcount() ({base:.2f} s)")


def read_job(runs: int) -> Job | None:
    """Return person-years: age, visits to doctors (20 for more), whether admitted to hospital."""
    place = DATA / "rand_hie.csv.gz"
    if not place.exists():
        print(f"{place.name} is absent from ../shared/data: errors are left out")
        return None
    years = pd.read_csv(place, usecols=["zper", "xage", "mdvis", "totadm"])
    rows = {
        "person": years["zper"].to_numpy(),
        "age": years["xage"].to_numpy().astype(int),
        "visits": years["mdvis"].clip(0, 20).to_numpy(),
        "admitted": (years["totadm"] > 0).to_numpy().astype(int),
    }
    return Job(rows, most=5, ages=65, high=20, epsilon=1.0, runs=runs)


def policy_of(promise: str, job: Job) -> bf.Policy:
    """Return the policy of a promise.

    Where rows come and go and no two values are joined, another value is two steps, as for the peers: one row
    goes and another comes.
    """
    domain = Domain(
        (integers("age", 0, job.ages - 1), integers("visits", 0, job.high), integers("admitted", 0, 1))
    )
    stated: dict[str, dict[str, Any]] = {
        COME: {"secrets": dict.fromkeys(domain.columns, bf.public()), "presence": True},
        CHANGE: {},
        CLOSE: {"secrets": {"age": bf.threshold(5), "visits": bf.threshold(2), "admitted": bf.full()}},
    }
    return bf.Policy(domain, max_rows=job.most, **stated[promise])


def ask_ours(job: Job) -> dict[str, dict[str, list[Any]]]:
    """Return our own answers, as the peers write theirs."""
    found: dict[str, dict[str, list[Any]]] = {}
    for promise in PROMISES:
        df = (
            pd.DataFrame(job.rows)
            .blowfish.protect(policy_of(promise, job), epsilon=10**6, unit="person", ledger=bf.Ledger())
            .blowfish
        )
        ill = df.where("admitted == 1")
        found[promise] = {
            "hist": [df.hist("age", epsilon=job.epsilon)["count"].tolist() for _ in range(job.runs)],
            "mean": [df.mean("visits", epsilon=job.epsilon)["value"].tolist() for _ in range(job.runs)],
            "people": [ill.count(epsilon=job.epsilon, units=True)["count"].tolist() for _ in range(job.runs)],
        }
    return found


def ask_peers(job: Job, *, create: bool) -> dict[str, dict[str, Any]]:
    """Return the answers of each peer that there is; say why others are left out."""
    found: dict[str, dict[str, Any]] = {}
    for peer in peer_environments.PEERS:
        script = HERE / "peers" / f"units_{peer.name}.py"
        if not script.exists():
            continue
        try:
            python = peer_environments.ready(peer, create=create)
            with tempfile.TemporaryDirectory() as folder:
                replace(job, runs=max(job.runs // FEWER.get(peer.name, 1), 2)).write(Path(folder))
                told = asked(peer.name, [str(python), str(script)], Path(folder))
        except peer_environments.SkippedError as skipped:
            print(skipped)
            continue
        found[f"{peer.title} {told['version']}"] = told["answers"]
    return found


def error_of(misses: np.ndarray) -> str:
    """Return the root of the mean square of misses, with its own standard error."""
    squares = misses.ravel() ** 2
    error = np.sqrt(squares.mean())
    spread = squares.std() / np.sqrt(squares.size) / (2 * error) if error else 0.0
    return f"{error:.3g} +- {spread:.1g}"


def print_errors(job: Job, *, create: bool) -> None:
    """Print the root mean squared error of each library under each promise."""
    truth = job.truth()
    answers = {**ask_peers(job, create=create), OURS: ask_ours(job)}
    many = f"{job.size:,} rows of {len(np.unique(job.rows['person'])):,} people, at most {job.most} each"
    print(f"\nRoot mean squared errors at epsilon {job.epsilon:g} per person; {many}.\n")
    print(f"| all rows of one person may | library | runs | {' | '.join(QUESTIONS.values())} |")
    print("| --- | --- | --- | --- | --- | --- |")
    for promise in PROMISES:
        for library, given in answers.items():
            own = given.get(promise if library == OURS else {CLOSE: CHANGE}.get(promise, promise))
            errors = " | ".join(error_of(np.asarray(own[key]) - truth[key]) for key in QUESTIONS)
            print(f"| {promise} | {library} | {len(own['mean']):,} | {errors} |")


def main() -> None:
    """Print times, then errors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--people", type=int, default=10**6)
    parser.add_argument("--most", type=int, default=3)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--only", choices=("time", "errors"))
    parser.add_argument("--no-create", action="store_true", help="leave out peers that are not installed")
    given = parser.parse_args()
    if given.only != "errors":
        print_times(given.rows, given.people, given.most)
    job = read_job(given.runs) if given.only != "time" else None
    if job is not None:
        print_errors(job, create=not given.no_create)


if __name__ == "__main__":
    main()
