"""load reads back what save wrote: numbers, labels, dtypes and the receipt, in every form."""

import json

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, DataFileError, ReceiptError
from tests.test_export import KINDS, _released

FORMS = (".parquet", ".csv", ".xlsx")
POLICY, PATIENTS = bf.datasets.patients_policy(), bf.datasets.patients(300)
ASKED = {
    "hist": lambda df: df.hist("age", epsilon=1),
    "bins": lambda df: df.hist("age", bins=[0, 18, 65], epsilon=1),
    "two columns": lambda df: df.hist(["age", "sex"], epsilon=1),
    "cumhist": lambda df: df.cumhist("age", epsilon=1),
    "quantile": lambda df: df.quantile("age", [0.25, 0.5], epsilon=1),
    "range": lambda df: df.range("age", [(0, 18), (20, None)], epsilon=1),
    "groups": lambda df: df.groupby("sex").hist("age", bins=5, epsilon=1),
    "count": lambda df: df.count(epsilon=1),
    "mean": lambda df: df.mean("age", epsilon=1),
    "mean by group": lambda df: df.groupby("sex").mean("age", epsilon=1),
    "workload": lambda df: df.workload(np.eye(2), "sex", epsilon=1),
}


@pytest.fixture(scope="module")
def df():
    """Return protected patients."""
    return PATIENTS.blowfish.protect(POLICY, epsilon=1_000)


def _require_same(back, released, form=""):
    digits = {"rtol": 1e-14} if form == ".xlsx" else {"check_exact": True}  # a workbook rounds the 17th digit
    pd.testing.assert_frame_equal(back, released, **digits)
    assert type(back.index) is type(released.index)
    assert back.attrs == json.loads(json.dumps(released.attrs))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("verb", ASKED)
def test_a_release_is_read_back_as_it_was(df, verb, form, tmp_path):
    """Numbers to the last digit, labels, dtypes, receipt; and intervals are those of the release."""
    released = ASKED[verb](df.blowfish)
    bf.save(released, tmp_path / f"a{form}")

    back = bf.load(tmp_path / f"a{form}")

    _require_same(back, released, form)
    pd.testing.assert_frame_equal(back.blowfish.interval(), released.blowfish.interval(), rtol=1e-13)
    assert df.blowfish.ledger.verify(back.blowfish.receipt)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("columns", KINDS, ids="-".join)
def test_every_kind_of_label_is_read_back(columns, nullable, form, tmp_path):
    """Bins, instants with and without a zone, flags, categories of numbers, and missing ones."""
    released = _released(columns, nullable)
    bf.save(released, tmp_path / f"a{form}")

    back = bf.load(str(tmp_path / f"a{form}"))

    _require_same(back, released, form)


@pytest.mark.parametrize("form", FORMS)
def test_several_marginals_come_back_as_a_dict(df, form, tmp_path):
    """By the path that save was given; each file of theirs by itself is a frame."""
    tables = df.blowfish.marginal([["region", "sex"], ["sex"]], epsilon=1)
    files = bf.save(tables, tmp_path / f"m{form}")

    back = bf.load(tmp_path / f"m{form}")

    assert back.keys() == tables.keys()
    for key, table in tables.items():
        _require_same(back[key], table, form)
    if form != ".xlsx":
        _require_same(bf.load(files[0]), tables["region", "sex"])


def test_labels_that_look_like_formulas_are_read_back(tmp_path):
    """The apostrophe that keeps a spreadsheet from running them is taken off again."""
    from pandas_blowfish.policy.domain import Domain, from_dict

    spec = {"type": "category", "values": ["=1+1", "'=1", "a,b", 'q"', "", "nan"], "nullable": True}
    domain = Domain((from_dict("=x", spec),))
    released = (
        pd.DataFrame({"=x": []}).blowfish.protect(bf.Policy(domain), epsilon=1).blowfish.hist("=x", epsilon=1)
    )
    for form in FORMS:
        bf.save(released, tmp_path / f"a{form}")

        _require_same(bf.load(tmp_path / f"a{form}"), released, form)


def test_free_questions_are_answered_by_what_was_loaded(df, tmp_path):
    """A CSV answers quantiles as the release does."""
    released = df.blowfish.cumhist("age", epsilon=1)
    bf.save(released, tmp_path / "a.csv")

    back = bf.load(tmp_path / "a.csv")

    assert back.blowfish.quantile(0.5).equals(released.blowfish.quantile(0.5))
    assert back.blowfish.hist(bins=10).equals(released.blowfish.hist(bins=10))


@pytest.mark.parametrize("form", FORMS)
def test_files_without_a_release_are_refused(form, tmp_path):
    """No file, a damaged one, one that pandas wrote: an error of its own type."""
    place = tmp_path / f"a{form}"
    with pytest.raises(DataFileError, match="does not exist"):
        bf.load(place)
    place.write_bytes(b"\x00damaged")
    with pytest.raises(DataFileError):
        bf.load(place)
    plain = pd.DataFrame({"x": [1]})
    {".parquet": plain.to_parquet, ".csv": plain.to_csv, ".xlsx": plain.to_excel}[form](place)
    with pytest.raises(DataFileError, match="receipt"):
        bf.load(place)


def test_edited_receipts_are_refused(df, tmp_path):
    """A part of a wrong type, a frame of other rows, labels that are none."""
    bf.save(df.blowfish.hist("age", bins=5, epsilon=1), tmp_path / "a.csv")
    beside, text = tmp_path / "a.receipt.json", (tmp_path / "a.csv").read_text()
    stated = json.loads(beside.read_text())
    edits = [
        {**stated, "scale": 5},
        {**stated, "frame": {**stated["frame"], "rows": 4}},
        {**stated, "frame": None},
        {**stated, "frame": {"rows": 5, "index": [], "columns": []}},
    ]
    for edited in edits:
        beside.write_text(json.dumps(edited))
        with pytest.raises(ReceiptError):
            bf.load(tmp_path / "a.csv")
    beside.write_text(json.dumps({key: value for key, value in stated.items() if key != "frame"}))
    with pytest.raises(DataFileError, match="labels"):
        bf.load(tmp_path / "a.csv")
    beside.write_text(json.dumps(stated))
    (tmp_path / "a.csv").write_text(text.replace("[0, 19]", "zero"))
    with pytest.raises(ReceiptError):
        bf.load(tmp_path / "a.csv")


def test_an_edited_sheet_is_refused(df, tmp_path):
    """What a reader sees of the receipt is what is loaded."""
    import openpyxl

    place = tmp_path / "a.xlsx"
    bf.save(df.blowfish.hist("sex", epsilon=1), place)
    book = openpyxl.load_workbook(place)
    for row in book["receipt"].iter_rows(min_row=2):
        if row[0].value == "scale":
            row[1].value = "77"
    book.save(place)

    with pytest.raises(ReceiptError, match="edited"):
        bf.load(place)


def test_files_of_two_releases_are_not_mixed(df, tmp_path):
    """A file of another release with a name that begins the same is not taken for one of them."""
    bf.save(df.blowfish.marginal([["region"], ["sex"]], epsilon=1), tmp_path / "m.csv")
    bf.save(df.blowfish.hist("sex", epsilon=1), tmp_path / "m-old.csv")

    with pytest.raises(DataFileError, match="several"):
        bf.load(tmp_path / "m.csv")


def test_paths_are_paths(tmp_path):
    """What save refuses, load refuses."""
    with pytest.raises(ArgumentTypeError):
        bf.load(5)
    with pytest.raises(ArgumentError, match="ending"):
        bf.load(tmp_path / "a.txt")
