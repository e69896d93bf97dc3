"""Boxes from noisy nodes or cells: least squares, unbiased, cut to what counts can be."""

import random
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.plan.given import Given
from pandas_blowfish.plan.tables.levels import Levels
from pandas_blowfish.plan.tables.mesh import Mesh
from pandas_blowfish.policy.domain import Domain, from_dict, integers


def random_plan(draw, make_full_policy, make_filter, make_boxes, strategy):
    """Return boxes over integer columns of a random policy, grouped and filtered at times."""
    policy = make_full_policy(draw, draw.randint(2, 3), 4)
    names = [a.name for a in policy.domain if a.ordered]
    if len(names) < 2:
        return None
    names = draw.sample(names, 2)
    bounds = make_boxes(draw, [policy.domain[name] for name in names], draw.randint(1, 6))
    scope = policy.plan.where(make_filter(draw, policy.domain)) if draw.random() < 0.4 else policy.plan
    others = [name for name in policy.domain.columns if name not in names]
    if others and draw.random() < 0.6:
        scope = scope.groupby(others)
    return scope.range(names, bounds, epsilon=Fraction(draw.randint(1, 30), 10), strategy=strategy)


def product(question):
    """Tell whether the filter is one condition a column, so that all kept atoms can hold rows."""
    passes = question.whole.sieve.passes
    each = [passes.any(axis=tuple(o for o in range(passes.ndim) if o != axis)) for axis in range(passes.ndim)]
    return bool((passes == reduce(np.logical_and.outer, each)).all())


@pytest.mark.parametrize("chunk", range(6))
def test_equals_dense_least_squares(
    chunk, make_full_policy, make_filter, make_boxes, by_dense_algebra, boxes_by_cells
):
    """Estimates and errors are those of generalised least squares on all cells where nothing is filled up."""
    dense_ones = tried = 0
    for number in range(20):
        draw = random.Random(chunk * 20 + number)
        plan = random_plan(
            draw, make_full_policy, make_filter, make_boxes, draw.choice(["hierarchical", "identity"])
        )
        if plan is None:
            continue
        tried += 1
        made, wanted = plan.measurement, boxes_by_cells(plan.asked[0])
        assert isinstance(made, Levels)
        matrix = plan.matrix().toarray()
        counts = np.array([draw.randint(0, 9) for _ in range(matrix.shape[1])])

        exact = made.solve(matrix @ counts, post=False).answers

        assert np.allclose(exact, wanted @ counts, atol=1e-6)  # without noise it is the truth
        full = all(each.leaves == len(each.leaf_of) for each in made.leveled.ladders)
        if not full or not product(plan.asked[0]) or plan.asked[0].empty:
            continue
        dense_ones += 1
        values = np.array([draw.randint(-20, 60) for _ in range(matrix.shape[0])])
        still = np.array([scale == 0 for scale in plan.scales])
        values[still] = (matrix @ counts)[still]
        dense = by_dense_algebra(matrix, list(plan.scales), wanted.astype(float))
        found = made.solve(values, post=False).answers
        assert np.allclose(found, dense.estimator @ values, atol=1e-6)
        assert np.allclose(plan.std**2, dense.variances, rtol=1e-6, atol=1e-9)
        assert np.isclose(plan.mse, dense.variances.mean())
    assert tried > 5
    assert dense_ones > 2


@pytest.mark.parametrize("seed", range(30))
def test_unbiased_whatever_is_filled_up(seed, make_full_policy, make_filter, make_boxes, boxes_by_cells):
    """The estimator applied to the matrix gives the answers, for `auto` and the mesh too."""
    draw = random.Random(4_000 + seed)
    plan = None
    while plan is None:  # until two columns have an order
        plan = random_plan(draw, make_full_policy, make_filter, make_boxes, "auto")
    wanted = boxes_by_cells(plan.asked[0])
    cells = np.eye(plan.domain.size, dtype=np.int64) * 1_000

    for cell, one in enumerate(cells):
        found = plan.measurement.solve(plan.matrix() @ one, post=False).answers
        assert np.allclose(found, 1_000 * wanted[:, cell], atol=1e-5)


