"""hist lists the full declared domain, in schema order, whatever the rows hold."""

import json
import os
import random
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import InsufficientBudgetError, NameTakenError
from pandas_blowfish.policy.domain import Domain, from_dict, integers

SPECS = {
    "whole": {"type": "integer", "min": -1, "max": 2},
    "binned": {"type": "integer", "min": 0, "max": 12, "step": 5},
    "real": {"type": "float", "min": 0, "max": "0.3", "step": "0.1"},
    "day": {"type": "datetime", "min": "2020-01-01", "max": "2020-01-03", "step": "1D"},
    "zoned": {
        "type": "datetime",
        "min": "2020-01-01T00:00+01:00",
        "max": "2020-01-02T00:00+01:00",
        "step": "1D",
    }
    | {"tz": "Europe/Berlin"},
    "flag": {"type": "bool"},
    "group": {"type": "category", "values": ["z", "a", "m"]},
    "text": {"type": "string", "values": ["q", "b"]},
    "rank": {"type": "category", "values": ["low", "mid", "high"], "ordered": True},
    "listed": {"type": "integer", "values": [7, 2]},
}
LABELS = {
    "whole": pd.Index([-1, 0, 1, 2], dtype="int64"),
    "binned": pd.IntervalIndex.from_tuples([(0, 4), (5, 9), (10, 12)], closed="both"),
    "real": pd.IntervalIndex.from_tuples([(0.0, 0.1), (0.1, 0.2), (0.2, 0.3), (0.3, 0.4)], closed="left"),
    "day": pd.IntervalIndex.from_breaks(pd.date_range("2020-01-01", periods=4, unit="us"), closed="left"),
    "zoned": pd.IntervalIndex.from_breaks(
        pd.date_range("2020-01-01", periods=3, unit="us", tz="Europe/Berlin"), closed="left"
    ),
    "flag": pd.Index([False, True]),
    "group": pd.CategoricalIndex(["z", "a", "m"], categories=["z", "a", "m"]),
    "text": pd.CategoricalIndex(["q", "b"], categories=["q", "b"]),
    "rank": pd.CategoricalIndex(["low", "mid", "high"], categories=["low", "mid", "high"], ordered=True),
    "listed": pd.Index([7, 2], dtype="int64"),
}


def _empty(names, nullable=False, secret=None):
    """Return a protected frame without rows; every column has the stated secret."""
    domain = Domain(tuple(from_dict(name, {**SPECS[name], "nullable": nullable}) for name in names))
    policy = bf.Policy(domain, secrets={name: secret or bf.full() for name in names})
    return pd.DataFrame({name: [] for name in names}).blowfish.protect(policy, epsilon=1)


@pytest.mark.parametrize("name", SPECS)
def test_index_kinds(name):
    """int64 for integers, CategoricalIndex for categories and strings, IntervalIndex for bins."""
    released = _empty([name]).blowfish.hist(name, epsilon=1)

    pd.testing.assert_index_equal(released.index, LABELS[name].rename(name), exact=True)
    assert released.columns.tolist() == ["count", "std", "unshaped"]
    assert released.dtypes.tolist() == [np.float64] * 3


@pytest.mark.parametrize("name", SPECS)
def test_missing_is_last(name):
    """A nullable column has one more entry, NaN, after its values."""
    released = _empty([name], nullable=True).blowfish.hist(name, epsilon=1)

    assert len(released) == len(LABELS[name]) + 1
    assert released.index.isna().tolist() == [False] * len(LABELS[name]) + [True]
    assert released.index[:-1].tolist() == LABELS[name].tolist()


def test_levels_are_in_the_order_asked():
    """Several columns make a MultiIndex in C order, the first column outermost."""
    df = _empty(["whole", "group", "flag"])

    released = df.blowfish.hist(["group", "flag", "whole"], epsilon=1)

    assert released.index.names == ["group", "flag", "whole"]
    assert len(released) == 3 * 2 * 4
    expected = [(g, f, w) for g in ["z", "a", "m"] for f in [False, True] for w in [-1, 0, 1, 2]]
    assert released.index.tolist() == expected
    assert isinstance(released.index.levels[0], pd.CategoricalIndex)


