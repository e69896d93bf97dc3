"""How long tests take: which are fast enough for `make check`, and which may be slow, and why.

Nothing here fails a test: a machine may be busy. The summary of a run states seconds by folder, and names
tests of more than 20 seconds; those without a reason in `SLOW` are marked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

LONG = 20  # seconds from which a test needs a reason
FAST = (  # folders and files of `make check`: every layer, together below a minute
    *(
        f"tests/{layer}"
        for layer in ["exact", "policy", "facts", "plan", "count", "books", "kernel", "queries", "verbs"]
    ),
    *(f"tests/beyond/test_{name}.py" for name in ("aggregate", "interval", "verdict")),
    *(f"tests/cli/test_{name}.py" for name in ("exits", "parser", "phrases")),
    "tests/explain/test_glance.py",
    *(f"tests/test_{name}.py" for name in ("accessor", "architecture", "durations", "markup", "pages")),
)
HEAVY = {  # files of these folders that take more than two seconds each: `make test` runs them
    "tests/books": "ledger_processes receipt reprice rules sealkey verify",
    "tests/count/readers": "batches files",
    "tests/count": "encode groups tally_engines units",
    "tests/facts": "move_bound",
    "tests/kernel": "check noise",
    "tests/plan/clusters": "sensitivity whole",
    "tests/plan/line": "inward layouts quantile_curve runs solve_shapes",
    "tests/plan/linear": "atom_rows question solve",
    "tests/plan/shape": "covariance nonnegative",
    "tests/plan/tables": "boxes mesh mesh_lines_crossings question",
    "tests/plan": "choose given goal plan sensitivity worst_case",
    "tests/plan/totals": "moment_solve sensitivity solve solve_middles",
    "tests/policy/graph": "ball joint missing offsets",
    "tests/policy": "margin odds",
    "tests/queries/call": "call_reader",
    "tests/queries/frames": "free free_averages free_clusters free_tables",
    "tests/queries/statistics": "summary",
    "tests/queries": (
        "hist kmeans kmeans_assign known_answers marginal quantile range value_counts weaker_promise workload"
    ),
}
SLOW = {  # test, without parameters -> why it takes more than LONG seconds
    "tests/test_packaging.py::test_first_release_runs_where_it_is_installed": (
        "builds the archives and installs pandas, numpy and scipy into a new environment, for the whole file"
    ),
    "tests/test_packaging.py::test_every_verb_runs_with_nothing_more": "runs all verbs in it",
    "tests/engines/test_spark.py::test_verbs_answer_as_in_pandas": "the first starts Spark and its workers",
    "tests/test_notebooks.py::test_runs_from_a_clean_kernel": "starts a kernel and runs a whole notebook",
    "tests/test_documents.py::test_docs_build_and_name_everything": "builds all pages, pictures included",
    "tests/test_editors.py::test_a_type_checker_knows_what_comes_back": "starts a type checker",
    "tests/benchmarks/test_peers.py::test_diffprivlib_answers_everything": "runs each of a job",
    "tests/benchmarks/test_peers.py::test_ours_under_full_has_the_noise_of_a_changed_value": (
        "runs each question of a job, often enough to see its noise"
    ),
}


class Timed(Protocol):
    """What a report states about one phase of a test."""

    nodeid: str
    duration: float


def is_fast(path: str) -> bool:
    """Return whether a file belongs to `make check`."""
    folder, _, name = path.rpartition("/")
    if name.removeprefix("test_").removesuffix(".py") in HEAVY.get(folder, "").split():
        return False
    return any(path == each or path.startswith(f"{each}/") for each in FAST)


def part(nodeid: str) -> str:
    """Return the top folder of a test: `plan` of tests/plan/line/test_x.py; files on top are one part."""
    first, *rest = nodeid.split("::")[0].split("/")
    if first != "tests":
        return "doctests"
    return rest[0] if len(rest) > 1 else "tests on top"


def summary(reports: Iterable[Timed]) -> Iterator[str]:
    """Yield the seconds of each part, most first, and the tests of more than LONG seconds."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for report in reports:
        seconds[report.nodeid] += report.duration
    parts, tests = defaultdict[str, float](float), Counter[str]()
    for nodeid, taken in seconds.items():
        parts[part(nodeid)] += taken
        tests[part(nodeid)] += 1
    yield f"{sum(parts.values()):8.1f} s  all {len(seconds):,} tests, added over the processes that ran them"
    for name in sorted(parts, key=parts.__getitem__, reverse=True):
        yield f"{parts[name]:8.1f} s  {name} ({tests[name]:,} tests)"
    for nodeid in sorted(seconds, key=seconds.__getitem__, reverse=True):
        if seconds[nodeid] > LONG:
            why = SLOW.get(
                nodeid.split("[")[0].split("@")[0],
                "NO REASON GIVEN: make it shorter, or say why in tests/durations.py",
            )
            yield f"{seconds[nodeid]:8.1f} s  {nodeid}: {why}"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave other files unread where only fast tests are asked for."""
    if config.option.markexpr == "fast" and collection_path.is_file():
        return not is_fast(collection_path.relative_to(config.rootpath).as_posix()) or None
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the fast tests."""
    for item in items:
        if is_fast(item.path.relative_to(config.rootpath).as_posix()):
            item.add_marker(pytest.mark.fast)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how long each part took, after runs of more than one part."""
    reports = [
        each
        for found in terminalreporter.stats.values()
        for each in found
        if isinstance(each, pytest.TestReport)
    ]
    if len({part(report.nodeid) for report in reports}) > 1:
        terminalreporter.section("seconds")
        for line in summary(reports):
            terminalreporter.write_line(line)
