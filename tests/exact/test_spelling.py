"""Other spellings of filters, and what to write instead of the rest."""

import ast

import pytest

from pandas_blowfish.exact.spelling import advise, advise_text, plain_spelling


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a between -1 and 'b and c'", "a.between(-1, 'b and c')"),
        ("x == 'a between 1 and 2' & y not missing", "x == 'a between 1 and 2' and y.notna()"),
        ("between > 3 and missing == 1", "between > 3 and missing == 1"),
        ("a > 1 and not missing", "a > 1 and not missing"),
        ("(a > 1) | (b < 2)", "(a > 1) or (b < 2)"),
        ("a && b || c", "a && b || c"),
        ('a == "x | y"', 'a == "x | y"'),
    ],
)
def test_only_what_is_meant_is_respelt(text, plain):
    """Text in quotes, and columns of these names, are left alone."""
    assert plain_spelling(text) == plain


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("age = 3", "write =="),
        ("age <> 3", "!="),
        ("a > 1 && b", "and, or"),
        ("!(a > 1)", "write not"),
        ("a > 1 AND b", "small letters"),
        ("a IS NULL", "is missing"),
        ("name LIKE 'a%'", "startswith"),
        ("age between 3", "between 18 and 64"),
        ("a >", ""),
    ],
)
def test_text_that_cannot_be_read_is_advised(text, fix):
    """A spelling of another language names ours."""
    assert fix in advise_text(text)
    assert bool(fix) == bool(advise_text(text))


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("age ** 2 > 4", "work out the constant"),
        ("age + income > 3", "work out the constant"),
        ("name.str.len() > 3", "list the values"),
        ("name.contains('a')", "list the values"),
        ("df.age > 3", "write age"),
        ("df['age'] > 3", "name alone"),
        ("'age' == 3", "no quotes"),
        ("age is 3", "write =="),
        ("age.gt(3)", "write the comparison"),
        ("day.dt.year == 2026", "compare the column"),
        ("abs(age) > 3", "functions"),
        ("age.isna", "call it"),
        ("age.round() > 3", "of methods there are"),
        ("3 if a else 4", ""),
    ],
)
def test_parts_without_a_meaning_are_advised(text, fix):
    """What pandas users write, and what to write instead."""
    found = advise(ast.parse(text, mode="eval").body)

    assert fix in found
    assert bool(fix) == bool(found)
