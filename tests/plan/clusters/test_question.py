"""Clusters as a question: which synopses answer it, which is chosen, and how an earlier one is read again."""

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, UnknownStrategyError
from pandas_blowfish.plan.choose import reread
from pandas_blowfish.plan.clusters import question as module
from pandas_blowfish.plan.clusters.counted import SHARE, Counted
from pandas_blowfish.plan.clusters.grid import GridCounts
from pandas_blowfish.plan.clusters.question import STRATEGIES, Clustering
from pandas_blowfish.plan.clusters.sensitivity import MAX_TOTAL
from pandas_blowfish.plan.clusters.soft import count_parts
from pandas_blowfish.plan.clusters.synopsis import MAX_TABLE
from pandas_blowfish.policy.domain import Domain, from_dict, integers

COLOURS = Domain(tuple(integers(name, 0, 255) for name in "rgb"))
HALF = Fraction(1, 2)


def colours(secret, **options):
    """Return a policy on three columns of 256 integers."""
    return bf.Policy(COLOURS, secrets=dict.fromkeys("rgb", secret), **options)


@pytest.mark.parametrize(
    ("policy", "chosen"),
    [
        (colours(bf.full()), "grid"),
        (bf.Policy(COLOURS, secrets={("r", "g", "b"): bf.threshold(32)}), "soft"),
        (colours(bf.partition({"width": 32})), "whole"),
        (colours(bf.public()), "grid"),
        (colours(bf.partition({"width": 32}), presence=True), "soft"),
    ],
)
def test_what_auto_chooses(policy, chosen):
    """Grids for full, soft bins for small moves, whole groups while rows stay, exact bins for public."""
    plan = policy.plan.kmeans(list("rgb"), 4, epsilon=HALF, rows=2_450)

    assert plan.measurement.name == chosen
    assert plan.cost == (0 if "public" in str(policy.secrets) else HALF)
    assert plan.candidates["strategy"][0] == chosen


def test_many_columns_are_halved_where_rows_are():
    """From four columns on an adaptive synopsis is looked at."""
    domain = Domain(tuple(integers(name, 0, 63) for name in "abcdefgh"))

    few, many = (bf.Policy(domain).plan.kmeans(list("abcdefgh"[:n]), 4, rows=10_000) for n in (3, 8))

    assert "adaptive" not in set(few.candidates["strategy"])
    assert {"adaptive", "grid"} <= set(many.candidates["strategy"])


@pytest.mark.parametrize("seed", range(25))
def test_what_was_measured_is_read_again(seed, make_clusters):
    """From its name and form alone every synopsis is rebuilt: the same rows and scales."""
    draw = random.Random(seed)
    found = make_clusters(draw)
    rows = draw.choice([None, 100])

    for strategy in ("auto", *(each.name for each in STRATEGIES)):
        try:
            plan = found.policy.plan.kmeans(found.columns, 1, epsilon=HALF, strategy=strategy, rows=rows)
        except ArgumentError:
            continue
        again = reread(plan, plan.measurement.name, 0, plan.measurement.form).measurement

        assert type(again) is type(plan.measurement)
        assert again.form == plan.measurement.form
        assert again.scales == plan.scales
        assert (again.matrix() != plan.matrix()).nnz == 0


@pytest.mark.parametrize("seed", range(15))
def test_the_count_comes_out_of_epsilon(seed, make_clusters):
    """A twentieth where it is noisy, nothing where no edge changes it; the rest is what follows."""
    found = make_clusters(random.Random(seed))
    question = Clustering(found.space, None, 1_000)

    counted = question._counted(found.moves, HALF, "auto")
    alone = found.loss(counted.count)

    assert isinstance(counted, Counted)
    assert alone == (HALF * SHARE if counted.count.sensitivity else 0)
    for rows in (1, 1_000, 10**9):
        then = counted.suited(rows)
        best = min(question._synopses(found.moves, HALF - alone, rows, "auto"), key=lambda s: s.distortion)
        assert then.scales == best.scales
        assert found.loss(then) <= HALF - alone


