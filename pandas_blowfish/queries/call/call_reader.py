"""A query written as text, read without evaluating anything, and asked of a plan or a protected frame.

The language is that of `plan.call`, of receipts and of the ledger: filters and groups, then one verb, with
literals for arguments. Touches no row itself.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from pandas_blowfish.books.analysts import is_name
from pandas_blowfish.books.receipt import COMBINED, MOMENTS, TOTALS
from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, EpsilonError
from pandas_blowfish.exact.syntax import TextReader, UnreadableTextError, parse_text
from pandas_blowfish.plan.call_text import is_digest, literal
from pandas_blowfish.policy.expression import MARKS
from pandas_blowfish.queries.call.planner import VERBS, Planner

HASHED = ("matrix", "bins", "bounds", "prior", "scenario")
SCOPES = ("where", "groupby")
SELECT = "__getitem__"  # the step of columns in brackets
COLUMNS = ("columns", "column")  # what verbs call theirs
SUMMED = (*TOTALS, *MOMENTS, *COMBINED, "hist", "count")  # what may state its number of rows
MAX_TEXT = 1_000_000
MAX_STEPS = 100
ALLOWED = "such as where('age >= 18').groupby('sex').hist('disease', epsilon=0.1)"
LITERALS = "text, numbers, True, False, None, and lists, tuples or dicts of them"

Step = tuple[str, tuple[Any, ...], Mapping[str, Any]]


@dataclass(frozen=True)
class Call:
    """A query as steps: any number of `where`, `groupby` and columns in brackets, then a verb.

    Attributes:
        steps: For each step its name, its positional and its named arguments.

    Examples:
        >>> call = parse_call("where('age >= 18').hist('sex', epsilon=0.1)")
        >>> call.verb, call.epsilon, str(call.with_name("adults"))
        ('hist', 0.1, "where('age >= 18').hist('sex', epsilon=0.1, name='adults')")
        >>> import pandas_blowfish as bf
        >>> call.on(bf.datasets.patients_policy().plan).sensitivity
        Fraction(2, 1)
    """

    steps: tuple[Step, ...]

    @property
    def verb(self) -> str:
        """Return the name of the verb."""
        return self.steps[-1][0]

    @property
    def arguments(self) -> Mapping[str, Any]:
        """Return the named arguments of the verb."""
        return self.steps[-1][2]

    @property
    def name(self) -> str | None:
        """Return the name under which the answer is to be kept, if the text gives one."""
        return self.arguments.get("name")

    @property
    def epsilon(self) -> Any:
        """Return what the text states it may cost, as it is written; None where it states nothing."""
        return self.arguments.get("epsilon")

    @property
    def replayable(self) -> bool:
        """Return whether the text states all that was asked, and names nothing by its hash alone."""
        _, given, named = self.steps[-1]
        text = [
            *(given[:1] if self.verb == "workload" else ()),
            *(given[1:2] if self.verb == "range" else ()),
        ]
        scopes = [each for _, given, named in self.steps[:-1] for each in (*given[1:], *named.values())]
        return not any(map(is_digest, [*text, *scopes, *(named.get(key) for key in HASHED)]))

    def with_name(self, name: str | None) -> Call:
        """Return the same query kept under a name."""
        return self.but(name=name)

    def but(self, **arguments: Any) -> Call:
        """Return the same query with other named arguments of its verb; what is None is left out.

        Examples:
            >>> str(parse_call("count(epsilon=1)").but(epsilon="1/3", post=False))
            "count(epsilon='1/3', post=False)"
        """
        verb, given, named = self.steps[-1]
        changed = {key: value for key, value in {**named, **arguments}.items() if value is not None}
        _check(verb, given, changed)
        return replace(self, steps=(*self.steps[:-1], (verb, given, changed)))

    def on(self, target: Any) -> Any:
        """Ask the query of `policy.plan`, which plans it, or of `df.blowfish`, which releases it.

        Returns:
            What the verb returns: a plan, a frame or a dict of frames.
        """
        if not self.replayable:
            raise ArgumentError(
                "query",
                "it names its matrix, bins, bounds, prior or scenario by a hash, which cannot be asked",
                fix="write them out, or ask the verb in Python, where a name finds the release again.",
            )
        if self.epsilon is None and not isinstance(target, Planner):
            raise EpsilonError("epsilon", "not given", allowed="what this may cost, such as epsilon=0.1")
        for name, given, named in self.steps:
            target = getattr(target, name)(*given, **named)
        return target

    def require_rows(self, known: int | None) -> None:
        """Refuse a sum or mean that states another number of rows than is public (None where none is yet)."""
        if self.verb in SUMMED and self.arguments.get("rows") not in (None, known):
            raise ArgumentError("rows", "not the public number of rows", fix="leave rows= out of the query.")

    def __str__(self) -> str:
        text = ""
        for name, given, named in self.steps:
            inside = [*map(literal, given), *(f"{key}={literal(value)}" for key, value in named.items())]
            text += f"[{inside[0]}]" if name == SELECT else f".{name}({', '.join(inside)})"
        return text.removeprefix(".")


def parse_call(text: Any) -> Call:
    """Return the query that a text asks, read and never evaluated.

    Args:
        text: Such as `plan.call`, or what is written in Python after `df.blowfish.`, that included.

    Examples:
        >>> str(parse_call("df.blowfish.range('age', [(0, 17), (18, None)], epsilon=0.1)"))
        "range('age', [[0, 17], [18, None]], epsilon=0.1)"

    Raises:
        ArgumentError: With the place that cannot be read, and how to fix it.
    """
    if not isinstance(text, str):
        raise ArgumentTypeError("query", f"a {type(text).__name__} is not text", allowed=ALLOWED)
    if len(text) > MAX_TEXT:
        raise ArgumentError("query", f"longer than {MAX_TEXT:,} characters", fix="ask the verb in Python.")
    source = text.strip().removeprefix(".").strip()
    if not source:
        raise ArgumentError("query", "it is empty", allowed=ALLOWED)
    return _CallReader(source).call()


class _CallReader(TextReader):
    """Reads one text; every refusal shows where."""

    constants = (*TextReader.constants, type(None))

    def __init__(self, source: str) -> None:
        self.source, self.lines, self.shift = source, source.split("\n"), 0

    def call(self) -> Call:
        node = self._tree()
        found = self._call(node)
        verb, given, named = found.steps[-1]
        signature = inspect.signature(getattr(Planner, verb))
        column = next((key for key in COLUMNS if key in signature.parameters), "")
        stated = not column or column in signature.bind(None, *given, **named).arguments
        if not stated and all(name != SELECT for name, *_ in found.steps):
            raise self.refuse(
                node, f"{verb}() of no column", f"{verb} takes {column}, or ['age'].{verb}(...)."
            )
        return found

    def _call(self, node: ast.expr) -> Call:
        steps: list[Step] = []
        while True:
            if len(steps) > MAX_STEPS:
                raise self.refuse(node, f"more than {MAX_STEPS} steps", "join the filters by `and`.")
            if not isinstance(node, ast.Call):
                raise self.refuse(node, "not a call", f"end with one of {', '.join(VERBS)}, in parentheses.")
            named = node.func
            if not isinstance(named, (ast.Name, ast.Attribute)):
                raise self.refuse(named, "not the name of a verb", f"use one of {', '.join(VERBS)}.")
            name = named.id if isinstance(named, ast.Name) else named.attr
            steps.append(self._step(node, name, last=not steps))
            if isinstance(named, ast.Name) or _is_prefix(named.value):
                return Call(tuple(reversed(steps)))
            node = named.value
            while isinstance(node, (ast.Subscript, ast.List)) and len(steps) <= MAX_STEPS:
                steps.append(self._selection(node))
                if isinstance(node, ast.List) or _is_prefix(node.value):
                    return Call(tuple(reversed(steps)))
                node = node.value

    def _selection(self, node: ast.Subscript | ast.List) -> Step:
        """Return the step of columns in brackets; at the beginning of a text these read as a list."""
        if isinstance(node, ast.List) and len(node.elts) != 1:
            raise self.refuse(node, "not a column in brackets", "['age'], or [['age', 'income']].")
        inside = node.elts[0] if isinstance(node, ast.List) else node.slice
        if isinstance(inside, ast.Tuple):
            raise self.refuse(inside, "several columns", "write a list of them: [['age', 'income']].")
        return SELECT, (self.literal(inside),), {}

    def _tree(self) -> ast.expr:
        """Return the expression that the text is; one on several lines needs no parentheses."""
        for before, after in (("", ""), ("(", "\n)")):
            try:
                tree = parse_text(before + self.source + after)
            except UnreadableTextError as error:
                if not error.problem:
                    what = "it cannot be read: too deep, or with odd characters"
                    raise ArgumentError("query", what, allowed=ALLOWED) from None
                place = (error.line, error.column)
                if after:
                    raise self.at(*place, "it is no call in Python's spelling", "fix it there.") from None
                if "\n" not in self.source:
                    raise self.at(*place, f"it cannot be read ({error.problem})", "fix it there.") from None
            else:
                self.shift = len(before)
                if not before or (tree.lineno, tree.col_offset) > (1, 0):  # `a)(b` would close ours
                    return tree
        raise ArgumentError("query", "its parentheses do not match", allowed=ALLOWED)

    def _step(self, node: ast.Call, name: str, *, last: bool) -> Step:
        if last and name not in VERBS:
            more = "a verb must follow" if name in SCOPES else f"{name!r} is no verb"
            near = get_close_matches(name, VERBS, n=1)
            meant = f"did you mean {near[0]}? Else " if near and name not in SCOPES else ""
            raise self.refuse(node, more, f"{meant}end with one of {', '.join(VERBS)}.")
        if not last and name not in SCOPES:
            fix = f"only {' and '.join(SCOPES)} come before the verb, which is last."
            raise self.refuse(node, f"{name!r} before another step", fix)
        given = tuple(self.literal(each) for each in node.args)
        named: dict[str, Any] = {}
        for each in node.keywords:
            if each.arg is None or each.arg in named:
                problem = "arguments in a dict" if each.arg is None else f"{each.arg}= is given twice"
                raise self.refuse(each.value, problem, "write each argument once, as name=value.")
            named[each.arg] = self.literal(each.value)
        try:
            _check(name, given, named)
        except ArgumentError as error:
            raise self.refuse(node, error.problem, error.fix or error.allowed) from None
        return name, given, named

    def other(self, node: ast.expr, depth: int) -> Any:
        if isinstance(node, ast.Dict):
            return self._dict(node, depth)
        fix = f"write {LITERALS}."
        if isinstance(node, ast.Name):
            raise self.refuse(node, f"the name {node.id!r} stands for nothing here", "write its value.")
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            raise self.refuse(node, "a division", "write it as text: '1/3'.")
        if isinstance(node, ast.Call):
            raise self.refuse(
                node, "a call among the arguments", f"{fix[:-1]}; instants as text: '2026-06-01'."
            )
        raise self.refuse(node, "not a literal", fix)

    def _dict(self, node: ast.Dict, depth: int) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, (str, int, float)):
                raise self.refuse(key or node, "a key of a dict is no text or number", "write keys as text.")
            if key.value in found:
                raise self.refuse(key, "a key of a dict is there twice", "write each once.")
            found[key.value] = self.literal(value, depth + 1)
        return found

    def refuse(self, node: ast.expr, problem: str, fix: str = "") -> ArgumentError:
        """Return the error of a place in the text."""
        end = max(node.col_offset - self.shift * (node.lineno == 1), 0)  # in bytes
        before = self.lines[min(node.lineno, len(self.lines)) - 1].encode(errors="replace")[:end]
        return self.at(node.lineno, len(before.decode(errors="ignore")) + 1, problem, fix)

    def at(self, line: int, column: int, problem: str, fix: str) -> ArgumentError:
        """Return the error of a line and a character of it, both from 1, showing what stands there."""
        number = min(max(line, 1), len(self.lines))
        shown = self.lines[number - 1][max(column - 1, 0) :][:40]
        where = f"line {number}, " if len(self.lines) > 1 else ""
        there = f"at {where}character {column}, {shown!r}: " if shown else ""
        return ArgumentError("query", f"{there}{problem}", allowed=ALLOWED, fix=fix)


def _is_prefix(node: ast.expr) -> bool:
    """Return whether a node is what people write before a query: df.blowfish, policy.plan, ..."""
    if not isinstance(node, ast.Attribute) or node.attr not in ("blowfish", "plan"):
        return False
    owner = node.value
    return isinstance(owner, ast.Name) or (node.attr == "plan" and _is_prefix(owner))


def _check(name: str, given: tuple[Any, ...], named: Mapping[str, Any]) -> None:
    """Refuse arguments that a step does not take, so that nothing is charged before all is read."""
    signature = inspect.signature(getattr(Planner, name))
    try:
        signature.bind(None, *given, **named)
    except TypeError as error:
        taken = ", ".join(list(signature.parameters)[1:])
        raise ArgumentError("query", f"{name}(): {error}", fix=f"{name} takes {taken}.") from None
    if name == "where":
        text = given[0] if given else named["expression"]
        if isinstance(text, str) and any(match.group(2) for match in MARKS.finditer(text)):
            raise ArgumentError("query", "an @variable stands for nothing here", fix="write its value.")
    kept, post = named.get("name"), named.get("post", True)
    if kept is not None and not is_name(kept):
        raise ArgumentError("query", "name= is not a name", fix="printable text without blanks around it.")
    shapes = (True, False, *(VERBS[name].shapes if name in VERBS else ()))
    if not any(post is each or (isinstance(each, str) and post == each) for each in shapes):
        raise ArgumentError("query", "post= is unknown", fix=f"one of {', '.join(map(repr, shapes))}.")
