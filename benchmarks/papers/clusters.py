"""Data, policies and methods of Figure 1 of He et al. (2014), and the scores they reach, measured once.

A score is the sum of squared distances to the nearest centre over the least of ten runs without privacy. The
paper's Lloyd is seeded by the number of the run: two policies share starts and noise up to its scale. Ours
has no seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import kmeans_peers as peers
import numpy as np
import pandas as pd
from kmeans import K, domain_of
from kmeans_data import Dataset, datasets

import pandas_blowfish as bf
from pandas_blowfish.policy.domain import Domain, integers
from papers.experiment import DATA, OURS, AbsentError, archive

LLOYD, PAPER, UNCUT, NOISELESS = "private Lloyd", "paper", "paper, centres not cut", "no noise"
KM = (Fraction(2222, 400), Fraction(1442, 300))  # a cell of 0.05 degrees: latitude, longitude
TWEETS, SKIN, SKIN10, SKIN01, MIXTURE = "tweets", "skin", "skin 10%", "skin 1%", "mixture"


@dataclass(frozen=True)
class Case:
    """A policy: the length of its longest edges in the data's units, or the sides of its groups in cells."""

    name: str
    kind: str
    length: Fraction = Fraction(0)
    sides: tuple[int, ...] = ()

    @property
    def printed_is_sound(self) -> bool:
        """Tell whether Lemma 6.1's noise keeps the promise: under full, and where nothing is protected."""
        return self.kind == "full" or set(self.sides) == {1}


@dataclass(frozen=True)
class Scene:
    """Data to be clustered: distinct rows and how often each occurs, all rows, cells and their units."""

    data: Dataset
    weights: np.ndarray
    frame: pd.DataFrame
    domain: Domain
    units: tuple[Fraction, ...]
    least: float

    def policy(self, case: Case) -> bf.Policy:
        """Return the policy of a case."""
        columns = self.domain.columns
        units = dict(zip(columns, self.units, strict=True))
        if case.kind == "threshold":
            return bf.Policy(self.domain, secrets={columns: bf.threshold(case.length, scale=units)})
        if case.kind == "partition":
            sides = dict(zip(columns, case.sides, strict=True))
            return bf.Policy(self.domain, secrets={columns: bf.partition(sides)})
        return bf.Policy(self.domain, neighbors="attribute" if case.kind == "attribute" else "record")

    def score(self, centres: np.ndarray) -> float:
        """Return how much worse centres are than the best that were found without privacy."""
        return peers.objective(self.data.points, centres, self.weights) / self.least


@cache
def _loaded() -> dict[str, Dataset]:
    return datasets()


def present(*names: str) -> bool:
    """Tell whether the files of these data sets are there, without reading tweets."""
    return all((DATA / "twitter_western_usa.npz").exists() if n == TWEETS else n in _loaded() for n in names)


@cache
def scene(name: str) -> Scene:
    """Return one of the paper's data sets.

    Raises:
        AbsentError: Its file is not there.
    """
    if name == TWEETS:
        return _tweets()
    if name not in _loaded():
        raise AbsentError(f"the file of {name} is absent: real data are no part of the project")
    data = _loaded()[name]
    domain = domain_of(data)
    values = data.points.astype(np.int64) if data.step else data.points
    return _scene(
        data, pd.DataFrame(values, columns=list(domain.columns)), domain, (Fraction(1),) * values.shape[1]
    )


def _tweets() -> Scene:
    """Return tweets in km on 400 x 300 cells, re-binned from 256 x 256 (uniformly inside a cell)."""
    counts = archive("twitter_western_usa.npz")["grid400x300_jittered_DERIVED"]
    domain = Domain((integers("latitude", 0, 399), integers("longitude", 0, 299)))
    rows = np.repeat(np.argwhere(counts), counts[counts > 0], axis=0)
    unit = np.array([float(each) for each in KM])
    high = unit * (np.array(counts.shape) - 1)
    data = Dataset(TWEETS, rows * unit, np.zeros(2), high, step=unit)
    return _scene(data, pd.DataFrame(rows, columns=list(domain.columns)), domain, KM)


def _scene(data: Dataset, frame: pd.DataFrame, domain: Domain, units: tuple[Fraction, ...]) -> Scene:
    points, weights = np.unique(data.points, axis=0, return_counts=True)
    least = peers.best(points, K, weights)
    return Scene(
        Dataset(data.name, points, data.low, data.high, data.step), weights, frame, domain, units, least
    )


@cache
def scores(name: str, case: Case, epsilon: str, method: str, runs: int) -> np.ndarray:
    """Return the scores of some runs of a method under a policy."""
    held = scene(name)
    if method == OURS:
        return _ours(held, case, epsilon, runs)
    data, rate = held.data, float(epsilon)
    side = np.array([float(unit) * cells for unit, cells in zip(held.units, case.sides, strict=False)])
    given = {"theta": float(case.length), "side": side if case.sides else None}
    bounds = data.points, data.low, data.high, K, rate
    found = []
    for seed in range(runs):
        draw = np.random.default_rng(seed)
        if method == LLOYD:
            sums, sizes = peers.sound_sensitivity(case.kind, data.low, data.high, **given, step=data.step)
            sensitivity = {"sum_sensitivity": sums, "size_sensitivity": sizes, "side": given["side"]}
            centres = peers.noisy_lloyd(*bounds, draw, **sensitivity, weights=held.weights)
        elif method == NOISELESS:
            centres = peers.paper_lloyd(
                *bounds, draw, sum_sensitivity=0, size_sensitivity=0, weights=held.weights
            )
        else:
            wide = side - data.step if case.sides else None
            sums = peers.paper_sensitivity(case.kind, data.low, data.high, theta=given["theta"], side=wide)
            sizes = 0 if set(case.sides) == {1} else 2
            sensitivity = {"sum_sensitivity": sums, "size_sensitivity": sizes, "cut": method == PAPER}
            centres = peers.paper_lloyd(*bounds, draw, **sensitivity, weights=held.weights)
        found.append(held.score(centres))
    return np.array(found)


def _ours(held: Scene, case: Case, epsilon: str, runs: int) -> np.ndarray:
    """Return the scores of some releases."""
    columns = list(held.domain.columns)
    units = np.array([float(unit) for unit in held.units])
    frame = held.frame.blowfish.protect(held.policy(case), epsilon=10**6)
    scale = dict(zip(columns, units.tolist(), strict=True))
    found = [frame.blowfish.kmeans(columns, K, epsilon=epsilon, scale=scale) for _ in range(runs)]
    return np.array([held.score(each[columns].to_numpy() * units) for each in found])
