"""pandas-blowfish: the verbs for scripts, on files, with exit codes and JSON. Hands rows on untouched.

Promises that everything is planned before anything is charged, and that a run cut short can be run again at
no further cost.

Read `command` (from arguments to an exit code), `parser`, then the commands: `policy_commands` (draft, check,
lint, plan), `release_command` with `jobs` and `preflight`, `ledger_commands` (ledger, report, demo).
`screen`, `outputs`, `locks`, `exits` and `phrases` serve all of them.
"""

from pandas_blowfish.cli.command import main

__all__ = ["main"]
