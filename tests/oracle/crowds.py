"""Many small random tables of people with several rows as one, and which of their rows must be kept alike.

Units bear the number of their table, so that a slow engine goes through all tables at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.count.units import keep_rows
from pandas_blowfish.policy.domain import Domain, from_dict, integers

TABLES, PEOPLE, ROWS = 10_000, 4, 5  # random tables, people in each, and rows of each at most
DOMAIN = Domain((integers("x", 0, 4), from_dict("c", {"type": "category", "values": ["a", "b"]})))
NAMES = ["who", "x", "c"]
KEY = "5e" * 32
Native = Callable[[pd.DataFrame], Any]  # makes a table that is ready to be counted


def random_rows(draw: np.random.Generator, who: np.ndarray) -> pd.DataFrame:
    """Return rows of some people, each with 0 to 5, of which many are equal."""
    own = np.repeat(who, draw.integers(0, ROWS + 1, len(who)))
    rows = {"who": own, "x": draw.integers(0, 4, len(own)), "c": draw.choice(["a", "b"], len(own))}
    return pd.DataFrame(rows).astype({"who": object, "c": object})


def require_own_rows_alone(native: Native, most: int) -> None:
    """Change, add or remove the rows of one person in each table, and shuffle all: nobody else's differ."""
    draw = np.random.default_rng(most)
    who = np.array([f"{table} {person}" for table in range(TABLES) for person in range(PEOPLE)], dtype=object)
    changed = who.reshape(TABLES, PEOPLE)[np.arange(TABLES), draw.integers(0, PEOPLE, TABLES)]
    before = random_rows(draw, who)
    others = before[~before["who"].isin(changed)]
    after = pd.concat([others, random_rows(draw, changed)]).sample(frac=1, random_state=most)

    kept = [kept_rows(native(frame.reset_index(drop=True)), most) for frame in (before, after)]

    for frame, own in zip((before, after), kept, strict=True):
        assert (own.groupby("who").sum() == frame.groupby("who").size().clip(upper=most)).all()
        pd.testing.assert_series_equal(own, kept_rows(frame, most))  # as pandas keeps
    same = [own[~own.index.get_level_values("who").isin(changed)] for own in kept]
    pd.testing.assert_series_equal(*same)


def kept_rows(frame: Any, most: int) -> pd.Series[Any]:
    """Return how often each row of each person is kept."""
    kept = keep_rows(frame, tuple(DOMAIN), "who", most, KEY, clip=False).rows
    if not isinstance(kept, pd.DataFrame):
        kept = kept.merge(NAMES, lambda part: part[NAMES].astype(object), lambda a, b: pd.concat([a, b]))
    return kept.astype({"who": str, "x": "int64", "c": str}).groupby(NAMES).size()
