"""Several tables that share their noise: an edge that changes many of them pays once. Never sees rows.

Read `joint_tables` (what is measured, and what it loses), then `joint_search` (which tables share).
"""
