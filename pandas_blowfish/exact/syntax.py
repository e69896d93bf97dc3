"""Text in Python's spelling, parsed within limits and never evaluated: what every reader of text shares.

Filters, secret totals and whole calls are written so. A reader walks the tree, knows a few kinds of nodes,
and refuses all others by an error of its own. Never sees rows.
"""

from __future__ import annotations

import ast
import warnings
from abc import ABC, abstractmethod
from typing import Any, ClassVar

MAX_DEPTH = 12  # of lists in lists
MAX_BITS = 4_096  # of a whole number


class UnreadableTextError(Exception):
    """Text that is no expression; readers make an error of their own of it, which names what is allowed.

    Attributes:
        problem: Python's own message; "" where it is too deep, or has odd characters.
        line: Where, from 1.
        column: Where in the line, from 1.
    """

    def __init__(self, problem: str = "", line: int = 1, column: int = 1) -> None:
        self.problem, self.line, self.column = problem, line, column
        super().__init__(problem)


def parse_text(source: str) -> ast.expr:
    """Return the tree of the one expression that a text is.

    Examples:
        >>> type(parse_text("age >= 18")).__name__
        'Compare'

    Raises:
        UnreadableTextError: It is none.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd escapes in text
            tree = ast.parse(source, mode="eval").body
    except SyntaxError as error:
        raise UnreadableTextError(error.msg, error.lineno or 1, error.offset or 1) from None
    except (ValueError, RecursionError, MemoryError, OverflowError):
        raise UnreadableTextError from None
    return tree


class TextReader(ABC):
    """Walks the tree of one text: plain constants and lists of them are read here, the rest by subclasses."""

    constants: ClassVar[tuple[type, ...]] = (str, int, float, bool)

    @abstractmethod
    def refuse(self, node: ast.expr, problem: str, fix: str = "") -> Exception:
        """Return the error for a node that has no meaning here."""

    @abstractmethod
    def other(self, node: ast.expr, depth: int) -> Any:
        """Return what a node stands for that is no plain constant or list, or raise by `refuse`."""

    def literal(self, node: ast.expr, depth: int = 0) -> Any:
        """Return what a literal stands for: a constant, a signed number, a list or a tuple."""
        if depth > MAX_DEPTH:
            raise self.refuse(node, "lists too deep in lists", f"at most {MAX_DEPTH} deep.")
        if isinstance(node, ast.Constant) and type(node.value) in self.constants:
            if type(node.value) is int and node.value.bit_length() > MAX_BITS:
                raise self.refuse(node, "a number with too many digits", "write a smaller one.")
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            value: Any = node.operand.value if isinstance(node.operand, ast.Constant) else None
            if type(value) in (int, float):
                return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, (ast.List, ast.Tuple)):
            found = [self.literal(each, depth + 1) for each in node.elts]
            return found if isinstance(node, ast.List) else tuple(found)
        return self.other(node, depth)
