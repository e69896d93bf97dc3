"""What the command line exits with, and how an error is shown: typed, and never with a value from a row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import PurePath
from typing import Any, TypeVar

from pandas_blowfish import errors
from pandas_blowfish.cli.phrases import in_shell, message_in_shell

OK = 0
REFUSED = 1
USAGE = 2
BUDGET = 3
LEDGER = 4
POLICY = 5
FILES = 6
TAMPERED = 7
UNEXPECTED = 70
INTERRUPTED = 130
BROKEN_PIPE = 141

MEANINGS = {
    OK: "done",
    REFUSED: "rows outside the schema or not those sealed, or findings of `lint --strict` not accepted",
    USAGE: "wrong arguments, or a query that cannot be asked",
    BUDGET: "the budget does not suffice, or the dataset is closed; nothing more was charged",
    LEDGER: "the ledger refuses: another total, policy or query under this name, or no such dataset",
    POLICY: "the policy cannot be read, or is still blank somewhere",
    FILES: "a file, ledger, key or package is missing, or a file cannot be read or written, or is no ledger",
    TAMPERED: "the ledger was edited, damaged or cut off, or its key does not fit",
    UNEXPECTED: "an error nobody expected: --debug shows where",
    INTERRUPTED: "interrupted; what was charged is in the ledger, named answers are kept",
    BROKEN_PIPE: "whoever read the output has stopped",
}
_CODES: tuple[tuple[tuple[type[BaseException], ...], int], ...] = (
    ((KeyboardInterrupt,), INTERRUPTED),
    ((BrokenPipeError,), BROKEN_PIPE),
    ((errors.InsufficientBudgetError, errors.ClosedDatasetError), BUDGET),
    ((errors.SealKeyError,), FILES),
    ((errors.LedgerTamperedError, errors.LedgerKeyError), TAMPERED),
    ((errors.LedgerNotFoundError,), FILES),
    ((errors.LedgerError,), LEDGER),
    ((errors.SchemaError,), POLICY),
    ((errors.DataFileError, errors.MissingPackageError, OSError), FILES),
    ((errors.FrameError,), REFUSED),
    ((errors.BlowfishError,), USAGE),
)
HIDDEN = {"text", "exit_code", "done"}  # of an error's facts: shown elsewhere
DAMAGED = ("SQLITE_CORRUPT", "SQLITE_ERROR")  # a page, or a table, is not what it was

Error = TypeVar("Error", bound=errors.BlowfishError)


class UsageError(errors.ArgumentError):
    """The command line was written in a way that no command takes."""

    def __init__(self, problem: str, fix: str = "") -> None:
        super().__init__("command", problem.rstrip("."), fix=fix or "pandas-blowfish --help")


def code_of(error: BaseException) -> int:
    """Return what to exit with for an error."""
    if isinstance(stated := getattr(error, "exit_code", None), int):
        return stated
    if type(error) is errors.LedgerError:  # its file cannot be used; subclasses state what is wrong inside
        found = str(getattr(error.__cause__, "sqlite_errorname", ""))
        return TAMPERED if found.startswith(DAMAGED) else FILES
    if isinstance(error, errors.ArgumentError) and isinstance(error.__cause__, OSError):
        return FILES
    return next((code for kinds, code in _CODES if isinstance(error, kinds)), UNEXPECTED)


def describe_error(error: BaseException) -> str:
    """Return an error in words: its own, in words of the shell, or its type, for others may quote rows."""
    if isinstance(error, errors.BlowfishError):
        return message_in_shell(str(error))
    if isinstance(error, KeyboardInterrupt):
        return "interrupted: what was charged is in the ledger; run it again, named answers are free."
    if isinstance(error, OSError) and error.strerror:
        named = f": {error.filename}" if error.filename else ""
        return f"{error.strerror}{named}."
    what = f"unexpected {type(error).__name__}; its words are held back, for they may quote rows."
    return f"{what}\n  fix: run it with --debug to see them."


def document(error: BaseException) -> dict[str, Any]:
    """Return an error as plain data: type, message, exit code and its facts."""
    out = {"type": type(error).__name__, "message": describe_error(error), "exit": code_of(error)}
    ours = vars(error) if isinstance(error, errors.BlowfishError) else {}
    facts = {
        key: in_shell(value) if key in ("allowed", "fix") and isinstance(value, str) else _plain(value)
        for key, value in ours.items()
        if key not in HIDDEN and not key.startswith("_")
    }
    return {**out, "facts": {key: value for key, value in facts.items() if value is not None}}


def with_fix(error: Error, fix: str) -> Error:
    """Return an error with another fix in its message."""
    lines = [line for line in str(error).split("\n") if not line.startswith("  fix: ")]
    error.args = ("\n".join([*lines, f"  fix: {fix}"]), *error.args[1:])
    return error


@contextmanager
def fail_with(code: int) -> Iterator[None]:
    """Let errors of a block exit with a code: whatever a policy file raises is about the policy."""
    try:
        yield
    except errors.BlowfishError as error:
        if not hasattr(error, "exit_code"):
            error.exit_code = code  # type: ignore[attr-defined]
        raise


def _plain(value: Any) -> Any:
    """Return a fact of an error as JSON holds it; None for what it does not."""
    if isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, (Fraction, PurePath)):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return None
