"""Shared pieces of the engines' tests: one table with every kind of column, and what is asked of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pandera.pandas as pan
import pytest

import pandas_blowfish as bf

ROWS = 700


def _frame() -> pd.DataFrame:
    """Return rows of every kind of column."""
    draw = np.random.default_rng(0)
    seconds = pd.to_timedelta(draw.integers(0, 364 * 86400, ROWS), unit="s")
    return pd.DataFrame(
        {
            "age": draw.integers(0, 100, ROWS),
            "income": np.round(draw.uniform(0, 50000, ROWS), 2),
            "sex": draw.choice(["F", "M"], ROWS),
            "city": draw.choice(list("abcde"), ROWS),
            "smoker": draw.random(ROWS) < 0.3,
            "when": (pd.Timestamp("2024-01-01") + seconds).as_unit("us"),
            "score": np.where(draw.random(ROWS) < 0.1, np.nan, np.round(draw.uniform(0, 1, ROWS), 2)),
            "free": np.round(draw.normal(0, 1000, ROWS), 3),
            "level": draw.choice([1, 2, 5, 10], ROWS),
        }
    )


def _policy() -> bf.Policy:
    """Return what is declared of them."""
    year = pan.Check.in_range(pd.Timestamp("2024-01-01"), pd.Timestamp("2024-12-31"))
    columns = {
        "age": pan.Column(int, pan.Check.in_range(0, 99), metadata=bf.threshold(5)),
        "income": pan.Column(float, pan.Check.in_range(0, 50000), metadata=bf.threshold(2000, step=1000)),
        "sex": pan.Column(str, pan.Check.isin(["F", "M"]), metadata=bf.full()),
        "city": pan.Column(str, pan.Check.isin(list("abcde")), metadata=bf.full()),
        "smoker": pan.Column(bool, metadata=bf.full()),
        "when": pan.Column("datetime64[ns]", year, metadata=bf.threshold("14D", step="7D")),
        "score": pan.Column(
            float, pan.Check.in_range(0, 1), nullable=True, metadata=bf.threshold(0.1, step=0.05)
        ),
        "free": pan.Column(float, metadata=bf.threshold(10, step=0.01)),
        "level": pan.Column(int, pan.Check.isin([1, 2, 5, 10]), metadata=bf.full()),
    }
    return bf.Policy(pan.DataFrameSchema(columns))


VERBS: dict[str, Callable[[Any], Any]] = {
    "hist": lambda p: p.hist("age", epsilon=1),
    "hist of two": lambda p: p.hist(["sex", "city"], epsilon=1),
    "hist of floats": lambda p: p.hist("income", epsilon=1),
    "hist of dates": lambda p: p.hist("when", epsilon=1),
    "hist of missing": lambda p: p.hist("score", epsilon=1),
    "hist of numbers": lambda p: p.hist("level", epsilon=1),
    "hist of truth": lambda p: p.hist("smoker", epsilon=1),
    "bins": lambda p: p.hist("age", epsilon=1, bins=[0, 18, 65, 99]),
    "one bin": lambda p: p.where("city == 'a'").hist("income", epsilon=1, bins=1),
    "cumhist": lambda p: p.cumhist("income", epsilon=1),
    "quantile": lambda p: p.quantile("age", [0.25, 0.5], epsilon=1),
    "range": lambda p: p.range("age", [(0, 17), (18, 64)], epsilon=1),
    "boxes": lambda p: p.range(["age", "level"], [((0, 17), (1, 2)), ((18, 64), (2, 10))], epsilon=1),
    "marginal": lambda p: p.marginal(["sex", "city", "smoker"], epsilon=1),
    "marginals": lambda p: p.marginal(["sex", "city", "smoker"], order=2, epsilon=1),
    "sum": lambda p: p.sum(["age", "income", "free", "level"], epsilon=1),
    "sum by group": lambda p: p.groupby("sex").sum(["age", "score"], epsilon=1),
    "mean": lambda p: p.mean(["age", "score"], epsilon=1),
    "mean of dates": lambda p: p.mean("when", epsilon=1),
    "count": lambda p: p.where("age >= 18 and city in ['a', 'b']").count(epsilon=1),
    "kmeans": lambda p: p.kmeans(["age", "income"], 3, epsilon=1),
    "mode": lambda p: p.groupby("sex").mode("level", epsilon=1),
    "top": lambda p: p.top(3, ["city", "smoker"], epsilon=1),
    "where": lambda p: p.where("income >= 10000 and score < 0.5").groupby("sex").hist("city", epsilon=1),
    "std": lambda p: p.groupby("sex").std(["age", "score", "level"], epsilon=1),
    "std of dates": lambda p: p.std("when", epsilon=1),
    "corr": lambda p: p.where("income >= 10000").corr(["age", "score"], epsilon=1),
    "cov": lambda p: p.cov(["age", "income"], epsilon=1),
    "var": lambda p: p.var("income", epsilon=1),
    "describe": lambda p: p.describe(["age", "score"], epsilon=1),
    "agg": lambda p: p.groupby("sex").agg({"age": ["median", "std"], "city": "count"}, epsilon=1),
    "workload": lambda p: p.workload(np.eye(2, dtype=int), "sex", epsilon=1),
    "value_counts": lambda p: p.groupby("sex")["score"].value_counts(normalize=True, epsilon=1),
    "median": lambda p: p.where("age >= 18")["age"].median(epsilon=1),
    "crosstab": lambda p: p.crosstab("sex", "city", epsilon=1),
}


@dataclass(frozen=True)
class Asked:
    """The rows, their policy, and what every verb answers to them in pandas."""

    frame: pd.DataFrame
    policy: bf.Policy

    @cached_property
    def _answers(self) -> dict[str, Any]:
        return {}

    @cached_property
    def _protected(self) -> Any:
        return bf.protect(self.frame, self.policy, epsilon=1000)

    def ask(self, protected: Any, verb: str) -> Any:
        """Return the answer to one verb with the noise of one seed."""
        with bf.testing.replay(7):
            return VERBS[verb](protected)

    def same(self, protected: Any, verb: str) -> None:
        """Require the answer of pandas, cell for cell."""
        if verb not in self._answers:
            self._answers[verb] = self.ask(self._protected, verb)
        found, want = self.ask(protected, verb), self._answers[verb]
        if isinstance(want, dict):
            assert list(found) == list(want)
            for key in want:
                pd.testing.assert_frame_equal(found[key], want[key], check_exact=True)
        else:
            pd.testing.assert_frame_equal(found, want, check_exact=True)


@pytest.fixture(scope="session")
def asked() -> Asked:
    """Return the rows and what is asked of them."""
    return Asked(_frame(), _policy())


@pytest.fixture(scope="session")
def verbs() -> list[str]:
    """Return the names of all that is asked."""
    return list(VERBS)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Ask every verb where a test takes one."""
    if "verb" in metafunc.fixturenames:
        metafunc.parametrize("verb", list(VERBS))
