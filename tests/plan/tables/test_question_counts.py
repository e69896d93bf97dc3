"""Plain counts as a question, and a strategy that is added from outside the package."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import UnknownStrategyError, UnsoundPlanError
from pandas_blowfish.plan import choose
from pandas_blowfish.plan.protocol import OneTable
from pandas_blowfish.plan.query_rows import columns_from
from pandas_blowfish.plan.scales import Scales, variance
from pandas_blowfish.plan.shape.solved import Solved
from pandas_blowfish.plan.tables.question import STRATEGIES, Counts
from pandas_blowfish.plan.tally import Tally, tally
from pandas_blowfish.policy.domain import Domain, integers

POLICY = bf.Policy(Domain((integers("x", 0, 9), integers("y", 0, 1))), secrets={"x": bf.threshold(2)})


@dataclass(frozen=True, eq=False)
class EvenCells(OneTable):
    """Counts of every second bin with the same noise; nothing is known of the others."""

    tally: Tally
    epsilon: Fraction
    factor: Fraction = Fraction(1)  # of the noise: below 1 it is a lie

    name = "even_cells"
    proof_id = "even_cells"
    proof = "One row is in at most one even bin; an edge changes two of them by one each."
    sensitivity = Fraction(2)
    mse = float("inf")  # never chosen by itself

    @classmethod
    def build(cls, graph, tally, epsilon):
        """Return the strategy for a tally."""
        del graph
        return cls(tally, epsilon)

    @property
    def form(self):
        """Return nothing: the tally determines it."""
        return {}

    @property
    def index(self):
        """Return the index of the bins."""
        return self.tally.index

    @property
    def scales(self):
        """Return one scale for every second bin."""
        return Scales([self.factor * 2 / self.epsilon], np.zeros((self.tally.size + 1) // 2, dtype=np.int8))

    @property
    def variances(self):
        """Return the variance of each bin that is measured."""
        return np.full(self.tally.size, variance(self.scales.values[0]))

    def apply(self, counts):
        """Return the counts of every second bin."""
        return counts[::2]

    def columns(self, cells):
        """Return the columns of the matrix at some cells."""
        bins = self.tally.bins_at(cells)
        return columns_from([(np.where(bins % 2, -1, bins // 2), 1)], len(self.scales))

    def solve(self, values, *, post, known=None):
        """Return what was measured, and 0 for the others."""
        del known
        answers = np.zeros(self.tally.size)
        answers[::2] = np.maximum(values, 0) if post else values
        return Solved(answers, answers)


@pytest.fixture
def even_cells(monkeypatch):
    """Add the strategy to its family's list, for one test."""
    monkeypatch.setattr("pandas_blowfish.plan.tables.question.STRATEGIES", [*STRATEGIES, EvenCells])
    choose._plans.clear()
    yield
    choose._plans.clear()


def _frame():
    return pd.DataFrame({"x": np.arange(200) % 10, "y": np.arange(200) % 2})


@pytest.mark.parametrize("columns", ["x", ["x", "y"]])
def test_a_strategy_from_outside_is_planned_checked_and_released(even_cells, columns):
    """One class in the family's list is enough: plan, charge, check, noise, answer and receipt follow."""
    df = _frame().blowfish.protect(POLICY, epsilon=1)

    found = df.blowfish.hist(columns, epsilon="1/2", strategy="even_cells")

    assert found.blowfish.receipt["strategy"] == "even_cells"
    assert found.blowfish.receipt["checked"] == "every edge"
    assert df.blowfish.budget.spent == Fraction(1, 2)
    assert (found["count"].iloc[1::2] == 0).all()
    assert found["count"].iloc[::2].sum() > 50
    assert df.blowfish.plan.hist(columns, strategy="even_cells").privacy_loss() <= 1


def test_a_strategy_from_outside_that_lies_is_stopped_by_the_check(even_cells, monkeypatch):
    """Half the noise it owes: refused before the charge."""
    monkeypatch.setattr(
        EvenCells, "build", lambda graph, tally, epsilon: EvenCells(tally, epsilon, Fraction(1, 4))
    )
    df = _frame().blowfish.protect(POLICY, epsilon=1)

    with pytest.raises(UnsoundPlanError):
        df.blowfish.hist("x", epsilon="1/2", strategy="even_cells")

    assert df.blowfish.budget.spent == 0


def test_without_it_the_name_is_unknown():
    """The list is what can be asked for."""
    with pytest.raises(UnknownStrategyError, match="even_cells"):
        POLICY.plan.hist("x", strategy="even_cells")


def test_counts_are_a_question_like_any_other():
    """Columns, strategies, candidates; what was measured is made again from its name."""
    question = Counts(tally(POLICY.domain, ["x", "y"], None))

    found, *_ = question.candidates(POLICY, Fraction(1), "auto", every=False)
    again = question.reread(POLICY, Fraction(1), found.name, found.form)

    assert question.columns == ("x", "y")
    assert question.strategies == ("identity", "cliques")
    assert list(again.scales) == list(found.scales)
    assert question.price(POLICY).moved == 1


def test_nothing_more_is_tried_once_all_counts_are_exact(even_cells):
    """Public columns: the plain counts, and no other candidate."""
    public = bf.Policy(Domain((integers("x", 0, 3),)), secrets={"x": bf.public()})
    question = Counts(tally(public.domain, ["x"], None))

    assert [each.name for each in question.candidates(public, Fraction(1), "auto", every=True)] == [
        "identity"
    ]


@pytest.mark.parametrize("asked", [POLICY.plan.count(), POLICY.plan.cumhist("x")])
def test_a_stored_answer_of_an_unknown_strategy_is_not_read_by_another(asked):
    """An entry of a strategy that is no longer there is refused, whatever the family."""
    with pytest.raises(UnknownStrategyError, match="gone"):
        asked.asked[0].reread(POLICY, Fraction(1), "gone", {})
