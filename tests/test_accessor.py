"""df.blowfish and bf.of: stateless, typed, and readable in a notebook."""

import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import (
    ArgumentError,
    ArgumentTypeError,
    FrameError,
    NotProtectedError,
    NotReleasedError,
    UnknownVerbError,
    WrongRoleError,
)


def _patients():
    return bf.datasets.patients(50).blowfish.protect(bf.datasets.patients_policy(), epsilon=2)


def test_of_is_the_accessor():
    """bf.of(df) does what df.blowfish does, for type checkers."""
    df = _patients()

    released = bf.of(df).hist("sex", epsilon=1)

    assert isinstance(bf.of(df), bf.BlowfishAccessor)
    assert bf.of(df).budget == df.blowfish.budget
    assert bf.of(released).receipt == released.blowfish.receipt


@pytest.mark.parametrize("what", [None, 5, "df", [1], pd.Series([1])], ids=repr)
def test_of_asks_for_a_frame(what):
    """What is no DataFrame is a typed error at once."""
    with pytest.raises(FrameError):
        bf.of(what)


def test_views():
    """Protected frames show dataset, budget and policy; releases their receipt; others what to do."""
    df = _patients()
    df.blowfish.hist("sex", epsilon=1)

    shown = repr(df.blowfish)

    assert "spent 1 of 2, remaining 1" in shown
    assert "[##########----------]" in shown
    assert "threshold" in shown
    assert repr(df.blowfish.hist("sex", epsilon=1).blowfish).startswith("Release")
    assert "not protected" in repr(pd.DataFrame().blowfish)
    assert "<table" in df.blowfish._repr_html_()


def test_views_escape_names():
    """A dataset's name is text, also in a notebook."""
    df = bf.datasets.patients(5).blowfish.protect(
        bf.datasets.patients_policy(), epsilon=1, dataset="<b>bold</b>", ledger=bf.Ledger()
    )

    assert "<b>" not in df.blowfish._repr_html_()


def test_plain_frames_are_refused():
    """Every question about a frame that is not protected, or not released, is a typed error."""
    plain = pd.DataFrame({"age": [1]})

    for ask in ("policy", "budget", "ledger", "plan"):
        with pytest.raises(NotProtectedError):
            getattr(plain.blowfish, ask)
    with pytest.raises(NotProtectedError):
        plain.blowfish.hist("age", epsilon=1)
    with pytest.raises(NotProtectedError):
        plain.blowfish.count(epsilon=1)
    with pytest.raises(NotReleasedError):
        _ = plain.blowfish.receipt
    with pytest.raises(NotReleasedError):
        plain.blowfish.interval()


VERBS = {"hist", "cumhist", "quantile", "range", "marginal", "workload", "count", "sum", "mean", "logsum"}
VERBS |= {
    "geomean",
    "kmeans",
    "where",
    "groupby",
    "value_counts",
    "size",
    "median",
    "crosstab",
    "mode",
    "top",
}
VERBS |= {"var", "std", "cov", "corr", "describe", "agg"}
ROWS = {"protect"}
PROTECTED = VERBS | {"plan", "policy", "budget", "ledger", "report", "native", "protect"}
RELEASED = {"hist", "cumhist", "quantile", "range", "receipt", "interval", "assign", "plot"}
RELEASED |= {"median", "mean", "var", "std", "value_counts", "top", "mode", "marginal", "kmeans"}


def test_completion_shows_what_can_be_called():
    """Of each role what it has, and no more; filters and groups stay protected rows."""
    df = _patients()
    released = df.blowfish.hist("sex", epsilon=1)
    asked = [
        (bf.datasets.patients(5).blowfish, ROWS),
        (df.blowfish, PROTECTED),
        (released.blowfish, RELEASED),
    ]
    asked += [(df.blowfish.where("age < 18").groupby("sex"), PROTECTED), (bf.of(released), RELEASED)]

    for accessor, names in asked:
        assert {each for each in dir(accessor) if not each.startswith("_")} == names
        assert isinstance(accessor, bf.BlowfishAccessor)
        for name in ROWS | PROTECTED | RELEASED | {"nothing"}:
            assert hasattr(accessor, name) == (name in names)


@pytest.mark.parametrize(
    ("role", "name", "error", "sentence"),
    [
        ("plain", "hist", NotProtectedError, "this frame is not protected."),
        ("plain", "budget", NotProtectedError, "df.blowfish.protect(policy, epsilon=1)"),
        ("plain", "interval", NotReleasedError, "this frame carries no receipt."),
        ("protected", "interval", NotReleasedError, "this frame is protected rows, not a release"),
        ("protected", "receipt", NotReleasedError, "such as df.blowfish.hist(...)"),
        ("released", "budget", NotProtectedError, "this frame is a release, not protected rows."),
        ("released", "workload", NotProtectedError, "ask the frame protect() returned."),
        ("released", "protect", WrongRoleError, "this frame is a release, not rows."),
        ("plain", "histogram", UnknownVerbError, "'UnprotectedFrame' object has no attribute 'histogram'"),
        ("protected", "_nothing", AttributeError, "'ProtectedFrame' object has no attribute '_nothing'"),
    ],
)
def test_a_wrong_call_says_which_role_the_frame_has(role, name, error, sentence):
    """By its sentence, as a typed error that `hasattr` takes for a missing attribute."""
    df = _patients()
    frames = {"plain": bf.datasets.patients(5), "protected": df, "released": df.blowfish.count(epsilon=1)}

    with pytest.raises(error) as caught:
        getattr(frames[role].blowfish, name)

    assert type(caught.value) is error
    assert sentence in str(caught.value)


