"""The table of coverage marks what fails, and only that."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.policy.domain import Domain, from_dict, integers

PATH = Path(__file__).resolve().parents[2] / "benchmarks" / "coverage.py"
SPEC = importlib.util.spec_from_file_location("interval_coverage", PATH)
bench = importlib.util.module_from_spec(SPEC)  # by path: a package is called coverage too
sys.modules[SPEC.name] = bench  # where its dataclasses look for their types
SPEC.loader.exec_module(bench)


def _seen(share, bias=0.0, **judged):
    """Return 400 made-up releases of 20 sums with standard error 10."""
    draw, truth = np.random.default_rng(2), np.full(20, 100.0)
    found = bench.Seen(bench.Question(lambda: None, sums=True, **judged), truth)
    found.values = list(truth + bias * 10 + draw.normal(0, 10, (400, 20)))
    found.errors, found.inside = [np.full(20, 10.0)] * 400, list(draw.random((400, 20)) < share)
    return found


@pytest.mark.parametrize(
    ("seen", "word"),
    [
        (_seen(0.95), "ok"),
        (_seen(0.9), "COVERS TOO SELDOM at 1"),
        (_seen(1), "WIDE at 1"),
        (_seen(1, whole=True), "ok"),
        (_seen(0.95, bias=0.15), "ok"),
        (_seen(0.95, bias=-0.4), "BIASED at 1"),
        (_seen(0.5, judged=False), "not promised"),
    ],
)
def test_verdicts_follow_what_was_seen(seen, word):
    """Coverage too low or too high, bias of either sign; whole cells may cover always."""
    assert bench.verdict({"1": [_seen(0.96) if word == "ok" else seen, seen]}) == word


def test_one_column_that_covers_too_seldom_is_enough():
    """The others do not make up for it."""
    assert bench.verdict({"0.1": [_seen(0.99)] * 6 + [_seen(0.8)]}) == "COVERS TOO SELDOM at 0.1"


def test_bias_is_that_beyond_chance():
    """As large as it is, and nothing where there is none."""
    assert bench.bias_of([_seen(0.95, bias=0.5)]) == pytest.approx(0.5, abs=0.05)
    assert bench.bias_of([_seen(0.95)]) < 0.05


def test_every_question_is_asked():
    """On rows that are not shared data: each has answers, and a row of the table."""
    draw = np.random.default_rng(1)
    rows = pd.DataFrame({"x": draw.poisson(20, 500), "g": draw.choice(["a", "b"], 500)})
    domain = Domain((integers("x", 0, 79), from_dict("g", {"type": "category", "values": ["a", "b"]})))
    policy = bf.Policy(domain, secrets={"x": bf.threshold(3), "g": bf.full()})

    with bf.testing.replay(3):
        seen = bench.measure(bench.Column("made up", rows, policy), "1", post=False, repeats=2)

    assert {each.split(":")[0] for each in seen} >= {
        "hist",
        "cumhist",
        "range",
        "marginal",
        "sum",
        "workload",
    }
    assert all(len(each.values) == 2 for each in seen.values())
    assert seen["quantile"].coverage() == 1
    table = list(bench.lines({(name, False): {"1": [each]} for name, each in seen.items()}))
    assert len(table) == len(seen)
