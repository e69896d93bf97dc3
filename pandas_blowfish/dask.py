"""`import pandas_blowfish.dask` gives Dask DataFrames `frame.blowfish.protect(...)`."""

from __future__ import annotations

from pandas_blowfish.accessor import UnprotectedTable
from pandas_blowfish.errors import MissingPackageError

try:
    from dask.dataframe.extensions import register_dataframe_accessor
except ImportError:
    raise MissingPackageError("dask", 'pip install "pandas-blowfish[dask]"') from None

register_dataframe_accessor("blowfish")(UnprotectedTable)  # type: ignore[no-untyped-call]
