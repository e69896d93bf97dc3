"""Labels and columns of a release as text, and back with their dtypes. Never sees rows, only releases."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.books.receipt import reading
from pandas_blowfish.errors import ReceiptError
from pandas_blowfish.spreadsheet import label_texts

INTERVAL = re.compile(r"[\[(](.*), (.*)[\])]")
Texts = Sequence[str]


def layout(frame: pd.DataFrame) -> dict[str, Any]:
    """Return what labels and columns of a release are, as plain data, to read them back from text."""
    levels = [frame.index.get_level_values(level) for level in range(frame.index.nlevels)]
    index = [{"name": name, **_spec(level)} for name, level in zip(frame.index.names, levels, strict=True)]
    if isinstance(frame.index, pd.RangeIndex):
        index[0]["range"] = True
    columns = [{"name": name, **_spec(frame[name])} for name in frame.columns]
    return {"rows": len(frame), "index": index, "columns": columns}


def _spec(values: Any) -> dict[str, Any]:
    """Return the dtype of labels or values, and where some are missing."""
    dtype = values.dtype
    stated: dict[str, Any] = {"dtype": str(dtype)}
    if isinstance(dtype, pd.CategoricalDtype):
        labels = dtype.categories
        own = {"labels": [str(each) for each in labels], "of": _spec(labels), "ordered": bool(dtype.ordered)}
        stated |= own
    if dtype.kind == "O" and str(dtype) == "object":  # flags with gaps
        stated["holds"] = pd.api.types.infer_dtype(values, skipna=True)
    if isinstance(dtype, pd.IntervalDtype) or (isinstance(values, pd.Index) and dtype.kind == "M"):
        known = pd.Index(values).dropna().unique()  # a file shows days, weeks and months as dates
        stated |= {"labels": list(map(str, known)), "shown": list(map(str, label_texts(known)))}
    if gaps := np.flatnonzero(np.asarray(values.isna())).tolist():
        stated["missing"] = gaps
    return stated


def parse(texts: Texts, spec: Mapping[str, Any]) -> Any:
    """Return the labels or values that texts state.

    Examples:
        >>> parse(["[0, 4]", "[5, 9]"], {"dtype": "interval[int64, both]"}).mid.tolist()
        [2.0, 7.0]
    """
    gaps, dtype = set(spec.get("missing", ())), str(spec["dtype"])
    if "shown" in spec:
        texts = _exact_labels(texts, spec, gaps)
    if dtype == "category":
        return _parse_category(texts, spec, gaps)
    if dtype.startswith("interval"):
        return _parse_interval(texts, dtype, gaps)
    if dtype.startswith("datetime64"):
        stamps: Any = [pd.NaT if at in gaps else pd.Timestamp(text) for at, text in enumerate(texts)]
        zoned = dtype.partition(", ")[2].rstrip("]")
        read = pd.DatetimeIndex(pd.to_datetime(stamps, utc=bool(zoned))) if stamps else pd.DatetimeIndex([])
        return (read.tz_convert(zoned) if read.tz else read.tz_localize(zoned or None)).astype(dtype)
    if dtype.startswith("timedelta64"):
        spans: Any = [pd.NaT if at in gaps else pd.Timedelta(text) for at, text in enumerate(texts)]
        return pd.TimedeltaIndex(spans).astype(dtype)
    kind = {"boolean": "b", "integer": "i", "floating": "f"}.get(str(spec.get("holds")), "O")
    kind = kind if dtype == "object" else pd.api.types.pandas_dtype(dtype).kind
    read_one: Any = {"b": _flag, "f": float, "i": int, "u": int}.get(kind, str)
    return pd.Index([np.nan if at in gaps else read_one(text) for at, text in enumerate(texts)], dtype=dtype)


def _exact_labels(texts: Texts, spec: Mapping[str, Any], gaps: set[int]) -> list[str]:
    """Return the labels that a file shows as dates, or raise KeyError for one that it did not show."""
    known = dict(zip(spec["shown"], spec["labels"], strict=True))
    plain = [text if text in known else text.removesuffix(" 00:00:00") for text in texts]
    if str(spec["dtype"]).startswith("datetime"):
        return [known.get(text, text) for text in plain]
    return ["" if at in gaps else known[text] for at, text in enumerate(plain)]


def _parse_category(texts: Texts, spec: Mapping[str, Any], gaps: set[int]) -> Any:
    places = {text: at for at, text in enumerate(spec["labels"])}
    codes = [-1 if at in gaps else places[text] for at, text in enumerate(texts)]
    labels = parse(spec["labels"], spec["of"])
    return pd.CategoricalIndex(pd.Categorical.from_codes(codes, labels, ordered=bool(spec["ordered"])))


def _parse_interval(texts: Texts, dtype: str, gaps: set[int]) -> Any:
    within, closed = dtype[len("interval[") : -1].rsplit(", ", 1)
    known = [text for at, text in enumerate(texts) if at not in gaps]
    ends = [INTERVAL.fullmatch(text) for text in known]
    if not all(ends):
        raise ValueError("not an interval")
    make: Any = pd.IntervalIndex
    low, high = (parse([each[side] for each in ends if each], {"dtype": within}) for side in (1, 2))
    found = make.from_arrays(low, high, closed=closed)
    if not gaps:
        return found
    rest = iter(found)
    return make([np.nan if at in gaps else next(rest) for at in range(len(texts))], dtype=dtype)


def _flag(text: str) -> bool:
    return {"True": True, "False": False}[text]


def read_frame(header: Texts, columns: Sequence[Texts], stated: Any) -> pd.DataFrame:
    """Return the frame that texts and a layout state, or raise ReceiptError.

    Args:
        header: The names of labels and columns, as a file has them.
        columns: Their texts, one list each.
        stated: What `layout` returned.
    """
    with reading():
        levels, values = stated["index"], stated["columns"]
        names, named = [each["name"] for each in values], [each["name"] for each in levels]
        if list(header[len(levels) :]) != names or any(len(each) != stated["rows"] for each in columns):
            raise ReceiptError("it does not fit the frame (other rows or columns)")
        labels = [parse(texts, spec) for texts, spec in zip(columns, levels, strict=False)]
        index: Any = labels[0].rename(named[0])
        if len(labels) > 1:
            index = pd.MultiIndex.from_arrays(labels, names=named)
        elif levels[0].get("range"):
            index = pd.RangeIndex(len(index), name=named[0])
        own = zip(names, columns[len(levels) :], values, strict=True)
        frame = pd.DataFrame({name: parse(texts, spec) for name, texts, spec in own}, range(len(index)))
        frame.index = index
    return frame


def restore_labels(frame: pd.DataFrame, stated: Any) -> pd.DataFrame:
    """Return a frame whose labels are categories, or intervals, where its layout states them."""
    with reading():
        levels = _levels(frame)
        found = [_restore(*pair) for pair in zip(levels, stated["index"], strict=True)]
        kept = all(new is old for new, old in zip(found, levels, strict=True))
        return frame if kept else _with_levels(frame, found)


def intervals_as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose labels that are intervals are text, which `restore_labels` reads."""
    texts = [
        pd.Index([None if pd.isna(each) else each for each in label_texts(own)], dtype=object, name=own.name)
        if isinstance(own.dtype, pd.IntervalDtype)
        else own
        for own in _levels(frame)
    ]
    return _with_levels(frame, texts)


def _levels(frame: pd.DataFrame) -> list[Any]:
    return [frame.index.get_level_values(level) for level in range(frame.index.nlevels)]


def _with_levels(frame: pd.DataFrame, levels: list[Any]) -> pd.DataFrame:
    index = levels[0] if len(levels) == 1 else pd.MultiIndex.from_arrays(levels, names=frame.index.names)
    return frame.set_axis(index)


def _restore(own: Any, spec: Mapping[str, Any]) -> Any:
    """Return labels as their layout states them."""
    if spec["dtype"] == "category" != str(own.dtype):
        dtype = pd.CategoricalDtype(parse(spec["labels"], spec["of"]), ordered=bool(spec["ordered"]))
        return own.astype(dtype)
    if spec["dtype"] == "object" and "missing" in spec:  # flags with gaps: one level of several may lack them
        return own.astype(object)
    if str(spec["dtype"]).startswith("interval") and not isinstance(own.dtype, pd.IntervalDtype):
        return parse([str(each) for each in own], spec).rename(own.name)
    return own
