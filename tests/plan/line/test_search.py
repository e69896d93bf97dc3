"""The search for layouts and scales: kept by all it depends on, and never worse than a plain choice."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.line import search as module
from pandas_blowfish.plan.line.layouts import lay_hierarchical, lay_ordered_hierarchical
from pandas_blowfish.plan.line.nest import Layout, Nest
from pandas_blowfish.plan.line.runs import Nested
from pandas_blowfish.plan.line.search import search
from pandas_blowfish.policy.domain import Domain, integers


@pytest.fixture(autouse=True)
def _empty(monkeypatch):
    monkeypatch.setattr(module, "_found", type(module._found)())


def test_a_second_search_is_answered_from_the_first(line_of, monkeypatch):
    """The same line and question search nothing again, and give the very same objects."""
    lined = line_of(32, 4)
    layouts = lay_ordered_hierarchical(lined.line)
    first = search(lined.line, lined.asked, layouts)

    monkeypatch.setattr(module, "_error", lambda *_: pytest.fail("searched again"))
    again = line_of(32, 4)
    second = search(again.line, again.asked, list(layouts))

    assert second[0] is first[0]
    assert second[1] is first[1]


def test_the_key_changes_with_everything_it_depends_on(line_of):
    """Another size, group count, edge, way out, exact total, question or layout is another search."""
    lined = line_of(12, 2)
    line, layouts = lined.line, [Layout(1), Layout(2, (2,))]
    exact = line.exact
    given = (np.array([0]), np.array([3]))
    keys = [module._key(line, lined.asked, layouts)]
    keys += [module._key(line, lined.kind(kind), layouts) for kind in ("cells", "prefixes")]
    keys += [module._key(line, lined.kind("ranges", given), layouts)]
    keys += [module._key(line, lined.kind("ranges", (given[0], given[1] + 1)), layouts)]
    keys += [module._key(line, lined.asked, each) for each in (layouts[:1], layouts[::-1])]
    keys += [
        module._key(replace(line, **change), lined.asked, layouts)
        for change in (
            {"size": 13},
            {"groups": 2},
            {"between": line.between[1:]},
            {"across": np.array([[0, 0]])},
            {"away": np.array([0])},
            {"exact": replace(exact, alone=~exact.alone)},
            {"exact": replace(exact, total_of=exact.total_of + 1)},
        )
    ]

    assert len(set(keys)) == len(keys)
    assert keys[0] == module._key(line_of(12, 2).line, line_of(12, 2).asked, layouts)


def test_the_oldest_results_are_dropped(line_of, monkeypatch):
    """Only so many results are kept, those used last."""
    monkeypatch.setattr(module, "MAX_CACHED", 2)
    first, second, third = (line_of(size, 1) for size in (4, 5, 6))

    search(first.line, first.asked, [Layout(1)])
    search(second.line, second.asked, [Layout(1)])
    search(first.line, first.asked, [Layout(1)])
    search(third.line, third.asked, [Layout(1)])

    kept = set(module._found)
    assert kept == {module._key(each.line, each.asked, [Layout(1)]) for each in (first, third)}


@pytest.mark.parametrize("kind", ["all", "prefixes", "cells"])
@pytest.mark.parametrize(("size", "theta"), [(24, 0), (32, 5), (40, 12)])
def test_the_result_is_no_worse_than_even_weights(kind, size, theta, line_of):
    """No layout of the list, with equal scales, has a smaller mean variance."""
    lined = line_of(size, theta)
    asked = lined.kind(kind)
    layouts = lay_hierarchical(lined.line) + lay_ordered_hierarchical(lined.line)

    layout, weights = search(lined.line, asked, layouts)
    best = Nested("found", asked, lined.line, layout, weights, Fraction(1, 10)).mse

    for each in layouts:
        even = (1,) * len(Nest(lined.line, each).families)
        assert best <= 1.001 * Nested("even", asked, lined.line, each, even, Fraction(1, 10)).mse
    assert all(isinstance(weight, int) and 1 <= weight <= module.FINEST for weight in weights)


def test_a_long_line_is_searched_by_its_first_part(line_of):
    """A line that repeats itself has the layout of a shorter one."""
    long, short = line_of(20_000, 3), line_of(module.LONG, 3)
    layouts = lay_ordered_hierarchical(short.line)

    found = search(long.line, long.kind("prefixes"), layouts)
    wanted = search(short.line, short.kind("prefixes"), layouts)

    part, asked = module.shorter(long.line, long.kind("prefixes"))
    assert found == wanted
    assert part.size == asked.size == module.LONG
    assert part.reach.tolist() == short.line.reach.tolist()
    assert module.shorter(short.line, short.asked) is None
    opened = line_of(20_000, 3, presence=True)
    assert module.shorter(opened.line, opened.asked) is None


def test_very_many_ranges_are_sampled(line_of):
    """The search looks at few of them, spread over the line."""
    lined = line_of(9_000, 2)
    many = np.arange(8_000)

    every = module._sampled(lined.asked)
    given = module._sampled(lined.kind("ranges", (many, many + 5)))
    few = lined.kind("ranges", (many[:9], many[:9] + 5))

    assert every.per_line == given.per_line == module.SAMPLE
    assert (every.ends[0] < every.ends[1]).all()
    assert every.ends[1].max() <= 9_000
    assert np.abs(np.histogram(every.ends[0] + every.ends[1], 8)[0][:4].sum() / module.SAMPLE - 0.5) < 0.05
    assert given.ends[0][0] == 0
    assert given.ends[0][-1] == 7_999
    assert module._sampled(few) is few


def test_nothing_to_hide_needs_no_search(line_of):
    """A public column has families of no rows that matter."""
    lined = line_of(4, None)

    layout, weights = search(lined.line, lined.asked, [Layout(None, ())])

    assert layout == Layout(None, ())
    assert weights == ()


def test_a_range_of_nothing_is_planned_without_a_murmur():
    """Cells that the filter leaves out have no error to make smaller."""
    policy = bf.Policy(Domain((integers("a", 0, 4),)), presence=True)

    plan = policy.plan.where("a in [2, 4]").range("a", [(3, 3)], strategy="hierarchical")

    assert plan.mse == 0
