"""range: counts of runs of values, with no more noise than the policy needs."""

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, NameTakenError
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.queries.range import plan_range

DOMAIN = Domain((integers("x", 0, 99), from_dict("sex", {"type": "category", "values": ["F", "M"]})))
POLICY = bf.Policy(DOMAIN, secrets={"x": bf.threshold(5)})
ROWS = pd.DataFrame({"x": np.arange(1000) % 100, "sex": ["F", "M"] * 500})
THREE = [(0, 17), (18, 64), (65, 99)]


def _protected(epsilon=10**9):
    return ROWS.blowfish.protect(POLICY, epsilon=epsilon)


def test_with_hardly_any_noise_it_is_the_truth():
    """Overlapping and repeated ranges are answered in the order asked."""
    bounds = [(18, 64), (0, 99), (18, 64), (None, 9), (95, None)]

    found = _protected().blowfish.range("x", bounds, epsilon=10**5)

    assert found["count"].tolist() == pytest.approx([470, 1000, 470, 100, 50])
    assert found["std"].iloc[1] == 0
    assert str(found.index[0]) == "[18, 64]"


def test_ranges_between_distant_cuts_need_little_noise():
    """A threshold of 5 passes one cut at a time: prefix sums with scale 1 / epsilon."""
    plan = POLICY.plan.range("x", THREE, epsilon=1)

    assert plan.strategy == "ordered"
    assert plan.sensitivity == 1
    assert plan.privacy_loss() == 1
    assert POLICY.plan.range("x", [(18, 64)], epsilon=1).mse < 2


def test_shaped_ranges_agree_with_each_other():
    """Parts add up to the whole, which is public."""
    found = _protected().blowfish.range("x", [*THREE, (0, 64), (0, 99)], epsilon="1/10")["count"]

    assert (found >= 0).all()
    assert found.iloc[:3].sum() == pytest.approx(1000)
    assert found.iloc[3] == pytest.approx(found.iloc[0] + found.iloc[1])


def test_groups_and_filters():
    """One line a group; what no secret leads across stays exact."""
    found = _protected().blowfish.where("x < 50").groupby("sex").range("x", [(0, 9), (0, 99)], epsilon=10**5)

    assert found["count"].tolist() == pytest.approx([50, 250, 50, 250])
    assert found.index.names == ["sex", "x"]


def test_every_range_can_be_asked_for():
    """`all` lists them, and its expected error is the mean over them."""
    policy = bf.Policy(Domain((integers("x", 0, 9),)), secrets={"x": bf.threshold(2)})

    plan = policy.plan.range("x", "all", epsilon=1)

    assert len(plan.index) == 55
    assert plan.mse == pytest.approx((plan.std**2).mean())


def test_thousands_of_ranges_are_one_query():
    """A long list is recorded as its hash, and told apart from another one."""
    draw = np.random.default_rng(0)
    bounds = np.sort(draw.integers(0, 100, (3000, 2)), axis=1)
    df = _protected(epsilon=2)

    found = df.blowfish.range("x", bounds, epsilon=1, name="many")

    assert len(found) == 3000
    assert "sha256" in found.blowfish.receipt["query"]
    assert df.blowfish.range("x", bounds, epsilon=1, name="many").equals(found)
    with pytest.raises(NameTakenError):
        df.blowfish.range("x", bounds[::-1], epsilon=1, name="many")


def test_wrong_arguments_charge_nothing():
    """Several columns are another question; bounds must be ranges."""
    df = _protected(epsilon=1)

    for columns, bounds in ((["x", "sex"], THREE), ("x", [(9, 3)]), ("x", None), ("x", [(0, 1000)])):
        with pytest.raises(bf.BlowfishError):
            df.blowfish.range(columns, bounds, epsilon=1)
    with pytest.raises(ArgumentError):
        plan_range(POLICY, "x", THREE, epsilon=-1)
    assert df.blowfish.budget.spent == 0


def test_strange_arrays_of_bounds():
    """Numbers beyond 64 bits are outside the domain; numpy's instants are instants."""
    days = bf.Policy(
        Domain(
            (from_dict("day", {"type": "datetime", "min": "2026-01-01", "max": "2026-01-09", "step": "1D"}),)
        )
    )
    df = _protected(epsilon=1)

    with pytest.raises(bf.BlowfishError):
        df.blowfish.range("x", np.array([[2**64 - 5, 2**64 - 1]], dtype=np.uint64), epsilon=1)
    with pytest.raises(bf.BlowfishError):
        df.blowfish.range("x", pd.IntervalIndex([], closed="both"), epsilon=1)
    assert df.blowfish.budget.spent == 0
    plan = days.plan.range("day", np.array([["2026-01-02", "2026-01-04"]], dtype="datetime64[ns]"))
    assert str(plan.index[0]) == "[2026-01-02 00:00:00, 2026-01-04 00:00:00)"


def test_a_named_strategy_works_on_two_cells():
    """Where there are no runs of cells, cells are measured."""
    policy = bf.Policy(Domain((integers("x", 0, 1),)))

    for strategy in ("hierarchical", "ordered_hierarchical", "haar", "ordered", "tree", "identity"):
        assert policy.plan.cumhist("x", strategy=strategy).privacy_loss() == 1
