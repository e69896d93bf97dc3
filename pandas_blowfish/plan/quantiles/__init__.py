"""Quantiles as a question: places picked along a line, or read off cumulative counts. Never sees rows.

Read `line_cells` (what is picked from), `halving` (which quantiles are picked at once), `question`,
`select` (the picks), then `sensitivity`, `rank_gap` (how many rows may lie between) and `solve`.
"""
