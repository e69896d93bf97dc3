"""mean: the average of the values of columns that are not missing. Touches no row itself.

The sum is divided by the row count where no edge changes that, else by a noisy one that is part of the same
release.
"""

from __future__ import annotations

from functools import partial

from pandas_blowfish.queries.sum import plan_totals

plan_mean = partial(plan_totals, "mean")  # see `df.blowfish.mean`
