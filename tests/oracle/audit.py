"""The audit of releases: what leaves the kernel loses at most what the ledger was charged."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from oracle.cases import Case, random_case
from oracle.losses import BrokenReleaseError, Chosen, Ints, in_one_round, in_rounds
from oracle.tap import Draw, Release, tables

HUGE = 2**60
SEQUENCES = ["zeros", "noise", "spikes", "full", "empty"]  # of noise, along which rounds are visited
MAX_IN_ROUNDS = 4  # neighbours that are led through rounds, for each sequence


@dataclass
class Tally:
    """What an audit has seen: how many cases of which kind, and what was found."""

    seen: Counter[str] = field(default_factory=Counter)
    cases: int = 0
    noisy: int = 0
    tight: int = 0
    free: int = 0
    failed: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add what another audit has seen."""
        self.seen.update(other.seen)
        self.cases += other.cases
        self.noisy += other.noisy
        self.tight += other.tight
        self.free += other.free
        self.failed += other.failed


def noise_of(kind: str, draw: random.Random) -> Chosen:
    """Return a choice of noise for every draw of a release in rounds."""

    def chosen(asked: Draw, exact: Ints) -> Ints:
        scale, size, _ = asked
        own = draw.choice(["full", "empty", "noise", "zeros"]) if kind == "spikes" else kind
        if own == "noise":
            far = int(4 * scale) + 1
            return np.array([draw.randint(-far, far) for _ in range(size)], dtype=np.int64)
        if own == "full":
            return np.array([draw.choice([0, 30, 10**4, HUGE]) for _ in range(size)], dtype=np.int64)
        many = np.full(size, -HUGE if own == "empty" else 0, dtype=np.int64)
        return many if own == "empty" else many * exact

    return chosen


def components(pairs: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Return the pairs in groups that hang together."""
    label: dict[int, int] = {}
    for a, b in pairs:
        old, new = label.setdefault(b, b), label.setdefault(a, a)
        label = {table: new if own == old else own for table, own in label.items()}
    found: dict[int, list[tuple[int, int]]] = {}
    for a, b in pairs:
        found.setdefault(label[a], []).append((a, b))
    return list(found.values())


def loss_of(case: Case, draw: random.Random) -> tuple[Fraction | float, Fraction, bool]:
    """Return the largest loss between a case's neighbours, what is charged, and whether noise was drawn."""
    releases = tables(case.frames(), case.policy, case.steps)
    if case.plan.measurement.in_rounds:
        return loss_in_rounds(releases, case.pairs, draw)
    loss, found = in_one_round(releases, case.pairs)
    charge = releases[0](()).charged
    return loss, charge, found is None or found.noisy


def loss_in_rounds(
    releases: Sequence[Release], pairs: Sequence[tuple[int, int]], draw: random.Random
) -> tuple[Fraction | float, Fraction, bool]:
    """Return the same of a release in rounds, led along several sequences of noise."""
    worst: Fraction | float = Fraction(0)
    charges, noisy = {releases[0](()).charged}, False
    groups = components(pairs) or [[(0, 0)]]
    for kind in [*draw.sample(SEQUENCES, 2), "noise"]:
        own = draw.choice(groups)
        some = draw.sample(own, min(MAX_IN_ROUNDS, len(own)))
        for part in components(some):
            listed = sorted({table for pair in part for table in pair})
            place = {table: number for number, table in enumerate(listed)}
            joined = [(place[a], place[b]) for a, b in part]
            loss, found = in_rounds([releases[table] for table in listed], joined, noise_of(kind, draw))
            worst, noisy = max(worst, loss), noisy or found.noisy
            charges.add(found.charged)
    if len(charges) > 1:
        raise BrokenReleaseError("charges depend on the rows or on the noise")
    return worst, charges.pop(), noisy


def audit(case: Case, draw: random.Random, tally: Tally) -> None:
    """Look at one case, and note what it loses."""
    verb, strategy = case.steps[-1][0], case.plan.strategy
    try:
        loss, charge, noisy = loss_of(case, draw)
        if loss > charge:
            tally.failed.append(f"loses {loss}, charged {charge}: {case}")
    except BrokenReleaseError as error:
        tally.failed.append(f"{error}: {case}")
        return
    except OverflowError:  # a mesh of very many noises
        return
    tally.cases += 1
    tally.noisy += noisy
    tally.free += charge == 0
    tally.tight += bool(noisy and loss == charge)
    tally.seen.update([verb, f"{verb} by {strategy}", *features(case)])


def features(case: Case) -> list[str]:
    """Return what a policy and a question are made of, in words."""
    policy = case.policy
    found: list[Any] = [secret["secret"] for secret in policy.secrets.values()]
    found += [f"{each} columns" for each in [len(policy.domain.columns)]]
    found += ["joint"] * any(len(block) > 1 for block in policy.secrets)
    found += ["presence"] * policy.presence + [f"neighbours {policy.neighbors}"]
    found += ["missing"] * any(each.nullable for each in policy.domain)
    found += ["missing public"] * any(own.get("missing") == "public" for own in policy.secrets.values())
    found += [fact.kind for fact in policy.constraints] + ["facts"] * bool(policy.constraints)
    found += ["touched"] * (case.plan.price.moved > 1)
    found += ["rounds"] * case.plan.measurement.in_rounds
    return [*found, *(name for name, _, _ in case.steps[:-1])]


def run_audit(seeds: Sequence[int]) -> Tally:
    """Audit the cases of some seeds; see `Tally.failed`."""
    tally = Tally()
    for seed in seeds:
        draw = random.Random(seed)
        case = random_case(draw)
        if case is not None and case.plan.strategy != "dawa":
            before = len(tally.failed)
            audit(case, draw, tally)
            tally.failed[before:] = [f"seed {seed}: {each}" for each in tally.failed[before:]]
    return tally
