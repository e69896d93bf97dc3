"""Every row of docs/coming_from_pandas.md runs: the left column on rows, the right one on protected rows."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf

PAGE = Path(__file__).resolve().parents[1] / "docs" / "coming_from_pandas.md"
ROW = re.compile(r"^\| `(.+?)` \| `(.+?)` \|$", re.MULTILINE)
LINES = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
ROWS = ROW.findall(PAGE.read_text(encoding="utf-8"))
HEAD = {"| pandas | here |", "| --- | --- |"}


def test_every_row_of_the_page_is_read():
    """No line of a table is left out, and there are as many as the page promises."""
    assert len(ROWS) == len([line for line in LINES if line not in HEAD]) >= 40
    assert len({left for left, _ in ROWS}) == len(ROWS)


@pytest.fixture(scope="module")
def frames():
    """Return the rows, and the rows protected."""
    rows = bf.datasets.patients(2_000)
    return rows, rows.blowfish.protect(bf.datasets.patients_policy(), epsilon=100)


@pytest.mark.filterwarnings("default:.*observed.*")  # of pandas, about categories in its own column
@pytest.mark.parametrize("row", ROWS, ids=[left for left, _ in ROWS])
def test_both_columns_run(row, frames, tmp_path, monkeypatch):
    """As written, on a small example."""
    monkeypatch.chdir(tmp_path)
    shared = {"pd": pd, "np": np, "bf": bf}

    found = [eval(code, {**shared, "df": df}) for code, df in zip(row, frames, strict=True)]

    assert found[1] is not None
    if ".to_csv(" not in row[0]:
        assert found[0] is not None
