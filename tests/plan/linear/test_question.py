"""The question of a workload: its strategies, the best of them, and reading stored answers again."""

import json

import numpy as np
import pytest
from scipy.sparse import csr_array

import pandas_blowfish as bf
from pandas_blowfish import errors
from pandas_blowfish.plan.choose import reread
from pandas_blowfish.plan.linear import question as module
from pandas_blowfish.policy.domain import Domain, from_dict, integers


def all_ranges(cells):
    """Return every range of a line, ranges x cells."""
    low, high = np.triu_indices(cells)
    return ((low[:, None] <= np.arange(cells)) & (np.arange(cells) <= high[:, None])).astype(np.int64)


def policy_of(cells, theta, **options):
    """Return a policy on whole numbers from 0 with a threshold, or full."""
    secret = bf.full() if theta is None else bf.threshold(theta)
    return bf.Policy(Domain((integers("x", 0, cells - 1),)), secrets={"x": secret}, **options)


@pytest.mark.parametrize(
    ("cells", "theta", "gain"), [(16, 2, 0.95), (24, 4, 0.95), (32, 3, 0.9), (20, None, 1.0)]
)
def test_the_search_beats_what_it_starts_from(cells, theta, gain):
    """On all ranges rows that are searched for are never worse than structured ones, and often better."""
    plan = policy_of(cells, theta).plan.workload(all_ranges(cells), "x", epsilon="1/100")

    table = plan.candidates.set_index("strategy")["mse"]
    best = table.drop("optimised").min()

    assert table["optimised"] <= gain * best * 1.002
    assert plan.mse <= best * (1 + 1e-9)
    assert plan.privacy_loss() == plan.epsilon


@pytest.mark.parametrize(("theta", "goal"), [(4, 34.0), (16, 71.6)])
def test_reference_figures(theta, goal):
    """All ranges of 64 cells: at most what an earlier search reached for any matrix."""
    plan = policy_of(64, theta).plan.workload(all_ranges(64), "x", epsilon="1/1000", strategy="optimised")

    assert plan.mse / 10**6 <= goal


def test_single_ranges_are_those_of_range():
    """A structured strategy has the error that `range` plans."""
    policy = policy_of(40, 3)

    ours = policy.plan.workload(all_ranges(40), "x", strategy="ordered")
    theirs = policy.plan.range("x", "all", strategy="ordered")

    assert ours.mse == pytest.approx(theirs.mse, rel=1e-9)
    np.testing.assert_allclose(ours.std, theirs.std, atol=1e-9)


def test_strategies_depend_on_the_columns():
    """What measures along a line needs one ordered column."""
    domain = Domain((integers("x", 0, 3), from_dict("c", {"type": "category", "values": ["a", "b"]})))
    plan = bf.Policy(domain).plan

    assert "ordered" in plan.workload(np.eye(4), "x").asked[0].strategies
    assert plan.workload(np.eye(2), "c").asked[0].strategies == ("identity", "direct", "optimised")
    with pytest.raises(errors.UnknownStrategyError):
        plan.workload(np.eye(8), ["x", "c"], strategy="ordered")


def test_many_cells_are_not_searched():
    """Beyond 256 sets of cells the best structured strategy is taken, and a search is refused in words."""
    plan = policy_of(400, 2).plan

    assert plan.workload(np.eye(400), "x").strategy != "optimised"
    with pytest.raises(errors.ArgumentError, match="up to 256"):
        plan.workload(np.eye(400), "x", strategy="optimised")


def test_cells_that_are_not_told_apart_are_one():
    """A coarse workload on many cells is searched like a small one."""
    matrix = np.kron(all_ranges(8), np.ones(200, dtype=int))

    plan = policy_of(1_600, 300).plan.workload(matrix, "x", epsilon="1/100")

    assert plan.measurement.tallies[0].size in (8, 1_600)
    assert plan.mse <= policy_of(8, None).plan.workload(all_ranges(8), "x", epsilon="1/100").mse


@pytest.mark.parametrize("strategy", ["auto", "identity", "direct", "optimised", "ordered", "hierarchical"])
@pytest.mark.parametrize("where", [None, "x < 9"])
def test_forms_are_read_again(strategy, where):
    """The form that the ledger keeps, as JSON, makes the same measurement again."""
    policy = policy_of(12, 2)
    scope = policy.plan.where(where) if where else policy.plan
    matrix = np.arange(60).reshape(5, 12) % 4 - 1
    matrix[:, 7:] = 0
    plan = scope.workload(matrix, "x", strategy=strategy)
    form = json.loads(json.dumps(plan.measurement.form))

    again = reread(plan, plan.measurement.name, plan.way, form)

    assert again.scales == plan.scales
    assert (again.matrix() != plan.matrix()).nnz == 0
    np.testing.assert_allclose(again.std, plan.std)


def test_the_rest_may_be_left_out():
    """One count among many needs noise for one row, not for the rest of the table."""
    plan = policy_of(50, None).plan.workload(np.eye(1, 50), "x", epsilon=1)

    assert plan.sensitivity == 1
    assert len(plan.scales) == 2


def test_sparse_stays_sparse():
    """A thousand sparse queries over 10^6 cells are planned without a dense table of them."""
    cells = 10**6
    rows = np.repeat(np.arange(1_000), 10)
    columns = np.arange(10_000) * 7_919 % cells
    matrix = csr_array((np.ones(10_000, dtype=int), (rows, columns)), shape=(1_000, cells))

    plan = policy_of(cells, 1).plan.workload(matrix, "x")

    assert plan.sensitivity == 1  # no two of the cells are neighbours
    assert len(plan.std) == 1_000


def test_a_start_must_fit_the_atoms():
    """Rows of a line that tell apart what an atom holds are no start."""
    parity = np.arange(16)[None, :] % 2
    plan = policy_of(16, 1).plan.workload(parity, "x", strategy="optimised")
    asked = plan.asked[0]
    case = module.WorkloadCase(asked, plan.policy, plan.epsilon, False, False, [])
    woven = case.nests[0]

    assert asked.over_atoms(plan.measurement.atoms, woven) is None
    assert plan.sensitivity <= module.MAX_WEIGHT


@pytest.mark.parametrize("strategy", ["auto", "direct"])
def test_more_queries_than_dense_algebra_takes(strategy):
    """Many queries on few cells are never said to be exact, and are answered without a bias."""
    matrix, counts = np.random.default_rng(1).integers(1, 10, (800, 10)), np.arange(10) * 7

    plan = policy_of(10, None).plan.workload(matrix, "x", epsilon=1, strategy=strategy)

    assert (plan.std > 0).all()
    answers = plan.measurement.solve(plan.measurement.apply(counts), post=False).answers
    np.testing.assert_allclose(answers, matrix @ counts, atol=1e-6)
