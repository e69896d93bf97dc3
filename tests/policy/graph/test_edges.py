"""Edges that the kernel reads off a policy's words are those of the definition."""

import random
from fractions import Fraction

import numpy as np
import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.domain import Domain, integers
from pandas_blowfish.policy.graph.edges import closure_of, edges_of


def numbers(cells: Cells, columns: tuple[str, ...], shape: list[int]) -> np.ndarray:
    """Return cells as numbers in C order, "absent" after the last."""
    codes = [cells.codes[column] for column in columns]
    return np.where(cells.absent, int(np.prod(shape)), np.ravel_multi_index(codes, shape))


def pairs(ends: tuple[Cells, Cells], columns: tuple[str, ...], policy: bf.Policy) -> set[tuple[int, int]]:
    """Return edges as pairs of numbers, the lower one first."""
    shape = [policy.domain[column].size for column in columns]
    start, end = (numbers(cells, columns, shape).tolist() for cells in ends)
    return {(min(pair), max(pair)) for pair in zip(start, end, strict=True)}


@pytest.mark.parametrize("chunk", range(4))
def test_matches_the_definition(chunk, make_full_policy):
    """All of them, none else, each once; and what is drawn is among them."""
    for seed in range(chunk * 120, (chunk + 1) * 120):
        draw = random.Random(seed)
        many = draw.randint(1, 3)
        policy = make_full_policy(draw, many, 4 if many < 3 else 3)
        columns = tuple(draw.sample(policy.domain.columns, draw.randint(1, many)))
        expected = {tuple(edge) for edge in definition_edges(policy, columns).tolist()}
        edges, random_numbers = edges_of(policy, columns), np.random.default_rng(seed)
        start = {name: random_numbers.integers(0, policy.domain[name].size, 300) for name in columns}

        found = edges.every()
        drawn = edges.draw(random_numbers, Cells.present(start, 300))

        assert pairs(found, columns, policy) == expected
        assert len(found[0]) == len(expected) == edges.count
        assert pairs(drawn, columns, policy) <= expected


@pytest.mark.parametrize("c", ["0.5", "0.8", "0.97"])
@pytest.mark.parametrize(("low", "high", "step"), [(1, 30, 1), (5, 64, 5), (1, 2, 1)])
def test_relative_errors_join_numbers_within_the_factor(c, low, high, step):
    """Two cells are joined just where a number of one is within c^-4 of a number of the other."""
    policy = bf.Policy(Domain((integers("x", low, high, step),)), secrets={"x": bf.relative_error(c)})
    ratio = 1 / Fraction(c) ** 4
    cells = policy.domain["x"].cells
    ends = [(low + i * step, min(low + (i + 1) * step - 1, high)) for i in range(cells)]
    expected = {(i, j) for i in range(cells) for j in range(i + 1, cells) if ends[j][0] <= ends[i][1] * ratio}

    found = pairs(edges_of(policy, ("x",)).every(), ("x",), policy)

    assert found == expected
    graph = {tuple(edge) for edge in policy.graph.project(["x"]).edges().tolist()}
    assert found <= graph


def test_the_closure_joins_all_that_agree_on_public_columns():
    """Any two cells of the secret columns at one public value, and "absent" with presence."""
    domain = Domain((integers("a", 0, 2), integers("b", 0, 1)))
    policy = bf.Policy(domain, secrets={"a": bf.threshold(1), "b": bf.public()}, presence=True)

    edges = closure_of(policy, ("a", "b"))

    assert edges.count == 2 * 3 + 6
    assert len(edges.every()[0]) == edges.count


def test_columns_without_bounds_are_drawn():
    """No list of edges, but drawn ones are at most theta apart."""
    from pandas_blowfish.policy.attribute import Unbounded

    policy = bf.Policy(Domain((Unbounded("x", "float", False),)), secrets={"x": bf.threshold(4)})
    edges = edges_of(policy, ("x",))

    start, end = edges.draw(np.random.default_rng(3), Cells.present({"x": np.arange(50)}, 50))

    assert edges.count is None
    assert not edges.few
    assert 0 < np.abs(start.codes["x"] - end.codes["x"]).max() <= 4
