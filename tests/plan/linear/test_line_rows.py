"""Rows found numerically along lines: their loss by enumeration, their estimates by dense algebra."""

import json
import random
from fractions import Fraction

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.plan.linear import line_rows as module
from pandas_blowfish.plan.linear.line_rows import Optimised, can_be_tied
from pandas_blowfish.policy.domain import Domain, integers


def made_of(draw, lined, most=3):
    """Return random rows along a line, of which single atoms are some; None where none are offered."""
    line = lined.line
    runs = int(line.pieces.max(initial=0)) + 1 == len(line.starts)
    if not runs or line.joined is None or not can_be_tied(line):
        return None
    more = [[draw.randint(-most, most) for _ in range(line.size)] for _ in range(draw.randint(0, 3))]
    rows = np.array([*np.eye(line.size, dtype=np.int64).tolist(), *more], dtype=np.int64)
    return Optimised(lined.asked, line, Fraction(draw.randint(1, 9), draw.randint(1, 9)), rows)


def offered(draw, make, *, noisy=False):
    """Return lines on which rows, or rows with noise, can be measured, and these rows."""
    while True:
        lined = make()
        made = made_of(draw, lined)
        if made is not None and (made.sensitivity or not noisy):
            return lined, made


@pytest.mark.parametrize("seed", range(150))
def test_loss_matches_enumeration(seed, make_lined):
    """Any rows lose exactly epsilon over the edges by definition, whatever the graph, filter and groups."""
    draw = random.Random(seed)
    lined, made = offered(draw, lambda: make_lined(draw, draw.choice([4, 6])))

    assert lined.loss(made) == (made.epsilon if made.sensitivity else 0)


@pytest.mark.parametrize("seed", range(60))
def test_measured_rows_are_those_of_the_matrix(seed, make_lined):
    """Counts of bins lead to the same rows as the matrix on counts of cells, columns and changes too."""
    draw = random.Random(500 + seed)
    lined, made = offered(draw, lambda: make_lined(draw))
    cells, bins = lined.counts(draw)

    assert made.apply(bins).tolist() == (made.matrix() @ cells).tolist()
    assert len(made.scales) == made.matrix().shape[0]


@pytest.mark.parametrize("seed", range(80))
def test_equals_dense_least_squares(seed, make_lined, by_dense_bins):
    """Answers and variances of every range, of rows of any kind and exact totals of any kind."""
    draw = random.Random(900 + seed)
    lined, made = offered(draw, lambda: make_lined(draw), noisy=True)
    dense = by_dense_bins(made, lined.asked)
    _, bins = lined.counts(draw)
    values = made.apply(bins)
    noisy = values + np.array([draw.randint(-9, 9) if scale else 0 for scale in made.scales])

    assert made.spread.enough
    assert made.variances == pytest.approx(dense.variances, rel=1e-6, abs=1e-7)
    assert made.mse == pytest.approx(dense.variances.mean(), rel=1e-6)
    assert made.solve(noisy, post=False).answers == pytest.approx(dense.estimator @ noisy, abs=1e-6)


def line_policy(size, theta, **options):
    """Return a policy of one column with a threshold; 0 for all joined."""
    secret = bf.threshold(theta) if theta else bf.full()
    return bf.Policy(Domain((integers("x", 0, size - 1),)), secrets={"x": secret}, **options)


RANGES, BINS = [(0, 9), (3, 12), (5, 20), (2, 23)], [0, 3, 4, 9, 10, 14, 15, 20, 24]
ASKED = {
    "curve": lambda planner, **given: planner.cumhist("x", epsilon=1, **given),
    "all ranges": lambda planner, **given: planner.range("x", "all", epsilon=1, **given),
    "ranges": lambda planner, **given: planner.range("x", RANGES, epsilon=1, **given),
    "bins": lambda planner, **given: planner.hist("x", bins=BINS, epsilon=1, **given),
    "counts": lambda planner, **given: planner.hist("x", epsilon=1, **given),
    "median": lambda planner, **given: planner.quantile("x", 0.5, epsilon=1, **given),
}
STRUCTURED = ("identity", "ordered", "ordered_hierarchical", "hierarchical", "haar", "tree")


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("theta", [1, 4, 12, 0])
def test_auto_is_never_worse_than_what_has_a_structure(asked, theta):
    """Whatever is asked; rows that are found must be clearly better than runs to be chosen."""
    planner = line_policy(24, theta).plan

    auto = ASKED[asked](planner)
    others = [ASKED[asked](planner, strategy=name).mse for name in STRUCTURED]

    assert auto.mse <= min(others) * (1 + 1e-9)
    if auto.strategy == "optimised":
        assert auto.mse < 0.98 * min(others)