def test_mesh_sums_cells(boxes_by_cells):
    """Answers of noisy cells are their sums; the row count is exact."""
    domain = Domain((integers("a", 0, 4), integers("b", 0, 5)))
    policy = bf.Policy(domain, secrets={("a", "b"): bf.threshold(1)})
    boxes = [((1, 3), (0, 3)), ((0, 4), (2, 5)), ((0, 4), (0, 5))]
    plan = policy.plan.range(["a", "b"], boxes, strategy="mesh")
    made = plan.measurement
    assert isinstance(made, Mesh)
    draw = np.random.default_rng(2)
    counts, noise = draw.integers(0, 50, 30), draw.integers(-9, 9, len(plan.scales))
    cells = plan.matrix() @ counts + plan.noise_map @ noise

    found = made.solve(np.asarray(cells), post=False)

    assert np.allclose(found.answers, boxes_by_cells(plan.asked[0]) @ _by_cell(plan, cells))
    assert found.answers[-1] == pytest.approx(counts.sum())
    assert found.most == counts.sum()


def _by_cell(plan, cells):
    """Return noisy atoms as if each lay on its first cell."""
    labels = plan.measurement.tallies[0].labels()
    first = np.unique(labels, return_index=True)[1]
    out = np.zeros(len(labels))
    out[first] = np.asarray(cells) / plan.measurement.whole
    return out


def test_post_cuts_at_nothing_and_at_the_row_count():
    """Counts are neither negative nor more than all rows, where these are exact."""
    domain = Domain((integers("a", 0, 3), integers("b", 0, 3)))
    for options, most in (({}, 40.0), ({"presence": True}, None)):
        plan = bf.Policy(domain, **options).plan.range(
            ["a", "b"], [((0, 1), (0, 1)), ((2, 3), (0, 3)), ((1, 1), (2, 2))], strategy="identity"
        )
        values = np.random.default_rng(3).integers(-200, 200, len(plan.scales))
        if most is not None:
            values[-1] = 40

        plain = plan.measurement.solve(values, post=False)
        shaped = plan.measurement.solve(values, post=True)

        assert shaped.most == most
        assert (shaped.answers == np.clip(plain.answers, 0, np.inf if most is None else most)).all()


def test_groups_are_outermost_and_dropped_ones_are_nothing(boxes_by_cells):
    """Answers of a region that the filter drops are 0."""
    region = from_dict("r", {"type": "category", "values": ["p", "q", "s"]})
    policy = bf.Policy(Domain((integers("a", 0, 3), integers("b", 0, 3), region)), secrets={"r": bf.public()})
    plan = policy.plan.where("r != 'q'").groupby("r").range(["a", "b"], [((0, 1), (0, 1)), ((0, 3), (0, 3))])
    counts = np.arange(plan.domain.size)

    found = plan.measurement.solve(plan.matrix() @ counts, post=False).answers.reshape(3, 2)

    assert (found[1] == 0).all()
    assert np.allclose(found.ravel(), boxes_by_cells(plan.asked[0]) @ counts)


