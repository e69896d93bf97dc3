"""The comparison with other libraries, on tiny sizes, with those installed here: no environment is made."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import peers
import pytest
from peers import peer_environments, peer_job, peer_report

BENCHMARKS = Path(peers.__file__).parent
RUNS = 10
pytestmark = pytest.mark.xdist_group("peers")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a tiny job: two columns, two stated epsilons, no real data."""
    place = tmp_path_factory.mktemp("peers")
    draw = np.random.default_rng(0)
    data = []
    for name, cells in (("even", 200), ("sparse", 50)):
        values = draw.integers(0, cells if name == "even" else 5, 400)
        data.append(peer_job.Data(name, values, cells, np.sort(draw.integers(0, cells, (30, 2)), axis=1)))
    peer_job.save(
        place,
        peer_job.Job(
            data=tuple(data),
            points=draw.integers(0, 256, (100, 3)).astype(float),
            runs=RUNS,
            epsilons=(0.05, 0.1, 0.5, 1.0),
            stated=(0.1, 1.0),
            rows=1_000,
            sizes=(10,),
            clusters=4,
            high=255.0,
            patience=0.05,
            quick=True,
        ),
    )
    return place


def said(name: str, folder: Path) -> dict:
    """Ask a library with this interpreter."""
    return peers.asked(
        name, [sys.executable, str(BENCHMARKS / "peers" / f"run_{name}.py")], folder, limit=120
    )


@pytest.fixture(scope="module")
def everything(folder):
    """What ours said, and the peers that are installed here."""
    found = [said("ours", folder)]
    found += [said(name, folder) for name in ("opendp", "diffprivlib") if importlib.util.find_spec(name)]
    return found


def geometric_variance(scale: float) -> float:
    """The variance of the discrete Laplace."""
    a = np.exp(-1 / scale)
    return 2 * a / (1 - a) ** 2


def errors_of(told: dict, method: str, epsilon: float, **more: str) -> dict:
    """The one record of a method on the even column."""
    wanted = {"data": "even", "method": method, "epsilon": epsilon, **more}
    (found,) = [one for one in told["errors"] if wanted.items() <= one.items()]
    return found


def test_a_job_comes_back_as_it_was_saved(folder):
    """What the driver writes is what a peer reads; a slow peer is asked less in a quick run."""
    job = peer_job.load(folder)
    peer_job.save(folder, job)
    again = peer_job.load(folder)

    assert [(each.name, each.cells) for each in again.data] == [("even", 200), ("sparse", 50)]
    assert again.epsilons == (0.05, 0.1, 0.5, 1.0)
    assert (len(again.brief().data), again.brief().sizes, again.brief().epsilons) == (1, (10,), (0.5, 1.0))


def test_errors_are_those_of_the_answer():
    """Cells, ranges and CDF of an answer that is off by one row in one cell."""
    data = peer_job.Data("x", np.array([0, 0, 1, 3]), 4, np.array([[0, 0], [1, 3]]))

    found = peer_job.errors(data, np.array([2, 1, 1, 1]))

    assert found == pytest.approx({"hist": 0.25, "range": 0.5, "cdf own": 0.15, "cdf rows": 0.25})


def test_ours_under_full_has_the_noise_of_a_changed_value(everything):
    """Unbiased cells have the variance of scale 2 / epsilon: hides a changed value at epsilon."""
    found = errors_of(everything[0], "ours, unbiased", 0.1, policy="full")

    assert np.mean(found["hist"]) == pytest.approx(geometric_variance(20), rel=0.3)
    assert len(found["hist"]) == len(found["range"]) == len(found["cdf rows"]) == RUNS


def test_opendp_at_half_epsilon_has_the_same_noise(everything):
    """OpenDP hides presence: at half of epsilon it makes the promise of ours, with the same noise."""
    told = next((each for each in everything if each["peer"] == "opendp"), None)
    if told is None:
        pytest.skip("opendp is not installed")

    half, whole = (np.mean(errors_of(told, "OpenDP, Laplace", each)["hist"]) for each in (0.05, 0.1))

    assert half == pytest.approx(geometric_variance(20), rel=0.3)
    assert whole == pytest.approx(geometric_variance(10), rel=0.3)