def test_wide_policies_gain():
    """Where edges are neither short nor everything, and where listed ranges end at uneven distances."""
    curve = line_policy(24, 9).plan.cumhist("x", epsilon=1)
    ends = np.sort(np.random.default_rng(0).integers(0, 1024, (10, 2)), axis=1).tolist()
    near, wide = line_policy(24, 9).plan, line_policy(1024, 16).plan
    listed = wide.range("x", [tuple(each) for each in ends], epsilon=1)
    plain = wide.range("x", [tuple(each) for each in ends], epsilon=1, strategy="hierarchical")

    assert curve.strategy == listed.strategy == "optimised"
    assert curve.mse < 0.9 * near.cumhist("x", epsilon=1, strategy="hierarchical").mse
    assert listed.mse < 0.8 * plain.mse


def test_the_rows_found_are_the_same_every_time(monkeypatch):
    """No clock and no chance decides what is searched."""
    planner = line_policy(20, 5).plan
    first = planner.cumhist("x", epsilon=1, strategy="optimised").measurement
    from pandas_blowfish.plan.linear import optimise

    monkeypatch.setattr(optimise, "_found", type(optimise._found)())
    monkeypatch.setattr("pandas_blowfish.plan.choose._plans", type(optimise._found)())
    again = planner.cumhist("x", epsilon=1, strategy="optimised").measurement

    assert first is not again
    assert np.array_equal(first.rows, again.rows)


@pytest.mark.parametrize("scope", ["", "where", "groupby", "presence", "missing", "partition"])
def test_is_measured_checked_and_read_again(scope):
    """The kernel checks every edge; a stored answer is re-read from the rows it kept."""
    import pandas as pd

    g, x = integers("g", 0, 1), integers("x", 0, 11, nullable=scope == "missing")
    secret = bf.partition([[0, 1, 2, 3], list(range(4, 12))]) if scope == "partition" else bf.threshold(3)
    policy = bf.Policy(Domain((g, x)), secrets={"x": secret}, presence=scope == "presence")
    draw = np.random.default_rng(2)
    frame = pd.DataFrame({"g": draw.integers(0, 2, 300), "x": draw.integers(0, 12, 300)})
    df = frame.blowfish.protect(policy, epsilon=3)
    verbs = df.blowfish.where("x >= 2 and x < 11") if scope == "where" else df.blowfish
    verbs = verbs.groupby("g") if scope == "groupby" else verbs

    one = verbs.cumhist("x", epsilon=1, strategy="optimised", name="curve")
    spent = df.blowfish.budget.spent
    two = verbs.cumhist("x", epsilon=1, strategy="optimised", name="curve")

    assert one.blowfish.receipt["checked"] == "every edge"
    assert df.blowfish.budget.spent == spent == 1
    assert np.array_equal(one["count"], two["count"])
    assert (np.diff(one["count"].to_numpy().reshape(-1, 12), axis=1) >= 0).all()
    later = one.blowfish.range([(2, 5), (3, 10)])
    exact = verbs.range("x", [(2, 5), (3, 10)], epsilon=1, strategy="optimised")
    assert len(later) == len(exact)
    assert (later["std"] > 0).all()


def test_rows_of_another_line_are_not_read():
    """A form that holds rows over other atoms is refused."""
    planner = line_policy(10, 3).plan
    made = planner.cumhist("x", epsilon=1, strategy="optimised").measurement
    form = json.loads(json.dumps(made.form))

    assert np.array_equal(Optimised.reread(made.asked, made.line, Fraction(1), form).rows, made.rows)
    longer = line_policy(11, 3).plan.cumhist("x", epsilon=1, strategy="optimised").measurement
    with pytest.raises(ArgumentError, match="another line"):
        Optimised.reread(longer.asked, longer.line, Fraction(1), form)


def test_where_it_is_not_offered():
    """Long lines, and totals of groups that are no runs."""
    with pytest.raises(ArgumentError, match="up to 300 atoms"):
        line_policy(400, 3).plan.cumhist("x", epsilon=1, strategy="optimised")
    secret = bf.partition([[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]])
    odd = bf.Policy(Domain((integers("x", 0, 9),)), secrets={"x": secret})
    with pytest.raises(ArgumentError, match="edges can be listed"):
        odd.plan.cumhist("x", epsilon=1, strategy="optimised")


def test_a_cheaper_scale_is_refused(monkeypatch):
    """Rows whose loss is worked out from too few pairs do not pass the kernel's check."""
    import pandas as pd

    from pandas_blowfish.errors import UnsoundPlanError

    whole = module.largest_change
    monkeypatch.setattr(module, "largest_change", lambda rows, joined: whole(rows, joined) // 2)
    frame = pd.DataFrame({"x": np.arange(12)})
    df = frame.blowfish.protect(line_policy(12, 3), epsilon=1)

    with pytest.raises(UnsoundPlanError):
        df.blowfish.cumhist("x", epsilon=1, strategy="optimised")
    assert df.blowfish.budget.spent == 0
