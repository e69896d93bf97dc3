"""Steps between values without bounds are those of a bounded column that is long enough."""

import itertools
import math
import random
from fractions import Fraction

import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import DeclaredValueError, UnboundedColumnError
from pandas_blowfish.policy.attribute import Unbounded
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.policy.odds import cell_of, steps_between
from pandas_blowfish.policy.secret import absolute_error, relative_error

SECRETS = [bf.full(), bf.public(), bf.threshold(3), bf.threshold("0.3"), absolute_error(1)]


@pytest.mark.parametrize("step", ["1", "0.5", "1/3"])
@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("secret", SECRETS, ids=str)
def test_steps_match_a_long_bounded_column(secret, nullable, step):
    """Of every kind of secret, missing values included."""
    draw = random.Random(f"{secret} {step}")
    spec = {"type": "float", "step": step, "nullable": nullable}
    long, endless = (
        bf.Policy(Domain((from_dict("x", each),)), secrets={"x": secret})
        for each in ({**spec, "min": -30, "max": 30}, spec)
    )
    values = [Fraction(draw.randint(-200, 200), 10) for _ in range(12)] + [None] * nullable

    for a, b in itertools.combinations_with_replacement(values, 2):
        found = endless.distance({"x": a}, {"x": b})
        assert found == long.distance({"x": a}, {"x": b})
        assert endless.odds({"x": a}, {"x": b}, 1).distance == found


def test_factors_are_counted_in_logarithms():
    """c^-4 is one step, a little more is two; zero is none of the values."""
    policy = bf.Policy(Domain((Unbounded("x", "float", False),)), secrets={"x": relative_error("0.5")})

    assert policy.distance({"x": 1}, {"x": "15.999"}) == 1
    assert policy.distance({"x": 3}, {"x": "48.1"}) == 2
    assert policy.distance({"x": "1e-300"}, {"x": 1e300}) == math.ceil(600 * math.log(10) / math.log(16))
    for value in (0, -1, "x", None):
        with pytest.raises(DeclaredValueError, match="any positive number"):
            policy.distance({"x": 1}, {"x": value})
    assert "independent" in str(policy.odds({"x": 1}, {"x": 2}, 1))
    assert "independent" not in str(bf.datasets.patients_policy().odds({"age": 1}, {"age": 2}, 1))


def test_blocks_share_their_moves():
    """With one secret a step the steps of all columns add up; with all at once the longest counts."""
    columns = (Unbounded("x", "float", False), integers("a", 0, 99))
    secrets = {"x": bf.threshold(10), "a": bf.threshold(5)}
    both, one = (
        bf.Policy(Domain(columns), secrets=secrets, neighbors=neighbors) for neighbors in ("record", 1)
    )
    ends = {"x": 0, "a": 0}, {"x": 40, "a": 30}

    assert both.distance(*ends) == 6
    assert one.distance(*ends) == 4 + 6
    hidden = bf.Policy(Domain(columns), secrets=secrets, presence=True)
    assert hidden.distance(*ends) == 2
    assert hidden.odds({"x": 3}, None, 1).distance == 1


def test_instants_and_whole_numbers():
    """Spans of instants; a part of a whole number is none."""
    days = Unbounded("t", "datetime", False)
    start = pd.Timestamp("2020-01-01")

    assert steps_between(days, absolute_error("1D")["blowfish"], start, "2020-01-10") == 3
    with pytest.raises(DeclaredValueError):
        cell_of(Unbounded("n", "integer", False), Fraction(1, 2))
    domain = Domain((Unbounded("x", "float", False), integers("a", 0, 9)))
    shared = bf.Policy(domain, secrets={("x", "a"): bf.threshold(3)})
    with pytest.raises(UnboundedColumnError):
        shared.distance({"x": 1, "a": 1}, {"x": 1, "a": 2})
