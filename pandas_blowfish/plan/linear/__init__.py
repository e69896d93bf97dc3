"""Workloads: any whole-number queries over the cells of some columns. Never sees rows.

Cells that no query distinguishes are one atom; strategies measure whole-number rows over atoms. Read
`question`, then `atoms` and `sensitivity` (how much one edge changes rows), the strategies `atom_rows` with
`optimise`, and `woven` with `line_sums`, `estimator` and `solve` (from noisy values to answers), and `bound`
(what no method can do better, for questions of other families, too).
"""
