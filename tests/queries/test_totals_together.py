"""Sums, means and moments whose noise is drawn together: every other feature beside them, end to end."""

import itertools
import json
from collections import OrderedDict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from oracle.box_draws import radius_law

import pandas_blowfish as bf
from pandas_blowfish.count.tally import count_cells
from pandas_blowfish.errors import ReceiptError
from pandas_blowfish.plan import choose
from pandas_blowfish.plan.totals import moments, question
from pandas_blowfish.plan.totals.moment_solve import MomentReader, moment_facts
from pandas_blowfish.plan.totals.solve import facts, solve_totals, total_interval
from pandas_blowfish.plan.totals.sum_boxes import SumBox
from pandas_blowfish.policy.domain import Domain, from_dict, integers

DOMAIN = Domain(
    (
        integers("a", 0, 9),
        integers("b", -3, 3),
        integers("m", 0, 4, nullable=True),
        from_dict("g", {"type": "category", "values": ["p", "q"]}),
    )
)
RANDOM = np.random.default_rng(5)
FRAME = pd.DataFrame(
    {
        "a": RANDOM.integers(0, 10, 60),
        "b": RANDOM.integers(-3, 4, 60),
        "m": pd.Series(RANDOM.integers(0, 5, 60), dtype="Int64").where(RANDOM.random(60) < 0.8),
        "g": RANDOM.choice(["p", "q"], 60),
    }
)
POLICIES = {
    "plain": bf.Policy(DOMAIN),
    "presence": bf.Policy(DOMAIN, presence=True),
    "groups apart": bf.Policy(DOMAIN, secrets={"g": bf.public()}),
    "thresholds": bf.Policy(DOMAIN, secrets={"a": bf.threshold(2), "b": bf.threshold(1)}),
    "a touched fact": bf.Policy(DOMAIN, constraints=[bf.Count("a == 1")]),
    "a public group and its fact": bf.Policy(
        DOMAIN, secrets={"g": bf.public()}, constraints=[bf.Count("g == 'p'")]
    ),
    "missing is public": bf.Policy(DOMAIN, secrets={"m": bf.full(missing="public")}),
}
SCOPES = {
    "all": lambda rows: rows,
    "filter": lambda rows: rows.where("a >= 2"),
    "groups": lambda rows: rows.groupby("g"),
}


@pytest.mark.parametrize("scope", list(SCOPES))
@pytest.mark.parametrize("named", list(POLICIES))
def test_every_feature_is_released_within_its_charge(named, scope):
    """The kernel finds no edge that loses more; answers, errors and intervals are whole."""
    policy = POLICIES[named]
    rows = FRAME.blowfish.protect(policy, epsilon=10)
    boxes = 0
    for number, (verb, columns) in enumerate(
        [("sum", ["a", "b", "m"]), ("mean", ["a", "b", "m"]), ("var", ["a", "b"])], start=1
    ):
        plan = getattr(SCOPES[scope](policy.plan), verb)(columns, epsilon=1)
        found = getattr(SCOPES[scope](rows.blowfish), verb)(columns, epsilon=1)
        low, high = found.blowfish.interval(0.9)[["low", "high"]].to_numpy().T

        assert plan.privacy_loss() <= 1
        assert rows.blowfish.budget.spent == number
        assert (found["std"] > 0).all()
        assert (low <= high).all()
        boxes += bool(plan.scales.joint)
        if plan.scales.joint:
            assert "drawn together" in found.blowfish.receipt["noise"]

    assert boxes


