"""The values that occur in a public column, in any storage; what is no key is refused unseen."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pandas_blowfish.count import keys
from pandas_blowfish.count.keys import find_keys
from pandas_blowfish.errors import FrameError
from pandas_blowfish.policy.domain import from_dict

TEXT = from_dict("x", {"type": "string", "keys": "rows", "nullable": True})
WHOLE = from_dict("x", {"type": "integer", "keys": "rows"})


def _keys(values, column):
    series = values if isinstance(values, pd.Series) else pd.Series(values)
    return find_keys(pd.DataFrame({"x": series}), [column])["x"]


@pytest.mark.parametrize("dtype", [object, "str", "string", "category", pd.ArrowDtype(pa.string())])
def test_texts_in_any_storage(dtype):
    """In order, each once, without nulls; as plain text."""
    found = _keys(pd.Series(["b", None, "a", "b", ""], dtype=dtype), TEXT)

    assert found == ["", "a", "b"]
    assert {type(each) for each in found} == {str}


def test_categories_that_no_row_has_are_no_keys():
    """What a dtype lists, rows need not have."""
    assert _keys(pd.Series(["b"], dtype=pd.CategoricalDtype(["a", "b", "c"])), TEXT) == ["b"]


@pytest.mark.parametrize("dtype", ["int8", "uint64", "Int64", "float64", object, pd.ArrowDtype(pa.int32())])
def test_whole_numbers_in_any_storage(dtype):
    """As plain numbers, whatever holds them."""
    found = _keys(pd.Series([7, 3, 7], dtype=dtype), WHOLE)

    assert found == [3, 7]
    assert {type(each) for each in found} == {int}
    assert _keys([Decimal(5), 2.0, 2**62], WHOLE) == [2, 5, 2**62]


class Strange:
    """Raises when it is looked at."""

    def __hash__(self):
        raise ValueError("SECRETVALUE")


@pytest.mark.parametrize(
    ("values", "column"),
    [
        ([1, "SECRETVALUE"], TEXT),
        ([b"SECRETVALUE"], TEXT),
        (["\ud800SECRETVALUE"], TEXT),
        ([Strange()], TEXT),
        ([["SECRETVALUE"]], TEXT),
        ([1.5], WHOLE),
        ([True], WHOLE),
        (["5"], WHOLE),
        ([np.inf], WHOLE),
        ([None], TEXT),
        ([], TEXT),
    ],
)
def test_what_is_no_key_is_refused(values, column):
    """By the column's name alone."""
    with pytest.raises(FrameError, match="'x'") as caught:
        _keys(pd.Series(values, dtype=object), column)

    assert "SECRETVALUE" not in str(caught.value)


def test_too_many_keys(monkeypatch):
    """A column of names is no column of keys."""
    monkeypatch.setattr(keys, "MOST_KEYS", 3)

    assert _keys(list("abc"), TEXT) == list("abc")
    with pytest.raises(FrameError, match="more than 3 keys"):
        _keys(list("abcd"), TEXT)
