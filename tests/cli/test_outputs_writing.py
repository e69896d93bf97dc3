"""Files are there whole or not at all."""

from pathlib import Path

import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.cli.outputs import require_directory, require_room, write
from pandas_blowfish.errors import ArgumentError


@pytest.fixture
def ages():
    """Return a release."""
    df = bf.datasets.patients(100).blowfish.protect(bf.datasets.patients_policy(), epsilon=1)
    return df.blowfish.hist("age", epsilon=1)


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.xlsx"])
def test_written_in_place(tmp_path, ages, name):
    """All files are there, under the names asked for, and nothing else."""
    (tmp_path / name).write_text("old")

    written = write(ages, tmp_path / name)

    assert tmp_path / name in written
    assert sorted(tmp_path.iterdir()) == sorted(written)
    assert (tmp_path / name).stat().st_size > 3


def test_what_fails_leaves_the_old_one(tmp_path, ages, monkeypatch):
    """A file that cannot be made whole does not replace the one that is there."""
    place = tmp_path / "a.csv"
    place.write_text("old")

    def half(self, path, *args, **kwargs):
        Path(path).write_text("ha")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", half)
    with pytest.raises(OSError, match="No space"):
        write(ages, place)

    assert place.read_text() == "old"
    assert list(tmp_path.iterdir()) == [place]


def test_room(tmp_path, monkeypatch):
    """A sheet that is too small, and a folder that is not there, are found before."""
    plan = bf.datasets.patients_policy().plan.hist("age")
    require_room(plan, tmp_path / "x.xlsx")
    monkeypatch.setattr("pandas_blowfish.cli.outputs.MAX_SHEET_ROWS", 99)

    require_room(plan, tmp_path / "x.csv")
    with pytest.raises(ArgumentError, match="sheet"):
        require_room(plan, tmp_path / "x.xlsx")
    with pytest.raises(FileNotFoundError):
        require_directory(tmp_path / "no" / "budget.db")
