"""What is promised: which values of a record stay indistinguishable, and over which declared cells.

A policy is made from a schema or from plain data alone: this folder never sees rows, randomness or a
budget. Its modules import `exact` only; a few methods of `Policy` call `facts` and `beyond`, inside the
function.

Read `policy` first, then `schema`, `domain` and `attribute` (the declared cells), `secret`, `margin` and
`blocks` (what is secret), and `graph/` (the edges that follow). `expression` reads filters; `cells` is a
list of cells by their codes. `serialise` and `attach` store a policy; `describe`, `odds` and `lint` state
in words what it promises and what it leaves open.
"""
