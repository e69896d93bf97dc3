"""kmeans, end to end: centres and sizes, groups and filters, one exact charge, none for wrong arguments."""

import json
import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish import errors
from pandas_blowfish.policy.domain import Domain, from_dict, integers

DOMAIN = Domain(
    (
        integers("age", 0, 99),
        from_dict("score", {"type": "float", "min": 0, "max": 10, "step": "0.1", "exclusive_max": True}),
        from_dict("dose", {"type": "integer", "min": 0, "max": 19, "step": 5, "nullable": True}),
        from_dict("sex", {"type": "category", "values": ["F", "M"]}),
        from_dict("town", {"type": "category", "values": ["north", "south"]}),
        from_dict("day", {"type": "datetime", "min": "2024-01-01", "max": "2024-12-31", "step": "1D"}),
        from_dict("flag", {"type": "bool"}),
        from_dict("free", {"type": "float"}),
        from_dict("listed", {"type": "integer", "values": [5, 1]}),
        from_dict("rising", {"type": "integer", "values": [1, 2, 40]}),
        integers("size", 0, 9),
        integers("std", 0, 9),
        integers("cluster", 0, 3),
        integers("one", 7, 7),
        *(integers(f"c{number}", 0, 9) for number in range(13)),
    )
)
SECRETS = {"age": bf.threshold(5), "score": bf.threshold("0.5"), "town": bf.public()}
POLICY = bf.Policy(DOMAIN, secrets=SECRETS)
CENTRES = np.array([[20, 2.0], [80, 5.0], [50, 8.0]])


def _rows(n):
    draw = np.random.default_rng(3)
    of = draw.choice(3, n, p=[0.5, 0.3, 0.2])
    noise = draw.normal(0, 1, (n, 2)) * [4, 0.5]
    age, score = (CENTRES[of] + noise).T
    frame = {
        "age": np.clip(np.rint(age), 0, 99).astype(int),
        "score": np.clip(score, 0, 9.99),
        "dose": pd.array(np.where(of == 0, 2, 17), dtype="Int64"),
        "sex": draw.choice(["F", "M"], n),
        "town": np.where(np.arange(n) % 4 == 0, "north", "south"),
        "day": pd.Timestamp("2024-03-01") + pd.to_timedelta(draw.integers(0, 90, n), unit="D"),
        "flag": of == 0,
        "free": draw.normal(size=n),
        "listed": draw.choice([1, 5], n),
        "rising": draw.choice([1, 2, 40], n),
    }
    frame |= {name: np.zeros(n, dtype=int) for name in ("size", "std", "cluster")}
    frame |= {"one": np.full(n, 7)} | {f"c{number}": draw.integers(0, 10, n) for number in range(13)}
    found = pd.DataFrame(frame)
    found.loc[::10, "dose"] = pd.NA
    return found


@pytest.fixture(scope="module")
def rows():
    """Return 3,000 made-up people in three clusters."""
    return _rows(3_000)


@pytest.fixture
def df(rows):
    """Return them protected."""
    return rows.blowfish.protect(POLICY, epsilon=1_000)


def test_centres_and_sizes(df, rows):
    """The largest first, in the columns' own units, near the truth; the charge is exactly epsilon, once."""
    written = len(df.blowfish.ledger.entries)

    found = df.blowfish.kmeans(["age", "score"], 3, epsilon="1/3")

    assert list(found.columns) == ["age", "score", "size", "std"]
    assert (found.dtypes == np.float64).all()
    assert found.index.equals(pd.RangeIndex(3)), found.index
    assert found.index.name == "cluster"
    assert found["size"].is_monotonic_decreasing
    assert found["size"].sum() == pytest.approx(len(rows))
    assert np.abs(found[["age", "score"]].to_numpy() - CENTRES).max(axis=0) == pytest.approx([0, 0], abs=4)
    assert np.abs(found["size"] - [1_500, 900, 600]).max() < 200
    assert df.blowfish.budget.spent == Fraction(1, 3)
    assert len(df.blowfish.ledger.entries) == written + 1


