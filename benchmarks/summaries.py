"""What pandas users ask first: errors of mean, var, median, quartiles and top 10 beside other libraries.

Run: python benchmarks/summaries.py [--runs 200] [--columns NAME ...] [--tumult] [--no-create]. Columns (those
whose names begin so) are read from ../shared/data: without it there is nothing to ask. OpenDP and diffprivlib
are asked where this Python has them, else in an environment of their own (.venv-peers/NAME, made when it is
not there), Tumult Analytics in its own and only with --tumult, as it takes minutes. A library that does not
install or fails is left out, and that is said.

Equal promise: whether a row's value is x or y, any two declared values, is hidden at epsilon; the number of
rows is known. That is ours under `full()`. What a library protects by adding and removing rows is asked at
half of epsilon: a change is one row less and one more.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))
import peer_environments
from papers.experiment import DATA, ERRORS
from peers import asked
from ranges import progress, table
from summaries_job import (
    MANY,
    MEAN,
    MEDIAN,
    NUMERIC,
    QUARTERS,
    QUARTILES,
    TOP,
    VAR,
    Column,
    Job,
    ask_all,
    fewer,
)

import pandas_blowfish as bf
from pandas_blowfish.plan.joint_noise import Joint, joint_variances
from pandas_blowfish.plan.scales import Scales, variance
from pandas_blowfish.policy.domain import Domain, integers

HERE = Path(__file__).resolve().parent
EPSILONS = (0.1, 1.0)
OURS = "ours"
FEWER = {"tumult": 8}  # of how many runs one is asked where each takes long
UNITS = {
    MEAN: "% of the standard deviation",
    VAR: "% of the variance",
    MEDIAN: "% of rows between",
    QUARTILES: "% of rows between",
    TOP: "% of rows missed",
}


@dataclass(frozen=True)
class Realistic:
    """A policy that someone may state for a column: `name` in tables, and the secret."""

    name: str
    secret: Any


def near(distance: int, name: str) -> Realistic:
    """Return a policy that hides values up to a distance from each other."""
    return Realistic(name, bf.threshold(distance))


def within(groups: pd.Series, codes: pd.Series, name: str) -> Realistic:
    """Return a policy that discloses a group and hides the value within it."""
    return Realistic(name, bf.partition([sorted(set(part)) for _, part in codes.groupby(groups)]))


def columns() -> dict[Column, Realistic]:
    """Return real columns as whole numbers from 0, each with a realistic policy.

    Raises:
        FileNotFoundError: The data are no part of the project, and are not there.
    """
    adult, acs, taxis = (
        pd.read_csv(DATA / f"{name}.csv.gz") for name in ("adult", "acs_nist_national2019", "nyc_taxis_2019")
    )
    credit = pd.read_csv(DATA / "german_credit.data.gz", sep=" ", header=None)[4]
    income = pd.to_numeric(acs["PINCP"], errors="coerce").dropna() / 100
    trades = acs[acs["INDP"] != "N"]
    trade = trades["INDP"].astype("category").cat.codes
    rides = taxis.dropna(subset=["pickup_zone", "pickup_borough"])
    zone = rides["pickup_zone"].astype("category").cat.codes

    def numbers(name: str, values: pd.Series, high: int, more: tuple[str, ...] = ()) -> Column:
        whole = values.round().clip(0, high).to_numpy().astype(np.int64)
        return Column(name, whole, high, (*NUMERIC, *more))

    def codes(name: str, values: pd.Series) -> Column:
        return Column(name, values.to_numpy().astype(np.int64), int(values.max()), (TOP,))

    return {
        numbers("adult age", adult["age"], 99, (TOP,)): near(5, "5 years"),
        numbers("adult hours", adult["hours_per_week"], 99, (TOP,)): near(5, "5 hours"),
        numbers("adult capital loss", adult["capital_loss"], 4_499, (TOP,)): near(100, "$100"),
        numbers("ACS income, $100", income, 5_000): near(100, "$10,000"),
        numbers("taxi total, cents", taxis["total"] * 100, 20_000): near(500, "$5"),
        numbers("credit amount, DM", credit, 19_999): near(1_000, "DM 1,000"),
        codes("ACS industry", trade): within(trades["INDP_CAT"], trade, "within the sector"),
        codes("taxi zone", zone): within(rides["pickup_borough"], zone, "within the borough"),
    }


def policy_of(column: Column, secret: Any) -> bf.Policy:
    """Return a policy of one column."""
    return bf.Policy(Domain((integers("x", 0, column.high),)), secrets={"x": secret})


def ask_ours(column: Column, epsilon: float, runs: int, secret: Any) -> dict[str, dict[str, list[Any]]]:
    """Return our own answers under a policy, as the peers write theirs."""
    rows = pd.DataFrame({"x": column.values})
    df = rows.blowfish.protect(policy_of(column, secret), epsilon=10**6, ledger=bf.Ledger()).blowfish["x"]
    verbs = {
        MEAN: lambda: df.mean(epsilon=epsilon)["value"].item(),
        VAR: lambda: df.var(epsilon=epsilon)["value"].item(),
        MEDIAN: lambda: df.median(epsilon=epsilon)["value"].item(),
        QUARTILES: lambda: df.quantile(list(QUARTERS), epsilon=epsilon)["value"].tolist(),
        TOP: lambda: df.top(MANY, epsilon=epsilon)["x"].tolist(),
    }
    many = {MEDIAN: fewer(runs), QUARTILES: fewer(runs)}
    return {name: {OURS: [verbs[name]() for _ in range(many.get(name, runs))]} for name in column.questions}


def interpreter(peer: peer_environments.Peer, *, create: bool) -> Path:
    """Return this Python where it has a peer, else that of the peer's own environment."""
    if peer.name != "tumult" and importlib.util.find_spec(peer.name) is not None:
        return Path(sys.executable)
    return peer_environments.ready(peer, create=create)


