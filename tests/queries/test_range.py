"""range: counts of runs of values, with no more noise than the policy needs."""

import datetime

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, DeclaredValueError, NameTakenError
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.queries.call.call_reader import parse_call

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
        POLICY.plan.range("x", THREE, epsilon=-1)
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


PLANE = Domain(
    (
        integers("a", 0, 4),
        from_dict("b", {"type": "float", "min": 0, "max": "1.5", "step": "0.5", "nullable": True}),
        from_dict("t", {"type": "datetime", "min": "2026-01-01", "max": "2026-01-04", "step": "1D"}),
        from_dict("s", {"type": "category", "values": ["F", "M"]}),
        from_dict("g", {"type": "category", "values": ["low", "mid", "top"], "ordered": True}),
    )
)


def _plane(policy=None, epsilon=10**9, rows=800):
    draw = np.random.default_rng(6)
    frame = pd.DataFrame(
        {
            "a": draw.integers(0, 5, rows),
            "b": draw.choice([0.0, 0.5, 0.9, 1.4, np.nan], rows),
            "t": pd.Timestamp("2026-01-01") + pd.to_timedelta(draw.integers(0, 4, rows), "D"),
            "s": draw.choice(["F", "M"], rows),
            "g": draw.choice(["low", "mid", "top"], rows),
        }
    )
    return frame.blowfish.protect(policy or bf.Policy(PLANE), epsilon=epsilon)


def test_boxes_are_the_truth_with_hardly_any_noise():
    """Inclusive numbers, categories and dates, [low, high) bins, open ends; missing values are left out."""
    df = _plane()
    rows = pd.DataFrame(df)

    ab = df.blowfish.range(["a", "b"], [((1, 3), (0.5, 1.0)), ((None, 2), (None, None))], epsilon=10**6)
    ta = df.blowfish.range(["t", "a"], [(("2026-01-02", "2026-01-04"), (0, 0))], epsilon=10**6)
    ga = df.blowfish.range(["g", "a", "t"], [(("low", "mid"), (0, 4), (None, "2026-01-02"))], epsilon=10**6)

    first = rows["a"].between(1, 3) & (rows["b"] >= 0.5) & (rows["b"] < 1.0)
    second = (rows["a"] <= 2) & rows["b"].notna()
    third = (rows["t"] >= "2026-01-02") & (rows["t"] < "2026-01-05") & (rows["a"] == 0)
    fourth = rows["g"].isin(["low", "mid"]) & (rows["t"] < "2026-01-03")
    assert ab["count"].tolist() == pytest.approx([first.sum(), second.sum()])
    assert ta["count"].tolist() == pytest.approx([third.sum()])
    assert ga["count"].tolist() == pytest.approx([fourth.sum()])
    assert ab.index.names == ["a", "b"]
    assert ga.index.names == ["g", "a", "t"]
    assert (ab.dtypes == "float64").all()
    assert list(ab.columns) == ["count", "std", "unshaped"]


def test_every_way_to_write_boxes():
    """Lists, tuples, an array of boxes x columns x 2, and a single box are the same question."""
    boxes = [((0, 2), (1, 3)), ((1, 1), (0, 3))]
    policy = bf.Policy(Domain((integers("a", 0, 4), integers("b", 0, 3))))

    plans = [
        policy.plan.range(["a", "b"], each)
        for each in (boxes, tuple(boxes), np.array(boxes), [np.array(box) for box in boxes], iter(boxes))
    ]
    alone = policy.plan.range(["a", "b"], ((0, 2), (1, 3)))

    assert len({str(plan.query) for plan in plans}) == 1
    assert len(alone.std) == 1
    assert alone.index.equals(plans[0].index[:1])


