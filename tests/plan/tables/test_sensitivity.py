"""Which columns an edge changes, and by how much tables then change, against enumeration."""

import itertools
import random

import numpy as np
import pandas as pd
import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.plan.tables import sensitivity as module
from pandas_blowfish.plan.tables.sensitivity import changes
from pandas_blowfish.plan.tally import Binning, Tally
from pandas_blowfish.policy.domain import Domain, integers

CHUNKS, EACH = 6, 40


def cells_of(policy, columns, condition=None):
    """Return the counts of all cells of some columns."""
    chosen = policy.domain.select(columns)
    return Tally(tuple(Binning(a, None, pd.RangeIndex(a.size)) for a in chosen), None, condition)


def ends_of(policy, columns):
    """Return the codes of both ends of every edge between cells, and whether some edge leads to absent."""
    shape = policy.domain.select(columns).shape
    edges = definition_edges(policy, columns)
    inside = edges[(edges < int(np.prod(shape))).all(axis=1)]
    one, two = (np.column_stack(np.unravel_index(inside[:, side], shape)) for side in (0, 1))
    return one, two, len(inside) < len(edges)


def found_for(policy, columns):
    """Return what the code under test says about all cells of some columns."""
    return changes(policy.graph.project(columns), cells_of(policy, columns))


def as_sets(masks):
    """Return rows of a mask as sets of columns."""
    return {tuple(np.flatnonzero(row).tolist()) for row in masks}


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_patterns_match_enumeration(chunk, make_full_policy):
    """Listed patterns are those of the edges by definition, joint secrets, limits and missing included."""
    for number in range(EACH):
        draw = random.Random(100 + chunk * EACH + number)
        policy = make_full_policy(draw, draw.randint(1, 3), 3)
        columns = draw.sample(policy.domain.columns, draw.randint(1, len(policy.domain.columns)))
        one, two, absent = ends_of(policy, columns)

        found = found_for(policy, columns)

        assert found.exact
        assert as_sets(found.patterns) == as_sets(one != two)
        assert found.leaves == absent == policy.presence


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_losses_match_enumeration(chunk, make_full_policy):
    """No edge changes tables, some columns folded, by more in L1 than said; some edge does by as much."""
    for number in range(EACH):
        draw = random.Random(900 + chunk * EACH + number)
        policy = make_full_policy(draw, draw.randint(1, 3), draw.choice([2, 3]))
        columns = draw.sample(policy.domain.columns, len(policy.domain.columns))
        shape = policy.domain.select(columns).shape
        sets = [c for n in range(len(columns) + 1) for c in itertools.combinations(range(len(columns)), n)]
        tables = draw.sample(sets, draw.randint(1, len(sets)))
        seen = np.array([[c in table for c in range(len(columns))] for table in tables])
        folded = seen & (np.array(shape) == 2) & np.array([draw.random() < 0.7 for _ in columns])
        one, two, absent = ends_of(policy, columns)
        true = []
        for start, end in zip(one, two, strict=True):
            row = []
            for table, fold in zip(seen, folded, strict=True):
                plain = table & ~fold
                signs = [(-1) ** int(codes[fold].sum()) for codes in (start, end)]
                same = (start[plain] == end[plain]).all()
                row.append(abs(signs[0] - signs[1]) if same else 2)
            true.append(tuple(row))
        true += [(1,) * len(tables)] if absent else []

        found = {tuple(row) for row in found_for(policy, columns).losses(seen, folded).tolist()}

        assert found == set(true)


def test_a_filter_lets_rows_leave():
    """An edge leads away only where it crosses the filter: a threshold does, a group of a partition not."""
    domain = Domain((integers("a", 0, 3), integers("b", 0, 1)))
    for secret, leaves in ((bf.threshold(1), True), (bf.partition([[0, 1], [2, 3]]), False)):
        policy = bf.Policy(domain, secrets={"a": secret})
        plan = policy.plan.where("a < 2").marginal([["a"], ["b"]])

        assert plan.asked[0].changes(policy).leaves is leaves


@pytest.mark.parametrize("neighbors", ["record", 1, 2, 3])
def test_too_many_patterns_are_covered(monkeypatch, neighbors):
    """Beyond the limit every pattern is part of a listed one, and folded columns are not relied on."""
    domain = Domain(tuple(integers(name, 0, 1) for name in "abcde"))
    secrets = {("a", "b"): bf.edges([((0, 0), (0, 1)), ((0, 0), (1, 0))])}
    policy = bf.Policy(domain, secrets=secrets, neighbors=neighbors)
    full = found_for(policy, list("abcde"))

    for most in range(1, len(full.patterns)):
        monkeypatch.setattr(module, "MAX_PATTERNS", most)
        few = found_for(policy, list("abcde"))

        assert not few.exact
        for pattern in full.patterns:
            assert (~(pattern & ~few.patterns)).all(axis=1).any()
        tables = np.eye(5, dtype=bool)
        assert (few.losses(tables, tables).max(axis=0) >= full.losses(tables, tables).max(axis=0)).all()


@pytest.mark.parametrize("neighbors", ["record", "attribute", 2, 3, 59])
def test_sixty_columns(neighbors):
    """Many columns take no list of all their parts."""
    domain = Domain(tuple(integers(f"c{n}", 0, 1) for n in range(60)))
    policy = bf.Policy(domain, neighbors=neighbors)

    found = found_for(policy, list(domain.columns))

    assert len(found.patterns) <= module.MAX_PATTERNS
    assert found.patterns.any(axis=0).all()
    assert found.exact == (neighbors in ("attribute", 2))


def test_two_of_three_columns_of_a_ball():
    """A joint threshold of three columns, of which two are asked, moves these two together."""
    domain = Domain(tuple(integers(name, 0, 3) for name in "abc"))
    for theta, metric, together in ((1, "l1", False), (1, "linf", True), (2, "l1", True)):
        policy = bf.Policy(domain, secrets={tuple("abc"): bf.threshold(theta, metric=metric)})

        found = as_sets(found_for(policy, ["c", "a"]).patterns)

        assert found == ({(0,), (1,), (0, 1)} if together else {(0,), (1,)})


@pytest.mark.parametrize("theta", [1, 2, 16])
def test_a_wide_ball(theta):
    """Sixteen columns of which a few move together are listed exactly; all of their parts are too many."""
    domain = Domain(tuple(integers(f"c{n}", 0, 1) for n in range(16)))
    policy = bf.Policy(domain, secrets={domain.columns: bf.threshold(theta)})
    few = (
        {c for n in range(1, theta + 1) for c in itertools.combinations(range(16), n)} if theta < 3 else None
    )

    found = found_for(policy, list(domain.columns))

    assert found.exact == (few is not None)
    assert as_sets(found.patterns) == (few or {tuple(range(16))})


@pytest.mark.parametrize("secret", [bf.full(), bf.partition({f"c{n}": 2 for n in range(14)})])
def test_a_wide_joint_block(secret):
    """Fourteen columns that move together: just the largest sets are listed."""
    domain = Domain((*(integers(f"c{n}", 0, 1) for n in range(14)), integers("d", 0, 1)))
    policy = bf.Policy(domain, secrets={domain.columns[:14]: secret})

    found = found_for(policy, list(domain.columns))

    assert not found.exact
    assert as_sets(found.patterns) == {tuple(range(15))}