def test_the_receipt_says_what_assigning_needs(df):
    """Coordinates, units, k and groups are in it as plain JSON, and the ledger vouches for it."""
    found = df.blowfish.groupby("sex").kmeans(["score", "age"], 2, epsilon=1)
    receipt = found.blowfish.receipt

    assert receipt["verb"] == "kmeans"
    assert receipt["coordinates"] == ["score", "age"]
    assert receipt["columns"] == ["sex", "score", "age"]
    assert receipt["groupby"] == ["sex"]
    assert receipt["technical"]["group_domains"] == [{"type": "category", "values": ["F", "M"]}]
    assert receipt["k"] == 2
    assert receipt["answers"] == 4
    assert receipt["technical"]["column_units"] == pytest.approx([1 / 9.9, 1 / 99])
    assert receipt["technical"]["largest_answer"] == 3_000
    assert receipt["epsilon"] == "1"
    assert receipt["std_low"] == found["std"].min()
    assert receipt["std_high"] == found["std"].max()
    assert json.loads(json.dumps(dict(receipt), allow_nan=False)) == dict(receipt)
    assert df.blowfish.ledger.verify(receipt)
    assert repr(found.blowfish).startswith("Release")
    assert "kmeans" in receipt._repr_html_()


@pytest.mark.parametrize("strategy", ["grid", "soft", "adaptive"])
@pytest.mark.parametrize("post", [True, False])
def test_every_strategy(df, strategy, post):
    """Each finds the same three clusters; unshaped sizes are whole sums of noisy counts."""
    found = df.blowfish.kmeans(["age", "score"], 3, epsilon=5, strategy=strategy, post=post)

    assert found.blowfish.receipt["strategy"] == strategy
    assert found.blowfish.receipt["post"] is post
    assert np.abs(found["age"] - CENTRES[:, 0]).max() < 6
    assert np.abs(found["size"] - [1_500, 900, 600]).max() < 150
    assert (found["std"] > 0).all()


def test_whole_groups_have_exact_sizes(rows):
    """Pieces that no secret leaves are counted exactly, so sizes have no error."""
    policy = bf.Policy(DOMAIN, secrets={"age": bf.partition(10), "score": bf.partition(1)})
    df = rows.blowfish.protect(policy, epsilon=2)

    found = df.blowfish.kmeans(["age", "score"], 3, epsilon=1, strategy="whole")

    assert found["std"].tolist() == [0.0] * 3
    assert found["size"].sum() == 3_000
    assert (found["size"] == found["size"].round()).all()
    assert df.blowfish.budget.spent == 1


