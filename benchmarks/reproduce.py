"""Runs every experiment of the two Blowfish papers that can be run from ../shared/data.

Run: python benchmarks/reproduce.py [--quick] [--only NAME ...] [--runs N] [--write] [--list].
Prints each table and what became of each claim, and draws benchmarks/figures/<name>.png. A full run (or
--write) also replaces the experiments' parts of benchmarks/RESULTS.md. Where a data file is absent, the
experiment is skipped, and that is said.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import platform
import re
import subprocess
import time
from collections.abc import Iterable
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
QUICK = Size(quick=True, runs=3, ranges=1_000)
FULL = Size(quick=False)
HEAD = """## The papers, reproduced

`python benchmarks/reproduce.py` ran every experiment below on data that are no part of the project. Each
part says when and at which commit. "Unsound" marks a mechanism that does not keep the promise it is printed
with: it is shown, and is no competitor. The lowest error among sound mechanisms is ours unless a note below
a table names the row."""


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
    picture.quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)  # a third of the bytes


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
    """Return RESULTS.md with these sections in place of the old ones, others as they were."""
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
    return text.partition(BEGIN)[0] + whole + text.partition(END)[2]


def circumstances(size: Size, seconds: float) -> str:
    """Return date, commit, machine, size and time of a run as one line."""
    asked = ["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() or "unknown"
    machine = f"{platform.machine()}, {os.cpu_count()} cores"
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, commit {commit}, {machine}, {'quick, ' if size.quick else ''}"
        f"at most {size.runs} repetitions and {size.ranges:,} ranges, {seconds:.0f} s."
    )


def run(chosen: Iterable[Experiment], size: Size) -> dict[str, str]:
    """Run experiments, print and draw what they find, and return their parts of RESULTS.md."""
    sections = {}
    for experiment in chosen:
        print(f"\n{experiment.item} ({experiment.paper})", flush=True)
        start = time.perf_counter()
        try:
            found = experiment.run(size, progress)
        except AbsentError as absent:
            print(f"  skipped: {absent}")
            continue
        pictured = found.draw is not None
        if pictured:
            draw(found, FIGURES / f"{experiment.name}.png")
        told = circumstances(size, time.perf_counter() - start)
        sections[experiment.name] = section(experiment, found, told, pictured=pictured)
        print(f"\n{sections[experiment.name]}\n", flush=True)
    return sections


def main(arguments: list[str] | None = None) -> None:
    """Run what was asked for."""
    known = experiments()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few repetitions: about two minutes")
    parser.add_argument("--only", nargs="+", choices=list(known), metavar="NAME", help=", ".join(known))
    parser.add_argument("--runs", type=int, help="repetitions instead of 50, or of 3 with --quick")
    parser.add_argument("--write", action="store_true", help="replace parts of RESULTS.md after --quick too")
    parser.add_argument("--list", action="store_true", help="name the experiments and stop")
    asked = parser.parse_args(arguments)
    if asked.list:
        print("\n".join(f"{one.name}: {one.item} ({one.paper})" for one in known.values()))
        return
    size = QUICK if asked.quick else FULL
    if asked.runs:
        size = Size(quick=size.quick, runs=asked.runs, ranges=size.ranges)
    start = time.perf_counter()
    sections = run((known[name] for name in asked.only or known), size)
    print(f"{len(sections)} experiments in {(time.perf_counter() - start) / 60:.1f} minutes")
    if sections and (asked.write or not asked.quick):
        RESULTS.write_text(rewritten(RESULTS.read_text("utf-8"), sections, known), "utf-8")


if __name__ == "__main__":
    main()
