"""How many people have a row that passes: one change of 1, whatever their rows do."""

from fractions import Fraction

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, UnknownStrategyError
from pandas_blowfish.plan.choose import reread
from pandas_blowfish.policy.domain import Domain, from_dict, integers


def policy_of(rows=3, **stated):
    """Return a policy of a public place and a secret age."""
    place = from_dict("place", {"type": "category", "values": ["n", "s"]})
    secrets = {"place": bf.public(), "age": bf.threshold(2)}
    return bf.Policy(Domain((place, integers("age", 0, 9))), secrets=secrets, max_rows=rows, **stated)


@pytest.mark.parametrize(
    ("text", "presence", "sensitivity"),
    [
        (None, False, 0),
        (None, True, 1),
        ("place == 'n'", False, 0),
        ("place == 'n'", True, 1),
        ("age < 5", False, 1),
        ("place == 'n' and age < 5", True, 1),
    ],
)
def test_one_person_changes_it_by_one_at_most(text, presence, sensitivity):
    """By nothing where the filter is about public columns alone and nobody comes or goes."""
    plan = policy_of(presence=presence).plan
    found = (plan if text is None else plan.where(text)).count(epsilon="1/2", units=True)

    assert found.sensitivity == sensitivity
    assert found.cost == Fraction(sensitivity, 2)
    assert found.scale == 2 * sensitivity
    assert found.strategy == ("units" if sensitivity else "exact")
    assert found.part.form == {}
    assert "person" in found.proof or "nobody" in found.proof


def test_answers_are_counts_of_people():
    """Not below 0 where they are shaped; read again by name as they were measured."""
    plan = policy_of().plan.where("age < 5").count(epsilon="1/2", units=True)
    again = reread(plan, "units", 0, {})

    assert plan.measurement.solve(np.array([-4]), post=False).answers.tolist() == [-4.0]
    assert plan.measurement.solve(np.array([-4]), post=True).answers.tolist() == [0.0]
    assert again.scale == plan.scale
    assert again.std.tolist() == plan.std.tolist()
    assert plan.call == "where('age < 5').count(units=True, strategy='auto', epsilon='1/2')"
    with pytest.raises(ArgumentError, match="no matrix"):
        plan.matrix()
    with pytest.raises(UnknownStrategyError):
        policy_of().plan.count(units=True, strategy="identity")
