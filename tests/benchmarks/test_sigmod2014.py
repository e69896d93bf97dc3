"""The experiments of the SIGMOD 2014 paper on tiny sizes; skipped where real data are absent."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import reproduce
from papers import clusters, panel
from papers.clusters import Case, scene
from papers.experiment import VERDICTS, AbsentError, Size
from papers.sigmod2014_ranges import TWEETS, measure

TINY = Size(quick=True, runs=1)


def plain(steps, what):
    """Yield the steps without a progress bar."""
    del what
    yield from steps


@pytest.mark.parametrize("name", ["fig2c", "fig1c", "sensitivities"])
def test_finds_tables_claims_and_pictures(name, tmp_path):
    """Each has rows, judged claims and a picture of moderate size."""
    try:
        found = reproduce.experiments()[name].run(TINY, plain)
    except AbsentError as absent:
        pytest.skip(str(absent))

    reproduce.draw(found, tmp_path / "drawn.png")

    assert len(found.table)
    assert found.claims
    assert all(claim.verdict in VERDICTS and claim.measured for claim in found.claims)
    assert 5_000 < (tmp_path / "drawn.png").stat().st_size < 150_000


def test_synthetic_data_are_clustered_where_others_are_absent(monkeypatch):
    """Only the sentences that need other data are left out, and that is said."""
    monkeypatch.setattr(clusters, "present", lambda *names: not names)
    monkeypatch.setattr(panel, "SHOWN", ("1",))

    found = reproduce.experiments()["fig1c"].run(TINY, plain)

    assert len(found.table) == 6
    assert found.claims == ()
    assert found.notes[-1] == "Sentences that need tweets, skin 1% are left out: a file is absent."


def test_sensitivities_are_never_too_small():
    """What is printed sometimes is; what we use is not."""
    table = reproduce.experiments()["sensitivities"].run(TINY, plain).table
    ours = table[table["ours"] != "not measured"]

    assert (ours["ours"].astype(int) >= ours["true"]).all()
    assert (table["printed"] < table["true"]).sum() == 7


def test_errors_fall_with_the_threshold():
    """One cell is far better than full, for ours and for the paper's mechanism."""
    try:
        errors, _, _ = measure(TWEETS, TINY, plain)
    except AbsentError as absent:
        pytest.skip(str(absent))

    for name in ("ours", "paper, sound budget"):
        assert errors["full", "1", name].mean() > 20 * errors["5 km", "1", name].mean()


def test_synthetic_data_need_no_file():
    """They are drawn and cut to the unit cube; policies are on their cells."""
    held = scene("mixture")
    near = held.policy(Case("theta 0.1", "threshold", length=Fraction(1, 10)))

    assert held.data.points.shape == (1000, 4)
    assert held.weights.sum() == 1000
    assert held.score(np.array([[0.5] * 4])) > 1
    assert near.distance(dict.fromkeys(held.domain.columns, 0.1), dict.fromkeys(held.domain.columns, 0.2)) > 1
