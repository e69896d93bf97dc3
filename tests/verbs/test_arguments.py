"""Calls that a signature does not take are typed errors that name the nearest argument it does."""

import inspect

import pytest

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, NotProtectedError
from pandas_blowfish.verbs.arguments import check_call, check_free_call, specialise


class Base:
    """Declares one verb, and one method that answers nothing."""

    def hist(self, columns=None, *, epsilon, bins=None) -> "Answer":  # noqa: F821
        """Answer."""
        return columns, epsilon, bins

    def where(self) -> "Base":
        """Narrow."""
        return self

    def _expects_column(self, first):
        return first is not None


Base.hist.__annotations__["return"] = "Answer"


@specialise(int, dict, epsilon=1)
class Own(Base):
    """Has its own answers and defaults."""


def test_a_class_states_its_own_answers_and_defaults():
    """Its signature returns what it answers; other methods stay as they are."""
    signature = inspect.signature(Own.hist)

    assert signature.return_annotation is int
    assert signature.parameters["epsilon"].default == 1
    assert Own().hist("age") == ("age", 1, None)
    assert Own.where is Base.where


def test_the_nearest_argument_is_named():
    """A misspelt keyword, and one that nothing is near."""
    with pytest.raises(ArgumentTypeError, match=r"did you mean epsilon=\?"):
        Own().hist("age", epsilo=1)
    with pytest.raises(ArgumentTypeError, match="unexpected keyword argument 'zzz'"):
        check_call(Base.hist)(Base(), zzz=1, epsilon=1)


def test_a_release_is_not_asked_to_measure():
    """What only a new release can be told is refused by the role."""

    @check_free_call
    def hist(self, *, bins=None):
        return bins

    assert hist(None, bins=3) == 3
    with pytest.raises(NotProtectedError):
        hist(None, epsilon=1)
    with pytest.raises(ArgumentError, match="nothing is measured"):
        hist(None, strategy="identity")
