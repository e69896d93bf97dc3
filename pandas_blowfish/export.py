"""save, load: a released frame on disk with its receipt, as Parquet, CSV or Excel. Never sees rows."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from pandas_blowfish.arrangement import WIDE, lengthen, widen
from pandas_blowfish.errors import (
    ArgumentError,
    ArgumentTypeError,
    DataFileError,
    MissingPackageError,
    ReceiptError,
)
from pandas_blowfish.label_text import intervals_as_text, layout, read_frame, restore_labels
from pandas_blowfish.release import RECORD, Receipt, facts_of, receipt_of
from pandas_blowfish.spreadsheet import FORMULA, label_texts, unescape, write_csv
from pandas_blowfish.table_set import Tables

SUFFIXES = (".parquet", ".csv", ".xlsx")
NEEDS = {".parquet": ("pyarrow", "parquet"), ".xlsx": ("openpyxl", "excel")}  # the package, and the extra
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # no character of XML
DAY = re.compile(r"\d{4}-\d\d-\d\d")
MAX_SHEET_ROWS, MAX_SHEET_NAME, MAX_CELL = 1_048_575, 31, 32_000
FRAME = "frame"  # where the file, or sheet, of a receipt states labels and dtypes
UNSAVED = "load what bf.save wrote; an older version's file is read with pandas."


def save(result: pd.DataFrame | Mapping[Any, pd.DataFrame], path: Any) -> list[Path]:
    """Write a release, or a dict of them, with its receipt; return the files written.

    `bf.load` reads it back. Parquet holds the receipt inside (`read_parquet(path).attrs["blowfish"]`); CSV
    has it beside, in `<name>.receipt.json`, with labels and dtypes as `frame`; Excel in sheets of their own.
    A dict becomes one sheet per frame in Excel and one file per frame otherwise, named by its key. Text that
    a spreadsheet would run as a formula (it begins with =, +, -, @, a tab or a line break) stays text: in
    Excel by its type, in CSV by an apostrophe before it. Numbers are written as they are.

    Args:
        result: What a verb returned.
        path: Where to; the ending chooses the form.
    """
    target = _target(path)
    frames = [lengthen(each) for each in ([result] if isinstance(result, pd.DataFrame) else _frames(result))]
    receipts = [_written(receipt_of(frame)) for frame in frames]  # before anything is written
    keys = [] if isinstance(result, pd.DataFrame) else list(result)
    if target.suffix == ".xlsx":
        return _excel(frames, receipts, keys, target)
    for place, frame, receipt in zip(_places(target, keys), frames, receipts, strict=True):
        if target.suffix == ".parquet":
            _write_parquet(frame, place)
        else:
            text = json.dumps({**receipt, FRAME: layout(frame)}, indent=2)
            _beside(place).write_text(f"{text}\n", encoding="utf-8")
            write_csv(frame, place)
    return files_of(target, keys)


def load(path: Any) -> Any:
    """Return a release that `bf.save` wrote, with its receipt, labels and dtypes as it was released.

    What it answered as a release, such as `interval()`, it answers again. Whether the receipt is that of an
    entry, `ledger.verify(receipt)` finds out; nothing here vouches for numbers that were edited in a file.

    Args:
        path: As it was given to `bf.save`: a Parquet or Excel file, or a CSV file with its receipt beside it.

    Returns:
        The frame; of several that were saved together a dict of them by their columns, as `marginal` returns.

    Raises:
        DataFileError: There is no such file, or no receipt with it.
        ReceiptError: The receipt was edited, or does not fit the frame.
    """
    source = _target(path)
    if source.is_file():
        return _load_workbook(source) if source.suffix == ".xlsx" else _load_file(source)
    pieces = [each for each in sorted(source.parent.iterdir()) if each.suffix == source.suffix != ".xlsx"]
    found = [_load_file(each) for each in pieces if each.name.startswith(f"{source.stem}-")]
    if not found:
        raise DataFileError(f"{str(path)!r} does not exist", fix="give the path that bf.save was given.")
    return _by_columns(found)


def _by_columns(frames: Iterable[pd.DataFrame]) -> Tables:
    """Return frames that were saved together, by the columns that each receipt states."""
    found, charges = dict[tuple[str, ...], pd.DataFrame](), set[object]()
    for frame in frames:
        receipt = receipt_of(frame)
        charges.add(receipt.get("hash"))
        found[tuple(map(str, receipt.get("table") or receipt.get("columns", ())))] = frame
    if len(charges) > 1:
        fix = "give the path of one of them, or move the others elsewhere."
        raise DataFileError("files of several releases have names that begin so", fix=fix)
    return Tables(found)


def _load_file(source: Path) -> pd.DataFrame:
    """Return the one release in a Parquet or CSV file."""
    if source.suffix == ".parquet":
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                frame = pd.read_parquet(source)
        except (ValueError, OSError, KeyError):
            raise DataFileError(f"{str(source)!r} cannot be read as Parquet", fix=UNSAVED) from None
        return _with_receipt(_with_labels(frame, source), frame.attrs.get(RECORD), source)
    try:
        stated = json.loads(_beside(source).read_text(encoding="utf-8"))
        table = pd.read_csv(source, dtype=str, na_filter=False, header=None)
    except FileNotFoundError:
        fix = "put the .receipt.json that bf.save wrote beside it."
        raise DataFileError(f"{str(source)!r} has no receipt beside it", fix=fix) from None
    except (OSError, ValueError, RecursionError):
        raise DataFileError(f"{str(source)!r}, or its receipt, cannot be read", fix=UNSAVED) from None
    if not isinstance(stated, dict) or FRAME not in stated:
        raise DataFileError(f"the receipt of {str(source)!r} states no labels and dtypes", fix=UNSAVED)
    form = stated.pop(FRAME)
    columns = [[unescape(text) for text in table[column]] for column in table.columns]
    frame = read_frame([each[0] for each in columns], [each[1:] for each in columns], form)
    return _with_receipt(frame, stated, source)


def _write_parquet(frame: pd.DataFrame, place: Path) -> None:
    """Write Parquet as pandas does, and what it forgets: which labels that are numbers are categories."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = pa.Table.from_pandas(frame)
    except TypeError:  # pandas before 3 has no way to write intervals of a time zone
        table = pa.Table.from_pandas(intervals_as_text(frame))
    stated = {**(table.schema.metadata or {}), FRAME.encode(): json.dumps(layout(frame)).encode()}
    parquet.write_table(table.replace_schema_metadata(stated), place)


