"""Filters written as text: parsed into cells that match, never evaluated. Never sees rows.

A column against constants, chained comparisons, `in`, `between`, `and` / `or` / `not`, backticks for awkward
names, `@name` for a variable; `is missing`, and the methods isin, between, isna, notna, startswith, endswith.
A missing value matches `is missing` alone, and no comparison, not even a negated one.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_blowfish.errors import ArgumentError, DomainTooLargeError, ExpressionError
from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.exact.spelling import TWO_COLUMNS, advise, advise_text, plain_spelling
from pandas_blowfish.exact.syntax import TextReader, UnreadableTextError, parse_text
from pandas_blowfish.policy.attribute import Attribute, Grid, Values
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.domain import Domain

Mask = NDArray[np.bool_]
MAX_NODES = 10_000
MAX_CLASSES = 3_000  # combinations of classes of cells that a filter may have
MAX_TEXT = 200_000
# what is not plain Python: text in quotes is left alone, `name` and @name are replaced, a comment is refused
MARKS = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`([^`]+)`|@([A-Za-z_]\w*)|#""", re.DOTALL)
DATE = re.compile(r"\b\d{1,4}([-/.])\d{1,2}\1\d{1,4}\b")
_NEGATED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
_NEGATED |= {"in": "not in", "not in": "in"}
_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
_NAMES: dict[type[ast.cmpop], str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "=="}
_NAMES |= {ast.NotEq: "!=", ast.In: "in", ast.NotIn: "not in"}
_METHODS = {"isna": 0, "isnull": 0, "notna": 0, "notnull": 0, "isin": 1, "between": 2}  # and their constants
_STARTS = {"startswith": 1, "endswith": 1}
_METHODS |= _STARTS
_EXAMPLES = {each: f"age.{each}()" for each in ("isna", "isnull", "notna", "notnull")}
_EXAMPLES |= {"isin": "age.isin([3, 4])", "between": "age.between(18, 64)"}
_EXAMPLES |= {each: f"name.{each}('ab')" for each in _STARTS}
_INCLUSIVE = {"both": (">=", "<="), "left": (">=", "<"), "right": (">", "<="), "neither": (">", "<")}
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True, eq=False)
class Atom:
    """One column's cells that match: missing, the last cell of a nullable column, if that is asked for."""

    column: str
    cells: Mask


@dataclass(frozen=True, eq=False)
class Junction:
    """All (or any) of several conditions."""

    every: bool
    parts: tuple[Condition, ...]


Condition = Atom | Junction


def parse(text: Any, domain: Domain, variables: Mapping[str, Any]) -> Condition:
    """Return the condition an expression states about the cells of a domain.

    Args:
        text: The expression, such as "age >= 18 and sex == 'F'".
        domain: The declared cells.
        variables: What `@name` stands for.
    """
    if not isinstance(text, str) or not text.strip():
        raise ExpressionError(text, "not an expression")
    if len(text) > MAX_TEXT:
        raise ExpressionError(text[:40] + "...", "it is too long")
    plain, columns, constants = _readable(text)
    try:
        tree = parse_text(plain_spelling(plain))
        if sum(1 for _ in ast.walk(tree)) > MAX_NODES:
            raise ExpressionError(text[:40] + "...", "it is too long")
        return _ConditionReader(text, domain, variables, columns, constants).condition(tree, positive=True)
    except (UnreadableTextError, UnicodeError, RecursionError, MemoryError):
        raise ExpressionError(text, "it cannot be read", advise_text(text)) from None


def holds(condition: Condition, cells: Cells) -> Mask:
    """Tell for which of some cells a condition holds."""
    if isinstance(condition, Atom):
        return np.asarray(
            condition.cells[np.where(cells.absent, 0, cells.codes[condition.column])] & ~cells.absent
        )
    parts = [holds(part, cells) for part in condition.parts]
    return np.asarray(np.logical_and.reduce(parts) if condition.every else np.logical_or.reduce(parts))


def columns_of(condition: Condition) -> list[str]:
    """Return the columns a condition speaks of, in order of appearance."""
    if isinstance(condition, Atom):
        return [condition.column]
    found = [column for part in condition.parts for column in columns_of(part)]
    return list(dict.fromkeys(found))