def test_groups_of_boxes():
    """Groups outermost, secret or public, filters on top; the loss is epsilon over every edge."""
    policy = bf.Policy(PLANE, secrets={"a": bf.threshold(1), "b": bf.threshold("0.5")}, neighbors="attribute")
    df = _plane(policy)
    rows = pd.DataFrame(df)
    boxes = [((0, 2), (0, 1.0)), ((1, 4), (None, None)), ((2, 2), (0.5, 1.5))]

    found = df.blowfish.where("g != 'mid'").groupby(["s", "g"]).range(["a", "b"], boxes, epsilon=10**6)

    assert found.index.names == ["s", "g", "a", "b"]
    assert len(found) == 6 * 3
    kept = rows[rows["s"].eq("F") & rows["g"].eq("top") & rows["b"].notna()]
    assert found["count"].iloc[7] == pytest.approx(kept["a"].between(1, 4).sum())
    assert found["count"].iloc[3:6].tolist() == [0, 0, 0]  # F, mid
    assert found["std"].iloc[3:6].tolist() == [0, 0, 0]


def test_boxes_outside_a_filter_are_nothing():
    """A box, or everything, that the filter drops is 0 and has no error; an empty filter costs nothing."""
    df = _plane(epsilon=2)

    some = df.blowfish.where("a < 2").range(
        ["a", "g"], [((3, 4), ("low", "top")), ((0, 4), ("low", "top"))], epsilon=1
    )
    none = df.blowfish.where("a < 2 and a > 3").range(["a", "g"], [((3, 4), ("low", "top"))], epsilon=1)

    assert some["count"].iloc[0] == some["std"].iloc[0] == 0
    assert some["std"].iloc[1] > 0
    assert none["count"].tolist() == none["std"].tolist() == [0]
    assert df.blowfish.budget.spent == 1


def test_boxes_have_receipts_names_and_shapes(tmp_path):
    """Named boxes are read again for free, each strategy from a file; intervals work."""
    import json

    policy = bf.Policy(PLANE, secrets={("a", "g"): bf.threshold(1)})
    df = pd.DataFrame(_plane(rows=300)).blowfish.protect(
        policy, epsilon=9, dataset="d", ledger=tmp_path / "b.db"
    )
    boxes = [((0, 2), ("low", "mid")), ((1, 4), ("mid", "top"))]

    for spent, strategy in enumerate(("identity", "hierarchical", "mesh"), start=1):
        first = df.blowfish.range(["a", "g"], boxes, epsilon=1, strategy=strategy, name=strategy)
        again = df.blowfish.range(["a", "g"], boxes, epsilon=1, strategy=strategy, name=strategy)
        plain = df.blowfish.range(["a", "g"], boxes, epsilon=1, strategy=strategy, name=strategy, post=False)

        pd.testing.assert_frame_equal(first, again)
        assert df.blowfish.budget.spent == spent
        assert np.allclose(plain["count"].clip(0, 300), first["count"])
        assert json.loads(json.dumps(first.attrs["blowfish"]))["strategy"] == strategy
        assert (first.blowfish.interval()["low"] <= first.blowfish.interval()["high"]).all()
    with pytest.raises(NameTakenError):
        df.blowfish.range(["a", "g"], boxes[::-1], epsilon=1, strategy="mesh", name="mesh")


@pytest.mark.parametrize(
    "bounds",
    [
        None,
        5,
        "all",
        [],
        (),
        [(0, 1)],
        [((0, 1),)],
        [((0, 1), (0, 1), (0, 1))],
        [((0, 1), 5)],
        [((0, 1), "ab")],
        [((1, 0), (0, 1))],
        [((0, 1), (3, 2))],
        [((0, 99), (0, 1))],
        [((0, 1), (0.5, 1))],
        [((0, 1), (True, False))],
        [((0, 1, 2), (0, 1))],
        [((0, 1), ("x", "y"))],
        np.zeros((2, 2)),
        np.zeros((0, 2, 2)),
        np.zeros((3, 3, 2)),
        [((0, 1), (0, 1)), None],
        {((0, 1), (0, 1))},
        pd.DataFrame({"a": [1]}),
    ],
    ids=lambda bounds: str(bounds)[:40],
)
def test_wrong_boxes_charge_nothing(bounds):
    """Typed errors, before anything is charged."""
    policy = bf.Policy(Domain((integers("a", 0, 4), integers("b", 0, 3))))
    df = pd.DataFrame({"a": [0, 1], "b": [2, 3]}).blowfish.protect(policy, epsilon=1)

    with pytest.raises(bf.BlowfishError):
        df.blowfish.range(["a", "b"], bounds, epsilon=1)

    assert df.blowfish.budget.spent == 0


