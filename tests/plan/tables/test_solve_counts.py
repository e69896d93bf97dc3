"""Counts of bins from noisy ones: unbiased or of the right shape, and in agreement with what is exact."""

import random
from fractions import Fraction

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.given import Given
from pandas_blowfish.plan.tables.identity import Identity
from pandas_blowfish.plan.tables.solve import solve_counts
from pandas_blowfish.policy.domain import Domain, integers


def noisy_values(draw, identity):
    """Return noisy values of random counts: exact rows hold them exactly."""
    counts = np.array([draw.randint(0, 20) for _ in range(identity.tally.size)])
    counts[~identity.tally.occupied] = 0
    exact = identity.apply(counts)
    noise = np.array([draw.randint(-9, 9) if scale else 0 for scale in identity.scales])
    return counts, exact + noise


@pytest.mark.parametrize("seed", range(40))
def test_totals_and_signs(seed, make_clusters):
    """Exact counts and totals hold whether or not shaped; shaped counts are not negative."""
    draw = random.Random(seed)
    found = make_clusters(draw)
    tally = found.space.cut([draw.randint(1, cells) for cells in found.space.cells])
    identity = Identity.build(found.graph, tally, Fraction(1, 2))
    counts, values = noisy_values(draw, identity)
    parts, size = identity.parts, tally.size

    for post in (True, False):
        answers = solve_counts(identity, values, post, None).answers

        assert np.allclose(answers[parts.alone], counts[parts.alone])
        for total in range(parts.totals):
            assert answers[parts.total_of == total].sum() == pytest.approx(values[size + total])
        assert not post or (answers >= 0).all()
    plain, shaped = (solve_counts(identity, values, post, None) for post in (False, True))
    assert plain.unshaped.tolist() == shaped.unshaped.tolist() == plain.answers.tolist()


def test_known_answers_are_kept():
    """What facts tell of the bins holds in the answers, shaped or not."""
    domain = Domain((integers("x", 0, 5),))
    policy = bf.Policy(domain, constraints=[bf.Count("x < 2", answer=7)])
    plan = policy.plan.hist("x", strategy="identity")
    values = np.array([9, 1, 4, -3, 5, 2, 20])[: len(plan.scales)]

    given = Given.of(policy, 20)
    for post in (True, False):
        answers = solve_counts(plan.measurement, values, post, given).answers

        assert answers[:2].sum() == pytest.approx(7)
        assert answers.sum() == pytest.approx(20)
        assert not post or (answers >= 0).all()


def test_noise_that_adds_up_is_taken_from_all_alike():
    """Unbiased counts with a known total differ from the noisy ones by one number."""
    identity = bf.Policy(Domain((integers("x", 0, 3),))).plan.hist("x", strategy="identity").measurement

    answers = solve_counts(identity, np.array([5, -1, 2, 6, 8]), False, None).answers

    assert answers.tolist() == [4.0, -2.0, 1.0, 5.0]
