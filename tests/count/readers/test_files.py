"""Files to frames: typed by what is declared, never by what rows hold, and no row is ever quoted."""

import gzip
import random

import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.count.readers import files
from pandas_blowfish.errors import ArgumentError, DataFileError, MissingPackageError
from pandas_blowfish.policy.domain import Domain, from_dict

SPECS = {
    "age": {"type": "integer", "min": 0, "max": 99, "nullable": True},
    "size": {"type": "float", "min": 0, "max": 3, "step": "0.5"},
    "code": {"type": "string", "values": ["01", "1", "NA", "é"], "nullable": True},
    "level": {"type": "category", "values": [1, 2]},
    "day": {"type": "datetime", "min": "2026-01-01", "max": "2026-12-31", "step": "1D", "nullable": True},
    "at": {"type": "datetime", "min": "2026-01-01 00:00Z", "max": "2026-12-31 00:00Z", "step": "1D"},
    "ok": {"type": "bool", "nullable": True},
}
DOMAIN = Domain(tuple(from_dict(name, spec) for name, spec in SPECS.items()))
POLICY = bf.Policy(DOMAIN)
ROWS = """id,age,note,size,code,level,day,at,ok
007,12,"a, b",0.5,01,1,2026-01-03,2026-01-03T00:00:00Z,True
008,,x,1,NA,2,,2026-06-03 12:00:00+02:00,
009,99,,3,,1,2026-01-03 10:00,2026-01-03T00:00Z,false
010,0,x,2.0,1,2,2026-02-01T01:02:03.5,2026-12-30 00:00:00+00:00,FALSE
"""


def _write(tmp_path, text, name="rows.csv"):
    place = tmp_path / name
    place.write_bytes(text.encode() if isinstance(text, str) else text)
    return place


@pytest.mark.parametrize("lines", [1, 2, 1_000])
def test_text_is_read_as_declared(tmp_path, monkeypatch, lines):
    """Zeros, marks of missing values, dates and zones are as declared, in however many pieces."""
    monkeypatch.setattr(files, "LINES", lines)
    shares = []

    table = files.read_table(_write(tmp_path, ROWS), DOMAIN, "id", tick=shares.append)

    assert list(table.columns) == ["id", *SPECS]  # not the note
    assert table["id"].tolist() == ["007", "008", "009", "010"]
    assert table["code"].tolist()[:2] == ["01", "NA"]
    assert table["code"].isna().tolist() == [False, False, True, False]
    assert table["age"].fillna(-1).tolist() == [12, -1, 99, 0]
    assert (bf.check(table, POLICY)["status"] == "ok").all()
    assert shares[-1] == 1.0
    table.blowfish.protect(POLICY, epsilon=1, unit="id")


def test_the_same_rows_in_every_form(tmp_path):
    """CSV, packed CSV, TSV, Parquet and Feather of the same rows continue one budget."""
    source = files.read_table(_write(tmp_path, ROWS), DOMAIN)
    source.to_parquet(tmp_path / "rows.parquet", row_group_size=2)
    source.to_feather(tmp_path / "rows.feather")
    _write(tmp_path, gzip.compress(ROWS.encode()), "rows.csv.gz")
    _write(tmp_path, ROWS.replace(",", ";").replace('"a; b"', "a"), "rows.csv2.csv")
    _write(tmp_path, ("\ufeff" + ROWS.replace('"a, b"', "a").replace(",", "\t")).encode(), "rows.tsv")
    book = bf.Ledger()
    source.blowfish.protect(POLICY, epsilon=1, dataset="d", ledger=book)

    for name in ("rows.csv", "rows.csv.gz", "rows.tsv", "rows.parquet", "rows.feather", "rows.csv2.csv"):
        table = files.read_table(tmp_path / name, DOMAIN, separator=";" if "2" in name else None)
        table.blowfish.protect(POLICY, epsilon=1, dataset="d", ledger=book)

    assert len(book.entries) == 1


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("age", "unknown"),
        ("age", "12.5"),
        ("age", "1e400"),
        ("size", "big"),
        ("code", "1.0"),
        ("level", "one"),
        ("at", "now"),
        ("day", "03/01/2026"),
        ("day", "2026-01-03T00:00:00Z"),
        ("day", "today"),
        ("at", "2026-01-03 00:00"),
        ("ok", "yes"),
    ],
)
def test_what_is_not_of_its_kind_is_one_row_outside(tmp_path, column, value):
    """A stray word is outside the domain, alone, and is neither taken for missing nor lets others go."""
    rows = pd.read_csv(_write(tmp_path, ROWS), dtype=str, keep_default_na=False)
    rows.loc[2, column] = value
    rows.to_csv(tmp_path / "stray.csv", index=False)

    table = files.read_table(tmp_path / "stray.csv", DOMAIN)
    found = bf.check(table, POLICY)

    assert found.loc[column, "outside"] == 1
    assert (found.drop(index=column)["outside"] == 0).all()