def test_columns_that_cannot_have_boxes():
    """Unordered, repeated, unknown or grouped columns; strategies that do not fit."""
    df = _plane(epsilon=1)
    box = [((0, 1), (0, 1))]

    for columns in (["a", "s"], ["a", "a"], ["a", "nobody"], []):
        with pytest.raises(bf.BlowfishError):
            df.blowfish.range(columns, box, epsilon=1)
    with pytest.raises(bf.BlowfishError):
        df.blowfish.groupby("a").range(["a", "g"], [((0, 1), ("low", "mid"))], epsilon=1)
    for strategy in ("mesh", "ordered", "nothing"):
        with pytest.raises(bf.BlowfishError):
            df.blowfish.range(["a", "b"], [((0, 1), (0, 1.0))], epsilon=1, strategy=strategy)
    assert df.blowfish.budget.spent == 0


@pytest.mark.parametrize("strategy", ["hierarchical", "mesh", "identity"])
@pytest.mark.parametrize("theta", [1, 3])
def test_expected_error_of_boxes_is_what_is_measured(strategy, theta):
    """Fresh noise again and again: the mean squared error of unbiased answers is as planned, within 5%."""
    from pandas_blowfish.kernel.measure import add_noise

    policy = bf.Policy(
        Domain((integers("a", 0, 7), integers("b", 0, 8))), secrets={("a", "b"): bf.threshold(theta)}
    )
    draw = np.random.default_rng(2)
    boxes = np.sort(np.stack([draw.integers(0, n, (40, 2)) for n in (8, 9)], axis=1), axis=2)
    plan = policy.plan.range(["a", "b"], boxes, epsilon="1/2", strategy=strategy)
    exact = np.asarray(plan.matrix() @ draw.integers(0, 20, plan.domain.size))
    truth = plan.measurement.solve(exact, post=False).answers

    with bf.testing.replay(9):
        draws = [add_noise(plan.measurement, exact, plan.cost) for _ in range(1_500)]
    errors = [plan.measurement.solve(values, post=False).answers - truth for values in draws]

    assert np.mean(np.square(errors)) == pytest.approx(plan.mse, rel=0.05)
    assert np.allclose(np.sqrt(np.mean(np.square(errors), axis=0)), plan.std, rtol=0.15)


def test_boxes_of_three_columns():
    """More columns than two, one of them a single cell."""
    domain = Domain((integers("a", 0, 3), integers("b", 0, 2), integers("c", 0, 0)))
    policy = bf.Policy(domain, secrets={"a": bf.threshold(1)})

    plan = policy.plan.range(["c", "a", "b"], [((0, 0), (1, 2), (0, 1)), ((None, None), (0, 3), (2, 2))])

    assert plan.privacy_loss() == 1
    assert plan.index.names == ["c", "a", "b"]


