"""The commands and their options."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Sequence
from typing import Any, NoReturn

from pandas_blowfish.cli import exits
from pandas_blowfish.cli import ledger_commands as books
from pandas_blowfish.cli import policy_commands as look
from pandas_blowfish.cli import release_command as batch
from pandas_blowfish.policy.lint import KINDS
from pandas_blowfish.queries.frames.protect import OUTSIDE
from pandas_blowfish.version import __version__

PROG = "pandas-blowfish"
ABOUT = """Noisy answers about people in a file, under a Blowfish policy, with an exact budget.

  draft    the policy to fill in, from names and types of columns (CSV: types guessed from the first lines)
  check    how many rows are outside the policy's domain (for the curator alone)
  lint     what a policy leaves open
  plan     what a query would cost and how wrong it would be: no data, no spend
  release  noisy answers, charged to a ledger; the same query under the same name is free
  ledger   what was spent, and whether the ledger holds
  report   one page for the privacy officer
  demo     a release of bundled synthetic data
"""
ACCEPT = f"a kind of finding that is meant; repeatable: {', '.join(KINDS)}"


class Parser(argparse.ArgumentParser):
    """Raises what is wrong instead of exiting."""

    def error(self, message: str) -> NoReturn:
        """Refuse the command line."""
        raise exits.UsageError(message, f"{self.prog} --help")


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line; each command has its function in `run`."""
    codes = "\n".join(f"  {code:<4} {text}" for code, text in exits.MEANINGS.items())
    about = f"exit codes:\n{codes}\n\nWith --json, standard output is one JSON document; an error is "
    about += '{"error": {"type", "message", "exit", "facts"}}.'
    style: Any = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
    parser = Parser(prog=PROG, description=ABOUT, epilog=about, **style)
    parser.add_argument("--version", action="version", version=f"{PROG} {__version__}")
    _common(parser)
    commands = parser.add_subparsers(metavar="command", required=True)
    for name, add in _COMMANDS.items():
        about = inspect.cleandoc(add.__doc__ or "")
        command = commands.add_parser(name, description=about, epilog=_EXAMPLES[name], **style)
        add(command)
        _common(command)
    return parser


def read_arguments(words: Sequence[str]) -> argparse.Namespace:
    """Return the arguments of a command line; a release's file and queries may stand anywhere among them."""
    given, rest = make_parser().parse_known_args(words)
    free = [word for word in rest if not word.startswith("-")] if given.run is batch.release else []
    if strange := [word for word in rest if word not in free]:
        raise exits.UsageError(f"unknown argument {strange[0]!r}")
    if given.run is batch.release:
        given.query = [word for word in free if word.rstrip().endswith(")")]
        files = [word for word in free if word not in given.query]
        if len(files) > 1:
            raise exits.UsageError(f"{files[1]!r} is no query", "a query ends with `)`; one file is read.")
        given.data = files[0] if files else None
    return given


def _common(parser: argparse.ArgumentParser) -> None:
    quiet: Any = {"action": "store_true", "default": argparse.SUPPRESS}
    parser.add_argument("--json", help="write one JSON document to standard output", **quiet)
    parser.add_argument("--no-progress", help="draw no bars on the terminal", **quiet)
    parser.add_argument("--debug", help="show where an error came from; may quote rows", **quiet)