def test_counts_land_on_their_labels():
    """Exact answers, over random rows, say for each label how many rows have it."""
    draw = random.Random(5)
    rows = pd.DataFrame(
        {
            "whole": [draw.randint(-1, 2) for _ in range(200)],
            "group": [draw.choice("zam") for _ in range(200)],
            "rank": pd.Categorical([draw.choice(["low", "mid"]) for _ in range(200)], ["mid", "low"]),
        }
    )
    domain = Domain(tuple(from_dict(name, SPECS[name]) for name in rows.columns))
    policy = bf.Policy(domain, secrets={name: bf.public() for name in rows.columns})
    df = rows.blowfish.protect(policy, epsilon=1)

    for columns in (["rank", "whole"], ["group"], ["whole", "group", "rank"]):
        released = df.blowfish.hist(columns, epsilon=1)
        expected = rows.astype({"rank": str}).value_counts(columns)
        for key, count in released["count"].items():
            assert count == expected.get(key if isinstance(key, tuple) else (key,), 0)
        assert released["count"].sum() == 200
    assert df.blowfish.budget.spent == 0


LINE = bf.Policy(
    Domain((integers("x", 0, 9), integers("y", 0, 1))), secrets={"x": bf.partition(5), "y": bf.full()}
)
ROWS = pd.DataFrame({"x": [0, 1, 1, 7, 7, 7, 9] * 3, "y": [0, 1, 1] * 7})


def _line(epsilon=1, **places):
    return ROWS.blowfish.protect(LINE, epsilon=epsilon, **{"ledger": bf.Ledger(), **places})


def test_post_shapes_and_raw_answers_may_be_negative():
    """post=True is non-negative and agrees with what is exact; post=False agrees too, and may be negative."""
    df = _line(epsilon=1000)

    shaped = [df.blowfish.hist("x", epsilon="1/10")["count"] for _ in range(20)]
    plain = {"epsilon": "1/10", "post": False, "strategy": "identity"}
    raw = pd.concat([df.blowfish.hist("x", **plain)["count"] for _ in range(20)])

    assert all((counts >= 0).all() for counts in shaped)
    assert all(counts.iloc[:5].sum() == pytest.approx(9) for counts in shaped)
    assert all(counts.sum() == pytest.approx(21) for counts in shaped)
    assert raw.to_numpy().reshape(20, 10)[:, :5].sum(axis=1) == pytest.approx(np.full(20, 9))
    assert (raw < 0).any()


def test_a_name_gives_the_same_frame_for_free():
    """Asking again under a name returns the identical frame, receipt and all, also when broke."""
    df = _line()
    first = df.blowfish.hist("x", epsilon=1, name="ages")

    again = df.copy().blowfish.hist("x", epsilon=1, name="ages")
    listed = df.blowfish.hist(["x"], epsilon="1", name="ages")

    pd.testing.assert_frame_equal(first, again)
    pd.testing.assert_frame_equal(first, listed)
    assert first.attrs == again.attrs == listed.attrs
    assert df.blowfish.budget.remaining == 0


def test_one_stored_answer_in_two_shapes():
    """post is free to choose later: it is computed from the same stored measurements."""
    df = _line()
    raw = df.blowfish.hist("x", epsilon=1, name="ages", post=False)

    shaped = df.blowfish.hist("x", epsilon=1, name="ages", post=True)

    assert (shaped["count"] >= 0).all()
    assert shaped.blowfish.receipt["entry"] == raw.blowfish.receipt["entry"]
    assert df.blowfish.hist("x", epsilon=1, name="ages", post=False).equals(raw)
    assert df.blowfish.budget.spent == 1


