"""A plan tells the truth about itself, without data."""

import random
from fractions import Fraction

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import DomainTooLargeError, UnknownStrategyError
from pandas_blowfish.plan.scales import variance
from pandas_blowfish.policy.domain import Domain, from_dict, integers


def _line(high, theta=1):
    return bf.Policy(Domain((integers("x", 0, high),)), secrets={"x": bf.threshold(theta)})


def test_a_plan_says_everything_the_contract_lists():
    """Name, epsilon, sensitivity, scales, domain, matrix, errors, candidates, proof, loss."""
    plan = _line(9).plan.hist("x", epsilon=0.1, strategy="identity")

    assert plan.strategy == "identity"
    assert plan.epsilon == plan.cost == plan.privacy_loss() == Fraction(1, 10)
    assert plan.sensitivity == 2
    assert set(plan.scales[:10]) == {Fraction(20)}
    assert plan.domain.columns == ("x",)
    assert plan.domain.shape == (10,)
    assert plan.matrix().shape == (11, 10)
    assert plan.mse == pytest.approx(variance(Fraction(20)) * 9 / 10)  # ten bins share an exact total
    assert plan.std == pytest.approx(np.full(10, plan.mse**0.5))
    assert plan.candidates["strategy"].tolist() == ["identity"]
    assert "epsilon = 1/10" in plan.proof
    assert "scale 20" in repr(plan)
    assert "<table" in plan._repr_html_()


def test_epsilon_defaults_to_one_on_plans():
    """A plan may be asked for without saying epsilon."""
    assert _line(9).plan.hist("x").epsilon == 1


def test_a_query_no_edge_sees_is_exact_and_free():
    """Sensitivity 0 costs nothing, whatever epsilon was offered."""
    policy = bf.Policy(Domain((integers("x", 0, 5),)), secrets={"x": bf.partition([[0, 1, 2], [3, 4, 5]])})

    plan = policy.plan.hist("x", epsilon=1, bins=2)

    assert plan.strategy == "exact"
    assert plan.cost == plan.sensitivity == plan.scale == plan.mse == 0
    assert plan.privacy_loss() == 0
    assert "cost nothing" in plan.proof


def test_the_row_count_is_exact_and_free():
    """count looks at no column."""
    plan = _line(9).plan.count()

    assert plan.domain.columns == ()
    assert plan.matrix().toarray().tolist() == [[1]]
    assert plan.cost == 0


def test_a_million_cells_plan_without_listing_edges(monkeypatch):
    """A wide threshold column uses closed forms only."""
    from pandas_blowfish.policy.graph.ball import Ball

    monkeypatch.setattr(Ball, "_list", lambda self: pytest.fail("edges were listed"))

    plan = _line(10**6 - 1, theta=1000).plan.hist("x", epsilon=1)

    assert plan.sensitivity == 2
    assert len(plan.scales) == 10**6 + 1
    with pytest.raises(DomainTooLargeError):
        plan.privacy_loss()
    with pytest.raises(DomainTooLargeError):
        plan.matrix()


def test_unknown_strategies_and_unsupported_policies_are_refused():
    """What cannot be kept is not promised."""
    with pytest.raises(UnknownStrategyError, match="identity"):
        _line(9).plan.hist("x", strategy="magic")


def test_a_plan_of_a_filter_and_groups_says_so():
    """The call, the domain and the matrix tell filter and groups; cells outside are columns of zeros."""
    domain = Domain((integers("x", 0, 3), integers("y", 0, 1), integers("z", 0, 2)))
    plan = bf.Policy(domain).plan.where("x >= 2").where("z == 1").groupby("y").hist("x", epsilon="1/2")

    matrix = plan.matrix().toarray()

    assert plan.call.startswith("where('x >= 2').where('z == 1').groupby(['y']).hist('x'")
    assert plan.domain.columns == ("y", "x", "z")
    assert plan.index.names == ["y", "x"]
    assert matrix.shape == (8, 24)
    kept = matrix.sum(axis=0).reshape(2, 4, 3)
    assert kept.tolist() == [[[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 0]]] * 2
    assert [float(scale) for scale in plan.scales] == [0, 0, 4, 4] * 2
    assert plan.sensitivity == 2
    assert plan.privacy_loss() == Fraction(1, 2)


