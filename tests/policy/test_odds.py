"""Odds say in words what distances mean."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pandera.pandas as pa
import pytest
from oracle.neighbours import l1_scales

import pandas_blowfish as bf
from pandas_blowfish.errors import (
    ArgumentError,
    DeclaredValueError,
    EpsilonError,
    UnboundedColumnError,
    UndeclaredColumnError,
)
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.policy.odds import Odds

POLICY = bf.datasets.patients_policy()


@pytest.mark.parametrize(
    ("a", "b", "distance", "said"),
    [
        ({"age": 34}, {"age": 37}, 1, "a factor 1.11"),
        ({"age": 34}, {"age": 71}, 8, "a factor 2.23"),
        ({"age": 34}, {"age": 34}, 0, "same cell"),
        ({"disease": "flu"}, {"disease": "angina"}, math.inf, "not protected at all"),
        ({"age": 34, "sex": "F"}, {"age": 71, "sex": "M"}, 8, "age 34 and sex F"),
        ({"region": "north"}, {"region": "west"}, math.inf, "not protected"),
    ],
)
def test_odds_follow_the_distance(a, b, distance, said):
    """The factor is exp(epsilon times the distance), infinite across components."""
    odds = POLICY.odds(a, b, 0.1)

    assert odds.distance == distance
    assert odds.loss == (math.inf if math.isinf(distance) else Fraction(distance, 10))
    assert odds.factor == pytest.approx(
        math.exp(min(distance / 10, 700)) if distance < math.inf else math.inf
    )
    assert said in str(odds)
    assert "<p" in odds._repr_html_()
    assert repr(odds) == str(odds)


def test_gaps_are_measured_on_declared_cells():
    """{0, 2, 4, 6} with theta 3 needs three steps, not ceil(6 / 3)."""
    column = from_dict("x", {"type": "integer", "values": [0, 2, 4, 6]})
    policy = bf.Policy(Domain((column,)), secrets={"x": bf.threshold(3)})

    assert policy.odds({"x": 0}, {"x": 6}, 1).distance == 3


def test_a_joint_ball_is_measured_along_its_offsets():
    """Both coordinates advance in one step, and presence is never more than two away."""
    grid = Domain(tuple(from_dict(n, {"type": "integer", "min": 0, "max": 99}) for n in ("lat", "lon")))
    secrets = {("lat", "lon"): bf.threshold(10, metric="linf")}

    assert bf.Policy(grid, secrets=secrets).distance({"lat": 0, "lon": 0}, {"lat": 50, "lon": 30}) == 5
    assert (
        bf.Policy(grid, secrets=secrets, presence=True).distance({"lat": 0, "lon": 0}, {"lat": 50, "lon": 30})
        == 2
    )
    assert bf.Policy(grid, secrets=secrets).distance({"lat": 0}, {"lat": 50}) == 5


def test_part_of_a_joint_block_stays_where_it_is():
    """A column left out may not become missing on the way: the distance is that of the whole block."""
    axis = {"type": "integer", "min": 0, "max": 99, "nullable": True}
    grid = Domain(tuple(from_dict(name, axis) for name in ("lat", "lon")))
    policy = bf.Policy(grid, secrets={("lat", "lon"): bf.threshold(10)})
    listed = bf.Policy(grid, secrets={("lat", "lon"): bf.edges([((0, 0), (1, 0))])})

    assert (
        policy.distance({"lat": 0}, {"lat": 50})
        == policy.distance({"lat": 0, "lon": 3}, {"lat": 50, "lon": 3})
        == 2
    )
    with pytest.raises(ArgumentError, match="joint"):
        listed.distance({"lat": 0}, {"lat": 1})
    with pytest.raises(ArgumentError, match="not a record"):
        policy.odds(1, 2, 1)


def test_wrong_records_are_refused():
    """Columns, values and epsilon are checked."""
    with pytest.raises(ArgumentError):
        POLICY.odds({"age": 1}, {"sex": "F"}, 1)
    with pytest.raises(DeclaredValueError):
        POLICY.odds({"age": 1}, {"age": 1000}, 1)
    with pytest.raises(UndeclaredColumnError):
        POLICY.odds({"height": 1}, {"height": 2}, 1)
    with pytest.raises(EpsilonError):
        POLICY.odds({"age": 1}, {"age": 2}, 0)


def test_a_huge_loss_is_still_words():
    """Factors beyond floats are written as powers."""
    assert "exp(800,000)" in str(POLICY.odds({"age": 34}, {"age": 71}, 10**5))


def test_one_column_reads_like_a_sentence():
    """The promise in plain words, with whose odds they are."""
    said = str(POLICY.odds({"age": 34}, {"age": 37}, 0.1))

    assert said == (
        "Seeing everything released, someone's odds that this person's row has age 34 rather than 37 can "
        "change by at most a factor 1.11 (epsilon 0.1, 1 step apart), for anyone who does not infer the one "
        "or the other from the rest of this row, or from other rows."
    )


@pytest.mark.parametrize(
    ("epsilon", "said"), [("0.2", "1.23"), ("1", "2.72"), ("10", "22,100"), (30, "1.07e+13")]
)
def test_factors_are_rounded_up(epsilon, said):
    """A bound in three digits is never below the bound."""
    odds = POLICY.odds({"age": 34}, {"age": 37}, epsilon)

    assert odds.factor_text == said
    assert float(said.replace(",", "")) >= odds.factor


def test_one_record_against_several():
    """A sentence, a line for each other, and a table."""
    odds = POLICY.odds({"age": 34}, [{"age": 37}, {"age": 71}, {"age": 34}], 0.1)

    assert str(odds).splitlines()[1:] == ["34 against 71: 2.23", "34 against 34: the same cell"]
    assert odds.table["distance"].tolist() == [1, 8, 0]
    assert odds.table.loc["34 against 71", "factor"] == pytest.approx(math.exp(0.8))
    assert [each.distance for each in odds] == [1, 8, 0]
    groups = POLICY.odds({"disease": "flu"}, ({"disease": "copd"}, {"disease": "angina"}), 1)
    assert str(groups).endswith("flu against angina: not protected")
    assert "infer" in odds._repr_html_()


def test_hostile_values_are_escaped():
    """Names and values of a schema are never markup."""
    column = from_dict("<b>", {"type": "category", "values": ["<i>", "y\n"]})
    policy = bf.Policy(Domain((column,)))

    odds = policy.odds({"<b>": "<i>"}, [{"<b>": "y\n"}], 1)

    for shown in (odds._repr_html_(), odds[0]._repr_html_()):
        assert "<i>" not in shown
        assert "<b>" not in shown
    assert len(str(odds[0]).splitlines()) == 1


def test_being_there_at_all():
    """One edge where presence is secret, refused where it is not."""
    hidden = bf.Policy(POLICY.domain, presence=True)

    odds = hidden.odds({"age": 34}, None, 0.1)

    assert odds.distance == hidden.distance({"age": 34}, None) == 1
    assert "is in the table with age 34 rather than not at all" in str(odds)
    assert "is not in the table rather than in it with age 34" in str(hidden.odds(None, {"age": 34}, 1))
    assert "is in the table rather than not at all" in str(hidden.odds({}, None, 1))
    assert "34 against 4" in str(hidden.odds({"age": 34}, [None, {"age": 4}], 1))
    with pytest.raises(ArgumentError, match="row count is public"):
        POLICY.odds({"age": 34}, None, 1)
    for a, b in (({}, {}), (None, None), ({"age": 3}, []), ({"age": 3}, POLICY.lint().table)):
        with pytest.raises(ArgumentError):
            hidden.odds(a, b, 1)
    with pytest.raises(DeclaredValueError):
        hidden.odds({"age": 340}, None, 1)


def test_a_column_without_bounds_has_steps_if_it_is_alone():
    """As many as its distance needs; in a joint secret it has no cells: typed, with the fix."""
    schema = pa.DataFrameSchema({name: pa.Column(float, metadata=bf.threshold(10)) for name in "xy"})
    alone, joint = bf.Policy(schema), bf.Policy(schema, secrets={("x", "y"): bf.threshold(10)})

    assert alone.odds({"x": 1}, {"x": 32}, 1).distance == 4
    with pytest.raises(UnboundedColumnError, match="in_range"):
        joint.odds({"x": 1, "y": 1}, {"x": 2, "y": 1}, 1)


def test_facts_that_tie_rows_are_said():
    """The claim is then about tables that agree with the facts, where the row's change touches one."""
    ages = bf.Policy(POLICY.domain, constraints=[bf.Count("age < 18"), bf.Count("age > 50")])
    known = bf.Policy(Domain((integers("a", 0, 2),)), constraints=[bf.Marginal("a")])

    tied = ages.odds({"age": 17}, {"age": 19}, 1)

    assert "two tables, one where this person has age 17 and one where this person has age 19," in str(tied)
    assert str(tied).endswith("differ in as few records as these allow (up to 3).")
    assert "someone's odds that" not in str(tied)
    assert ages.odds({"sex": "F"}, {"sex": "M"}, 1).tied is None
    mixed = ages.odds({"sex": "F", "age": 3}, [{"sex": "M", "age": 3}, {"sex": "F", "age": 5}], 1)
    assert "tables that agree" in str(mixed).splitlines()[1]
    assert "public already" in str(known.odds({"a": 0}, {"a": 1}, 1))
    free = bf.Policy(POLICY.domain, secrets={"region": bf.public()}, constraints=[bf.Marginal("region")])
    assert free.odds({"age": 1}, {"age": 2}, 1).tied is None


