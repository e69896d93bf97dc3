"""Runs a command and prints how long it took: python .ci/timed.py NAME COMMAND ..."""

import subprocess
import sys
import time

start = time.monotonic()
code = subprocess.run(sys.argv[2:], check=False).returncode
seconds = time.monotonic() - start
print(f"-- {sys.argv[1]}: {int(seconds // 60)} min {seconds % 60:.0f} s", flush=True)
sys.exit(code)
