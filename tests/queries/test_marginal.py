"""marginal: the contract of its frames, agreement, receipts, names, and what is refused."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.kernel.measure import add_noise
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.queries.marginal import is_single, read_tables, table_keys

DOMAIN = Domain(
    (
        integers("age", 0, 4),
        from_dict("sex", {"type": "category", "values": ["M", "F"]}),
        from_dict("size", {"type": "float", "min": 0, "max": "1.5", "step": "0.5", "nullable": True}),
        from_dict("region", {"type": "category", "values": ["n", "s", "w"]}),
    )
)
POLICY = bf.Policy(DOMAIN, secrets={"region": bf.public(), "age": bf.partition([[0, 2], [1, 3, 4]])})
MANY = 1_200


def _rows(rows=MANY):
    draw = np.random.default_rng(4)
    size = pd.Series(draw.choice([0.1, 0.7, 1.2, np.nan], rows))
    return pd.DataFrame(
        {
            "age": draw.integers(0, 5, rows) // draw.integers(1, 3, rows),
            "sex": draw.choice(["F", "M"], rows),
            "size": size,
            "region": draw.choice(["s", "n"], rows),
        }
    )


def _protected(policy=POLICY, epsilon=10**9, rows=MANY):
    return _rows(rows).blowfish.protect(policy, epsilon=epsilon)


def test_a_flat_list_is_one_frame():
    """Levels in the order asked, named, C order, the full declared domain, float64, a std column."""
    found = _protected().blowfish.marginal(["sex", "age"], epsilon=10**6)

    assert isinstance(found, pd.DataFrame)
    assert found.index.names == ["sex", "age"]
    assert [key[0] for key in found.index[:5]] == ["M"] * 5
    assert list(found.columns) == ["count", "std", "unshaped"]
    assert (found.dtypes == "float64").all()
    truth = _rows().groupby(["sex", "age"]).size()
    for key, count in found["count"].items():
        assert count == pytest.approx(truth.get(key, 0))
    assert isinstance(found.index.levels[0], pd.CategoricalIndex)


@pytest.mark.parametrize("columns", ["age", ["age"], ("age",), pd.Index(["age"]), np.array(["age"])])
def test_every_way_to_name_one_column(columns):
    """A name, a list, a tuple, an Index and an array are one table."""
    found = _protected().blowfish.marginal(columns, epsilon=10**6)

    assert found.index.name == "age"
    assert found["count"].sum() == pytest.approx(MANY)


def test_nested_lists_are_a_dict_keyed_by_tuples():
    """In the order asked; the same columns in another order are another table; subsets are fine."""
    asked = [["sex", "age"], ["age", "sex"], ["age"], ["region", "size"]]

    found = _protected().blowfish.marginal(asked, epsilon=10**6)

    assert list(found) == [tuple(each) for each in asked]
    assert found["age", "sex"]["count"].index.names == ["age", "sex"]
    turned = found["age", "sex"]["count"].swaplevel().reindex(found["sex", "age"].index)
    assert np.allclose(turned, found["sex", "age"]["count"])
    assert found["age",].index.name == "age"
    last = found["region", "size"]
    assert isinstance(last.index.get_level_values("size")[0], pd.Interval)
    assert pd.isna(last.index.get_level_values("size")[-1])
    assert last["count"].xs("w").sum() == pytest.approx(0, abs=1e-9)


def test_order_asks_for_all_tables():
    """All pairs in the order of the columns, one charge."""
    df = _protected(epsilon=3)

    found = df.blowfish.marginal(["sex", "age", "region"], order=2, epsilon="1/2")

    assert list(found) == list(itertools.combinations(["sex", "age", "region"], 2))
    assert df.blowfish.budget.spent == pytest.approx(0.5)
    assert len({frame.blowfish.receipt["entry"] for frame in found.values()}) == 1


@pytest.mark.parametrize("post", [True, False, "signed"])
@pytest.mark.parametrize("scope", ["all", "where", "odd", "groups", "both"])
@pytest.mark.parametrize("options", [{}, {"neighbors": "attribute"}, {"presence": True}], ids=str)
def test_tables_agree(options, scope, post):
    """Shared parts, exact totals and the row count agree to 1e-6 of the rows; outside the filter is 0."""
    policy = bf.Policy(
        DOMAIN, secrets={"region": bf.public(), "age": bf.partition([[0, 2], [1, 3, 4]])}, **options
    )
    df = _protected(policy, epsilon=10)
    conditions = {
        "where": "size >= 0.5 and age != 3",
        "odd": "sex == 'M' or age < 2",
        "both": "region != 's'",
    }
    planner, rows = df.blowfish, _rows()
    if scope in conditions:
        planner = planner.where(conditions[scope])
        rows = rows.query(conditions[scope])
    names = ["age", "sex", "size"]
    if scope in ("groups", "both"):
        planner = planner.groupby("region")

    found = planner.marginal(names, order=2, epsilon="0.3", post=post)

    near = 1e-6 * MANY
    for one, two in itertools.combinations(found, 2):
        shared = [*(["region"] if scope in ("groups", "both") else []), *(set(one) & set(two))]
        sums = [
            found[key]["count"].groupby(level=shared, dropna=False, observed=False).sum()
            for key in (one, two)
        ]
        assert np.allclose(sums[0].to_numpy(), sums[1].reindex(sums[0].index).to_numpy(), atol=near)
    for key, frame in found.items():
        counts = frame["count"]
        if post is True:
            assert counts.min() >= 0
        if not options.get("presence") and scope in ("all", "groups", "both"):
            assert abs(counts.sum() - len(rows)) <= near
        if scope == "where" and "age" in key:
            assert (counts.xs(3, level="age") == 0).all()
        if scope == "odd" and key == ("age", "sex"):
            assert counts.loc[3, "F"] == 0
            assert frame["std"].loc[3, "F"] == 0
        if scope == "groups" and not options.get("presence") and "age" in key:
            sums = counts.groupby(level=["region", "age"], observed=False).sum()
            for region in "nsw":
                for group in ([0, 2], [1, 3, 4]):
                    true = ((rows["region"] == region) & rows["age"].isin(group)).sum()
                    assert abs(sums.loc[region].loc[group].sum() - true) <= near


def test_receipts_are_plain_data_and_intervals_work():
    """Each frame has the receipt of the release, and says which table it is."""
    found = _protected().blowfish.groupby("region").marginal([["sex"], ["age", "sex"]], epsilon="1/3")

    for key, frame in found.items():
        receipt = json.loads(json.dumps(frame.attrs["blowfish"]))
        assert receipt["verb"] == "marginal"
        assert receipt["epsilon"] == "1/3"
        assert receipt["table"] == ["region", *key]
        assert receipt["columns"] == ["region", "sex", "age"]
        assert frame.index.names[0] == "region"
        interval = frame.blowfish.interval(0.9)
        assert (interval["low"] <= interval["high"]).all()


def test_a_named_release_is_read_again_for_free(tmp_path):
    """The same question under its name, from a file, in every shape; another one is an error."""
    df = _rows().blowfish.protect(POLICY, epsilon=2, dataset="d", ledger=tmp_path / "b.db")

    first = df.blowfish.marginal(["sex", "age"], order=1, epsilon=1, name="pairs")
    again = df.blowfish.marginal(["sex", "age"], order=1, epsilon=1, name="pairs")
    other = df.blowfish.marginal(["sex", "age"], order=1, epsilon=1, name="pairs", post="nonnegative")

    assert df.blowfish.budget.spent == 1
    for key in first:
        pd.testing.assert_frame_equal(first[key], again[key])
        assert other[key]["count"].min() >= 0
    with pytest.raises(bf.BlowfishError):
        df.blowfish.marginal(["age", "sex"], order=1, epsilon=1, name="pairs")
    assert df.blowfish.budget.spent == 1


def test_exact_tables_are_free():
    """Public columns, groups of a partition's totals, and what a filter leaves empty."""
    df = _protected(epsilon=1)

    regions = df.blowfish.marginal(["region"], epsilon=1)
    nothing = df.blowfish.where("age < 1 and age > 2").marginal([["age"], ["sex", "age"]], epsilon=1)

    assert df.blowfish.budget.spent == 0
    assert (
        regions["count"].tolist() == _rows()["region"].value_counts().reindex(list("nsw")).fillna(0).tolist()
    )
    assert all((frame == 0).all(axis=None) for frame in nothing.values())


