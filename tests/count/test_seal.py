"""Seals tell changed rows from those that were protected, by value, in order and whatever the order."""

import itertools
import json
import re
import secrets

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.books import sealkey
from pandas_blowfish.count import fingerprint, seal
from pandas_blowfish.errors import OutsideDomainError
from pandas_blowfish.policy.domain import Domain, from_dict, integers

KEY = "0123456789abcdef" * 4
PAIR = Domain(
    (integers("a", 0, 9), from_dict("b", {"type": "category", "values": ["x", "y"], "nullable": True}))
)

FRAME = pd.DataFrame({"a": [1, 2, 3, 4], "b": ["x", "y", None, "x"]})


@pytest.mark.parametrize(
    "stored",
    [
        FRAME.copy(),
        FRAME.astype({"a": "int8"}),
        FRAME.astype({"a": "float64"}),
        FRAME.astype({"a": "Int64", "b": "category"}),
        FRAME.astype({"a": object, "b": object}),
        FRAME.astype({"a": "category", "b": "string[python]"}),
        FRAME.astype({"a": "uint16[pyarrow]", "b": pd.CategoricalDtype(["z", "y", "x"])}),
        FRAME.set_axis(list("stuv")),
        FRAME[["b", "a"]].assign(more=1),
    ],
    ids=range(9),
)
def test_seals_are_of_values_not_of_storage(stored):
    """The same values in other dtypes, orders of columns or labels of rows have the same seal."""
    assert _ordered(stored, PAIR, KEY, clip=False) == _ordered(FRAME, PAIR, KEY, clip=False)


def test_seals_differ_by_any_change():
    """Another value, order, number of rows, key or column is another seal."""
    first = _ordered(FRAME, PAIR, KEY, clip=False)
    changes = [
        FRAME.assign(a=[1, 2, 3, 5]),
        FRAME.iloc[[1, 0, 2, 3]],
        FRAME.iloc[:3],
        pd.concat([FRAME, FRAME]),
    ]

    for changed in changes:
        assert _ordered(changed, PAIR, KEY, clip=False)["a"] != first["a"]
    assert _ordered(FRAME.assign(b=["x", "y", "y", "x"]), PAIR, KEY, clip=False)["b"] != first["b"]
    other = _ordered(FRAME, PAIR, secrets.token_hex(32), clip=False)
    assert set(other.values()).isdisjoint(first.values())
    renamed = _ordered(FRAME.rename(columns={"a": "c"}), Domain((integers("c", 0, 9),)), KEY, clip=False)
    assert renamed["c"] != first["a"]


def test_seals_notice_one_row_of_many():
    """A single changed value in the last chunk, and two rows swapped across chunks, are seen."""
    rows = 3 * seal.CHUNK + 5
    frame = pd.DataFrame({"a": np.arange(rows) % 10, "b": "x"})
    first = _ordered(frame, PAIR, KEY, clip=False)

    edited = frame.copy()
    edited.loc[rows - 1, "a"] = 9
    order = np.arange(rows)
    order[[1, rows - 3]] = order[[rows - 3, 1]]

    assert _ordered(edited, PAIR, KEY, clip=False)["a"] != first["a"]
    assert _ordered(frame.iloc[order], PAIR, KEY, clip=False)["a"] != first["a"]


def test_the_seal_refuses_rows_outside():
    """Every column with a row outside is named, and none of its values."""
    bad = pd.DataFrame({"a": [1, 123456789], "b": ["x", "SECRETVALUE"]})

    with pytest.raises(OutsideDomainError) as caught:
        _ordered(bad, PAIR, KEY, clip=False)

    assert caught.value.columns == ["a", "b"]
    assert "123456789" not in str(caught.value)
    assert "SECRETVALUE" not in str(caught.value)


def test_columns_without_cells_are_sealed_and_checked():
    """A number without bounds is sealed by value; what is no number is refused, not quoted."""
    free = Domain((from_dict("a", {"type": "float"}),))
    nullable = Domain((from_dict("a", {"type": "float", "nullable": True}),))
    values = pd.DataFrame({"a": [-1.5, 2.0, -0.0]})

    first = _ordered(values, free, KEY, clip=False)

    assert first == _ordered(values.astype(object), free, KEY, clip=False)
    assert first != _ordered(values * 2, free, KEY, clip=False)
    for bad in (["SECRETVALUE", 1], [None, 1.0], [np.inf, 1.0]):
        with pytest.raises(OutsideDomainError) as caught:
            _ordered(pd.DataFrame({"a": bad}), free, KEY, clip=False)
        assert "SECRETVALUE" not in str(caught.value)
    assert _ordered(pd.DataFrame({"a": [None, 1.0]}), nullable, KEY, clip=False)
    table = bf.check(pd.DataFrame({"a": ["SECRETVALUE", None, 1.0]}), bf.Policy(nullable))
    assert table.loc["a", ["missing", "outside"]].tolist() == [1, 1]


