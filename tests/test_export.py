"""save keeps the receipt with the numbers in every form, and writes nothing when it cannot."""

import json
from pathlib import Path

import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, BlowfishError, NotReleasedError
from pandas_blowfish.export import files_of
from pandas_blowfish.policy.domain import Domain, from_dict, integers

SPECS = {
    "whole": {"type": "integer", "min": 0, "max": 3},
    "binned": {"type": "integer", "min": 0, "max": 9, "step": 5},
    "real": {"type": "float", "min": 0, "max": "0.3", "step": "0.1"},
    "day": {"type": "datetime", "min": "2020-01-01", "max": "2020-01-03", "step": "1D"},
    "zoned": {
        "type": "datetime",
        "min": "2020-01-01T00:00+01:00",
        "max": "2020-01-02T00:00+01:00",
        "step": "1D",
    }
    | {"tz": "Europe/Berlin"},
    "flag": {"type": "bool"},
    "group": {"type": "category", "values": ["z", "a"]},
    "codes": {"type": "category", "values": [3, 1]},
    "listed": {"type": "float", "values": [2.5, 0.5]},
    "count": {"type": "integer", "min": 0, "max": 1},
}
ZONED_INTERVALS = tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)  # pandas writes them to Parquet
KINDS = [[name] for name in SPECS] + [["group", "real"], ["day", "binned", "flag"], ["zoned", "count"]]


def _released(columns, nullable=False, **arguments):
    domain = Domain(tuple(from_dict(name, {**SPECS[name], "nullable": nullable}) for name in columns))
    df = pd.DataFrame({name: [] for name in columns}).blowfish.protect(bf.Policy(domain), epsilon=1)
    return df.blowfish.hist(columns, epsilon="1/2", **arguments)


def _plain(labels):
    """Return labels as texts, whole numbers alike whatever dtype they have beside missing ones."""
    texts = labels.astype(object).where(labels.notna(), "").map(str)
    return texts.replace(r"\.0$", "", regex=True).to_numpy().tolist()


@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("columns", KINDS, ids="-".join)
def test_parquet_holds_numbers_and_receipt(columns, nullable, tmp_path):
    """The frame read back has the same numbers, labels and attrs, by save and by to_parquet alike."""
    released = _released(columns, nullable)
    path = tmp_path / "release.parquet"

    written = bf.save(released, path)
    places = [path]
    if "zoned" not in columns or ZONED_INTERVALS:
        places.append(tmp_path / "direct.parquet")
        released.to_parquet(places[1])

    assert written == [path]
    for place in places:
        back = pd.read_parquet(place) if len(places) > 1 else bf.load(place)
        assert back.attrs == released.attrs
        assert back.blowfish.receipt == released.blowfish.receipt
        assert back.index.names == released.index.names
        assert back["count"].tolist() == released["count"].tolist()
        labels, kept = back.index.to_frame(index=False), released.index.to_frame(index=False)
        assert labels.isna().to_numpy().tolist() == kept.isna().to_numpy().tolist()
        known, wanted = (_plain(each) for each in (labels, kept))
        assert known == wanted
        assert (
            back.blowfish.interval().to_numpy().tolist() == released.blowfish.interval().to_numpy().tolist()
        )


@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("columns", KINDS, ids="-".join)
def test_csv_has_its_receipt_beside(columns, nullable, tmp_path):
    """Two files: the numbers, and the receipt as JSON."""
    released = _released(columns, nullable)

    written = bf.save(released, str(tmp_path / "my.release.csv"))

    assert written == [tmp_path / "my.release.csv", tmp_path / "my.release.receipt.json"]
    back = pd.read_csv(written[0])
    assert back.iloc[:, len(columns)].tolist() == released["count"].tolist()
    stated = json.loads(written[1].read_text())
    assert stated.pop("frame")["rows"] == len(released)
    assert stated == released.attrs["blowfish"]


