"""Runs the suite with the oldest or the newest supported versions, each in an environment of its own.

    python .ci/environments.py oldest            the floors of pyproject.toml, on the oldest Python
    python .ci/environments.py newest            what pip finds, on every supported Python that is found here
    python .ci/environments.py newest --python python3.13 -- tests/count -x
    python .ci/environments.py newest --python python3.11 --with "pandas==2.3.*" --with "numpy==2.3.*"

Interpreters that are not found are named; the exit code is that of the worst run.
"""

from __future__ import annotations

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
FLOOR = re.compile(r"^([A-Za-z0-9_.-]+)(?:\[[^\]]*\])?>=([0-9.]+)")
TOOLS = {
    "test",
    "docs",
    "notebook",
    "bench",
}  # extras whose floors are those of tools, not of what users have
SHOWN = ["pandas", "numpy", "scipy", "pandera", "pyarrow", "polars", "duckdb", "dask", "pyspark"]
SHOWN += ["scikit-learn", "matplotlib"]


def floors() -> Iterator[str]:
    """Yield a constraint per package that users may have: its lowest series that is supported."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: wanted for name, wanted in project["optional-dependencies"].items() if name not in TOOLS}
    for wanted in (project["dependencies"], *extras.values()):
        for each in wanted:
            if found := FLOOR.match(each):
                yield f"{found[1]}=={found[2]}.*"


def find_python(version: str) -> str | None:
    """Return an interpreter of a version that runs, on the path or below pyenv."""
    roots = [os.environ.get("PYENV_ROOT", ""), str(Path.home() / ".pyenv")]
    below = [path for root in roots for path in sorted(glob.glob(f"{root}/versions/{version}.*/bin/python"))]
    for path in (shutil.which(f"python{version}"), *below[::-1]):
        if path and _version(path) == version:
            return path
    return None


def _version(python: str) -> str | None:
    words = [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def run(python: str, version: str, which: str, tests: list[str], pins: list[str]) -> int:
    """Make the environment, print what is in it, run the suite there."""
    named = "".join("-" + re.sub(r"[^A-Za-z0-9.]+", "-", pin).strip("-.") for pin in pins)
    folder = ROOT / f".venv-{which}-{version}{named}"
    own = str(folder / "bin" / "python")
    if not Path(own).exists():
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
    pip = [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade"]
    listed = folder / "constraints.txt"
    wanted = [*(sorted(set(floors())) if which == "oldest" else []), *pins]
    listed.write_text("".join(f"{each}\n" for each in wanted), encoding="utf-8")
    subprocess.run([*pip, "--constraint", str(listed), "--editable", f"{ROOT}[test]"], check=True, cwd=ROOT)
    listing = (
        "from importlib.metadata import version as v; import sys; print('Python', sys.version.split()[0], "
    )
    listing += "*(f'{name} {v(name)}' for name in sys.argv[1:]), sep='  ')"
    subprocess.run([own, "-c", listing, *SHOWN], check=True)
    chosen = tests or ["--doctest-modules", "pandas_blowfish", "tests"]
    words = [own, "-m", "pytest", "-n", "2", "--dist", "loadgroup", *chosen]
    return subprocess.run(words, cwd=ROOT, check=False).returncode


def main() -> int:
    """Run the suite in every environment asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("which", choices=["oldest", "newest"])
    parser.add_argument("--python", help="this interpreter alone")
    parser.add_argument(
        "--with", dest="pins", action="append", default=[], metavar="PIN", help="pandas==2.3.*"
    )
    parser.add_argument("tests", nargs="*", help="what pytest is given instead of the whole suite")
    given = parser.parse_intermixed_args()
    if given.python:
        version = _version(given.python)
        if version is None:
            parser.error(f"{given.python} does not run")
        return run(given.python, version, given.which, given.tests, given.pins)
    wanted = PYTHONS[:1] if given.which == "oldest" else PYTHONS
    found = {version: find_python(version) for version in wanted}
    codes = {}
    for version, python in found.items():
        if python is not None:
            codes[version] = run(python, version, given.which, given.tests, given.pins)
    for version in found:
        state = "not found here" if version not in codes else "passed" if not codes[version] else "FAILED"
        print(f"{given.which} on Python {version}: {state}")
    return max(codes.values(), default=1)


if __name__ == "__main__":
    sys.exit(main())
