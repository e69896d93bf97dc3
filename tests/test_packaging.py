"""What is installed: built from a copy of the tree, put into an environment of its own, and used there."""

from __future__ import annotations

import email
import inspect
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest

import pandas_blowfish as bf
from pandas_blowfish import errors

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NOT_COPIED = shutil.ignore_patterns(".git", ".venv*", "_build", "build", "dist", "*.egg-info", "*cache*")
BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_sdist(sys.argv[1]))"

# one call for each verb of the README's table
CALLS = {
    "hist": "df.blowfish.hist('age', bins=10, epsilon=1)",
    "value_counts": "df.blowfish.value_counts('disease', epsilon=1)",
    "crosstab": "df.blowfish.crosstab('sex', 'disease', epsilon=1)",
    "size": "df.blowfish.groupby('sex').size(epsilon=1)",
    "cumhist": "df.blowfish.cumhist('age', epsilon=1)",
    "quantile": "df.blowfish.quantile('age', [0.25, 0.75], epsilon=1)",
    "median": "df.blowfish.median('age', epsilon=1)",
    "mode": "df.blowfish.mode('disease', epsilon=1)",
    "top": "df.blowfish.top(2, 'disease', epsilon=1)",
    "range": "df.blowfish.range('age', [(0, 17), (18, None)], epsilon=1)",
    "marginal": "df.blowfish.marginal(['sex', 'disease', 'region'], order=2, epsilon=1)",
    "kmeans": "df.blowfish.kmeans(['age', 'income'], 3, epsilon=1)",
    "sum": "df.blowfish.sum('income', epsilon=1)",
    "mean": "df.blowfish.mean('income', epsilon=1)",
    "logsum": "wages.blowfish.logsum('income', epsilon=1)",
    "geomean": "wages.blowfish.geomean('income', epsilon=1)",
    "count": "df.blowfish.count(epsilon=1)",
    "var": "df.blowfish.var('age', epsilon=1)",
    "std": "df.blowfish.std('age', epsilon=1)",
    "cov": "df.blowfish.cov(['age', 'income'], epsilon=1)",
    "corr": "df.blowfish.corr(['age', 'income'], epsilon=1)",
    "describe": "df.blowfish.describe('age', epsilon=1)",
    "agg": "df.blowfish.agg({'age': ['mean', 'std']}, epsilon=1)",
    "workload": "df.blowfish.workload([[1, 1]], 'sex', epsilon=1)",
    "where": "df.blowfish.where('age >= 18').count(epsilon=1)",
    "groupby": "df.blowfish.groupby('sex')['age'].mean(epsilon=1)",
}
VERBS = """
import sys
import pandera.pandas as pa
import pandas_blowfish as bf
income = pa.DataFrameSchema({"income": pa.Column(float, metadata=bf.relative_error(0.9))})  # without bounds
wages = (bf.datasets.patients(500)[["income"]] + 1.0).blowfish.protect(income, epsilon=100)
df = bf.datasets.patients(500).blowfish.protect(bf.datasets.patients_policy(), epsilon=100)
for call in sys.stdin.read().splitlines():
    assert eval(call) is not None, call
"""
LISTED = (
    "import importlib.metadata as m, json; print(json.dumps([d.name.lower() for d in m.distributions()]))"
)


class Installed(NamedTuple):
    """A source archive, the wheel that was built from it, and the environment it was installed in."""

    sdist: Path
    wheel: Path
    bin: Path
    scratch: Path

    def run(self, *command: str, given: str = "") -> str:
        """Run a command of the environment far from the tree; return what it printed."""
        return _run([str(self.bin / command[0]), *command[1:]], self.scratch, given=given)


def _run(command: list[str], folder: Path, given: str = "", **variables: str) -> str:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        command, cwd=folder, env=kept | variables, input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """Build and install as a stranger would; skip where pip reaches no packages."""
    folder = tmp_path_factory.mktemp("packaging")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    tools, tree, scratch = folder / "tools", folder / "tree", folder / "scratch"
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    fetched = subprocess.run([*pip, "install", "--target", str(tools), *wanted], check=False)
    if fetched.returncode:
        pytest.skip("pip reaches no packages: the wheel is neither built nor installed")
    shutil.copytree(ROOT, tree, ignore=NOT_COPIED)
    scratch.mkdir()
    name = _run([sys.executable, "-c", BUILD, str(folder)], tree, PYTHONPATH=str(tools)).split()[-1]
    wheel = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(folder / name)]
    _run(wheel, scratch, PYTHONPATH=str(tools))
    (built,) = folder.glob("*.whl")
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], scratch)
    binary = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    _run([*pip, "--python", str(binary / "python"), "install", "--no-compile", str(built)], scratch)
    yield Installed(folder / name, built, binary, scratch)
    shutil.rmtree(folder / "venv")


def _table_verbs() -> set[str]:
    """Return the verbs of the README's table."""
    table = README[README.index("| verb |") :].split("\n\n", 1)[0]
    first = [row.split("|")[1] for row in table.splitlines()[2:]]
    return set(re.findall(r"`(\w+)`", "".join(first)))


group = pytest.mark.xdist_group("packaging")  # one environment for all


