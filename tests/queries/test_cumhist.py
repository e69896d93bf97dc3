"""cumhist: never falls, ends at a public row count, leaves missing rows out."""

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, UnknownStrategyError
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.queries.cumhist import plan_cumhist

STRATEGIES = ["identity", "ordered", "ordered_hierarchical", "hierarchical", "haar", "tree"]
DOMAIN = Domain((integers("x", 0, 19), from_dict("sex", {"type": "category", "values": ["F", "M"]})))
LINE = bf.Policy(DOMAIN, secrets={"x": bf.threshold(3)})
ROWS = pd.DataFrame({"x": np.arange(400) % 20, "sex": ["F", "M"] * 200})


def _protected(policy=LINE, rows=ROWS, epsilon=10**9):
    return rows.blowfish.protect(policy, epsilon=epsilon)


@pytest.mark.parametrize("strategy", [*STRATEGIES, "dawa", "auto"])
def test_with_hardly_any_noise_it_is_the_truth(strategy):
    """Every strategy measures, infers and shapes to the cumulative counts."""
    cum = _protected().blowfish.cumhist("x", epsilon=10**5, strategy=strategy)

    assert cum["count"].tolist() == pytest.approx(np.cumsum(np.bincount(ROWS["x"])).tolist())
    assert cum["cdf"].iloc[-1] == 1
    assert cum.columns.tolist() == ["count", "std", "cdf", "unshaped"]
    assert cum.index.name == "x"


@pytest.mark.parametrize("strategy", [*STRATEGIES, "dawa", "auto"])
def test_the_shape_is_right_whatever_the_noise(strategy):
    """Never below 0, never falling, ending at the public row count."""
    df = _protected()

    for _ in range(5):
        count = df.blowfish.cumhist("x", epsilon="1/20", strategy=strategy)["count"].to_numpy()

        assert count[0] >= 0
        assert (np.diff(count) >= -1e-9).all()
        assert count[-1] == pytest.approx(400)


def test_raw_answers_are_unbiased():
    """post=False does not shape: answers fall and leave the bounds."""
    df = _protected()

    raw = [df.blowfish.cumhist("x", epsilon="1/10", post=False)["count"] for _ in range(200)]

    mean = np.mean(raw, axis=0)
    std = df.blowfish.plan.cumhist("x", epsilon="1/10").std
    truth = np.cumsum(np.bincount(ROWS["x"]))
    assert (np.abs(mean - truth) <= 5 * std / 200**0.5 + 1e-9).all()
    assert min(each.min() for each in raw) < 0


def test_groups_agree_with_the_public_total():
    """The lines of secret groups end anywhere, together at the row count."""
    df = _protected()

    cum = df.blowfish.groupby("sex").cumhist("x", epsilon="1/10")

    ends = cum["count"].iloc[[19, 39]]
    assert cum.index.names == ["sex", "x"]
    assert ends.sum() == pytest.approx(400)
    assert cum["std"].iloc[19] > 0
    assert cum["cdf"].iloc[[19, 39]].tolist() == [1, 1]


def test_a_filter_makes_the_total_noisy_and_lists_what_it_leaves_out_as_zero():
    """After a where on a secret column the end is an estimate."""
    cum = _protected().blowfish.where("x >= 5").cumhist("x", epsilon=1)

    assert cum["count"].iloc[:5].tolist() == [0] * 5
    assert cum["std"].iloc[:5].tolist() == [0] * 5
    assert cum["std"].iloc[-1] > 0


def test_partitions_are_exact_at_their_ends():
    """Totals of groups cost nothing, and the curve passes through them."""
    policy = bf.Policy(DOMAIN, secrets={"x": bf.partition(5)})

    cum = _protected(policy).blowfish.cumhist("x", epsilon="1/10")

    assert cum["std"].iloc[[4, 9, 14, 19]].tolist() == [0] * 4
    assert cum["count"].iloc[[4, 9, 14, 19]].tolist() == pytest.approx([100, 200, 300, 400])


def test_a_public_column_is_exact_and_free():
    """No edge, no noise, no charge."""
    policy = bf.Policy(DOMAIN, secrets={"x": bf.public()})
    df = _protected(policy, epsilon=1)

    cum = df.blowfish.cumhist("x", epsilon=1)

    assert cum["count"].tolist() == np.cumsum(np.bincount(ROWS["x"])).tolist()
    assert df.blowfish.budget.spent == 0


def test_listed_edges_that_interleave_keep_their_totals():
    """Components that are no runs of values stay exact too."""
    pairs = [(i, i + 2) for i in range(18)]
    df = _protected(bf.Policy(DOMAIN, secrets={"x": bf.edges(pairs)}))

    plan = df.blowfish.plan.cumhist("x", epsilon="1/10")
    cells = df.blowfish.cumhist("x", epsilon="1/10").blowfish.hist()["count"].to_numpy()

    assert plan.strategy == "tree"
    assert plan.sensitivity == 1
    assert (cells >= 0).all()
    assert cells[::2].sum() == pytest.approx(200)
    assert cells[1::2].sum() == pytest.approx(200)


def test_missing_rows_are_left_out_and_nothing_is_nan():
    """The number of rows with a value is not public."""
    domain = Domain((integers("x", 0, 4, nullable=True),))
    rows = pd.DataFrame({"x": pd.array([0, 1, 2, None, 4, None], dtype="Int64")})
    df = rows.blowfish.protect(bf.Policy(domain, secrets={"x": bf.threshold(1)}), epsilon=10**9)

    cum = df.blowfish.cumhist("x", epsilon=10**5)

    assert cum["count"].tolist() == pytest.approx([1, 2, 3, 3, 4])
    assert cum["std"].iloc[-1] >= 0
    assert cum.index.tolist() == [0, 1, 2, 3, 4]


def test_no_rows_have_no_distribution():
    """An empty frame has counts of 0 and a cdf of NaN."""
    cum = _protected(rows=ROWS.iloc[:0]).blowfish.cumhist("x", epsilon=1)

    assert cum["count"].tolist() == [0] * 20
    assert cum["cdf"].isna().all()


def test_a_name_is_read_by_what_measured_it(monkeypatch):
    """A stored answer does not depend on what would be chosen today."""
    df = _protected()
    first = df.blowfish.cumhist("x", epsilon=1, name="ages")
    from pandas_blowfish.plan import choose
    from pandas_blowfish.plan.line import question

    monkeypatch.setattr(question, "is_worthwhile", lambda name, *_, **__: name == "ordered")
    choose._plans.clear()

    again = df.blowfish.cumhist("x", epsilon=1, name="ages")

    assert df.blowfish.plan.cumhist("x", epsilon=1).strategy == "ordered"
    pd.testing.assert_frame_equal(first, again)
    choose._plans.clear()


def test_wrong_arguments_charge_nothing():
    """Several columns, no order, strategies that do not exist."""
    df = _protected()

    with pytest.raises(ArgumentError):
        df.blowfish.cumhist(["x", "sex"], epsilon=1)
    with pytest.raises(ArgumentError, match="no order"):
        df.blowfish.cumhist("sex", epsilon=1)
    with pytest.raises(UnknownStrategyError):
        df.blowfish.cumhist("x", epsilon=1, strategy="best")
    with pytest.raises(ArgumentError):
        plan_cumhist(LINE, "x", epsilon=0)
    assert df.blowfish.budget.spent == 0