def _text(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sep", metavar="CHAR", help="what separates fields of a CSV file (default: ,)")
    parser.add_argument("--encoding", metavar="NAME", help="of a CSV file (default: utf-8)")
    parser.add_argument(
        "--na", metavar="MARK", action="append", help="a text that means missing, in every column; repeatable"
    )


def _draft(parser: argparse.ArgumentParser) -> None:
    """Write the schema of a file to fill in, from the names and types of its columns.

    Bounds and values are never read from rows. Parquet and Feather files state their types.
    CSV: types guessed from the first lines (up to 10,000); check each.
    """
    parser.add_argument("data", help="a Parquet, Feather or CSV file (also .csv.gz)")
    parser.add_argument("--yaml", action="store_true", help="a YAML policy, which the other commands read")
    parser.add_argument("-o", "--out", metavar="FILE", help="where to; .yaml means --yaml")
    parser.add_argument("--force", action="store_true", help="overwrite the file")
    _text(parser)
    parser.set_defaults(run=look.draft)


def _check(parser: argparse.ArgumentParser) -> None:
    """Count the rows of each column that are missing or outside its domain: exact, for the curator alone."""
    parser.add_argument("data", help="a Parquet, Feather or CSV file")
    parser.add_argument("--policy", required=True, metavar="FILE", help="the policy, in YAML")
    parser.add_argument("--quiet", action="store_true", help="no numbers: only what is wrong")
    rows = "who a row is about: show how many rows they have and what each --max-rows would drop, instead"
    parser.add_argument("--unit", metavar="COLUMN", help=rows)
    parser.add_argument("--outside", choices=OUTSIDE, default="error", help="as release takes it")
    _text(parser)
    parser.set_defaults(run=look.check)


def _lint(parser: argparse.ArgumentParser) -> None:
    """List what a policy leaves open, with a fix for each."""
    parser.add_argument("policy", help="the policy, in YAML")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if there is anything not accepted")
    parser.add_argument("--accept", metavar="KIND", action="append", default=[], choices=KINDS, help=ACCEPT)
    parser.set_defaults(run=look.lint)


def _plan(parser: argparse.ArgumentParser) -> None:
    """Show what a query would cost and how wrong it would be: no data, no spend."""
    parser.add_argument("policy", help="the policy, in YAML")
    parser.add_argument("query", help="as in Python after `df.blowfish.`")
    goal = parser.add_mutually_exclusive_group()
    goal.add_argument("--epsilon", help="what it may cost, instead of what the query states")
    goal.add_argument("--rmse", type=float, metavar="ERROR", help="find the epsilon for this typical error")
    parser.add_argument("--rows", type=int, metavar="N", help="how many rows there are, where that matters")
    parser.add_argument("--candidates", action="store_true", help="every strategy with its expected error")
    parser.set_defaults(run=look.plan)


def _release(parser: argparse.ArgumentParser) -> None:
    """Answer queries with noise, charged to a ledger.

    DATA is a Parquet, Feather or CSV file; a QUERY is as in Python after `df.blowfish.`.
    All queries are planned, and their cost is compared with what is left, before anything is charged.
    A dataset that the ledger does not know, or a ledger that is not there, is begun with --new alone: a
    misspelt name, or a volume that is not mounted, would be a new budget.
    Every answer is kept under a name (--name, name= in the query, the stem of its file, or else the query
    itself): the same query under the same name is free ever after, so that a run that was cut short is
    simply run again.
    """
    parser.usage = f"{PROG} release [DATA] [QUERY ...] [--jobs FILE] [options]"
    parser.add_argument("--jobs", metavar="FILE", help="a YAML file that states all this; options here win")
    parser.add_argument("--policy", metavar="FILE", help="the policy, in YAML")
    parser.add_argument("--dataset", metavar="NAME", help="the name that the budget is kept under")
    parser.add_argument("--epsilon", metavar="TOTAL", help="what all releases of the dataset may cost")
    parser.add_argument("--ledger", metavar="FILE", help="where charges are kept; --new begins one")
    parser.add_argument("--new", action="store_true", help="begin the dataset, or ledger, if it is not there")
    parser.add_argument("--pool", metavar="NAME", help="a total that datasets of the same people share")
    parser.add_argument("--pool-epsilon", metavar="TOTAL", help="the pool's total, which opens it")
    parser.add_argument("--analyst", metavar="NAME", help="who asks, as the ledger's entries state it")
    parser.add_argument("--unit", metavar="COLUMN", help="who a row is about")
    rows = "how many rows of each unit are kept, where the policy does not state it (default: 1)"
    parser.add_argument("--max-rows", type=int, metavar="N", help=rows)
    parser.add_argument("--outside", choices=OUTSIDE, help="numbers beyond the bounds")
    parser.add_argument("-o", "--out", metavar="FILE", help=".parquet, .csv or .xlsx; of a single query")
    parser.add_argument("--name", help="keeps the answer under this name; of a single query")
    parser.add_argument(
        "--unnamed", action="store_true", help="keep no answer, not under --out either: each run is charged"
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would be charged, and stop")
    _text(parser)
    parser.set_defaults(run=batch.release)


def _ledger(parser: argparse.ArgumentParser) -> None:
    """Show budgets and entries of a ledger, verify it, raise a budget or limit an analyst on the record.

    `ledger upgrade FILE` moves the seal keys that versions before 0.2 kept in the file out of it.
    """
    words = "the ledger's file; after the word upgrade, one of an older version"
    parser.add_argument("ledger", nargs="+", metavar="[upgrade] ledger", help=words)
    parser.add_argument("--dataset", metavar="NAME", help="only this one; a pool too")
    parser.add_argument("--verify", action="store_true", help="redo every hash; exit with 7 if one is wrong")
    parser.add_argument(
        "--receipt", metavar="FILE", action="append", default=[], help="verify against it: .json or .parquet"
    )
    parser.add_argument(
        "--raise", dest="total", metavar="TOTAL", help="the dataset's new, larger total; needs --reason"
    )
    parser.add_argument("--reason", default="", help="why it is raised: written into the ledger")
    most = "what an analyst may charge to the dataset, such as ana=1/2, on the record; repeatable"
    parser.add_argument("--limit", metavar="NAME=TOTAL", action="append", default=[], help=most)
    parser.set_defaults(run=books.ledger)


def _report(parser: argparse.ArgumentParser) -> None:
    """Write one self-contained page for the privacy officer: promise, budget, releases, verification.

    Of a ledger that was tampered with it is written as far as that can be read, reports it, and the exit code
    is 7.
    """
    parser.add_argument("ledger", help="the ledger's file")
    parser.add_argument("-o", "--out", required=True, metavar="FILE", help="where to, such as report.html")
    parser.add_argument("--dataset", metavar="NAME", help="only this one")
    parser.set_defaults(run=books.report)


def _demo(parser: argparse.ArgumentParser) -> None:
    """Protect bundled synthetic data, plan, release and show the receipt."""
    parser.set_defaults(run=books.demo)


_COMMANDS = {
    "draft": _draft,
    "check": _check,
    "lint": _lint,
    "plan": _plan,
    "release": _release,
    "ledger": _ledger,
    "report": _report,
    "demo": _demo,
}
_EXAMPLES = {
    "draft": "example: pandas-blowfish draft patients.csv -o policy.yaml",
    "check": "example: pandas-blowfish check patients.csv --policy policy.yaml",
    "lint": "example: pandas-blowfish lint policy.yaml --strict --accept exact-total",
    "plan": """example: pandas-blowfish plan policy.yaml "cumhist('age')" --rmse 10""",
    "release": """examples:
  pandas-blowfish release patients.csv "hist('age', epsilon=0.1)" --policy policy.yaml \\
      --dataset patients-2026 --epsilon 1 --ledger budget.db --new -o ages.parquet
  pandas-blowfish release --jobs nightly.yaml --dry-run

a file of jobs (paths are relative to it):
  data: patients.parquet
  policy: policy.yaml
  dataset: patients-2026
  ledger: budget.db
  epsilon: 1
  releases:
    - query: hist('age', epsilon=0.1)
      out: ages.parquet
    - query: where("age >= 18").groupby('sex').hist('disease', epsilon='0.05')
      name: diseases of adults
      out: adults.csv""",
    "ledger": """examples:
  pandas-blowfish ledger budget.db --receipt ages.receipt.json
  pandas-blowfish ledger upgrade budget.db""",
    "report": "example: pandas-blowfish report budget.db -o report.html",
    "demo": "",
}
