"""Questions about tables of counts: bins of any columns, several marginals, boxes. Never sees rows.

A table over some columns determines effects, parts that vary with all of some columns; answers are put
together effect by effect. Read `question` and `boxes`, then `sensitivity` (which columns one edge changes),
`effects` (scales), the strategies `identity`, `residual` with `cover`, the folder `shared` (noise that
several tables draw together), `levels` with `ladder`, `mesh` with `mesh_lines`, `weights` (which are best),
and `solve` and `solve_boxes` (from noisy values to answers).
"""
