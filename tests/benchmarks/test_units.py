"""Errors of people with several rows, on a tiny table: promises, the job's files, peers that are absent."""

from __future__ import annotations

import numpy as np
import pytest
import units
from units import CHANGE, CLOSE, COME, Job, peer_environments
from units_job import as_runs

pytestmark = pytest.mark.xdist_group("peers")


@pytest.fixture
def job():
    """Sixty person-years of twenty people."""
    draw = np.random.default_rng(0)
    rows = {
        "person": np.repeat(np.arange(20), 3),
        "age": draw.integers(0, 10, 60),
        "visits": draw.integers(0, 21, 60),
        "admitted": draw.integers(0, 2, 60),
    }
    return Job(rows, most=3, ages=10, high=20, epsilon=1.0, runs=2)


def test_a_job_is_read_as_it_was_written(job, tmp_path):
    """All columns and numbers; copies have people of their own."""
    job.write(tmp_path)

    read, copies = Job.read(tmp_path), job.copies()

    assert all((read.rows[name] == column).all() for name, column in job.rows.items())
    assert {**vars(read), "rows": None} == {**vars(job), "rows": None}
    assert len(np.unique(copies["person"])) == 40
    assert np.bincount(copies["run"]).tolist() == [60, 60]


def test_answers_are_ordered_by_run_and_key():
    """Whatever order a library returns groups in."""
    runs, keys = np.array([1, 0, 1, 0]), np.array([0, 1, 1, 0])

    assert as_runs([runs, keys], np.array([10, 1, 11, 0])) == [[0, 1], [10, 11]]


def test_promises_are_those_that_are_stated(job):
    """Where rows come and go another value is two steps, as for the peers; else one, or some small ones."""
    far = {"age": 0}, {"age": 9}

    found = {promise: units.policy_of(promise, job) for promise in units.PROMISES}

    assert {name: policy.distance(*far) for name, policy in found.items()} == {COME: 2, CHANGE: 1, CLOSE: 2}
    assert [policy.rows_public for policy in found.values()] == [False, True, True]
    assert all(policy.max_rows == 3 for policy in found.values())


def test_absent_peers_are_named_and_ours_is_printed(job, tmp_path, monkeypatch, capsys):
    """One line per promise."""
    monkeypatch.setattr(peer_environments, "ROOT", tmp_path)

    units.print_errors(job, create=False)

    text = capsys.readouterr().out
    assert "OpenDP is skipped: .venv-peers/opendp is not there" in text
    assert "Tumult Analytics is skipped" in text
    assert text.count(f"| {units.OURS} |") == len(units.PROMISES)
    assert "60 rows of 20 people, at most 3 each" in text


def test_errors_are_stated_with_their_own():
    """Of misses that are all alike it is 0, of none missed both are."""
    assert units.error_of(np.array([2.0, -2.0])) == "2 +- 0"
    assert units.error_of(np.zeros(3)) == "0 +- 0"
    assert units.error_of(np.array([[0.0, 4.0]])) == "2.83 +- 1"
