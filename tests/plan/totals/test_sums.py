"""Scales of totals: in proportion to what an edge changes, and the exact loss is epsilon."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.plan.scales import variance
from pandas_blowfish.plan.totals.sums import NoisySums
from pandas_blowfish.policy.domain import Domain, from_dict, integers

DOMAIN = Domain(
    (
        integers("age", 0, 99),
        integers("pay", 0, 999, 10),
        from_dict("sex", {"type": "category", "values": ["F", "M"]}),
        from_dict("maybe", {"type": "integer", "min": 0, "max": 9, "nullable": True}),
    )
)
POLICY = bf.Policy(DOMAIN, secrets={"age": bf.threshold(5), "pay": bf.threshold(20)})
KNOWN = bf.Policy(DOMAIN, secrets={"sex": bf.public()})


def test_scales_are_in_proportion():
    """Each column has noise for its own longest edge; the edge that moves all loses exactly epsilon."""
    plan = POLICY.plan.sum(["age", "pay"], epsilon="1/2")
    alone = replace(plan.measurement, boxes=())

    assert list(alone.scales) == [20, 8, 0]  # 2 * 5 / epsilon, 2 * 2 tens / epsilon, the row count
    assert plan.sensitivity == alone.sensitivity == 7
    assert plan.privacy_loss() == Fraction(1, 2)
    assert isinstance(plan.measurement, NoisySums)


def test_columns_that_one_record_changes_draw_together():
    """One step of the box is the longest edge of each column: half the error of independent noise."""
    plan = POLICY.plan.sum(["age", "pay"], epsilon="1/2")
    (joint,) = plan.scales.joint.values()
    alone = replace(plan.measurement, boxes=())

    assert joint.rows.tolist() == [0, 1]
    assert joint.blocks[0].reaches == (5, 2)
    assert list(plan.scales) == [2, 2, 0]  # 1 / epsilon
    assert plan.measurement.form == {"boxes": [{"totals": [0, 1], "wide": False, "steps": 1}]}
    assert alone.variances / plan.measurement.variances == pytest.approx([2, 2], rel=0.1)
    assert [each.scale for each in plan.in_units] == [10, 40]


@pytest.mark.parametrize(("many", "least"), [(2, 39_204), (5, 137_214), (10, 431_244), (20, 1_509_354)])
def test_errors_of_columns_that_all_change_at_once(many, least):
    """(m + 1) (m + 2) / 3 times the square of what an edge changes, for m columns; 2 m^2 before."""
    names = [f"c{number}" for number in range(many)]
    policy = bf.Policy(Domain(tuple(integers(name, 0, 99) for name in names)))

    assert policy.plan.sum(names).mse == pytest.approx(least, rel=0.002)
    assert policy.plan.mean(names, rows=100).mse == pytest.approx(least / 10**4, rel=0.002)


def test_stored_answers_are_reread_as_they_were_measured():
    """Forms without boxes had independent noise; those with some have them."""
    asked = POLICY.plan.sum(["age", "pay"], epsilon="1/2")
    old = asked.asked[0].reread(POLICY, asked.epsilon, "total", {})
    new = asked.asked[0].reread(POLICY, asked.epsilon, "total", asked.measurement.form)
    mean = POLICY.plan.where("maybe >= 3").mean(["age", "pay"])
    stated = {"share": "1/2", "origin": "middle"}

    assert not old.scales.joint
    assert list(old.scales) == [20, 8, 0]
    assert new.scales == asked.scales
    assert new.form == asked.measurement.form
    assert not mean.asked[0].reread(POLICY, mean.epsilon, "total", stated).scales.joint
    assert (
        mean.asked[0].reread(POLICY, mean.epsilon, "total", mean.measurement.form).laws
        == mean.measurement.laws
    )


def test_where_a_box_would_be_worse_noise_is_independent():
    """A single column has nothing to share; an edge that changes one column of several loses less so."""
    assert not POLICY.plan.sum("age").scales.joint
    assert not POLICY.plan.mean("pay").scales.joint
    attribute = bf.Policy(DOMAIN, neighbors="attribute")
    assert not attribute.plan.sum(["age", "pay"]).scales.joint  # an edge changes one of them


def test_matrix_is_weights_over_cells():
    """Rows are sums and counts by group, cells in C order of groups, columns, filter."""
    plan = POLICY.plan.where("maybe <= 4").groupby("sex").sum("age")
    matrix = plan.matrix()

    assert plan.domain.columns == ("sex", "age", "maybe")
    assert matrix.shape == (2, 2 * 100 * 11)
    cell = np.ravel_multi_index([1, 37, 4], plan.domain.shape)
    assert matrix[:, [cell]].toarray().ravel().tolist() == [0, 37]
    assert matrix[:, [cell + 1]].nnz == 0  # 5 does not pass
    assert plan.privacy_loss() == 1


def test_matrix_of_too_many_cells_is_refused():
    """As everywhere: beyond 10^6 entries."""
    domain = Domain((integers("x", 0, 10**6), integers("y", 0, 9)))
    plan = bf.Policy(domain).plan.sum(["x", "y"])

    with pytest.raises(DomainTooLargeError):
        plan.matrix()


def test_what_no_edge_changes_is_exact_and_free():
    """Sums of public columns, by public groups; a private one beside them costs as it does alone."""
    policy = bf.Policy(DOMAIN, secrets={"age": bf.public(), "sex": bf.public()})
    mixed = policy.plan.groupby("sex").sum(["age", "pay"])

    assert policy.plan.groupby("sex").sum("age").cost == 0
    assert policy.plan.groupby("sex").sum("age").strategy == "exact"
    assert list(mixed.scales)[:2] == [0, 0]
    assert mixed.privacy_loss() == 1


def test_groups_that_no_row_can_be_in_are_exact():
    """A filter on the groups' own column leaves 0, without noise."""
    plan = POLICY.plan.where("sex == 'F'").groupby("sex").sum("age")

    assert list(plan.scales) == [99, 0]
    assert plan.std.tolist()[1] == 0
    assert POLICY.plan.where("age < 0").sum("age").cost == 0


