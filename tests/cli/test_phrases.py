"""The shell's words for what the library says to Python: each phrase is really said, none is left."""

from fractions import Fraction

import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish import errors
from pandas_blowfish.cli.phrases import SHELL, in_shell, message_in_shell

AGE = {"type": "integer", "min": 0, "max": 9}
ROWS = pd.DataFrame({"age": [1, 2, 3]})
WORDS = pd.DataFrame({"age": ["1", "x", None], "day": ["x", "y", "z"], "sex": ["F", "?", "M"]})
ZONED = pd.DataFrame({"age": [1], "day": pd.to_datetime(["2026-01-01"], utc=True), "sex": ["F"]})


def _policy(**columns):
    return bf.Policy.from_dict({"blowfish": 1, "columns": columns})


def _column(**stated):
    return lambda: _policy(x=stated)


def _sealed(rows=ROWS, **given):
    book = bf.Ledger()
    first = ROWS.blowfish.protect(_policy(age=AGE), epsilon=1, dataset="p", ledger=book)
    if rows is None:
        return first, book
    return rows.blowfish.protect(
        given.pop("policy", _policy(age=AGE)), dataset="p", ledger=book, **{"epsilon": 1, **given}
    )


def _taken():
    frame, _ = _sealed(None)
    frame.blowfish.hist("age", epsilon="0.1", name="x")
    frame.blowfish.hist("age", epsilon="0.2", name="x")


def _closed():
    policy = _policy(age={**AGE, "secret": {"secret": "partition", "groups": {"width": 5}}})
    book = bf.Ledger()
    frame = ROWS.blowfish.protect(policy, epsilon=1, dataset="p", ledger=book)
    frame.blowfish.hist("age", epsilon=1)
    book.record_exact("p", bf.Count("age == 1"))
    frame.blowfish.hist("age", epsilon="0.1")


RAISED = {
    "outside": lambda: ROWS.assign(age=99).blowfish.protect(_policy(age=AGE), epsilon=1),
    "facts": lambda: ROWS.blowfish.protect(
        _policy(age=AGE).with_facts([bf.Count("age < 3", answer=0)]), epsilon=1
    ),
    "budget": lambda: _sealed(None)[0].blowfish.hist("age", epsilon=2),
    "total": lambda: _sealed(epsilon=2),
    "policy": lambda: _sealed(policy=_policy(age={**AGE, "max": 8})),
    "unrecorded": lambda: _sealed(policy=_policy(age=AGE).with_facts([bf.Count("age < 3", answer=2)])),
    "stale": lambda: _sealed(ROWS.assign(age=3)),
    "name": _taken,
    "closed": _closed,
    "lost": lambda: bf.Ledger.at("no/such/ledger.db"),
    "dataset": lambda: _sealed(None)[1].budget("q"),
    "undeclared": lambda: _policy(age=AGE).plan.hist("x"),
    "unbounded": lambda: _policy(x={"type": "integer"}).plan.hist("x"),
    "instants": lambda: _policy(x={"type": "datetime"}).plan.mean("x"),
    "unbounded secret": _column(type="integer", secret={"secret": "partition", "groups": {"width": 5}}),
    "no values": _column(type="category"),
    "a value": _column(type="category", values="F"),
    "missing": _column(type="category", values=["F", None]),
    "distances": _column(type="category", values=["a", "b"], secret={"secret": "threshold", "theta": 1}),
    "repeats": lambda: ROWS.assign(who=1).blowfish.protect(_policy(age=AGE), epsilon=1, unit="who"),
    "several rows": lambda: ROWS.blowfish.protect(_policy(age=AGE), epsilon=1, max_rows=2),
    "two numbers": lambda: ROWS.assign(who=1).blowfish.protect(
        _policy(age=AGE).with_max_rows(2), epsilon=1, unit="who", max_rows=3
    ),
    "several rows and facts": lambda: ROWS.assign(who=1).blowfish.protect(
        _policy(age=AGE).with_facts([bf.Count("age < 3")]), epsilon=1, unit="who", max_rows=3
    ),
    "people": lambda: _sealed(None)[0].blowfish.count(epsilon=1, units=True),
    "no distance": _column(**AGE, secret={"secret": "threshold", "theta": 0}),
}


def _said():
    """Return what the library says in all these cases, as the lines that are told otherwise in the shell."""
    lines = []
    for name, act in RAISED.items():
        with pytest.raises(errors.BlowfishError) as raised:
            act()
        lines += [f"{name}:{line}" for line in str(raised.value).splitlines()[1:]]
    day = {"type": "datetime", "min": "2026-01-01", "max": "2026-12-31", "step": "1D"}
    policy = _policy(age=AGE, day=day, sex={"type": "category", "values": ["F"]})
    for rows in (WORDS, ZONED, ROWS):
        lines += bf.check(rows, policy)["status"].tolist()
    return lines


def test_every_phrase_is_really_said():
    """A phrase that the library no longer says would leave its Python in the shell."""
    said = "\n".join(_said())

    assert [phrase for phrase in SHELL if phrase not in said] == []


def test_no_python_is_left():
    """What comes out names no function of Python and no argument of one."""
    told = [in_shell(line) for line in _said()]

    for line in told:
        rest = line.replace("in Python Ledger.record_exact", "").replace("<=", "")
        assert not any(
            word in rest for word in ("bf.", "pd.", "pa.", "Check.", "Ledger.", "=", "protect(")
        ), line


def test_names_stay_as_they_are():
    """The first line holds names; only what is allowed and the fix are told in other words."""
    error = errors.UndeclaredColumnError("nullable=True", ["age"])

    assert message_in_shell(str(error)).splitlines()[0] == "column 'nullable=True' has no declared domain."
    assert "add it to the policy" in message_in_shell(str(error))
    spent = errors.InsufficientBudgetError("p", Fraction(2), Fraction(1), Fraction(1))
    assert "pandas-blowfish ledger FILE --dataset NAME --raise TOTAL --reason TEXT" in message_in_shell(
        str(spent)
    )
