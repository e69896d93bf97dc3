"""Fuzz the readers: whatever text or receipt comes in, a typed error or an answer comes out, soon.

    python benchmarks/fuzz.py --minutes 10                 every target, one after the other
    python benchmarks/fuzz.py --minutes 10 --target calls  one of them
    python benchmarks/fuzz.py --seconds 5 --seed 7         a short run, the same each time but for its speed

Inputs are real examples, changed: characters and pieces are cut, doubled, swapped and replaced by what
readers stumble over, and parts of structures by other values. An input fails if it raises anything but a
BlowfishError, takes more than 2 s of processor time, or needs more than 500 MB. Each target runs in a process
of its own, whose memory is limited and which is begun again if it dies. Failing inputs are written to --keep.
"""

from __future__ import annotations

import argparse
import copy
import io
import json
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

SLOWEST, LARGEST = 2.0, 500  # seconds and megabytes that one input may take
LONGEST = 60_000  # characters of an input

PIECES = [
    *"0123456789-+.eE_:,;#&*!|>'\"%@`{}[]()<>=?~^/\\ \t\n\r",
    "\x00",
    "\x85",
    "\u2028",
    "\ufeff",
    "\ud800",
    "é",
]
PIECES += [
    "null",
    "true",
    "NaN",
    "inf",
    "-1",
    "0",
    "1e-9",
    "1e308",
    "1e999999",
    "10000000000000000000000",
    "99999999",
]
PIECES += [
    "2**63",
    "9223372036854775808",
    "1/0",
    "1/3",
    "0x10",
    "1:30:00",
    "2020-01-01",
    "1D",
    "None",
    "True",
    "...",
]
PIECES += [
    "&a",
    "*a",
    "<<: *a",
    "- - - -",
    "[[[[",
    "]]]]",
    "{{{{",
    "? ",
    "!!set",
    "!!int",
    "!!binary",
    "---",
    "%YAML",
]
PIECES += [
    "lambda: 0",
    "__import__('os')",
    "@x",
    "`a b`",
    " and ",
    " or not ",
    " in ",
    "==",
    "<=",
    ".",
    "'' ''",
]
PIECES += [
    "+01:00",
    "Z",
    "T00:00",
    "-00:00",
    "0000",
    "1.0",
    "  ",
    "\n\n",
    "\t\t",
    "=1+1",
    "age",
    "secret",
    "epsilon=",
]
VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    10**40,
    -(10**40),
    2**63,
    0.5,
    -0.0,
    1e308,
    1e-308,
    float("nan"),
]
VALUES += [
    float("inf"),
    "",
    "0",
    "-1",
    "1/0",
    "1e40",
    "9" * 5_000,
    "1e999999999",
    "nan",
    "x",
    "\x85",
    "=1",
    "\ud800",
]
VALUES += [
    [],
    {},
    [[]],
    [None],
    {"a": 1},
    ["1"] * 3,
    [1, "a"],
    {"": 0},
    b"x",
    (1, 2),
    {1: 2},
    "1/3",
    "public",
    "dawa",
]


def mutated_text(rng: random.Random, seeds: list[str]) -> str:
    """Return a seed with a few changes, or two seeds spliced."""
    text = rng.choice(seeds)
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 5, 9, 20])):
        start = rng.randrange(len(text) + 1)
        stop = min(len(text), start + rng.choice([0, 0, 1, 1, 2, 5, 20]))
        kind = rng.randrange(7)
        if kind == 0:
            text = text[:start] + text[stop:]
        elif kind <= 3:
            text = text[:start] + rng.choice(PIECES) + text[stop:]
        elif kind == 4:
            text = text[:start] + text[start:stop] * rng.choice([2, 3, 50, 3_000]) + text[stop:]
        elif kind == 5:
            other = rng.choice(seeds)
            text = text[:start] + other[rng.randrange(len(other) + 1) :]
        else:
            text = text[:start] + rng.choice(PIECES) * rng.choice([2, 20, 3_000]) + text[stop:]
        text = text[:LONGEST]
    return text


