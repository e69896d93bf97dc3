"""clip=, end to end: what may be written, what a frame and its receipt state, with what it goes together."""

import numpy as np
import pandas as pd
import pandera.pandas as pa
import polars as pl
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, BlowfishError, UnboundedColumnError
from pandas_blowfish.queries.call.call_reader import parse_call

SCHEMA = pa.DataFrameSchema(
    {
        "pay": pa.Column(int, pa.Check.in_range(-50_000, 100_000), metadata=bf.full()),
        "tip": pa.Column(float, pa.Check.in_range(0, 1_000), nullable=True, metadata=bf.full(step="0.5")),
        "sex": pa.Column(str, pa.Check.isin(["F", "M"]), metadata=bf.full()),
        "region": pa.Column(str, pa.Check.isin(["a", "b", "c"]), metadata=bf.public()),
        "open": pa.Column(float, metadata=bf.threshold(100, step=1)),
        "day": pa.Column(
            "datetime64[ns]", pa.Check.in_range("2024-01-01", "2024-12-31"), metadata=bf.full(step="1D")
        ),
    }
)


@pytest.fixture(scope="module")
def rows():
    """Return made-up rows, most values far from the bounds."""
    draw, n = np.random.default_rng(8), 4_000
    tip = np.round(draw.exponential(4, n) * 2).clip(0, 1_998) / 2
    return pd.DataFrame(
        {
            "pay": np.round(draw.standard_t(3, n) * 100).clip(-50_000, 100_000).astype(int),
            "tip": np.where(draw.random(n) < 0.1, np.nan, tip),
            "sex": draw.choice(["F", "M"], n),
            "region": draw.choice(["a", "b", "c"], n),
            "open": draw.normal(0, 10, n),
            "day": pd.Timestamp("2024-03-01"),
        }
    )


@pytest.fixture(scope="module")
def df(rows):
    """Return them protected, with so much epsilon that noise is hardly seen."""
    return rows.blowfish.protect(bf.Policy(SCHEMA), epsilon=10**12)


BIG = 10**6


def test_stated_bounds_clip_values(df, rows):
    """A pair, an open end, and a dict by column; the middles of cells are clipped."""
    own = df.blowfish
    middles = rows["tip"] + 0.25

    low_and_high = own.sum("pay", epsilon=BIG, clip=(-100, 150))
    open_end = own.mean("pay", epsilon=BIG, clip=(None, 150))
    several = own.sum(["pay", "tip"], epsilon=BIG, clip={"tip": (1, 5)})

    assert low_and_high["value"].iloc[0] == pytest.approx(rows["pay"].clip(-100, 150).sum(), abs=2)
    assert open_end["value"].iloc[0] == pytest.approx(rows["pay"].clip(None, 150).mean(), abs=0.1)
    assert several["value"].tolist() == pytest.approx([rows["pay"].sum(), middles.clip(1, 5).sum()], abs=3)
    assert low_and_high.columns.tolist() == ["value", "std"]
    said = low_and_high.blowfish.receipt["clip"]
    assert said.startswith("values below -100 count as -100 and values above 150 count as 150: ")
    assert "too small," in open_end.blowfish.receipt["clip"]
    assert several.blowfish.receipt["clip"].startswith("pay: no value is clipped; tip: values below 1 ")


def test_stated_bounds_make_noise_as_small():
    """As if they had been declared."""
    plan = bf.Policy(SCHEMA).plan

    assert plan.sum("pay", epsilon=1, clip=(0, 500)).sensitivity == 500
    assert plan.sum("pay", epsilon=1, clip=(-100, None)).sensitivity == 100_100
    assert plan.where("sex == 'F'").sum("pay", epsilon=1, clip=(-10, 500)).sensitivity == 510


def test_clips_go_with_filters_groups_and_several_columns(df, rows):
    """Bounds are those of all groups; every answer is that of the clipped values."""
    own = df.blowfish.where("pay > -200")
    kept = rows[rows["pay"] > -200]

    found = own.groupby(["region", "sex"]).sum(["pay", "tip"], epsilon=BIG, clip="auto")
    mean = own.groupby("sex").mean("tip", epsilon=BIG, clip="auto")

    high = found.xs("pay", level="column")["clip_high"]
    assert high.nunique() == 1
    groups = kept.assign(pay=kept["pay"].clip(None, high.iloc[0])).groupby(["region", "sex"])
    assert np.allclose(found.xs("pay", level="column")["value"], groups["pay"].sum(), atol=5)
    low, high = mean["clip_low"].iloc[0], mean["clip_high"].iloc[0]
    means = (kept["tip"] + 0.25).clip(low, high).groupby(kept["sex"]).mean()
    assert np.allclose(mean["value"], means, atol=0.01)


