"""save: a released frame on disk with its receipt, as Parquet, CSV or Excel. Never sees rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError
from pandas_blowfish.release import receipt_of

SUFFIXES = (".parquet", ".csv", ".xlsx")


def save(result: pd.DataFrame | Mapping[Any, pd.DataFrame], path: Any) -> list[Path]:
    """Write a release, or a dict of them, with its receipt; return the files written.

    Parquet holds the receipt inside (`read_parquet(path).attrs["blowfish"]`); CSV has it beside, in
    `<name>.receipt.json`; Excel in sheets of their own. A dict becomes one sheet a frame in Excel and
    one file a frame otherwise, named by its key.

    Args:
        result: What a verb returned.
        path: Where to; the ending chooses the form.
    """
    target = Path(path)
    if target.suffix not in SUFFIXES:
        raise ArgumentError("path", f"unknown ending {target.suffix!r}", allowed=", ".join(SUFFIXES))
    if not isinstance(result, (pd.DataFrame, Mapping)) or not len(result):
        raise ArgumentTypeError(
            "result", "not a release", allowed="a frame or a dict of frames that a verb returned"
        )
    frames = (
        {"": result}
        if isinstance(result, pd.DataFrame)
        else {_name(key): frame for key, frame in result.items()}
    )
    receipts = {name: receipt_of(frame) for name, frame in frames.items()}  # before anything is written
    if target.suffix == ".xlsx":
        return _excel(frames, receipts, target)
    written: list[Path] = []
    for name, frame in frames.items():
        place = target.with_name(f"{target.stem}-{name}{target.suffix}") if name else target
        if target.suffix == ".parquet":
            _flat(frame).to_parquet(place)
            written.append(place)
        else:
            beside = place.with_suffix(".receipt.json")
            beside.write_text(json.dumps(receipts[name], indent=2) + "\n", encoding="utf-8")
            frame.to_csv(place)
            written += [place, beside]
    return written


def _flat(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame Parquet can hold: interval levels inside a MultiIndex become text."""
    index = frame.index
    if isinstance(index, pd.MultiIndex) and any(
        isinstance(level, pd.IntervalIndex) for level in index.levels
    ):
        levels = [
            level.astype(str) if isinstance(level, pd.IntervalIndex) else level for level in index.levels
        ]
        frame = frame.set_axis(index.set_levels(levels), axis=0)
    return frame


def _excel(frames: Mapping[str, pd.DataFrame], receipts: Mapping[str, Any], target: Path) -> list[Path]:
    with pd.ExcelWriter(target) as book:
        for name, frame in frames.items():
            plain = frame.reset_index()
            for column in plain.columns:
                if not pd.api.types.is_numeric_dtype(plain[column]):
                    plain[column] = plain[column].astype(str)
            plain.to_excel(book, sheet_name=(name or "release")[:31], index=False)
            facts = pd.Series({key: str(value) for key, value in receipts[name].items()}, name="value")
            facts.rename_axis("receipt").to_excel(
                book, sheet_name=(f"{name}-receipt" if name else "receipt")[-31:]
            )
    return [target]


def _name(key: Any) -> str:
    return "-".join(map(str, key)) if isinstance(key, tuple) else str(key)
