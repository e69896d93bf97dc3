"""Codes in few bytes are counted as slow twins count them, and kept only where the seal was found whole."""

import math

import numpy as np
import pandas as pd
import pytest

from pandas_blowfish.count import codes, fingerprint, seal
from pandas_blowfish.count import tally as count
from pandas_blowfish.count.encode import encoder
from pandas_blowfish.plan.lattice import Total, lattice
from pandas_blowfish.plan.tally import tally
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.policy.expression import parse

KEY = "0123456789abcdef" * 4
DOMAIN = Domain(
    (
        integers("whole", -3, 120, nullable=True),
        from_dict("real", {"type": "float", "min": 0, "max": 3, "step": "0.1", "nullable": True}),
        from_dict("text", {"type": "category", "values": ["x", "y", "z"], "nullable": True}),
        from_dict("wide", {"type": "integer", "min": 0, "max": 70_000}),
        from_dict("flag", {"type": "bool"}),
        from_dict("day", {"type": "datetime", "min": "2020-01-01", "max": "2020-12-31", "step": "1D"}),
    )
)


def _frame(rows, seed=1):
    """Return declared values of every column, nulls where they may be, numbers on edges among them."""
    draw = np.random.default_rng(seed)
    real = np.round(draw.uniform(0, 3, rows), 1)
    return pd.DataFrame(
        {
            "whole": pd.array(draw.integers(-3, 121, rows), dtype="Int64"),
            "real": np.where(draw.random(rows) < 0.1, np.nan, real),
            "text": pd.Categorical.from_codes(draw.integers(-1, 3, rows), ["z", "x", "y"]),
            "wide": draw.integers(0, 70_001, rows),
            "flag": draw.random(rows) < 0.5,
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(draw.integers(0, 365, rows), unit="D"),
        }
    )


def _strided(frame):
    """Return the same rows, whose columns lie in memory with gaps."""
    twice = frame.loc[frame.index.repeat(2)].reset_index(drop=True)
    return twice.iloc[::2].reset_index(drop=True)


def _frozen(frame):
    """Return the same rows; what numpy can hold in arrays that cannot be written to."""
    given = {}
    for name, column in frame.items():
        values = column.to_numpy() if isinstance(column.dtype, np.dtype) else column
        if isinstance(values, np.ndarray):
            values = values.copy()
            values.setflags(write=False)
        given[name] = values
    return pd.DataFrame(given, copy=False)


FRAMES = {
    "as drawn": _frame(300),
    "empty": _frame(0),
    "one row": _frame(1),
    "sliced": _frame(500).iloc[120:421],
    "strided": _strided(_frame(150)),
    "not contiguous": pd.DataFrame(np.arange(400, dtype=np.int64).reshape(100, 4) % 100, columns=list("abcd"))
    .rename(columns={"b": "whole", "d": "wide"})
    .assign(**{name: _frame(100)[name] for name in ("real", "text", "flag", "day")}),
    "read-only": _frozen(_frame(200)),
    "objects": _frame(200).astype(object),
    "arrow": _frame(200).convert_dtypes(dtype_backend="pyarrow"),
    "narrow": _frame(200).astype({"whole": "Int8", "real": "float32", "wide": "uint32", "flag": "boolean"}),
    "sparse": _frame(200).assign(wide=pd.arrays.SparseArray(np.arange(200) % 3)),
}


def _binding(frame, domain=DOMAIN):
    return {"key": KEY, "outside": "error", **seal.seal_rows(frame, domain, KEY, clip=False)}


def _slow(given, size):
    found = [0] * size
    for each in given:
        if each >= 0:
            found[each] += 1
    return found


@pytest.mark.parametrize("size", [1, 2, 100, 127, 128, 129, 4096, 32_768, 70_000])
@pytest.mark.parametrize("bad", [False, True])
def test_counts_match_a_slow_twin(size, bad, monkeypatch):
    """Chunks of every length, odd ones too, in every type that holds the codes; those below 0 are nowhere."""
    monkeypatch.setattr(codes, "PAIRED", 64)
    draw = np.random.default_rng(size)
    for kind in codes.KINDS[codes.KINDS.index(codes.narrow(size)) :]:
        counts, given = codes.CellCounts(size), []
        for length in (0, 1, 5, 16, 63, 64, 65, 129, 2):
            part = draw.integers(-2 if bad else 0, size, length).astype(kind)
            given += part.tolist()
            counts.add(part)
        assert counts.result().tolist() == _slow(given, size)
        assert counts.result().dtype == np.int64


