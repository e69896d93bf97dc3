"""Signatures of verbs: what a class of its own makes of them, and wrong arguments as typed errors."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

from pandas_blowfish.errors import ArgumentTypeError

Given = ParamSpec("Given")
Back = TypeVar("Back")
Asked = TypeVar("Asked", bound=type)


def specialise(answer: Any, answers: Any, **defaults: Any) -> Callable[[Asked], Asked]:
    """Return the decorator of a class that has its own `Answer`, `Answers` and defaults of `Verbs`.

    `help`, `inspect.signature` and errors then show what this class returns, and which arguments it needs.
    """
    returns = {"Answer": answer, "Answers": answers, "Answer | Answers": answer | answers}

    def specialised(owner: Asked) -> Asked:
        declared = next(each for each in owner.__mro__ if each.__name__ == "Verbs")
        for name, verb in list(vars(declared).items()):
            if name.startswith("_") or not isinstance(verb, FunctionType) or not verb.__kwdefaults__:
                continue
            made = FunctionType(verb.__code__, verb.__globals__, name, verb.__defaults__)
            made.__annotations__ = verb.__annotations__ | {"return": returns[verb.__annotations__["return"]]}
            made.__kwdefaults__ = verb.__kwdefaults__ | defaults
            made.__doc__, made.__qualname__ = verb.__doc__, f"{owner.__name__}.{name}"
            setattr(owner, name, check_call(made))
        return owner

    return specialised


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
