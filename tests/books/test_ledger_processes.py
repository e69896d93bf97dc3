"""The ledger between processes: nothing overspent or lost by races, forks or kills at random moments."""

import json
import os
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from pandas_blowfish.books import log as chain
from pandas_blowfish.books.ledger import Ledger

PACKAGE = Path(__file__).parents[2] / "pandas_blowfish"

PRELUDE = f"""
import os, random, signal, sys, time, types
for name in ("", ".kernel", ".policy"):  # the bare packages: a ledger needs no pandas
    module = types.ModuleType("pandas_blowfish" + name)
    module.__path__ = [{str(PACKAGE)!r} + name.replace(".", "/")]
    sys.modules[module.__name__] = module
from fractions import Fraction
from pandas_blowfish import errors
from pandas_blowfish.books.ledger import Ledger
assert "pandas" not in sys.modules and "numpy" not in sys.modules
path = sys.argv[1]
"""

SPEND = """
ledger, granted = Ledger(path), []
ledger.bind("a", Fraction(sys.argv[2]), {"by": os.getpid()})
for i in range(200):
    try:
        granted.append(ledger.charge("a", Fraction(1, 1000), {"i": i})[0].id)
    except errors.InsufficientBudgetError:
        pass
print(granted)
"""

POOL = """
from pandas_blowfish.books.pools import Pool
ledger, granted, own = Ledger(path), [], f"night {sys.argv[2]}"
ledger.bind(own, Fraction(1), {}, pool=Pool("people", Fraction(1, 4)))
for i in range(60):
    try:
        part = {"region": [i % 3]} if i % 2 else None
        granted.append(ledger.charge(own, Fraction(1, 500), {"i": i}, part=part)[0].id)
    except errors.PoolBudgetError:
        pass
print(granted)
"""

BIND = """
while not os.path.exists(path + ".go"):
    pass
print(Ledger(path).bind("a", Fraction(1), {"by": os.getpid()}).binding["by"])
"""

KILL = """
random.seed(2026)
def child(ledger, out):
    ledger.bind("a", Fraction(10**6), {})
    os.write(out, b"bound\\n")
    while True:
        os.write(out, b"%d\\n" % ledger.charge("a", Fraction(1, 7), {})[0].id)
kinds = {"nothing": 0, "bound": 0, "charged": 0, "unacknowledged": 0}
for round in range(300):
    if round % 15 == 0:  # a new file: the first child makes it, and is killed early
        ledger, recorded = Ledger(f"{path}{round}"), 0
    ledger.close()
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        try:
            child(ledger, theirs)
        finally:
            os._exit(3)
    os.close(theirs)
    begun = os.read(ours, 6).decode() if round % 2 else ""  # every other kill comes amid charges
    time.sleep(random.uniform(0, 0.05))
    os.kill(pid, signal.SIGKILL)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    with os.fdopen(ours) as pipe:
        lines = (begun + pipe.read()).split()
    acknowledged = [int(line) for line in lines if line != "bound"]
    try:
        ledger.verify()
        count = Ledger.at(ledger.location).dataset("a").spent * 7
    except (errors.LedgerNotFoundError, errors.UnknownDatasetError):
        assert recorded == 0 and not lines, lines
        kinds["nothing"] += 1
        continue
    extra = count - recorded - len(acknowledged)
    assert extra in (0, 1), (count, recorded, lines)
    assert acknowledged == [recorded + 2 + i for i in range(len(acknowledged))]
    kinds["charged" if acknowledged else "bound"] += 1
    kinds["unacknowledged"] += int(extra)
    recorded = int(count)
import json
print(json.dumps(kinds))
"""

