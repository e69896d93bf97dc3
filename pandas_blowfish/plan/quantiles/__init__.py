"""Quantiles as a question: places picked along a line, or read off cumulative counts. Never sees rows.

Read `lines` (what is picked from), `ladder` (which quantiles are picked at once), `question`, `select` (the
picks), then `sensitivity`, `gap` (how many rows may lie between) and `solve`.
"""
