"""One run of releases as it was asked for: from options, or from a file of jobs. Never sees rows."""

from __future__ import annotations

import importlib.util
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pandas_blowfish.books.analysts import is_name
from pandas_blowfish.cli.exits import UsageError
from pandas_blowfish.cli.outputs import require_distinct, require_writable
from pandas_blowfish.errors import ArgumentError, MissingPackageError, SchemaError
from pandas_blowfish.export import SUFFIXES
from pandas_blowfish.policy.serialise import MAX_TEXT, parse_yaml
from pandas_blowfish.queries.call.call_reader import Call, parse_call

PATHS = ("data", "policy", "ledger")
TEXTS = ("dataset", "unit", "outside", "sep", "encoding", "pool", "analyst")
NUMBERS = ("epsilon", "pool_epsilon", "max_rows")
NEEDED = ("data", "policy", "dataset", "ledger")
KEYS = (*PATHS, *TEXTS, *NUMBERS, "na", "releases")
ENGINES = {".parquet": ("pyarrow", "parquet"), ".xlsx": ("openpyxl", "excel")}


@dataclass(frozen=True)
class Ask:
    """One query of a run.

    Attributes:
        call: The query.
        name: What its answer is kept under; None for the query's own text, or to keep none (`Job.unnamed`).
        out: The file it is written to; None to print it.
    """

    call: Call
    name: str | None
    out: Path | None


@dataclass(frozen=True)
class Job:
    """A run: whose rows, under which policy and budget, and what is asked of them.

    Attributes:
        unnamed: Whether no answer is kept.
        jobs: The file that states all this, where there is one.
    """

    data: Path
    policy: Path
    dataset: str
    ledger: Path
    epsilon: Any
    unit: str | None
    max_rows: Any
    outside: str
    sep: str | None
    encoding: str | None
    na: tuple[str, ...]
    pool: str | None
    pool_epsilon: Any
    analyst: str | None
    asks: tuple[Ask, ...]
    unnamed: bool
    jobs: Path | None


def read_job(given: Namespace) -> Job:
    """Return the run that options, and the file of jobs where there is one, ask for; options win."""
    stated = _file(Path(given.jobs)) if given.jobs is not None else {}
    for key in (*PATHS, *TEXTS, *NUMBERS, "na"):
        if (value := getattr(given, key)) is not None:
            stated[key] = value
    for key in NEEDED:
        if stated.get(key) is None:
            option = "DATA" if key == "data" else f"--{key}"
            raise UsageError(f"{option} is missing", f"give {option}, or `{key}:` in a file for --jobs.")
    listed = stated.pop("releases", None) or []
    if given.query:  # those of the command line, instead of the file's
        if len(given.query) > 1 and (given.out or given.name):
            raise UsageError("--out and --name are for a single query", "use --jobs for several.")
        listed = [{"query": text, "name": given.name, "out": given.out} for text in given.query]
    elif given.out or given.name:
        raise UsageError("--out and --name are for a query on the command line")
    if not listed:
        raise UsageError("nothing is asked", "give a query, or `releases:` in a file for --jobs.")
    asks = tuple(
        _ask(each, f"release {number}", unnamed=given.unnamed) for number, each in enumerate(listed, 1)
    )
    require_distinct([[ask.out] for ask in asks if ask.out is not None])
    fields: dict[str, Any] = {key: Path(stated[key]) for key in PATHS}
    fields |= {key: stated.get(key) for key in (*TEXTS, *NUMBERS)}
    fields |= {"outside": fields["outside"] or "error", "na": tuple(stated.get("na") or ())}
    jobs = None if given.jobs is None else Path(given.jobs)
    return Job(**fields, asks=asks, unnamed=given.unnamed, jobs=jobs)


