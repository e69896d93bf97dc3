"""A new strategy is one class and one line in its family's list: marginals, boxes and workloads, too."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.linear import question as workloads
from pandas_blowfish.plan.tables import boxes
from pandas_blowfish.plan.tables import question as tables
from pandas_blowfish.policy.domain import Domain, integers


class ToyTables:
    """The asked tables, the first of which counts twice."""

    name = "toy"

    def build(self, case):
        """Yield the one way."""
        yield self.reread(case, {"tables": [(p, (), 2 - bool(n)) for n, p in enumerate(case.question.sets)]})

    def reread(self, case, form):
        """Return the tables of a form."""
        return case.measure_tables(self.name, form["tables"])


class ToyBoxes(boxes.CellsBuilder):
    """Cells under another name."""

    name = "toy"


class ToyRows(workloads.DirectBuilder):
    """The queries under another name."""

    name = "toy"


CASES = {
    "marginal": (tables, "MARGINALS", ToyTables(), ([["a", "b"], ["b", "c"]],)),
    "range": (boxes, "BOXES", ToyBoxes(), (["a", "b"], [((0, 2), (1, 3)), ((1, 3), (0, 1))])),
    "workload": (workloads, "WORKLOADS", ToyRows(), (np.array([[1, 1, 0, 0], [0, 2, 1, 0]]), "a")),
}


def _rows():
    domain = Domain(tuple(integers(name, 0, 3) for name in "abc"))
    rows = pd.DataFrame({name: np.random.default_rng(1).integers(0, 4, 200) for name in domain.columns})
    return rows.blowfish.protect(bf.Policy(domain), epsilon=10)


@pytest.mark.parametrize("verb", CASES)
def test_a_strategy_from_outside_is_measured_and_read_again(verb, monkeypatch):
    """It is offered by its name, considered by auto, checked by the kernel, and re-read for nothing."""
    module, listed, toy, given = CASES[verb]
    monkeypatch.setattr(module, listed, [*getattr(module, listed), toy])
    df = _rows()

    plan = getattr(df.blowfish.plan, verb)(*given)
    first, again = (
        getattr(df.blowfish, verb)(*given, epsilon="1/2", strategy="toy", name="mine") for _ in range(2)
    )

    assert "toy" in plan.candidates["strategy"].tolist()
    one, two = (next(iter(each.values())) if isinstance(each, dict) else each for each in (first, again))
    assert one.attrs["blowfish"]["strategy"] == "toy"
    pd.testing.assert_frame_equal(one, two)
    assert str(df.blowfish.budget.spent) == "1/2"


def test_a_scale_that_is_too_small_is_refused(monkeypatch):
    """The kernel trusts no builder."""

    class Cheaper(ToyTables):
        name = "cheaper"

        def reread(self, case, form):
            return replace(super().reread(case, form), epsilon=3 * case.epsilon)

    monkeypatch.setattr(tables, "MARGINALS", [*tables.MARGINALS, Cheaper()])
    df = _rows()

    with pytest.raises(bf.errors.UnsoundPlanError):
        df.blowfish.marginal([["a", "b"], ["b", "c"]], epsilon="1/2", strategy="cheaper")

    assert df.blowfish.budget.spent == 0
