"""A release is asked with what it can be told; the rest is refused by its role."""

import inspect

import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, NotProtectedError
from pandas_blowfish.queries.frames.free_questions import FreeQuestions

ASKED = {"range": ["all"], "top": [1], "marginal": ["age"], "kmeans": [2]}
QUESTIONS = [name for name, each in vars(FreeQuestions).items() if inspect.isfunction(each)]


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_only_a_new_release_takes_is_refused_by_role(name):
    """An epsilon, a strategy, a name, and arguments that no question has."""
    df = bf.datasets.patients(100).blowfish.protect(bf.datasets.patients_policy(), epsilon=1)
    ages = df.blowfish.hist("age", epsilon="1/2")
    ask = getattr(ages.blowfish, name)

    with pytest.raises(NotProtectedError):
        ask(*ASKED.get(name, []), epsilon=1)
    with pytest.raises(ArgumentError, match="earlier release"):
        ask(*ASKED.get(name, []), name="again")
    with pytest.raises(TypeError):
        ask(*ASKED.get(name, []), nothing=1)
