"""The mechanisms of Haney et al. (2015) that the benchmarks rebuild, and every experiment on tiny sizes."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from boxes import haar
from papers import (
    vldb2015,
    vldb2015_growth,
    vldb2015_line,
    vldb2015_panels,
    vldb2015_plane,
    vldb2015_statements,
)
from papers.experiment import OURS, AbsentError, Size
from papers.vldb2015_dawa import PublicCode, cheapest, dawa, hilbert
from papers.vldb2015_transforms import EdgePrivelet, Spanner, grouped_privelet, range_variances

TINY = Size(quick=True, runs=1, ranges=50)
ROOT = Path(__file__).resolve().parents[2]


def plain(steps, _what):
    """Yield steps without telling how far they are."""
    return iter(steps)


def run(experiment):
    """Return what an experiment finds, or skip where its data are absent."""
    try:
        return experiment.run(TINY, plain)
    except AbsentError as absent:
        pytest.skip(str(absent))


@pytest.mark.parametrize("theta", [1, 2, 4])
def test_spanner_holds_the_counts(theta):
    """Sums on the edges tell all counts, and a move along the policy changes them by the stretch."""
    spanner, counts = Spanner(16, theta), np.arange(16)

    prefixes = spanner.prefixes(spanner.sums(counts), int(counts.sum()))

    moves = np.array([spanner.sums(row) for row in np.eye(16, dtype=np.int64)])
    changes = [np.abs(moves[a] - moves[b]).sum() for a in range(16) for b in range(a, min(16, a + theta + 1))]
    assert np.array_equal(prefixes, np.append(0, np.cumsum(counts)))
    assert spanner.stretch == max(changes) == (1 if theta == 1 else 3)


def test_edge_privelet_keeps_its_promise():
    """Moving a row across an edge is a shift of the wavelets' noise that loses epsilon."""
    epsilon = Fraction(1, 2)
    edges = EdgePrivelet(5, epsilon)
    inverse = np.linalg.inv(edges.basis.T)  # coefficients of a line of edges

    shifts = inverse[:, :5]  # what one edge changes

    assert np.allclose((np.abs(shifts) / edges.scale[:, None]).sum(axis=0), float(epsilon))


def test_edge_privelet_error():
    """The expected error is what fresh noise shows."""
    edges = EdgePrivelet(6, Fraction(1))
    boxes = np.array([[[1, 3], [0, 4]], [[2, 2], [2, 5]], [[0, 5], [0, 5]]])

    drawn = np.array([edges.noise() for _ in range(300)])
    sums = [drawn[:, a : b + 1, c : d + 1].sum(axis=(1, 2)) for (a, b), (c, d) in boxes]

    assert np.mean([np.mean(each**2) for each in sums]) == pytest.approx(edges.expected(boxes), rel=0.4)
    assert np.abs(sums[2]).max() < 1e-6


