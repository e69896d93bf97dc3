"""workload: from a matrix to a release, kept under a name, however the matrix was written."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import pandas_blowfish as bf
from pandas_blowfish import errors
from pandas_blowfish.plan import choose
from pandas_blowfish.plan.linear import optimise
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.queries.workload import read_matrix

DOMAIN = Domain(
    (integers("age", 0, 11), from_dict("sex", {"type": "category", "values": ["F", "M"], "nullable": True}))
)
POLICY = bf.Policy(DOMAIN, secrets={"age": bf.threshold(2), "sex": bf.full()})
ROWS = pd.DataFrame({"age": np.arange(300) % 12, "sex": pd.Categorical(["F", "M", None] * 100, ["F", "M"])})
MATRIX = np.array([[1] * 6 + [0] * 6, list(range(12)), [0] * 12, [-1, 1] * 6])


@pytest.fixture(autouse=True)
def _short_search(monkeypatch):
    """Releases are made of any rows: a short search will do."""
    monkeypatch.setattr(optimise, "MOST", 4)


@pytest.fixture
def df():
    """Return the protected rows."""
    return ROWS.blowfish.protect(POLICY, epsilon=1_000, dataset="rows", ledger=bf.Ledger())


def test_answers_with_little_noise(df):
    """At a large epsilon the answers are the matrix times the counts; a row of zeros is exactly 0."""
    found = df.blowfish.workload(MATRIX, "age", epsilon=500)

    assert list(found.columns) == ["count", "std", "unshaped"]
    assert found.index.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(found["count"], MATRIX @ np.full(12, 25), atol=2)
    assert found["count"][2] == 0
    assert found["std"][2] == 0


def test_missing_is_the_last_cell(df):
    """A nullable column has one more cell, and several columns are in C order."""
    one = df.blowfish.workload([[0, 0, 1]], "sex", epsilon=50)
    both = df.blowfish.workload(sparse.eye(36, format="coo", dtype=int), ["age", "sex"], epsilon=50)

    assert one["count"][0] == pytest.approx(100, abs=2)
    expected = df.blowfish.hist(["age", "sex"], epsilon=50)["count"].to_numpy()
    np.testing.assert_allclose(both["count"], expected, atol=4)


def test_where_and_groupby(df):
    """Groups are outermost, the same queries for each; rows outside the filter are not counted."""
    found = df.blowfish.where("age < 6").groupby("sex").workload(MATRIX[:2], "age", epsilon=400)

    assert found.index.tolist()[:4] == [("F", 0), ("F", 1), ("M", 0), ("M", 1)]
    assert len(found) == 6
    inside = ROWS[ROWS["age"] < 6]
    for sex in "FM":
        ages = inside.loc[inside["sex"] == sex, "age"]
        assert found.loc[(sex, 0), "count"] == pytest.approx(len(ages), abs=3)
        assert found.loc[(sex, 1), "count"] == pytest.approx(ages.sum(), abs=12)


@pytest.mark.parametrize(
    "write",
    [
        lambda matrix: matrix.tolist(),
        lambda matrix: matrix.astype(float),
        lambda matrix: matrix.astype(np.int8),
        pd.DataFrame,
        sparse.csr_array,
        sparse.csc_matrix,
        lambda matrix: sparse.coo_array(matrix.astype(np.float32)),
        lambda matrix: sparse.coo_array(
            (
                np.append(matrix.ravel(), 0),
                (np.append(np.repeat(range(4), 12), 0), np.append(np.tile(range(12), 4), 3)),
            )
        ),
    ],
)
def test_a_matrix_is_the_same_however_written(df, write):
    """Dense, sparse or a frame: the same query, so the stored answer is returned, free."""
    first = df.blowfish.workload(MATRIX, "age", epsilon=1, name="ours")
    before = df.blowfish.budget

    again = df.blowfish.workload(write(MATRIX), "age", epsilon=1, name="ours")

    pd.testing.assert_frame_equal(first, again)
    assert df.blowfish.budget == before
    with pytest.raises(errors.NameTakenError):
        df.blowfish.workload(2 * MATRIX, "age", epsilon=1, name="ours")


@pytest.mark.parametrize("strategy", ["identity", "direct", "optimised", "ordered", "hierarchical"])
@pytest.mark.parametrize("post", [True, False])
def test_named_answers_are_read_again(df, strategy, post, monkeypatch):
    """A stored answer is read by the rows that were measured, even when a search would now find others."""
    first = df.blowfish.workload(MATRIX, "age", epsilon=1, name="kept", strategy=strategy, post=post)
    monkeypatch.setattr(optimise, "MOST", 1)
    optimise._found.clear()
    choose._plans.clear()

    again = df.blowfish.workload(MATRIX, "age", epsilon=1, name="kept", strategy=strategy, post=post)

    np.testing.assert_allclose(first["count"], again["count"], atol=1e-9)
    np.testing.assert_allclose(first["std"], again["std"])


def test_exact_workloads_are_free():
    """What no edge changes costs nothing and has no noise."""
    policy = bf.Policy(DOMAIN, secrets={"age": bf.partition({"width": 4}), "sex": bf.public()})
    df = ROWS.blowfish.protect(policy, epsilon=1)

    found = df.blowfish.workload(np.kron(np.eye(3, dtype=int), [1, 1, 1, 1]), "age", epsilon=1)

    assert found["count"].tolist() == [100.0, 100.0, 100.0]
    assert found.blowfish.receipt["epsilon"] == "0"
    assert df.blowfish.budget.spent == 0


@pytest.mark.parametrize("post", [True, False])
@pytest.mark.parametrize("strategy", ["identity", "direct", "optimised", "ordered"])
def test_intervals_cover(strategy, post):
    """Intervals hold the true answers, negative ones too, at least as often as they say."""
    truth, covered, many = MATRIX @ np.full(12, 25), 0, 60

    for seed in range(many):
        with bf.testing.replay(seed):
            df = ROWS.blowfish.protect(POLICY, epsilon=1)
            found = df.blowfish.workload(MATRIX, "age", epsilon=1, strategy=strategy, post=post)
        bounds = found.blowfish.interval(0.9)
        covered += ((bounds["low"] <= truth) & (truth <= bounds["high"])).to_numpy()

    assert (covered >= 0.85 * many).all()


def test_pictures(df):
    """A release, grouped or not, can be drawn by the number of the query."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    axes = df.blowfish.workload(MATRIX, "age", epsilon=1).blowfish.plot()
    grouped = df.blowfish.groupby("sex").workload(MATRIX, "age", epsilon=1).blowfish.plot()

    assert axes.get_xlabel() == "query"
    assert grouped.get_legend() is not None
    pyplot.close("all")


