"""Counts equal a slow twin that looks at one row at a time."""

import random
from datetime import datetime

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.count import tally as count
from pandas_blowfish.errors import DeclaredValueError, FrameError
from pandas_blowfish.plan.tally import tally as asked_tally
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.policy.expression import columns_of
from pandas_blowfish.queries.call.scope import Scope

KEY = "0123456789abcdef" * 4
PAIR = Domain(
    (integers("a", 0, 9), from_dict("b", {"type": "category", "values": ["x", "y"], "nullable": True}))
)


def _value(draw, attribute):
    """Return a value of a random cell, or (rarely) one that is not declared."""
    chance = draw.random()
    if chance < 0.1 and attribute.nullable:
        return None
    if chance < 0.2:
        return {"integer": 999, "float": 99.0, "datetime": datetime(1999, 1, 1)}.get(
            attribute.kind, "stranger"
        )
    label = attribute.labels()[draw.randrange(attribute.cells)]
    if isinstance(label, pd.Interval):
        inside = label.left if draw.random() < 0.5 or attribute.kind == "integer" else label.mid
        return inside.to_pydatetime() if attribute.kind == "datetime" else inside
    return label.item() if hasattr(label, "item") else label


def _slow(rows, columns, tally):
    """Return the counts by looking each row up in each column."""
    counts = np.zeros(tally.shape, dtype=np.int64)
    for row in rows:
        place = []
        for binning in tally.binnings:
            code = _slow_code(row[columns.index(binning.attribute.name)], binning.attribute)
            place.append(code if code < 0 or binning.labels is None else int(binning.labels[code]))
        if min(place) >= 0:
            counts[tuple(place)] += 1
    return counts.ravel()


def _slow_code(value, attribute):
    try:
        return attribute.cells if value is None else attribute.code(value)
    except DeclaredValueError:
        return -1


@pytest.mark.parametrize("seed", range(60))
def test_tally_matches_the_slow_twin(seed, make_policy, make_bins, monkeypatch):
    """One to three columns of any kind, any bins, rows outside and missing, chunks of a few rows."""
    monkeypatch.setattr(count, "CHUNK", 1 + seed % 7)
    draw = random.Random(seed)
    policy = make_policy(draw, 1 + seed % 3)
    rows = [[_value(draw, attribute) for attribute in policy.domain] for _ in range(draw.randrange(30))]
    frame = pd.DataFrame(rows, columns=list(policy.domain.columns), dtype=object)
    asked = list(policy.domain.columns)
    draw.shuffle(asked)
    bins = {column: made for column in asked if (made := make_bins(draw, policy.domain[column])) is not None}
    tally = asked_tally(policy.domain, asked, bins or None)

    found = count.tally(frame, tally, clip=False)
    stored = count.tally(frame.infer_objects(), tally, clip=False)

    assert found.dtype == np.int64
    assert found.tolist() == _slow(rows, list(policy.domain.columns), tally).tolist()
    assert stored.tolist() == found.tolist()


def test_chunks_do_not_show(monkeypatch):
    """Counts at, below and above a chunk boundary are those of one pass."""
    for rows in (0, 1, 7, 8, 9, 16, 17):
        frame = pd.DataFrame(
            {"a": np.arange(rows) % 10, "b": pd.Series(["x", None] * rows, dtype=object)[:rows]}
        )
        tally = asked_tally(PAIR, ["b", "a"], None)
        whole = count.tally(frame, tally, clip=False)

        with monkeypatch.context() as patch:
            patch.setattr(count, "CHUNK", 8)
            cut = count.tally(frame, tally, clip=False)

        assert cut.tolist() == whole.tolist()
        assert cut.sum() == rows


FRAME = pd.DataFrame({"a": [1, 2, 3, 4], "b": ["x", "y", None, "x"]})


def test_no_columns_count_rows():
    """The tally of no column is the number of rows."""
    frame = pd.DataFrame({"a": [1, 2, 3]})

    assert count.tally(frame, asked_tally(PAIR, [], None), clip=False).tolist() == [3]


def test_clip_counts_at_the_ends():
    """With clip, rows beyond the bounds are in the nearest cell; without, nowhere."""
    frame = pd.DataFrame({"a": [-5, 3, 50, 51]})
    tally = asked_tally(PAIR, ["a"], None)

    assert count.tally(frame, tally, clip=True).tolist() == [1, 0, 0, 1, 0, 0, 0, 0, 0, 2]
    assert count.tally(frame, tally, clip=False).sum() == 1


