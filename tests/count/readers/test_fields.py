"""A field is read by what its column declares and by itself alone."""

import time

import numpy as np
import pandas as pd
import pytest

from pandas_blowfish.count.encode import encoder
from pandas_blowfish.count.place import MISSING
from pandas_blowfish.count.readers.fields import convert, declared_kind, marks, remove_marks, require_marks
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.policy.domain import Domain, from_dict

KINDS = {
    "number": {"type": "integer", "min": 0, "max": 9},
    "whole": {"type": "integer", "min": 0, "max": 2**60},
    "bool": {"type": "bool"},
    "instant": {"type": "datetime", "min": "2026-01-01", "max": "2026-12-31", "step": "1D"},
    "text": {"type": "string", "values": ["a", "NA"]},
}
FIELDS = ["5", "5.0", "true", "2026-02-03", "a", "5", "word", ""]


@pytest.mark.parametrize("kind", list(KINDS))
def test_each_field_is_read_alone(kind):
    """A column is its fields read one by one, whatever the others are."""
    attribute = from_dict("x", KINDS[kind])

    together = convert(pd.Series(FIELDS, dtype="str"), attribute)
    alone = [convert(pd.Series([field], dtype="str"), attribute).iloc[0] for field in FIELDS]

    assert declared_kind(attribute) == kind
    assert together.tolist() == alone
    assert "word" in alone


def test_the_usual_marks_less_what_is_declared():
    """NA is a value where it is listed."""
    assert "NA" in marks(from_dict("x", KINDS["number"]))
    assert "NA" not in marks(from_dict("x", KINDS["text"]))
    assert "NA" in marks(None)


@pytest.mark.parametrize("mark", ["5", "5.0", str(2**59), "TRUE", "2026-02-03", "a", "NA"])
def test_marks_are_no_values(mark):
    """What some column declares cannot stand for missing; anything else can."""
    domain = Domain(tuple(from_dict(name, spec) for name, spec in KINDS.items()))

    require_marks(["?", "-1", "2025-01-01", "word", ""], domain)
    with pytest.raises(ArgumentError, match="is a declared value of column"):
        require_marks(["?", mark], domain)


def test_any_number_is_a_value_where_there_are_no_bounds():
    """A column without bounds declares all numbers."""
    domain = Domain((from_dict("x", {"type": "float"}),))

    require_marks(["?"], domain)
    with pytest.raises(ArgumentError, match="'-9' is a declared value"):
        require_marks(["-9"], domain)


def test_marks_are_taken_out_of_text_alone():
    """Numbers stay what they are, categories lose the mark."""
    numbers, words = pd.Series([1, 2]), pd.Series(["a", "?"])

    assert remove_marks(numbers, ["1", "?"], text=False).tolist() == [1, 2]
    assert remove_marks(words, ["?"], text=True).isna().tolist() == [False, True]
    assert list(remove_marks(words.astype("category"), ["?"], text=False).cat.categories) == ["a"]


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_long_fields_of_instants_are_read_at_once(zone):
    """Time does not grow with the square of a field's length; what is no instant stays text."""
    spec = {"type": "datetime", "min": "2020-01-01", "max": "2020-02-01", "step": "1D"}
    spec |= {} if zone is None else {"min": "2020-01-01T00:00Z", "max": "2020-02-01T00:00Z", "tz": zone}
    attribute = from_dict("at", spec)
    good = "2020-01-05" if zone is None else "2020-01-05T00:00:00.123456789+01:00"
    column = pd.Series([good, "2020" + "1 1" * 8_000, "0000" + "T1" * 12_000], dtype="str")
    convert(column, attribute)
    begun = time.process_time()

    read = convert(column, attribute)

    assert time.process_time() - begun < 0.1
    assert read.iloc[0] == pd.Timestamp(good)
    assert read.iloc[1:].tolist() == column.iloc[1:].tolist()


@pytest.mark.parametrize("dtype", ["str", "object", "string[python]", "string[pyarrow]"])
def test_decimals_are_read_to_the_nearest_float(monkeypatch, dtype):
    """Also where `to_numeric` misses it by a digit, as it does before pandas 3.1."""
    exactly, texts = pd.to_numeric, ["0.35573908335507054", " 2.5 ", "1e-3", "inf", "word", "7", None]
    column = pd.Series(texts, dtype=dtype)
    monkeypatch.setattr(pd, "to_numeric", lambda *given, **more: np.nextafter(exactly(*given, **more), 9))

    read = convert(column, from_dict("x", {"type": "float", "min": 0, "max": 9, "step": "0.1"}))

    assert read.tolist()[:-1] == [0.35573908335507054, 2.5, 0.001, np.inf, "word", 7.0]
    assert read.isna().tolist() == [False] * 6 + [True]


def test_the_name_of_all_others_does_not_change_how_fields_are_read():
    """Numbers beside a name for others are still numbers; what is none stays text, and is one of them."""
    level = from_dict("x", {"type": "category", "values": [1, 2], "other": "rest"})
    flags = from_dict("x", {"type": "category", "values": [True, False], "other": "rest"})

    read = convert(pd.Series(["2", "7", "abc", None], dtype="str"), level)

    assert (declared_kind(level), declared_kind(flags)) == ("number", "bool")
    assert encoder(read, level, clip=False)(0, 4).tolist() == [1, 2, 2, MISSING]