BAD = {
    "k zero": ({"k": 0}, errors.ArgumentError),
    "k negative": ({"k": -2}, errors.ArgumentError),
    "k float": ({"k": 2.0}, errors.ArgumentTypeError),
    "k True": ({"k": True}, errors.ArgumentTypeError),
    "k None": ({"k": None}, errors.ArgumentTypeError),
    "k text": ({"k": "3"}, errors.ArgumentTypeError),
    "k above the cells": ({"columns": "age", "k": 101}, errors.ArgumentError),
    "k above all limits": ({"k": 10_000}, errors.ArgumentError),
    "category": ({"columns": "sex"}, errors.ArgumentError),
    "datetime": ({"columns": ["age", "day"]}, errors.ArgumentError),
    "bool": ({"columns": "flag"}, errors.ArgumentError),
    "unbounded": ({"columns": "free"}, errors.UnboundedColumnError),
    "no order": ({"columns": "listed", "k": 1}, errors.ArgumentError),
    "undeclared": ({"columns": "nobody"}, errors.UndeclaredColumnError),
    "no columns": ({"columns": []}, errors.ArgumentError),
    "columns None": ({"columns": None}, errors.ArgumentTypeError),
    "columns twice": ({"columns": ["age", "age"]}, errors.ArgumentError),
    "columns too many": ({"columns": [f"c{number}" for number in range(13)]}, errors.ArgumentError),
    "named size": ({"columns": ["age", "size"]}, errors.ArgumentError),
    "named std": ({"columns": ["age", "std"]}, errors.ArgumentError),
    "named cluster": ({"columns": ["age", "cluster"]}, errors.ArgumentError),
    "scale None": ({"scale": None}, errors.ArgumentError),
    "scale number": ({"scale": 2}, errors.ArgumentError),
    "scale of too few": ({"scale": {"age": 1}}, errors.ArgumentError),
    "scale of others": ({"scale": {"age": 1, "score": 1, "sex": 1}}, errors.ArgumentError),
    "scale zero": ({"scale": {"age": 0, "score": 1}}, errors.ArgumentError),
    "scale negative": ({"scale": {"age": -1, "score": 1}}, errors.ArgumentError),
    "scale infinite": ({"scale": {"age": math.inf, "score": 1}}, errors.ArgumentError),
    "scale NaN": ({"scale": {"age": math.nan, "score": 1}}, errors.ArgumentError),
    "scale True": ({"scale": {"age": True, "score": 1}}, errors.ArgumentTypeError),
    "scale text": ({"scale": {"age": "1", "score": 1}}, errors.ArgumentTypeError),
    "rows negative": ({"rows": -1}, errors.ArgumentError),
    "rows float": ({"rows": 10.0}, errors.ArgumentTypeError),
    "rows True": ({"rows": True}, errors.ArgumentTypeError),
    "epsilon zero": ({"epsilon": 0}, errors.EpsilonError),
    "epsilon negative": ({"epsilon": -1}, errors.EpsilonError),
    "epsilon None": ({"epsilon": None}, errors.ArgumentError),
    "post": ({"post": 1}, errors.ArgumentError),
    "post text": ({"post": "nonnegative"}, errors.ArgumentError),
    "name": ({"name": 5}, errors.ArgumentError),
    "name empty": ({"name": ""}, errors.ArgumentError),
    "strategy unknown": ({"strategy": "lloyd"}, errors.UnknownStrategyError),
    "strategy of others": ({"strategy": "identity"}, errors.UnknownStrategyError),
    "strategy None": ({"strategy": None}, errors.ArgumentTypeError),
    "strategy without pieces": ({"strategy": "whole"}, errors.ArgumentError),
    "strategy without cells": ({"columns": "dose", "k": 4, "strategy": "soft"}, errors.ArgumentError),
    "too much": ({"epsilon": 1_001}, errors.InsufficientBudgetError),
}


@pytest.mark.parametrize("case", BAD)
def test_wrong_arguments_charge_nothing(df, case):
    """Each is a typed error before anything is charged or written."""
    (given, error), written = BAD[case], len(df.blowfish.ledger.entries)
    arguments = {"columns": ["age", "score"], "k": 2, "epsilon": 1, **given}

    with pytest.raises(error) as caught:
        df.blowfish.kmeans(**arguments)

    assert isinstance(caught.value, errors.BlowfishError)
    assert df.blowfish.budget.spent == 0
    assert len(df.blowfish.ledger.entries) == written
    if error not in (errors.InsufficientBudgetError,) and not {"post", "name"} & set(given):
        with pytest.raises(error):
            df.blowfish.plan.kmeans(**arguments)


def test_wrong_scopes_charge_nothing(df):
    """Grouped by a coordinate, by a name of the result, or by too many values."""
    with pytest.raises(errors.ArgumentError, match="grouped by already"):
        df.blowfish.groupby("age").kmeans(["age", "score"], 2, epsilon=1)
    with pytest.raises(errors.ArgumentError, match="cluster"):
        df.blowfish.groupby("cluster").kmeans("age", 2, epsilon=1)
    with pytest.raises(errors.DomainTooLargeError):
        df.blowfish.groupby(["day", "sex", "town"]).kmeans("age", 2, epsilon=1)
    with pytest.raises(errors.ArgumentError, match="number of cells"):
        df.blowfish.where("age < 3").kmeans("age", 4, epsilon=1)

    assert df.blowfish.budget.spent == 0


def test_without_scikit_learn(df, monkeypatch):
    """Clusters need no package that is not installed with the library."""
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)

    found = df.blowfish.kmeans("age", 2, epsilon=1)

    assert len(found) == 2
    assert df.blowfish.budget.spent == 1


