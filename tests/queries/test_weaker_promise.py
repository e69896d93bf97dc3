"""Histograms and counts under a weaker promise: what they take, what they return, what they refuse."""

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, EpsilonError, InsufficientBudgetError
from pandas_blowfish.kernel import weaker_release as apart
from pandas_blowfish.policy.domain import Domain, from_dict, integers

DOMAIN = Domain((from_dict("ill", {"type": "bool"}), integers("age", 0, 3)))
POLICY = bf.Policy(DOMAIN)
FRAME = pd.DataFrame({"ill": [True] * 300 + [False] * 700, "age": np.arange(1000) % 4})


@pytest.fixture
def rows():
    """Return protected rows of a dataset of their own."""
    return bf.protect(FRAME, POLICY, epsilon=5)


def test_what_is_exact_is_exact(rows):
    """Where `exact` says so the count is that of the rows, without error; else it has one."""
    true = FRAME["ill"].value_counts().reindex([False, True]).to_numpy()
    seen = set()
    for seed in range(30):
        fresh = bf.protect(FRAME, POLICY, epsilon=5)
        with bf.testing.replay(seed):
            found = fresh.hist("ill", epsilon="0.05", strategy="single_prior", prior=["0.7", "0.3"])
        assert list(found.columns) == ["count", "std", "exact", "unshaped"]
        assert found["count"].sum() == 1000
        assert (found["std"] == 0).tolist() == found["exact"].tolist()
        if found["exact"].all():
            assert found["count"].tolist() == true.tolist()
        seen.add(bool(found["exact"].all()))
    assert seen == {True, False}


def test_shaped_counts_add_up(rows):
    """Noisy counts are not negative and add up, with those told exactly, to the rows."""
    prior = pd.Series([0.25] * 4, index=range(4))
    found = rows.hist("age", epsilon=1, strategy="single_prior", prior=prior)

    assert found["count"].sum() == pytest.approx(1000)
    assert (found["count"] >= 0).all()
    assert "guarantee" in found.blowfish.receipt
    interval = found.blowfish.interval(0.99)
    assert (interval["low"] <= found["count"]).all()
    assert (found["count"] <= interval["high"]).all()


def test_what_is_left_of_all_rows_is_exact():
    """Of cells that are all told but one, that one is what is left; unshaped it is as it was drawn."""
    rows = bf.protect(FRAME, POLICY, epsilon=5, dataset="left", ledger=(book := bf.Ledger()))
    asked = {"epsilon": 1, "strategy": "single_prior", "prior": [1] * 4, "name": "n"}
    stored = np.array([250, 250, 999, 250, 1, 1, 0, 1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(apart, "_count", lambda *_args, **_how: stored)
        found = rows.hist("age", **asked)

    raw = rows.hist("age", **asked, post=False)

    assert found["count"].tolist() == [250] * 4
    assert found["exact"].all()
    assert (found["std"] == 0).all()
    assert raw["count"].tolist() == [250, 250, 999, 250]
    assert raw["exact"].tolist() == [True, True, False, True]
    assert book.verify(found.blowfish.receipt)


def test_intervals_cover():
    """At least as often as they say, exact answers and shaping included."""
    true, inside, many = np.full(4, 250), 0, 200
    for seed in range(many):
        rows = bf.protect(FRAME, POLICY, epsilon=5)
        with bf.testing.replay(seed):
            found = rows.hist("age", epsilon=1, strategy="single_prior", prior=[1, 1, 1, 1])
        interval = found.blowfish.interval(0.8)
        inside += ((interval["low"] <= true) & (true <= interval["high"])).sum()
    assert inside / (4 * many) > 0.8 - 3 * (0.16 / (4 * many)) ** 0.5


def test_priors_in_any_form_are_one_prior():
    """Lists, dicts, Series, arrays, and shares that need not add up to 1."""
    asked = {"epsilon": 1, "strategy": "single_prior", "rows": 1000}
    plans = [
        POLICY.plan.hist("ill", prior=prior, **asked)
        for prior in (
            ["0.7", "0.3"],
            [7, 3],
            {True: 0.3, False: 0.7},
            pd.Series({False: 0.7, True: 0.3}),
            np.array([0.7, 0.3]),
        )
    ]

    assert len({plan.mechanism for plan in plans}) == 1


def test_a_count_is_sized_by_a_scenario():
    """The true count comes back with noise of the scenario's distance, once a dataset, beside the budget."""
    frame = pd.DataFrame({"ill": [True, True, True], "age": [0, 1, 2]})
    tables = [(False,) * 3, (True,) * 3]
    alike = bf.scenario(tables, {"even": [1, 1]}, [(lambda t: t[0], lambda t: not t[0])])
    rows = bf.protect(frame, POLICY, epsilon=2)

    found = rows.where("ill").count(epsilon=1, strategy="wasserstein", scenario=alike, post=False)

    assert found.blowfish.receipt["scale"] == "3"
    assert found["exact"].tolist() == [False]
    assert rows.budget.spent == 0
    assert "sha256" in found.blowfish.receipt["query"]


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ({"prior": None}, ArgumentError),
        ({"prior": [1]}, ArgumentError),
        ({"prior": [1, 1, 1]}, ArgumentError),
        ({"prior": [1, 0]}, ArgumentError),
        ({"prior": [300, 700]}, ArgumentError),  # what the rows themselves say
        ({"prior": [1, -1]}, ArgumentError),
        ({"prior": [1, float("nan")]}, ArgumentError),
        ({"prior": "half"}, ArgumentTypeError),
        ({"prior": {True: 1, "no": 1}}, ArgumentError),
        ({"alpha": 0, "strategy": "hedging"}, ArgumentError),
        ({"alpha": 1, "strategy": "hedging"}, ArgumentError),
        ({"epsilon": 0}, EpsilonError),
        ({"epsilon": 6}, InsufficientBudgetError),
        ({"strategy": "auto"}, ArgumentError),
        ({"post": "yes"}, ArgumentError),
        ({"name": ""}, ArgumentError),
    ],
)
def test_bad_arguments_are_refused_and_nothing_is_written(asked, kind, rows):
    """With a typed error, before the ledger is asked; the dataset still has its one release."""
    usual = {"epsilon": 1, "strategy": "single_prior", "prior": [1, 1]}

    with pytest.raises(kind):
        rows.hist("ill", **{**usual, **asked})

    assert len(rows.hist("ill", **usual)) == 2