@pytest.mark.parametrize(
    "arguments",
    [
        {"columns": []},
        {"columns": [[]]},
        {"columns": None},
        {"columns": 5},
        {"columns": {"age"}},
        {"columns": {"age": 1}},
        {"columns": [["age"], ["age"]]},
        {"columns": ["age", "age"]},
        {"columns": [["age", "nobody"], ["sex"]]},
        {"columns": ["age", "sex"], "order": 0},
        {"columns": ["age", "sex"], "order": 3},
        {"columns": ["age", "sex"], "order": 1.0},
        {"columns": ["age", "sex"], "order": True},
        {"columns": ["age", "sex"], "order": "2"},
        {"columns": [["age"], ["sex"]], "order": 1},
        {"columns": ["age", "sex"], "strategy": "mesh"},
        {"columns": [["age"], ["sex"]], "strategy": "identity"},
        {"columns": ["age", "sex"], "post": "monotone"},
        {"columns": ["age", "sex"], "post": None},
        {"columns": ["age", "sex"], "epsilon": 0},
        {"columns": ["age", "sex"], "name": ""},
    ],
    ids=str,
)
def test_wrong_arguments_charge_nothing(arguments):
    """Typed errors, before anything is charged."""
    df = _protected(epsilon=1)
    given = {"epsilon": "1/2", **arguments}

    with pytest.raises(bf.BlowfishError):
        df.blowfish.marginal(given.pop("columns"), **given)

    assert df.blowfish.budget.spent == 0