def test_a_change_names_what_changed():
    """Rows, columns and values are told apart; a column that occurs twice is not as it was sealed."""
    binding = {"rows": 4, "key": KEY, "outside": "error", **seal.seal_rows(FRAME, PAIR, KEY, clip=False)}
    twice = pd.concat([FRAME, FRAME], axis=1)

    assert seal.find_change(FRAME, PAIR, binding) == ""
    assert "rows" in seal.find_change(FRAME[:2], PAIR, binding)
    assert "'b'" in seal.find_change(FRAME[["a"]], PAIR, binding)
    assert "'a'" in seal.find_change(twice, PAIR, binding)
    assert "'a'" in seal.find_change(FRAME.assign(a=0), PAIR, binding)
    assert seal.find_change(FRAME.assign(a=0), [PAIR["b"]], binding) == ""


def _ordered(frame, domain, key, *, clip):
    """Return the seals of rows in their order."""
    return seal.seal_rows(frame, domain, key, clip=clip)["seal"]


def test_chunks_do_not_show(monkeypatch):
    """Seals at, below and above a chunk boundary are those of one pass."""
    for rows in (0, 1, 7, 8, 9, 16, 17):
        frame = pd.DataFrame(
            {"a": np.arange(rows) % 10, "b": pd.Series(["x", None] * rows, dtype=object)[:rows]}
        )
        whole = seal.seal_rows(frame, PAIR, KEY, clip=False)
        with monkeypatch.context() as patch:
            patch.setattr(seal, "CHUNK", 8)
            assert seal.seal_rows(frame, PAIR, KEY, clip=False) == whole


def test_what_does_not_depend_on_order_sees_every_other_change():
    """Sorted rows have the same spread; an edited, dropped, doubled or re-paired one has another."""
    first = seal.seal_rows(FRAME, PAIR, KEY, clip=False)["spread"]

    assert seal.seal_rows(FRAME.iloc[::-1], PAIR, KEY, clip=False)["spread"] == first
    changes = [
        FRAME.assign(a=[1, 2, 3, 5]),
        FRAME.iloc[:3],
        pd.concat([FRAME, FRAME]),
        FRAME.assign(a=[2, 1, 3, 4]),
        FRAME.assign(b=["x", "y", "x", None]),
    ]
    for changed in changes:
        assert seal.seal_rows(changed, PAIR, KEY, clip=False)["spread"] != first


def test_rows_sealed_without_order_are_found_again():
    """A pandas frame passes for a dataset that another engine sealed, in any order; no other frame does."""
    binding = {"rows": 4, "key": KEY, "outside": "error", **seal.seal_rows(FRAME, PAIR, KEY, clip=False)}
    binding["seal"] = {}

    assert seal.find_change(FRAME.iloc[::-1], PAIR, binding) == ""
    assert "'a'" in seal.find_change(FRAME.assign(a=0), PAIR, binding)
    assert "one row" in seal.find_change(FRAME.assign(a=[2, 1, 3, 4]), PAIR, binding)
    assert seal.find_change(FRAME.assign(a=[2, 1, 3, 4]), [PAIR["a"]], binding) == ""


def test_reordered_rows_pass_and_edited_ones_do_not():
    """Rows in another order pass; a value changed, or exchanged between two rows, does not."""
    names = [f"v{number}" for number in range(60)]
    domain = Domain(
        (integers("a", 0, 9), from_dict("b", {"type": "category", "values": names, "nullable": False}))
    )
    frame = pd.DataFrame({"a": np.arange(120) % 10, "b": np.tile(names, 2)})
    binding = {"key": KEY, "outside": "error", **seal.seal_rows(frame, domain, KEY, clip=False)}

    shuffled = frame.sample(frac=1, random_state=3)
    assert seal.find_change(shuffled, domain, binding, domain) == ""
    assert seal.find_change(shuffled, [domain["a"]], binding, domain) == ""
    assert "another order" in seal.find_change(shuffled, domain, binding, domain, True)
    assert seal.find_change(frame, domain, binding, domain, True) == ""
    for other in range(1, 60):
        edited = shuffled.copy()
        pair = edited.index[[0, other]]
        if edited.loc[pair[0], "a"] == edited.loc[pair[1], "a"]:
            continue
        edited.loc[pair, "b"] = edited.loc[pair[::-1], "b"].to_numpy()
        assert "in one row" in seal.find_change(edited, domain, binding, domain)
        assert "in one row" in seal.find_change(edited, [domain["b"]], binding, domain)
    assert "'b'" in seal.find_change(shuffled.assign(b="v0"), domain, binding, domain)
    alone = shuffled[["a"]]
    assert "without column 'b'" in seal.find_change(alone, [domain["a"]] * 2, binding, domain)
    assert seal.find_change(alone, [domain["a"]], binding, domain) == ""


