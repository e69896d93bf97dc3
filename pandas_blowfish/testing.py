"""For tests of your own pipelines: replayed noise, ledgers that are not files, and what a script spends.

A release made under `replay` carries "TEST ONLY" in its receipt and cannot be charged to a file ledger.

>>> import pandas_blowfish as bf
>>> def nightly():
...     rows = bf.datasets.patients(500)
...     df = rows.blowfish.protect(bf.datasets.patients_policy(), epsilon=1, dataset="p", ledger="budget.db")
...     return df.blowfish.hist("sex", epsilon="0.1", name="sexes")
>>> with bf.testing.replay(7), bf.testing.fake_ledgers() as books, bf.testing.spends_at_most("0.1"):
...     first = nightly()
...     again = nightly()
>>> books["budget.db"].budget("p").spent, again.equals(first)  # and there is no file
(Fraction(1, 10), True)
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from typing import Any

from pandas_blowfish.books.database import fake_files
from pandas_blowfish.books.ledger import Ledger
from pandas_blowfish.exact.number import exact
from pandas_blowfish.kernel.noise import replay

__all__ = ["FakeLedgers", "fake_ledgers", "replay", "spends_at_most"]


class FakeLedgers(Mapping[str, Ledger]):
    """The ledgers that a block opened by path, by that path: each is in memory, and empty at first."""

    def __init__(self, places: dict[str, str]) -> None:
        self._places = places

    def __getitem__(self, path: str | os.PathLike[str]) -> Ledger:
        place = os.path.abspath(path)
        if place not in self._places:
            raise KeyError(f"no ledger was opened at {place}; opened: {', '.join(self._places) or 'none'}")
        return Ledger(self._places[place])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"FakeLedgers({', '.join(self._places) or 'none opened yet'})"


_fakes: ContextVar[FakeLedgers | None] = ContextVar("fake ledgers", default=None)


@contextmanager
def fake_ledgers() -> Iterator[FakeLedgers]:
    """Open every ledger of a path in memory while the block runs: no file is read, made or charged.

    Two calls with the same path share one ledger, as they would share the file. Not for other processes.
    """
    with fake_files() as places:
        token = _fakes.set(FakeLedgers(places))
        try:
            yield FakeLedgers(places)
        finally:
            _fakes.reset(token)


@contextmanager
def spends_at_most(epsilon: Any, *ledgers: Ledger | str | os.PathLike[str]) -> Iterator[None]:
    """Fail with an AssertionError if any dataset is charged more than epsilon while the block runs.

    Args:
        epsilon: The most that one dataset may be charged; 0 where everything must be free.
        ledgers: Whose datasets; by default those of ledgers in memory that no path was given for, and of
            `fake_ledgers`.

    Examples:
        >>> import pandas_blowfish as bf
        >>> df = bf.datasets.patients(500).blowfish.protect(bf.datasets.patients_policy(), epsilon=1)
        >>> with bf.testing.spends_at_most(0):
        ...     plan = df.blowfish.plan.hist("age", epsilon=1)
    """
    most = exact(epsilon, "epsilon")
    before = _spent(ledgers)
    yield
    over = {key: spent - before.get(key, 0) for key, spent in _spent(ledgers).items()}
    over = {key: spent for key, spent in over.items() if spent > most}
    if over:
        listed = ", ".join(f"{dataset!r} by {spent}" for (_, dataset), spent in over.items())
        raise AssertionError(f"charged more than {most}: {listed}")


def _spent(ledgers: tuple[Ledger | str | os.PathLike[str], ...]) -> dict[tuple[str, str], Fraction]:
    """Return what each dataset of some ledgers has spent."""
    books = [each if isinstance(each, Ledger) else Ledger(each) for each in ledgers]
    if not books:
        books = [Ledger.default(), *(_fakes.get() or {}).values()]
    there = [each for each in books if not each.is_file or os.path.exists(each.location)]
    return {(each.location, name): each.budget(name).spent for each in there for name in each.datasets}