@group
def test_first_release_runs_where_it_is_installed(installed):
    """The README's first block, word for word."""
    block = re.search(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert block is not None

    assert installed.run("python", "-c", block[1]).split()[:3] == ["count", "std", "cdf"]


@group
def test_demo_runs_where_it_is_installed(installed):
    """The command is there and makes a release."""
    assert "ledger verified: True" in installed.run("pandas-blowfish", "demo")


@group
def test_every_verb_runs_with_nothing_more(installed):
    """What the README lists needs no extra, clusters neither."""
    assert set(CALLS) == _table_verbs()
    installed.run("python", "-c", VERBS, given="\n".join(CALLS.values()))


@group
def test_only_what_is_needed_is_installed(installed):
    """No package of an extra comes along."""
    found = set(json.loads(installed.run("python", "-c", LISTED)))
    needed = {re.split(r"[<>=\[]", line)[0] for line in PROJECT["dependencies"]}
    extras = {
        re.split(r"[<>=\[]", line)[0] for lines in PROJECT["optional-dependencies"].values() for line in lines
    }

    assert needed | {"pandas-blowfish"} <= found
    assert not found & (extras - needed - {"pandas-blowfish"})


@group
def test_wheel_holds_the_package_alone(installed):
    """Types are marked, tests stay out, the version and the page of the index are right."""
    with zipfile.ZipFile(installed.wheel) as wheel:
        names = wheel.namelist()
        (place,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        stated = email.message_from_bytes(wheel.read(place))
    page = str(stated.get_payload())

    assert "pandas_blowfish/py.typed" in names
    assert {name.split("/")[0] for name in names} == {"pandas_blowfish", place.split("/")[0]}
    assert stated["Version"] == bf.__version__
    assert stated["Description-Content-Type"] == "text/markdown"
    assert not re.search(r"\]\((?!https?://|#)", page)


@group
def test_source_archive_holds_tests_and_documents(installed):
    """Whoever has the archive can test it, build the pages and read the proofs."""
    with tarfile.open(installed.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    kept = {
        "CHANGELOG.md",
        "PROOFS.md",
        "SECURITY.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "Makefile",
        "CITATION.cff",
    }
    for folder, endings in {
        "tests": (".py", ".json", ".sqlite", ".seal-key"),
        "docs": (".md", ".py", ".svg", ".css", ".js", ".html"),
        "pandas_blowfish": (".py", ".typed"),
        ".ci": (".py",),  # what the Makefile runs
    }.items():
        files = (
            path for path in (ROOT / folder).rglob("*") if path.suffix in endings or path.name in endings
        )
        kept |= {path.relative_to(ROOT).as_posix() for path in files if "_build" not in path.parts}

    assert not kept - names
    assert not [name for name in names if "_build" in name or "__pycache__" in name]


@pytest.fixture
def readme(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str | None], str]:
    """Return what setup.py makes of a README; it needs setuptools only to build."""
    monkeypatch.setitem(sys.modules, "setuptools", SimpleNamespace(setup=None))
    made = runpy.run_path(str(ROOT / "setup.py"))["readme"]
    assert callable(made)
    return made


def test_readme_without_a_source_has_no_dead_links(readme):
    """Until the project has an address, relative links become their words."""
    given = (
        '[`hist`](docs/hist.md), [`df["age"]`](select.md), [pandera](https://example.org), [below](#below)'
    )

    assert readme(given, None) == '`hist`, `df["age"]`, [pandera](https://example.org), [below](#below)'
    assert not re.search(r"\]\((?!https?://|#)", readme(README, None))


def test_readme_with_a_source_leads_there(readme):
    """With an address, relative links lead to the files at that address; others stay."""
    given = "See [errors](docs/errors.md#schemaerror), [pandera](https://example.org) and [below](#below)."

    made = readme(given, "https://example.org/x/")
    assert made == (
        "See [errors](https://example.org/x/blob/main/docs/errors.md#schemaerror), "
        "[pandera](https://example.org) and [below](#below)."
    )
    whole = readme(README, "https://example.org/x")
    for path in re.findall(r"\]\(https://example\.org/x/blob/main/([^)#]+)", whole):
        assert (ROOT / path).exists(), path


def test_completion_lists_the_public_names():
    """`bf.<TAB>` shows what is public, and nothing else."""
    assert dir(bf) == sorted(bf.__all__)
    for name in bf.__all__:
        assert hasattr(bf, name), name


def test_version_is_written_once():
    """pyproject.toml reads it from version.py; no other file of the tree states it."""
    assert "version" in PROJECT["dynamic"]
    stated = [
        path.relative_to(ROOT).as_posix()
        for pattern in ("*.toml", "*.cff", "*.py", "docs/*.py", "pandas_blowfish/**/*.py")
        for path in ROOT.glob(pattern)
        if bf.__version__ in path.read_text(encoding="utf-8")
    ]

    assert stated == ["pandas_blowfish/version.py"]


def _tree(base: type, depth: int = 0) -> Iterator[str]:
    """Yield a line for each error below one, indented, with the built-in class that also catches it."""
    others = [
        each.__name__ for each in base.__bases__ if each.__module__ == "builtins" and each is not Exception
    ]
    yield "    " * depth + base.__name__ + (f" ({', '.join(others)})" if others else "")
    for name, each in vars(errors).items():
        if inspect.isclass(each) and base in each.__bases__ and name == each.__name__:
            yield from _tree(each, depth + 1)


def test_errors_have_one_tree():
    """docs/errors.md shows how all classes of errors derive from each other; each is bf.errors.X."""
    lines = list(_tree(bf.BlowfishError))
    classes = [
        name
        for name, each in vars(errors).items()
        if inspect.isclass(each) and each.__module__ == errors.__name__
    ]

    assert {line.split()[0] for line in lines} == set(classes)
    assert all(issubclass(getattr(bf.errors, name), bf.BlowfishError) for name in classes)
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert "\n".join(lines) in page, "\n".join(["docs/errors.md must show", *lines])