def test_what_was_counted_may_change():
    """Arrays that were handed in are not looked at again."""
    counts, part = codes.CellCounts(100), np.array([7, 7, 8], dtype=np.int8)

    counts.add(part)
    part[:] = 0

    assert counts.result()[[0, 7, 8]].tolist() == [0, 2, 1]


@pytest.mark.parametrize("sizes", [(3,), (3, 5), (11, 12), (2, 64), (300, 300, 2), (128, 1, 256)])
def test_joined_codes_are_in_c_order(sizes):
    """As numpy numbers them, whatever their types; a row without a cell in some column has none."""
    draw = np.random.default_rng(len(sizes))
    own = [draw.integers(0, size, 500).astype(codes.narrow(size)) for size in sizes]
    want = np.ravel_multi_index([each.astype(np.int64) for each in own], sizes)

    assert codes.join_codes(own, sizes).tolist() == want.tolist()
    assert codes.join_codes([each.astype(np.int64) for each in own], sizes).tolist() == want.tolist()
    for at, bad in ((0, -1), (len(sizes) - 1, -2)):
        own[at][at::7] = bad
        want[at::7] = -1
    found = codes.join_codes(own, sizes)
    assert np.where(found < 0, -1, found).tolist() == want.tolist()


@pytest.mark.parametrize("name", FRAMES)
def test_kept_codes_are_those_that_are_read(name, monkeypatch):
    """For each storage the codes that the check keeps are the encoder's, in the smallest type."""
    monkeypatch.setattr(seal, "CHUNK", 64)
    frame, kept = FRAMES[name], {}

    assert seal.find_change(frame, DOMAIN, _binding(frame), DOMAIN, False, kept) == ""

    assert list(kept) == list(DOMAIN.columns)
    for each in DOMAIN:
        want = encoder(frame[each.name], each, clip=False)(0, len(frame))
        assert kept[each.name].tolist() == want.tolist()
        assert kept[each.name].dtype == codes.narrow(each.size)


ASKED = [
    (["whole"], None),
    (["whole"], "whole < 50"),
    (["real"], "real is missing or real >= 1"),
    (["text"], "text in ['x', 'z'] and flag == True"),
    (["text", "flag"], "real < 2"),
    (["wide"], "wide > 100"),
    (["whole", "day"], "text == 'y' or wide < 9"),
    (["day"], None),
    ([], "flag == False"),
]


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("most", [None, 0], ids=["usual", "by row"])
def test_counts_do_not_depend_on_how_they_are_found(name, most, monkeypatch):
    """From kept codes or the frame, by row or by cell, alone or together: the counts of a slow twin."""
    frame, kept = FRAMES[name], {}
    seal.find_change(frame, DOMAIN, _binding(frame), DOMAIN, False, kept)
    asked = [tally(DOMAIN, columns, None, text and parse(text, DOMAIN, {})) for columns, text in ASKED]
    monkeypatch.setattr(count, "CHUNK", 64)
    if most is not None:
        monkeypatch.setattr(count, "FEW", most)
        monkeypatch.setattr(count, "JOINT", most)

    for each in asked:
        want = _one_by_one(frame, each)
        assert count.count_cells(frame, [each], clip=False).tolist() == want
        assert count.count_cells(frame, [each], clip=False, kept=kept).tolist() == want
    sums = [*asked[:3], Total(asked[3], lattice(DOMAIN["wide"]))]
    want = count.count_cells(frame, sums, clip=False).tolist()
    assert count.count_cells(frame, sums, clip=False, kept=kept).tolist() == want


def _one_by_one(frame, asked):
    """Return the counts by looking up each row's cell in the labels of all of them."""
    own = [b.attribute for b in asked.binnings]
    cells = [encoder(frame[each.name], each, clip=False)(0, len(frame)).tolist() for each in own]
    found = [0] * asked.size
    for row in zip(*cells, strict=True):
        classes = tuple(int(each[cell]) for each, cell in zip(asked.sieve.classes, row, strict=True))
        if asked.sieve.passes[classes]:
            place = 0
            for binning, cell in zip(asked.binnings, row, strict=True):
                label = cell if binning.labels is None else int(binning.labels[cell])
                place = place * binning.bins + label
            found[place] += 1
    return found


