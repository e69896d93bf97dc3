"""bf.report: one page for the privacy officer, from a ledger alone. Touches no row, spends nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pandas_blowfish.accessor import of
from pandas_blowfish.books.ledger import Ledger
from pandas_blowfish.errors import ArgumentError, ArgumentTypeError


def report(ledger: Any, path: Any, *, dataset: str | None = None, releases: Any = ()) -> Path:
    """Write a page that states what was promised about a dataset, released and spent, and check the ledger.

    The page is one file without any link, for a person who has the ledger but not the rows: the policy and
    its odds in words, the budget over time, every release with its error bars and receipt, whether the ledger
    was tampered with, and what is not promised. It is written even where that was found.

    Args:
        ledger: A `bf.Ledger`, or the path of its file.
        path: Where to; ends in .html.
        dataset: A name in the ledger; may be left out where there is one alone.
        releases: Released frames, or dicts of them, to show too: each is compared with the ledger. Named
            releases are read back without being given.

    Returns:
        The file written.

    Raises:
        LedgerNotFoundError, UnknownDatasetError: There is no such ledger, or dataset in it.
        LedgerKeyError: The ledger was begun with a key, and BLOWFISH_LEDGER_KEY is not it.

    Examples:
        >>> import tempfile, pandas_blowfish as bf
        >>> book = bf.Ledger()
        >>> patients = bf.datasets.patients(100)
        >>> df = patients.blowfish.protect(bf.datasets.patients_policy(), epsilon=1, dataset="p", ledger=book)
        >>> ages = df.blowfish.hist("age", epsilon="0.25", name="ages")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     bf.report(book, folder + "/report.html").name
        'report.html'
    """
    from pandas_blowfish.explain.report.account import account
    from pandas_blowfish.explain.report.page import page_path, write_page

    target = page_path(path)
    if not isinstance(ledger, (Ledger, str, os.PathLike)):
        raise ArgumentTypeError("ledger", "not a ledger", allowed="a bf.Ledger, or the path of its file")
    book = ledger if isinstance(ledger, Ledger) else Ledger.at(str(Ledger(ledger).location))
    return write_page(account(book, _choose_dataset(book, dataset), of, releases), target)


def _choose_dataset(ledger: Ledger, dataset: str | None) -> str:
    """Return the dataset asked for, or the only one."""
    if dataset is not None:
        return dataset
    names = ledger.datasets
    if len(names) == 1:
        return names[0]
    shown = ", ".join(repr(name) for name in names[:12]) or "none yet"
    raise ArgumentError("dataset", f"the ledger has {len(names):,}", allowed=shown, fix="dataset=...")