def _with_labels(frame: pd.DataFrame, source: Path) -> pd.DataFrame:
    """Return a frame read from Parquet with the labels that it was saved with."""
    from pyarrow import parquet

    metadata = parquet.read_schema(source).metadata or {}
    if FRAME.encode() not in metadata:  # written by pandas alone
        return frame
    try:
        return restore_labels(frame, json.loads(metadata[FRAME.encode()]))
    except (RecursionError, ValueError):
        raise ReceiptError("it does not fit the frame") from None


def _load_workbook(source: Path) -> Any:
    """Return the release, or the dict of them, in a workbook."""
    openpyxl: Any = import_module("openpyxl")  # it has no types
    try:
        book = openpyxl.load_workbook(source)
    except Exception:  # noqa: BLE001  a damaged workbook raises whatever its parser meets
        raise DataFileError(f"{str(source)!r} cannot be read as a workbook", fix=UNSAVED) from None
    sheets, found = book.sheetnames, []
    for own in sheets:
        beside = "receipt" if own == "release" else f"{own}-receipt"
        if beside in sheets:
            stated = _read_cells(book[beside])
            cells = [
                ["" if cell is None else str(cell) for cell in each]
                for each in book[own].iter_cols(values_only=True)
            ]
            frame = read_frame([each[0] for each in cells], [each[1:] for each in cells], stated["layout"])
            found.append(_with_receipt(frame, stated["receipt"], source))
    if not found:
        raise DataFileError(f"{str(source)!r} holds no receipt", fix=UNSAVED)
    return found[0] if "release" in sheets else _by_columns(found)


def _with_receipt(frame: pd.DataFrame, receipt: Any, source: Path) -> pd.DataFrame:
    """Return a frame with a receipt, which must be one."""
    if not isinstance(receipt, dict) or receipt.get("kind") != "release":
        raise DataFileError(f"{str(source)!r} holds no receipt", fix=UNSAVED)
    frame.attrs[RECORD] = receipt
    wide = facts_of(frame).get("layout") == WIDE  # raises where it was edited
    return widen(frame) if wide else frame


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
            facts = pd.Series(dict([*_cells(receipt), *_frame_cells(frame, receipt)]), name="value")
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


def _frame_cells(frame: pd.DataFrame, receipt: Receipt) -> Iterator[tuple[str, str]]:
    """Yield labels, dtypes and the receipt as `load` reads them: JSON in cells that are not too long."""
    text = json.dumps({"layout": layout(frame), "receipt": receipt})
    for number, start in enumerate(range(0, len(text), MAX_CELL), 1):
        yield f"{FRAME}.{number}", text[start : start + MAX_CELL]


def _read_cells(sheet: Any) -> dict[str, Any]:
    """Return what the cells of a receipt state, which must agree with those for a reader."""
    cells = {
        str(key): "" if value is None else str(value)
        for key, value, *_ in sheet.iter_rows(min_row=2, values_only=True)
    }
    texts = {key: cells.pop(key) for key in list(cells) if key.startswith(f"{FRAME}.")}
    if not texts:
        raise DataFileError("the receipt states no labels and dtypes", fix=UNSAVED)
    try:
        stated: dict[str, Any] = json.loads("".join(texts.values()))
        shown = {key: text[:MAX_CELL] for key, text in _cells(stated["receipt"])}
        if shown == {key: text[:MAX_CELL] for key, text in cells.items()} and "layout" in stated:
            return stated
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        pass
    raise ReceiptError("its sheet was edited")
