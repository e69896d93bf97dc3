"""protect binds rows, policy and budget to a name once, and finds them again."""

import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import NotProtectedError
from pandas_blowfish.policy.domain import Domain, integers
from pandas_blowfish.queries.protect import as_policy, is_name, opened

POLICY = bf.Policy(Domain((integers("x", 0, 4),)))
ROWS = pd.DataFrame({"x": [0, 1, 1, 4]})


def test_what_is_bound():
    """The first entry holds policy, number of rows, seal and choices; `opened` reads the policy back."""
    df = ROWS.blowfish.protect(POLICY, epsilon=1, dataset="rows", ledger=bf.Ledger(), outside="clip")

    source = opened(df.attrs["blowfish"])

    assert source.policy == POLICY
    binding = source.dataset.binding
    assert (binding["rows"], binding["outside"], binding["unit"], binding["named"]) == (4, "clip", None, True)
    assert set(binding["seal"]) == {"x"}


def test_a_ledger_in_memory_continues_its_frames():
    """Naming the frame's own ledger, but no dataset, continues its budget rather than opening another."""
    df = ROWS.blowfish.protect(POLICY, epsilon=1, ledger=bf.Ledger())
    df.blowfish.hist("x", epsilon="1/2")

    again = df.blowfish.protect(POLICY, epsilon=1, ledger=df.blowfish.ledger)

    assert again.attrs == df.attrs
    assert len(df.blowfish.ledger.entries) == 2


@pytest.mark.parametrize(
    ("value", "good"), [("a", True), ("é 1", True), ("", False), (" ", False), (5, False), ("a\0", False)]
)
def test_names(value, good):
    """A name is text that can be written."""
    assert is_name(value) == good
    assert not is_name("\ud800")


def test_policies_pass_through_and_records_fail_closed():
    """A policy is taken as it is; whatever is no record is refused."""
    assert as_policy(POLICY) is POLICY
    for record in (None, {}, [], "protected", {"kind": "release"}):
        with pytest.raises(NotProtectedError):
            opened(record)