def test_diffprivlib_answers_everything(everything):
    """Counts and centres come back for every epsilon."""
    told = next((each for each in everything if each["peer"] == "diffprivlib"), None)
    if told is None:
        pytest.skip("diffprivlib is not installed")

    assert len(told["errors"]) == 2 * 4
    assert [np.shape(one["centres"]) for one in told["kmeans"]] == [(RUNS, 4, 3)] * 4


def test_times_are_beside_bincount_in_the_same_process(everything):
    """Every timing has its own floor and a peak that is not below what was there before."""
    for told in everything:
        assert {one["cells"] for one in told["speed"]} == {10}
        for one in told["speed"]:
            assert min(one["seconds"] + one["bincount"]) > 0
            assert one["peak"] >= one["before"]


def test_the_report_tells_both_promises(everything, tmp_path):
    """Tables, claims and pictures are made; peers stand at equal promise and at stated epsilon."""
    scores = pd.DataFrame(
        [("ours", "full", 1.0, np.array([1.0, 1.1])), ("diffprivlib", "", 0.5, np.array([1.5, 1.6]))],
        columns=["method", "policy", "epsilon", "scores"],
    )
    report = peer_report.Report(everything, scores, ["Tumult is skipped: no java"], ("0.1", "1"))

    text = report.text("today")
    report.draw(tmp_path)

    assert "Tumult is skipped: no java" in text
    assert "### Ranges" in text
    assert set(report.errors["promise"]) >= {peer_report.EQUAL, peer_report.OTHER}
    if len(everything) > 1:
        by = report.errors.groupby("mechanism")["promise"].agg(set)
        peer = next(name for name in by.index if not name.startswith("ours"))
        assert by[peer] == {peer_report.EQUAL, peer_report.STATED}
    claims = report.claims().set_index("claim")["holds"]
    assert claims["K-means: ours under full is lowest, peers at equal promise"] == "yes"
    for name in ("errors", "speed", "kmeans"):
        assert (tmp_path / f"peers_{name}.png").stat().st_size < 150_000


def test_half_of_epsilon_is_the_promise_of_a_changed_value():
    """A peer that hides presence at 0.05 is told at equal promise 0.1; MWEM, as it knows n, is not."""
    report = peer_report.Report([], pd.DataFrame(), [], ("0.1", "1"))

    assert list(report._promises("Tumult", 0.05, "")) == [(peer_report.EQUAL, "0.1", "")]
    assert list(report._promises("Tumult", 0.1, "")) == [(peer_report.STATED, "0.1", "")]
    assert list(report._promises(peer_report.MWEM, 0.1, "")) == [(peer_report.EQUAL, "0.1", "")]
    assert list(report._promises(peer_report.MWEM, 0.05, "")) == []


def test_results_are_replaced_between_their_markers(tmp_path):
    """The part is added once, then replaced; what is around it stays."""
    path = tmp_path / "RESULTS.md"
    path.write_text("# Results\n\nabove\n", "utf-8")

    peer_report.rewrite(path, "one")
    path.write_text(path.read_text("utf-8") + "below\n", "utf-8")
    peer_report.rewrite(path, "two")

    marked = f"{peer_report.BEGIN}\ntwo\n{peer_report.END}"
    assert path.read_text("utf-8") == f"# Results\n\nabove\n\n{marked}\nbelow\n"


def test_a_peer_that_cannot_run_is_left_out_with_the_reason(tmp_path, monkeypatch):
    """No Java, no environment, or a script that fails: the text says which."""
    monkeypatch.setattr(peer_environments, "ROOT", tmp_path)
    opendp, tumult = peer_environments.PEERS[0], peer_environments.PEERS[2]
    failing = tmp_path / "run_it.py"
    failing.write_text("raise SystemExit('no such noise')", "utf-8")

    with pytest.raises(peer_environments.SkippedError, match="no-create"):
        peer_environments.ready(opendp, create=False)
    monkeypatch.setattr(peer_environments.shutil, "which", lambda name: None)
    with pytest.raises(peer_environments.SkippedError, match="needs java"):
        peer_environments.ready(tumult, create=True)
    with pytest.raises(peer_environments.SkippedError, match="no such noise"):
        peers.asked("it", [sys.executable, str(failing)], tmp_path)


