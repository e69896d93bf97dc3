"""Secret graphs: which cells an edge joins, how far apart two cells are, what one edge can change.

Promises exact answers from closed forms, whatever the number of cells. Never sees rows.

Read `secret_graph` (the protocol, cliques and listed edges), `ball` (a threshold on a line), `offsets` and
`cubes` (thresholds and partitions of several columns), `missing`, `joint` (which graph a joint secret has),
then `records` (whole records, block by block). `partition` reads the groups that a person wrote.

`edges` and `moves` are separate: they derive the same edges a second time, from the definition of each
secret, for `kernel/check.py`. They use none of the classes above, and must not: an auditor reads the three
together.
"""
