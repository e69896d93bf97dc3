"""Rows to whole numbers: codes of cells, counts, sums and seals.

The only folder, besides the kernel, that sees rows. It draws no randomness, knows no budget, and no error or
message of it shows a value of a row. There is one encoder for every engine: whatever holds the rows, pandas
frames reach `encode`, and a value has the same cell everywhere.

Read `place` (numbers and instants to cells), `encode` (columns of any storage) and `codes` (in few bytes),
then `tally` (counts), `weigh` (sums), `groups` (what engines count by themselves), `fingerprint` and `seal`
(whether rows are still those that were protected); `probe` and `assign` make and label rows. `readers` opens
tables.
"""
