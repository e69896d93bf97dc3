"""Tables of files and engines as pandas frames, a part at a time.

Sees rows, and hands out no more of them than counts. A reader places no value in a cell: it yields frames to
`count.encode`, or groups with their least and greatest values. What an engine raises is never shown.

Read `tables` (which tables can be opened), `pieces` (what every reader can do) and `batches` (those of
Arrow types), then one file per engine: `arrow`, `polars`, `duckdb`, `dask`, `spark`. `files` and `fields`
read CSV, Parquet and Feather files.
"""