@pytest.mark.parametrize("bounds", [{"min": 0, "max": 2**43}, {}], ids=["bounded", "without bounds"])
def test_large_numbers_exchanged_between_rows_are_found(bounds):
    """Those with the same remainder, too: rows are mixed by all digits of a number."""
    wide = from_dict("w", {"type": "integer", **bounds})
    domain = Domain((integers("a", 0, 9), wide))
    numbers = [7 + fingerprint.PRIME * many for many in (0, 1, 5, fingerprint.PRIME, fingerprint.PRIME + 1)]
    frame = pd.DataFrame({"a": range(5), "w": numbers})
    binding = {"key": KEY, "outside": "error", **seal.seal_rows(frame, domain, KEY, clip=False)}

    assert seal.find_change(frame.iloc[::-1], domain, binding, domain) == ""
    for one, other in itertools.combinations(range(5), 2):
        values = list(numbers)
        values[one], values[other] = values[other], values[one]
        assert "in one row" in seal.find_change(frame.assign(w=values), domain, binding, domain)


def test_seals_of_earlier_versions_are_read():
    """Listed values sealed by lots are found again in any order; rows sealed in order alone say so."""
    binding = {"key": KEY, "outside": "error", **seal.seal_rows(FRAME, PAIR, KEY, clip=False)}
    mixed = fingerprint.Mixed(list(PAIR), KEY, by=fingerprint.BY_LOT)
    rows = fingerprint.fingerprint(FRAME, [], mixed, clip=False).rows
    columns = binding["spread"]["columns"]
    by_lot = binding | {"spread": {"columns": columns, "rows": seal._digest(KEY, "", [rows])}}
    in_order = {key: value for key, value in binding.items() if key != "spread"}

    assert seal.find_change(FRAME.iloc[::-1], PAIR, by_lot) == ""
    assert "one row" in seal.find_change(FRAME.assign(a=[2, 1, 3, 4]), PAIR, by_lot)
    assert "another order" in seal.find_change(FRAME.iloc[::-1], PAIR, in_order)
    assert seal.find_change(FRAME, PAIR, in_order) == ""


def test_a_guess_cannot_be_confirmed_without_the_key(tmp_path):
    """Whoever has the ledger and not the key does not find the exact split of a column of two values."""
    rows, ones = 200, 77
    path = tmp_path / "budget.db"
    policy = bf.Policy(Domain((integers("x", 0, 1),)))
    frame = pd.DataFrame({"x": np.repeat([1, 0], [ones, rows - ones])})
    frame.blowfish.protect(policy, epsilon=1, dataset="d", ledger=path)
    binding = bf.Ledger(path).dataset("d").binding
    text = json.dumps(binding)
    stated = binding["spread"]["columns"]["x"]

    words = [*re.findall(r"[0-9a-f]{64}", text), binding.get("key", "")]  # a key would be one of these
    guesses = [pd.DataFrame({"x": np.repeat([1, 0], [many, rows - many])}) for many in range(rows + 1)]
    confirmed = [
        len(guess)
        for key in words
        if len(key) == 64
        for guess in guesses
        if seal.seal_rows(guess, policy.domain, key, clip=False)["spread"]["columns"]["x"] == stated
    ]

    assert not confirmed
    assert len(stated) == 32
    assert sealkey.with_key(str(path), "d", binding)["key"] not in text


def test_same_rows_in_any_order():
    """Order does not matter, whole rows do; an older seal knows its order alone."""
    binding = {**seal.seal_rows(FRAME, PAIR, KEY, clip=False), "key": KEY, "outside": "error"}
    old = {key: value for key, value in binding.items() if key != "spread"}
    swapped = FRAME.assign(b=["y", "x", None, "x"])

    assert seal.is_same(FRAME, PAIR, binding)
    assert seal.is_same(FRAME[::-1], PAIR, binding)
    assert not seal.is_same(swapped, PAIR, binding)
    assert not seal.is_same(FRAME[:3], PAIR, binding)
    assert not seal.is_same(FRAME[["a"]], PAIR, binding)
    assert seal.is_same(FRAME, PAIR, old)
    assert not seal.is_same(FRAME[::-1], PAIR, old)
