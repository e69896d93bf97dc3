"""The budget: who was charged what, exactly, in a log that can be verified. Never sees rows or draws noise.

Promises that a charge is durable before a row is counted, that charges never exceed the total, and that an
edited, deleted or reordered entry is found. A release with a weaker guarantee (entries of kind "apart") is
reported separately: no budget covers it.

Read `ledger` (what a caller uses), `log` (entries that vouch for all before them), `database` (one file,
checked in every transaction), `balance` (budgets, and whether the sums of entries follow from each other),
`part_sums` (charges that different people see), `pools` (totals that datasets share), `analysts` (who
charges), `reprice` (facts learnt later), `named_answers`, `receipt`, `verify`; `ledger_tables` lists entries
and parts, `sealkey` makes the keys of fingerprints of rows, and `upgrade` moves old ledgers.
"""