def _questions(plan):
    """Return the answers as sums of the cells of `plan.domain`, from the index alone or the ranges asked."""
    first = plan.strategy == "residual" or plan.query["verb"] == "range"
    asked = plan.asked[0 if first else plan.way]  # all ways have the same answers
    tally = getattr(asked, "tally", asked)
    labels, size = tally.labels(), tally.shape[-1] if tally.shown is None else tally.shape[tally.shown - 1]
    bins = (labels == np.arange(tally.size)[:, None]).astype(float)
    if plan.query["verb"] == "hist":
        return bins
    starts, stops = asked.ends
    atoms = np.arange(size)
    one = ((starts[:, None] <= atoms) & (atoms < stops[:, None])).astype(float)
    return np.kron(np.eye(tally.size // size), one) @ bins


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("seed", range(40))
def test_expected_error_is_that_of_the_matrix(seed, make_policy, by_dense_algebra):
    """mse and std follow from the matrix and the scales alone, whatever was chosen."""
    draw = random.Random(seed)
    policy = make_policy(draw, 2)
    plan = policy.plan.hist(list(policy.domain.columns), epsilon="1/3")

    slow = by_dense_algebra(plan.matrix().toarray(), plan.scales, _questions(plan)).variances

    assert plan.mse == pytest.approx(slow.mean(), rel=1e-6, abs=1e-9)
    assert plan.std == pytest.approx(np.sqrt(np.maximum(slow, 0)), rel=1e-6, abs=1e-6)


PLANNERS = {
    "closed": lambda plan: plan,
    "filtered": lambda plan: plan.where("x >= 9"),
    "filtered by another column": lambda plan: plan.where("x >= 9 or g == 1"),
    "grouped": lambda plan: plan.groupby("g"),
    "filtered and grouped": lambda plan: plan.where("x < 30").groupby("g"),
}
VERBS = {
    "hist": lambda plan, **how: plan.hist("x", **how),
    "cumhist": lambda plan, **how: plan.cumhist("x", **how),
    "ranges": lambda plan, **how: plan.range("x", [(10, 20), (12, 30), (25, 31), (10, 10)], **how),
    "all ranges": lambda plan, **how: plan.range("x", "all", **how),
}


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("scope", PLANNERS)
def test_mse_equals_dense_algebra(scope, verb, by_dense_algebra):
    """Every strategy that auto considers, and the one it takes: rtol 1e-6 from matrix and scales."""
    domain = Domain((integers("x", 0, 39), integers("g", 0, 1)))
    for secret, other in (
        (bf.threshold(3), bf.full()),
        (bf.full(), bf.public()),
        (bf.threshold(7), bf.public()),
    ):
        policy = bf.Policy(domain, secrets={"x": secret, "g": other})
        plan = VERBS[verb](PLANNERS[scope](policy.plan), epsilon="1/2")
        if plan.strategy == "transport":  # its noise is not of one row each: tests/plan/transport
            plan = VERBS[verb](PLANNERS[scope](policy.plan), epsilon="1/2", strategy="hierarchical")

        slow = by_dense_algebra(plan.matrix().toarray(), plan.scales, _questions(plan)).variances

        assert plan.mse == pytest.approx(slow.mean(), rel=1e-6, abs=1e-9)
        assert plan.std == pytest.approx(np.sqrt(np.maximum(slow, 0)), rel=1e-5, abs=1e-4)


@pytest.mark.parametrize("strategy", ["ordered", "ordered_hierarchical", "hierarchical", "haar", "tree"])
@pytest.mark.parametrize("theta", [1, 5, 200])
def test_mse_of_128_cells_equals_dense_algebra(theta, strategy, by_dense_algebra):
    """A whole line of 128 cells, every range."""
    if strategy == "ordered_hierarchical" and theta != 5:
        theta += 2
    plan = _line(127, theta).plan.range("x", "all", epsilon=1, strategy=strategy)

    slow = by_dense_algebra(plan.matrix().toarray(), plan.scales, _questions(plan)).variances

    assert plan.mse == pytest.approx(slow.mean(), rel=1e-6)


def test_dawa_tells_what_it_can():
    """No matrix and no error before the release, but the proven loss."""
    plan = _line(9, 2).plan.cumhist("x", epsilon="1/4", strategy="dawa")

    assert plan.privacy_loss() == Fraction(1, 4)
    assert "depends on the rows" in repr(plan)
    assert np.isnan(plan.std).all()


def test_a_plan_of_ranges_says_its_question():
    """The call, the noise of each family and what is exact."""
    plan = _line(63, 6).plan.range("x", [(0, 9), (5, 60)], epsilon=1)
    shared = _line(63, 6).plan.range("x", [(0, 9), (5, 60)], epsilon=1, strategy="transport")
    alike = _line(63, 6).plan.range("x", [(0, 9), (5, 60)], epsilon=1, strategy="haar")

    assert plan.call == "range('x', bounds=[[None, 9], [5, 60]], strategy='auto', epsilon='1')"
    assert len(plan.index) == 2
    assert plan.facts()["answers"] == "2"
    assert plan.facts()["noise"].startswith("discrete Laplace, scale")
    assert shared.facts()["noise"].startswith("transport")
    assert alike.facts()["noise"].startswith("discrete Laplace, scale")


def test_a_plan_in_a_notebook_folds_its_proof():
    """The facts are a table, the argument is there to open; a hostile name stays text."""
    policy = bf.Policy(Domain((integers("<b>x</b>", 0, 9),)))

    shown = policy.plan.hist("<b>x</b>")._repr_html_()

    assert shown.index("typical error") < shown.index("<details") < shown.index("epsilon = 1")
    assert "<b>" not in shown


def test_sums_are_shown_in_the_units_of_their_columns():
    """10,000 and not 200 half-steps, each column by itself; the matrix keeps its steps, in one line."""
    plan = bf.datasets.patients_policy().plan

    alone = plan.sum("income", epsilon="1/10")
    both = plan.sum(["income", "age"], epsilon="1/10")
    filtered = plan.where("age >= 18").mean("income", epsilon="1/10")

    assert (alone.sensitivity, alone.scale) == (200, 2000)
    assert alone.privacy_loss() == Fraction(1, 10)
    facts = alone.facts()
    assert facts["sensitivity"] == "10,000"
    assert facts["noise"] == "discrete Laplace, scale 100,000"
    assert facts["typical error"].startswith("+-141,000 per sum")
    assert facts["lattice"] == "in steps of 50: sensitivity 200, scale 2,000"
    assert both.facts()["sensitivity"] == "income 10,000, age 5"
    law, scales = both.facts()["noise"].split(", ", 1)
    assert law == "drawn together (odds of exp(-largest change / scale))"
    assert scales == "scales income 100,000, age 50"
    assert both.facts()["typical error"].startswith("income +-200,000, age +-100 per sum")
    assert filtered.facts()["sensitivity"] == "income 250,000, rows 1 (of the sum)"
    for one, peak in zip(both.in_units, (200, 5), strict=True):
        assert one.sensitivity == one.step * peak
        assert one.error == pytest.approx(2 * float(one.scale), rel=1e-2)


def test_errors_of_any_secret_are_shown_in_own_units():
    """Absolute errors in the column's units, relative ones in logarithms, means of instants in time."""
    day = from_dict("day", {"type": "datetime", "min": "2026-01-01", "max": "2026-12-31", "step": "1D"})
    cost, price = (from_dict(name, {"type": "float", "step": "0.01"}) for name in ("cost", "price"))
    secrets = {"cost": bf.absolute_error(100), "price": bf.relative_error("0.9"), "day": bf.threshold("3D")}
    plan = bf.Policy(Domain((day, cost, price)), secrets=secrets).plan

    absolute, relative = plan.sum("cost").facts(), plan.logsum("price").facts()
    mean = plan.mean("day", rows=1_000).facts()

    assert absolute["sensitivity"] == "400"
    assert absolute["noise"].endswith("scale 400")
    assert absolute["typical error"].startswith("+-566 per sum")
    assert relative["sensitivity"].startswith("0.4")
    assert relative["sensitivity"].endswith("in natural logarithms")
    assert mean["sensitivity"] == "3 days (of the sum)"
    assert mean["typical error"].startswith("+-6.1 minutes per mean")
    assert mean["lattice"] == "in steps of 12 hours: sensitivity 6, scale 6"


def test_a_plan_is_read_in_decimals():
    """No fraction, no exponent and no default is printed; the API and the ledger's text keep theirs."""
    plan = bf.datasets.patients_policy().plan.hist("age", epsilon="1/8")

    text = repr(plan)

    assert "hist('age', epsilon=0.125)" in text
    assert "costs                 epsilon 0.125\n" in text
    assert "/" not in text
    assert "e+" not in repr(bf.datasets.patients_policy().plan.sum("income", epsilon="1/8000"))
    assert plan.call == "hist('age', strategy='auto', epsilon='1/8')"
    assert plan.cost == Fraction(1, 8)
