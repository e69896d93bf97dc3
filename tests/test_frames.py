"""Frames in real life: whatever pandas does to a protected frame, no budget is reset, forked or overspent."""

import copy
import os
import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pandera.pandas as pa
import pytest

import pandas_blowfish as bf
from pandas_blowfish.books import sealkey
from pandas_blowfish.errors import (
    ArgumentError,
    BudgetMismatchError,
    FrameError,
    InsufficientBudgetError,
    LedgerNotFoundError,
    NotProtectedError,
    OutsideDomainError,
    PolicyMismatchError,
    StaleFrameError,
    UnknownDatasetError,
)
from pandas_blowfish.policy.domain import Domain, from_dict, integers

DOMAIN = Domain(
    (
        integers("x", 0, 9),
        from_dict("c", {"type": "category", "values": ["a", "b", "z"]}),
        from_dict("t", {"type": "datetime", "min": "2020-01-01", "max": "2020-01-09", "step": "1D"}),
    )
)
POLICY = bf.Policy(DOMAIN, secrets={"x": bf.threshold(2)})


def _rows():
    return pd.DataFrame(
        {
            "x": [3, 1, 4, 1, 5, 9],
            "c": ["a", "b", "a", "z", "b", "a"],
            "t": pd.date_range("2020-01-01", periods=6),
            "note": list("pqrstu"),
        }
    )


def _protected(**arguments):
    return _rows().blowfish.protect(POLICY, **{"epsilon": 1, "ledger": bf.Ledger(), **arguments})


def _edited(df):
    df = df.copy()
    df.loc[0, "x"] = 8
    return df


def _through_array(df):
    df = df.copy()
    df["x"].array[0] = 8
    return df


PASS = {
    "copy": lambda df: df.copy(),
    "shallow copy": lambda df: df.copy(deep=False),
    "deepcopy": copy.deepcopy,
    "reset_index": lambda df: df.reset_index(drop=True),
    "set_index": lambda df: df.set_index("note"),
    "set_axis": lambda df: df.set_axis([5, 5, 5, 1, 1, 1], axis=0),
    "MultiIndex rows": lambda df: df.set_axis(pd.MultiIndex.from_product([[1, 2], [1, 2, 3]]), axis=0),
    "rename undeclared": lambda df: df.rename(columns={"note": "remark"}),
    "drop undeclared": lambda df: df.drop(columns="note"),
    "assign undeclared": lambda df: df.assign(more=1.5),
    "reorder columns": lambda df: df[["t", "note", "c", "x"]],
    "astype category": lambda df: df.astype({"x": "category", "c": "category"}),
    "astype int32": lambda df: df.astype({"x": "int32"}),
    "astype float": lambda df: df.astype({"x": "float32"}),
    "astype nullable": lambda df: df.convert_dtypes(),
    "astype string": lambda df: df.astype({"c": "string[python]"}),
    "astype object": lambda df: df.astype(object),
    "astype arrow": lambda df: df.astype({"x": "int16[pyarrow]", "t": "timestamp[ns][pyarrow]"}),
    "other unit": lambda df: df.astype({"t": "datetime64[s]"}),
    "pickle": lambda df: pickle.loads(pickle.dumps(df)),
    "head of all": lambda df: df.head(100),
    "mask of all": lambda df: df[df["x"] >= 0],
    "query of all": lambda df: df.query("x >= 0"),
    "sort_index": lambda df: df.sort_index(),
    "concat alone": lambda df: pd.concat([df]),
    "fillna": lambda df: df.fillna(0),
    "pipe": lambda df: df.pipe(lambda frame: frame),
    "iloc slice": lambda df: df.iloc[:],
    "transpose twice": lambda df: df.T.T,
    "sample": lambda df: df.sample(6, random_state=1),
    "sort": lambda df: df.sort_values("x"),
    "reversed": lambda df: df[::-1],
}
STALE = {
    "mask": lambda df: df[df["x"] > 1],
    "head": lambda df: df.head(3),
    "iloc": lambda df: df.iloc[1:],
    "bootstrap": lambda df: df.sample(6, replace=True, random_state=1),
    "loc edit": _edited,
    "array edit": _through_array,
    "assign": lambda df: df.assign(x=0),
    "eval": lambda df: df.eval("x = x + 1"),
    "clip": lambda df: df.assign(x=df["x"].clip(2, 5)),
    "drop column": lambda df: df.drop(columns="x"),
    "rename column": lambda df: df.rename(columns={"x": "X"}),
    "swap columns": lambda df: df.assign(x=df["x"][::-1].to_numpy()),
    "column as text": lambda df: df.astype({"x": "str"}),
    "drop_duplicates": lambda df: df.drop_duplicates("x"),
    "dropna": lambda df: df.assign(x=df["x"].where(df["x"] > 1)).dropna(),
    "concat twice": lambda df: pd.concat([df, df]),
    "concat columns": lambda df: pd.concat([df, df], axis=1),
    "explode": lambda df: df.assign(x=[[1, 2]] * 6).explode("x"),
    "shift": lambda df: df.shift(1),
    "transpose": lambda df: df.T,
    "describe": lambda df: df.describe(),
    "groupby sum": lambda df: df.groupby("c")[["x"]].sum(),
    "groupby head": lambda df: df.groupby("c").head(1),
    "empty": lambda df: df.iloc[:0],
    "reindex": lambda df: df.reindex([0, 1, 2, 3, 4, 99]),
    "nulls": lambda df: df.assign(x=np.nan),
    "objects": lambda df: df.assign(x=[[1], {}, "text", None, object(), 3]),
}
LOST = {
    "pivot": lambda df: df.pivot_table(index="c", values="x"),
    "merge": lambda df: df.merge(pd.DataFrame({"c": ["a", "b"], "k": [1, 2]}), on="c"),
    "value_counts": lambda df: df["x"].value_counts().to_frame(),
    "crosstab": lambda df: pd.crosstab(df["x"], df["c"]),
    "new frame": lambda df: pd.DataFrame(df.to_dict("list")),
}


