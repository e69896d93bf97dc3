"""Listed ranges as a workload: their loss and errors by definition, and as near as a workload's own."""

import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.errors import BlowfishError, UnsoundPlanError
from pandas_blowfish.plan.linear.listed_ranges import ListedRanges
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.policy.domain import Domain, from_dict, integers


def drawn(draw, make_policy, make_filter):
    """Return a random policy, and the plans of some ranges by their own rows; None where nothing is noisy."""
    policy = make_policy(draw, 2)
    ordered = [each for each in policy.domain if each.ordered and each.kind == "integer"]
    if not ordered:
        return None
    axis = draw.choice(ordered)
    values = axis.labels().tolist()[: axis.cells]
    ends = [sorted(draw.choices(values, k=2)) for _ in range(draw.randint(1, 3))]
    scope, rest = policy.plan, [name for name in policy.domain.columns if name != axis.name]
    if draw.random() < 0.4:
        scope = scope.where(make_filter(draw, policy.domain))
    if rest and draw.random() < 0.4:
        scope = scope.groupby(rest[0])
    epsilon = Fraction(draw.randint(1, 9), draw.randint(1, 9))
    found = []
    for strategy in ("direct", "optimised", "auto"):
        try:
            plan = scope.range(axis.name, ends, epsilon=epsilon, strategy=strategy)
        except UnsoundPlanError:
            raise
        except BlowfishError:
            continue
        if isinstance(plan.asked[plan.way], ListedRanges):
            found.append(plan)
    return policy, found, epsilon


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("chunk", range(2))
def test_loss_and_errors_of_random_ranges(chunk, make_policy, make_filter, by_dense_algebra):
    """Filters, groups, presence, missing values: what is lost is at most epsilon, errors are those stated."""
    noisy = tight = 0
    for seed in range(chunk, 160, 2):
        case = drawn(random.Random(f"listed {seed}"), make_policy, make_filter)
        for plan in [] if case is None else case[1]:
            policy, _, epsilon = case
            matrix = plan.matrix()
            loss = edge_loss(matrix, plan.scales, definition_edges(policy, plan.domain.columns)).value

            assert loss <= epsilon
            assert loss == plan.privacy_loss()
            noisy, tight = noisy + (loss > 0), tight + (loss == epsilon)
            asked = plan.asked[plan.way]
            labels = asked.tally.labels()
            bins = (labels == np.arange(asked.tally.size)[:, None]).astype(float)
            queries = (
                np.kron(np.eye(asked.tally.size // asked.matrix.shape[1]), asked.matrix.toarray()) @ bins
            )
            slow = by_dense_algebra(matrix.toarray(), plan.scales, queries).variances
            assert plan.std == pytest.approx(np.sqrt(np.maximum(slow, 0)), rel=1e-5, abs=1e-4)
    assert noisy > 20
    assert tight > noisy / 2


@pytest.mark.usefixtures("short_search")
def test_no_range_loses_more_where_edges_are_too_many_to_list(make_policy, make_filter, monkeypatch):
    """What is known of a column's graph is about its cells, not about the bins that ranges cut."""
    monkeypatch.setattr("pandas_blowfish.plan.linear.sensitivity.MAX_LISTED", -1)
    noisy = 0
    for seed in range(160):
        case = drawn(random.Random(f"listed {seed}"), make_policy, make_filter)
        for plan in [] if case is None else case[1]:
            policy, _, epsilon = case
            edges = definition_edges(policy, plan.domain.columns)
            assert edge_loss(plan.matrix(), plan.scales, edges).value <= epsilon
            noisy += plan.sensitivity > 0
    assert noisy > 20


def test_rows_of_few_queries_are_not_spoilt_by_rounding():
    """Two ranges of three atoms: rows that tell all apart are not needed, and may round to worse ones."""
    spec = {"type": "integer", "min": 0, "max": 11, "nullable": True}
    policy = bf.Policy(Domain((from_dict("x", spec),)), secrets={"x": bf.threshold(2)})

    plan = policy.plan.where("x != 3").range("x", [(0, 4), (2, 11)], epsilon=1)

    assert plan.strategy == "optimised"
    assert plan.mse == pytest.approx(4, rel=0.01)
    assert plan.privacy_loss() == 1


@pytest.mark.parametrize(
    "secret", [bf.full(), bf.threshold(1_500), bf.partition([[*range(4_990)], [*range(4_990, 5_000)]])]
)
@pytest.mark.parametrize("nullable", [False, True])
def test_ranges_of_long_columns_are_released(secret, nullable):
    """Of columns with more edges than are gone through, by what the kernel checks."""
    spec = {"type": "integer", "min": 0, "max": 4_999, "nullable": nullable}
    policy = bf.Policy(Domain((from_dict("x", spec),)), secrets={"x": secret})
    values = [1, 50, None, 4_999] if nullable else [1, 50, 4_999]
    df = pd.DataFrame({"x": pd.array(values, dtype="Int64")}).blowfish.protect(policy, epsilon=100)

    for ranges in ([(0, 10)], [(0, 10), (11, None)], [(0, 2_500)], [(4_995, None)]):
        for strategy in ("auto", "direct", "optimised"):
            assert len(df.blowfish.range("x", ranges, epsilon=1, strategy=strategy)) == len(ranges)


def test_parts_of_a_line_are_searched_by_themselves():
    """Each group of a partition is measured as well as if it were alone, and no edge loses more."""
    groups = [list(range(low, high)) for low, high in ((0, 4), (4, 20), (20, 148))]
    policy = bf.Policy(Domain((integers("x", 0, 147),)), secrets={"x": bf.partition(groups)})
    alone = [bf.Policy(Domain((integers("x", 0, len(each) - 1),))) for each in groups]

    plan = policy.plan.cumhist("x", epsilon=1)
    each = [own.plan.cumhist("x", epsilon=1).mse for own in alone]

    assert plan.strategy == "optimised"
    assert Fraction(999, 1000) <= plan.privacy_loss() <= 1
    assert plan.mse <= 1.02 * np.average(each, weights=[len(own) for own in groups])


def test_ranges_are_answered_as_well_as_by_a_workload():
    """The same queries, by either verb, have the same error."""
    policy = bf.Policy(Domain((integers("x", 0, 1023),)), secrets={"x": bf.threshold(4)})
    ends = np.sort(np.random.default_rng(1).integers(0, 1024, (10, 2)), axis=1)
    whole = ((ends[:, :1] <= np.arange(1024)) & (np.arange(1024) <= ends[:, 1:])).astype(np.int64)

    ranges = policy.plan.range("x", ends.tolist(), epsilon=1)

    assert ranges.mse <= 1.01 * policy.plan.workload(whole, "x", epsilon=1).mse
    assert ranges.call.startswith("range('x', bounds=[[")


def test_an_answer_under_a_name_is_read_again():
    """Rows that a search found are kept with the answer."""
    policy = bf.Policy(Domain((integers("x", 0, 99),)), secrets={"x": bf.threshold(3)})
    df = pd.DataFrame({"x": np.arange(500) % 100}).blowfish.protect(policy, epsilon=3)
    ends = [(0, 17), (12, 40), (18, 64), (30, 99)]

    for strategy in ("direct", "optimised"):
        first = df.blowfish.range("x", ends, epsilon=1, strategy=strategy, name=strategy)
        again = df.blowfish.range("x", ends, epsilon=1, strategy=strategy, name=strategy)
        assert first.equals(again)
        low, high = (first.blowfish.interval(0.999)[end].to_numpy() for end in ("low", "high"))
        assert (low <= [90, 145, 235, 350]).all()
        assert (high >= [90, 145, 235, 350]).all()
    assert df.blowfish.budget.spent == 2


def test_many_ranges_are_not_measured_one_by_one():
    """Beyond what dense algebra holds a name that cannot answer is refused with the reason."""
    policy = bf.Policy(Domain((integers("x", 0, 4095),)))
    ends = [(low, low + 9) for low in range(0, 4000, 4)]

    with pytest.raises(bf.errors.ArgumentError, match="direct"):
        policy.plan.range("x", ends, strategy="direct")
    assert policy.plan.range("x", ends).strategy != "direct"
