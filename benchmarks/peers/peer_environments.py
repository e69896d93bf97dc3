"""The peers, the promise each makes, and a virtual environment for each; it sees no rows.

Environments are made once, under .venv-peers/<name> of the project. Where one cannot be, it says why.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1] / ".venv-peers"
PRESENCE = "one row added or removed"
VALUE = "one row's value changed, row count known"


class SkippedError(Exception):
    """A peer is left out; the text says why."""


@dataclass(frozen=True)
class Peer:
    """A library: what to install, the relation of the neighbours it hides, and what it has.

    `alone` are packages that are installed without what they ask for (and do not need here).
    """

    name: str
    title: str
    packages: tuple[str, ...]
    relation: str
    remark: str
    alone: tuple[str, ...] = ()
    command: str = ""

    @property
    def script(self) -> Path:
        """Return the file that asks it."""
        return HERE / f"run_{self.name}.py"

    @property
    def python(self) -> Path:
        """Return its interpreter."""
        folder = ROOT / self.name
        return folder / "Scripts" / "python.exe" if os.name == "nt" else folder / "bin" / "python"


PEERS = (
    Peer(
        "opendp",
        "OpenDP",
        ("opendp[polars]>=0.16,<0.17", "numpy>=2"),
        PRESENCE,
        "Laplace on counts, and a b-ary tree made consistent. It also takes `changes=1` (a value changed): "
        "it then doubles the scale itself, as we do here by halving epsilon. (For its tree of L levels, root "
        "included, a proof by hand would need 1 - 1/L of that scale only, as the root does not change.) No "
        "k-means.",
    ),
    Peer(
        "diffprivlib",
        "diffprivlib",
        ("diffprivlib>=0.6,<0.7", "scikit-learn>=1.4,<1.9"),
        PRESENCE,
        "truncated geometric noise (counts are cut at 0); ranges and CDF are sums of cells. DPLloyd.",
    ),
    Peer(
        "tumult",
        "Tumult Analytics",
        ("tmlt.analytics>=0.20,<0.22",),
        PRESENCE,
        "geometric noise on grouped counts over a key set; ranges and CDF are sums of cells. No k-means.",
        command="java",
    ),
    Peer(
        "smartnoise",
        "SmartNoise",
        ("smartnoise-sql>=1,<2", "scipy"),
        f"SQL: {PRESENCE}; MWEM: {VALUE}",
        "float Laplace on a grouped COUNT(*), its digits cut off (towards 0: half a row too low on average); "
        "a public row added to each cell so that empty ones are noisy too. MWEM (for tables of several "
        "columns) uses the exact row count and is asked for random ranges only; a range changes by 1 at most "
        "when a value does, so that it is not halved. So it stands in the table of ranges alone: its "
        "default, which measures all cells, was about 25 times better on cells of adult age at epsilon 1 "
        "(291, 384 in two fits; 7,610 and 10,000 with ranges only), but takes 40 s a fit at 100 cells. No "
        "k-means.",
        alone=("smartnoise-synth>=1,<2", "Faker"),
    ),
)


def ready(peer: Peer, *, create: bool, say: Callable[[str], None] = print) -> Path:
    """Return the interpreter of a peer's environment, making it where it is not there.

    Raises:
        SkippedError: It is not there and cannot be, or shall not be, made.
    """
    if peer.command and shutil.which(peer.command) is None:
        raise SkippedError(f"{peer.title} is skipped: it needs {peer.command}, which is not installed")
    wanted = "\n".join((*peer.packages, *peer.alone))
    mark = ROOT / peer.name / ".ready"
    if mark.exists() and mark.read_text("utf-8") == wanted:
        return peer.python
    if not create:
        raise SkippedError(f"{peer.title} is skipped: .venv-peers/{peer.name} is not there (--no-create)")
    say(f"making .venv-peers/{peer.name}: {' '.join((*peer.packages, *peer.alone))}")
    _call([sys.executable, "-m", "venv", "--clear", str(ROOT / peer.name)], peer)
    install = [str(peer.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _call([*install, *peer.packages], peer)
    if peer.alone:
        _call([*install, "--no-deps", *peer.alone], peer)
    mark.write_text(wanted, "utf-8")
    return peer.python


def _call(command: list[str], peer: Peer) -> None:
    """Run a step of making an environment, or say why it failed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    except subprocess.TimeoutExpired as late:
        raise SkippedError(f"{peer.title} is skipped: installing it took over 15 minutes") from late
    if done.returncode:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        reasons = [line for line in lines if "ERROR" in line] or lines or ["no reason given"]
        raise SkippedError(f"{peer.title} is skipped: it does not install here: {reasons[-1][:300]}")
