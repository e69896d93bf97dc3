"""One page for the privacy officer, from a ledger alone: promise, budget, releases, trust. Never sees rows.

Read account (what a ledger states of a dataset), page, chapters, then listing and its pictures.
"""