@pytest.mark.parametrize(
    "other",
    [{"columns": "y"}, {"epsilon": "1/8"}, {"bins": 2}, {"strategy": "identity"}, {"columns": ["y", "x"]}],
    ids=str,
)
def test_a_name_stands_for_one_query(other):
    """Other columns, epsilon, bins or strategy under a taken name are refused, free of charge."""
    df = _line()
    df.blowfish.hist(["x", "y"], epsilon="1/4", name="ages")

    arguments = {"columns": ["x", "y"], "epsilon": "1/4", **other}
    if "bins" in other:
        arguments["bins"] = {"x": 2}
    with pytest.raises(NameTakenError):
        df.blowfish.hist(arguments.pop("columns"), name="ages", **arguments)
    with pytest.raises(NameTakenError):
        df.blowfish.count(epsilon="1/4", name="ages")

    assert df.blowfish.budget.spent == Fraction(1, 4)


def test_groups_in_another_order_are_another_query():
    """The order of named groups is the order of the answers: a stored answer is never relabelled."""
    df = _line()
    low, high = [0, 1, 2, 3, 4], [5, 6, 7, 8, 9]
    df.blowfish.hist("x", bins={"low": low, "high": high}, epsilon="1/4", name="halves")

    with pytest.raises(NameTakenError):
        df.blowfish.hist("x", bins={"high": high, "low": low}, epsilon="1/4", name="halves")
    again = df.blowfish.hist("x", bins={"low": low, "high": high}, epsilon="1/4", name="halves")

    assert again["count"].tolist() == [9.0, 12.0]
    assert again.index.tolist() == ["low", "high"]


@pytest.mark.parametrize(
    ("bins", "same", "different"),
    [
        (2, np.int64(2), 5),
        ([0, 5, 9], np.array([0, 5, 9]), [0, 6, 9]),
        ([0, 5, 9], (edge for edge in (0, 5, 9)), (edge for edge in (0, 4, 9))),
        ({"a": [0, 1], "b": [2]}, {"a": {1, 0}, "b": range(2, 3)}, {"a": [0], "b": [2]}),
    ],
    ids=["number", "edges", "generator", "groups"],
)
def test_bins_are_one_query_however_written(bins, same, different):
    """Arrays, generators and sets mean what their lists mean, and are told apart by content."""
    df = _line()
    first = df.blowfish.hist("x", bins=bins, epsilon="1/4", name="cut")

    again = df.blowfish.hist("x", bins=same, epsilon="1/4", name="cut")

    assert again.index.equals(first.index)
    assert again["count"].tolist() == first["count"].tolist()
    with pytest.raises(NameTakenError):
        df.blowfish.hist("x", bins=different, epsilon="1/4", name="cut")


