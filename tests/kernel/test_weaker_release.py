"""Releases that are kept apart: exact laws, one a dataset, charged before rows, nothing on failure."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from oracle.certified_law import law

import pandas_blowfish as bf
from pandas_blowfish.beyond.certified import certify
from pandas_blowfish.errors import OnceError, StaleFrameError
from pandas_blowfish.kernel import measure
from pandas_blowfish.kernel import weaker_release as apart
from pandas_blowfish.kernel.noise import discrete_laplace
from pandas_blowfish.kernel.weaker_release import draw_certified
from pandas_blowfish.policy.domain import Domain, from_dict, integers

POLICY = bf.Policy(Domain((from_dict("sex", {"type": "bool"}), integers("age", 0, 3))))
FRAME = pd.DataFrame({"sex": [True] * 30 + [False] * 70, "age": np.arange(100) % 4})
TOLD = {"strategy": "single_prior", "prior": ["0.7", "0.3"], "epsilon": 1}


@pytest.mark.parametrize("k", [0, 2, 3, 5, 8, 9])
@pytest.mark.parametrize(("low", "high"), [(3, 8), (1, 0), (5, 5)])
def test_answers_have_their_law(k, low, high, monkeypatch):
    """All pairs of draws, with their exact probabilities, give each answer the probability it must have."""
    a, reach = Fraction(1, 2), 24
    noise = np.arange(-reach, reach + 1)
    first, second = (grid.ravel() for grid in np.meshgrid(noise, noise, indexing="ij"))
    draws, scales = iter([first, second]), []
    monkeypatch.setattr(
        apart, "discrete_laplace", lambda scale, _size: (scales.append(scale), next(draws))[1]
    )
    ends = (np.full(len(first), low), np.full(len(first), high))
    told = replace(certify("single_prior", ["1/2", "1/2"], 10, "1/3"), intervals=ends)

    values, exact = draw_certified(np.full(len(first), k), told)

    assert scales == [1 / told.rate] * 2
    found: dict[tuple[str, int], Fraction] = {}
    middle = (1 - a) / (1 + a)
    for one, two, value, true in zip(
        first.tolist(), second.tolist(), values.tolist(), exact.tolist(), strict=True
    ):
        key = ("true" if true else "noisy", value)
        found[key] = found.get(key, Fraction(0)) + middle**2 * a ** (abs(one) + abs(two))
    want = law(k, low, high, a, 0, 10)
    cut = 4 * a**reach  # what the draws that are left out may be
    for answer, chance in want.items():
        if answer[0] in ("noisy", "true"):
            assert abs(found.get(answer, Fraction(0)) - chance) < cut
    assert sum(found.values()) > 1 - cut


def test_the_other_of_two_cells_is_what_is_left():
    """One draw for both: they add up to the rows, and are exact together."""
    told = certify("single_prior", ["0.3", "0.7"], 100, 1)

    for seed in range(20):
        with bf.testing.replay(seed):
            values, exact = draw_certified(np.array([30, 70]), told)
        assert values.sum() == 100
        assert exact[0] == exact[1]
        assert not exact[0] or values.tolist() == [30, 70]


def test_a_count_has_the_noise_of_its_scenario():
    """Noise of the scale that the plan says, drawn once for the count, and nothing else."""
    frame = pd.DataFrame({"sex": [True] * 3, "age": 0})
    tables = [(False,) * 3, (True,) * 3]
    alike = bf.scenario(tables, {"even": [1, 1]}, [(tables[:1], tables[1:])])
    for seed in range(5):
        rows = bf.protect(frame, POLICY, epsilon=2).where("sex")
        with bf.testing.replay(seed):
            found = rows.count(epsilon="1/7", strategy="wasserstein", scenario=alike, post=False)
        with bf.testing.replay(seed):
            noise = discrete_laplace(Fraction(21), 1)
        assert found["count"].tolist() == [3 + int(noise[0])]


def test_one_release_a_dataset():
    """The second is refused, under any question or strategy, and nothing of the budget is spent by either."""
    rows = bf.protect(FRAME, POLICY, epsilon=2)

    first = rows.hist("sex", **TOLD)

    assert rows.budget.spent == 0
    for more in (TOLD, {**TOLD, "strategy": "hedging"}):
        with pytest.raises(OnceError, match="one release"):
            rows.hist("sex", **more)
    assert rows.budget.spent == 0
    also = rows.hist("sex", epsilon=1).blowfish.receipt["weaker_release"]
    assert also.startswith(f"entry {first.blowfish.receipt['entry']},")
    assert rows.budget.spent == 1


def test_it_is_written_down_before_a_row_is_counted(monkeypatch):
    """What is interrupted counts as released: the ledger cannot know how far it came."""
    rows = bf.protect(FRAME, POLICY, epsilon=2)

    def interrupted(*_args, **_how):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(apart, "count_cells", interrupted)
        with pytest.raises(KeyboardInterrupt):
            rows.hist("sex", **TOLD)
    with pytest.raises(OnceError):
        rows.hist("sex", **TOLD)


def test_nothing_is_written_down_for_rows_that_changed(monkeypatch):
    """The seal is looked at first."""
    rows = bf.protect(FRAME, POLICY, epsilon=2)
    with monkeypatch.context() as patch:
        patch.setattr(measure, "find_change", lambda *_: "something is")
        with pytest.raises(StaleFrameError):
            rows.hist("sex", **TOLD)

    assert rows.hist("sex", **TOLD)["count"].sum() == 100


def test_a_named_answer_comes_back(tmp_path):
    """Bit for bit, exact flags too, in another process's ledger; no second entry."""
    ledger = tmp_path / "budget.db"
    place = {"epsilon": 2, "dataset": "d", "ledger": ledger}
    rows = bf.protect(FRAME, POLICY, **place)

    first = rows.hist("sex", **TOLD, name="n")
    again = bf.protect(FRAME, POLICY, **place).hist("sex", **TOLD, name="n")

    pd.testing.assert_frame_equal(first, again)
    assert first["exact"].dtype == bool
    assert (bf.Ledger(ledger).entries["kind"] == "apart").sum() == 1
    assert bf.Ledger(ledger).verify(again.blowfish.receipt)


def test_recorded_answers_rule_it_out():
    """A prior says nothing about answers that became public."""
    rows = bf.protect(FRAME, POLICY, epsilon=2, dataset="told", ledger=(book := bf.Ledger()))
    book.record_exact("told", bf.Count("age < 2", answer=50))

    with pytest.raises(bf.BlowfishError):
        rows.hist("sex", **TOLD)
    assert "apart" not in set(book.entries["kind"])


def test_the_promise_of_a_receipt_is_verified():
    """Another guarantee, none at all, or a release that claims to be one of the policy's: all are found."""
    rows = bf.protect(FRAME, POLICY, epsilon=2, dataset="promised", ledger=(book := bf.Ledger()))
    receipt = dict(rows.hist("sex", **TOLD).blowfish.receipt)
    other = dict(rows.hist("sex", epsilon=1).blowfish.receipt)

    assert book.verify(receipt)
    assert book.verify(other)
    assert receipt["proof"] == "certified"
    assert "or told exactly" in receipt["noise"]
    without = {key: value for key, value in receipt.items() if key != "guarantee"}
    alone = {key: value for key, value in other.items() if key != "weaker_release"}
    for forged in (without, {**receipt, "guarantee": ["all"]}, {**receipt, "weaker_guarantee": False}, alone):
        with pytest.raises(bf.errors.LedgerTamperedError, match="the receipt states another"):
            book.verify(forged)
