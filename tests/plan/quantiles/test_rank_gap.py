"""Places are as near to their quantiles as stated, for data that spread rows as badly as they can."""

from fractions import Fraction

import numpy as np
import pandas as pd

import pandas_blowfish as bf
from pandas_blowfish.plan.quantiles.halving import pick_apart, pick_by_halves, rounding
from pandas_blowfish.plan.quantiles.rank_gap import bound_cells, rank_gap
from pandas_blowfish.plan.ranks.gap import selection_gap
from pandas_blowfish.policy.domain import Domain, integers

QUARTERS = [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]


def test_places_are_as_near_as_stated():
    """All but one cell just so far off that they are picked most often together; and even ones."""
    policy = bf.Policy(Domain((integers("x", 0, 199),)))
    for q in ([0.5], [0.25, 0.5, 0.75]):
        measured = policy.plan.quantile("x", q, epsilon="1/2", strategy="select").measurement
        gap = measured.gap
        for heavy in (gap, 3 * gap):
            values = np.repeat([90, 100, 110], [heavy, 2, heavy])
            values = np.concatenate([values, np.arange(200)]) if heavy > gap else values
            counts = np.bincount(values, minlength=200)
            upper, runs, off = np.cumsum(counts), 40, 0
            df = pd.DataFrame({"x": values}).blowfish.protect(policy, epsilon=10**6)
            with bf.testing.replay(5):
                for _ in range(runs):
                    cells = df.blowfish.quantile("x", q, epsilon="1/2", strategy="select")["value"].to_numpy()
                    at, wanted = cells.astype(int), np.array(q) * len(values)
                    away = np.maximum(np.maximum(upper[at] - counts[at] - wanted, wanted - upper[at]), 0)
                    room = gap + (counts.max() / measured.parts if len(q) > 1 else 0)
                    off += bool((away > room).any())
            assert off / runs < 0.2


def test_one_pick_is_as_near_as_a_pick_of_the_most_frequent():
    """The same law, in parts of a row."""
    assert (
        abs(rank_gap(pick_apart([Fraction(1, 2)]), 50, 1, Fraction(20)) - selection_gap(50, 1, Fraction(20)))
        <= 1
    )


def test_more_picks_are_stated_to_be_further_off():
    """Of several all are meant, and by halves errors go on; without noise there are none."""
    apart, halves = pick_apart(QUARTERS), pick_by_halves(QUARTERS)
    one = rank_gap(pick_apart(QUARTERS[:1]), 50, 1, Fraction(20))

    assert one < rank_gap(apart, 50, 1, Fraction(20)) < rank_gap(halves, 50, 1, Fraction(20)) < 3 * one
    assert rank_gap(halves, 50, 1, Fraction(0)) == 0


def test_shares_of_too_many_parts_are_off_by_what_is_stated():
    """Of 20 million rows a millionth of a share is twenty: noise that is small does not make it less."""
    policy = bf.Policy(Domain((integers("x", 0, 9),)), secrets={"x": bf.threshold(1)})
    values = np.repeat(np.array([0, 1], dtype=np.int8), [6_000_005, 13_999_995])
    df = pd.DataFrame({"x": values}).blowfish.protect(policy, epsilon=10**6)

    found = df.blowfish.quantile("x", [0.3000003, 0.3000004], epsilon=50, strategy="select")

    ends = found.blowfish.interval()
    assert (ends["low"] <= [0, 1]).all()
    assert (ends["high"] >= [0, 1]).all()
    assert "besides 2.1e-07 of all rows" in found.blowfish.receipt["accuracy"]
    assert rounding(pick_by_halves(QUARTERS)) == 0


def test_quantiles_lie_between_their_cells():
    """Whatever the rows: picks moved as far as a gap allows, some out of order before they were sorted."""
    random = np.random.default_rng(7)
    shares, tried = [Fraction(each, 10) for each in (1, 3, 5, 6, 9)], 0
    for _ in range(400):
        cells, rows = int(random.integers(1, 9)), int(random.integers(1, 40))
        values = np.sort(random.integers(0, cells, rows))
        upper = np.cumsum(np.bincount(values, minlength=cells))
        lower, gap = np.append(0, upper[:-1]), Fraction(int(random.integers(0, 9)), 2)
        near = [
            np.flatnonzero(
                (lower <= float(share * rows + gap)) & (upper >= float(share * rows - gap)) & (upper > -1)
            )
            for share in shares
        ]
        picked = np.sort([random.choice(each) for each in near])

        first, last = bound_cells(picked, shares, [gap], rows, (0, cells - 1))

        truth = np.array([np.flatnonzero(upper >= float(share * rows))[0] for share in shares])
        assert (first[:, 0] <= truth).all()
        assert (truth <= last[:, 0]).all()
        tried += int(((first[:, 0] > 0) | (last[:, 0] < cells - 1)).sum())
    assert tried > 300
