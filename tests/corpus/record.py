"""Record what the library answers today: `python tests/corpus/record.py [plans releases answers ledger]`.

Run it when an answer is meant to change, and say in the commit which and why. The ledger is written with real
noise, so each recording of it is another file; older files are worth keeping, for they must stay readable.
`answers` leaves the file as it is and records how its named answers are shown today.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
warnings.filterwarnings("ignore", category=FutureWarning)

from corpus.cases import (  # noqa: E402
    BOOKS,
    PROMISES,
    Answer,
    Book,
    Fact,
    Release,
    considered_cases,
    named_answers,
    plan_cases,
    policy_of,
    release_cases,
)
from corpus.describe import (  # noqa: E402
    describe_budget,
    describe_candidates,
    describe_entries,
    describe_plan,
    describe_release,
    plain,
    receipt_of,
)
from threadpoolctl import threadpool_info  # noqa: E402

import pandas_blowfish as bf  # noqa: E402

LEDGER, KEY = "ledger.sqlite", "ledger.sqlite.seal-key"
SEED = 2026


def rounding() -> list[str]:
    """Return what decides how floats are rounded: processor kernels and versions of the linear algebra."""
    own = {str(each.get("architecture")) for each in threadpool_info() if each["user_api"] == "blas"}
    return [*sorted(own), *(f"{name} {version(name).rpartition('.')[0]}" for name in ("numpy", "scipy"))]


def planned(case: Any) -> dict[str, Any]:
    """Return the plan of a case as plain data, or the name of the error that refuses it."""
    try:
        plan = case.ask(policy_of(case.promise).plan)
    except bf.BlowfishError as error:
        return {"error": type(error).__name__}
    return describe_plan(plan)


def considered(case: Any) -> list[list[Any]]:
    """Return every candidate of a case."""
    return describe_candidates(case.ask(policy_of(case.promise).plan))


def replayed(release: Release) -> dict[str, Any]:
    """Return a release of a case under replayed noise, from a ledger of its own."""
    frame = PROMISES[release.case.promise].frame(release.rows)
    policy = policy_of(release.case.promise)
    rows = frame.blowfish.protect(policy, epsilon=10, dataset="corpus", ledger=bf.Ledger())
    with bf.testing.replay(SEED):
        return describe_release(release.make(rows.blowfish))


def record_plans() -> dict[str, Any]:
    """Return every plan, the candidates of some, and the fingerprints of all policies."""
    return {
        "rounding": rounding(),
        "fingerprints": {name: policy_of(name).fingerprint for name in PROMISES},
        "plans": {case.name: planned(case) for case in plan_cases()},
        "candidates": {case.name: considered(case) for case in considered_cases()},
    }


def record_releases() -> dict[str, Any]:
    """Return every release under replayed noise."""
    return {release.name: replayed(release) for release in release_cases()}


def record_ledger(folder: Path) -> dict[str, Any]:
    """Write a ledger file and its seal key, and return what they hold.

    It is written elsewhere and copied, closed: nothing in it may depend on where it lies.
    """
    with tempfile.TemporaryDirectory() as place:
        ledger = bf.Ledger(os.path.join(place, LEDGER))
        answers: dict[str, Any] = {}
        for name, book in BOOKS.items():
            answers |= _write(book, name, ledger)
        ledger.verify()
        found = {
            "entries": describe_entries(ledger),
            "budgets": {name: describe_budget(ledger.budget(name)) for name in BOOKS},
            "answers": answers,
        }
        ledger.close()
        assert sorted(os.listdir(place)) == [LEDGER, KEY], "the ledger is not closed"
        for file in (LEDGER, KEY):
            assert place.encode() not in Path(place, file).read_bytes()
            shutil.copyfile(Path(place, file), folder / file)
    return found


def record_answers(folder: Path) -> dict[str, Any]:
    """Return what the recorded ledger holds, its named answers as they are read today."""
    found: dict[str, Any] = json.loads((folder / "ledger.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as place:
        for file in (LEDGER, KEY):
            shutil.copyfile(folder / file, Path(place, file))
            Path(place, file).chmod(0o600)
        ledger = bf.Ledger(os.path.join(place, LEDGER))
        for name, (dataset, answer) in named_answers().items():
            rows = BOOKS[dataset].protect(dataset, ledger, BOOKS[dataset].last_total)
            result = answer.release.make(rows.blowfish, name=answer.name)
            found["answers"][name]["release"] = describe_release(result)
        ledger.close()
    return found


def _write(book: Book, name: str, ledger: bf.Ledger) -> dict[str, Any]:
    """Return the named answers of a dataset, with their receipts, as they are released."""
    rows, found = book.protect(name, ledger, book.total), {}
    for step in book.steps:
        if isinstance(step, Fact):
            ledger.record_exact(name, step.fact)
        elif not isinstance(step, Answer):
            ledger.raise_budget(name, step.total, step.reason)
        else:
            result = step.release.make(rows.blowfish, name=step.name)
            receipt = plain(receipt_of(result))
            found[f"{name}: {step.name}"] = {"release": describe_release(result), "receipt": receipt}
    return found


def main(parts: list[str]) -> None:
    """Write the parts that are named, or all."""
    makers = {"plans": record_plans, "releases": record_releases, "ledger": lambda: record_ledger(HERE)}
    for part in parts or makers:
        made = record_answers(HERE) if part == "answers" else makers[part]()
        lines = json.dumps(made, separators=(",", ":")).replace('},"', '},\n"')
        file = "ledger" if part == "answers" else part
        (HERE / f"{file}.json").write_text(f"{lines}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
