"""Filters as people write them: other spellings made plain, and what to write instead of the rest.

Text in quotes is left alone. Never sees rows.
"""

from __future__ import annotations

import ast
import re

QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
VALUE = rf"(?:{QUOTED}|[-+]?[\w.]+)"
NAME = r"\b(?!(?:and|or|not|in|is)\b)[^\W\d]\w*"
PLAIN = re.compile(
    rf"""(?P<quoted>{QUOTED})
    | (?P<column>{NAME})\s+(?P<outside>not\s+)?between\s+(?P<low>{VALUE})\s+and\s+(?P<high>{VALUE})
    | (?P<there>{NAME})\s+not\s+missing\b
    | (?P<sign>(?<![&|])[&|](?![&|]))""",
    re.VERBOSE,
)
# what a text that is no expression of Python may mean, once its quoted text is gone
INSTEAD = [
    (r"(?<![<>=!])=(?!=)", "write == to compare"),
    (r"<>", "write != instead of <>"),
    (r"&&|\|\|", "write and, or instead of && and ||"),
    (r"!(?!=)", "write not instead of !"),
    (r"\b(?:AND|OR|NOT|IN|BETWEEN)\b", "write and, or, not, in, between in small letters"),
    (r"(?i)\bis\s+(?:not\s+)?null\b", "write is missing, or is not missing"),
    (r"(?i)\blike\b", "write name.startswith('...') or name.endswith('...')"),
    (r"\bbetween\b", "write age between 18 and 64, with constants"),
]
METHODS = {
    **dict.fromkeys(("eq", "ne", "gt", "ge", "lt", "le"), "write the comparison: age > 3, age == 3"),
    **dict.fromkeys(
        ("contains", "match", "fullmatch", "len", "lower", "upper", "strip", "get", "slice"),
        "list the values: name in ['...', '...'], or name.startswith('...')",
    ),
    **dict.fromkeys(
        ("year", "month", "day", "hour", "date", "quarter", "weekday", "dayofweek", "dt"),
        "compare the column: '2026-01-01' <= day and day < '2027-01-01'",
    ),
}
TWO_COLUMNS = "compare with constants; a hist of both columns counts their combinations"
METHODS_ALLOWED = ("isin", "between", "isna", "notna", "startswith", "endswith")


def plain_spelling(text: str) -> str:
    """Return a filter with `between`, `not missing`, & and | in Python's own spelling.

    Examples:
        >>> plain_spelling("age between 18 and 64 & sex == 'a & b'")
        "age.between(18, 64) and sex == 'a & b'"
        >>> plain_spelling("age not missing | age not between 0 and 9")
        'age.notna() or (not age.between(0, 9))'
    """

    def spell(match: re.Match[str]) -> str:
        if match["column"]:
            call = f"{match['column']}.between({match['low']}, {match['high']})"
            return f"(not {call})" if match["outside"] else call
        if match["there"]:
            return f"{match['there']}.notna()"
        if match["sign"]:
            return "and" if match["sign"] == "&" else "or"
        return match[0]

    return PLAIN.sub(spell, text)


def advise_text(text: str) -> str:
    """Return what to write instead of a text that cannot be read; "" where it is like nothing known.

    Examples:
        >>> advise_text("age = 3"), advise_text("name == 'a = b'")
        ('write == to compare', '')
    """
    bare = re.sub(QUOTED, "''", text)
    return next((fix for pattern, fix in INSTEAD if re.search(pattern, bare)), "")


def advise(node: ast.expr) -> str:
    """Return what to write instead of a part of a filter that has no meaning; "" for nothing better.

    Examples:
        >>> advise(ast.parse("df.age > 3", mode="eval").body)
        'write age, the name alone, instead of df.age'
    """
    for part in ast.walk(node):
        if isinstance(part, (ast.Attribute, ast.Call)) and (fix := _advise_method(part)):
            return fix
        if isinstance(part, ast.Subscript):
            return "write the column's name alone, in backticks if it is no plain word: `home town`"
        if isinstance(part, ast.BinOp):
            return "work out the constant, and compare the column itself with it: age > 2"
        if isinstance(part, (ast.Is, ast.IsNot)):
            return "write ==, or is missing, is not missing"
    ends = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
    if ends and all(isinstance(each, ast.Constant) for each in ends):
        return "a column's name has no quotes: age == 3, or backticks: `home town` == 3"
    return ""


def _advise_method(node: ast.Attribute | ast.Call) -> str:
    """Return what to write instead of a method, a function or an attribute."""
    called = node.func if isinstance(node, ast.Call) else node
    if isinstance(called, ast.Attribute):
        if called.attr in METHODS:
            return METHODS[called.attr]
        if isinstance(node, ast.Attribute) and node.attr in METHODS_ALLOWED:
            return f"call it: {node.attr}(...)"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return f"write {node.attr}, the name alone, instead of {node.value.id}.{node.attr}"
        return f"of methods there are {', '.join(METHODS_ALLOWED)}"
    return "functions are not called: compare the column itself with a constant"
