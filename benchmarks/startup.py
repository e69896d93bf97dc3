"""Times `import pandas_blowfish` above `import pandas`, and counts the modules that a release passes through.

Each import is timed in a fresh process with compiled modules. A module counts if one of its functions runs.

Run: python benchmarks/startup.py
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

REPEATS = 11
PACKAGE = "pandas_blowfish"


def seconds(statement: str, settings: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True, env=settings)
    return time.perf_counter() - start


def visited(release: Callable[[], object]) -> set[str]:
    """Return the modules of the package, without its name, of which a call runs a function."""
    seen: set[str] = set()

    def note(frame: Any, event: str, _: object) -> None:
        name = str(frame.f_globals.get("__name__", ""))
        if event == "call" and name.startswith(f"{PACKAGE}.") and frame.f_code.co_name != "<module>":
            seen.add(name.removeprefix(f"{PACKAGE}."))

    sys.setprofile(note)
    try:
        release()
    finally:
        sys.setprofile(None)
    return seen


def visits() -> dict[str, set[str]]:
    """Return the modules that a first and a repeated histogram, and means by group, pass through."""
    import pandas_blowfish as bf

    df = bf.datasets.patients().blowfish.protect(bf.datasets.patients_policy(), epsilon=1)
    return {
        "a first hist": visited(lambda: df.blowfish.hist("age", epsilon="0.1")),
        "the same again": visited(lambda: df.blowfish.hist("age", epsilon="0.1")),
        "groupby().mean": visited(lambda: df.blowfish.groupby("sex").mean("income", epsilon="0.1")),
    }


def main() -> None:
    both = ("import pandas", "import pandas, pandas_blowfish")
    with tempfile.TemporaryDirectory() as cache:
        settings = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        settings["PYTHONPYCACHEPREFIX"] = cache
        for statement in both:
            seconds(statement, settings)
        pairs = [[seconds(statement, settings) for statement in both] for _ in range(REPEATS)]
    floor, ours = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(f"import pandas {floor:.3f} s; with pandas_blowfish {ours:.3f} s")
    print(f"added {ours - floor:.3f} s (limit 0.3 s), medians of {REPEATS}")
    print("modules passed through:", ", ".join(f"{what} {len(seen)}" for what, seen in visits().items()))


if __name__ == "__main__":
    main()