def test_a_group_column_cannot_be_asked_for():
    """Neither in one table nor in one of several."""
    df = _protected(epsilon=1)

    for columns in (["sex", "age"], [["age"], ["sex"]]):
        with pytest.raises(bf.BlowfishError):
            df.blowfish.groupby("sex").marginal(columns, epsilon=1)
    assert df.blowfish.budget.spent == 0


def test_reading_of_tables():
    """Names, lists, nested lists, arrays and `order`."""
    assert read_tables("age", None) == [["age"]]
    assert read_tables([("a", "b"), "c"], None) == [["a", "b"], ["c"]]
    assert read_tables(np.array([["a", "b"], ["b", "c"]]), None) == [["a", "b"], ["b", "c"]]
    assert read_tables(["a", "b", "c"], np.int64(2)) == [["a", "b"], ["a", "c"], ["b", "c"]]
    assert is_single(["a", "b"], None)
    assert not is_single(["a", "b"], 1)
    assert not is_single([["a", "b"]], None)


def test_empty_frames():
    """No rows: counts near 0, totals exact."""
    found = _protected(rows=0).blowfish.marginal([["age"], ["sex"]], epsilon=10**6)

    assert np.allclose(found["age",]["count"], 0)


@pytest.mark.parametrize(
    ("secrets", "options", "ask"),
    [
        ({}, {}, {"columns": ["age", "sex", "size", "region"], "order": 2}),
        (
            {"region": bf.public(), "age": bf.partition([[0, 2], [1, 3, 4]])},
            {},
            {"columns": [["age", "region"], ["sex"]]},
        ),
        ({}, {"neighbors": "attribute", "presence": True}, {"columns": [["age", "sex"], ["size"]]}),
    ],
    ids=["pairs", "groups", "attribute"],
)
def test_expected_error_is_what_is_measured(secrets, options, ask):
    """Fresh noise again and again: the mean squared error of unbiased answers is as planned, within 7%."""
    plan = bf.Policy(DOMAIN, secrets=secrets, **options).plan.marginal(**ask, epsilon="1/2")
    cells = np.random.default_rng(1).integers(0, 20, plan.domain.size)
    exact = np.asarray(plan.matrix() @ cells)
    truth = plan.measurement.solve(exact, post=False).answers

    with bf.testing.replay(7):
        draws = [add_noise(plan.measurement, exact, plan.cost) for _ in range(600)]
    errors = [plan.measurement.solve(values, post=False).answers - truth for values in draws]

    assert np.mean(np.square(errors)) == pytest.approx(plan.mse, rel=0.07)
    each = np.sqrt(np.mean(np.square(errors), axis=0))
    assert np.allclose(each, plan.std, rtol=0.15)


@pytest.mark.parametrize("columns", [["age", "sex"], ["region", "size", "age"], ["size", "sex"]])
def test_expected_error_of_a_histogram_of_several_columns(columns):
    """hist and marginal of the same columns: as planned, within 5%."""
    plan = POLICY.plan.hist(columns, epsilon="1/2")
    cells = np.random.default_rng(1).integers(0, 20, plan.domain.size)
    exact = np.asarray(plan.matrix() @ cells)

    truth = plan.measurement.solve(exact, post=False).answers
    with bf.testing.replay(8):
        draws = [add_noise(plan.measurement, exact, plan.cost) for _ in range(1_500)]
    errors = [plan.measurement.solve(values, post=False).answers - truth for values in draws]

    assert np.mean(np.square(errors)) == pytest.approx(plan.mse, rel=0.05)


@pytest.mark.parametrize(
    ("columns", "order"),
    [(["sex"], None), ("sex", None), ([["sex"], ["region", "age"]], None), (["sex", "age"], 1)],
)
def test_keys_are_known_before(columns, order):
    """A plan knows whether its release is a dict, and by which keys."""
    df = _rows(40).blowfish.protect(POLICY, epsilon=9)

    for grouped in (df.blowfish, df.blowfish.groupby("size")):
        plan = grouped.plan.marginal(columns, order=order)
        released = grouped.marginal(columns, order=order, epsilon=1)
        assert table_keys(plan) == (list(released) if isinstance(released, dict) else [])
