"""Signatures of verbs: what a class makes of them, and calls that they do not take as typed errors."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, NotProtectedError

Given = ParamSpec("Given")
Back = TypeVar("Back")
Asked = TypeVar("Asked", bound=type)


def check_call(verb: Callable[Given, Back]) -> Callable[Given, Back]:
    """Return a method whose wrong arguments are a typed error: the verb, what it takes, what was meant."""
    signature = inspect.signature(verb)

    @functools.wraps(verb)
    def asked(*given: Given.args, **named: Given.kwargs) -> Back:
        try:
            signature.bind(*given, **named)
        except TypeError as error:
            raise call_error(verb.__name__, signature, named, error) from None
        return verb(*given, **named)

    return asked


def call_error(
    verb: str, signature: inspect.Signature, named: Mapping[str, Any], error: TypeError
) -> ArgumentTypeError:
    """Return the error of a call that a signature does not take, naming the nearest argument it does."""
    from difflib import get_close_matches

    taken = [name for name in signature.parameters if name != "self"]
    strange = [name for name in named if name not in taken]
    problem, fix = str(error), "write arguments by name, such as epsilon=0.1."
    if strange:
        near = get_close_matches(strange[0], taken, n=1)
        problem = f"got an unexpected keyword argument {strange[0]!r}"
        fix = f"did you mean {near[0]}=?" if near else ""
    return ArgumentTypeError(f"{verb}()", problem, allowed=", ".join(taken), fix=fix)


def check_free_call(question: Callable[Given, Back]) -> Callable[Given, Back]:
    """Refuse by its role, in a question to a release, what only a new release can be told."""
    signature = inspect.signature(question)

    @functools.wraps(question)
    def asked(*given: Given.args, **named: Given.kwargs) -> Back:
        try:
            signature.bind(*given, **named)
        except TypeError as error:
            if "epsilon" in named or (given[1:] and not named):
                raise NotProtectedError("release") from None
            if named.keys() & {"strategy", "post", "name"}:
                problem = "an earlier release is asked, nothing is measured"
                raise ArgumentError("strategy, post, name", problem, fix="leave them out") from None
            raise call_error(question.__name__, signature, named, error) from None
        return question(*given, **named)

    return asked


def specialise(answer: Any, answers: Any, **defaults: Any) -> Callable[[Asked], Asked]:
    """Return the decorator of a class that has its own `Answer`, `Answers` and defaults of the verbs.

    `help`, `inspect.signature` and errors then show what this class returns, and which arguments it needs.
    """
    returns = {"Answer": answer, "Answers": answers, "Answer | Answers": answer | answers}

    def specialised(owner: Asked) -> Asked:
        for name, verb in inspect.getmembers(owner, inspect.isfunction):
            own = name.startswith("_") or "return" not in verb.__annotations__
            if own or verb.__annotations__["return"] not in returns:  # what answers no question
                continue
            made = FunctionType(verb.__code__, verb.__globals__, name, verb.__defaults__)
            made.__annotations__ = verb.__annotations__ | {"return": returns[verb.__annotations__["return"]]}
            made.__kwdefaults__ = (verb.__kwdefaults__ or {}) | defaults
            made.__doc__, made.__qualname__ = verb.__doc__, f"{owner.__name__}.{name}"
            setattr(owner, name, _shift(check_call(made)))
        return owner

    return specialised


def _shift(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Return a verb whose first argument, where columns are selected, is the one after its column."""
    taken = list(inspect.signature(verb).parameters.values())
    places = sum(each.kind is each.POSITIONAL_OR_KEYWORD for each in taken)
    if places < 3 or taken[1].name not in ("column", "columns"):  # itself, its column, one more
        return verb

    @functools.wraps(verb)
    def asked(self: Any, *given: Any, **named: Any) -> Any:
        selected = 0 < len(given) < places - 1 and not self._expects_column(given[0])
        return verb(self, *([None] if selected else []), *given, **named)

    return asked
