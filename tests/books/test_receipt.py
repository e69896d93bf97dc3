"""Edited receipts and records raise typed errors, soon, from whatever reads them."""

import copy
import math
import time

import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.books.receipt import FORM, OLD_NAMES, TECHNICAL, read_receipt, translate, write_receipt
from pandas_blowfish.errors import BlowfishError, NotProtectedError, NotReleasedError, ReceiptError

POLICY = bf.datasets.patients_policy()
PROTECTED = bf.datasets.patients(100).blowfish.protect(POLICY, epsilon=100)
OUT = PROTECTED.blowfish
RELEASES = {
    "hist": OUT.hist("age", epsilon=1),
    "cumhist": OUT.cumhist("age", epsilon=1),
    "quantile": OUT.quantile("age", [0.5], epsilon=1),
    "sum": OUT.sum("age", epsilon=1),
    "mean": OUT.groupby("sex").mean("age", epsilon=1),
    "marginal": OUT.marginal(["sex", "region"], epsilon=1),
    "range": OUT.range("age", [(0, 17), (18, 64)], epsilon=1),
    "kmeans": OUT.kmeans("age", 2, epsilon=1),
}
WRONG = [None, True, "x", "", -1, 10**40, math.nan, math.inf, [], {}, ["x"], b"x", "1e999999999", "-1", "1/0"]


VERBS_OF_LOGARITHMS = {"logsum": "sum", "geomean": "mean"}  # as version 0.1 wrote them


def _edited(release, **parts):
    """Return a release with other facts in its receipt, each where receipts state it."""
    facts = translate(copy.deepcopy(release.attrs["blowfish"]))
    frame = release.copy()
    frame.attrs["blowfish"] = write_receipt({**facts, **parts})
    return frame


def _as_before(release):
    """Return a release with the receipt that version 0.1 would have given it."""
    old = {new: name for name, new in OLD_NAMES.items()}
    facts = translate(copy.deepcopy(release.attrs["blowfish"]))
    facts["verb"] = VERBS_OF_LOGARITHMS.get(facts["verb"], facts["verb"])
    frame = release.copy()
    frame.attrs["blowfish"] = {old.get(name, name): value for name, value in facts.items()}
    return frame


@pytest.mark.parametrize("name", RELEASES)
@pytest.mark.parametrize(
    "scale", ["1" + "0" * 40, "-1", "-1/3", "nan", "1e40", "1/0", 20, None, [], "9" * 5_000]
)
def test_scales_that_no_noise_has_are_refused_at_once(name, scale):
    """Intervals of them would hang, or mean nothing."""
    release = RELEASES[name]
    release.blowfish.interval()  # what is imported once does not count
    begun = time.process_time()

    for part in ("scale", "smallest_scale"):
        with pytest.raises(BlowfishError):
            _edited(release, **{part: scale}).blowfish.interval()
    if "column_scales" in release.attrs["blowfish"]["technical"]:
        scales = [scale] if scale is not None else scale
        with pytest.raises(ReceiptError, match="column_scales"):
            _edited(release, column_scales=scales).blowfish.interval()

    assert time.process_time() - begun < 0.3


@pytest.mark.parametrize("name", RELEASES)
def test_edited_receipts_raise_typed_errors(name, tmp_path):
    """Each part replaced by each wrong value: whatever is asked, an answer or a BlowfishError comes back."""
    release = RELEASES[name]
    facts = translate(release.attrs["blowfish"])
    for part in [*facts, "technical"]:
        for value in WRONG:
            frame = _edited(release, **{part: value})
            if part == "technical":
                frame.attrs["blowfish"]["technical"] = value
            asks = [
                lambda frame=frame: frame.blowfish.interval(),
                lambda frame=frame: frame.blowfish.receipt._repr_html_() + repr(frame.blowfish.receipt),
                lambda frame=frame: bf.save(frame, tmp_path / "r.csv"),
                lambda frame=frame: frame.blowfish.range("age", [(0, 5)], epsilon=1),
                lambda frame=frame: frame.blowfish.assign(pd.DataFrame({"age": [1]})),
                lambda frame=frame: repr(frame.blowfish) + frame.blowfish._repr_html_(),
            ]
            for ask in asks:
                try:
                    ask()
                except BlowfishError:
                    continue


@pytest.mark.parametrize(
    "part", ["verb", "scale", "post", "coordinates", "column_units", "total_columns", "std_high"]
)
def test_pictures_of_edited_receipts(part):
    """A picture is drawn without bars, or refused."""
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    for release in RELEASES.values():
        if part in translate(release.attrs["blowfish"]):
            for value in (None, "x", -1, [], {}):
                try:
                    _edited(release, **{part: value}).blowfish.plot()
                except BlowfishError:
                    continue
                finally:
                    plt.close("all")


@pytest.mark.parametrize("record", [None, "text", 5, [], {}, {"kind": "release"}, {"kind": "protected"}])
def test_records_that_are_none(record):
    """A frame whose record is something else is neither a release nor protected."""
    frame = RELEASES["hist"].copy()
    frame.attrs["blowfish"] = record

    with pytest.raises(NotReleasedError):
        frame.blowfish.interval()
    with pytest.raises(BlowfishError):
        frame.blowfish.hist("age", epsilon=1)
    assert isinstance(repr(frame.blowfish), str)


