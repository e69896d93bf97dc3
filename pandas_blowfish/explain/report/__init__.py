"""One page for the privacy officer, from a ledger alone: promise, budget, releases, trust. Never sees rows.

Read `account` (what a ledger states of a dataset) with `shares` (who has lost what), `page` (all chapters in
one file), `chapters` with `promise` and `timeline`, `listing` (one article per release) with `figure` and
`number_table`, `trust`, and `style`.
"""
