"""Transport noise along a line: as unlikely as it needs many edges of a threshold. Never sees rows.

Read `run_norm` (the norm), `run_law` (how such noise varies), then `transport` (the strategy).
"""
