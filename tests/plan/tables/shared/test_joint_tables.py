"""Tables whose noise is drawn together: what is measured, errors by dense algebra, answers, forms."""

import itertools
import json
import math
import random

import numpy as np
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.plan.joint_noise.joint_law import joint_variances
from pandas_blowfish.plan.scales import variance
from pandas_blowfish.plan.shape.covariance import table_variances
from pandas_blowfish.policy.domain import Domain, integers

DOMAIN = Domain((integers("a", 0, 1), integers("b", 0, 2), integers("c", 0, 1), integers("d", 0, 3)))
EACH = [["a"], ["b"], ["c"], ["d"]]
PAIRS = [list(pair) for pair in itertools.combinations("abcd", 2)]
UNEVEN = {"d": bf.partition([[0, 2, 3], [1]]), "b": bf.threshold(1)}
CASES = {
    "full": ({}, {}, EACH),
    "attribute": ({}, {"neighbors": "attribute"}, EACH),
    "two of four": ({}, {"neighbors": 2}, EACH),
    "uneven groups": (UNEVEN, {}, EACH),
    "a public column": (
        {"a": bf.public(), "d": bf.public()},
        {},
        [["a"], ["d", "b"], ["d", "c"], ["a", "d"]],
    ),
    "even groups": ({"d": bf.partition([[0, 2], [1, 3]])}, {}, [["d"], ["d", "b"], ["c", "d"]]),
    "joint": ({("a", "c"): bf.edges([((0, 0), (1, 1)), ((0, 1), (1, 0))])}, {}, EACH),
    "ball": ({("a", "b", "d"): bf.threshold(2)}, {"neighbors": 1}, EACH),
    "pairs": ({}, {}, PAIRS),
    "one in another": ({}, {}, [["b", "a"], ["a"], ["c"]]),
}
TWO_VALUED = Domain(tuple(integers(f"t{n}", 0, 1) for n in range(6)))


def plan_of(case, where=None, **arguments):
    """Return the plan of some tables under a policy."""
    secrets, options, tables = CASES[case]
    policy = bf.Policy(DOMAIN, secrets=secrets, **options)
    scope = policy.plan.where(where) if where else policy.plan
    return scope.marginal(tables, **{"epsilon": "3/4", "strategy": "shared", **arguments})


def folded_plan():
    """Return a plan that measures differences of two-valued columns."""
    policy = bf.Policy(TWO_VALUED)
    question = policy.plan.marginal(list(TWO_VALUED.columns), order=2, epsilon=1).asked[0]
    effects = [(n,) for n in range(6)], list(itertools.combinations(range(6), 2))
    tables = [[each, each, weight] for weight, own in zip((3, 2), effects, strict=True) for each in own]
    together = [list(range(6)), list(range(6, 21))]
    form = {"tables": tables, "together": together, "plain": [], "shared": [[], []]}
    return question.reread(policy, 1, "shared", form)


def noise_covariance(scales):
    """Return the covariance of all noise: blocks are independent but for their common radius."""
    found = np.zeros((len(scales), len(scales)))
    for code, scale in enumerate(scales.values):
        rows = np.flatnonzero(scales.codes == code)
        if code not in scales.joint:
            found[rows, rows] = variance(scale)
            continue
        joint = scales.joint[code]
        found[joint.rows, joint.rows] = joint_variances(joint, scale)
        for block in (each for each in joint.blocks if each.kind == "clique"):
            own = np.ix_(block.rows, block.rows)
            one = found[block.rows[0], block.rows[0]] / (len(block.rows) - 1)
            found[own] = np.where(np.eye(len(block.rows), dtype=bool), found[own], -one)
    return found


@pytest.mark.parametrize("case", CASES)
def test_variances_are_those_of_the_estimates(case):
    """Estimates are linear in what was measured; their variances by dense algebra are the stated ones."""
    plan = plan_of(case)
    spread = noise_covariance(plan.scales)
    ones = np.eye(len(spread), dtype=np.int64) * 10**6

    estimator = np.column_stack([plan.measurement.solve(one, post=False).answers for one in ones]) / 10**6

    found = np.einsum("ij,jk,ik->i", estimator, spread, estimator)
    assert np.allclose(found, plan.std**2, rtol=1e-6, atol=1e-9)
    assert plan.mse == pytest.approx((plan.std**2).mean())


