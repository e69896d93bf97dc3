"""Runs every experiment of the two Blowfish papers that can be run from ../shared/data.

Run: python benchmarks/reproduce.py [--quick] [--only NAME ...] [--runs N] [--write] [--list].
Prints each table and what became of each claim. A full run (or --write) draws benchmarks/figures/<name>.png
and replaces the experiments' parts of benchmarks/RESULTS.md, one by one as they end; one with --quick or
--runs draws into a temporary folder and leaves RESULTS.md as it is. Files: skin_segmentation.npz,
twitter_western_usa.npz (Figure 1; its synthetic data need none), adult_capital_loss.npz (Figure 2b),
dpbench_1d.npz (Table 1, Figure 8). Where one is absent, the experiment is skipped, and that is said.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import papers
from papers.experiment import VERDICTS, AbsentError, Claim, Experiment, Found, Size
from ranges import progress

HERE = Path(__file__).resolve().parent
FIGURES, RESULTS = HERE / "figures", HERE / "RESULTS.md"
BEGIN, END = "<!-- reproduce:begin -->", "<!-- reproduce:end -->"
QUICK = Size(quick=True, runs=3)
FULL = Size(quick=False)
HEAD = """## The papers, reproduced

SIGMOD 2014: X. He, A. Machanavajjhala, B. Ding, Blowfish Privacy: Tuning Privacy-Utility Trade-offs Using
Policies. VLDB 2015: S. Haney, A. Machanavajjhala, B. Ding, Design of Policy-Aware Differentially Private
Algorithms. Left out: SIGMOD's Figure 2(a) and VLDB's Figures 1, 2 and 4 to 7, which are no experiments.

`python benchmarks/reproduce.py` ran every experiment below on data that are no part of the project. Each
part says when and at which commit. "Unsound" marks a mechanism that does not keep the promise it is printed
with: it is shown, and is no competitor. The lowest error among sound mechanisms is ours unless a note below
the table names the row: all that are lower by more than two standard errors of the difference, and apart
from them those that print lower by less, which may be chance.

**Reproduced**: the sentence holds with a sound mechanism named in the row (or needs none). **False**: a proof
or an enumeration contradicts it, or, of the mechanisms tried, it holds only with one that breaks its promise.
**Not reproduced**: neither. "An order of magnitude" and "close to 10" are a factor of 10. A stated power of a
logarithm is attained where the fitted one is from 3/4 of it to 15% above."""


def experiments() -> dict[str, Experiment]:
    """Return every experiment of the modules in papers/, by name, in the order of the modules."""
    found: dict[str, Experiment] = {}
    for module in sorted(info.name for info in pkgutil.iter_modules(papers.__path__)):
        for experiment in getattr(importlib.import_module(f"papers.{module}"), "EXPERIMENTS", ()):
            if experiment.name in found:
                raise ValueError(f"two experiments are named {experiment.name}")
            found[experiment.name] = experiment
    return found


def markdown(frame: pd.DataFrame) -> str:
    """Return a frame as a Markdown table, without its index."""
    rows = [" | ".join(map(str, frame.columns)), " | ".join("---" for _ in frame.columns)]
    rows += [" | ".join(map(_told, row)) for row in frame.itertuples(index=False)]
    return "\n".join(f"| {row} |" for row in rows)


def _told(value: object) -> str:
    """Return one value of a table, numbers to three digits."""
    return (f"{value:.3g}" if isinstance(value, float) else f"{value}").replace("|", "\\|")


def claims_table(claims: Iterable[Claim]) -> str:
    """Return what the paper says, what we measured, and the verdict."""
    rows = [(claim.sentence, claim.measured, f"**{claim.verdict}**", claim.why) for claim in claims]
    return markdown(pd.DataFrame(rows, columns=["the paper says", "measured", "verdict", "why"]))


def draw(found: Found, path: Path) -> None:
    """Write the picture of what was found, in few colours."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image

    figure = Figure(figsize=found.size, layout="constrained")
    FigureCanvasAgg(figure)
    found.draw(figure)
    figure.canvas.draw()
    path.parent.mkdir(exist_ok=True)
    picture = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")
    small = picture.quantize(128, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)  # also rare colours
    small.save(path, optimize=True)  # a third of the bytes


def section(experiment: Experiment, found: Found, told: str, *, pictured: bool) -> str:
    """Return an experiment's part of RESULTS.md, between markers of its own."""
    parts = [f"### {experiment.item} ({experiment.paper})", told, markdown(found.table)]
    parts += [f"![{experiment.item}](figures/{experiment.name}.png)"] if pictured else []
    parts += ["\n".join(f"- {note}" for note in found.notes)] if found.notes else []
    parts += [claims_table(found.claims)] if found.claims else []
    return "\n\n".join([_mark("begin", experiment.name), *parts, _mark("end", experiment.name)])


def _mark(side: str, name: str) -> str:
    """Return the line that opens or closes an experiment's part."""
    return f"<!-- reproduce:{side} {name} -->"


