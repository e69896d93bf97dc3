"""Which rows of a person are kept: the same ones whoever else is there, whatever the order and engine."""

import datetime
import random
from collections import Counter
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from oracle.crowds import require_own_rows_alone

import pandas_blowfish as bf
from pandas_blowfish.count.readers import batches, open_table
from pandas_blowfish.count.seal import seal_rows
from pandas_blowfish.count.units import Usable, choose, hash_units, keep_rows, require_unit
from pandas_blowfish.errors import FrameError, SecondNameError, StaleFrameError
from pandas_blowfish.policy.domain import Domain, from_dict, integers

DOMAIN = Domain((integers("x", 0, 4), from_dict("c", {"type": "category", "values": ["a", "b"]})))
POLICY = bf.Policy(DOMAIN, secrets={"x": bf.full(), "c": bf.full()}, max_rows=2)
KEY = "5e" * 32
ENGINES = ["pyarrow", "dataset", "dask", "polars", "lazy", "duckdb"]
PEOPLE = ["ann", "bob", "7", "é"]


def some_rows(draw, people=PEOPLE, most=5):
    """Return rows of people, each with some: (who, x, c)."""
    return [
        (who, draw.randrange(5), draw.choice("ab")) for who in people for _ in range(draw.randint(0, most))
    ]


def frame_of(rows):
    """Return rows as a frame."""
    return pd.DataFrame(rows, columns=["who", "x", "c"]).astype({"who": object, "x": "int64", "c": object})


def kept_of(frame, most, key=KEY):
    """Return the rows of each person that are kept, whatever their order."""
    kept = keep_rows(frame, tuple(DOMAIN), "who", most, key, clip=False).rows
    if not isinstance(kept, pd.DataFrame):
        kept = kept.merge(["who", "x", "c"], lambda part: part.astype(object), lambda a, b: pd.concat([a, b]))
    found = {}
    for who, x, c in kept[["who", "x", "c"]].itertuples(index=False):
        found.setdefault(who, Counter())[int(x), c] += 1
    return found


def test_nobody_changes_which_rows_of_another_are_kept():
    """Rows of one person changed, added or removed, and all rows in any order; a key for each pair."""
    draw = random.Random(1)
    for number in range(1_000):
        rows, most = some_rows(draw), draw.randint(1, 3)
        who = draw.choice(PEOPLE)
        others = [row for row in rows if row[0] != who]
        other = others + some_rows(draw, [who])
        draw.shuffle(other)
        key = f"{number:064x}"

        before, after = kept_of(frame_of(rows), most, key), kept_of(frame_of(other), most, key)

        for person in {row[0] for row in others}:
            assert before[person] == after[person]
        many = Counter(row[0] for row in rows)
        assert {person: own.total() for person, own in before.items()} == {
            person: min(often, most) for person, often in many.items()
        }


@pytest.mark.parametrize("engine", ["pandas", *ENGINES])
def test_no_engine_lets_others_change_what_is_kept(engine, native, monkeypatch):
    """Over 10^4 random tables in many parts, with equal rows in different ones."""
    arrow = pytest.importorskip("pyarrow")
    monkeypatch.setattr(batches, "ROWS", 1 << 13)

    def table(frame):
        found = native(engine, arrow.Table.from_pandas(frame, preserve_index=False))
        return found if engine == "pandas" else open_table(found)

    require_own_rows_alone(table, 2)


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_keep_the_same_rows(engine, native):
    """As pandas keeps, in any order, with seals that agree."""
    arrow = pytest.importorskip("pyarrow")
    draw = random.Random(engine)
    for _ in range(12 if engine == "dask" else 40):
        rows, most = some_rows(draw) or [("ann", 1, "a")], draw.randint(1, 3)
        frame = frame_of(rows)
        other = frame_of(draw.sample(rows, len(rows)))
        table = open_table(native(engine, arrow.Table.from_pandas(other, preserve_index=False)))

        wanted = keep_rows(frame, tuple(DOMAIN), "who", most, KEY, clip=False)
        found = keep_rows(table, tuple(DOMAIN), "who", most, KEY, clip=False)

        assert kept_of(table, most) == kept_of(frame, most)
        assert found.digest == wanted.digest
        assert found.rows.rows == len(wanted.rows)


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_answer_from_kept_rows(engine, native):
    """Counts, sums, filters and groups are those of pandas, number for number, on one budget."""
    arrow = pytest.importorskip("pyarrow")
    frame = frame_of([*some_rows(random.Random(3), most=6), *[("ann", 1, "a")] * 5])
    table = native(engine, arrow.Table.from_pandas(frame, preserve_index=False))
    asked = {"epsilon": 2, "unit": "who", "max_rows": 2, "dataset": "d", "ledger": bf.Ledger()}
    policy = bf.Policy(DOMAIN, secrets={"x": bf.threshold(1), "c": bf.public()}, max_rows=2)

    answers = []
    for rows in (frame, table):
        with bf.testing.replay(5):
            own = bf.protect(rows, policy, **asked)
            answers.append(own.where("x < 4").groupby("c").hist("x", epsilon="1/4"))
            answers.append(own.mean("x", epsilon="1/4"))
            answers.append(own.count(epsilon="1/4"))
            answers.append(own.where("x < 3").count(epsilon="1/8", units=True))
            answers.append(own.where("x < 3").groupby("c").count(epsilon="1/8", units=True))
            answers.append(own.groupby("c").count(epsilon="1/8", units=True))

    for one, other in zip(answers[:6], answers[6:], strict=True):
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    assert answers[2]["count"].iloc[0] == sum(own.total() for own in kept_of(frame, 2).values())
    assert answers[2]["std"].iloc[0] == 0
    assert answers[5]["std"].tolist() == [0, 0]
    assert answers[4]["std"].min() > 0