def test_the_call_names_the_matrix():
    """Ledger and receipt say which matrix was asked, by its hash."""
    plan = POLICY.plan.where("age > 3").workload(MATRIX, "age")

    assert repr(MATRIX.tolist()) in plan.call
    assert plan.query["matrix"].endswith(
        POLICY.plan.workload(sparse.csr_array(MATRIX), "age").query["matrix"][-64:]
    )
    assert "workload" in repr(POLICY.plan)


def test_reading_sums_what_is_given_twice():
    """Sparse entries of one place add up; explicit zeros vanish."""
    given = sparse.coo_array(([1, 2, 0], ([0, 0, 0], [1, 1, 0])), shape=(1, 3))

    rows = read_matrix(given, 3)

    assert rows.toarray().tolist() == [[0, 3, 0]]
    assert rows.nnz == 1


def test_labelled_columns_are_read_by_their_labels(df):
    """A frame whose columns are named by the cells is the same query in any order of them."""
    ages = pd.DataFrame(MATRIX, columns=np.arange(12)).loc[:, ::-1]
    sexes = pd.DataFrame([[1, -1, 5]], columns=["F", "M", None])
    by_value = pd.DataFrame(sexes.to_numpy(), columns=pd.CategoricalIndex(["F", "M", np.nan], ["M", "F"]))
    pairs = pd.MultiIndex.from_product([[0, 1], ["F", "M", np.nan]], names=["age", "sex"])
    small = bf.Policy(Domain((integers("age", 0, 1), DOMAIN["sex"])))
    both = pd.DataFrame([[1, 2, 3, 4, 5, 6]], columns=pairs)

    for policy, frame, columns, plain in [
        (POLICY, ages, "age", MATRIX),
        (POLICY, sexes, "sex", sexes.to_numpy()),
        (POLICY, sexes.iloc[:, [2, 1, 0]], "sex", sexes.to_numpy()),
        (POLICY, by_value.iloc[:, [1, 2, 0]], "sex", sexes.to_numpy()),
        (POLICY, pd.DataFrame(sexes.to_numpy()), "sex", sexes.to_numpy()),
        (small, both, ["age", "sex"], both.to_numpy()),
        (small, both.iloc[:, [5, 0, 3, 1, 4, 2]], ["age", "sex"], both.to_numpy()),
    ]:
        ours, theirs = (policy.plan.workload(each, columns) for each in (frame, plain))
        assert ours.query == theirs.query

    found = df.blowfish.workload(pd.DataFrame([[1, 0, 0]], columns=["M", None, "F"]), "sex", epsilon=300)
    assert found["count"][0] == pytest.approx(100, abs=2)


@pytest.mark.parametrize(
    "labels", [["F", "M", "X"], ["F", "F", "M"], [1, 2, 3], [[0, 0, 0], ["F", "M", None]], ["f", "m", None]]
)
def test_other_labels_are_refused(labels):
    """Columns named otherwise are refused, saying what they should be."""
    columns = pd.MultiIndex.from_arrays(labels) if isinstance(labels[0], list) else labels

    with pytest.raises(errors.ArgumentError, match="F, M, nan"):
        POLICY.plan.workload(pd.DataFrame([[1, 2, 3]], columns=columns), "sex")