MARKED = (
    ROWS.replace(",12,", ",?,").replace(",01,", ",-9,").replace("True", "?").replace("2026-01-03,", "-9,")
)


def test_marks_count_as_missing(tmp_path):
    """Given marks are missing in every column; otherwise they are outside."""
    place = _write(tmp_path, MARKED)

    table = files.read_table(place, DOMAIN, na=["?", "-9"])
    found, before = bf.check(table, POLICY), bf.check(files.read_table(place, DOMAIN), POLICY)

    assert (found["status"] == "ok").all()
    assert found.loc["age", "missing"] == 2
    assert before.index[before["outside"] > 0].tolist() == ["age", "code", "day", "ok"]


@pytest.mark.parametrize("stored", ["str", "category"])
def test_marks_in_stored_text(tmp_path, stored):
    """In Parquet they are looked for in columns of text."""
    rows = pd.DataFrame({"code": ["01", "?", "NA"], "age": [1, 2, 3]}).astype({"code": stored})
    rows.to_parquet(tmp_path / "rows.parquet")

    table = files.read_table(tmp_path / "rows.parquet", DOMAIN, na=["?", "-9"])

    assert table["code"].isna().tolist() == [False, True, False]
    assert (bf.check(table, POLICY).loc[["code", "age"], "status"] == "ok").all()


@pytest.mark.parametrize("mark", ["01", "12", "NA", "2.5", "2", "true", "2026-03-01", "2026-03-01T00:00Z"])
def test_a_declared_value_is_no_mark(tmp_path, mark):
    """Nobody could tell whether it is missing."""
    with pytest.raises(ArgumentError, match="is a declared value of column"):
        files.read_table(_write(tmp_path, ROWS), DOMAIN, na=["?", mark])


def test_blank_lines_of_a_single_column_are_rows(tmp_path):
    """A missing value there is a blank line, or quotes: the number of rows must not tell which."""
    domain = Domain((from_dict("age", {"type": "integer", "min": 0, "max": 9, "nullable": True}),))

    for text in ("age\n3\n\n\n4\n", 'age\n3\n""\n""\n4\n'):
        table = files.read_table(_write(tmp_path, text), domain)
        assert table["age"].isna().tolist() == [False, True, True, False]

    assert len(files.read_table(_write(tmp_path, ROWS + "\n\n"), DOMAIN)) == 4  # no row among many columns


def test_a_column_without_a_name_is_not_an_encoding(tmp_path):
    """A header may lack a name; that says nothing about the file's encoding."""
    table = files.read_table(_write(tmp_path, ",age\n1,2\n"), DOMAIN)

    assert list(table.columns) == ["age"]


@pytest.mark.parametrize("other", ["5", "5.0", "", "?", "-9.00", "-9"])
def test_marks_are_texts(tmp_path, other):
    """A number that is written in another way is no mark, whatever another row holds."""
    domain = Domain((from_dict("n", SPECS["age"]), from_dict("x", {**SPECS["size"], "nullable": True})))
    text = f"n,x\n-09,-9.00\n-9,-9\n{other},{other}\n1,1\n"

    table = files.read_table(_write(tmp_path, text), domain, na=["-9", "?"])

    assert table["n"].isna().tolist()[:2] == table["x"].isna().tolist()[:2] == [False, True]
    assert float(table["n"].iloc[0]) == float(table["x"].iloc[0]) == -9


def test_marks_of_a_draft(tmp_path):
    """A column of numbers with a mark in it is drafted as numbers."""
    place = _write(tmp_path, "n\n1\n?\n")

    assert str(files.column_types(place, na=["?"])["n"]) == "float64"
    assert str(files.column_types(place)["n"]) != "float64"
    with pytest.raises(ArgumentError, match="list of texts"):
        files.read_table(place, DOMAIN, na="?")


def test_absent_columns_and_no_rows(tmp_path):
    """What is not in the file is left out; a header alone is an empty table."""
    table = files.read_table(_write(tmp_path, "age,x\n"), DOMAIN)

    assert list(table.columns) == ["age"]
    assert bf.check(table, POLICY).loc["age", "status"] == "ok"


def test_whole_numbers_stay_whole(tmp_path):
    """A missing value among large whole numbers does not make floats of them."""
    wide = Domain((from_dict("n", {"type": "integer", "min": 0, "max": 2**60, "nullable": True}),))
    whole = pd.DataFrame({"n": pd.array([2**53 + 1, None], dtype="Int64")})
    whole.to_parquet(tmp_path / "n.parquet")
    whole.to_csv(tmp_path / "n.csv", index=False)

    for name in ("n.parquet", "n.csv"):
        assert files.read_table(tmp_path / name, wide)["n"].tolist()[0] == 2**53 + 1


