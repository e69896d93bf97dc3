"""Times `import pandas_blowfish` above `import pandas`, each in fresh processes with compiled modules.

Run: python benchmarks/startup.py
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

REPEATS = 11


def seconds(statement: str, settings: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True, env=settings)
    return time.perf_counter() - start


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


if __name__ == "__main__":
    main()