@pytest.mark.parametrize("engine", ENGINES)
def test_cells_of_any_kind_are_hashed_alike(engine, native):
    """Fractions, instants, flags and missing values; units that are numbers, some stored with a mask."""
    arrow = pytest.importorskip("pyarrow")
    when = {"type": "datetime", "min": "2026-01-01", "max": "2027-01-01", "step": "1D"}
    domain = Domain(
        (
            from_dict("f", {"type": "float", "min": 0, "max": 1, "step": "0.1", "nullable": True}),
            from_dict("t", when),
            from_dict("b", {"type": "bool"}),
            from_dict("n", {"type": "integer", "min": 0, "max": 10**7, "nullable": True}),
            from_dict("e", {"type": "float"}),
        )
    )
    draw, size = np.random.default_rng(2), 300
    frame = pd.DataFrame(
        {
            "f": np.where(draw.random(size) < 0.2, np.nan, draw.random(size)),
            "t": pd.Timestamp("2026-01-01") + pd.to_timedelta(draw.integers(0, 360, size), unit="D"),
            "b": draw.random(size) < 0.5,
            "n": pd.array(np.where(draw.random(size) < 0.2, None, draw.integers(0, 10**7, size)), "Int64"),
            "e": draw.normal(size=size) * 100,
            "who": draw.integers(0, 60, size),
        }
    )
    table = open_table(native(engine, arrow.Table.from_pandas(frame, preserve_index=False)))

    one, two = (keep_rows(rows, tuple(domain), "who", 3, KEY, clip=False) for rows in (frame, table))
    sealed = [seal_rows(each.rows, domain, KEY, clip=False)["spread"] for each in (one, two)]

    assert one.digest == two.digest
    assert sealed[0] == sealed[1]
    assert len(one.rows) == two.rows.rows < size


def test_a_dataset_of_people_moves_between_engines():
    """Sealed in pandas, asked in polars; rows in another order are the same rows."""
    pl = pytest.importorskip("polars")
    frame, ledger = frame_of(some_rows(random.Random(4), most=6)), bf.Ledger()
    stated = {"epsilon": 1, "dataset": "d", "ledger": ledger, "unit": "who"}
    bf.protect(frame, POLICY, **stated).hist("x", epsilon="1/2")

    other = bf.protect(pl.from_pandas(frame.sample(frac=1, random_state=1)), POLICY, **stated)
    other.hist("x", epsilon="1/2")

    assert other.budget.remaining == 0


def test_rows_of_people_are_found_under_a_second_name():
    """Whichever of them were kept; other rows are others."""
    frame, ledger = frame_of(some_rows(random.Random(5), most=6)), bf.Ledger()
    stated = {"epsilon": 1, "ledger": ledger, "unit": "who"}
    frame.blowfish.protect(POLICY, dataset="first", **stated)

    with pytest.raises(SecondNameError, match="first"):
        frame.blowfish.protect(POLICY, dataset="second", **stated)
    frame.iloc[1:].blowfish.protect(POLICY, dataset="third", **stated)
    frame.blowfish.protect(POLICY, dataset="second", new=True, **stated)


def test_changed_units_are_noticed():
    """Another person in a row, also one that was not kept, or a unit that is gone: the rows are not these."""
    rows = [("ann", 1, "a"), ("ann", 1, "a"), ("ann", 1, "a"), ("bob", 2, "b")]
    frame = frame_of(rows).blowfish.protect(POLICY, epsilon=1, unit="who")
    moved, gone, dropped = frame.copy(), frame.copy(), frame.drop(columns="who")
    moved.loc[2, "who"] = "bob"
    gone.loc[0, "who"] = None

    for changed in (moved, gone, dropped, frame.iloc[1:]):
        with pytest.raises(StaleFrameError):
            changed.blowfish.hist("x", epsilon="1/2")

    assert frame.blowfish.budget.spent == 0
    assert frame.blowfish.count(epsilon=1)["count"].tolist() == [3]


