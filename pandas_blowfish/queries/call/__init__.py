"""A call: what it is about, and how it becomes a plan. Touches no row itself.

Read `scope` (filters, groups, selected columns, names), `ordered_column` (cells, prefixes and ranges of one),
then `planner` (every verb with the function that plans it) and `call_reader` (a query written as text).
"""
