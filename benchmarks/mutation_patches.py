"""Puts a fault into the package and takes it out again; nothing that was kept outlives either."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pandas_blowfish.kernel import check
from pandas_blowfish.plan import choose
from pandas_blowfish.plan.line import search

PACKAGE = "pandas_blowfish"
KEPT = (f"{PACKAGE}.plan.law",)  # of noise alone


INHERITED = object()  # of a class that has an attribute from another


class Patches:
    """Attributes that were replaced, and what they were."""

    def __init__(self) -> None:
        self._undo: list[tuple[Any, str, Any]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Replace an attribute of a module or class."""
        self._undo.append((owner, name, owner.__dict__.get(name, INHERITED)))
        setattr(owner, name, value)

    def wrap(self, owner: Any, name: str, new: Callable[..., Any]) -> None:
        """Replace a function, method or property by `new(old, ...)`, of the same kind."""
        raw = next(vars(each)[name] for each in getattr(owner, "__mro__", [owner]) if name in vars(each))
        if isinstance(raw, property):
            self.set(owner, name, property(lambda own: new(raw.fget, own)))
        elif isinstance(raw, functools.cached_property):
            kept = functools.cached_property(lambda own: new(raw.func, own))
            kept.__set_name__(owner, name)
            self.set(owner, name, kept)
        elif isinstance(raw, classmethod):
            self.set(owner, name, classmethod(lambda *given, **more: new(raw.__func__, *given, **more)))
        else:
            self.set(owner, name, functools.wraps(raw)(lambda *given, **more: new(raw, *given, **more)))

    def everywhere(
        self, function: Callable[..., Any], new: Callable[..., Any], *, kernel: bool = False
    ) -> None:
        """Replace a function wherever the package has it by name; in the kernel only if asked for."""

        def replaced(*given: Any, **more: Any) -> Any:
            return new(function, *given, **more)

        for name, module in list(sys.modules.items()):
            if name.split(".")[0] == PACKAGE and (kernel or not name.startswith(f"{PACKAGE}.kernel")):
                for attribute, value in list(vars(module).items()):
                    if value is function:
                        self.set(module, attribute, replaced)

    def undo(self) -> None:
        """Put everything back, the last one first."""
        while self._undo:
            owner, name, value = self._undo.pop()
            if value is INHERITED:
                delattr(owner, name)
            else:
                setattr(owner, name, value)


@dataclass(frozen=True)
class Fault:
    """One fault.

    Attributes:
        name: What is wrong.
        family: Whose measurements it is about.
        cases: The questions that it is tried on.
        inject: Makes it.
        relied: Whether the check itself relies on what is wrong: then tests must stop it.
        tests: A test file that must fail under it, where the check lets it pass.
    """

    name: str
    family: str
    cases: tuple[str, ...]
    inject: Callable[[Patches], None]
    relied: bool = False
    tests: str = ""


@contextmanager
def injected(fault: Fault | None) -> Iterator[None]:
    """Have a fault in the package for a while."""
    forget()
    patches = Patches()
    try:
        if fault is not None:
            fault.inject(patches)
        yield
    finally:
        patches.undo()
        forget()


def forget() -> None:
    """Drop all plans, prices, edges and passed checks that are kept."""
    choose._plans.clear()
    search._found.clear()
    check._passed.clear()
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == PACKAGE and name not in KEPT:
            for value in list(vars(module).values()):
                if getattr(value, "__module__", None) == name and hasattr(value, "cache_clear"):
                    value.cache_clear()
