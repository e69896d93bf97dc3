"""Files that are written: none that is read, under whatever name, and none twice."""

import os
from pathlib import Path

import pytest

from pandas_blowfish.cli import exits
from pandas_blowfish.cli.outputs import ledger_files, require_distinct, require_unused, require_writable
from pandas_blowfish.errors import ArgumentError


def test_a_used_file_under_other_names(tmp_path, monkeypatch):
    """Relative, through links of both kinds, and one that is not there yet."""
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("rows")
    Path("soft.csv").symlink_to("a.csv")
    os.link("a.csv", "hard.csv")
    Path("folder").symlink_to(tmp_path)

    for name in ("a.csv", "./a.csv", "soft.csv", "hard.csv", "folder/a.csv", str(tmp_path / "a.csv")):
        with pytest.raises(exits.UsageError, match="written over the rows"):
            require_unused([Path("b.csv"), Path(name)], {"the rows": ["a.csv"]})
    with pytest.raises(exits.UsageError, match="written over the ledger"):
        require_unused([Path("folder/none.db")], {"the ledger": ["none.db"]})
    require_unused([Path("b.csv")], {"the rows": ["a.csv"]})


def test_a_ledger_is_several_files():
    """What SQLite and the queue of runs keep beside it belongs to it."""
    names = {place.name for place in ledger_files(Path("x/b.db"))}

    assert names == {"b.db", "b.db-wal", "b.db-shm", "b.db-journal", "b.db.lock", "b.db.seal-key"}


def test_two_releases_in_one_file(tmp_path):
    """Also where only one of several files is the same."""
    a, b, c = (tmp_path / name for name in "abc")

    require_distinct([[a, b], [c]])
    with pytest.raises(exits.UsageError, match="two releases are written to"):
        require_distinct([[a, b], [c, tmp_path / "." / "b"]])
    c.mkdir()
    with pytest.raises(ArgumentError, match="is a directory"):
        require_distinct([[c]])


def test_no_directory_to_write_in(tmp_path, monkeypatch):
    """One that is missing, or read-only, is a matter of files."""
    require_writable(tmp_path)
    with pytest.raises(ArgumentError, match="no directory to write in") as missing:
        require_writable(tmp_path / "no")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ArgumentError) as locked:
        require_writable(tmp_path)

    assert exits.code_of(missing.value) == exits.code_of(locked.value) == exits.FILES
