"""Blowfish privacy as a pandas accessor: noise sized by a policy, budgets kept exactly.

Say what is secret: a pandera schema whose columns have `metadata=` made by `full`, `threshold`,
`partition`, `edges`, `public`, `absolute_error` or `relative_error`, in a `Policy(schema)`, with public
facts `Count`, `Marginal`, `Box`, a secret total `Aggregate`, rows that follow each other `Markov`.
`draft(df)` begins one.

Look before you spend: `policy.lint()`, `policy.odds(...)`, `policy.plot()`, `policy.plan.hist(...)`,
`compare(...)`.

Protect and release: `df.blowfish.protect(policy, epsilon=1)`, then `df.blowfish.hist(...)`, `cumhist`,
`quantile`, `range`, `marginal`, `kmeans`, `sum`, `mean`, `logsum`, `geomean`, `count`, `workload`, with
`where` and `groupby` before them. `of(df)` is `df.blowfish` with types for editors; `check(df, policy)` is
for the curator's eyes; `scenario(...)` checks what a mechanism tells under stated beliefs.

Hand on and account for: `save(result, path)`, `load(path)`, `result.blowfish.plot()`, `report(ledger, path)`,
`Ledger(path)`.

>>> import pandas_blowfish as bf
>>> policy = bf.datasets.patients_policy()
>>> policy.plan.hist("age", epsilon=0.1).sensitivity
Fraction(2, 1)
"""

from pandas_blowfish import datasets, errors, testing
from pandas_blowfish.accessor import BlowfishAccessor, Protected, of, protect
from pandas_blowfish.beyond.aggregate import Aggregate
from pandas_blowfish.beyond.markov import Markov
from pandas_blowfish.beyond.scenario import Scenario, scenario
from pandas_blowfish.books.ledger import Budget, Ledger
from pandas_blowfish.books.pools import Pool
from pandas_blowfish.errors import BlowfishError
from pandas_blowfish.explain.compare import compare
from pandas_blowfish.explain.policy.picture import plot_policy as _plot  # noqa: F401  gives policies their pictures
from pandas_blowfish.export import load, save
from pandas_blowfish.facts.declared import Box, Count, Marginal
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.policy.attach import attach
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.policy.secret import (
    absolute_error,
    edges,
    full,
    partition,
    public,
    relative_error,
    threshold,
)
from pandas_blowfish.queries.frames.curate import check, draft
from pandas_blowfish.report import report
from pandas_blowfish.version import __version__

__all__ = [
    "Aggregate",
    "BlowfishAccessor",
    "BlowfishError",
    "Box",
    "Budget",
    "Count",
    "Domain",
    "Ledger",
    "Marginal",
    "Markov",
    "Plan",
    "Policy",
    "Pool",
    "Protected",
    "Scenario",
    "__version__",
    "absolute_error",
    "attach",
    "check",
    "compare",
    "datasets",
    "draft",
    "edges",
    "errors",
    "full",
    "load",
    "of",
    "partition",
    "protect",
    "public",
    "relative_error",
    "report",
    "save",
    "scenario",
    "testing",
    "threshold",
]


def __dir__() -> list[str]:
    return __all__
