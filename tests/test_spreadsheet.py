"""Text that spreadsheets would run stays text, in files of every form, and is read back as it was."""

import csv

import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.policy.domain import Domain, from_dict
from pandas_blowfish.spreadsheet import as_text, escape, unescape

RUN = ["=1+1", "+1", "-5", "@x", "\tx", "\rx", "'=1", "=", '=HYPERLINK("u")', "#N/A"]
PLAIN = ["a=1", "a", "'a", "1-2", ""]


def _released(values, column="c", **more):
    domain = Domain((from_dict(column, {"type": "category", "values": values, **more}),))
    df = pd.DataFrame({column: pd.Series([], dtype=object)}).blowfish.protect(bf.Policy(domain), epsilon=1)
    return df.blowfish.hist(column, epsilon="1/2")


@pytest.mark.parametrize("text", [*RUN, *PLAIN])
def test_marks_are_taken_off_again(text):
    """Every text is read back as it was, and none begins with what is run."""
    assert unescape(escape(text)) == text
    assert escape(text)[:1] not in set("=+-@\t\r\n")


def test_csv_runs_nothing(tmp_path):
    """Labels and names of columns have an apostrophe; numbers stay numbers."""
    bf.save(_released([*RUN, *PLAIN], column="=name", nullable=True), tmp_path / "r.csv")

    with open(tmp_path / "r.csv", newline="", encoding="utf-8") as file:
        head, *rows = list(csv.reader(file))

    assert head == ["'=name", "count", "std", "unshaped"]
    assert [unescape(row[0]) for row in rows] == [*RUN, *PLAIN, ""]
    assert not any(row[0].startswith(("=", "+", "-", "@", "\t", "\r")) for row in rows)
    assert all(float(row[1]) >= 0 for row in rows)


def test_negative_numbers_stay_numbers(tmp_path):
    """-5 as a number is no text."""
    domain = Domain((from_dict("x", {"type": "integer", "min": -5, "max": -3}),))
    df = pd.DataFrame({"x": pd.Series([-5], dtype="int64")}).blowfish.protect(bf.Policy(domain), epsilon=9)
    released = df.blowfish.hist("x", epsilon=1, post=False)

    for table in (released, released.reset_index().set_index(["x", "std"])):
        pd.testing.assert_frame_equal(as_text(table), table)
    bf.save(released, tmp_path / "r.csv")
    bf.save(released, tmp_path / "r.xlsx")

    assert pd.read_csv(tmp_path / "r.csv")["x"].tolist() == [-5, -4, -3]
    assert pd.read_excel(tmp_path / "r.xlsx")["x"].tolist() == [-5, -4, -3]


def test_workbooks_hold_text_as_text(tmp_path):
    """No cell is a formula or an error, whatever its text; it is read back as it is."""
    openpyxl = pytest.importorskip("openpyxl")
    values = [each for each in RUN if each != "\rx"] + ["a=1"]

    bf.save(_released(values, column="=name"), tmp_path / "r.xlsx")

    book = openpyxl.load_workbook(tmp_path / "r.xlsx")
    kinds = {cell.data_type for sheet in book for row in sheet.iter_rows() for cell in row}
    assert kinds <= {"s", "n"}
    first = [cell.value for cell in next(book["release"].iter_cols(max_col=1))]
    assert first == ["=name", *values]
    marked = [cell.quotePrefix for cell in next(book["release"].iter_cols(max_col=1))]
    assert marked == [bool(escape(text) != text) for text in ["=name", *values]]


def test_what_a_workbook_cannot_hold_is_refused(tmp_path):
    """A control character is a typed error, before anything is written."""
    with pytest.raises(bf.errors.ArgumentError, match="character"):
        bf.save(_released(["a\x01", "b"]), tmp_path / "r.xlsx")

    assert not list(tmp_path.iterdir())


def test_centres_of_groups_are_found_again(tmp_path):
    """A kmeans by group that went through CSV assigns rows as before."""
    attributes = (
        from_dict("g", {"type": "category", "values": ["=1", "b"]}),
        from_dict("x", {"type": "integer", "min": 0, "max": 9}),
    )
    rows = pd.DataFrame({"g": ["=1", "b"] * 20, "x": [1, 8] * 20})
    df = rows.blowfish.protect(bf.Policy(Domain(attributes)), epsilon=1_000)
    centres = df.blowfish.groupby("g").kmeans("x", 1, epsilon=500)
    bf.save(centres, tmp_path / "c.csv")

    back = pd.read_csv(tmp_path / "c.csv").set_index(list(centres.index.names))
    back.attrs = dict(centres.attrs)

    assert back.blowfish.assign(rows).equals(centres.blowfish.assign(rows))


def test_pages_hold_files_that_run_nothing():
    """The CSV inside a report is marked too."""
    from pandas_blowfish.explain.report import number_table as numbers

    held = []
    numbers_file, original = numbers.numbers_file, numbers.embed_file
    try:
        numbers.embed_file = lambda text, name: held.append(text)
        numbers_file(_released(["=1", "b"]), "x.csv")
    finally:
        numbers.embed_file = original

    assert "\n'=1," in held[0]
