"""Several tables as one list of counts: tied to each other, to exact totals and to what is known."""

import itertools
import random

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.given import Given
from pandas_blowfish.plan.tables.solve import _shared, _tied
from pandas_blowfish.policy.domain import Domain, integers

SIZES = (2, 3, 2, 4)


def _sums(places, table, shared):
    return table.sum(axis=tuple(n for n, place in enumerate(places) if place not in shared))


@pytest.mark.parametrize("seed", range(30))
def test_ties_are_all_agreements_and_no_more(seed):
    """Tables satisfy all ties exactly where they agree on every shared set of columns."""
    draw = random.Random(seed)
    sets = [c for n in range(1, 5) for c in itertools.combinations(range(4), n)]
    order = tuple(draw.sample(sets, draw.randint(2, 6)))
    shapes = [[SIZES[place] for place in places] for places in order]
    starts = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)])
    rows = []
    for shared, pairs in _shared(order):
        for pair in pairs:
            family = _tied(SIZES, order, starts, pair, shared)
            groups = np.zeros((family.rows.shape[1], starts[-1]))
            inside = np.flatnonzero(family.labels >= 0)
            groups[family.labels[inside], inside] = 1
            rows.append(family.rows @ groups)
    ties = np.concatenate(rows)
    joint = np.random.default_rng(seed).integers(0, 9, SIZES)

    agreeing = np.concatenate([_sums(range(4), joint, places).ravel() for places in order])
    _, sizes, right = np.linalg.svd(ties)
    free = right[int((sizes > 1e-9).sum()) :]

    assert not (ties @ agreeing).any()
    for each in free:  # whatever satisfies the ties agrees everywhere
        parts = np.split(each, starts[1:-1])
        tables = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
        for one, two in itertools.combinations(range(len(order)), 2):
            both = set(order[one]) & set(order[two])
            sums = [_sums(order[number], tables[number], both) for number in (one, two)]
            assert np.allclose(*sums, atol=1e-9)


@pytest.mark.parametrize("post", [True, False, "signed"])
@pytest.mark.parametrize("secrets", [{}, {"a": bf.public(), "c": bf.partition([[0, 1], [2, 3, 4]])}])
def test_known_counts_hold_in_every_table(secrets, post, make_filter):
    """A marginal and a count hold wherever they can be read off; tables still agree, totals are exact."""
    domain = Domain((integers("a", 0, 3), integers("b", 0, 1), integers("c", 0, 4), integers("d", 0, 2)))
    cells = np.random.default_rng(3).poisson(2.0, domain.shape)
    facts = [
        bf.Marginal("b", "c", answer=cells.sum(axis=(0, 3)).tolist()),
        bf.Count("a in [0, 3]", answer=int(cells[[0, 3]].sum())),
    ]
    given = Given.of(bf.Policy(domain, constraints=facts))
    plan = bf.Policy(domain, secrets=secrets).plan.marginal(list("abcd"), order=2, epsilon="1/4")
    made, asked = plan.measurement, plan.asked[0]
    values = np.random.default_rng(4).integers(-30, 60, len(made.scales))
    at = 0
    for tally, exact in zip(
        made.tallies, [False] * len(made.tables) + [True] * len(made.totals), strict=True
    ):
        if exact:
            names = [tally.domain.columns.index(name) for name in tally.domain.columns]
            axes = [domain.columns.index(tally.domain.columns[n]) for n in names]
            rest = tuple(axis for axis in range(4) if axis not in axes)
            table = cells.sum(axis=rest).ravel()
            values[at : at + tally.size] = np.bincount(tally.labels(), table, tally.size)
        at += tally.size

    found = made.solve(values, post=post, known=given).answers

    parts = np.split(found, np.cumsum(asked.answers)[:-1])
    tables = {
        places: part.reshape([domain.shape[place] for place in places])
        for places, part in zip(asked.asked, parts, strict=True)
    }
    near = 1e-9 * cells.sum()
    assert np.allclose(tables[1, 2], cells.sum(axis=(0, 3)), rtol=0, atol=near)
    for places, table in tables.items():
        assert table.sum() == pytest.approx(cells.sum(), abs=near)
        for place, known in ((1, cells.sum(axis=(0, 2, 3))), (2, cells.sum(axis=(0, 1, 3)))):
            if place in places:
                assert np.allclose(_sums(places, table, {place}), known, rtol=0, atol=near)
        if 0 in places:
            one = _sums(places, table, {0})
            assert one[[0, 3]].sum() == pytest.approx(cells[[0, 3]].sum(), abs=near)
            if secrets:
                assert np.allclose(one, cells.sum(axis=(1, 2, 3)), rtol=0, atol=near)
    for one, two in itertools.combinations(tables, 2):
        both = set(one) & set(two)
        if both:
            assert np.allclose(
                _sums(one, tables[one], both), _sums(two, tables[two], both), rtol=0, atol=near
            )
    assert post is not True or found.min() >= 0
