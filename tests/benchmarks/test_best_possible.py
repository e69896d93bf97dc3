"""The best known noise of each kind, by its exact series, is no better than the bound that plans show."""

import pytest
from references import balls, transport

import pandas_blowfish as bf
from pandas_blowfish.policy.domain import Domain, from_dict, integers


def _line(cells, theta):
    return bf.Policy(Domain((integers("x", 0, cells - 1),)), secrets={"x": bf.threshold(theta)})


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2, 5])
def test_cliques_and_boxes(epsilon):
    """Cells that are all joined; one-way tables of two-valued columns, which one record changes at once."""
    for cells in (2, 3, 4, 8, 16):
        plan = bf.Policy(Domain((integers("x", 0, cells - 1),))).plan.hist("x", epsilon=epsilon)
        assert plan.bound <= balls.clique_error(cells, epsilon)
    for columns in (1, 2, 3, 5):
        domain = Domain(tuple(from_dict(f"c{n}", {"type": "bool"}) for n in range(columns)))
        plan = bf.Policy(domain).plan.marginal([[each] for each in domain.columns], epsilon=epsilon)
        assert plan.bound <= balls.box_error(columns, epsilon)


@pytest.mark.parametrize("theta", [2, 3, 4])
@pytest.mark.parametrize("epsilon", [0.5, 1, 2])
def test_transport(theta, epsilon):
    """Ranges, and cumulative counts, under noise that follows the edges themselves."""
    planner = _line(48, theta).plan

    every, cumulative = planner.range("x", "all", epsilon=epsilon), planner.cumhist("x", epsilon=epsilon)

    assert every.bound <= transport.range_error(48, theta, epsilon)
    assert cumulative.bound <= transport.prefix_error(48, theta, epsilon)
