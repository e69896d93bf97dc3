"""Check, charge, count, add noise, record: the only code that joins rows, randomness and budget.

`measure.py` is the one function through which rows become a release; read it first, then `check.py`, which
recomputes the loss of a plan before it is charged and does not trust the plan. `noise.py`, `joint_noise.py`
and `run_noise.py` draw, with the limits of `exact/enclosure.py` and `exact/run_chain.py`. `buckets.py`,
`choices.py`, `nearest.py` and `weaker_release.py` add noise in other ways.

This folder is not all that an auditor reads. For each claim, the files and their lines together:

No release loses more than it is charged (3,150 lines):
    kernel/check.py, kernel/measure.py, kernel/choices.py, kernel/nearest.py, policy/graph/edges.py,
    policy/graph/moves.py, policy/cells.py, policy/attribute.py, policy/margin.py, policy/graph/part.py,
    count/probe.py, plan/joint_noise/norms.py, plan/transport/run_norm.py, exact/least_runs.py

The same, where the policy states public facts (2,050 lines):
    facts/, policy/graph/records.py, exact/integer_kernel.py

The same, for Markov chains and secret totals (750 lines):
    beyond/markov.py, beyond/quilt.py, beyond/aggregate.py

Charges are written first, never lost, and never exceed the total (1,900 lines):
    books/ledger.py, books/log.py, books/database.py, books/balance.py, books/part_sums.py,
    books/pools.py, books/analysts.py

Edits of the ledger are found (650 lines):
    books/verify.py, books/log.py, books/named_answers.py, books/upgrade.py

Noise has exactly the stated law (1,200 lines):
    kernel/noise.py, kernel/joint_noise.py, kernel/run_noise.py, plan/joint_noise/ball_points.py,
    exact/run_chain.py, exact/enclosure.py

Rows leave only as noisy values, values that no edge changes, public keys, and keyed seals (4,500 lines):
    kernel/measure.py, kernel/buckets.py, kernel/choices.py, kernel/nearest.py, kernel/weaker_release.py,
    count/

Weaker promises hold as their receipts state (1,100 lines):
    kernel/weaker_release.py, beyond/weaker.py, beyond/certified.py, beyond/interval.py,
    beyond/wasserstein.py, exact/enclosure.py

Strategies (`plan/`) are handed exact counts by `measure`: they turn counts of cells into the exact values of
their query rows, before noise is added. SECURITY.md describes what is checked of that, and what is trusted.
"""
