"""What an edge changes totals of products by: bounds against every edge, closed forms against their twins."""

import random
from fractions import Fraction

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.plan.lattice import Total, extremes, lattice, ones
from pandas_blowfish.plan.totals import products
from pandas_blowfish.plan.totals.products import product_shifts, require_small
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.queries.call.scope import Scope


def totals_of(draw, policy, tally):
    """Return random totals: counts, sums, squares and products, of present columns."""
    own = {a.name: lattice(a, extremes(a)) for a in policy.domain if a.kind not in ("category", "string")}
    names, found = list(own), [tally]
    for _ in range(draw.randint(1, 4)):
        some = [draw.choice(names) for _ in range(draw.randint(1, 2))]
        present = [name for name in names if policy.domain[name].nullable and name not in some]
        factors = [*(own[name] for name in some), *(ones(policy.domain[name]) for name in present)]
        found.append(Total(tally, factors[0], tuple(factors[1:])))
    return found


def test_bounds_every_edge(make_full_policy, make_filter, monkeypatch):
    """For all rates the bound is at least the loss over every edge, tried one by one."""
    equal = cases = 0
    for number in range(250):
        draw = random.Random(number)
        policy = make_full_policy(draw, draw.randint(1, 3), 4)
        if all(a.kind in ("category", "string") for a in policy.domain):
            continue
        scope = (
            Scope().where(policy, make_filter(draw, policy.domain), {}) if draw.random() < 0.4 else Scope()
        )
        tally = scope.tally(policy, [], None)
        totals = totals_of(draw, policy, tally)
        rates = [Fraction(draw.randint(0, 9), draw.randint(1, 40)) for _ in totals]
        exact = product_shifts(policy, tally, totals)
        with monkeypatch.context() as patch:
            patch.setattr(products, "TRIED_CELLS", 0)
            bound = product_shifts(policy, tally, totals)
            patch.setattr(products, "STRETCHES", 2)
            rough = product_shifts(policy, tally, totals)

        assert exact.loss(rates) <= bound.loss(rates) <= rough.loss(rates)
        assert all(a <= b for a, b in zip(exact.peaks, bound.peaks, strict=True))
        cases, equal = cases + 1, equal + (exact.loss(rates) == bound.loss(rates))

    assert cases > 150
    assert equal > cases / 3


@pytest.mark.parametrize("secret", [bf.full(), bf.threshold(7), bf.threshold(30), bf.public()])
@pytest.mark.parametrize("ends", [(0, 40), (-13, 99), (0, 47)])
def test_even_cells_match_their_edges(secret, ends, monkeypatch):
    """One evenly cut column: the closed form is the largest loss over its edges, cut last cells included."""
    policy = bf.Policy(Domain((integers("x", *ends, 3),)), secrets={"x": secret})
    own = lattice(policy.domain["x"], extremes(policy.domain["x"]))
    tally = Scope().tally(policy, [], None)
    totals = [Total(tally, own), Total(tally, own, (own,))]
    exact = product_shifts(policy, tally, totals)
    monkeypatch.setattr(products, "TRIED_CELLS", 0)

    closed = product_shifts(policy, tally, totals)

    for share in range(0, 200, 7):
        rates = [Fraction(share), Fraction(1)]
        assert closed.loss(rates) == exact.loss(rates)


def test_many_cells_are_bounded_closely():
    """Of a hundred million cells no more than a thousand stretches are looked at."""
    policy = bf.Policy(Domain((integers("x", 0, 10**8),)))
    own = lattice(policy.domain["x"], extremes(policy.domain["x"]))
    tally = Scope().tally(policy, [], None)

    found = product_shifts(policy, tally, [Total(tally, own), Total(tally, own, (own,))])

    assert found.peaks[0] == 10**8
    assert (5 * 10**7) ** 2 <= found.peaks[1] <= 1.01 * (5 * 10**7) ** 2


def test_squares_that_do_not_fit_are_refused():
    """More steps between the bounds than 61 bits of squares hold, with the fix."""
    column = from_dict("x", {"type": "integer", "min": 0, "max": 2**40})
    own = lattice(column, extremes(column))

    with pytest.raises(ArgumentError, match="wider step"):
        require_small(Total(Scope().tally(bf.Policy(Domain((column,))), [], None), own, (own,)))


def test_products_are_counted_as_they_are_weighed():
    """Rows in which any factor is missing weigh nothing; products are those of the cells' weights."""
    x, y = integers("x", 0, 9, nullable=True), integers("y", 0, 5)
    policy = bf.Policy(Domain((x, y)))
    tally = Scope().tally(policy, [], None)
    one, two = lattice(x, (0, 9)), lattice(y, (0, 5))
    asked = Total(tally, one, (two, two))
    codes = {"x": np.array([0, 9, 10]), "y": np.array([0, 5, 3])}

    assert asked.weights_at(codes).tolist() == [
        (0 - int(one.origin)) * int(two.origin) ** 2,
        (9 - int(one.origin)) * (5 - int(two.origin)) ** 2,
        0,
    ]
    assert [each.name for each in asked.attributes] == ["x", "y"]