def test_nothing_is_kept_of_rows_that_are_not_as_sealed():
    """Not of changed rows, nor of rows in another order, nor of columns without cells, nor of too many."""
    frame = _frame(50)
    binding, kept = _binding(frame), {}

    assert seal.find_change(frame.iloc[::-1], DOMAIN, binding, DOMAIN, False, kept) == ""
    assert seal.find_change(frame.assign(day=frame["day"].iloc[0]), DOMAIN, binding, DOMAIN, False, kept)
    assert kept == {}
    free = Domain((from_dict("real", {"type": "float", "nullable": True}),))
    assert seal.find_change(frame, free, _binding(frame, free), free, False, kept) == ""
    assert kept == {}


def test_no_more_codes_are_kept_than_fit(monkeypatch):
    """Columns beyond the limit are read again when they are counted."""
    frame, kept = _frame(50), {}
    monkeypatch.setattr(codes, "MOST_KEPT", 150)

    assert seal.find_change(frame, DOMAIN, _binding(frame), DOMAIN, False, kept) == ""

    assert list(kept) == ["whole", "real", "text"]  # of one byte each
    asked = [tally(DOMAIN, ["text", "flag"], None)]
    found = count.count_cells(frame, asked, clip=False, kept=kept)
    assert found.tolist() == count.count_cells(frame, asked, clip=False).tolist()


@pytest.mark.parametrize("column", DOMAIN.columns)
def test_a_changed_value_is_found_wherever_it_is(column, monkeypatch):
    """In every row of every kind of column, at the ends of chunks and within, next to kept codes."""
    monkeypatch.setattr(seal, "CHUNK", 7)
    frame = _frame(30)
    binding = _binding(frame)

    for row in range(len(frame)):
        edited, kept = frame.copy(), {}
        old = frame[column].iloc[row]
        edited.loc[row, column] = next(each for each in _others(column) if pd.isna(old) or each != old)
        assert f"{column!r}" in seal.find_change(edited, DOMAIN, binding, DOMAIN, False, kept)
        assert f"{column!r}" in seal.find_change(edited, [DOMAIN[column]], binding, DOMAIN, False, kept)
        assert kept == {}


def _others(column):
    """Return two declared values of a column."""
    values = {"whole": (5, 6), "real": (0.5, 0.7), "text": ("x", "y"), "wide": (70_000, 0)}
    return {**values, "flag": (True, False), "day": pd.to_datetime(["2020-02-03", "2020-02-04"])}[column]


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("clip", [False, True])
def test_seals_do_not_depend_on_how_cells_are_counted(name, clip, monkeypatch):
    """Cells counted together have the fingerprint of those counted one by one, bad rows too."""
    frame = FRAMES[name]
    few = [DOMAIN[each] for each in ("text", "real", "flag", "whole")]
    assert math.prod(each.size for each in few) <= fingerprint.JOINT
    mixed = fingerprint.Mixed(few, KEY)
    bad = frame.astype({"real": object, "whole": object})
    bad.loc[bad.index[::9], "real"] = 77.5
    bad.loc[bad.index[::50], "whole"] = "SECRETVALUE"

    for own in (frame, bad):
        for part in (few, few[:1], []):
            with monkeypatch.context() as patch:
                patch.setattr(fingerprint, "CHUNK", 8)
                together = fingerprint.fingerprint_part(own, part, mixed, clip=clip)
                patch.setattr(fingerprint, "JOINT", 0)
                assert _lists(fingerprint.fingerprint_part(own, part, mixed, clip=clip)) == _lists(together)
            assert together.outside == [_has_bad(own, each, clip) for each in part]


def _has_bad(frame, attribute, clip):
    return bool((encoder(frame[attribute.name], attribute, clip=clip)(0, len(frame)) < 0).any())


def _lists(found):
    columns = [[[part.tolist() for part in digit] for digit in column] for column in found.columns]
    return columns, [part.tolist() for part in found.rows], found.outside