def mutated_data(rng: random.Random, seed: Any) -> Any:
    """Return plain data with a few parts replaced, removed, repeated or renamed."""
    data = copy.deepcopy(seed)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 6])):
        places: list[tuple[Any, Any]] = []
        todo = [data]
        while todo:
            node = todo.pop()
            keys = (
                list(node)
                if isinstance(node, dict)
                else list(range(len(node)))
                if isinstance(node, list)
                else []
            )
            places += [(node, key) for key in keys]
            todo += [node[key] for key in keys]
        if not places:
            return rng.choice(VALUES)
        node, key = rng.choice(places)
        kind = rng.randrange(6)
        if kind == 0:
            del node[key]
        elif kind == 1 and isinstance(node[key], str):
            node[key] = mutated_text(rng, [node[key]])
        elif kind == 2:
            node[key] = (
                copy.deepcopy(rng.choice(places)[0])
                if rng.random() < 0.3
                else rng.choice([[node[key]], {"x": node[key]}])
            )
        elif kind == 3 and isinstance(node, dict):
            node[rng.choice(["", "x", 1, None, "secret", "step", "log", "values", "scale"])] = node.pop(key)
        else:
            node[key] = copy.deepcopy(rng.choice(VALUES))
    return data


def policies_yaml() -> tuple[Callable[[random.Random], Any], Callable[[Any], object]]:
    """Policies as people write them, then read back, looked through and planned."""
    seeds = [policy.to_yaml() for policy in _policies()] + [_skeleton()]
    return lambda rng: mutated_text(rng, seeds), lambda text: _use(_bf().Policy.from_yaml(text))


def policies_dict() -> tuple[Callable[[random.Random], Any], Callable[[Any], object]]:
    """Policies as plain data."""
    seeds = [policy.to_dict() for policy in _policies()]
    return lambda rng: mutated_data(rng, rng.choice(seeds)), lambda data: _use(_bf().Policy.from_dict(data))


def calls() -> tuple[Callable[[random.Random], Any], Callable[[Any], object]]:
    """Queries as text, planned."""
    from pandas_blowfish.queries.call.call_reader import parse_call

    plan = _small().plan
    seeds = [
        "where('age >= 18 and sex == \"F\"').groupby('sex').hist('disease', epsilon=0.1, name='x')",
        "df.blowfish.range('age', [(0, 17), (18, None)], epsilon='1/3', post=False)",
        "cumhist('age', strategy='ordered', epsilon=1)",
        "quantile('age', [0.25, 0.5], epsilon=1)",
        "marginal([['sex', 'region'], ['disease']], epsilon=1, post='nonnegative')",
        "groupby(['sex', 'region']).mean('age', rows=500, epsilon='0.5')",
        "hist('age', bins=[0, 18, 65, 99], epsilon=1)",
        "hist('disease', bins={'heart': ['angina', 'arrhythmia']}, epsilon=1)",
        "kmeans(['age', 'income'], 3, epsilon=1)",
        "workload([[1, 0], [0, -1.5]], 'sex', epsilon=1)",
        "sum(['age', 'income'], epsilon=1)",
    ]
    return lambda rng: mutated_text(rng, seeds), lambda text: parse_call(text).on(plan)


def filters() -> tuple[Callable[[random.Random], Any], Callable[[Any], object]]:
    """Where-expressions, planned."""
    plan = _small().plan
    seeds = [
        "age >= 18 and sex == 'F'",
        "18 <= age < 65",
        "disease in ['flu', 'copd'] or not region == 'north'",
    ]
    seeds += ["income < 1e4", "(age < 5) | (age > 90) & ~(sex != 'M')", "`age` == 5.0", "age in (1, 2, 3)"]
    return lambda rng: mutated_text(rng, seeds), lambda text: plan.where(text).count(epsilon=1)


def receipts() -> tuple[Callable[[random.Random], Any], Callable[[Any], object]]:
    """Releases whose receipt was edited: intervals, pictures, more questions, files."""
    import matplotlib as mpl
    import pandas as pd

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    frames = _releases()
    folder = Path(tempfile.mkdtemp())

    def make(rng: random.Random) -> Any:
        number = rng.randrange(len(frames))
        return (
            number,
            mutated_data(rng, frames[number].attrs["blowfish"]),
            rng.randrange(12),
            rng.random() < 0.2,
        )

    def run(given: Any) -> object:
        number, record, verb, rename = given
        frame = frames[number].copy()
        frame.attrs["blowfish"] = record
        if rename:
            frame = frame.astype(object) if number % 2 else frame.iloc[::-1].rename(columns={"std": "error"})
        out = frame.blowfish
        path = folder / f"r.{('csv', 'xlsx', 'parquet')[verb % 3]}"
        asks: list[Callable[[], object]] = [
            *[lambda: out.interval(0.9)] * 4,
            lambda: (repr(out), out._repr_html_()),
            lambda: (repr(out.receipt), out.receipt._repr_html_()),
            lambda: (out.plot(), plt.close("all")),
            lambda: _bf().save(frame, path),
            lambda: out.hist("age", epsilon=1),
            lambda: out.assign(pd.DataFrame({"age": [1, 2]})),
            lambda: out.range("age", [(0, 5)], epsilon=1),
            lambda: out.quantile("age", [0.5], epsilon=1),
        ]
        return asks[verb]()

    return make, run


