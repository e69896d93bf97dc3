"""Promises beyond one record: Markov chains, secret totals, weaker guarantees, any small scenario.

Each promise is stated with whom it protects against; those weaker than a policy's are reported separately,
and never added to a budget. Never sees rows: releases are made by `kernel/`.

Read `aggregate` and `total_plan` (a total of the whole table), `markov`, `quilt` and `chain_plan` (rows in
order of time), `weaker` with `certified` and `interval` (counts released exactly under a stated prior),
then `scenario`, `verdict` and `wasserstein` (everything listed, and checked by enumeration).
"""
