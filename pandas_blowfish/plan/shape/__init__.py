"""Noisy counts made non-negative, monotone and equal to known sums: post-processing. Never sees rows.

Read `solved.py` (what solving returns), `simplex.py`, `coarse.py` and `monotone.py`, then `system.py` and
`agree.py`, which move counts as little as possible until their sums are the known ones, and `nonnegative.py`
and `pairs.py` for several tables that agree. `line_records.py` and `covariance.py` are about what is not
shaped: how errors of the estimates go together; `averages.py` reads means and variances off such estimates.
"""