def test_grouped_privelet_matches_all_edges():
    """Theorem 5.5's error equals the variance of the edges each range crosses, written out."""
    cells, theta = 16, 4
    spanner = Spanner(cells, theta)
    group = np.kron(np.eye(cells // theta), np.ones(theta))
    basis, weights = haar(theta)
    scale = 3 * (1 + np.log2(theta)) / weights
    unit = np.array([spanner.prefixes(row, 0) for row in np.eye(cells - 1)])  # what each edge adds
    ends = np.sort(np.random.default_rng(cells).integers(0, cells, (200, 2)), axis=1)
    errors = []
    for low, high in ends:
        crossed = np.append(
            0.0, unit[:, high + 1] - unit[:, low]
        )  # a group begins with the edge that comes in
        rows = np.array([crossed[each.astype(bool)] for each in group])
        errors.append(sum(2 * scale**2 @ (basis @ row) ** 2 for row in rows))

    assert grouped_privelet(cells, theta, 200) == pytest.approx(np.mean(errors))


def test_range_variances():
    """Variances of ranges are those of their coefficients."""
    basis, scale = np.array([[1.0, 1.0, 1.0], [1.0, 0.0, -1.0]]), np.array([1.0, 2.0])

    found = range_variances(basis, scale, np.array([[0, 2], [1, 1], [0, 1]]))

    assert found.tolist() == [18.0, 2.0, 8.0 + 8.0]


def test_hilbert_is_a_walk():
    """The curve visits every cell once, by steps to neighbours."""
    order = hilbert(8)
    rows, columns = np.unravel_index(order, (8, 8))

    assert sorted(order) == list(range(64))
    assert (np.abs(np.diff(rows)) + np.abs(np.diff(columns)) == 1).all()
    assert sorted(hilbert(5)) == list(range(25))


def test_cheapest_partition():
    """The cheapest of all partitions into runs of 1, 2, 4 values is found."""
    costs = np.random.default_rng(3).random((3, 6))
    listed = [costs[level, : 6 - 2**level + 1].tolist() for level in range(3)]

    def best(end):
        if end == 0:
            return 0.0
        return min(best(end - 2**n) + listed[n][end - 2**n] for n in range(3) if 2**n <= end)

    begins = cheapest(listed)
    widths = np.diff(np.append(begins, 6))
    assert sum(listed[int(np.log2(w))][b] for b, w in zip(begins, widths, strict=True)) == pytest.approx(
        best(6)
    )


@pytest.mark.parametrize("nested", [False, True])
def test_dawa_finds_even_stretches(nested):
    """With hardly any noise both kinds of DAWA return the values."""
    values = np.repeat([5, 0, 9, 2], 8)
    for found in (
        dawa(values, 2, Fraction(100), nested=nested),
        PublicCode.of(values).estimates(2, Fraction(100)),
    ):
        assert np.abs(found - values).max() < 1


def test_public_code_of_dawa_loses_more_than_its_share():
    """The partition of three cells, drawn many times: no row against one in the middle."""
    share, shares = 0.25, []
    for values in (np.zeros(3, dtype=np.int64), np.array([0, 1, 0])):
        costs = PublicCode.of(values).costs[1]
        scale = PublicCode.of(values).scale(2) / share
        draw = np.random.default_rng(11).laplace(0, scale, (400_000, 2))
        each = 1 / (1 - share)  # a bucket of two is cheaper unless its cost is above that of one more bucket
        shares.append(np.mean((np.maximum(costs + draw, 0) > each).all(axis=1)))

    assert math.log(shares[1] / shares[0]) == pytest.approx(share * PublicCode.singles_loss(3), abs=0.02)
    assert share * PublicCode.singles_loss(3) == pytest.approx(3 / 7)
    assert PublicCode.singles_loss(256) > 200


def test_statements_name_tests_that_exist():
    """Every test that a verdict rests on is there."""
    named = re.findall(
        r"(tests/\S+\.py)::(\w+)", " ".join(c.why for c in run(vldb2015_statements.EXPERIMENTS[0]).claims)
    )

    assert len(named) >= 5
    for path, name in named:
        assert f"def {name}(" in (ROOT / path).read_text("utf-8")


def test_table_one():
    """All but B's scale, F's empty cells and the re-binned grids are as printed."""
    found = run(vldb2015.EXPERIMENTS[0])

    assert [claim.verdict for claim in found.claims] == [
        "reproduced",
        "not reproduced",
        "reproduced",
        "false",
        "not reproduced",
        "reproduced",
    ]
    assert len(found.table) == 10


@pytest.fixture
def tiny(monkeypatch):
    """Make the datasets and what is asked of them small."""
    held = vldb2015_panels.line_data

    def small():
        return {
            letter: counts.reshape(64, -1).sum(axis=1)
            for letter, counts in held().items()
            if letter in "ADEFG"
        }

    monkeypatch.setattr(vldb2015_line, "line_data", small)
    monkeypatch.setattr(vldb2015_line, "RANGES", 200)
    monkeypatch.setattr(vldb2015_line, "SIZES", (64, 32))
    monkeypatch.setattr(vldb2015_plane, "BOXES", 50)
    monkeypatch.setattr(vldb2015_plane, "GRIDS", (25,))
    monkeypatch.setattr(vldb2015_plane, "epsilons", lambda _: vldb2015_panels.EPSILONS[2:3])


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    "experiment", [*vldb2015_line.EXPERIMENTS, *vldb2015_plane.EXPERIMENTS], ids=lambda e: e.name
)
def test_figure_eight_runs(experiment, tmp_path):
    """Each part has ours and the paper's, a lowest sound row, claims with verdicts, and a picture."""
    from reproduce import draw

    found = run(experiment)

    names = set(found.table["mechanism"])
    assert {OURS, "lowest sound", "DAWA (public code)"} <= names
    assert any(name.startswith("Transformed") for name in names)
    assert "public code" not in " ".join(
        found.table.query("mechanism == 'lowest sound'").iloc[:, 3:].to_numpy().ravel()
    )
    assert len(found.claims) >= 3
    draw(found, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 5_000


def test_figure_three_grows_as_stated(monkeypatch):
    """Planned errors: constant on the line, a power of the logarithm elsewhere."""
    rows = [(*row[:3], row[3][:2], *row[4:]) for row in vldb2015_growth.rows(quick=True)]
    monkeypatch.setattr(vldb2015_growth, "rows", lambda quick: rows if quick else [])

    found = vldb2015_growth.run(TINY, plain)

    line = next(claim for claim in found.claims if "Theorem 5.2" in claim.sentence)
    assert line.verdict == "reproduced"
    assert len(found.table) == 7