@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("columns", KINDS, ids="-".join)
def test_excel_has_its_receipt_in_a_sheet(columns, nullable, tmp_path):
    """One workbook: the numbers, and the receipt one fact a line."""
    released = _released(columns, nullable)

    written = bf.save(released, tmp_path / "release.xlsx")

    book = pd.read_excel(written[0], sheet_name=None, dtype={"value": str}, keep_default_na=False)
    assert list(book) == ["release", "receipt"]
    written = book["release"].iloc[:, len(columns)].tolist()
    assert written == pytest.approx(released["count"].tolist(), rel=1e-15)  # Excel keeps 16 digits
    assert len(book["release"]) == len(released)
    facts = book["receipt"].set_index("receipt")["value"]
    receipt = dict(released.attrs["blowfish"])
    technical = {f"technical.{key}": value for key, value in receipt.pop("technical").items()}
    for key, value in {**receipt, **technical}.items():
        assert facts[key] == (value if isinstance(value, str) else json.dumps(value))


KEYED = {
    ("group", "real"): ["group", "real"],
    ("group",): ["group"],
    "a/b:*?[c]\\d": ["whole"],
    "x" * 60: ["flag"],
}
KEYED |= {"X" * 60: ["flag"], "": ["day"], "group-real": ["count"]}


@pytest.mark.parametrize("ending", ["parquet", "csv", "xlsx"])
def test_dicts_of_releases(ending, tmp_path):
    """Each frame has a file or a sheet of its own, whatever its key looks like."""
    frames = {key: _released(columns) for key, columns in KEYED.items()}

    written = bf.save(frames, tmp_path / f"all.{ending}")

    assert sorted(tmp_path.iterdir()) == sorted(written)
    assert all(path.parent == tmp_path for path in written)
    if ending == "xlsx":
        book = pd.read_excel(written[0], sheet_name=None)
        assert len(book) == 2 * len(frames)
        assert [len(sheet) for sheet in list(book.values())[::2]] == [len(frame) for frame in frames.values()]
    elif ending == "csv":
        assert len(set(written)) == 2 * len(frames)
        receipts = [json.loads(path.read_text()) for path in written[1::2]]
        assert all(receipt.pop("frame") for receipt in receipts)
        assert receipts == [frame.attrs["blowfish"] for frame in frames.values()]
    else:
        assert len(set(written)) == len(frames)
        assert [pd.read_parquet(path).attrs for path in written] == [frame.attrs for frame in frames.values()]
        assert written[0].name == "all-group-real.parquet"


def test_saving_again_replaces(tmp_path):
    """The newest release is what the file holds."""
    for ending in ("parquet", "csv", "xlsx"):
        bf.save(_released(["whole"]), tmp_path / f"r.{ending}")
        bf.save(_released(["group"]), tmp_path / f"r.{ending}")

    assert pd.read_parquet(tmp_path / "r.parquet").index.name == "group"
    assert json.loads((tmp_path / "r.receipt.json").read_text())["columns"] == ["group"]