@pytest.mark.parametrize("part", ["ledger", "dataset", "policy"])
@pytest.mark.parametrize("value", [None, 5, "\ud800", "a\0b", "x" * 10_000, ["x"], {}])
def test_edited_records_of_protected_frames(part, value):
    """No path, name or fingerprint is looked up that could be none."""
    frame = PROTECTED.copy()
    frame.attrs["blowfish"] = {**PROTECTED.attrs["blowfish"], part: value}

    with pytest.raises(NotProtectedError):
        frame.blowfish.hist("sex", epsilon="0.01")


def test_parts_are_named_and_values_are_not_shown():
    """The message says which part is wrong and what it should be."""
    with pytest.raises(ReceiptError) as refused:
        read_receipt({"verb": "hist", "scale": "SECRETVALUE"})

    assert "`scale`" in str(refused.value)
    assert "SECRETVALUE" not in str(refused.value)
    assert "fix" in str(refused.value)


def test_receipts_of_every_verb_are_taken():
    """What verbs release is within the form, and every part of it that is known is looked at."""
    parts = set()
    for release in RELEASES.values():
        parts |= set(read_receipt(release.attrs["blowfish"]))

    assert parts - set(FORM) <= {"kind", "group_domains", "k"}


def test_receipts_have_no_part_that_a_reader_cannot_guess():
    """Whatever intervals are computed from is in one record; old names occur nowhere."""
    for release in RELEASES.values():
        receipt = release.attrs["blowfish"]
        assert not set(receipt) & {*TECHNICAL, *OLD_NAMES}
        assert set(receipt["technical"]) <= set(TECHNICAL)


@pytest.mark.parametrize("name", RELEASES)
def test_receipts_of_version_01_are_read_as_before(name):
    """The ledger vouches for them, and intervals, free questions, views and pictures are the same."""
    release = RELEASES[name]
    old = _as_before(release)

    assert "technical" not in old.attrs["blowfish"]
    assert read_receipt(old.attrs["blowfish"]) == read_receipt(release.attrs["blowfish"])
    assert OUT.ledger.verify(old.blowfish.receipt)
    assert repr(old.blowfish.receipt) == repr(release.blowfish.receipt)
    pd.testing.assert_frame_equal(old.blowfish.interval(), release.blowfish.interval())
    if name in ("hist", "cumhist"):
        for ask in (lambda own: own.range([(0, 17), (18, None)]), lambda own: own.quantile([0.5])):
            found, wanted = ask(old.blowfish), ask(release.blowfish)
            pd.testing.assert_frame_equal(found, wanted)
            assert found.attrs == wanted.attrs
            if name == "cumhist":  # sums of shaped counts have none
                pd.testing.assert_frame_equal(found.blowfish.interval(), wanted.blowfish.interval())
    if name == "kmeans":
        rows = pd.DataFrame({"age": [1, 50, 99]})
        assert old.blowfish.assign(rows).tolist() == release.blowfish.assign(rows).tolist()


def test_technical_facts_are_stated_in_one_place():
    """What stands beside the record under the same name is not read."""
    release = RELEASES["hist"]
    twice = release.copy()
    twice.attrs["blowfish"] = {
        **copy.deepcopy(release.attrs["blowfish"]),
        "lowest_shift": -1e9,
        "shift_low": -1e9,
    }

    pd.testing.assert_frame_equal(twice.blowfish.interval(), release.blowfish.interval())


def test_deep_and_large_receipts_are_refused():
    """A receipt that holds itself, or very much, is not walked through."""
    deep = []
    for _ in range(100):
        deep = [deep]

    with pytest.raises(ReceiptError, match="deep"):
        read_receipt({"more": deep})
    with pytest.raises(ReceiptError, match="name"):
        read_receipt({1: 2})


def test_a_receipt_shows_sums_in_the_units_of_their_columns():
    """Its view in 10,000, its facts in steps, as the ledger states them; one of before is read too."""
    df = bf.datasets.patients(100).blowfish.protect(POLICY, epsilon=1, ledger=bf.Ledger())
    receipt = df.blowfish.sum("income", epsilon="1/10").blowfish.receipt
    both = df.blowfish.mean(["income", "age"], epsilon="1/10").blowfish.receipt

    shown = receipt.show_parts()
    before = bf.release.Receipt(
        {key: value for key, value in receipt.items() if not key.endswith("_in_units")}
    )

    assert (receipt["sensitivity"], receipt["scale"]) == ("200", "2000")
    assert receipt["scale_in_units"] == {"income": "100000"}
    assert shown["noise"]["sensitivity"] == "10,000"
    assert shown["noise"]["scale"] == "100,000"
    assert shown["noise"]["typical_error"] == "+-141,000"
    assert shown["technical"]["lattice"] == "in steps of 50: sensitivity 200, scale 2,000"
    assert shown["cost"]["epsilon"] == "0.1"
    assert both.show_parts()["noise"]["sensitivity"] == "income 10,000, age 5"
    for stated in (receipt, both, before):
        assert df.blowfish.ledger.verify(stated)
        assert "sensitivity" in repr(stated)
    assert "10,000" in receipt._repr_html_()
    assert "1/10" not in repr(receipt)