def test_check_counts_each_column():
    """Missing and outside rows, column by column, and what to do about them."""
    frame = pd.DataFrame({"a": [1, 77, None, -3], "b": ["x", None, "q", "y"], "c": 1})
    domain = Domain((*PAIR, integers("gone", 0, 1)))

    table = bf.check(frame, bf.Policy(domain))

    assert table.loc["a", ["rows", "missing", "outside"]].tolist() == [4, 1, 2]
    assert table.loc["b", ["rows", "missing", "outside"]].tolist() == [4, 1, 1]
    assert "nullable" in table.loc["a", "status"]
    assert "nullable" not in table.loc["b", "status"]
    assert table.loc["gone", "status"] == "absent from the frame"
    assert list(table.index) == ["a", "b", "gone"]
    assert bf.check(FRAME, bf.Policy(PAIR))["status"].tolist() == ["ok", "ok"]


@pytest.mark.parametrize("frame", [None, 5, "frame", [1], pd.Series([1]), {"a": [1]}], ids=repr)
def test_check_asks_for_a_frame(frame):
    """What is no DataFrame is a typed error."""
    with pytest.raises(FrameError):
        bf.check(frame, bf.Policy(PAIR))


def test_columns_must_occur_once():
    """Several levels, absent and repeated columns are refused by name."""
    with pytest.raises(FrameError, match="levels"):
        count.require_columns(pd.concat({"k": FRAME}, axis=1), ["a"])
    with pytest.raises(FrameError, match="twice"):
        count.require_columns(pd.concat([FRAME, FRAME], axis=1), ["a"])
    with pytest.raises(FrameError, match="not in the frame"):
        count.require_columns(FRAME, ["zebra"])
    count.require_columns(pd.concat([FRAME, FRAME[["b"]]], axis=1), ["a"])


def random_rows(draw, domain, complete):
    """Return rows of a domain as a frame, and their cells; columns in `complete` have no missing value."""
    values, cells = {}, {}
    for attribute in domain:
        size = attribute.cells if attribute.name in complete else attribute.size
        codes = [draw.randrange(size) for _ in range(60)]
        labels = attribute.labels()
        drawn = [value_in(draw, attribute, labels, code) for code in codes]
        kept = pd.Series(drawn)
        values[attribute.name] = kept.astype(labels.dtype) if attribute.kind == "category" else kept
        cells[attribute.name] = codes
    return pd.DataFrame(values), pd.DataFrame(cells)


def value_in(draw, attribute, labels, code):
    """Return some value of a cell; None for the missing one."""
    if code == attribute.cells:
        return None
    label = labels[code]
    if not isinstance(label, pd.Interval):
        return label
    if attribute.kind == "integer":
        return draw.randint(int(label.left), int(label.right))
    return draw.choice([label.left, label.left + (min(label.right, _top(attribute, label)) - label.left) / 3])


def _top(attribute, label):
    """Return the largest value a cell may hold."""
    return pd.Timestamp(int(attribute.high)) if attribute.kind == "datetime" else float(attribute.high)


@pytest.mark.parametrize("seed", range(150))
def test_filtered_counts_are_those_of_pandas(seed, make_full_policy, make_filter):
    """Before noise a filter and groups count just what query and groupby of pandas do."""
    draw = random.Random(seed)
    policy = make_full_policy(draw, draw.randint(1, 3))
    text = make_filter(draw, policy.domain)
    scope = Scope().where(policy, text, {})
    frame, cells = random_rows(draw, policy.domain, columns_of(scope.conditions[0]))
    asked = draw.sample(policy.domain.columns, draw.randint(0, len(policy.domain.columns)))
    groups = asked[: draw.randint(0, len(asked))]
    scope = scope.groupby(policy, groups) if groups else scope

    found = count.tally(frame, scope.tally(policy, asked[len(groups) :], None), clip=False)

    kept = cells.loc[frame.query(text).index]
    if not asked:
        assert found.tolist() == [len(kept)]
        return
    shape = [range(policy.domain[column].size) for column in asked]
    index = pd.MultiIndex.from_product(shape, names=asked)
    slow = kept.assign(one=1).groupby(asked)["one"].sum()
    slow.index = pd.MultiIndex.from_tuples(
        [k if isinstance(k, tuple) else (k,) for k in slow.index], names=asked
    )
    assert found.tolist() == slow.reindex(index, fill_value=0).tolist()


def test_missing_values_pass_no_filter():
    """Neither a comparison nor its negation counts a row whose value is missing."""
    domain = Domain((integers("x", 0, 3, nullable=True),))
    frame = pd.DataFrame({"x": pd.array([0, 1, None, 3, None], dtype="Int64")})

    def counted(text):
        asked = Scope().where(bf.Policy(domain), text, {}).tally(bf.Policy(domain), [], None)
        return count.tally(frame, asked, clip=False).tolist()

    assert counted("x >= 1") == [2]
    assert counted("not x >= 1") == [1]
    assert counted("x != 1") == [2]
    assert counted("x not in [0]") == [2]