def test_the_number_of_kept_rows_is_secret_with_presence():
    """It is written down nowhere."""
    policy = bf.Policy(DOMAIN, presence=True, max_rows=2)
    frame = frame_of([("ann", 1, "a")] * 3).blowfish.protect(policy, epsilon=1, unit="who")

    assert frame.blowfish.ledger.dataset(frame.attrs["blowfish"]["dataset"]).binding["rows"] is None
    assert frame.blowfish.plan.count().cost == 1
    assert frame.blowfish.plan.count().sensitivity == 2


SAME = {
    "whole numbers": [
        [1, 2, 300],
        [1.0, 2.0, 300.0],
        pd.array([1, 2, 300], "Int64"),
        np.array([1, 2, 300], "u8"),
        [Decimal(1), Decimal("2.0"), 300],
        pd.Categorical([1, 2, 300]),
        np.array([1, 2, 300], "i2"),
    ],
    "text": [["a", "1", "é"], pd.array(["a", "1", "é"], "string"), pd.Categorical(["a", "1", "é"])],
    "fractions": [[0.5, 2.25, 1e300], [Decimal("0.5"), Decimal("2.25"), 1e300], np.array([0.5, 2.25, 1e300])],
    "days": [
        [datetime.date(2026, 1, day) for day in (1, 2, 3)],
        pd.to_datetime(["2026-01-01", "2026-01-02", "2026-01-03"]),
        pd.to_datetime(["2026-01-01", "2026-01-02", "2026-01-03"]).as_unit("s"),
    ],
    "flags": [[True, False, True], [1, 0, 1], pd.array([True, False, True], "boolean")],
}


@pytest.mark.parametrize("kind", SAME)
def test_units_are_hashed_by_value(kind):
    """Whatever stores them."""
    found = [hash_units(pd.Series(values), 9) for values in SAME[kind]]

    assert all(np.array_equal(each, found[0][0]) for each, _ in found)
    assert all(usable == Usable() for _, usable in found)
    assert len(set(found[0][0].tolist())) == (2 if kind == "flags" else 3)


def test_different_units_have_different_hashes():
    """A number is not its text, nor a large one a negative one."""
    values = [1, "1", -1, 2**64 - 1, 2**63, 0.5, "0.5", pd.Timestamp(1), pd.Timestamp(1, tz="UTC"), ""]
    found, _ = hash_units(pd.Series(values, dtype=object), 9)

    assert len(set(found.tolist())) == len(values)
    assert len(set(hash_units(pd.Series(range(10**5)), 9)[0].tolist())) == 10**5


def test_ties_of_short_hashes_are_decided_by_whole_ones():
    """However many bits the number of a unit takes."""
    draw = np.random.default_rng(1)
    units = draw.integers(0, 300, 5_000).astype("u8")
    rows = draw.permutation(5_000).astype("u8") + (draw.integers(0, 3, 5_000).astype("u8") << np.uint64(60))
    for most in (1, 3, 17):
        kept = choose(units, rows, most, 0)

        for unit in range(300):
            own = rows[units == unit]
            assert sorted(rows[kept & (units == unit)]) == sorted(own)[:most]


WRONG = {
    "repeats: somebody": ["p", "q", "p", "s"],
    "is missing in some rows": ["p", "q", None, "s"],
    "no plain keys": [[1], [2], [3], [4]],
}


@pytest.mark.parametrize("problem", WRONG)
def test_one_row_of_each_unit(problem):
    """The error states which of three it met; with several rows repeats are none."""
    frame = pd.DataFrame({"x": [0, 1, 2, 3], "c": ["a", "a", "b", "b"]})
    frame["who"] = pd.Series(WRONG[problem], dtype=object)

    with pytest.raises(FrameError, match=problem) as caught:
        require_unit(frame, "who")
    if not problem.startswith("repeats"):
        with pytest.raises(FrameError, match=problem):
            frame.blowfish.protect(POLICY, epsilon=1, unit="who")

    assert caught.value.columns == ["who"]
    require_unit(frame.assign(who=[4, 1, "a", 2.5]), "who")
    with pytest.raises(FrameError, match="no column of the frame"):
        frame.blowfish.protect(POLICY, epsilon=1, unit="absent")


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_state_what_is_wrong_with_units(engine, native):
    """Repeats and missing ones, by name."""
    arrow = pytest.importorskip("pyarrow")
    for problem in list(WRONG)[:2]:
        columns = {"x": [0, 1, 2, 3], "c": ["a", "a", "b", "b"], "who": WRONG[problem]}
        table = native(engine, arrow.table(columns))
        for most in (1, 2)[: 1 + (problem != "repeats: somebody")]:
            with pytest.raises(FrameError, match=problem):
                bf.protect(table, POLICY.with_max_rows(most), epsilon=1, unit="who")