@pytest.mark.parametrize("change", PASS.values(), ids=PASS)
def test_the_same_values_share_the_budget(change):
    """What keeps the values, row by row, passes the seal in any order and spends the one budget."""
    df = _protected()

    changed = change(df)
    released = changed.blowfish.hist(["x", "c"], epsilon="1/4")

    assert changed.attrs["blowfish"] == df.attrs["blowfish"]
    assert len(released) == 30
    assert df.blowfish.budget.spent == changed.blowfish.budget.spent == Fraction(1, 4)


@pytest.mark.parametrize("change", (STALE | LOST).values(), ids=(STALE | LOST).keys())
def test_other_values_are_refused(change):
    """What changes values or rows is refused and charges nothing, whether or not attrs survive."""
    df = _protected()
    entries = df.blowfish.ledger.entries

    changed = change(df)
    with pytest.raises((StaleFrameError, NotProtectedError)) as caught:
        changed.blowfish.hist("x", epsilon="1/4")

    assert "blowfish" not in changed.attrs or isinstance(caught.value, StaleFrameError)
    assert df.blowfish.budget.spent == 0
    assert df.blowfish.ledger.entries.equals(entries)


def test_filtering_says_what_to_do_instead():
    """The error names where()."""
    with pytest.raises(StaleFrameError, match=r"\.where\(\)"):
        _protected().head(2).blowfish.hist("x", epsilon="1/4")


def test_edits_through_a_shared_array_reach_the_seal():
    """Writing through .array escapes copy-on-write: both frames change, and both are found out."""
    raw = _rows()
    df = raw.blowfish.protect(POLICY, epsilon=1)

    raw["x"].array[0] = 8

    with pytest.raises(StaleFrameError):
        df.blowfish.hist("x", epsilon="1/4")
    assert df.blowfish.budget.spent == 0


def test_concat_of_different_datasets():
    """Two protected frames side by side or on top of each other are neither of them."""
    one, two = _protected(), _protected()

    for together in (pd.concat([one, two]), pd.concat([one, two], axis=1)):
        with pytest.raises((StaleFrameError, NotProtectedError)):
            together.blowfish.hist("x", epsilon="1/4")
    assert one.blowfish.budget.spent == two.blowfish.budget.spent == 0


