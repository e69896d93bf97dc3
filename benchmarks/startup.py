"""Times `import pandas_blowfish` above `import pandas`, each in fresh processes.

Run: python benchmarks/startup.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

REPEATS = 11


def seconds(statement: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - start


def main() -> None:
    pairs = [(seconds("import pandas"), seconds("import pandas, pandas_blowfish")) for _ in range(REPEATS)]
    floor, ours = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(f"import pandas {floor:.3f} s; with pandas_blowfish {ours:.3f} s")
    print(f"added {ours - floor:.3f} s (limit 0.3 s), medians of {REPEATS}")


if __name__ == "__main__":
    main()
