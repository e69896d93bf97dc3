"""Measures whether numbers are as sure as they look: bias and coverage of verbs and of free questions.

Run: python benchmarks/coverage.py [--quick] [--repeats N] [--seed N]. Real columns are released many times at
epsilon 0.01, 0.1 and 1, shaped and not. Printed are, per question, how often 95% intervals hold the truth
(over all columns, and in brackets in the column where that is least) and the bias, in standard errors, of
answers that sum ten or more cells (root mean square, less what so many repeats leave by chance). Rows that
fail are marked: coverage below 94% or above 99.9%, bias above 0.2, each by more than chance. Intervals that
hold whole cells, or values anywhere in their cells, may cover always. "a: b" is the free question b to the
release of a. Skipped where the shared data is absent.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from ranges import progress, table
from scipy.sparse import csr_array

import pandas_blowfish as bf
from pandas_blowfish.policy.domain import Domain, from_dict, integers

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
EPSILONS = ("0.01", "0.1", "1")
EXACT = 10**7  # at which noise is 0 but for a chance of exp(-10^6)
SHARES = [0.1, 0.25, 0.5, 0.75, 0.9]
LARGE = 10  # cells of a sum that may have no bias
SMALL = 200  # cells up to which a workload is asked
LEAST, MOST, BIAS = 0.94, 0.999, 0.2


@dataclass(frozen=True, eq=False)
class Column:
    """A real column with a small one beside it, and what is declared of both."""

    name: str
    rows: pd.DataFrame
    policy: bf.Policy

    @property
    def labels(self) -> pd.Index[Any]:
        """Return its cells."""
        return self.policy.domain["x"].labels()

    @property
    def bounds(self) -> list[tuple[Any, Any]]:
        """Return ranges of at least `LARGE` cells, the tails among them."""
        cells, size = self.labels, len(self.labels)
        left, right = (cells.left, cells.right) if isinstance(cells, pd.IntervalIndex) else (cells, cells)
        cuts = [
            (0, size // 4),
            (size // 4, size // 2),
            (size // 2, size),
            (size - LARGE, size),
            (3, 3 + LARGE),
        ]
        return [(left[start], right[stop - 1] if stop < size else None) for start, stop in cuts]


def _column(name: str, x: pd.Series[Any], g: pd.Series[Any], declared: dict[str, Any], secret: Any) -> Column:
    """Return a column, clipped to what is declared."""
    attribute = from_dict("x", declared) if "type" in declared else integers("x", *declared["of"])
    low, high = declared["of"][:2] if "of" in declared else (declared["min"], declared["max"])
    values = sorted(g.astype(str).unique().tolist())  # public: these are benchmark files
    beside = from_dict("g", {"type": "category", "values": values})
    rows = pd.DataFrame({"x": x.clip(low, high).to_numpy(), "g": g.astype(str).to_numpy()})
    return Column(name, rows, bf.Policy(Domain((attribute, beside)), secrets={"x": secret, "g": bf.full()}))


def columns() -> list[Column]:
    """Return real columns: discrete, tied, zero-inflated and continuous ones."""
    adult, acs = (pd.read_csv(DATA / f"{name}.csv.gz") for name in ("adult", "acs_nist_ma2019"))
    taxis, visits = (pd.read_csv(DATA / f"{name}.csv.gz") for name in ("nyc_taxis_2019", "rand_hie"))
    income = pd.to_numeric(acs["PINCP"], errors="coerce").fillna(0)
    tenths = {"type": "float", "min": 0, "max": 50, "step": 0.1}
    quarters = {"type": "float", "min": 0, "max": 200, "step": 0.25}
    thousands = {"type": "float", "min": 0, "max": 500_000, "step": 1_000}
    return [
        _column("age", adult["age"], adult["sex"], {"of": (0, 120)}, bf.threshold(5)),
        _column("hours", adult["hours_per_week"], adult["sex"], {"of": (0, 99)}, bf.full()),
        _column("gain", adult["capital_gain"], adult["sex"], {"of": (0, 99_999, 100)}, bf.threshold(1_000)),
        _column("tip", taxis["tip"], taxis["color"], tenths, bf.full()),
        _column("fare", taxis["fare"], taxis["color"], quarters, bf.threshold(5)),
        _column("visits", visits["mdvis"], visits["female"], {"of": (0, 99)}, bf.threshold(3)),
        _column("income", income, acs["SEX"], thousands, bf.threshold(10_000)),
    ]


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked, and how its answers are judged.

    Attributes:
        ask: Of protected rows (with epsilon and post), or of a release where it is free.
        of: "rows", or the verb whose release is asked.
        truth: The true answers from the rows; None for the answers without noise.
        sums: Whether its answers sum `LARGE` cells or more.
        whole: Whether intervals hold whole cells, and so may cover always.
        judged: Whether the interval is documented to hold the truth.
    """

    ask: Callable[..., pd.DataFrame]
    of: str = "rows"
    truth: Callable[[Column], Any] | None = None
    sums: bool = False
    whole: bool = False
    judged: bool = True