def test_an_edited_or_copied_record_gains_nothing():
    """attrs prove nothing: a forged record fails closed or leads to the seal."""
    df = _protected()
    record = df.attrs["blowfish"]
    forged = [
        ({**record, "dataset": "another"}, UnknownDatasetError),
        ({**record, "policy": "bf1-0"}, StaleFrameError),
        ({**record, "ledger": "memory:0"}, LedgerNotFoundError),
        ({**record, "ledger": "/nowhere/budget.db"}, LedgerNotFoundError),
        ({**record, "kind": "release"}, NotProtectedError),
        ({"kind": "protected"}, NotProtectedError),
        ({}, NotProtectedError),
        ("protected", NotProtectedError),
        (None, NotProtectedError),
        (["protected"], NotProtectedError),
    ]

    for attrs, error in forged:
        frame = df.copy()
        frame.attrs["blowfish"] = attrs
        with pytest.raises(error):
            frame.blowfish.hist("x", epsilon="1/4")
        assert "BlowfishAccessor" in repr(frame.blowfish) or "Receipt" in repr(frame.blowfish)
    stranger = pd.DataFrame({"x": [1], "c": ["a"]})
    stranger.attrs = dict(df.attrs)
    with pytest.raises(StaleFrameError):
        stranger.blowfish.hist("x", epsilon="1/4")
    assert df.blowfish.budget.spent == 0


def test_the_record_is_small_and_holds_no_state():
    """Four flat texts: no seal, no key, no budget."""
    df = _protected()
    before = dict(df.attrs["blowfish"])
    df.blowfish.hist("x", epsilon="1/4")
    book = df.blowfish.ledger
    binding = sealkey.with_key(book.location, before["dataset"], book.dataset(before["dataset"]).binding)

    assert set(before) == {"kind", "dataset", "policy", "ledger"}
    assert all(isinstance(value, str) for value in before.values())
    assert df.attrs["blowfish"] == before
    receipt = str(df.blowfish.hist("x", epsilon="1/4").attrs) + str(df.blowfish.ledger.entries.to_dict())
    assert binding["key"] not in receipt + str(before)
    assert not any(seal in receipt + str(before) for seal in binding["seal"].values())


def test_parquet_keeps_the_record_and_csv_loses_it(tmp_path):
    """Rows read back from Parquet continue the budget; from CSV they must be protected again."""
    df = _protected(dataset="rows")
    df.to_parquet(tmp_path / "rows.parquet")
    df.to_csv(tmp_path / "rows.csv", index=False)

    parquet = pd.read_parquet(tmp_path / "rows.parquet")
    csv = pd.read_csv(tmp_path / "rows.csv", parse_dates=["t"])
    parquet.blowfish.hist("x", epsilon="1/4")
    with pytest.raises(NotProtectedError):
        csv.blowfish.hist("x", epsilon="1/4")
    again = csv.blowfish.protect(POLICY, epsilon=1, dataset="rows", ledger=df.blowfish.ledger)
    again.blowfish.hist("x", epsilon="1/4")

    assert df.blowfish.budget.spent == Fraction(1, 2)


def test_protect_again():
    """The same rows continue their budget; anything else is refused and leaves it as it is."""
    df = _protected(dataset="rows")
    df.blowfish.hist("x", epsilon="1/4")
    entries = df.blowfish.ledger.entries
    stronger = bf.Policy(DOMAIN, secrets={"x": bf.threshold(3)})
    weaker = bf.Policy(DOMAIN, secrets={"x": bf.threshold(1)})
    same = {"epsilon": 1, "dataset": "rows", "ledger": df.blowfish.ledger}

    for frame in (df, _rows(), df[::-1], df.astype({"x": "category"})):
        for policy in (POLICY, stronger):
            again = frame.blowfish.protect(policy, **same)
            assert again.attrs["blowfish"] == df.attrs["blowfish"]
            assert again.blowfish.budget.spent == Fraction(1, 4)
            assert again.blowfish.policy == POLICY
    assert df.blowfish.protect(POLICY, epsilon=1).attrs == df.attrs
    assert df.blowfish.protect(POLICY, epsilon=1, ledger=df.blowfish.ledger).attrs == df.attrs
    refused = [
        (StaleFrameError, df.head(2), POLICY, {}),
        (StaleFrameError, df.assign(x=df["x"].to_numpy()[::-1]), POLICY, {}),
        (StaleFrameError, _edited(df), POLICY, {}),
        (StaleFrameError, df.assign(x=99), POLICY, {}),
        (BudgetMismatchError, df, POLICY, {"epsilon": 2}),
        (BudgetMismatchError, df, POLICY, {"epsilon": "0.999"}),
        (PolicyMismatchError, df, weaker, {}),
        (PolicyMismatchError, df, bf.Policy(DOMAIN, secrets={"x": bf.partition(5)}), {}),
        (PolicyMismatchError, df, bf.Policy(Domain((DOMAIN["x"],))), {}),
        (PolicyMismatchError, df, POLICY, {"outside": "clip"}),
        (PolicyMismatchError, df, POLICY, {"unit": "note"}),
    ]
    for error, frame, policy, other in refused:
        with pytest.raises(error):
            frame.blowfish.protect(policy, **{**same, **other})
        if "dataset" not in other:
            with pytest.raises(error):
                frame.blowfish.protect(policy, **{**same, "dataset": None, "ledger": None, **other})

    assert df.blowfish.ledger.entries.equals(entries)


