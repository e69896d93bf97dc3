"""The budget: who was charged what, exactly, in a log that can be verified. Never sees rows or draws noise.

Read ledger (what a caller uses), log (entries that vouch for all before them), database (one file, checked in
every transaction), balance and rules (what may be charged), reprice (facts learnt later), verify, receipt.
Keys for fingerprints of rows are made in sealkey; upgrade moves old ledgers.
"""
