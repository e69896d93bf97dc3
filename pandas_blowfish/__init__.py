"""Blowfish privacy as a pandas accessor: noise sized by a policy, budgets kept exactly.

>>> import pandas_blowfish as bf
>>> policy = bf.datasets.patients_policy()
>>> policy.plan.hist("age", epsilon=0.1).sensitivity
Fraction(2, 1)
"""

from pandas_blowfish import datasets, errors, testing
from pandas_blowfish.accessor import BlowfishAccessor, of
from pandas_blowfish.errors import BlowfishError
from pandas_blowfish.export import save
from pandas_blowfish.kernel.ledger import Budget, Ledger
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.policy.constraint import Box, Count, Marginal
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.policy import Policy, attach
from pandas_blowfish.policy.secret import edges, full, partition, public, threshold
from pandas_blowfish.queries.curate import check, draft
from pandas_blowfish.version import __version__

__all__ = [
    "BlowfishAccessor",
    "BlowfishError",
    "Box",
    "Budget",
    "Count",
    "Domain",
    "Ledger",
    "Marginal",
    "Plan",
    "Policy",
    "__version__",
    "attach",
    "check",
    "datasets",
    "draft",
    "edges",
    "errors",
    "full",
    "of",
    "partition",
    "public",
    "save",
    "testing",
    "threshold",
]