def test_whether_rows_are_counted():
    """Not where their number is public or told; after a filter, with missing values or presence they are."""
    public = bf.Policy(Domain((integers("x", 0, 99), integers("y", 0, 1))))
    missing = bf.Policy(Domain((integers("x", 0, 99, nullable=True),)))
    hidden = bf.Policy(public.domain, presence=True)

    found = {
        "public": public.plan.kmeans("x", 2),
        "told": public.plan.where("y == 1").kmeans("x", 2, rows=50),
        "filter": public.plan.where("y == 1").kmeans("x", 2),
        "missing": missing.plan.kmeans("x", 2),
        "presence": hidden.plan.kmeans("x", 2),
    }

    assert [name for name, plan in found.items() if isinstance(plan.measurement, Counted)] == [
        "filter",
        "missing",
        "presence",
    ]


def test_strategies_that_do_not_fit_say_why():
    """Unknown names and synopses that cannot be had are refused before anything is measured."""
    plan = bf.Policy(Domain((integers("x", 0, 2),))).plan

    with pytest.raises(UnknownStrategyError):
        plan.kmeans("x", 2, strategy="lloyd")
    with pytest.raises(ArgumentError, match="pieces"):
        plan.kmeans("x", 2, strategy="whole")
    with pytest.raises(ArgumentError, match="more cells"):
        plan.kmeans("x", 3, strategy="adaptive")
    with pytest.raises(ArgumentError, match="pieces"):
        plan.where("x > 0").kmeans("x", 2, strategy="whole")


def test_tables_stay_small():
    """Soft rows count no more than fits exact noise, and stops no more than the table allows."""
    domain = Domain(
        tuple(from_dict(name, {"type": "float", "min": 0, "max": 1, "step": "0.0001"}) for name in "abcd")
    )
    policy = bf.Policy(domain, secrets={name: bf.threshold("0.1") for name in "abcd"})
    question = policy.plan.kmeans(list("abcd"), 3, rows=10**7).asked[0]

    for nodes in ((2, 2, 2, 2), (16, 16, 1, 1), (5, 5, 5, 5)):
        parts = count_parts(question.space, nodes)
        stops = np.prod([(many - 1) * parts + 1 for many in nodes])

        assert parts >= 1
        assert stops <= MAX_TABLE or parts == 1
        assert parts ** sum(many > 1 for many in nodes) <= MAX_TOTAL


def test_public_tables_are_clustered_exactly():
    """Where no edge changes a count every bin is exact, as fine as helps, and free."""
    plan = colours(bf.public()).plan.kmeans(list("rgb"), 4, rows=10**6)
    forced = replace(plan.asked[0], rows=10)

    assert plan.cost == plan.sensitivity == 0
    assert not any(plan.scales.values)
    assert [each.name for each in forced.candidates(plan.policy, HALF, "auto", every=True)] == ["grid"]


def test_bins_inside_groups_stay_few():
    """Where cutting all groups of many columns would make millions of bins, they are cut as usual."""
    domain = Domain(tuple(integers(f"x{number}", 0, 9) for number in range(12)))
    policy = bf.Policy(domain, secrets={name: bf.partition(5) for name in domain.columns})

    found = policy.plan.kmeans(list(domain.columns), 4, strategy="grid", rows=10**6).measurement

    assert len(found.scales) < 10**6


def test_a_new_synopsis_is_one_line_of_the_list(monkeypatch):
    """A class from outside the package is planned, compared, released and read again by its name."""

    class Halves(GridCounts):
        name = "halves"

        @classmethod
        def propose(cls, setting, *, alone):
            del alone
            bins = tuple(min(2, cells) for cells in setting.space.cells)
            yield cls.build(setting.graph, setting.space, bins, setting.epsilon, 0.5)

    monkeypatch.setattr(module, "STRATEGIES", [*STRATEGIES, Halves])
    policy = bf.Policy(Domain((integers("x", 0, 99),)))
    plan = policy.plan.kmeans("x", 2, rows=50, strategy="halves")
    df = pd.DataFrame({"x": range(50)}).blowfish.protect(policy, epsilon=2)

    found = df.blowfish.kmeans("x", 2, epsilon=1, strategy="halves", name="halves")
    again = df.blowfish.kmeans("x", 2, epsilon=1, strategy="halves", name="halves")

    assert plan.strategy == found.blowfish.receipt["strategy"] == "halves"
    assert "halves" in set(policy.plan.kmeans("x", 2, rows=50).candidates["strategy"])
    pd.testing.assert_frame_equal(found, again)