def _file(path: Path) -> dict[str, Any]:
    """Return what a file of jobs states, its paths taken from where it is."""
    try:
        with path.open("rb") as file:
            found = parse_yaml(file.read(4 * MAX_TEXT + 4).decode("utf-8-sig"))
    except UnicodeError:
        raise UsageError(f"{path.name}: not YAML in UTF-8", "convert it.") from None
    except SchemaError as error:
        fix = "a query with `: ` or ` #` in it is quoted, or put below `query: >-`."
        fix = error.fix if "twice" in error.problem else fix
        raise UsageError(f"{path.name}: {error.problem}", fix) from None
    if not isinstance(found, Mapping):
        raise UsageError(f"{path.name}: not a file of jobs", "see pandas-blowfish release --help.")
    _known(found, KEYS, path.name)
    stated = dict(found)
    for key in (*PATHS, *TEXTS):
        if stated.get(key) is not None and not isinstance(stated[key], str):
            raise UsageError(f"{path.name}: `{key}:` is not text", "put it in quotes.")
    marks = stated.get("na") or []
    if not isinstance(marks, list) or not all(isinstance(mark, str) for mark in marks):
        raise UsageError(f"{path.name}: `na:` is not a list of texts", "such as na: ['?', '-9'].")
    stated |= {key: path.parent / stated[key] for key in PATHS if stated.get(key) is not None}
    listed = stated.get("releases")
    if listed is not None and not isinstance(listed, list):
        raise UsageError(f"{path.name}: `releases:` is not a list", "begin each with `- query: ...`.")
    stated["releases"] = [_placed(each, path) for each in listed or ()]
    return stated


def _placed(each: Any, path: Path) -> dict[str, Any]:
    """Return one release of a file of jobs, its path taken from where the file is."""
    if isinstance(each, str):
        return {"query": each}
    if not isinstance(each, Mapping):
        raise UsageError(
            f"{path.name}: a release is not `query:`, `name:`, `out:`", "begin with `- query: ...`."
        )
    _known(each, ("query", "name", "out"), path.name)
    out = each.get("out")
    if out is not None and not isinstance(out, str):
        raise UsageError(f"{path.name}: `out:` is not text", "put it in quotes.")
    return {**each, "out": None if out is None else path.parent / out}


def _known(found: Mapping[Any, Any], keys: Sequence[str], name: str) -> None:
    if strange := [str(key) for key in found if key not in keys]:
        raise UsageError(f"{name}: unknown key `{strange[0]}:`", f"known: {', '.join(keys)}.")


def _ask(stated: Mapping[str, Any], where: str, *, unnamed: bool) -> Ask:
    """Return one query, read as far as it can be without a policy."""
    try:
        call = parse_call(stated.get("query"))
    except ArgumentError as error:
        raise UsageError(f"{where}: {error.problem}", error.fix or error.allowed) from None
    name, out = stated.get("name"), stated.get("out")
    if name is not None and not is_name(name):
        raise UsageError(f"{where}: not a name", "printable text without blanks around it.")
    if name is not None and call.name not in (None, name):
        raise UsageError(f"{where}: two names, {call.name!r} and {name!r}", "give one.")
    name = name or call.name
    if unnamed and name is not None:
        raise UsageError(f"{where}: --unnamed with the name {name!r}", "leave one of them out.")
    place = None if out is None else _target(Path(out))
    stem = None if place is None or unnamed else place.stem
    return Ask(call.with_name(None), name or stem, place)


def _target(out: Path) -> Path:
    """Return a file that can be written, or raise before anything is charged."""
    if out.suffix not in SUFFIXES:
        raise ArgumentError("out", f"unknown ending {out.suffix!r}", allowed=", ".join(SUFFIXES))
    require_writable(out.parent)
    if out.is_dir() or not is_name(out.stem):
        raise ArgumentError("out", f"{str(out)!r} cannot be the name of a file", fix="choose another.")
    package, extra = ENGINES.get(out.suffix, ("", ""))
    if package and importlib.util.find_spec(package) is None:
        raise MissingPackageError(package, f'pip install "pandas-blowfish[{extra}]"')
    return out