def test_another_name_is_another_budget_on_the_record():
    """A new name starts anew, beside the old one, in the ledger that was named."""
    df = _protected(dataset="rows")
    df.blowfish.hist("x", epsilon=1)

    renamed = df.blowfish.protect(POLICY, epsilon=1, dataset="other", ledger=df.blowfish.ledger, new=True)
    filtered = df.head(2).blowfish.protect(POLICY, epsilon=1, dataset="some", ledger=df.blowfish.ledger)

    assert renamed.blowfish.budget.spent == filtered.blowfish.budget.spent == 0
    assert df.blowfish.budget.remaining == 0
    assert df.blowfish.ledger.entries["dataset"].tolist() == ["rows", "rows", "other", "some"]


def test_a_raised_budget_is_shared():
    """Raising the total on the record serves every copy, and the old total no longer fits."""
    df = _protected(dataset="rows")
    held = df.copy()
    df.blowfish.hist("x", epsilon=1)

    df.blowfish.ledger.raise_budget("rows", 2, "agreed")
    held.blowfish.hist("x", epsilon=1)

    assert df.blowfish.budget.remaining == 0
    with pytest.raises(BudgetMismatchError):
        df.blowfish.protect(POLICY, epsilon=1)
    assert df.blowfish.protect(POLICY, epsilon=2).blowfish.budget.spent == 2


def test_copies_cannot_overspend():
    """However many copies ask, the total holds exactly."""
    df = _protected()
    copies = [df.copy(), copy.deepcopy(df), pickle.loads(pickle.dumps(df)), df.convert_dtypes()]

    for number in range(10):
        copies[number % 4].blowfish.hist("x", epsilon=0.1)
    for frame in copies:
        with pytest.raises(InsufficientBudgetError):
            frame.blowfish.hist("x", epsilon="1e-9")

    assert df.blowfish.budget.remaining == 0


def test_protect_leaves_the_frame_alone():
    """The caller's frame keeps its dtypes, values and attrs; the returned one shares its rows."""
    raw = _rows().astype({"x": "int16", "c": pd.CategoricalDtype(["z", "a", "b", "other"])})
    raw.attrs = {"source": {"nested": [1]}}
    kept = raw.copy()

    df = raw.blowfish.protect(POLICY, epsilon=1)
    df.blowfish.hist("x", epsilon="1/4")

    pd.testing.assert_frame_equal(raw, kept)
    pd.testing.assert_frame_equal(df, kept)
    assert raw.attrs == {"source": {"nested": [1]}}
    assert df.attrs["source"] == {"nested": [1]}
    assert np.shares_memory(df["x"].to_numpy(), raw["x"].to_numpy())


def test_pandera_never_validates(monkeypatch):
    """protect reads the schema and leaves validation, coercion and its messages alone."""
    schema = pa.DataFrameSchema(
        {
            "x": pa.Column(int, pa.Check.in_range(0, 9), coerce=True),
            "c": pa.Column(str, pa.Check.isin(["a", "b", "z"])),
        }
    )
    for owner in (pa.DataFrameSchema, pa.Column, pa.Check):
        for method in ("validate", "__call__"):
            if hasattr(owner, method):
                monkeypatch.setattr(owner, method, lambda *_, **__: pytest.fail("pandera looked at rows"))
    raw = _rows().astype({"x": "float32", "c": "category"})

    df = raw.blowfish.protect(schema, epsilon=1)
    df.blowfish.hist(["x", "c"], epsilon="1/4")

    assert df.dtypes.equals(raw.dtypes)