def protected() -> tuple[Callable[[random.Random], Any], Callable[[Any], object]]:
    """Protected frames whose record was edited."""
    bf = _bf()
    df = bf.datasets.patients(50).blowfish.protect(bf.datasets.patients_policy(), epsilon=10**6)

    def run(record: Any) -> object:
        frame = df.copy()
        frame.attrs["blowfish"] = record
        return repr(frame.blowfish), frame.blowfish.hist("sex", epsilon="0.001")

    return lambda rng: mutated_data(rng, df.attrs["blowfish"]), run


def jobs() -> tuple[Callable[[random.Random], Any], Callable[[Any], object]]:
    """Files of jobs and, beside them, receipts in files."""
    from pandas_blowfish.cli.jobs import read_job
    from pandas_blowfish.cli.ledger_commands import _receipt
    from pandas_blowfish.cli.parser import read_arguments

    folder = Path(tempfile.mkdtemp())
    seeds = [
        "data: rows.csv\npolicy: policy.yaml\ndataset: patients\nledger: budget.db\nepsilon: 1\n"
        "na: ['?', '-9']\n"
        "releases:\n  - query: hist('age', epsilon=0.1)\n    name: ages\n    out: ages.csv\n"
        '  - "count(epsilon=1)"\n  - query: >-\n      where("age >= 18").hist(\'sex\', epsilon=0.1)\n',
        "outside: clip\nunit: person\nsep: ';'\nencoding: latin-1\n"
        "releases: [{query: 'count(epsilon=1)', out: c.xlsx}]\n",
    ]
    kept = [json.dumps(frame.attrs["blowfish"], indent=1) for frame in _releases(1)]

    def run(given: tuple[bool, str]) -> object:
        is_job, text = given
        path = folder / ("jobs.yaml" if is_job else "r.receipt.json")
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        if not is_job:
            return _receipt(str(path))
        fixed = [
            "release",
            "d.csv",
            "--policy",
            "p.yaml",
            "--dataset",
            "d",
            "--ledger",
            "l.db",
            "--jobs",
            str(path),
        ]
        return read_job(read_arguments(fixed))

    def make(rng: random.Random) -> tuple[bool, str]:
        is_job = rng.random() < 0.7
        return is_job, mutated_text(rng, seeds if is_job else kept)

    return make, run


def fields() -> tuple[Callable[[random.Random], Any], Callable[[Any], object]]:
    """CSV files, read as their policy declares."""
    from pandas_blowfish.count.readers.files import read_table

    bf = _bf()
    columns: dict[str, Any] = {
        "n": {"type": "integer", "min": 0, "max": 99},
        "big": {"type": "integer", "min": 0, "max": 2**60},
        "f": {"type": "float", "min": 0, "max": 1, "step": "0.1"},
        "at": {"type": "datetime", "min": "2020-01-01", "max": "2021-01-01", "step": "1D"},
        "zoned": {
            "type": "datetime",
            "min": "2020-01-01T00:00Z",
            "max": "2021-01-01T00:00Z",
            "step": "1D",
            "tz": "UTC",
        },
        "b": {"type": "bool"},
        "c": {"type": "category", "values": ["x", "=y", "NA"]},
    }
    for column in columns.values():
        column["nullable"] = True
    policy = bf.Policy.from_dict({"blowfish": 1, "columns": columns})
    head = ",".join(columns)
    rows = "5,7,0.5,2020-02-03,2020-02-03T04:05:06+01:00,true,x\n,,,,,,\n"
    rows += '99,1,1,"2020-12-31 00:00","2020-12-31 00:00Z",FALSE,"=y"\n'
    folder = Path(tempfile.mkdtemp())

    def run(text: str) -> object:
        path = folder / "rows.csv"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        frame = read_table(path, policy.domain, na=["?"])
        return frame.blowfish.protect(policy, epsilon=1) if set(frame.columns) == set(columns) else None

    return lambda rng: f"{head}\n" * (rng.random() < 0.9) + mutated_text(rng, [rows, rows * 3]), run


TARGETS = {
    each.__name__: each
    for each in (policies_yaml, policies_dict, calls, filters, receipts, protected, jobs, fields)
}


def _bf() -> Any:
    import pandas_blowfish as bf

    return bf


