"""What the kernel really measures and draws: releases run for real, with the noise in our hands.

A tap replaces the sampler wherever the kernel draws, records the scale and size of every draw, and serves the
noise it is told to. Rows are protected, planned, charged and counted as ever; what the kernel hands out is
taken before it is shaped. Nothing here asks a plan what it measures, nor with what scales.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

import pandas_blowfish as bf
from pandas_blowfish import kernel
from pandas_blowfish.queries.frames import answer

Ints = NDArray[np.int64]
Shape = tuple[tuple[str, int, tuple[int, ...]], ...]  # noises drawn together: kind, size, reaches by block
Draw = tuple[Fraction, int, Shape]  # the scale and the number of noises of one call of a sampler, its norm
Steps = tuple[tuple[str, tuple[Any, ...], dict[str, Any]], ...]  # filters and groups, then a verb
SAMPLER, TOGETHER = "discrete_laplace", "draw_joint"
TOTAL = 10**9  # the budget of a dataset: releases are repeated


class Taken(Exception):  # noqa: N818
    """The kernel has handed out its values: nothing after it is needed."""


@dataclass(frozen=True)
class Run:
    """One release: the values that left the kernel, every draw of noise, and what the ledger was charged."""

    values: Ints
    draws: tuple[Draw, ...]
    charged: Fraction


@dataclass
class Tap:
    """The sampler's place: serves given noise, draw after draw, then zeros; records what was asked of it."""

    noises: Sequence[Ints] = ()
    draws: list[Draw] = field(default_factory=list)
    values: Ints | None = None

    def sample(self, scale: Fraction | int, size: int | None = None) -> Ints:
        """Return the next given noise, or zeros."""
        return self._next((Fraction(scale), 1 if size is None else int(size), ()))

    def sample_joint(self, joint: Any, scale: Fraction) -> Ints:
        """Return the same for noises that are drawn together."""
        shape = tuple((block.kind, len(block.rows), block.reaches) for block in joint.blocks)
        return self._next((Fraction(scale), len(joint.rows), shape))

    def _next(self, draw: Draw) -> Ints:
        many, place = draw[1], len(self.draws)
        self.draws.append(draw)
        if place < len(self.noises) and len(self.noises[place]) == many:
            return np.array(self.noises[place], dtype=np.int64)
        return np.zeros(many, dtype=np.int64)


def drawing_modules() -> list[Any]:
    """Return the kernel's modules that draw noise, wherever they have come to lie."""
    names = [f"{kernel.__name__}.{each.name}" for each in pkgutil.iter_modules(kernel.__path__)]
    modules = [importlib.import_module(name) for name in names if not name.endswith(".noise")]
    return [module for module in modules if hasattr(module, SAMPLER)]


@contextmanager
def tapped(tap: Tap) -> Iterator[Tap]:
    """Let every draw of the block come from the tap, and take what `measure` returns."""
    real = answer.measure

    def measure(*given: Any, **named: Any) -> Any:
        tap.values = np.array(real(*given, **named).values)
        raise Taken

    with ExitStack() as stack:
        for module in drawing_modules():
            stack.enter_context(mock.patch.object(module, SAMPLER, tap.sample))
            if hasattr(module, TOGETHER):
                stack.enter_context(mock.patch.object(module, TOGETHER, tap.sample_joint))
        stack.enter_context(mock.patch.object(answer, "measure", measure))
        yield tap


def ask(target: Any, steps: Steps) -> Any:
    """Ask a query of `policy.plan` or of `df.blowfish`."""
    for name, given, named in steps:
        target = getattr(target, name)(*given, **named)
    return target


def said(steps: Steps) -> str:
    """Return a query as one would type it."""
    parts = []
    for name, given, named in steps:
        inside = [*map(repr, given), *(f"{key}={value!r}" for key, value in named.items())]
        parts.append(f"{name}({', '.join(inside)})")
    return ".".join(parts)


def release(frame: Any, steps: Steps, noises: Sequence[Ints] = ()) -> Run:
    """Return what the kernel hands out for a query on a protected frame, with given noise."""
    ledger, name = frame.blowfish.ledger, frame.attrs["blowfish"]["dataset"]
    before = ledger.budget(name).spent
    with tapped(Tap(noises)) as tap, suppress(Taken):
        ask(frame.blowfish, steps)
    if tap.values is None:
        raise AssertionError("nothing was measured")
    return Run(tap.values, tuple(tap.draws), ledger.budget(name).spent - before)


Release = Callable[[Sequence[Ints]], Run]


def tables(frames: Sequence[Any], policy: bf.Policy, steps: Steps, **stated: Any) -> list[Release]:
    """Return for each frame a function that releases it with given noise; all share a ledger of their own."""
    ledger = bf.Ledger()

    def made(number: int, frame: Any) -> Release:
        own: list[Any] = []

        def run(noises: Sequence[Ints] = ()) -> Run:
            if not own:
                name = f"table-{number}"
                bound = {"epsilon": TOTAL, "ledger": ledger, "dataset": name, "new": True, **stated}
                own.append(frame.blowfish.protect(policy, **bound))
            return release(own[0], steps, noises)

        return run

    return [made(number, frame) for number, frame in enumerate(frames)]