def test_other_frames(rows, df):
    """A frame that is not protected, was edited, or is a release, is refused as by every verb."""
    released = df.blowfish.kmeans("age", 2, epsilon=1)

    with pytest.raises(errors.NotProtectedError):
        rows.blowfish.kmeans("age", 2, epsilon=1)
    with pytest.raises(errors.NotProtectedError):
        released.blowfish.kmeans("age", 2, epsilon=1)
    with pytest.raises(errors.StaleFrameError):
        df[df["sex"] == "F"].blowfish.kmeans("age", 2, epsilon=1)
    with pytest.raises(errors.FrameError, match="only a hist or a cumhist"):
        released.blowfish.hist()
    with pytest.raises(errors.FrameError, match="only a hist or a cumhist"):
        released.blowfish.quantile([0.5])
    assert df.blowfish.budget.spent == 1


def test_groups_are_outermost(df, rows):
    """Each group has its k clusters, largest first, and the public town its exact number of rows."""
    found = df.blowfish.groupby(["town", "sex"]).kmeans(["age", "score"], 2, epsilon=4)
    towns = df.blowfish.groupby("town").kmeans("age", 2, epsilon=4)

    assert list(found.index.names) == ["town", "sex", "cluster"]
    assert found.shape == (8, 4)
    assert found.index.get_level_values("cluster").tolist() == [0, 1] * 4
    assert all(
        part["size"].is_monotonic_decreasing
        for _, part in found.groupby(level=["town", "sex"], observed=True)
    )
    assert towns.groupby(level="town", observed=True)["size"].sum().to_numpy() == pytest.approx(
        rows["town"].value_counts().sort_index().to_numpy()
    )
    assert df.blowfish.budget.spent == 8


def test_filters(df):
    """Centres lie inside the filter; what is left of it says how many there can be."""
    found = df.blowfish.where("age >= 40").kmeans(["age", "score"], 2, epsilon=5)
    told = df.blowfish.where("age >= 40").kmeans(["age", "score"], 2, epsilon=5, rows=1_500)
    none = df.blowfish.where("age < 0").kmeans("age", 1, epsilon=5)

    for each in (found, told):
        assert each["age"].between(40, 99).all()
        assert np.abs(each["age"] - [80, 50]).max() < 5
        assert abs(each["size"].sum() - 1_500) < 150
    assert found.blowfish.receipt["strategy"] == "counted"
    assert "rows=1500" in told.blowfish.receipt["query"]
    assert none["size"].tolist() == [0.0]
    assert df.blowfish.budget.spent == 10


def test_missing_values_are_left_out(df):
    """A tenth of the doses is missing: the sizes are of the others."""
    found = df.blowfish.kmeans(["dose", "age"], 2, epsilon=10)

    assert abs(found["size"].sum() - 2_700) < 60
    assert found["dose"].between(2, 17).all()


def test_centres_are_declared_values(df):
    """No centre lies beyond the least and the largest value, and listed values are read as they are."""
    found = df.blowfish.kmeans("rising", 3, epsilon=100)
    ages = df.blowfish.kmeans("age", 50, epsilon=1)

    assert sorted(found["rising"]) == pytest.approx([1, 2, 40], abs=0.1)
    assert found["rising"].between(1, 40).all()
    assert ages["age"].between(0, 99).all()


def test_secret_presence(rows):
    """Nothing is exact then, and the number of rows is measured first."""
    df = rows.blowfish.protect(bf.Policy(DOMAIN, secrets=SECRETS, presence=True), epsilon=5)

    found = df.blowfish.kmeans(["age", "score"], 3, epsilon=5)

    assert found.blowfish.receipt["technical"]["largest_answer"] is None
    assert np.abs(found["age"] - CENTRES[:, 0]).max() < 6
    assert abs(found["size"].sum() - 3_000) < 200
    assert (found["std"] > 0).all()
    assert df.blowfish.budget.spent == 5


