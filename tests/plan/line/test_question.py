"""Questions along a line: which sums they are, and how wrong their answers will be."""

import random
from collections import OrderedDict
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan import choose
from pandas_blowfish.plan.line import question
from pandas_blowfish.plan.line.axis import joins_next_but_one
from pandas_blowfish.plan.line.nest import Layout, Nest
from pandas_blowfish.plan.line.question import Spans
from pandas_blowfish.plan.line.runs import Nested
from pandas_blowfish.policy.domain import Domain, integers

GIVEN = (np.array([0, 2, 2]), np.array([3, 4, 3]))


def test_every_kind_names_its_sums(line_of):
    """Cells, prefixes, all ranges and given ranges of four atoms."""
    lined = line_of(4, 1)

    ends = {
        kind: [each.tolist() for each in lined.kind(kind, GIVEN).ends]
        for kind in ("cells", "prefixes", "all", "ranges")
    }

    assert ends["cells"] == [[0, 1, 2, 3], [1, 2, 3, 4]]
    assert ends["prefixes"] == [[0, 0, 0, 0], [1, 2, 3, 4]]
    assert ends["all"] == [[0, 0, 0, 0, 1, 1, 1, 2, 2, 3], [1, 2, 3, 4, 2, 3, 4, 3, 4, 4]]
    assert ends["ranges"] == [[0, 2, 2], [3, 4, 3]]
    for kind, (starts, _) in ends.items():
        assert lined.kind(kind, GIVEN).per_line == len(starts)


@pytest.mark.parametrize("kind", ["cells", "prefixes", "all", "ranges"])
def test_answers_are_sums_of_atoms(kind, line_of):
    """Differences of cumulative counts, line by line."""
    asked = line_of(4, 1).kind(kind, GIVEN)
    counts = np.array([[1.0, 2, 3, 4], [5, 6, 7, 8]])

    answers = asked.answers(np.concatenate([np.zeros((2, 1)), np.cumsum(counts, axis=1)], axis=1))

    wanted = [line[a:b].sum() for line in counts for a, b in zip(*asked.ends, strict=True)]
    assert answers.tolist() == wanted


@pytest.mark.parametrize("seed", range(60))
def test_mean_variance_is_the_mean(seed, make_lined, make_layout):
    """Of every range it is found in linear time, and equals the mean of all variances."""
    draw = random.Random(seed)
    lined = make_lined(draw, 6)
    layout = make_layout(draw, lined.line, seed % 4 == 0)
    weights = tuple(draw.randint(1, 9) for _ in Nest(lined.line, layout).families)
    spread = Nested("nested", lined.asked, lined.line, layout, weights, Fraction(1)).spread

    for kind in ("cells", "prefixes", "all"):
        asked = lined.kind(kind)
        variances = asked.variances(spread)

        assert len(variances) == asked.per_line * asked.groups
        assert asked.mean_variance(spread) == pytest.approx(variances.mean(), rel=1e-9, abs=1e-9)


def test_variances_of_cells_are_those_of_ranges(line_of):
    """The short way for cells gives what ranges of one atom give."""
    lined = line_of(9, 2)
    spread = Nested("nested", lined.asked, lined.line, Layout(3, (3,)), (2, 1), Fraction(1)).spread
    atoms = np.arange(9)

    ranged = lined.kind("ranges", (atoms, atoms + 1)).variances(spread)

    assert lined.kind("cells").variances(spread) == pytest.approx(ranged)


def test_groups_are_outermost_in_the_index(make_lined):
    """Answers of each line follow one another."""
    for seed in range(200):
        lined = make_lined(random.Random(seed))
        if lined.asked.axis == 1:
            break
    asked = lined.kind("cells")

    assert asked.groups == lined.asked.tally.shape[0]
    assert list(asked.index.names) == list(lined.asked.tally.domain.columns[:2])
    assert len(asked.index) == asked.per_line * asked.groups


def test_labels_of_several_levels_are_repeated_for_each_line(make_lined):
    """A MultiIndex of one line is listed once a group, under the groups."""
    for seed in range(200):
        tally = make_lined(random.Random(seed)).asked.tally
        if tally.shown == 2 and tally.shape[1] == 2:
            break
    inner = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["p", "q"])

    index = Spans(tally, "cells", GIVEN, lambda: inner).index

    assert index.names == [tally.domain.columns[0], "p", "q"]
    assert index.droplevel(0).tolist() == [("a", 1), ("b", 2)] * tally.shape[0]


def test_parts_of_a_question(line_of):
    """Other ranges of the same line, and the same kind on its first atoms."""
    asked = line_of(6, 1).asked

    assert asked.only(*GIVEN).kind == "ranges"
    assert asked.only(*GIVEN).per_line == 3
    assert asked.cut(3).size == 3
    assert asked.cut(3).per_line == 6


@pytest.mark.parametrize("secret", [bf.full(), *(bf.threshold(theta) for theta in (1, 2, 3, 9))])
def test_what_is_not_looked_at_is_no_better(secret, monkeypatch):
    """Of a very long line prefix sums are left out only where counts of cells have less error."""
    monkeypatch.setattr(question, "VERY_LONG", 4)
    monkeypatch.setattr(choose, "_plans", OrderedDict())
    for size in (5, 6, 9, 17):
        plan = bf.Policy(Domain((integers("x", 0, size - 1),)), secrets={"x": secret}).plan.hist("x")
        left_out = joins_next_but_one(plan.policy.graph, plan.asked[0].tally)

        assert left_out == (secret != bf.threshold(1))
        prefix_sums = plan.candidates.set_index("strategy")["mse"].get("ordered", np.inf)
        assert (plan.strategy in ("identity", "cliques", "transport") and plan.mse <= prefix_sums) == left_out