@pytest.mark.parametrize("other", ["5", "5.0", "5e0", "", "NA", "-7", "0.25", "9" * 19, "word", "1.5e300"])
@pytest.mark.parametrize(("lines", "na"), [(2, ()), (1_000, ()), (2, ("-7", "?"))])
def test_a_row_does_not_change_how_others_are_read(tmp_path, monkeypatch, other, lines, na):
    """Whatever one row holds, the others are the numbers that are written, to the last digit."""
    monkeypatch.setattr(files, "LINES", lines)
    draw = random.Random(8)
    floats = [f"{draw.random() * 10 ** draw.randint(-9, 9):.{draw.randint(1, 17)}g}" for _ in range(300)]
    wholes = [str(draw.randint(0, 2**60)) for _ in floats]
    specs = {
        "real": {"type": "float", "min": 0, "max": 10**9, "step": "0.1", "nullable": True},
        "whole": {"type": "integer", "min": 0, "max": 2**60, "step": 2**40, "nullable": True},
        "listed": {"type": "category", "values": [2**60 + 1, 5], "nullable": True},
    }
    domain = Domain(tuple(from_dict(name, spec) for name, spec in specs.items()))
    lined = [f"{real},{whole},{2**60 + 1}" for real, whole in zip(floats, wholes, strict=True)]
    lined.insert(150, ",".join([other] * 3))

    table = files.read_table(_write(tmp_path, "\n".join(["real,whole,listed", *lined])), domain, na=na)

    kept = table.drop(index=150)
    assert [float(each) for each in kept["real"]] == [float(each) for each in floats]
    assert [int(each) for each in kept["whole"]] == [int(each) for each in wholes]
    assert {int(each) for each in kept["listed"]} == {2**60 + 1}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("age,age\n1,2\n", "occur twice: 'age'"),
        ("age,size\nSmith,2,3\n", "more fields"),
        ("age,size\n1,2\nSmith,2,3\n", "more fields"),
        ('age\n"Smith\n', "quotes do not match"),
        ("age,code\n1,Smithé\n".encode("latin-1"), "encoding"),
        (b"\x00\x01Smith", None),
    ],
    ids=range(7),
)
def test_broken_text_is_told_without_its_rows(tmp_path, text, said):
    """Ragged lines are refused, never shifted; no message holds anything of a row."""
    place = _write(tmp_path, text)

    if said is None:
        assert list(files.read_table(place, DOMAIN).columns) == []
        return
    with pytest.raises(DataFileError, match=said) as refused:
        files.read_table(place, DOMAIN)
    assert "Smith" not in str(refused.value)
    assert refused.value.__context__ is None or refused.value.__suppress_context__


@pytest.mark.parametrize("name", ["rows.parquet", "rows.feather", "rows.csv.gz"])
def test_other_files_are_told(tmp_path, name):
    """A file that is not what its ending says is a file problem, and is not quoted."""
    with pytest.raises(DataFileError, match="cannot be read") as refused:
        files.read_table(_write(tmp_path, "Smith,1", name), DOMAIN)

    assert "Sm" not in str(refused.value)


def test_wrong_arguments(tmp_path):
    """Unknown endings, folders, encodings and separators are typed errors."""
    place = _write(tmp_path, ROWS)

    with pytest.raises(FileNotFoundError):
        files.read_table(tmp_path / "no.csv", DOMAIN)
    with pytest.raises(ArgumentError, match="ending"):
        files.read_table(tmp_path / "no.doc", DOMAIN)
    with pytest.raises(ArgumentError, match="ending"):
        files.read_table(tmp_path / "no.parquet.gz", DOMAIN)
    with pytest.raises(ArgumentError, match="encoding"):
        files.read_table(place, DOMAIN, encoding="martian")
    with pytest.raises(ArgumentError, match="separator"):
        files.read_table(place, DOMAIN, separator=";;")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataFileError, match="not a file"):
        files.read_table(tmp_path / "folder.csv", DOMAIN)


def test_arrow_is_an_extra(tmp_path, monkeypatch):
    """Without pyarrow a Parquet file says what to install; CSV is read."""
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)

    with pytest.raises(MissingPackageError, match="parquet"):
        files.read_table(_write(tmp_path, "x", "x.parquet"), DOMAIN)


def test_types_for_a_draft(tmp_path):
    """Names and types, of text by its first lines, of Parquet by its schema."""
    files.read_table(_write(tmp_path, ROWS), DOMAIN).to_parquet(tmp_path / "rows.parquet")

    text = files.column_types(tmp_path / "rows.csv")
    arrow = files.column_types(tmp_path / "rows.parquet")

    assert list(text) == ["id", "age", "note", "size", "code", "level", "day", "at", "ok"]
    assert str(text["size"]) == "float64"
    assert str(arrow["at"]).startswith("datetime64")
    assert str(arrow["code"]) == "category"


def test_which_files_state_no_types(tmp_path):
    """Text, packed or not; by the ending."""
    for name, text in (("a.csv", True), ("a.tsv", True), ("a.csv.gz", True), ("a.parquet", False)):
        (tmp_path / name).write_bytes(b"")
        assert files.is_text(tmp_path / name) is text