@pytest.mark.parametrize("strategy", ["auto", "grid", "soft", "adaptive"])
def test_no_rows(strategy):
    """An empty frame has clusters of nothing, and is charged like any other."""
    df = _rows(0).blowfish.protect(POLICY, epsilon=5)

    found = df.blowfish.kmeans(["age", "score"], 3, epsilon=1, strategy=strategy)
    plain = df.blowfish.kmeans(["age", "score"], 3, epsilon=1, strategy=strategy, post=False)

    assert found["size"].sum() == pytest.approx(0, abs=1e-6)
    assert np.isfinite(plain.to_numpy()).all()
    assert found["age"].between(0, 99).all()
    assert df.blowfish.budget.spent == 2


def test_a_domain_of_one_cell(df):
    """One cluster of all rows, known before it is asked: exact and free."""
    found = df.blowfish.kmeans("one", 1, epsilon=1)

    assert found.to_numpy().tolist() == [[7.0, 3_000.0, 0.0]]
    assert df.blowfish.budget.spent == 0


def test_scales(df):
    """Ranges count alike unless told otherwise; what counts little does not tell clusters apart."""
    alike = df.blowfish.kmeans(["age", "score"], 2, epsilon=20)
    plain = df.blowfish.kmeans(["age", "score"], 2, epsilon=20, scale=False)
    scores = df.blowfish.kmeans(["age", "score"], 2, epsilon=20, scale={"score": 1, "age": 0.0001})
    ages = df.blowfish.kmeans(["age", "score"], 2, epsilon=20, scale={"score": 1e-6, "age": 1})

    assert alike.blowfish.receipt["technical"]["column_units"] == pytest.approx([1 / 99, 1 / 9.9])
    assert np.ptp(plain.blowfish.receipt["technical"]["column_units"]) == 0
    assert np.divide(*scores.blowfish.receipt["technical"]["column_units"]) == pytest.approx(0.0001)
    assert "scale={'score': 1.0, 'age': 0.0001}" in scores.blowfish.receipt["query"]
    assert "scale" not in alike.blowfish.receipt["query"]
    assert np.sort(scores["score"]) == pytest.approx([2, 6.2], abs=0.4)
    assert np.sort(ages["age"]) == pytest.approx([20, 68], abs=4)


def test_names_are_free_ever_after(rows, tmp_path):
    """The same query under its name is the same answer, free, in another process too; another is refused."""
    kept = {"epsilon": 1, "dataset": "people", "ledger": tmp_path / "b.db"}
    df = rows.blowfish.protect(POLICY, **kept)
    ask = {"columns": ["age", "score"], "k": 3, "epsilon": "1/2", "name": "clusters"}

    first = df.blowfish.kmeans(**ask)
    again = df.blowfish.kmeans(**ask)
    text = (
        "import sys, pandas as pd, pandas_blowfish as bf; df = pd.read_pickle(sys.argv[1]);"
        "found = df.blowfish.kmeans(['age', 'score'], 3, epsilon='1/2', name='clusters');"
        "found.to_pickle(sys.argv[2])"
    )
    df.to_pickle(tmp_path / "df.pickle")
    paths = [str(tmp_path / "df.pickle"), str(tmp_path / "found.pickle")]
    subprocess.run([sys.executable, "-c", text, *paths], check=True, cwd=tmp_path)
    other = pd.read_pickle(tmp_path / "found.pickle")

    pd.testing.assert_frame_equal(first, again)
    pd.testing.assert_frame_equal(first, other)
    assert df.blowfish.budget.spent == Fraction(1, 2)
    for change in ({"k": 2}, {"scale": False}, {"rows": 5}, {"columns": ["score", "age"]}, {"epsilon": 1}):
        with pytest.raises(errors.NameTakenError):
            df.blowfish.kmeans(**{**ask, **change})
    assert df.blowfish.kmeans(**{**ask, "post": False})["size"].sum() == pytest.approx(3_000, abs=100)
    assert df.blowfish.budget.spent == Fraction(1, 2)


def test_names_of_counted_rows(df):
    """Where the number of rows is measured first the stored answer is read by what it said."""
    ask = {"columns": ["age", "score"], "k": 2, "epsilon": 1, "name": "old"}
    first = df.blowfish.where("age >= 40").kmeans(**ask)

    again = df.blowfish.where("age >= 40").kmeans(**ask)

    pd.testing.assert_frame_equal(first, again)
    assert df.blowfish.budget.spent == 1


