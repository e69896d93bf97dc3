"""The data sets that are clustered, as the Blowfish paper describes them; not run by itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@dataclass(frozen=True)
class Dataset:
    """Rows to be clustered and the bounds that are declared for them; step is 0 where values are real."""

    name: str
    points: np.ndarray
    low: np.ndarray
    high: np.ndarray
    step: float = 0.0


def datasets() -> dict[str, Dataset]:
    """Return the paper's data sets by name, without those whose files are absent.

    Tweets are on the 256 x 256 grid of DPBench (the original coordinates were not kept), one row for each.
    """
    found = []
    skin, tweets = DATA / "skin_segmentation.npz", DATA / "twitter_western_usa.npz"
    if skin.exists():
        colours = np.load(skin)["BGR"].astype(float)
        draw = np.random.default_rng(1)
        for name, share in (("skin", 1), ("skin 10%", 10), ("skin 1%", 100)):
            kept = draw.choice(len(colours), round(len(colours) / share), replace=False)
            found.append(_lattice(name, colours if share == 1 else colours[kept]))
    else:
        print(f"skin is left out: {skin} is absent")
    if tweets.exists():
        counts = np.load(tweets)["grid256_lat_lon"]
        found.append(
            _lattice("tweets", np.repeat(np.argwhere(counts), counts[counts > 0], axis=0).astype(float))
        )
    else:
        print(f"tweets are left out: {tweets} is absent")
    found.append(_mixture())
    return {each.name: each for each in found}


def _lattice(name: str, points: np.ndarray) -> Dataset:
    """Return rows of whole numbers from 0 to 255."""
    columns = points.shape[1]
    return Dataset(name, points, np.zeros(columns), np.full(columns, 255.0), step=1.0)


def _mixture() -> Dataset:
    """Return the paper's synthetic rows: 1,000 around 4 random centres, sigma 0.2, cut to (0, 1)^4."""
    draw = np.random.default_rng(4)
    points = draw.random((4, 4))[draw.integers(4, size=1000)] + draw.normal(0, 0.2, (1000, 4))
    return Dataset("mixture", points.clip(1e-6, 1 - 1e-6), np.zeros(4), np.ones(4))
