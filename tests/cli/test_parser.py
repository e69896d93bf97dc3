"""The command line is read whatever the order of its words."""

import pytest

from pandas_blowfish.cli import exits
from pandas_blowfish.cli.parser import make_parser, read_arguments

QUERY = "hist('age', epsilon=0.1)"


@pytest.mark.parametrize(
    "words",
    [
        ["a.csv", QUERY, "--policy", "p.yaml", "-o", "x.csv"],
        ["a.csv", "--policy", "p.yaml", QUERY, "-o", "x.csv"],
        ["--policy", "p.yaml", "-o", "x.csv", "a.csv", QUERY],
        ["--policy", "p.yaml", QUERY, "-o", "x.csv", "a.csv"],
    ],
)
def test_a_release_in_any_order(words):
    """The file and the queries may stand before, between and after the options."""
    given = read_arguments(["release", *words])

    assert (given.data, given.query, given.policy, given.out) == ("a.csv", [QUERY], "p.yaml", "x.csv")


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["dance"],
        ["plan"],
        ["plan", "p.yaml"],
        ["plan", "p.yaml", QUERY, "more"],
        ["release", "a.csv", "b.csv"],
        ["release", "a.csv", QUERY, "--outsid", "clip"],
        ["release", "a.csv", QUERY, "--outside", "ignore"],
        ["ledger", "b.db", "--rows"],
        ["plan", "p.yaml", QUERY, "--rows", "many"],
    ],
)
def test_what_no_command_takes(words):
    """Anything else is a usage error with a hint."""
    with pytest.raises(exits.UsageError, match="fix:"):
        read_arguments(words)


def test_help_tells_the_exit_codes():
    """Every code is documented where people look."""
    text = make_parser().format_help()

    assert all(meaning in text for meaning in exits.MEANINGS.values())
    assert all(f"\n  {code:<4} " in text for code in exits.MEANINGS)


@pytest.mark.parametrize("place", [0, 1, 3])
def test_json_may_stand_anywhere(place):
    """The common options are known before and after the command."""
    words = ["lint", "p.yaml", "--strict"]

    assert read_arguments([*words[:place], "--json", *words[place:]]).json


def test_help_says_when_an_answer_is_free(capsys):
    """Only the same query under the same name is."""
    assert "the same query under the same name is free" in make_parser().format_help()
    with pytest.raises(SystemExit):
        read_arguments(["release", "--help"])
    assert "the same query under the same name is free" in capsys.readouterr().out