FORK = """
memory, file = Ledger(), Ledger(path)
default = Ledger.default()
for ledger in (memory, file, default):
    ledger.bind("a", Fraction(1), {})
    ledger.charge("a", Fraction(1, 10), {})
pids = []
for _ in range(8):
    pid = os.fork()
    if pid == 0:
        for attempt in (
            lambda: memory.charge("a", Fraction(1, 10), {}),
            lambda: memory.bind("b", Fraction(1), {}),
            lambda: default.budget("a"),
            lambda: Ledger.at(memory.location),
        ):
            try:
                attempt()
                os._exit(1)
            except errors.LedgerNotFoundError:
                pass
        if Ledger.default().location == default.location:
            os._exit(2)
        for _ in range(10):
            file.charge("a", Fraction(1, 100), {})
        os._exit(0)
    file.charge("a", Fraction(1, 100), {})
    pids.append(pid)
print([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids])
print(file.budget("a"), memory.budget("a").spent, file.verify(), memory.verify())
"""

INHERIT = """
ledger = Ledger(path)
ledger.bind("a", Fraction(1), {})
(child_hears, parent_says), (parent_hears, child_says) = os.pipe(), os.pipe()
if os.fork() == 0:
    ledger.charge("a", Fraction(1, 10), {})
    os.write(child_says, b".")
    os.read(child_hears, 1)
    ledger.charge("a", Fraction(1, 10), {})
    os._exit(0)
os.read(parent_hears, 1)
ledger.close()  # were it the last to know of the file, it would remove the child's log
os.write(parent_says, b".")
os.wait()
print(ledger.budget("a").spent, ledger.verify())
"""

CLOSED = """
ledger = Ledger(path)
ledger.charge("a", Fraction(1, 10), {})
print("charged", flush=True)
sys.stdin.readline()
try:
    ledger.charge("a", Fraction(1, 10), {})
except errors.ClosedDatasetError as error:
    print(error.reason)
"""

PLANNED = """
ledger, refused, known = Ledger(path), 0, 0
while not os.path.exists(path + ".go"):
    pass
while known < 6:
    known = len(ledger.dataset("a").facts)
    time.sleep(random.uniform(0, 0.005))  # a plan is made under these facts, and takes its time
    try:
        ledger.charge("a", Fraction(1, 1000), {"closure": "1/1000", "known": known}, facts=known)
    except errors.FactsChangedError:
        refused += 1
print(refused)
"""

RECORD = """
import pandas_blowfish.plan.price  # what a price needs is there before the race
from pandas_blowfish.facts.declared import Count
ledger = Ledger(path)
open(path + ".go", "w").close()
for number in range(6):
    spent = ledger.dataset("a").spent
    while ledger.dataset("a").spent == spent:  # until there was a charge
        time.sleep(0.001)
    ledger.record_exact("a", Count(f"x in [{2 * number}, {2 * number + 1}]"))
"""


def start(script, *arguments):
    """Start a fresh interpreter on a script; warnings are errors there too."""
    command = [sys.executable, "-W", "error", "-c", PRELUDE + script, *map(str, arguments)]
    environment = {key: value for key, value in os.environ.items() if key != "BLOWFISH_LEDGER_KEY"}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment)


def finish(process):
    """Return what a process printed; it must have ended well, and quietly."""
    output, complaints = process.communicate(timeout=300)
    assert (process.returncode, complaints) == (0, "")
    return output


@pytest.mark.parametrize(("total", "granted"), [("2", 1600), ("1", 1000)])
def test_processes_never_overspend(tmp_path, total, granted):
    """Eight processes making 200 charges each lose none and spend no more than there is."""
    path = tmp_path / "budget.db"

    outputs = [finish(process) for process in [start(SPEND, path, total) for _ in range(8)]]

    ids = Counter(entry for output in outputs for entry in json.loads(output))
    assert sorted(ids) == list(range(2, granted + 2))
    assert set(ids.values()) == {1}
    ledger = Ledger(path)
    assert ledger.budget("a").spent == Fraction(granted, 1000)
    assert ledger.verify()
    assert len(ledger.entries) == granted + 1
    ledger.close()


def test_one_binding_wins(tmp_path):
    """Processes that bind the same name in the same new file at once all get the same binding."""
    for attempt in range(5):
        path = tmp_path / f"budget{attempt}.db"
        processes = [start(BIND, path) for _ in range(4)]
        Path(f"{path}.go").touch()

        winners = {finish(process) for process in processes}

        assert len(winners) == 1
        ledger = Ledger(path)
        assert len(ledger.entries) == 1
        ledger.close()


