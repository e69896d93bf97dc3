"""Text is parsed within limits and never evaluated, whoever reads it."""

import ast

import pytest

from pandas_blowfish.exact.syntax import MAX_DEPTH, TextReader, UnreadableTextError, parse_text


class Reader(TextReader):
    """Knows constants and lists alone."""

    def refuse(self, node, problem, fix=""):  # noqa: ARG002, D102
        return ValueError(f"{problem} {fix}")

    def other(self, node, depth):  # noqa: ARG002, D102
        raise self.refuse(node, f"no {type(node).__name__}")


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("-0.5", -0.5), ("+3", 3), ("'a'", "a"), ("True", True), ("[1, (2, 'b')]", [1, (2, "b")])],
)
def test_plain_literals_are_read(text, value):
    """Constants, signed numbers, lists and tuples mean what they mean in Python."""
    assert Reader().literal(parse_text(text)) == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("None", "no Constant"),
        ("b'a'", "no Constant"),
        ("-(-1)", "no UnaryOp"),
        ("-True", "no UnaryOp"),
        ("f(1)", "no Call"),
        ("{1: 2}", "no Dict"),
        ("9" * 2_000, "too many digits"),
        ("[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2), "too deep"),
    ],
)
def test_what_a_reader_does_not_know_is_refused_by_its_own_error(text, problem):
    """Everything else goes to the subclass, and beyond the limits to its error."""
    with pytest.raises(ValueError, match=problem):
        Reader().literal(parse_text(text))


@pytest.mark.parametrize("text", ["", "1 +", "x = 1", "import os", "(" * 5_000, "\ud800", "a\0b"])
def test_what_is_no_expression_cannot_be_read(text):
    """One error, whatever Python raises of it."""
    with pytest.raises(UnreadableTextError):
        parse_text(text)


def test_a_syntax_error_names_its_place():
    """Line and column, from 1, for readers that show it."""
    with pytest.raises(UnreadableTextError) as error:
        parse_text("[1,\n )")

    assert (error.value.line, error.value.column) == (2, 2)
    assert error.value.problem


def test_nothing_is_evaluated(tmp_path):
    """A call is a tree, and odd escapes warn nobody."""
    tree = parse_text(f"open({str(tmp_path / 'made')!r}, 'w')")

    assert isinstance(tree, ast.Call)
    assert not (tmp_path / "made").exists()
    assert Reader().literal(parse_text(r"'\d'")) == r"\d"