def test_a_peer_that_takes_too_long_is_stopped(tmp_path):
    """The limit ends it, and that is said."""
    slow = tmp_path / "run_slow.py"
    slow.write_text("import time\ntime.sleep(60)\n", "utf-8")

    with pytest.raises(peer_environments.SkippedError, match="took over"):
        peers.asked("slow", [sys.executable, str(slow)], tmp_path, limit=1)


def test_columns_hold_the_rows_they_stand_for():
    """The synthetic column is always there; ranges lie inside."""
    data = {each.name: each for each in peers.columns(10, quick=True)}

    assert data["synthetic"].counts.sum() == 50_000
    assert all(each.ends.max() < each.cells for each in data.values())


@pytest.mark.parametrize(("error", "se", "holds"), [(5.0, 0.1, "no"), (9.9, 0.1, "tied"), (12.0, 0.1, "yes")])
def test_a_noisy_peer_does_not_hide_a_lower_one(error, se, holds):
    """The verdict looks at every peer, not only at the one with the least mean and a wide error."""
    rows = [("ours", 10.0, 0.1), ("sure", error, se), ("noisy", 4.9 if holds == "no" else 20.0, 50.0)]
    found = pd.DataFrame(rows, columns=["mechanism", "error", "se"]).assign(
        promise=peer_report.EQUAL, data="x", epsilon="1"
    )

    claim, verdict, told = peer_report.lowest("Cells", found, peer_report.EQUAL, ["data", "epsilon"])

    assert verdict == holds
    assert ("ower" in told and "sure" in told.partition("ower")[2]) == (holds != "yes")
    assert claim.startswith("Cells")


def test_a_cdf_takes_the_better_total_at_equal_promise():
    """By the row count or by its own, whichever is nearer on average; at stated epsilon by its own."""
    one = {"cdf rows": [0.02, 0.04], "cdf own": [0.01, 0.03]}

    assert peer_report.asked(one, "cdf", peer_report.EQUAL).tolist() == pytest.approx([1, 3])
    assert peer_report.asked(one, "cdf", peer_report.STATED).tolist() == pytest.approx([1, 3])
    assert peer_report.asked({**one, "cdf own": [0.5]}, "cdf", peer_report.EQUAL).tolist() == pytest.approx(
        [2, 4]
    )
    assert peer_report.asked(one, "hist", peer_report.EQUAL) is None


def test_cells_are_pinned_at_the_row_count(everything):
    """Ours summed up from cells ends at the row count, and stands in the table of the CDF alone."""
    import run_ours

    report = peer_report.Report(everything, pd.DataFrame(), [], ("0.1", "1"))

    assert run_ours.summed(np.array([1.0, 2.0, 1.0]), 7.0).tolist() == [2.0, 5.0, 7.0]
    held = report.errors[report.errors["mechanism"] == "ours, cells"]
    assert set(held["what"]) == {"cdf"}
    assert "planned for squared error" in report._below("cdf")


def test_without_peers_there_is_nothing_to_compare(everything):
    """Neither errors nor times are called lowest."""
    claims = peer_report.Report(everything[:1], pd.DataFrame(), [], ("0.1", "1")).claims()

    assert set(claims["holds"]) == {"none to compare with"}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ([], ""),
        (["--quick"], "it was quick"),
        (["--runs", "5"], "--runs was given"),
        (["--only", "opendp"], "not all"),
    ],
)
def test_only_a_whole_run_replaces_the_results(monkeypatch, given, why):
    """Anything less needs --write."""
    found = []
    monkeypatch.setattr(peers, "compare", lambda asked: found.append(peers.unkept(asked, [], 4)) or 0)

    assert peers.main(given) == 0
    assert found[0].startswith(why)
    assert bool(found[0]) == bool(why)


def test_ours_that_fails_is_told_without_a_traceback(monkeypatch, capsys):
    """As is an interruption."""

    def failing(_given):
        raise peer_environments.SkippedError("ours is left out: it failed")

    def stopped(_given):
        raise KeyboardInterrupt

    monkeypatch.setattr(peers, "compare", failing)
    assert peers.main([]) == 1
    monkeypatch.setattr(peers, "compare", stopped)
    assert peers.main([]) == 130
    assert "ours is left out" in capsys.readouterr().out