def _policies() -> list[Any]:
    """Return policies with every kind of column, secret and fact."""
    bf = _bf()
    columns = {
        "age": {
            "type": "integer",
            "min": 0,
            "max": 99,
            "secret": {"secret": "threshold", "theta": 5},
            "nullable": True,
        },
        "lat": {
            "type": "float",
            "min": "-0.5",
            "max": "0.5",
            "step": "0.1",
            "secret": {"secret": "absolute_error", "k": "0.1"},
        },
        "day": {
            "type": "datetime",
            "min": "2026-01-01",
            "max": "2026-02-01",
            "step": "1D",
            "secret": {"secret": "threshold", "theta": "2D"},
        },
        "size": {
            "type": "category",
            "values": ["s", "m", "l"],
            "ordered": True,
            "secret": {"secret": "edges", "pairs": [["s", "m"]]},
        },
        "flag": {"type": "bool", "secret": "public"},
    }
    kinds = {"x": {"type": "integer", "min": 0, "max": 9}, "y": {"type": "integer", "min": 0, "max": 9}}
    joint = [{"columns": ["x", "y"], "secret": {"secret": "threshold", "theta": 2, "metric": "l2"}}]
    facts = [{"fact": "marginal", "columns": ["flag"]}]
    pay = {"type": "float", "secret": {"secret": "relative_error", "c": "0.9", "step": "0.01"}}
    total = [{"total": "x.sum()", "delta": 5}]
    specs = [
        {"blowfish": 1, "columns": columns, "constraints": facts, "neighbors": "attribute"},
        {"blowfish": 1, "columns": kinds, "joint": joint, "presence": True},
        {"blowfish": 1, "columns": {"pay": {**pay, "secret": {"secret": "relative_error", "c": "0.9"}}}},
        {
            "blowfish": 1,
            "columns": {"x": {**kinds["x"], "secret": {"secret": "partition", "groups": {"width": 5}}}},
            "neighbors": 1,
        },
        {"blowfish": 1, "columns": kinds, "aggregates": total},
    ]
    return [bf.datasets.patients_policy(), *map(bf.Policy.from_dict, specs)]


def _small() -> Any:
    """Return the policy of the example patients with few cells: what is fuzzed is reading, not searching."""
    form = _bf().datasets.patients_policy().to_dict()
    form["columns"]["age"]["max"] = 19
    form["columns"]["income"] |= {"max": 1_000, "secret": {"secret": "threshold", "theta": 200}}
    return _bf().Policy.from_dict(form)


def _skeleton() -> str:
    from pandas_blowfish.policy.serialise import skeleton

    return skeleton({"age": "int64", "name": "object"}).replace("...", "5")


def _use(policy: Any) -> object:
    """Do with a policy what its reader goes on to do."""
    assert type(policy).from_yaml(policy.to_yaml()) == policy, "the policy is not read back"
    return (
        repr(policy),
        policy.lint(),
        policy.describe(),
        policy.implies(type(policy).from_dict(policy.to_dict())),
    )


def _releases(most: int = 8) -> list[Any]:
    """Return a release of each kind, or of the first few."""
    bf = _bf()
    out = bf.datasets.patients(200).blowfish.protect(bf.datasets.patients_policy(), epsilon=10**6).blowfish
    asked: list[Callable[[], Any]] = [
        lambda: out.hist("age", epsilon=1),
        lambda: out.cumhist("age", epsilon=1),
        lambda: out.quantile("age", [0.5], epsilon=1),
        lambda: out.groupby("sex").sum("age", epsilon=1),
        lambda: out.mean(["age", "income"], epsilon=1),
        lambda: out.kmeans(["age"], 2, epsilon=1),
        lambda: out.marginal(["sex", "region"], epsilon=1),
        lambda: out.range("age", [(0, 17)], epsilon=1),
    ]
    return [ask() for ask in asked[:most]]


class Hang(BaseException):
    """An input took longer than it may."""


def _alarm(*_: Any) -> None:
    raise Hang


