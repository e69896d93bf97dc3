"""Tables of other engines and files, a batch of rows at a time, for the one encoder. Sees rows.

Read tables (which tables can be counted), pieces (what every reader offers), batches, then one file per
engine; files and fields turn text files into typed frames before they are protected.
"""