def test_plans(df):
    """Cost, noise and what is expected to be added are known before anything is spent."""
    plan = df.blowfish.plan.kmeans(["age", "score"], 3, epsilon="1/2")
    grid = df.blowfish.plan.kmeans(["age", "score"], 3, epsilon="1/2", strategy="grid")
    bare = POLICY.plan.kmeans(["age", "score"], 3)

    assert plan.epsilon == Fraction(1, 2)
    assert plan.strategy == "soft"
    assert grid.sensitivity == 2
    assert set(grid.scales) == {Fraction(0), Fraction(4)}
    assert grid.grid == "10 x 10 bins"
    assert plan.distortion == plan.candidates["distortion"].min()
    assert set(plan.candidates["strategy"]) == {"soft", "grid"}
    assert len(plan.std) == 3
    assert plan.mse == pytest.approx(plan.std[0] ** 2)
    for part in ("synopsis", "squared distances", "per size"):
        assert part in repr(plan)
    assert "say rows=" in repr(bare)
    assert "say rows=" not in repr(plan)
    assert df.blowfish.plan.kmeans(["age", "score"], 3, rows=10**6).distortion < plan.distortion
    assert df.blowfish.budget.spent == 0


def test_plans_know_the_error_of_sizes(df):
    """Sizes of bins that are counted are wrong by as much as the plan says, about."""
    plan = df.blowfish.plan.kmeans(["age", "score"], 3, epsilon=1, strategy="grid")

    found = df.blowfish.kmeans(["age", "score"], 3, epsilon=1, strategy="grid")

    assert found["std"].to_numpy() == pytest.approx(plan.std, rel=0.25)


def test_public_columns_are_exact(rows):
    """Of columns that everyone knows the clusters are exact, and cost nothing."""
    policy = bf.Policy(DOMAIN, secrets={"age": bf.public(), "score": bf.public()})
    df = rows.blowfish.protect(policy, epsilon=1)

    found = df.blowfish.kmeans(["age", "score"], 3, epsilon=1)

    assert found["std"].tolist() == [0.0] * 3
    assert found["size"].sum() == 3_000
    assert found.blowfish.receipt["noise"] == "none"
    assert df.blowfish.budget.spent == 0


def test_a_known_table_is_exact(rows):
    """A published marginal of just these columns tells all: exact, free."""
    small = bf.Policy(DOMAIN, constraints=[bf.Marginal("dose", "rising")])
    df = rows.blowfish.protect(small, epsilon=1)

    found = df.blowfish.kmeans(["dose", "rising"], 3, epsilon=1)

    assert found["std"].tolist() == [0.0] * 3
    assert found["size"].sum() == 2_700
    assert found.blowfish.receipt["epsilon"] == "0"
    assert df.blowfish.budget.spent == 0


def test_a_touched_fact_enlarges_the_noise(rows):
    """A known count that a record may cross makes two records move together: twice the noise."""
    known = bf.Policy(DOMAIN, secrets=SECRETS, constraints=[bf.Count("age < 50")])
    free, held = (
        each.plan.kmeans(["age", "score"], 3, strategy="grid", rows=3_000) for each in (POLICY, known)
    )
    df = rows.blowfish.protect(known, epsilon=50)

    found = df.blowfish.kmeans(["age", "score"], 3, epsilon=20)

    assert free.sensitivity == 2
    assert held.sensitivity == 4
    assert np.abs(found["age"] - CENTRES[:, 0]).max() < 6
    assert found.blowfish.receipt["technical"]["record_moves"] == 2
    assert df.blowfish.budget.spent == 20


def test_twelve_columns(df):
    """As many columns as are taken, which only halving boxes can tell apart."""
    found = df.blowfish.kmeans([f"c{number}" for number in range(12)], 2, epsilon=10)

    assert found.shape == (2, 14)
    assert found["size"].sum() == pytest.approx(3_000)