@pytest.mark.parametrize("strategy", ["identity", "hierarchical"])
@pytest.mark.parametrize("sizes", [(4, 4), (4, 8)])
def test_known_boxes_are_conditional_means(strategy, sizes, by_dense_algebra, boxes_by_cells):
    """With a known box, answers are the best linear ones given it, by dense algebra on all cells."""
    domain = Domain((integers("x", 0, sizes[0] - 1), integers("y", 0, sizes[1] - 1)))
    low = (0, sizes[0] // 2 - 1)
    facts = [bf.Box(x=low, y=(0, 1), answer=40), bf.Count("x == 1", answer=55)]
    stated = bf.Policy(domain, constraints=facts)
    bounds = [((a, a + 1), (b, b + 1)) for a in range(sizes[0] - 1) for b in range(sizes[1] - 1)]
    plan = bf.Policy(domain).plan.range(["x", "y"], bounds, strategy=strategy)
    matrix, wanted = plan.matrix().toarray(), boxes_by_cells(plan.asked[0]).astype(float)
    values = np.random.default_rng(1).integers(-20, 60, matrix.shape[0])

    found = plan.measurement.solve(values, post=False, known=Given.of(stated))

    dense = by_dense_algebra(matrix, list(plan.scales), np.eye(domain.size))
    cells, spread = dense.estimator @ values, (dense.estimator * dense.noise) @ dense.estimator.T
    x, y = np.divmod(np.arange(domain.size), sizes[1])
    rows = np.array([(x <= low[1]) & (y <= 1), x == 1]).astype(float)
    pull = spread @ rows.T @ np.linalg.inv(rows @ spread @ rows.T)
    best = wanted @ (cells + pull @ (np.array([40, 55]) - rows @ cells))
    assert np.allclose(found.answers, best, atol=1e-6)
    assert np.allclose(found.unshaped, wanted @ cells, atol=1e-6)


@pytest.mark.parametrize("post", [True, False])
def test_known_boxes_keep_exact_totals(post):
    """Totals of parts that no edge leaves stay exact, of parts that were filled up with nothing, too."""
    domain = Domain((integers("x", 0, 6), integers("y", 0, 4)))
    secrets = {"x": bf.partition([[0, 1, 2, 3, 4], [5, 6]]), "y": bf.full()}
    cells = np.random.default_rng(2).poisson(3.0, domain.shape)
    facts = [bf.Count("x in [1, 6] and y > 1", answer=int(cells[[1, 6], 2:].sum()))]
    asked = [((a, a), (b, b)) for a in range(7) for b in range(5)]
    asked += [((0, 4), (None, None)), ((5, 6), (None, None))]
    for strategy in ("identity", "hierarchical"):
        made = bf.Policy(domain, secrets=secrets).plan.range(["x", "y"], asked, strategy=strategy).measurement
        exact = made.apply(_table_counts(made, cells))
        still = made.scales.codes == list(made.scales.values).index(0)
        noise = np.random.default_rng(3).integers(-9, 10, len(exact))
        values = exact + np.where(still, 0, noise)

        given = Given.of(bf.Policy(domain, constraints=facts))
        found = made.solve(values, post=post, known=given).answers

        assert found[-2:].tolist() == [cells[:5].sum(), cells[5:].sum()]
        if not post:
            table = found[:-2].reshape(7, 5)
            assert table[[1, 6], 2:].sum() == pytest.approx(cells[[1, 6], 2:].sum(), abs=1e-7)


def _table_counts(made, cells):
    """Return the counts of the one table that a measurement by levels is made of."""
    (tally,) = made.tallies
    labels = tally.labels()
    table = cells if len(tally.domain.columns) == 2 else cells.sum(axis=int(tally.domain.columns == ("x",)))
    kept = labels >= 0
    return np.bincount(labels[kept], table.ravel()[kept], tally.size).astype(np.int64)


@pytest.mark.parametrize("post", [True, False])
def test_meshes_agree_already(post):
    """A fact that no edge touches is exact on a mesh as it is; another one is agreed with."""
    domain = Domain((integers("x", 0, 7), integers("y", 0, 7)))
    secrets = {("x", "y"): bf.threshold(1)}
    bounds = [((0, 3), (0, 3)), ((0, 7), (0, 7)), ((2, 5), (1, 6))]
    plan = bf.Policy(domain, secrets=secrets).plan.range(["x", "y"], bounds, strategy="mesh")
    made = plan.measurement
    assert isinstance(made, Mesh)
    values = made.whole * np.random.default_rng(5).integers(0, 9, int(np.prod(made.shape)))
    total = int(values.sum() // made.whole)
    facts = [bf.Box(x=(0, 3), y=(0, 3), answer=total // 3)]

    found = made.solve(values, post=post, known=Given.of(bf.Policy(domain, constraints=facts))).answers

    assert found[:2].tolist() == [total // 3, total]
