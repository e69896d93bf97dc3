"""The most frequent values: which they are, or also how many rows have them. Never sees rows.

Read `candidates` (what is chosen from), `question`, `selection` (picks alone), `read_off` (noisy counts),
then `gap` (how much may be missed), `sensitivity` and `solve`.
"""
