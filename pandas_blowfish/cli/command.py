"""main: reads the command line, runs one command, and turns whatever happens into an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

from pandas_blowfish.cli import exits
from pandas_blowfish.cli.parser import read_arguments
from pandas_blowfish.cli.screen import Screen


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return what to exit with, as `exits.MEANINGS` lists.

    With --json standard output is one JSON document, also of an error: {"error": {...}}.

    Args:
        argv: The arguments; those of the process by default.
    """
    _repair_streams()
    words = list(sys.argv[1:] if argv is None else argv)
    screen, debug = (
        Screen(as_json="--json" in words, progress="--no-progress" not in words),
        "--debug" in words,
    )
    try:
        try:
            given = read_arguments(words)
            code: int = given.run(given, screen)
            sys.stdout.flush()
            return code
        except SystemExit as stopped:  # --help and --version
            return int(stopped.code or 0)
        except BaseException as error:
            if not isinstance(error, (Exception, KeyboardInterrupt)) or isinstance(error, BrokenPipeError):
                raise
            if debug:
                traceback.print_exc()
            return _fail(error, screen)
    except BrokenPipeError:
        # nobody reads standard output any more: let the interpreter flush it into nothing
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.BROKEN_PIPE


def _repair_streams() -> None:
    """Let no letter, and no closed stream, stop a run: what would fail is escaped, or goes nowhere.

    A closed standard error must not be None, for `print` would take standard output instead.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  till the end
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _fail(error: BaseException, screen: Screen) -> int:
    """Show an error, and what was done before it; return its exit code."""
    done = getattr(error, "done", None)
    if screen.as_json:
        screen.finish({"error": exits.document(error), **({"done": done} if done else {})})
    else:
        print(f"pandas-blowfish: {exits.describe_error(error)}", file=sys.stderr)
    return exits.code_of(error)