def questions(column: Column) -> dict[str, Question]:
    """Return every verb, and what may be asked of a release for nothing."""
    cut = column.labels[len(column.labels) // 2]
    low = cut.left if isinstance(cut, pd.Interval) else cut
    found = {
        "hist": Question(lambda df, **how: df.hist("x", **how)),
        "hist, 6 bins": Question(lambda df, **how: df.hist("x", bins=6, **how), sums=True),
        "cumhist": Question(lambda df, **how: df.cumhist("x", **how), sums=True),
        "quantile": Question(
            lambda df, **how: df.quantile("x", SHARES, **how), truth=quantiles_of, whole=True
        ),
        "range": Question(lambda df, **how: df.range("x", column.bounds, **how), sums=True),
        "marginal": Question(lambda df, **how: df.marginal(["g", "x"], **how)),
        "count": Question(lambda df, **how: df.where(f"x >= {low}").count(**how), sums=True),
        "sum": Question(
            lambda df, **how: df.sum("x", **how), truth=lambda c: [c.rows["x"].sum()], whole=True
        ),
        "mean": Question(
            lambda df, **how: df.mean("x", **how), truth=lambda c: [c.rows["x"].mean()], whole=True
        ),
    }
    if len(column.labels) <= SMALL:
        draw = np.random.default_rng(0)
        matrix = csr_array(draw.integers(-1, 2, (6, len(column.labels))))
        found["workload"] = Question(lambda df, **how: df.workload(matrix, "x", **how), sums=True)
    for verb in ("hist", "cumhist"):
        found |= {
            f"{verb}: hist, 6 bins": Question(lambda free: free.hist(bins=6), verb, sums=True),
            f"{verb}: range": Question(lambda free: free.range(column.bounds), verb, sums=True),
            f"{verb}: quantile": Question(
                lambda free: free.quantile(SHARES), verb, truth=quantiles_of, whole=True
            ),
            f"{verb}: mean computed": Question(mean_of, verb, sums=True),
        }
    found["hist: cumhist"] = Question(lambda free: free.cumhist(), "hist", sums=True)
    found["cumhist: hist"] = Question(lambda free: free.hist(), "cumhist")
    return found


def quantiles_of(column: Column) -> Any:
    """Return the true quantiles: the first value that a share of the rows reaches."""
    return np.quantile(column.rows["x"], SHARES, method="inverted_cdf")


def mean_of(free: Any) -> pd.DataFrame:
    """Return the mean as a reader of the release computes it: middles of cells by their counts."""
    counts = free.hist()
    cells = counts.index
    middles = cells.mid if isinstance(cells, pd.IntervalIndex) else cells
    many = counts["unshaped" if "unshaped" in counts.columns else "count"].to_numpy()
    return pd.DataFrame({"value": [float(np.asarray(middles, dtype=float) @ many / many.sum())]})


@dataclass(eq=False)
class Seen:
    """What the repeats of one question on one column gave."""

    question: Question
    truth: Any
    values: list[Any] = field(default_factory=list)
    errors: list[Any] = field(default_factory=list)
    inside: list[Any] = field(default_factory=list)
    refused: str = ""

    def note(self, frame: pd.DataFrame) -> None:
        """Take down one release."""
        name = next(each for each in ("value", "count", "size") if each in frame.columns)
        self.values.append(frame[name].to_numpy(dtype=float))
        if "std" not in frame.columns:
            return
        self.errors.append(frame["std"].to_numpy(dtype=float))
        try:
            bounds = frame.blowfish.interval()
        except bf.errors.FrameError as error:
            self.refused = str(error).splitlines()[0]
            return
        slack = 1e-9 * (1 + np.abs(self.truth))
        low, high = (bounds[end].to_numpy(dtype=float) for end in ("low", "high"))
        self.inside.append((low <= self.truth + slack) & (self.truth - slack <= high))

    def coverage(self) -> float:
        """Return how often noisy answers were held by their intervals, NaN where there were none."""
        if not self.inside:
            return np.nan
        noisy = np.mean(self.errors, axis=0) > 0
        return float(np.mean(self.inside, axis=0)[noisy].mean()) if noisy.any() else np.nan

    def doubt(self) -> float:
        """Return the variance of the coverage: answers of one release are off together."""
        if not self.inside:
            return 0.0
        noisy = np.mean(self.errors, axis=0) > 0
        shares = [each[noisy].mean() if noisy.any() else 1.0 for each in self.inside]
        return float(max(np.var(shares), 1e-6) / len(shares))

    def bias(self) -> tuple[float, int]:
        """Return the sum of squared biases in standard errors, less chance, and of how many answers."""
        off, many = np.mean(self.values, axis=0) - self.truth, len(self.values)
        error = np.mean(self.errors, axis=0) if self.errors else np.std(self.values, axis=0)
        noisy = error > 0
        chance = np.var(self.values, axis=0, ddof=1)[noisy] / many / error[noisy] ** 2
        return float(((off[noisy] / error[noisy]) ** 2 - chance).sum()), int(noisy.sum())


def measure(column: Column, epsilon: str, post: bool, repeats: int) -> dict[str, Seen]:
    """Return what repeated releases of a column gave, by question."""
    df = column.rows.blowfish.protect(column.policy, epsilon=10**12).blowfish
    asked = questions(column)
    exact = {verb: getattr(df, verb)("x", epsilon=EXACT, post=False) for verb in ("hist", "cumhist")}
    seen = {}
    for name, question in asked.items():
        if question.truth is not None:
            truth = np.asarray(question.truth(column), dtype=float)
        else:
            free = question.of != "rows"
            frame = (
                question.ask(exact[question.of].blowfish)
                if free
                else question.ask(df, epsilon=EXACT, post=False)
            )
            truth = frame["value" if "value" in frame.columns else "count"].to_numpy(dtype=float)
        seen[name] = Seen(question, truth)
    for _ in range(repeats):
        made = {}
        for name, question in asked.items():
            if question.of == "rows":
                made[name] = question.ask(df, epsilon=epsilon, post=post)
                seen[name].note(made[name])
            else:
                seen[name].note(question.ask(made[question.of].blowfish))
    return seen


def clusters(column: Column, epsilon: str, repeats: int) -> Seen:
    """Return how sizes of clusters compare with the rows that `assign` finds, which is not promised."""
    df = column.rows.blowfish.protect(column.policy, epsilon=10**12).blowfish
    seen = Seen(Question(mean_of, judged=False), np.zeros(3))
    for _ in range(repeats):
        found = df.kmeans("x", 3, epsilon=epsilon)
        labels = found.blowfish.assign(column.rows)
        seen.truth = np.bincount(labels.to_numpy(dtype=int), minlength=3).astype(float)
        seen.note(found)
    return seen


Results = dict[tuple[str, bool], dict[str, list[Seen]]]  # by question and shape, then epsilon: one per column


def verdict(found: dict[str, list[Seen]]) -> str:
    """Return what fails of a question at any epsilon."""
    first = next(iter(found.values()))[0]
    if not first.question.judged:
        return "not promised"
    wrong = []
    for epsilon, seen in found.items():
        shares, repeats = [each.coverage() for each in seen], len(seen[0].values)
        covered = [share for share in shares if share == share]
        chance = np.array([np.sqrt(each.doubt()) for each in seen])
        low = covered and np.mean(covered) < LEAST - 2 * np.linalg.norm(chance) / len(seen)
        if low or (np.array(shares) < LEAST - 3 * chance).any():
            wrong.append(f"COVERS TOO SELDOM at {epsilon}")
        if covered and np.mean(covered) > MOST and not first.question.whole:
            wrong.append(f"WIDE at {epsilon}")
        if first.question.sums and bias_of(seen) ** 2 > BIAS**2 + 3 * np.sqrt(2 / len(seen)) / repeats:
            wrong.append(f"BIASED at {epsilon}")
    return ", ".join(wrong) or ("no interval" if first.refused else "ok")


def bias_of(seen: list[Seen]) -> float:
    """Return the root mean square bias of a question over columns, in standard errors."""
    parts = [each.bias() for each in seen]
    return float(np.sqrt(max(sum(part for part, _ in parts), 0.0) / max(sum(many for _, many in parts), 1)))


def lines(results: Results) -> Iterator[list[str]]:
    """Yield the rows of the table."""
    for (name, post), found in results.items():
        shares, biases = [], []
        for seen in found.values():
            covered = [share for share in (each.coverage() for each in seen) if share == share]
            shares.append(f"{100 * np.mean(covered):.1f} ({100 * min(covered):.1f})" if covered else "-")
            biases.append(f"{bias_of(seen):.2f}" if seen[0].question.sums else "-")
        yield [name, "shaped" if post else "not", *shares, *biases, verdict(found)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a minute: few repeats")
    parser.add_argument("--repeats", type=int, help="releases of each kind")
    parser.add_argument("--seed", type=int, help="the same noise again")
    given = parser.parse_args()
    if not (DATA / "adult.csv.gz").exists():
        print("skipping: ../shared/data is absent")
        return
    repeats, start, results = given.repeats or (12 if given.quick else 100), time.perf_counter(), Results()
    every = columns()
    with bf.testing.replay(given.seed) if given.seed is not None else contextlib.nullcontext():
        for column in progress(every, "column"):
            for epsilon in EPSILONS:
                for post in (True, False):
                    for name, seen in measure(column, epsilon, post, repeats).items():
                        results.setdefault((name, post), {}).setdefault(epsilon, []).append(seen)
                sized = clusters(column, epsilon, max(repeats // 8, 2))
                results.setdefault(("kmeans sizes", True), {}).setdefault(epsilon, []).append(sized)
    heads = [*(f"coverage at {each}, %" for each in EPSILONS), *(f"bias at {each}" for each in EPSILONS)]
    print(
        f"\n{repeats} releases of each of {', '.join(f'{c.name} ({len(c.labels):,} cells)' for c in every)}\n"
    )
    table(["question", "shape", *heads, "verdict"], lines(results))
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
