"""Transport noise: what an edge loses, from the drawn law itself, and lies that the kernel finds."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import pandas as pd
import pytest
from oracle.definition import definition_edges
from oracle.run_law import drawn_law

import pandas_blowfish as bf
from pandas_blowfish.errors import UnsoundPlanError
from pandas_blowfish.kernel.check import Check
from pandas_blowfish.kernel.measure import require_drawable
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.plan.transport.run_norm import Runs
from pandas_blowfish.plan.transport.transport import Transport
from pandas_blowfish.policy.domain import Domain, from_dict, integers


def policy_of(reach, size):
    """Return a policy on a line, and two groups that stay."""
    domain = Domain((integers("x", 0, size - 1), integers("g", 0, 1)))
    return bf.Policy(domain, secrets={"x": bf.threshold(reach), "g": bf.public()})


@pytest.mark.parametrize(("reach", "size", "most"), [(2, 4, 2), (2, 5, 1), (3, 4, 2), (3, 5, 1), (4, 5, 1)])
def test_no_edge_loses_more_than_epsilon(reach, size, most):
    """Whatever is released, an edge changes its odds by at most exp(epsilon), and some edge by that much.

    The odds are those that the kernel draws with, in fractions, with 2 / 7 for exp(-epsilon).
    """
    plan = policy_of(reach, size).plan.cumhist("x", epsilon=1, strategy="transport")
    odds, a = drawn_law(reach, size - 1, Fraction(2, 7), most), Fraction(2, 7)
    matrix = plan.matrix().toarray()[: size - 1]
    worst = Fraction(0)

    for start, end in definition_edges(plan.policy, plan.domain.columns).tolist():
        change = matrix[:, end] - matrix[:, start]
        for y, own in odds.items():
            moved = odds.get(tuple((np.array(y) - change).tolist()))
            worst = max(worst, moved / own) if moved else worst

    assert worst == 1 / a
    assert plan.privacy_loss() == 1


@pytest.mark.parametrize("reach", range(2, 9))
def test_each_edge_of_each_line_loses_epsilon_at_most(reach):
    """By groups, filters that stay, gaps and parts: every edge by definition, in the norm."""
    gaps = from_dict("x", {"type": "integer", "values": [0, 1, 2, 3, 5, 9, 10, 11, 12, 13, 14, 15, 16]})
    domain = Domain((integers("g", 0, 1), gaps))
    policy = bf.Policy(domain, secrets={"x": bf.threshold(reach), "g": bf.public()})
    for plan in (policy.plan.groupby("g"), policy.plan.where("g == 1"), policy.plan):
        made = plan.range("x", [(0, 5), (2, 12), (1, 1)], epsilon="3/7", strategy="transport")
        hist = plan.hist("x", epsilon="3/7", strategy="transport")
        for each in (made, hist):
            edges = definition_edges(policy, each.domain.columns)

            loss = edge_loss(each.matrix(), each.scales, edges).value

            assert loss == Fraction(3, 7)
            assert Check.of(policy, each).require(each.measurement, each.cost) == loss


@dataclass(frozen=True, eq=False)
class Louder(Transport):
    """The same with less noise than it takes."""

    @cached_property
    def family_scales(self):
        """Return half the scale."""
        return (1 / self.epsilon / 2,)


@dataclass(frozen=True, eq=False)
class Longer(Transport):
    """The same with longer runs than edges have: sound, and not what was asked; shorter ones are lies."""

    @property
    def reach(self):
        """Return another reach."""
        return super().reach - 1


@dataclass(frozen=True, eq=False)
class Scattered(Transport):
    """The same with sums in another order: edges are no runs."""

    @cached_property
    def scales(self):
        """Return the same rows, the second and the last of a line swapped."""
        plain = super().scales
        (joint,) = plain.joint.values()
        rows = joint.rows.copy()
        rows[[1, -1]] = rows[[-1, 1]]
        return Scales(plain.values, plain.codes, {0: Runs(rows, joint.sizes, joint.reach)})


@pytest.mark.parametrize("kind", [Louder, Longer, Scattered])
@pytest.mark.parametrize("size", [9, 3_000])
def test_the_kernel_finds_lies(kind, size):
    """Too small a scale, too short a reach, and sums in another order; what is true passes."""
    plan = policy_of(3, size).plan.cumhist("x", epsilon=1, strategy="transport")
    true = plan.measurement
    lie = kind(true.name, true.asked, true.line, true.layout, true.weights, true.epsilon)

    assert Check.of(plan.policy, plan).require(true, plan.cost) == 1
    with pytest.raises(UnsoundPlanError, match="loses"):
        Check.of(plan.policy, plan).require(lie, plan.cost)


def test_rows_that_are_left_out_are_found():
    """Noise for some of the rows of its kind alone is refused before anything is charged."""
    plan = policy_of(3, 9).plan.cumhist("x", epsilon=1, strategy="transport")
    scales = plan.scales
    (joint,) = scales.joint.values()
    scales.joint[0] = Runs(joint.rows[:-1], (len(joint.rows) - 1,), joint.reach)

    with pytest.raises(UnsoundPlanError, match="other query rows"):
        require_drawable(plan)


def test_releases_repeat_under_replay():
    """A release of many lines is charged once, and the same under the same seed."""
    rows = pd.DataFrame({"x": np.arange(200) % 12, "g": np.arange(200) % 2})
    found = []
    for _ in range(2):
        df = rows.blowfish.protect(policy_of(4, 12), epsilon=2)
        with bf.testing.replay(6):
            release = df.blowfish.groupby("g").hist("x", epsilon="1/2", strategy="transport", post=False)
        found.append(release["count"].tolist())
        assert df.blowfish.budget.spent == Fraction(1, 2)

    assert found[0] == found[1]
    assert sum(found[0]) == 200
