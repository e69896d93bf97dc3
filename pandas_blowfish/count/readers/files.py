"""Files of rows to frames, only their declared columns, typed by what is declared: this module sees rows.

Whatever is read is sealed by `protect` afterwards. What one row holds must not change how another is
read, so that files that differ in a row are tables that differ in it. So a type is never chosen by what
the rows hold, decimals are read to the nearest float, and no message shows any of it. What a column's
kind cannot hold (a word among numbers, say) stays what it is, so that it is found outside the declared
domain and the table is refused.
"""

from __future__ import annotations

import codecs
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from pandas_blowfish.count.readers.fields import convert, declared_kind, marks, remove_marks, require_marks
from pandas_blowfish.errors import ArgumentError, DataFileError, MissingPackageError
from pandas_blowfish.policy.attribute import Attribute, Values
from pandas_blowfish.policy.domain import Domain

Tick = Callable[[float], None]  # takes the share of the file that was read
FORMS = {".parquet": "parquet", ".pq": "parquet", ".feather": "feather", ".csv": "csv", ".tsv": "csv"}
PACKED = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd"}
LINES = 250_000  # of a text file that are read together
SAMPLE = 10_000  # lines by which a draft guesses what type a column has


def read_table(
    path: Any,
    domain: Domain,
    unit: str | None = None,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    na: Sequence[str] = (),
    tick: Tick | None = None,
) -> pd.DataFrame:
    """Return the rows of a file: its declared columns that are there, and the unit's.

    Numbers, instants (ISO 8601), booleans and text are read as the domain declares them; leading zeros of
    text stay. Of text, the usual marks of a missing value (NA, null, ...) count as missing unless declared,
    and so do those given, in every declared column.

    Args:
        path: A Parquet, Feather or CSV file; text may be packed (.csv.gz).
        domain: The declared columns.
        unit: A column that names who a row is about.
        separator: What separates the fields of text; a comma by default, a tab in .tsv.
        encoding: Of text; UTF-8 by default.
        na: More texts that stand for a missing value; a value that some column declares is none. Of Parquet
            and Feather files they are looked for in columns of text alone.
        tick: Takes the share of the file that was read.

    Proof note:
        Requires: a table that holds what its columns do not declare is refused (`protect`).
        Ensures:  text files that differ in one row are tables that differ in that row alone, which policies
                  are about.
        Because:  a field is read by its column's declared kind: where the parser guesses, it is between
                  forms of numbers that keep every declared value, and larger ones are read one by one.
        Checked:  tests/count/readers/test_files.py::test_a_row_does_not_change_how_others_are_read,
                  tests/count/readers/test_files.py::test_blank_lines_of_a_single_column_are_rows
    """
    place, form = _form(path)
    attributes: dict[str, Attribute | None] = {attribute.name: attribute for attribute in domain}
    require_marks(na, domain)
    attributes |= {unit: None} if unit is not None and unit not in attributes else {}
    with _quietly():
        if form == "csv":
            return _text(place, attributes, _options(place, separator, encoding), na, tick or _ignore)
        return _arrow(place, form, attributes, na, tick or _ignore)