def test_a_kill_leaves_a_charge_or_nothing(tmp_path):
    """After each of 300 kills the file verifies and holds every charge that was acknowledged."""
    kinds = json.loads(finish(start(KILL, tmp_path / "budget.db")))

    assert kinds["nothing"] + kinds["bound"] + kinds["charged"] == 300
    assert kinds["charged"] + kinds["unacknowledged"] > 100  # kills did come amid charges


def test_forks(tmp_path):
    """A forked child shares a file's budget and is refused a copy of its parent's memory."""
    output = finish(start(FORK, tmp_path / "budget.db"))

    assert output.splitlines() == [
        str([0] * 8),
        "Budget(total=1, spent=0.98, remaining=0.02) 1/10 True True",
    ]


def test_a_forked_child_opens_the_file_anew(tmp_path):
    """A child's charge is not lost when its parent closes the file they were both forked with."""
    assert finish(start(INHERIT, tmp_path / "budget.db")) == "1/5 True\n"


def test_a_fact_closes_for_other_processes(tmp_path):
    """A charge reads the state again, so a fact recorded by another process stops it."""
    ledger = Ledger(tmp_path / "budget.db")
    ledger.bind("a", Fraction(1), {})
    process = start(CLOSED, ledger.location)
    assert process.stdout.readline() == "charged\n"

    ledger.record_exact("a", {"fact": "count", "where": "x == 0"})

    assert "without a policy" in finish(process)
    assert ledger.budget("a").spent == Fraction(1, 10)
    ledger.close()


def test_no_charge_under_too_few_facts(tmp_path):
    """While one process records facts and others charge, each knows all that were entered before it."""
    policy = {"blowfish": 1, "columns": {"x": {"type": "integer", "min": 0, "max": 13}}}
    ledger = Ledger(tmp_path / "budget.db")
    ledger.bind("a", Fraction(100), {"policy": json.dumps(policy), "rows": 50})

    processes = [start(script, ledger.location) for script in (PLANNED, PLANNED, PLANNED, RECORD)]
    refused = [finish(process) for process in processes]

    facts, costs, known = [], {}, set()
    with chain.transaction(ledger.location) as connection:
        for entry in chain.replay(connection):
            if entry.kind == "charge":
                assert entry.body["known"] == entry.body["facts"] == len(facts)
                costs[str(entry.id)] = Fraction(entry.body["epsilon"])
                known.add(len(facts))
            elif entry.kind == "fact":
                facts.append(entry.id)
                costs |= {number: Fraction(cost) for number, cost in entry.body["repriced"].items()}
                moved = len(facts) + 1  # disjoint, two cells each: a cycle through them and the others
                assert all(cost >= moved * Fraction(1, 1000) for cost in costs.values())
            assert Fraction(entry.body["spent"]) == sum(costs.values())
    assert len(facts) == 6
    assert known >= set(range(6))  # charges did come between facts
    assert sum(map(int, refused[:3])) > 0  # and some came too late
    assert ledger.verify()
    ledger.close()


def test_processes_never_overspend_a_pool(tmp_path):
    """8 processes, each with a dataset of its own in one pool: together they spend its total and no more."""
    path = str(tmp_path / "budget.db")
    jobs = [
        subprocess.Popen([sys.executable, "-c", PRELUDE + POOL, path, str(at)], stdout=subprocess.PIPE)
        for at in range(8)
    ]
    granted = [json.loads(job.communicate()[0]) for job in jobs]

    ledger = Ledger(path)
    assert [job.returncode for job in jobs] == [0] * 8
    assert sum(map(len, granted)) >= 125
    assert ledger.budget("people").spent == Fraction(1, 4)
    assert sum(ledger.budget(name).spent for name in ledger.datasets) == Fraction(1, 4)
    assert ledger.verify()
