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


@pytest.mark.parametrize(
    ("text", "groups", "rows", "presence", "sensitivity"),
    [
        (None, "place", 3, False, 0),
        (None, "place", 3, True, 2),
        ("age < 5", "place", 3, False, 2),
        (None, "age", 2, False, 4),
        (None, "age", 2, True, 4),
        (None, "age", 6, False, 10),
        ("place == 'n' and age < 3", "age", 2, False, 3),
    ],
)
def test_one_person_is_in_several_groups(text, groups, rows, presence, sensitivity):
    """As many change as their rows leave and enter, and no more than there are."""
    plan = policy_of(rows, presence=presence).plan
    found = (plan if text is None else plan.where(text)).groupby(groups).count(epsilon="1/2", units=True)

    assert found.sensitivity == sensitivity
    assert found.part.form == {}
    assert len(found.std) == (2 if groups == "place" else 10)
    assert reread(found, found.strategy, 0, {}).std.tolist() == found.std.tolist()


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