def test_a_release_is_asked_without_what_only_a_new_one_can_take():
    """epsilon and columns are for protected rows; strategy, post and name measure; a typo stays a typo."""
    released = _patients().blowfish.hist("age", epsilon=1)

    for ask in (
        lambda: released.blowfish.hist("age", epsilon=1),
        lambda: released.blowfish.hist("age"),
        lambda: released.blowfish.quantile("age", [0.5], epsilon=1),
        lambda: released.blowfish.range("age", [(0, 17)]),
    ):
        with pytest.raises(NotProtectedError, match="this frame is a release"):
            ask()
    for stated in ({"strategy": "ordered"}, {"post": False}, {"name": "again"}):
        with pytest.raises(ArgumentError, match="earlier release"):
            released.blowfish.cumhist(**stated)
    with pytest.raises(ArgumentError, match=r"(?s)unexpected keyword argument 'bin'.*did you mean bins=\?"):
        released.blowfish.hist(bin=3)


def test_a_misspelt_argument_names_the_verb_and_what_was_meant():
    """`eps=` is a typed error before anything is charged, on frames, `plan` and `protect`."""
    df = _patients()
    calls = {
        "hist": lambda: df.blowfish.hist("age", eps=1),
        "quantile": lambda: df.blowfish.plan.quantile("age", 0.5, eps=1),
        "sum": lambda: df.blowfish.where("age > 17").groupby("sex").sum("age", eps=1),
        "protect": lambda: bf.protect(bf.datasets.patients(5), bf.datasets.patients_policy(), eps=1),
    }

    for verb, call in calls.items():
        with pytest.raises(ArgumentTypeError, match=rf"(?s)^{verb}\(\).*'eps'.*did you mean epsilon=\?"):
            call()
    with pytest.raises(ArgumentTypeError, match=r"(?s)hist\(\).*too many positional.*by name"):
        df.blowfish.hist("age", 1)
    assert df.blowfish.budget.spent == 0


def test_a_protected_frame_takes_its_public_number_of_rows():
    """So that a plan's call can be copied; any other number is refused before anything is charged."""
    df = _patients()
    plan = df.blowfish.plan.mean("age", epsilon=1, rows=50)

    released = df.blowfish.mean("age", epsilon=1, rows=50)

    assert released.blowfish.receipt["query"] == plan.call
    for verb in ("sum", "mean", "hist"):
        with pytest.raises(ArgumentError, match="not the public number of rows"):
            getattr(df.blowfish, verb)("age", epsilon=1, rows=51)
    assert df.blowfish.budget.spent == 1


def test_a_frame_that_loses_its_record_meanwhile_is_no_longer_protected():
    """The role is that of the moment; what is asked later still fails closed, by its own error."""
    df = _patients()
    asked, released = df.blowfish, df.blowfish.hist("sex", epsilon=1)
    later = released.blowfish

    df.attrs.clear()
    released.attrs.clear()

    for name in ("budget", "policy", "plan", "ledger"):
        with pytest.raises(NotProtectedError):
            getattr(asked, name)
    with pytest.raises(NotProtectedError):
        asked.hist("sex", epsilon=1)
    with pytest.raises(NotReleasedError):
        _ = later.receipt


def test_a_release_is_no_protected_frame_and_the_reverse():
    """A release cannot be queried, a protected frame has no receipt."""
    df = _patients()
    released = df.blowfish.hist("sex", epsilon=1)

    with pytest.raises(NotProtectedError):
        released.blowfish.hist("sex", epsilon=1)
    with pytest.raises(NotReleasedError):
        _ = df.blowfish.receipt
    assert df.blowfish.budget.spent == 1


def test_a_closed_dataset_looks_closed():
    """The budget and the view of a frame say that, and why, no more is charged; else neither does."""
    df = _patients()
    df.blowfish.hist("age", epsilon=2)
    assert df.blowfish.budget.closed is None
    assert "closed" not in repr(df.blowfish)

    df.blowfish.ledger.record_exact(df.attrs["blowfish"]["dataset"], bf.Count("age < 18"))

    assert "raise_budget" in df.blowfish.budget.closed
    assert f"\nclosed: {df.blowfish.budget.closed}\n" in repr(df.blowfish)


def test_report_is_the_page_of_this_dataset(tmp_path):
    """Asked of a frame, it needs no ledger and no name; unprotected frames are refused before writing."""
    df = _patients()
    ages = df.blowfish.hist("age", epsilon=1, name="ages")

    page = df.blowfish.report(tmp_path / "report.html", releases=[ages])

    assert page == tmp_path / "report.html"
    assert "its numbers are those that the ledger keeps" in page.read_text()
    with pytest.raises(NotProtectedError):
        pd.DataFrame().blowfish.report(tmp_path / "other.html")
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]
