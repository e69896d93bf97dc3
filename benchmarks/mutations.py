"""Puts faults into the package, one at a time, and sees what stops the releases that lose too much.

Run: python benchmarks/mutations.py [--only TEXT] [--no-tests]. Every fault is tried on small questions; what
their releases really lose is found by the slow twin (`mutation_truth`). The questions are then asked through
the real path, on a ledger in memory: the check of the kernel must refuse those that lose more than they are
charged, before the charge. For what it lets pass, a test file that exists is run with the fault in place
(this module is the plugin: BLOWFISH_FAULT names the fault).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from mutation_cases import CASES, Case, frame_of
from mutation_faults import FAULTS
from mutation_patches import Fault, injected
from mutation_truth import loss_of

import pandas_blowfish as bf
from pandas_blowfish.errors import UnsoundPlanError
from pandas_blowfish.kernel import buckets, measure

ROOT = Path(__file__).resolve().parents[1]
TRIES = 4  # releases of each question: the check draws the cells that it counts
VARIABLE = "BLOWFISH_FAULT"
CHECK, LATER, ERROR, NOT = "the check", "the check, before a later round", "another error", "nothing"


@dataclass(frozen=True)
class Outcome:
    """What became of one question under a fault.

    Attributes:
        case: The question.
        loss: What the release loses, as a multiple of the charge; None where no plan could be made.
        stopped: What stopped each release.
        said: The last error.
    """

    case: str
    loss: Fraction | float | None
    stopped: tuple[str, ...]
    said: str

    @property
    def raised(self) -> bool:
        """Tell whether more is lost than charged."""
        return self.loss is not None and self.loss > 1 + 1e-6

    @property
    def checked(self) -> bool:
        """Tell whether the check stopped every release."""
        return all(each in (CHECK, LATER) for each in self.stopped)


@dataclass
class Seen:
    """What a release did."""

    plan: Any = None
    draws: int = 0


@contextmanager
def watched() -> Iterator[Seen]:
    """Note the plan that the kernel is given, and how often noise is drawn."""
    seen, kept = Seen(), (measure.require_drawable, measure.discrete_laplace, buckets.discrete_laplace)

    def drawable(plan: Any) -> None:
        seen.plan = plan
        kept[0](plan)

    def drawn(*given: Any) -> Any:
        seen.draws += 1
        return kept[1](*given)

    measure.require_drawable, measure.discrete_laplace, buckets.discrete_laplace = drawable, drawn, drawn
    try:
        yield seen
    finally:
        measure.require_drawable, measure.discrete_laplace, buckets.discrete_laplace = kept


def tried(fault: Fault | None, name: str) -> Outcome:
    """Return what becomes of a question under a fault, or without one."""
    case = CASES[name]
    clean = case.policy()
    frame = frame_of(clean, case)
    stopped, said, loss = [], "", None
    for attempt in range(TRIES):
        with injected(fault), watched() as seen:
            how, said = _released(case, frame, seen)
            stopped.append(how)
            if attempt == 0 and seen.plan is not None:
                loss = loss_of(seen.plan, clean, case, frame)
        if attempt == 0 and (loss is None or loss <= 1 + 1e-6):
            break  # harmless here
    return Outcome(name, loss, tuple(stopped), said)


def _released(case: Case, frame: Any, seen: Seen) -> tuple[str, str]:
    """Ask a question through the real path; return what stopped it, and what the error said."""
    ledger, name = bf.Ledger(), "mutations"
    try:
        given = frame.blowfish.protect(
            case.policy(), epsilon=10, dataset=name, ledger=ledger, outside=case.outside
        )
        case.call(given.blowfish)
    except UnsoundPlanError as error:
        spent = ledger.budget(name).spent
        return (CHECK if not spent and not seen.draws else LATER), str(error).splitlines()[0]
    except Exception as error:  # noqa: BLE001  whatever a fault leads to
        return ERROR, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return NOT, ""


def failing_test(fault: Fault) -> str:
    """Return the test file that fails under a fault; "" if none does."""
    if not fault.tests:
        return ""
    path = os.pathsep.join([str(ROOT), str(ROOT / "benchmarks")])
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "mutations",
            "-p",
            "no:cacheprovider",
            fault.tests,
        ],
        cwd=ROOT,
        env={**os.environ, VARIABLE: fault.name, "PYTHONPATH": path},
        capture_output=True,
        check=False,
    )
    return fault.tests if done.returncode == 1 else ""  # 1: tests failed; others: they were not run


_running: Any = None


def pytest_configure() -> None:
    """Put the fault that the environment names in place, before tests are imported."""
    global _running
    if name := os.environ.get(VARIABLE):
        _running = injected(next(each for each in FAULTS if each.name == name))
        _running.__enter__()


def pytest_unconfigure() -> None:
    """Take it out again."""
    if _running is not None:
        _running.__exit__(None, None, None)


@dataclass(frozen=True)
class Row:
    """One fault, and what became of it."""

    fault: Fault
    outcomes: tuple[Outcome, ...]
    test: str

    @property
    def raised(self) -> list[Outcome]:
        """Return the questions whose releases lose too much."""
        return [each for each in self.outcomes if each.raised]

    @property
    def checked(self) -> bool:
        """Tell whether the check stops all of these, always."""
        return all(each.checked for each in self.raised)

    @property
    def stopped(self) -> str:
        """Return what stops the fault, in words."""
        if not self.raised:
            errors = {each.said for each in self.outcomes if each.stopped[0] == ERROR}
            return f"harmless ({'; '.join(sorted(errors))})" if errors else "harmless"
        every = [how for each in self.raised for how in each.stopped]
        if self.checked:
            return LATER if LATER in every else CHECK
        counts = f"the check {sum(how in (CHECK, LATER) for how in every)} of {len(every)} times"
        others = "another error" if ERROR in every else ""
        return (
            ", ".join(
                each
                for each in (
                    counts if {CHECK, LATER} & {*every} else "",
                    others,
                    f"`{self.test}`" * bool(self.test),
                )
                if each
            )
            or "**nothing**"
        )

    @property
    def most(self) -> str:
        """Return the largest loss over the charge."""
        most = max(
            (float(each.loss) for each in self.outcomes if each.loss is not None), default=float("nan")
        )
        return "without limit" if most == float("inf") else f"{most:.4g}"

    def line(self) -> str:
        """Return the row of the table."""
        raised = f"{len(self.raised)} of {len(self.outcomes)}"
        name = f"{self.fault.name} (the check relies on it)" if self.fault.relied else self.fault.name
        return f"| {name} | {self.fault.family} | {raised} | {self.most} | {self.stopped} |"


def rows_of(faults: list[Fault], *, tests: bool) -> Iterator[Row]:
    """Try faults one after another."""
    for fault in faults:
        outcomes = tuple(tried(fault, name) for name in fault.cases)
        row = Row(fault, outcomes, "")
        needed = tests and row.raised and not row.checked
        yield Row(fault, outcomes, failing_test(fault)) if needed else row


def summary(rows: list[Row]) -> list[str]:
    """Return the totals in sentences."""
    raising = [row for row in rows if row.raised]
    own = [row for row in raising if not row.fault.relied]
    stopped = sum(row.checked for row in own)
    left = [row.fault.name for row in raising if not row.checked and not row.test]
    share = f"{100 * stopped / max(len(own), 1):.0f}%"
    relied = [row for row in raising if row.fault.relied]
    return [
        f"{len(rows)} faults, {len(raising)} of which raise the loss on a small domain.",
        f"The check alone stops {stopped} of the {len(own)} below it: {share} (at least 90%).",
        f"{len(relied)} are in what it relies on; it stops {sum(row.checked for row in relied)} of these.",
        "The check or a test stops each." if not left else f"Stopped by neither: {'; '.join(left)}.",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="faults whose name, or family, holds this text")
    parser.add_argument(
        "--no-tests", action="store_true", help="do not run test files for what the check lets pass"
    )
    parser.add_argument("--verbose", action="store_true", help="what became of each question")
    asked = parser.parse_args()
    start = time.process_time()
    for name in CASES:
        without = tried(None, name)
        if without.stopped[0] != NOT or without.raised:
            print(
                f"without a fault: {name}: {without.stopped[0]} {without.said} loss {without.loss}",
                file=sys.stderr,
            )
    chosen = [each for each in FAULTS if asked.only in each.name or asked.only in each.family]
    print(
        "| fault | family | questions that lose more | loss / charge, at most | stopped by |",
        "| --- | --- | --- | --- | --- |",
        sep="\n",
    )
    rows = []
    for row in rows_of(chosen, tests=not asked.no_tests):
        rows.append(row)
        print(row.line(), flush=True)
        for each in row.outcomes if asked.verbose else ():
            print(f"    {each.case}: {each.loss} {each.stopped} {each.said}", file=sys.stderr)
    print("\n" + "\n".join(summary(rows)))
    print(f"{time.process_time() - start:.0f} s of CPU, without tests.", file=sys.stderr)


if __name__ == "__main__":
    main()