def rewritten(text: str, sections: dict[str, str], order: Iterable[str]) -> str:
    """Return RESULTS.md with these sections in place of the old ones, others as they were.

    Raises:
        ValueError: It opens the experiments' part and does not close it.
    """
    if BEGIN in text and END not in text.partition(BEGIN)[2]:
        raise ValueError(f"RESULTS.md has {BEGIN} and no {END} after it: put it back where the part ends")
    inside = text.partition(BEGIN)[2].partition(END)[0]
    kept = {
        name: body.group(0)
        for name in order
        if (body := re.search(f"{_mark('begin', name)}.*?{_mark('end', name)}", inside, re.DOTALL))
    }
    merged = {**kept, **sections}
    body = "\n\n".join(merged[name] for name in order if name in merged)
    tally = ", ".join(f"{body.count(f'| **{verdict}** |')} {verdict}" for verdict in VERDICTS)
    whole = f"{BEGIN}\n{HEAD}\n\nClaims: {tally}.\n\n{body}\n{END}"
    if BEGIN not in text:
        return f"{text.rstrip()}\n\n{whole}\n"
    before, _, rest = text.partition(BEGIN)
    return before + whole + rest.partition(END)[2]


def circumstances(size: Size, seconds: float, asked: str) -> str:
    """Return date, commit, machine, what was asked and the time of a run as one line."""
    command = ["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "unknown"
    machine = f"{platform.machine()}, {os.cpu_count()} cores"
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, commit {commit}, {machine}, {'quick, ' if size.quick else ''}"
        f"{asked}, {seconds:.0f} s."
    )


def run(
    chosen: Sequence[Experiment], size: Size, pictures: Path, keep: Callable[[dict[str, str]], None]
) -> tuple[dict[str, Found], list[str]]:
    """Run experiments, print and draw what they find, and keep each part; return also who was skipped."""
    done: dict[str, Found] = {}
    skipped = []
    for number, experiment in enumerate(chosen, 1):
        print(f"\n[{number}/{len(chosen)}] {experiment.item} ({experiment.paper})", flush=True)
        start = time.perf_counter()
        try:
            found = experiment.run(size, progress)
        except AbsentError as absent:
            print(f"  skipped: {absent}")
            skipped.append(experiment.name)
            continue
        except KeyboardInterrupt as stopped:
            raise InterruptedError(
                f"interrupted in {experiment.name}; kept: {', '.join(done) or 'none'}"
            ) from stopped
        pictured = found.draw is not None
        if pictured:
            draw(found, pictures / f"{experiment.name}.png")
        asked = f"{found.repeats} repetitions" if found.repeats else "nothing drawn at random"
        told = circumstances(size, time.perf_counter() - start, asked)
        part = section(experiment, found, told, pictured=pictured)
        print("\n" + "\n\n".join(part.split("\n\n")[2:-1]) + "\n", flush=True)
        done[experiment.name] = found
        keep({experiment.name: part})
    return done, skipped


def ending(done: dict[str, Found], skipped: Sequence[str], seconds: float) -> str:
    """Return how it went: who ran, how many sentences hold, and those that do not."""
    claims = [(name, claim) for name, found in done.items() for claim in found.claims]
    tally = ", ".join(f"{sum(claim.verdict == word for _, claim in claims)} {word}" for word in VERDICTS)
    lines = [f"  {c.verdict}: {c.sentence} ({name})" for name, c in claims if c.verdict != VERDICTS[0]]
    gone = f", {len(skipped)} skipped: {', '.join(skipped)}" if skipped else ""
    return "\n".join([*lines, f"Claims: {tally}.", f"{len(done)} run in {seconds / 60:.1f} minutes{gone}."])


def write(path: Path, sections: dict[str, str], order: Iterable[str]) -> None:
    """Put sections into RESULTS.md, whole or not at all."""
    text = rewritten(path.read_text("utf-8"), sections, order)
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.parent, prefix=".RESULTS.", delete=False
    ) as file:
        file.write(text)
    Path(file.name).chmod(path.stat().st_mode)
    Path(file.name).replace(path)


def whole_number(least: int) -> Callable[[str], int]:
    """Return a type of argument: a whole number from some least one on."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} on")
        return int(text)

    return read


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for; return 130 when interrupted."""
    known = experiments()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a few repetitions: about two minutes")
    parser.add_argument("--only", nargs="+", choices=list(known), metavar="NAME", help=", ".join(known))
    parser.add_argument(
        "--runs",
        type=whole_number(1),
        help="repetitions in place of each experiment's own, or of 3 with --quick",
    )
    parser.add_argument(
        "--write", action="store_true", help="replace pictures and parts of RESULTS.md in any case"
    )
    parser.add_argument("--list", action="store_true", help="name the experiments and stop")
    asked = parser.parse_args(arguments)
    if asked.list:
        print("\n".join(f"{one.name}: {one.item} ({one.paper})" for one in known.values()))
        return 0
    size = QUICK if asked.quick else FULL
    if asked.runs is not None:
        size = Size(quick=size.quick, runs=asked.runs)
    start = time.perf_counter()
    kept = asked.write or not (asked.quick or asked.runs is not None)  # pictures and text are of one run
    if kept:
        rewritten(RESULTS.read_text("utf-8"), {}, known)  # refused now rather than after an hour
    pictures = FIGURES if kept else Path(tempfile.mkdtemp(prefix="reproduce_"))
    keep = (lambda part: write(RESULTS, part, known)) if kept else (lambda _part: None)
    try:
        done, skipped = run([known[name] for name in asked.only or known], size, pictures, keep)
    except (InterruptedError, KeyboardInterrupt) as stopped:
        print(f"\n{str(stopped) or 'interrupted'}")
        return 130
    print(ending(done, skipped, time.perf_counter() - start))
    if size.runs is not None:
        print(f"{size.runs} repetitions: verdicts may differ from those of RESULTS.md.")
    print(f"pictures: {pictures}" + ("" if kept else "; RESULTS.md left as it was (--write to replace it)"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