def test_people_with_several_rows():
    """A person's rows each move the draws: the charge covers all of them."""
    policy = bf.Policy(DOMAIN, max_rows=3)
    rows = FRAME.assign(who=np.arange(60) // 3).blowfish.protect(policy, epsilon=2, unit="who")
    plan = policy.plan.sum(["a", "b"], epsilon=1)

    found = rows.blowfish.sum(["a", "b"], epsilon=1)

    assert plan.measurement.epsilon == Fraction(1, 3)
    assert set(plan.scales.values) == {0, 3}
    assert plan.privacy_loss() == 1
    assert (found["std"] > 0).all()


@pytest.mark.parametrize(
    ("verb", "columns"), [("sum", ["a", "b"]), ("mean", ["a", "m"]), ("cov", ["a", "b"])]
)
def test_answers_stored_before_there_were_boxes(verb, columns, monkeypatch):
    """What was measured with independent noise is read so, free, with its own intervals; new ones are new."""
    rows = FRAME.blowfish.protect(POLICIES["plain"], epsilon=10)
    with monkeypatch.context() as patch:
        patch.setattr(choose, "_plans", OrderedDict())
        for module in (question, moments):
            patch.setattr(module, "offer_boxes", lambda *_: iter(()))
        old = getattr(rows.blowfish, verb)(columns, epsilon=1, name="old")
    monkeypatch.setattr(choose, "_plans", OrderedDict())

    again = getattr(rows.blowfish, verb)(columns, epsilon=1, name="old")
    new = getattr(rows.blowfish, verb)(columns, epsilon=1, name="new")
    stored = getattr(rows.blowfish, verb)(columns, epsilon=1, name="new")

    pd.testing.assert_frame_equal(again, old)
    pd.testing.assert_frame_equal(stored, new)
    pd.testing.assert_frame_equal(again.blowfish.interval(), old.blowfish.interval())
    pd.testing.assert_frame_equal(stored.blowfish.interval(), new.blowfish.interval())
    assert "box_reaches" not in json.dumps(old.blowfish.receipt["technical"])
    assert "box_reaches" in json.dumps(new.blowfish.receipt["technical"])
    assert rows.blowfish.budget.spent == 2


def test_facts_recorded_later_reprice_draws():
    """A charge states what it loses if a record moves anywhere: 6 steps of b here, and two records move."""
    policy = bf.Policy(DOMAIN, secrets={"a": bf.threshold(2), "b": bf.threshold(1)})
    ledger = bf.Ledger()
    rows = FRAME.blowfish.protect(policy, epsilon=100, ledger=ledger, dataset="rows")
    rows.blowfish.sum(["a", "b"], epsilon=1)

    ledger.record_exact("rows", {"fact": "count", "where": "a == 1"})

    assert ledger.budget("rows").spent == 12


def joint_outcomes(measured, tiny=1e-9):
    """Return all noises of a box of two totals and of a count by itself, and their probabilities."""
    (joint,) = measured.scales.joint.values()
    (block,) = joint.blocks
    scale = measured.scales[int(block.rows[0])]
    law = radius_law(block.reaches, scale)
    top = int(np.flatnonzero(law > tiny)[-1])
    inside = np.array([1 / np.prod([2 * far * r + 1 for far in block.reaches]) for r in range(top + 1)])
    tail = np.append(np.cumsum((law[: top + 1] * inside)[::-1])[::-1], 0)
    ends = [np.arange(-far * top, far * top + 1) for far in block.reaches]
    grid = np.array(list(itertools.product(*ends)))
    steps = (-(-np.abs(grid) // np.array(block.reaches))).max(axis=1)
    noise = np.zeros((len(grid), len(measured.scales)), dtype=np.int64)
    noise[:, block.rows] = grid
    return noise, tail[steps]


@pytest.mark.parametrize("level", ["0.5", "0.8", "0.95"])
@pytest.mark.parametrize(("verb", "post"), [("mean", True), ("mean", False), ("sum", False)])
def test_intervals_cover_by_the_exact_law(verb, post, level):
    """Every outcome of sum and count drawn together, weighed by its probability: at least the level."""
    plan = getattr(POLICIES["presence"].plan, verb)(["b"] if verb == "mean" else ["a", "b"], epsilon=2)
    boxes = (SumBox((0, 1)),)
    measured = replace(plan.measurement, boxes=boxes)
    exact = measured.apply(count_cells(FRAME.iloc[:9], measured.tallies, clip=False))
    noise, chance = joint_outcomes(measured)
    truth = solve_totals(measured, exact, False).answers
    release = pd.DataFrame(
        [
            {"value": found.answers[0], "std": found.std[0]}
            for found in (solve_totals(measured, exact + each, post) for each in noise)
        ],
        index=pd.Index([measured.summed[0].attribute.name] * len(noise), name="column"),
    )
    stated = {"verb": verb, "post": post, "labelled_by_column": True, "rows": None}
    stated |= facts(measured, np.full(len(truth), np.nan))

    low, high = total_interval(stated, release, level)
    covered = chance[(low <= truth[0] + 1e-9) & (truth[0] - 1e-9 <= high)].sum()

    assert chance.sum() > 1 - 1e-4
    assert covered >= float(level) - 1e-9
    assert covered < 1


@pytest.mark.parametrize("level", ["0.5", "0.9"])
def test_intervals_of_variances_cover_by_the_exact_law(level):
    """Sum and squares drawn together: by every outcome; stated errors are those that are found."""
    policy = bf.Policy(Domain((integers("a", 0, 3), integers("b", 0, 3))))
    measured = replace(policy.plan.var("a", epsilon=3, rows=9).measurement, boxes=(SumBox((0, 1)),))
    frame = pd.DataFrame({"a": [0, 1, 1, 2, 3, 3, 0, 2, 3], "b": 0})
    exact = count_cells(frame, measured.tallies, clip=False)
    noise, chance = joint_outcomes(measured, 1e-13)
    reader = MomentReader(moment_facts(measured), 0, "var", (exact + noise).astype(float))

    low, high = reader.bound(level)
    found, std = reader.estimate(False)
    truth = frame["a"].var()
    covered = chance[(low <= truth + 1e-9) & (truth - 1e-9 <= high)].sum()

    assert chance.sum() > 1 - 1e-8
    assert covered >= float(level)
    assert (chance * found).sum() == pytest.approx(truth)
    assert (chance * (found - truth) ** 2).sum() <= (chance * std**2).sum() * 1.001


def test_edited_boxes_are_refused():
    """A receipt that states other reaches than text of some is no receipt; nor one of a box that is none."""
    release = FRAME.blowfish.protect(POLICIES["plain"], epsilon=10).blowfish.sum(["a", "b"], epsilon=1)
    for part, value in (
        ("box_reaches", ["9*x"]),
        ("box_reaches", ["9*999 8*999"]),
        ("box_reaches", "9*2"),
        ("column_boxes", ["0 9"]),
        ("column_boxes", ["7 9", "7 6"]),
        ("column_boxes", ["0 9 9", None]),
    ):
        edited = release.copy()
        record = json.loads(json.dumps(release.attrs["blowfish"]))
        record["technical"][part] = value
        edited.attrs["blowfish"] = record
        with pytest.raises(ReceiptError):
            edited.blowfish.interval()