def test_other_rows_than_all_are_refused(rows):
    """Filters, groups, bins that leave values out, presence and facts: the promise is about none of them."""
    told = {"epsilon": 1, "strategy": "single_prior", "prior": [1, 1]}
    for verb in (
        lambda: rows.where("age < 2").hist("ill", **told),
        lambda: rows.groupby("age").hist("ill", **told),
        lambda: rows.hist("age", bins={"few": [0], "some": [1]}, **told),
        lambda: bf.protect(FRAME, bf.Policy(DOMAIN, presence=True), epsilon=5).hist("ill", **told),
        lambda: POLICY.with_facts([bf.Count("ill")]).plan.hist("ill", rows=1000, **told),
        lambda: POLICY.plan.hist("ill", **told),
        lambda: rows.count(epsilon=1, strategy="wasserstein"),
        lambda: rows.where("ill").count(epsilon=1, scenario=bf.scenario([0, 1], [[1, 1]], [([0], [1])])),
    ):
        with pytest.raises(ArgumentError):
            verb()


def test_a_scenario_must_be_about_these_rows(rows):
    """Tables of another length, of other values, or of no rows at all."""
    for tables in ([(True,) * 3, (False,) * 3], [("x",) * 1000, ("",) * 1000], [7, 0]):
        made = bf.scenario(tables, [[1, 1]], [(tables[:1], tables[1:])])
        with pytest.raises(ArgumentError):
            rows.where("ill").count(epsilon=1, strategy="wasserstein", scenario=made)


def test_shares_are_written_down_as_shares(rows):
    """Whatever their sum was: the same prior is the same query, and a name finds it."""
    asked = {"epsilon": 1, "strategy": "hedging", "name": "n"}
    first = rows.hist("ill", prior=[7, 3], **asked)

    again = rows.hist("ill", prior=pd.Series({True: 0.3, False: 0.7}), **asked)

    pd.testing.assert_frame_equal(first, again)
    assert "prior=['0.7', '0.3']" in first.blowfish.receipt["query"]


def test_views_say_what_the_budget_does_not_cover(tmp_path):
    """The frame's view marks it, the report says it first, and the plan and the receipt shorten nothing."""
    rows = FRAME.blowfish.protect(POLICY, epsilon=5, dataset="d", ledger=tmp_path / "b.db")
    told = {"epsilon": 1, "strategy": "hedging", "prior": [7, 3]}
    plan = rows.blowfish.plan.hist("ill", **told)
    release = rows.blowfish.hist("ill", **told, name="n")

    rows.blowfish.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()

    assert "weaker guarantee, not of the budget" in repr(rows.blowfish)
    assert page.index("with a weaker guarantee") < page.index('id="promise"')
    for sentence in plan.guarantee:
        assert sentence in repr(plan)
        assert sentence in repr(release.blowfish.receipt)
    assert "no count, ever" in repr(rows.blowfish.plan.hist("age", **{**told, "prior": [1] * 4}))


def test_a_single_prior_needs_no_weight():
    """One that is given changes nothing, so that both strategies can be called alike."""
    asked = {"epsilon": 1, "strategy": "single_prior", "prior": [7, 3], "rows": 1000}

    assert (
        POLICY.plan.hist("ill", alpha="0.001", **asked).mechanism
        == POLICY.plan.hist("ill", **asked).mechanism
    )


def test_a_scenario_says_its_rows():
    """A plan need not be told what the tables show."""
    alike = bf.scenario([(False,) * 3, (True,) * 3], [[1, 1]], [([(False,) * 3], [(True,) * 3])])
    plan = POLICY.plan.where("ill").count(epsilon=1, strategy="wasserstein", scenario=alike)

    assert plan.query["rows"] == 3