@dataclass(frozen=True, eq=False)
class _ConditionReader(TextReader):
    """Walks one expression; negations are pushed down to the comparisons."""

    text: str
    domain: Domain
    variables: Mapping[str, Any]
    columns: Mapping[str, str]  # what stands for a name in backticks
    names: Mapping[str, str]  # what stands for @name

    def condition(self, node: ast.expr, *, positive: bool) -> Condition:
        if isinstance(node, ast.BoolOp):
            every = isinstance(node.op, ast.And) == positive
            return Junction(every, tuple(self.condition(part, positive=positive) for part in node.values))
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr)):  # pandas' & and |
            every = isinstance(node.op, ast.BitAnd) == positive
            both = (node.left, node.right)
            return Junction(every, tuple(self.condition(part, positive=positive) for part in both))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert)):
            return self.condition(node.operand, positive=not positive)
        if isinstance(node, ast.Compare):
            return self._chain(node, positive)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return self._method(node, node.func, positive)
        column = self._column(node)
        if column is not None and self.domain[column].kind == "bool":
            return self._atom(column, "==" if positive else "!=", True)
        raise self.refuse(node, "a part is not a comparison of a column with a constant")

    def _chain(self, node: ast.Compare, positive: bool) -> Condition:
        ends = [node.left, *node.comparators]
        parts: list[Condition] = []
        for left, test, right in zip(ends, node.ops, ends[1:], strict=False):
            if isinstance(test, (ast.Is, ast.IsNot)) and self._is_missing(right):
                parts.append(self._missing(node, left, isinstance(test, ast.Is) == positive))
                continue
            name = _NAMES.get(type(test))
            if name is None:
                raise self.refuse(node, "only < <= > >= == != in, not in, is missing are understood")
            if not positive:
                name = _NEGATED[name]
            column = self._column(left)
            if column is not None:
                parts.append(self._atom(column, name, self.literal(right)))
                continue
            column = self._column(right)
            if column is None or name not in _FLIPPED:
                raise self.refuse(node, "a comparison needs a column on one side")
            parts.append(self._atom(column, _FLIPPED[name], self.literal(left)))
        return parts[0] if len(parts) == 1 else Junction(positive, tuple(parts))

    def _is_missing(self, node: ast.expr) -> bool:
        """Tell whether a part is the word missing, or None."""
        if isinstance(node, ast.Constant):
            return node.value is None
        return isinstance(node, ast.Name) and node.id == "missing"

    def _missing(self, node: ast.expr, column: ast.expr, wanted: bool) -> Atom:
        """Return the missing cell of a column, or all others."""
        name = self._column(column)
        if name is None:
            raise self.refuse(node, "only a column can be missing", "write age is missing")
        attribute = self.domain[name]
        if not attribute.nullable:
            fix = "leave this part out, or declare the column with nullable=True"
            raise ExpressionError(self.text, f"{name} has no missing values: it is not nullable", fix)
        return Atom(name, np.append(np.full(attribute.cells, not wanted), wanted))

    def _method(self, node: ast.Call, called: ast.Attribute, positive: bool) -> Condition:
        """Return the condition that a method of a column states."""
        owner = called.value
        if isinstance(owner, ast.Attribute) and owner.attr == "str" and called.attr in _STARTS:
            owner = owner.value  # as pandas writes it
        column, wanted = self._column(owner) if called.attr in _METHODS else None, _METHODS.get(called.attr)
        if column is None or wanted is None:
            raise self.refuse(node, "a part is not a comparison of a column with a constant")
        given = [self.literal(each) for each in node.args]
        named = {each.arg: self.literal(each.value) for each in node.keywords}
        if len(given) != wanted or (set(named) - {"inclusive"} if called.attr == "between" else named):
            many = ["no constants", "one constant", "two constants"][wanted]
            raise self.refuse(node, f"{called.attr} takes {many}", f"write {_EXAMPLES[called.attr]}")
        if not wanted:
            return self._missing(node, owner, (called.attr in ("isna", "isnull")) == positive)
        if called.attr == "between":
            return self._between(node, column, given, named.get("inclusive", "both"), positive)
        if called.attr == "isin":
            return self._atom(column, "in" if positive else "not in", given[0])
        return self._starts(node, column, called.attr, given[0], positive)

    def _between(
        self, node: ast.expr, column: str, given: list[Any], inclusive: Any, positive: bool
    ) -> Junction:
        """Return what lies between two constants, ends included as in pandas."""
        tests = _INCLUSIVE.get(inclusive) if isinstance(inclusive, str) else None
        if tests is None:
            raise self.refuse(node, "inclusive is unknown", "write inclusive='both', or left, right, neither")
        pairs = zip((test if positive else _NEGATED[test] for test in tests), given, strict=True)
        return Junction(positive, tuple(self._atom(column, test, constant) for test, constant in pairs))

    def _starts(self, node: ast.expr, column: str, method: str, given: Any, positive: bool) -> Atom:
        """Return the declared values that start, or end, with a text, or one of several."""
        attribute = self.domain[column]
        texts = tuple(given) if isinstance(given, (tuple, list)) else (given,)
        if not isinstance(attribute, Values) or not all(isinstance(each, str) for each in attribute.values):
            raise self.refuse(node, f"{column} does not hold text", "compare it with constants")
        if not texts or not all(isinstance(each, str) for each in texts):
            raise self.refuse(node, f"{method} takes text", f"write {_EXAMPLES[method]}")
        if attribute.other:  # some of the values that fall there may start so, and others not
            what = f"{column} has a cell for values that are not listed"
            raise self.refuse(node, what, f"write {_EXAMPLES['isin']}")
        found = np.array([getattr(str(each), method)(texts) for each in attribute.values], dtype=bool)
        if not found.any():
            word = "starts" if method == "startswith" else "ends"
            raise self.refuse(node, f"no declared value of {column} {word} so", attribute.describe())
        cells = found if positive else ~found
        return Atom(column, np.append(cells, False) if attribute.nullable else cells)

    def _column(self, node: ast.expr) -> str | None:
        if not isinstance(node, ast.Name) or node.id in self.names:
            return None
        name = self.columns.get(node.id, node.id)
        self.domain.select([name])  # raises for undeclared columns and those without cells
        return name

    def other(self, node: ast.expr, depth: int) -> Any:
        if isinstance(node, ast.Name) and node.id in self.names:
            name = self.names[node.id]
            if name not in self.variables:
                raise self.refuse(node, f"@{name} is not a variable here")
            return self.variables[name]
        if isinstance(node, ast.Name):
            fix = "write age is missing" if node.id == "missing" else TWO_COLUMNS
            raise self.refuse(node, "two columns cannot be compared, and text needs quotes", fix)
        if isinstance(node, ast.Set):
            return [self.literal(part, depth + 1) for part in node.elts]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            value = self.literal(node.operand, depth + 1)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return -value if isinstance(node.op, ast.USub) else value
        raise self.refuse(node, "constants are numbers, text, True, False, lists of them, or @name")

    def _atom(self, column: str, test: str, constant: Any) -> Atom:
        attribute = self.domain[column]
        try:
            if test in ("in", "not in"):
                if isinstance(constant, (str, bytes, Iterator)) or not isinstance(constant, Iterable):
                    raise ExpressionError(self.text, f"{test} needs a list")
                found = _members(attribute, constant)
                cells = ~found if test == "not in" else found
            else:
                cells = _matches(attribute, test, constant)
        except ExpressionError:
            raise
        except (ArgumentError, TypeError) as error:  # TypeError: an array without dimensions is no list
            hint = getattr(error, "fix", "") or getattr(error, "allowed", "")
            problem = f"{column}: {getattr(error, 'problem', error)}"
            raise ExpressionError(self.text, f"{problem} ({hint})" if hint else problem) from None
        return Atom(column, np.append(cells, False) if attribute.nullable else cells)

    def refuse(self, node: ast.expr, problem: str, fix: str = "") -> ExpressionError:
        return ExpressionError(self.text, problem, fix or advise(node))


