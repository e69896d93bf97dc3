"""pandas-blowfish: the verbs for scripts, on files, with exit codes and JSON. Hands rows on untouched."""

from pandas_blowfish.cli.command import main

__all__ = ["main"]