def test_a_date_as_the_upper_end_holds_its_day():
    """("2013-01-01", "2013-12-31") is the year, of frames, boxes, plans and releases; instants end before."""
    form = {"type": "datetime", "min": "2013-01-01", "max": "2014-02-01", "step": "1D"}
    policy = bf.Policy(Domain((from_dict("day", form), integers("x", 0, 1))))
    hours = np.random.default_rng(7).integers(0, 396 * 24, 800)
    frame = pd.DataFrame({"day": pd.Timestamp("2013-01-01") + pd.to_timedelta(hours, "h"), "x": 0})
    df = frame.blowfish.protect(policy, epsilon=10**9)
    released = df.blowfish.hist("day", epsilon=10**6)
    year = int((frame["day"] < "2014-01-01").sum())
    asked = {
        ("2013-01-01", "2013-12-31"): year,
        ("2013-01-01", "2013-12"): year,
        ("2013-01-01", "2013"): year,
        (datetime.date(2013, 1, 1), datetime.date(2013, 12, 31)): year,
        ("2013-01-01", pd.Timestamp("2014-01-01")): year,
        ("2013-01-01", "2014-01-01 00:00"): year,
        (pd.Timestamp("2013-01-01"), pd.Timestamp("2013-12-31")): int((frame["day"] < "2013-12-31").sum()),
        ("2013-01-01", "2014-02-01"): len(frame),
    }

    for pair, count in asked.items():
        alone = df.blowfish.range("day", [pair], epsilon=10**6)
        assert alone["count"].tolist() == pytest.approx([count])
        boxes = df.blowfish.range(["day", "x"], [(pair, (0, 1))], epsilon=10**6)
        assert boxes["count"].tolist() == pytest.approx([count])
        again = released.blowfish.range([pair])
        assert again["count"].tolist() == pytest.approx([count])
        assert str(again.index[0]) == str(alone.index[0])
        text = policy.plan.range("day", [pair]).call  # what a ledger keeps reads back as it was
        assert parse_call(text).on(policy.plan).call == text
    shown = repr(policy.plan.range("day", [("2013-01-05", "2013-12-30"), ("2013-01-01", "2013-12-31")]))
    assert "2013-01-05 to 2013-12-30, last day included; 2013\n" in shown


def test_a_date_that_begins_a_longer_cell_ends_before_it():
    """Where only the beginning of the day is an edge of a cell, that is the end; else both are refused."""
    form = {"type": "datetime", "min": "2013-01-01", "max": "2013-03-05", "step": "7D"}
    plan = bf.Policy(Domain((from_dict("week", form),))).plan

    assert str(plan.range("week", [("2013-01-01", "2013-01-07")]).index[0].right) == "2013-01-08 00:00:00"
    assert str(plan.range("week", [("2013-01-01", "2013-01-08")]).index[0].right) == "2013-01-08 00:00:00"
    with pytest.raises(DeclaredValueError):
        plan.range("week", [("2013-01-01", "2013-01-05")])


def test_text_is_read_in_the_time_zone_of_the_column():
    """In `where`, `range`, bins, `odds` and free ranges; what a clock shows twice is refused."""
    form = {"type": "datetime", "min": "2013-01-01T00:00+01:00", "max": "2013-12-31T00:00+01:00"}
    day = from_dict("day", form | {"step": "1h", "tz": "Europe/Paris"})
    policy = bf.Policy(Domain((day,)), secrets={"day": bf.threshold("1D")})
    rows = pd.date_range("2013-01-01 00:30", "2013-12-30 00:30", freq="7h", tz="Europe/Paris")
    frame = pd.DataFrame({"day": rows})
    df = frame.blowfish.protect(policy, epsilon=10**9)
    february = int(((rows >= "2013-02-01") & (rows < "2013-03-01")).sum())
    summer = int((rows < "2013-07-01").sum())

    filtered = df.blowfish.where("day >= '2013-02-01' and day < '2013-03-01'").count(epsilon=10**6)
    ranged = df.blowfish.range("day", [("2013-02-01", "2013-02-28"), (None, "2013-06-30")], epsilon=10**6)
    released = df.blowfish.cumhist("day", epsilon=10**6)
    again = released.blowfish.range([("2013-02-01", "2013-02-28"), (None, "2013-06-30")])

    assert filtered["count"].tolist() == pytest.approx([february])
    assert ranged["count"].tolist() == pytest.approx([february, summer])
    assert again["count"].tolist() == pytest.approx([february, summer])
    assert policy.odds({"day": "2013-02-01"}, {"day": "2013-02-02"}, 1).factor == pytest.approx(np.e)
    for wrong in ("2013-10-27 02:30", "2013-03-31 02:30", pd.Timestamp("2013-02-01")):
        with pytest.raises(bf.BlowfishError):
            policy.plan.range("day", [(wrong, None)])
    with pytest.raises(bf.errors.ExpressionError, match="twice, or never"):
        policy.plan.where("day < '2013-10-27 02:30'")


