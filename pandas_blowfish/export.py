"""save: a released frame on disk with its receipt, as Parquet, CSV or Excel. Never sees rows."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, MissingPackageError, ReceiptError
from pandas_blowfish.release import Receipt, receipt_of
from pandas_blowfish.spreadsheet import FORMULA, label_texts, write_csv

SUFFIXES = (".parquet", ".csv", ".xlsx")
NEEDS = {".parquet": ("pyarrow", "parquet"), ".xlsx": ("openpyxl", "excel")}  # the package, and the extra
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # no character of XML
DAY = re.compile(r"\d{4}-\d\d-\d\d")
MAX_SHEET_ROWS, MAX_SHEET_NAME = 1_048_575, 31


def save(result: pd.DataFrame | Mapping[Any, pd.DataFrame], path: Any) -> list[Path]:
    """Write a release, or a dict of them, with its receipt; return the files written.

    Parquet holds the receipt inside (`read_parquet(path).attrs["blowfish"]`); CSV has it beside, in
    `<name>.receipt.json`; Excel in sheets of their own. A dict becomes one sheet per frame in Excel and
    one file per frame otherwise, named by its key. Text that a spreadsheet would run as a formula (it begins
    with =, +, -, @, a tab or a line break) stays text: in Excel by its type, in CSV by an apostrophe before
    it. Numbers are written as they are.

    Args:
        result: What a verb returned.
        path: Where to; the ending chooses the form.
    """
    target = _target(path)
    frames = [result] if isinstance(result, pd.DataFrame) else _frames(result)
    receipts = [_written(receipt_of(frame)) for frame in frames]  # before anything is written
    keys = [] if isinstance(result, pd.DataFrame) else list(result)
    if target.suffix == ".xlsx":
        return _excel(frames, receipts, keys, target)
    for place, frame, receipt in zip(_places(target, keys), frames, receipts, strict=True):
        if target.suffix == ".parquet":
            frame.to_parquet(place)
        else:
            _beside(place).write_text(json.dumps(receipt, indent=2) + "\n", encoding="utf-8")
            write_csv(frame, place)
    return files_of(target, keys)


def files_of(target: Path, keys: Iterable[Any] = ()) -> list[Path]:
    """Return every file that `save` writes for a release, or for a dict of them with these keys.

    Examples:
        >>> [place.name for place in files_of(Path("m.csv"), [("sex",)])]
        ['m-sex.csv', 'm-sex.receipt.json']
    """
    if target.suffix == ".xlsx":
        return [target]
    places = _places(target, keys)
    return places if target.suffix == ".parquet" else [f for place in places for f in (place, _beside(place))]


def _places(target: Path, keys: Iterable[Any]) -> list[Path]:
    """Return where each frame goes: one alone to the target itself."""
    named = [target.with_name(f"{target.stem}-{name}{target.suffix}") for name in _names(keys, 120)]
    return named or [target]


def _beside(place: Path) -> Path:
    """Return where the receipt of a CSV file goes."""
    return place.with_suffix(".receipt.json")


def _target(path: Any) -> Path:
    """Return a path that can be written, or raise before anything is."""
    if not isinstance(path, (str, os.PathLike)) or not isinstance(os.fspath(path), str):
        raise ArgumentTypeError("path", "not a path", allowed="a str or a pathlib.Path")
    target = Path(path)
    if target.suffix not in SUFFIXES:
        raise ArgumentError("path", f"unknown ending {target.suffix!r}", allowed=", ".join(SUFFIXES))
    if "\0" in str(target) or not target.parent.is_dir() or target.is_dir():
        raise ArgumentError("path", "not a file in a directory that exists", fix="make the directory first")
    package, extra = NEEDS.get(target.suffix, ("", ""))
    if package and find_spec(package) is None:
        raise MissingPackageError(package, f'pip install "pandas-blowfish[{extra}]"')
    return target


def _frames(result: Any) -> list[pd.DataFrame]:
    """Return the frames of a dict of releases."""
    if isinstance(result, Mapping) and result:
        frames = list(result.values())
        if all(isinstance(frame, pd.DataFrame) for frame in frames):
            return frames
    raise ArgumentTypeError(
        "result", "not a release", allowed="a frame or a dict of frames that a verb returned"
    )


def _excel(frames: list[pd.DataFrame], receipts: list[Receipt], keys: list[Any], target: Path) -> list[Path]:
    """Write a workbook: each release, then its receipt, in a sheet of its own."""
    if any(len(frame) > MAX_SHEET_ROWS for frame in frames):
        raise ArgumentError("path", f"a sheet holds {MAX_SHEET_ROWS:,} rows", fix="save as .parquet or .csv")
    room = MAX_SHEET_NAME - len("-receipt")
    sheets = [(name, f"{name}-receipt") for name in _names(keys, room)] or [("release", "receipt")]
    for text in _texts(frames, receipts):
        if CONTROL.search(text):
            what = "a name or label has a character that a workbook cannot hold"
            raise ArgumentError("path", what, fix="save as .parquet or .csv")
    with pd.ExcelWriter(target, engine="openpyxl") as book:
        for (sheet, beside), frame, receipt in zip(sheets, frames, receipts, strict=True):
            table = pd.concat([_excel_labels(frame.index), _excel_values(frame)], axis=1)
            table.to_excel(book, sheet_name=sheet, index=False)
            facts = pd.Series(dict(_cells(receipt)), name="value")
            facts.rename_axis("receipt").to_excel(book, sheet_name=beside)
            for name in (sheet, beside):
                _mark_text(book.sheets[name])
    return [target]


def _excel_labels(index: pd.Index[Any]) -> pd.DataFrame:
    """Return labels as a workbook holds them, which knows no intervals or zones: days as dates."""
    labels = index.to_frame(index=False)
    for place in range(labels.shape[1]):
        level = index.get_level_values(place)
        if pd.api.types.is_numeric_dtype(level.dtype):
            continue
        shown: list[Any] = [None if each != each else str(each) for each in label_texts(level).tolist()]
        dated = getattr(level, "left", level).dtype.kind == "M"
        if dated and all(each is None or DAY.fullmatch(each) for each in shown):
            shown = [None if each is None else date.fromisoformat(each) for each in shown]
        labels.isetitem(place, shown)
    return labels


def _excel_values(frame: pd.DataFrame) -> pd.DataFrame:
    """Return answers as a workbook holds them: instants of a zone, and spans, as text."""
    table = frame.reset_index(drop=True)
    for place in range(table.shape[1]):
        column = table.iloc[:, place]
        if isinstance(column.dtype, pd.DatetimeTZDtype) or column.dtype.kind == "m":
            table.isetitem(place, [None if pd.isna(each) else str(each) for each in column])
    return table


def _mark_text(sheet: Any) -> None:
    """Store text as text whatever it begins with, also after somebody edits the cell."""
    for row in sheet.iter_rows():
        for cell in row:
            if isinstance(cell.value, str):
                cell.data_type = "s"  # not a formula, and not an error such as #N/A
                cell.quotePrefix = bool(FORMULA.match(cell.value))


def _texts(frames: Iterable[pd.DataFrame], receipts: Iterable[Receipt]) -> Iterator[str]:
    """Yield every text that a workbook would hold."""
    for receipt in receipts:
        yield from (text for fact in _cells(receipt) for text in fact)
    for frame in frames:
        yield from map(str, [*frame.columns, *frame.index.names])
        columns: list[Any] = [frame.index.get_level_values(level) for level in range(frame.index.nlevels)]
        columns += [frame[name] for name in frame.columns[~frame.columns.duplicated()]]
        for column in columns:
            if not pd.api.types.is_numeric_dtype(column.dtype):
                yield from map(str, column.unique())


def _written(receipt: Receipt) -> Receipt:
    """Return a receipt that can be written as JSON, or raise."""
    try:
        json.dumps(receipt, allow_nan=True)
    except (TypeError, ValueError, RecursionError):
        raise ReceiptError("some part of it cannot be written as JSON") from None
    return receipt


def _names(keys: Iterable[Any], room: int) -> list[str]:
    """Return a name for each key that files and sheets can have, no two alike."""
    names: list[str] = []
    for key in keys:
        text = "-".join(map(str, key)) if isinstance(key, tuple) else str(key)
        plain = name = re.sub(r"[^\w .,()=+-]", "_", text).strip(" .")[:room] or "release"
        copy = 1
        while name.lower() in (taken.lower() for taken in names):
            copy += 1
            name = f"{plain[: room - len(str(copy)) - 1]}~{copy}"
        names.append(name)
    return names


def _cells(receipt: Receipt) -> Iterator[tuple[str, str]]:
    """Yield the facts of a receipt as a sheet lists them: text as it is, the rest as JSON."""
    technical = receipt.get("technical", {})
    facts = {key: value for key, value in receipt.items() if key != "technical"}
    for key, value in {**facts, **{f"technical.{key}": value for key, value in technical.items()}}.items():
        yield key, value if isinstance(value, str) else json.dumps(value)
