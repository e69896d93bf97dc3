"""A run as it is asked for: by options, by a file, by both."""

from argparse import Namespace
from pathlib import Path

import pytest

from pandas_blowfish.cli.exits import UsageError
from pandas_blowfish.cli.jobs import read_job
from pandas_blowfish.cli.parser import read_arguments
from pandas_blowfish.errors import ArgumentError, MissingPackageError

FIXED = ["release", "a.csv", "--policy", "p.yaml", "--dataset", "d", "--ledger", "b.db"]
FILE = """
data: rows/a.csv
policy: p.yaml
dataset: d
ledger: /var/b.db
epsilon: 1/2
releases:
  - count(epsilon=1)
  - query: >-
      df.blowfish
      .hist('age', epsilon=0.1)
    out: out.parquet
"""


def _read(*words: str) -> object:
    return read_job(read_arguments([*FIXED, *words]))


def test_names(tmp_path):
    """An explicit name first, then the query's, then the file's; else the query is its own."""
    out = str(tmp_path / "ages.csv")

    assert _read("count(epsilon=1)").asks[0].name is None
    assert _read("count(epsilon=1)", "-o", out).asks[0].name == "ages"
    assert _read("count(epsilon=1, name='x')", "-o", out).asks[0].name == "x"
    assert _read("count(epsilon=1, name='x')", "--name", "x", "-o", out).asks[0].name == "x"
    with pytest.raises(UsageError, match="two names"):
        _read("count(epsilon=1, name='x')", "--name", "y")


def test_a_file_and_what_wins(tmp_path):
    """Paths are taken from where the file is; options of the command line win."""
    (tmp_path / "jobs.yaml").write_text(FILE)

    job = read_job(read_arguments(["release", "--jobs", str(tmp_path / "jobs.yaml"), "--dataset", "other"]))

    assert job.data == tmp_path / "rows/a.csv"
    assert job.ledger == Path("/var/b.db")
    assert (job.dataset, job.epsilon, job.outside) == ("other", "1/2", "error")
    assert [str(ask.call) for ask in job.asks] == ["count(epsilon=1)", "hist('age', epsilon=0.1)"]
    assert job.asks[1].out == tmp_path / "out.parquet"
    assert job.na == ()
    own = read_arguments(["release", "--jobs", str(tmp_path / "jobs.yaml"), "b.csv", "sum('x', epsilon=1)"])
    assert read_job(own).data == Path("b.csv")
    assert [ask.call.verb for ask in read_job(own).asks] == ["sum"]


def test_marks_of_missing_values(tmp_path):
    """Listed in a file, or option by option, which wins."""
    (tmp_path / "jobs.yaml").write_text(f"{FILE}na: ['?', '-9']\n")
    words = ["release", "--jobs", str(tmp_path / "jobs.yaml")]

    assert read_job(read_arguments(words)).na == ("?", "-9")
    assert read_job(read_arguments([*words, "--na", "-9", "--na", "-", "--na="])).na == ("-9", "-", "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("data: [", "jobs.yaml: the YAML cannot be read (ParserError, line 1)"),
        ("releases:\n  - query: hist('a', bins={'x': [1]})\n    - out: x", "quoted, or put below"),
        (
            "dataset: a\nepsilon: 1\ndataset: b\n",
            "jobs.yaml: the key `dataset` is there twice, on lines 1 and 3",
        ),
        ("releases: [{name: a, name: b}]", "the key `name` is there twice"),
        ("na: '?'", "`na:` is not a list of texts"),
        ("na: ['?', -9]", "`na:` is not a list of texts"),
        ("just text", "not a file of jobs"),
        ("dataset: 2026", "`dataset:` is not text"),
        ("budget: 3", "unknown key `budget:`"),
        ("releases: hist('age')", "not a list"),
        ("releases: [3]", "a release is not"),
        ("releases: [{query: count(epsilon=1), file: x}]", "unknown key `file:`"),
        ("releases: [{query: count(epsilon=1), out: 3}]", "`out:` is not text"),
        ("releases: [{query: 'count(epsilon=1', name: x}]", "release 1: at character"),
        ("releases: [{name: x}]", "release 1"),
        ("releases: []", "nothing is asked"),
        ("\ud800", "not YAML"),
    ],
)
def test_files_that_are_refused(tmp_path, text, said):
    """Each mistake in a file is told with its place."""
    (tmp_path / "jobs.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))

    with pytest.raises(UsageError) as refused:
        read_job(read_arguments([*FIXED, "--jobs", str(tmp_path / "jobs.yaml")]))

    assert said in str(refused.value)


def test_options_that_are_refused(tmp_path):
    """What is missing, or makes no sense together."""
    for words in (
        ["release", "count(epsilon=1)"],
        [*FIXED],
        [*FIXED, "count(epsilon=1)", "sum('x', epsilon=1)", "-o", "x.csv"],
        [*FIXED, "-o", "x.csv"],
    ):
        with pytest.raises(UsageError):
            read_job(read_arguments(words))
    with pytest.raises(ArgumentError, match="no directory"):
        _read("count(epsilon=1)", "-o", str(tmp_path / "no" / "x.csv"))
    (tmp_path / "x.csv").mkdir()
    with pytest.raises(ArgumentError, match="cannot be the name"):
        _read("count(epsilon=1)", "-o", str(tmp_path / "x.csv"))


def test_a_missing_package_is_told_before(monkeypatch, tmp_path):
    """A form that cannot be written here is refused before anything is charged."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(MissingPackageError, match="parquet"):
        _read("count(epsilon=1)", "-o", str(tmp_path / "x.parquet"))


def test_a_namespace_is_enough():
    """The run is read from plain values, whoever made them."""
    given = Namespace(jobs=None, query=["count(epsilon=1)"], name=None, out=None, epsilon=None, unnamed=False)
    for key in ("unit", "outside", "sep", "encoding", "na", "pool", "pool_epsilon", "analyst", "max_rows"):
        setattr(given, key, None)
    given.data, given.policy, given.dataset, given.ledger = "a", "b", "c", "d"

    assert read_job(given).dataset == "c"