@pytest.mark.parametrize("rows", [0, 1])
def test_small_frames(rows):
    """Frames without rows, or with one, release the full declared domain."""
    df = _rows()[:rows].blowfish.protect(POLICY, epsilon=1)

    assert len(df.blowfish.hist(["c", "x"], epsilon="1/2")) == 30
    assert df.blowfish.hist("x", epsilon="1/2")["count"].sum() == pytest.approx(rows)
    assert df.blowfish.count(epsilon=1)["count"].tolist() == [rows]


def test_a_domain_of_one_cell():
    """One cell is exact and free: everyone knows it."""
    policy = bf.Policy(Domain((integers("x", 5, 5),)))
    df = pd.DataFrame({"x": [5, 5]}).blowfish.protect(policy, epsilon=1)

    assert df.blowfish.hist("x", epsilon=1)["count"].tolist() == [2.0]
    assert df.blowfish.budget.spent == 0


def test_columns_of_views_and_blocks():
    """Columns that are views into one array, Fortran or C, read-only or not, are counted as they are."""
    policy = bf.Policy(
        Domain(tuple(integers(name, 0, 99) for name in "pqr")), secrets={n: bf.public() for n in "pqr"}
    )
    numbers = np.arange(60).reshape(20, 3)
    numbers.flags.writeable = False
    frames = [
        pd.DataFrame(numbers, columns=list("pqr")),
        pd.DataFrame(np.asfortranarray(numbers), columns=list("pqr")),
    ]
    frames += [frame.iloc[::2] for frame in frames] + [pd.DataFrame(numbers[:, ::-1], columns=list("rqp"))]

    for frame in frames:
        released = frame.blowfish.protect(policy, epsilon=1).blowfish.hist("q", epsilon=1)
        assert released["count"].tolist() == np.bincount(frame["q"], minlength=100).tolist()


def test_subclasses_keep_their_class():
    """A subclass of DataFrame comes back as it went in."""

    class Mine(pd.DataFrame):
        @property
        def _constructor(self):
            return Mine

    df = Mine(_rows()).blowfish.protect(POLICY, epsilon=1)

    assert isinstance(df, Mine)
    assert len(df.blowfish.hist("x", epsilon="1/4")) == 10


def test_clip_is_part_of_the_binding():
    """Clipped rows are counted at the ends, and the receipt says that they were."""
    raw = _rows().assign(x=[-5, 1, 4, 1, 50, 9])
    policy = bf.Policy(DOMAIN, secrets={name: bf.public() for name in DOMAIN.columns})

    with pytest.raises(OutsideDomainError):
        raw.blowfish.protect(policy, epsilon=1)
    df = raw.blowfish.protect(policy, epsilon=1, outside="clip")
    released = df.blowfish.hist("x", epsilon=1)

    assert released["count"].tolist() == [1, 2, 0, 0, 1, 0, 0, 0, 0, 2]
    assert released.blowfish.receipt["outside"] == "clip"


def test_units():
    """One row a unit is checked at protect and told in the receipt."""
    raw = _rows()

    df = raw.blowfish.protect(POLICY, epsilon=1, unit="note")

    assert df.blowfish.hist("x", epsilon="1/4").blowfish.receipt["unit"] == "note"
    with pytest.raises(FrameError):
        raw.assign(note="p").blowfish.protect(POLICY, epsilon=1, unit="note")
    with pytest.raises(FrameError):
        raw.blowfish.protect(POLICY, epsilon=1, unit="nobody")


SPEND = """
import pickle, sys, warnings
warnings.simplefilter("error")
import pandas as pd
import pandas_blowfish as bf
with open(sys.argv[1], "rb") as file:
    df = pickle.load(file)
try:
    for _ in range(int(sys.argv[2])):
        df.blowfish.hist("x", epsilon="1/10")
    print("spent", df.blowfish.hist("x", epsilon="1/10", name="shared")["count"].tolist())
except bf.BlowfishError as error:
    print(type(error).__name__)
"""


