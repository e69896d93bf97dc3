"""`import pandas_blowfish.polars` gives polars frames, lazy ones too, `frame.blowfish.protect(...)`."""

from __future__ import annotations

from pandas_blowfish.accessor import UnprotectedTable
from pandas_blowfish.errors import MissingPackageError

try:
    import polars
except ImportError:
    raise MissingPackageError("polars", 'pip install "pandas-blowfish[polars]"') from None

polars.api.register_dataframe_namespace("blowfish")(UnprotectedTable)
polars.api.register_lazyframe_namespace("blowfish")(UnprotectedTable)
