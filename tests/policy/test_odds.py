"""Odds say in words what distances mean."""

import math
from fractions import Fraction

import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, DeclaredValueError, EpsilonError, UndeclaredColumnError
from pandas_blowfish.policy.domain import Domain, from_dict

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
    assert "<p>" in odds._repr_html_()


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
    assert "exp(8e+05)" in str(POLICY.odds({"age": 34}, {"age": 71}, 10**5))