def test_people_presence_facts_and_parts_are_covered(rows):
    """Rows of people, secret numbers of rows, touched facts, parts of the policy: charged as they are."""
    schema = SCHEMA.select_columns(["pay", "sex", "region"])
    people = rows[["pay", "sex", "region"]].assign(who=np.arange(len(rows)) // 2)
    policies = [
        (bf.Policy(schema, max_rows=2), {"unit": "who"}),
        (bf.Policy(schema, presence=True), {}),
        (bf.Policy(schema, constraints=[bf.Count("pay > 0")]), {}),
    ]

    for policy, more in policies:
        df = people.blowfish.protect(policy, epsilon=10, **more)
        found = df.blowfish.mean("pay", epsilon=2, clip="auto")

        assert df.blowfish.budget.spent == 2
        assert abs(found["value"].iloc[0]) < 3_000
    df = people.blowfish.protect(bf.Policy(schema), epsilon=10)
    for region in "abc":
        df.blowfish.where(f"region == {region!r}").mean("pay", epsilon=1, clip="auto")
    assert df.blowfish.budget.spent == 1


def test_another_engine_gives_the_same(df, rows):
    """Of polars, with the same noise."""
    other = bf.protect(pl.from_pandas(rows), bf.Policy(SCHEMA), epsilon=100)
    asked = {"epsilon": 1, "clip": "auto"}

    with bf.testing.replay(7):
        ours = df.blowfish.groupby("sex").mean(["pay", "tip"], **asked)
    with bf.testing.replay(7):
        theirs = other.groupby("sex").mean(["pay", "tip"], **asked)

    pd.testing.assert_frame_equal(ours, theirs)


@pytest.mark.parametrize("clip", ["auto", [0, 500], ["0.5", None], {"tip": [1, 2]}])
def test_a_call_is_read_back(clip):
    """What a plan writes asks the same question again."""
    plan = bf.Policy(SCHEMA).plan
    planned = plan.where("sex == 'F'").sum(["pay", "tip"], epsilon="0.5", clip=clip)

    again = parse_call(planned.call).on(plan)

    assert "clip=" in planned.call
    assert again.call == planned.call
    assert again.scales == planned.scales


def test_the_same_question_without_clip_is_another(df):
    """A stored answer of clipped values does not stand for one of all values."""
    df.blowfish.sum("pay", epsilon=1, clip=(0, 500), name="clipped pay")

    with pytest.raises(BlowfishError, match="clipped pay"):
        df.blowfish.sum("pay", epsilon=1, name="clipped pay")


def test_a_release_is_saved_and_loaded(df, tmp_path):
    """With the bounds, and what its receipt states of them."""
    found = df.blowfish.groupby("region").mean("pay", epsilon=1, clip="auto")

    bf.save(found, tmp_path / "pay.csv")
    again = bf.load(tmp_path / "pay.csv")

    assert again["clip_high"].tolist() == found["clip_high"].tolist()
    assert again.blowfish.receipt["clip"] == found.blowfish.receipt["clip"]
    assert df.blowfish.ledger.verify(again.blowfish.receipt)


REFUSED = [
    (lambda plan: plan.sum("pay", clip=(5, 5)), ArgumentError, "leave one value"),
    (lambda plan: plan.sum("pay", clip=(200_000, 300_000)), ArgumentError, "beyond those declared"),
    (lambda plan: plan.sum("pay", clip=(500, 5)), ArgumentError, "reversed"),
    (lambda plan: plan.sum("pay", clip="wide"), ArgumentError, "not bounds"),
    (lambda plan: plan.sum("pay", clip=500), ArgumentError, "not bounds"),
    (lambda plan: plan.sum("pay", clip={}), ArgumentError, "not about the columns"),
    (lambda plan: plan.sum("pay", clip={"tip": (0, 1)}), ArgumentError, "not about the columns"),
    (lambda plan: plan.sum("pay", clip=("a", "b")), ArgumentError, "clip"),
    (lambda plan: plan.mean("day", clip="auto"), ArgumentError, "does not hold numbers"),
    (lambda plan: plan.sum("open", clip="auto"), UnboundedColumnError, "no bounds"),
    (lambda plan: plan.sum("open", clip=(0, 1)), UnboundedColumnError, "no bounds"),
    (lambda plan: plan.var("pay", clip="auto"), ArgumentError, "clip"),
    (lambda plan: plan.sum("pay", clip="auto", strategy="total"), BlowfishError, "clipped"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_cannot_be_clipped_is_refused(number):
    """With a typed error, before anything is charged."""
    ask, kind, said = REFUSED[number]

    with pytest.raises(kind, match=said):
        ask(bf.Policy(SCHEMA).plan)


def test_promises_about_more_than_rows_are_refused():
    """Secret totals and chains."""
    schema = SCHEMA.select_columns(["pay"])
    total = bf.Policy(schema, aggregates=[bf.Aggregate("pay.sum()", delta=10)])

    for clip in ("auto", (0, 500)):
        with pytest.raises(ArgumentError, match="more than single rows"):
            total.plan.sum("pay", clip=clip)
