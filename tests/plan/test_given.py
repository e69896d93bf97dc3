"""Known answers over the bins of a tally: true, complete, and fast for many cells."""

import random

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan import given as module
from pandas_blowfish.plan.given import Given
from pandas_blowfish.plan.tally import tally
from pandas_blowfish.policy.domain import Domain, integers
from pandas_blowfish.queries.call.scope import Scope


def over_bins(family, size):
    """Return known sums x bins."""
    groups = np.zeros((len(family.totals) if family.rows is None else family.rows.shape[1], size))
    inside = np.flatnonzero(family.labels >= 0)
    groups[family.labels[inside], inside] = 1
    return groups if family.rows is None else family.rows @ groups


def _asked(draw, policy, make_filter, make_bins):
    """Return a random histogram: columns, bins, filter and groups."""
    names = draw.sample(policy.domain.columns, draw.randint(0, len(policy.domain.columns)))
    groups = names[: draw.randint(0, len(names))] if names else []
    scope = Scope()
    if draw.random() < 0.5:
        scope = scope.where(policy, make_filter(draw, policy.domain), {})
    if groups:
        scope = scope.groupby(policy, groups)
    rest = [name for name in names if name not in groups]
    bins = {name: made for name in rest if (made := make_bins(draw, policy.domain[name])) is not None}
    return scope.tally(policy, rest, bins or None)


def _rank(rows):
    return 0 if not rows.size else int(np.linalg.matrix_rank(rows.astype(float), tol=1e-6))


def _cells_of(found, domain):
    """Return bins x cells of the whole domain."""
    names = list(domain.columns)
    codes = np.unravel_index(np.arange(domain.size), domain.shape)
    flat = np.zeros(domain.size, dtype=np.int64)
    for attribute in found.domain:
        flat = flat * attribute.size + codes[names.index(attribute.name)]
    bins = found.labels()[flat]
    return (bins[None, :] == np.arange(found.size)[:, None]).astype(np.int64)


@pytest.mark.parametrize("way", ["together", "apart"])
@pytest.mark.parametrize("seed", range(60))
def test_sums_hold_and_nothing_is_missed(
    seed, way, make_policy, make_facts, facts_by_cells, make_filter, make_bins, monkeypatch
):
    """Sums are those of the table; together they are all that facts tell, apart all that each one tells."""
    draw = random.Random(seed)
    domain = make_policy(draw, draw.randint(1, 3), 3).domain
    counts = np.array([draw.randint(0, 5) for _ in range(domain.size)])
    facts = make_facts(draw, domain, counts, draw.randint(1, 3))
    policy = bf.Policy(domain, constraints=facts)
    found = _asked(draw, policy, make_filter, make_bins)
    cells = _cells_of(found, domain)
    parts = None
    if draw.random() < 0.4:
        parts = np.array([draw.randint(-1, max(found.size // 2, 1)) for _ in range(found.size)])
        parts = np.unique(np.append(parts, -1), return_inverse=True)[1][:-1] - 1
    if way == "apart":
        monkeypatch.setattr(module, "MAX_TOGETHER", 1)

    families = Given.of(policy).over(found, parts)

    if parts is not None:
        cells = np.array([cells[parts == part].sum(axis=0) for part in range(parts.max() + 1)])
        cells = cells.reshape(-1, domain.size)
    rows = [over_bins(family, len(cells)) for family in families]
    for family, own in zip(families, rows, strict=True):
        assert np.array_equal(own @ cells @ counts, family.totals)
    known = facts_by_cells(policy)
    told = np.concatenate([own @ cells for own in rows] or [np.zeros((1, domain.size))])
    assert _rank(np.concatenate([known, told])) == _rank(known)
    both = _rank(known) + _rank(cells) - _rank(np.concatenate([known, cells]))
    assert _rank(told) == both if way == "together" else _rank(told) <= both
    if way == "apart":
        for row in known:  # a fact that is a sum of bins alone is among what is told
            if _rank(np.concatenate([cells, row[None]])) == _rank(cells):
                assert _rank(np.concatenate([told, row[None]])) == _rank(told)


def test_a_marginal_of_many_cells():
    """A thousand known counts over a million bins, as labels; sums over columns that are not asked for."""
    domain = Domain((integers("a", 0, 999), integers("b", 0, 999), integers("c", 0, 1)))
    answer = np.arange(2_000).reshape(1_000, 2)
    policy = bf.Policy(domain, constraints=[bf.Marginal("a", "c", answer=answer.tolist())])

    (family,) = Given.of(policy).over(tally(domain, ["b", "a"], None))

    assert family.rows is None
    assert np.array_equal(family.totals, answer.sum(axis=1))
    assert np.array_equal(family.labels, np.tile(np.arange(1_000), 1_000))


def test_a_million_known_cells_are_binned():
    """A marginal of a million cells is added up over bins, and over what a filter of its own lets through."""
    domain = Domain((integers("a", 0, 999_999),))
    answer = np.arange(1_000_000) % 7
    policy = bf.Policy(domain, constraints=[bf.Marginal("a", answer=answer.tolist())])
    scope = Scope().where(policy, "a < 500_000", {})

    families = Given.of(policy).over(scope.tally(policy, ["a"], {"a": 10}))

    sums = np.concatenate([over_bins(family, 10) for family in families])
    totals = np.concatenate([family.totals for family in families])
    assert np.array_equal(np.argmax(sums, axis=1), np.arange(10))
    assert np.array_equal(totals, [*answer[:500_000].reshape(5, -1).sum(axis=1), *[0] * 5])


def test_open_answers_tell_nothing():
    """A fact without an answer is not used."""
    domain = Domain((integers("a", 0, 3),))
    policy = bf.Policy(domain, constraints=[bf.Marginal("a")])

    assert not Given.of(policy)
    assert Given.of(policy).over(tally(domain, ["a"], None)) == []


def test_too_many_facts_are_read_one_by_one():
    """Three hundred counts are too many to be combined; each is still used."""
    domain = Domain((integers("a", 0, 400),))
    facts = [bf.Count(f"a <= {top}", answer=top + 1) for top in range(300)]
    policy = bf.Policy(domain, constraints=facts)
    found = tally(domain, ["a"], None)

    families = Given.of(policy).over(found)

    rows = np.concatenate([over_bins(family, found.size) for family in families])
    assert _rank(rows) == 300
    assert np.array_equal(rows @ np.ones(401), np.concatenate([family.totals for family in families]))
