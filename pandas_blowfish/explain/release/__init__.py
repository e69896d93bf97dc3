"""Pictures of released frames, with error bars of which the release knows. Never sees rows, only releases.

Read `plot` (which picture for which answers), then the pictures: `bars` for counts, `rows` for those of many
names, `points` for quantiles and totals, `heat` for tables of two columns, `map` for clusters, `multiples`
for several tables. `series`, `axis_labels` and `canvas` serve all.
"""
