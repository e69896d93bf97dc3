"""Edited receipts and records raise typed errors, soon, from whatever reads them."""

import copy
import math
import time

import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.books.receipt import FORM, require_form
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
    "kmeans": OUT.kmeans("age", 2, epsilon=1),
}
WRONG = [None, True, "x", "", -1, 10**40, math.nan, math.inf, [], {}, ["x"], b"x", "1e999999999", "-1", "1/0"]


def _edited(release, **parts):
    frame = release.copy()
    frame.attrs["blowfish"] = {**copy.deepcopy(release.attrs["blowfish"]), **parts}
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

    for part in ("scale", "scale_low"):
        with pytest.raises(BlowfishError):
            _edited(release, **{part: scale}).blowfish.interval()
    if "scales" in release.attrs["blowfish"]:
        with pytest.raises(ReceiptError, match="scales"):
            _edited(release, scales=[scale] if scale is not None else scale).blowfish.interval()

    assert time.process_time() - begun < 0.3


@pytest.mark.parametrize("name", RELEASES)
def test_edited_receipts_raise_typed_errors(name, tmp_path):
    """Each part replaced by each wrong value: whatever is asked, an answer or a BlowfishError comes back."""
    release = RELEASES[name]
    for part in release.attrs["blowfish"]:
        for value in WRONG:
            frame = _edited(release, **{part: value})
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


@pytest.mark.parametrize("part", ["verb", "scale", "post", "coordinates", "units", "asked", "std_high"])
def test_pictures_of_edited_receipts(part):
    """A picture is drawn without bars, or refused."""
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    for release in RELEASES.values():
        if part in release.attrs["blowfish"]:
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
        require_form({"verb": "hist", "scale": "SECRETVALUE"})

    assert "`scale`" in str(refused.value)
    assert "SECRETVALUE" not in str(refused.value)
    assert "fix" in str(refused.value)


def test_receipts_of_every_verb_are_taken():
    """What verbs release is within the form, and every part of it that is known is looked at."""
    parts = {part for release in RELEASES.values() for part in release.attrs["blowfish"]}

    for release in RELEASES.values():
        require_form(release.attrs["blowfish"])
    assert parts - set(FORM) <= {"kind", "groups", "k"}


def test_deep_and_large_receipts_are_refused():
    """A receipt that holds itself, or very much, is not walked through."""
    deep = []
    for _ in range(100):
        deep = [deep]

    with pytest.raises(ReceiptError, match="deep"):
        require_form({"more": deep})
    with pytest.raises(ReceiptError, match="name"):
        require_form({1: 2})
