"""draft and check: the curator's tools before protect. Touches no row itself."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pandas_blowfish.errors import FrameError
from pandas_blowfish.kernel import count
from pandas_blowfish.policy import schema
from pandas_blowfish.queries.protect import as_policy


class Draft(str):
    """Schema code; shown once, by `draft`, not again by the notebook."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<draft of {self.count('pa.Column')} columns: printed above, str() has the code>"


def draft(frame: pd.DataFrame) -> Draft:
    """Print schema code for a frame, with blanks (`...`) where a person must state the bounds.

    Only names and dtypes are read: bounds taken from rows would be a leak.

    Returns:
        The code, as text.
    """
    if not isinstance(frame, pd.DataFrame):
        raise FrameError("not a pandas DataFrame", fix="give a DataFrame.")
    code = Draft(schema.draft({str(name): dtype for name, dtype in frame.dtypes.items()}))
    print(str(code))
    return code


def check(frame: pd.DataFrame, policy: Any) -> pd.DataFrame:
    """Return how many rows of each declared column are missing or outside its domain.

    Then, for each public fact whose answer the policy states, whether the rows agree with it: else what
    was stated and what was counted, or of a marginal how many counts differ.
    A curator's tool: the counts are exact and private, keep them out of logs.

    Args:
        frame: The rows, protected or not.
        policy: A policy or schema.
    """
    promise = as_policy(policy)
    return count.check(frame, promise.domain, promise.facts)
