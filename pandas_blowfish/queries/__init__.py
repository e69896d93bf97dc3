"""One file per verb: what a person may ask, read into a question, planned and given its frame.

Rows pass through untouched: `frames` hands them to `kernel` and `count`, and nothing here reads a value.

Read `scope` (what verbs share), then a verb: `count` and `hist` are the shortest; `cumhist`, `quantile` and
`range` share `ordered_column`; `marginal`, `workload`, `totals` (sum, mean, logsum, geomean) and `kmeans`
stand alone; `weaker_promise` holds strategies with a weaker guarantee than the policy's. `planner` lists all
verbs for `policy.plan`, `call` reads them from text, and `frames` is what happens to the frame around a verb.
"""
