"""Marginals as a question: kept cells, tables, groups, and the candidates."""

import random

import numpy as np
import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.plan.tables.identity import Identity
from pandas_blowfish.plan.tally import tally
from pandas_blowfish.policy.domain import Domain, integers

ABC = Domain((integers("a", 0, 2), integers("b", 0, 3), integers("c", 0, 1)))


def asked(policy, tables, where=None):
    """Return the question of some tables."""
    scope = policy.plan.where(where) if where else policy.plan
    return scope.marginal(tables).asked[0]


def test_each_set_is_measured_once_and_answered_as_asked():
    """Two orders of the same columns are one set; answers are transposed."""
    question = asked(bf.Policy(ABC), [["b", "a"], ["a", "b"], ["a"]])
    table = np.arange(12.0).reshape(4, 3)

    listed = question.list_answers({(0, 1): table, (1,): table[0]})

    assert question.domain.columns == ("b", "a")
    assert question.sets == ((0, 1), (1,))
    assert question.answers == (12, 12, 3)
    assert (listed[:12] == table.ravel()).all()
    assert (listed[12:24] == table.T.ravel()).all()


@pytest.mark.parametrize("seed", range(30))
def test_kept_and_held_match_cells(seed, make_full_policy, make_filter):
    """Kept cells are those that some counted cell has; held ones of a table likewise."""
    draw = random.Random(seed)
    policy = make_full_policy(draw, 3, 3)
    names = list(policy.domain.columns)
    question = asked(policy, [names[:2], names[1:]], make_filter(draw, policy.domain))
    every = tally(question.domain, list(question.domain.columns), None, question.condition)
    counted = (every.labels() >= 0).reshape(question.domain.shape)
    if question.empty:
        assert not counted.any()
        return

    for place, kept in enumerate(question.kept_bins):
        others = tuple(axis for axis in range(counted.ndim) if axis != place)
        assert kept.tolist() == np.flatnonzero(counted.any(axis=others)).tolist()
    for places in question.sets:
        others = tuple(axis for axis in range(counted.ndim) if axis not in places)
        some = counted.any(axis=others)[np.ix_(*(question.kept_bins[place] for place in places))]
        held = question.occupied_cells(places)
        assert some.all() if held is None else (held == some).all()


@pytest.mark.parametrize("seed", range(30))
def test_no_edge_leaves_a_group(seed, make_full_policy):
    """Column by column, by definition; a joint block through columns that are not asked for included."""
    draw = random.Random(50 + seed)
    policy = make_full_policy(draw, 3, 3)
    names = draw.sample(policy.domain.columns, 2)
    question = asked(policy, [names])

    for name, groups in zip(question.domain.columns, question.groups(policy), strict=True):
        for start, end in definition_edges(policy, [name]).tolist():
            if end < len(groups):
                assert groups[start] == groups[end]


def test_paths_through_cells_that_the_filter_drops():
    """0 - 1 - 2 with 1 dropped is one group; as rows can leave, nothing is exact."""
    policy = bf.Policy(ABC, secrets={"a": bf.threshold(1)})
    question = asked(policy, [["a"], ["a", "b"]], "a != 1")

    plan = policy.plan.where("a != 1").marginal([["a"], ["a", "b"]])

    assert question.groups(policy)[0].tolist() == [0, 0]
    assert question.cover(policy).parts is None
    assert all(scale > 0 for scale in plan.scales)


def test_candidates_and_names():
    """One table: counts, or residual; several: even, joint, residual and shared, the best first."""
    policy = bf.Policy(ABC)
    one, several = policy.plan.marginal(["a", "b"]), policy.plan.marginal(list("abc"), order=2)

    assert isinstance(one.measurement, Identity)
    assert set(several.candidates["strategy"]) == {"even", "joint", "residual", "shared"}
    assert several.candidates["mse"].is_monotonic_increasing
    assert several.mse <= several.candidates["mse"].iloc[0] * 1.01
    for strategy in ("even", "joint", "residual", "shared"):
        plan = policy.plan.marginal(list("abc"), order=2, strategy=strategy)
        assert plan.strategy == strategy
        assert plan.privacy_loss() == 1


def test_a_single_table_is_the_histogram():
    """Counted as it is, it has the error and index of hist; what is chosen is no worse."""
    policy = bf.Policy(ABC, secrets={"a": bf.partition([[0, 1], [2]])})
    scope = policy.plan.where("b > 0").groupby("c")

    table, hist = scope.marginal(["a", "b"], strategy="identity"), scope.hist(["a", "b"], strategy="identity")

    assert table.strategy == hist.strategy == "identity"
    assert scope.marginal(["a", "b"]).mse <= table.mse
    assert np.allclose(table.std, hist.std)
    assert table.index.equals(hist.index)


def test_refusals():
    """A joint table that is asked for itself; too many columns to be split; all before anything is made."""
    wide = bf.Policy(Domain(tuple(integers(f"c{n}", 0, 1) for n in range(12))))
    names = list(wide.domain.columns)

    with pytest.raises(ArgumentError):
        bf.Policy(ABC).plan.marginal([["a", "b"], ["a"]], strategy="joint")
    with pytest.raises(ArgumentError):
        wide.plan.marginal(names[:11], strategy="residual")
    with pytest.raises(ArgumentError):
        wide.plan.marginal([names[:11], names[1:3]])
    assert wide.plan.marginal(names[:11]).strategy == "identity"


@pytest.mark.parametrize("order", [1, 2])
def test_sixty_columns(order):
    """Sixty columns of two values: planned in seconds, better than even shares."""
    policy = bf.Policy(Domain(tuple(integers(f"c{n}", 0, 1) for n in range(60))))

    plan = policy.plan.marginal(list(policy.domain.columns), order=order)

    scale = {1: 2 * 60, 2: 2 * 60 * 59 // 2}[order]
    assert plan.mse <= 2 * scale**2
    assert len(plan.std) == {1: 120, 2: 4 * 1770}[order]


def test_a_product_of_endless_cells():
    """10^20 cells are never listed; their matrix is refused."""
    domain = Domain(tuple(integers(f"c{n}", 0, 99) for n in range(10)))
    plan = bf.Policy(domain).plan.marginal([["c0", "c1"], ["c1", "c2"], ["c9"]])

    assert plan.cost == 1
    with pytest.raises(bf.BlowfishError):
        bf.Policy(domain).plan.marginal(list(domain.columns), order=1).privacy_loss()


@pytest.mark.parametrize("epsilon", ["1e-9", 10**9])
def test_extreme_epsilons(epsilon):
    """Losses are exact, errors finite."""
    policy = bf.Policy(ABC)
    plan = policy.plan.marginal(list("abc"), order=2, epsilon=epsilon)
    edges = definition_edges(policy, plan.domain.columns)

    assert edge_loss(plan.matrix(), plan.scales, edges).value == plan.epsilon
    assert np.isfinite(plan.std).all()
