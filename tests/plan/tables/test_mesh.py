"""The mesh: its loss follows from the noise map alone, its variances are those of the dense map."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.plan.scales import variance
from pandas_blowfish.plan.tables.mesh import Mesh, mesh_loss
from pandas_blowfish.policy.domain import Domain, from_dict, integers

BOXES = [((1, 3), (0, 3)), ((0, 4), (2, 5)), ((2, 2), (3, 3)), ((1, 4), (1, 5)), ((0, 4), (0, 5))]
REGION = from_dict("r", {"type": "category", "values": ["p", "q"]})
GAPS = from_dict("a", {"type": "integer", "values": [0, 1, 5, 6, 7]})
POLICIES = {
    "l1": ({("a", "b"): bf.threshold(1)}, {}),
    "l1 of 3": ({("a", "b"): bf.threshold(3)}, {}),
    "l2": ({("a", "b"): bf.threshold(2, metric="l2")}, {}),
    "linf": ({("a", "b"): bf.threshold(1, metric="linf")}, {}),
    "scaled": ({("a", "b"): bf.threshold(4, scale={"a": 2, "b": 1})}, {}),
    "apart": ({"a": bf.threshold(1), "b": bf.threshold(2)}, {}),
    "attribute": ({"a": bf.threshold(2), "b": bf.threshold(1)}, {"neighbors": "attribute"}),
    "no runs": ({"a": bf.partition([[0, 2], [1, 3, 4]]), "b": bf.threshold(1)}, {}),
    "closed lines": ({"a": bf.partition([[0, 1], [2, 3, 4]]), "b": bf.threshold(1)}, {}),
    "one public": ({"a": bf.public(), "b": bf.threshold(1)}, {}),
    "edges": ({("a", "b"): bf.edges([((0, 0), (2, 1)), ((3, 3), (4, 3)), ((1, 5), (1, 2))])}, {}),
    "full": ({}, {}),
}


def plan_of(secrets, options, *, epsilon="1/3", groups=False, boxes=BOXES, first=None):
    """Return the mesh of boxes over 5 x 6 cells, perhaps for every public region."""
    attributes = (first or integers("a", 0, 4), integers("b", 0, 5), *([REGION] if groups else []))
    more = {"r": bf.public()} if groups else {}
    policy = bf.Policy(Domain(attributes), secrets={**secrets, **more}, **options)
    scope = policy.plan.groupby("r") if groups else policy.plan
    return scope.range(["a", "b"], boxes, epsilon=epsilon, strategy="mesh")


def losses(plan):
    """Return the loss of every edge by definition, from the noise map and the matrix alone."""
    noise, counts, scales = plan.noise_map.toarray(), plan.matrix().toarray(), list(plan.scales)
    labels = plan.measurement.tallies[0].labels()
    found = []
    for start, end in definition_edges(plan.policy, plan.domain.columns).tolist():
        shift = plan.measurement.shifts(int(labels[start]), int(labels[end]))
        move = counts[:, start] - counts[:, end]
        assert (noise @ shift == move).all()  # (D R) shift = D move, in whole numbers
        found.append(
            sum((Fraction(abs(int(s))) / b for s, b in zip(shift, scales, strict=True) if s), Fraction(0))
        )
    return found


@pytest.mark.parametrize("groups", [False, True])
@pytest.mark.parametrize("case", POLICIES)
def test_loss_from_the_noise_map(case, groups):
    """Every edge is a shift of the noise; the worst loses epsilon exactly, and twice that at half scales."""
    plan = plan_of(*POLICIES[case], groups=groups)

    found = losses(plan)

    assert plan.strategy == "mesh"
    assert max(found) <= plan.epsilon
    if case != "edges":  # there no single edge crosses the most lines of both kinds
        assert max(found) == plan.epsilon
    assert plan.privacy_loss() == max(found)
    made = plan.measurement
    halved = Mesh(made.question, made.crossings, made.lines, 2 * made.epsilon)
    assert [2 * b for b in halved.scales] == list(made.scales)
    edges = definition_edges(plan.policy, plan.domain.columns)
    assert mesh_loss(halved, edges) == 2 * max(found)


def test_numbers_with_gaps():
    """Thresholds go by value: from 1 to 5 leads nothing, though they are neighbours among the values."""
    boxes = [((0, 1), (0, 3)), ((5, 6), (2, 5)), ((0, 7), (1, 2)), ((1, 5), (0, 0))]
    for secrets in ({"a": bf.threshold(2)}, {("a", "b"): bf.threshold(4)}, {("a", "b"): bf.threshold(2)}):
        plan = plan_of(secrets, {}, boxes=boxes, first=GAPS)

        assert max(losses(plan)) <= plan.epsilon
        assert plan.privacy_loss() == max(losses(plan))


@pytest.mark.parametrize("seed", range(12))
def test_a_public_filter_that_is_no_product(seed):
    """Rows that no edge leads out of the filter: regions may keep different groups of cells."""
    draw = random.Random(seed)
    domain = Domain((integers("a", 0, 4), integers("b", 0, 5), REGION))
    secrets = {
        "a": bf.partition([[0, 1], [2, 3, 4]]),
        "b": bf.threshold(draw.randint(1, 3)),
        "r": bf.public(),
    }
    policy = bf.Policy(domain, secrets=secrets)
    scope = policy.plan.where(draw.choice(["r == 'p' or a < 2", "not (r == 'q' and a >= 2)"]))
    scope = scope.groupby("r") if seed % 2 else scope
    plan = scope.range(["a", "b"], BOXES, epsilon=1, strategy="mesh")
    edges = definition_edges(policy, plan.domain.columns)

    assert mesh_loss(plan.measurement, edges) == plan.privacy_loss() <= 1


@pytest.mark.parametrize("case", POLICIES)
def test_variances_are_those_of_the_dense_map(case):
    """Sums of cells: the variance of each answer is that of W R diag(var) R' W'."""
    plan = plan_of(*POLICIES[case], groups=True)
    noise = plan.noise_map.toarray() / plan.measurement.whole
    spread = np.array([variance(scale) for scale in plan.scales])
    groups, first, second = plan.measurement.shape
    rows = []
    for group in range(groups):
        for low, high in zip(
            *(np.column_stack([span[side] for span in plan.asked[0].spans]) for side in (0, 1)), strict=True
        ):
            cells = np.zeros((groups, first, second))
            cells[group, low[0] : high[0], low[1] : high[1]] = 1
            rows.append(cells.ravel())

    found = (np.array(rows) @ noise) ** 2 @ spread

    assert np.allclose(plan.std**2, found)
    assert plan.mse == pytest.approx(found.mean())


def test_groups_without_rows_have_no_error():
    """A region that the filter drops is known to hold nothing."""
    domain = Domain((integers("a", 0, 4), integers("b", 0, 5), REGION))
    policy = bf.Policy(domain, secrets={("a", "b"): bf.threshold(1), "r": bf.public()})

    plan = policy.plan.where("r == 'q'").groupby("r").range(["a", "b"], BOXES, strategy="mesh")

    assert (plan.std[: len(BOXES)] == 0).all()
    assert (plan.std[len(BOXES) : -1] > 0).all()
    assert plan.std[-1] == 0


@pytest.mark.parametrize("case", POLICIES)
def test_read_again_from_its_form(case):
    """A stored answer is read by levels, weights and shares."""
    plan = plan_of(*POLICIES[case], groups=True)
    made = plan.measurement

    again = plan.asked[0].reread(plan.policy, plan.epsilon, "mesh", made.form)

    assert list(again.scales) == list(made.scales)
    assert (again.noise_map() != made.noise_map()).nnz == 0
    assert (again.matrix() != made.matrix()).nnz == 0


def test_counts_beyond_64_bits_wrap_as_the_noise_does():
    """D times a count may pass 2**63: a move is still a shift of the noise, modulo 2**64."""
    made = plan_of(*POLICIES["l1"]).measurement
    counts = np.full(math.prod(made.shape), 2**62 // made.whole, dtype=np.int64) * 5
    moved = counts.copy()
    moved[0], moved[1] = moved[0] - 1, moved[1] + 1

    change = made.apply(counts) - made.apply(moved)

    assert (change == made.spread_noise(made.shifts(0, 1))).all()


def test_a_long_grid_is_planned():
    """A hundred by two hundred cells, whose noise map is refused rather than listed."""
    domain = Domain((integers("a", 0, 99), integers("b", 0, 199)))
    policy = bf.Policy(domain, secrets={("a", "b"): bf.threshold(1)})
    draw = np.random.default_rng(1)
    boxes = np.sort(np.stack([draw.integers(0, n, (500, 2)) for n in (100, 200)], axis=1), axis=2)

    plan = policy.plan.range(["a", "b"], boxes, epsilon=1)

    assert plan.strategy == "mesh"
    assert plan.mse < policy.plan.range(["a", "b"], boxes, epsilon=1, strategy="hierarchical").mse
    with pytest.raises(bf.BlowfishError):
        plan.noise_map  # noqa: B018