def _members(attribute: Attribute, values: Iterable[Any]) -> Mask:
    """Return which cells hold one of some values."""
    found = np.zeros(attribute.cells, dtype=bool)
    for value in values:
        if isinstance(attribute, Grid) and attribute.single and not isinstance(value, Iterable):
            place = attribute.place(value)
            if place.denominator == 1 and attribute.low <= place <= attribute.high:
                found[int(place - attribute.low)] = True
        else:
            found |= _matches(attribute, "==", value)
    return found


def _matches(attribute: Attribute, test: str, constant: Any) -> Mask:
    """Return which value cells satisfy a comparison; refuse one that splits a cell."""
    if constant is None or isinstance(constant, (list, tuple, set, dict)):
        raise ArgumentError(attribute.name, "compared with something that is not one value")
    if isinstance(attribute, Grid):
        return _grid(attribute, test, constant)
    assert isinstance(attribute, Values)
    if attribute.numeric:
        place = attribute.place(constant)
        return np.array([_COMPARE[test](value, place) for value in attribute.positions], dtype=bool)
    code = attribute.code(constant)  # a misspelt category is an error, not an empty filter
    if test not in ("==", "!=") and not attribute.ranked:
        raise ArgumentError(attribute.name, "its values have no order", allowed="==, !=, in, not in")
    return np.array([_COMPARE[test](cell, code) for cell in range(attribute.cells)], dtype=bool)