def test_expected_error():
    """In the column's own units; of a mean only where the rows are known."""
    tens = POLICY.plan.sum("pay")

    assert tens.mse == pytest.approx(variance(Fraction(2)) * 100)
    assert POLICY.plan.mean("pay", rows=50).mse == pytest.approx(tens.mse / 2500)
    assert np.isnan(POLICY.plan.mean("pay").mse)
    assert np.isnan(POLICY.plan.mean("pay", rows=0).mse)
    assert np.isnan(POLICY.plan.where("age > 3").mean("pay", rows=50).mse)
    assert np.isnan(POLICY.plan.mean("maybe", rows=50).mse)
    assert "depends on the rows" in repr(POLICY.plan.mean("pay"))
    assert "per sum" in repr(tens)


def test_a_mean_by_a_noisy_count_is_one_release():
    """Centred sum and count share one epsilon; the split is chosen without data and kept in the form."""
    plan = POLICY.plan.where("maybe >= 3").mean("age", epsilon=2)

    assert len(plan.scales) == 2
    assert plan.privacy_loss() == 2
    assert set(plan.measurement.form) == {"share", "origin", "boxes"}
    assert plan.measurement.summed[0].lattice.origin == 50
    again = plan.asked[0].reread(POLICY, plan.epsilon, "total", plan.measurement.form)
    assert list(again.scales) == list(plan.scales)
    assert KNOWN.plan.groupby("sex").mean("age").measurement.form == {}


def test_a_mean_of_a_filtered_column_is_measured_from_where_rows_leave():
    """Ages 18 to 22 can leave: from 20 a leaving row changes the sum by 2, from the middle by 41."""
    plan = POLICY.plan.where("age >= 18").mean("age")
    middle = plan.asked[0].reread(POLICY, plan.epsilon, "total", {"share": "1", "origin": "middle"})

    assert plan.measurement.summed[0].lattice.origin == 20
    assert plan.measurement.moved.flows == ((2, 1),)
    assert plan.measurement.guess < middle.guess
    assert plan.privacy_loss() == 1


def test_a_missing_value_costs_the_centred_mean_less():
    """Full secrets: a row that goes missing changes the centred sum by half of what moving it does."""
    plan = bf.Policy(DOMAIN).plan.mean("maybe")

    assert plan.measurement.moved.blocks == (((9, 0), (5, 1)),)
    assert plan.privacy_loss() == 1
