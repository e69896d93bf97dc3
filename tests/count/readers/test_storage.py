"""How columns are kept is told by dtype, and whatever an engine raises is told without its words."""

import pytest

from pandas_blowfish.count.readers.dialect import fetched
from pandas_blowfish.count.readers.storage import absent, answered, storage_of
from pandas_blowfish.errors import EngineError, FrameError
from pandas_blowfish.policy.domain import from_dict, integers

pa = pytest.importorskip("pyarrow")
nw = pytest.importorskip("narwhals")


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        (nw.Int8(), "integer"),
        (nw.UInt64(), "integer"),
        (nw.Float32(), "float"),
        (nw.Float64(), "float"),
        (nw.Decimal(10, 2), "float"),
        (nw.Boolean(), "bool"),
        (nw.String(), "text"),
        (nw.Categorical(), "text"),
        (nw.Enum(["a"]), "text"),
        (nw.Date(), "instant"),
        (nw.Datetime("ms"), "instant"),
        (nw.Datetime("ns", "UTC"), "instant"),
    ],
    ids=str,
)
def test_storages_are_told_by_dtype(dtype, kind):
    """Numbers, truth, text and instants, with their width, unit and zone."""
    kept = storage_of("x", dtype)

    assert (kept.name, kept.kind) == ("x", kind)
    assert kept.narrow == (dtype == nw.Float32)
    assert kept.wide == (dtype in (nw.UInt64, nw.Decimal))
    assert kept.zone == (kind == "instant" and dtype != nw.Date and dtype.time_zone is not None)


@pytest.mark.parametrize(
    "dtype", [nw.List(nw.Int64), nw.Time(), nw.Duration(), nw.Binary(), nw.Object()], ids=str
)
def test_what_holds_no_declared_value_is_refused(dtype):
    """The column is named, and what to do."""
    with pytest.raises(FrameError, match=r"'x' is stored as[\s\S]*cast it in the engine"):
        storage_of("x", dtype)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_missing_is_null_or_not_a_number(engine, scan):
    """Of floats both are missing, elsewhere null is."""
    nan = float("nan")
    table = scan(engine, pa.table({"row": [0, 1, 2], "f": [1.0, nan, None], "s": ["a", None, "nan"]}))
    read = [integers("row", 0, 9, nullable=True), from_dict("f", {"type": "float", "nullable": True})]
    frame = table.steps([*read, from_dict("s", {"type": "category", "values": ["a"]})], clip=False).frame
    made = [
        nw.when(absent(table.storage(name))).then(nw.lit(1)).otherwise(nw.lit(0)).alias(name)
        for name in ("f", "s")
    ]
    found = fetched(engine, frame.select("row", *made))
    rows = sorted(zip(found["row"], found["f"], found["s"], strict=True))

    assert [list(map(int, each)) for each in rows] == [[0, 0, 0], [1, 1, 1], [2, 1, 0]]


def _raiser(error):
    def ask():
        raise error

    return ask


def test_answers_hide_everything_but_a_class():
    """Errors of ours pass; those of an engine lose their text, and are neither cause nor context."""
    for error in (ValueError("SECRETVALUE"), BaseException("SECRETVALUE")):
        with pytest.raises(EngineError) as caught:
            answered("polars", "counted", _raiser(error))
        assert "SECRETVALUE" not in str(caught.value)
        assert caught.value.kind == type(error).__name__
        assert caught.value.__cause__ is caught.value.__context__ is None
    assert answered("polars", "counted", lambda: 5) == 5
    for error in (FrameError("own words", fix="none."), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            answered("polars", "counted", _raiser(error))