@pytest.mark.parametrize(
    "path", [None, 5, b"r.csv", "", "release", "r.txt", "r.CSV", "no/such/r.csv", "dir.csv", "a\0.csv"]
)
def test_wrong_paths_write_nothing(path, tmp_path, monkeypatch):
    """Unknown endings, absent directories and what is no path are typed errors."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dir.csv").mkdir()

    with pytest.raises(ArgumentError) as caught:
        bf.save(_released(["whole"]), path)

    assert isinstance(caught.value, BlowfishError)
    assert [place.name for place in tmp_path.iterdir()] == ["dir.csv"]


@pytest.mark.parametrize("ending", ["parquet", "csv", "xlsx"])
def test_wrong_objects_write_nothing(ending, tmp_path):
    """Only releases are saved: no plain frame, no protected one, not even one among many."""
    good, plain = _released(["whole"]), pd.DataFrame({"x": ["SECRETVALUE"]})
    protected = bf.datasets.patients(5).blowfish.protect(bf.datasets.patients_policy(), epsilon=1)
    wrong = [
        (plain, NotReleasedError),
        (protected, NotReleasedError),
        ({"a": good, "b": plain}, NotReleasedError),
    ]
    wrong += [(None, ArgumentTypeError), ([good], ArgumentTypeError), ({}, ArgumentTypeError)]
    wrong += [({"a": good, "b": 5}, ArgumentTypeError), (good["count"], ArgumentTypeError)]

    for result, error in wrong:
        with pytest.raises(error) as caught:
            bf.save(result, tmp_path / f"r.{ending}")
        assert "SECRETVALUE" not in str(caught.value)

    assert list(tmp_path.iterdir()) == []


def test_sheets_have_an_end(tmp_path, monkeypatch):
    """A release longer than a sheet is refused before a workbook is begun."""
    monkeypatch.setattr("pandas_blowfish.export.MAX_SHEET_ROWS", 3)

    with pytest.raises(ArgumentError, match="sheet"):
        bf.save(_released(["whole"]), tmp_path / "r.xlsx")

    assert list(tmp_path.iterdir()) == []
    assert bf.save(_released(["group"]), Path(tmp_path, "r.xlsx")) == [tmp_path / "r.xlsx"]


@pytest.mark.parametrize(("name", "package"), [("a.parquet", "pyarrow"), ("a.xlsx", "openpyxl")])
def test_a_missing_extra_is_named(tmp_path, monkeypatch, name, package):
    """Without the package the line that installs it is told, and nothing is written."""
    rows = bf.datasets.patients(50)
    df = rows.blowfish.protect(bf.datasets.patients_policy(), epsilon=1)
    released = df.blowfish.hist("sex", epsilon="0.1")
    monkeypatch.setattr("pandas_blowfish.export.find_spec", lambda wanted: None if wanted == package else 1)

    with pytest.raises(bf.errors.MissingPackageError, match="pip install"):
        bf.save(released, tmp_path / name)

    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["m.csv", "m.parquet", "m.xlsx"])
def test_files_are_known_before(tmp_path, name):
    """What `save` writes, of one frame or of several, is what `files_of` says."""
    df = bf.datasets.patients(50).blowfish.protect(bf.datasets.patients_policy(), epsilon=1)
    one, many = (df.blowfish.marginal(each, epsilon="0.1") for each in (["sex"], [["sex"], ["region"]]))

    assert bf.save(one, tmp_path / name) == files_of(tmp_path / name)
    assert bf.save(many, tmp_path / name) == files_of(tmp_path / name, many)
    assert all(place.exists() for place in files_of(tmp_path / name, many))


def test_cells_of_days_and_whole_numbers_read_as_such(tmp_path):
    """Days and months as dates, whole numbers without a point beside a missing cell, zones in a workbook."""
    day = from_dict("day", {"type": "datetime", "min": "2026-01-01", "max": "2026-03-31", "step": "1D"})
    zone = {"type": "datetime", "min": "2026-01-01T00:00+01:00", "max": "2026-03-01T00:00+01:00"}
    when = from_dict("when", zone | {"step": "1h", "tz": "Europe/Paris"})
    domain = Domain((day, integers("n", 0, 9, nullable=True), when))
    rows = pd.DataFrame({"day": pd.date_range("2026-01-01", periods=90), "n": [1, None, 3] * 30})
    rows["when"] = pd.date_range("2026-01-05", periods=90, freq="3h", tz="Europe/Paris")
    df = rows.blowfish.protect(bf.Policy(domain), epsilon=100)
    months = [pd.Timestamp(each) for each in ("2026-01-01", "2026-02-01", "2026-03-01")]
    releases = {
        "days": df.blowfish.hist("day", epsilon=1),
        "weeks": df.blowfish.range("day", [("2026-01-01", "2026-01-07")], epsilon=1),
        "months": df.blowfish.hist("day", epsilon=1, bins=months),
        "whole": df.blowfish.hist("n", epsilon=1),
        "bins": df.blowfish.hist("n", epsilon=1, bins=2),
        "zone": df.blowfish.mean("when", epsilon=1),
    }
    first = {"days": "2026-01-01", "weeks": "2026-01-01 to 2026-01-07", "months": "2026-01"}
    first |= {"whole": "0", "bins": '"[0, 4]"', "zone": "when"}

    for name, released in releases.items():
        bf.save(released, tmp_path / f"{name}.csv")
        bf.save(released, tmp_path / f"{name}.xlsx")
        lines = (tmp_path / f"{name}.csv").read_text().splitlines()
        sheet = pd.read_excel(tmp_path / f"{name}.xlsx", sheet_name="release")
        assert lines[1].startswith(f"{first[name]},")
        shown = first[name].strip('"')
        assert sheet.iloc[0, 0] == (pd.Timestamp(shown) if name == "days" else type(sheet.iloc[0, 0])(shown))
    assert lines[1].endswith(str(releases["zone"]["std"].iloc[0]))
    assert sheet["std"].iloc[0] == str(releases["zone"]["std"].iloc[0])
    assert (tmp_path / "bins.csv").read_text().splitlines()[-1].startswith(",")