@pytest.mark.parametrize("where", [None, "a == 0"])
@pytest.mark.parametrize("case", CASES)
def test_errors_of_sums_are_those_of_the_estimates(case, where):
    """What a receipt states of each table gives the exact variance of every sum over some of its columns."""
    if where and case != "a public column":
        return
    plan = plan_of(case, where)
    spread = noise_covariance(plan.scales)
    ones = np.eye(len(spread), dtype=np.int64) * 10**6
    estimator = np.column_stack([plan.measurement.solve(one, post=False).unshaped for one in ones]) / 10**6
    whole = estimator @ spread @ estimator.T

    begin = 0
    for asked, size in zip(plan.asked[0].asked, plan.asked[0].answers, strict=True):
        record = json.loads(json.dumps(plan.measurement.table_covariance(asked)))
        shape = [plan.domain.shape[place] for place in asked]
        own = whole[begin : begin + size, begin : begin + size]
        begin += size
        for kept in [(), *((place,) for place in range(len(shape))), tuple(range(len(shape)))]:
            turned = np.moveaxis(np.arange(size).reshape(shape), kept, range(len(kept)))
            summed = turned.reshape(math.prod(shape[place] for place in kept), -1)
            expected = [own[np.ix_(row, row)].sum() for row in summed]
            assert np.allclose(table_variances(record, shape, kept), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("where", [None, "a == 0", "d == 0 or a == 1"])
@pytest.mark.parametrize("case", CASES)
def test_measured_is_the_matrix(case, where):
    """What the kernel adds noise to is the matrix times the cells; without noise answers are the counts."""
    try:
        plan = plan_of(case, where)
    except ArgumentError:
        assert where
        assert case != "a public column"
        return
    draw, names = random.Random(1), plan.domain.columns
    cells = np.array([draw.randint(0, 9) for _ in range(plan.domain.size)])
    counts = []
    for tally in plan.measurement.tallies:
        place = [names.index(name) for name in tally.domain.columns]
        own = cells.reshape(plan.domain.shape).sum(axis=tuple({*range(len(names))} - {*place}))
        own = own.transpose(np.argsort(np.argsort(place))) if place else own
        labels = tally.labels()
        counts.append(np.bincount(labels[labels >= 0], own.ravel()[labels >= 0], tally.size))

    measured = plan.measurement.apply(np.concatenate(counts).astype(np.int64))
    solved = plan.measurement.solve(measured, post=True)

    assert (measured == plan.matrix() @ cells).all()
    assert np.allclose(solved.unshaped, true_answers(plan, cells))
    assert np.allclose(solved.answers, solved.unshaped)


def true_answers(plan, cells):
    """Return the asked tables of counts of all cells."""
    question, names = plan.asked[0], plan.domain.columns
    passes = question.table(tuple(range(len(names)))).labels() >= 0 if question.condition else True
    counted = np.where(passes, cells, 0).reshape(plan.domain.shape)
    found = []
    for asked in question.asked:
        own = counted.sum(axis=tuple({*range(len(names))} - {*asked}))
        found.append(own.transpose(np.argsort(np.argsort(asked))).ravel())
    return np.concatenate(found)


@pytest.mark.parametrize("case", CASES)
def test_tables_agree_and_are_not_negative(case):
    """However large the noise: totals of groups are exact, all tables have as many rows."""
    plan = plan_of(case)
    random_noise = np.random.default_rng(3)
    cells = random_noise.integers(0, 4, plan.domain.size)
    values = plan.matrix() @ cells
    root = np.linalg.cholesky(noise_covariance(plan.scales) + 1e-9 * np.eye(len(values)))

    for _ in range(5):
        noisy = values + np.rint(root @ random_noise.normal(size=len(values))).astype(np.int64)
        noisy[[scale == 0 for scale in plan.scales]] = values[[scale == 0 for scale in plan.scales]]
        for post in (True, "signed", False):
            answers = plan.measurement.solve(noisy, post=post).answers
            cuts = np.cumsum(plan.asked[0].answers)[:-1]
            sums = [each.sum() for each in np.split(answers, cuts)]
            assert np.allclose(sums, cells.sum())
            assert post is not True or (answers >= 0).all()


@pytest.mark.parametrize("case", CASES)
def test_read_again_from_its_form(case):
    """A stored answer is read by its tables, groups and weights, as plain data."""
    plan = plan_of(case)

    form = json.loads(json.dumps(plan.measurement.form))
    again = plan.asked[0].reread(plan.policy, plan.epsilon, "shared", form)

    assert again.scales == plan.scales
    assert {code: joint.shape for code, joint in again.scales.joint.items()} == {
        code: joint.shape for code, joint in plan.scales.joint.items()
    }
    assert np.array_equal(again.variances, plan.measurement.variances)


def test_differences_of_two_valued_columns():
    """All pairs of two-valued columns: one number per effect, in a box, beats any table of counts."""
    policy = bf.Policy(Domain(tuple(integers(f"t{n}", 0, 1) for n in range(12))))

    plan = policy.plan.marginal(list(policy.domain.columns), order=2, epsilon=1)

    assert plan.strategy == "shared"
    assert {block.kind for joint in plan.scales.joint.values() for block in joint.blocks} == {"box"}
    errors = plan.candidates.set_index("strategy")["mse"]
    assert errors["shared"] < 0.75 * errors["residual"]


@pytest.mark.parametrize("neighbors", ["record", "attribute", 2])
@pytest.mark.parametrize("seed", range(4))
def test_auto_is_never_worse_than_what_there_was(seed, neighbors):
    """Whatever the sizes, the plan chosen has the least error of all."""
    draw = random.Random(seed)
    domain = Domain(tuple(integers(f"x{n}", 0, draw.choice([1, 2, 5, 20, 300])) for n in range(5)))
    tables = (
        [list(pair) for pair in itertools.combinations(domain.columns[:3], 2)]
        if seed % 2
        else [[n] for n in domain.columns]
    )

    plan = bf.Policy(domain, neighbors=neighbors).plan.marginal(tables, epsilon=1)

    assert plan.mse <= plan.candidates["mse"].min() * (1 + 1e-9)


def test_twenty_columns_in_one_group():
    """Two-valued columns are one box: about n^2 / 3, not 2 n^2."""
    domain = Domain(tuple(integers(f"x{n}", 0, 1) for n in range(20)))

    plan = bf.Policy(domain).plan.marginal([[name] for name in domain.columns], epsilon=1)

    assert plan.strategy == "shared"
    assert plan.mse == pytest.approx(154, rel=0.01)
    assert len(plan.scales.joint) == 1


def test_large_tables_keep_noise_of_their_own():
    """Noise of many hundred cells is not drawn together: the table is a group of its own."""
    domain = Domain((integers("x", 0, 1999), *(integers(name, 0, 3) for name in "abc")))

    plan = bf.Policy(domain).plan.marginal([["x"], ["a"], ["b"], ["c"]], epsilon=1)

    assert plan.strategy == "shared"
    assert len(plan.scales.joint) == 1
    assert plan.measurement.plain == (0,)
    large, small = np.split(plan.std**2, [2000])
    assert np.allclose(large, variance(plan.scales.values[0]) * (1 - 1 / 2000))
    assert np.ptp(small) == 0


@pytest.mark.parametrize(
    ("secrets", "options", "tables", "where"),
    [
        ({}, {"presence": True}, EACH, None),
        ({}, {}, EACH, "a == 0"),
        (UNEVEN, {}, [["d", "b"], ["d", "c"]], None),
        ({}, {}, [["a"]], None),
    ],
)
def test_where_it_is_not_offered(secrets, options, tables, where):
    """Rows that come, go or leave the filter; overlapping tables of unlike groups; a single table."""
    policy = bf.Policy(DOMAIN, secrets=secrets, **options)
    scope = policy.plan.where(where) if where else policy.plan

    with pytest.raises(ArgumentError, match="shared"):
        scope.marginal(tables, strategy="shared")

    assert scope.marginal(tables).strategy != "shared"
