"""Query rows that a search found are kept on disk where a folder is named, and never trusted."""

import json
import os
from collections import OrderedDict

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan import choose
from pandas_blowfish.plan.linear import optimise as search
from pandas_blowfish.plan.linear.kept_rows import find_kept, keep
from pandas_blowfish.policy.domain import Domain, integers

KEY = b"\x01" * 32


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Name a folder that is not there yet, and forget what was found in memory."""
    found = tmp_path / "kept"
    monkeypatch.setenv("BLOWFISH_CACHE", str(found))
    forget(monkeypatch)
    return found


def forget(monkeypatch):
    """Forget plans, and rows found in this process."""
    monkeypatch.setattr(search, "_found", OrderedDict())
    monkeypatch.setattr(choose, "_plans", OrderedDict())


def plan_curve(epsilon=1):
    """Plan a curve whose best rows are found numerically."""
    policy = bf.Policy(Domain((integers("x", 0, 15),)), secrets={"x": bf.threshold(4)})
    return policy.plan.cumhist("x", epsilon=epsilon, strategy="optimised")


def never(*args):
    """Fail where a search begins."""
    raise AssertionError("searched again")


def test_rows_are_found_again_without_a_search(folder, monkeypatch):
    """One file per search, whose rows another process takes as they are."""
    first = plan_curve()
    names = sorted(each.name for each in folder.iterdir())
    forget(monkeypatch)
    monkeypatch.setattr(search, "_search", never)

    again = plan_curve()

    assert len(names) == 1
    assert names[0].startswith("rows-")
    assert np.array_equal(first.measurement.rows, again.measurement.rows)
    assert first.mse == again.mse


def test_one_search_serves_every_epsilon(folder, monkeypatch):
    """The rows do not depend on it, just their scale."""
    first = plan_curve()
    monkeypatch.setattr(search, "_search", never)

    other = plan_curve("1/7")

    assert len(list(folder.iterdir())) == 1
    assert np.array_equal(first.measurement.rows, other.measurement.rows)
    assert other.measurement.scale == 7 * first.measurement.scale


def test_nothing_is_kept_unless_asked_for(tmp_path, monkeypatch):
    """Without the variable no file is read or written."""
    monkeypatch.delenv("BLOWFISH_CACHE", raising=False)
    monkeypatch.chdir(tmp_path)

    keep(KEY, np.eye(2, dtype=np.int64))

    assert find_kept(KEY, 2) is None
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "3",
        '{"key": "00", "rows": [[1, 0], [0, 1]]}',
        '{"rows": [[1, 0], [0, 1]]}',
        '{"key": "KEY"}',
        '{"key": "KEY", "rows": 3}',
        '{"key": "KEY", "rows": []}',
        '{"key": "KEY", "rows": [[1, 0], [0]]}',
        '{"key": "KEY", "rows": [[1, 0, 0]]}',
        '{"key": "KEY", "rows": [[0.5, 1]]}',
        '{"key": "KEY", "rows": [[true, false]]}',
        '{"key": "KEY", "rows": [[1, 4294967296]]}',
        '{"key": "KEY", "rows": [[1, 99999999999999999999]]}',
        '{"key": "KEY", "rows": [["1", "0"]]}',
        "[" * 100_000,
        "\u00e9",
    ],
)
def test_damaged_and_foreign_files_are_as_good_as_none(text, folder):
    """Whatever a file holds that is not rows over as many atoms, found by this search."""
    folder.mkdir()
    path = folder / f"rows-{KEY.hex()}.json"
    path.write_text(text.replace("KEY", KEY.hex()), encoding="utf-8")

    assert find_kept(KEY, 2) is None

    keep(KEY, np.eye(2, dtype=np.int64))
    assert find_kept(KEY, 2).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("edit", [lambda rows: rows * 0, lambda rows: rows[:1], lambda rows: 7 * rows + 3])
def test_edited_rows_lose_what_they_lose(edit, folder, monkeypatch):
    """Other rows are measured at a scale of their own, if they answer at all and are the best."""
    first = plan_curve()
    (path,) = folder.iterdir()
    kept = json.loads(path.read_text())
    kept["rows"] = edit(np.array(kept["rows"])).tolist()
    path.write_text(json.dumps(kept))
    forget(monkeypatch)

    plan = plan_curve()

    assert plan.privacy_loss() == plan.epsilon
    assert plan.mse >= first.mse * (1 - 1e-9)


def test_two_writers_and_folders_that_cannot_be_written_to(folder, monkeypatch):
    """The last of two wins, and no part of a file stays; a folder that is a file is left alone."""
    keep(KEY, np.eye(2, dtype=np.int64))
    keep(KEY, 2 * np.eye(2, dtype=np.int64))

    assert find_kept(KEY, 2).tolist() == [[2, 0], [0, 2]]
    assert [each.suffix for each in folder.iterdir()] == [".json"]

    monkeypatch.setenv("BLOWFISH_CACHE", os.fspath(folder / f"rows-{KEY.hex()}.json"))
    keep(KEY, np.eye(3, dtype=np.int64))
    assert find_kept(KEY, 3) is None


def test_a_write_that_fails_leaves_nothing(folder, monkeypatch):
    """A full disk is no reason for a plan to fail."""
    monkeypatch.setattr("pathlib.Path.replace", lambda *given: (_ for _ in ()).throw(OSError("full")))

    keep(KEY, np.eye(2, dtype=np.int64))

    assert not list(folder.iterdir())