def _grid(grid: Grid, test: str, constant: Any) -> Mask:
    """Compare bins with a place on the axis: every value of a cell must agree.

    A cell's values run from `low` to `high`; `high` itself is one of them for whole numbers and for the
    declared maximum, otherwise not.
    """
    place = grid.place(constant)
    if test in ("==", "!="):
        try:
            same = _grid(grid, "<=", constant) & _grid(grid, ">=", constant)
        except ArgumentError:
            fix = f"cells are ranges: low <= {grid.name} < high, on cell edges of {grid.describe()}"
            raise ArgumentError(grid.name, f"{test} {constant!r} splits a cell", fix=fix) from None
        return ~same if test == "!=" else same
    if test in (">", ">="):
        try:
            return ~_grid(grid, _NEGATED[test], constant)
        except ArgumentError:
            problem = f"{test} {constant!r} splits a cell"
            raise ArgumentError(grid.name, problem, fix="write >= on a cell edge") from None
    # cells below `first` match entirely, cells from `first` on match nowhere
    steps = (place - grid.low) / grid.step
    if grid.kind == "integer":  # x < c is x < ceil(c), x <= c is x < floor(c) + 1
        edge = Fraction(place.__ceil__() if test == "<" else place.__floor__() + 1)
        steps, beyond = (edge - grid.low) / grid.step, edge > grid.high
    else:
        beyond = place > grid.high or (place == grid.high and (test == "<=" or grid.open_high))
        first = grid.low < place or (grid.low == place and not grid.open_low)  # is any value at or below it
        if test == "<=" and first and not beyond:
            if not _lone(grid, place):
                raise ArgumentError(grid.name, f"<= {constant!r} splits a cell", fix="write < on a cell edge")
            steps += 1
    if beyond:
        return np.ones(grid.cells, dtype=bool)
    if steps > 0 and steps.denominator != 1:
        raise ArgumentError(grid.name, f"{constant!r} is not the edge of a cell", allowed=grid.describe())
    return np.arange(grid.cells) < max(0, int(steps))


def _lone(grid: Grid, place: Fraction) -> bool:
    """Tell whether a place is the only value of its cell: a declared maximum on an edge."""
    return place == grid.high and ((place - grid.low) / grid.step).denominator == 1


def _readable(text: str) -> tuple[str, dict[str, str], dict[str, str]]:
    """Return the text as plain Python, with what stands for its backticked names and its @variables."""
    columns: dict[str, str] = {}
    constants: dict[str, str] = {}
    mark = "_n"
    while mark in text:  # a name that the text itself does not use
        mark += "_"

    def plain(match: re.Match[str]) -> str:
        if match.group(0) == "#":
            raise ExpressionError(text, "a comment")
        if match.group(1) is None and match.group(2) is None:
            return match.group(0)
        names, key = (columns if match.group(1) else constants), f"{mark}{match.start()}"
        names[key] = match.group(1) or match.group(2)
        return f" {key} "

    if "'''" in text or '"""' in text:
        raise ExpressionError(text, "text in triple quotes")
    bare = MARKS.sub(lambda match: match.group(2) or " ", text)
    if date := DATE.search(bare):
        raise ExpressionError(text, f"dates and text need quotes: '{date[0]}'")
    if unicodedata.normalize("NFKC", bare) != bare:  # Python would read another name than the one written
        raise ExpressionError(text, "letters that stand for other letters; use backticks")
    return MARKS.sub(plain, text).strip(), columns, constants