def ask_peers(job: Job, *, create: bool, tumult: bool) -> dict[str, Any]:
    """Return the answers of each peer that there is; say why others are left out."""
    found: dict[str, Any] = {}
    for peer in peer_environments.PEERS:
        script = HERE / "peers" / f"summaries_{peer.name}.py"
        if not script.exists() or (peer.name == "tumult" and not tumult):
            continue
        try:
            python = interpreter(peer, create=create)
            with tempfile.TemporaryDirectory() as folder:
                replace(job, runs=max(job.runs // FEWER.get(peer.name, 1), 2)).write(Path(folder))
                told = asked(peer.name, [str(python), str(script)], Path(folder))
        except peer_environments.SkippedError as skipped:
            print(skipped)
            continue
        found[f"{peer.title} {told['version']}"] = told["answers"]
    return found


@dataclass(frozen=True)
class Error:
    """How wrong a method is: its name, the error in percent, and the standard error of that."""

    method: str
    value: float
    spread: float

    def __str__(self) -> str:
        """Return what a table shows."""
        return f"{self.value:.3g} ({self.spread:.1g})" if np.isfinite(self.value) else "fails"


def losses(column: Column, question: str, answers: Any) -> np.ndarray:
    """Return how wrong each run is, in percent (see `UNITS`): squared, but rows that are missed."""
    given, counts = np.asarray(answers, float), column.counts
    if question == TOP:
        best = np.sort(counts)[-MANY:].sum()
        return 100 * (1 - counts[given.astype(int)].sum(axis=1) / best)
    if question in (MEAN, VAR):
        spread, exact = column.values.std(ddof=1), column.values.mean()
        scale, truth = (spread, exact) if question == MEAN else (spread**2, spread**2)
        return (100 * (given - truth) / scale) ** 2
    shares = np.array([0.5]) if question == MEDIAN else np.array(QUARTERS)
    cells = np.clip(np.rint(given.reshape(len(given), -1)), 0, column.high).astype(int)
    upper = np.cumsum(counts)[cells]
    wanted = shares * len(column.values)
    rows = np.maximum(np.maximum(upper - counts[cells] - wanted, wanted - upper), 0)
    return ((100 * rows / len(column.values)) ** 2).mean(axis=1)


def error_of(column: Column, question: str, method: str, answers: Any) -> Error:
    """Return the error of a method: the root of mean squares, or the mean of rows that are missed."""
    if np.isnan(np.asarray(answers, float)).any():
        return Error(method, np.inf, 0.0)
    each = losses(column, question, answers)
    mean, spread = float(each.mean()), float(each.std() / np.sqrt(len(each)))
    if question == TOP:
        return Error(method, mean, spread)
    root = mean**0.5
    return Error(method, root, spread / (2 * root) if root else 0.0)


def verdict(ours: Error, best: Error) -> str:
    """Return whether ours is lowest: beyond two standard errors of the difference, or a tie."""
    if abs(ours.value - best.value) <= ERRORS * np.hypot(ours.spread, best.spread):
        return "tie"
    return "yes" if ours.value < best.value else "NO"


def errors(job: Job, told: Mapping[str, Any]) -> Iterator[list[Any]]:
    """Yield question, column, epsilon, and the error of each library: that of its best method."""
    for question in UNITS:
        for column in job.columns:
            if question not in column.questions:
                continue
            for epsilon in job.epsilons:
                given = [answers[column.name][f"{epsilon:g}"][question] for answers in told.values()]
                ways = [
                    [error_of(column, question, name, each) for name, each in methods.items()]
                    for methods in given
                ]
                yield [question, column, epsilon, *(min(each, key=lambda way: way.value) for each in ways)]


def print_errors(job: Job, stated: Mapping[Column, Realistic], peers: Mapping[str, Any]) -> None:
    """Print a line per question, column and epsilon."""
    full = ask_all(job, lambda *asked: ask_ours(*asked, bf.full()), lambda steps: progress(steps, "full"))
    close = ask_all(
        job,
        lambda column, *asked: ask_ours(column, *asked, stated[column].secret),
        lambda steps: progress(steps, "realistic"),
    )
    many = f"{job.runs} releases, {fewer(job.runs)} of quantiles"
    print(f"\nErrors at an equal promise, with their own standard errors; {many}.\n")
    lines = []
    for question, column, epsilon, ours, own, *others in errors(job, {OURS: full, "own": close, **peers}):
        best = verdict(ours, min(others, key=lambda each: each.value)) if others else "-"
        cells = [f"{each} {each.method}" for each in others]
        head = [f"{question}, {UNITS[question]}", f"{column.name} ({column.cells:,})", f"{epsilon:g}"]
        lines.append([*head, str(ours), *cells, best, f"{own}: {stated[column].name}"])
    heads = ["question", "column (declared values)", "epsilon", "ours, full", *peers, "lowest"]
    table([*heads, "ours, a realistic policy"], lines)


def row_errors(scales: Scales) -> list[float]:
    """Return the standard error of the noise of each query row, as if each had its own under transport."""
    found = np.array([variance(scale) ** 0.5 for scale in scales])
    for code, each in scales.joint.items():
        if each.blocks:
            found[each.rows] = joint_variances(Joint(each.blocks), scales.values[code]) ** 0.5
    return found.tolist()


def needed(alone: list[float], together: list[float]) -> float:
    """Return about the epsilon at which a plan that is stated at 1 has some given errors of its rows."""
    pairs = zip(alone, together, strict=True)
    return float(max((own / given for own, given in pairs if given), default=0))


def print_costs(stated: Mapping[Column, Realistic]) -> None:
    """Print what the parts of a `describe` at epsilon 1 cost when asked one by one with the same noise."""
    lines = []
    for column, realistic in stated.items():
        if MEAN not in column.questions:
            continue
        for name, secret in (("full", bf.full()), (realistic.name, realistic.secret)):
            plan = policy_of(column, secret).plan
            whole = plan.describe("x", epsilon=1)
            scales, curve = row_errors(whole.scales), whole.members[-1].strategy
            spread, quartiles = (
                row_errors(each.scales)
                for each in (
                    plan.std("x", epsilon=1),
                    plan.quantile("x", list(QUARTERS), epsilon=1, strategy=curve),
                )
            )
            parts = [
                needed(row_errors(plan.mean("x", epsilon=1).scales)[:1], scales[:1]),
                needed(spread, scales[: len(spread)]),
                needed(quartiles, scales[len(spread) :]),
            ]
            lines.append(
                [
                    column.name,
                    name,
                    *(f"{each:.3g}" for each in parts),
                    f"{sum(parts):.3g}",
                    "1",
                    "yes" if sum(parts) >= 1 else "NO",
                ]
            )
    print("What the parts of `describe` at epsilon 1 cost, asked one by one with the same noise.\n")
    heads = [
        "column",
        "policy",
        "`mean`",
        "`std`",
        "quartiles",
        "together",
        "`describe`",
        "at most its parts",
    ]
    table(heads, lines)


def main() -> None:
    """Print errors, then costs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument(
        "--columns", nargs="+", default=[""], help="how the names of those to ask about begin"
    )
    parser.add_argument("--tumult", action="store_true", help="ask Tumult Analytics too, which takes minutes")
    parser.add_argument("--no-create", action="store_true", help="leave out peers that are not installed")
    given = parser.parse_args()
    try:
        stated = {
            column: policy
            for column, policy in columns().items()
            if column.name.startswith(tuple(given.columns))
        }
    except FileNotFoundError as absent:
        print(f"{Path(absent.filename).name} is absent from ../shared/data: there is nothing to ask")
        return
    job = Job(tuple(stated), EPSILONS, given.runs)
    peers = ask_peers(job, create=not given.no_create, tumult=given.tumult)
    print_errors(job, stated, peers)
    print_costs(stated)


if __name__ == "__main__":
    main()