def child(target: str, seconds: float, seed: int, pipe: Any, keep: str) -> None:
    """Run one target until its time is over, and tell the parent of each failure and how it went."""
    from pandas_blowfish.errors import BlowfishError

    warnings.simplefilter("ignore")
    sys.stdout = sys.stderr = io.StringIO()
    rng = random.Random(seed)
    make, run = TARGETS[target]()
    begin = _memory()
    base = (
        int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        if Path("/proc/self/statm").exists()
        else 0
    )
    resource.setrlimit(resource.RLIMIT_AS, (base + (LARGEST << 20), -1)) if base else None
    signal.signal(signal.SIGPROF, _alarm)
    tried = refused = 0
    slowest, until = 0.0, time.monotonic() + seconds
    while time.monotonic() < until:
        given = make(rng)
        begun, wrong = time.process_time(), ""
        signal.setitimer(signal.ITIMER_PROF, SLOWEST)
        try:
            run(given)
        except BlowfishError:
            refused += 1
        except Hang:
            wrong = f"more than {SLOWEST:g} s\n{traceback.format_exc(limit=-6)}"
        except (OSError, KeyboardInterrupt) as error:
            wrong = (
                ""
                if isinstance(error, OSError) and target in ("jobs", "fields")
                else traceback.format_exc(limit=-6)
            )
        except BaseException:  # noqa: BLE001  whatever it is, it is what we look for
            wrong = traceback.format_exc(limit=-6)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        took = time.process_time() - begun
        tried += 1
        slowest = max(slowest, took)
        if wrong:
            pipe.send(("failure", wrong, repr(given)[:3_000]))
            Path(keep).mkdir(parents=True, exist_ok=True)
            Path(keep, f"{target}-{seed}-{tried}.txt").write_text(
                f"{wrong}\n{given!r}\n", errors="backslashreplace"
            )
        if tried % 100 == 0:
            pipe.send(("alive", tried, refused, slowest, _memory() - begin))
    pipe.send(("end", tried, refused, slowest, _memory() - begin))


def _memory() -> int:
    """Return the most memory this process has held, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def fuzz(target: str, seconds: float, seed: int, keep: str) -> dict[str, Any]:
    """Run a target in a process of its own, begun again whenever it dies, and return what was found."""
    found: dict[str, Any] = {
        "target": target,
        "inputs": 0,
        "refused": 0,
        "failures": [],
        "slowest": 0.0,
        "memory": 0,
    }
    until, spawn = time.monotonic() + seconds, multiprocessing.get_context("spawn")
    while (left := until - time.monotonic()) > 0.2 or not found["inputs"]:
        here, there = spawn.Pipe()
        process = spawn.Process(target=child, args=(target, max(left, 0.5), seed, there, keep))
        process.start()
        there.close()
        inputs = refused = 0
        try:
            while here.poll(60 + SLOWEST * 100):
                kind, *rest = here.recv()
                if kind == "failure":
                    found["failures"].append(rest)
                else:
                    inputs, refused, slowest, memory = rest
                    found["slowest"], found["memory"] = (
                        max(found["slowest"], slowest),
                        max(found["memory"], memory),
                    )
                if kind == "end":
                    break
            else:
                found["failures"].append(("it hangs, deaf to its alarm", ""))
        except EOFError:
            found["failures"].append(("the process died", f"exit code {process.exitcode}"))
        process.join(1)
        if process.is_alive():
            process.kill()
            process.join()
        found["inputs"], found["refused"] = found["inputs"] + inputs, found["refused"] + refused
        seed += 1_000_003
        if len(found["failures"]) > 200:
            break
    return found


def main(arguments: list[str] | None = None) -> int:
    """Fuzz the targets asked for, print a table, and return 1 if any input failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="for each target")
    parser.add_argument("--seconds", type=float, help="instead of --minutes")
    parser.add_argument("--target", choices=TARGETS, action="append")
    parser.add_argument("--seed", type=int, default=None, help="the clock by default")
    parser.add_argument(
        "--keep", default=str(Path(tempfile.gettempdir(), "blowfish-fuzz")), help="where failing inputs go"
    )
    given = parser.parse_args(arguments)
    seconds = given.minutes * 60 if given.seconds is None else given.seconds
    seed = int(time.time()) if given.seed is None else given.seed
    print(f"seed {seed}, {seconds:g} s per target\n")
    print(
        "| target | inputs | refused | failures | slowest | memory |\n| --- | --- | --- | --- | --- | --- |"
    )
    failed = 0
    for target in given.target or TARGETS:
        found = fuzz(target, seconds, seed, given.keep)
        failed += len(found["failures"])
        print(
            f"| {target} | {found['inputs']:,} | {found['refused']:,} | {len(found['failures'])} | "
            f"{found['slowest'] * 1000:,.0f} ms | +{found['memory']} MB |",
            flush=True,
        )
        seen: set[str] = set()
        for wrong, given_text in found["failures"]:
            lines = wrong.strip().splitlines()
            last = "".join([*(line for line in lines if line.startswith("  File"))][-2:]) or lines[0]
            if last not in seen and len(seen) < 15:
                seen.add(last)
                print(f"\n{wrong.strip()}\n  input: {given_text[:400]}\n", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
