"""What a release passes through: without facts or other promises, no module about them."""

import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
MOST = (90, 54, 75)  # modules that may be passed through: a first hist, the same again, means by group


def test_a_plain_release_passes_through_few_modules():
    """In a fresh process; none of them is about public facts, chains, secret totals or weaker promises."""
    script = "from startup import visits\nfor seen in visits().values(): print(*sorted(seen))"

    shown = subprocess.run(
        [sys.executable, "-c", script], cwd=BENCHMARKS, capture_output=True, text=True, check=True
    )

    passed = [line.split() for line in shown.stdout.splitlines()]
    assert [len(seen) <= most for seen, most in zip(passed, MOST, strict=True)] == [True] * 3
    assert not {name for seen in passed for name in seen if name.startswith(("facts.", "beyond."))}