@pytest.mark.parametrize("seed", range(30))
def test_odds_hold_on_real_outputs(seed, make_full_policy):
    """No pair of cells is told apart by more than the odds say, by enumeration of what is measured."""
    draw = random.Random(seed)
    policy = make_full_policy(draw, draw.randint(1, 2), most=4)
    plan = policy.plan.hist(list(policy.domain.columns), epsilon="0.5")
    matrix, scales = plan.matrix(), plan.scales
    cells = list(itertools.product(*(range(size) for size in policy.domain.shape)))
    records = [
        {
            each.name: None if code == each.cells else getattr(label := each.labels()[code], "left", label)
            for each, code in zip(policy.domain, cell, strict=True)
        }
        for cell in cells
    ]

    for one, two in itertools.combinations(range(len(cells)), 2):
        loss = edge_loss(matrix, scales, np.array([[one, two]])).value
        assert loss <= policy.odds(records[one], records[two], "0.5").loss


@pytest.mark.parametrize("seed", range(12))
def test_odds_hold_under_facts(seed, make_facts, facts_by_cells):
    """Tables that agree with the facts and differ in as few records as possible: every one of three rows."""
    draw = random.Random(seed)
    domain = Domain((integers("a", 0, 2), integers("b", 0, 1)))
    counts = np.array([draw.randint(0, 2) for _ in range(6)])
    secrets = {"a": draw.choice([bf.full(), bf.threshold(1)]), "b": draw.choice([bf.full(), bf.public()])}
    policy = bf.Policy(domain, secrets=secrets, constraints=make_facts(draw, domain, counts, 1 + seed % 2))
    plan = policy.plan.hist(["a", "b"], epsilon=1)
    matrix, facts = plan.matrix().toarray(), facts_by_cells(policy)
    scales = np.array([float(scale) for scale in l1_scales(plan.scales)])
    tables = [np.array(table) for table in itertools.product(range(6), repeat=3)]
    public = "b" in policy.public_columns  # then it stays, but for the row that is compared
    known = [(*facts[:, table].sum(axis=1), *(table[1:] % 2 if public else ())) for table in tables]
    records = [{"a": cell // 2, "b": cell % 2} for cell in range(6)]

    for table, own in zip(tables, known, strict=True):
        others = [other for other, fact in zip(tables, known, strict=True) if fact == own]
        for value in range(6):
            near = [other for other in others if other[0] == value != table[0]]
            least = min((int((other != table).sum()) for other in near), default=0)
            odds = policy.odds(records[table[0]], records[value], 1)
            for other in (each for each in near if int((each != table).sum()) == least):
                change = np.abs(matrix[:, table].sum(axis=1) - matrix[:, other].sum(axis=1))
                loss = sum(
                    (math.inf if not scale else one / scale)
                    for one, scale in zip(change, scales, strict=True)
                    if one
                )
                assert loss <= float(odds.loss) + 1e-9


def test_the_rest_of_a_row_may_tell():
    """Odds about some columns are for those who do not infer them from the others, whole ones for all."""
    policy = bf.datasets.patients_policy()
    one, two = {"age": 34, "disease": "angina"}, {"age": 37, "disease": "flu"}
    whole = {"income": 100, "sex": "F"}  # region is public, and so the same either way

    part = policy.odds({"age": 34}, {"age": 37}, "0.1")
    full = policy.odds({**whole, "age": 34, "disease": "flu"}, {**whole, "age": 37, "disease": "flu"}, "0.1")

    assert part.part
    assert "from the rest of this row" in str(part)
    assert not full.part
    assert "rest of this row" not in str(full)
    assert math.isinf(policy.odds(one, two, "0.1").distance)  # what a correlated belief is about


@pytest.mark.parametrize(("epsilon", "steps"), [("1e-12", 1), ("1234.56", 20), ("0.1", 8), ("3", 100)])
def test_factors_are_never_said_smaller_than_they_are(epsilon, steps):
    """Tiny ones are more than 1, huge ones are told by an exponent that is rounded up."""
    odds = Odds({"age": 0}, {"age": 1}, Fraction(epsilon), steps)

    said = odds.factor_text.replace(",", "")
    told = float(said[4:-1]) if said.startswith("exp(") else math.log(float(said))

    assert told >= float(odds.loss)


def test_a_prior_bounds_what_is_believed_after():
    """The largest posterior is p f / (p f + 1 - p), f the factor by which odds can change."""
    policy = bf.Policy(Domain((integers("x", 0, 9),)), secrets={"x": bf.threshold(2)})

    one = policy.odds({"x": 0}, {"x": 2}, 1, prior=0.01)
    several = policy.odds({"x": 0}, [{"x": 2}, {"x": 9}, {"x": 0}], 1, prior="1/100")

    assert one.posterior == pytest.approx(0.01 * math.e / (0.01 * math.e + 0.99))
    assert str(one).endswith("Who gave 0 a probability of 1% before, and 2 the rest, gives it 2.68% at most.")
    assert several.table["posterior"].tolist() == pytest.approx(
        [one.posterior, 0.01 * math.exp(5) / (0.01 * math.exp(5) + 0.99), 0.01]
    )
    assert "149 (at most 60% after)" in repr(several)
    assert policy.odds({"x": 0}, {"x": 2}, 1).posterior is None
    assert "posterior" not in policy.odds({"x": 0}, [{"x": 2}], 1).table
    apart = bf.Policy(Domain((integers("x", 0, 9),)), secrets={"x": bf.partition(5)})
    assert apart.odds({"x": 0}, {"x": 9}, 1, prior=0.01).posterior == 1
    assert policy.odds({"x": 0}, {"x": 9}, 500, prior=0.01).posterior == 1


@pytest.mark.parametrize("prior", [0, 1, -0.5, 2, "nan", True])
def test_a_prior_is_a_probability(prior):
    """Between 0 and 1, or a typed error."""
    policy = bf.Policy(Domain((integers("x", 0, 9),)))

    with pytest.raises(ArgumentError):
        policy.odds({"x": 0}, {"x": 2}, 1, prior=prior)
