"""Questions along one ordered column: counts, cumulative counts, quantiles and ranges. Never sees rows.

Strategies measure runs of cells, sums under a tree, or buckets of these; scales come from what the policy's
edges change along the line. Read `question`, then `sensitivity` and `axis` (what edges do), `strategy` (what
all strategies share), `nest`, `layouts` and `runs` (those of nested runs), `tree` and `dawa`, `search` and
`variance` (which is best), `solve` and `quantile_curve` (from noisy values to answers).
"""