def truth(condition: Condition, columns: Sequence[str], classes: Sequence[NDArray[np.int64]]) -> Mask:
    """Return the condition over a product of classes of cells, each constant in every comparison.

    Args:
        condition: What is asked.
        columns: The columns of the product, in order.
        classes: For each column the class of each cell.
    """
    shape = tuple(int(each.max(initial=-1)) + 1 for each in classes)
    if isinstance(condition, Atom):
        axis = columns.index(condition.column)
        flat = np.zeros(shape[axis], dtype=bool)
        flat[classes[axis]] = condition.cells
        view = [1] * len(shape)
        view[axis] = -1
        return np.broadcast_to(flat.reshape(view), shape)
    combine = np.logical_and if condition.every else np.logical_or
    return np.asarray(reduce(combine, (truth(part, columns, classes) for part in condition.parts)))


def signatures(condition: Condition, column: str, size: int) -> NDArray[np.int64]:
    """Return classes of a column's cells that no comparison of the condition distinguishes."""
    classes = np.zeros(size, dtype=np.int64)
    for atom in atoms_of(condition):
        if atom.column == column:  # refined comparison by comparison
            classes = np.unique(classes * 2 + atom.cells, return_inverse=True)[1].reshape(-1)
    return classes.astype(np.int64)


def atoms_of(condition: Condition) -> list[Atom]:
    """Return the comparisons of a condition."""
    parts = () if isinstance(condition, Atom) else condition.parts
    return [condition] if isinstance(condition, Atom) else [a for part in parts for a in atoms_of(part)]


@dataclass(frozen=True, eq=False)
class Sieve:
    """A filter over a product of columns.

    Attributes:
        classes: For each column the class of each cell.
        passes: Whether cells of a combination of classes are counted, one axis per column.
    """

    classes: tuple[Ints, ...]
    passes: Mask

    @property
    def trivial(self) -> bool:
        """Return whether everything is counted."""
        return bool(self.passes.all())

    def cells(self) -> Mask:
        """Return whether each cell of the product, in C order, is counted."""
        return np.asarray(self.passes[np.ix_(*self.classes)]).ravel() if self.classes else self.passes.ravel()

    def find_occupied(self, labels: Sequence[Ints], bins: Sequence[int]) -> Mask:
        """Return whether each bin of a product, in C order, holds a cell that is counted."""
        found = self.passes
        for axis, (each, marks, count) in enumerate(zip(self.classes, labels, bins, strict=True)):
            if count == len(marks) and (marks == np.arange(count)).all():  # each cell is a bin
                found = np.take(found, each, axis=axis)
                continue
            has = np.zeros((count, self.passes.shape[axis]), dtype=np.int64)
            kept = marks >= 0
            has[marks[kept], each[kept]] = 1
            found = np.moveaxis(np.tensordot(has, found.astype(np.int64), axes=(1, axis)), 0, axis) > 0
        return found.ravel()


def sieve(condition: Condition | None, columns: Sequence[str], labels: Sequence[Ints]) -> Sieve:
    """Return the filter of a condition and of cells that no bin takes (label -1).

    Args:
        condition: What is asked of a row; None for nothing.
        columns: The columns of the product.
        labels: For each column the bin of each cell, -1 for none.
    """
    classes, dropped = [], []
    for column, marks in zip(columns, labels, strict=True):
        own = np.zeros(len(marks), dtype=np.int64)
        if condition is None and len(marks) and int(marks.min()) >= 0:  # one class of cells, all counted
            classes.append(own)
            dropped.append(np.zeros(1, dtype=bool))
            continue
        own = own if condition is None else signatures(condition, column, len(marks))
        keys, each = np.unique(own * 2 + (marks < 0), return_inverse=True)
        classes.append(each.astype(np.int64).reshape(-1))
        dropped.append(keys % 2 == 1)
    size = math.prod(len(each) for each in dropped)
    if size > MAX_CLASSES:
        raise DomainTooLargeError(
            "the filter's table", size, MAX_CLASSES, fix="use fewer or simpler comparisons."
        )
    passes = np.ones([len(each) for each in dropped], dtype=bool)
    if condition is not None:
        passes &= truth(condition, list(columns), classes)
    for axis, gone in enumerate(dropped):
        view = [1] * len(dropped)
        view[axis] = -1
        passes &= ~gone.reshape(view)
    for axis in range(passes.ndim):  # classes that no combination separates are one
        if passes.shape[axis] == 1:
            continue
        rows = np.moveaxis(passes, axis, 0).reshape(passes.shape[axis], -1)
        _, first, same = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        passes, classes[axis] = np.take(passes, first, axis=axis), same.reshape(-1)[classes[axis]]
    return Sieve(tuple(classes), passes)
