"""Errors of summaries beside other libraries, on tiny columns: the job's files, losses, verdicts, costs."""

from __future__ import annotations

import numpy as np
import pytest
import summaries
from summaries import Error, Realistic, peer_environments
from summaries_job import MEAN, MEDIAN, NUMERIC, QUARTILES, TOP, VAR, Column, Job, ask_all, largest, whole

import pandas_blowfish as bf

pytestmark = pytest.mark.xdist_group("peers")
QUESTIONS = (*NUMERIC, TOP)


@pytest.fixture
def column():
    """A hundred numbers up to 19, with ties."""
    return Column("small", np.repeat(np.arange(20), np.arange(20) % 3 + 4), 19, QUESTIONS)


@pytest.fixture
def job(column):
    """One column, one epsilon."""
    return Job((column,), (1.0,), runs=4)


def test_a_job_is_read_as_it_was_written(job, tmp_path):
    """All columns and numbers."""
    job.write(tmp_path)

    read = Job.read(tmp_path)

    assert (read.columns[0].values == job.columns[0].values).all()
    assert read.columns[0].questions == QUESTIONS
    assert (read.columns[0].high, read.epsilons, read.runs) == (19, (1.0,), 4)


def test_answers_are_asked_for_by_column_and_epsilon(job, capsys):
    """The driver is told how far they are."""
    found = ask_all(job, lambda column, epsilon, runs: {MEAN: {"made up": np.full(runs, epsilon)}})

    assert found == {"small": {"1": {MEAN: {"made up": [1.0] * 4}}}}
    assert capsys.readouterr().out == "@ 1/1 small, epsilon 1\n"


def test_true_answers_have_no_error(column):
    """Any value whose rows hold the share is the true quantile."""
    truth = {
        MEAN: [column.values.mean()],
        VAR: [column.values.var(ddof=1)],
        MEDIAN: [np.median(column.values)],
        QUARTILES: [np.quantile(column.values, [0.25, 0.5, 0.75], method="inverted_cdf")],
        TOP: [largest(column.counts)],
    }

    errors = [summaries.error_of(column, name, "exact", answers).value for name, answers in truth.items()]

    assert errors == pytest.approx([0] * 5, abs=1e-9)


def test_errors_are_in_percent(column):
    """Of the deviation, of the variance, of rows between, of rows that the ten most frequent have."""
    few = Column("few", np.array([0] * 10 + [1] * 50 + [2] * 40), 19, QUESTIONS)
    spread = column.values.std(ddof=1)

    assert summaries.losses(column, MEAN, [column.values.mean() + spread / 10]) == pytest.approx([100])
    assert summaries.losses(column, VAR, [0, 2 * spread**2]) == pytest.approx([10_000, 10_000])
    assert summaries.losses(few, MEDIAN, [0, 1, 2]) == pytest.approx([40**2, 0, 10**2])
    assert summaries.losses(few, QUARTILES, [[1, 1, 1]]) == pytest.approx([15**2 / 3])
    assert summaries.losses(few, TOP, [[0, *range(3, 12)]]) == pytest.approx([90])


def test_a_library_that_fails_is_never_lowest(column):
    """It fails where one of its answers is no number."""
    failed = summaries.error_of(column, MEDIAN, "theirs", [1.0, np.nan])

    assert str(failed) == "fails"
    assert summaries.verdict(Error("ours", 1.0, 0.1), failed) == "yes"


def test_a_difference_within_two_standard_errors_is_a_tie():
    """Beyond them it is named."""
    ours = Error("ours", 1.0, 0.3)

    assert [summaries.verdict(ours, Error("theirs", at, 0.4)) for at in (2.1, 1.9, 0.1, -0.1)] == [
        "yes",
        "tie",
        "tie",
        "NO",
    ]


def test_quantiles_between_declared_values_are_read_in_both_ways():
    """To the nearest, and down."""
    assert [each.tolist() for each in whole([1.7, 2.2]).values()] == [[2, 2], [1, 2]]


def test_absent_peers_are_named_and_ours_is_printed(job, tmp_path, monkeypatch, capsys):
    """One line per question; what a describe costs beside its parts, which can draw their noise together."""
    monkeypatch.setattr(peer_environments, "ROOT", tmp_path)
    monkeypatch.setattr(summaries.importlib.util, "find_spec", lambda name: None)
    stated = {job.columns[0]: Realistic("3", bf.threshold(3))}

    peers = summaries.ask_peers(job, create=False, tumult=True)
    summaries.print_errors(job, stated, peers)
    summaries.print_costs(stated)

    text = capsys.readouterr().out
    assert not peers
    assert all(f"{name} is skipped" in text for name in ("OpenDP", "diffprivlib", "Tumult Analytics"))
    assert text.count("| small (20) | 1 |") == len(QUESTIONS)
    assert text.count("| 1 | yes |\n") + text.count("| 1 | NO |\n") == 2