def _elsewhere(frame, times, tmp_path):
    """Start another Python that unpickles the frame and spends."""
    place = tmp_path / "frame.pickle"
    place.write_bytes(pickle.dumps(frame))
    command = [sys.executable, "-c", SPEND, str(place), str(times)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_another_process_shares_a_file_ledger(tmp_path):
    """A pickled frame spends the same budget elsewhere, reads names back, and cannot overspend it."""
    df = _protected(ledger=tmp_path / "budget.db", dataset="rows")
    named = df.blowfish.hist("x", epsilon="1/10", name="shared")

    together = [_elsewhere(df, times, tmp_path) for times in (3, 2)]
    said = [process.communicate(timeout=60)[0].strip() for process in together]
    greedy = _elsewhere(df, 9, tmp_path).communicate(timeout=60)[0].strip()

    assert said == [f"spent {named['count'].tolist()}"] * 2
    assert greedy == "InsufficientBudgetError"
    assert df.blowfish.budget.remaining == 0
    assert df.blowfish.ledger.verify()


def test_another_process_has_no_ledger_in_memory(tmp_path):
    """A frame protected in memory is refused where that memory is not."""
    df = _protected()

    assert _elsewhere(df, 1, tmp_path).communicate(timeout=60)[0].strip() == "LedgerNotFoundError"
    assert df.blowfish.budget.spent == 0


def _in_child(action):
    """Return what an action says in a forked child."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        try:
            said = str(action())
        except BaseException as error:  # noqa: BLE001
            said = type(error).__name__
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        return pipe.read()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="os.fork does not exist on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child(tmp_path):
    """A child shares a file's budget, with noise of its own; the parent's memory is not its to spend."""
    filed, held = _protected(ledger=tmp_path / "budget.db", dataset="rows"), _protected()
    filed.blowfish.hist("x", epsilon="1/4")

    spent = _in_child(lambda: filed.blowfish.hist("x", epsilon="1/4").blowfish.receipt["spent"])
    refused = _in_child(lambda: held.blowfish.hist("x", epsilon="1/4"))
    again = _in_child(lambda: held.blowfish.protect(POLICY, epsilon=1))

    assert spent == "1/2"
    assert refused == again == "LedgerNotFoundError"
    assert filed.blowfish.budget.spent == Fraction(1, 2)
    assert held.blowfish.budget.spent == 0


def test_a_lost_ledger_is_never_replaced(tmp_path):
    """Without its file a protected frame is refused, by the verbs and by protect itself."""
    book = tmp_path / "budget.db"
    df = _protected(ledger=book, dataset="rows")
    df.blowfish.ledger.close()
    for part in tmp_path.iterdir():
        part.unlink()

    for ask in (lambda: df.blowfish.hist("x", epsilon="1/4"), lambda: df.blowfish.protect(POLICY, epsilon=1)):
        with pytest.raises(LedgerNotFoundError):
            ask()
    with pytest.raises(LedgerNotFoundError):
        df.blowfish.protect(POLICY, epsilon=1, dataset="rows", ledger=book)
    assert list(tmp_path.iterdir()) == []


def test_file_ledgers_need_a_name(tmp_path):
    """Without a name the rows could not be found again."""
    book = tmp_path / "budget.db"

    with pytest.raises(ArgumentError, match="dataset"):
        _rows().blowfish.protect(POLICY, epsilon=1, ledger=book)

    assert not book.exists()


def test_relative_ledgers_are_kept_absolute(tmp_path, monkeypatch):
    """A frame finds its ledger from any working directory."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    df = _protected(ledger="budget.db", dataset="rows")

    monkeypatch.chdir(tmp_path / "elsewhere")

    assert df.attrs["blowfish"]["ledger"] == str(tmp_path / "budget.db")
    assert df.blowfish.budget.total == 1


def test_refused_rows_leave_no_trace(tmp_path):
    """Rows outside the domain bind nothing: no file, no dataset."""
    book = tmp_path / "budget.db"

    with pytest.raises(OutsideDomainError):
        _rows().assign(x=99).blowfish.protect(POLICY, epsilon=1, ledger=book, dataset="rows")

    assert not book.exists()
    df = _protected(ledger=book, dataset="rows")
    assert df.blowfish.budget.total == 1
