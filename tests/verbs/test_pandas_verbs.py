"""The verbs that pandas users type first: each argument is explained."""

import inspect

import pytest

from pandas_blowfish.verbs.pandas_verbs import PandasVerbs

DECLARED = vars(PandasVerbs).items()
VERBS = {name: verb for name, verb in DECLARED if inspect.isfunction(verb) and name[0] != "_"}


@pytest.mark.parametrize("name", VERBS)
def test_every_argument_is_documented(name):
    """What a verb takes its docstring explains, in order, and its result too where it has one."""
    taken = [each for each in inspect.signature(VERBS[name]).parameters if each != "self"]
    text = inspect.cleandoc(VERBS[name].__doc__ or "")

    places = [text.find(f"\n    {each}: ") for each in taken]

    assert all(place > 0 for place in places), name
    assert places == sorted(places)