def column_types(
    path: Any, *, separator: str | None = None, encoding: str | None = None, na: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the names and types of a file's columns; of text, types by its first lines."""
    place, form = _form(path)
    with _quietly():
        if form == "csv":
            options = _options(place, separator, encoding)
            names = _header(place, options)
            with place.open("rb") as file:
                more: dict[str, Any] = {"index_col": False, "low_memory": False, "na_values": list(na)}
                found = pd.read_csv(file, nrows=SAMPLE, **more, **options)
            return dict(zip(names, found.dtypes, strict=True))
        types = _schema(place, form).empty_table().to_pandas().dtypes
        return {str(name): dtype for name, dtype in types.items()}


def is_text(path: Any) -> bool:
    """Return whether a file is text, whose types nobody states."""
    return _form(path)[1] == "csv"


def _form(path: Any) -> tuple[Path, str]:
    """Return a path and what kind of file it is, by its ending."""
    place = Path(path)
    ending = Path(place.stem).suffix if place.suffix.lower() in PACKED else place.suffix
    form = FORMS.get(ending.lower())
    if form is None or (form != "csv" and place.suffix.lower() in PACKED):
        allowed = ", ".join([*FORMS, *(f".csv{each}" for each in PACKED)])
        raise ArgumentError("data", f"unknown ending {place.suffix!r}", allowed=allowed)
    os.stat(place)  # of a file that is not there, the error names it
    if not place.is_file():
        raise DataFileError(f"{place.name!r} is not a file", fix="give one file.")
    return place, form


@contextmanager
def _quietly() -> Iterator[None]:
    """Let nothing out of a reader that may quote a row: neither its warnings nor its errors."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", pd.errors.ParserWarning)  # lines longer than the header
            yield
    except (MemoryError, DataFileError, ArgumentError, MissingPackageError):
        raise
    except UnicodeError:
        fix = "convert it, or say its encoding (latin-1, utf-16, ...)."
        raise DataFileError("the file is not text in this encoding", fix=fix) from None
    except pd.errors.EmptyDataError:
        raise DataFileError("the file is empty", fix="give a file with a line of column names.") from None
    except (pd.errors.ParserError, pd.errors.ParserWarning):
        what = "some line has more fields than there are columns, or its quotes do not match"
        raise DataFileError(what, fix="quote fields that hold the separator, or say another one.") from None
    except Exception as error:  # whatever a reader raises may quote what it read
        if isinstance(error, OSError) and error.errno is not None:
            raise  # of the file system
        what = f"the file cannot be read ({type(error).__name__})"
        raise DataFileError(what, fix="write it again; .parquet and .csv are safest.") from None


def _options(place: Path, separator: str | None, encoding: str | None) -> dict[str, Any]:
    """Return how a text file is read, whatever is in it."""
    if separator is not None and (len(separator) != 1 or separator in '"\r\n'):
        raise ArgumentError("separator", "not one character", allowed='"," or ";" or a tab')
    try:
        codecs.lookup(encoding or "utf-8")
    except (LookupError, ValueError):
        raise ArgumentError("encoding", "unknown", allowed="utf-8, latin-1, utf-16, ...") from None
    tab = ".tsv" in (place.suffix.lower(), Path(place.stem).suffix.lower())
    return {
        "sep": separator or ("\t" if tab else ","),
        "encoding": encoding or "utf-8-sig",
        "compression": PACKED.get(place.suffix.lower()),
    }


def _header(place: Path, options: Mapping[str, Any]) -> list[str]:
    """Return the names in the first line, as they are written."""
    with place.open("rb") as file:
        first = pd.read_csv(file, header=None, nrows=1, dtype=str, keep_default_na=False, **options)
    return _once([str(name) for name in first.iloc[0]])


def _once(names: Sequence[str]) -> list[str]:
    """Return names of columns, each of which must be there once."""
    if twice := sorted({name for name in names if names.count(name) > 1}):
        named = ", ".join(map(repr, twice))
        raise DataFileError(f"columns occur twice: {named}", columns=twice, fix="give each its own name.")
    return list(names)


def _text(
    place: Path,
    attributes: Mapping[str, Attribute | None],
    options: Mapping[str, Any],
    na: Sequence[str],
    tick: Tick,
) -> pd.DataFrame:
    """Return the columns of a text file, read piece by piece; the others are dropped at once."""
    names = _header(place, options)
    wanted = [name for name in names if name in attributes]
    kinds = {name: declared_kind(attributes.get(name)) for name in names}
    # with marks all is read as text first: else "-9" might mean "-9.00" too, if another row has a point
    plain = {name: str for name, kind in kinds.items() if na or kind in ("text", "instant", "whole")}
    parts: list[dict[str, pd.Series[Any]]] = []
    size = max(place.stat().st_size, 1)
    with place.open("rb") as file:
        # not usecols: with it a line that has a field too many would be read, shifted
        reader = pd.read_csv(
            file,
            chunksize=LINES,
            dtype=plain,
            index_col=False,
            keep_default_na=False,
            na_values={name: [*marks(attributes.get(name)), *na] for name in names},
            dtype_backend="numpy_nullable",
            low_memory=False,
            float_precision="round_trip",  # the nearest float, in every version of pandas
            skip_blank_lines=len(names) > 1,  # else one is a missing value, and a row like any other
            **options,
        )
        with reader:
            for part in reader:
                parts.append({name: convert(part[name], attributes[name]) for name in wanted})
                tick(min(file.tell() / size, 1.0))
    return pd.DataFrame({name: _joined([part[name] for part in parts]) for name in wanted})


def _joined(parts: Sequence[pd.Series[Any]]) -> pd.Series[Any]:
    """Return the pieces of a column as one."""
    if len(parts) > 1 and all(isinstance(part.dtype, pd.CategoricalDtype) for part in parts):
        return pd.Series(pd.api.types.union_categoricals([part.array for part in parts]))
    return pd.concat(parts, ignore_index=True)


def _schema(place: Path, form: str) -> Any:
    """Return the schema of an Arrow file, without its rows."""
    arrow = _pyarrow()
    if form == "parquet":
        import pyarrow.parquet

        schema = pyarrow.parquet.read_schema(place)
    else:
        with arrow.memory_map(str(place)) as file:
            schema = arrow.ipc.open_file(file).schema
    _once(schema.names)
    return schema.remove_metadata()


def _arrow(
    place: Path, form: str, attributes: Mapping[str, Attribute | None], na: Sequence[str], tick: Tick
) -> pd.DataFrame:
    """Return the columns of an Arrow file, row group by row group."""
    arrow, schema = _pyarrow(), _schema(place, form)
    wanted = [name for name in schema.names if name in attributes]
    texts = [name for name in wanted if str(schema.field(name).type) in ("string", "large_string")]
    listed = [name for name in texts if isinstance(attributes[name], Values)]  # few values: kept once each
    if form == "parquet":
        import pyarrow.parquet

        with pyarrow.parquet.ParquetFile(place, memory_map=True, read_dictionary=listed) as file:
            tables = [file.schema_arrow.empty_table().select(wanted)]
            for group in range(file.num_row_groups):
                tables.append(file.read_row_group(group, columns=wanted).select(wanted))
                tick((group + 1) / file.num_row_groups)
            table, rows = arrow.concat_tables(tables), file.metadata.num_rows
    else:
        table = arrow.feather.read_table(place, columns=wanted)
        rows = table.num_rows
    table = table.replace_schema_metadata(None)
    columns = {name: _column(table.column(name)) for name in wanted}
    if na:
        columns = {name: remove_marks(column, na, text=name in texts) for name, column in columns.items()}
    return pd.DataFrame(columns, index=pd.RangeIndex(rows))


def _column(column: Any) -> pd.Series[Any]:
    """Return an Arrow column as pandas; whole numbers with missing ones among them stay whole."""
    import pyarrow.types

    whole = column.null_count > 0 and pyarrow.types.is_integer(column.type)
    read: pd.Series[Any] = column.to_pandas(types_mapper=(lambda _: pd.Int64Dtype()) if whole else None)
    return read


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.feather
    except ImportError:
        raise MissingPackageError("pyarrow", 'pip install "pandas-blowfish[parquet]"') from None
    return pyarrow


def _ignore(share: float) -> None:
    """Show nobody how far a file was read."""