def test_bins_count_what_they_say():
    """A number, edges as numpy reads them, and named groups; by column for several."""
    public = bf.Policy(LINE.domain, secrets={"x": bf.public(), "y": bf.public()})
    df = ROWS.blowfish.protect(public, epsilon=1)

    halves = df.blowfish.hist("x", bins=2, epsilon=1)
    edges = df.blowfish.hist("x", bins=[0, 1, 7, 9], epsilon=1)
    groups = df.blowfish.hist("x", bins={"rare": [0, 9], "often": [1, 7]}, epsilon=1)
    both = df.blowfish.hist(["y", "x"], bins={"x": 2}, epsilon=1)

    assert halves["count"].tolist() == [9, 12]
    assert edges["count"].tolist() == np.histogram(ROWS["x"], [0, 1, 7, 9])[0].tolist()
    assert groups["count"].to_dict() == {"rare": 6, "often": 15}
    assert both["count"].tolist() == pd.crosstab(ROWS["y"], ROWS["x"] // 5).to_numpy().ravel().tolist()
    assert both.index.names == ["y", "x"]


def test_ten_tenths_are_one():
    """0.1 is exactly 1/10: ten charges use a budget of 1 up, an eleventh of any size is refused."""
    df = _line()

    for _ in range(10):
        df.blowfish.hist("x", epsilon=0.1)

    assert df.blowfish.budget.remaining == 0
    assert df.blowfish.budget.spent == 1
    with pytest.raises(InsufficientBudgetError):
        df.blowfish.hist("x", epsilon=1e-12)


def test_exact_answers_are_free():
    """Totals that no edge changes cost nothing and say so."""
    df = _line()

    released = df.blowfish.hist("x", bins=2, epsilon="1/2")

    assert released["count"].tolist() == [9.0, 12.0]
    assert (released["std"] == 0).all()
    receipt = released.blowfish.receipt
    assert (receipt["epsilon"], receipt["strategy"], receipt["noise"], receipt["spent"]) == (
        "0",
        "exact",
        "none",
        "0",
    )
    assert df.blowfish.budget.spent == 0


def test_columns_as_pandas_users_write_them():
    """A name, a list, a tuple, an Index or an array of names."""
    df = _line()

    for columns in (
        ["x", "y"],
        ("x", "y"),
        pd.Index(["x", "y"]),
        np.array(["x", "y"], dtype=object),
        ROWS.columns,
    ):
        assert df.blowfish.hist(columns, epsilon="1/10").index.names == ["x", "y"]


def test_the_receipt_tells_the_query():
    """What was asked can be read from the receipt, and it agrees with the plan."""
    df = _line()
    plan = df.blowfish.plan.hist("x", epsilon="1/4")

    receipt = df.blowfish.hist("x", epsilon="1/4").blowfish.receipt

    assert receipt["query"].startswith("hist(")
    assert "'x'" in receipt["query"]
    assert receipt["columns"] == ["x"]
    assert Fraction(receipt["sensitivity"]) == plan.sensitivity
    assert Fraction(receipt["scale"]) == plan.scale
    assert receipt["expected_squared_error"] == plan.mse
    assert json.loads(json.dumps(receipt)) == receipt


ELSEWHERE = """
import sys, json
import pandas as pd, pandas_blowfish as bf
policy = bf.Policy.from_yaml(open(sys.argv[1] + "/policy.yaml").read())
df = pd.read_parquet(sys.argv[1] + "/rows.parquet")
df = df.blowfish.protect(policy, epsilon=1, dataset="rows", ledger=sys.argv[1] + "/budget.db")
released = df.blowfish.hist("x", bins={"a": {3, 1, 2}, "b": [0]}, epsilon="1/4", name="kept")
print(json.dumps([released["count"].tolist(), released.attrs]))
"""


def test_names_survive_a_restart(tmp_path):
    """Other processes, with other hash seeds, get the stored answer and the same receipt, free."""
    ROWS.to_parquet(tmp_path / "rows.parquet")
    (tmp_path / "policy.yaml").write_text(LINE.to_yaml())
    command = [sys.executable, "-c", ELSEWHERE, str(tmp_path)]

    said = [
        subprocess.run(
            command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        )
        for seed in ("1", "2")
    ]

    assert said[0].stdout == said[1].stdout != ""
    df = _line(ledger=tmp_path / "budget.db", dataset="rows")
    here = df.blowfish.hist("x", bins={"a": [1, 2, 3], "b": [0]}, epsilon="1/4", name="kept")
    assert [here["count"].tolist(), here.attrs] == json.loads(said[0].stdout)
    assert df.blowfish.budget.spent == Fraction(1, 4)


def test_real_rows(shared_data):
    """A real table is read by value, and public counts of it are pandas' own."""
    rows = pd.read_csv(shared_data / "adult.csv.gz", usecols=["age"])
    domain = Domain((integers("age", 0, 120),))
    df = rows.blowfish.protect(bf.Policy(domain, secrets={"age": bf.public()}), epsilon=1)

    released = df.blowfish.hist("age", epsilon=1)

    assert released["count"].tolist() == np.bincount(rows["age"], minlength=121).tolist()
