"""Pictures of policies: which values stay indistinguishable, and how far odds can change. Never sees rows.

Read `picture` (what `policy.plot` draws), `column` (one column of it), then its kinds: `strips` for an order,
`network` for pairs and groups. `reach` computes the steps between values, `captions` the words.
"""
