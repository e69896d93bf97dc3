"""Covers: effects and what they are worth, precision and losses of tables, the search."""

import itertools

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import DomainTooLargeError
from pandas_blowfish.plan.tables import cover
from pandas_blowfish.plan.tables.cover import Cover, find_tables
from pandas_blowfish.policy.domain import Domain, integers


def cover_of(sizes, tables, secrets=None, **options):
    """Return the cover of tables over integer columns a, b, ..., and its policy."""
    domain = Domain(tuple(integers(n, 0, s - 1) for n, s in zip("abcdefgh", sizes, strict=False)))
    policy = bf.Policy(domain, secrets=secrets or {}, **options)
    return policy.plan.marginal(tables).asked[0].cover(policy)


def centring(size):
    """Return the projection on what varies."""
    return np.eye(size) - 1 / size


@pytest.mark.parametrize("sizes", [(2, 3, 4), (3, 1, 2), (2, 2, 2)])
def test_effects_are_worth_their_part_of_the_variance(sizes):
    """The sum of the answers' variances is the sum over effects of worth times variance, by dense algebra."""
    cover = cover_of(sizes, [["a", "b"], ["c", "b"], ["a"]])
    random = np.random.default_rng(3)
    spread = {effect: random.random() + 0.1 for effect in cover.effects[0]}

    total = 0.0
    for places, times in cover.asked:
        for many in range(len(places) + 1):
            for effect in itertools.combinations(places, many):
                if effect not in spread:
                    continue
                rest, lengths = 1, 1.0
                for place in places:
                    inside = place in effect
                    rest *= 1 if inside else sizes[place]
                    lengths *= np.trace(centring(sizes[place])) if inside else sizes[place]
                total += times * spread[effect] * lengths / rest**2

    worth = dict(zip(*cover.effects, strict=True))
    assert sum(spread[each] * worth[each] for each in worth) == pytest.approx(total)


def test_public_and_grouped_columns_need_less_noise():
    """What groups of values tell exactly is no noisy effect; the row count is exact."""
    cover = cover_of((3, 4), [["a", "b"]], {"a": bf.public(), "b": bf.partition([[0, 1], [2, 3]])})

    assert cover.parts == [3, 2]
    assert cover.noisy(()) == 0
    assert cover.noisy((0,)) == 0
    assert cover.noisy((1,)) == 3 - 1
    assert cover.noisy((0, 1)) == 2 * 3 - 2 * 1
    assert cover_of((3, 4), [["a", "b"]], presence=True).noisy(()) == 1


@pytest.mark.parametrize("folded", [(), (0,), (0, 2)])
def test_tells_is_the_precision_of_dense_sums(folded):
    """A table of noise of variance 1 (weight 1 is variance 2) tells each effect as the matrix says."""
    sizes = (2, 3, 2)
    cover = cover_of(sizes, [["a", "b", "c"]])

    told = dict(zip(cover.effects[0], cover.tells([((0, 1, 2), folded)])[:, 0], strict=True))

    for effect, precision in told.items():
        if not set(folded) <= set(effect):
            assert precision == 0
            continue
        # the effect's table from the measured one: sum over others, centre; each fold halves a difference
        parts = []
        for place, size in enumerate(sizes):
            if place in folded:
                parts.append(np.array([[0.5], [-0.5]]))
            elif place in effect:
                parts.append(centring(size))
            else:
                parts.append(np.ones((1, size)))
        total = parts[0]
        for part in parts[1:]:
            total = np.kron(total, part)
        covariance = 2 * total @ total.T
        largest = np.linalg.eigvalsh(covariance).max()
        assert precision == pytest.approx(1 / largest)


@pytest.mark.parametrize("neighbors", ["record", "attribute"])
def test_many_tables_are_searched_as_few_are(neighbors, monkeypatch):
    """A sparse matrix, made a few tables at a time, is the dense one and leads to tables as good."""
    tables = [list(each) for each in itertools.combinations("abcdef", 3)]
    dense = cover_of((2, 3, 2, 4, 2, 3), tables, neighbors=neighbors)
    options = [(places, dense.foldable(places)[:turned]) for places, _ in dense.asked for turned in (0, 1)]
    wanted, found = dense.tells(options), find_tables(dense)
    monkeypatch.setattr(cover, "LARGE", 10)
    monkeypatch.setattr(cover, "STEP", 3)

    sparse = dense.tells(options)

    assert not isinstance(sparse, np.ndarray)
    assert np.array_equal(sparse.toarray(), wanted)
    assert sparse.nnz == np.count_nonzero(wanted)
    assert _error(dense, find_tables(dense)) <= 1.02 * _error(dense, found)


def _error(cover, found):
    options, weights = [each[:2] for each in found], np.array([each[2] for each in found], dtype=float)
    precise = cover.tells(options) @ weights**2
    return (cover.effects[1] / precise).sum() * (cover.losses(options) @ weights).max() ** 2


def test_sets_of_many_columns_are_compared_word_by_word():
    """Of 130 columns, as two by two."""
    random = np.random.default_rng(1)
    tables = random.random((20, 130)) < 0.9
    effects = np.concatenate([tables[:5] & (random.random((5, 130)) < 0.5), random.random((9, 130)) < 0.03])
    folded = tables & (random.random((20, 130)) < 0.004)

    pairs = set(zip(*(each.tolist() for each in cover.find_within(effects, tables, folded)), strict=True))

    assert pairs == {
        (row, column)
        for row, column in itertools.product(range(14), range(20))
        if not (effects[row] & ~tables[column]).any() and not (folded[column] & ~effects[row]).any()
    }
    assert pairs


def test_folds_are_of_secret_columns_of_two_values():
    """A column no edge changes, or of three values, is never folded; nor one with exact parts."""
    cover = cover_of((2, 3, 2, 2), [list("abcd")], {"c": bf.public(), "d": bf.partition([[0], [1]])})

    assert cover.foldable((0, 1, 2, 3)) == (0,)


@pytest.mark.parametrize("neighbors", ["record", "attribute", 2])
def test_optimised_tells_every_effect(neighbors):
    """The tables found tell each effect, with positive whole weights, and no worse than the asked ones."""
    tables = [["a", "b"], ["b", "c"], ["d"], ["a", "c", "d"]]
    cover = cover_of((2, 3, 2, 4), tables, neighbors=neighbors)

    def error(options, weights):
        precise = cover.tells(options) @ np.array(weights, dtype=float) ** 2
        loss = (cover.losses(options) @ np.array(weights)).max()
        return (cover.effects[1] / precise).sum() * loss**2

    found = find_tables(cover)
    options, weights = [(places, fold) for places, fold, _ in found], [each[2] for each in found]
    even = [(places, ()) for places, _ in cover.asked]

    assert all(isinstance(weight, int) and weight > 0 for weight in weights)
    assert (cover.tells(options).sum(axis=1) > 0).all()
    assert error(options, weights) <= error(even, [1] * len(even)) * 1.005


def test_nothing_to_measure_where_all_is_exact():
    """Public columns, and columns of one cell."""
    assert find_tables(cover_of((3, 4), [["a"], ["a", "b"]], {"a": bf.public(), "b": bf.public()})) == []
    assert find_tables(cover_of((1, 1), [["a"], ["a", "b"]])) == []


def test_too_many_effects_are_refused():
    """Before anything is listed."""
    cover = cover_of((2,), [["a"]])
    wide = Cover((2,) * 40, ((tuple(range(40)), 1),), None, cover.changes, (True,) * 40)

    with pytest.raises(DomainTooLargeError):
        wide.effects  # noqa: B018