def test_a_date_whose_end_is_no_edge_is_refused_where_cells_are_days():
    """Where clocks change days have 23 hours and cells 24: a range must not leave out its last day unseen."""
    form = {"type": "datetime", "min": "2019-03-01T00:00-05:00", "max": "2019-04-01T00:00-04:00"}
    day = from_dict("day", form | {"step": "1D", "tz": "America/New_York"})
    policy = bf.Policy(Domain((day,)))
    rows = pd.date_range("2019-03-01", "2019-03-31", freq="5h", tz="America/New_York")
    df = pd.DataFrame({"day": rows}).blowfish.protect(policy, epsilon=10**9)
    released = df.blowfish.hist("day", epsilon=10**6)

    for pair in (("2019-03-04", "2019-03-10"), ("2019-03-10", "2019-03-10")):
        with pytest.raises(DeclaredValueError, match=r"the end of '2019-03-10'.*\n.*clocks change"):
            policy.plan.range("day", [pair])
        with pytest.raises(DeclaredValueError, match="the end of '2019-03-10'"):
            released.blowfish.range([pair])
    before = ("2019-03-04", "2019-03-09")
    count = int(((rows >= "2019-03-04") & (rows < "2019-03-10")).sum())
    assert released.blowfish.range([before])["count"].tolist() == pytest.approx([count])


@pytest.mark.parametrize("greatest", ["2013-01-31", "2013-02-01"])
@pytest.mark.parametrize("last", ["2013-01-15", "2013-01-31"])
def test_bins_of_a_release_end_where_bins_of_rows_end(greatest, last):
    """The last edge of a list of bins is an instant, and the greatest declared value is inside, for both."""
    form = {"type": "datetime", "min": "2013-01-01", "max": greatest, "step": "1D"}
    rows = pd.date_range("2013-01-01", "2013-01-31", freq="6h")
    policy = bf.Policy(Domain((from_dict("day", form),)))
    df = pd.DataFrame({"day": rows}).blowfish.protect(policy, epsilon=10**9)
    bins = ["2013-01-01", "2013-01-08", last]

    asked = df.blowfish.hist("day", bins=bins, epsilon=10**6)
    again = df.blowfish.hist("day", epsilon=10**6).blowfish.hist(bins=bins)

    assert again.index.equals(asked.index)
    assert again["count"].tolist() == pytest.approx(asked["count"].tolist())


def test_bins_of_a_release_hold_the_greatest_declared_number():
    """As bins of rows do: [0, 5, 10] of numbers in [0, 10] leaves no 10 out."""
    amount = from_dict("amount", {"type": "float", "min": 0, "max": 10, "step": 0.5})
    df = pd.DataFrame({"amount": [0.0, 4.0, 10.0, 10.0]})
    df = df.blowfish.protect(bf.Policy(Domain((amount,))), epsilon=10**9)

    asked = df.blowfish.hist("amount", bins=[0, 5, 10], epsilon=10**6)
    again = df.blowfish.hist("amount", epsilon=10**6).blowfish.hist(bins=[0, 5, 10])

    assert again.index.equals(asked.index)
    assert again["count"].tolist() == pytest.approx([2, 2])
